/* SPDX-License-Identifier: MIT
 *
 * Products of low rank by tiles of W that stay in registers while looping over the ranks: TILE_ROWS
 * rows of TILE_VECTORS vectors. The result needs one multiplication and one addition per element
 * and rank; tiles are as large as the registers allow, so that loads of A and B are negligible next
 * to these. Included after lanes_avx2.h or lanes_avx512.h. */
#ifndef TARE_ENCODING_SIMD_LOW_RANK_TILES_H
#define TARE_ENCODING_SIMD_LOW_RANK_TILES_H

#include "encoding/low_rank.h"
#include "encoding/scalar.h"

/* 16 registers hold 4 x 2 sums, 32 hold 4 x 4, beside two factors and a product. */
enum { TILE_ROWS = 4, TILE_VECTORS = LANES == 16 ? 4 : 2, TILE_COLS = TILE_VECTORS * LANES };

/* n_rows and n_vectors are constants where it is called, so that all loops but that over the ranks
 * are unrolled. */
__attribute__((always_inline)) static inline void add_tile(float *w, size_t stride,
                                                           const tare_low_rank *p, const float *a,
                                                           const float *b, const int n_rows,
                                                           const int n_vectors) {
    vec sum[TILE_ROWS][TILE_VECTORS];
    const size_t rank = p->rank;
    const vec scale = all(p->scale);
    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n_vectors; k++) sum[i][k] = all(0);
    for (size_t r = 0; r < rank; r++, b += TARE_PANEL) {
        vec columns[TILE_VECTORS];
        for (int k = 0; k < n_vectors; k++) columns[k] = load(b + k * LANES);
        for (int i = 0; i < n_rows; i++) {
            const vec row = all(a[(size_t)i * rank + r]);
            for (int k = 0; k < n_vectors; k++) sum[i][k] = add(sum[i][k], mul(row, columns[k]));
        }
    }
    for (int i = 0; i < n_rows; i++)
        for (int k = 0; k < n_vectors; k++) {
            float *to = w + (size_t)i * stride + k * LANES;
            store(to, add(load(to), mul(scale, sum[i][k])));
        }
}

/* Rows of one width: as many as fill tiles, then one by one. */
__attribute__((always_inline)) static inline void add_strip(float *w, size_t stride,
                                                            const tare_low_rank *p, const float *b,
                                                            size_t n_rows, const int n_vectors) {
    size_t i = 0;
    for (; n_rows - i >= TILE_ROWS; i += TILE_ROWS)
        add_tile(w + i * stride, stride, p, p->a + i * p->rank, b, TILE_ROWS, n_vectors);
    for (; i < n_rows; i++)
        add_tile(w + i * stride, stride, p, p->a + i * p->rank, b, 1, n_vectors);
}

static void add_low_rank(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                         size_t n_cols) {
    size_t at = 0;
    for (; n_cols - at >= TILE_COLS; at += TILE_COLS)
        add_strip(w + at, stride, p, p->b + at, n_rows, TILE_VECTORS);
    for (; n_cols - at >= LANES; at += LANES) add_strip(w + at, stride, p, p->b + at, n_rows, 1);
    if (at == n_cols) return;
    tare_low_rank rest = *p;
    rest.b += at;
    tare_add_low_rank_c(w + at, stride, &rest, n_rows, n_cols - at);
}

#endif
