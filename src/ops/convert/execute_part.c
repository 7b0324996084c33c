/* SPDX-License-Identifier: MIT
 *
 * A part of what an execution writes: where the tasks for so much work end, and a run of those between two
 * such places. */
#include "ops/convert/jobs.h"

#include "base/arith.h"
#include "ops/convert/plan_scan.h"

tare_status tare_plan_check_ranges(const tare_plan *plan, tare_error *err) {
    if (plan->format->write.pack)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a packed model: its size is known only when all of it is made");
    for (size_t i = 0; i < plan->catalog.n_tensors; i++)
        if (plan->tensors[i].outliers)
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "outliers are not computed by ranges");
    return TARE_OK;
}

/* What each task of a job reads and writes. */
static uint64_t task_work(const tare_execution *x, const tare_job *j) {
    uint64_t work = j->size;
    if (j->kind == TARE_JOB_CHUNKS) {
        const tare_planned *planned = &x->plan->tensors[j->item];
        work += tare_tensor_origin(planned->from, planned->source).size_bytes;
    } else if (j->kind != TARE_JOB_BYTES) {
        work += j->size;
    }
    return tare_max_u64(work / tare_job_tasks(x, j), 1);
}

uint64_t tare_execution_work(const tare_execution *x) {
    uint64_t work = 0;
    for (const tare_job *j = x->jobs; j < x->jobs + x->n_jobs; j++)
        work += task_work(x, j) * tare_job_tasks(x, j);
    return work;
}

/* Of a plane that some chunks add nothing to, the next chunk that does. */
static tare_status place_cut(tare_cut *out, const tare_execution *x, const tare_job *j,
                             uint64_t index, tare_error *err) {
    tare_chunks chunks;
    uint64_t offset = index * j->step, size = 1;
    if (j->kind == TARE_JOB_CHUNKS) {
        TARE_TRY(tare_plan_chunks(&chunks, x->plan, &x->plan->tensors[j->item], err));
        for (;; index++) {
            tare_chunks_range(&chunks, index, j->plane, &offset, &size);
            if (size || index == 0) break;
            if (index + 1 < chunks.n_chunks) continue;
            offset = j->size;
            index = chunks.n_chunks;
            break;
        }
    }
    out->task = j->first_task + index;
    out->file = j->file;
    out->offset = j->offset + offset;
    return TARE_OK;
}

tare_status tare_execution_cut(tare_cut *out, const tare_execution *x, uint64_t work,
                               tare_error *err) {
    const uint32_t last = (uint32_t)x->plan->files.n_files - 1;
    *out = (tare_cut){.task = x->n_tasks, .file = last, .offset = x->plan->files.files[last].size};
    TARE_TRY(tare_execution_refuse_digests(x, err));
    for (const tare_job *j = x->jobs; j < x->jobs + x->n_jobs; j++) {
        const uint64_t n = tare_job_tasks(x, j), each = task_work(x, j);
        const uint64_t index = work > out->work ? tare_ceil_div_u64(work - out->work, each) : 0;
        if (index < n) {
            out->work += index * each;
            return place_cut(out, x, j, index, err);
        }
        out->work += n * each;
    }
    return TARE_OK;
}

tare_status tare_execution_run_between(tare_execution *x, const tare_cut *from, const tare_cut *to,
                                       const tare_sink *sink, const tare_watch *watch,
                                       tare_error *err) {
    _Atomic uint64_t done;
    atomic_init(&done, 0);
    tare_run run = {.context = *x->plan->options.context,
                    .n_tasks = to->task - from->task,
                    .task = tare_execution_task,
                    .ctx = x,
                    .total = (to->work - from->work) / 2,
                    .done = &done};
    if (!run.context.threads) run.context.threads = tare_default_threads();
    TARE_TRY(tare_execution_begin(x, sink, watch, &done, err));
    x->first_task = from->task;
    x->scratch = tare_scratch_new(run.context.threads, run.context.allocator);
    if (!x->scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    const tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(x->scratch, run.context.threads, run.context.allocator);
    x->scratch = NULL;
    return status;
}
