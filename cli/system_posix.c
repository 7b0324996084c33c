/* SPDX-License-Identifier: MIT
 *
 * The same, of POSIX. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

cli_path_kind cli_look(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return CLI_PATH_NOTHING;
    return S_ISREG(st.st_mode)   ? CLI_PATH_FILE
           : S_ISDIR(st.st_mode) ? CLI_PATH_FOLDER
           : S_ISBLK(st.st_mode) ? CLI_PATH_DISK
                                 : CLI_PATH_OTHER;
}

bool cli_has_entry(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

bool cli_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *cli_true_path(const char *path) {
    return realpath(path, NULL);
}

bool cli_is_terminal(FILE *file) {
    return isatty(fileno(file)) != 0;
}

size_t cli_terminal_columns(FILE *file) {
    struct winsize size;
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* The soft limit is low for programs that use select(), which this one does not. */
static void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void cli_prepare_process(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", O_RDONLY);
    allow_descriptors();
    signal(SIGXFSZ, SIG_IGN);
}
