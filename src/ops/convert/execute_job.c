/* SPDX-License-Identifier: MIT
 *
 * What a task does: it copies a piece of a range, or makes a chunk of a tensor, and gives it to the sink. */
#include "model/hidden_scales.h"
#include "ops/convert/jobs.h"

#include "base/arith.h"
#include "base/hash.h"
#include "ops/convert/count.h"
#include "ops/convert/plan_scan.h"

/* The bytes of one task of a range. */
typedef struct piece {
    const tare_job *j;
    uint64_t at; /* in the job */
    size_t size;
    tare_scratch *scratch;
} piece;

static tare_status put(tare_execution *x, const piece *p, const void *bytes, tare_error *err) {
    return x->sink->put(x->sink->ctx, p->j->file, p->j->offset + p->at, bytes, p->size, p->scratch,
                        err);
}

static tare_status copy(tare_execution *x, const piece *p, const tare_reader *from, uint64_t at,
                        tare_error *err) {
    return x->sink->copy(x->sink->ctx, p->j->file, p->j->offset + p->at, from->fd, at, p->size,
                         p->scratch, err);
}

static tare_status read_and_put(tare_execution *x, const piece *p, const tare_reader *r,
                                uint64_t at, tare_error *err) {
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, TARE_JOB_PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(tare_reader_read(r, at, buf, p->size, err));
    return put(x, p, buf, err);
}

/* Of a computed file, bytes that are those of another file are copied from there. */
static tare_status run_located(tare_execution *x, const piece *p, const tare_reader *r, uint64_t at,
                               tare_error *err) {
    for (uint64_t done = 0, n; done < p->size; done += n) {
        const tare_reader *file;
        uint64_t place;
        piece part = *p;
        n = p->size - done;
        const bool is_copy = r->locate(r->read_ctx, at + done, &n, &file, &place);
        part.at += done;
        part.size = (size_t)n;
        TARE_TRY(is_copy ? copy(x, &part, file, place, err)
                         : read_and_put(x, &part, r, at + done, err));
    }
    return TARE_OK;
}

static tare_status run_range(tare_execution *x, const piece *p, tare_error *err) {
    const tare_reader *r = &p->j->from->files[p->j->in_file].reader;
    uint64_t in_offset = p->j->in_offset + p->at;
    if (r->map && !r->owns_map) return put(x, p, r->map + in_offset, err);
    if (r->fd >= 0 && x->sink->copy) return copy(x, p, r, in_offset, err);
    if (r->locate && x->sink->copy) return run_located(x, p, r, in_offset, err);
    return read_and_put(x, p, r, in_offset, err);
}

static tare_status run_resource(tare_execution *x, const piece *p, tare_error *err) {
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, TARE_JOB_PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(tare_resource_read(buf, x->plan->in, p->j->item, p->at, p->size, err));
    return put(x, p, buf, err);
}

/* Converts to the byte order of the output, according to the type under which the bytes will be
 * stored. Formats that swap bytes never have types with several planes. */
static void to_output_order(const tare_execution *x, size_t tensor, uint8_t *bytes, size_t n) {
    const tare_encoding *stored = x->plan->catalog.tensors[tensor].encoding;
    if (!x->plan->files.is_big_endian) return;
    const tare_plane_info *info = &stored->planes[0];
    tare_rows_mut rows = {
        .planes = {bytes}, .n_rows = 1, .cols = n / info->unit_bytes * info->unit};
    tare_swap_rows(&rows, stored);
}

static tare_status run_plane(tare_execution *x, const piece *p, tare_error *err) {
    const tare_planned *planned = &x->plan->tensors[p->j->item];
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, TARE_JOB_PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(
        tare_tensor_read(buf, planned->from, planned->source, p->j->plane, p->at, p->size, err));
    to_output_order(x, p->j->item, buf, p->size);
    return put(x, p, buf, err);
}

/* Hashes what has been written of a tensor, plane by plane. */
static tare_status hash_written(tare_execution *x, const tare_job *j, tare_sha256 *h, uint8_t *buf,
                                tare_error *err) {
    const uint32_t n_planes = x->plan->catalog.tensors[j->item].encoding->n_planes;
    for (uint32_t p = 0; p < n_planes; p++) {
        const tare_plane *plane = &x->planes[j->item][p];
        for (uint64_t at = 0; at < plane->size; at += TARE_JOB_PIECE) {
            const size_t n = (size_t)tare_min_u64(plane->size - at, TARE_JOB_PIECE);
            TARE_TRY(x->sink->read(x->sink->ctx, plane->file, plane->offset + at, buf, n, err));
            tare_sha256_update(h, buf, n);
        }
    }
    return TARE_OK;
}

static tare_status run_digest(tare_execution *x, const tare_job *j, tare_scratch *scratch,
                              uint64_t *n_bytes, tare_error *err) {
    uint8_t digest[32];
    char hex[2 * sizeof digest + 1];
    tare_sha256 h;
    uint8_t *buf = tare_scratch_get(scratch, TARE_SCRATCH_STORED, TARE_JOB_PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    tare_sha256_init(&h);
    TARE_TRY(hash_written(x, j, &h, buf, err));
    tare_sha256_final(&h, digest);
    tare_hex(hex, digest, sizeof digest);
    *n_bytes = j->size;
    return x->sink->put(x->sink->ctx, j->file, j->offset, hex, 2 * sizeof digest, scratch, err);
}

static void add_nonfinite(tare_execution *x, size_t tensor, const tare_nonfinite_counts *found) {
    if (found->n_nan + found->n_inf + found->n_overflow == 0) return;
    tare_nonfinite_counts *sum = &x->watch.nonfinite[tensor];
    pthread_mutex_lock(&x->mutex);
    sum->n_nan += found->n_nan;
    sum->n_inf += found->n_inf;
    sum->n_overflow += found->n_overflow;
    sum->first_nan = tare_min_u64(sum->first_nan, found->first_nan);
    sum->first_inf = tare_min_u64(sum->first_inf, found->first_inf);
    sum->first_overflow = tare_min_u64(sum->first_overflow, found->first_overflow);
    pthread_mutex_unlock(&x->mutex);
}

static tare_status put_plane(tare_execution *x, const tare_job *j, const tare_chunks *chunks,
                             const tare_chunk *chunk, const tare_rows_mut *rows, uint32_t plane,
                             tare_scratch *scratch, uint64_t *n_bytes, tare_error *err) {
    uint64_t offset, size;
    tare_chunks_place(chunks, chunk, plane, &offset, &size);
    *n_bytes += size;
    if (size == 0) return TARE_OK;
    to_output_order(x, j->item, rows->planes[plane], (size_t)size);
    return x->sink->put(x->sink->ctx, j->planes[plane].file, j->planes[plane].offset + offset,
                        rows->planes[plane], (size_t)size, scratch, err);
}

/* Its records follow those of earlier chunks. */
static tare_status put_outliers(tare_execution *x, const tare_job *j, uint64_t index,
                                const tare_chunk *chunk, tare_scratch *scratch, uint64_t *n_bytes,
                                tare_error *err) {
    const tare_outliers *o = &chunk->outliers;
    const size_t size = o->n * TARE_OUTLIER_BYTES;
    if (size == 0) return TARE_OK;
    const tare_planned *planned = &x->plan->tensors[j->item];
    const tare_plane *plane = &j->planes[tare_encoding_list_plane(planned->becomes->encoding)];
    *n_bytes += size;
    return x->sink->put(x->sink->ctx, plane->file,
                        plane->offset + planned->outliers->records[index] * TARE_OUTLIER_BYTES,
                        o->records, size, scratch, err);
}

/* What the encoder is given. Bounds determine the scale of types that have one per tensor. */
static tare_encode_params params_of(const tare_plan *plan, const tare_job *j,
                                    const tare_chunks *chunks) {
    const tare_planned *planned = &plan->tensors[j->item];
    const bool has_bounds = plan->catalog.bounds && j->item < plan->catalog.n_tensors;
    const tare_value_bounds *bounds = has_bounds ? &plan->catalog.bounds[j->item] : NULL;
    tare_encode_params params = {.size = sizeof(tare_encode_params),
                                 .quality = plan->options.quality,
                                 .compat = plan->mcf.compat};
    if (bounds && bounds->is_known &&
        (plan->mcf.has_clip || tare_encoding_has_scope(chunks->to, TARE_PLANE_TENSOR))) {
        params.has_clip = planned->action == TARE_ACTION_ENCODE;
        params.clip_min = bounds->min;
        params.clip_max = bounds->max;
    }
    return params;
}

/* Counts NaN, Inf and overflows of an encoded chunk, and measures what it lost. */
static tare_status watch_chunk(tare_execution *x, const tare_job *j, const tare_chunks *chunks,
                               uint64_t index, const tare_chunk *chunk, const tare_rows_mut *rows,
                               tare_scratch *scratch, tare_error *err) {
    if (x->watch.nonfinite) {
        tare_nonfinite_counts found = tare_nonfinite_counts_default();
        tare_count_recoded(&found, chunks->to, chunk->values, rows, chunk->first);
        TARE_TRY(tare_count_hidden(&found, chunks->model, chunks->tensor, chunk->first,
                                   tare_chunk_count(chunk), err));
        uint64_t first = UINT64_MAX;
        found.n_overflow += tare_outliers_overflow(&first, &chunk->outliers);
        found.first_overflow = tare_min_u64(found.first_overflow, first);
        add_nonfinite(x, j->item, &found);
    }
    if (!x->watch.measure || j->item >= x->plan->catalog.n_tensors) return TARE_OK;
    return tare_measure_chunk(x->watch.measure, j->item, chunks, index, chunk, rows, scratch, err);
}

static tare_status take_outliers(tare_chunk *chunk, const tare_plan *plan, const tare_job *j,
                                 const tare_chunks *chunks, uint64_t index, tare_scratch *scratch,
                                 tare_error *err) {
    const tare_planned_outliers *o = plan->tensors[j->item].outliers;
    const uint64_t n = o ? o->records[index + 1] - o->records[index] : 0;
    if (n == 0) return TARE_OK;
    tare_outlier_rule rule = o->rule;
    rule.n_equal -= tare_min_u64(rule.n_equal, o->equal[index]);
    return tare_chunks_take_outliers(chunk, chunks, &rule, n, scratch, err);
}

static tare_status make_chunk(tare_execution *x, const tare_job *j, const tare_chunks *chunks,
                              uint64_t index, bool is_watched, tare_chunk *chunk,
                              tare_rows_mut *rows, tare_scratch *scratch, tare_error *err) {
    if (x->plan->tensors[j->item].action == TARE_ACTION_REPACK)
        return tare_chunks_repack(chunk, rows, chunks, index, scratch, err);
    tare_encode_params params = params_of(x->plan, j, chunks);
    TARE_TRY(tare_plan_chunk_importance(&params.importance, &x->plan->tensors[j->item], chunks,
                                        index, scratch, err));
    TARE_TRY(tare_chunks_decode(chunk, chunks, index, scratch, err));
    TARE_TRY(take_outliers(chunk, x->plan, j, chunks, index, scratch, err));
    TARE_TRY(tare_chunks_encode(rows, chunks, chunk, &params, scratch, err));
    if (!is_watched) return TARE_OK;
    return watch_chunk(x, j, chunks, index, chunk, rows, scratch, err);
}

/* Makes and writes one chunk. The work done is counted in bytes of the output. */
static tare_status run_chunk(tare_execution *x, const tare_job *j, uint64_t index,
                             tare_scratch *scratch, uint64_t *n_bytes, tare_error *err) {
    tare_chunks chunks;
    tare_chunk chunk;
    tare_rows_mut rows;
    bool takes_all = j->plane == TARE_JOB_ALL_PLANES;
    bool is_watched = takes_all || j->plane == 0;
    TARE_TRY(tare_plan_chunks(&chunks, x->plan, &x->plan->tensors[j->item], err));
    if (chunks.merge) chunks.merge = x->merge;
    TARE_TRY(make_chunk(x, j, &chunks, index, is_watched, &chunk, &rows, scratch, err));
    /* Bytes are swapped in place, after everything has been counted. */
    uint32_t first = takes_all ? 0 : j->plane, n = takes_all ? chunks.to->n_planes : 1;
    for (uint32_t p = first; p < first + n; p++)
        TARE_TRY(put_plane(x, j, &chunks, &chunk, &rows, p, scratch, n_bytes, err));
    return takes_all ? put_outliers(x, j, index, &chunk, scratch, n_bytes, err) : TARE_OK;
}

static tare_status run_job(tare_execution *x, const tare_job *j, uint64_t index,
                           tare_scratch *scratch, uint64_t *n_bytes, tare_error *err) {
    if (j->kind == TARE_JOB_CHUNKS) return run_chunk(x, j, index, scratch, n_bytes, err);
    if (j->kind == TARE_JOB_DIGEST) return run_digest(x, j, scratch, n_bytes, err);
    piece p = {.j = j, .at = index * j->step, .scratch = scratch};
    p.size = (size_t)tare_min_u64(j->step, j->size - p.at);
    *n_bytes = p.size;
    switch (j->kind) {
    case TARE_JOB_RANGE:
        return run_range(x, &p, err);
    case TARE_JOB_RESOURCE:
        return run_resource(x, &p, err);
    case TARE_JOB_PLANE:
        return run_plane(x, &p, err);
    case TARE_JOB_BYTES:
    default:
        return put(x, &p, j->bytes + p.at, err);
    }
}

/* In an error. */
static void name_tensor(const tare_execution *x, const tare_job *j, tare_error *err) {
    if (j->kind != TARE_JOB_PLANE && j->kind != TARE_JOB_CHUNKS) return;
    const tare_planned *planned = &x->plan->tensors[j->item];
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)planned->source,
                    planned->from->catalog.tensors[planned->source].name);
}

tare_status tare_job_run(tare_execution *x, uint64_t task, tare_scratch *scratch, uint64_t *n_bytes,
                         tare_error *err) {
    const tare_job *j = tare_job_of(x, task);
    const tare_status status = run_job(x, j, task - j->first_task, scratch, n_bytes, err);
    if (status != TARE_OK) name_tensor(x, j, err);
    return status;
}
