/* SPDX-License-Identifier: MIT
 *
 * A lock tells whether another process is at a part of a file, and goes with it. */
#include "base/part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os_file.h"
#include "base/outfile_os.h"
#include "base/outfile_set.h"

#define NOT_WRITTEN                                                                                \
    "cannot be written here; what has arrived is kept as .NAME.ID.tare-part, for the same "        \
    "command "                                                                                     \
    "to go on from"
#define TRIES 16 /* each is lost to a process that finishes the file just then */

/* Makes the folders that lead to a path; that they cannot be made shows when the file is opened. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)tare_folder_make(TARE_HERE, path, 0777);
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
    tare_file_facts opened, named;
    int failed = tare_fd_open(&out->fd, TARE_HERE, path,
                              TARE_OPEN_WRITE | TARE_OPEN_MAKE | TARE_OPEN_NO_LINK, 0666);
    if (tare_os_is_unsupported(failed))
        return fail(out, failed,
                    "this file system takes files only from the first byte to the last, and a "
                    "download that goes on is not written so: choose another folder",
                    err);
    if (failed) return fail(out, failed, "cannot be written here", err);
    failed = tare_fd_lock(out->fd);
    if (failed == EWOULDBLOCK) return fail_busy(out, err);
    if (failed && failed != ENOLCK && !tare_os_is_unsupported(failed))
        return fail(out, failed, "lock", err);
    failed = tare_fd_stat(&opened, out->fd);
    if (failed) return fail(out, failed, "cannot be written here", err);
    *is_other =
        tare_entry_stat(&named, TARE_HERE, path, false) != 0 || !tare_is_same_file(&named, &opened);
    out->size = opened.size;
    return TARE_OK;
}

tare_status tare_part_open(tare_part_file *out, const char *path, tare_error *err) {
    char *folders = strdup(path);
    *out = (tare_part_file){.fd = -1};
    if (!folders) return tare_fail(err, TARE_ERR_NOMEM, "path");
    make_folders(folders);
    free(folders);
    for (int i = 0; i < TRIES; i++) {
        bool is_other = false;
        TARE_TRY(open_locked(out, &is_other, path, err));
        if (!is_other) return TARE_OK;
        tare_part_close(out);
    }
    return fail_busy(out, err);
}

tare_status tare_part_append(tare_part_file *part, const void *bytes, size_t n, tare_error *err) {
    const int failed = tare_fd_write(part->fd, part->size, bytes, n);
    if (failed) return tare_fail_errno(err, failed, NOT_WRITTEN);
    part->size += n;
    return TARE_OK;
}

tare_status tare_part_read(const tare_part_file *part, uint64_t offset, void *buf, size_t n,
                           tare_error *err) {
    size_t got;
    const int failed = tare_fd_read(&got, part->fd, offset, buf, n);
    if (!failed && got == n) return TARE_OK;
    return tare_fail_errno(err, failed ? failed : EIO, "cannot be read");
}

tare_status tare_part_restart(tare_part_file *part, tare_error *err) {
    const int failed = tare_fd_resize(part->fd, 0);
    if (failed) return tare_fail_errno(err, failed, NOT_WRITTEN);
    part->size = 0;
    return TARE_OK;
}

/* The entries of the folder that a path is in. */
static int sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd;
    int failed = folder ? tare_fd_open(&fd, TARE_HERE, folder, TARE_OPEN_FOLDER, 0) : ENOMEM;
    free(folder);
    if (failed) return failed;
    failed = tare_os_sync(fd);
    tare_fd_close(fd);
    return failed;
}

/* Where nothing can be renamed: the bytes under the final name, which goes again if that fails. */
static int copy(const tare_part_file *part, const char *path, const char *to, bool no_sync) {
    uint8_t *scratch = malloc(TARE_OUT_COPY_BYTES);
    int fd;
    if (!scratch) return ENOMEM;
    int failed =
        tare_fd_open(&fd, TARE_HERE, to,
                     TARE_OPEN_PUT | TARE_OPEN_MAKE | TARE_OPEN_EMPTY | TARE_OPEN_NO_LINK, 0666);
    if (!failed) {
        failed = tare_out_copy_bytes(part->fd, fd, scratch);
        if (!failed && !no_sync) failed = tare_os_sync(fd);
        const int failed_to_close = tare_fd_close(fd);
        if (!failed) failed = failed_to_close;
        if (failed) tare_entry_remove(TARE_HERE, to);
    }
    free(scratch);
    if (!failed) tare_entry_remove(TARE_HERE, path);
    return failed;
}

tare_status tare_part_finish(tare_part_file *part, const char *path, const char *to, bool no_sync,
                             tare_error *err) {
    int os_error = no_sync ? 0 : tare_os_sync(part->fd);
    if (!os_error) os_error = tare_entry_rename(TARE_HERE, path, to);
    if (tare_out_lacks_names(os_error)) os_error = copy(part, path, to, no_sync);
    if (!os_error && !no_sync) os_error = sync_folder(to);
    tare_part_close(part);
    return os_error ? tare_fail_errno(err, os_error, NOT_WRITTEN) : TARE_OK;
}

void tare_part_close(tare_part_file *part) {
    if (part->fd >= 0) tare_fd_close(part->fd);
    part->fd = -1;
}
