/* SPDX-License-Identifier: MIT
 *
 * Encoders of iq4_nl and iq4_xs: 4-bit codes for sixteen uneven levels, one scale for 32 elements
 * (nl), or eight 6-bit scales under one f16 (xs). Byte for byte what ggml's encoders write. */
#include "encoding/blocks.h"
#include "encoding/iq.h"
#include "encoding/levels.h"
#include "encoding/numbers.h"
#include "encoding/pack.h"
#include "encoding/search.h"

/* The nearest level; of two equally near the upper one. */
static uint8_t nearest_level(float x) {
    const int8_t *v = tare_levels_iq4;
    if (x <= v[0]) return 0;
    if (x >= v[15]) return 15;
    int low = 0, high = 15;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (x < v[middle])
            high = middle;
        else
            low = middle;
    }
    return (uint8_t)(x - v[low] < v[high] - x ? low : high);
}

typedef struct level_products {
    float qx, qq;
} level_products;

static level_products products_of(const float *x, const float *weights, float inverse) {
    level_products p = {0, 0};
    for (int i = 0; i < 32; i++) {
        float q = tare_levels_iq4[nearest_level(inverse * x[i])];
        p.qx += weights[i] * q * x[i];
        p.qq += weights[i] * q * q;
    }
    return p;
}

/* The scale of least weighted error among 16; 0 for a zero block. */
static float search_scale(const float *x, const float *weights) {
    float peak = 0, most = 0;
    for (int i = 0; i < 32; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            peak = x[i];
        }
    if (most < TARE_SEARCH_ZERO) return 0;
    float scale = -peak / tare_levels_iq4[0];
    level_products p = products_of(x, weights, 1 / scale);
    scale = p.qq > 0 ? p.qx / p.qq : 0;
    float best = scale * p.qx;
    for (int step = -7; step <= 7; step++) {
        p = products_of(x, weights, (float)(step + tare_levels_iq4[0]) / peak);
        if (p.qq > 0 && p.qx * p.qx > best * p.qq) {
            scale = p.qx / p.qq;
            best = scale * p.qx;
        }
    }
    return scale;
}

/* Weights of 32 elements; sigma2 is twice the mean square of the whole (super-)block. */
static void weigh(float *weights, const float *x, const float *importance, float sigma2) {
    for (int i = 0; i < 32; i++)
        weights[i] = importance ? importance[i] * sqrtf(sigma2 + x[i] * x[i]) : x[i] * x[i];
}

static float twice_mean_square(const float *x, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum * (2.0f / (float)n);
}

static void put_codes(uint8_t *qs, const float *x, float inverse) {
    uint8_t codes[32];
    for (int i = 0; i < 32; i++) codes[i] = nearest_level(inverse * x[i]);
    tare_pack_halves(qs, codes, 16);
}

static void encode_block_nl(uint8_t *y, const float *x, const float *importance) {
    float weights[32];
    weigh(weights, x, importance, twice_mean_square(x, 32));
    float scale = search_scale(x, weights);
    tare_store_le16(y, tare_f16_of_f32(scale));
    put_codes(y + IQ4_NL_QS, x, scale != 0 ? 1 / scale : 0);
}

static void encode_block_xs(uint8_t *y, const float *x, const float *importance) {
    float weights[32], scales[8], peak = 0, most = 0, sigma2 = twice_mean_square(x, 256);
    for (int j = 0; j < 8; j++) {
        weigh(weights, x + 32 * j, importance ? importance + 32 * j : NULL, sigma2);
        scales[j] = search_scale(x + 32 * j, weights);
        if (fabsf(scales[j]) > most) {
            most = fabsf(scales[j]);
            peak = scales[j];
        }
    }
    float d = -peak / 32;
    float inverse = d != 0 ? 1 / d : 0;
    uint8_t stored[8];
    for (int j = 0; j < 8; j++) {
        int32_t l = tare_clamp_i32(tare_round_even(inverse * scales[j]), -32, 31);
        float sub = d * (float)l;
        put_codes(y + IQ4_XS_QS + 16 * j, x + 32 * j, sub != 0 ? 1 / sub : 0);
        stored[j] = (uint8_t)(l + 32);
    }
    tare_store_le16(y, tare_f16_of_f32(d));
    tare_pack_iq4_scales(y + IQ4_XS_LOW, y + IQ4_XS_HIGH, stored);
}

static void encode_iq4_nl(const tare_rows_mut *dst, const float *src,
                          const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 32, IQ4_NL_BYTES, encode_block_nl);
}

static void encode_iq4_xs(const tare_rows_mut *dst, const float *src,
                          const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 256, IQ4_XS_BYTES, encode_block_xs);
}

void tare_kernels_init_iq4_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_IQ4_NL] = k->encode_weighted[TARE_ENCODING_IQ4_NL] = encode_iq4_nl;
    k->encode[TARE_ENCODING_IQ4_XS] = k->encode_weighted[TARE_ENCODING_IQ4_XS] = encode_iq4_xs;
}
