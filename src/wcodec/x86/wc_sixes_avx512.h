/* SPDX-License-Identifier: MIT
 *
 * Values of 6 bits, four in three bytes, for AVX-512 with VBMI. */
#ifndef TARE_WCODEC_SIXES_AVX512_H
#define TARE_WCODEC_SIXES_AVX512_H

#include <immintrin.h>

#include "wcodec/simd/wc_block.h"

enum { SIXES_BYTES = 64 * 6 / 8 };

/* 64 bytes below 64 in 48, and zeros: pairs to 12 bits, pairs of these to 24, then without gaps. */
static ALWAYS_INLINE __m512i pack_sixes(__m512i v) {
    uint8_t order[64] = {0};
    for (unsigned i = 0; i < SIXES_BYTES; i++) order[i] = (uint8_t)(i / 3 * 4 + i % 3);
    v = _mm512_maddubs_epi16(v, _mm512_set1_epi16(64 << 8 | 1));
    v = _mm512_madd_epi16(v, _mm512_set1_epi32(4096 << 16 | 1));
    return _mm512_maskz_permutexvar_epi8((UINT64_C(1) << SIXES_BYTES) - 1,
                                         _mm512_loadu_si512(order), v);
}

#endif
