/* SPDX-License-Identifier: MIT
 *
 * Linux has unnamed files, renames that do not replace or that swap, and copies inside the kernel;
 * macOS has its own rename variants and sync; elsewhere plain POSIX does, with what it lacks
 * reported as ENOTSUP. See docs/behaviour.md, "Writing". */
#include "base/outfile_os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#endif

#if defined(__linux__)

/* The name under which a descriptor can be linked without privilege. */
static void proc_name(char out[32], int fd) {
    snprintf(out, 32, "/proc/self/fd/%d", fd);
}

int tare_os_open_unnamed(int dir_fd) {
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    /* Without /proc the file could never be named: better to find out now than after the work. */
    char name[32];
    struct stat by_fd, by_name;
    proc_name(name, fd);
    if (fstat(fd, &by_fd) != 0 || stat(name, &by_name) != 0 || by_fd.st_ino != by_name.st_ino ||
        by_fd.st_dev != by_name.st_dev) {
        close(fd);
        return -1;
    }
    return fd;
}

int tare_os_link(int fd, int dir_fd, const char *name) {
    char from[32];
    proc_name(from, fd);
    return linkat(AT_FDCWD, from, dir_fd, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Old C libraries lack the wrapper. */
static int rename_flags(int dir_fd, const char *from, const char *to, unsigned flags) {
    return syscall(SYS_renameat2, dir_fd, from, dir_fd, to, flags) == 0 ? 0 : errno;
}
#define RENAME_NEW_FLAG  1u /* RENAME_NOREPLACE */
#define RENAME_SWAP_FLAG 2u /* RENAME_EXCHANGE */

/* Not posix_fallocate: it writes zeros where the file system cannot. */
static int set_space_aside(int fd, uint64_t size) {
    return fallocate(fd, 0, 0, (off_t)size) == 0 ? 0 : errno;
}

int64_t tare_os_copy_range(int in_fd, uint64_t in_offset, int out_fd, uint64_t out_offset,
                           uint64_t n) {
    off_t in = (off_t)in_offset, out = (off_t)out_offset;
    size_t size = n < (1u << 30) ? (size_t)n : (size_t)1 << 30;
    ssize_t got = copy_file_range(in_fd, &in, out_fd, &out, size, 0);
    if (got >= 0) return got;
    switch (errno) {
    case EXDEV:
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
    case EPERM:
    case EBADF:
    case ETXTBSY:
        return 0;
    default:
        return -1;
    }
}

bool tare_os_clone(int in_fd, int out_fd) {
    return ioctl(out_fd, FICLONE, in_fd) == 0;
}

void tare_os_start_write_back(int fd, uint64_t offset, uint64_t n) {
    (void)sync_file_range(fd, (off_t)offset, (off_t)n, SYNC_FILE_RANGE_WRITE);
}

static int full_sync(int fd) {
    return fsync(fd);
}

#else

int tare_os_open_unnamed(int dir_fd) {
    (void)dir_fd;
    return -1;
}

int tare_os_link(int fd, int dir_fd, const char *name) {
    (void)fd, (void)dir_fd, (void)name;
    return ENOTSUP;
}

static int set_space_aside(int fd, uint64_t size) {
    (void)fd, (void)size;
    return ENOTSUP;
}

int64_t tare_os_copy_range(int in_fd, uint64_t in_offset, int out_fd, uint64_t out_offset,
                           uint64_t n) {
    (void)in_fd, (void)in_offset, (void)out_fd, (void)out_offset, (void)n;
    return 0;
}

bool tare_os_clone(int in_fd, int out_fd) {
    (void)in_fd, (void)out_fd;
    return false;
}

void tare_os_start_write_back(int fd, uint64_t offset, uint64_t n) {
    (void)fd, (void)offset, (void)n;
}

#if defined(__APPLE__)

static int rename_flags(int dir_fd, const char *from, const char *to, unsigned flags) {
    return renameatx_np(dir_fd, from, dir_fd, to, flags) == 0 ? 0 : errno;
}
#define RENAME_NEW_FLAG  RENAME_EXCL
#define RENAME_SWAP_FLAG RENAME_SWAP

/* fsync leaves the data in the drive's cache there. */
static int full_sync(int fd) {
    return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}

#else

static int rename_flags(int dir_fd, const char *from, const char *to, unsigned flags) {
    (void)dir_fd, (void)from, (void)to, (void)flags;
    return ENOTSUP;
}
#define RENAME_NEW_FLAG  1u
#define RENAME_SWAP_FLAG 2u

static int full_sync(int fd) {
    return fsync(fd);
}

#endif
#endif

bool tare_os_is_unsupported(int os_error) {
    return os_error == EINVAL || os_error == ENOSYS || os_error == ENOTSUP ||
           os_error == EOPNOTSUPP;
}

/* By its last byte, where the file system gives files no sizes. */
static int grow(int fd, uint64_t size) {
    struct stat st;
    if (ftruncate(fd, (off_t)size) == 0) return 0;
    const int failed = errno;
    if ((!tare_os_is_unsupported(failed) && failed != EPERM) || fstat(fd, &st) != 0) return failed;
    if ((uint64_t)st.st_size >= size) return (uint64_t)st.st_size == size ? 0 : failed;
    return pwrite(fd, "", 1, (off_t)size - 1) == 1 ? 0 : errno;
}

int tare_os_set_size(int fd, uint64_t size) {
    int failed = 0;
    do failed = size ? set_space_aside(fd, size) : 0;
    while (failed == EINTR);
    if (failed && !tare_os_is_unsupported(failed)) return failed;
    return grow(fd, size);
}

int tare_os_rename_new(int dir_fd, const char *from, const char *to) {
    int failed = rename_flags(dir_fd, from, to, RENAME_NEW_FLAG);
    if (!tare_os_is_unsupported(failed)) return failed;
    /* Without the flag: look first. If `to` is created in between, it is lost, as with any rename.
     */
    struct stat st;
    if (fstatat(dir_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    return renameat(dir_fd, from, dir_fd, to) == 0 ? 0 : errno;
}

int tare_os_exchange(int dir_fd, const char *a, const char *b) {
    return rename_flags(dir_fd, a, b, RENAME_SWAP_FLAG);
}

void tare_os_will_need(int fd, uint64_t offset, uint64_t n) {
#ifdef POSIX_FADV_WILLNEED
    (void)posix_fadvise(fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
#else
    (void)fd, (void)offset, (void)n;
#endif
}

void tare_os_forget(int fd) {
#if defined(POSIX_FADV_DONTNEED)
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
#else
    (void)fd;
#endif
}

int tare_os_flush(int fd) {
    const int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (again < 0) return errno;
    return close(again) == 0 || errno == EINTR ? 0 : errno;
}

int tare_os_sync(int fd) {
    int failed;
    do failed = full_sync(fd) == 0 ? 0 : errno;
    while (failed == EINTR);
    return tare_os_is_unsupported(failed) ? 0 : failed;
}
