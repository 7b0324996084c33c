/* SPDX-License-Identifier: MIT
 *
 * What is observed while chunks are encoded. */
#ifndef TARE_OPS_CONVERT_WATCH_H
#define TARE_OPS_CONVERT_WATCH_H

#include "ops/convert/measure.h"
#include "ops/convert/plan.h"

typedef struct tare_watch {
    tare_nonfinite_counts
        *nonfinite;        /* those of tensor i of the plan are added to nonfinite[i]; NULL: none */
    tare_measure *measure; /* NULL: none */
} tare_watch;

/* What a run of a plan has to observe: `watch` is empty before, and to be ended in any case. */
tare_status tare_watch_begin(tare_watch *watch, const tare_plan *plan, tare_error *err);
/* Reports numbers that are none; UNSUPPORTED: with `strict`, or where the format cannot hold them. */
tare_status tare_watch_report(const tare_watch *watch, const tare_plan *plan, tare_error *err);
void tare_watch_end(tare_watch *watch, const tare_plan *plan);

#endif
