/* SPDX-License-Identifier: MIT
 *
 * The nearest of the levels of iq4 in vectors of 8 (AVX2). A code is the number of midpoints
 * between neighbouring levels that are not above x. Each side of zero is cut at 11.5, 23, 34.5, 46,
 * 69, 92, 115 and 138: 1 + |x| / 46 has these as the quarters of [1, 2) and [2, 4), so its upper
 * bits number the buckets. Each holds one midpoint (but the last one above zero, which has none),
 * never within 0.4 of a bound, so that an inexact choice of the bucket is harmless. */
#ifndef TARE_ENCODING_X86_LEVELS_AVX2_H
#define TARE_ENCODING_X86_LEVELS_AVX2_H

#include "encoding/float16.h"
#include "encoding/levels.h"
#include "encoding/x86/lanes_avx2.h"

/* Bit 23 of a float in [1, 2) is set, in [2, 4) it is not: buckets 4 to 7 come first. */
enum { SLOTS = 8 };

typedef struct level_tables {
    ivec midpoints; /* bfloat16: below zero in the lower half, above zero in the upper one */
    ivec bytes;     /* lowest first: below zero under the midpoint, not under it; above zero */
} level_tables;

static inline level_tables level_tables_load(const int8_t *results) {
    uint32_t midpoints[SLOTS], bytes[SLOTS];
    const int8_t *v = tare_levels_iq4;
    for (int slot = 0; slot < SLOTS; slot++) {
        int k = slot ^ 4, top = k < 7 ? 9 + k : 15;
        float below = 0.5f * (float)(v[7 - k] + v[8 - k]);
        float above = k < 7 ? 0.5f * (float)(v[8 + k] + v[9 + k]) : 0;
        midpoints[slot] = tare_f32_bits(below) >> 16 | tare_f32_bits(above);
        bytes[slot] = (uint32_t)(uint8_t)results[7 - k] | (uint32_t)(uint8_t)results[8 - k] << 8 |
                      (uint32_t)(uint8_t)results[8 + k] << 16 |
                      (uint32_t)(uint8_t)results[top] << 24;
    }
    return (level_tables){_mm256_loadu_si256((void *)midpoints), _mm256_loadu_si256((void *)bytes)};
}

static inline level_tables level_tables_of_values(void) {
    return level_tables_load(tare_levels_iq4);
}

static inline level_tables level_tables_of_codes(void) {
    static const int8_t codes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return level_tables_load(codes);
}

/* |x| <= 134. */
static inline vec level_values(const level_tables *t, vec x) {
    vec scaled = add(mul(size_of(x), all(1.0f / 46)), all(1));
    ivec slot = _mm256_srli_epi32(bits_of(scaled), 21);
    ivec midpoint = _mm256_permutevar8x32_epi32(t->midpoints, slot);
    ivec bytes = _mm256_permutevar8x32_epi32(t->bytes, slot);
    ivec is_below_zero = and_i(sign_fill(bits_of(x)), all_i(16));
    midpoint = and_i(_mm256_sllv_epi32(midpoint, is_below_zero), all_i(0xffff0000));
    ivec is_under = and_i(bits_of(is_below(x, of_bits(midpoint))), all_i(8));
    bytes = _mm256_sllv_epi32(bytes, or_i(is_below_zero, is_under));
    return to_floats(_mm256_srai_epi32(bytes, 24));
}
static inline vec level_numbers(const level_tables *t, vec x) {
    return level_values(t, x);
}

#endif
