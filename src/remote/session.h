/* SPDX-License-Identifier: MIT
 *
 * Inside a session: its files, the blocks of them that are in memory, and the thread that makes the
 * requests (remote/transfer.c). The lock of its blocks guards all that changes. */
#ifndef TARE_REMOTE_SESSION_H
#define TARE_REMOTE_SESSION_H

#include <string.h>

#include <tare/experimental/remote.h>

#include "base/buffer.h"
#include "base/file_blocks.h"
#include "base/outfile_store.h"
#include "base/reader.h"
#include "remote/response.h"
#include "remote/url.h"

/* Blocks of a request for tensors, which are fetched in concurrent ranges. While a directory is
 * read, a single large request has them all, for few round trips. */
#define TARE_RUN_STREAM 4

struct tare_fetcher;

struct tare_remote {
    tare_context context;
    tare_remote_options options; /* texts are in the arena */
    tare_arena arena;
    tare_blocks *blocks;          /* its condition: also a file, or the number of its fetches */
    tare_url hub;                 /* options.hub_endpoint */
    struct tare_fetcher *fetcher; /* NULL: no URL was opened yet */
    tare_remote_counts counts;
    tare_store store;    /* for outputs (remote/upload.c) */
    uint64_t part_bytes; /* memory of parts of uploads */
    size_t n_sending;    /* of these parts */
};

/* Takes a file that a server without ranges sends and that is too large for memory, on the session's thread. */
typedef struct tare_remote_sink {
    /* Before its first byte, and once more when it comes anew. */
    tare_status (*begin)(void *ctx, uint64_t size, tare_error *err);
    /* NULL: its size is all that is asked for. */
    tare_status (*put)(void *ctx, const uint8_t *bytes, size_t n, tare_error *err);
    void *ctx;
} tare_remote_sink;

/* One file on a server. */
typedef struct tare_remote_file {
    tare_block_file blocks; /* first; its size is that of the file, once a response has said it */
    tare_remote *remote;
    char *name;           /* for messages */
    char *address;        /* asked first */
    char *location;       /* where redirections led to last; NULL: nowhere */
    uint64_t n_locations; /* how often that has changed */
    char *userinfo;       /* of the address, unescaped; NULL: none */
    bool is_hub;          /* the session's token goes to the address */
    bool is_s3;           /* the session's keys sign requests to the address */
    bool is_known;        /* a response said how the file is read */
    bool has_ranges;      /* a server said what ranges it sends */
    bool ignores_if_range;
    char etag[TARE_VALIDATOR_MAX], modified[TARE_VALIDATOR_MAX];
    char commit[41];   /* of the hub: what the file is of */
    tare_buffer whole; /* all of it, from a server without ranges */
    size_t n_fetches;  /* queued or running */
    bool is_closing;
    const tare_remote_sink *sink; /* NULL: too large is an error */
    bool is_in_sink;              /* all of it went there, and nothing can be read */
    bool is_past_end;             /* the server has the file, and nothing at blocks.from */
    /* While a model is opened: the list of the files that were opened for it. */
    struct tare_remote_file **opened, *next_opened;
} tare_remote_file;

/* Opens a file. Its size is asked for unless `size` has it. The file is freed by tare_reader_close
 * of the reader that comes back. `name`, `address` and `userinfo` are copied. */
typedef struct tare_remote_place {
    const char *name, *address;
    const char *userinfo; /* NULL: none */
    bool is_hub, is_s3;
    bool has_size;
    uint64_t size;
    const tare_remote_sink *sink;
    uint64_t from; /* nothing before it will be read, if the file is longer than that */
} tare_remote_place;

tare_status tare_remote_file_open(tare_reader *out, tare_remote_file **file, tare_remote *remote,
                                  const tare_remote_place *place, tare_error *err);

/* ---- the thread of the session --------------------------------------------------------------- */

/* Starts it where it does not run. The lock is held. */
tare_status tare_fetcher_start(tare_remote *remote, tare_error *err);
void tare_fetcher_stop(tare_remote *remote);
/* Lets it look at what has changed. */
void tare_fetcher_wake(tare_remote *remote);
/* Queues a request for blocks that follow one another, of state COMING; the entries are the
 * fetcher's to release. The lock is held. NOMEM: nothing is taken over. */
tare_status tare_fetcher_add(tare_remote *remote, tare_remote_file *file, uint64_t first_block,
                             tare_cached *const *entries, size_t n, tare_error *err);
/* Cancels all fetches of a file and waits until none is left. The lock is held. */
void tare_fetcher_forget(tare_remote *remote, tare_remote_file *file);

/* A copy of a text, with the session's allocator; NULL: memory is out. */
static inline char *tare_remote_copy_text(const tare_remote *remote, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = tare_alloc(remote->options.context->allocator, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}
static inline void tare_remote_drop_text(const tare_remote *remote, char *text) {
    if (text) tare_free(remote->options.context->allocator, text, strlen(text) + 1);
}

#endif
