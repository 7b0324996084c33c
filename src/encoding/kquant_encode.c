/* SPDX-License-Identifier: MIT
 *
 * Encoders of the K formats: super-blocks of 256 in sub-blocks of 16 or 32, whose scales (and
 * minimums) are integers times one f16 of the super-block. Byte for byte what ggml's encoders
 * write, with and without an importance vector. Layouts: kquant.h. */
#include <math.h>
#include <string.h>

#include "encoding/blocks.h"
#include "encoding/kquant.h"
#include "encoding/numbers.h"
#include "encoding/search.h"

/* A super-block on its way: one scale and minimum a sub-block, one code an element. */
typedef struct super_block {
    float scales[16], minus_mins[16];
    uint8_t codes[256];
} super_block;

/* How an affine format (q2_K, q4_K, q5_K) differs from its siblings. */
typedef struct affine_form {
    int sub;              /* elements in a sub-block */
    float sigma_factor;   /* of the mean square, in the weights with importance */
    bool weighs_by_mean;  /* without importance: sqrt(mean square) + |x|, else |x| */
    bool clamps_weighted; /* sub-scales of the weighted search are held to 63 */
    tare_affine_walk plain, weighted;
} affine_form;

static const affine_form form_q2 = {
    16, 1, false, false, {-0.5f, 0.1f, 15, 3, 1}, {-0.9f, 0.05f, 36, 3, 0}};
static const affine_form form_q4 = {
    32, 2, true, false, {-1.0f, 0.1f, 20, 15, 0}, {-0.9f, 0.05f, 36, 15, 0}};
static const affine_form form_q5 = {
    32, 2, true, true, {-0.5f, 0.1f, 15, 31, 0}, {-0.9f, 0.05f, 36, 31, 0}};

static float sum_of_squares(const float *x, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* weights = importance * sqrt(sigma2 + x^2); returns their sum. */
static float importance_weights(float *weights, const float *x, const float *importance, int n,
                                float sigma2) {
    float sum = 0;
    for (int i = 0; i < n; i++) weights[i] = importance[i] * sqrtf(sigma2 + x[i] * x[i]);
    for (int i = 0; i < n; i++) sum += weights[i];
    return sum;
}

static void plain_weights(float *weights, const float *x, const affine_form *form) {
    float mean = form->weighs_by_mean ? sqrtf(sum_of_squares(x, form->sub) / (float)form->sub) : 0;
    for (int i = 0; i < form->sub; i++)
        weights[i] = form->weighs_by_mean ? mean + fabsf(x[i]) : fabsf(x[i]);
}

/* Searches every sub-block; sub_weights (16 or 8 sums) are filled with an importance vector. */
static void search_affine(super_block *b, float *sub_weights, const float *x,
                          const float *importance, const affine_form *form) {
    float weights[32];
    float sigma2 = importance ? form->sigma_factor * sum_of_squares(x, 256) / 256 : 0;
    for (int j = 0; j < 256 / form->sub; j++) {
        const float *sub = x + j * form->sub;
        if (importance)
            sub_weights[j] =
                importance_weights(weights, sub, importance + j * form->sub, form->sub, sigma2);
        else
            plain_weights(weights, sub, form);
        b->scales[j] = tare_search_affine(b->codes + j * form->sub, &b->minus_mins[j], sub, weights,
                                          form->sub, importance ? &form->weighted : &form->plain);
    }
}

static float largest(const float *v, int n) {
    float max = 0;
    for (int i = 0; i < n; i++)
        if (v[i] > max) max = v[i];
    return max;
}

/* Codes again, for the scale and minimum as they are stored. A stored scale of 0 leaves the codes
 * of the search. */
static void recode_affine(uint8_t *codes, const float *x, int n, int top, float scale, float min) {
    if (scale == 0) return;
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)tare_clamp_i32(tare_round_even((x[i] + min) / scale), 0, top);
}

static void recode_signed(uint8_t *codes, const float *x, int n, int top, float scale) {
    if (scale == 0) return;
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)(tare_clamp_i32(tare_round_even(x[i] / scale), -top, top - 1) + top);
}

/* Four 2-bit codes a byte: elements l, l + 32, l + 64, l + 96 of each half. */
static void pack_2bit(uint8_t *qs, const uint8_t *codes) {
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *c = codes + 128 * h + l;
            qs[32 * h + l] = (uint8_t)(c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6);
        }
}

/* ---- q2_K ------------------------------------------------------------------------------------ */

/* Integers up to `top` for positive values under one factor, which is returned. */
static float quantize_sub_scales(uint8_t *out, const float *values, int n, float top) {
    float max = largest(values, n);
    float inverse = max > 0 ? top / max : 0;
    for (int j = 0; j < n; j++) out[j] = (uint8_t)tare_round_even(inverse * values[j]);
    return max / top;
}

static void encode_block_q2_k(uint8_t *y, const float *x, const float *importance) {
    super_block b;
    float sub_weights[16], d, dmin;
    uint8_t ls[16], lm[16];
    search_affine(&b, sub_weights, x, importance, &form_q2);
    if (importance) {
        d = tare_search_unsigned(ls, b.scales, sub_weights, 16, 15);
        dmin = tare_search_unsigned(lm, b.minus_mins, sub_weights, 16, 15);
    } else {
        d = quantize_sub_scales(ls, b.scales, 16, 15);
        dmin = quantize_sub_scales(lm, b.minus_mins, 16, 15);
        /* Not 0 * value here: the two differ for NaN. */
        if (!(largest(b.scales, 16) > 0)) memset(ls, 0, 16);
        if (!(largest(b.minus_mins, 16) > 0)) memset(lm, 0, 16);
    }
    tare_store_le16(y + Q2_K_D, tare_f16_of_f32(d));
    tare_store_le16(y + Q2_K_DMIN, tare_f16_of_f32(dmin));
    d = tare_f32_of_f16(tare_load_le16(y + Q2_K_D));
    dmin = tare_f32_of_f16(tare_load_le16(y + Q2_K_DMIN));
    for (int j = 0; j < 16; j++) {
        uint8_t s = y[Q2_K_SCALES + j] = (uint8_t)(ls[j] | lm[j] << 4);
        recode_affine(b.codes + 16 * j, x + 16 * j, 16, 3, d * (float)(s & 15),
                      dmin * (float)(s >> 4));
    }
    pack_2bit(y + Q2_K_QS, b.codes);
}

/* ---- q3_K ------------------------------------------------------------------------------------ */

/* Sixteen 6-bit values: low nibbles in 8 bytes, high pairs in 4. */
static void pack_q3_scales(uint8_t *s, const uint8_t *values) {
    memset(s, 0, 12);
    for (int j = 0; j < 16; j++) {
        s[j % 8] |= (uint8_t)((values[j] & 15) << (j < 8 ? 0 : 4));
        s[8 + j % 4] |= (uint8_t)(values[j] >> 4 << 2 * (j / 4));
    }
}

/* The value of largest magnitude among signed scales. */
static float signed_peak_of(const float *v, int n) {
    float peak = 0, most = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(v[i]) > most) {
            most = fabsf(v[i]);
            peak = v[i];
        }
    return peak;
}

static float search_q3_plain(super_block *b, uint8_t *ls, const float *x) {
    for (int j = 0; j < 16; j++)
        b->scales[j] = tare_search_signed_moves(b->codes + 16 * j, x + 16 * j, 16, 4);
    float peak = signed_peak_of(b->scales, 16);
    if (peak == 0) {
        memset(ls, 0, 16);
        return 0;
    }
    float inverse = -32.0f / peak;
    for (int j = 0; j < 16; j++) {
        /* Through a byte, as in the reference, before the clamp. */
        int8_t l = (int8_t)tare_round_even(inverse * b->scales[j]);
        ls[j] = (uint8_t)(tare_clamp_i32(l, -32, 31) + 32);
    }
    return 1 / inverse;
}

static float search_q3_weighted(super_block *b, uint8_t *ls, const float *x,
                                const float *importance) {
    float weights[16], sub_weights[16];
    float sigma2 = 2 * sum_of_squares(x, 256) / 256;
    for (int j = 0; j < 16; j++) {
        sub_weights[j] = importance_weights(weights, x + 16 * j, importance + 16 * j, 16, sigma2);
        b->scales[j] = tare_search_signed(b->codes + 16 * j, x + 16 * j, weights, 16, 4);
    }
    return tare_search_signed(ls, b->scales, sub_weights, 16, 32);
}

static void encode_block_q3_k(uint8_t *y, const float *x, const float *importance) {
    super_block b;
    uint8_t ls[16];
    float d = importance ? search_q3_weighted(&b, ls, x, importance) : search_q3_plain(&b, ls, x);
    /* Without any scale the reference leaves the scale bytes zero, which read as -32. */
    pack_q3_scales(y + Q3_K_SCALES, ls);
    tare_store_le16(y + Q3_K_D, tare_f16_of_f32(d));
    d = tare_f32_of_f16(tare_load_le16(y + Q3_K_D));
    for (int j = 0; j < 16; j++)
        recode_signed(b.codes + 16 * j, x + 16 * j, 16, 4, d * (float)(ls[j] - 32));
    memset(y + Q3_K_HMASK, 0, 32);
    for (int i = 0; i < 256; i++) {
        y[Q3_K_HMASK + i % 32] |= (uint8_t)((b.codes[i] >> 2 & 1) << i / 32);
        b.codes[i] &= 3;
    }
    pack_2bit(y + Q3_K_QS, b.codes);
}

/* ---- q4_K and q5_K ----------------------------------------------------------------------------
 */

/* Eight pairs of 6-bit values in 12 bytes; values above 63 (which the weighted search can give)
 * spill as they do in the reference. */
static void pack_k4_scales(uint8_t *s, const uint8_t *ls, const uint8_t *lm) {
    for (int j = 0; j < 4; j++) {
        s[j] = ls[j];
        s[j + 4] = lm[j];
    }
    for (int j = 4; j < 8; j++) {
        s[j + 4] = (uint8_t)((ls[j] & 15) | (lm[j] & 15) << 4);
        s[j - 4] |= (uint8_t)(ls[j] >> 4 << 6);
        s[j] |= (uint8_t)(lm[j] >> 4 << 6);
    }
}

static void clamp_63(uint8_t *v) {
    for (int j = 0; j < 8; j++)
        if (v[j] > 63) v[j] = 63;
}

/* Scales, minimums and codes of a block: d, dmin and the 12 scale bytes go to y. */
static void encode_affine_8(uint8_t *y, super_block *b, const float *x, const float *importance,
                            const affine_form *form) {
    float sub_weights[8], d, dmin;
    uint8_t ls[8], lm[8];
    search_affine(b, sub_weights, x, importance, form);
    if (importance) {
        d = tare_search_unsigned(ls, b->scales, sub_weights, 8, 63);
        dmin = tare_search_unsigned(lm, b->minus_mins, sub_weights, 8, 63);
    } else {
        d = quantize_sub_scales(ls, b->scales, 8, 63);
        dmin = quantize_sub_scales(lm, b->minus_mins, 8, 63);
    }
    if (!importance || form->clamps_weighted) {
        clamp_63(ls);
        clamp_63(lm);
    }
    pack_k4_scales(y + Q4_K_SCALES, ls, lm);
    tare_store_le16(y + Q4_K_D, tare_f16_of_f32(d));
    tare_store_le16(y + Q4_K_DMIN, tare_f16_of_f32(dmin));
    d = tare_f32_of_f16(tare_load_le16(y + Q4_K_D));
    dmin = tare_f32_of_f16(tare_load_le16(y + Q4_K_DMIN));
    for (int j = 0; j < 8; j++) {
        uint8_t scale, min;
        tare_k4_scale_min(y + Q4_K_SCALES, j, &scale, &min);
        recode_affine(b->codes + 32 * j, x + 32 * j, 32, form->plain.top, d * (float)scale,
                      dmin * (float)min);
    }
}

/* Nibbles: elements l and l + 32 of each 64. */
static void pack_nibbles(uint8_t *qs, const uint8_t *codes) {
    for (int g = 0; g < 4; g++)
        for (int l = 0; l < 32; l++)
            qs[32 * g + l] =
                (uint8_t)((codes[64 * g + l] & 15) | (codes[64 * g + 32 + l] & 15) << 4);
}

static void encode_block_q4_k(uint8_t *y, const float *x, const float *importance) {
    super_block b;
    encode_affine_8(y, &b, x, importance, &form_q4);
    pack_nibbles(y + Q4_K_QS, b.codes);
}

static void encode_block_q5_k(uint8_t *y, const float *x, const float *importance) {
    super_block b;
    encode_affine_8(y, &b, x, importance, &form_q5);
    memset(y + Q5_K_QH, 0, 32);
    for (int i = 0; i < 256; i++) y[Q5_K_QH + i % 32] |= (uint8_t)(b.codes[i] >> 4 << i / 32);
    pack_nibbles(y + Q5_K_QS, b.codes);
}

/* ---- q6_K ------------------------------------------------------------------------------------ */

static void pack_q6(uint8_t *y, const uint8_t *codes) {
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *c = codes + 128 * h + l;
            uint8_t *ql = y + Q6_K_QL + 64 * h + l;
            ql[0] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
            ql[32] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
            y[Q6_K_QH + 32 * h + l] =
                (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
        }
}

static void encode_block_q6_k(uint8_t *y, const float *x, const float *importance) {
    super_block b;
    for (int j = 0; j < 16; j++)
        b.scales[j] = tare_search_signed(b.codes + 16 * j, x + 16 * j,
                                         importance ? importance + 16 * j : NULL, 16, 32);
    float peak = signed_peak_of(b.scales, 16);
    if (fabsf(peak) < TARE_SEARCH_ZERO) {
        memset(y, 0, Q6_K_BYTES);
        return;
    }
    float inverse = -128.0f / peak;
    tare_store_le16(y + Q6_K_D, tare_f16_of_f32(1 / inverse));
    float d = tare_f32_of_f16(tare_load_le16(y + Q6_K_D));
    for (int j = 0; j < 16; j++) {
        int32_t l = tare_round_even(inverse * b.scales[j]);
        int8_t scale = (int8_t)(l < 127 ? l : 127);
        y[Q6_K_SCALES + j] = (uint8_t)scale;
        recode_signed(b.codes + 16 * j, x + 16 * j, 16, 32, d * (float)scale);
    }
    pack_q6(y, b.codes);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define DEFINE_ENCODE(name, NAME)                                                                  \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        tare_encode_blocks(dst, src, params, 256, NAME##_BYTES, encode_block_##name);              \
    }
DEFINE_ENCODE(q2_k, Q2_K)
DEFINE_ENCODE(q3_k, Q3_K)
DEFINE_ENCODE(q4_k, Q4_K)
DEFINE_ENCODE(q5_k, Q5_K)
DEFINE_ENCODE(q6_k, Q6_K)

void tare_kernels_init_kquant_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_Q2_K] = k->encode_weighted[TARE_ENCODING_Q2_K] = encode_q2_k;
    k->encode[TARE_ENCODING_Q3_K] = k->encode_weighted[TARE_ENCODING_Q3_K] = encode_q3_k;
    k->encode[TARE_ENCODING_Q4_K] = k->encode_weighted[TARE_ENCODING_Q4_K] = encode_q4_k;
    k->encode[TARE_ENCODING_Q5_K] = k->encode_weighted[TARE_ENCODING_Q5_K] = encode_q5_k;
    k->encode[TARE_ENCODING_Q6_K] = k->encode_weighted[TARE_ENCODING_Q6_K] = encode_q6_k;
}
