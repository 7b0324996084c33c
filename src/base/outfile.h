/* SPDX-License-Identifier: MIT
 *
 * Files that appear whole or not at all. See docs/behaviour.md, "Writing".
 *
 * A file is written under no name (O_TMPFILE) or as .OUT.tare-XXXXXX and gets its final name in
 * the commit; a directory is built as .OUT.tare-XXXXXX/ and renamed or exchanged. Objects of a store appear
 * in the commit. Whatever happens before the commit leaves OUT as it was. On a file system that cannot rename, or cannot write at any
 * place of a file, the commit copies the output to its name from the first byte to the last. */
#ifndef TARE_BASE_OUTFILE_H
#define TARE_BASE_OUTFILE_H

#include "base/alloc.h"
#include "base/reader.h"

typedef struct tare_outset tare_outset;
struct tare_store;

typedef struct tare_out_options {
    bool is_directory;
    bool force; /* an existing OUT is replaced; without it, ERR_ARG */
    bool no_sync;
    bool has_folders;  /* members may lie in folders of the directory, which are made */
    bool is_named;     /* the temporary has a name from the start, as where O_TMPFILE is missing */
    bool keeps_old;    /* an OUT that exists must stay whole until the new one has its name */
    uint16_t withheld; /* permissions that the source does not give, so the output must not, either;
                          in a directory the user keeps the user's own */
    uint64_t total_size;            /* checked against free space first (0: unknown) */
    tare_report *report;            /* of temporaries that were removed; NULL: none is wanted */
    const struct tare_store *store; /* where paths that name objects lead to; NULL: all are files */
} tare_out_options;

/* Whether an output at the path becomes an object of a store (base/outfile_store.h). Bytes of such a one
 * are written once and cannot be read back; ranges that stay zeros are told by tare_outset_skip. Functions
 * below that need more are UNSUPPORTED then. */
bool tare_outset_is_stored(const char *path, const tare_out_options *options);
bool tare_outset_can_read(const tare_outset *set);

/* Begins an output at `path`: checks it, removes stale temporaries of dead runs. A symbolic link
 * is followed. OUT must be absent or, with force, a regular file (is_directory: a directory
 * without subdirectories); everything else is ERR_ARG. */
tare_status tare_outset_new(tare_outset **out, const char *path, const tare_out_options *options,
                            const tare_allocator *allocator, tare_error *err);
/* What would make tare_outset_new fail; changes nothing on disk. */
tare_status tare_outset_check(const char *path, const tare_out_options *options,
                              const tare_allocator *allocator, tare_error *err);
/* Adds member file `name` (NULL for a single file) with its final size, zeros, ready to be
 * written. *index counts from 0. Names are plain: no slash, no ".."; with `has_folders` such parts
 * joined by slashes. Add all members before threads write. */
tare_status tare_outset_add(tare_outset *set, const char *name, uint64_t size, uint32_t *index,
                            tare_error *err);
/* Adds a symbolic link, or an empty folder (target NULL), to a directory: made in the commit, when
 * all files are there. */
tare_status tare_outset_add_entry(tare_outset *set, const char *name, const char *target,
                                  uint32_t *index, tare_error *err);
/* Permissions (0..0777) and modification time that a member gets in the commit; without this call
 * they are those of a new file. */
void tare_outset_stamp(tare_outset *set, uint32_t index, uint16_t mode, int64_t seconds,
                       uint32_t nanoseconds);
/* Writes bytes of member `index`. Thread safe for disjoint ranges. */
tare_status tare_outset_write(tare_outset *set, uint32_t index, uint64_t offset, const void *bytes,
                              size_t n, tare_error *err);
/* Says that nothing will be written there: zeros. To be said of each such range of an object, before the
 * commit; of files nothing happens. */
tare_status tare_outset_skip(tare_outset *set, uint32_t index, uint64_t offset, uint64_t n,
                             tare_error *err);
/* Copies a range of another file into a member by the shortest way (copy_file_range, else pread
 * and pwrite through `scratch`). Thread safe for disjoint ranges. */
tare_status tare_outset_copy(tare_outset *set, uint32_t index, uint64_t offset, int in_fd,
                             uint64_t in_offset, uint64_t n, void *scratch, size_t scratch_size,
                             tare_error *err);
/* Starts write-back of a range that is complete; a hint. */
void tare_outset_flush_hint(tare_outset *set, uint32_t index, uint64_t offset, uint64_t n);
/* Reads exactly n bytes of a member back. Thread safe. */
tare_status tare_outset_read(tare_outset *set, uint32_t index, uint64_t offset, void *buf, size_t n,
                             tare_error *err);
/* A member of a directory is complete: it is synced and its descriptor closed (the number of
 * shards may be larger than that of descriptors). Reading or writing opens it again. */
tare_status tare_outset_member_done(tare_outset *set, uint32_t index, tare_error *err);
/* The descriptor of the single file, for reading back. Borrowed. */
int tare_outset_fd(const tare_outset *set);
/* The path of the directory that is being built, NULL for a single file. Borrowed. */
const char *tare_outset_directory(const tare_outset *set);
/* Syncs everything written so far and lets a single file go from the page cache, so that reading
 * back reads the disk. */
tare_status tare_outset_sync(tare_outset *set, tare_error *err);
/* Syncs and gives the final name. After an error nothing of the output is left; the one exception
 * is a failed sync of the parent directory: then OUT is complete but may not survive a crash. */
tare_status tare_outset_commit(tare_outset *set, tare_error *err);
/* For a single file that the caller will rename: syncs it and leaves it in its directory under the
 * temporary name *name, which is borrowed from the set. It is no longer removed. */
tare_status tare_outset_release(tare_outset *set, const char **name, tare_error *err);
/* Frees the set; without a prior commit, removes everything. NULL is fine. */
void tare_outset_free(tare_outset *set);

/* Whether the path leads to the file that a reader reads. */
bool tare_same_file(const char *path, const tare_reader *file);
/* Whether the path names that file, or a directory that has it as an entry: replacing the one would
 * remove the other. */
bool tare_holds_file(const char *path, const tare_reader *file);
/* Whether the two paths are one and the same file or directory. */
bool tare_same_path(const char *a, const char *b);

#endif
