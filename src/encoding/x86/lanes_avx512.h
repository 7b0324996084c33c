/* SPDX-License-Identifier: MIT
 *
 * A block of 32 floats in vectors of 16 (AVX-512 F, BW, DQ, VL), under the names of lanes_avx2.h.
 */
#ifndef TARE_ENCODING_X86_LANES_AVX512_H
#define TARE_ENCODING_X86_LANES_AVX512_H

#include <stddef.h>

#include "encoding/x86/lanes_bytes.h"
#include "encoding/x86/packed_codes.h"

enum { LANES = 16, VECTORS = 2 };

typedef __m512 vec;
typedef __m512i ivec;

typedef struct block32 {
    vec v[VECTORS];
} block32;

static inline vec all(float f) {
    return _mm512_set1_ps(f);
}
static inline ivec all_i(uint32_t i) {
    return _mm512_set1_epi32((int32_t)i);
}
static inline vec load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void store(float *p, vec a) {
    _mm512_storeu_ps(p, a);
}
/* Past the caches, to a place aligned to the vector; end_stores_past ends a run of them. */
static inline void store_past(float *p, vec a) {
    _mm512_stream_ps(p, a);
}
static inline void store_i(uint32_t *p, ivec a) {
    _mm512_storeu_si512(p, a);
}
static inline ivec bits_of(vec a) {
    return _mm512_castps_si512(a);
}
static inline vec of_bits(ivec a) {
    return _mm512_castsi512_ps(a);
}
static inline vec add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
static inline vec sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
static inline vec mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
static inline vec divide(vec a, vec b) {
    return _mm512_div_ps(a, b);
}
static inline vec min_of(vec a, vec b) {
    return _mm512_min_ps(a, b);
}
static inline vec max_of(vec a, vec b) {
    return _mm512_max_ps(a, b);
}
static inline ivec max_signed(ivec a, ivec b) {
    return _mm512_max_epi32(a, b);
}
static inline ivec max_unsigned(ivec a, ivec b) {
    return _mm512_max_epu32(a, b);
}
static inline ivec and_i(ivec a, ivec b) {
    return _mm512_and_si512(a, b);
}
static inline ivec or_i(ivec a, ivec b) {
    return _mm512_or_si512(a, b);
}
static inline ivec sign_fill(ivec a) {
    return _mm512_srai_epi32(a, 31);
}
static inline ivec if_greater(ivec a, ivec b, ivec yes, ivec no) {
    return _mm512_mask_blend_epi32(_mm512_cmpgt_epi32_mask(a, b), no, yes);
}
static inline ivec if_equal(ivec a, ivec b, ivec yes, ivec no) {
    return _mm512_mask_blend_epi32(_mm512_cmpeq_epi32_mask(a, b), no, yes);
}
static inline uint32_t greater_mask(ivec a, ivec b) {
    return _mm512_cmpgt_epi32_mask(a, b);
}
static inline uint32_t equal_mask(ivec a, ivec b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
static inline uint32_t equal_mask_f(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline uint32_t unordered_mask(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}
static inline vec inverse(vec a) {
    return _mm512_maskz_div_ps(_mm512_cmp_ps_mask(a, all(0), _CMP_NEQ_UQ), all(1), a);
}
static inline void store_halves(uint16_t *p, vec a) {
    _mm256_storeu_si256((void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline vec all_half(uint16_t half) {
    return _mm512_cvtph_ps(_mm256_set1_epi16((int16_t)half));
}
static inline __m256i where_set(uint32_t bits, uint8_t byte) {
    return _mm256_maskz_mov_epi8(bits, _mm256_set1_epi8((char)byte));
}
static inline __m256i negate_where(uint32_t bits, __m256i bytes) {
    return _mm256_mask_sub_epi8(bytes, bits, _mm256_setzero_si256(), bytes);
}

/* Quarters of the vectors first: they come out as blocks 0-3, 8-11, 4-7, 12-15. */
#define DEFINE_ACROSS(name, op)                                                                    \
    static inline vec name(vec r[LANES]) {                                                         \
        for (int i = 0; i < 8; i++)                                                                \
            r[i] = op(_mm512_shuffle_f32x4(r[i], r[i + 8], 0x44),                                  \
                      _mm512_shuffle_f32x4(r[i], r[i + 8], 0xee));                                 \
        for (int i = 0; i < 4; i++)                                                                \
            r[i] = op(_mm512_shuffle_f32x4(r[i], r[i + 4], 0x88),                                  \
                      _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd));                                 \
        for (int step = 2; step > 0; step--)                                                       \
            for (int i = 0; i < step; i++)                                                         \
                r[i] = op(_mm512_unpacklo_ps(r[i], r[i + step]),                                   \
                          _mm512_unpackhi_ps(r[i], r[i + step]));                                  \
        return _mm512_shuffle_f32x4(r[0], r[0], 0xd8);                                             \
    }

static inline __m256i bytes_of(const ivec i[VECTORS]) {
    return _mm256_set_m128i(_mm512_cvtepi32_epi8(i[1]), _mm512_cvtepi32_epi8(i[0]));
}

static inline __m256i low_bytes(const block32 *b) {
    ivec i[VECTORS] = {_mm512_cvttps_epi32(b->v[0]), _mm512_cvttps_epi32(b->v[1])};
    return bytes_of(i);
}

static inline __m128i nibbles(const block32 *b) {
    ivec byte = all_i(0xff), most = all_i(15);
    ivec low = _mm512_min_epi32(and_i(_mm512_cvttps_epi32(b->v[0]), byte), most);
    ivec high = _mm512_min_epi32(and_i(_mm512_cvttps_epi32(b->v[1]), byte), most);
    return _mm512_cvtepi32_epi8(or_i(low, _mm512_slli_epi32(high, 4)));
}

static inline block32 floats_of(__m256i bytes) {
    block32 b;
    b.v[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(bytes)));
    b.v[1] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, 1)));
    return b;
}

typedef struct ints32 {
    ivec v[VECTORS];
} ints32;

static inline ints32 ints_of(__m256i bytes) {
    ints32 b;
    b.v[0] = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(bytes));
    b.v[1] = _mm512_cvtepu8_epi32(_mm256_extracti128_si256(bytes, 1));
    return b;
}

/* ---- true and false in each lane, blocks across lanes ---------------------------------------- */

typedef __mmask16 mask;

enum { SIDE_BY_SIDE = 2, MOST_SIDES = 4 };

static inline vec root(vec a) {
    return _mm512_sqrt_ps(a);
}
static inline vec size_of(vec a) {
    return _mm512_andnot_ps(all(-0.0f), a);
}
static inline vec negative(vec a) {
    return _mm512_xor_ps(all(-0.0f), a);
}
static inline ivec sub_i(ivec a, ivec b) {
    return _mm512_sub_epi32(a, b);
}
static inline ivec add_i(ivec a, ivec b) {
    return _mm512_add_epi32(a, b);
}
static inline ivec shift_left(ivec a, int n) {
    return _mm512_slli_epi32(a, (unsigned)n);
}
static inline ivec shift_right(ivec a, int n) {
    return _mm512_srli_epi32(a, (unsigned)n);
}
static inline ivec whole_of(vec a) {
    return _mm512_cvttps_epi32(a);
}
static inline ivec nearest_of(vec a) {
    return _mm512_cvtps_epi32(a);
}
static inline ivec min_signed(ivec a, ivec b) {
    return _mm512_min_epi32(a, b);
}
static inline vec to_floats(ivec a) {
    return _mm512_cvtepi32_ps(a);
}
static inline mask is_below(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline mask is_at_most(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
static inline mask differs(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}
static inline mask none(void) {
    return 0;
}
static inline mask both(mask a, mask b) {
    return a & b;
}
static inline mask either(mask a, mask b) {
    return a | b;
}
static inline mask without(mask a, mask b) {
    return (mask)(a & ~b);
}
static inline mask opposite(mask a) {
    return (mask)~a;
}
static inline uint32_t lanes_of(mask a) {
    return a;
}
static inline ivec count_where(mask m, ivec n) {
    return _mm512_mask_add_epi32(n, m, n, all_i(1));
}
static inline ivec where(mask m, ivec a) {
    return _mm512_maskz_mov_epi32(m, a);
}
static inline vec choose(mask m, vec yes, vec no) {
    return _mm512_mask_blend_ps(m, no, yes);
}

static inline void transpose(vec r[LANES]) {
    vec t[16], u[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            u[i + 2 * k] = _mm512_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            u[i + 2 * k + 1] = _mm512_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        vec a = _mm512_shuffle_f32x4(u[i], u[i + 4], 0x88);
        vec b = _mm512_shuffle_f32x4(u[i + 8], u[i + 12], 0x88);
        vec c = _mm512_shuffle_f32x4(u[i], u[i + 4], 0xdd);
        vec d = _mm512_shuffle_f32x4(u[i + 8], u[i + 12], 0xdd);
        r[i] = _mm512_shuffle_f32x4(a, b, 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
}

/* ---- what searches for points need ----------------------------------------------------------- */

static const float counting[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float odd_numbers_4[LANES] = {1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7};
static const float odd_numbers_8[LANES] = {1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15};

static inline ivec load_i(const uint32_t *p) {
    return _mm512_loadu_si512(p);
}
static inline ivec load_u16(const uint16_t *p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
}
static inline vec lookup4(const float *values, ivec at) {
    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(values)), at);
}
static inline vec lookup8(const float *values, ivec at) {
    return _mm512_permutexvar_ps(at, _mm512_broadcast_f32x8(_mm256_loadu_ps(values)));
}
static inline vec least_across(vec a) {
    a = min_of(a, _mm512_shuffle_f32x4(a, a, 0x4e));
    a = min_of(a, _mm512_shuffle_f32x4(a, a, 0xb1));
    a = min_of(a, _mm512_permute_ps(a, 0x4e));
    return min_of(a, _mm512_permute_ps(a, 0xb1));
}
static inline float first_of(vec a) {
    return _mm512_cvtss_f32(a);
}

static inline vec divide_roughly(vec a, vec b) {
    return mul(a, _mm512_rcp14_ps(b));
}

#endif
