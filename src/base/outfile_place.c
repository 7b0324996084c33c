/* SPDX-License-Identifier: MIT
 *
 * Output on file systems that lack what others take for granted: mounts of object stores, HDFS, unions
 * of disks. Some cannot rename or link, some take a file only from its first byte to its last. There
 * a complete output is copied to its name in one go, and removed if that fails. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile_os.h"
#include "base/outfile_set.h"
#include "base/report.h"
#include "base/str.h"

#define COPY_BYTES ((size_t)1 << 20)

/* ---- what a file system can do --------------------------------------------------------------- */

int tare_outset_open_elsewhere(const char **path) {
    static const char *const places[] = {"/var/tmp/", "/tmp/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *path = places[i];
        if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0) return fd;
        if (fd >= 0) close(fd);
    }
    return -1;
}

/* The second byte before the first, as threads write. */
static int try_file(int fd) {
    if (ftruncate(fd, 2) != 0 || pwrite(fd, "", 1, 1) < 0 || pwrite(fd, "", 1, 0) < 0 ||
        ftruncate(fd, 0) != 0)
        return tare_os_is_unsupported(errno) || errno == EPERM || errno == ESPIPE ? ENOTSUP : 0;
    return 0;
}

int tare_outset_try_writing(const tare_outset *set) {
    static const char name[] = "0";
    if (!set->options.is_directory) return try_file(set->temp_fd);
    const int fd = openat(set->temp_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return tare_os_is_unsupported(errno) ? ENOTSUP : 0;
    const int failed = try_file(fd);
    close(fd);
    unlinkat(set->temp_fd, name, 0);
    return failed;
}

/* ---- copying --------------------------------------------------------------------------------- */

static int put_all(int fd, const uint8_t *bytes, size_t n) {
    while (n > 0) {
        const ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return put < 0 ? errno : ENOSPC;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

/* Whether the permissions of a file or folder of the temporary are those that the output shall have:
 * one with a name in a folder that all may write to is closed to others. */
static bool has_mode(const tare_outset *set, int in_fd) {
    return in_fd != set->temp_fd || !set->temp_name[0] || set->temp_parent_fd == set->parent_fd;
}

/* Permissions and times, as far as the file system has them. */
static void copy_stamps(const tare_outset *set, int in_fd, int out_fd) {
    struct stat st;
    if (fstat(in_fd, &st) != 0) return;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
    if (has_mode(set, in_fd))
        (void)fchmod(out_fd, st.st_mode & 07777);
    else
        (void)tare_outset_withhold(set, out_fd);
    if (!S_ISDIR(st.st_mode)) (void)futimens(out_fd, times);
}

/* Nobody may read a file meanwhile who may not afterwards. */
static mode_t first_mode(const tare_outset *set, int in_fd) {
    struct stat st;
    if (!has_mode(set, in_fd)) return 0666 & ~(mode_t)set->options.withheld;
    return fstat(in_fd, &st) == 0 ? st.st_mode & 0666 : 0600;
}

/* Some file systems store a file when it is closed: that may fail, too. 0 or an errno; *is_begun:
 * what had the name, if anything did, is no longer whole. */
static int copy_file(bool *is_begun, const tare_outset *set, int in_fd, int dir_fd,
                     const char *name, int flags, uint8_t *scratch) {
    const int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags,
                          first_mode(set, in_fd));
    int failed = fd < 0 ? errno : 0;
    *is_begun = fd >= 0;
    for (off_t at = 0; !failed;) {
        const ssize_t got = pread(in_fd, scratch, COPY_BYTES, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            failed = got < 0 ? errno : 0;
            break;
        }
        failed = put_all(fd, scratch, (size_t)got);
        at += got;
    }
    if (!failed) copy_stamps(set, in_fd, fd);
    if (!failed && !set->options.no_sync) failed = tare_os_sync(fd);
    if (fd >= 0 && close(fd) != 0 && !failed && errno != EINTR) failed = errno;
    return failed;
}

static int copy_link(int from_fd, int to_fd, const char *name) {
    char target[PATH_MAX];
    const ssize_t n = readlinkat(from_fd, name, target, sizeof target - 1);
    if (n < 0) return errno;
    target[n] = '\0';
    return symlinkat(target, to_fd, name) == 0 ? 0 : errno;
}

static int copy_folder(const tare_outset *set, int from_fd, int to_fd, unsigned depth,
                       uint8_t *scratch);

static int copy_entry(const tare_outset *set, int from_fd, int to_fd, const char *name,
                      unsigned depth, uint8_t *scratch) {
    struct stat st;
    if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    if (S_ISLNK(st.st_mode)) return copy_link(from_fd, to_fd, name);
    const int in = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0) return errno;
    int failed;
    bool is_begun;
    if (S_ISDIR(st.st_mode)) {
        failed = depth == 0 ? ELOOP : mkdirat(to_fd, name, 0777) == 0 ? 0 : errno;
        const int out = failed ? -1 : openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!failed) failed = out < 0 ? errno : copy_folder(set, in, out, depth - 1, scratch);
        if (!failed) copy_stamps(set, in, out);
        if (out >= 0) close(out);
    } else {
        failed = copy_file(&is_begun, set, in, to_fd, name, O_EXCL, scratch);
    }
    close(in);
    return failed;
}

static int copy_folder(const tare_outset *set, int from_fd, int to_fd, unsigned depth,
                       uint8_t *scratch) {
    const int again = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    int failed = dir ? 0 : errno;
    if (!dir && again >= 0) close(again);
    for (struct dirent *d; !failed && (d = readdir(dir)) != NULL;)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            failed = copy_entry(set, from_fd, to_fd, d->d_name, depth, scratch);
    if (dir) closedir(dir);
    return failed;
}

static int place_directory(bool *is_begun, const tare_outset *set, uint8_t *scratch) {
    if (set->options.force) tare_remove_tree(set->parent_fd, set->final_name, 0);
    *is_begun = mkdirat(set->parent_fd, set->final_name, 0777) == 0;
    if (!*is_begun) return errno;
    const int to = openat(set->parent_fd, set->final_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0) return errno;
    (void)tare_outset_withhold(set, to); /* nor may anyone look into a folder meanwhile */
    const int failed = copy_folder(set, set->temp_fd, to, TARE_FOLDERS_MOST, scratch);
    if (!failed) copy_stamps(set, set->temp_fd, to);
    close(to);
    return failed;
}

static void note(const tare_outset *set) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "output.copied");
    f.file = tare_str_of(set->path);
    f.text = set->temp_parent_fd == set->parent_fd
                 ? TARE_STR("this file system cannot rename files: the output was copied to its "
                            "name, not put there in one step")
                 : TARE_STR("this file system takes files only from the first byte to the last: "
                            "the output was made elsewhere and copied");
    tare_report_add(set->options.report, &f);
}

tare_status tare_outset_place(tare_outset *set, tare_error *err) {
    struct stat st;
    const bool exists = fstatat(set->parent_fd, set->final_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !set->options.force) return tare_outset_fail_exists(set, err);
    if (exists && set->options.keeps_old)
        return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                                "this file system cannot rename files, so the old one cannot be "
                                "kept until the new one is there: write elsewhere",
                                set->path);
    uint8_t *scratch = tare_alloc(set->allocator, COPY_BYTES);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    const int flags = set->options.force ? O_TRUNC : O_EXCL;
    bool is_begun;
    const int failed = set->options.is_directory
                           ? place_directory(&is_begun, set, scratch)
                           : copy_file(&is_begun, set, set->temp_fd, set->parent_fd,
                                       set->final_name, flags, scratch);
    tare_free(set->allocator, scratch, COPY_BYTES);
    if (failed == EEXIST && !set->options.force) return tare_outset_fail_exists(set, err);
    if (failed) {
        if (is_begun) tare_remove_tree(set->parent_fd, set->final_name, TARE_FOLDERS_MOST);
        return tare_outset_fail_errno(err, failed, "the output cannot be copied to its name",
                                      set->path);
    }
    note(set);
    if (set->temp_name[0]) tare_remove_tree(set->temp_parent_fd, set->temp_name, TARE_FOLDERS_MOST);
    set->temp_name[0] = '\0';
    set->is_committed = true;
    return TARE_OK;
}
