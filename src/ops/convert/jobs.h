/* SPDX-License-Identifier: MIT
 *
 * The inside of an execution: jobs, each a series of tasks, in the order of the output. Every task knows
 * its bytes and their position, so that the result does not depend on which thread runs it, or when. Only
 * the tasks in flight need memory: docs/behaviour.md, "Memory and threads". */
#ifndef TARE_OPS_CONVERT_JOBS_H
#define TARE_OPS_CONVERT_JOBS_H

#include <pthread.h>

#include "ops/convert/execute.h"

/* Bytes of a range that a task moves; the scratch that a copy may need is as large. */
#define TARE_JOB_PIECE ((uint64_t)4 << 20)

typedef enum tare_job_kind {
    TARE_JOB_BYTES,    /* from memory */
    TARE_JOB_RANGE,    /* from a file of the input, as it is */
    TARE_JOB_RESOURCE, /* a resource */
    TARE_JOB_PLANE,    /* stored bytes of a plane, from one byte order to another */
    TARE_JOB_CHUNKS,   /* a tensor, decoded and encoded */
    TARE_JOB_DIGEST,   /* of a tensor, once everything else is written */
} tare_job_kind;

#define TARE_JOB_ALL_PLANES UINT32_MAX

typedef struct tare_job {
    tare_job_kind kind;
    uint32_t file; /* of the output */
    uint64_t offset, size;
    uint64_t step;       /* bytes per task, except for CHUNKS */
    uint64_t first_task; /* of all tasks */
    const uint8_t *bytes;
    const tare_model *from; /* RANGE: whose file it is */
    uint64_t in_offset;
    uint32_t in_file;
    uint32_t plane;                     /* CHUNKS: or TARE_JOB_ALL_PLANES */
    size_t item;                        /* resource of the input, or tensor of the plan */
    tare_plane planes[TARE_MAX_PLANES]; /* CHUNKS: where each begins, in which file of the output */
} tare_job;

struct tare_execution {
    const tare_plan *plan;
    tare_merge *merge; /* a copy of the plan's; NULL: none */
    tare_job *jobs;
    size_t n_jobs, jobs_capacity;
    uint64_t n_tasks, total_bytes;
    uint64_t first_digest;                 /* task; those before it are run before */
    uint64_t *file_tasks;                  /* for each output file */
    bool is_sequential;                    /* tasks write one range after the other */
    tare_plane (*planes)[TARE_MAX_PLANES]; /* where those of tensors begin; NULL: not needed */
    /* of the current run */
    const tare_sink *sink;
    uint64_t first_task;
    _Atomic uint64_t *file_left;
    _Atomic uint64_t *done;
    tare_scratch *scratch; /* one a worker */
    tare_watch watch;
    pthread_mutex_t mutex; /* guards the nonfinite */
};

/* The job that a task belongs to. */
const tare_job *tare_job_of(const tare_execution *x, uint64_t task);
uint64_t tare_job_tasks(const tare_execution *x, const tare_job *j);

/* Runs one task. *n_bytes: how far the work has got, in bytes of the output. */
tare_status tare_job_run(tare_execution *x, uint64_t task, tare_scratch *scratch, uint64_t *n_bytes,
                         tare_error *err);

/* For what makes parts of an output: files that hold digests of what is written are made whole. */
tare_status tare_execution_refuse_digests(const tare_execution *x, tare_error *err);
/* Sets an execution up for a run, and runs the i-th task of it (`ctx`). */
tare_status tare_execution_begin(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                                 _Atomic uint64_t *done, tare_error *err);
tare_status tare_execution_task(void *ctx, uint64_t i, unsigned worker, tare_error *err);

#endif
