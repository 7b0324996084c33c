/* SPDX-License-Identifier: MIT
 *
 * Whether a tensor fits F16: sizes must be known before a byte is written, so a tensor that may or
 * may not become F16 is read once beforehand. docs/behaviour.md, "Conversion". */
#include <math.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "ops/plan.h"
#include "ops/spans.h"

/* Half way between the largest F16, 65504, and the next step: what rounds to infinity. */
#define F16_OVERFLOW 65520.0f

typedef struct scan {
    tare_spans spans;
    tare_scratch *scratch;
    atomic_bool overflows;
} scan;

static tare_status scan_span(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scan *s = ctx;
    tare_span span;
    if (atomic_load_explicit(&s->overflows, memory_order_relaxed)) return TARE_OK;
    TARE_TRY(tare_spans_decode(&span, &s->spans, task, &s->scratch[worker], err));
    bool overflows = false;
    for (uint64_t i = 0; i < tare_span_count(&span); i++) {
        float size = fabsf(span.values[i]);
        overflows |= size >= F16_OVERFLOW && size < INFINITY;
    }
    if (overflows) atomic_store(&s->overflows, true);
    return TARE_OK;
}

tare_status tare_plan_overflows_f16(bool *out, const tare_plan *plan, size_t tensor,
                                    tare_error *err) {
    const tare_convert_options *o = &plan->options;
    unsigned threads = o->threads ? o->threads : tare_default_threads();
    scan s = {.overflows = false};
    TARE_TRY(tare_spans_init(&s.spans, plan->in, tensor, NULL, err));
    s.scratch = tare_scratch_new(threads, o->allocator);
    if (!s.scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    tare_run run = {.threads = threads,
                    .n_tasks = s.spans.n_spans,
                    .task = scan_span,
                    .ctx = &s,
                    .progress = o->progress,
                    .progress_ctx = o->progress_ctx};
    tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(s.scratch, threads, o->allocator);
    *out = atomic_load(&s.overflows);
    return status;
}
