/* SPDX-License-Identifier: MIT
 *
 * Changes several places of a file, or several files, as a single step: a journal in the same
 * directory says what each is to become, and a mark over the first bytes of a file says that work
 * on it has begun. See docs/edit.md, "What a crash leaves". */
#ifndef TARE_OPS_EDIT_EDIT_JOURNAL_H
#define TARE_OPS_EDIT_EDIT_JOURNAL_H

#include <tare/experimental/edit.h>

#include "base/alloc.h"

#define TARE_EDIT_MARK "TAREEDIT"
#define TARE_EDIT_HEAD 16 /* bytes of a mark: these, and eight of the edit's own */

/* Bytes to be written at an offset. */
typedef struct tare_edit_run {
    uint64_t offset, size;
    const uint8_t *bytes;
} tare_edit_piece;

/* What becomes of one file, all in one directory. */
typedef struct tare_edit_op {
    const char *name;
    uint64_t inode,
        temporary_inode;         /* as the edit found or made them; 0: it is new, there is none */
    const char *temporary;       /* takes the name; NULL: the runs are written into the file */
    bool is_marked;              /* while the edit works on this file or on the others */
    uint64_t old_size, new_size; /* of a file that runs are written into */
    uint8_t old_head[TARE_EDIT_HEAD]; /* of a file that is marked */
    uint8_t new_head[TARE_EDIT_HEAD]; /* the same, when runs were written into it */
    tare_edit_piece *runs;
    size_t n_runs;
} tare_edit_op;

/* The first operation is the leader: it is marked first and finished last, and the journal has its
 * name. What makes it known as one that was written here, and not brought along: the numbers of its
 * directory, of itself and of its files, and the time of its own birth. */
typedef struct tare_edit_journal {
    uint8_t id[8];
    uint64_t directory_inode, inode, born; /* nanoseconds; 0: not known */
    tare_edit_op *ops;
    size_t n_ops;
} tare_edit_journal;

/* Asked before each step that changes something on disk. */
typedef struct tare_edit_watch {
    void (*before)(void *ctx, const char *step);
    void *ctx;
} tare_edit_watch;

/* Parses the bytes of a journal; runs are borrowed from them. CORRUPT: not a journal, or
 * incomplete. */
tare_status tare_edit_journal_parse(tare_edit_journal *out, const uint8_t *bytes, size_t size,
                                    tare_arena *arena, tare_error *err);
/* Writes the journal and executes it. A failure before the first mark undoes everything; after it,
 * the journal is left for tare_edit_recover. */
tare_status tare_edit_journal_run(tare_edit_journal *journal, int dir_fd, bool no_sync,
                                  const tare_edit_watch *watch, const tare_allocator *allocator,
                                  tare_error *err);

#endif
