/* SPDX-License-Identifier: MIT
 *
 * Which tensors may lose something: matrices of some size whose role does not forbid it. All their
 * numbers are read once, for their energy and magnitude. Importance is clipped: a few columns of
 * thousandfold importance say little about what error in them does. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/lossy_record.h"
#include "ops/lossy/lossy.h"
#include "ops/mix/importance_matrix.h"
#include "ops/mix/roles.h"

enum { LEAST_WEIGHTS = 1 << 14, AT_ONCE = 1 << 16, PIECE = 1 << 20 };

#define CLIPPED_AT    10.0f /* medians */
#define LEAST_COUNTED 1e-3f
#define TOO_LARGE     30000.0f /* f16 holds outliers, and what is opened again as f16 */

/* ---- which ----------------------------------------------------------------------------------- */

static bool is_eligible(const tare_model *m, size_t i) {
    const tare_tensor *t = &m->catalog.tensors[i];
    const tare_role_info role = tare_role_of_name(t->name);
    const tare_encoding_id id = t->encoding->id;
    const bool is_plain =
        id == TARE_ENCODING_F32 || id == TARE_ENCODING_F16 || id == TARE_ENCODING_BF16;
    return t->n_dims >= 2 && t->n_rows > 1 && t->cols > 1 && t->n_elements >= LEAST_WEIGHTS &&
           t->n_rows <= UINT32_MAX && t->cols <= UINT16_MAX + 1u && !role.is_bias &&
           !role.is_kept && (is_plain || t->encoding->kind == TARE_KIND_BLOCK) &&
           tare_tensor_can_decode(m, i) && !tare_tensor_needs_rows(m, i);
}

/* A share of the bytes that such types usually shrink to. */
static double kept_bytes(const tare_tensor *t) {
    const double share = t->encoding->id == TARE_ENCODING_BF16  ? 0.66
                         : t->encoding->kind == TARE_KIND_BLOCK ? 0.96
                                                                : 0.84;
    return (double)t->size_bytes * share;
}

/* ---- importance ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static float median_of(float *scratch, const float *values, uint64_t n) {
    memcpy(scratch, values, (size_t)n * sizeof *values);
    qsort(scratch, (size_t)n, sizeof *scratch, by_size);
    return scratch[n / 2];
}

/* The mean over the slices, each clipped at its own median; false: it says nothing. */
static bool add_slices(float *sum, float *scratch, const float *values, uint64_t n_slices,
                       uint64_t cols) {
    bool is_any = false;
    for (uint64_t s = 0; s < n_slices; s++, values += cols) {
        const float median = median_of(scratch, values, cols);
        if (!(median > 0)) continue;
        is_any = true;
        for (uint64_t c = 0; c < cols; c++) {
            float x = values[c] / median;
            x = x > CLIPPED_AT ? CLIPPED_AT : x;
            sum[c] += x < LEAST_COUNTED ? LEAST_COUNTED : x;
        }
    }
    return is_any;
}

/* Steps go with the inverse fourth root: with one table for all columns that is the best power. */
static int quarters_of(float importance) {
    const double q = -tare_lossy_log2((double)importance);
    int quarters = (int)(q < 0 ? q - 0.5 : q + 0.5);
    if (quarters > TARE_LOSSY_MOST_COLUMN) quarters = TARE_LOSSY_MOST_COLUMN;
    return quarters < -TARE_LOSSY_MOST_COLUMN ? -TARE_LOSSY_MOST_COLUMN : quarters;
}

static bool set_columns(tare_lossy_target *t, const float *importance, tare_arena *arena) {
    double sum = 0;
    t->columns = TARE_NEW_ARRAY(arena, int8_t, t->cols);
    t->inverse = TARE_NEW_ARRAY(arena, float, t->cols);
    t->weights = TARE_NEW_ARRAY(arena, float, t->cols);
    if (!t->columns || !t->inverse || !t->weights) return false;
    for (uint64_t c = 0; c < t->cols; c++) {
        t->columns[c] = (int8_t)quarters_of(importance[c]);
        const float factor = tare_lossy_factor(t->columns[c]);
        t->inverse[c] = 1.0f / factor;
        t->weights[c] = importance[c] * factor * factor;
        sum += (double)t->weights[c];
    }
    const float mean = (float)(sum / (double)t->cols);
    for (uint64_t c = 0; c < t->cols; c++) t->weights[c] /= mean;
    return true;
}

static tare_status weigh_columns(tare_lossy_run *r, tare_lossy_target *t, tare_error *err) {
    const tare_tensor *tensor = &r->in->catalog.tensors[t->tensor];
    const tare_importance *m = r->wish->importance;
    const float *values;
    const tare_importance_fit fit =
        m ? tare_importance_of_tensor(&values, m, tensor) : TARE_IMPORTANCE_NONE;
    if (fit == TARE_IMPORTANCE_WRONG &&
        tare_role_of_name(tensor->name).role != TARE_ROLE_TOKEN_EMBEDDING)
        return tare_fail_tensor(err, TARE_ERR_ARG, tensor, t->tensor,
                                "its importance matrix has another size: is it of this model?");
    if (fit != TARE_IMPORTANCE_FITS) return TARE_OK;
    const size_t size = (size_t)t->cols * sizeof(float);
    float *sum = tare_alloc(r->options->allocator, 2 * size);
    if (!sum) return tare_fail(err, TARE_ERR_NOMEM, "importance");
    memset(sum, 0, size);
    bool is_done = true;
    if (add_slices(sum, sum + t->cols, values, tare_importance_slices(tensor), t->cols))
        is_done = set_columns(t, sum, &r->arena);
    tare_free(r->options->allocator, sum, 2 * size);
    return is_done ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "importance");
}

static tare_status check_related(const tare_lossy_run *r, tare_error *err) {
    const tare_catalog *c = &r->in->catalog;
    const float *values;
    if (!r->wish->importance) return TARE_OK;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_importance_of_tensor(&values, r->wish->importance, &c->tensors[i]) !=
            TARE_IMPORTANCE_NONE)
            return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG,
                     "the importance matrix is of another model: it has an entry for no tensor of "
                     "this one");
}

/* ---- energy ---------------------------------------------------------------------------------- */

/* Of a piece of a target. */
typedef struct sums {
    size_t target;
    uint64_t first;
    double energy;
    float most;
} sums;

typedef struct survey {
    tare_lossy_run *r;
    sums *pieces;
} survey;

static void add_up(sums *s, const tare_lossy_target *t, const float *x, uint64_t first,
                   uint64_t n) {
    uint64_t col = first % t->cols;
    for (uint64_t i = 0; i < n; i++) {
        float size = x[i] < 0 ? -x[i] : x[i];
        double v = (double)x[i];
        if (t->columns) {
            v *= (double)t->inverse[col];
            if (t->inverse[col] > 1) size *= t->inverse[col];
        }
        if (!(size <= s->most)) s->most = size <= TOO_LARGE ? size : TOO_LARGE; /* NaN, too */
        s->energy += t->columns ? v * v * (double)t->weights[col] : v * v;
        if (++col == t->cols) col = 0;
    }
}

static tare_status survey_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const survey *v = ctx;
    sums *s = &v->pieces[task];
    const tare_lossy_target *t = &v->r->targets[s->target];
    const uint64_t end = tare_min_u64(s->first + PIECE, t->n);
    float *x = tare_alloc(v->r->options->allocator, AT_ONCE * sizeof *x);
    tare_status status = x ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "numbers");
    (void)worker;
    for (uint64_t at = s->first; at < end && status == TARE_OK; at += AT_ONCE) {
        const uint64_t n = tare_min_u64(AT_ONCE, end - at);
        status = tare_tensor_values_f32(x, v->r->in, t->tensor, at, n, err);
        if (status == TARE_OK) add_up(s, t, x, at, n);
    }
    tare_free(v->r->options->allocator, x, AT_ONCE * sizeof *x);
    return status;
}

static tare_status survey_all(tare_lossy_run *r, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_targets; i++)
        n += (size_t)tare_ceil_div_u64(r->targets[i].n, PIECE);
    survey v = {r, TARE_NEW_ARRAY(&r->arena, sums, n)};
    if (!v.pieces) return tare_fail(err, TARE_ERR_NOMEM, "numbers");
    n = 0;
    for (size_t i = 0; i < r->n_targets; i++)
        for (uint64_t at = 0; at < r->targets[i].n; at += PIECE)
            v.pieces[n++] = (sums){.target = i, .first = at};
    const tare_run run = {TARE_RUN_THREADS(r->options), .n_tasks = n, .task = survey_piece,
                          .ctx = &v};
    TARE_TRY(tare_run_parallel(&run, err));
    for (size_t i = 0; i < n; i++) {
        tare_lossy_target *t = &r->targets[v.pieces[i].target];
        t->energy += v.pieces[i].energy;
        if (v.pieces[i].most > t->most) t->most = v.pieces[i].most;
    }
    return TARE_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Numbers that are not finite, all 0, or too large: the tensor stays as it is. */
static bool set_type(tare_lossy_target *t, const tare_encoding *from) {
    t->type = from->kind == TARE_KIND_BLOCK ? TARE_ENCODING_F16 : from->id;
    return t->energy > 0 && t->most < TOO_LARGE;
}

static void drop_unfit(tare_lossy_run *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        if (set_type(t, r->in->catalog.tensors[t->tensor].encoding)) r->targets[n++] = *t;
    }
    r->n_targets = n;
}

/* Errors in steps of one distance for all are least where damage for each bit is the same: where
 * alpha * step^2 / energy is the same for each weight. */
static void set_bases(tare_lossy_run *r) {
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        const double square = t->energy / (t->alpha * (double)r->n_weights);
        t->base = tare_lossy_exp2(tare_lossy_log2(square) / 2);
    }
}

tare_status tare_lossy_find_targets(tare_lossy_run *r, tare_error *err) {
    const tare_catalog *c = &r->in->catalog;
    r->targets = TARE_NEW_ARRAY(&r->arena, tare_lossy_target, c->n_tensors);
    if (!r->targets) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(check_related(r, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        r->n_weights += t->n_elements;
        if (!is_eligible(r->in, i)) continue;
        r->targets[r->n_targets] = (tare_lossy_target){.tensor = i,
                                                       .n = t->n_elements,
                                                       .rows = t->n_rows,
                                                       .cols = t->cols,
                                                       .kept_bytes = kept_bytes(t)};
        TARE_TRY(weigh_columns(r, &r->targets[r->n_targets++], err));
    }
    TARE_TRY(survey_all(r, err));
    drop_unfit(r);
    if (!r->n_targets)
        return tare_fail(err, TARE_ERR_ARG,
                         "nothing to store with loss: the model has no matrix of finite numbers "
                         "that is not small");
    TARE_TRY(tare_lossy_weigh(r, err));
    set_bases(r);
    return TARE_OK;
}
