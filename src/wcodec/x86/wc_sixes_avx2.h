/* SPDX-License-Identifier: MIT
 *
 * Values of 6 bits, four in three bytes, for AVX2. */
#ifndef TARE_WCODEC_SIXES_AVX2_H
#define TARE_WCODEC_SIXES_AVX2_H

#include <immintrin.h>

#include "wcodec/simd/wc_block.h"

/* Each four bytes below 64 as the first three: pairs to 12 bits, pairs of these to 24. Then, in
 * each half of the vector, without gaps: 12 bytes and zeros. */
static ALWAYS_INLINE __m256i pack_sixes(__m256i v) {
    const __m256i close = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(64 << 8 | 1));
    v = _mm256_madd_epi16(v, _mm256_set1_epi32(4096 << 16 | 1));
    return _mm256_shuffle_epi8(v, close);
}

/* 32 values in 24 bytes. */
static ALWAYS_INLINE void store_sixes(uint8_t *p, __m256i v) {
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    v = _mm256_permutevar8x32_epi32(pack_sixes(v), order);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(v));
    _mm_storel_epi64((__m128i *)(void *)(p + 16), _mm256_extracti128_si256(v, 1));
}

#endif
