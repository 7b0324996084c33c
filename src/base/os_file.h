/* SPDX-License-Identifier: MIT
 *
 * Open files and folders, and the entries of folders. A descriptor is the system's, of a file or of a
 * folder; names are relative to an open folder, or paths where that is TARE_HERE. What may fail gives
 * 0, or an errno on every system; interrupted calls are repeated. */
#ifndef TARE_BASE_OS_FILE_H
#define TARE_BASE_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os_path.h"

#define TARE_HERE (-100) /* no folder: a path, relative to the working directory */

/* How a file is opened; nothing: for reading, links followed. */
enum {
    TARE_OPEN_WRITE = 1 << 0,   /* for reading and writing */
    TARE_OPEN_PUT = 1 << 1,     /* for writing only, as some file systems ask of new files */
    TARE_OPEN_MAKE = 1 << 2,    /* if there is none, a new one */
    TARE_OPEN_NEW = 1 << 3,     /* EEXIST if there is one */
    TARE_OPEN_EMPTY = 1 << 4,   /* without what it held */
    TARE_OPEN_NO_LINK = 1 << 5, /* ELOOP if the name is that of a link */
    TARE_OPEN_NO_WAIT = 1 << 6, /* a pipe is not waited for */
    TARE_OPEN_FOLDER = 1 << 7,  /* a folder, for its entries; ENOTDIR if it is none */
};

/* What the system knows of a file; what it does not have (owners, modes) is 0. */
typedef struct tare_file_facts {
    tare_path_kind kind;
    uint16_t mode; /* 0..07777 */
    uint64_t size;
    uint64_t device, inode; /* which file it is, whatever path leads to it */
    uint64_t n_names;       /* by which it is known */
    uint32_t owner, group;
    int64_t seconds; /* since 1970: when its content changed */
    uint32_t nanoseconds;
} tare_file_facts;

int tare_fd_open(int *fd, int folder, const char *name, unsigned how, uint16_t mode);
/* A failure is one of writing: some file systems store a file only then. */
int tare_fd_close(int fd);
int tare_fd_stat(tare_file_facts *out, int fd);
/* `follows`: what a link leads to. */
int tare_entry_stat(tare_file_facts *out, int folder, const char *name, bool follows);
bool tare_is_same_file(const tare_file_facts *a, const tare_file_facts *b);
/* Whether it belongs to the user whom the program acts for. */
bool tare_file_is_own(const tare_file_facts *facts);
/* When it was made, in ns, which nobody can set; 0: the file system does not tell. */
uint64_t tare_fd_birth(int fd);
/* The end of a block device. */
int tare_disk_size(uint64_t *size, int fd);

/* Reads n bytes from an offset on, or up to the end of the file: *got of them. */
int tare_fd_read(size_t *got, int fd, uint64_t offset, void *buf, size_t n);
int tare_fd_write(int fd, uint64_t offset, const void *bytes, size_t n);
/* What is written, where the last call left off. */
int tare_fd_put(int fd, const void *bytes, size_t n);
int tare_fd_resize(int fd, uint64_t size);
/* For as long as it is open; EWOULDBLOCK: another open file of it has the lock. */
int tare_fd_lock(int fd);
int tare_fd_set_mode(int fd, uint16_t mode);
int tare_fd_set_owner(int fd, const tare_file_facts *as);
int tare_fd_set_time(int fd, const tare_file_facts *as);

/* NULL: it cannot be mapped, and is to be read. Of a private map what is written stays here. */
void *tare_fd_map(int fd, size_t size, bool is_private);
void tare_fd_unmap(void *map, size_t size);

int tare_folder_make(int folder, const char *name, uint16_t mode);
/* Calls `visit` with each name in an open folder, but "." and "..", until it gives something other than
 * 0, which is returned. */
int tare_folder_names(int fd, int (*visit)(void *ctx, const char *name), void *ctx);
/* Whether files may be made in it. */
int tare_folder_can_write(int fd);
/* Bytes that this user may write; false: the file system does not say. */
bool tare_folder_free_bytes(uint64_t *out, int fd);
int tare_entry_remove(int folder, const char *name);
int tare_folder_remove(int folder, const char *name);
/* Whatever has the name `to` is replaced. */
int tare_entry_rename(int folder, const char *from, const char *to);
/* Permissions and time; of a link the time. */
int tare_entry_set(int folder, const char *name, const tare_file_facts *as);
int tare_entry_set_time(int folder, const char *name, const tare_file_facts *as);

/* What a link says, terminated; ENAMETOOLONG: `size` bytes do not hold it. */
int tare_link_read(char *out, size_t size, int folder, const char *name);
int tare_link_make(int folder, const char *name, const char *target);

#endif
