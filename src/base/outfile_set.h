/* SPDX-License-Identifier: MIT
 *
 * An output set from inside, for the files that implement it: outfile.c begins and ends it,
 * outfile_member.c writes into it, outfile_set.c is what both need. */
#ifndef TARE_BASE_OUTFILE_SET_H
#define TARE_BASE_OUTFILE_SET_H

#include <pthread.h>

#include "base/outfile.h"
#include "base/outfile_stale.h"
#include "base/outfile_store.h"

/* Locks of writers: members whose numbers have the same remainder share one. */
#define TARE_OUT_WRITERS 8

typedef struct tare_out_member {
    char *name; /* NULL: the single file */
    size_t name_size;
    uint64_t size;
    bool is_made;  /* the file exists in the directory */
    bool is_entry; /* no file: a link where there is a target, else a folder */
    bool has_stamp;
    uint16_t mode; /* of the stamp */
    uint32_t nanoseconds;
    int64_t seconds;
    char *target;
    size_t target_size;
    int fd;                    /* -1: not open now */
    tare_store_object *object; /* in place of a file, where the set is of a store */
} tare_out_member;

struct tare_outset {
    const tare_allocator *allocator;
    tare_out_options options;
    const tare_store *store; /* NULL: files */
    char *path;              /* of OUT, links followed */
    size_t path_size;
    const char *final_name; /* last part of path */
    int parent_fd;
    int temp_parent_fd; /* of the directory with the temporary: the parent, or another file system's */
    const char *temp_parent; /* its path, where it is another file system's */
    bool is_copied;          /* the commit copies: nothing can be renamed, or is elsewhere */
    bool has_short_names;    /* because a temporary name beside OUT is too long */
    bool replaces_folder;    /* OUT is a directory that is there, and may be replaced */
    int temp_fd;             /* of the temporary file or directory; holds the lock */
    char temp_name[TARE_TEMP_NAME_SIZE];  /* in temp_parent_fd; empty: nothing has that name now */
    char tried_name[TARE_TEMP_NAME_SIZE]; /* of one beside OUT that could not be written; may appear
                                             when it is closed */
    char *temp_path;                      /* directories: the path of what is being built */
    size_t temp_path_size;
    tare_out_member *members;
    size_t n_members, members_capacity;
    pthread_mutex_t mutex; /* guards fd and is_made of members in a directory */
    /* Held while a member is written: systems let one thread at a time write into a file, and those
     * that wait for it in the kernel do so at the cost of a processor. */
    pthread_mutex_t writing[TARE_OUT_WRITERS];
    size_t n_writing; /* of these that were made */
    bool has_mutex;
    bool is_committed;
};

/* Makes the entries of a directory's folders durable; outfile_member.c. */
tare_status tare_outset_sync_folders(tare_outset *set, tare_error *err);
/* Makes the links and folders of a directory and stamps its members; outfile_entry.c. */
tare_status tare_outset_finish_entries(tare_outset *set, tare_error *err);
/* Whether a member of a directory may have this name; outfile_member.c. */
bool tare_outset_is_name(const tare_outset *set, const char *name);
/* Makes the folders that a member lies in; 0 or an errno. */
int tare_outset_make_folders(const tare_outset *set, tare_out_member *member);
/* Opens a directory in which what the parent's file system cannot hold is made; *path, static, ends
 * with a slash. -1: there is none; outfile_place.c. */
int tare_outset_open_elsewhere(const char **path);
/* Whether the temporary, or a file in it, can be written at any place; 0 or an errno. An unnamed file, if
 * there is one, is written in its place. */
int tare_outset_try_writing(const tare_outset *set, int unnamed);
/* Whether a failure to link or rename is the file system's way to say that it does neither. */
bool tare_out_lacks_names(int os_error);
/* Copies a file from its first byte to its last; `scratch` has TARE_OUT_COPY_BYTES. 0 or an errno. */
#define TARE_OUT_COPY_BYTES ((size_t)1 << 20)
int tare_out_copy_bytes(int in_fd, int fd, uint8_t *scratch);
/* Removes a file, or a folder with so many levels of folders in it; what stays is a finding. */
void tare_outset_remove(const tare_outset *set, int folder, const char *name, unsigned depth);
/* Removes what has the temporary name, with so many levels of folders in it; what stays is a finding. */
void tare_outset_remove_temporary(tare_outset *set, unsigned depth);
/* Copies a complete output to its final name and removes the temporary. */
tare_status tare_outset_place(tare_outset *set, tare_error *err);
/* The output is there, and may not be replaced. */
tare_status tare_outset_fail_exists(const tare_outset *set, tare_error *err);
/* One member more, of this name. */
tare_status tare_outset_add_member(tare_outset *set, const tare_out_member *member,
                                   const char *name, uint32_t *index, tare_error *err);
/* Sets of objects; outfile_store.c. */
tare_status tare_outset_begin_store(tare_outset *set, const char *path, tare_error *err);
tare_status tare_outset_add_object(tare_outset *set, const char *name, uint64_t size,
                                   uint32_t *index, tare_error *err);
tare_status tare_outset_copy_to_object(const tare_outset *set, uint32_t index, uint64_t offset,
                                       int in_fd, uint64_t in_offset, uint64_t n, void *scratch,
                                       size_t scratch_size, tare_error *err);
tare_status tare_outset_commit_objects(tare_outset *set, tare_error *err);
/* Failures that name an output file. */
tare_status tare_outset_fail(tare_error *err, tare_status status, const char *what,
                             const char *path);
tare_status tare_outset_fail_errno(tare_error *err, int os_error, const char *what,
                                   const char *path);
/* A NUL-terminated copy; *size is the size to pass to tare_free. NULL when out of memory. */
char *tare_outset_text(const tare_allocator *a, const char *text, size_t n, size_t *size);
/* Takes permissions away that the source does not give; 0 or an errno. */
int tare_outset_withhold(const tare_outset *set, int fd);

#endif
