/* SPDX-License-Identifier: MIT
 *
 * Windows has no unnamed files and no exchange of names; it renames without replacing. */
#include "base/outfile_os.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os_file.h"
#include "base/os_windows.h"

bool tare_os_is_unsupported(int os_error) {
    return os_error == EINVAL || os_error == ENOSYS || os_error == ENOTSUP ||
           os_error == EOPNOTSUPP;
}

int tare_os_open_unnamed(int dir_fd) {
    (void)dir_fd;
    return -1;
}

int tare_os_link(int fd, int dir_fd, const char *name) {
    (void)fd, (void)dir_fd, (void)name;
    return ENOTSUP;
}

int tare_os_rename_new(int dir_fd, const char *from, const char *to) {
    wchar_t *old = tare_windows_path_in(dir_fd, from), *new = tare_windows_path_in(dir_fd, to);
    int failed = old && new ? 0 : errno;
    if (!failed && !MoveFileExW(old, new, MOVEFILE_WRITE_THROUGH)) failed = tare_windows_errno();
    tare_file_facts facts;
    if (failed == EACCES && tare_entry_stat(&facts, dir_fd, to, false) == 0) failed = EEXIST;
    free(old);
    free(new);
    return failed;
}

int tare_os_exchange(int dir_fd, const char *a, const char *b) {
    (void)dir_fd, (void)a, (void)b;
    return ENOTSUP;
}

int tare_os_set_size(int fd, uint64_t size) {
    return tare_fd_resize(fd, size);
}

int64_t tare_os_copy_range(int in_fd, uint64_t in_offset, int out_fd, uint64_t out_offset,
                           uint64_t n) {
    (void)in_fd, (void)in_offset, (void)out_fd, (void)out_offset, (void)n;
    return 0;
}

void tare_os_will_need(int fd, uint64_t offset, uint64_t n) {
    (void)fd, (void)offset, (void)n;
}

bool tare_os_clone(int in_fd, int out_fd) {
    (void)in_fd, (void)out_fd;
    return false;
}

void tare_os_start_write_back(int fd, uint64_t offset, uint64_t n) {
    (void)fd, (void)offset, (void)n;
}

void tare_os_forget(int fd) {
    (void)fd;
}

/* A folder's entries are made durable by the system's own journal, and what is open for reading only
 * has nothing to write. */
int tare_os_flush(int fd) {
    (void)fd;
    return 0;
}

int tare_os_sync(int fd) {
    if (FlushFileBuffers(tare_windows_handle(fd))) return 0;
    const int failed = tare_windows_errno();
    return failed == EACCES || failed == EBADF || tare_os_is_unsupported(failed) ? 0 : failed;
}
