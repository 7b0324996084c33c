/* SPDX-License-Identifier: MIT
 *
 * Facts about a tensor's numbers that sizes and headers depend on, and that must therefore be known
 * before a byte is written: the tensor is read once beforehand. docs/behaviour.md, "Conversion". */
#include <math.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "encoding/repack.h"
#include "ops/convert/plan_scan.h"

/* Half way between the largest F16, 65504, and the next step: what rounds to infinity. */
#define F16_OVERFLOW 65520.0f

typedef struct scan {
    tare_chunks chunks;
    tare_scratch *scratch;
    tare_value_range *ranges; /* one a worker */
    atomic_bool is_over;      /* the answer is known */
} scan;

tare_status tare_plan_scan(const tare_plan *plan, const tare_chunks *chunks, tare_scratch **scratch,
                           tare_task_fn task, void *ctx, tare_error *err) {
    const tare_convert_options *o = &plan->options;
    const unsigned threads = tare_plan_threads(plan);
    *scratch = tare_scratch_new(threads, o->context->allocator);
    if (!*scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    tare_run run = {.context = *o->context, .n_tasks = chunks->n_chunks, .task = task, .ctx = ctx};
    run.context.threads = threads;
    tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(*scratch, threads, o->context->allocator);
    tare_merge_leave(plan->merge, chunks->tensor); /* which may not have been read to its end */
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)chunks->tensor,
                        plan->in->catalog.tensors[chunks->tensor].name);
    return status;
}

unsigned tare_plan_threads(const tare_plan *plan) {
    return plan->options.context->threads ? plan->options.context->threads : tare_default_threads();
}

/* Runs a task for each chunk of a tensor that is only decoded. */
static tare_status run_scan(scan *s, const tare_plan *plan, size_t tensor, tare_task_fn task,
                            tare_error *err) {
    TARE_TRY(tare_chunks_init(&s->chunks, plan->in, tensor, NULL, err));
    tare_merge_into(&s->chunks, plan->merge);
    return tare_plan_scan(plan, &s->chunks, &s->scratch, task, s, err);
}

/* ---- F16 ------------------------------------------------------------------------------------- */

static tare_status find_overflow(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scan *s = ctx;
    tare_chunk chunk;
    if (atomic_load_explicit(&s->is_over, memory_order_relaxed)) return TARE_OK;
    TARE_TRY(tare_chunks_decode(&chunk, &s->chunks, task, &s->scratch[worker], err));
    bool overflows = false;
    for (uint64_t i = 0; i < tare_chunk_count(&chunk); i++) {
        float size = fabsf(chunk.values[i]);
        overflows |= size >= F16_OVERFLOW && size < INFINITY;
    }
    if (overflows) atomic_store(&s->is_over, true);
    return TARE_OK;
}

tare_status tare_plan_overflows_f16(bool *out, const tare_plan *plan, size_t tensor,
                                    tare_error *err) {
    scan s = {.is_over = false};
    TARE_TRY(run_scan(&s, plan, tensor, find_overflow, err));
    *out = atomic_load(&s.is_over);
    return TARE_OK;
}

/* ---- the same numbers ------------------------------------------------------------------------ */

static bool is_same_number(float a, float b) {
    return a == b || (isnan(a) && isnan(b));
}

static tare_status find_change(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scan *s = ctx;
    tare_chunk chunk;
    if (atomic_load_explicit(&s->is_over, memory_order_relaxed)) return TARE_OK;
    tare_scratch *scratch = &s->scratch[worker];
    TARE_TRY(tare_chunks_decode(&chunk, &s->chunks, task, scratch, err));
    const uint64_t n = tare_chunk_count(&chunk);
    tare_rows_mut encoded;
    TARE_TRY(tare_chunks_encode(&encoded, &s->chunks, &chunk, NULL, scratch, err));
    float *again =
        (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_DECODED, n * sizeof *again);
    if (!again) return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
    const tare_rows rows = {
        .planes = {encoded.planes[0]}, .n_rows = encoded.n_rows, .cols = encoded.cols};
    TARE_TRY(tare_decode_rows(again, s->chunks.to, &rows, err));
    bool is_same = true;
    for (uint64_t i = 0; i < n; i++) is_same &= is_same_number(chunk.values[i], again[i]);
    if (!is_same) atomic_store(&s->is_over, true);
    return TARE_OK;
}

tare_status tare_plan_keeps_numbers(bool *out, const tare_plan *plan, size_t tensor,
                                    const tare_encoding *to, tare_error *err) {
    const tare_encoding *from = plan->in->catalog.tensors[tensor].encoding;
    scan s = {.is_over = false};
    /* What is read as F32 is not changed by becoming F32; F64 is rounded when it is read. */
    *out = from->id != TARE_ENCODING_F64;
    if (!*out || to->id == TARE_ENCODING_F32) return TARE_OK;
    TARE_TRY(tare_chunks_init(&s.chunks, plan->in, tensor, to, err));
    TARE_TRY(tare_plan_scan(plan, &s.chunks, &s.scratch, find_change, &s, err));
    *out = !atomic_load(&s.is_over);
    return TARE_OK;
}

/* ---- range ----------------------------------------------------------------------------------- */

static void add_values(tare_value_range *r, const float *values, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        float v = values[i];
        if (!(fabsf(v) < INFINITY)) {
            r->has_odd = true;
            continue;
        }
        r->min = v < r->min ? v : r->min;
        r->max = v > r->max ? v : r->max;
    }
}

static tare_status find_range(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scan *s = ctx;
    tare_chunk chunk;
    TARE_TRY(tare_chunks_decode(&chunk, &s->chunks, task, &s->scratch[worker], err));
    add_values(&s->ranges[worker], chunk.values, tare_chunk_count(&chunk));
    return TARE_OK;
}

tare_status tare_plan_range(tare_value_range *out, const tare_plan *plan, size_t tensor,
                            tare_error *err) {
    unsigned threads = tare_plan_threads(plan);
    scan s = {.is_over = false};
    *out = (tare_value_range){0};
    s.ranges = tare_alloc(plan->options.context->allocator, threads * sizeof *s.ranges);
    if (!s.ranges) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    for (unsigned t = 0; t < threads; t++) s.ranges[t] = (tare_value_range){0};
    tare_status status = run_scan(&s, plan, tensor, find_range, err);
    for (unsigned t = 0; t < threads; t++) {
        out->min = fminf(out->min, s.ranges[t].min);
        out->max = fmaxf(out->max, s.ranges[t].max);
        out->has_odd |= s.ranges[t].has_odd;
    }
    out->largest = fmaxf(-out->min, out->max);
    tare_free(plan->options.context->allocator, s.ranges, threads * sizeof *s.ranges);
    return status;
}

/* ---- codes ----------------------------------------------------------------------------------- */

static tare_status find_code(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    scan *s = ctx;
    tare_rows rows;
    if (atomic_load_explicit(&s->is_over, memory_order_relaxed)) return TARE_OK;
    TARE_TRY(tare_chunks_read(&rows, &s->chunks, task, &s->scratch[worker], err));
    if (!tare_repack_allows(s->chunks.from, &rows)) atomic_store(&s->is_over, true);
    return TARE_OK;
}

tare_status tare_plan_can_repack(bool *out, const tare_plan *plan, size_t tensor, tare_error *err) {
    scan s = {.is_over = false};
    TARE_TRY(run_scan(&s, plan, tensor, find_code, err));
    *out = !atomic_load(&s.is_over);
    return TARE_OK;
}
