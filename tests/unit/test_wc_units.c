/* SPDX-License-Identifier: MIT
 *
 * Guards against: fields of units that are copied with bytes of their neighbours, and packed scales
 * that do not come back, for numbers of units that vectors do not divide. At every CPU level. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "wcodec/wc_kernels.h"
#include "wcodec/wc_scales.h"

enum { MOST_WIDTH = 128, MOST_STRIDE = 150, MOST_UNITS = 100, FENCE = 0x5a };

static uint8_t byte_at(size_t i) {
    return (uint8_t)(i * 167 + (i >> 8) * 29 + 3);
}

/* n fields, spread over units and taken from them again. */
static void check_copies(const tare_wc_kernels *k, size_t n, size_t width, size_t stride) {
    static uint8_t plane[MOST_UNITS * MOST_WIDTH], units[MOST_UNITS * MOST_STRIDE + 1];
    static uint8_t back[sizeof plane + 1];
    for (size_t i = 0; i < sizeof plane; i++) plane[i] = byte_at(i);
    memset(units, FENCE, sizeof units);
    memset(back, FENCE, sizeof back);
    k->copy_units(units, stride, plane, width, n, width);
    for (size_t i = 0; i < sizeof units; i++) {
        bool is_field = i < n * stride && i % stride < width;
        assert_int_equal(units[i], is_field ? plane[i / stride * width + i % stride] : FENCE);
    }
    k->copy_units(back, width, units, stride, n, width);
    assert_memory_equal(back, plane, n * width);
    assert_int_equal(back[n * width], FENCE);
}

static void check_scales(const tare_wc_kernels *k, uint32_t n_units) {
    static uint8_t packed[MOST_UNITS * TARE_WC_SCALES_UNIT + 1];
    uint8_t values[sizeof packed];
    const uint32_t n = n_units * TARE_WC_SCALES_UNIT;
    for (size_t i = 0; i < n; i++) packed[i] = byte_at(i + n_units);
    memset(values, FENCE, sizeof values);
    tare_wc_scales_unpack(values, packed, n);
    k->pack_scales(values, n);
    assert_memory_equal(values, packed, n);
    assert_int_equal(values[n], FENCE);
}

static void check_level(unsigned mask) {
    static const size_t widths[] = {1, 2, 3, 4, 8, 12, 16, 32, 33, 64, 96, 128};
    tare_wc_kernels k;
    tare_wc_kernels_init(&k, mask);
    for (size_t n = 0; n <= MOST_UNITS; n += n < 10 ? 1 : 45)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            check_copies(&k, n, widths[w], widths[w]);
            check_copies(&k, n, widths[w], widths[w] + 2 + n % 20);
        }
    for (uint32_t n = 0; n <= MOST_UNITS; n++) check_scales(&k, n);
}

static void units_come_back(void **state) {
    (void)state;
    const unsigned all = tare_cpu_mask_detect();
    check_level(TARE_CPU_NONE);
    for (unsigned mask = TARE_CPU_AVX2; mask <= all; mask = mask << 1 | 1) check_level(mask);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
