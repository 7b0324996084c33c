/* SPDX-License-Identifier: MIT
 *
 * What tests ask of POSIX, for Windows; every source is compiled with it in front. */
#ifndef TESTS_DIST_POSIX_H
#define TESTS_DIST_POSIX_H

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define mkdir(path, mode) (_mkdir)(path)

/* Puts letters and digits in the place of "XXXXXX" at the end of a name until `make` makes it. */
static inline int made_somewhere(char *name, int (*make)(const char *name)) {
    static unsigned n;
    char *const end = name + strlen(name) - 6;
    for (int made; n < 1u << 24; n++) {
        snprintf(end, 7, "%06x", (unsigned)(n + (unsigned)_getpid() * 4099u) & 0xffffffu);
        if ((made = make(name)) >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

static inline int made_folder(const char *name) {
    return (_mkdir)(name);
}

static inline int made_file(const char *name) {
    return _open(name, _O_CREAT | _O_EXCL | _O_RDWR | _O_BINARY, _S_IREAD | _S_IWRITE);
}

static inline char *posix_mkdtemp(char *name) {
    return made_somewhere(name, made_folder) < 0 ? NULL : name;
}

static inline int posix_mkstemp(char *name) {
    return made_somewhere(name, made_file);
}

static inline int posix_setenv(const char *name, const char *value, int replaces) {
    return replaces || !getenv(name) ? _putenv_s(name, value) : 0;
}

static inline int posix_remove(const char *path) {
    return _rmdir(path) == 0 ? 0 : _unlink(path);
}

static inline long long posix_pread(int fd, void *buf, size_t n, long long offset) {
    const long long before = _lseeki64(fd, 0, SEEK_CUR);
    if (before < 0 || _lseeki64(fd, offset, SEEK_SET) < 0) return -1;
    const int got = _read(fd, buf, (unsigned)n);
    return _lseeki64(fd, before, SEEK_SET) < 0 ? -1 : got;
}

#define remove(path)   posix_remove(path)
#define pread          posix_pread
#define pipe(fds)      _pipe(fds, 65536, _O_BINARY)
#define mkdtemp        posix_mkdtemp
#define mkstemp        posix_mkstemp
#define setenv         posix_setenv
#define unsetenv(name) _putenv_s(name, "")

#endif
