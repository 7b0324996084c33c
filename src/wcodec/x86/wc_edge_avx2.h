/* SPDX-License-Identifier: MIT
 *
 * The form EDGE of rules for AVX2: what wc_edge.h does, 32 bytes at a time. */
#ifndef TARE_WCODEC_EDGE_AVX2_H
#define TARE_WCODEC_EDGE_AVX2_H

#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/wc_edge.h"

static ALWAYS_INLINE __m256i edge_values(__m256i slots) {
    const __m256i upper = _mm256_set1_epi8(TARE_WC_UPPER_SLOT);
    const __m256i lower = _mm256_set1_epi8(TARE_WC_LOWER_SLOT);
    __m256i v = _mm256_add_epi8(slots, _mm256_cmpgt_epi8(slots, upper));
    v = _mm256_sub_epi8(v, _mm256_cmpgt_epi8(lower, slots));
    v = _mm256_add_epi8(v, _mm256_cmpeq_epi8(slots, _mm256_set1_epi8(INT8_MIN))); /* stays */
    v = _mm256_blendv_epi8(v, _mm256_set1_epi8(TARE_WC_UPPER_EDGE),
                           _mm256_cmpeq_epi8(slots, upper));
    return _mm256_blendv_epi8(v, _mm256_set1_epi8(TARE_WC_LOWER_EDGE),
                              _mm256_cmpeq_epi8(slots, lower));
}

static ALWAYS_INLINE __m256i edge_slots(__m256i values) {
    const __m256i upper = _mm256_set1_epi8(TARE_WC_UPPER_SLOT);
    const __m256i lower = _mm256_set1_epi8(TARE_WC_LOWER_SLOT);
    const __m256i upper_edge = _mm256_set1_epi8(TARE_WC_UPPER_EDGE);
    const __m256i lower_edge = _mm256_set1_epi8(TARE_WC_LOWER_EDGE);
    __m256i last_before = _mm256_set1_epi8(TARE_WC_UPPER_SLOT - 1);
    __m256i first_after = _mm256_set1_epi8(TARE_WC_LOWER_SLOT + 1);
    __m256i s = _mm256_sub_epi8(values, _mm256_cmpgt_epi8(values, last_before));
    s = _mm256_adds_epi8(s, _mm256_cmpgt_epi8(first_after, values)); /* -128 stays */
    s = _mm256_blendv_epi8(s, upper, _mm256_cmpeq_epi8(values, upper_edge));
    return _mm256_blendv_epi8(s, lower, _mm256_cmpeq_epi8(values, lower_edge));
}

#endif
