/* SPDX-License-Identifier: MIT
 *
 * A product of two thin matrices added to a wide one: W + scale * A * B, A of n_rows x rank and B
 * of rank x n_cols. The order of sums is fixed: for each element the products A[o][r] * B[r][i] are
 * added up in the order of r, beginning with 0; the sum is multiplied by scale and added to W. All
 * of it in F32, each step rounded separately (no fused multiply-add), so that every CPU level,
 * thread count and division into rows gives the same bits. Sums must not overflow: as long as they
 * do not, a NaN in W keeps its bits. */
#ifndef TARE_ENCODING_LOW_RANK_H
#define TARE_ENCODING_LOW_RANK_H

#include <stddef.h>

/* B is stored in panels of this many columns, the last one padded with zeros, so that the kernels'
 * inner loop reads contiguous memory. A multiple of every vector length. */
#define TARE_PANEL ((size_t)64)

/* A piece of the product. */
typedef struct tare_low_rank {
    const float *a; /* rows of A, one after the other */
    const float *b; /* column `first` of a panel: rank rows, TARE_PANEL apart */
    size_t rank;
    float scale;
} tare_low_rank;

/* The number of floats B takes up in panels. */
static inline size_t tare_panels_size(size_t rank, size_t cols) {
    return (cols + TARE_PANEL - 1) / TARE_PANEL * TARE_PANEL * rank;
}
/* The position of element (row, col) of B in them. */
static inline size_t tare_panels_at(size_t rank, size_t row, size_t col) {
    return (col / TARE_PANEL * rank + row) * TARE_PANEL + col % TARE_PANEL;
}

/* Adds to n_rows x n_cols of W, from column `first_col` of all columns on; w is the first element,
 * rows of W are `stride` apart. p->b: all panels. */
void tare_low_rank_add(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                       size_t first_col, size_t n_cols);

#endif
