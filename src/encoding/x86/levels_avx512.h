/* SPDX-License-Identifier: MIT
 *
 * The nearest of the levels of iq4 in vectors of 16 (AVX-512 F). The search is a step function: a
 * code is the number of midpoints between neighbouring levels that are not above x. Buckets 9 wide
 * around the multiples of 9 hold at most one midpoint, none within 0.1 of a bound, so that an
 * inexact choice of the bucket is harmless. levels_avx2.h has the same names. */
#ifndef TARE_ENCODING_X86_LEVELS_AVX512_H
#define TARE_ENCODING_X86_LEVELS_AVX512_H

#include "encoding/float16.h"
#include "encoding/levels.h"
#include "encoding/x86/lanes_avx512.h"

/* By the low 5 bits of the bucket's number: its midpoint, and the code below it. */
#define NEVER 1e30f
static const float level_midpoints[32] = {
    -4.5f,  7,     19,    31.5f, 31.5f, 45.5f, NEVER, 61,     NEVER,   79,    NEVER,
    101,    NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER,  -115.5f, NEVER, NEVER,
    -93.5f, NEVER, -74,   NEVER, -57,   -42,   NEVER, -28.5f, -16,     -4.5f};
static const uint8_t level_bases[32] = {7, 8, 9, 10, 10, 11, 12, 12, 13, 13, 14, 14, 15, 15, 15, 15,
                                        0, 0, 0, 0,  1,  1,  1,  2,  2,  3,  3,  4,  5,  5,  6,  7};

/* Two bfloat16 (or codes) a bucket: what is below the midpoint in the lower half, above it in the
 * upper half. Whole numbers below 256 are exact in bfloat16. */
typedef struct level_tables {
    vec midpoints[2];
    ivec pairs[2];
} level_tables;

static inline level_tables level_tables_load(const uint32_t *pairs) {
    return (level_tables){{load(level_midpoints), load(level_midpoints + 16)},
                          {_mm512_loadu_si512(pairs), _mm512_loadu_si512(pairs + 16)}};
}

static inline level_tables level_tables_of_values(void) {
    uint32_t pairs[32];
    for (int i = 0; i < 32; i++) {
        int low = level_bases[i], high = low < 15 ? low + 1 : low;
        uint32_t lower = tare_f32_bits(tare_levels_iq4[low]);
        pairs[i] = lower >> 16 | tare_f32_bits(tare_levels_iq4[high]);
    }
    return level_tables_load(pairs);
}

static inline level_tables level_tables_of_codes(void) {
    uint32_t pairs[32];
    for (uint32_t i = 0; i < 32; i++) pairs[i] = level_bases[i] | (level_bases[i] + 1u) << 16;
    return level_tables_load(pairs);
}

/* The upper halves of the result; |x| <= 134. */
static inline ivec level_lookup(const level_tables *t, vec x) {
    vec numbered = _mm512_fmadd_ps(x, all(1.0f / 9), all(12582912.0f));
    vec midpoint = _mm512_permutex2var_ps(t->midpoints[0], bits_of(numbered), t->midpoints[1]);
    ivec pair = _mm512_permutex2var_epi32(t->pairs[0], bits_of(numbered), t->pairs[1]);
    __mmask16 is_above = _mm512_cmp_ps_mask(x, midpoint, _CMP_GE_OQ);
    return _mm512_mask_and_epi32(_mm512_slli_epi32(pair, 16), is_above, pair, all_i(0xffff0000));
}

static inline vec level_values(const level_tables *t, vec x) {
    return of_bits(level_lookup(t, x));
}
static inline vec level_numbers(const level_tables *t, vec x) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(level_lookup(t, x), 16));
}

#endif
