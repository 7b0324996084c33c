/* SPDX-License-Identifier: MIT
 *
 * Shapes over strided axes: reshaping, cutting and reordering without moving an element. */
#include "base/arith.h"
#include "llama/view.h"

bool tare_llama_shape_init(tare_llama_shape *s, const uint64_t *dims, uint32_t n_dims) {
    uint64_t stride = 1;
    if (n_dims > TARE_LLAMA_DIMS) return false;
    *s = (tare_llama_shape){.n_dims = n_dims};
    for (uint32_t d = n_dims; d-- > 0;) {
        s->dims[d] = (tare_llama_dim){dims[d], 1, {{dims[d], stride}}};
        stride *= dims[d]; /* all of it fits: the tensor's elements were counted */
    }
    return true;
}

uint64_t tare_llama_shape_elements(const tare_llama_shape *s) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < s->n_dims; d++) n *= s->dims[d].extent;
    return n;
}

/* All axes that have more than one step, slowest first. False: too many. */
static bool all_axes(tare_piece_axis *axes, uint32_t *n, const tare_llama_shape *s) {
    *n = 0;
    for (uint32_t d = 0; d < s->n_dims; d++)
        for (uint32_t i = 0; i < s->dims[d].n_axes; i++) {
            if (s->dims[d].axes[i].extent == 1) continue;
            if (*n == TARE_PIECE_AXES) return false;
            axes[(*n)++] = s->dims[d].axes[i];
        }
    return true;
}

/* Takes a dimension of `extent` from the end of the axes; one that it ends within is split. */
static bool take_dim(tare_llama_dim *out, uint64_t extent, tare_piece_axis *axes, uint32_t *n) {
    tare_piece_axis taken[TARE_PIECE_AXES];
    uint32_t n_taken = 0;
    *out = (tare_llama_dim){.extent = extent};
    for (uint64_t left = extent; left > 1;) {
        if (*n == 0 || n_taken == TARE_PIECE_AXES) return false;
        tare_piece_axis *last = &axes[*n - 1];
        if (left % last->extent == 0) {
            left /= last->extent;
            taken[n_taken++] = *last;
            --*n;
        } else {
            if (last->extent % left != 0) return false;
            taken[n_taken++] = (tare_piece_axis){left, last->stride};
            last->extent /= left;
            last->stride *= left;
            left = 1;
        }
    }
    while (n_taken > 0) out->axes[out->n_axes++] = taken[--n_taken];
    return true;
}

bool tare_llama_shape_view(tare_llama_shape *s, const uint64_t *dims, uint32_t n_dims) {
    tare_piece_axis axes[TARE_PIECE_AXES];
    uint64_t product = 1;
    uint32_t n;
    if (n_dims > TARE_LLAMA_DIMS) return false;
    for (uint32_t d = 0; d < n_dims; d++)
        if (dims[d] == 0 || !tare_mul_u64(product, dims[d], &product)) return false;
    if (product != tare_llama_shape_elements(s) || !all_axes(axes, &n, s)) return false;
    tare_llama_shape t = {.n_dims = n_dims, .offset = s->offset};
    for (uint32_t d = n_dims; d-- > 0;)
        if (!take_dim(&t.dims[d], dims[d], axes, &n)) return false;
    *s = t;
    return true;
}

/* Of a dimension of several axes only whole steps of the slowest can be cut. */
bool tare_llama_shape_rows(tare_llama_shape *s, uint32_t dim, uint64_t from, uint64_t n) {
    if (dim >= s->n_dims || n == 0) return false;
    tare_llama_dim *d = &s->dims[dim];
    if (from > d->extent || n > d->extent - from) return false;
    if (n == d->extent) return true;
    tare_piece_axis *slowest = &d->axes[0];
    uint64_t step = d->extent / slowest->extent;
    if (from % step || n % step) return false;
    s->offset += from / step * slowest->stride;
    slowest->extent = n / step;
    d->extent = n;
    return true;
}

bool tare_llama_shape_order(tare_llama_shape *s, const uint32_t *order) {
    tare_llama_shape t = *s;
    for (uint32_t d = 0; d < s->n_dims; d++) {
        if (order[d] >= s->n_dims) return false;
        t.dims[d] = s->dims[order[d]];
    }
    *s = t;
    return true;
}

bool tare_llama_shape_finish(const tare_piece_view **out, const tare_llama_shape *s,
                             uint64_t n_source, tare_arena *arena) {
    tare_piece_axis axes[TARE_PIECE_AXES];
    uint32_t n, n_merged = 0;
    *out = NULL;
    if (!all_axes(axes, &n, s)) return false;
    /* Axes that go on where the next one ends are one. */
    for (uint32_t i = 0; i < n; i++) {
        tare_piece_axis *last = n_merged ? &axes[n_merged - 1] : NULL;
        if (last && last->stride == axes[i].extent * axes[i].stride) {
            last->extent *= axes[i].extent;
            last->stride = axes[i].stride;
        } else {
            axes[n_merged++] = axes[i];
        }
    }
    bool is_run = n_merged == 0 || (n_merged == 1 && axes[0].stride == 1);
    if (is_run && s->offset == 0 && tare_llama_shape_elements(s) == n_source) return true;
    tare_piece_view *view = TARE_NEW(arena, tare_piece_view);
    if (!view) return false;
    view->offset = s->offset;
    view->n_axes = n_merged;
    memcpy(view->axes, axes, n_merged * sizeof *axes);
    *out = view;
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

bool tare_llama_shape_keeps_blocks(const tare_llama_shape *s, uint64_t block) {
    if (s->n_dims == 0 || s->offset % block) return false;
    bool has_run = false;
    for (uint32_t d = 0; d < s->n_dims; d++)
        for (uint32_t i = 0; i < s->dims[d].n_axes; i++) {
            const tare_piece_axis *a = &s->dims[d].axes[i];
            const bool is_last = d + 1 == s->n_dims && i + 1 == s->dims[d].n_axes;
            const bool is_run = is_last && a->stride == 1 && a->extent % block == 0;
            has_run = has_run || is_run;
            if (!is_run && a->extent > 1 && a->stride % block) return false;
        }
    return has_run;
}
