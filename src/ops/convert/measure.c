/* SPDX-License-Identifier: MIT
 *
 * Each chunk is summed separately, and the sums are joined in order once all chunks of a tensor are
 * done, so that the numbers do not depend on threads. As tensors are encoded one after another,
 * only those in progress hold sums of chunks. */
#include "ops/convert/measure.h"

#include <pthread.h>

#include "encoding/deviation.h"

typedef struct measured {
    tare_deviation_sums *chunks; /* NULL: not begun, or done */
    uint64_t n_chunks, n_left;
    tare_deviation_sums whole;
    bool is_done;
} measured;

struct tare_measure {
    const tare_plan *plan;
    measured *tensors;
    pthread_mutex_t mutex; /* guards the list, not the sums of a chunk */
};

tare_status tare_measure_new(tare_measure **out, const tare_plan *plan, tare_error *err) {
    const tare_allocator *a = plan->options.context->allocator;
    size_t n = plan->catalog.n_tensors;
    *out = NULL;
    tare_measure *m = tare_alloc(a, sizeof *m);
    if (!m) return tare_fail(err, TARE_ERR_NOMEM, "measurement");
    *m = (tare_measure){.plan = plan, .tensors = tare_alloc(a, n * sizeof *m->tensors)};
    if (!m->tensors || pthread_mutex_init(&m->mutex, NULL) != 0) {
        tare_free(a, m->tensors, n * sizeof *m->tensors);
        tare_free(a, m, sizeof *m);
        return tare_fail(err, TARE_ERR_NOMEM, "measurement");
    }
    for (size_t i = 0; i < n; i++) m->tensors[i] = (measured){0};
    *out = m;
    return TARE_OK;
}

static void drop_chunks(tare_measure *m, measured *t) {
    tare_free(m->plan->options.context->allocator, t->chunks,
              (size_t)t->n_chunks * sizeof *t->chunks);
    t->chunks = NULL;
}

void tare_measure_free(tare_measure *m) {
    if (!m) return;
    const tare_allocator *a = m->plan->options.context->allocator;
    size_t n = m->plan->catalog.n_tensors;
    for (size_t i = 0; i < n; i++) drop_chunks(m, &m->tensors[i]);
    pthread_mutex_destroy(&m->mutex);
    tare_free(a, m->tensors, n * sizeof *m->tensors);
    tare_free(a, m, sizeof *m);
}

/* Adds the sums of the elements that follow. */
static void join(tare_deviation_sums *s, const tare_deviation_sums *next) {
    s->difference += next->difference;
    s->reference += next->reference;
    s->n_different += next->n_different;
    if (next->max_abs > s->max_abs) s->max_abs = next->max_abs;
}

/* Enters the sums of a chunk; the last one of a tensor joins them all. */
static tare_status enter(tare_measure *m, measured *t, uint64_t n_chunks, uint64_t index,
                         const tare_deviation_sums *sums, tare_error *err) {
    if (!t->chunks) {
        if (n_chunks <= SIZE_MAX / sizeof *t->chunks)
            t->chunks = tare_alloc(m->plan->options.context->allocator,
                                   (size_t)n_chunks * sizeof *t->chunks);
        if (!t->chunks) return tare_fail(err, TARE_ERR_NOMEM, "measurement");
        t->n_chunks = t->n_left = n_chunks;
    }
    t->chunks[index] = *sums;
    if (--t->n_left > 0) return TARE_OK;
    for (uint64_t i = 0; i < n_chunks; i++) join(&t->whole, &t->chunks[i]);
    t->is_done = true;
    drop_chunks(m, t);
    return TARE_OK;
}

tare_status tare_measure_chunk(tare_measure *m, size_t tensor, const tare_chunks *chunks,
                               uint64_t index, const tare_chunk *chunk, const tare_rows_mut *rows,
                               tare_scratch *scratch, tare_error *err) {
    uint64_t n = tare_chunk_count(chunk);
    tare_rows encoded = {.n_rows = rows->n_rows, .cols = rows->cols};
    for (uint32_t p = 0; p < chunks->to->n_planes; p++) encoded.planes[p] = rows->planes[p];
    float *after =
        (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_DECODED, n * sizeof *after);
    if (!after) return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
    TARE_TRY(tare_decode_rows(after, chunks->to, &encoded, err));
    tare_outliers_put_stored(after, &chunk->outliers);
    tare_deviation found = {0};
    tare_deviation_add(&found, chunk->values, after, (size_t)n);
    const tare_deviation_sums sums = tare_deviation_sum(&found);
    pthread_mutex_lock(&m->mutex);
    tare_status status = enter(m, &m->tensors[tensor], chunks->n_chunks, index, &sums, err);
    pthread_mutex_unlock(&m->mutex);
    return status;
}

void tare_measure_report(const tare_measure *m) {
    const tare_convert_options *o = &m->plan->options;
    for (size_t i = 0; i < m->plan->catalog.n_tensors; i++) {
        const measured *t = &m->tensors[i];
        if (!t->is_done) continue;
        tare_tensor_error error = {.relative_rmse = tare_deviation_relative(&t->whole),
                                   .max_abs = t->whole.max_abs};
        o->measured(o->measured_ctx, i, &error);
    }
}
