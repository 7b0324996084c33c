/* SPDX-License-Identifier: MIT
 *
 * From rows to blocks, for encodings with one plane whose blocks are independent of each other. */
#ifndef TARE_ENCODING_BLOCKS_H
#define TARE_ENCODING_BLOCKS_H

#include "encoding/float16.h"
#include "encoding/scalar.h"

enum { TARE_LARGEST_BLOCK = 256 };

/* One block from `block` floats at x; importance: the same number of weights, or NULL. */
typedef void (*tare_encode_block_fn)(uint8_t *y, const float *x, const float *importance);

/* Floats of callers may lie at any address: each block is copied first. block <=
 * TARE_LARGEST_BLOCK. */
static inline void tare_encode_blocks(const tare_rows_mut *dst, const float *src,
                                      const tare_encode_params *params, uint32_t block,
                                      size_t block_bytes, tare_encode_block_fn encode) {
    const float *importance = params ? params->importance : NULL;
    const uint8_t *from = (const uint8_t *)src;
    uint8_t *y = dst->planes[0];
    float x[TARE_LARGEST_BLOCK];
    size_t x_bytes = block * sizeof *x;
    for (uint64_t row = 0; row < dst->n_rows; row++)
        for (uint64_t i = 0; i < dst->cols; i += block, from += x_bytes, y += block_bytes) {
            memcpy(x, from, x_bytes);
            encode(y, x, importance ? importance + i : NULL);
        }
}

/* One block's floats. */
typedef void (*tare_decode_block_fn)(float *y, const uint8_t *x);

static inline void tare_decode_blocks(float *dst, const tare_rows *src, size_t block,
                                      size_t block_bytes, tare_decode_block_fn decode) {
    size_t n_blocks = tare_rows_count(src) / block, y_bytes = block * sizeof(float);
    const uint8_t *x = src->planes[0];
    uint8_t *to = (uint8_t *)dst;
    float y[TARE_LARGEST_BLOCK];
    for (size_t b = 0; b < n_blocks; b++, x += block_bytes, to += y_bytes) {
        decode(y, x);
        memcpy(to, y, y_bytes);
    }
}

/* decode_NAME for the table of kernels, from block_NAME. */
#define TARE_DEFINE_DECODE(name, block, block_bytes)                                               \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        tare_decode_blocks(dst, src, block, block_bytes, block_##name);                            \
    }

static inline float tare_load_f16(const uint8_t *p) {
    return tare_f32_of_f16(tare_load_le16(p));
}

#endif
