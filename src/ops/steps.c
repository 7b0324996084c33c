/* SPDX-License-Identifier: MIT */
#include "ops/steps.h"

#include "base/arith.h"

/* A step may turn out slightly longer than expected: the length of metadata is known only once it
 * is text. The total is not changed. */
static bool report_step(void *ctx, uint64_t done, uint64_t total) {
    const tare_steps *s = ctx;
    const uint64_t all = tare_min_u64(s->done + done, s->total);
    (void)total;
    if (!s->shown || !s->total) return s->progress(s->ctx, all, s->total);
    return s->progress(s->ctx, (uint64_t)((double)all / (double)s->total * (double)s->shown),
                       s->shown);
}

static bool retain_step(void *ctx, uint64_t done, uint64_t total) {
    (void)done;
    return report_step(ctx, 0, total);
}

void tare_steps_end(tare_steps *s, uint64_t bytes) {
    s->done += bytes;
}

static tare_context with(const tare_context *whole, tare_progress_fn progress, tare_steps *steps) {
    tare_context c = *whole;
    c.progress = steps && steps->progress ? progress : NULL;
    c.progress_ctx = steps;
    return c;
}

tare_context tare_steps_context(const tare_context *whole, tare_steps *steps) {
    return with(whole, report_step, steps);
}

tare_context tare_steps_context_retain(const tare_context *whole, tare_steps *steps) {
    return with(whole, retain_step, steps);
}

tare_context tare_steps_context_quiet(const tare_context *whole) {
    return with(whole, NULL, NULL);
}
