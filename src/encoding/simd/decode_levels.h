/* SPDX-License-Identifier: MIT
 *
 * Decoders of four bit codes for uneven levels (MXFP4, NVFP4, IQ4_NL, IQ4_XS) on the names of
 * decode_lanes.h. */
#ifndef TARE_ENCODING_SIMD_DECODE_LEVELS_H
#define TARE_ENCODING_SIMD_DECODE_LEVELS_H

#include "encoding/levels.h"
#include "encoding/simd/decode_lanes.h"

INLINE void block_mxfp4(float *dst, const uint8_t *block) {
    bytes32 codes = levels_at(sixteen_levels(tare_levels_fp4), load_nibbles(block + 1));
    store_scaled(dst, codes, all(tare_half_of_e8m0(block[0])));
}

INLINE void block_nvfp4(float *dst, const uint8_t *block) {
    float d[4];
    store_halves_of_ue4m3(d, tare_load_le32(block));
    for (int i = 0; i < 2; i++) {
        /* Runs of 16 whose low nibbles are the first 8 elements. */
        bytes32 codes = swap_middle_quarters(load_nibbles(block + 4 + 16 * i));
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
    words8 low = fields_of_word(tare_load_le32(block + 4), 4);
    words8 high = fields_of_word(tare_load_le16(block + 2), 2);
    words8 scales = or_bytes(low, shift_words_up(high, 4));
    scales = sub_words(scales, all_words(32));
    store_8(factors, mul_8(load_half_8(block), floats_of_words(scales)));
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
