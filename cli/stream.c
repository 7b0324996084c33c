/* SPDX-License-Identifier: MIT
 *
 * Output that is not made in one go and goes to standard output all the same: it is made as a file in a
 * folder of its own, in TMPDIR or else /var/tmp, and sent when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define CHUNK ((size_t)1 << 20)

/* The folder of the file. */
static void remove_folder(const char *path) {
    char folder[CLI_STREAM_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    rmdir(folder);
}

int cli_stream_begin(char path[CLI_STREAM_PATH], const char *name) {
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory) directory = "/var/tmp";
    const int n = snprintf(path, CLI_STREAM_PATH, "%s/tare-XXXXXX", directory);
    const size_t left = n < 0 || n >= CLI_STREAM_PATH ? 0 : (size_t)(CLI_STREAM_PATH - n);
    if (left < strlen(name) + 2 || !mkdtemp(path))
        return cli_fail_text(CLI_IO,
                             "no temporary file can be made (TMPDIR names the directory): %s",
                             strerror(left ? errno : ENAMETOOLONG));
    snprintf(path + n, left, "/%s", name);
    return CLI_YES;
}

int cli_stream_end(const char *path, int code) {
    const int fd = code == CLI_YES ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const int failed = code == CLI_YES && fd < 0 ? errno : 0;
    unlink(path);
    remove_folder(path);
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
