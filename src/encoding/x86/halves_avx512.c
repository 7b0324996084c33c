/* SPDX-License-Identifier: MIT
 *
 * F16 and BF16 to f32 and back, for AVX-512. Masked loads and stores take the last few elements;
 * they touch no byte beyond them. */
#include <immintrin.h>

#include "encoding/scalar.h"
#include "encoding/simd/prefetch.h"
#include "encoding/x86/x86.h"

/* The first n of 16 lanes. */
static inline __mmask16 first_lanes(size_t n) {
    return (__mmask16)(n < 16 ? (1u << n) - 1 : 0xffffu);
}

static void decode_f16(float *dst, const tare_rows *src) {
    const uint8_t *p = src->planes[0];
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = first_lanes(n - i);
        __m256i h = _mm256_maskz_loadu_epi16(lanes, p + 2 * i);
        fetch_ahead(dst + i);
        _mm512_mask_storeu_ps(dst + i, lanes, _mm512_cvtph_ps(h));
    }
}

static void decode_bf16(float *dst, const tare_rows *src) {
    const uint8_t *p = src->planes[0];
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = first_lanes(n - i);
        __m512i h = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p + 2 * i));
        fetch_ahead(dst + i);
        _mm512_mask_storeu_epi32(dst + i, lanes, _mm512_slli_epi32(h, 16));
    }
}

/* The processor keeps the payload of a NaN; ggml and the scalar reference do not. */
static void encode_f16(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    uint8_t *out = dst->planes[0];
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = first_lanes(n - i);
        __m512 x = _mm512_maskz_loadu_ps(lanes, src + i);
        __m256i h = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
        __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        __m256i sign = _mm256_and_si256(h, _mm256_set1_epi16((short)0x8000));
        h = _mm256_mask_mov_epi16(h, is_nan, _mm256_or_si256(sign, _mm256_set1_epi16(0x7e00)));
        _mm256_mask_storeu_epi16(out + 2 * i, lanes, h);
    }
}

static void encode_bf16(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    uint8_t *out = dst->planes[0];
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 lanes = first_lanes(n - i);
        __m512i bits = _mm512_maskz_loadu_epi32(lanes, src + i);
        __m512i upper = _mm512_srli_epi32(bits, 16);
        __m512i is_odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
        __m512i bias = _mm512_add_epi32(is_odd, _mm512_set1_epi32(0x7fff));
        __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
        __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
        __mmask16 is_nan = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(0x7f800000));
        rounded = _mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x40));
        _mm256_mask_storeu_epi16(out + 2 * i, lanes, _mm512_cvtepi32_epi16(rounded));
    }
}

void tare_kernels_use_halves_avx512(tare_kernels *k) {
    k->decode[TARE_ENCODING_F16] = decode_f16;
    k->decode[TARE_ENCODING_BF16] = decode_bf16;
    k->encode[TARE_ENCODING_F16] = encode_f16;
    k->encode[TARE_ENCODING_BF16] = encode_bf16;
}
