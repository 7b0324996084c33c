/* SPDX-License-Identifier: MIT
 *
 * Guards against statistics that depend on the order in which magnitudes come, count what is not
 * finite, lose the last values of a tensor, or change with the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <tare/inspect.h>

#include "base/bytes.h"
#include "made_model.h"

#define N ((uint64_t)200003) /* several pieces and a rest */

static tare_tensor_stats got[4];

static void keep(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    (void)ctx;
    got[tensor] = *stats;
}

static void read_stats(const tare_model *m, unsigned threads) {
    tare_context o = tare_context_default();
    tare_error err;
    o.threads = threads;
    memset(got, 0, sizeof got);
    assert_int_equal(tare_model_stats(m, NULL, 0, keep, NULL, &o, &err), TARE_OK);
}

static uint32_t seed = 1;

/* From -1 to 1. */
static float random_value(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

static void put(uint8_t *bytes, uint64_t i, float x) {
    tare_store_le32(bytes + 4 * i, tare_f32_bits(x));
}
static float at(const uint8_t *bytes, uint64_t i) {
    return tare_f32_of_bits(tare_load_le32(bytes + 4 * i));
}

/* What two passes over all values say. */
static void compare_with_two_passes(const tare_tensor_stats *s, const uint8_t *bytes, uint64_t n) {
    uint64_t bins[TARE_STATS_BINS] = {0}, n_finite = 0, n_zero = 0;
    double sum = 0, squares = 0, min = (double)INFINITY, max = -(double)INFINITY;
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)at(bytes, i);
        if (!isfinite(x)) continue;
        n_finite++;
        n_zero += x == 0;
        sum += x;
        min = fmin(min, x);
        max = fmax(max, x);
        bins[(int)floor(s->reach > 0 ? x * 128 / s->reach : 0) + 128]++;
    }
    const double mean = sum / (double)n_finite;
    for (uint64_t i = 0; i < n; i++) {
        double d = (double)at(bytes, i) - mean;
        if (isfinite(d)) squares += d * d;
    }
    assert_int_equal(s->n_finite, n_finite);
    assert_int_equal(s->n_zero, n_zero);
    assert_true(s->min == min && s->max == max);
    assert_true(fabs(s->mean - mean) <= 1e-12 * s->reach);
    assert_true(fabs(s->std_dev - sqrt(squares / (double)n_finite)) <= 1e-9 * s->reach);
    assert_memory_equal(s->histogram, bins, sizeof bins);
    const double most = fmax(-min, max);
    assert_true(most < s->reach && s->reach <= 2 * most);
}

static void made_of_values(made_model *made, const tare_model **m, uint8_t **bytes) {
    const uint64_t dims[] = {N};
    made_begin(made, 4 * N, 1, 0);
    *bytes = made_add(made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
    *m = made_finish(made, false, NULL, 0);
}

static void test_growing_magnitudes(void **state) {
    (void)state;
    made_model made;
    const tare_model *m;
    uint8_t *bytes;
    made_of_values(&made, &m, &bytes);
    /* the reach of each piece is larger than that of the one before, or smaller */
    for (int down = 0; down < 2; down++) {
        for (uint64_t i = 0; i < N; i++)
            put(bytes, i, random_value() * ldexpf(1, (int)((down ? N - 1 - i : i) / 9000) - 10));
        put(bytes, 12345, 0);
        read_stats(m, 1);
        assert_true(got[0].is_decoded);
        compare_with_two_passes(&got[0], bytes, N);
    }
    made_free(&made);
}

static void test_leading_zeros_and_a_late_outlier(void **state) {
    (void)state;
    made_model made;
    const tare_model *m;
    uint8_t *bytes;
    made_of_values(&made, &m, &bytes);
    put(bytes, 70000, -1e-30f);
    put(bytes, N - 1, 3e30f); /* more doublings than there are bins */
    read_stats(m, 1);
    compare_with_two_passes(&got[0], bytes, N);
    assert_int_equal(got[0].n_zero, N - 2);
    put(bytes, N - 1, 0);
    put(bytes, 70000, 0);
    read_stats(m, 1);
    assert_true(got[0].reach == 0 && got[0].histogram[128] == N && got[0].std_dev == 0);
    made_free(&made);
}

static void test_what_is_not_finite(void **state) {
    (void)state;
    made_model made;
    const tare_model *m;
    uint8_t *bytes;
    made_of_values(&made, &m, &bytes);
    for (uint64_t i = 0; i < N; i++) put(bytes, i, random_value());
    put(bytes, 0, NAN);
    put(bytes, 17, INFINITY);
    put(bytes, 18, -INFINITY);
    put(bytes, N - 1, NAN);
    read_stats(m, 1);
    assert_int_equal(got[0].n_nan, 2);
    assert_int_equal(got[0].n_inf, 2);
    compare_with_two_passes(&got[0], bytes, N);
    made_free(&made);
}

static void test_threads_change_nothing(void **state) {
    (void)state;
    made_model made;
    const uint64_t dims[] = {64, 512};
    tare_tensor_stats alone[4];
    made_begin(&made, 1 << 20, 4, 32);
    static const tare_encoding_id ids[] = {TARE_ENCODING_Q8_0, TARE_ENCODING_BF16,
                                           TARE_ENCODING_F16, TARE_ENCODING_I8};
    for (size_t i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        uint8_t *bytes = made_add(&made, tare_str_of(name), ids[i], dims, 2);
        for (size_t k = 0; k < 32768; k++) bytes[k] = (uint8_t)((seed = seed * 69069 + 1) >> 24);
    }
    const tare_model *m = made_finish(&made, false, NULL, 0);
    read_stats(m, 1);
    memcpy(alone, got, sizeof got);
    for (unsigned threads = 2; threads < 5; threads++) {
        read_stats(m, threads);
        assert_memory_equal(got, alone, sizeof got);
    }
    assert_true(got[3].is_decoded && got[3].min == -128 && got[3].max == 127);
    made_free(&made);
}

static void test_columns(void **state) {
    (void)state;
    tare_tensor_stats s = {.is_decoded = true, .n_finite = 300, .min = -0.5, .max = 1, .reach = 2};
    uint64_t columns[3];
    s.histogram[128 - 32] = 100; /* -0.5 */
    s.histogram[128 + 40] = 150; /* 0.625 */
    s.histogram[128 + 63] = 50;  /* the last below 1 */
    tare_stats_columns(columns, 3, &s);
    assert_int_equal(columns[0], 100);
    assert_int_equal(columns[1], 0);
    assert_int_equal(columns[2], 200);
}

static void test_bad_arguments(void **state) {
    (void)state;
    made_model made;
    const tare_model *m;
    uint8_t *bytes;
    tare_error err;
    const size_t beyond = 1;
    made_of_values(&made, &m, &bytes);
    assert_int_equal(tare_model_stats(m, &beyond, 1, keep, NULL, NULL, &err), TARE_ERR_ARG);
    assert_int_equal(tare_model_stats(m, NULL, 0, NULL, NULL, NULL, &err), TARE_ERR_ARG);
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_magnitudes),
        cmocka_unit_test(test_leading_zeros_and_a_late_outlier),
        cmocka_unit_test(test_what_is_not_finite),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
