/* SPDX-License-Identifier: MIT
 *
 * What the decoders of block formats share: 32 codes at a time become signed bytes, in the order of
 * their elements, and bytes become floats under one scale or two. Written on the names of
 * lanes_avx2.h or lanes_avx512.h, which the including file chooses.
 *
 * Small factors of sub-blocks are scaled in the same way, a super-block's at once, and wait in
 * memory until their elements come. Every float is the result of the operations of the scalar
 * reference in their order; an offset that is subtracted there is added here with the other sign,
 * which is the same. */
#ifndef TARE_ENCODING_X86_DECODE_LANES_H
#define TARE_ENCODING_X86_DECODE_LANES_H

#include <string.h>

#include "base/bytes.h"
#include "encoding/scalar.h"
#include "encoding/simd/prefetch.h"

#define INLINE static inline __attribute__((always_inline))

typedef void (*decode_block_fn)(float *dst, const uint8_t *block);

INLINE void decode_blocks(float *dst, const tare_rows *src, size_t block, size_t block_bytes,
                          decode_block_fn decode) {
    const uint8_t *p = src->planes[0];
    for (size_t n = tare_rows_count(src) / block; n > 0; n--, p += block_bytes, dst += block)
        decode(dst, p);
}

/* decode_NAME for the table of kernels, from block_NAME. */
#define DEFINE_DECODE(name, block, block_bytes)                                                    \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_blocks(dst, src, block, block_bytes, block_##name);                                 \
    }

/* ---- bytes of blocks ------------------------------------------------------------------------- */

INLINE vec load_half(const uint8_t *p) {
    return all_half(tare_load_le16(p));
}
/* The same in vectors of 8, which factors of sub-blocks are computed in under both names. */
INLINE __m256 all_half_8(uint16_t half) {
    return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)half));
}
INLINE __m256 load_half_8(const uint8_t *p) {
    return all_half_8(tare_load_le16(p));
}
INLINE __m128i load_16(const uint8_t *p) {
    return _mm_loadu_si128((const void *)p);
}
INLINE __m256i load_32(const uint8_t *p) {
    return _mm256_loadu_si256((const void *)p);
}
INLINE __m256i all_bytes(int byte) {
    return _mm256_set1_epi8((char)byte);
}

/* `width` bits of each byte from bit `from` on, moved to bit `to`. */
INLINE __m256i field(__m256i bytes, int from, int width, int to) {
    bytes = from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
    return _mm256_and_si256(bytes, all_bytes(((1 << width) - 1) << to));
}

/* 32 codes of four bits: the low ones of 16 bytes, then the high ones. */
INLINE __m256i load_nibbles(const uint8_t *p) {
    __m128i qs = load_16(p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(qs, 4), qs), all_bytes(15));
}

/* Eight fields of `width` bits, which are all that a word has room for, the lowest first. */
INLINE __m256i fields_of_word(uint32_t word, int width) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i shifts = _mm256_mullo_epi32(lane, _mm256_set1_epi32(width));
    __m256i fields = _mm256_srlv_epi32(_mm256_set1_epi32((int32_t)word), shifts);
    return _mm256_and_si256(fields, _mm256_set1_epi32((1 << width) - 1));
}

/* levels[code], where each 16 bytes of `levels` hold all of them. */
INLINE __m256i levels_at(__m256i levels, __m256i codes) {
    return _mm256_shuffle_epi8(levels, codes);
}

/* What waits in memory is to be read from there: compilers that keep it in vectors take these apart
 * element by element, which is slower. */
INLINE void leave_in_memory(const void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* ---- from bytes to floats -------------------------------------------------------------------- */

/* Vector i of a result. */
INLINE void put(float *dst, int i, vec a) {
    if (i * LANES % 16 == 0) fetch_ahead(dst + i * LANES);
    store(dst + i * LANES, a);
}

/* The first 16 elements under one scale, the others under another. */
INLINE void store_scaled_halves(float *dst, __m256i codes, vec d0, vec d1) {
    block32 x = floats_of(codes);
    for (int i = 0; i < VECTORS; i++) put(dst, i, mul(x.v[i], i < VECTORS / 2 ? d0 : d1));
}
INLINE void store_scaled(float *dst, __m256i codes, vec d) {
    store_scaled_halves(dst, codes, d, d);
}

/* The same, and an offset added. */
INLINE void store_moved_halves(float *dst, __m256i codes, vec d0, vec d1, vec m0, vec m1) {
    block32 x = floats_of(codes);
    for (int i = 0; i < VECTORS; i++) {
        bool is_first = i < VECTORS / 2;
        put(dst, i, add(mul(x.v[i], is_first ? d0 : d1), is_first ? m0 : m1));
    }
}
INLINE void store_moved(float *dst, __m256i codes, vec d, vec m) {
    store_moved_halves(dst, codes, d, d, m, m);
}

#endif
