/* SPDX-License-Identifier: MIT
 *
 * Blocks of codes of four bits that stand for unevenly spaced levels: MXFP4 and NVFP4 (the E2M1
 * levels under a scale of 8 bits), IQ4_NL and IQ4_XS (16 levels that fit normal weights). In each
 * run the low nibbles are the first half of the elements, as in Q4_0; the MXFP4 of other containers
 * interleaves them. */
#include "encoding/blocks.h"
#include "encoding/levels.h"

/* n elements from n / 2 bytes. */
static inline void levels(float *y, const uint8_t *qs, size_t n, const int8_t *table, float d) {
    for (size_t j = 0; j < n / 2; j++) {
        y[j] = (float)table[qs[j] & 15] * d;
        y[j + n / 2] = (float)table[qs[j] >> 4] * d;
    }
}

static void block_mxfp4(float *y, const uint8_t *block) {
    levels(y, block + 1, 32, tare_levels_fp4, tare_half_of_e8m0(block[0]));
}

static void block_nvfp4(float *y, const uint8_t *block) {
    for (size_t s = 0; s < 4; s++)
        levels(y + s * 16, block + 4 + s * 8, 16, tare_levels_fp4, tare_half_of_ue4m3(block[s]));
}

static void block_iq4_nl(float *y, const uint8_t *block) {
    levels(y, block + 2, 32, tare_levels_iq4, tare_load_f16(block));
}

static void block_iq4_xs(float *y, const uint8_t *block) {
    const uint8_t *scales_l = block + 4, *qs = block + 8;
    uint32_t scales_h = tare_load_le16(block + 2);
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        int low = scales_l[g / 2] >> g % 2 * 4 & 15, high = (int)(scales_h >> 2 * g & 3);
        levels(y + g * 32, qs + g * 16, 32, tare_levels_iq4, d * (float)((low | high << 4) - 32));
    }
}

TARE_DEFINE_DECODE(mxfp4, 32, 17)
TARE_DEFINE_DECODE(nvfp4, 64, 36)
TARE_DEFINE_DECODE(iq4_nl, 32, 18)
TARE_DEFINE_DECODE(iq4_xs, 256, 136)

void tare_kernels_init_microscale(tare_kernels *k) {
    k->decode[TARE_ENCODING_MXFP4] = decode_mxfp4;
    k->decode[TARE_ENCODING_NVFP4] = decode_nvfp4;
    k->decode[TARE_ENCODING_IQ4_NL] = decode_iq4_nl;
    k->decode[TARE_ENCODING_IQ4_XS] = decode_iq4_xs;
}
