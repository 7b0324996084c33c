/* SPDX-License-Identifier: MIT
 *
 * 32 bytes, or eight integers of 32 bits in their place: what lanes_avx2.h and lanes_avx512.h have
 * in common. Codes of a block are one in each byte before they become floats, and after. */
#ifndef TARE_ENCODING_X86_LANES_BYTES_H
#define TARE_ENCODING_X86_LANES_BYTES_H

#include <immintrin.h>
#include <stdint.h>

#include "base/bytes.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m128i bytes16;
typedef __m256i bytes32;
typedef __m256i words8; /* eight integers; logical operations have the names of bytes */
typedef __m256 floats8;

/* Orders all earlier stores past the caches before later stores. */
INLINE void end_stores_past(void) {
    _mm_sfence();
}

/* ---- memory, halves -------------------------------------------------------------------------- */

INLINE bytes16 load_16(const uint8_t *p) {
    return _mm_loadu_si128((const void *)p);
}
INLINE bytes32 load_32(const uint8_t *p) {
    return _mm256_loadu_si256((const void *)p);
}
INLINE void store_16(uint8_t *p, bytes16 a) {
    _mm_storeu_si128((void *)p, a);
}
INLINE void store_32(uint8_t *p, bytes32 a) {
    _mm256_storeu_si256((void *)p, a);
}
INLINE bytes16 low_half(bytes32 a) {
    return _mm256_castsi256_si128(a);
}
INLINE bytes16 high_half(bytes32 a) {
    return _mm256_extracti128_si256(a, 1);
}
INLINE bytes32 join_halves(bytes16 low, bytes16 high) {
    return _mm256_set_m128i(high, low);
}
INLINE bytes32 twice(bytes16 a) {
    return _mm256_broadcastsi128_si256(a);
}
INLINE bytes32 join_quarters(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_setr_epi64x((int64_t)a, (int64_t)b, (int64_t)c, (int64_t)d);
}
/* The quarters in the order 0, 2, 1, 3. */
INLINE bytes32 swap_middle_quarters(bytes32 a) {
    return _mm256_permute4x64_epi64(a, 0xd8);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

INLINE bytes32 all_bytes(int byte) {
    return _mm256_set1_epi8((char)byte);
}
INLINE bytes32 repeat_quarter(uint64_t eight) {
    return _mm256_set1_epi64x((int64_t)eight);
}
INLINE bytes32 and_bytes(bytes32 a, bytes32 b) {
    return _mm256_and_si256(a, b);
}
INLINE bytes32 or_bytes(bytes32 a, bytes32 b) {
    return _mm256_or_si256(a, b);
}
INLINE bytes32 xor_bytes(bytes32 a, bytes32 b) {
    return _mm256_xor_si256(a, b);
}
INLINE bytes32 add_bytes(bytes32 a, bytes32 b) {
    return _mm256_add_epi8(a, b);
}
INLINE bytes32 sub_bytes(bytes32 a, bytes32 b) {
    return _mm256_sub_epi8(a, b);
}
INLINE bytes32 size_of_bytes(bytes32 a) {
    return _mm256_abs_epi8(a);
}
INLINE bytes32 min_bytes_unsigned(bytes32 a, bytes32 b) {
    return _mm256_min_epu8(a, b);
}
/* -1 in each byte where it is so, else 0. */
INLINE bytes32 greater_bytes(bytes32 a, bytes32 b) {
    return _mm256_cmpgt_epi8(a, b);
}
INLINE bytes32 at_least_bytes_unsigned(bytes32 a, bytes32 b) {
    return _mm256_cmpeq_epi8(_mm256_max_epu8(a, b), a);
}
/* Bit `bit` of each byte, byte 0 lowest. */
INLINE uint32_t bit_of_bytes(bytes32 a, int bit) {
    return (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(a, 7 - bit));
}
/* `width` bits of each byte from bit `from` on, moved to bit `to`. */
INLINE bytes32 field(bytes32 a, int from, int width, int to) {
    a = from < to ? _mm256_slli_epi16(a, to - from) : _mm256_srli_epi16(a, from - to);
    return and_bytes(a, all_bytes(((1 << width) - 1) << to));
}
/* Bytes whose bits stay within them when shifted up. */
INLINE bytes32 shift_bytes_up(bytes32 a, int n) {
    return _mm256_slli_epi16(a, n);
}
/* levels[code], where each 16 bytes of `levels` hold all of them and codes are below 16. */
INLINE bytes32 levels_at(bytes32 levels, bytes32 codes) {
    return _mm256_shuffle_epi8(levels, codes);
}
INLINE bytes32 sixteen_levels(const int8_t *levels) {
    return twice(load_16((const uint8_t *)levels));
}
/* Byte b of a word, in each byte of quarter b. */
INLINE bytes32 spread_word(uint32_t word) {
    const bytes32 from =
        join_quarters(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    return _mm256_shuffle_epi8(_mm256_set1_epi32((int32_t)word), from);
}

/* ---- eight integers -------------------------------------------------------------------------- */

INLINE words8 all_words(uint32_t word) {
    return _mm256_set1_epi32((int32_t)word);
}
INLINE words8 words_of_bytes(const uint8_t p[8]) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}
INLINE words8 words_of_halves(const uint8_t p[16]) {
    return _mm256_cvtepu16_epi32(load_16(p));
}
/* The odd ones of sixteen. */
INLINE words8 load_odd_words(const uint8_t *p) {
    __m256 a = _mm256_castsi256_ps(load_32(p)), b = _mm256_castsi256_ps(load_32(p + 32));
    return swap_middle_quarters(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)));
}
/* The upper 7 bits of 32 integers of 16 bits. */
INLINE bytes32 load_upper_sevens(const uint8_t *p) {
    __m256i a = _mm256_srli_epi16(load_32(p), 9), b = _mm256_srli_epi16(load_32(p + 32), 9);
    return swap_middle_quarters(_mm256_packus_epi16(a, b));
}
INLINE words8 add_words(words8 a, words8 b) {
    return _mm256_add_epi32(a, b);
}
INLINE words8 sub_words(words8 a, words8 b) {
    return _mm256_sub_epi32(a, b);
}
INLINE words8 shift_words_up(words8 a, int n) {
    return _mm256_slli_epi32(a, n);
}
INLINE words8 shift_words_down(words8 a, int n) {
    return _mm256_srli_epi32(a, n);
}
/* Copies of bit 31 come in. */
INLINE words8 shift_words_signed(words8 a, int n) {
    return _mm256_srai_epi32(a, n);
}
/* The low `width` bits of each, `word` shifted down by a number of its own. */
INLINE words8 fields_at(uint32_t word, const int shifts[8], int width) {
    words8 fields = _mm256_srlv_epi32(all_words(word), _mm256_loadu_si256((const void *)shifts));
    return and_bytes(fields, all_words((1u << width) - 1));
}
/* Eight fields of `width` bits, which are all that a word has room for, the lowest first. */
INLINE words8 fields_of_word(uint32_t word, int width) {
    const words8 lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    words8 shifts = _mm256_mullo_epi32(lane, _mm256_set1_epi32(width));
    return and_bytes(_mm256_srlv_epi32(all_words(word), shifts), all_words((1u << width) - 1));
}
/* Integer i from b where bit i of the constant `lanes` is set. */
#define blend_words(a, b, lanes) _mm256_blend_epi32(a, b, lanes)

/* ---- eight floats ---------------------------------------------------------------------------- */

INLINE floats8 all_8(float f) {
    return _mm256_set1_ps(f);
}
/* What a half is, in every lane. */
INLINE floats8 all_half_8(uint16_t half) {
    return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)half));
}
INLINE floats8 load_half_8(const uint8_t *p) {
    return all_half_8(tare_load_le16(p));
}
INLINE floats8 floats_of_words(words8 a) {
    return _mm256_cvtepi32_ps(a);
}
INLINE floats8 add_8(floats8 a, floats8 b) {
    return _mm256_add_ps(a, b);
}
INLINE floats8 mul_8(floats8 a, floats8 b) {
    return _mm256_mul_ps(a, b);
}
INLINE floats8 divide_8(floats8 a, floats8 b) {
    return _mm256_div_ps(a, b);
}
INLINE void store_8(float *p, floats8 a) {
    _mm256_storeu_ps(p, a);
}
INLINE float float_of_half(uint16_t half) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}
/* tare_half_of_ue4m3 of four bytes: as an f16 such a code is its value over 2^8, and 0x7F, which
 * counts as 0, is 480 there as 0xFF is. */
INLINE void store_halves_of_ue4m3(float halves[4], uint32_t four) {
    __m128i codes = _mm_cvtsi32_si128((int32_t)four);
    codes = _mm_andnot_si128(_mm_cmpeq_epi8(codes, _mm_set1_epi8(0x7f)), codes);
    codes = _mm_and_si128(codes, _mm_set1_epi8(0x7f));
    __m128i f16 = _mm_slli_epi16(_mm_cvtepu8_epi16(codes), 7);
    _mm_storeu_ps(halves, _mm_mul_ps(_mm_cvtph_ps(f16), _mm_set1_ps(0x1p7f)));
}

#endif
