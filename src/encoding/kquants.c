/* SPDX-License-Identifier: MIT
 *
 * ggml's k-quants: superblocks of 256 elements with f16 factors and small integer factors (and
 * offsets) for each 16 or 32 of them. Codes of 2 bits lie in planes of 32 bytes, four to a byte;
 * those of 4 bits in runs of 32 bytes, low nibbles before high ones. Q8_K is an intermediate of
 * ggml's matrix products. Products are computed in ggml's order, so the floats are the same. */
#include "encoding/blocks.h"

/* Code of two bits of element e. */
static inline int two_bits(const uint8_t *qs, size_t e) {
    return qs[e / 128 * 32 + e % 32] >> e % 128 / 32 * 2 & 3;
}

static void block_q2_k(float *y, const uint8_t *block) {
    const uint8_t *scales = block, *qs = block + 16;
    float d = tare_load_f16(block + 80), min = tare_load_f16(block + 82);
    for (size_t e = 0; e < 256; e++) {
        uint8_t s = scales[e / 16];
        y[e] = d * (float)(s & 15) * (float)two_bits(qs, e) - min * (float)(s >> 4);
    }
}

/* Sixteen factors of 6 bits in 12 bytes: the low nibbles of factors i and i + 8 share byte i, the
 * upper two bits of i, i + 4, i + 8, i + 12 share byte 8 + i. */
static inline int q3_k_scale(const uint8_t *scales, size_t i) {
    int low = i < 8 ? scales[i] & 15 : scales[i - 8] >> 4;
    int high = scales[8 + i % 4] >> i / 4 * 2 & 3;
    return (low | high << 4) - 32;
}

static void block_q3_k(float *y, const uint8_t *block) {
    const uint8_t *hmask = block, *qs = block + 32, *scales = block + 96;
    float d = tare_load_f16(block + 108);
    for (size_t e = 0; e < 256; e++) {
        int high = hmask[e % 32] >> e / 32 & 1; /* not set: minus 4 */
        y[e] = d * (float)q3_k_scale(scales, e / 16) * (float)(two_bits(qs, e) - (high ? 0 : 4));
    }
}

/* Eight pairs of a factor and an offset of 6 bits in 12 bytes. */
static inline void q4_k_pair(float *scale, float *min, const uint8_t *p, size_t i) {
    if (i < 4) {
        *scale = (float)(p[i] & 63);
        *min = (float)(p[i + 4] & 63);
    } else {
        *scale = (float)((p[i + 4] & 15) | p[i - 4] >> 6 << 4);
        *min = (float)(p[i + 4] >> 4 | p[i] >> 6 << 4);
    }
}

/* Code of four bits of element e. */
static inline int four_bits(const uint8_t *qs, size_t e) {
    return qs[e / 64 * 32 + e % 32] >> e % 64 / 32 * 4 & 15;
}

static void block_q4_k(float *y, const uint8_t *block) {
    const uint8_t *scales = block + 4, *qs = block + 16;
    float d = tare_load_f16(block), dmin = tare_load_f16(block + 2), scale, min;
    for (size_t g = 0; g < 8; g++) {
        q4_k_pair(&scale, &min, scales, g);
        float factor = d * scale, offset = dmin * min;
        for (size_t e = g * 32; e < g * 32 + 32; e++)
            y[e] = factor * (float)four_bits(qs, e) - offset;
    }
}

static void block_q5_k(float *y, const uint8_t *block) {
    const uint8_t *scales = block + 4, *qh = block + 16, *qs = block + 48;
    float d = tare_load_f16(block), dmin = tare_load_f16(block + 2), scale, min;
    for (size_t g = 0; g < 8; g++) {
        q4_k_pair(&scale, &min, scales, g);
        float factor = d * scale, offset = dmin * min;
        for (size_t e = g * 32; e < g * 32 + 32; e++)
            y[e] = factor * (float)(four_bits(qs, e) + (qh[e % 32] >> g & 1) * 16) - offset;
    }
}

/* Of each half of 128, elements 0..63 have low nibbles and 64..127 the high ones of 64 bytes. */
static void block_q6_k(float *y, const uint8_t *block) {
    const uint8_t *ql = block, *qh = block + 128, *scales = block + 192;
    float d = tare_load_f16(block + 208);
    for (size_t e = 0; e < 256; e++) {
        size_t half = e / 128, at = e % 128;
        int low = ql[half * 64 + at % 64] >> at / 64 * 4 & 15;
        int high = qh[half * 32 + at % 32] >> at / 32 * 2 & 3;
        y[e] = d * (float)(int8_t)scales[e / 16] * (float)((low | high << 4) - 32);
    }
}

static void block_q8_k(float *y, const uint8_t *block) {
    float d = tare_f32_of_bits(tare_load_le32(block));
    for (size_t e = 0; e < 256; e++) y[e] = d * (float)(int8_t)block[4 + e];
}

TARE_DEFINE_DECODE(q2_k, 256, 84)
TARE_DEFINE_DECODE(q3_k, 256, 110)
TARE_DEFINE_DECODE(q4_k, 256, 144)
TARE_DEFINE_DECODE(q5_k, 256, 176)
TARE_DEFINE_DECODE(q6_k, 256, 210)
TARE_DEFINE_DECODE(q8_k, 256, 292)

void tare_kernels_init_kquants(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q2_K] = decode_q2_k;
    k->decode[TARE_ENCODING_Q3_K] = decode_q3_k;
    k->decode[TARE_ENCODING_Q4_K] = decode_q4_k;
    k->decode[TARE_ENCODING_Q5_K] = decode_q5_k;
    k->decode[TARE_ENCODING_Q6_K] = decode_q6_k;
    k->decode[TARE_ENCODING_Q8_K] = decode_q8_k;
}
