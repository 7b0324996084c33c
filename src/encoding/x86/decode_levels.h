/* SPDX-License-Identifier: MIT
 *
 * Decoders of four bit codes for uneven levels (MXFP4, NVFP4, IQ4_NL, IQ4_XS) on the names of
 * decode_lanes.h. */
#ifndef TARE_ENCODING_X86_DECODE_LEVELS_H
#define TARE_ENCODING_X86_DECODE_LEVELS_H

#include "encoding/levels.h"
#include "encoding/x86/decode_lanes.h"

INLINE __m256i sixteen_levels(const int8_t *levels) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)levels));
}

INLINE void block_mxfp4(float *dst, const uint8_t *block) {
    __m256i codes = levels_at(sixteen_levels(tare_levels_fp4), load_nibbles(block + 1));
    store_scaled(dst, codes, all(tare_half_of_e8m0(block[0])));
}

/* tare_half_of_ue4m3 of four bytes: as an f16 such a code is its value over 2^8, and 0x7F, which
 * counts as 0, is 480 there as 0xFF is. */
INLINE __m128 halves_of_ue4m3(uint32_t four) {
    __m128i codes = _mm_cvtsi32_si128((int32_t)four);
    codes = _mm_andnot_si128(_mm_cmpeq_epi8(codes, _mm_set1_epi8(0x7f)), codes);
    __m128i halves =
        _mm_slli_epi16(_mm_cvtepu8_epi16(_mm_and_si128(codes, _mm_set1_epi8(0x7f))), 7);
    return _mm_mul_ps(_mm_cvtph_ps(halves), _mm_set1_ps(0x1p7f));
}

INLINE void block_nvfp4(float *dst, const uint8_t *block) {
    float d[4];
    _mm_storeu_ps(d, halves_of_ue4m3(tare_load_le32(block)));
    for (int i = 0; i < 2; i++) {
        /* Runs of 16 whose low nibbles are the first 8 elements. */
        __m256i codes = _mm256_permute4x64_epi64(load_nibbles(block + 4 + 16 * i), 0xd8);
        store_scaled_halves(dst + 32 * i, levels_at(sixteen_levels(tare_levels_fp4), codes),
                            all(d[2 * i]), all(d[2 * i + 1]));
    }
}

INLINE void block_iq4_nl(float *dst, const uint8_t *block) {
    store_scaled(dst, levels_at(sixteen_levels(tare_levels_iq4), load_nibbles(block + 2)),
                 load_half(block));
}

INLINE void block_iq4_xs(float *dst, const uint8_t *block) {
    float factors[8];
    __m256i low = fields_of_word(tare_load_le32(block + 4), 4);
    __m256i high = fields_of_word(tare_load_le16(block + 2), 2);
    __m256i scales = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
    scales = _mm256_sub_epi32(scales, _mm256_set1_epi32(32));
    _mm256_storeu_ps(factors, _mm256_mul_ps(load_half_8(block), _mm256_cvtepi32_ps(scales)));
    for (int g = 0; g < 8; g++)
        store_scaled(dst + 32 * g,
                     levels_at(sixteen_levels(tare_levels_iq4), load_nibbles(block + 8 + 16 * g)),
                     all(factors[g]));
}

DEFINE_DECODE(mxfp4, 32, 17)
DEFINE_DECODE(nvfp4, 64, 36)
DEFINE_DECODE(iq4_nl, 32, 18)
DEFINE_DECODE(iq4_xs, 256, 136)

INLINE void use_decode_levels(tare_kernels *k) {
    k->decode[TARE_ENCODING_MXFP4] = decode_mxfp4;
    k->decode[TARE_ENCODING_NVFP4] = decode_nvfp4;
    k->decode[TARE_ENCODING_IQ4_NL] = decode_iq4_nl;
    k->decode[TARE_ENCODING_IQ4_XS] = decode_iq4_xs;
}

#endif
