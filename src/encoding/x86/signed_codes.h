/* SPDX-License-Identifier: MIT
 *
 * 32 signed codes of 8, 6, 4, 3 or 2 bits, packed from the lowest bit up, to one in each byte and
 * back. But for nibbles they are eight runs of four codes each: the bits of a run are brought into
 * an integer of 32 bits and spread over its bytes, or the other way round. And how quotients become
 * codes. */
#ifndef TARE_ENCODING_X86_SIGNED_CODES_H
#define TARE_ENCODING_X86_SIGNED_CODES_H

#include <string.h>

#include "encoding/simd/groups.h"

/* Four codes of `bits` bits in each integer, lowest first, to one in each byte. */
INLINE __m256i spread(__m256i runs, int bits) {
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
INLINE __m256i gather(__m256i codes, int bits) {
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

/* Nibbles, the first of a byte in its low half. */
INLINE __m256i load_nibble_pairs(const uint8_t *p) {
    const __m128i nibble = _mm_set1_epi8(15);
    __m128i bytes = _mm_loadu_si128((const void *)p);
    __m128i low = _mm_and_si128(bytes, nibble);
    __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
    return _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
}
INLINE void store_nibble_pairs(uint8_t *p, __m256i nibbles) {
    __m256i words = _mm256_maddubs_epi16(nibbles, _mm256_set1_epi16(1 | 16 << 8));
    __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128((void *)p, _mm_packus_epi16(low, high));
}

/* The 32 codes of a block, still without sign. */
INLINE __m256i load_codes(const uint8_t *p, int bits) {
    switch (bits) {
    case 8:
        return _mm256_loadu_si256((const void *)p);
    case 6:
        return spread(load_runs24(p), 6);
    case 4:
        return load_nibble_pairs(p);
    case 3:
        return spread(load_runs12(p), 3);
    default:
        return spread(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)), 2);
    }
}
INLINE __m256i with_sign(__m256i codes, int bits) {
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
/* The low byte of each integer, one behind the other. */
INLINE void store_runs8(uint8_t *p, __m256i runs) {
    const __m256i at =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i low = _mm256_shuffle_epi8(runs, at);
    uint64_t first = (uint64_t)_mm256_extract_epi64(low, 0);
    uint64_t second = (uint64_t)_mm256_extract_epi64(low, 2);
    memcpy(p, &first, 4);
    memcpy(p + 4, &second, 4);
}

/* The reverse of load_codes; codes have their sign. */
INLINE void store_codes(uint8_t *p, __m256i codes, int bits) {
    if (bits == 8) {
        _mm256_storeu_si256((void *)p, codes);
        return;
    }
    codes = _mm256_and_si256(codes, _mm256_set1_epi8((char)((1 << bits) - 1)));
    if (bits == 6)
        store_runs24(p, gather(codes, bits));
    else if (bits == 4)
        store_nibble_pairs(p, codes);
    else if (bits == 3)
        store_runs12(p, gather(codes, bits));
    else
        store_runs8(p, gather(codes, bits));
}

/* Whole numbers, half away from zero: the float below one half, with the sign of the number, is
 * added and the sum cut off. */
INLINE ivec rounded_away(vec t) {
    const ivec sign = all_i(TARE_F32_SIGN), below_half = all_i(UINT32_C(0x3effffff));
    return whole_of(add(t, of_bits(or_i(and_i(bits_of(t), sign), below_half))));
}

#endif
