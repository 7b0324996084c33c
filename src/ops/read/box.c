/* SPDX-License-Identifier: MIT
 *
 * Converts a caller's request to a grid. */
#include "ops/read/box.h"

#include "base/arith.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"

/* ---- checking -------------------------------------------------------------------------------- */

static bool is_stored(const tare_read_job *job) {
    return job->as == TARE_ENCODING_UNKNOWN;
}

/* The plane that cells lie in: one of elements, if there is one. */
static uint32_t main_plane(const tare_encoding *e) {
    for (uint32_t p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope == TARE_PLANE_ELEMENTS) return p;
    return 0;
}

static tare_status check_type(const tare_grid *g, const tare_read_job *job, tare_error *err) {
    if (is_stored(job)) {
        if (job->plane >= g->t->encoding->n_planes)
            return tare_fail(err, TARE_ERR_ARG, "plane: the type has fewer");
        if (job->strides && !job->count)
            return tare_fail(err, TARE_ERR_ARG, "strides: of stored bytes only boxes have them");
        return TARE_OK;
    }
    if (!tare_float_bytes(job->as))
        return tare_fail(err, TARE_ERR_ARG, "tensors are decoded to f32, f16 or bf16");
    if (!tare_tensor_can_decode(g->m, g->tensor))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "this type cannot be decoded");
    return TARE_OK;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Elements of a cell along the last dimension. */
static tare_status unit_of(uint64_t *unit, const tare_grid *g, const tare_read_job *job,
                           tare_error *err) {
    const tare_encoding *e = g->t->encoding;
    *unit = 1;
    if (!is_stored(job)) return TARE_OK;
    const tare_plane_info *info = &e->planes[job->plane];
    if (e->kind == TARE_KIND_UNKNOWN || info->scope != TARE_PLANE_ELEMENTS)
        return tare_fail(err, TARE_ERR_ARG, "box: the plane is not one of elements");
    *unit = info->unit;
    if (e->is_bit_packed && g->t->cols % info->unit)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "box: units of this type run on across rows");
    return TARE_OK;
}

/* What a job asks for along one dimension. */
typedef struct extent {
    uint64_t start, count;
    int64_t step;
} extent;

static uint64_t size_of_step(int64_t step) {
    return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

static tare_status check_extent(const extent *x, uint64_t size, tare_error *err) {
    uint64_t reach;
    if (x->step == 0) return tare_fail(err, TARE_ERR_ARG, "box: a step of 0");
    if (x->count == 0) return TARE_OK;
    if (x->start < size && tare_mul_u64(x->count - 1, size_of_step(x->step), &reach) &&
        (x->step > 0 ? reach < size - x->start : reach <= x->start))
        return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG, "box: reaches beyond the tensor");
}

/* The last dimension in units. */
static tare_status to_units(extent *x, uint64_t cols, uint64_t unit, tare_error *err) {
    const uint64_t end = x->start + x->count;
    if (unit == 1 || x->count == 0) return TARE_OK;
    if (x->step != 1 || x->start % unit || (end % unit && end != cols))
        return tare_fail(err, TARE_ERR_ARG, "box: not whole units of the plane");
    *x = (extent){x->start / unit, tare_ceil_div_u64(x->count, unit), 1};
    return TARE_OK;
}

static tare_status extent_of(extent *out, const tare_grid *g, const tare_read_job *job, uint32_t d,
                             uint64_t unit, tare_error *err) {
    *out = (extent){.count = g->t->dims[d], .step = 1};
    if (job->count)
        *out =
            (extent){job->start ? job->start[d] : 0, job->count[d], job->step ? job->step[d] : 1};
    TARE_TRY(check_extent(out, g->t->dims[d], err));
    return d + 1 == g->t->n_dims ? to_units(out, g->t->cols, unit, err) : TARE_OK;
}

/* A negative step is a positive one from the other end. */
static void set_axis(tare_grid *g, tare_axis *axis, const extent *x, uint64_t distance,
                     int64_t stride) {
    *axis = (tare_axis){x->count, size_of_step(x->step) * distance, stride};
    g->first += x->start * distance;
    if (x->step > 0 || x->count == 0) return;
    g->first -= (x->count - 1) * axis->step;
    g->dst += (int64_t)(x->count - 1) * stride;
    axis->stride = -stride;
}

static tare_status make_axes(tare_grid *g, const tare_read_job *job, tare_error *err) {
    const tare_tensor *t = g->t;
    uint64_t unit, distance = 1, bytes = g->width;
    extent extents[TARE_MAX_DIMS];
    TARE_TRY(unit_of(&unit, g, job, err));
    g->n_cells = 1;
    for (uint32_t d = 0; d < t->n_dims; d++) TARE_TRY(extent_of(&extents[d], g, job, d, unit, err));
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (!tare_mul_u64(g->n_cells, extents[d].count, &g->n_cells))
            return tare_fail(err, TARE_ERR_LIMIT, "box: more than memory can hold");
    for (uint32_t d = t->n_dims; d-- > 0 && g->n_cells;) {
        set_axis(g, &g->axes[d], &extents[d], distance,
                 job->strides ? job->strides[d] : (int64_t)bytes);
        distance *= d + 1 == t->n_dims ? tare_ceil_div_u64(t->dims[d], unit) : t->dims[d];
        bytes *= extents[d].count;
    }
    g->n_axes = t->n_dims;
    return TARE_OK;
}

/* Bytes of a plane as they are: cells are its units where the range is one of units, as it has to
 * be in files of the other byte order. */
static tare_status make_range(tare_grid *g, const tare_read_job *job, tare_error *err) {
    const uint64_t size = g->t->planes[job->plane].size;
    const uint64_t unit = g->t->encoding->planes[job->plane].unit_bytes;
    uint64_t n = job->n_bytes;
    if (job->offset > size || n > size - job->offset)
        return tare_fail(err, TARE_ERR_ARG, "range: reaches beyond the plane");
    if (n == 0) n = size - job->offset;
    g->width = unit && job->offset % unit == 0 && n % unit == 0 ? (size_t)unit : 1;
    g->first = job->offset / g->width;
    g->n_cells = n / g->width;
    g->axes[0] = (tare_axis){g->n_cells, 1, (int64_t)g->width};
    g->n_axes = 1;
    return TARE_OK;
}

/* Leaves out axes of one position and joins those that continue each other. */
static void simplify(tare_grid *g) {
    unsigned n = 0;
    for (unsigned i = 0; i < g->n_axes; i++) {
        const tare_axis *next = &g->axes[i];
        tare_axis *last = n ? &g->axes[n - 1] : NULL;
        if (next->count == 1) continue;
        if (last && last->step == next->step * next->count &&
            last->stride == next->stride * (int64_t)next->count)
            *last = (tare_axis){last->count * next->count, next->step, next->stride};
        else
            g->axes[n++] = *next;
    }
    if (n == 0) g->axes[n++] = (tare_axis){g->n_cells, 1, (int64_t)g->width};
    g->n_axes = n;
}

static tare_status make(tare_grid *g, const tare_read_job *job, tare_error *err) {
    uint64_t bytes;
    size_t size;
    TARE_TRY(check_type(g, job, err));
    if (is_stored(job) && !job->count) {
        TARE_TRY(make_range(g, job, err));
    } else {
        g->width = is_stored(job) ? g->t->encoding->planes[job->plane].unit_bytes
                                  : tare_float_bytes(job->as);
        TARE_TRY(make_axes(g, job, err));
    }
    if (!tare_mul_u64(g->n_cells, g->width, &bytes) || !tare_size_of_u64(bytes, &size) ||
        bytes > INT64_MAX)
        return tare_fail(err, TARE_ERR_LIMIT, "box: more than memory can hold");
    if (g->n_cells == 0) g->n_axes = 0;
    simplify(g);
    return TARE_OK;
}

tare_status tare_grid_make(tare_grid *out, const tare_model *m, const tare_read_job *job,
                           tare_error *err) {
    if (job->tensor >= m->catalog.n_tensors)
        return tare_fail(err, TARE_ERR_ARG, "tensor: number out of range");
    const tare_tensor *t = &m->catalog.tensors[job->tensor];
    *out = (tare_grid){.m = m,
                       .tensor = job->tensor,
                       .t = t,
                       .as = job->as,
                       .plane = is_stored(job) ? job->plane : main_plane(t->encoding),
                       .dst = job->dst};
    const tare_status s = make(out, job, err);
    if (s != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)job->tensor, t->name);
    return s;
}

/* ---- cells ----------------------------------------------------------------------------------- */

tare_status tare_grid_read(void *out, const tare_grid *g, uint64_t first, uint64_t n,
                           tare_error *err) {
    if (g->as != TARE_ENCODING_UNKNOWN)
        return tare_tensor_values_as(out, g->as, g->m, g->tensor, first, n, err);
    return tare_tensor_read(out, g->m, g->tensor, g->plane, first * g->width,
                            (size_t)(n * g->width), err);
}

uint64_t tare_grid_place(const tare_grid *g, uint64_t cell) {
    const tare_encoding *e = g->t->encoding;
    const uint64_t start = g->t->planes[g->plane].offset;
    if (g->as == TARE_ENCODING_UNKNOWN) return start + cell * g->width;
    const uint64_t length = tare_encoding_is_linear(e, g->t->cols) ? g->t->n_elements : g->t->cols;
    const tare_slab at = {
        .row = cell / length, .col = cell % length, .n_rows = 1, .n_cols = 1, .row_length = length};
    uint64_t offset, size;
    tare_slab_range(&at, e, g->plane, &offset, &size);
    return start + offset;
}
