/* SPDX-License-Identifier: MIT
 *
 * Tables of 64 bytes for AVX2: four shuffles of 16 bytes, of which those of other quarters give 0.
 */
#ifndef TARE_WCODEC_LOOKUP_AVX2_H
#define TARE_WCODEC_LOOKUP_AVX2_H

#include <immintrin.h>

#include "wcodec/simd/wc_block.h"

typedef struct row {
    __m256i quarter[4];
} row;

typedef struct lut_index {
    __m256i in[4]; /* of a quarter: bits 0 to 3; bit 7: in another one */
} lut_index;

static ALWAYS_INLINE row load_row(const uint8_t *bytes) {
    row r;
    for (unsigned i = 0; i < 4; i++) {
        __m128i quarter = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        r.quarter[i] = _mm256_broadcastsi128_si256(quarter);
    }
    return r;
}

/* Of bytes below 64. */
static ALWAYS_INLINE lut_index lut_index_of(__m256i index) {
    const __m256i to_sign = _mm256_set1_epi8(0x70);
    lut_index p;
    for (unsigned i = 0; i < 4; i++)
        p.in[i] =
            _mm256_add_epi8(_mm256_xor_si256(index, _mm256_set1_epi8((char)(16 * i))), to_sign);
    return p;
}

static ALWAYS_INLINE __m256i look_up(const row *r, const lut_index *p) {
    __m256i a = _mm256_or_si256(_mm256_shuffle_epi8(r->quarter[0], p->in[0]),
                                _mm256_shuffle_epi8(r->quarter[1], p->in[1]));
    __m256i b = _mm256_or_si256(_mm256_shuffle_epi8(r->quarter[2], p->in[2]),
                                _mm256_shuffle_epi8(r->quarter[3], p->in[3]));
    return _mm256_or_si256(a, b);
}

static inline __m256i load_256(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline void store_256(uint8_t *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}

#endif
