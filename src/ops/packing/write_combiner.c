/* SPDX-License-Identifier: MIT */
#include "ops/packing/write_combiner.h"

#include <pthread.h>

/* Buffers beyond those that threads hold: what waits while one piece is written. */
enum { WAITING = 2 };

struct tare_write_combiner {
    const tare_allocator *allocator;
    tare_write_combiner_write write;
    void *ctx;
    size_t buffer_size;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t freed;
    bool has_locks;
    bool is_writing; /* false: nothing waits */
    bool has_failed; /* what is put is dropped */
    uint8_t **buffers, **idle;
    tare_write_combiner_piece *queue; /* a ring */
    unsigned n_most, n_made, n_idle, first, n_waiting;
};

tare_status tare_write_combiner_new(tare_write_combiner **out, unsigned threads, size_t buffer_size,
                                    tare_write_combiner_write write, void *ctx,
                                    const tare_allocator *allocator, tare_error *err) {
    tare_write_combiner *r = tare_alloc(allocator, sizeof *r);
    *out = r;
    if (!r) return tare_fail(err, TARE_ERR_NOMEM, "buffers");
    *r = (tare_write_combiner){.allocator = allocator,
                               .write = write,
                               .ctx = ctx,
                               .buffer_size = buffer_size,
                               .n_most = threads > 1 ? threads + WAITING : 1};
    r->buffers = tare_alloc(allocator, r->n_most * sizeof *r->buffers);
    r->idle = tare_alloc(allocator, r->n_most * sizeof *r->idle);
    r->queue = tare_alloc(allocator, r->n_most * sizeof *r->queue);
    bool has_mutex = pthread_mutex_init(&r->mutex, NULL) == 0;
    r->has_locks = has_mutex && pthread_cond_init(&r->freed, NULL) == 0;
    if (has_mutex && !r->has_locks) pthread_mutex_destroy(&r->mutex);
    if (r->buffers && r->idle && r->queue && r->has_locks) return TARE_OK;
    tare_write_combiner_free(r);
    *out = NULL;
    return tare_fail(err, TARE_ERR_NOMEM, "buffers");
}

void tare_write_combiner_free(tare_write_combiner *r) {
    if (!r) return;
    for (unsigned i = 0; i < r->n_made; i++) tare_free(r->allocator, r->buffers[i], r->buffer_size);
    tare_free(r->allocator, r->buffers, r->n_most * sizeof *r->buffers);
    tare_free(r->allocator, r->idle, r->n_most * sizeof *r->idle);
    tare_free(r->allocator, r->queue, r->n_most * sizeof *r->queue);
    if (r->has_locks) {
        pthread_mutex_destroy(&r->mutex);
        pthread_cond_destroy(&r->freed);
    }
    tare_free(r->allocator, r, sizeof *r);
}

static uint8_t *make_buffer(tare_write_combiner *r) {
    uint8_t *buffer = tare_alloc(r->allocator, r->buffer_size);
    if (buffer) r->buffers[r->n_made++] = buffer;
    return buffer;
}

/* The most recently used one is likely to be still in the cache. */
uint8_t *tare_write_combiner_take(tare_write_combiner *r) {
    pthread_mutex_lock(&r->mutex);
    while (!r->n_idle && r->n_made == r->n_most) pthread_cond_wait(&r->freed, &r->mutex);
    uint8_t *buffer = r->n_idle ? r->idle[--r->n_idle] : make_buffer(r);
    pthread_mutex_unlock(&r->mutex);
    return buffer;
}

static void give_locked(tare_write_combiner *r, uint8_t *buffer) {
    r->idle[r->n_idle++] = buffer;
    pthread_cond_signal(&r->freed);
}

void tare_write_combiner_give(tare_write_combiner *r, uint8_t *buffer) {
    pthread_mutex_lock(&r->mutex);
    give_locked(r, buffer);
    pthread_mutex_unlock(&r->mutex);
}

/* Writes what is waiting, with the lock released; a failure drops the rest, and all that comes
 * after. */
static tare_status write_waiting(tare_write_combiner *r, tare_error *err) {
    tare_status status = TARE_OK;
    r->is_writing = true;
    while (r->n_waiting) {
        tare_write_combiner_piece piece = r->queue[r->first];
        r->first = (r->first + 1) % r->n_most;
        r->n_waiting--;
        if (!r->has_failed) {
            pthread_mutex_unlock(&r->mutex);
            status = r->write(r->ctx, &piece, err);
            pthread_mutex_lock(&r->mutex);
            r->has_failed = status != TARE_OK;
        }
        give_locked(r, piece.bytes);
    }
    r->is_writing = false;
    return status;
}

tare_status tare_write_combiner_put(tare_write_combiner *r, const tare_write_combiner_piece *piece,
                                    tare_error *err) {
    pthread_mutex_lock(&r->mutex);
    r->queue[(r->first + r->n_waiting++) % r->n_most] = *piece;
    tare_status status = r->is_writing ? TARE_OK : write_waiting(r, err);
    pthread_mutex_unlock(&r->mutex);
    return status;
}
