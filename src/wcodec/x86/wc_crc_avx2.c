/* SPDX-License-Identifier: MIT
 *
 * CRC-32 with products of 256 bits, for processors without AVX-512 that have them. */
#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

typedef __m256i run;
enum { RUN_BYTES = 32, FOLD_STEP = 256 };

static ALWAYS_INLINE run load_run(const uint8_t *bytes) {
    return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}
static ALWAYS_INLINE void store_run(uint8_t *bytes, run r) {
    _mm256_storeu_si256((__m256i *)(void *)bytes, r);
}
static ALWAYS_INLINE run flip_first(run r, uint32_t by) {
    return _mm256_xor_si256(r, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)by)));
}
/* x^(8 * FOLD_STEP + 32) and x^(8 * FOLD_STEP - 32) modulo the polynomial, bits reflected. */
static ALWAYS_INLINE run fold_run(run r, const uint8_t *next) {
    const run by = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x1322d1430, 0x11542778a));
    run low = _mm256_clmulepi64_epi128(r, by, 0x00), high = _mm256_clmulepi64_epi128(r, by, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(low, high), load_run(next));
}

#include "wcodec/simd/wc_crc.h"

void tare_wc_kernels_use_crc_avx2(tare_wc_kernels *k) {
    k->crc32 = crc32_folded;
}
