/* SPDX-License-Identifier: MIT
 *
 * Inside a session: its files, the blocks of them that are in memory, and the thread that fetches
 * (remote/fetch.c). One lock, `mutex`, guards all that changes. */
#ifndef TARE_REMOTE_SESSION_H
#define TARE_REMOTE_SESSION_H

#include <pthread.h>
#include <string.h>

#include <tare/remote.h>

#include "base/buffer.h"
#include "base/cache.h"
#include "base/reader.h"
#include "remote/response.h"
#include "remote/url.h"

/* The smallest unit that is fetched and cached. The directory of most files is within the first
 * block. */
#define TARE_BLOCK_BYTES ((size_t)1 << 20)
/* Blocks per request: while a directory is read, a single large request, for few round trips;
 * tensors are fetched in concurrent ranges. */
#define TARE_RUN_MOST   32
#define TARE_RUN_STREAM 4
/* Blocks that are fetched ahead of a reader that goes on from where it was. */
#define TARE_AHEAD_MOST 16

struct tare_fetcher;

struct tare_remote {
    tare_remote_options options; /* texts are in the arena */
    tare_arena arena;
    pthread_mutex_t mutex;
    pthread_cond_t changed;       /* a block, a file or the number of its fetches */
    tare_cache *cache;            /* of blocks; key: number of the file, number of the block */
    uint64_t n_files;             /* opened so far */
    tare_url hub;                 /* options.hub_endpoint */
    struct tare_fetcher *fetcher; /* NULL: no URL was opened yet */
    tare_remote_counts counts;
};

typedef enum tare_block_state {
    TARE_BLOCK_MISSING = 0,
    TARE_BLOCK_COMING,
    TARE_BLOCK_READY,
    TARE_BLOCK_FAILED,
} tare_block_state;

typedef struct tare_block {
    tare_block_state state;
    size_t size; /* bytes of it; TARE_BLOCK_BYTES while the size of the file is not known */
    tare_error err;
    uint8_t bytes[];
} tare_block;

/* One file on a server. */
typedef struct tare_remote_file {
    tare_remote *remote;
    uint64_t number;
    char *name;     /* for messages */
    char *address;  /* asked first */
    char *location; /* where redirections led to last; NULL: nowhere */
    char *userinfo; /* of the address, unescaped; NULL: none */
    bool is_hub;    /* the session's token goes to the address */
    bool is_known;  /* a response said how the file is read */
    bool has_size;
    bool has_ranges; /* a server said what ranges it sends */
    bool ignores_if_range;
    bool is_whole;  /* all of it is in `whole` */
    bool is_opened; /* the directory is read: tensors are read from now on */
    uint64_t size;
    char etag[TARE_VALIDATOR_MAX], modified[TARE_VALIDATOR_MAX];
    char commit[41]; /* of the hub: what the file is of */
    tare_buffer whole;
    size_t n_fetches; /* queued or running */
    bool is_closing;
    uint64_t next_block; /* behind what was read last */
    uint64_t streak;     /* blocks that were read one after the other */
    /* While a model is opened: the list of the files that were opened for it. */
    struct tare_remote_file **opened, *next_opened;
} tare_remote_file;

/* Opens a file. Its size is asked for unless `size` has it. The file is freed by tare_reader_close
 * of the reader that comes back. `name`, `address` and `userinfo` are copied. */
typedef struct tare_remote_place {
    const char *name, *address;
    const char *userinfo; /* NULL: none */
    bool is_hub;
    bool has_size;
    uint64_t size;
} tare_remote_place;

tare_status tare_remote_file_open(tare_reader *out, tare_remote_file **file, tare_remote *remote,
                                  const tare_remote_place *place, tare_error *err);

/* ---- the thread that fetches ----------------------------------------------------------------- */

/* Starts it where it does not run. The lock is held. */
tare_status tare_fetcher_start(tare_remote *remote, tare_error *err);
void tare_fetcher_stop(tare_remote *remote);
/* Queues a request for blocks that follow one another, of state COMING; the entries are the
 * fetcher's to release. The lock is held. NOMEM: nothing is taken over. */
tare_status tare_fetcher_add(tare_remote *remote, tare_remote_file *file, uint64_t first_block,
                             tare_cached *const *entries, size_t n, tare_error *err);
/* Cancels all fetches of a file and waits until none is left. The lock is held. */
void tare_fetcher_forget(tare_remote *remote, tare_remote_file *file);

/* A copy of a text, with the session's allocator; NULL: memory is out. */
static inline char *tare_remote_copy_text(const tare_remote *remote, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = tare_alloc(remote->options.allocator, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}
static inline void tare_remote_drop_text(const tare_remote *remote, char *text) {
    if (text) tare_free(remote->options.allocator, text, strlen(text) + 1);
}

/* The block of a cache entry. */
static inline tare_block *tare_block_of(const tare_cached *entry) {
    return entry->value;
}

#endif
