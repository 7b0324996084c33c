/* SPDX-License-Identifier: MIT
 *
 * Formats of one or two bits an element under one f16 factor: Q1_0 (two levels), Q2_0 (four), TQ1_0
 * and TQ2_0 (three). */
#include "encoding/blocks.h"

/* Bit j: plus or minus d. */
static void block_q1_0(float *y, const uint8_t *block) {
    float d = tare_load_f16(block);
    for (size_t e = 0; e < 128; e++) y[e] = block[2 + e / 8] >> e % 8 & 1 ? d : -d;
}

/* Levels -1, 0, 1 and 2. */
static void block_q2_0(float *y, const uint8_t *block) {
    float d = tare_load_f16(block);
    for (size_t e = 0; e < 64; e++) y[e] = (float)((block[2 + e / 4] >> e % 4 * 2 & 3) - 1) * d;
}

/* Digit n of a byte that is a fraction of 256 in base 3: shifted up by n digits (what overflows
 * are digits already read), times 3, the whole part. */
static inline int trit(uint8_t byte, size_t n) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * power[n]) * 3 >> 8;
}

/* `width` bytes with `digits` digits each: digit 0 of all bytes, then digit 1, ... */
static inline float *trits(float *y, const uint8_t *qs, size_t width, size_t digits, float d) {
    for (size_t n = 0; n < digits; n++)
        for (size_t j = 0; j < width; j++) *y++ = (float)(trit(qs[j], n) - 1) * d;
    return y;
}

static void block_tq1_0(float *y, const uint8_t *block) {
    float d = tare_load_f16(block + 52);
    y = trits(y, block, 32, 5, d);
    y = trits(y, block + 32, 16, 5, d);
    trits(y, block + 48, 4, 4, d);
}

static void block_tq2_0(float *y, const uint8_t *block) {
    float d = tare_load_f16(block + 64);
    for (size_t e = 0; e < 256; e++) {
        int code = block[e / 128 * 32 + e % 32] >> e % 128 / 32 * 2 & 3;
        y[e] = (float)(code - 1) * d;
    }
}

TARE_DEFINE_DECODE(q1_0, 128, 18)
TARE_DEFINE_DECODE(q2_0, 64, 18)
TARE_DEFINE_DECODE(tq1_0, 256, 54)
TARE_DEFINE_DECODE(tq2_0, 256, 66)

void tare_kernels_init_ternary(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q1_0] = decode_q1_0;
    k->decode[TARE_ENCODING_Q2_0] = decode_q2_0;
    k->decode[TARE_ENCODING_TQ1_0] = decode_tq1_0;
    k->decode[TARE_ENCODING_TQ2_0] = decode_tq2_0;
}
