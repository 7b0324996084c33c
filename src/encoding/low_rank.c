/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of products of low rank, and how they are cut into panels; see low_rank.h. A
 * row of sums is kept while looping over the ranks: compilers vectorise this, and the order of sums
 * is preserved. */
#include "encoding/low_rank.h"

#include "encoding/scalar.h"

void tare_add_low_rank_c(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                         size_t n_cols) {
    for (size_t o = 0; o < n_rows; o++) {
        float sum[TARE_PANEL] = {0};
        for (size_t r = 0; r < p->rank; r++) {
            const float a = p->a[o * p->rank + r];
            const float *b = p->b + r * TARE_PANEL;
            for (size_t i = 0; i < n_cols; i++) sum[i] += a * b[i];
        }
        for (size_t i = 0; i < n_cols; i++) w[o * stride + i] += p->scale * sum[i];
    }
}

void tare_low_rank_add(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                       size_t first_col, size_t n_cols) {
    const tare_kernels *k = tare_kernels_get();
    while (n_cols > 0) {
        const size_t skip = first_col % TARE_PANEL;
        const size_t n = n_cols < TARE_PANEL - skip ? n_cols : TARE_PANEL - skip;
        tare_low_rank piece = *p;
        piece.b += tare_panels_at(p->rank, 0, first_col);
        k->add_low_rank(w, stride, &piece, n_rows, n);
        w += n;
        first_col += n;
        n_cols -= n;
    }
}
