/* SPDX-License-Identifier: MIT
 *
 * What the loss of a tensor damages: its relative error, times the constant that choosing types for
 * a size has for its role and layer (ops/fit), or times a measured sensitivity. */
#include "ops/fit/fit_parts.h"
#include "ops/lossy/lossy.h"
#include "ops/mix/roles.h"

enum { N_ROLES = 32, MOST_LAYERS = 4096 };

#define LEAST_PART 1e-6 /* of the constant */

/* Where the weights of experts of one role and layer are counted: a constant is that of all experts
 * of a layer, which may be tensors of their own. */
static size_t place_of(const tare_role_info *role) {
    const int32_t layer = role->layer < 0 || role->layer >= MOST_LAYERS ? 0 : role->layer;
    return (size_t)layer * N_ROLES + (size_t)role->role % N_ROLES;
}

static tare_str name_of(const tare_lossy_run *r, const tare_lossy_target *t) {
    return r->in->catalog.tensors[t->tensor].name;
}

/* With an importance matrix the constant is that of errors weighed by it, or follows from the
 * squares of the numbers so weighed. */
static double alpha_of(const tare_lossy_run *r, const tare_lossy_target *t,
                       const tare_role_info *role, double all) {
    const tare_fit_constant c = tare_fit_constant_of(
        &r->model, role, tare_mix_is_tied(&r->model, r->in, t->tensor), (double)t->n / all);
    const double scale = tare_fit_scale_of_scores(r->in);
    if (!t->columns) return c.alpha;
    if (!(c.by_energy > 0) || t->slice != t->n) return c.weighed_alpha;
    return c.by_energy * scale * scale * t->energy * t->mean_weight * (double)t->medians[0] /
           (double)t->rows;
}

static void weigh_all(tare_lossy_run *r, double *of_experts) {
    double all = 0;
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_role_info role = tare_role_of_name(name_of(r, &r->targets[i]));
        all += (double)r->targets[i].n;
        if (role.expert >= 0) of_experts[place_of(&role)] += (double)r->targets[i].n;
    }
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        const tare_role_info role = tare_role_of_name(name_of(r, t));
        const bool is_one = role.expert >= 0 && r->model.has_roles; /* of several */
        t->share = is_one ? (double)t->n / of_experts[place_of(&role)] : 1;
        t->alpha = t->share * alpha_of(r, t, &role, all);
    }
}

/* A sensitivity of 0 is one that is too small to be measured. */
static tare_status measure_all(tare_lossy_run *r, tare_error *err) {
    tare_sensitivities measured;
    size_t n_missing = 0;
    TARE_TRY(tare_sensitivities_read(&measured, r->wish->sensitivities, &r->arena, err));
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        const double least = LEAST_PART * t->alpha;
        double value;
        if (tare_sensitivities_find(&value, &measured, name_of(r, t), t->share))
            t->alpha = value > least ? value : least;
        else
            n_missing++;
    }
    return tare_sensitivities_check(n_missing, r->n_targets, r->options->context->report, err);
}

tare_status tare_lossy_weigh(tare_lossy_run *r, tare_error *err) {
    const size_t size = (size_t)MOST_LAYERS * N_ROLES * sizeof(double);
    double *of_experts = tare_alloc(r->options->context->allocator, size);
    if (!of_experts) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < size / sizeof *of_experts; i++) of_experts[i] = 0;
    weigh_all(r, of_experts);
    tare_free(r->options->context->allocator, of_experts, size);
    return r->wish->sensitivities.len ? measure_all(r, err) : TARE_OK;
}
