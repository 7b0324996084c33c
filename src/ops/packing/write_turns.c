/* SPDX-License-Identifier: MIT */
#include "ops/packing/write_turns.h"

#include <pthread.h>

#include "base/arith.h"
#include "base/os_system.h"

/* Buffers of a thread, and so pieces that it has when it waits for its turn: few large ones. */
enum { KEPT_MOST = 3, KEPT_BYTES = 12 << 20 };

/* What one thread has. Only it looks at this, until the end. */
typedef struct stock {
    uint8_t *idle[KEPT_MOST];
    tare_write_piece kept[KEPT_MOST];
    unsigned n_kept;
} stock;

struct tare_write_turns {
    const tare_allocator *allocator;
    tare_write_piece_fn write;
    void *ctx;
    unsigned threads, kept_most;
    size_t buffer_size;
    uint8_t *room; /* of all buffers, one after the other */
    stock *stocks; /* of each thread */
    pthread_mutex_t mutex;
    pthread_cond_t is_free;
    bool has_locks;
    bool is_writing; /* guarded by the mutex */
    bool has_failed; /* seen and set in turn */
};

static size_t room_size(const tare_write_turns *t) {
    return (size_t)t->threads * t->kept_most * t->buffer_size;
}

static void stock_up(tare_write_turns *t) {
    uint8_t *at = t->room;
    for (unsigned i = 0; i < t->threads; i++) {
        t->stocks[i].n_kept = 0;
        for (unsigned k = 0; k < t->kept_most; k++, at += t->buffer_size) t->stocks[i].idle[k] = at;
    }
    tare_pages_to_fill(t->room, room_size(t));
}

tare_status tare_write_turns_new(tare_write_turns **out, unsigned threads, size_t buffer_size,
                                 tare_write_piece_fn write, void *ctx,
                                 const tare_allocator *allocator, tare_error *err) {
    const size_t fit = KEPT_BYTES / (size_t)tare_max_u64(buffer_size, 1);
    tare_write_turns *t = tare_alloc(allocator, sizeof *t);
    *out = t;
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "buffers");
    *t = (tare_write_turns){.allocator = allocator,
                            .write = write,
                            .ctx = ctx,
                            .threads = threads,
                            .kept_most = fit > KEPT_MOST ? KEPT_MOST
                                         : fit           ? (unsigned)fit
                                                         : 1,
                            .buffer_size = buffer_size};
    t->room = tare_alloc(allocator, room_size(t));
    t->stocks = tare_alloc(allocator, threads * sizeof *t->stocks);
    const bool has_mutex = pthread_mutex_init(&t->mutex, NULL) == 0;
    t->has_locks = has_mutex && pthread_cond_init(&t->is_free, NULL) == 0;
    if (has_mutex && !t->has_locks) pthread_mutex_destroy(&t->mutex);
    if (t->room && t->stocks && t->has_locks) {
        stock_up(t);
        return TARE_OK;
    }
    tare_write_turns_free(t);
    *out = NULL;
    return tare_fail(err, TARE_ERR_NOMEM, "buffers");
}

void tare_write_turns_free(tare_write_turns *t) {
    if (!t) return;
    tare_free(t->allocator, t->room, room_size(t));
    tare_free(t->allocator, t->stocks, t->threads * sizeof *t->stocks);
    if (t->has_locks) {
        pthread_mutex_destroy(&t->mutex);
        pthread_cond_destroy(&t->is_free);
    }
    tare_free(t->allocator, t, sizeof *t);
}

uint8_t *tare_write_turns_buffer(tare_write_turns *t, unsigned thread) {
    const stock *own = &t->stocks[thread];
    return own->idle[own->n_kept];
}

/* Writes what a thread has kept; after a failure nothing is written any more. */
static tare_status write_kept(tare_write_turns *t, stock *own, tare_error *err) {
    tare_status status = TARE_OK;
    for (unsigned i = 0; i < own->n_kept && !t->has_failed; i++) {
        status = t->write(t->ctx, &own->kept[i], err);
        t->has_failed = status != TARE_OK;
    }
    own->n_kept = 0;
    return status;
}

/* The turn, if it is to be had now or is worth waiting for. */
static bool take_turn(tare_write_turns *t, bool may_wait) {
    pthread_mutex_lock(&t->mutex);
    while (t->is_writing && may_wait) pthread_cond_wait(&t->is_free, &t->mutex);
    const bool is_ours = !t->is_writing;
    t->is_writing = true;
    pthread_mutex_unlock(&t->mutex);
    return is_ours;
}

static void give_turn(tare_write_turns *t) {
    pthread_mutex_lock(&t->mutex);
    t->is_writing = false;
    pthread_cond_signal(&t->is_free);
    pthread_mutex_unlock(&t->mutex);
}

tare_status tare_write_turns_put(tare_write_turns *t, unsigned thread,
                                 const tare_write_piece *piece, tare_error *err) {
    stock *own = &t->stocks[thread];
    own->kept[own->n_kept++] = *piece;
    if (!take_turn(t, own->n_kept == t->kept_most)) return TARE_OK;
    const tare_status status = write_kept(t, own, err);
    give_turn(t);
    return status;
}

tare_status tare_write_turns_finish(tare_write_turns *t, tare_error *err) {
    tare_status status = TARE_OK;
    for (unsigned i = 0; i < t->threads && status == TARE_OK; i++)
        status = write_kept(t, &t->stocks[i], err);
    return status;
}
