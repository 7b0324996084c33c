/* SPDX-License-Identifier: MIT
 *
 * 32 codes as formats pack them, to one in each byte and back. Codes of 8, 6, 4, 3 or 2 bits that
 * are packed from the lowest bit up are, but for nibbles, eight runs of four codes each: the bits
 * of a run are brought into an integer of 32 bits and spread over its bytes, or the other way
 * round. */
#ifndef TARE_ENCODING_X86_PACKED_CODES_H
#define TARE_ENCODING_X86_PACKED_CODES_H

#include <string.h>

#include "encoding/x86/lanes_bytes.h"

/* ---- nibbles and pairs of bits --------------------------------------------------------------- */

/* 32 codes of four bits: the low ones of 16 bytes, then the high ones. */
INLINE bytes32 load_nibbles(const uint8_t *p) {
    bytes16 qs = load_16(p);
    return and_bytes(join_halves(qs, _mm_srli_epi16(qs, 4)), all_bytes(15));
}
/* The reverse, of the low four bits of each code. */
INLINE void store_nibbles(uint8_t *dst, bytes32 codes) {
    bytes16 nibble = _mm_set1_epi8(15), low = low_half(codes), high = high_half(codes);
    high = _mm_slli_epi16(_mm_and_si128(high, nibble), 4);
    store_16(dst, _mm_or_si128(_mm_and_si128(low, nibble), high));
}
/* Codes below 16, the first eight of each 16 in the low nibbles, the others in the high ones. */
INLINE void store_nibbles_of_16(uint8_t *dst, bytes32 codes) {
    codes = or_bytes(codes, _mm256_slli_epi16(_mm256_srli_si256(codes, 8), 4));
    store_16(dst, low_half(_mm256_permute4x64_epi64(codes, 0x08)));
}
/* Nibbles, the first of a byte in its low half. */
INLINE bytes32 load_nibble_pairs(const uint8_t *p) {
    bytes16 qs = load_16(p), nibble = _mm_set1_epi8(15);
    bytes16 low = _mm_and_si128(qs, nibble), high = _mm_and_si128(_mm_srli_epi16(qs, 4), nibble);
    return join_halves(_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high));
}
INLINE void store_nibble_pairs(uint8_t *p, bytes32 nibbles) {
    __m256i words = _mm256_maddubs_epi16(nibbles, _mm256_set1_epi16(1 | 16 << 8));
    store_16(p, _mm_packus_epi16(low_half(words), high_half(words)));
}

/* Code i of a byte lies in its bits 2i and 2i + 1: a copy of the byte keeps these, and those of the
 * upper nibble come down. What that leaves is one of 0, 1, 2, 3, 4, 8, 12. */
INLINE bytes32 load_pairs(const uint8_t *p) {
    const bytes32 four_times = _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4,
                                                4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    const bytes32 kept = all_words(0xc0300c03);
    const bytes32 codes = twice(_mm_setr_epi8(0, 1, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0));
    bytes32 bytes = repeat_quarter(tare_load_le64(p));
    bytes = and_bytes(_mm256_shuffle_epi8(bytes, four_times), kept);
    bytes = or_bytes(bytes, _mm256_srli_epi16(bytes, 4));
    return levels_at(codes, and_bytes(bytes, all_bytes(15)));
}

/* Sixteen factors of 6 bits in 12 bytes, as Q3_K has them: the low nibbles of factors i and i + 8
 * share byte i, the upper two bits of i, i + 4, i + 8, i + 12 share byte 8 + i. */
INLINE bytes16 load_q3_k_scales(const uint8_t *p) {
    bytes16 low = _mm_loadl_epi64((const void *)p);
    low = _mm_and_si128(_mm_unpacklo_epi64(low, _mm_srli_epi16(low, 4)), _mm_set1_epi8(15));
    bytes16 high = _mm_set1_epi32((int32_t)tare_load_le32(p + 8));
    high = _mm_and_si128(_mm_srlv_epi32(high, _mm_setr_epi32(0, 2, 4, 6)), _mm_set1_epi8(3));
    return _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8(32));
}

/* ---- runs of four codes ---------------------------------------------------------------------- */

/* Four codes of `bits` bits in each integer, lowest first, to one in each byte. */
INLINE bytes32 spread_runs(words8 runs, int bits) {
    const int ones = (1 << bits) - 1;
    __m256i out = _mm256_and_si256(runs, _mm256_set1_epi32(ones));
    for (int i = 1; i < 4; i++) {
        __m256i moved = _mm256_slli_epi32(runs, i * (8 - bits));
        out = _mm256_or_si256(
            out, _mm256_and_si256(moved, _mm256_set1_epi32((int)((unsigned)ones << 8 * i))));
    }
    return out;
}
/* One code in each byte to four codes in each integer: `bits` bits are set in each byte at most. */
INLINE words8 gather_runs(bytes32 codes, int bits) {
    const __m256i pair = _mm256_set1_epi16((short)(1 | 1 << (8 + bits)));
    const __m256i four = _mm256_set1_epi32(1 | 1 << (16 + 2 * bits));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(codes, pair), four);
}

/* Runs of 24 bits (6-bit codes): three bytes each. No more than the block's 24 bytes are read. */
INLINE __m256i load_runs24(const uint8_t *p) {
    const __m256i at = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 4, 5,
                                        6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    __m128i low = _mm_loadu_si128((const void *)p);
    __m128i high = _mm_loadu_si128((const void *)(p + 8));
    return _mm256_shuffle_epi8(_mm256_set_m128i(high, low), at);
}
/* Runs of 12 bits (3-bit codes): of two neighbours in three bytes the second begins in the middle.
 */
INLINE __m256i load_runs12(const uint8_t *p) {
    const __m256i at = _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1, 6,
                                        7, -1, -1, 7, 8, -1, -1, 9, 10, -1, -1, 10, 11, -1, -1);
    const __m256i shifts = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);
    uint64_t low;
    uint32_t high;
    memcpy(&low, p, 8);
    memcpy(&high, p + 8, 4);
    __m128i bytes = _mm_set_epi64x((int64_t)high, (int64_t)low);
    return _mm256_srlv_epi32(_mm256_shuffle_epi8(_mm256_set_m128i(bytes, bytes), at), shifts);
}

/* The 32 codes of a block, still without sign. */
INLINE bytes32 load_packed(const uint8_t *p, int bits) {
    switch (bits) {
    case 8:
        return load_32(p);
    case 6:
        return spread_runs(load_runs24(p), 6);
    case 4:
        return load_nibble_pairs(p);
    case 3:
        return spread_runs(load_runs12(p), 3);
    default:
        return load_pairs(p);
    }
}
INLINE bytes32 sign_extend(bytes32 codes, int bits) {
    if (bits == 8) return codes;
    const __m256i sign = _mm256_set1_epi8((char)(1 << (bits - 1)));
    return _mm256_sub_epi8(_mm256_xor_si256(codes, sign), sign);
}

INLINE void store_runs24(uint8_t *p, __m256i runs) {
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0,
                                        1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    uint8_t bytes[32];
    _mm256_storeu_si256((void *)bytes, _mm256_shuffle_epi8(runs, at));
    memcpy(p, bytes, 12);
    memcpy(p + 12, bytes + 16, 12);
}
INLINE void store_runs12(uint8_t *p, __m256i runs) {
    /* Two runs in the low 24 bits of each 64. */
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                        0, 1, 2, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    uint8_t bytes[32];
    __m256i joined = _mm256_or_si256(runs, _mm256_srli_epi64(runs, 20));
    _mm256_storeu_si256((void *)bytes, _mm256_shuffle_epi8(joined, at));
    memcpy(p, bytes, 6);
    memcpy(p + 6, bytes + 16, 6);
}
/* Integers below 256, a byte each. */
INLINE void store_runs8(uint8_t *p, words8 runs) {
    __m256i bytes = _mm256_packus_epi32(runs, runs);
    bytes = _mm256_packus_epi16(bytes, bytes);
    _mm_storel_epi64((void *)p, _mm_unpacklo_epi32(low_half(bytes), high_half(bytes)));
}

/* The reverse of load_packed; codes have their sign. */
INLINE void store_packed(uint8_t *p, bytes32 codes, int bits) {
    if (bits == 8) {
        store_32(p, codes);
        return;
    }
    codes = _mm256_and_si256(codes, _mm256_set1_epi8((char)((1 << bits) - 1)));
    if (bits == 6)
        store_runs24(p, gather_runs(codes, bits));
    else if (bits == 4)
        store_nibble_pairs(p, codes);
    else if (bits == 3)
        store_runs12(p, gather_runs(codes, bits));
    else
        store_runs8(p, gather_runs(codes, bits));
}

#endif
