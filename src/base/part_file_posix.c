/* SPDX-License-Identifier: MIT
 *
 * Parts of files on POSIX systems. A lock tells whether another process is at it, and goes with it. */
#include "base/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile_os.h"

#define TRIES 16 /* each is lost to a process that finishes the file just then */

/* Makes the folders that lead to a path; that they cannot be made shows when the file is opened. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

static tare_status fail(tare_part_file *part, int os_error, const char *what, tare_error *err) {
    tare_part_close(part);
    return tare_fail_errno(err, os_error, what);
}

static tare_status fail_busy(tare_part_file *part, tare_error *err) {
    tare_part_close(part);
    return tare_fail(err, TARE_ERR_IO, "another process is downloading it");
}

/* Opens and locks the file that has the name; *is_other: it had the name no more once it was locked, as
 * whoever held the lock before has finished it. */
static tare_status open_locked(tare_part_file *out, bool *is_other, const char *path,
                               tare_error *err) {
    struct stat opened, named;
    out->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out->fd < 0) return fail(out, errno, "cannot be written", err);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0) {
        const int os_error = errno;
        if (os_error == EWOULDBLOCK) return fail_busy(out, err);
        if (!tare_os_is_unsupported(os_error)) return fail(out, os_error, "lock", err);
    }
    if (fstat(out->fd, &opened) != 0) return fail(out, errno, "cannot be written", err);
    *is_other =
        lstat(path, &named) != 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino;
    out->size = (uint64_t)opened.st_size;
    return TARE_OK;
}

tare_status tare_part_open(tare_part_file *out, const char *path, tare_error *err) {
    char *folders = strdup(path);
    *out = (tare_part_file){.fd = -1};
    if (!folders) return tare_fail(err, TARE_ERR_NOMEM, "path");
    make_folders(folders);
    free(folders);
    for (int i = 0; i < TRIES; i++) {
        bool is_other;
        TARE_TRY(open_locked(out, &is_other, path, err));
        if (!is_other) return TARE_OK;
        tare_part_close(out);
    }
    return fail_busy(out, err);
}

tare_status tare_part_append(tare_part_file *part, const void *bytes, size_t n, tare_error *err) {
    const uint8_t *from = bytes;
    while (n) {
        const ssize_t done = pwrite(part->fd, from, n, (off_t)part->size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return tare_fail_errno(err, done ? errno : ENOSPC, "cannot be written");
        from += done;
        n -= (size_t)done;
        part->size += (uint64_t)done;
    }
    return TARE_OK;
}

tare_status tare_part_read(const tare_part_file *part, uint64_t offset, void *buf, size_t n,
                           tare_error *err) {
    uint8_t *to = buf;
    while (n) {
        const ssize_t done = pread(part->fd, to, n, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return tare_fail_errno(err, done ? errno : EIO, "cannot be read");
        to += done;
        n -= (size_t)done;
        offset += (uint64_t)done;
    }
    return TARE_OK;
}

tare_status tare_part_restart(tare_part_file *part, tare_error *err) {
    if (ftruncate(part->fd, 0) != 0) return tare_fail_errno(err, errno, "cannot be written");
    part->size = 0;
    return TARE_OK;
}

/* The entries of the folder that a path is in. */
static int sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int os_error = fd < 0 ? errno : tare_os_sync(fd);
    if (fd >= 0) close(fd);
    free(folder);
    return os_error;
}

tare_status tare_part_finish(tare_part_file *part, const char *path, const char *to, bool no_sync,
                             tare_error *err) {
    int os_error = no_sync ? 0 : tare_os_sync(part->fd);
    if (!os_error && rename(path, to) != 0) os_error = errno;
    if (!os_error && !no_sync) os_error = sync_folder(to);
    tare_part_close(part);
    return os_error ? tare_fail_errno(err, os_error, "cannot be written") : TARE_OK;
}

void tare_part_close(tare_part_file *part) {
    if (part->fd >= 0) close(part->fd);
    part->fd = -1;
}
