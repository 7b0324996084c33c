/* SPDX-License-Identifier: MIT
 *
 * The encoders of MCF's k6, k4, k3 and k2 in vectors, for lanes_avx2.h: its eight lanes are the
 * eight blocks of a super. Wider vectors would need two supers, which not every row has. */
#ifndef TARE_ENCODING_X86_MCF_SUPERS_H
#define TARE_ENCODING_X86_MCF_SUPERS_H

#include "encoding/x86/mcf_lanes.h"

_Static_assert((int)LANES == (int)TARE_MCF_BLOCKS, "a lane for each block of a super");

INLINE bool encode_super_group(const tare_mcf_row *at, size_t b, const float *src, int bits) {
    float scales[LANES], largest = 0;
    vec all_scales;
    if (!scales_of_group(&all_scales, src, bits)) return false;
    store(scales, all_scales);
    for (int i = 0; i < LANES; i++) largest = scales[i] > largest ? scales[i] : largest;
    uint16_t super = tare_f16_of_f32(largest);
    float stored = tare_f32_of_f16(super);
    memcpy(at->supers + b / TARE_MCF_BLOCKS * 2, &super, 2);
    for (int i = 0; i < LANES; i++) {
        uint8_t sub = tare_mcf_sub(scales[i], stored);
        float d = tare_mcf_scale(stored, sub);
        at->scales[b + (size_t)i] = sub;
        fetch_block(src + i * TARE_MCF_BLOCK);
        __m256i codes = codes_of(src + i * TARE_MCF_BLOCK, d, bits);
        store_codes(at->codes + (b + (size_t)i) * 4 * (size_t)bits, codes, bits);
    }
    return true;
}

#define DEFINE_ENCODER(name, bits)                                                                 \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *p) {                                       \
        (void)p;                                                                                   \
        encode_mcf(dst, src, bits, true, encode_super_group, tare_encode_##name##_c);              \
    }
DEFINE_ENCODER(k6, 6)
DEFINE_ENCODER(k4, 4)
DEFINE_ENCODER(k3, 3)
DEFINE_ENCODER(k2, 2)

INLINE void use_mcf_supers(tare_kernels *k) {
    k->encode[TARE_ENCODING_K6] = encode_k6;
    k->encode[TARE_ENCODING_K4] = encode_k4;
    k->encode[TARE_ENCODING_K3] = encode_k3;
    k->encode[TARE_ENCODING_K2] = encode_k2;
}

#endif
