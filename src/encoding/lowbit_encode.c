/* SPDX-License-Identifier: MIT
 *
 * Encoders of the formats with one, two or one-and-a-half bits and a plain scale: q1_0, q2_0,
 * tq1_0, tq2_0. Byte for byte what ggml's encoders write. */
#include "encoding/bitpack.h"
#include "encoding/blocks.h"
#include "encoding/float16.h"

enum { Q1_0_BYTES = 18, Q2_0_BYTES = 18, TQ1_0_BYTES = 54, TQ2_0_BYTES = 66 };

/* Nearest integer, halves away from zero; values that do not fit (and NaN) give `otherwise`. */
static int32_t round_away(float t, int32_t otherwise) {
    return fabsf(t) < 2147483648.0f ? (int32_t)roundf(t) : otherwise;
}

static void encode_block_q1_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    uint8_t codes[128];
    float sum = 0;
    for (int i = 0; i < 128; i++) {
        sum += fabsf(x[i]);
        codes[i] = x[i] >= 0;
    }
    tare_store_le16(y, tare_f16_of_f32(sum / 128));
    tare_pack_run(y + 2, codes, 128, 1);
}

static void encode_block_q2_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    uint8_t codes[64];
    float most = 0;
    for (int i = 0; i < 64; i++)
        if (fabsf(x[i]) > most) most = fabsf(x[i]);
    float inverse = most > 0 ? 1 / most : 0;
    for (int i = 0; i < 64; i++) {
        int32_t q = round_away(x[i] * inverse, INT32_MIN) + 1;
        codes[i] = (uint8_t)(q < 0 ? 0 : q > 3 ? 3 : q);
    }
    tare_store_le16(y, tare_f16_of_f32(most));
    tare_pack_run(y + 2, codes, 64, 2);
}

/* The scale of a ternary block goes to y. */
static void ternary_codes(uint8_t *codes, uint8_t *y, const float *x) {
    float most = 0;
    for (int i = 0; i < 256; i++) {
        float a = fabsf(x[i]);
        most = most > a ? most : a; /* a NaN is forgotten at the next element */
    }
    float inverse = most != 0 ? 1 / most : 0;
    for (int i = 0; i < 256; i++) codes[i] = (uint8_t)(round_away(x[i] * inverse, 0) + 1);
    tare_store_le16(y, tare_f16_of_f32(most));
}

static void encode_block_tq1_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    uint8_t codes[256];
    ternary_codes(codes, y + 52, x);
    tare_pack_tq1_0(y, codes);
}

static void encode_block_tq2_0(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    uint8_t codes[256];
    ternary_codes(codes, y + 64, x);
    for (int i = 0; i < 256; i++) codes[i] &= 3;
    tare_pack_2bit(y, codes);
}

#define DEFINE_ENCODE(name, NAME, block)                                                           \
    void tare_encode_##name##_c(const tare_rows_mut *dst, const float *src,                        \
                                const tare_encode_params *params) {                                \
        tare_encode_blocks(dst, src, params, block, NAME##_BYTES, encode_block_##name);            \
    }
DEFINE_ENCODE(q1_0, Q1_0, 128)
DEFINE_ENCODE(q2_0, Q2_0, 64)
DEFINE_ENCODE(tq1_0, TQ1_0, 256)
DEFINE_ENCODE(tq2_0, TQ2_0, 256)

void tare_kernels_init_lowbit_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_Q1_0] = tare_encode_q1_0_c;
    k->encode[TARE_ENCODING_Q2_0] = tare_encode_q2_0_c;
    k->encode[TARE_ENCODING_TQ1_0] = tare_encode_tq1_0_c;
    k->encode[TARE_ENCODING_TQ2_0] = tare_encode_tq2_0_c;
}
