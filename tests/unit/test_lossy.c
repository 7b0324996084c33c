/* SPDX-License-Identifier: MIT
 *
 * Guards against: a record of loss that does not fit the stored tensors and is believed; factors of
 * columns, outliers or rounding that come back otherwise than they were meant; elements that differ
 * by how they are read; logarithms by system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tare/build.h>
#include <tare/experimental/packing.h>

#include "base/bytes.h"
#include "encoding/outliers.h"
#include "model/lossy_record.h"

enum { ROWS = 3, COLS = 5, N = ROWS * COLS };

static const uint8_t wide[2 * N] = {0xff, 0x7f, 0x01, 0x80, 0x2c, 0x01, 0xd4, 0xfe};
static const int8_t codes[N] = {1, -2, 3, -4, 5, 127, -127, 0, 9, 10, 11, 12, 13, 14, 15};
static uint8_t scales[2 * ROWS], outlier[TARE_OUTLIER_BYTES];

/* A tensor of F32, one of int8_rowwise and one of I16, with a record of any text. */
static tare_model *make(const char *record) {
    static const float plain[4] = {1, 2, 3, 4};
    const uint64_t dims[2] = {ROWS, COLS}, few[1] = {4};
    const tare_outlier o = {1, 2, 0x4900 /* 10.0 */};
    tare_builder *b;
    tare_model *m;
    for (unsigned r = 0; r < ROWS; r++) tare_store_le16(scales + 2 * r, 0x3800); /* 0.5 */
    tare_outlier_store(outlier, &o);
    assert_int_equal(tare_builder_new(&b, NULL, NULL), TARE_OK);
    tare_build_tensor t = tare_build_tensor_default();
    t.name = (tare_str){"plain", 5};
    t.encoding = tare_encoding_get(TARE_ENCODING_F32);
    t.dims = few;
    t.n_dims = 1;
    t.planes[0] = plain;
    assert_int_equal(tare_builder_add_tensor(b, &t, NULL), TARE_OK);
    t.name = (tare_str){"lossy", 5};
    t.encoding = tare_encoding_get(TARE_ENCODING_INT8_ROWWISE);
    t.dims = dims;
    t.n_dims = 2;
    t.planes[0] = codes;
    t.planes[1] = scales;
    t.planes[2] = outlier;
    t.list_bytes = sizeof outlier;
    assert_int_equal(tare_builder_add_tensor(b, &t, NULL), TARE_OK);
    t.name = (tare_str){"wide", 4};
    t.encoding = tare_encoding_get(TARE_ENCODING_I16);
    t.planes[0] = wide;
    t.planes[1] = t.planes[2] = NULL;
    t.list_bytes = 0;
    assert_int_equal(tare_builder_add_tensor(b, &t, NULL), TARE_OK);
    const tare_value v = {.type = TARE_VALUE_STRING, .as.s = {record, strlen(record)}};
    assert_int_equal(tare_builder_add_key(b, TARE_KEYS_MODEL,
                                          (tare_str){TARE_LOSSY_KEY, strlen(TARE_LOSSY_KEY)}, &v,
                                          NULL),
                     TARE_OK);
    assert_int_equal(tare_builder_finish(&m, b, NULL), TARE_OK);
    return m;
}

static tare_status restore(const char *record) {
    tare_model *m = make(record);
    tare_error err = {0};
    tare_status status = tare_lossy_restore(m, &err);
    assert_true(status == TARE_OK || (err.what && err.what[0]));
    tare_model_free(m);
    return status;
}

#define RECORD(tensors) "{\"version\":1,\"container\":\"gguf\",\"tensors\":[" tensors "]}"

static void a_record_that_does_not_fit_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{\"version\":1,\"tensors\":{}}",
        RECORD("7"),
        RECORD("{}"),
        RECORD("{\"tensor\":1}"),
        RECORD("{\"tensor\":-1,\"type\":\"f16\"}"),
        RECORD("{\"tensor\":3,\"type\":\"f16\"}"),
        RECORD("{\"tensor\":2,\"type\":\"f16\"}"),                     /* I16 without a step */
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"step\":1065353216}"), /* one too many */
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"step\":18446744073709551615}"),
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":0}"),
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":3212836864}"), /* -1 */
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":2143289344}"), /* no number */
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":1199570945}"), /* above 2^16 */
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":5360320512}"),
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":18446744073709551615}"),
        RECORD("{\"tensor\":2,\"type\":\"f16\",\"step\":1.5}"),
        RECORD("{\"tensor\":18446744073709551615,\"type\":\"f16\"}"),
        RECORD("{\"tensor\":0,\"type\":\"f16\"}"), /* not int8_rowwise */
        RECORD("{\"tensor\":1,\"type\":\"q4_k\"}"),
        RECORD("{\"tensor\":1,\"type\":\"nothing\"}"),
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"columns\":\"PPPP\"}"),
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"columns\":\"PPPPPP\"}"),
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"columns\":\"PPPP/\"}"),
        RECORD("{\"tensor\":1,\"type\":\"f16\",\"columns\":\"PPPPp\"}"),
        RECORD("{\"tensor\":1,\"type\":\"f16\"},{\"tensor\":1,\"type\":\"f16\"}"),
        "{\"version\":1,\"source\":\"12\",\"tensors\":[]}",
        "{\"version\":1,\"damage\":\"high\",\"tensors\":[]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (restore(bad[i]) != TARE_ERR_CORRUPT) fail_msg("%s", bad[i]);
    assert_int_equal(restore("{\"version\":2,\"tensors\":[]}"), TARE_ERR_UNSUPPORTED);
    assert_int_equal(restore(RECORD("")), TARE_OK);
    assert_int_equal(restore(RECORD("{\"tensor\":1,\"type\":\"f16\",\"later\":[1,{}]}")), TARE_OK);
}

/* Columns times 1, 2, 1/2, 2^(1/4), 1. */
static const char with_columns[] = RECORD("{\"tensor\":1,\"type\":\"f32\",\"columns\":\"PTLQP\"}");

static void numbers_are_what_the_record_says(void **state) {
    (void)state;
    tare_model *m = make(with_columns);
    tare_lossy_info info = tare_lossy_info_default();
    float got[N];
    uint8_t bytes[4 * N], part[4 * N]; /* little-endian on every machine */
    static const float factors[COLS] = {1, 2, 0.5f, 0x1.306fe0p+0f, 1};
    assert_int_equal(tare_lossy_restore(m, NULL), TARE_OK);
    assert_int_equal(m->catalog.n_metadata, 0);
    const tare_tensor *t = &m->catalog.tensors[1];
    assert_int_equal(t->encoding->id, TARE_ENCODING_F32);
    assert_int_equal(t->n_rows, ROWS);
    assert_int_equal(tare_tensor_rows_f32(got, m, 1, 0, ROWS, NULL), TARE_OK);
    for (unsigned i = 0; i < N; i++) {
        float stored = i == 7 ? 10.0f : (float)codes[i] * 0.5f;
        assert_true(got[i] == stored * factors[i % COLS]);
        tare_store_le32(bytes + (size_t)4 * i, tare_f32_bits(got[i]));
    }
    for (size_t from = 0; from < sizeof bytes; from += 3)
        for (size_t n = 1; from + n <= sizeof bytes; n += 5) {
            assert_int_equal(tare_tensor_read(part, m, 1, 0, from, n, NULL), TARE_OK);
            assert_memory_equal(part, bytes + from, n);
        }
    assert_true(tare_model_lossy(&info, m));
    assert_int_equal(info.n_tensors, 1);
    assert_int_equal(info.container.len, 4);
    tare_model_free(m);
}

/* Codes of 16 bits times a step, here 0.375, then the factors of columns. */
static void codes_of_16_bits_have_one_step(void **state) {
    (void)state;
    tare_model *m =
        make(RECORD("{\"tensor\":2,\"type\":\"f32\",\"step\":1052770304,\"columns\":\"PTLPP\"}"));
    float got[N];
    assert_int_equal(tare_lossy_restore(m, NULL), TARE_OK);
    assert_int_equal(m->catalog.tensors[2].encoding->id, TARE_ENCODING_F32);
    assert_int_equal(tare_tensor_rows_f32(got, m, 2, 0, ROWS, NULL), TARE_OK);
    assert_true(got[0] == 32767 * 0.375f);
    assert_true(got[1] == -32767 * 0.375f * 2);
    assert_true(got[2] == 300 * 0.375f / 2);
    assert_true(got[3] == -300 * 0.375f);
    tare_model_free(m);
}

static void factors_are_powers_of_two(void **state) {
    (void)state;
    for (int q = -32; q <= TARE_LOSSY_MOST_COLUMN; q++) {
        assert_true(tare_lossy_factor(q + (q < 28 ? 4 : 0)) ==
                    tare_lossy_factor(q) * (q < 28 ? 2 : 1));
        if (q > -32) assert_true(tare_lossy_factor(q) > tare_lossy_factor(q - 1));
    }
    assert_true(tare_lossy_factor(0) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_that_does_not_fit_is_refused),
        cmocka_unit_test(numbers_are_what_the_record_says),
        cmocka_unit_test(codes_of_16_bits_have_one_step),
        cmocka_unit_test(factors_are_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
