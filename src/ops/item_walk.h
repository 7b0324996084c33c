/* SPDX-License-Identifier: MIT
 *
 * Processing all items of a model (tensors, fillers) in parallel: the largest first, so that no
 * thread is left with a large one at the end; each thread with its own scratch memory; with
 * progress and cancellation even within an item, as one tensor may have gigabytes. */
#ifndef TARE_OPS_ITEM_WALK_H
#define TARE_OPS_ITEM_WALK_H

#include "base/alloc.h"
#include "base/pool.h"
#include "model/catalog.h"

/* Bytes that are read at a time: they stay in a core's second-level cache. */
#define TARE_PIECE ((size_t)256 << 10)

typedef struct tare_walk_job tare_walk_job;

typedef struct tare_walk {
    size_t n_items;
    uint64_t (*size_of)(const void *ctx, size_t item); /* bytes that will be ticked */
    tare_status (*visit)(void *ctx, size_t item, const tare_walk_job *job, tare_error *err);
    void *ctx;
    size_t scratch_size; /* a thread's */
    tare_context context;
} tare_walk;

/* What a visit works with. */
struct tare_walk_job {
    uint8_t *scratch;
    struct tare_walk_state *state; /* NULL: of no walk, nothing is counted */
};

/* Visits each item once. Errors: of the visits (of the lowest in order that failed), CANCELLED,
 * NOMEM. */
tare_status tare_walk_run(const tare_walk *walk, tare_error *err);
/* Reports n more bytes as done; CANCELLED if the caller wants to stop. */
tare_status tare_walk_tick(const tare_walk_job *job, uint64_t n, tare_error *err);

/* Bytes of a plane to read at a time: at most TARE_PIECE, whole units of the plane. */
size_t tare_walk_piece(const tare_tensor *t, uint32_t plane);
/* ERR_ARG where `path` is a file of the model: replacing it would take the input away. */
tare_status tare_walk_guard(const tare_model *model, const char *path, tare_error *err);
/* Names the tensor in a failure that has no item yet; returns the status. */
tare_status tare_walk_blame(tare_status status, const tare_model *model, size_t tensor,
                            tare_error *err);

#endif
