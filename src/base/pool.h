/* SPDX-License-Identifier: MIT
 *
 * Work in parallel: tasks 0..n-1, taken in order by a few threads. */
#ifndef TARE_BASE_POOL_H
#define TARE_BASE_POOL_H

#include "base/status.h"

/* Runs one task; `worker` is 0..n_workers-1, for per-thread scratch. A failure stops the rest. */
typedef tare_status (*tare_task_fn)(void *ctx, uint64_t task, unsigned worker, tare_error *err);

typedef struct tare_run {
    /* Threads, progress and cancelling. Progress is called from the calling thread, or, with
     * `parallel`, from one of the caller's at a time, about ten times a second. */
    tare_context context;
    uint64_t n_tasks;
    tare_task_fn task;
    void *ctx;
    uint64_t total;         /* what progress is told */
    _Atomic uint64_t *done; /* counted up by the tasks; may be NULL */
} tare_run;

/* Returns when all tasks have run, one has failed (the failure of the lowest task that failed is
 * reported), or progress or `cancel` asked to stop (CANCELLED). With one thread everything runs in
 * the caller. */
tare_status tare_run_parallel(const tare_run *run, tare_error *err);
/* How many threads it will have at most: workers are below that. */
unsigned tare_run_threads(const tare_run *run);
/* To be called now and then by work that may take more than a few milliseconds: CANCELLED if the
 * run whose task the calling thread is running is to stop; OK outside of any run. May report
 * progress: must not be called with a lock held. */
tare_status tare_run_check(tare_error *err);
/* The same for work that does not belong to a run. */
tare_status tare_cancel_check(const tare_cancel *cancel, tare_error *err);
/* The number of threads that affinity and the cgroup's CPU quota allow; at least 1. */
unsigned tare_default_threads(void);

#endif
