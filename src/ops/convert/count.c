/* SPDX-License-Identifier: MIT
 *
 * An Inf or NaN that was already in the source is not an overflow: a run of numbers with both kinds
 * is examined block by block. docs/behaviour.md, "Reports". */
#include "ops/convert/count.h"

#include <math.h>

#include "base/arith.h"
#include "encoding/slab.h"
#include "encoding/table.h"

static bool is_finite(const float *values, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* Row by row and block by block: rare, and for one chunk at most. */
static void count_blocks(tare_nonfinite_counts *sum, const tare_encoding *to, const float *values,
                         const tare_rows *rows, uint64_t position) {
    for (uint64_t r = 0; r < rows->n_rows; r++) {
        for (uint64_t c = 0; c < rows->cols; c += to->block) {
            uint64_t at = r * rows->cols + c;
            uint64_t n = tare_min_u64(to->block, rows->cols - c);
            if (!is_finite(values + at, n)) continue;
            tare_slab part = {
                .row = r, .col = c, .n_rows = 1, .n_cols = n, .row_length = rows->cols};
            tare_rows block = {.n_rows = 1, .cols = n};
            for (uint32_t p = 0; p < to->n_planes; p++) {
                uint64_t offset, size;
                tare_slab_range(&part, to, p, &offset, &size);
                block.planes[p] = rows->planes[p] + offset;
            }
            tare_count_overflow(sum, to, &block, position + at);
        }
    }
}

/* Finite numbers beyond the largest one of a format that has no mark for them. */
static void count_saturated(tare_nonfinite_counts *sum, const tare_encoding *to,
                            const float *values, uint64_t n, uint64_t position) {
    const float largest = tare_saturates_at(to);
    for (uint64_t i = 0; i < n && largest > 0; i++) {
        const float size = fabsf(values[i]);
        if (!(size > largest && size < INFINITY)) continue;
        sum->n_overflow++;
        sum->first_overflow = tare_min_u64(sum->first_overflow, position + i);
    }
}

void tare_count_recoded(tare_nonfinite_counts *sum, const tare_encoding *to, const float *values,
                        const tare_rows_mut *rows, uint64_t position) {
    tare_nonfinite_counts odd = tare_nonfinite_counts_default(),
                          overflow = tare_nonfinite_counts_default();
    tare_rows encoded = {.n_rows = rows->n_rows, .cols = rows->cols};
    for (uint32_t p = 0; p < to->n_planes; p++) encoded.planes[p] = rows->planes[p];
    tare_count_nonfinite(&odd, values, rows->n_rows * rows->cols, position);
    tare_count_overflow(&overflow, to, &encoded, position);
    if (overflow.n_overflow > 0 && odd.n_nan + odd.n_inf > 0) {
        overflow = tare_nonfinite_counts_default();
        count_blocks(&overflow, to, values, &encoded, position);
    }
    count_saturated(&overflow, to, values, rows->n_rows * rows->cols, position);
    sum->n_nan += odd.n_nan;
    sum->n_inf += odd.n_inf;
    sum->n_overflow += overflow.n_overflow;
    sum->first_nan = tare_min_u64(sum->first_nan, odd.first_nan);
    sum->first_inf = tare_min_u64(sum->first_inf, odd.first_inf);
    sum->first_overflow = tare_min_u64(sum->first_overflow, overflow.first_overflow);
}
