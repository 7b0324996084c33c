/* SPDX-License-Identifier: MIT
 *
 * POSIX's stat and its like. */
#include "base/os_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tare_path_kind tare_path_stat(const char *path, int *os_error) {
    struct stat st;
    const bool is_there = stat(path, &st) == 0;
    if (os_error) *os_error = is_there ? 0 : errno;
    if (!is_there) return TARE_PATH_NOTHING;
    return S_ISREG(st.st_mode)   ? TARE_PATH_FILE
           : S_ISDIR(st.st_mode) ? TARE_PATH_FOLDER
                                 : TARE_PATH_OTHER;
}

bool tare_path_has_entry(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

int tare_path_check_folder(const char *path) {
    return faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool tare_path_is_whole(const char *path) {
    return path[0] == '/';
}

bool tare_path_is_name(const char *name, size_t n) {
    return n > 0 && !memchr(name, '/', n) && !memchr(name, 0, n);
}

char *tare_path_real(const char *path) {
    return realpath(path, NULL);
}
