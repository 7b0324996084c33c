/* SPDX-License-Identifier: MIT
 *
 * Guards against random weights that are no such thing, or not the same everywhere: a law with the
 * wrong spread or tails, neighbours that depend on each other, values that depend on the range they
 * were made in. Bits are pinned, so that another system that rounds otherwise is seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "ops/synth/synth_file.h"

static tare_quantiles laws[2];

static int make_laws(void **state) {
    (void)state;
    tare_quantiles_init(&laws[TARE_LAW_NORMAL], TARE_LAW_NORMAL);
    tare_quantiles_init(&laws[TARE_LAW_T5], TARE_LAW_T5);
    return 0;
}

static void assert_near(double value, double expected, double error) {
    if (!(value >= expected - error && value <= expected + error))
        fail_msg("%.9g is not %.9g +- %.3g", value, expected, error);
}

static double in_deviations(int32_t entry) {
    return (double)entry / (1 << 25);
}

/* |z| at 1/4, 1/2, 3/4, 4095/4096 and 1 - 2^-24 of a standard normal and of a t5 of unit
 * variance; computed with SciPy (norm.ppf, t.ppf). */
static void tables_hold_the_quantiles(void **state) {
    (void)state;
    static const double expected[2][5] = {
        {0.31863936, 0.67448975, 1.15034938, 3.66832929, 5.41998317},
        {0.26082333, 0.56288921, 1.00771079, 7.18949044, 38.8428102},
    };
    for (int law = 0; law < 2; law++) {
        const tare_quantiles *q = &laws[law];
        const double *e = expected[law];
        assert_int_equal(q->body[0], 0);
        for (int i = 1; i < TARE_LAW_CELLS; i++) assert_true(q->body[i] > q->body[i - 1]);
        for (int i = 1; i <= TARE_LAW_CELLS; i++) assert_true(q->tail[i] >= q->tail[i - 1]);
        assert_int_equal(q->tail[0], q->body[TARE_LAW_CELLS - 1]);
        assert_near(in_deviations(q->body[1024]), e[0], 2e-6);
        assert_near(in_deviations(q->body[2048]), e[1], 2e-6);
        assert_near(in_deviations(q->body[3072]), e[2], 2e-6);
        assert_near(in_deviations(q->tail[0]), e[3], 2e-6);
        assert_near(in_deviations(q->tail[TARE_LAW_CELLS - 1]), e[4], 2e-6);
    }
}

/* Moments, and how neighbours and the two halves of a word go together. */
static void values_follow_the_law(void **state) {
    (void)state;
    /* kurtosis 3 and 9; the fourth moment of a t5 settles slowly */
    static const double kurtosis[2] = {3, 9}, kurtosis_error[2] = {0.02, 1.5};
    const size_t n = 1 << 21;
    float *v = malloc(n * sizeof *v);
    assert_non_null(v);
    for (int law = 0; law < 2; law++) {
        double sum = 0, squares = 0, fourths = 0, next = 0, second = 0;
        tare_synth_fill(v, &laws[law], 7, 0, n, 0.5f, 0);
        for (size_t i = 0; i < n; i++) {
            double x = (double)v[i] * 2;
            sum += x;
            squares += x * x;
            fourths += x * x * x * x;
            if (i >= 1) next += x * 2 * (double)v[i - 1];
            if (i >= 2) second += x * 2 * (double)v[i - 2];
        }
        /* four standard errors of a mean are 4 / sqrt(n) = 0.0028 */
        assert_near(sum / (double)n, 0, 0.0028);
        assert_near(squares / (double)n, 1, law == TARE_LAW_NORMAL ? 0.004 : 0.012);
        assert_near(fourths * (double)n / squares / squares, kurtosis[law], kurtosis_error[law]);
        assert_near(next / (double)n, 0, 0.0028);
        assert_near(second / (double)n, 0, 0.0028);
    }
    free(v);
}

static void fill_is_a_function_of_the_place(void **state) {
    (void)state;
    float whole[1000], part[1000];
    tare_synth_fill(whole, &laws[TARE_LAW_NORMAL], 3, 0, 1000, 0.02f, 1);
    for (size_t first = 0; first < 1000; first += 2 * (1 + first / 3)) {
        for (size_t count = 0; count <= 1000 - first; count += 1 + first % 7) {
            tare_synth_fill(part, &laws[TARE_LAW_NORMAL], 3, first, count, 0.02f, 1);
            assert_memory_equal(part, whole + first, count * sizeof *part);
        }
    }
}

/* A file of two small tensors whose sizes are no whole runs. */
static void reads_give_the_same_bytes_in_any_cut(void **state) {
    (void)state;
    enum { SIZE = (1500 * 3 + 700) * 4 };
    tare_synth_tensor tensors[2] = {{0, 1500, 11, 0.02f, 0}, {4500 * 4, 700, 12, 0.1f, 1}};
    tare_synth_channel channels[12];
    tare_synth_file file = {
        .tensors = tensors, .n_tensors = 2, .channels = channels, .element_bytes = 4};
    uint8_t *whole = malloc(SIZE), *part = malloc(SIZE);
    assert_non_null(whole);
    assert_non_null(part);
    file.weights = laws[TARE_LAW_T5];
    file.norms = laws[TARE_LAW_NORMAL];
    tare_synth_add_channels(&file, 5, 1500);
    assert_int_equal(file.n_channels, 11);
    assert_int_equal(tare_synth_read(&file, 0, whole, SIZE), TARE_OK);
    for (size_t at = 0; at < SIZE; at += 331) {
        for (size_t n = 1; n <= SIZE - at; n += 997) {
            memset(part, 0xaa, SIZE);
            assert_int_equal(tare_synth_read(&file, at, part, n), TARE_OK);
            assert_memory_equal(part, whole + at, n);
            if (n < SIZE) assert_int_equal(part[n], 0xaa);
        }
    }
    free(whole);
    free(part);
}

/* The same channels stand out in each row, by 8 to 20, and no others. */
static void outliers_are_whole_channels(void **state) {
    (void)state;
    enum { COLS = 512, ROWS = 32 };
    tare_synth_tensor tensor = {0, COLS, 99, 0.02f, 0};
    tare_synth_channel channels[4];
    tare_synth_file file = {.tensors = &tensor,
                            .n_tensors = 1,
                            .channels = channels,
                            .element_bytes = 4,
                            .weights = laws[TARE_LAW_NORMAL]};
    static uint8_t plain[COLS * ROWS * 4], raised[COLS * ROWS * 4];
    assert_int_equal(tare_synth_read(&file, 0, plain, sizeof plain), TARE_OK);
    tare_synth_add_channels(&file, 1, COLS);
    assert_int_equal(file.n_channels, 4);
    assert_int_equal(tare_synth_read(&file, 0, raised, sizeof raised), TARE_OK);
    for (size_t i = 0; i < COLS * ROWS; i++) {
        float a = tare_f32_of_bits(tare_load_le32(plain + 4 * i));
        float b = tare_f32_of_bits(tare_load_le32(raised + 4 * i));
        float factor = 1;
        for (size_t c = 0; c < 4; c++)
            if (channels[c].index == i % COLS) factor = channels[c].factor;
        assert_true(factor == 1 || (factor >= 8 && factor <= 20));
        assert_true(b == a * factor);
    }
}

/* The figures were computed from the description alone, in Python with SciPy's quantiles. */
static void bits_are_pinned(void **state) {
    (void)state;
    static const char *const expected[2] = {
        "99a1b3c11147f4d2737fc9699225f1462f48dbf9af0a816b8edabebdaccff1a7",
        "5cd4715fe6251068f325e92db5383728abd4f93531096a42d8032ebef430a238"};
    float v[4096];
    uint8_t bytes[4 * 4096], digest[32];
    char hex[65];
    assert_true(tare_synth_key(1, "a", 1) == UINT64_C(0x3e506e5796335af0));
    for (int law = 0; law < 2; law++) {
        tare_sha256 h;
        tare_synth_fill(v, &laws[law], tare_synth_key(0, "x", 1), 1000000, 4096, 0.02f, 0);
        for (size_t i = 0; i < 4096; i++) tare_store_le32(bytes + 4 * i, tare_f32_bits(v[i]));
        tare_sha256_init(&h);
        tare_sha256_update(&h, bytes, sizeof bytes);
        tare_sha256_final(&h, digest);
        tare_hex(hex, digest, 32);
        assert_string_equal(hex, expected[law]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_quantiles),
        cmocka_unit_test(values_follow_the_law),
        cmocka_unit_test(fill_is_a_function_of_the_place),
        cmocka_unit_test(reads_give_the_same_bytes_in_any_cut),
        cmocka_unit_test(outliers_are_whole_channels),
        cmocka_unit_test(bits_are_pinned),
    };
    return cmocka_run_group_tests(tests, make_laws, NULL);
}
