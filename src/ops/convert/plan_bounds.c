/* SPDX-License-Identifier: MIT
 *
 * The bounds of tensors' values, for formats that state them and for types whose only scale follows
 * from them: known from the input, given by the caller, or found by reading the tensor once before
 * a byte is written. docs/behaviour.md, "MCF". */
#include "base/report.h"
#include "base/str.h"
#include "encoding/slab.h"
#include "ops/convert/plan.h"

static bool is_recoded(const tare_planned *t) {
    return t->action == TARE_ACTION_ENCODE || t->action == TARE_ACTION_LOSSY;
}

static bool has_zero(const tare_encoding *e) {
    return e->id == TARE_ENCODING_MCF_INT8_ZERO || e->id == TARE_ENCODING_MCF_INT4_ZERO;
}

/* Whether the bounds of a tensor, as it will be stored, are needed. */
static bool is_wanted(const tare_plan *p, size_t i) {
    const tare_planned *t = &p->tensors[i];
    const tare_encoding *stored = p->catalog.tensors[i].encoding;
    if (is_recoded(t) && tare_encoding_has_scope(t->becomes->encoding, TARE_PLANE_TENSOR))
        return true;
    return (p->format->stored.extras & TARE_EXTRA_BOUNDS) && stored->kind == TARE_KIND_BLOCK;
}

static tare_status find_bounds(tare_value_bounds *out, const tare_plan *p, size_t i,
                               tare_error *err) {
    const tare_planned *t = &p->tensors[i];
    const tare_catalog *in = &p->in->catalog;
    const tare_convert_mcf_options *o = &p->mcf;
    tare_value_range range;
    bool is_kept = !is_recoded(t);
    if (is_kept && in->bounds && in->bounds[t->source].is_known) {
        *out = in->bounds[t->source];
        return TARE_OK;
    }
    if (!is_kept && o->has_clip) {
        *out = (tare_value_bounds){o->clip_min, o->clip_max, true};
        return TARE_OK;
    }
    TARE_TRY(tare_plan_range(&range, p, t->source, err));
    if (!is_kept && range.has_odd)
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t->becomes, t->source,
                                "NaN or Inf among the numbers to encode");
    *out = (tare_value_bounds){-range.largest, range.largest, true};
    if (has_zero(t->becomes->encoding)) *out = (tare_value_bounds){range.min, range.max, true};
    return TARE_OK;
}

/* Whether bounds that the input states for a tensor which keeps its type cannot be stored in the
 * output; if it is converted to MCF again, they are measured. */
static bool leaves_bounds(const tare_plan *p, size_t i) {
    const tare_value_bounds *in = p->in->catalog.bounds;
    const tare_planned *t = &p->tensors[i];
    return in && in[t->source].is_known && !is_recoded(t) && t->action != TARE_ACTION_REPACK &&
           !(p->format->stored.extras & TARE_EXTRA_BOUNDS);
}

static void report_left(const tare_plan *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) n += leaves_bounds(p, i);
    if (n)
        tare_report_addf(p->options.context->report,
                         &TARE_FINDING(INFO, TARE_OK, "convert.bounds-left"),
                         "the bounds that the input states of %zu tensor%s are lost: if it is "
                         "written to MCF again, they are measured anew",
                         n, n == 1 ? "" : "s");
}

tare_status tare_plan_bounds(tare_plan *plan, tare_error *err) {
    tare_value_bounds *bounds = NULL;
    size_t n = plan->catalog.n_tensors;
    for (size_t i = 0; i < n; i++) {
        bool is_code = plan->catalog.tensors[i].encoding->kind == TARE_KIND_UNKNOWN;
        if (!is_wanted(plan, i) && !(is_code && plan->in->catalog.bounds)) continue;
        if (!bounds) bounds = TARE_NEW_ARRAY(&plan->arena, tare_value_bounds, n);
        if (!bounds) return tare_fail(err, TARE_ERR_NOMEM, "bounds");
        if (is_code)
            bounds[i] = plan->in->catalog.bounds[plan->tensors[i].source];
        else
            TARE_TRY(find_bounds(&bounds[i], plan, i, err));
    }
    plan->catalog.bounds = bounds;
    report_left(plan);
    return TARE_OK;
}
