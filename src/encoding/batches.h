/* SPDX-License-Identifier: MIT
 *
 * Blocks of rows and their importance in batches, for the searches of block_searches.h: these read
 * whole vectors of blocks and need aligned floats. */
#ifndef TARE_ENCODING_BATCHES_H
#define TARE_ENCODING_BATCHES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The n blocks of `size` elements from block `at` of src on: where they are, or copied to `copy`,
 * which has room for `room` blocks, where the caller's floats are not aligned or fewer than that. A
 * copy has zeros after the last block. */
static inline const float *tare_take_blocks(float *copy, const float *src, size_t size, size_t at,
                                            size_t n, size_t room) {
    const uint8_t *from = (const uint8_t *)src + at * size * sizeof *src;
    if (n == room && (uintptr_t)from % sizeof *src == 0) return src + at * size;
    memcpy(copy, from, n * size * sizeof *src);
    memset(copy + n * size, 0, (room - n) * size * sizeof *src);
    return copy;
}

/* The importance of those blocks, which may span several rows of `row` blocks. */
static inline void tare_take_importance(float *copy, const float *importance, size_t size,
                                        size_t at, size_t n, size_t row) {
    size_t bytes = size * sizeof *importance;
    for (size_t k = 0; k < n; k++)
        memcpy(copy + size * k, (const uint8_t *)importance + (at + k) % row * bytes, bytes);
}

#endif
