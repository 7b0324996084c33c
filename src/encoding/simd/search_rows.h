/* SPDX-License-Identifier: MIT
 *
 * What else the encoders of a table of searches need: sums of squares with one block a lane, and
 * codes of rows for scales that are chosen. */
#ifndef TARE_ENCODING_SIMD_SEARCH_ROWS_H
#define TARE_ENCODING_SIMD_SEARCH_ROWS_H

#include "encoding/simd/search_lanes.h"

/* Lanes without a run of their own repeat the last one. Which NaN a sum takes over is the scalar
 * function's choice. */
static void squares(float *sums, const float *x, size_t n, size_t size) {
    for (size_t at = 0; at < n; at += LANES) {
        vec sum = all(0);
        for (size_t part = 0; part < size; part += LANES) {
            vec e[LANES];
            for (size_t lane = 0; lane < LANES; lane++)
                e[lane] = load(x + (at + lane < n ? at + lane : n - 1) * size + part);
            transpose(e);
            for (int i = 0; i < LANES; i++) sum = add(sum, mul(e[i], e[i]));
        }
        store(sums + at, sum);
        for (uint32_t nan = unordered_mask(sum, sum); nan; nan &= nan - 1) {
            size_t j = at + (size_t)__builtin_ctz(nan);
            if (j < n) tare_searches_c.squares(sums + j, x + j * size, 1, size);
        }
    }
}

INLINE void recode_rows(uint8_t *codes, const float *x, const float *scales, const float *mins,
                        int size, int low, int high) {
    for (int i = 0; i < 256; i += 32) {
        ivec row[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            int j = i / size + v * LANES / size;
            vec t = divide(add(load(x + i + v * LANES), all(mins[j])), all(scales[j]));
            row[v] = clamp_i(sub_i(round_even(t), all_i((uint32_t)low)), 0, high - low);
        }
        store_32(codes + i, bytes_of(row));
    }
}

/* The scalar function does the whole where a scale of 0 leaves codes, and where a minimum is NaN:
 * which of two NaN a sum takes over is then its choice. */
static void recode(uint8_t *codes, const float *x, const float *scales, const float *mins, int size,
                   int low, int high) {
    for (int j = 0; j < 256 / size; j++)
        if (scales[j] == 0 || mins[j] != mins[j]) {
            tare_searches_c.recode(codes, x, scales, mins, size, low, high);
            return;
        }
    if (size == 16)
        recode_rows(codes, x, scales, mins, 16, low, high);
    else
        recode_rows(codes, x, scales, mins, 32, low, high);
}

#endif
