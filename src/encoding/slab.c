/* SPDX-License-Identifier: MIT
 *
 * Parts of tensors in bytes. Sizes of whole tensors were checked when their shape was, so nothing
 * here overflows. */
#include "encoding/slab.h"

#include "base/arith.h"

bool tare_encoding_has_scope(const tare_encoding *encoding, tare_plane_scope scope) {
    for (uint32_t p = 0; p < encoding->n_planes; p++)
        if (encoding->planes[p].scope == scope) return true;
    return false;
}

uint64_t tare_encoding_step(const tare_encoding *encoding) {
    uint64_t step = encoding->block;
    for (uint32_t p = 0; p < encoding->n_planes; p++)
        if (encoding->planes[p].scope == TARE_PLANE_ELEMENTS)
            step = tare_common_multiple(step, encoding->planes[p].unit);
    return step;
}

bool tare_encoding_is_linear(const tare_encoding *encoding, uint64_t cols) {
    for (uint32_t p = 0; p < encoding->n_planes; p++)
        if (encoding->planes[p].scope != TARE_PLANE_ELEMENTS &&
            encoding->planes[p].scope != TARE_PLANE_TENSOR)
            return false;
    return encoding->is_bit_packed || cols % tare_encoding_step(encoding) == 0;
}

void tare_slab_range(const tare_slab *slab, const tare_encoding *encoding, uint32_t plane,
                     uint64_t *offset, uint64_t *size) {
    const tare_plane_info *info = &encoding->planes[plane];
    uint64_t row_bytes;
    switch (info->scope) {
    case TARE_PLANE_ELEMENTS:
        row_bytes = tare_ceil_div_u64(slab->row_length, info->unit) * info->unit_bytes;
        *offset = slab->row * row_bytes + slab->col / info->unit * info->unit_bytes;
        *size = (slab->n_rows - 1) * row_bytes +
                tare_ceil_div_u64(slab->n_cols, info->unit) * info->unit_bytes;
        return;
    case TARE_PLANE_ROW:
        *offset = slab->row * info->unit_bytes;
        *size = slab->n_rows * info->unit_bytes;
        return;
    case TARE_PLANE_TENSOR:
        *offset = 0;
        *size = info->unit_bytes;
        return;
    case TARE_PLANE_LIST:
        break;
    }
    *offset = *size = 0;
}

uint64_t tare_slab_bytes(const tare_slab *slab, const tare_encoding *encoding) {
    uint64_t offset, size, sum = 0;
    for (uint32_t p = 0; p < encoding->n_planes; p++) {
        tare_slab_range(slab, encoding, p, &offset, &size);
        sum += size;
    }
    return sum;
}

tare_rows tare_slab_rows(const tare_slab *slab, const tare_encoding *encoding,
                         const uint8_t *const *planes) {
    tare_rows rows = {.n_rows = slab->n_rows, .cols = slab->n_cols};
    for (uint32_t p = 0; p < encoding->n_planes; p++) {
        uint64_t offset, size;
        tare_slab_range(slab, encoding, p, &offset, &size);
        rows.planes[p] = planes[p] ? planes[p] + offset : NULL;
    }
    return rows;
}

tare_slab_walk tare_slab_walk_begin(uint64_t n_rows, uint64_t row_length, uint64_t n,
                                    uint64_t step) {
    tare_slab_walk walk = {.n_rows = n_rows, .row_length = row_length};
    walk.rows_at_once = tare_max_u64(n / tare_max_u64(row_length, 1), 1);
    walk.cols_at_once = row_length <= n ? row_length : tare_max_u64(n / step, 1) * step;
    return walk;
}

bool tare_slab_walk_next(tare_slab *out, tare_slab_walk *w) {
    if (w->row >= w->n_rows || w->row_length == 0) return false;
    *out = (tare_slab){.row = w->row,
                       .col = w->col,
                       .n_rows = tare_min_u64(w->rows_at_once, w->n_rows - w->row),
                       .n_cols = tare_min_u64(w->cols_at_once, w->row_length - w->col),
                       .row_length = w->row_length};
    w->col += out->n_cols;
    if (w->col >= w->row_length) {
        w->col = 0;
        w->row += out->n_rows;
    }
    return true;
}
