/* SPDX-License-Identifier: MIT
 *
 * Files that appear whole or not at all. See docs/behaviour.md, "Writing".
 *
 * A file is written under no name (O_TMPFILE) or as .OUT.tare-XXXXXX and gets its final name in
 * the commit; a directory is built as .OUT.tare-XXXXXX/ and renamed or exchanged. Whatever happens
 * before the commit leaves OUT as it was. */
#ifndef TARE_BASE_OUTFILE_H
#define TARE_BASE_OUTFILE_H

#include "base/alloc.h"

typedef struct tare_outset tare_outset;

typedef struct tare_out_options {
    bool is_directory;
    bool force; /* an existing OUT is replaced; without it, ERR_ARG */
    bool no_sync;
    uint64_t total_size; /* checked against free space first (0: unknown) */
} tare_out_options;

/* Begins an output at `path`: checks it, removes stale temporaries of dead runs. */
tare_status tare_outset_new(tare_outset **out, const char *path, const tare_out_options *options,
                            const tare_allocator *allocator, tare_error *err);
/* Opens member file `name` (NULL for a single file) with its final size, sparse, ready for pwrite.
 * *index counts from 0. Names are plain: no slash, no "..". */
tare_status tare_outset_add(tare_outset *set, const char *name, uint64_t size, uint32_t *index,
                            tare_error *err);
/* Writes bytes of member `index`. Thread safe for disjoint ranges. */
tare_status tare_outset_write(tare_outset *set, uint32_t index, uint64_t offset, const void *bytes,
                              size_t n, tare_error *err);
/* Copies a range of another file into a member by the shortest way (copy_file_range, else pread
 * and pwrite through `scratch`). Thread safe for disjoint ranges. */
tare_status tare_outset_copy(tare_outset *set, uint32_t index, uint64_t offset, int in_fd,
                             uint64_t in_offset, uint64_t n, void *scratch, size_t scratch_size,
                             tare_error *err);
/* Starts write-back of a range that is complete; a hint. */
void tare_outset_flush_hint(tare_outset *set, uint32_t index, uint64_t offset, uint64_t n);
/* The descriptor of a member, for reading back. Borrowed. */
int tare_outset_fd(const tare_outset *set, uint32_t index);
/* Syncs and gives the final name. After an error nothing of the output is left. */
tare_status tare_outset_commit(tare_outset *set, tare_error *err);
/* Frees; without a commit before, removes everything. NULL is fine. */
void tare_outset_free(tare_outset *set);

/* Whether the two paths, or a path and a descriptor, are one and the same file. */
bool tare_same_file(const char *path, int fd);

#endif
