/* SPDX-License-Identifier: MIT
 *
 * POSIX's calls, and what Linux and macOS spell differently. */
#include "base/os_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "base/arith.h"

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#endif

/* Linux moves at most this much in one call. */
#define MOST ((size_t)0x7ffff000)

static int at(int folder) {
    return folder == TARE_HERE ? AT_FDCWD : folder;
}

static int result(int returned) {
    return returned == 0 ? 0 : errno;
}

/* ---- open files ------------------------------------------------------------------------------ */

static int flags_of(unsigned how) {
    static const struct {
        unsigned how;
        int flags;
    } rows[] = {
        {TARE_OPEN_WRITE, O_RDWR},       {TARE_OPEN_PUT, O_WRONLY},
        {TARE_OPEN_MAKE, O_CREAT},       {TARE_OPEN_NEW, O_CREAT | O_EXCL},
        {TARE_OPEN_EMPTY, O_TRUNC},      {TARE_OPEN_NO_LINK, O_NOFOLLOW},
        {TARE_OPEN_NO_WAIT, O_NONBLOCK}, {TARE_OPEN_FOLDER, O_DIRECTORY},
    };
    int flags = O_RDONLY | O_CLOEXEC;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (how & rows[i].how) flags |= rows[i].flags;
    return flags;
}

int tare_fd_open(int *fd, int folder, const char *name, unsigned how, uint16_t mode) {
    do *fd = openat(at(folder), name, flags_of(how), (mode_t)mode);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

int tare_fd_close(int fd) {
    const int failed = result(close(fd));
    return failed == EINTR ? 0 : failed;
}

static void tell(tare_file_facts *out, const struct stat *st) {
    *out = (tare_file_facts){.kind = S_ISREG(st->st_mode)   ? TARE_PATH_FILE
                                     : S_ISDIR(st->st_mode) ? TARE_PATH_FOLDER
                                     : S_ISLNK(st->st_mode) ? TARE_PATH_LINK
                                     : S_ISBLK(st->st_mode) ? TARE_PATH_DISK
                                                            : TARE_PATH_OTHER,
                             .mode = (uint16_t)(st->st_mode & 07777),
                             .size = (uint64_t)st->st_size,
                             .device = (uint64_t)st->st_dev,
                             .inode = (uint64_t)st->st_ino,
                             .n_names = (uint64_t)st->st_nlink,
                             .owner = (uint32_t)st->st_uid,
                             .group = (uint32_t)st->st_gid,
                             .seconds = st->st_mtim.tv_sec,
                             .nanoseconds = (uint32_t)st->st_mtim.tv_nsec};
}

int tare_fd_stat(tare_file_facts *out, int fd) {
    struct stat st;
    const int failed = result(fstat(fd, &st));
    if (!failed) tell(out, &st);
    return failed;
}

int tare_entry_stat(tare_file_facts *out, int folder, const char *name, bool follows) {
    struct stat st;
    const int failed = result(fstatat(at(folder), name, &st, follows ? 0 : AT_SYMLINK_NOFOLLOW));
    if (!failed) tell(out, &st);
    return failed;
}

bool tare_is_same_file(const tare_file_facts *a, const tare_file_facts *b) {
    return a->device == b->device && a->inode == b->inode;
}

bool tare_file_is_own(const tare_file_facts *facts) {
    return facts->owner == (uint32_t)geteuid();
}

uint64_t tare_fd_birth(int fd) {
#if defined(__linux__) && defined(STATX_BTIME)
    struct statx st; /* the call has a function in musl since 1.2.5 alone */
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) != 0 ||
        !(st.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)st.stx_btime.tv_sec * UINT64_C(1000000000) + st.stx_btime.tv_nsec;
#elif defined(__APPLE__)
    struct stat st;
    if (fstat(fd, &st) != 0) return 0;
    return (uint64_t)st.st_birthtimespec.tv_sec * UINT64_C(1000000000) +
           (uint64_t)st.st_birthtimespec.tv_nsec;
#else
    (void)fd;
    return 0;
#endif
}

int tare_disk_size(uint64_t *size, int fd) {
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0) return errno;
    *size = (uint64_t)end;
    return 0;
}

/* ---- their bytes ----------------------------------------------------------------------------- */

int tare_fd_read(size_t *got, int fd, uint64_t offset, void *buf, size_t n) {
    uint8_t *to = buf;
    for (*got = 0; *got < n;) {
        const size_t left = n - *got;
        const ssize_t part =
            pread(fd, to + *got, left < MOST ? left : MOST, (off_t)(offset + *got));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return errno;
        if (part == 0) break;
        *got += (size_t)part;
    }
    return 0;
}

int tare_fd_write(int fd, uint64_t offset, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    while (n > 0) {
        const ssize_t part = pwrite(fd, from, n, (off_t)offset);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return part < 0 ? errno : ENOSPC;
        from += part;
        offset += (uint64_t)part;
        n -= (size_t)part;
    }
    return 0;
}

int tare_fd_put(int fd, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    while (n > 0) {
        const ssize_t part = write(fd, from, n);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return part < 0 ? errno : ENOSPC;
        from += part;
        n -= (size_t)part;
    }
    return 0;
}

int tare_fd_resize(int fd, uint64_t size) {
    return result(ftruncate(fd, (off_t)size));
}

int tare_fd_lock(int fd) {
    return result(flock(fd, LOCK_EX | LOCK_NB));
}

int tare_fd_set_mode(int fd, uint16_t mode) {
    return result(fchmod(fd, (mode_t)mode));
}

int tare_fd_set_owner(int fd, const tare_file_facts *as) {
    return result(fchown(fd, (uid_t)as->owner, (gid_t)as->group));
}

static void times_of(struct timespec times[2], const tare_file_facts *as) {
    times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times[1] = (struct timespec){(time_t)as->seconds, (long)as->nanoseconds};
}

int tare_fd_set_time(int fd, const tare_file_facts *as) {
    struct timespec times[2];
    times_of(times, as);
    return result(futimens(fd, times));
}

void *tare_fd_map(int fd, size_t size, bool is_private) {
    void *map = mmap(NULL, size, is_private ? PROT_READ | PROT_WRITE : PROT_READ,
                     is_private ? MAP_PRIVATE : MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void tare_fd_unmap(void *map, size_t size) {
    munmap(map, size);
}

/* ---- folders --------------------------------------------------------------------------------- */

int tare_folder_make(int folder, const char *name, uint16_t mode) {
    return result(mkdirat(at(folder), name, (mode_t)mode));
}

int tare_folder_names(int fd, int (*visit)(void *ctx, const char *name), void *ctx) {
    const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    int failed = dir ? 0 : errno;
    if (!dir && again >= 0) close(again);
    while (!failed) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d) {
            failed = errno;
            break;
        }
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            failed = visit(ctx, d->d_name);
    }
    if (dir) closedir(dir);
    return failed;
}

int tare_folder_can_write(int fd) {
    return result(faccessat(fd, ".", W_OK | X_OK, AT_EACCESS));
}

bool tare_folder_free_bytes(uint64_t *out, int fd) {
    struct statvfs fs;
    return fstatvfs(fd, &fs) == 0 && fs.f_blocks != 0 &&
           tare_mul_u64(fs.f_bavail, fs.f_frsize, out);
}

int tare_entry_remove(int folder, const char *name) {
    return result(unlinkat(at(folder), name, 0));
}

int tare_folder_remove(int folder, const char *name) {
    return result(unlinkat(at(folder), name, AT_REMOVEDIR));
}

int tare_entry_rename(int folder, const char *from, const char *to) {
    return result(renameat(at(folder), from, at(folder), to));
}

/* A link has no permissions; its target is not touched. */
int tare_entry_set(int folder, const char *name, const tare_file_facts *as) {
    struct timespec times[2];
    times_of(times, as);
    if (as->kind != TARE_PATH_LINK && fchmodat(at(folder), name, (mode_t)as->mode, 0) != 0)
        return errno;
    return result(utimensat(at(folder), name, times, AT_SYMLINK_NOFOLLOW));
}

int tare_entry_set_time(int folder, const char *name, const tare_file_facts *as) {
    struct timespec times[2];
    times_of(times, as);
    return result(utimensat(at(folder), name, times, 0));
}

int tare_link_read(char *out, size_t size, int folder, const char *name) {
    const ssize_t n = size ? readlinkat(at(folder), name, out, size) : -1;
    if (n < 0) return size ? errno : ENAMETOOLONG;
    if ((size_t)n == size) return ENAMETOOLONG;
    out[n] = '\0';
    return 0;
}

int tare_link_make(int folder, const char *name, const char *target) {
    return result(symlinkat(target, at(folder), name));
}
