/* SPDX-License-Identifier: MIT
 *
 * Runs of words for AVX2: byte order, and the search for NaN and Inf. Both are limited by memory;
 * wider vectors would not be faster. */
#include <immintrin.h>

#include "encoding/scalar.h"
#include "encoding/x86/x86.h"

/* Reorders the bytes of each 16 by `order`; returns how many bytes were done. */
static inline uint64_t shuffle_run(uint8_t *bytes, uint64_t size, __m128i order) {
    __m256i both = _mm256_set_m128i(order, order);
    uint64_t at = 0;
    for (; size - at >= 32; at += 32) {
        __m256i v = _mm256_loadu_si256((const void *)(bytes + at));
        _mm256_storeu_si256((void *)(bytes + at), _mm256_shuffle_epi8(v, both));
    }
    return at;
}

static void swap_u16(uint8_t *bytes, uint64_t n) {
    uint64_t done = shuffle_run(
        bytes, 2 * n, _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    tare_swap_u16_c(bytes + done, n - done / 2);
}

static void swap_u32(uint8_t *bytes, uint64_t n) {
    uint64_t done = shuffle_run(
        bytes, 4 * n, _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    tare_swap_u32_c(bytes + done, n - done / 4);
}

static void swap_u64(uint8_t *bytes, uint64_t n) {
    uint64_t done = shuffle_run(
        bytes, 8 * n, _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    tare_swap_u64_c(bytes + done, n - done / 8);
}

/* Floats whose exponent is all ones are few: a run of 32 that has one is counted by the reference.
 */
static void count_nonfinite(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                            uint64_t position) {
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    uint64_t i = 0;
    for (; n - i >= 32; i += 32) {
        __m256i odd = _mm256_setzero_si256();
        for (int k = 0; k < 32; k += 8) {
            __m256i v = _mm256_loadu_si256((const void *)(src + i + k));
            odd = _mm256_or_si256(odd, _mm256_cmpeq_epi32(_mm256_and_si256(v, exponent), exponent));
        }
        if (__builtin_expect(!_mm256_testz_si256(odd, odd), 0))
            tare_count_nonfinite_c(sum, src + i, 32, position + i);
    }
    tare_count_nonfinite_c(sum, src + i, n - i, position + i);
}

void tare_kernels_use_words_avx2(tare_kernels *k) {
    k->swap_u16 = swap_u16;
    k->swap_u32 = swap_u32;
    k->swap_u64 = swap_u64;
    k->count_nonfinite = count_nonfinite;
}
