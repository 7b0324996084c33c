/* SPDX-License-Identifier: MIT
 *
 * Loaded before a program (LD_PRELOAD): the call number FAIL_AT of the group FAIL_CALL fails with
 * FAIL_ERRNO. What the program asks of /proc, /sys, /etc and /dev is not counted, nor is standard
 * error. Without FAIL_AT the calls are counted, into the file FAIL_COUNT. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long n_calls;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static bool is_counted(const char *path) {
    static const char *const others[] = {"/proc", "/sys", "/etc", "/dev", "/usr", "/lib"};
    for (size_t i = 0; path && i < sizeof others / sizeof *others; i++)
        if (strncmp(path, others[i], strlen(others[i])) == 0) return false;
    return true;
}

/* Whether this call of a group is the one that fails; errno is set then. */
static bool fails(const char *group, const char *path) {
    if (strcmp(group, setting("FAIL_CALL")) != 0 || !is_counted(path)) return false;
    if (atomic_fetch_add(&n_calls, 1) + 1 != atol(setting("FAIL_AT"))) return false;
    errno = atoi(setting("FAIL_ERRNO"));
    return true;
}

__attribute__((destructor)) static void tell(void) {
    FILE *f = *setting("FAIL_COUNT") ? fopen(setting("FAIL_COUNT"), "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", atomic_load(&n_calls));
    fclose(f);
}

/* ---- names ----------------------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list arguments) {
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return fails("open", path) ? -1 : REAL(name)(path, flags, mode);                           \
    }
#define OPENAT(name)                                                                               \
    int name(int dir, const char *path, int flags, ...) {                                          \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return fails("open", path) ? -1 : REAL(name)(dir, path, flags, mode);                      \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
    return fails("open", path) ? NULL : REAL(opendir)(path);
}

struct dirent *readdir(DIR *dir) {
    return fails("list", NULL) ? NULL : REAL(readdir)(dir);
}

struct dirent64 *readdir64(DIR *dir) {
    return fails("list", NULL) ? NULL : REAL(readdir64)(dir);
}

#define STAT(name, type)                                                                           \
    int name(const char *restrict path, struct type *restrict st) {                                \
        return fails("stat", path) ? -1 : REAL(name)(path, st);                                    \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

int fstat(int fd, struct stat *st) {
    return fails("stat", NULL) ? -1 : REAL(fstat)(fd, st);
}

int fstat64(int fd, struct stat64 *st) {
    return fails("stat", NULL) ? -1 : REAL(fstat64)(fd, st);
}

int fstatat(int dir, const char *restrict path, struct stat *restrict st, int flags) {
    return fails("stat", path) ? -1 : REAL(fstatat)(dir, path, st, flags);
}

int fstatat64(int dir, const char *restrict path, struct stat64 *restrict st, int flags) {
    return fails("stat", path) ? -1 : REAL(fstatat64)(dir, path, st, flags);
}

int access(const char *path, int mode) {
    return fails("stat", path) ? -1 : REAL(access)(path, mode);
}

int faccessat(int dir, const char *path, int mode, int flags) {
    return fails("stat", path) ? -1 : REAL(faccessat)(dir, path, mode, flags);
}

int rename(const char *from, const char *to) {
    return fails("rename", from) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    return fails("rename", from) ? -1 : REAL(renameat)(from_dir, from, to_dir, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    return fails("rename", from) ? -1 : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

int unlink(const char *path) {
    return fails("remove", path) ? -1 : REAL(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags) {
    return fails("remove", path) ? -1 : REAL(unlinkat)(dir, path, flags);
}

int rmdir(const char *path) {
    return fails("remove", path) ? -1 : REAL(rmdir)(path);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    return fails("rename", NULL) ? -1 : REAL(linkat)(from_dir, from, to_dir, to, flags);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

ssize_t read(int fd, void *bytes, size_t n) {
    return fails("read", NULL) ? -1 : REAL(read)(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at) {
    return fails("read", NULL) ? -1 : REAL(pread)(fd, bytes, n, at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at) {
    return fails("read", NULL) ? -1 : REAL(pread64)(fd, bytes, n, at);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    return fd != 2 && fails("write", NULL) ? -1 : REAL(write)(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    return fails("write", NULL) ? -1 : REAL(pwrite)(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    return fails("write", NULL) ? -1 : REAL(pwrite64)(fd, bytes, n, at);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t n,
                        unsigned flags) {
    if (fails("write", NULL)) return -1;
    return REAL(copy_file_range)(from, from_at, to, to_at, n, flags);
}

int ftruncate(int fd, off_t size) {
    return fails("write", NULL) ? -1 : REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    return fails("write", NULL) ? -1 : REAL(ftruncate64)(fd, size);
}

int fsync(int fd) {
    return fails("sync", NULL) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd) {
    return fails("sync", NULL) ? -1 : REAL(fdatasync)(fd);
}

/* ---- memory and threads ---------------------------------------------------------------------- */

/* glibc's own names: to look for the real ones would allocate. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n) {
    return fails("memory", NULL) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return fails("memory", NULL) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n) {
    return fails("memory", NULL) ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    return fails("memory", NULL) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
    if (fails("memory", NULL)) return ENOMEM;
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    if (fails(fd < 0 ? "memory" : "map", NULL)) return MAP_FAILED;
    return REAL(mmap)(at, n, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset) {
    if (fails(fd < 0 ? "memory" : "map", NULL)) return MAP_FAILED;
    return REAL(mmap64)(at, n, protection, flags, fd, offset);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*start)(void *), void *restrict argument) {
    if (fails("thread", NULL)) return errno;
    return REAL(pthread_create)(thread, attributes, start, argument);
}
