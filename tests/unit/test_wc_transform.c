/* SPDX-License-Identifier: MIT
 *
 * Guards against: a transform that cannot be undone exactly, one that is not the DCT or DST that
 * the specification names, growth beyond the range the decoder counts on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wc_random.h"
#include "wcodec/wc_transform.h"

static void every_block_comes_back(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 3000; round++) {
        int32_t block[64], copy[64];
        int range = round % 3 == 0 ? 511 : round % 3 == 1 ? 8191 : 5;
        for (unsigned i = 0; i < 64; i++)
            block[i] = round % 5 ? (int)(wc_random(&seed) % (unsigned)range) - range / 2
                                 : (wc_random(&seed) & 1 ? range / 2 : -(range / 2));
        memcpy(copy, block, sizeof block);
        unsigned kind = round % TARE_WC_TRANSFORMS;
        tare_wc_transform(block, kind);
        for (unsigned i = 0; i < 64; i++) assert_true(abs(block[i]) < 1 << 16);
        tare_wc_transform_inverse(block, kind);
        assert_memory_equal(block, copy, sizeof block);
        tare_wc_transform_inverse(block, kind); /* and the other way: hostile coefficients */
        for (unsigned i = 0; i < 64; i++) assert_true(abs(block[i]) < 1 << 16);
        tare_wc_transform(block, kind);
        assert_memory_equal(block, copy, sizeof block);
    }
}

/* Element (m, n) of the orthonormal transform. */
static double basis(unsigned kind, unsigned m, unsigned n) {
    const double pi = 3.14159265358979323846;
    if (kind == TARE_WC_ADST) return 0.5 * sin(pi * (2 * n + 1) * (2 * m + 1) / 32);
    return (m ? 0.5 : sqrt(0.125)) * cos(pi * (2 * n + 1) * m / 16);
}

static void basis_functions_become_one_coefficient(void **state) {
    (void)state;
    for (unsigned kind = TARE_WC_DCT; kind < TARE_WC_TRANSFORMS; kind++) {
        for (unsigned k = 0; k < 64; k++) {
            int32_t block[64];
            for (unsigned i = 0; i < 64; i++)
                block[i] =
                    (int32_t)lround(2000 * basis(kind, k / 8, i / 8) * basis(kind, k % 8, i % 8));
            tare_wc_transform(block, kind);
            for (unsigned i = 0; i < 64; i++)
                assert_true(abs(abs(block[i]) - (i == k ? 2000 : 0)) <= 8);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_comes_back),
        cmocka_unit_test(basis_functions_become_one_coefficient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
