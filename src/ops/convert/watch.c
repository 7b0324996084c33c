/* SPDX-License-Identifier: MIT
 *
 * What is observed while a plan runs, whole or in part, and what is said of it. */
#include "ops/convert/watch.h"

#include <inttypes.h>

#include "base/report.h"

tare_status tare_watch_begin(tare_watch *watch, const tare_plan *p, tare_error *err) {
    bool encodes = false;
    for (size_t i = 0; i < tare_plan_n_stored(p); i++)
        encodes |=
            p->tensors[i].action == TARE_ACTION_ENCODE || p->tensors[i].action == TARE_ACTION_LOSSY;
    if (!encodes) return TARE_OK;
    watch->nonfinite =
        tare_alloc(p->options.context->allocator, tare_plan_n_stored(p) * sizeof *watch->nonfinite);
    if (!watch->nonfinite) return tare_fail(err, TARE_ERR_NOMEM, "counts of odd numbers");
    for (size_t i = 0; i < tare_plan_n_stored(p); i++)
        watch->nonfinite[i] = tare_nonfinite_counts_default();
    return p->options.measured ? tare_measure_new(&watch->measure, p, err) : TARE_OK;
}

static void report_count(const tare_plan *p, size_t tensor, const char *code, const char *what,
                         uint64_t count, uint64_t first) {
    if (count == 0) return;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, code);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)p->tensors[tensor].source;
    f.item_name = p->tensors[tensor].becomes->name;
    tare_report_addf(p->options.context->report, &f, "%" PRIu64 " %s, first at element %" PRIu64,
                     count, what, first);
}

tare_status tare_watch_report(const tare_watch *watch, const tare_plan *p, tare_error *err) {
    int64_t odd = -1;
    bool is_refused = false; /* even if the caller is not strict */
    for (size_t i = 0; watch->nonfinite && i < tare_plan_n_stored(p); i++) {
        const tare_nonfinite_counts *o = &watch->nonfinite[i];
        report_count(p, i, "convert.nan", "NaN", o->n_nan, o->first_nan);
        report_count(p, i, "convert.inf", "Inf", o->n_inf, o->first_inf);
        report_count(p, i, "convert.overflow", "out of range for the type", o->n_overflow,
                     o->first_overflow);
        if (o->n_nan + o->n_inf + o->n_overflow == 0) continue;
        bool is_here =
            p->format->caps->lacks_odd && p->tensors[i].becomes->encoding->kind == TARE_KIND_BLOCK;
        if (odd < 0 || (is_here && !is_refused)) odd = (int64_t)i;
        is_refused |= is_here;
    }
    if (odd < 0 || !(p->options.output->strict || is_refused)) return TARE_OK;
    const tare_planned *planned = &p->tensors[odd];
    tare_fail(err, TARE_ERR_UNSUPPORTED, "NaN, Inf or overflow among the numbers to encode");
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)planned->source, planned->becomes->name);
    return TARE_ERR_UNSUPPORTED;
}

void tare_watch_end(tare_watch *watch, const tare_plan *p) {
    tare_measure_free(watch->measure);
    tare_free(p->options.context->allocator, watch->nonfinite,
              tare_plan_n_stored(p) * sizeof *watch->nonfinite);
}
