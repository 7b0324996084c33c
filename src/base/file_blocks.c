/* SPDX-License-Identifier: MIT
 *
 * Blocks of files: which are there, which are asked for and when. */
#include "base/file_blocks.h"

#include <string.h>

#include "base/arith.h"

/* ---- what is shared -------------------------------------------------------------------------- */

static void free_block(void *ctx, void *block, size_t cost) {
    const tare_blocks *b = ctx;
    tare_free(b->allocator, block, cost);
}

tare_blocks *tare_blocks_new(size_t budget, const tare_allocator *allocator) {
    tare_blocks *b = tare_alloc(allocator, sizeof *b);
    if (!b) return NULL;
    memset(b, 0, sizeof *b);
    b->allocator = allocator;
    atomic_init(&b->n_holders, 1);
    pthread_mutex_init(&b->mutex, NULL); /* neither takes memory here, so neither fails */
    pthread_cond_init(&b->changed, NULL);
    b->cache = tare_cache_new(budget, free_block, b, allocator);
    if (b->cache) return b;
    tare_blocks_release(b);
    return NULL;
}

void tare_blocks_retain(tare_blocks *b) {
    atomic_fetch_add(&b->n_holders, 1);
}

void tare_blocks_release(tare_blocks *b) {
    if (!b || atomic_fetch_sub(&b->n_holders, 1) > 1) return;
    tare_cache_free(b->cache);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->mutex);
    tare_free(b->allocator, b, sizeof *b);
}

void tare_blocks_note_opened(tare_blocks *b) {
    if (!b) return;
    pthread_mutex_lock(&b->mutex);
    b->is_opened = true;
    pthread_mutex_unlock(&b->mutex);
}

static bool is_opened(const tare_block_file *f) {
    return f->is_opened || f->blocks->is_opened;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The number of bytes in block `index`; that of a full block while the size of the file is unknown.
 */
static size_t block_size(const tare_block_file *f, uint64_t index) {
    if (!f->has_size) return TARE_BLOCK_BYTES;
    return (size_t)tare_min_u64(f->size - index * TARE_BLOCK_BYTES, TARE_BLOCK_BYTES);
}

/* Takes a reference to the entry of a block, which is created if necessary. */
static tare_status hold(tare_cached **out, tare_block_file *f, uint64_t index, tare_error *err) {
    tare_blocks *all = f->blocks;
    const tare_cache_key key = {f->number, index};
    tare_cache_state state = tare_cache_take(out, all->cache, key, true);
    if (state == TARE_CACHE_HELD) return TARE_OK;
    if (state != TARE_CACHE_TO_MAKE) return tare_fail(err, TARE_ERR_NOMEM, "a block");
    size_t size = block_size(f, index), cost = sizeof(tare_block) + size;
    tare_block *b = tare_alloc(all->allocator, cost);
    if (!b) {
        tare_cache_fail(all->cache, *out);
        return tare_fail(err, TARE_ERR_NOMEM, "a block");
    }
    b->state = TARE_BLOCK_MISSING;
    b->size = size;
    tare_cache_fill(all->cache, *out, b, cost);
    return TARE_OK;
}

/* Blocks that are missing and follow one another. */
typedef struct run {
    tare_cached *entries[TARE_RUN_MOST];
    uint64_t first;
    size_t n;
} run;

/* Requests a run, which then is empty. */
static tare_status ask_run(tare_block_file *f, run *missing, tare_error *err) {
    if (missing->n == 0) return TARE_OK;
    for (size_t i = 0; i < missing->n; i++) {
        tare_block_of(missing->entries[i])->state = TARE_BLOCK_COMING;
        tare_block_of(missing->entries[i])->got = 0;
    }
    tare_status status = f->request(f->ctx, missing->first, missing->entries, missing->n, err);
    for (size_t i = 0; status != TARE_OK && i < missing->n; i++) {
        tare_block_of(missing->entries[i])->state = TARE_BLOCK_MISSING;
        tare_cache_release(f->blocks->cache, missing->entries[i]);
    }
    missing->n = 0;
    return status;
}

/* Requests those of the blocks [first, end) that are neither present nor on their way. */
static tare_status ask(tare_block_file *f, uint64_t first, uint64_t end, tare_error *err) {
    run missing = {.n = 0};
    size_t most = is_opened(f) ? f->run_opened : TARE_RUN_MOST;
    for (uint64_t i = first; i < end; i++) {
        tare_cached *entry;
        tare_status status = hold(&entry, f, i, err);
        if (status != TARE_OK) {
            ask_run(f, &missing, NULL);
            return status;
        }
        tare_block_state state = tare_block_of(entry)->state;
        if (state == TARE_BLOCK_COMING || state == TARE_BLOCK_READY) {
            tare_cache_release(f->blocks->cache, entry);
            TARE_TRY(ask_run(f, &missing, err));
            continue;
        }
        if (missing.n == 0) missing.first = i;
        missing.entries[missing.n++] = entry;
        if (missing.n == most) TARE_TRY(ask_run(f, &missing, err));
    }
    return ask_run(f, &missing, err);
}

static void deliver(tare_block_file *f) {
    if (f->deliver) f->deliver(f->ctx);
}

/* Waits for the first `n` bytes of a block and holds it. `end`: what else is wanted from here on. Where
 * requests are served at once, a block that failed has just been requested. */
static tare_status wait_for(tare_cached **out, tare_block_file *f, uint64_t index, uint64_t end,
                            size_t n, tare_error *err) {
    TARE_TRY(hold(out, f, index, err));
    const tare_block *b = tare_block_of(*out);
    tare_status status = TARE_OK;
    if (b->state == TARE_BLOCK_MISSING || (b->state == TARE_BLOCK_FAILED && !f->deliver)) {
        status = ask(f, index, end, err);
        deliver(f);
    }
    while (status == TARE_OK && b->state == TARE_BLOCK_COMING && b->got < n)
        pthread_cond_wait(&f->blocks->changed, &f->blocks->mutex);
    if (status == TARE_OK && (b->state == TARE_BLOCK_READY || b->state == TARE_BLOCK_COMING))
        return TARE_OK;
    if (status == TARE_OK) {
        status = b->err.status;
        if (err) *err = b->err;
    }
    tare_cache_release(f->blocks->cache, *out);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Requests what a sequential reader will need next: no more than it has read sequentially so far,
 * and in ranges that are worth a request. */
static void ask_ahead(tare_block_file *f, uint64_t first, uint64_t end) {
    enum { WORTH = 4 };
    uint64_t last = tare_ceil_div_u64(f->size, TARE_BLOCK_BYTES);
    bool goes_on = first <= f->next_block && first + TARE_AHEAD_MOST >= f->next_block;
    if (!goes_on) {
        f->streak = 0;
        f->next_block = end;
    } else if (end > f->next_block) {
        f->streak += end - f->next_block;
        f->next_block = end;
    }
    uint64_t ahead = tare_min_u64(f->streak, TARE_AHEAD_MOST);
    if (!is_opened(f) || ahead == 0) return;
    ahead = tare_ceil_div_u64(end + ahead, WORTH) * WORTH;
    ask(f, end, tare_min_u64(ahead, last), NULL); /* a fault is reported when the block is read */
}

static tare_status read_blocks(tare_block_file *f, uint64_t offset, uint8_t *buf, size_t n,
                               tare_error *err) {
    uint64_t first = offset / TARE_BLOCK_BYTES;
    uint64_t end = tare_ceil_div_u64(offset + n, TARE_BLOCK_BYTES), asked = first;
    for (uint64_t i = first; i < end; i++) {
        if (i == asked && !f->is_whole) {
            asked = tare_min_u64(end, i + TARE_RUN_MOST);
            tare_status status = ask(f, i, asked, err);
            if (status == TARE_OK) ask_ahead(f, i, asked);
            deliver(f);
            TARE_TRY(status);
        }
        if (f->is_whole) {
            memcpy(buf, f->whole + offset, n);
            return TARE_OK;
        }
        tare_cached *entry;
        const size_t at = (size_t)(offset - i * TARE_BLOCK_BYTES);
        const size_t wanted = (size_t)tare_min_u64(n, TARE_BLOCK_BYTES - at);
        TARE_TRY(wait_for(&entry, f, i, i + 1, at + wanted, err));
        const tare_block *b = tare_block_of(entry);
        size_t take = wanted < b->size - at ? wanted : b->size - at;
        memcpy(buf, b->bytes + at, take);
        tare_cache_release(f->blocks->cache, entry);
        buf += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

void tare_block_file_number(tare_block_file *f) {
    pthread_mutex_lock(&f->blocks->mutex);
    f->number = f->blocks->n_files++;
    pthread_mutex_unlock(&f->blocks->mutex);
}

void tare_block_file_start_at(tare_block_file *f, uint64_t offset) {
    if (offset < f->from) tare_block_file_number(f);
    pthread_mutex_lock(&f->blocks->mutex);
    f->from = offset;
    pthread_mutex_unlock(&f->blocks->mutex);
}

tare_status tare_block_file_read_size(tare_block_file *f, tare_error *err) {
    tare_cached *entry;
    if (f->has_size) return TARE_OK;
    const uint64_t index = f->from / TARE_BLOCK_BYTES;
    const size_t n = (size_t)(f->from % TARE_BLOCK_BYTES) + 1;
    pthread_mutex_lock(&f->blocks->mutex);
    tare_status status = wait_for(&entry, f, index, index + 1, n, err);
    if (status == TARE_OK) tare_cache_release(f->blocks->cache, entry);
    pthread_mutex_unlock(&f->blocks->mutex);
    return status;
}

/* ---- as a reader ----------------------------------------------------------------------------- */

static tare_status fetch(void *file, uint64_t offset, void *buf, size_t n, tare_error *err) {
    tare_block_file *f = file;
    pthread_mutex_lock(&f->blocks->mutex);
    tare_status status = read_blocks(f, offset, buf, n, err);
    pthread_mutex_unlock(&f->blocks->mutex);
    return status;
}

static void prefetch(void *file, uint64_t offset, uint64_t n) {
    tare_block_file *f = file;
    if (n == 0 || offset >= f->size) return;
    n = tare_min_u64(n, tare_min_u64(f->size - offset, TARE_AHEAD_MOST * TARE_BLOCK_BYTES));
    pthread_mutex_lock(&f->blocks->mutex);
    if (!f->is_whole)
        ask(f, offset / TARE_BLOCK_BYTES, tare_ceil_div_u64(offset + n, TARE_BLOCK_BYTES), NULL);
    deliver(f);
    pthread_mutex_unlock(&f->blocks->mutex);
}

void tare_block_file_reader(tare_reader *out, tare_block_file *f, const char *name,
                            void (*close)(void *)) {
    *out = (tare_reader){.name = name,
                         .size = f->size,
                         .fd = -1,
                         .has_places = true,
                         .fetch = fetch,
                         .prefetch = prefetch,
                         .read_ctx = f,
                         .close = close};
}
