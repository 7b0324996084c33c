/* SPDX-License-Identifier: MIT
 *
 * INFQ's formats with a scale a row: the scalar reference. The encoder gives the bytes of the
 * public converter for F32 input; see rowwise.h. */
#include "encoding/rowwise.h"

/* ---- decode ---------------------------------------------------------------------------------- */

static void decode(float *dst, const tare_rows *src, int bits) {
    size_t cols = (size_t)src->cols, at = 0;
    for (uint64_t r = 0; r < src->n_rows; r++) {
        const uint8_t *codes = src->planes[0] + r * tare_rowwise_bytes(cols, bits);
        float scale = tare_f32_of_f16(tare_load_le16(src->planes[1] + r * 2));
        for (size_t i = 0; i < cols; i++, at++)
            tare_put_f32(dst, at, scale * (float)tare_code_at(codes, i, bits));
    }
}

/* ---- encode ---------------------------------------------------------------------------------- */

float tare_rowwise_largest(const float *src, size_t from, size_t n) {
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
        float size = fabsf(tare_get_f32(src, from + i));
        if (size > largest) largest = size;
    }
    return largest;
}

void tare_rowwise_put(uint8_t *codes, const float *src, size_t from, size_t n, float scale,
                      int bits) {
    float top = (float)tare_rowwise_top(bits);
    for (size_t i = 0; i < n; i++) {
        tare_put_code(codes, i, tare_rowwise_code(tare_get_f32(src, from + i), scale, top), bits);
    }
}

static void encode(const tare_rows_mut *dst, const float *src, int bits) {
    size_t cols = (size_t)dst->cols;
    for (uint64_t r = 0; r < dst->n_rows; r++) {
        size_t from = (size_t)r * cols;
        tare_rowwise_scale scale =
            tare_rowwise_scale_of(tare_rowwise_largest(src, from, cols), tare_rowwise_top(bits));
        tare_store_le16(dst->planes[1] + r * 2, scale.stored);
        tare_rowwise_put(dst->planes[0] + r * tare_rowwise_bytes(cols, bits), src, from, cols,
                         scale.used, bits);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_TYPE(name, ID, bits)                                                                \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode(dst, src, bits);                                                                    \
    }                                                                                              \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        (void)params;                                                                              \
        encode(dst, src, bits);                                                                    \
    }
TARE_ROWWISE_TYPES(DEFINE_TYPE)

#define SET_TYPE(name, ID, bits)                                                                   \
    k->decode[TARE_ENCODING_##ID] = decode_##name;                                                 \
    k->encode[TARE_ENCODING_##ID] = encode_##name;

void tare_kernels_init_rowwise(tare_kernels *k) {
    TARE_ROWWISE_TYPES(SET_TYPE)
}
