/* SPDX-License-Identifier: MIT
 *
 * Guards against a better encoder that is worse: of every type, on many kinds of numbers, with and
 * without importance, no block may have a larger error than the reference encoder's; the bytes may
 * not depend on the CPU level nor on how rows are cut; odd numbers get the reference's bytes; on
 * ordinary numbers there must be a gain, and no byte that is plainly wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"

enum { COLS = 512, ROWS = 2, COUNT = COLS * ROWS, KINDS = 12, ORDINARY = 2 };

static uint64_t random_state;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A sum of four even numbers, nearly normal, within -2..2. */
static float nearly_normal(void) {
    uint64_t r = next_random();
    int32_t sum = (int32_t)(r & 0xffff) + (int32_t)(r >> 16 & 0xffff) +
                  (int32_t)(r >> 32 & 0xffff) + (int32_t)(r >> 48) - 131070;
    return (float)sum * 0x1p-16f;
}

static float number_of(int kind, size_t i) {
    float v = nearly_normal();
    switch (kind) {
    case 0:
        return v;
    case 1: /* heavy tails */
        return v * v * v * 0.02f;
    case 2:
        return 0.25f;
    case 3: /* few are not zero */
        return next_random() % 16 ? 0 : v;
    case 4:
        return i % 97 == 3 ? v * 1000 : v * 0.01f;
    case 5:
        return v * 0x1p-22f;
    case 6: /* scales overflow f16 */
        return v * 4e6f;
    case 7:
        return (float)((int)(next_random() % 7) - 3);
    case 8:
        return 1 + 0.1f * v;
    case 9:
        return -1 - 0.1f * v;
    case 10: /* blocks of zeros, and scales that differ widely */
        return v * (float)(i / 16 % 5) * (i / 64 % 2 ? 1 : 0x1p-12f);
    default:
        return v * 0x1p-50f;
    }
}

typedef struct sample {
    float values[COUNT], weights[COLS];
} sample;

static void fill(sample *s, int kind) {
    random_state = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)kind;
    for (size_t i = 0; i < COUNT; i++) s->values[i] = number_of(kind, i);
    /* Some columns weigh nothing, some a lot. */
    for (size_t i = 0; i < COLS; i++) {
        float v = nearly_normal();
        s->weights[i] = i % 41 == 0 ? 0 : v * v * v * v * 100 + 1e-3f;
    }
}

static double error_of(const float *decoded, const float *x, const float *weights, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double r = (double)decoded[i] - (double)x[i];
        sum += (weights ? (double)weights[i % COLS] : 1) * r * r;
    }
    return sum;
}

/* Where the planes of some rows lie one after the other. */
static size_t place(tare_rows_mut *out, const tare_encoding *e, uint8_t *bytes, uint64_t n_rows) {
    uint64_t sizes[TARE_MAX_PLANES];
    const uint64_t dims[2] = {n_rows, COLS};
    size_t total = 0;
    *out = (tare_rows_mut){.n_rows = n_rows, .cols = COLS};
    assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
    for (uint32_t p = 0; p < e->n_planes; p++) {
        out->planes[p] = bytes + total;
        total += (size_t)sizes[p];
    }
    return total;
}

static void decode(float *values, const tare_encoding *e, uint8_t *bytes) {
    tare_rows_mut at;
    tare_rows rows = {.n_rows = ROWS, .cols = COLS};
    place(&at, e, bytes, ROWS);
    memcpy(rows.planes, at.planes, sizeof at.planes);
    assert_int_equal(tare_decode_rows(values, e, &rows, NULL), TARE_OK);
}

static void encode(uint8_t *bytes, const tare_encoding *e, const sample *s, bool is_weighted,
                   tare_quality quality) {
    tare_encode_params params = {.size = sizeof(tare_encode_params),
                                 .importance = is_weighted ? s->weights : NULL,
                                 .quality = quality};
    tare_rows_mut rows;
    place(&rows, e, bytes, ROWS);
    assert_int_equal(tare_encode_rows(&rows, e, s->values, &params, NULL), TARE_OK);
}

/* Returns the error of best over that of the reference, of all blocks together. */
static double check_blocks(const tare_encoding *e, int kind, bool is_weighted) {
    static sample s;
    static uint8_t plain[COUNT * 4], best[COUNT * 4];
    static float of_plain[COUNT], of_best[COUNT];
    double sums[2] = {0};
    const size_t part = tare_encoding_has_scope(e, TARE_PLANE_TENSOR) ? COUNT
                        : tare_encoding_has_scope(e, TARE_PLANE_ROW)  ? COLS
                                                                      : e->block;
    fill(&s, kind);
    encode(plain, e, &s, is_weighted, TARE_QUALITY_DEFAULT);
    encode(best, e, &s, is_weighted, TARE_QUALITY_BEST);
    decode(of_plain, e, plain);
    decode(of_best, e, best);
    for (size_t i = 0; i < COUNT; i += part) {
        const float *weights = is_weighted ? s.weights + i % COLS : NULL;
        double was = error_of(of_plain + i, s.values + i, weights, part);
        double is = error_of(of_best + i, s.values + i, weights, part);
        if (is > was * (1 + 1e-12))
            fail_msg("%s, numbers of kind %d, %s: block at %zu has error %g, reference %g", e->name,
                     kind, is_weighted ? "weighted" : "plain", i, is, was);
        sums[0] += is;
        sums[1] += was;
    }
    return sums[1] > 0 ? sums[0] / sums[1] : 1;
}

static const tare_encoding *with_best(int id) {
    return tare_kernels_get()->encode_best[id] ? tare_encoding_get((tare_encoding_id)id) : NULL;
}

static void test_every_type_has_one(void **state) {
    (void)state;
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        if (e->kind == TARE_KIND_BLOCK && tare_encoding_can_encode(e))
            assert_non_null(with_best(id));
    }
}

static void test_is_never_worse(void **state) {
    (void)state;
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = with_best(id);
        if (!e) continue;
        for (int kind = 0; kind < KINDS; kind++) {
            for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
                if (!is_weighted && tare_encoding_needs_importance(e)) continue;
                double ratio = check_blocks(e, kind, is_weighted);
                /* The reference encoder of q1_0 takes the mean magnitude, which is the best. */
                if (id == TARE_ENCODING_Q1_0 && !is_weighted) continue;
                if (kind < ORDINARY && ratio > 0.995)
                    fail_msg("%s, numbers of kind %d: no gain, %g", e->name, kind, ratio);
            }
        }
    }
}

static void test_bytes_do_not_depend_on_the_machine(void **state) {
    (void)state;
    static sample s;
    static uint8_t bytes[COUNT * 4], again[COUNT * 4];
    fill(&s, 1);
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = with_best(id);
        if (!e) continue;
        tare_rows_mut one, all;
        size_t size = place(&all, e, again, ROWS);
        encode(bytes, e, &s, true, TARE_QUALITY_BEST);
        tare_cpu_mask_limit(0);
        encode(again, e, &s, true, TARE_QUALITY_BEST);
        tare_cpu_mask_limit(UINT32_MAX);
        assert_memory_equal(bytes, again, size);
        if (tare_encoding_has_scope(e, TARE_PLANE_TENSOR)) continue; /* cannot be cut */
        for (size_t row = 0; row < ROWS; row++) {
            tare_encode_params params = {.size = sizeof(tare_encode_params),
                                         .importance = s.weights,
                                         .quality = TARE_QUALITY_BEST};
            place(&one, e, again, 1);
            for (uint32_t p = 0; p < e->n_planes; p++) {
                bool is_of_rows = e->planes[p].scope == TARE_PLANE_ROW;
                uint64_t units = is_of_rows ? 1 : COLS / e->planes[p].unit;
                one.planes[p] = all.planes[p] + row * units * e->planes[p].unit_bytes;
            }
            assert_int_equal(tare_encode_rows(&one, e, s.values + row * COLS, &params, NULL), 0);
        }
        assert_memory_equal(bytes, again, size);
    }
}

/* Rows that end inside a block: what is after the end is 0, and takes no part in the search. The
 * bounds hold there, too. */
static void check_edge(const tare_encoding *e, const sample *s, uint64_t cols, bool has_clip) {
    static uint8_t plain[COUNT * 4], best[COUNT * 4];
    float of_plain[COLS], of_best[COLS], held[COLS];
    tare_encode_params params = {.size = sizeof(tare_encode_params),
                                 .importance = s->weights,
                                 .has_clip = has_clip,
                                 .clip_min = -0.5f,
                                 .clip_max = 0.75f};
    tare_rows_mut rows = {.n_rows = 1, .cols = cols};
    tare_rows view = {.n_rows = 1, .cols = (cols + 31) / 32 * 32}; /* to the end of the block */
    uint8_t *const bytes[2] = {plain, best};
    float *const decoded[2] = {of_plain, of_best};
    for (int i = 0; i < 2; i++) {
        params.quality = i ? TARE_QUALITY_BEST : TARE_QUALITY_DEFAULT;
        for (uint32_t p = 0; p < e->n_planes; p++)
            view.planes[p] = rows.planes[p] = bytes[i] + p * (size_t)COUNT;
        assert_int_equal(tare_encode_rows(&rows, e, s->values, &params, NULL), TARE_OK);
        assert_int_equal(tare_decode_rows(decoded[i], e, &view, NULL), TARE_OK);
        for (uint64_t c = cols; c < view.cols; c++) assert_true(decoded[i][c] == 0);
    }
    for (size_t c = 0; c < cols; c++)
        held[c] = has_clip ? fmaxf(-0.5f, fminf(0.75f, s->values[c])) : s->values[c];
    double was = error_of(of_plain, held, s->weights, (size_t)cols);
    double is = error_of(of_best, held, s->weights, (size_t)cols);
    if (is > 0.995 * was) fail_msg("%s, %d columns: %g, reference %g", e->name, (int)cols, is, was);
}

static void test_rows_may_end_inside_a_block(void **state) {
    static const tare_encoding_id ids[] = {TARE_ENCODING_Q8, TARE_ENCODING_Q4, TARE_ENCODING_K6,
                                           TARE_ENCODING_K4, TARE_ENCODING_K3, TARE_ENCODING_K2};
    static sample s;
    (void)state;
    fill(&s, 0);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        for (int has_clip = 0; has_clip < 2; has_clip++) {
            check_edge(tare_encoding_get(ids[i]), &s, 15, has_clip);
            check_edge(tare_encoding_get(ids[i]), &s, 301, has_clip);
        }
}

/* Where a block has numbers that no scale fits, or weights that are none, the reference decides. */
static void test_odd_numbers_get_the_reference(void **state) {
    (void)state;
    static sample s;
    static uint8_t plain[COUNT * 4], best[COUNT * 4];
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f};
    for (size_t k = 0; k < 5; k++) {
        fill(&s, 0);
        for (size_t i = 5; k < 4 && i < COUNT; i += 16) s.values[i] = odd[k];
        for (size_t i = 5; k == 4 && i < COLS; i += 16) s.weights[i] = NAN;
        for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
            const tare_encoding *e = with_best(id);
            if (!e) continue;
            encode(plain, e, &s, true, TARE_QUALITY_DEFAULT);
            encode(best, e, &s, true, TARE_QUALITY_BEST);
            tare_rows_mut rows;
            assert_memory_equal(plain, best, place(&rows, e, best, ROWS));
        }
    }
}

/* The error of one block of a type with one plane. */
static double error_of_block(const tare_encoding *e, const uint8_t *block, const sample *s,
                             const float *weights) {
    float decoded[256];
    assert_int_equal(tare_decode_rows(decoded, e, &(tare_rows){{block}, 1, e->block}, NULL), 0);
    return error_of(decoded, s->values, weights, e->block);
}

/* A code that is not the nearest one, a sign or a scale packed where it does not belong: then one
 * byte says something better. */
static void check_bytes(const tare_encoding *e, const sample *s, const float *weights) {
    uint8_t block[256];
    tare_encode_params params = {
        .size = sizeof(tare_encode_params), .importance = weights, .quality = TARE_QUALITY_BEST};
    tare_rows_mut row = {{block}, 1, e->block};
    assert_int_equal(tare_encode_rows(&row, e, s->values, &params, NULL), TARE_OK);
    double error = error_of_block(e, block, s, weights);
    for (uint32_t at = 0; at < e->planes[0].unit_bytes; at++) {
        uint8_t was = block[at];
        for (unsigned value = 0; value < 256; value++) {
            block[at] = (uint8_t)value;
            double changed = error_of_block(e, block, s, weights);
            if (changed < 0.992 * error)
                fail_msg("%s, %s: error %g, but %g with %u at byte %u", e->name,
                         weights ? "weighted" : "plain", error, changed, value, at);
        }
        block[at] = was;
    }
}

static void test_no_byte_is_wrong(void **state) {
    (void)state;
    static sample s;
    fill(&s, 0);
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = with_best(id);
        /* tq2_0 could say 2, too, but is ternary. */
        if (!e || e->n_planes != 1 || id == TARE_ENCODING_TQ2_0) continue;
        if (!tare_encoding_needs_importance(e)) check_bytes(e, &s, NULL);
        check_bytes(e, &s, s.weights);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_has_one),
        cmocka_unit_test(test_is_never_worse),
        cmocka_unit_test(test_bytes_do_not_depend_on_the_machine),
        cmocka_unit_test(test_rows_may_end_inside_a_block),
        cmocka_unit_test(test_odd_numbers_get_the_reference),
        cmocka_unit_test(test_no_byte_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
