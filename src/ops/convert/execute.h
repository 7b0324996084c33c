/* SPDX-License-Identifier: MIT
 *
 * Moving the bytes of a plan: tasks of bounded size over all files, run by a few threads. The sink
 * decides where the bytes go: into files, through a pipe, or into a comparison with what was
 * written. */
#ifndef TARE_OPS_CONVERT_EXECUTE_H
#define TARE_OPS_CONVERT_EXECUTE_H

#include "ops/convert/chunks.h"
#include "ops/convert/watch.h"
#include "ops/output/sinks.h"

typedef struct tare_execution tare_execution;

/* Cuts a plan into tasks, for sinks that are sequential or for others. The plan must outlive it. */
tare_status tare_execution_new(tare_execution **out, const tare_plan *plan, bool is_sequential,
                               tare_error *err);
void tare_execution_free(tare_execution *x);
/* Calls `visit` with each range of the output's files that a plan leaves zero. */
typedef tare_status (*tare_gap_fn)(void *ctx, uint32_t file, uint64_t offset, uint64_t n,
                                   tare_error *err);
tare_status tare_plan_gaps(const tare_plan *plan, tare_gap_fn visit, void *ctx, tare_error *err);
/* Bytes that one run counts into `done`. */
uint64_t tare_execution_bytes(const tare_execution *x);
/* Runs all tasks of several plans at once, in the order of the input's bytes, so that each part of it
 * is read for all of them while it is at hand: sinks[i] and watches[i] (an array that may be NULL) are
 * those of x[i]. Counts `done` up and reports it, with `total`, as progress. Memory: as for one. */
tare_status tare_executions_run(tare_execution *const *x, size_t n, const tare_sink *sinks,
                                const tare_watch *watches, _Atomic uint64_t *done, uint64_t total,
                                tare_error *err);
/* The same for one, in the order of the output. `watch` NULL: nothing is observed. */
tare_status tare_execution_run(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                               _Atomic uint64_t *done, uint64_t total, tare_error *err);

/* ---- a part of the output -------------------------------------------------------------------- */

/* Whether what a plan writes can be made by ranges. UNSUPPORTED: its sizes are known only when all
 * is made. */
tare_status tare_plan_check_ranges(const tare_plan *plan, tare_error *err);

/* A place between two tasks of an execution whose sinks are sequential. */
typedef struct tare_cut {
    uint64_t task;
    uint32_t file; /* of the output, and where in it the task begins */
    uint64_t offset;
    uint64_t work; /* before it */
} tare_cut;

/* Bytes that its tasks read and write. */
uint64_t tare_execution_work(const tare_execution *x);
/* The first place before which there is this much work. Linear in the plan's tensors. UNSUPPORTED: the
 * format's files hold digests of what is written. */
tare_status tare_execution_cut(tare_cut *out, const tare_execution *x, uint64_t work,
                               tare_error *err);
/* Runs the tasks between two places, in the order of the output. Only `put` and `copy` of the sink are
 * called, with any number of threads. */
tare_status tare_execution_run_between(tare_execution *x, const tare_cut *from, const tare_cut *to,
                                       const tare_sink *sink, const tare_watch *watch,
                                       tare_error *err);

/* ---- a piece at a time ----------------------------------------------------------------------- */

/* A range of a file of the output that is made at once. */
typedef struct tare_made_piece {
    uint32_t file;
    uint64_t begin, end;
    uint64_t task; /* UINT64_MAX: zeros between what the plan has there */
} tare_made_piece;

/* The piece around a byte of a file, for an execution whose sinks are sequential: all such pieces, one
 * after the other, are the file. */
tare_status tare_execution_piece(tare_made_piece *out, const tare_execution *x, uint32_t file,
                                 uint64_t offset, tare_error *err);
/* Makes its bytes. One thread at a time uses an execution so, and it is not run besides.
 * UNSUPPORTED: the format's files hold digests of what is written. */
tare_status tare_execution_make(uint8_t *out, tare_execution *x, const tare_made_piece *made,
                                tare_scratch *scratch, tare_error *err);

#endif
