/* SPDX-License-Identifier: MIT */
#include "wcodec/layer/wc_spread.h"

#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/wc_join_units.h"

/* The stream's bytes from `at` on, at most up to `end` and the end of their unit, as far as the
 * window shows them. Returns how many these were. */
static uint64_t put_part(const tare_wc_window *t, const tare_coded_stream *p, const uint8_t *bytes,
                         uint64_t at, uint64_t end) {
    uint64_t to = at / p->field.width * p->field.stride + p->field.offset + at % p->field.width;
    uint64_t run =
        p->field.width == p->field.stride ? end - at : p->field.width - at % p->field.width;
    run = tare_min_u64(run, end - at);
    uint64_t low = tare_max_u64(to, t->offset), high = tare_min_u64(to + run, t->offset + t->n);
    if (low < high) memcpy(t->dst + (low - t->offset), bytes + (low - to), (size_t)(high - low));
    return run;
}

/* Units entirely inside the window, all but a few at its ends, are spread without checks. */
void tare_wc_scatter(const tare_wc_window *t, const tare_coded_stream *p,
                     const tare_wc_separator *separator, const uint8_t *bytes, uint64_t first,
                     uint64_t end) {
    if (!t->n) {
        memcpy(t->dst + (first - t->offset), bytes, (size_t)(end - first));
        return;
    }
    if (p->field.join.high_bits) {
        tare_wc_separate_units(t, p, separator, bytes, first, end);
        return;
    }
    uint64_t unit = tare_max_u64(tare_ceil_div_u64(first, p->field.width),
                                 tare_ceil_div_u64(t->offset, p->field.stride));
    uint64_t past = tare_min_u64(end / p->field.width, (t->offset + t->n) / p->field.stride);
    uint64_t at = first;
    bool has_whole = p->field.width < p->field.stride && unit < past;
    while (at < (has_whole ? unit * p->field.width : end))
        at += put_part(t, p, bytes + (at - first), at, end);
    if (!has_whole) return;
    tare_wc_kernels_get()->copy_units(
        t->dst + (unit * p->field.stride + p->field.offset - t->offset), p->field.stride,
        bytes + (at - first), p->field.width, (size_t)(past - unit), p->field.width);
    at = past * p->field.width;
    while (at < end) at += put_part(t, p, bytes + (at - first), at, end);
}
