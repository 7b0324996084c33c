/* SPDX-License-Identifier: MIT
 *
 * Encoders of q4_0, q4_1, q5_0 and q5_1 with an importance vector: a search for each block in place
 * of one pass. Byte for byte what ggml's encoders write. */
#include "encoding/kernels.h"
#include "encoding/numbers.h"
#include "encoding/pack.h"
#include "encoding/search.h"

static const tare_affine_walk walk_q4_1 = {-0.9f, 0.05f, 36, 15, 0};
static const tare_affine_walk walk_q5_1 = {-0.9f, 0.05f, 36, 31, 0};

static void encode_block_q4_0(uint8_t *y, const float *x, const float *weights) {
    uint8_t codes[32];
    tare_store_le16(y, tare_f16_of_f32(tare_search_signed(codes, x, weights, 32, 8)));
    tare_pack_halves(y + 2, codes, 16);
}

static void encode_block_q5_0(uint8_t *y, const float *x, const float *weights) {
    uint8_t codes[32];
    tare_store_le16(y, tare_f16_of_f32(tare_search_signed(codes, x, weights, 32, 16)));
    tare_pack_halves(y + 6, codes, 16);
    tare_pack_fifth_bits(y + 2, codes);
}

static void encode_affine(uint8_t *y, uint8_t *codes, const float *x, const float *weights,
                          const tare_affine_walk *walk) {
    float minus_min;
    float scale = tare_search_affine(codes, &minus_min, x, weights, 32, walk);
    tare_store_le16(y, tare_f16_of_f32(scale));
    tare_store_le16(y + 2, tare_f16_of_f32(-minus_min));
}

static void encode_block_q4_1(uint8_t *y, const float *x, const float *weights) {
    uint8_t codes[32];
    encode_affine(y, codes, x, weights, &walk_q4_1);
    tare_pack_halves(y + 4, codes, 16);
}

static void encode_block_q5_1(uint8_t *y, const float *x, const float *weights) {
    uint8_t codes[32];
    encode_affine(y, codes, x, weights, &walk_q5_1);
    tare_pack_halves(y + 8, codes, 16);
    tare_pack_fifth_bits(y + 4, codes);
}

/* Each row's own mean square takes part in its weights. */
static void encode_rows(const tare_rows_mut *dst, const float *src, const float *importance,
                        size_t block_bytes,
                        void (*encode_block)(uint8_t *y, const float *x, const float *weights)) {
    uint8_t *y = dst->planes[0];
    size_t at = 0, cols = (size_t)dst->cols;
    for (uint64_t row = 0; row < dst->n_rows; row++, at += cols) {
        float sum = 0;
        for (size_t i = 0; i < cols; i++)
            sum += tare_get_f32(src, at + i) * tare_get_f32(src, at + i);
        float sigma2 = sum / (float)cols;
        for (size_t i = 0; i < cols; i += 32, y += block_bytes) {
            float x[32], weights[32];
            for (size_t j = 0; j < 32; j++) {
                x[j] = tare_get_f32(src, at + i + j);
                weights[j] = importance[i + j] * sqrtf(sigma2 + x[j] * x[j]);
            }
            encode_block(y, x, weights);
        }
    }
}

#define DEFINE_ENCODE(name, bytes)                                                                 \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        encode_rows(dst, src, params->importance, bytes, encode_block_##name);                     \
    }
DEFINE_ENCODE(q4_0, 18)
DEFINE_ENCODE(q4_1, 20)
DEFINE_ENCODE(q5_0, 22)
DEFINE_ENCODE(q5_1, 24)

void tare_kernels_init_legacy_weighted(tare_kernels *k) {
    k->encode_weighted[TARE_ENCODING_Q4_0] = encode_q4_0;
    k->encode_weighted[TARE_ENCODING_Q4_1] = encode_q4_1;
    k->encode_weighted[TARE_ENCODING_Q5_0] = encode_q5_0;
    k->encode_weighted[TARE_ENCODING_Q5_1] = encode_q5_1;
}
