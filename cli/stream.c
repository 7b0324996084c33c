/* SPDX-License-Identifier: MIT
 *
 * Output that is not made in one go and goes to standard output all the same: it is made as a file in
 * TMPDIR or else /var/tmp, and sent when it is complete. Like every output the file is without a name
 * until then, where the system has such files, so that nothing stays of a process that is killed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "system.h"

#define CHUNK ((size_t)1 << 20)

int cli_stream_begin(char path[CLI_STREAM_PATH], const char *suffix) {
    uint64_t number;
    if (!cli_random_bytes(&number, sizeof number))
        return cli_fail_text(CLI_IO, "no random name: %s", strerror(errno));
    const int n = snprintf(path, CLI_STREAM_PATH, "%s/tare-%016" PRIx64 "%s", cli_temp_folder(),
                           number, suffix);
    if (n < 0 || n >= CLI_STREAM_PATH)
        return cli_fail_text(CLI_IO, "TMPDIR: %s", strerror(ENAMETOOLONG));
    cli_make_files_private(); /* the folder may be everybody's */
    return CLI_YES;
}

int cli_stream_end(const char *path, int code) {
    if (code != CLI_YES) return code;
    const int fd = cli_open_for_reading(path), failed = fd < 0 ? errno : 0;
    cli_remove_file(path);
    if (fd < 0) return cli_fail_text(CLI_IO, "what was made cannot be read: %s", strerror(failed));
    char *chunk = cli_alloc(CHUNK, 1);
    int64_t got;
    while ((got = cli_read_some(fd, chunk, CHUNK)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0) cli_put(chunk, (size_t)got);
    if (got < 0) code = cli_fail_text(CLI_IO, "what was made cannot be read: %s", strerror(errno));
    free(chunk);
    cli_close(fd);
    return code;
}
