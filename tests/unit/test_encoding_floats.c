/* SPDX-License-Identifier: MIT
 *
 * Guards against a conversion of small floats that is off by one step: wrong ties, lost
 * subnormals, a carry that does not reach infinity, a NaN that becomes a number. Everything is
 * compared with slow arithmetic in double, written here on its own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/kernels.h"

/* How a format of at most 16 bits lays out its codes. */
typedef struct layout {
    tare_encoding_id id;
    int bits, mantissa, bias;
    int largest;  /* magnitude code of the largest finite value */
    int overflow; /* magnitude code of what lies beyond; -1: the NaN code 2^(bits-1) */
} layout;

static const layout layouts[] = {
    {TARE_ENCODING_F16, 16, 10, 15, 0x7bff, 0x7c00},
    {TARE_ENCODING_BF16, 16, 7, 127, 0x7f7f, 0x7f80},
    {TARE_ENCODING_F8_E4M3, 8, 3, 7, 0x7e, 0x7f},
    {TARE_ENCODING_F8_E5M2, 8, 2, 15, 0x7b, 0x7c},
    {TARE_ENCODING_F8_E4M3FNUZ, 8, 3, 8, 0x7f, -1},
    {TARE_ENCODING_F8_E5M2FNUZ, 8, 2, 16, 0x7f, -1},
    {TARE_ENCODING_F4, 4, 1, 1, 0x7, 0x7},
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static double value_of(const layout *l, int magnitude) {
    int exponent = magnitude >> l->mantissa, mantissa = magnitude & ((1 << l->mantissa) - 1);
    if (exponent == 0) return ldexp(mantissa, 1 - l->bias - l->mantissa);
    return ldexp(mantissa + (1 << l->mantissa), exponent - l->bias - l->mantissa);
}

/* The magnitude code nearest to x >= 0, ties to the even code, by bisection. */
static int nearest(const layout *l, double x) {
    int low = 0, high = l->largest + 1; /* value(low) <= x < value(high), high being imaginary */
    if (x >= value_of(l, high)) return l->overflow;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (value_of(l, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    double below = x - value_of(l, low), above = value_of(l, high) - x;
    int best = below < above || (below == above && low % 2 == 0) ? low : high;
    return best > l->largest ? l->overflow : best;
}

static uint32_t expected_code(const layout *l, float f) {
    uint32_t sign = 1u << (l->bits - 1);
    int magnitude = isinf(f) ? l->overflow : nearest(l, fabs((double)f));
    if (magnitude < 0) return sign;
    bool has_one_zero = l->overflow < 0;
    return (signbit(f) && !(has_one_zero && magnitude == 0) ? sign : 0) | (uint32_t)magnitude;
}

static tare_kernels kernels;

static uint32_t encode_one(const layout *l, float f) {
    uint8_t bytes[2] = {0xaa, 0xaa};
    tare_rows_mut rows = {{bytes}, 1, 1};
    kernels.encode[l->id](&rows, &f, NULL);
    return l->bits == 16 ? tare_load_le16(bytes) : bytes[0];
}

static float decode_one(tare_encoding_id id, uint64_t code) {
    uint8_t bytes[8];
    float f;
    tare_store_le64(bytes, code);
    tare_rows rows = {{bytes}, 1, 1};
    kernels.decode[id](&f, &rows);
    return f;
}

static void check_encode(const layout *l, float f) {
    uint32_t code = encode_one(l, f), expected = expected_code(l, f);
    if (code != expected) {
        print_error("%s of %a: %#x, expected %#x\n", tare_encoding_get(l->id)->name, (double)f,
                    code, expected);
        fail();
    }
}

static void test_every_code_decodes(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        const layout *l = &layouts[i];
        int sign = 1 << (l->bits - 1);
        for (int code = 0; code < 2 * sign; code++) {
            int magnitude = code & (sign - 1);
            float f = decode_one(l->id, (uint64_t)code);
            if (magnitude <= l->largest && !(l->overflow < 0 && code == sign)) {
                double expected = value_of(l, magnitude);
                assert_true((double)f == (code & sign ? -expected : expected));
                assert_int_equal(signbit(f) != 0, (code & sign) != 0);
            } else if (magnitude == l->overflow && l->id != TARE_ENCODING_F8_E4M3) {
                assert_true(isinf(f));
                assert_int_equal(signbit(f) != 0, (code & sign) != 0);
            } else {
                assert_true(isnan(f));
            }
        }
    }
}

static void test_every_code_comes_back(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        const layout *l = &layouts[i];
        for (uint32_t code = 0; code < 1u << l->bits; code++) {
            float f = decode_one(l->id, code);
            if (!isnan(f)) assert_int_equal(encode_one(l, f), code);
        }
    }
}

static void test_encoding_rounds_to_nearest_even(void **state) {
    (void)state;
    uint64_t random = 12345;
    for (int i = 0; i < N_LAYOUTS; i++) {
        const layout *l = &layouts[i];
        /* Around each value and each middle between two, where rounding decides. */
        for (int m = 0; m <= l->largest; m++) {
            double a = value_of(l, m), b = value_of(l, m + 1);
            float points[2] = {(float)a, (float)((a + b) / 2)};
            for (int p = 0; p < 2; p++) {
                check_encode(l, points[p]);
                check_encode(l, -points[p]);
                check_encode(l, nextafterf(points[p], INFINITY));
                check_encode(l, nextafterf(points[p], -INFINITY));
            }
        }
        for (int n = 0; n < 50000; n++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            float f = tare_f32_of_bits((uint32_t)(random >> 32));
            if (!isnan(f)) check_encode(l, f);
        }
        check_encode(l, INFINITY);
        check_encode(l, -INFINITY);
        check_encode(l, 3.4e38f);
        check_encode(l, -1e-45f);
    }
}

static void test_nan(void **state) {
    (void)state;
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 0x7fa12345};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        float f = tare_f32_of_bits(nans[i]);
        uint32_t sign = nans[i] >> 31;
        assert_int_equal(encode_one(&layouts[0], f), sign << 15 | 0x7e00);
        assert_int_equal(encode_one(&layouts[1], f), nans[i] >> 16 | 0x40);
        assert_int_equal(encode_one(&layouts[2], f), sign << 7 | 0x7f);
        assert_int_equal(encode_one(&layouts[3], f), sign << 7 | 0x7f);
        assert_int_equal(encode_one(&layouts[4], f), 0x80);
        assert_int_equal(encode_one(&layouts[5], f), 0x80);
        assert_int_equal(encode_one(&layouts[6], f), sign << 3);
    }
}

static void test_scales_of_powers_of_two(void **state) {
    (void)state;
    for (int code = 0; code < 255; code++)
        assert_true((double)decode_one(TARE_ENCODING_F8_E8M0, (uint64_t)code) ==
                    ldexp(1, code - 127));
    assert_true(isnan(decode_one(TARE_ENCODING_F8_E8M0, 255)));
    assert_null(kernels.encode[TARE_ENCODING_F8_E8M0]);
}

static void test_f4_low_nibble_first(void **state) {
    (void)state;
    const float values[5] = {0.5f, -6.0f, 1.0f, -0.0f, 3.0f};
    uint8_t bytes[3] = {0xaa, 0xaa, 0xaa};
    float back[5];
    tare_rows_mut rows = {{bytes}, 1, 5};
    tare_rows source = {{bytes}, 1, 5};
    kernels.encode[TARE_ENCODING_F4](&rows, values, NULL);
    assert_int_equal(bytes[0], 0xf1);
    assert_int_equal(bytes[1], 0x82);
    assert_int_equal(bytes[2], 0x05);
    kernels.decode[TARE_ENCODING_F4](back, &source);
    assert_memory_equal(back, values, sizeof values);
}

static void test_whole_numbers(void **state) {
    (void)state;
    assert_true(decode_one(TARE_ENCODING_BOOL, 0) == 0);
    assert_true(decode_one(TARE_ENCODING_BOOL, 1) == 1);
    assert_true(decode_one(TARE_ENCODING_BOOL, 0xfe) == 1);
    assert_true(decode_one(TARE_ENCODING_I8, 0x80) == -128);
    assert_true(decode_one(TARE_ENCODING_U8, 0xff) == 255);
    assert_true(decode_one(TARE_ENCODING_I16, 0x8000) == -32768);
    assert_true(decode_one(TARE_ENCODING_U16, 0xffff) == 65535);
    assert_true(decode_one(TARE_ENCODING_I32, 0x80000000) == -0x1p31f);
    assert_true(decode_one(TARE_ENCODING_U32, 0xffffff80) == 0x1p32f);
    assert_true(decode_one(TARE_ENCODING_I64, UINT64_MAX) == -1);
    /* One rounding: by way of double these would fall the other way. */
    assert_true(decode_one(TARE_ENCODING_I64, UINT64_C(0x4000004000000001)) == 0x1.000002p62f);
    assert_true(decode_one(TARE_ENCODING_U64, UINT64_C(0x8000008000000001)) == 0x1.000002p63f);
}

static void test_doubles(void **state) {
    (void)state;
    assert_true(decode_one(TARE_ENCODING_F64, tare_f64_bits(1e300)) == INFINITY);
    assert_true(decode_one(TARE_ENCODING_F64, tare_f64_bits(0.1)) == 0.1f);
    assert_true(isnan(decode_one(TARE_ENCODING_F64, tare_f64_bits((double)NAN))));
    float f = 1.17549421e-38f;
    uint8_t bytes[8];
    tare_rows_mut rows = {{bytes}, 1, 1};
    kernels.encode[TARE_ENCODING_F64](&rows, &f, NULL);
    assert_true(tare_f64_of_bits(tare_load_le64(bytes)) == (double)f);
}

/* F32 passes every pattern, signalling NaN too. */
static void test_f32_is_copied(void **state) {
    (void)state;
    uint8_t bytes[4];
    float f = tare_f32_of_bits(0);
    const uint32_t pattern = 0xff812345;
    memcpy(&f, &pattern, 4);
    tare_rows_mut rows = {{bytes}, 1, 1};
    kernels.encode[TARE_ENCODING_F32](&rows, &f, NULL);
    assert_true(tare_load_le32(bytes) == pattern);
    tare_rows source = {{bytes}, 1, 1};
    f = 0;
    kernels.decode[TARE_ENCODING_F32](&f, &source);
    assert_memory_equal(&f, &pattern, 4);
}

static int set_up(void **state) {
    (void)state;
    tare_kernels_init(&kernels, TARE_CPU_NONE);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_decodes),
        cmocka_unit_test(test_every_code_comes_back),
        cmocka_unit_test(test_encoding_rounds_to_nearest_even),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_scales_of_powers_of_two),
        cmocka_unit_test(test_f4_low_nibble_first),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_f32_is_copied),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
