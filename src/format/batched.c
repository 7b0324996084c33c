/* SPDX-License-Identifier: MIT
 *
 * Reading in batches: what a read needs, and what is read ahead for it, is asked for in one call of
 * the caller's function, in ranges as long as they can be. The thread that needs bytes makes the
 * call; others that need the same ones wait for it. */
#include "format/batched.h"

#include <string.h>

#include "base/arith.h"
#include "base/str.h"

enum {
    BUDGET = 32 << 20, /* of the files of a model, within the 64 MiB of docs/behaviour.md */
    ASKED_MOST = TARE_RUN_MOST + 2 * TARE_AHEAD_MOST, /* blocks of a read, rounded up, and ahead */
};

typedef struct batched_file {
    tare_block_file blocks; /* first */
    tare_batched_source source;
    /* Requested, and not yet fetched: only while the lock is held. Ascending. */
    tare_cached *asked[ASKED_MOST];
    size_t n_asked;
} batched_file;

/* What one call fetches. */
typedef struct batch {
    tare_cached *entries[ASKED_MOST];
    size_t n;
    tare_read_range ranges[ASKED_MOST];
    size_t n_ranges;
    uint8_t *room; /* for ranges of several blocks; NULL: none is */
    size_t room_size;
} batch;

static tare_status request(void *ctx, uint64_t first, tare_cached *const *entries, size_t n,
                           tare_error *err) {
    batched_file *f = ctx;
    (void)first; /* the entries know their number */
    if (n > ASKED_MOST - f->n_asked) return tare_fail(err, TARE_ERR_NOMEM, "a batch of blocks");
    memcpy(f->asked + f->n_asked, entries, n * sizeof *entries);
    f->n_asked += n;
    return TARE_OK;
}

static bool goes_on(const batch *b, size_t i) {
    return i > 0 && b->entries[i]->key.b == b->entries[i - 1]->key.b + 1;
}

/* Blocks that follow one another become one range; a block alone is read into its place. */
static tare_status make_ranges(batch *b, const tare_allocator *allocator, tare_error *err) {
    for (size_t i = 0; i < b->n; i++) {
        tare_block *block = tare_block_of(b->entries[i]);
        if (goes_on(b, i)) {
            b->ranges[b->n_ranges - 1].n += block->size;
            b->ranges[b->n_ranges - 1].buf = NULL;
        } else {
            b->ranges[b->n_ranges++] = (tare_read_range){b->entries[i]->key.b * TARE_BLOCK_BYTES,
                                                         block->bytes, block->size};
        }
    }
    for (size_t i = 0; i < b->n_ranges; i++)
        if (!b->ranges[i].buf) b->room_size += b->ranges[i].n;
    b->room = b->room_size ? tare_alloc(allocator, b->room_size) : NULL;
    if (b->room_size && !b->room) return tare_fail(err, TARE_ERR_NOMEM, "a batch of blocks");
    uint8_t *at = b->room;
    for (size_t i = 0; i < b->n_ranges; i++) {
        if (b->ranges[i].buf) continue;
        b->ranges[i].buf = at;
        at += b->ranges[i].n;
    }
    return TARE_OK;
}

static void spread(const batch *b) {
    size_t range = 0, within = 0;
    for (size_t i = 0; i < b->n; i++) {
        tare_block *block = tare_block_of(b->entries[i]);
        if (i > 0 && !goes_on(b, i)) {
            range++;
            within = 0;
        }
        const uint8_t *from = (const uint8_t *)b->ranges[range].buf + within;
        if (from != block->bytes) memcpy(block->bytes, from, block->size);
        within += block->size;
    }
}

/* What the caller's function said of its failure, as far as it can be relied on. */
static tare_status take_fault(tare_error *out, const batch *b, tare_status status,
                              tare_error *said) {
    const bool has_words = said->what && said->what[0];
    said->field[sizeof said->field - 1] = '\0';
    tare_fail_at(out, status, b->ranges[0].offset,
                 has_words ? said->what : "reading through the callback");
    if (said->offset != TARE_NO_OFFSET) out->offset = said->offset;
    out->os_error = said->os_error;
    out->code = said->code;
    tare_str_escape(out->field, sizeof out->field, tare_str_of(said->field), false);
    return status;
}

static tare_status fetch(batch *b, const batched_file *f, tare_error *err) {
    tare_error said = TARE_ERROR_NONE;
    TARE_TRY(make_ranges(b, f->blocks.blocks->allocator, err));
    tare_status status = f->source.read_many(f->source.ctx, b->ranges, b->n_ranges, &said);
    if (status != TARE_OK) return take_fault(err, b, status, &said);
    spread(b);
    return TARE_OK;
}

static void deliver(void *ctx) {
    batched_file *f = ctx;
    tare_blocks *all = f->blocks.blocks;
    batch b = {.n = f->n_asked};
    tare_error err = TARE_ERROR_NONE;
    if (b.n == 0) return;
    memcpy(b.entries, f->asked, b.n * sizeof *b.entries);
    f->n_asked = 0;
    pthread_mutex_unlock(&all->mutex);
    const tare_status status = fetch(&b, f, &err);
    tare_free(all->allocator, b.room, b.room_size);
    pthread_mutex_lock(&all->mutex);
    for (size_t i = 0; i < b.n; i++) {
        tare_block *block = tare_block_of(b.entries[i]);
        block->state = status == TARE_OK ? TARE_BLOCK_READY : TARE_BLOCK_FAILED;
        block->err = err;
        tare_cache_release(all->cache, b.entries[i]);
    }
    pthread_cond_broadcast(&all->changed);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static void close_file(void *ctx) {
    batched_file *f = ctx;
    tare_blocks *all = f->blocks.blocks;
    tare_free(all->allocator, f, sizeof *f);
    tare_blocks_release(all);
}

tare_status tare_batched_open(tare_reader *out, tare_blocks **blocks,
                              const tare_batched_source *source, const tare_allocator *allocator,
                              tare_error *err) {
    *out = (tare_reader){.fd = -1};
    if (!*blocks) *blocks = tare_blocks_new(BUDGET, allocator);
    batched_file *f = *blocks ? tare_alloc((*blocks)->allocator, sizeof *f) : NULL;
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "a file");
    *f = (batched_file){.source = *source,
                        .blocks = {.blocks = *blocks,
                                   .has_size = true,
                                   .size = source->size,
                                   .run_opened = TARE_RUN_MOST,
                                   .request = request,
                                   .deliver = deliver,
                                   .ctx = f}};
    tare_blocks_retain(*blocks);
    tare_block_file_number(&f->blocks);
    tare_block_file_reader(out, &f->blocks, source->name, close_file);
    return TARE_OK;
}
