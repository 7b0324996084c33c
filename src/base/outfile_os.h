/* SPDX-License-Identifier: MIT
 *
 * The system calls behind atomic output that not every system has. All differences between systems
 * live in outfile_posix.c; everything here may report that it is unsupported, and the caller takes
 * another way. */
#ifndef TARE_BASE_OUTFILE_OS_H
#define TARE_BASE_OUTFILE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a failure says that the file system cannot do such a thing. */
bool tare_os_is_unsupported(int os_error);
/* A new file without a name in a directory, for reading and writing, that tare_os_link can name
 * later; -1 where the system or the file system has no such thing. */
int tare_os_open_unnamed(int dir_fd);
/* Names an unnamed file. 0, or an errno. */
int tare_os_link(int fd, int dir_fd, const char *name);
/* Renames without replacing: EEXIST when `to` exists. 0, or an errno. */
int tare_os_rename_new(int dir_fd, const char *from, const char *to);
/* Swaps two names. 0, or an errno; EINVAL, ENOSYS or ENOTSUP where that cannot be done. */
int tare_os_exchange(int dir_fd, const char *a, const char *b);
/* Gives an empty file its size, zeros, with the space reserved where the file system can: writing
 * then costs less, and a full disk is noticed beforehand. 0, or an errno. */
int tare_os_set_size(int fd, uint64_t size);
/* Copies inside the kernel, at most n bytes: bytes copied, 0 at the input's end or where this pair
 * of files cannot be copied this way, -1 with errno for a real failure. */
int64_t tare_os_copy_range(int in_fd, uint64_t in_offset, int out_fd, uint64_t out_offset,
                           uint64_t n);
/* Starts reading a range into the page cache; a hint. */
void tare_os_will_need(int fd, uint64_t offset, uint64_t n);
/* Makes a new file share all data of another; false: this file system cannot. */
bool tare_os_clone(int in_fd, int out_fd);
/* Starts writing a range of the page cache back; a hint. */
void tare_os_start_write_back(int fd, uint64_t offset, uint64_t n);
/* Drops the clean pages of a file from the page cache; a hint. */
void tare_os_forget(int fd);
/* Hands over what was written, as closing the file would: some file systems store it only then, or
 * notice that it does not fit. 0, or an errno. */
int tare_os_flush(int fd);
/* Makes a file's content (a directory's entries) durable. 0, or an errno; a file system that
 * cannot sync such a file counts as done. */
int tare_os_sync(int fd);

#endif
