/* SPDX-License-Identifier: MIT
 *
 * What a choice is compared with: the named mixes, by the same measure, and the curve of the best
 * choices for all sizes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/fit/fit_parts.h"
#include "ops/mix/importance_matrix.h"

#define CURVE_STEP 0.25 /* bits per weight */
#define CURVE_MOST 80   /* points: 20 bits per weight */
#define NEARLY     0.98 /* of the damage of a point just before it: it tells nothing new */

static uint64_t tensor_bytes(const tare_fit *f, const size_t *choice) {
    uint64_t sum = f->base_tensor_bytes;
    for (size_t u = 0; u < f->n_units; u++)
        sum += tare_fit_bytes(f, &f->units[u], f->candidates[u][choice[u]], false);
    return sum;
}

tare_fit_point tare_fit_point_of(const tare_fit *f, const size_t *choice) {
    tare_fit_point point = {.mix = NULL};
    double bytes = f->base_bytes;
    for (size_t u = 0; u < f->n_units; u++) {
        const tare_fit_option *o = &f->options[u].options[choice[u]];
        bytes += o->cost;
        point.damage += o->loss;
    }
    point.file_bytes = (uint64_t)bytes;
    if (f->summary.n_weights)
        point.bits_per_weight = (double)tensor_bytes(f, choice) * 8 / (double)f->summary.n_weights;
    return point;
}

/* ---- named mixes ----------------------------------------------------------------------------- */

static size_t option_of(const tare_fit *f, size_t u, const tare_encoding *type) {
    const size_t k = tare_fit_type_index(f, type);
    for (size_t i = 0; k != SIZE_MAX && i < f->options[u].n; i++)
        if (f->candidates[u][i] == k) return i;
    return SIZE_MAX;
}

/* The options that a mix chooses; false: one of them is unknown, or the mix would be refused. */
static tare_status choose_by_mix(bool *is_known, size_t *choice, tare_fit *f, const tare_mix *mix,
                                 tare_arena *arena, tare_error *err) {
    tare_mix_options options = f->mix;
    bool has_roles;
    tare_mix_choice *types = TARE_NEW_ARRAY(arena, tare_mix_choice, f->in->catalog.n_tensors);
    if (!types) return tare_fail(err, TARE_ERR_NOMEM, "mix");
    const tare_importance *m = f->convert.importance;
    options.mix = mix;
    const tare_mix_request request = {.options = &options,
                                      .manual = f->manual,
                                      .has_importance = m && m->n_entries > 0,
                                      .by_file = f->convert.keep_split};
    TARE_TRY(tare_mix_choose(types, &has_roles, f->in, &request, arena, err));
    *is_known = true;
    for (size_t u = 0; u < f->n_units && *is_known; u++) {
        const size_t first = f->units[u].tensors[0];
        if (f->units[u].pinned) {
            choice[u] = 0; /* it has no other */
            continue;
        }
        const tare_mix_choice *c = &types[first];
        const bool is_refused = c->needs_importance &&
                                c->type != f->in->catalog.tensors[first].encoding &&
                                !tare_importance_has(m, &f->in->catalog.tensors[first]);
        choice[u] = c->type && !is_refused ? option_of(f, u, c->type) : SIZE_MAX;
        *is_known = choice[u] != SIZE_MAX;
    }
    return TARE_OK;
}

/* Of a file of the mix, in which no tensor is encoded by an estimate of importance. */
static tare_fit_point point_of_mix(const tare_fit *f, const size_t *choice) {
    tare_fit_point point = tare_fit_point_of(f, choice);
    point.file_bytes += (uint64_t)f->name_bytes;
    for (size_t u = 0; u < f->n_units; u++) {
        const tare_fit_unit *unit = &f->units[u];
        const size_t k = f->candidates[u][choice[u]];
        point.damage += unit->alpha * (unit->mix_error[k] - unit->error[k]);
    }
    return point;
}

static int by_size(const void *a, const void *b) {
    const tare_fit_point *x = &((const tare_fit_named *)a)->point;
    const tare_fit_point *y = &((const tare_fit_named *)b)->point;
    if (x->file_bytes != y->file_bytes) return x->file_bytes < y->file_bytes ? -1 : 1;
    return strcmp(x->mix, y->mix);
}

/* Whether a mix before has the same types: where there are no experts Q8_0 and MXFP4_MOE do. */
static bool is_known_choice(const tare_fit *f, const size_t *choice) {
    for (size_t i = 0; i < f->n_mixes; i++)
        if (memcmp(f->mixes[i].choice, choice, f->n_units * sizeof *choice) == 0) return true;
    return false;
}

tare_status tare_fit_find_mixes(tare_fit *f, tare_error *err) {
    const tare_mix *mix;
    tare_arena arena;
    tare_arena_init(&arena, f->convert.context->allocator);
    tare_status status = TARE_OK;
    f->mixes = TARE_NEW_ARRAY(&f->arena, tare_fit_named, TARE_MIX_COUNT);
    if (!f->mixes) status = tare_fail(err, TARE_ERR_NOMEM, "mixes");
    for (size_t i = 0; status == TARE_OK && (mix = tare_mix_at(i)) != NULL; i++) {
        bool is_known = false;
        if (!mix->type || mix->type->kind != TARE_KIND_BLOCK) continue;
        size_t *choice = TARE_NEW_ARRAY(&f->arena, size_t, f->n_units);
        if (!choice) status = tare_fail(err, TARE_ERR_NOMEM, "mixes");
        if (status == TARE_OK) status = choose_by_mix(&is_known, choice, f, mix, &arena, err);
        if (status != TARE_OK || !is_known || is_known_choice(f, choice)) continue;
        f->mixes[f->n_mixes] = (tare_fit_named){point_of_mix(f, choice), choice};
        f->mixes[f->n_mixes++].point.mix = mix->name;
    }
    if (status == TARE_OK) qsort(f->mixes, f->n_mixes, sizeof *f->mixes, by_size);
    tare_arena_free(&arena);
    return status;
}

/* ---- the best choice ------------------------------------------------------------------------- */

tare_status tare_fit_choose_within(size_t *choice, double *slope, tare_fit *f, double bytes,
                                   tare_error *err) {
    const tare_fit_problem p = {f->options, f->n_units, f->convert.context->allocator,
                                f->convert.context->cancel};
    TARE_TRY(tare_fit_allocate(choice, slope, &p, bytes, err));
    for (size_t i = 0; i < f->n_mixes; i++) {
        const tare_fit_option sum = tare_fit_sum(&p, f->mixes[i].choice);
        if (sum.cost > bytes || sum.loss >= tare_fit_sum(&p, choice).loss) continue;
        memcpy(choice, f->mixes[i].choice, f->n_units * sizeof *choice);
        TARE_TRY(tare_fit_improve(choice, &p, bytes, err));
    }
    return TARE_OK;
}

/* ---- curve ----------------------------------------------------------------------------------- */

static tare_status add_choice(tare_fit *f, size_t *choice, double bytes, tare_error *err) {
    double slope;
    TARE_TRY(tare_fit_choose_within(choice, &slope, f, bytes, err));
    f->curve[f->n_curve++] = tare_fit_point_of(f, choice);
    return TARE_OK;
}

/* The optima of the hulls, as far apart as the curve's points; where one large tensor takes more than that to the
 * next, the choices for the sizes between. */
static tare_status add_optima(tare_fit *f, const tare_fit_problem *p, size_t *choice,
                              size_t *between, tare_error *err) {
    const double step = CURVE_STEP / 8 * (double)f->summary.n_weights;
    tare_fit_cheapest(choice, p);
    f->curve[f->n_curve++] = tare_fit_point_of(f, choice);
    for (bool is_end = f->n_units == 0; !is_end && f->n_curve <= CURVE_MOST;) {
        double cost = tare_fit_sum(p, choice).cost + step;
        TARE_TRY(tare_fit_climb_beyond(choice, &is_end, p, cost, err));
        const double next = tare_fit_sum(p, choice).cost;
        for (; cost + step / 2 < next && f->n_curve < CURVE_MOST; cost += step)
            TARE_TRY(add_choice(f, between, cost, err));
        f->curve[f->n_curve++] = tare_fit_point_of(f, choice);
    }
    return TARE_OK;
}

/* Between two optima a mix may lose next to nothing: the choices for the sizes of mixes. */
static tare_status add_sizes_of_mixes(tare_fit *f, const tare_fit_problem *p, size_t *choice,
                                      tare_error *err) {
    for (size_t i = 0; i < f->n_mixes; i++)
        TARE_TRY(add_choice(f, choice, tare_fit_sum(p, f->mixes[i].choice).cost, err));
    return TARE_OK;
}

static int by_point(const void *a, const void *b) {
    const tare_fit_point *x = a, *y = b;
    if (x->file_bytes != y->file_bytes) return x->file_bytes < y->file_bytes ? -1 : 1;
    return (x->damage > y->damage) - (x->damage < y->damage);
}

tare_status tare_fit_draw_curve(tare_fit *f, tare_error *err) {
    const tare_fit_problem problem = {f->options, f->n_units, f->convert.context->allocator,
                                      f->convert.context->cancel};
    size_t *choice = TARE_NEW_ARRAY(&f->arena, size_t, f->n_units), n = 0;
    size_t *between = TARE_NEW_ARRAY(&f->arena, size_t, f->n_units);
    f->curve = TARE_NEW_ARRAY(&f->arena, tare_fit_point, CURVE_MOST + 1 + f->n_mixes);
    if (!choice || !between || !f->curve) return tare_fail(err, TARE_ERR_NOMEM, "curve");
    TARE_TRY(add_optima(f, &problem, choice, between, err));
    TARE_TRY(add_sizes_of_mixes(f, &problem, choice, err));
    qsort(f->curve, f->n_curve, sizeof *f->curve, by_point);
    for (size_t i = 0; i < f->n_curve;
         i++) { /* those that a smaller one is about as good as are none */
        const bool near =
            n > 0 && f->curve[i].bits_per_weight < f->curve[n - 1].bits_per_weight + CURVE_STEP / 2;
        if (n == 0 || f->curve[i].damage < f->curve[n - 1].damage * (near ? NEARLY : 1))
            f->curve[n++] = f->curve[i];
    }
    f->n_curve = n;
    return TARE_OK;
}
