/* SPDX-License-Identifier: MIT
 *
 * Guards against a sample that is not like the tensor: runs that crowd at its beginning, leave a
 * part of it out, overlap, or are read from the wrong place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "made_model.h"
#include "ops/bench/bench_sample.h"

#define N     (UINT64_C(1) << 20)
#define PARTS ((uint64_t)TARE_SAMPLE_PIECES * TARE_SAMPLE_RUNS)

static void begin(made_model *made, tare_sampling *s) {
    const uint64_t dims[] = {N};
    made_begin(made, 4 * N, 1, 0);
    uint8_t *bytes = made_add(made, TARE_STR("t"), TARE_ENCODING_U32, dims, 1);
    for (uint64_t i = 0; i < N; i++) tare_store_le32(bytes + 4 * i, (uint32_t)i);
    tare_sampling_init(s, made_finish(made, false, NULL, 0), 0);
}

static void each_part_has_one_run(void **state) {
    (void)state;
    made_model made;
    tare_sampling s;
    bool is_taken[TARE_SAMPLE_PIECES * TARE_SAMPLE_RUNS] = {false};
    uint64_t at_begin = 0;
    begin(&made, &s);
    assert_true(tare_sampling_is_partial(&s, N));
    for (unsigned p = 0; p < TARE_SAMPLE_PIECES; p++) {
        tare_sample_piece piece, again;
        tare_sampling_spread(&piece, &s, p, N);
        tare_sampling_spread(&again, &s, p, N);
        assert_memory_equal(piece.first, again.first, sizeof piece.first);
        assert_int_equal(piece.bytes, N / TARE_SAMPLE_PIECES);
        for (unsigned r = 0; r < piece.n_runs; r++) {
            const uint64_t part = piece.first[r] / (N / PARTS);
            assert_true(piece.first[r] + piece.n_units <= (part + 1) * (N / PARTS));
            assert_false(is_taken[part]);
            is_taken[part] = true;
            at_begin += piece.first[r] % (N / PARTS) == 0;
        }
    }
    assert_true(at_begin < PARTS / 4);
    made_free(&made);
}

static void what_is_read_lies_there(void **state) {
    (void)state;
    made_model made;
    tare_sampling s;
    tare_sample_piece piece;
    static uint8_t bytes[4 * N];
    begin(&made, &s);
    tare_sampling_spread(&piece, &s, 3, N);
    assert_int_equal(tare_sampling_read(bytes, &s, &piece, NULL), TARE_OK);
    for (uint64_t i = 0; i < piece.bytes / 4; i++)
        assert_int_equal(tare_load_le32(bytes + 4 * i),
                         piece.first[i / piece.n_units] + i % piece.n_units);
    made_free(&made);
}

static void a_sample_of_all_is_no_sample(void **state) {
    (void)state;
    made_model made;
    tare_sampling s;
    begin(&made, &s);
    assert_false(tare_sampling_is_partial(&s, 4 * N));
    assert_true(tare_sampling_is_partial(&s, 4 * N - 1));
    s.n_units = PARTS - 1; /* fewer units than runs */
    assert_false(tare_sampling_is_partial(&s, 16));
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_has_one_run),
        cmocka_unit_test(what_is_read_lies_there),
        cmocka_unit_test(a_sample_of_all_is_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
