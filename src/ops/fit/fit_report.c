/* SPDX-License-Identifier: MIT
 *
 * What a fit tells about its choice: tensors, roles, rules, mixes, the curve. */
#include <string.h>

#include "ops/fit/fit_parts.h"

TARE_DEFINE_INIT(tare_fit_options)
TARE_DEFINE_INIT(tare_fit_target)

const tare_fit_summary *tare_fit_summarize(const tare_fit *fit) {
    return &fit->summary;
}

const tare_mix *tare_fit_mix(const tare_fit *fit) {
    return fit->rules.rules ? fit->named : NULL;
}

const tare_type_rule *tare_fit_rule(const tare_fit *fit, size_t i) {
    return fit->rules.rules && i < fit->rules.n ? &fit->rules.rules[i] : NULL;
}

bool tare_fit_mix_at(tare_fit_point *out, const tare_fit *fit, size_t i) {
    if (i >= fit->n_mixes) return false;
    *out = fit->mixes[i].point;
    return true;
}

bool tare_fit_curve_at(tare_fit_point *out, const tare_fit *fit, size_t i) {
    if (i >= fit->n_curve) return false;
    *out = fit->curve[i];
    return true;
}

static bool has_choice(const tare_fit *f) {
    return f->rules.rules || f->rules.schemes;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Tensors of a unit share its error, and its damage by their weights. */
static tare_fit_tensor tensor_of(const tare_fit *f, size_t u, size_t member) {
    const tare_fit_unit *unit = &f->units[u];
    const tare_tensor *t = &f->in->catalog.tensors[unit->tensors[member]];
    const size_t k = f->candidates[u][f->choice[u]];
    const double share = unit->n_weights ? (double)t->n_elements / (double)unit->n_weights : 0;
    return (tare_fit_tensor){.name = t->name,
                             .role = unit->kind,
                             .type = f->scheme_names ? NULL : f->types[k],
                             .scheme = f->scheme_names ? f->scheme_names[k] : NULL,
                             .n_weights = t->n_elements,
                             .bytes = tare_fit_bytes(f, unit, k, false) / unit->n_tensors,
                             .sensitivity = unit->alpha * share,
                             .error = unit->error[k],
                             .damage = unit->alpha * share * unit->error[k],
                             .is_measured = unit->is_measured,
                             .is_pinned = unit->pinned != NULL};
}

bool tare_fit_tensor_at(tare_fit_tensor *out, const tare_fit *fit, size_t i) {
    if (!has_choice(fit)) return false;
    for (size_t u = 0; u < fit->n_units; u++) {
        if (i < fit->units[u].n_tensors) {
            *out = tensor_of(fit, u, i);
            return true;
        }
        i -= fit->units[u].n_tensors;
    }
    return false;
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* The least damage of a unit at a number of bytes: on its hull, between two points. */
static double damage_at(const tare_fit *f, size_t u, double bytes) {
    size_t hull[TARE_FIT_TYPES_MAX];
    const tare_fit_option *o = f->options[u].options;
    const size_t n = tare_fit_hull(hull, &f->options[u]);
    size_t i = 0;
    while (i + 1 < n && o[hull[i + 1]].cost < bytes) i++;
    if (i + 1 >= n) return o[hull[n - 1]].loss;
    const tare_fit_option *a = &o[hull[i]], *b = &o[hull[i + 1]];
    return a->loss + (b->loss - a->loss) * (bytes - a->cost) / (b->cost - a->cost);
}

static void add_unit(tare_fit_role *role, const tare_fit *f, size_t u) {
    const tare_fit_unit *unit = &f->units[u];
    const tare_fit_option *now = &f->options[u].options[f->choice[u]];
    const double more = damage_at(f, u, now->cost + (double)unit->n_weights / 8);
    role->n_tensors += unit->n_tensors;
    role->n_weights += unit->n_weights;
    role->bytes += tare_fit_bytes(f, unit, f->candidates[u][f->choice[u]], false);
    role->damage += now->loss;
    if (now->loss > more) role->one_more += now->loss - more;
}

/* Whether no unit before this one has its role. */
static bool is_first(const tare_fit *f, size_t u) {
    for (size_t k = 0; k < u; k++)
        if (strcmp(f->units[k].kind, f->units[u].kind) == 0) return false;
    return true;
}

bool tare_fit_role_at(tare_fit_role *out, const tare_fit *fit, size_t i) {
    if (!has_choice(fit)) return false;
    for (size_t u = 0; u < fit->n_units; u++) {
        if (!is_first(fit, u) || i-- > 0) continue;
        *out = (tare_fit_role){.name = fit->units[u].kind};
        for (size_t k = u; k < fit->n_units; k++)
            if (strcmp(fit->units[k].kind, out->name) == 0) add_unit(out, fit, k);
        return true;
    }
    return false;
}
