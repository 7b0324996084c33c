/* SPDX-License-Identifier: MIT
 *
 * F16 and BF16 to f32 and back, for AVX2 with F16C. The processor keeps the payload of a NaN where
 * ggml and the scalar reference write 0x7E00 and the sign: groups with a NaN go to the reference.
 */
#include <immintrin.h>

#include "encoding/scalar.h"
#include "encoding/simd/prefetch.h"
#include "encoding/x86/x86.h"

static inline void store_f16(float *dst, const uint8_t *p) {
    _mm256_storeu_ps(dst, _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)));
}
static void decode_f16(float *dst, const tare_rows *src) {
    const uint8_t *p = src->planes[0];
    size_t n = tare_rows_count(src), i = 0;
    for (; n - i >= 16; i += 16) {
        fetch_ahead(dst + i);
        store_f16(dst + i, p + 2 * i);
        store_f16(dst + i + 8, p + 2 * i + 16);
    }
    if (i < n) tare_decode_run(tare_decode_f16_c, dst + i, p + 2 * i, n - i);
}

static inline void store_bf16(float *dst, const uint8_t *p) {
    __m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));
    _mm256_storeu_si256((void *)dst, _mm256_slli_epi32(h, 16));
}
static void decode_bf16(float *dst, const tare_rows *src) {
    const uint8_t *p = src->planes[0];
    size_t n = tare_rows_count(src), i = 0;
    for (; n - i >= 16; i += 16) {
        fetch_ahead(dst + i);
        store_bf16(dst + i, p + 2 * i);
        store_bf16(dst + i + 8, p + 2 * i + 16);
    }
    if (i < n) tare_decode_run(tare_decode_bf16_c, dst + i, p + 2 * i, n - i);
}

static void encode_f16(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    uint8_t *out = dst->planes[0];
    size_t n = tare_rows_mut_count(dst), i = 0;
    for (; n - i >= 16; i += 16) {
        __m256 a = _mm256_loadu_ps(src + i), b = _mm256_loadu_ps(src + i + 8);
        if (__builtin_expect(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)), 0)) {
            tare_encode_run(tare_encode_f16_c, out + 2 * i, src + i, 16);
            continue;
        }
        __m128i low = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
        __m128i high = _mm256_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256((void *)(out + 2 * i), _mm256_set_m128i(high, low));
    }
    if (i < n) tare_encode_run(tare_encode_f16_c, out + 2 * i, src + i, n - i);
}

/* The upper half, rounded; in the low half of each lane. */
static inline __m256i upper_half(__m256i bits) {
    __m256i upper = _mm256_srli_epi32(bits, 16);
    __m256i is_odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i bias = _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7fff));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
    __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    __m256i is_nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));
    return _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), is_nan);
}

static void encode_bf16(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    uint8_t *out = dst->planes[0];
    size_t n = tare_rows_mut_count(dst), i = 0;
    for (; n - i >= 16; i += 16) {
        __m256i low = upper_half(_mm256_loadu_si256((const void *)(src + i)));
        __m256i high = upper_half(_mm256_loadu_si256((const void *)(src + i + 8)));
        __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
        _mm256_storeu_si256((void *)(out + 2 * i), both);
    }
    if (i < n) tare_encode_run(tare_encode_bf16_c, out + 2 * i, src + i, n - i);
}

void tare_kernels_use_halves_avx2(tare_kernels *k) {
    k->decode[TARE_ENCODING_F16] = decode_f16;
    k->decode[TARE_ENCODING_BF16] = decode_bf16;
    k->encode[TARE_ENCODING_F16] = encode_f16;
    k->encode[TARE_ENCODING_BF16] = encode_bf16;
}
