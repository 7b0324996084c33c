/* SPDX-License-Identifier: MIT
 *
 * A file on a server as a reader. Data is read in blocks, which stay in the session's cache for a
 * while; missing blocks are requested in long ranges, with read-ahead for sequential readers of
 * tensors. */
#include "base/arith.h"
#include "base/str.h"
#include "remote/session.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The number of bytes in block `index`; that of a full block while the size of the file is unknown.
 */
static size_t block_size(const tare_remote_file *f, uint64_t index) {
    if (!f->has_size) return TARE_BLOCK_BYTES;
    return (size_t)tare_min_u64(f->size - index * TARE_BLOCK_BYTES, TARE_BLOCK_BYTES);
}

/* Takes a reference to the entry of a block, which is created if necessary. */
static tare_status hold(tare_cached **out, tare_remote_file *f, uint64_t index, tare_error *err) {
    tare_remote *r = f->remote;
    const tare_cache_key key = {f->number, index};
    tare_cache_state state = tare_cache_take(out, r->cache, key, true);
    if (state == TARE_CACHE_HELD) return TARE_OK;
    if (state != TARE_CACHE_TO_MAKE) return tare_fail(err, TARE_ERR_NOMEM, "a block");
    size_t size = block_size(f, index), cost = sizeof(tare_block) + size;
    tare_block *b = tare_alloc(r->options.allocator, cost);
    if (!b) {
        tare_cache_fail(r->cache, *out);
        return tare_fail(err, TARE_ERR_NOMEM, "a block");
    }
    b->state = TARE_BLOCK_MISSING;
    b->size = size;
    tare_cache_fill(r->cache, *out, b, cost);
    return TARE_OK;
}

/* Blocks that are missing and follow one another. */
typedef struct run {
    tare_cached *entries[TARE_RUN_MOST];
    uint64_t first;
    size_t n;
} run;

/* Asks for a run, which then is empty. */
static tare_status ask_run(tare_remote_file *f, run *missing, tare_error *err) {
    if (missing->n == 0) return TARE_OK;
    for (size_t i = 0; i < missing->n; i++)
        tare_block_of(missing->entries[i])->state = TARE_BLOCK_COMING;
    tare_status status =
        tare_fetcher_add(f->remote, f, missing->first, missing->entries, missing->n, err);
    for (size_t i = 0; status != TARE_OK && i < missing->n; i++) {
        tare_block_of(missing->entries[i])->state = TARE_BLOCK_MISSING;
        tare_cache_release(f->remote->cache, missing->entries[i]);
    }
    missing->n = 0;
    return status;
}

/* Requests those of the blocks [first, end) that are neither present nor on their way. */
static tare_status ask(tare_remote_file *f, uint64_t first, uint64_t end, tare_error *err) {
    run missing = {.n = 0};
    size_t most = f->is_opened ? TARE_RUN_STREAM : TARE_RUN_MOST;
    for (uint64_t i = first; i < end; i++) {
        tare_cached *entry;
        tare_status status = hold(&entry, f, i, err);
        if (status != TARE_OK) {
            ask_run(f, &missing, NULL);
            return status;
        }
        tare_block_state state = tare_block_of(entry)->state;
        if (state == TARE_BLOCK_COMING || state == TARE_BLOCK_READY) {
            tare_cache_release(f->remote->cache, entry);
            TARE_TRY(ask_run(f, &missing, err));
            continue;
        }
        if (missing.n == 0) missing.first = i;
        missing.entries[missing.n++] = entry;
        if (missing.n == most) TARE_TRY(ask_run(f, &missing, err));
    }
    return ask_run(f, &missing, err);
}

/* Waits for a block and holds it. `end`: what else is wanted from here on. */
static tare_status wait_for(tare_cached **out, tare_remote_file *f, uint64_t index, uint64_t end,
                            tare_error *err) {
    TARE_TRY(hold(out, f, index, err));
    const tare_block *b = tare_block_of(*out);
    tare_status status = TARE_OK;
    if (b->state == TARE_BLOCK_MISSING || b->state == TARE_BLOCK_FAILED)
        status = ask(f, index, end, err);
    while (status == TARE_OK && b->state == TARE_BLOCK_COMING)
        pthread_cond_wait(&f->remote->changed, &f->remote->mutex);
    if (status == TARE_OK && b->state == TARE_BLOCK_READY) return TARE_OK;
    if (status == TARE_OK) {
        status = b->err.status;
        if (err) *err = b->err;
    }
    tare_cache_release(f->remote->cache, *out);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Requests what a sequential reader will need next: no more than it has read sequentially so far,
 * and in ranges that are worth a request. */
static void ask_ahead(tare_remote_file *f, uint64_t first, uint64_t end) {
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
    if (!f->is_opened || ahead == 0) return;
    ahead = tare_ceil_div_u64(end + ahead, TARE_RUN_STREAM) * TARE_RUN_STREAM;
    ask(f, end, tare_min_u64(ahead, last), NULL); /* a fault is reported when the block is read */
}

static tare_status read_blocks(tare_remote_file *f, uint64_t offset, uint8_t *buf, size_t n,
                               tare_error *err) {
    uint64_t first = offset / TARE_BLOCK_BYTES;
    uint64_t end = tare_ceil_div_u64(offset + n, TARE_BLOCK_BYTES), asked = first;
    for (uint64_t i = first; i < end; i++) {
        if (i == asked && !f->is_whole) {
            asked = tare_min_u64(end, i + TARE_RUN_MOST);
            TARE_TRY(ask(f, i, asked, err));
            ask_ahead(f, i, asked);
        }
        if (f->is_whole) {
            memcpy(buf, f->whole.data + offset, n);
            return TARE_OK;
        }
        tare_cached *entry;
        TARE_TRY(wait_for(&entry, f, i, i + 1, err));
        const tare_block *b = tare_block_of(entry);
        size_t at = (size_t)(offset - i * TARE_BLOCK_BYTES);
        size_t take = n < b->size - at ? n : b->size - at;
        memcpy(buf, b->bytes + at, take);
        tare_cache_release(f->remote->cache, entry);
        buf += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_status read_range(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    tare_remote_file *f = ctx;
    pthread_mutex_lock(&f->remote->mutex);
    tare_status status = read_blocks(f, offset, buf, n, err);
    pthread_mutex_unlock(&f->remote->mutex);
    return status;
}

static void will_need(void *ctx, uint64_t offset, uint64_t n) {
    tare_remote_file *f = ctx;
    if (n == 0 || offset >= f->size) return;
    n = tare_min_u64(n, tare_min_u64(f->size - offset, TARE_AHEAD_MOST * TARE_BLOCK_BYTES));
    pthread_mutex_lock(&f->remote->mutex);
    if (!f->is_whole)
        ask(f, offset / TARE_BLOCK_BYTES, tare_ceil_div_u64(offset + n, TARE_BLOCK_BYTES), NULL);
    pthread_mutex_unlock(&f->remote->mutex);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_file(void *ctx) {
    tare_remote_file *f = ctx;
    tare_remote *r = f->remote;
    tare_remote_file **at = f->opened;
    while (at && *at != f) at = &(*at)->next_opened;
    if (at) *at = f->next_opened;
    pthread_mutex_lock(&r->mutex);
    tare_fetcher_forget(r, f);
    pthread_mutex_unlock(&r->mutex);
    tare_remote_drop_text(r, f->name);
    tare_remote_drop_text(r, f->address);
    tare_remote_drop_text(r, f->location);
    tare_remote_drop_text(r, f->userinfo);
    tare_buffer_free(&f->whole);
    tare_free(r->options.allocator, f, sizeof *f);
}

static tare_status new_file(tare_remote_file **out, tare_remote *r, const tare_remote_place *place,
                            tare_error *err) {
    tare_remote_file *f = tare_alloc(r->options.allocator, sizeof *f);
    *out = NULL;
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "a file");
    *f = (tare_remote_file){
        .remote = r, .is_hub = place->is_hub, .has_size = place->has_size, .size = place->size};
    tare_buffer_init(&f->whole, r->options.allocator);
    f->name = tare_remote_copy_text(r, place->name);
    f->address = tare_remote_copy_text(r, place->address);
    if (place->userinfo) f->userinfo = tare_remote_copy_text(r, place->userinfo);
    pthread_mutex_lock(&r->mutex);
    f->number = r->n_files++;
    tare_status status = tare_fetcher_start(r, err);
    pthread_mutex_unlock(&r->mutex);
    if (status == TARE_OK && (!f->name || !f->address || (place->userinfo && !f->userinfo)))
        status = tare_fail(err, TARE_ERR_NOMEM, "a file");
    if (status == TARE_OK)
        *out = f;
    else
        close_file(f);
    return status;
}

/* The first block tells the size; it is what will be read first anyway. */
static tare_status learn_size(tare_remote_file *f, tare_error *err) {
    tare_cached *entry;
    if (f->has_size) return TARE_OK;
    pthread_mutex_lock(&f->remote->mutex);
    tare_status status = wait_for(&entry, f, 0, 1, err);
    if (status == TARE_OK) tare_cache_release(f->remote->cache, entry);
    pthread_mutex_unlock(&f->remote->mutex);
    return status;
}

tare_status tare_remote_file_open(tare_reader *out, tare_remote_file **file, tare_remote *r,
                                  const tare_remote_place *place, tare_error *err) {
    tare_remote_file *f;
    *out = (tare_reader){.fd = -1};
    *file = NULL;
    tare_status status = new_file(&f, r, place, err);
    if (status != TARE_OK) {
        tare_error_file(err, place->name);
        return status;
    }
    status = learn_size(f, err);
    if (status != TARE_OK) {
        close_file(f);
        return status;
    }
    *out = (tare_reader){.name = f->name,
                         .size = f->size,
                         .fd = -1,
                         .has_places = true,
                         .fetch = read_range,
                         .prefetch = will_need,
                         .read_ctx = f,
                         .close = close_file};
    *file = f;
    return TARE_OK;
}
