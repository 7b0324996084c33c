/* SPDX-License-Identifier: MIT
 *
 * Reading a tensor once while planning, span by span and in parallel: for whoever must know its
 * numbers before a byte is written. */
#ifndef TARE_OPS_PLAN_SCAN_H
#define TARE_OPS_PLAN_SCAN_H

#include "base/pool.h"
#include "ops/plan.h"
#include "ops/spans.h"

/* Workers that a scan of this plan has. */
unsigned tare_plan_threads(const tare_plan *plan);
/* Runs a task for each span; *scratch is one for each worker while it runs. */
tare_status tare_plan_scan(const tare_plan *plan, const tare_spans *spans, tare_scratch **scratch,
                           tare_task_fn task, void *ctx, tare_error *err);
/* The spans of a planned tensor that is made anew: each within a slice, where columns are weighed.
 */
tare_status tare_plan_spans(tare_spans *spans, const tare_plan *plan, const tare_planned *planned,
                            tare_error *err);

#endif
