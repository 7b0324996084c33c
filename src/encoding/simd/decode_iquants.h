/* SPDX-License-Identifier: MIT
 *
 * Decoders of the IQ1, IQ2 and IQ3 formats on the names of decode_lanes.h. A super-block's data
 * about its groups is unpacked for all of them at once and kept in memory: factors, signs completed
 * to eight bits, places in the codebook. Then the points of 32 elements are looked up with one byte
 * per element, their codes become levels, and the levels get their signs before they become floats,
 * which is equivalent to the reference's multiplication by -1. */
#ifndef TARE_ENCODING_SIMD_DECODE_IQUANTS_H
#define TARE_ENCODING_SIMD_DECODE_IQUANTS_H

#include "encoding/codebooks.h"
#include "encoding/iq.h"
#include "encoding/simd/decode_lanes.h"
#include "encoding/simd/spread_points.h"

/* ---- factors --------------------------------------------------------------------------------- */

/* d * (0.5 + s) * unit */
INLINE void store_half_steps(float factors[8], words8 s, floats8 d, float unit) {
    floats8 steps = add_8(all_8(0.5f), floats_of_words(s));
    store_8(factors, mul_8(mul_8(d, steps), all_8(unit)));
    leave_in_memory(factors);
}
/* d * (2 s + 1) */
INLINE void store_odd_steps(float factors[8], words8 s, floats8 d) {
    s = add_words(add_words(s, s), all_words(1));
    store_8(factors, mul_8(d, floats_of_words(s)));
    leave_in_memory(factors);
}
/* Of 16 nibbles. */
INLINE void store_iq2_factors(float factors[16], const uint8_t *scales, floats8 d) {
    for (int i = 0; i < 2; i++)
        store_half_steps(factors + 8 * i, fields_of_word(tare_load_le32(scales + 4 * i), 4), d,
                         0.25f);
}

/* ---- signs ----------------------------------------------------------------------------------- */

/* 32 times seven signs: the eighth makes the number of ones even. */
INLINE void store_completed(uint32_t signs[8], bytes32 sevens) {
    static const int8_t top_if_odd[16] = {0,    -128, -128, 0,    -128, 0,    0,    -128,
                                          -128, 0,    0,    -128, 0,    -128, -128, 0};
    bytes32 low = levels_at(sixteen_levels(top_if_odd), field(sevens, 0, 4, 0));
    bytes32 high = levels_at(sixteen_levels(top_if_odd), field(sevens, 4, 4, 0));
    bytes32 completed = xor_bytes(sevens, xor_bytes(low, high));
    store_32((uint8_t *)signs, completed);
    leave_in_memory(signs);
}

/* Eight words of four times seven signs under a factor of four bits. */
INLINE void store_signs_and_factors(uint32_t signs[8], float factors[8], words8 words, floats8 d,
                                    float unit) {
    words8 sevens = and_bytes(words, all_words(0x7f));
    for (int i = 1; i < 4; i++) {
        words8 seven = and_bytes(shift_words_up(words, i), all_words((UINT32_C(0x7f) << 8 * i)));
        sevens = or_bytes(sevens, seven);
    }
    store_completed(signs, sevens);
    store_half_steps(factors, shift_words_down(words, 28), d, unit);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Places in a codebook, four of each of eight groups. */
typedef struct places {
    uint32_t of[4][8];
} places;

/* The lower 8 bits of a group's places are the bytes of `low`. The upper ones, `most` at most, lie
 * in `high`, those of the next place `step` bits further up. */
INLINE void store_places(places *p, words8 low, words8 high, int step, int most) {
    high = shift_words_up(high, 8);
    for (int i = 0; i < 4; i++) {
        words8 byte = and_bytes(shift_words_down(low, 8 * i), all_words(0xff));
        words8 bits = and_bytes(shift_words_down(high, step * i), all_words((uint32_t)most << 8));
        store_32((uint8_t *)p->of[i], or_bytes(byte, bits));
    }
    leave_in_memory(p);
}

INLINE bytes32 points_at(const uint64_t *points, const places *p, int g) {
    return join_quarters(points[p->of[0][g]], points[p->of[1][g]], points[p->of[2][g]],
                         points[p->of[3][g]]);
}

/* The levels repeated, as levels_at needs them. */
INLINE bytes32 levels_iq2(void) {
    uint32_t levels;
    memcpy(&levels, tare_levels_iq2, 4);
    return all_words(levels);
}
INLINE bytes32 levels_iq3(const int8_t *of) {
    uint64_t levels;
    memcpy(&levels, of, 8);
    return repeat_quarter(levels);
}

/* ---- IQ2 ------------------------------------------------------------------------------------- */

INLINE void block_iq2_xxs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[8];
    const uint64_t *points = tare_iq2_xxs_spread;
    const uint8_t *at = block + IQ2_XXS_QS;
    store_signs_and_factors(signs, factors, load_odd_words(at), load_half_8(block), 0.25f);
    for (int g = 0; g < 8; g++, at += 8) {
        bytes32 codes = join_quarters(points[at[0]], points[at[1]], points[at[2]], points[at[3]]);
        codes = negate_where(signs[g], levels_at(levels_iq2(), codes));
        store_scaled(dst + 32 * g, codes, all(factors[g]));
    }
}

INLINE void block_iq2_xs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[16];
    store_completed(signs, load_upper_sevens(block + IQ2_XS_QS));
    store_iq2_factors(factors, block + IQ2_XS_SCALES, load_half_8(block));
    const uint64_t *points = tare_iq2_xs_spread;
    const uint8_t *at = block + IQ2_XS_QS;
    for (int g = 0; g < 8; g++, at += 8) {
        bytes32 codes = join_quarters(
            points[tare_load_le16(at) & 511], points[tare_load_le16(at + 2) & 511],
            points[tare_load_le16(at + 4) & 511], points[tare_load_le16(at + 6) & 511]);
        codes = negate_where(signs[g], levels_at(levels_iq2(), codes));
        store_scaled_halves(dst + 32 * g, codes, all(factors[2 * g]), all(factors[2 * g + 1]));
    }
}

INLINE void block_iq2_s(float *dst, const uint8_t *block) {
    float factors[16];
    places p;
    words8 high = words_of_bytes(block + IQ2_S_QH);
    store_places(&p, load_32(block + IQ2_S_QS), high, 2, 3);
    store_iq2_factors(factors, block + IQ2_S_SCALES, load_half_8(block));
    for (int g = 0; g < 8; g++) {
        uint32_t signs = tare_load_le32(block + IQ2_S_SIGNS + 4 * g);
        bytes32 codes = points_at(tare_iq2_s_spread, &p, g);
        codes = negate_where(signs, levels_at(levels_iq2(), codes));
        store_scaled_halves(dst + 32 * g, codes, all(factors[2 * g]), all(factors[2 * g + 1]));
    }
}

/* ---- IQ3 ------------------------------------------------------------------------------------- */

INLINE bytes32 eight_points(const uint32_t *points, const uint32_t at[8]) {
    uint64_t pairs[4];
    for (int i = 0; i < 4; i++)
        pairs[i] = points[at[2 * i]] | (uint64_t)points[at[2 * i + 1]] << 32;
    return join_quarters(pairs[0], pairs[1], pairs[2], pairs[3]);
}

INLINE void block_iq3_xxs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[8];
    const uint8_t *at = block + IQ3_XXS_QS;
    store_signs_and_factors(signs, factors, load_32(block + IQ3_XXS_SIGNS), load_half_8(block),
                            0.5f);
    for (int g = 0; g < 8; g++, at += 8) {
        uint32_t all_at[8] = {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]};
        bytes32 codes = eight_points(tare_iq3_xxs_spread, all_at);
        codes = negate_where(signs[g], levels_at(levels_iq3(tare_levels_iq3_xxs), codes));
        store_scaled(dst + 32 * g, codes, all(factors[g]));
    }
}

/* The 64 places are those of 16 groups of four. */
INLINE void block_iq3_s(float *dst, const uint8_t *block) {
    float factors[8];
    places p[2];
    for (int i = 0; i < 2; i++)
        store_places(&p[i], load_32(block + IQ3_S_QS + 32 * i),
                     fields_of_word(tare_load_le32(block + IQ3_S_QH + 4 * i), 4), 1, 1);
    store_odd_steps(factors, fields_of_word(tare_load_le32(block + IQ3_S_SCALES), 4),
                    load_half_8(block));
    for (int g = 0; g < 8; g++) {
        const places *q = &p[g / 4];
        int a = g % 4 * 2, b = a + 1;
        uint32_t all_at[8] = {q->of[0][a], q->of[1][a], q->of[2][a], q->of[3][a],
                              q->of[0][b], q->of[1][b], q->of[2][b], q->of[3][b]};
        bytes32 codes = eight_points(tare_iq3_s_spread, all_at);
        uint32_t signs = tare_load_le32(block + IQ3_S_SIGNS + 4 * g);
        codes = negate_where(signs, levels_at(levels_iq3(tare_levels_iq3_s), codes));
        store_scaled(dst + 32 * g, codes, all(factors[g]));
    }
}

/* ---- IQ1 ------------------------------------------------------------------------------------- */

/* The codes 0, 1, 2 stand for -1, 0, 1, moved by an eighth: down where bit 3 of a point's nibble is
 * set, else up. In eighths all of these are integers, and small enough that the factor can be
 * divided by 8 instead without rounding. Each byte is what to add to the codes of one point. */
INLINE void store_moves(uint32_t moves[8], words8 nibbles) {
    words8 down = and_bytes(nibbles, all_words(8));
    for (int i = 1; i < 4; i++) {
        words8 bit = and_bytes(shift_words_up(nibbles, 4 * i), all_words((UINT32_C(8) << 8 * i)));
        down = or_bytes(down, bit);
    }
    down = sub_bytes(all_bytes(-8 + 1), field(down, 3, 1, 1));
    store_32((uint8_t *)moves, down);
    leave_in_memory(moves);
}

/* nibbles: for each group, of each point the upper three bits of its place and how it is moved.
 * A group has n_factors, one or two. */
INLINE void iq1_groups(float *dst, words8 low, words8 nibbles, const float *factors,
                       int n_factors) {
    places p;
    uint32_t moves[8];
    store_places(&p, low, nibbles, 4, 7);
    store_moves(moves, nibbles);
    for (int g = 0; g < 8; g++) {
        const float *f = factors + n_factors * g;
        bytes32 eighths = shift_bytes_up(points_at(tare_iq1_spread, &p, g), 3);
        bytes32 move = spread_word(moves[g]);
        store_scaled_halves(dst + 32 * g, add_bytes(eighths, move), all(f[0]),
                            all(f[n_factors - 1]));
    }
}

/* An eighth of a half, eight times. */
INLINE floats8 eighth_of_half(uint16_t half) {
    return mul_8(all_half_8(half), all_8(0.125f));
}

/* Four times three bits, a factor, and how all points are moved: made the nibbles of iq1_groups. */
INLINE void block_iq1_s(float *dst, const uint8_t *block) {
    float factors[8];
    words8 words = words_of_halves(block + IQ1_S_QH);
    words8 is_down = shift_words_signed(shift_words_up(words, 16), 31);
    words8 nibbles = and_bytes(is_down, all_words(0x8888));
    for (int i = 0; i < 4; i++) {
        words8 three = and_bytes(shift_words_up(words, i), all_words(7u << 4 * i));
        nibbles = or_bytes(nibbles, three);
    }
    words8 scales = and_bytes(shift_words_down(words, 12), all_words(7));
    store_odd_steps(factors, scales, eighth_of_half(tare_load_le16(block)));
    iq1_groups(dst, load_32(block + IQ1_S_QS), nibbles, factors, 1);
}

/* The four words of scales hold four factors of 3 bits each, and in their top nibbles the f16
 * factor of them all. */
INLINE void block_iq1_m(float *dst, const uint8_t *block) {
    float factors[16];
    uint64_t scales = tare_load_le64(block + IQ1_M_SCALES);
    uint64_t d = (scales >> 12 & 0xf) | (scales >> 24 & 0xf0) | (scales >> 36 & 0xf00) |
                 (scales >> 48 & 0xf000);
    static const int shifts[8] = {0, 3, 6, 9, 16, 19, 22, 25};
    for (int i = 0; i < 2; i++) {
        words8 words = fields_at((uint32_t)(scales >> 32 * i), shifts, 3);
        store_odd_steps(factors + 8 * i, words, eighth_of_half((uint16_t)d));
    }
    words8 nibbles = words_of_halves(block + IQ1_M_QH);
    iq1_groups(dst, load_32(block + IQ1_M_QS), nibbles, factors, 2);
}

DEFINE_DECODE(iq2_xxs, 256, IQ2_XXS_BYTES)
DEFINE_DECODE(iq2_xs, 256, IQ2_XS_BYTES)
DEFINE_DECODE(iq2_s, 256, IQ2_S_BYTES)
DEFINE_DECODE(iq3_xxs, 256, IQ3_XXS_BYTES)
DEFINE_DECODE(iq3_s, 256, IQ3_S_BYTES)
DEFINE_DECODE(iq1_s, 256, IQ1_S_BYTES)
DEFINE_DECODE(iq1_m, 256, IQ1_M_BYTES)

INLINE void use_decode_iquants(tare_kernels *k) {
    k->decode[TARE_ENCODING_IQ2_XXS] = decode_iq2_xxs;
    k->decode[TARE_ENCODING_IQ2_XS] = decode_iq2_xs;
    k->decode[TARE_ENCODING_IQ2_S] = decode_iq2_s;
    k->decode[TARE_ENCODING_IQ3_XXS] = decode_iq3_xxs;
    k->decode[TARE_ENCODING_IQ3_S] = decode_iq3_s;
    k->decode[TARE_ENCODING_IQ1_S] = decode_iq1_s;
    k->decode[TARE_ENCODING_IQ1_M] = decode_iq1_m;
}

#endif
