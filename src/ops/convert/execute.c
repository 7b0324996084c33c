/* SPDX-License-Identifier: MIT
 *
 * Running executions: several together go through the input once, in its order; digests of what was written
 * come last. */
#include "ops/convert/jobs.h"

#include <stdlib.h>

#include "base/arith.h"

tare_status tare_execution_begin(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                                 _Atomic uint64_t *done, tare_error *err) {
    if (!sink->read) TARE_TRY(tare_execution_refuse_digests(x, err));
    x->sink = sink;
    x->watch = watch ? *watch : (tare_watch){0};
    x->done = done;
    x->first_task = 0;
    for (size_t i = 0; i < x->plan->files.n_files; i++)
        atomic_store(&x->file_left[i], x->file_tasks[i]);
    return TARE_OK;
}

tare_status tare_execution_task(void *ctx, uint64_t i, unsigned worker, tare_error *err) {
    tare_execution *x = ctx;
    const uint64_t task = x->first_task + i;
    const uint32_t file = tare_job_of(x, task)->file;
    uint64_t n_bytes = 0;
    TARE_TRY(tare_job_run(x, task, &x->scratch[worker], &n_bytes, err));
    atomic_fetch_add_explicit(x->done, n_bytes, memory_order_relaxed);
    if (atomic_fetch_sub(&x->file_left[file], 1) == 1 && x->sink->file_done)
        return x->sink->file_done(x->sink->ctx, file, err);
    return TARE_OK;
}

/* A task of one of several executions, and the byte of the input where what it reads begins. */
typedef struct turn {
    uint64_t offset, task;
    uint32_t file, x;
} turn;

/* Executions that run together. */
typedef struct joint {
    tare_execution *const *x;
    size_t n;
    turn *turns; /* NULL: those of the only one, in their order */
    uint64_t n_turns;
} joint;

/* What is in no file of the input comes first. */
static void place_turn(turn *t, const tare_execution *x, const tare_job *j, uint64_t index) {
    const tare_planned *planned;
    const tare_plane *plane;
    t->file = 0;
    t->offset = 0;
    switch (j->kind) {
    case TARE_JOB_RANGE:
        t->file = j->in_file;
        t->offset = j->in_offset + index * j->step;
        break;
    case TARE_JOB_PLANE:
    case TARE_JOB_CHUNKS:
        planned = &x->plan->tensors[j->item];
        plane = planned->from->catalog.tensors[planned->source].planes;
        if (j->kind == TARE_JOB_PLANE) plane += j->plane;
        t->file = plane->file;
        t->offset = plane->offset + plane->size / tare_job_tasks(x, j) * index;
        break;
    default:
        break;
    }
}

static int by_input(const void *a, const void *b) {
    const turn *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static tare_status order_turns(joint *together, tare_error *err) {
    const tare_allocator *a = together->x[0]->plan->options.context->allocator;
    turn *t;
    for (size_t i = 0; i < together->n; i++) together->n_turns += together->x[i]->first_digest;
    if (together->n == 1) return TARE_OK;
    together->turns = t = tare_alloc(a, (size_t)together->n_turns * sizeof *t);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    for (size_t i = 0; i < together->n; i++) {
        const tare_execution *x = together->x[i];
        for (uint64_t task = 0; task < x->first_digest; task++, t++) {
            const tare_job *j = tare_job_of(x, task);
            *t = (turn){.task = task, .x = (uint32_t)i};
            place_turn(t, x, j, task - j->first_task);
        }
    }
    qsort(together->turns, (size_t)together->n_turns, sizeof *t, by_input);
    return TARE_OK;
}

static tare_status run_turn(void *ctx, uint64_t i, unsigned worker, tare_error *err) {
    const joint *together = ctx;
    if (!together->turns) return tare_execution_task(together->x[0], i, worker, err);
    const turn *t = &together->turns[i];
    return tare_execution_task(together->x[t->x], t->task, worker, err);
}

static tare_status run_digests(tare_execution *x, tare_run run, tare_error *err) {
    if (x->n_tasks == x->first_digest) return TARE_OK;
    run.task = tare_execution_task;
    run.ctx = x;
    run.n_tasks = x->n_tasks - x->first_digest;
    x->first_task = x->first_digest;
    return tare_run_parallel(&run, err);
}

static tare_status run_joint(joint *together, tare_run run, tare_error *err) {
    const tare_allocator *a = run.context.allocator;
    tare_scratch *scratch = tare_scratch_new(run.context.threads, a);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    for (size_t i = 0; i < together->n; i++) together->x[i]->scratch = scratch;
    tare_status status = order_turns(together, err);
    run.task = run_turn;
    run.ctx = together;
    run.n_tasks = together->n_turns;
    if (status == TARE_OK) status = tare_run_parallel(&run, err);
    for (size_t i = 0; i < together->n && status == TARE_OK; i++)
        status = run_digests(together->x[i], run, err);
    for (size_t i = 0; i < together->n; i++) together->x[i]->scratch = NULL;
    tare_scratch_delete(scratch, run.context.threads, a);
    if (together->turns)
        tare_free(a, together->turns, (size_t)together->n_turns * sizeof *together->turns);
    return status;
}

tare_status tare_executions_run(tare_execution *const *x, size_t n, const tare_sink *sinks,
                                const tare_watch *watches, _Atomic uint64_t *done, uint64_t total,
                                tare_error *err) {
    const tare_convert_options *o = &x[0]->plan->options;
    tare_run run = {.context = *o->context, .total = total, .done = done};
    joint together = {.x = x, .n = n};
    for (size_t i = 0; i < n; i++)
        TARE_TRY(tare_execution_begin(x[i], &sinks[i], watches ? &watches[i] : NULL, done, err));
    if (!run.context.threads) run.context.threads = tare_default_threads();
    if (sinks[0].is_sequential) run.context.threads = 1;
    return run_joint(&together, run, err);
}

tare_status tare_execution_run(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                               _Atomic uint64_t *done, uint64_t total, tare_error *err) {
    return tare_executions_run(&x, 1, sink, watch, done, total, err);
}
