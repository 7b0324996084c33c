/* SPDX-License-Identifier: MIT
 *
 * The search through a trellis for AVX2: prices are gathered. */
#include <immintrin.h>

#include "wcodec/x86/wc_x86.h"

static inline __attribute__((always_inline)) void
look_up_prices(float *restrict out, const float *restrict prices, const int32_t *restrict symbols) {
    const __m256i low = _mm256_set1_epi32(63);
    for (unsigned i = 0; i < TARE_WC_LANES; i += 8) {
        __m256i at = _mm256_and_si256(_mm256_loadu_si256((const void *)(symbols + i)), low);
        _mm256_storeu_ps(out + i, _mm256_i32gather_ps(prices, at, sizeof *prices));
    }
}

#include "wcodec/simd/wc_search_lanes.h"

static void search(const tare_wc_search_job *job) {
    search_lanes(job);
}

void tare_wc_kernels_use_search_avx2(tare_wc_kernels *k) {
    k->search = search;
}
