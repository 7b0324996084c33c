/* SPDX-License-Identifier: MIT
 *
 * CRC-32 with products of 512 bits. */
#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

typedef __m512i run;
enum { RUN_BYTES = 64, FOLD_STEP = 256 };

static ALWAYS_INLINE run load_run(const uint8_t *bytes) {
    return _mm512_loadu_si512(bytes);
}
static ALWAYS_INLINE void store_run(uint8_t *bytes, run r) {
    _mm512_storeu_si512(bytes, r);
}
static ALWAYS_INLINE run flip_first(run r, uint32_t by) {
    return _mm512_xor_si512(r, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)by)));
}
/* x^(8 * FOLD_STEP + 32) and x^(8 * FOLD_STEP - 32) modulo the polynomial, bits reflected. */
static ALWAYS_INLINE run fold_run(run r, const uint8_t *next) {
    const run by = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
    run low = _mm512_clmulepi64_epi128(r, by, 0x00), high = _mm512_clmulepi64_epi128(r, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, load_run(next), 0x96);
}

#include "wcodec/simd/wc_crc.h"

void tare_wc_kernels_use_crc_vbmi2(tare_wc_kernels *k) {
    k->crc32 = crc32_folded;
}
