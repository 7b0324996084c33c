/* SPDX-License-Identifier: MIT
 *
 * Blocks of codes of four bits that stand for unevenly spaced levels: MXFP4 and NVFP4 (the E2M1
 * levels under a scale of 8 bits), IQ4_NL and IQ4_XS (16 levels that fit normal weights). In each
 * run the low nibbles are the first half of the elements, as in Q4_0; the MXFP4 of other containers
 * interleaves them. */
#include "encoding/blocks.h"

/* The E2M1 levels doubled, so that they are whole. */
static const int8_t e2m1_levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* n elements from n / 2 bytes. */
static inline void levels(float *y, const uint8_t *qs, size_t n, const int8_t *table, float d) {
    for (size_t j = 0; j < n / 2; j++) {
        y[j] = (float)table[qs[j] & 15] * d;
        y[j + n / 2] = (float)table[qs[j] >> 4] * d;
    }
}

/* 2^(code - 128): half of what the code says, because the levels are doubled. 255 is no number in
 * E8M0, but ggml reads it like the others. */
static inline float half_of_e8m0(uint8_t code) {
    return tare_f32_of_bits(code < 2 ? UINT32_C(0x00200000) << code : (uint32_t)(code - 1) << 23);
}

static void block_mxfp4(float *y, const uint8_t *block) {
    levels(y, block + 1, 32, e2m1_levels, half_of_e8m0(block[0]));
}

/* Half of an unsigned E4M3, whose bit 7 ggml passes over: 0x7F counts as 0, but 0xFF as 480. */
static inline float half_of_ue4m3(uint8_t code) {
    uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f) return 0;
    if (exponent == 0) return (float)mantissa * 0x1p-10f;
    return tare_f32_of_bits((exponent + 127 - 7 - 1) << 23 | mantissa << 20);
}

static void block_nvfp4(float *y, const uint8_t *block) {
    for (size_t s = 0; s < 4; s++)
        levels(y + s * 16, block + 4 + s * 8, 16, e2m1_levels, half_of_ue4m3(block[s]));
}

static void block_iq4_nl(float *y, const uint8_t *block) {
    levels(y, block + 2, 32, iq4_levels, tare_load_f16(block));
}

static void block_iq4_xs(float *y, const uint8_t *block) {
    const uint8_t *scales_l = block + 4, *qs = block + 8;
    uint32_t scales_h = tare_load_le16(block + 2);
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        int low = scales_l[g / 2] >> g % 2 * 4 & 15, high = (int)(scales_h >> 2 * g & 3);
        levels(y + g * 32, qs + g * 16, 32, iq4_levels, d * (float)((low | high << 4) - 32));
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
