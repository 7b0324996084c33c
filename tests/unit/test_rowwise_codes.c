/* SPDX-License-Identifier: MIT
 *
 * INFQ's number formats against vectors worked out by hand from the arithmetic of its public
 * converter, and against digests that another program (tests/infq/infq_codes.py: exact arithmetic
 * in Python) gives for the same numbers. Guards against: halves that go away from zero, codes from
 * the scale as it is stored, a scale rounded otherwise, nibbles in another order, rows that share a
 * byte. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/kernels.h"

enum { COLS = 5, ROWS = 4 };

static const tare_encoding *int8(void) {
    return tare_encoding_get(TARE_ENCODING_INT8_ROWWISE);
}
static const tare_encoding *int4(void) {
    return tare_encoding_get(TARE_ENCODING_INT4_ROWWISE);
}

/* Row 1 is too small for f16: its scale is 0, its codes are not. Row 3 has NaN, which is passed
 * over. */
static const float of_int8[ROWS * COLS] = {127,   -127,   63.5f, -0.5f, 1.5f, /* scale 1 */
                                           1e-7f, -1e-7f, 0,     5e-8f, 0,    /* scale 7.87e-10 */
                                           0,     0,      0,     0,     0,    /* 1e-8 / 127 */
                                           2.54f, -0.01f, 0.03f, NAN,   -2.54f};
static const uint8_t codes_int8[ROWS * COLS] = {0x7f, 0x81, 0x40, 0, 2, 0x7f, 0x81, 0, 0x40, 0,
                                                0,    0,    0,    0, 0, 0x7f, 0,    2, 0,    0x81};
static const uint16_t scales_int8[ROWS] = {0x3c00, 0, 0, 0x251f};

static const float of_int4[ROWS * COLS] = {
    7,  -7,   3.5f, 2.5f, -1,     /* scale 1 */
    14, -3,   -5,   0,    1,      /* scale 2 */
    0,  0,    0,    0,    0,      /* 1e-8 / 7 */
    -1, 0.5f, NAN,  0,    0.07f}; /* scale 1 / 7, as a float a little above: 0.5 is code 3 */
static const uint8_t codes_int4[ROWS * 3] = {0x97, 0x24, 0x0f, 0xe7, 0x0e, 0x00,
                                             0,    0,    0,    0x39, 0x00, 0x00};
static const uint16_t scales_int4[ROWS] = {0x3c00, 0x4000, 0, 0x3092};

static void check_vector(const tare_encoding *e, const float *x, const uint8_t *codes, size_t n,
                         const uint16_t *scales) {
    uint8_t got[ROWS * COLS], got_scales[ROWS * 2];
    const tare_rows_mut rows = {{got, got_scales}, ROWS, COLS};
    assert_int_equal(tare_encode_rows(&rows, e, x, NULL, NULL), TARE_OK);
    assert_memory_equal(got, codes, n);
    for (int r = 0; r < ROWS; r++) assert_int_equal(tare_load_le16(got_scales + r * 2), scales[r]);
}

static void vectors(void **state) {
    (void)state;
    check_vector(int8(), of_int8, codes_int8, sizeof codes_int8, scales_int8);
    check_vector(int4(), of_int4, codes_int4, sizeof codes_int4, scales_int4);
}

/* Every code and both nibbles; the codes that encoders leave out mean what they say. */
static void decoding(void **state) {
    (void)state;
    uint8_t codes[256], scales[2] = {0, 0xb8}; /* -0.5 */
    float values[256];
    for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
    const tare_rows bytes = {{codes, scales}, 1, 256};
    assert_int_equal(tare_decode_rows(values, int8(), &bytes, NULL), TARE_OK);
    for (int i = 0; i < 256; i++) assert_true(values[i] == -0.5f * (float)(i < 128 ? i : i - 256));
    const uint8_t rows[4] = {0x87, 0x0f, 0x21, 0xf3}, of_rows[4] = {0, 0x3c, 0, 0x40};
    const float expected[6] = {7, -8, -1, 2, 4, 6};
    const tare_rows nibbles = {{rows, of_rows}, 2, 3};
    assert_int_equal(tare_decode_rows(values, int4(), &nibbles, NULL), TARE_OK);
    for (int i = 0; i < 6; i++) assert_true(values[i] == expected[i]);
}

/* A scale that reaches 65520 is infinite, and the count of oddities says where. */
static void overflow(void **state) {
    (void)state;
    const float x[4] = {1, 65519.0f * 127, 2, -65520.0f * 127};
    uint8_t codes[4], scales[4];
    const tare_rows_mut out = {{codes, scales}, 2, 2};
    const tare_rows in = {{codes, scales}, 2, 2};
    tare_nonfinite_counts odd = tare_nonfinite_counts_default();
    assert_int_equal(tare_encode_rows(&out, int8(), x, NULL, NULL), TARE_OK);
    assert_int_equal(tare_load_le16(scales), 0x7bff);
    assert_int_equal(tare_load_le16(scales + 2), 0x7c00);
    tare_count_overflow(&odd, int8(), &in, 100);
    assert_int_equal(odd.n_overflow, 1);
    assert_int_equal(odd.first_overflow, 102);
}

/* ---- digests --------------------------------------------------------------------------------- */

enum { MANY_ROWS = 64, MANY_COLS = 333, MANY = MANY_ROWS * MANY_COLS };

/* Products of integers and powers of two, whose power is the row's; every third row is made of
 * whole numbers with many ties. */
static void fill(float *x) {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < MANY; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        int32_t row = (int32_t)(i / MANY_COLS), v = (int32_t)(state >> 40) - (1 << 23);
        if (row % 3 == 2) v = v / (1 << 16) * 2;
        uint32_t power = (uint32_t)(127 + 8 - row) << 23;
        x[i] = (float)v * 0x1p-23f * tare_f32_of_bits(power);
    }
}

static uint64_t digest_of(const tare_kernels *k, const tare_encoding *e, const float *x,
                          float *decoded) {
    const size_t row_bytes = e->planes[0].unit == 1 ? MANY_COLS : (MANY_COLS + 1) / 2;
    static uint8_t bytes[MANY + MANY_ROWS * 2];
    uint8_t *scales = bytes + row_bytes * MANY_ROWS;
    const tare_rows_mut out = {{bytes, scales}, MANY_ROWS, MANY_COLS};
    const tare_rows in = {{bytes, scales}, MANY_ROWS, MANY_COLS};
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    k->encode[e->id](&out, x, NULL);
    k->decode[e->id](decoded, &in);
    for (size_t i = 0; i < row_bytes * MANY_ROWS + MANY_ROWS * 2; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void digests(void **state) {
    (void)state;
    static float x[MANY], decoded[MANY];
    const unsigned levels[] = {TARE_CPU_NONE, tare_cpu_mask_detect()};
    fill(x);
    for (size_t l = 0; l < 2; l++) {
        tare_kernels k;
        tare_kernels_init(&k, levels[l]);
        assert_int_equal(digest_of(&k, int8(), x, decoded), UINT64_C(0xa1f23f09bc35ace1));
        assert_int_equal(digest_of(&k, int4(), x, decoded), UINT64_C(0xaf053873ecd5af44));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(decoding),
        cmocka_unit_test(overflow),
        cmocka_unit_test(digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
