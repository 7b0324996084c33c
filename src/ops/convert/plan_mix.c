/* SPDX-License-Identifier: MIT
 *
 * A mix in a plan: its choice for every tensor, the findings about it, and what is refused because
 * the result would be of little use: numbers that were quantized before, types of very few bits
 * without an importance matrix. */
#include <inttypes.h>

#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan.h"
#include "ops/mix/importance_matrix.h"

static const tare_tensor *source(const tare_plan *p, size_t i) {
    return &p->in->catalog.tensors[i];
}

static tare_status refuse(const tare_plan *p, size_t i, const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_ARG, what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, source(p, i)->name);
    return TARE_ERR_ARG;
}

/* Blocks as they are stored: not the codes of a packed weight in their order. */
static bool is_quantized(const tare_plan *p, size_t i) {
    return source(p, i)->encoding->kind == TARE_KIND_BLOCK &&
           tare_tensor_origin(p->in, i).encoding->kind == TARE_KIND_BLOCK;
}

/* Whether a choice is acceptable: a tensor that already has the type is only copied. */
static tare_status check(const tare_plan *p, size_t i, const tare_mix_choice *c, tare_error *err) {
    const tare_tensor *t = source(p, i);
    if (!c->type || c->type == t->encoding) return TARE_OK;
    if (is_quantized(p, i) && !p->mix.allow_requantize) {
        refuse(p, i,
               "it is quantized already, and doing that again would lose more: start from the "
               "unquantized model, or give `allow_requantize`",
               err);
        tare_error_code(err, TARE_CODE_QUANTIZED);
        return TARE_ERR_ARG;
    }
    if (!c->needs_importance || tare_importance_has(p->options.importance, t)) return TARE_OK;
    refuse(p, i,
           p->options.importance
               ? "it has so few bits that it needs an importance matrix, and the one given has no "
                 "entry for the tensor, or it is left out"
               : "it has so few bits that it needs an importance matrix: give one with `imatrix`, "
                 "or take a larger type",
           err);
    if (!p->options.importance) tare_error_code(err, TARE_CODE_NEEDS_IMPORTANCE);
    tare_error_detail(err, "type %s", c->type->name);
    return TARE_ERR_ARG;
}

static tare_finding fallback_finding(const tare_plan *p, int64_t i, const char *code) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, code);
    f.item = i;
    if (i < 0) return f;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = source(p, (size_t)i)->name;
    return f;
}

/* Reports the tensors that got a type other than the one their mix has for them; *first: the first,
 * -1: none. */
static void report_fallbacks(const tare_plan *p, const tare_mix_choice *choices, int64_t *first) {
    size_t n = p->in->catalog.n_tensors, n_fallbacks = 0;
    *first = -1;
    for (size_t i = 0; i < n; i++) {
        const tare_mix_choice *c = &choices[i];
        if (!c->wanted) continue;
        if (n_fallbacks++ == 0) *first = (int64_t)i;
        tare_finding f = fallback_finding(p, (int64_t)i, "mix.fallback");
        tare_report_addf(p->options.context->report, &f,
                         "%s, not %s: rows of %" PRIu64
                         " are not a whole number of blocks of %" PRIu32,
                         c->type->name, c->wanted->name, source(p, i)->cols, c->wanted->block);
    }
    if (n_fallbacks == 0) return;
    tare_finding f = fallback_finding(p, -1, "mix.fallbacks");
    tare_report_addf(p->options.context->report, &f, "%zu of %zu tensors needed a fallback",
                     n_fallbacks, n);
}

/* Tensors for which a rule decides need no role. */
static void report_roles(tare_plan *p, const tare_mix_choice *choices,
                         const tare_encoding *const *manual, bool has_roles) {
    static const char what[] = "the roles of tensors do not follow from their names";
    if (has_roles || p->format->stored.has_one_type || !p->mix.mix->type ||
        p->in->catalog.n_tensors == 0)
        return;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "mix.no-roles");
    bool has_any = false, has_ruled = false;
    for (size_t i = 0; i < p->in->catalog.n_tensors; i++) {
        const bool is_ruled = manual && manual[i];
        has_ruled |= is_ruled && choices[i].type;
        has_any |= !is_ruled && choices[i].type;
    }
    if (!has_any && has_ruled) return;
    if (has_any)
        tare_strict_note(&p->strict, &f, what,
                         "the roles of tensors do not follow from their names: all matrices except "
                         "norms become %s",
                         p->mix.mix->type->name);
    else
        tare_strict_note(&p->strict, &f, what,
                         "the roles of tensors do not follow from their names, and no tensor is a "
                         "matrix to quantize: nothing is changed");
}

/* A mix that applies to nothing is not recorded as done. */
static void drop_idle_mix(tare_plan *p, const tare_mix_choice *choices, bool has_roles) {
    for (size_t i = 0; i < p->in->catalog.n_tensors; i++)
        if (choices[i].type) return;
    if (!p->mix.mix->type) return;
    const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "mix.nothing");
    if (has_roles || p->in->catalog.n_tensors == 0)
        tare_strict_note(&p->strict, &f, "the model has no tensor to quantize",
                         "the model has no tensor to quantize: none becomes %s", p->mix.mix->name);
    p->mix.mix = NULL;
}

/* Which tensors the output's program wants in a type of their own. */
static bool *find_fixed(const tare_plan *p, tare_arena *arena) {
    bool *stays = TARE_NEW_ARRAY(arena, bool, p->in->catalog.n_tensors);
    for (size_t i = 0; stays && i < p->in->catalog.n_tensors; i++)
        stays[i] = tare_plan_fixed(p, i) > TARE_FIXED_F32;
    return stays;
}

tare_status tare_plan_mix(tare_mix_choice **out, int64_t *loss_tensor, tare_plan *plan,
                          const tare_encoding *const *manual, tare_arena *arena, tare_error *err) {
    const tare_importance *importance = plan->options.importance;
    tare_mix_options options = plan->mix;
    options.is_pure |= plan->format->stored.has_one_type;
    tare_mix_request request = {.options = &options,
                                .manual = manual,
                                .stays = find_fixed(plan, arena),
                                .by_file = plan->options.keep_split,
                                .has_importance = importance && importance->n_entries > 0};
    bool has_roles;
    *out = TARE_NEW_ARRAY(arena, tare_mix_choice, plan->in->catalog.n_tensors);
    if (!*out || !request.stays) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    TARE_TRY(tare_mix_choose(*out, &has_roles, plan->in, &request, arena, err));
    report_roles(plan, *out, manual, has_roles);
    for (size_t i = 0; i < plan->in->catalog.n_tensors; i++)
        TARE_TRY(check(plan, i, &(*out)[i], err));
    report_fallbacks(plan, *out, loss_tensor);
    drop_idle_mix(plan, *out, has_roles);
    return TARE_OK;
}
