/* SPDX-License-Identifier: MIT
 *
 * The signs of eight elements apart from their magnitudes, as search_points.h needs them: a byte of
 * signs at any level. */
#ifndef TARE_ENCODING_X86_SPLIT_EIGHT_H
#define TARE_ENCODING_X86_SPLIT_EIGHT_H

#include "encoding/iq_search.h"
#include "encoding/x86/lanes_bytes.h"

/* Signs and magnitudes of eight elements; of an odd number of signs the cheapest one is changed.
 * False: a cost is NaN. */
INLINE bool split_eight(tare_iq_chunk *c, size_t at, bool is_even) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 x = _mm256_loadu_ps(c->x + at);
    __m256 is_plus = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GE_OQ);
    __m256 magnitudes = _mm256_xor_ps(x, _mm256_andnot_ps(is_plus, sign));
    uint32_t signs = ~(uint32_t)_mm256_movemask_ps(is_plus) & 255;
    if (is_even) {
        __m256 costs = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(c->weights + at), x), x);
        if (_mm256_movemask_ps(_mm256_cmp_ps(costs, costs, _CMP_UNORD_Q))) return false;
        __m256 least = _mm256_min_ps(costs, _mm256_permute2f128_ps(costs, costs, 1));
        least = _mm256_min_ps(least, _mm256_permute_ps(least, 0x4e));
        least = _mm256_min_ps(least, _mm256_permute_ps(least, 0xb1));
        uint32_t cheapest = (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(costs, least, _CMP_EQ_OQ));
        uint32_t changed = __builtin_parity(signs) ? cheapest & -cheapest : 0;
        __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        __m256i is_changed =
            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)changed), bits), bits);
        magnitudes =
            _mm256_xor_ps(magnitudes, _mm256_and_ps(_mm256_castsi256_ps(is_changed), sign));
        signs = (signs ^ changed) & 127;
    }
    _mm256_storeu_ps(c->magnitudes + at, magnitudes);
    c->signs[at / 8] = (uint8_t)signs;
    return true;
}

#endif
