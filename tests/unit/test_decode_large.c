/* SPDX-License-Identifier: MIT
 *
 * Fault: results so large that decoders write them past the caches have other numbers than those
 * of a row at a time, or numbers are missing. At each CPU level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/cpu.h"

enum { COLS = 4096, ROWS = 2048 }; /* 32 MiB of floats */
#define COUNT ((size_t)ROWS * COLS)

static uint64_t place_of_row(const tare_plane_info *info, uint64_t row) {
    switch (info->scope) {
    case TARE_PLANE_ELEMENTS:
        return row * (COLS / info->unit) * info->unit_bytes;
    case TARE_PLANE_ROW:
        return row * info->unit_bytes;
    default:
        return 0;
    }
}

static void compare_rows(const tare_encoding *e, const tare_rows *all, const float *whole) {
    float row[COLS];
    for (uint64_t r = 0; r < ROWS; r++) {
        tare_rows one = {.n_rows = 1, .cols = COLS};
        for (uint32_t p = 0; p < e->n_planes; p++)
            one.planes[p] = all->planes[p] + place_of_row(&e->planes[p], r);
        assert_int_equal(tare_decode_rows(row, e, &one, NULL), TARE_OK);
        if (memcmp(row, whole + r * COLS, sizeof row) != 0)
            fail_msg("%s: row %u differs", e->name, (unsigned)r);
    }
}

static void whole_is_as_rows(void **state) {
    (void)state;
    static const char *const names[] = {"q8", "k3", "mcf_int4_zero", "int8_rowwise",
                                        "int4_rowwise"};
    static const unsigned levels[] = {TARE_CPU_NONE, TARE_CPU_AVX2,
                                      TARE_CPU_AVX2 | TARE_CPU_AVX512};
    float *whole = aligned_alloc(64, COUNT * sizeof *whole);
    uint8_t *bytes = malloc(COUNT * 2);
    assert_non_null(whole);
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT * 2; i++) bytes[i] = (uint8_t)(i * 7 + (i >> 8)) & 0x7b;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
            const tare_encoding *e = tare_encoding_find((tare_str){names[i], strlen(names[i])});
            uint64_t sizes[TARE_MAX_PLANES], dims[2] = {ROWS, COLS}, at = 0;
            tare_rows rows = {.n_rows = ROWS, .cols = COLS};
            assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
            for (uint32_t p = 0; p < e->n_planes; at += sizes[p++]) rows.planes[p] = bytes + at;
            if (tare_cpu_mask_limit(levels[l]) != levels[l]) continue;
            memset(whole, 0xff, COUNT * sizeof *whole);
            assert_int_equal(tare_decode_rows(whole, e, &rows, NULL), TARE_OK);
            compare_rows(e, &rows, whole);
        }
    free(whole);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_is_as_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
