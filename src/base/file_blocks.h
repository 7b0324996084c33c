/* SPDX-License-Identifier: MIT
 *
 * Files that are read in blocks, because each request to where they come from takes long: a server,
 * a caller's function. Blocks stay in a cache that the files of a session share; missing blocks are
 * requested in long runs, with read-ahead for sequential readers of tensors. */
#ifndef TARE_BASE_FILE_BLOCKS_H
#define TARE_BASE_FILE_BLOCKS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/cache.h"
#include "base/reader.h"

/* The smallest unit that is fetched and cached. The directory of most files is within the first
 * block. */
#define TARE_BLOCK_BYTES ((size_t)1 << 20)
/* Bytes of a block that is coming are to be read in steps of so many. */
#define TARE_BLOCK_STEP ((size_t)64 << 10)
/* The most blocks of a run. */
#define TARE_RUN_MOST 32
/* Blocks that are fetched ahead of a reader that goes on from where it was. */
#define TARE_AHEAD_MOST 16

/* What files share. One lock guards all that changes, in them too. */
typedef struct tare_blocks {
    const tare_allocator *allocator;
    _Atomic unsigned n_holders;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the state of a block */
    tare_cache *cache;      /* key: number of the file, number of the block */
    uint64_t n_files;       /* numbered so far */
    bool is_opened;         /* of all files: their directories are read, and tensors will be */
} tare_blocks;

/* `budget`: bytes of blocks that are kept. NULL: memory is out. */
tare_blocks *tare_blocks_new(size_t budget, const tare_allocator *allocator);
void tare_blocks_retain(tare_blocks *blocks);
/* The last holder's call frees it. NULL is fine. */
void tare_blocks_release(tare_blocks *blocks);
/* From now on tensors are read. NULL is fine. */
void tare_blocks_note_opened(tare_blocks *blocks);

typedef enum tare_block_state {
    TARE_BLOCK_MISSING = 0,
    TARE_BLOCK_COMING,
    TARE_BLOCK_READY,
    TARE_BLOCK_FAILED,
} tare_block_state;

typedef struct tare_block {
    tare_block_state state;
    size_t size; /* bytes of it; TARE_BLOCK_BYTES while the size of the file is not known */
    size_t got;  /* while it is coming: of these bytes, from the first on, those that are there */
    tare_error err;
    uint8_t bytes[];
} tare_block;

/* The block of a cache entry. */
static inline tare_block *tare_block_of(const tare_cached *entry) {
    return entry->value;
}

typedef struct tare_block_file {
    tare_blocks *blocks;
    uint64_t number;
    bool has_size;
    bool is_whole;  /* all of it is at `whole` */
    bool is_opened; /* as in tare_blocks, of this one */
    uint64_t size;
    uint64_t from; /* nothing before it will be read: a run need not begin with a whole block */
    const uint8_t *whole;
    unsigned run_opened; /* blocks of a run once it is opened; before, TARE_RUN_MOST */
    uint64_t next_block; /* after what was read last */
    uint64_t streak;     /* blocks that were read one after the other */
    /* Requests blocks that follow one another, of state COMING; the entries are the callee's to
     * release. The lock is held. NOMEM: nothing is taken over. */
    tare_status (*request)(void *ctx, uint64_t first, tare_cached *const *entries, size_t n,
                           tare_error *err);
    /* Fetches what was requested, before it returns. The lock is held, and given up meanwhile. NULL:
     * requests are served by another thread. */
    void (*deliver)(void *ctx);
    void *ctx;
} tare_block_file;

/* Gives the file its number. */
void tare_block_file_number(tare_block_file *file);
/* From now on it is read from `offset` on. If that is before what it was read from so far, blocks that are there
 * are forgotten, as they may lack what is before that. */
void tare_block_file_start_at(tare_block_file *file, uint64_t offset);
/* Waits until the first bytes that will be read are there, and with them the size of the file. */
tare_status tare_block_file_read_size(tare_block_file *file, tare_error *err);
/* A reader of a file whose size is known. The name must outlive it, and `close`, which is given the file,
 * ends that. */
void tare_block_file_reader(tare_reader *out, tare_block_file *file, const char *name,
                            void (*close)(void *file));

#endif
