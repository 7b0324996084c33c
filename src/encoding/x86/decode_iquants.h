/* SPDX-License-Identifier: MIT
 *
 * Decoders of the IQ1, IQ2 and IQ3 formats on the names of decode_lanes.h. What a super-block says
 * of its groups is unpacked for all of them at once and waits in memory: factors, signs completed
 * to eight bits, places in the codebook. Then the points of 32 elements are looked up with a byte
 * an element, their codes become levels, and the levels take their signs before they become
 * floats, which is the same as the reference's multiplication by -1. */
#ifndef TARE_ENCODING_X86_DECODE_IQUANTS_H
#define TARE_ENCODING_X86_DECODE_IQUANTS_H

#include "encoding/codebooks.h"
#include "encoding/iq.h"
#include "encoding/simd/spread_points.h"
#include "encoding/x86/decode_lanes.h"

/* ---- factors --------------------------------------------------------------------------------- */

/* d * (0.5 + s) * unit */
INLINE void store_half_steps(float factors[8], __m256i s, __m256 d, float unit) {
    __m256 steps = _mm256_add_ps(_mm256_set1_ps(0.5f), _mm256_cvtepi32_ps(s));
    _mm256_storeu_ps(factors, _mm256_mul_ps(_mm256_mul_ps(d, steps), _mm256_set1_ps(unit)));
    leave_in_memory(factors);
}
/* d * (2 s + 1) */
INLINE void store_odd_steps(float factors[8], __m256i s, __m256 d) {
    s = _mm256_add_epi32(_mm256_add_epi32(s, s), _mm256_set1_epi32(1));
    _mm256_storeu_ps(factors, _mm256_mul_ps(d, _mm256_cvtepi32_ps(s)));
    leave_in_memory(factors);
}
/* Of 16 nibbles. */
INLINE void store_iq2_factors(float factors[16], const uint8_t *scales, __m256 d) {
    for (int i = 0; i < 2; i++)
        store_half_steps(factors + 8 * i, fields_of_word(tare_load_le32(scales + 4 * i), 4), d,
                         0.25f);
}

/* ---- signs ----------------------------------------------------------------------------------- */

/* 32 times seven signs: the eighth makes the number of ones even. */
INLINE void store_completed(uint32_t signs[8], __m256i sevens) {
    const __m256i top_if_odd = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    __m256i low = _mm256_shuffle_epi8(top_if_odd, field(sevens, 0, 4, 0));
    __m256i high = _mm256_shuffle_epi8(top_if_odd, field(sevens, 4, 4, 0));
    __m256i completed = _mm256_xor_si256(sevens, _mm256_xor_si256(low, high));
    _mm256_storeu_si256((void *)signs, completed);
    leave_in_memory(signs);
}

/* Eight words of four times seven signs under a factor of four bits. */
INLINE void store_signs_and_factors(uint32_t signs[8], float factors[8], __m256i words, __m256 d,
                                    float unit) {
    __m256i sevens = _mm256_and_si256(words, _mm256_set1_epi32(0x7f));
    for (int i = 1; i < 4; i++) {
        __m256i seven = _mm256_and_si256(_mm256_slli_epi32(words, i),
                                         _mm256_set1_epi32((int32_t)(UINT32_C(0x7f) << 8 * i)));
        sevens = _mm256_or_si256(sevens, seven);
    }
    store_completed(signs, sevens);
    store_half_steps(factors, _mm256_srli_epi32(words, 28), d, unit);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Places in a codebook, four of each of eight groups. */
typedef struct places {
    uint32_t of[4][8];
} places;

/* The lower 8 bits of a group's places are the bytes of `low`. The upper ones, `most` at most, lie
 * in `high`, those of the next place `step` bits further up. */
INLINE void store_places(places *p, __m256i low, __m256i high, int step, int most) {
    high = _mm256_slli_epi32(high, 8);
    for (int i = 0; i < 4; i++) {
        __m256i byte = _mm256_and_si256(_mm256_srli_epi32(low, 8 * i), _mm256_set1_epi32(0xff));
        __m256i bits =
            _mm256_and_si256(_mm256_srli_epi32(high, step * i), _mm256_set1_epi32(most << 8));
        _mm256_storeu_si256((void *)p->of[i], _mm256_or_si256(byte, bits));
    }
    leave_in_memory(p);
}

INLINE __m256i four_points(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_setr_epi64x((int64_t)a, (int64_t)b, (int64_t)c, (int64_t)d);
}
INLINE __m256i points_at(const uint64_t *points, const places *p, int g) {
    return four_points(points[p->of[0][g]], points[p->of[1][g]], points[p->of[2][g]],
                       points[p->of[3][g]]);
}

/* The levels again and again, as levels_at wants them. */
INLINE __m256i levels_iq2(void) {
    uint32_t levels;
    memcpy(&levels, tare_levels_iq2, 4);
    return _mm256_set1_epi32((int32_t)levels);
}
INLINE __m256i levels_iq3(const int8_t *of) {
    uint64_t levels;
    memcpy(&levels, of, 8);
    return _mm256_set1_epi64x((int64_t)levels);
}

/* ---- IQ2 ------------------------------------------------------------------------------------- */

/* Odd words of 64 bytes. */
INLINE __m256i load_odd_words(const uint8_t *p) {
    __m256 a = _mm256_castsi256_ps(load_32(p)), b = _mm256_castsi256_ps(load_32(p + 32));
    __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    return _mm256_permute4x64_epi64(odd, 0xd8);
}

INLINE void block_iq2_xxs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[8];
    const uint64_t *points = tare_iq2_xxs_spread;
    const uint8_t *at = block + IQ2_XXS_QS;
    store_signs_and_factors(signs, factors, load_odd_words(at), load_half_8(block), 0.25f);
    for (int g = 0; g < 8; g++, at += 8) {
        __m256i codes = four_points(points[at[0]], points[at[1]], points[at[2]], points[at[3]]);
        codes = negate_where(signs[g], levels_at(levels_iq2(), codes));
        store_scaled(dst + 32 * g, codes, all(factors[g]));
    }
}

INLINE void block_iq2_xs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[16];
    __m256i a = load_32(block + IQ2_XS_QS), b = load_32(block + IQ2_XS_QS + 32);
    __m256i sevens = _mm256_packus_epi16(_mm256_srli_epi16(a, 9), _mm256_srli_epi16(b, 9));
    store_completed(signs, _mm256_permute4x64_epi64(sevens, 0xd8));
    store_iq2_factors(factors, block + IQ2_XS_SCALES, load_half_8(block));
    const uint64_t *points = tare_iq2_xs_spread;
    const uint8_t *at = block + IQ2_XS_QS;
    for (int g = 0; g < 8; g++, at += 8) {
        __m256i codes =
            four_points(points[tare_load_le16(at) & 511], points[tare_load_le16(at + 2) & 511],
                        points[tare_load_le16(at + 4) & 511], points[tare_load_le16(at + 6) & 511]);
        codes = negate_where(signs[g], levels_at(levels_iq2(), codes));
        store_scaled_halves(dst + 32 * g, codes, all(factors[2 * g]), all(factors[2 * g + 1]));
    }
}

INLINE void block_iq2_s(float *dst, const uint8_t *block) {
    float factors[16];
    places p;
    __m256i high = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(block + IQ2_S_QH)));
    store_places(&p, load_32(block + IQ2_S_QS), high, 2, 3);
    store_iq2_factors(factors, block + IQ2_S_SCALES, load_half_8(block));
    for (int g = 0; g < 8; g++) {
        uint32_t signs = tare_load_le32(block + IQ2_S_SIGNS + 4 * g);
        __m256i codes = points_at(tare_iq2_s_spread, &p, g);
        codes = negate_where(signs, levels_at(levels_iq2(), codes));
        store_scaled_halves(dst + 32 * g, codes, all(factors[2 * g]), all(factors[2 * g + 1]));
    }
}

/* ---- IQ3 ------------------------------------------------------------------------------------- */

INLINE __m256i eight_points(const uint32_t *points, const uint32_t at[8]) {
    uint64_t pairs[4];
    for (int i = 0; i < 4; i++)
        pairs[i] = points[at[2 * i]] | (uint64_t)points[at[2 * i + 1]] << 32;
    return four_points(pairs[0], pairs[1], pairs[2], pairs[3]);
}

INLINE void block_iq3_xxs(float *dst, const uint8_t *block) {
    uint32_t signs[8];
    float factors[8];
    const uint8_t *at = block + IQ3_XXS_QS;
    store_signs_and_factors(signs, factors, load_32(block + IQ3_XXS_SIGNS), load_half_8(block),
                            0.5f);
    for (int g = 0; g < 8; g++, at += 8) {
        uint32_t all_at[8] = {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]};
        __m256i codes = eight_points(tare_iq3_xxs_spread, all_at);
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
        __m256i codes = eight_points(tare_iq3_s_spread, all_at);
        uint32_t signs = tare_load_le32(block + IQ3_S_SIGNS + 4 * g);
        codes = negate_where(signs, levels_at(levels_iq3(tare_levels_iq3_s), codes));
        store_scaled(dst + 32 * g, codes, all(factors[g]));
    }
}

/* ---- IQ1 ------------------------------------------------------------------------------------- */

/* The codes 0, 1, 2 stand for -1, 0, 1, moved by an eighth: down where bit 3 of a point's nibble is
 * set, else up. In eighths all of that is whole, and small enough that the factor can be divided by
 * 8 in its place without being rounded. Each byte is what to add to the codes of one point. */
INLINE void store_moves(uint32_t moves[8], __m256i nibbles) {
    __m256i down = _mm256_and_si256(nibbles, _mm256_set1_epi32(8));
    for (int i = 1; i < 4; i++) {
        __m256i bit = _mm256_and_si256(_mm256_slli_epi32(nibbles, 4 * i),
                                       _mm256_set1_epi32((int32_t)(UINT32_C(8) << 8 * i)));
        down = _mm256_or_si256(down, bit);
    }
    down = _mm256_sub_epi8(all_bytes(-8 + 1), _mm256_srli_epi16(down, 2));
    _mm256_storeu_si256((void *)moves, down);
    leave_in_memory(moves);
}

/* nibbles: for each group, of each point the upper three bits of its place and how it is moved.
 * A group has n_factors, one or two. */
INLINE void iq1_groups(float *dst, __m256i low, __m256i nibbles, const float *factors,
                       int n_factors) {
    const __m256i of_point =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    places p;
    uint32_t moves[8];
    store_places(&p, low, nibbles, 4, 7);
    store_moves(moves, nibbles);
    for (int g = 0; g < 8; g++) {
        const float *f = factors + n_factors * g;
        __m256i eighths = _mm256_slli_epi16(points_at(tare_iq1_spread, &p, g), 3);
        __m256i move = _mm256_shuffle_epi8(_mm256_set1_epi32((int32_t)moves[g]), of_point);
        store_scaled_halves(dst + 32 * g, _mm256_add_epi8(eighths, move), all(f[0]),
                            all(f[n_factors - 1]));
    }
}

/* An eighth of a half, eight times. */
INLINE __m256 eighth_of_half(uint16_t half) {
    return _mm256_mul_ps(all_half_8(half), _mm256_set1_ps(0.125f));
}

/* Four times three bits, a factor, and how all points are moved: made the nibbles of iq1_groups. */
INLINE void block_iq1_s(float *dst, const uint8_t *block) {
    float factors[8];
    __m256i words = _mm256_cvtepu16_epi32(load_16(block + IQ1_S_QH));
    __m256i is_down = _mm256_srai_epi32(_mm256_slli_epi32(words, 16), 31);
    __m256i nibbles = _mm256_and_si256(is_down, _mm256_set1_epi32(0x8888));
    for (int i = 0; i < 4; i++) {
        __m256i three =
            _mm256_and_si256(_mm256_slli_epi32(words, i), _mm256_set1_epi32(7 << 4 * i));
        nibbles = _mm256_or_si256(nibbles, three);
    }
    __m256i scales = _mm256_and_si256(_mm256_srli_epi32(words, 12), _mm256_set1_epi32(7));
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
    const __m256i shifts = _mm256_setr_epi32(0, 3, 6, 9, 16, 19, 22, 25);
    for (int i = 0; i < 2; i++) {
        __m256i words = _mm256_set1_epi32((int32_t)(uint32_t)(scales >> 32 * i));
        words = _mm256_and_si256(_mm256_srlv_epi32(words, shifts), _mm256_set1_epi32(7));
        store_odd_steps(factors + 8 * i, words, eighth_of_half((uint16_t)d));
    }
    __m256i nibbles = _mm256_cvtepu16_epi32(load_16(block + IQ1_M_QH));
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
