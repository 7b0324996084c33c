/* SPDX-License-Identifier: MIT
 *
 * The search through a trellis for AVX-512: prices are looked up in registers. */
#include <immintrin.h>

#include "wcodec/x86/wc_x86.h"

static inline __attribute__((always_inline)) void
look_up_prices(float *restrict out, const float *restrict prices, const int32_t *restrict symbols) {
    const __m512 a = _mm512_loadu_ps(prices), b = _mm512_loadu_ps(prices + 16);
    const __m512 c = _mm512_loadu_ps(prices + 32), d = _mm512_loadu_ps(prices + 48);
    for (unsigned i = 0; i < TARE_WC_LANES; i += 16) {
        __m512i at = _mm512_loadu_si512(symbols + i);
        __mmask16 is_upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
        __m512 lower = _mm512_permutex2var_ps(a, at, b), upper = _mm512_permutex2var_ps(c, at, d);
        _mm512_storeu_ps(out + i, _mm512_mask_blend_ps(is_upper, lower, upper));
    }
}

#include "wcodec/simd/wc_search_lanes.h"

static void search(const tare_wc_search_job *job) {
    search_lanes(job);
}

void tare_wc_kernels_use_search_vbmi2(tare_wc_kernels *k) {
    k->search = search;
}
