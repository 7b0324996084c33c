/* SPDX-License-Identifier: MIT
 *
 * Guards against: pieces that are lost, written twice, by two threads at once, or not yet when the
 * last put has ended; a buffer that is handed out while it waits to be written; threads that hang
 * after a write has failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "ops/packing/write_combiner.h"

enum { PIECE = 64, N_PIECES = 4000, FAILS_NEVER = N_PIECES };

/* What threads find is told by their status: cmocka's checks are for the main thread. */
#define EXPECT(fact)                                                                               \
    do {                                                                                           \
        if (!(fact)) return tare_fail(err, TARE_ERR_CORRUPT, #fact);                               \
    } while (0)

typedef struct scene {
    tare_write_combiner *combiner;
    _Atomic int n_writing;
    unsigned threads, n_written, fails_at;
    bool is_slow;
    bool is_written[N_PIECES];
} scene;

/* Every byte of a piece is that of its number: a buffer that is filled anew too early shows. */
static tare_status write_piece(void *ctx, const tare_write_combiner_piece *p, tare_error *err) {
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
    (void)worker;
    const tare_write_combiner_piece piece = {.bytes = tare_write_combiner_take(s->combiner),
                                             .n = 1 + task % PIECE,
                                             .file = (uint32_t)(task % 3),
                                             .offset = task * PIECE};
    EXPECT(piece.bytes);
    memset(piece.bytes, (int)(uint8_t)task, piece.n);
    if (task % 7 == 3) { /* one that turns out not to be needed */
        tare_write_combiner_give(s->combiner, piece.bytes);
        return TARE_OK;
    }
    TARE_TRY(tare_write_combiner_put(s->combiner, &piece, err));
    /* One thread alone finds its piece written at once. */
    EXPECT(s->threads > 1 || s->is_written[task]);
    return TARE_OK;
}

static tare_status run(scene *s, tare_error *err) {
    assert_int_equal(
        tare_write_combiner_new(&s->combiner, s->threads, PIECE, write_piece, s, NULL, err),
        TARE_OK);
    const tare_run all = {.threads = s->threads, .n_tasks = N_PIECES, .task = make_piece, .ctx = s};
    tare_status status = tare_run_parallel(&all, err);
    tare_write_combiner_free(s->combiner);
    return status;
}

static void all_is_written_once_by_one_at_a_time(void **state) {
    (void)state;
    tare_error err;
    for (unsigned i = 0; i < 8; i++) {
        scene s = {.threads = i / 2 + 1, .is_slow = i % 2, .fails_at = FAILS_NEVER};
        assert_int_equal(run(&s, &err), TARE_OK);
        for (unsigned k = 0; k < N_PIECES; k++) assert_int_equal(s.is_written[k], k % 7 != 3);
    }
}

static void a_failure_ends_it_and_hangs_nobody(void **state) {
    (void)state;
    tare_error err;
    for (unsigned threads = 1; threads <= 4; threads++) {
        scene s = {.threads = threads, .is_slow = true, .fails_at = 100};
        assert_int_equal(run(&s, &err), TARE_ERR_NOSPACE);
        assert_string_equal(err.what, "full");
        assert_int_equal(s.n_written, 101); /* whatever others hand over meanwhile */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_written_once_by_one_at_a_time),
        cmocka_unit_test(a_failure_ends_it_and_hangs_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
