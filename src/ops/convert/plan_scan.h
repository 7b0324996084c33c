/* SPDX-License-Identifier: MIT
 *
 * Reading a tensor once while planning, chunk by chunk and in parallel, for whatever depends on its
 * numbers before a byte is written. */
#ifndef TARE_OPS_CONVERT_PLAN_SCAN_H
#define TARE_OPS_CONVERT_PLAN_SCAN_H

#include "base/pool.h"
#include "ops/convert/chunks.h"
#include "ops/convert/plan.h"

/* The number of workers that a scan of this plan uses. */
unsigned tare_plan_threads(const tare_plan *plan);
/* Runs a task for each chunk; *scratch is one for each worker while it runs. */
tare_status tare_plan_scan(const tare_plan *plan, const tare_chunks *chunks, tare_scratch **scratch,
                           tare_task_fn task, void *ctx, tare_error *err);
/* The chunks of a planned tensor that is computed: each within one slice if columns are weighted.
 */
tare_status tare_plan_chunks(tare_chunks *chunks, const tare_plan *plan,
                             const tare_planned *planned, tare_error *err);

/* The importance of the rows of a chunk; NULL: none. */
tare_status tare_plan_chunk_importance(const float **out, const tare_planned *planned,
                                       const tare_chunks *chunks, uint64_t index,
                                       tare_scratch *scratch, tare_error *err);

#endif
