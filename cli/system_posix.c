/* SPDX-License-Identifier: MIT
 *
 * The same, of POSIX. */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

cli_path_kind cli_stat(const char *path) {
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

bool cli_is_dead_mount(const char *path) {
    struct statvfs st; /* which the kernel never remembers */
    return statvfs(path, &st) != 0 && errno == ENOTCONN;
}

/* ---- streams and temporary files ------------------------------------------------------------- */

cli_input_kind cli_look_at_input(void) {
    struct stat st;
    if (isatty(STDIN_FILENO)) return CLI_INPUT_TERMINAL;
    if (fstat(STDIN_FILENO, &st) != 0) return CLI_INPUT_CLOSED;
    return S_ISREG(st.st_mode) ? CLI_INPUT_FILE : CLI_INPUT_STREAM;
}

const char *cli_variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *cli_home(void) {
    return cli_variable("HOME");
}

bool cli_has_certificate_files(void) {
    return true;
}

/* /var/tmp, unlike /tmp, is seldom memory. */
const char *cli_temp_folder(void) {
    const char *folder = cli_variable("TMPDIR");
    return folder ? folder : "/var/tmp";
}

int cli_open_unnamed(const char *folder) {
    char path[CLI_PATH_SIZE];
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
    if (fd >= 0) return fd;
    const int n = snprintf(path, sizeof path, "%s/tare-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    return fd;
}

int cli_open_for_reading(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

FILE *cli_open_text(const char *path) {
    return fopen(path, "rb");
}

void cli_remove_file(const char *path) {
    unlink(path);
}

bool cli_make_folder(const char *path) {
    return mkdir(path, 0777) == 0;
}

void cli_remove_folder(const char *path) {
    rmdir(path);
}

void cli_close(int fd) {
    close(fd);
}

int64_t cli_read_some(int fd, void *buf, size_t n) {
    return read(fd, buf, n);
}

bool cli_write_all(int fd, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n > 0) {
        const ssize_t put = write(fd, from, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

bool cli_is_reader_gone(int os_error) {
    return os_error == EPIPE;
}

bool cli_is_disk_full(int os_error) {
    return os_error == ENOSPC || os_error == EDQUOT || os_error == EFBIG;
}

bool cli_random_bytes(void *out, size_t n) {
    return getentropy(out, n) == 0;
}

void cli_make_files_private(void) {
    umask(S_IRWXG | S_IRWXO);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void (*stop_asked)(void);

static void on_signal(int number) {
    (void)number;
    stop_asked();
}

/* A caller that ignores a signal (nohup) goes on ignoring it. */
void cli_catch_stop(void (*stop)(void)) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;
    stop_asked = stop;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
    }
}

_Noreturn void cli_end_at_once(const char *line, int code) {
    const ssize_t n = write(STDERR_FILENO, line, strlen(line));
    (void)n;
    _exit(code);
}

bool cli_is_terminal(FILE *file) {
    return isatty(fileno(file)) != 0;
}

bool cli_has_colours(void) {
    const char *term = cli_variable("TERM");
    return term && strcmp(term, "dumb") != 0;
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

void cli_prepare_process(int *argc, char ***argv) {
    (void)argc, (void)argv;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", O_RDONLY);
    allow_descriptors();
    signal(SIGXFSZ, SIG_IGN);
}
