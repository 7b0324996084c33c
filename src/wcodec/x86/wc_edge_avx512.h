/* SPDX-License-Identifier: MIT
 *
 * The form EDGE of rules for AVX-512: slots of values, as in wc_edge.h, 64 bytes at a time. */
#ifndef TARE_WCODEC_EDGE_AVX512_H
#define TARE_WCODEC_EDGE_AVX512_H

#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/wc_edge.h"

static ALWAYS_INLINE __m512i edge_slots(__m512i values) {
    const __m512i upper = _mm512_set1_epi8(TARE_WC_UPPER_SLOT), one = _mm512_set1_epi8(1);
    const __m512i lower = _mm512_set1_epi8(TARE_WC_LOWER_SLOT);
    __mmask64 is_above = _mm512_cmpge_epi8_mask(values, upper);
    __mmask64 is_below = _mm512_cmple_epi8_mask(values, lower);
    __m512i s = _mm512_mask_add_epi8(values, is_above, values, one);
    s = _mm512_mask_subs_epi8(s, is_below, values, one); /* -128 stays */
    s = _mm512_mask_mov_epi8(
        s, _mm512_cmpeq_epi8_mask(values, _mm512_set1_epi8(TARE_WC_UPPER_EDGE)), upper);
    return _mm512_mask_mov_epi8(
        s, _mm512_cmpeq_epi8_mask(values, _mm512_set1_epi8(TARE_WC_LOWER_EDGE)), lower);
}

#endif
