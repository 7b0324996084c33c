/* SPDX-License-Identifier: MIT
 *
 * Guards against: pieces that are lost, written twice, by two threads at once, or not yet at the
 * end; a thread that waits although it could go on, or that writes what is another's; a buffer that
 * is handed out while it waits to be written; threads that hang after a write has failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "ops/packing/write_turns.h"

enum { PIECE = 64, N_PIECES = 4000, FAILS_NEVER = N_PIECES, TOO_LARGE_TO_KEEP = 9 << 20 };

/* What threads find is told by their status: cmocka's checks are for the main thread. */
#define EXPECT(fact)                                                                               \
    do {                                                                                           \
        if (!(fact)) return tare_fail(err, TARE_ERR_CORRUPT, #fact);                               \
    } while (0)

typedef struct scene {
    tare_write_turns *turns;
    _Atomic int n_writing;
    unsigned threads, n_written, fails_at;
    size_t buffer_size;
    bool is_slow;
    bool is_written[N_PIECES];
} scene;

/* Every byte of a piece is that of its number: a buffer that is filled anew too early shows. */
static tare_status write_piece(void *ctx, const tare_write_piece *p, tare_error *err) {
    scene *s = ctx;
    unsigned number = (unsigned)(p->offset / PIECE);
    EXPECT(atomic_fetch_add(&s->n_writing, 1) == 0);
    if (s->is_slow && s->n_written % 16 == 0) usleep(200);
    for (size_t i = 0; i < p->n; i++) EXPECT(p->bytes[i] == (uint8_t)number);
    EXPECT(p->file == number % 3 && !s->is_written[number]);
    s->is_written[number] = true;
    unsigned before = s->n_written++;
    atomic_fetch_sub(&s->n_writing, 1);
    return before == s->fails_at ? tare_fail(err, TARE_ERR_NOSPACE, "full") : TARE_OK;
}

static tare_status make_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scene *s = ctx;
    const tare_write_piece piece = {.bytes = tare_write_turns_buffer(s->turns, worker),
                                    .n = 1 + task % PIECE,
                                    .file = (uint32_t)(task % 3),
                                    .offset = task * PIECE};
    memset(piece.bytes, (int)(uint8_t)task, piece.n);
    if (task % 7 == 3) return TARE_OK; /* one that turns out not to be needed */
    TARE_TRY(tare_write_turns_put(s->turns, worker, &piece, err));
    /* One thread alone finds its piece written at once. */
    EXPECT(s->threads > 1 || s->is_written[task]);
    return TARE_OK;
}

static tare_status run(scene *s, tare_error *err) {
    assert_int_equal(
        tare_write_turns_new(&s->turns, s->threads, s->buffer_size, write_piece, s, NULL, err),
        TARE_OK);
    const tare_run all = {
        .context.threads = s->threads, .n_tasks = N_PIECES, .task = make_piece, .ctx = s};
    tare_status status = tare_run_parallel(&all, err);
    if (status == TARE_OK) status = tare_write_turns_finish(s->turns, err);
    tare_write_turns_free(s->turns);
    return status;
}

static void all_is_written_once_by_one_at_a_time(void **state) {
    (void)state;
    tare_error err;
    for (unsigned i = 0; i < 12; i++) {
        scene s = {.threads = i / 3 + 1, .is_slow = i % 3 != 0, .fails_at = FAILS_NEVER};
        s.buffer_size = i % 3 == 2 ? TOO_LARGE_TO_KEEP : PIECE;
        assert_int_equal(run(&s, &err), TARE_OK);
        for (unsigned k = 0; k < N_PIECES; k++) assert_int_equal(s.is_written[k], k % 7 != 3);
    }
}

static void a_failure_ends_it_and_hangs_nobody(void **state) {
    (void)state;
    tare_error err;
    for (unsigned threads = 1; threads <= 4; threads++) {
        scene s = {.threads = threads, .is_slow = true, .fails_at = 100, .buffer_size = PIECE};
        assert_int_equal(run(&s, &err), TARE_ERR_NOSPACE);
        assert_string_equal(err.what, "full");
        assert_int_equal(s.n_written, 101); /* whatever others hand over meanwhile */
    }
}

/* A thread whose write takes long, and another that meanwhile puts one piece after the other. */
typedef struct two {
    tare_write_turns *turns;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_begun, may_end;
    unsigned by[2];
} two;

static void tell(two *t, bool *fact) {
    pthread_mutex_lock(&t->mutex);
    *fact = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

static void await(two *t, const bool *fact) {
    pthread_mutex_lock(&t->mutex);
    while (!*fact) pthread_cond_wait(&t->changed, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}

static tare_status write_of_two(void *ctx, const tare_write_piece *p, tare_error *err) {
    two *t = ctx;
    (void)err;
    t->by[p->file]++;
    if (p->file) return TARE_OK;
    tell(t, &t->is_begun);
    await(t, &t->may_end);
    return TARE_OK;
}

static tare_status put(two *t, unsigned thread) {
    const tare_write_piece piece = {tare_write_turns_buffer(t->turns, thread), 1, thread, 0};
    return tare_write_turns_put(t->turns, thread, &piece, NULL);
}

static void *write_slowly(void *ctx) {
    put(ctx, 0);
    return NULL;
}

static void a_thread_keeps_its_pieces_while_another_writes(void **state) {
    (void)state;
    two t = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    tare_error err;
    pthread_t slow;
    assert_int_equal(tare_write_turns_new(&t.turns, 2, PIECE, write_of_two, &t, NULL, &err),
                     TARE_OK);
    assert_int_equal(pthread_create(&slow, NULL, write_slowly, &t), 0);
    await(&t, &t.is_begun);
    for (unsigned i = 0; i < 2; i++) assert_int_equal(put(&t, 1), TARE_OK);
    assert_int_equal(t.by[1], 0);
    tell(&t, &t.may_end);
    pthread_join(slow, NULL);
    assert_int_equal(t.by[0], 1);
    assert_int_equal(t.by[1], 0); /* nobody else's to write */
    assert_int_equal(tare_write_turns_finish(t.turns, &err), TARE_OK);
    assert_int_equal(t.by[1], 2);
    tare_write_turns_free(t.turns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_written_once_by_one_at_a_time),
        cmocka_unit_test(a_failure_ends_it_and_hangs_nobody),
        cmocka_unit_test(a_thread_keeps_its_pieces_while_another_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
