/* SPDX-License-Identifier: MIT
 *
 * Input. "-" is standard input: a redirected file is opened in place; data from a pipe is first
 * spooled to an unnamed temporary file, since a model is not read in sequence. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define SPOOL_CHUNK ((size_t)1 << 20)

static tare_status fail(tare_error *err, tare_status status, int os_error, const char *what) {
    *err = (tare_error){
        .status = status, .item = -1, .offset = TARE_NO_OFFSET, .os_error = os_error, .what = what};
    return status;
}

/* TMPDIR, else /var/tmp, which unlike /tmp is seldom memory. */
static int open_spool(void) {
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory) directory = "/var/tmp";
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
    if (fd < 0) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/tare-XXXXXX", directory);
        if (n < 0 || (size_t)n >= sizeof path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = mkstemp(path);
        if (fd >= 0) unlink(path);
    }
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

static tare_status copy_to_spool(int spool, char *chunk, tare_error *err) {
    uint64_t total = 0;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, chunk, SPOOL_CHUNK);
        if (cli_progress(NULL, total, 0)) return fail(err, TARE_ERR_CANCELLED, 0, "cancelled");
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, TARE_ERR_IO, errno, "cannot read");
        if (n == 0) return TARE_OK;
        if (!write_all(spool, chunk, (size_t)n)) {
            return fail(err, errno == ENOSPC ? TARE_ERR_NOSPACE : TARE_ERR_IO, errno,
                        "cannot spool to the temporary directory (TMPDIR names another)");
        }
        total += (uint64_t)n;
    }
}

/* The file that stands for standard input; it stays open as long as the process. */
static tare_status spool_stdin(int *fd, tare_error *err) {
    *fd = open_spool();
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
    struct stat st;
    if (isatty(STDIN_FILENO)) return fail(err, TARE_ERR_ARG, 0, "is a terminal, not a model");
    if (fstat(STDIN_FILENO, &st) != 0) return fail(err, TARE_ERR_IO, errno, "cannot read");
    *source = (tare_source){.size = sizeof(tare_source),
                            .kind = TARE_SOURCE_FD,
                            .name = cli_input_name("-"),
                            .fd = STDIN_FILENO};
    return S_ISREG(st.st_mode) ? TARE_OK : spool_stdin(&source->fd, err);
}
