/* SPDX-License-Identifier: MIT
 *
 * A block of 32 floats in vectors of 8 (AVX2), and the operations of kernels on it. lanes_avx512.h
 * has the same names for vectors of 16; kernels are written once, on these names. */
#ifndef TARE_ENCODING_X86_LANES_AVX2_H
#define TARE_ENCODING_X86_LANES_AVX2_H

#include <stddef.h>

#include "encoding/x86/lanes_bytes.h"
#include "encoding/x86/packed_codes.h"

enum { LANES = 8, VECTORS = 4 }; /* VECTORS of LANES make a block */

typedef __m256 vec;   /* LANES floats */
typedef __m256i ivec; /* LANES integers of 32 bits */

typedef struct block32 {
    vec v[VECTORS];
} block32;

static inline vec all(float f) {
    return _mm256_set1_ps(f);
}
static inline ivec all_i(uint32_t i) {
    return _mm256_set1_epi32((int32_t)i);
}
static inline vec load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void store(float *p, vec a) {
    _mm256_storeu_ps(p, a);
}
/* Past the caches, to a place aligned to the vector; end_stores_past ends a run of them. */
static inline void store_past(float *p, vec a) {
    _mm256_stream_ps(p, a);
}
static inline void store_i(uint32_t *p, ivec a) {
    _mm256_storeu_si256((void *)p, a);
}
static inline ivec bits_of(vec a) {
    return _mm256_castps_si256(a);
}
static inline vec of_bits(ivec a) {
    return _mm256_castsi256_ps(a);
}
static inline vec add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}
static inline vec sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}
static inline vec mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}
static inline vec divide(vec a, vec b) {
    return _mm256_div_ps(a, b);
}
static inline vec min_of(vec a, vec b) {
    return _mm256_min_ps(a, b);
}
static inline vec max_of(vec a, vec b) {
    return _mm256_max_ps(a, b);
}
static inline ivec max_signed(ivec a, ivec b) {
    return _mm256_max_epi32(a, b);
}
static inline ivec max_unsigned(ivec a, ivec b) {
    return _mm256_max_epu32(a, b);
}
static inline ivec and_i(ivec a, ivec b) {
    return _mm256_and_si256(a, b);
}
static inline ivec or_i(ivec a, ivec b) {
    return _mm256_or_si256(a, b);
}
/* -1 where negative, else 0 */
static inline ivec sign_fill(ivec a) {
    return _mm256_srai_epi32(a, 31);
}
/* a > b ? yes : no, signed */
static inline ivec if_greater(ivec a, ivec b, ivec yes, ivec no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(a, b));
}
static inline ivec if_equal(ivec a, ivec b, ivec yes, ivec no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpeq_epi32(a, b));
}
/* One bit a lane, lane 0 lowest. */
static inline uint32_t greater_mask(ivec a, ivec b) {
    return (uint32_t)_mm256_movemask_ps(of_bits(_mm256_cmpgt_epi32(a, b)));
}
static inline uint32_t equal_mask(ivec a, ivec b) {
    return (uint32_t)_mm256_movemask_ps(of_bits(_mm256_cmpeq_epi32(a, b)));
}
static inline uint32_t equal_mask_f(vec a, vec b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
static inline uint32_t unordered_mask(vec a, vec b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}
/* 1 / a, 0 where a is 0 */
static inline vec inverse(vec a) {
    return _mm256_and_ps(_mm256_div_ps(all(1), a), _mm256_cmp_ps(a, all(0), _CMP_NEQ_UQ));
}
static inline void store_halves(uint16_t *p, vec a) {
    _mm_storeu_si128((void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

/* The value of a half, in every lane. */
static inline vec all_half(uint16_t half) {
    return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)half));
}
/* `byte` where the bit of a byte is set, bit 0 first, else 0. */
static inline __m256i where_set(uint32_t bits, uint8_t byte) {
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int32_t)bits), spread);
    __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    return _mm256_and_si256(is_set, _mm256_set1_epi8((char)byte));
}
/* Bytes, negated where their bit is set. */
static inline __m256i negate_where(uint32_t bits, __m256i bytes) {
    __m256i minus = where_set(bits, 0xff);
    return _mm256_sub_epi8(_mm256_xor_si256(bytes, minus), minus);
}

/* The result in lane b is the largest (smallest) element of r[b]. */
#define DEFINE_ACROSS(name, op)                                                                    \
    static inline vec name(vec r[LANES]) {                                                         \
        for (int i = 0; i < 4; i++)                                                                \
            r[i] = op(_mm256_permute2f128_ps(r[i], r[i + 4], 0x20),                                \
                      _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));                               \
        for (int step = 2; step > 0; step--)                                                       \
            for (int i = 0; i < step; i++)                                                         \
                r[i] = op(_mm256_unpacklo_ps(r[i], r[i + step]),                                   \
                          _mm256_unpackhi_ps(r[i], r[i + step]));                                  \
        return r[0];                                                                               \
    }

/* A block of integers from 0 to 255 as bytes, in order. */
static inline __m256i bytes_of(const ivec i[VECTORS]) {
    __m256i first = _mm256_packus_epi32(i[0], i[1]), second = _mm256_packus_epi32(i[2], i[3]);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, second),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Rounded towards zero; the low byte of each integer, in order. */
static inline __m256i low_bytes(const block32 *b) {
    ivec i[VECTORS], byte = all_i(0xff);
    for (int k = 0; k < VECTORS; k++) i[k] = and_i(_mm256_cvttps_epi32(b->v[k]), byte);
    return bytes_of(i);
}

/* The low bytes, but 15 at most, as nibbles: element j low, element j + 16 high. */
static inline __m128i nibbles(const block32 *b) {
    __m256i codes = _mm256_min_epu8(low_bytes(b), _mm256_set1_epi8(15));
    __m128i high = _mm256_extracti128_si256(codes, 1);
    return _mm_or_si128(_mm256_castsi256_si128(codes), _mm_slli_epi16(high, 4));
}

/* 32 signed bytes as floats. */
static inline block32 floats_of(__m256i bytes) {
    block32 b;
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    b.v[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(low));
    b.v[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(low, low)));
    b.v[2] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(high));
    b.v[3] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(high, high)));
    return b;
}

/* 32 bytes as integers. */
typedef struct ints32 {
    ivec v[VECTORS];
} ints32;

static inline ints32 ints_of(__m256i bytes) {
    ints32 b;
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    b.v[0] = _mm256_cvtepu8_epi32(low);
    b.v[1] = _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(low, low));
    b.v[2] = _mm256_cvtepu8_epi32(high);
    b.v[3] = _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(high, high));
    return b;
}

/* ---- true and false in each lane, blocks across lanes ---------------------------------------- */

typedef __m256 mask; /* true or false in each lane */

/* Groups of LANES blocks searched side by side, to fill one group's stalls with another's work. */
enum { SIDE_BY_SIDE = 2, MOST_SIDES = 2 };

static inline vec root(vec a) {
    return _mm256_sqrt_ps(a);
}
static inline vec size_of(vec a) {
    return _mm256_andnot_ps(all(-0.0f), a);
}
static inline vec negative(vec a) {
    return _mm256_xor_ps(all(-0.0f), a);
}
static inline ivec sub_i(ivec a, ivec b) {
    return _mm256_sub_epi32(a, b);
}
static inline ivec add_i(ivec a, ivec b) {
    return _mm256_add_epi32(a, b);
}
static inline ivec shift_left(ivec a, int n) {
    return _mm256_slli_epi32(a, n);
}
static inline ivec shift_right(ivec a, int n) {
    return _mm256_srli_epi32(a, n);
}
/* Rounded towards zero; what does not fit gives INT32_MIN. */
static inline ivec whole_of(vec a) {
    return _mm256_cvttps_epi32(a);
}
/* Rounded to the nearest, halves to even; NaN gives INT32_MIN, as above. */
static inline ivec nearest_of(vec a) {
    return _mm256_cvtps_epi32(a);
}
static inline ivec min_signed(ivec a, ivec b) {
    return _mm256_min_epi32(a, b);
}
static inline vec to_floats(ivec a) {
    return _mm256_cvtepi32_ps(a);
}
static inline mask is_below(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline mask is_at_most(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
static inline mask differs(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}
static inline mask none(void) {
    return _mm256_setzero_ps();
}
static inline mask both(mask a, mask b) {
    return _mm256_and_ps(a, b);
}
static inline mask either(mask a, mask b) {
    return _mm256_or_ps(a, b);
}
/* a, and not b */
static inline mask without(mask a, mask b) {
    return _mm256_andnot_ps(b, a);
}
static inline mask opposite(mask a) {
    return _mm256_xor_ps(a, of_bits(all_i(UINT32_MAX)));
}
static inline uint32_t lanes_of(mask a) {
    return (uint32_t)_mm256_movemask_ps(a);
}
/* One more in the lanes of m. */
static inline ivec count_where(mask m, ivec n) {
    return _mm256_sub_epi32(n, bits_of(m));
}
/* 0 in all other lanes. */
static inline ivec where(mask m, ivec a) {
    return and_i(bits_of(m), a);
}
static inline vec choose(mask m, vec yes, vec no) {
    return _mm256_blendv_ps(no, yes, m);
}

/* Element j of vector i becomes element i of vector j. */
static inline void transpose(vec r[LANES]) {
    vec t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            u[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            u[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}

/* ---- what searches for points need ----------------------------------------------------------- */

static const float counting[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
/* Runs of 4 and of 8 odd numbers, as long as a vector. */
static const float odd_numbers_4[LANES] = {1, 3, 5, 7, 1, 3, 5, 7};
static const float odd_numbers_8[LANES] = {1, 3, 5, 7, 9, 11, 13, 15};

static inline ivec load_i(const uint32_t *p) {
    return _mm256_loadu_si256((const void *)p);
}
static inline ivec load_u16(const uint16_t *p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));
}
/* One of 4 (8) floats in each lane, by the lowest 2 (3) bits of `at`. */
static inline vec lookup4(const float *values, ivec at) {
    return _mm256_permutevar_ps(_mm256_broadcast_ps((const void *)values), at);
}
static inline vec lookup8(const float *values, ivec at) {
    return _mm256_permutevar8x32_ps(load(values), at);
}
/* The least of all lanes, in each. */
static inline vec least_across(vec a) {
    a = min_of(a, _mm256_permute2f128_ps(a, a, 1));
    a = min_of(a, _mm256_permute_ps(a, 0x4e));
    return min_of(a, _mm256_permute_ps(a, 0xb1));
}
static inline float first_of(vec a) {
    return _mm256_cvtss_f32(a);
}

/* a / b but for a part in 2^11, if b is an ordinary number. */
static inline vec divide_roughly(vec a, vec b) {
    return mul(a, _mm256_rcp_ps(b));
}

#endif
