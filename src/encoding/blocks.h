/* SPDX-License-Identifier: MIT
 *
 * From rows to blocks, for encodings with one plane whose blocks do not look at each other. */
#ifndef TARE_ENCODING_BLOCKS_H
#define TARE_ENCODING_BLOCKS_H

#include <string.h>

#include "encoding/kernels.h"

/* One block from `block` floats at x; importance: as many weights, or NULL. */
typedef void (*tare_encode_block_fn)(uint8_t *y, const float *x, const float *importance);

/* Floats of callers may lie at any address: each block is copied first. block <= 256. */
static inline void tare_encode_blocks(const tare_rows_mut *dst, const float *src,
                                      const tare_encode_params *params, uint32_t block,
                                      size_t block_bytes, tare_encode_block_fn encode) {
    const float *importance = params ? params->importance : NULL;
    const uint8_t *from = (const uint8_t *)src;
    uint8_t *y = dst->planes[0];
    float x[256];
    size_t x_bytes = block * sizeof *x;
    for (uint64_t row = 0; row < dst->n_rows; row++)
        for (uint64_t i = 0; i < dst->cols; i += block, from += x_bytes, y += block_bytes) {
            memcpy(x, from, x_bytes);
            encode(y, x, importance ? importance + i : NULL);
        }
}

#endif
