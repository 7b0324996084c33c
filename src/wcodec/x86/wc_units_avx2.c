/* SPDX-License-Identifier: MIT
 *
 * Units of regions for AVX2: copies of their fields, and packed scales, four units at a time. */
#include <immintrin.h>
#include <string.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/wc_scales.h"
#include "wcodec/x86/wc_x86.h"

/* ---- fields ---------------------------------------------------------------------------------- */

static ALWAYS_INLINE void copy_field(uint8_t *dst, const uint8_t *src, const size_t width) {
    enum { BYTES = 32 };
    if (width % BYTES) {
        memcpy(dst, src, width);
        return;
    }
    for (size_t i = 0; i < width; i += BYTES)
        _mm256_storeu_si256((__m256i *)(void *)(dst + i),
                            _mm256_loadu_si256((const __m256i *)(const void *)(src + i)));
}

#include "wcodec/simd/wc_copy_units.h"

/* ---- packed scales --------------------------------------------------------------------------- */

enum { AT_ONCE = 4, READ_PAST = 4 };

static ALWAYS_INLINE __m128i load_12(const uint8_t *from) {
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

/* Eight values of each of four units, a byte each. */
static ALWAYS_INLINE __m256i load_values(const uint8_t *from) {
    const __m256i threes = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    __m256i v =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_12(from)), load_12(from + 12), 1);
    v = _mm256_shuffle_epi8(v, threes);
    __m256i first = _mm256_and_si256(v, _mm256_set1_epi32(0x3f));
    __m256i second = _mm256_and_si256(_mm256_slli_epi32(v, 2), _mm256_set1_epi32(0x3f00));
    __m256i third = _mm256_and_si256(_mm256_slli_epi32(v, 4), _mm256_set1_epi32(0x3f0000));
    __m256i fourth = _mm256_and_si256(_mm256_slli_epi32(v, 6), _mm256_set1_epi32(0x3f000000));
    return _mm256_or_si256(_mm256_or_si256(first, second), _mm256_or_si256(third, fourth));
}

/* Of the upper four of eight values the two high bits, above those of the lower four. */
static ALWAYS_INLINE __m256i put_high(__m256i v) {
    __m256i high = _mm256_and_si256(_mm256_srli_epi64(v, 32), _mm256_set1_epi32(0x30303030));
    return _mm256_or_si256(v, _mm256_slli_epi32(high, 2));
}

/* Twelve bytes of two units each, of their first eight and of their last four. */
static ALWAYS_INLINE void store_two(uint8_t *to, __m128i eights, __m128i fours) {
    const uint64_t last[2] = {(uint64_t)_mm_cvtsi128_si64(fours),
                              (uint64_t)_mm_extract_epi64(fours, 1)};
    _mm_storel_epi64((__m128i *)(void *)to, eights);
    memcpy(to + 8, &last[0], 4);
    _mm_storeh_pd((double *)(void *)(to + TARE_WC_SCALES_UNIT), _mm_castsi128_pd(eights));
    memcpy(to + TARE_WC_SCALES_UNIT + 8, &last[1], 4);
}

static ALWAYS_INLINE void pack_four(uint8_t *to, const uint8_t *scales, const uint8_t *minima) {
    const __m256i fours = _mm256_set1_epi32(0x0f0f0f0f);
    __m256i s = load_values(scales), m = load_values(minima);
    __m256i eights = _mm256_blend_epi32(put_high(s), _mm256_slli_epi64(put_high(m), 32), 0xaa);
    s = _mm256_and_si256(_mm256_srli_epi64(s, 32), fours);
    m = _mm256_and_si256(_mm256_srli_epi64(m, 32), fours);
    __m256i rest = _mm256_or_si256(s, _mm256_slli_epi64(m, 4));
    store_two(to, _mm256_castsi256_si128(eights), _mm256_castsi256_si128(rest));
    store_two(to + 2 * TARE_WC_SCALES_UNIT, _mm256_extracti128_si256(eights, 1),
              _mm256_extracti128_si256(rest, 1));
}

static void pack_scales(uint8_t *bytes, uint32_t n) {
    uint8_t group[TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP + READ_PAST];
    for (uint32_t at = 0, units; at < n; at += TARE_WC_SCALES_UNIT * units) {
        uint32_t u = 0;
        units = tare_wc_scales_group_units(n - at);
        const uint8_t *scales = group, *minima = group + TARE_WC_SCALES_EIGHT * units;
        memcpy(group, bytes + at, TARE_WC_SCALES_UNIT * (size_t)units);
        for (; u + AT_ONCE <= units; u += AT_ONCE)
            pack_four(bytes + at + TARE_WC_SCALES_UNIT * u, scales + TARE_WC_SCALES_EIGHT * u,
                      minima + TARE_WC_SCALES_EIGHT * u);
        tare_wc_scales_pack_units(bytes + at + TARE_WC_SCALES_UNIT * u,
                                  scales + TARE_WC_SCALES_EIGHT * u,
                                  minima + TARE_WC_SCALES_EIGHT * u, units - u);
    }
}

void tare_wc_kernels_use_units_avx2(tare_wc_kernels *k) {
    k->copy_units = copy_units;
    k->pack_scales = pack_scales;
}
