/* SPDX-License-Identifier: MIT
 *
 * A view over a matrix as one over its rows and one over its columns. */
#include "llama/lora_views.h"

#include <string.h>

static bool put_axis(tare_piece_view *view, uint64_t extent, uint64_t stride) {
    if (extent == 1) return true;
    if (view->n_axes == TARE_PIECE_AXES) return false;
    view->axes[view->n_axes++] = (tare_piece_axis){extent, stride};
    return true;
}

/* An axis that goes over whole rows is two: of rows, of columns. */
static bool put_split(tare_piece_view *rows, tare_piece_view *cols, const tare_piece_axis *a,
                      uint64_t n_cols) {
    const uint64_t span = a->extent * a->stride; /* within the matrix: no overflow */
    if (a->stride % n_cols == 0) return put_axis(rows, a->extent, a->stride / n_cols);
    if (span <= n_cols) return put_axis(cols, a->extent, a->stride);
    return n_cols % a->stride == 0 && span % n_cols == 0 && put_axis(rows, span / n_cols, 1) &&
           put_axis(cols, n_cols / a->stride, a->stride);
}

/* The last number that a view takes. */
static uint64_t last_of(const tare_piece_view *v) {
    uint64_t last = v->offset;
    for (uint32_t i = 0; i < v->n_axes; i++) last += (v->axes[i].extent - 1) * v->axes[i].stride;
    return last;
}

bool tare_llama_split_view(tare_llama_split *out, const tare_piece_view *view, uint64_t rows,
                           uint64_t cols) {
    const tare_piece_view whole = {.n_axes = 1, .axes = {{rows * cols, 1}}};
    const tare_piece_view *v = view ? view : &whole;
    tare_piece_view of_rows = {.offset = v->offset / cols}, of_cols = {.offset = v->offset % cols};
    uint32_t first_row = UINT32_MAX, first_col = UINT32_MAX, last_row = 0, last_col = 0;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        const uint32_t n_rows = of_rows.n_axes, n_cols = of_cols.n_axes;
        if (!put_split(&of_rows, &of_cols, &v->axes[i], cols)) return false;
        if (of_rows.n_axes > n_rows && first_row == UINT32_MAX) first_row = 2 * i;
        if (of_rows.n_axes > n_rows) last_row = 2 * i;
        if (of_cols.n_axes > n_cols && first_col == UINT32_MAX) first_col = 2 * i + 1;
        if (of_cols.n_axes > n_cols) last_col = 2 * i + 1;
    }
    if (last_of(&of_cols) >= cols || last_of(&of_rows) >= rows) return false;
    const bool is_straight = first_col > last_row;
    if (!is_straight && first_row < last_col) return false;
    *out = (tare_llama_split){is_straight ? of_rows : of_cols, is_straight ? of_cols : of_rows,
                              !is_straight};
    return true;
}

bool tare_llama_factor_view(tare_piece_view *out, const tare_piece_view *steps, uint64_t stride,
                            uint64_t rank, uint64_t rank_stride, bool is_rank_first) {
    memset(out, 0, sizeof *out);
    out->offset = steps->offset * stride;
    if (is_rank_first && !put_axis(out, rank, rank_stride)) return false;
    for (uint32_t i = 0; i < steps->n_axes; i++)
        if (!put_axis(out, steps->axes[i].extent, steps->axes[i].stride * stride)) return false;
    return is_rank_first || put_axis(out, rank, rank_stride);
}

uint64_t tare_llama_view_steps(const tare_piece_view *view) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < view->n_axes; i++) n *= view->axes[i].extent;
    return n;
}

bool tare_llama_view_is_plain(const tare_piece_view *view, uint64_t n) {
    uint64_t stride = 1;
    for (uint32_t i = view->n_axes; i-- > 0; stride *= view->axes[i].extent)
        if (view->axes[i].stride != stride) return false;
    return view->offset == 0 && stride == n;
}
