/* SPDX-License-Identifier: MIT
 *
 * Guards against: rows of a shape that row functions do not expect, an encoder that is asked for
 * what it lacks and does something else, a member that keeps its byte order, an overflowed scale
 * that nobody is told of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "encoding/kernels.h"

static const tare_encoding *get(tare_encoding_id id) {
    return tare_encoding_get(id);
}

static void test_wrong_calls(void **state) {
    (void)state;
    float values[64] = {0};
    uint8_t bytes[256] = {0};
    tare_error err;
    tare_rows rows = {{bytes}, 1, 33};
    tare_rows_mut out = {{bytes}, 1, 33};
    assert_int_equal(tare_decode_rows(values, get(TARE_ENCODING_Q4_0), &rows, &err), TARE_ERR_ARG);
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_Q4_0), values, NULL, &err),
                     TARE_ERR_ARG);
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_F4), values, NULL, &err),
                     TARE_ERR_ARG);
    assert_int_equal(tare_decode_rows(values, get(TARE_ENCODING_F4), &rows, &err), TARE_OK);
    rows.cols = UINT64_MAX;
    assert_int_equal(tare_decode_rows(values, get(TARE_ENCODING_U8), &rows, &err), TARE_ERR_ARG);
    rows = (tare_rows){{bytes}, UINT64_C(1) << 33, UINT64_C(1) << 33};
    assert_int_equal(tare_decode_rows(values, get(TARE_ENCODING_U8), &rows, &err), TARE_ERR_ARG);
    rows = (tare_rows){{NULL}, 0, 32};
    assert_int_equal(tare_decode_rows(NULL, get(TARE_ENCODING_Q4_0), &rows, &err), TARE_OK);
    rows.n_rows = 1;
    assert_int_equal(tare_decode_rows(values, get(TARE_ENCODING_Q4_0), &rows, &err), TARE_ERR_ARG);
}

static void test_what_cannot_be_done(void **state) {
    (void)state;
    float values[32] = {0};
    uint8_t bytes[256] = {0};
    tare_error err;
    tare_rows rows = {{bytes}, 1, 32};
    tare_rows_mut out = {{bytes}, 1, 32};
    static const tare_encoding_id undecodable[] = {TARE_ENCODING_UNKNOWN, TARE_ENCODING_C64,
                                                   TARE_ENCODING_F6_E2M3, TARE_ENCODING_F6_E3M2};
    for (size_t i = 0; i < sizeof undecodable / sizeof undecodable[0]; i++) {
        assert_false(tare_encoding_can_decode(get(undecodable[i])));
        assert_int_equal(tare_decode_rows(values, get(undecodable[i]), &rows, &err),
                         TARE_ERR_UNSUPPORTED);
    }
    static const tare_encoding_id unencodable[] = {TARE_ENCODING_UNKNOWN, TARE_ENCODING_I8,
                                                   TARE_ENCODING_U64,     TARE_ENCODING_BOOL,
                                                   TARE_ENCODING_Q8_1,    TARE_ENCODING_F8_E8M0};
    for (size_t i = 0; i < sizeof unencodable / sizeof unencodable[0]; i++) {
        assert_false(tare_encoding_can_encode(get(unencodable[i])));
        assert_int_equal(tare_encode_rows(&out, get(unencodable[i]), values, NULL, &err),
                         TARE_ERR_UNSUPPORTED);
    }
    assert_true(tare_encoding_can_decode(get(TARE_ENCODING_Q8_1)));
    assert_true(tare_encoding_can_encode(get(TARE_ENCODING_Q8_0)));
    tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = values};
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_Q4_0), values, &params, &err),
                     TARE_OK);
    assert_true(tare_encoding_needs_importance(get(TARE_ENCODING_IQ2_XXS)));
    assert_false(tare_encoding_needs_importance(get(TARE_ENCODING_IQ2_S)));
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_IQ2_XXS), values, NULL, &err),
                     TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.what, "type needs an importance matrix");
    params = (tare_encode_params){.size = sizeof(tare_encode_params), .quality = TARE_QUALITY_BEST};
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_Q4_0), values, &params, &err),
                     TARE_OK);
    assert_int_equal(tare_encode_rows(&out, get(TARE_ENCODING_F16), values, &params, &err),
                     TARE_OK);
}

static void test_several_rows_are_one_run(void **state) {
    (void)state;
    float values[128], one[128], two[128];
    uint8_t bytes[4 * 18], again[4 * 18];
    for (int i = 0; i < 128; i++) values[i] = sinf((float)i);
    const tare_encoding *q4 = get(TARE_ENCODING_Q4_0);
    assert_int_equal(tare_encode_rows(&(tare_rows_mut){{bytes}, 1, 128}, q4, values, NULL, NULL),
                     TARE_OK);
    assert_int_equal(tare_encode_rows(&(tare_rows_mut){{again}, 4, 32}, q4, values, NULL, NULL),
                     TARE_OK);
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_int_equal(tare_decode_rows(one, q4, &(tare_rows){{bytes}, 1, 128}, NULL), TARE_OK);
    assert_int_equal(tare_decode_rows(two, q4, &(tare_rows){{bytes}, 2, 64}, NULL), TARE_OK);
    assert_memory_equal(one, two, sizeof one);
}

/* Reverses each member of each unit on its own, by the widths written here. */
static void check_swap(tare_encoding_id id, uint64_t cols, size_t unit, const char *widths) {
    enum { ROWS = 3 };
    size_t n_units = ROWS * (size_t)(cols / get(id)->planes[0].unit), size = n_units * unit;
    uint8_t *bytes = malloc(size), *expected = malloc(size);
    assert_non_null(bytes);
    assert_non_null(expected);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * 37 + i / 256);
    memcpy(expected, bytes, size);
    for (size_t at = 0; at < size; at += unit) {
        size_t pos = at;
        for (const char *w = widths; *w; w++) {
            size_t width = (size_t)(*w - '0');
            for (size_t k = 0; k < width; k++) expected[pos + k] = bytes[pos + width - 1 - k];
            pos += width;
        }
    }
    tare_rows_mut rows = {{bytes}, ROWS, cols};
    tare_swap_rows(&rows, get(id));
    assert_memory_equal(bytes, expected, size);
    tare_swap_rows(&rows, get(id));
    for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], (uint8_t)(i * 37 + i / 256));
    free(bytes);
    free(expected);
}

static void test_swap(void **state) {
    (void)state;
    check_swap(TARE_ENCODING_U8, 77, 1, "1");
    check_swap(TARE_ENCODING_F16, 77, 2, "2");
    check_swap(TARE_ENCODING_I32, 77, 4, "4");
    check_swap(TARE_ENCODING_F64, 77, 8, "8");
    check_swap(TARE_ENCODING_C64, 77, 8, "44");
    check_swap(TARE_ENCODING_F4, 76, 1, "1");
    check_swap(TARE_ENCODING_Q4_0, 96, 18, "2");
    check_swap(TARE_ENCODING_Q4_1, 96, 20, "22");
    check_swap(TARE_ENCODING_Q5_0, 96, 22, "24");
    check_swap(TARE_ENCODING_Q5_1, 96, 24, "224");
    check_swap(TARE_ENCODING_Q8_1, 96, 36, "22");
    check_swap(TARE_ENCODING_MXFP4, 96, 17, "");
    check_swap(TARE_ENCODING_IQ1_S, 256, 50,
               "211111111111111111111111111111111"
               "22222222");
    check_swap(TARE_ENCODING_IQ2_XXS, 512, 66,
               "2"
               "22222222222222222222222222222222");
    check_swap(TARE_ENCODING_IQ4_XS, 512, 136, "22");
}

static void test_nonfinite(void **state) {
    (void)state;
    float values[1000];
    for (int i = 0; i < 1000; i++) values[i] = (float)(i - 500) * 1e-38f;
    tare_nonfinite_counts sum = tare_nonfinite_counts_default();
    tare_count_nonfinite(&sum, values, 1000, 5000);
    assert_true(sum.n_nan == 0 && sum.n_inf == 0 && sum.n_overflow == 0);
    assert_true(sum.first_nan == UINT64_MAX && sum.first_inf == UINT64_MAX);
    values[999] = NAN;
    values[700] = -NAN;
    values[3] = -INFINITY;
    tare_count_nonfinite(&sum, values, 1000, 5000);
    assert_true(sum.n_nan == 2 && sum.first_nan == 5700);
    assert_true(sum.n_inf == 1 && sum.first_inf == 5003);
    tare_count_nonfinite(&sum, values, 1000, 0);
    assert_true(sum.n_nan == 4 && sum.first_nan == 700);
}

static tare_nonfinite_counts overflow_of(tare_encoding_id id, const float *values, uint64_t n_rows,
                                         uint64_t cols) {
    uint8_t bytes[4096];
    tare_nonfinite_counts sum = tare_nonfinite_counts_default();
    tare_rows_mut out = {{bytes}, n_rows, cols};
    assert_int_equal(tare_encode_rows(&out, get(id), values, NULL, NULL), TARE_OK);
    tare_count_overflow(&sum, get(id), &(tare_rows){{bytes}, n_rows, cols}, 1000);
    return sum;
}

static void test_overflow(void **state) {
    (void)state;
    float values[128] = {0};
    static const tare_encoding_id ids[] = {TARE_ENCODING_F16,         TARE_ENCODING_F8_E4M3,
                                           TARE_ENCODING_F8_E5M2,     TARE_ENCODING_F8_E4M3FNUZ,
                                           TARE_ENCODING_F8_E5M2FNUZ, TARE_ENCODING_Q4_0,
                                           TARE_ENCODING_Q5_0,        TARE_ENCODING_Q8_0,
                                           TARE_ENCODING_Q4_1,        TARE_ENCODING_Q5_1};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        bool is_block = get(ids[i])->kind == TARE_KIND_BLOCK;
        values[70] = 1;
        assert_true(overflow_of(ids[i], values, 2, 64).n_overflow == 0);
        values[70] = 1e8f; /* positive: only the factor of Q4_1 and Q5_1 */
        tare_nonfinite_counts sum = overflow_of(ids[i], values, 2, 64);
        assert_true(sum.n_overflow == 1);
        assert_true(sum.first_overflow == (is_block ? 1064 : 1070));
        assert_true(sum.n_nan == 0 && sum.n_inf == 0);
    }
    values[70] = -1e8f; /* and negative: the offset as well */
    assert_true(overflow_of(TARE_ENCODING_Q4_1, values, 2, 64).n_overflow == 2);
    assert_true(overflow_of(TARE_ENCODING_F4, values, 2, 64).n_overflow == 0);
    values[70] = INFINITY;
    assert_true(overflow_of(TARE_ENCODING_F32, values, 2, 64).n_overflow == 1);
    assert_true(overflow_of(TARE_ENCODING_F64, values, 2, 64).n_overflow == 1);
    assert_true(overflow_of(TARE_ENCODING_BF16, values, 2, 64).n_overflow == 1);
    values[70] = NAN;
    assert_true(overflow_of(TARE_ENCODING_F16, values, 2, 64).n_overflow == 0);
}

static void test_overflow_of_carried_types(void **state) {
    (void)state;
    uint8_t bytes[2 * 84] = {0};
    tare_nonfinite_counts sum = tare_nonfinite_counts_default();
    tare_store_le16(bytes + 84 + 82, 0xfc00);
    tare_count_overflow(&sum, get(TARE_ENCODING_Q2_K), &(tare_rows){{bytes}, 1, 512}, 0);
    assert_true(sum.n_overflow == 1 && sum.first_overflow == 256);
    memset(bytes, 0xff, 17);
    tare_count_overflow(&sum, get(TARE_ENCODING_MXFP4), &(tare_rows){{bytes}, 1, 32}, 0);
    assert_true(sum.n_overflow == 2 && sum.first_overflow == 0);
    tare_count_overflow(&sum, get(TARE_ENCODING_U16), &(tare_rows){{bytes}, 1, 8}, 0);
    assert_true(sum.n_overflow == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_what_cannot_be_done),
        cmocka_unit_test(test_several_rows_are_one_run),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_overflow_of_carried_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
