/* SPDX-License-Identifier: MIT
 *
 * Which tensors may lose something: matrices of some size whose role does not forbid it. All their
 * numbers are read once, for their energy and magnitude. */
#include <string.h>

#include "base/arith.h"
#include "ops/lossy/lossy.h"
#include "ops/mix/roles.h"

enum { LEAST_WEIGHTS = 1 << 14, AT_ONCE = 1 << 14, PIECE = 1 << 20 };

#define TOO_LARGE 30000.0f /* f16 holds outliers, and what is opened again as f16 */

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
           tare_tensor_can_decode(m, i) && !tare_tensor_is_part(m, i);
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

static void add_up(sums *s, const float *x, const float *scaled, const float *weights, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const float a = x[i] < 0 ? -x[i] : x[i], b = scaled[i] < 0 ? -scaled[i] : scaled[i];
        const float size = a > b ? a : b;
        const double v = (double)scaled[i];
        if (!(a <= s->most && b <= s->most)) s->most = size <= TOO_LARGE ? size : TOO_LARGE;
        s->energy += weights ? v * v * (double)weights[i] : v * v;
    }
}

/* `x`: room for three times AT_ONCE. */
static tare_status survey_numbers(sums *s, const tare_lossy_run *r, float *x, tare_error *err) {
    const tare_lossy_target *t = &r->targets[s->target];
    const uint64_t end = tare_min_u64(s->first + PIECE, t->n);
    float *scaled = t->columns ? x + AT_ONCE : x, *weights = t->columns ? scaled + AT_ONCE : NULL;
    for (uint64_t at = s->first; at < end; at += AT_ONCE) {
        const uint64_t n = tare_min_u64(AT_ONCE, end - at);
        TARE_TRY(tare_tensor_values_f32(x, r->in, t->tensor, at, n, err));
        if (weights) {
            memcpy(scaled, x, (size_t)n * sizeof *x);
            tare_lossy_scale(scaled, weights, t, at, n);
        }
        add_up(s, x, scaled, weights, n);
    }
    return TARE_OK;
}

static tare_status survey_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const survey *v = ctx;
    const size_t size = 3 * AT_ONCE * sizeof(float);
    float *x = tare_alloc(v->r->options->context->allocator, size);
    (void)worker;
    if (!x) return tare_fail(err, TARE_ERR_NOMEM, "numbers");
    tare_status status = survey_numbers(&v->pieces[task], v->r, x, err);
    tare_free(v->r->options->context->allocator, x, size);
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
    const tare_run run = {.context = tare_steps_context_retain(r->options->context, &r->before),
                          .n_tasks = n,
                          .task = survey_piece,
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
    TARE_TRY(tare_lossy_check_importance(r, err));
    TARE_TRY(tare_mix_look(&r->model, r->in, false, &r->arena, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        r->n_weights += t->n_elements;
        if (!is_eligible(r->in, i)) continue;
        r->targets[r->n_targets] = (tare_lossy_target){
            .tensor = i, .n = t->n_elements, .rows = t->n_rows, .cols = t->cols};
        TARE_TRY(tare_lossy_weigh_columns(r, &r->targets[r->n_targets++], err));
    }
    TARE_TRY(survey_all(r, err));
    drop_unfit(r);
    if (!r->n_targets)
        return tare_fail(err, TARE_ERR_ARG,
                         "nothing to store with loss: the model has no matrix of finite numbers "
                         "that is not small");
    TARE_TRY(tare_lossy_estimate_kept(r, err));
    TARE_TRY(tare_lossy_weigh(r, err));
    set_bases(r);
    return TARE_OK;
}
