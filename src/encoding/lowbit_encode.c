/* SPDX-License-Identifier: MIT
 *
 * Encoders of the formats with one, two or one-and-a-half bits and a plain scale: q1_0, q2_0,
 * tq1_0, tq2_0. Byte for byte what ggml's encoders write. */
#include <string.h>

#include "encoding/blocks.h"
#include "encoding/numbers.h"

enum { Q1_0_BYTES = 18, Q2_0_BYTES = 18, TQ1_0_BYTES = 54, TQ2_0_BYTES = 66 };

/* Nearest integer, halves away from zero; what does not fit (and NaN) gives `otherwise`. */
static int32_t round_away(float t, int32_t otherwise) {
    return fabsf(t) < 2147483648.0f ? (int32_t)roundf(t) : otherwise;
}

static void encode_block_q1_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    float sum = 0;
    for (int i = 0; i < 128; i++) sum += fabsf(x[i]);
    tare_store_le16(y, tare_f16_of_f32(sum / 128));
    memset(y + 2, 0, 16);
    for (int i = 0; i < 128; i++) y[2 + i / 8] |= (uint8_t)((x[i] >= 0) << i % 8);
}

static void encode_block_q2_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    float most = 0;
    for (int i = 0; i < 64; i++)
        if (fabsf(x[i]) > most) most = fabsf(x[i]);
    float inverse = most > 0 ? 1 / most : 0;
    tare_store_le16(y, tare_f16_of_f32(most));
    memset(y + 2, 0, 16);
    for (int i = 0; i < 64; i++) {
        int32_t q = round_away(x[i] * inverse, INT32_MIN) + 1;
        q = q < 0 ? 0 : q > 3 ? 3 : q;
        y[2 + i / 4] |= (uint8_t)(q << 2 * (i % 4));
    }
}

/* The scale of a ternary block goes to y; returns its inverse. */
static float put_ternary_scale(uint8_t *y, const float *x) {
    float most = 0;
    for (int i = 0; i < 256; i++) {
        float a = fabsf(x[i]);
        most = most > a ? most : a; /* a NaN is forgotten at the next element */
    }
    tare_store_le16(y, tare_f16_of_f32(most));
    return most != 0 ? 1 / most : 0;
}

static uint32_t trit(float x, float inverse) {
    return (uint32_t)(round_away(x * inverse, 0) + 1);
}

/* Up to five trits of elements `step` apart as a fraction of 256, rounded up: multiplying the byte
 * by 3 brings the next trit above bit 7. */
static uint8_t pack_trits(const float *x, int n, int step, float inverse) {
    uint8_t q = 0;
    for (int i = 0; i < 5; i++) q = (uint8_t)(q * 3u + (i < n ? trit(x[i * step], inverse) : 0));
    return (uint8_t)((q * 256u + 242) / 243);
}

static void encode_block_tq1_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    float inverse = put_ternary_scale(y + 52, x);
    for (int i = 0; i < 32; i++) y[i] = pack_trits(x + i, 5, 32, inverse);
    for (int i = 0; i < 16; i++) y[32 + i] = pack_trits(x + 160 + i, 5, 16, inverse);
    for (int i = 0; i < 4; i++) y[48 + i] = pack_trits(x + 240 + i, 4, 4, inverse);
}

static void encode_block_tq2_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    float inverse = put_ternary_scale(y + 64, x);
    for (int i = 0; i < 64; i++) {
        const float *from = x + i / 32 * 128 + i % 32;
        uint32_t q = 0;
        for (int n = 0; n < 4; n++) q += (trit(from[32 * n], inverse) & 3) << 2 * n;
        y[i] = (uint8_t)q;
    }
}

#define DEFINE_ENCODE(name, NAME, block)                                                           \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        tare_encode_blocks(dst, src, params, block, NAME##_BYTES, encode_block_##name);            \
    }
DEFINE_ENCODE(q1_0, Q1_0, 128)
DEFINE_ENCODE(q2_0, Q2_0, 64)
DEFINE_ENCODE(tq1_0, TQ1_0, 256)
DEFINE_ENCODE(tq2_0, TQ2_0, 256)

void tare_kernels_init_lowbit_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_Q1_0] = encode_q1_0;
    k->encode[TARE_ENCODING_Q2_0] = encode_q2_0;
    k->encode[TARE_ENCODING_TQ1_0] = encode_tq1_0;
    k->encode[TARE_ENCODING_TQ2_0] = encode_tq2_0;
}
