/* SPDX-License-Identifier: MIT
 *
 * Output that is not made in one go and goes to standard output all the same: it is made as a file in
 * TMPDIR or else /var/tmp, and sent when it is complete. Like every output the file is without a name
 * until then, where the system has such files, so that nothing stays of a process that is killed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define CHUNK ((size_t)1 << 20)

int cli_stream_begin(char path[CLI_STREAM_PATH], const char *suffix) {
    const char *directory = getenv("TMPDIR");
    uint64_t number;
    if (!directory || !*directory) directory = "/var/tmp";
    if (getentropy(&number, sizeof number) != 0)
        return cli_fail_text(CLI_IO, "no random name: %s", strerror(errno));
    const int n =
        snprintf(path, CLI_STREAM_PATH, "%s/tare-%016" PRIx64 "%s", directory, number, suffix);
    if (n < 0 || n >= CLI_STREAM_PATH)
        return cli_fail_text(CLI_IO, "TMPDIR: %s", strerror(ENAMETOOLONG));
    umask(S_IRWXG | S_IRWXO); /* the folder may be everybody's */
    return CLI_YES;
}

int cli_stream_end(const char *path, int code) {
    const int fd = code == CLI_YES ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    const int failed = code == CLI_YES && fd < 0 ? errno : 0;
    if (code == CLI_YES) unlink(path);
    if (failed) return cli_fail_text(CLI_IO, "what was made cannot be read: %s", strerror(failed));
    if (fd < 0) return code;
    char *chunk = cli_alloc(CHUNK, 1);
    ssize_t got;
    while ((got = read(fd, chunk, CHUNK)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0) cli_put(chunk, (size_t)got);
    if (got < 0) code = cli_fail_text(CLI_IO, "what was made cannot be read: %s", strerror(errno));
    free(chunk);
    close(fd);
    return code;
}
