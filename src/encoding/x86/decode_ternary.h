/* SPDX-License-Identifier: MIT
 *
 * Decoders of the formats of one or two bits an element (Q1_0, Q2_0, TQ1_0, TQ2_0) on the names of
 * decode_lanes.h. */
#ifndef TARE_ENCODING_X86_DECODE_TERNARY_H
#define TARE_ENCODING_X86_DECODE_TERNARY_H

#include "encoding/x86/decode_lanes.h"

INLINE void block_q1_0(float *dst, const uint8_t *block) {
    vec d = load_half(block);
    for (int g = 0; g < 4; g++) {
        __m256i twos = where_set(tare_load_le32(block + 2 + 4 * g), 2);
        store_scaled(dst + 32 * g, _mm256_sub_epi8(twos, all_bytes(1)), d);
    }
}

/* Code i of a byte lies in its bits 2i and 2i + 1: a copy of the byte keeps these, and those of the
 * upper nibble come down. What that leaves is one of 0, 1, 2, 3, 4, 8, 12. */
INLINE __m256i load_pairs(const uint8_t *p) {
    const __m256i four_times = _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4,
                                                4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    const __m256i kept = _mm256_set1_epi32((int32_t)0xc0300c03);
    const __m256i codes =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0));
    __m256i bytes = _mm256_set1_epi64x((int64_t)tare_load_le64(p));
    bytes = _mm256_and_si256(_mm256_shuffle_epi8(bytes, four_times), kept);
    bytes = _mm256_or_si256(bytes, _mm256_srli_epi16(bytes, 4));
    return _mm256_shuffle_epi8(codes, _mm256_and_si256(bytes, all_bytes(15)));
}

INLINE void block_q2_0(float *dst, const uint8_t *block) {
    vec d = load_half(block);
    for (int g = 0; g < 2; g++) {
        __m256i codes = load_pairs(block + 2 + 8 * g);
        store_scaled(dst + 32 * g, _mm256_sub_epi8(codes, all_bytes(1)), d);
    }
}

INLINE void block_tq2_0(float *dst, const uint8_t *block) {
    vec d = load_half(block + 64);
    for (int g = 0; g < 8; g++) {
        __m256i codes = field(load_32(block + g / 4 * 32), g % 4 * 2, 2, 0);
        store_scaled(dst + 32 * g, _mm256_sub_epi8(codes, all_bytes(1)), d);
    }
}

/* A byte is a fraction of 256 in base 3. Its first digit, minus 1: whether three times the byte
 * reaches 256 and 512. */
INLINE __m256i first_trits(__m256i bytes) {
    __m256i has_one = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all_bytes(86)), bytes);
    __m256i has_two = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all_bytes(171)), bytes);
    return _mm256_sub_epi8(all_bytes(-1), _mm256_add_epi8(has_one, has_two));
}
/* The digits one place up; what overflows is the first. */
INLINE __m256i next_trits(__m256i bytes) {
    return _mm256_add_epi8(_mm256_add_epi8(bytes, bytes), bytes);
}

/* Digit by digit: of 32 bytes, of 16 bytes, of 4 bytes. The fifth digits of the 16 and the four of
 * the 4 make the last 32 elements. */
INLINE void block_tq1_0(float *dst, const uint8_t *block) {
    vec d = load_half(block + 52);
    __m256i bytes = load_32(block);
    for (int i = 0; i < 5; i++, bytes = next_trits(bytes), dst += 32)
        store_scaled(dst, first_trits(bytes), d);
    __m256i sixteen = _mm256_broadcastsi128_si256(load_16(block + 32)), next = next_trits(sixteen);
    for (int i = 0; i < 2; i++, dst += 32) {
        store_scaled(dst, first_trits(_mm256_blend_epi32(sixteen, next, 0xf0)), d);
        sixteen = next_trits(next);
        next = next_trits(sixteen);
    }
    __m256i four = _mm256_set1_epi32((int32_t)tare_load_le32(block + 48));
    four = _mm256_blend_epi32(four, next_trits(four), 0xee);
    four = _mm256_blend_epi32(four, next_trits(four), 0xcc);
    four = _mm256_blend_epi32(four, next_trits(four), 0x88);
    store_scaled(dst, first_trits(_mm256_permute2x128_si256(sixteen, four, 0x20)), d);
}

DEFINE_DECODE(q1_0, 128, 18)
DEFINE_DECODE(q2_0, 64, 18)
DEFINE_DECODE(tq1_0, 256, 54)
DEFINE_DECODE(tq2_0, 256, 66)

INLINE void use_decode_ternary(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q1_0] = decode_q1_0;
    k->decode[TARE_ENCODING_Q2_0] = decode_q2_0;
    k->decode[TARE_ENCODING_TQ1_0] = decode_tq1_0;
    k->decode[TARE_ENCODING_TQ2_0] = decode_tq2_0;
}

#endif
