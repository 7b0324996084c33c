/* SPDX-License-Identifier: MIT
 *
 * The order, the scratch memory and the progress of a walk over items; see item_walk.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/outfile.h"
#include "base/pool.h"
#include "ops/item_walk.h"

typedef struct sized_item {
    uint64_t size;
    size_t item;
} sized_item;

typedef struct tare_walk_state {
    const tare_walk *walk;
    const sized_item *order;
    uint8_t *scratch;
    uint64_t total;
    _Atomic uint64_t done;
} tare_walk_state;

static int largest_first(const void *a, const void *b) {
    const sized_item *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static tare_status visit_one(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    tare_walk_state *state = ctx;
    const tare_walk *walk = state->walk;
    uint8_t *scratch = state->scratch ? state->scratch + worker * walk->scratch_size : NULL;
    tare_walk_job job = {scratch, state};
    return walk->visit(walk->ctx, state->order[task].item, &job, err);
}

tare_status tare_walk_tick(const tare_walk_job *job, uint64_t n, tare_error *err) {
    if (job->state) atomic_fetch_add(&job->state->done, n);
    return tare_run_check(err);
}

tare_status tare_walk_run(const tare_walk *walk, tare_error *err) {
    tare_status s = TARE_OK;
    tare_walk_state state = {.walk = walk};
    tare_run run = {.context = walk->context,
                    .n_tasks = walk->n_items,
                    .task = visit_one,
                    .ctx = &state,
                    .done = &state.done};
    const size_t threads = tare_run_threads(&run);
    if (threads == 0) return TARE_OK;

    const size_t order_size = walk->n_items * sizeof(sized_item);
    const size_t scratch_size = threads * walk->scratch_size;
    sized_item *order = tare_alloc(walk->context.allocator, order_size);
    if (scratch_size) state.scratch = tare_alloc(walk->context.allocator, scratch_size);
    if (!order || (scratch_size && !state.scratch)) {
        s = tare_fail(err, TARE_ERR_NOMEM, "work memory");
        goto out;
    }
    for (size_t i = 0; i < walk->n_items; i++) {
        order[i] = (sized_item){walk->size_of(walk->ctx, i), i};
        state.total += order[i].size;
    }
    qsort(order, walk->n_items, sizeof *order, largest_first);
    state.order = order;
    run.total = state.total;
    s = tare_run_parallel(&run, err);
out:
    if (state.scratch) tare_free(walk->context.allocator, state.scratch, scratch_size);
    if (order) tare_free(walk->context.allocator, order, order_size);
    return s;
}

size_t tare_walk_piece(const tare_tensor *t, uint32_t plane) {
    uint32_t unit = t->encoding->planes[plane].unit_bytes;
    return unit > 1 ? TARE_PIECE - TARE_PIECE % unit : TARE_PIECE;
}

tare_status tare_walk_guard(const tare_model *model, const char *path, tare_error *err) {
    for (size_t i = 0; i < model->n_files; i++) {
        if (tare_same_file(path, &model->files[i].reader))
            return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT,
                                  "the output is the input");
    }
    return TARE_OK;
}

tare_status tare_walk_blame(tare_status status, const tare_model *model, size_t tensor,
                            tare_error *err) {
    if (status != TARE_OK && status != TARE_ERR_CANCELLED)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor,
                        model->catalog.tensors[tensor].name);
    return status;
}
