/* SPDX-License-Identifier: MIT
 *
 * Guards against: a number of 16 bits that is not the decoded float rounded once, to nearest and
 * even; bits of stored numbers that do not pass; a format whose rows are cut where a unit is not
 * whole; results that depend on the CPU level. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/float16.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"

enum { MOST = 20000 };

static uint64_t seed = 88172645463325252u;

static uint8_t random_byte(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint8_t)(seed >> 32);
}

static bool is_nan(uint16_t v, tare_encoding_id as) {
    return (v & 0x7fff) > (as == TARE_ENCODING_F16 ? 0x7c00 : 0x7f80);
}

static uint16_t round_one(float v, tare_encoding_id as) {
    const uint32_t bits = tare_f32_bits(v);
    return as == TARE_ENCODING_F16 ? tare_f16_of_f32_bits(bits) : tare_bf16_of_f32_bits(bits);
}

static void check_rows(const tare_encoding *e, uint64_t n_rows, uint64_t cols) {
    static uint8_t bytes[TARE_MAX_PLANES][MOST * 8 + 64];
    static float floats[MOST];
    static uint16_t halves[MOST + 1];
    static const tare_encoding_id targets[] = {TARE_ENCODING_F16, TARE_ENCODING_BF16};
    tare_rows rows = {.n_rows = n_rows, .cols = cols};
    assert_true(n_rows * cols <= MOST);
    for (uint32_t p = 0; p < e->n_planes; p++) {
        for (size_t i = 0; i < sizeof bytes[p]; i++) bytes[p][i] = random_byte();
        rows.planes[p] = bytes[p];
    }
    assert_int_equal(tare_decode_rows(floats, e, &rows, NULL), TARE_OK);
    for (size_t k = 0; k < 2; k++) {
        const tare_encoding_id as = targets[k];
        halves[n_rows * cols] = 0x5a5a;
        assert_int_equal(tare_decode_rows_as(halves, as, e, &rows, NULL), TARE_OK);
        assert_int_equal(halves[n_rows * cols], 0x5a5a);
        for (size_t i = 0; i < n_rows * cols; i++) {
            const uint16_t expected =
                e->id == as ? tare_load_le16(bytes[0] + 2 * i) : round_one(floats[i], as);
            if (halves[i] == expected) continue;
            if (e->id != as && is_nan(halves[i], as) && is_nan(expected, as)) continue;
            fail_msg("%s, %zu: %04x is not %04x", e->name, i, halves[i], expected);
        }
    }
}

static void test_every_format(void **state) {
    (void)state;
    static const unsigned levels[] = {TARE_CPU_NONE, TARE_CPU_AVX2, ~0u};
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        tare_cpu_mask_limit(levels[l]);
        for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
            const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
            const uint64_t step = tare_encoding_step(e);
            if (!tare_encoding_can_decode(e)) continue;
            check_rows(e, 1, step);
            check_rows(e, 5, step * 3);
            check_rows(e, 3, 6144); /* rows that are cut */
            if (!e->is_edge_padded) continue;
            check_rows(e, 7, 37);
            check_rows(e, 3, 5001);
        }
    }
    tare_cpu_mask_limit(~0u);
}

/* Values written here by hand, one rounding each. */
static void test_rounding(void **state) {
    (void)state;
    static const struct {
        uint32_t f32;
        uint16_t f16, bf16;
    } rows[] = {
        {0x3f800000, 0x3c00, 0x3f80},                               /* 1 */
        {0x3f808000, 0x3c04, 0x3f80},                               /* bf16: half way, to even */
        {0x3f818000, 0x3c0c, 0x3f82},                               /* half way, to even, upwards */
        {0x3f801000, 0x3c00, 0x3f80},                               /* f16: half way, to even */
        {0x3f803000, 0x3c02, 0x3f80}, {0x477fe000, 0x7bff, 0x4780}, /* 65504 */
        {0x477fefff, 0x7bff, 0x4780},                               /* below 65520 */
        {0x477ff000, 0x7c00, 0x4780},                               /* 65520 */
        {0x33000000, 0x0000, 0x3300}, /* 2^-25: half of the smallest */
        {0x33000001, 0x0001, 0x3300}, {0x7f7fffff, 0x7c00, 0x7f80},
        {0xff800000, 0xfc00, 0xff80}, {0x80000000, 0x8000, 0x8000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[4];
        uint16_t f16, bf16;
        tare_store_le32(bytes, rows[i].f32);
        const tare_rows one = {{bytes}, 1, 1};
        const tare_encoding *f32 = tare_encoding_get(TARE_ENCODING_F32);
        assert_int_equal(tare_decode_rows_as(&f16, TARE_ENCODING_F16, f32, &one, NULL), TARE_OK);
        assert_int_equal(tare_decode_rows_as(&bf16, TARE_ENCODING_BF16, f32, &one, NULL), TARE_OK);
        assert_int_equal(f16, rows[i].f16);
        assert_int_equal(bf16, rows[i].bf16);
    }
}

static void test_stored_bits_pass(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {TARE_ENCODING_F16, TARE_ENCODING_BF16};
    static uint8_t bytes[2 << 16];
    static uint16_t out[1 << 16];
    for (size_t i = 0; i < 1 << 16; i++) tare_store_le16(bytes + 2 * i, (uint16_t)i);
    for (size_t k = 0; k < 2; k++) {
        const tare_rows rows = {{bytes}, 256, 256};
        assert_int_equal(tare_decode_rows_as(out, ids[k], tare_encoding_get(ids[k]), &rows, NULL),
                         TARE_OK);
        for (size_t i = 0; i < 1 << 16; i++) assert_int_equal(out[i], i);
    }
}

static void test_wrong_calls(void **state) {
    (void)state;
    uint8_t bytes[64] = {0};
    uint16_t out[32];
    tare_error err;
    const tare_rows rows = {{bytes}, 1, 32}, odd = {{bytes}, 1, 31}, none = {{NULL}, 0, 32};
    const tare_encoding *q4 = tare_encoding_get(TARE_ENCODING_Q4_0);
    assert_int_equal(tare_decode_rows_as(out, TARE_ENCODING_F8_E4M3, q4, &rows, &err),
                     TARE_ERR_ARG);
    assert_int_equal(tare_decode_rows_as(out, TARE_ENCODING_F16, q4, &odd, &err), TARE_ERR_ARG);
    assert_int_equal(tare_decode_rows_as(NULL, TARE_ENCODING_F16, q4, &rows, &err), TARE_ERR_ARG);
    assert_int_equal(tare_decode_rows_as(NULL, TARE_ENCODING_F16, q4, &none, &err), TARE_OK);
    assert_int_equal(tare_decode_rows_as(out, TARE_ENCODING_BF16,
                                         tare_encoding_get(TARE_ENCODING_C64), &rows, &err),
                     TARE_ERR_UNSUPPORTED);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_stored_bits_pass),
        cmocka_unit_test(test_wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
