/* SPDX-License-Identifier: MIT
 *
 * Input. "-" is standard input: a redirected file is opened in place; data from a pipe is first
 * spooled to an unnamed temporary file, since a model is not read in sequence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "system.h"

#define SPOOL_CHUNK ((size_t)1 << 20)

static tare_status fail(tare_error *err, tare_status status, int os_error, const char *what) {
    *err = (tare_error){
        .status = status, .item = -1, .offset = TARE_NO_OFFSET, .os_error = os_error, .what = what};
    return status;
}

static tare_status copy_to_spool(int spool, char *chunk, tare_error *err) {
    uint64_t total = 0;
    for (;;) {
        const int64_t n = cli_read_some(CLI_INPUT_FD, chunk, SPOOL_CHUNK);
        if (cli_progress(NULL, total, 0)) return fail(err, TARE_ERR_CANCELLED, 0, "cancelled");
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, TARE_ERR_IO, errno, "cannot read");
        if (n == 0) return TARE_OK;
        if (!cli_write_all(spool, chunk, (size_t)n)) {
            return fail(err, errno == ENOSPC ? TARE_ERR_NOSPACE : TARE_ERR_IO, errno,
                        "cannot spool to the temporary directory (TMPDIR names another)");
        }
        total += (uint64_t)n;
    }
}

/* The file that stands for standard input; it stays open as long as the process. */
static tare_status spool_stdin(int *fd, tare_error *err) {
    *fd = cli_open_unnamed(cli_temp_folder());
    if (*fd < 0) {
        return fail(err, TARE_ERR_IO, errno,
                    "cannot make a temporary file for it (TMPDIR names the directory)");
    }
    char *chunk = cli_alloc(SPOOL_CHUNK, 1);
    cli_progress_start("reading");
    tare_status status = copy_to_spool(*fd, chunk, err);
    cli_progress_end();
    free(chunk);
    return status;
}

tare_status cli_stdin(tare_source *source, tare_error *err) {
    const cli_input_kind kind = cli_look_at_input();
    if (kind == CLI_INPUT_TERMINAL) return fail(err, TARE_ERR_ARG, 0, "is a terminal, not a model");
    if (kind == CLI_INPUT_CLOSED) return fail(err, TARE_ERR_IO, errno, "cannot read");
    *source = (tare_source){.size = sizeof(tare_source),
                            .kind = TARE_SOURCE_FD,
                            .name = cli_input_name("-"),
                            .fd = CLI_INPUT_FD};
    return kind == CLI_INPUT_FILE ? TARE_OK : spool_stdin(&source->fd, err);
}
