/* SPDX-License-Identifier: MIT
 *
 * A plan's extents become jobs, each a series of tasks: ranges of a few MiB, or chunks of a tensor
 * that is decoded and encoded. Every task knows its bytes and their position, so that the result
 * does not depend on which thread runs it, or when. Only the tasks in flight need memory:
 * docs/behaviour.md, "Memory and threads". */
#include "ops/convert/execute.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "ops/convert/count.h"
#include "ops/convert/plan_scan.h"

#define PIECE ((uint64_t)4 << 20) /* of a range; the scratch that a copy may need is as large */

typedef enum job_kind {
    JOB_BYTES,    /* from memory */
    JOB_RANGE,    /* from a file of the input, as it is */
    JOB_RESOURCE, /* a resource */
    JOB_PLANE,    /* stored bytes of a plane, from one byte order to another */
    JOB_CHUNKS,   /* a tensor, decoded and encoded */
    JOB_DIGEST,   /* of a tensor, once everything else is written */
} job_kind;

#define ALL_PLANES UINT32_MAX

typedef struct job {
    job_kind kind;
    uint32_t file; /* of the output */
    uint64_t offset, size;
    uint64_t step;       /* bytes per task, except for SPANS */
    uint64_t first_task; /* of all tasks */
    const uint8_t *bytes;
    const tare_model *from; /* RANGE: whose file it is */
    uint64_t in_offset;
    uint32_t in_file;
    uint32_t plane;                     /* SPANS: or ALL_PLANES */
    size_t item;                        /* resource of the input, or tensor of the plan */
    tare_plane planes[TARE_MAX_PLANES]; /* SPANS: where each begins, in which file of the output */
} job;

struct tare_execution {
    const tare_plan *plan;
    tare_merge *merge; /* a copy of the plan's; NULL: none */
    job *jobs;
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

/* ---- cutting --------------------------------------------------------------------------------- */

static tare_status add_job(tare_execution *x, job j, uint64_t n_tasks, tare_error *err) {
    if (n_tasks == 0) return TARE_OK;
    if (!tare_grow(x->plan->options.context->allocator, (void **)&x->jobs, &x->jobs_capacity,
                   x->n_jobs + 1, sizeof *x->jobs))
        return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    j.first_task = x->n_tasks;
    x->jobs[x->n_jobs++] = j;
    x->n_tasks += n_tasks;
    x->total_bytes += j.size;
    x->file_tasks[j.file] += n_tasks;
    return TARE_OK;
}

/* A range that continues the previous one both in the input and in the output is joined with it: a
 * hundred thousand small tensors become a few large copies. */
static bool joins_last(tare_execution *x, const job *j) {
    job *last = x->n_jobs ? &x->jobs[x->n_jobs - 1] : NULL;
    if (!last || last->kind != JOB_RANGE || j->kind != JOB_RANGE || last->file != j->file ||
        last->from != j->from || last->in_file != j->in_file ||
        last->offset + last->size != j->offset || last->in_offset + last->size != j->in_offset)
        return false;
    uint64_t before = tare_ceil_div_u64(last->size, last->step);
    last->size += j->size;
    uint64_t added = tare_ceil_div_u64(last->size, last->step) - before;
    x->n_tasks += added;
    x->file_tasks[j->file] += added;
    x->total_bytes += j->size;
    return true;
}

static tare_status add_range(tare_execution *x, job j, uint64_t unit, tare_error *err) {
    if (joins_last(x, &j)) return TARE_OK;
    j.step = PIECE / unit * unit;
    return add_job(x, j, tare_ceil_div_u64(j.size, j.step), err);
}

/* One plane of a tensor whose byte order changes. If it is stored under a type of plain bytes, the
 * only plane of that type holds all planes of the tensor in sequence. */
static tare_status add_copied(tare_execution *x, const tare_extent *e, tare_error *err) {
    const tare_tensor *stored = &x->plan->catalog.tensors[e->item];
    const tare_planned *planned = &x->plan->tensors[e->item];
    const tare_tensor *t = &planned->from->catalog.tensors[planned->source];
    bool is_whole = stored->encoding->n_planes != t->encoding->n_planes;
    /* Bytes that are swapped on either side pass through memory; a type of unknown structure is
     * never swapped. */
    bool is_raw = t->encoding->kind == TARE_KIND_UNKNOWN ||
                  !(tare_model_is_big_endian(planned->from) || x->plan->files.is_big_endian);
    uint64_t offset = e->offset;
    uint32_t first = is_whole ? 0 : e->plane, n = is_whole ? t->encoding->n_planes : 1;
    for (uint32_t p = first; p < first + n; p++) {
        const tare_plane *plane = &t->planes[p];
        job j = {.kind = is_raw ? JOB_RANGE : JOB_PLANE,
                 .file = e->file,
                 .offset = offset,
                 .size = plane->size,
                 .from = planned->from,
                 .in_file = plane->file,
                 .in_offset = plane->offset,
                 .plane = p,
                 .item = e->item};
        TARE_TRY(add_range(x, j, is_raw ? 1 : t->encoding->planes[p].unit_bytes, err));
        offset += plane->size;
    }
    return TARE_OK;
}

/* Where the planes of tensors begin, if some have several or are read back. */
static tare_status place_planes(tare_execution *x, tare_error *err) {
    const tare_plan *p = x->plan;
    bool has_any = false;
    for (size_t i = 0; i < p->files.n_extents && !has_any; i++)
        has_any = p->files.extents[i].kind == TARE_EXTENT_DIGEST;
    for (size_t i = 0; i < tare_plan_n_stored(p); i++)
        has_any |=
            tare_planned_is_made(&p->tensors[i]) && p->tensors[i].becomes->encoding->n_planes > 1;
    if (!has_any) return TARE_OK;
    x->planes =
        tare_alloc(p->options.context->allocator, tare_plan_n_stored(p) * sizeof *x->planes);
    if (!x->planes) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    memset(x->planes, 0, tare_plan_n_stored(p) * sizeof *x->planes);
    for (size_t i = 0; i < p->files.n_extents; i++) {
        const tare_extent *e = &p->files.extents[i];
        if (e->kind == TARE_EXTENT_TENSOR)
            x->planes[e->item][e->plane] = (tare_plane){e->file, e->offset, e->size};
    }
    return TARE_OK;
}

/* A chunk is encoded once and all its planes are written, wherever they belong. In sequential
 * output, however, one plane has to be complete before the next begins, so that every plane is
 * encoded separately. */
static tare_status add_encoded(tare_execution *x, const tare_extent *e, tare_error *err) {
    const tare_planned *planned = &x->plan->tensors[e->item];
    const tare_tensor *t = planned->becomes;
    bool takes_all = t->encoding->n_planes > 1 && !x->is_sequential;
    if (takes_all && e->plane > 0) return TARE_OK;
    tare_chunks chunks;
    TARE_TRY(tare_plan_chunks(&chunks, x->plan, planned, err));
    job j = {.kind = JOB_CHUNKS,
             .file = e->file,
             .offset = e->offset,
             .size = takes_all ? t->size_bytes : e->size,
             .plane = takes_all ? ALL_PLANES : e->plane,
             .item = e->item};
    j.planes[e->plane] = (tare_plane){e->file, e->offset, e->size};
    if (takes_all) memcpy(j.planes, x->planes[e->item], sizeof j.planes);
    return add_job(x, j, chunks.n_chunks, err);
}

static tare_status add_extent(tare_execution *x, const tare_extent *e, tare_error *err) {
    job j = {.file = e->file, .offset = e->offset, .size = e->size, .item = e->item};
    switch (e->kind) {
    case TARE_EXTENT_DIGEST:
        j.kind = JOB_DIGEST;
        j.size = x->plan->catalog.tensors[e->item].size_bytes; /* to be read */
        return add_job(x, j, 1, err);
    case TARE_EXTENT_TENSOR:
        return tare_planned_is_made(&x->plan->tensors[e->item]) ? add_encoded(x, e, err)
                                                                : add_copied(x, e, err);
    case TARE_EXTENT_RESOURCE:
        j.kind = JOB_RESOURCE;
        break;
    case TARE_EXTENT_COPY:
        j.kind = JOB_RANGE;
        j.from = x->plan->in;
        j.in_file = (uint32_t)e->item;
        j.in_offset = e->source_offset;
        break;
    case TARE_EXTENT_BYTES:
    default:
        j.kind = JOB_BYTES;
        j.bytes = e->bytes;
        break;
    }
    return add_range(x, j, 1, err);
}

static int by_place(const void *a, const void *b) {
    const tare_extent *x = *(const tare_extent *const *)a, *y = *(const tare_extent *const *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Digests, or all but digests, in the order of `sorted`. */
static tare_status add_extents(tare_execution *x, const tare_extent **sorted, bool digests,
                               tare_error *err) {
    for (size_t i = 0; i < x->plan->files.n_extents; i++)
        if ((sorted[i]->kind == TARE_EXTENT_DIGEST) == digests)
            TARE_TRY(add_extent(x, sorted[i], err));
    return TARE_OK;
}

/* In the order of the output: files are finished one after the other, and output to a pipe is
 * possible. */
static tare_status cut(tare_execution *x, tare_error *err) {
    const tare_write_plan *w = &x->plan->files;
    const tare_allocator *a = x->plan->options.context->allocator;
    const tare_extent **sorted = tare_alloc(a, w->n_extents * sizeof *sorted);
    if (!sorted) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    for (size_t i = 0; i < w->n_extents; i++) sorted[i] = &w->extents[i];
    qsort(sorted, w->n_extents, sizeof *sorted, by_place);
    tare_status status = add_extents(x, sorted, false, err);
    x->first_digest = x->n_tasks;
    if (status == TARE_OK) status = add_extents(x, sorted, true, err);
    tare_free(a, sorted, w->n_extents * sizeof *sorted);
    return status;
}

tare_status tare_execution_new(tare_execution **out, const tare_plan *plan, bool is_sequential,
                               tare_error *err) {
    const tare_allocator *a = plan->options.context->allocator;
    size_t n = plan->files.n_files;
    *out = NULL;
    tare_execution *x = tare_alloc(a, sizeof *x);
    if (!x) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    *x = (tare_execution){.plan = plan, .is_sequential = is_sequential};
    if (pthread_mutex_init(&x->mutex, NULL) != 0) {
        tare_free(a, x, sizeof *x);
        return tare_fail(err, TARE_ERR_NOMEM, "lock");
    }
    x->file_tasks = tare_alloc(a, n * sizeof *x->file_tasks);
    x->file_left = tare_alloc(a, n * sizeof *x->file_left);
    tare_status status = TARE_OK;
    if (!x->file_tasks || !x->file_left) status = tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    for (size_t i = 0; status == TARE_OK && i < n; i++) x->file_tasks[i] = 0;
    if (status == TARE_OK) status = tare_merge_copy(&x->merge, plan->merge, err);
    if (status == TARE_OK) status = place_planes(x, err);
    if (status == TARE_OK) status = cut(x, err);
    if (status == TARE_OK)
        *out = x;
    else
        tare_execution_free(x);
    return status;
}

void tare_execution_free(tare_execution *x) {
    if (!x) return;
    const tare_allocator *a = x->plan->options.context->allocator;
    size_t n = x->plan->files.n_files;
    pthread_mutex_destroy(&x->mutex);
    tare_merge_free(x->merge);
    tare_free(a, x->jobs, x->jobs_capacity * sizeof *x->jobs);
    if (x->planes) tare_free(a, x->planes, tare_plan_n_stored(x->plan) * sizeof *x->planes);
    tare_free(a, x->file_tasks, n * sizeof *x->file_tasks);
    tare_free(a, x->file_left, n * sizeof *x->file_left);
    tare_free(a, x, sizeof *x);
}

uint64_t tare_execution_bytes(const tare_execution *x) {
    return x->total_bytes;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The bytes of one task of a range. */
typedef struct piece {
    const job *j;
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
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, PIECE);
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
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, PIECE);
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
    uint8_t *buf = tare_scratch_get(p->scratch, TARE_SCRATCH_STORED, PIECE);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(
        tare_tensor_read(buf, planned->from, planned->source, p->j->plane, p->at, p->size, err));
    to_output_order(x, p->j->item, buf, p->size);
    return put(x, p, buf, err);
}

/* Hashes what has been written of a tensor, plane by plane. */
static tare_status hash_written(tare_execution *x, const job *j, tare_sha256 *h, uint8_t *buf,
                                tare_error *err) {
    const uint32_t n_planes = x->plan->catalog.tensors[j->item].encoding->n_planes;
    for (uint32_t p = 0; p < n_planes; p++) {
        const tare_plane *plane = &x->planes[j->item][p];
        for (uint64_t at = 0; at < plane->size; at += PIECE) {
            const size_t n = (size_t)tare_min_u64(plane->size - at, PIECE);
            TARE_TRY(x->sink->read(x->sink->ctx, plane->file, plane->offset + at, buf, n, err));
            tare_sha256_update(h, buf, n);
        }
    }
    return TARE_OK;
}

static tare_status run_digest(tare_execution *x, const job *j, tare_scratch *scratch,
                              uint64_t *n_bytes, tare_error *err) {
    uint8_t digest[32];
    char hex[2 * sizeof digest + 1];
    tare_sha256 h;
    uint8_t *buf = tare_scratch_get(scratch, TARE_SCRATCH_STORED, PIECE);
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

static tare_status put_plane(tare_execution *x, const job *j, const tare_chunks *chunks,
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
static tare_status put_outliers(tare_execution *x, const job *j, uint64_t index,
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
static tare_encode_params params_of(const tare_plan *plan, const job *j,
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
static tare_status watch_chunk(tare_execution *x, const job *j, const tare_chunks *chunks,
                               uint64_t index, const tare_chunk *chunk, const tare_rows_mut *rows,
                               tare_scratch *scratch, tare_error *err) {
    if (x->watch.nonfinite) {
        tare_nonfinite_counts found = tare_nonfinite_counts_default();
        tare_count_recoded(&found, chunks->to, chunk->values, rows, chunk->first);
        uint64_t first = UINT64_MAX;
        found.n_overflow += tare_outliers_overflow(&first, &chunk->outliers);
        found.first_overflow = tare_min_u64(found.first_overflow, first);
        add_nonfinite(x, j->item, &found);
    }
    if (!x->watch.measure || j->item >= x->plan->catalog.n_tensors) return TARE_OK;
    return tare_measure_chunk(x->watch.measure, j->item, chunks, index, chunk, rows, scratch, err);
}

static tare_status take_outliers(tare_chunk *chunk, const tare_plan *plan, const job *j,
                                 const tare_chunks *chunks, uint64_t index, tare_scratch *scratch,
                                 tare_error *err) {
    const tare_planned_outliers *o = plan->tensors[j->item].outliers;
    const uint64_t n = o ? o->records[index + 1] - o->records[index] : 0;
    if (n == 0) return TARE_OK;
    tare_outlier_rule rule = o->rule;
    rule.n_equal -= tare_min_u64(rule.n_equal, o->equal[index]);
    return tare_chunks_take_outliers(chunk, chunks, &rule, n, scratch, err);
}

static tare_status make_chunk(tare_execution *x, const job *j, const tare_chunks *chunks,
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
static tare_status run_chunk(tare_execution *x, const job *j, uint64_t index, tare_scratch *scratch,
                             uint64_t *n_bytes, tare_error *err) {
    tare_chunks chunks;
    tare_chunk chunk;
    tare_rows_mut rows;
    bool takes_all = j->plane == ALL_PLANES;
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

static const job *job_of(const tare_execution *x, uint64_t task) {
    return &x->jobs[tare_part_of(&x->jobs->first_task, x->n_jobs, sizeof *x->jobs, task)];
}

static tare_status run_job(tare_execution *x, const job *j, uint64_t index, tare_scratch *scratch,
                           uint64_t *n_bytes, tare_error *err) {
    if (j->kind == JOB_CHUNKS) return run_chunk(x, j, index, scratch, n_bytes, err);
    if (j->kind == JOB_DIGEST) return run_digest(x, j, scratch, n_bytes, err);
    piece p = {.j = j, .at = index * j->step, .scratch = scratch};
    p.size = (size_t)tare_min_u64(j->step, j->size - p.at);
    *n_bytes = p.size;
    switch (j->kind) {
    case JOB_RANGE:
        return run_range(x, &p, err);
    case JOB_RESOURCE:
        return run_resource(x, &p, err);
    case JOB_PLANE:
        return run_plane(x, &p, err);
    case JOB_BYTES:
    default:
        return put(x, &p, j->bytes + p.at, err);
    }
}

/* In an error. */
static void name_tensor(const tare_execution *x, const job *j, tare_error *err) {
    if (j->kind != JOB_PLANE && j->kind != JOB_CHUNKS) return;
    const tare_planned *planned = &x->plan->tensors[j->item];
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)planned->source,
                    planned->from->catalog.tensors[planned->source].name);
}

static tare_status run_task(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    tare_execution *x = ctx;
    task += x->first_task;
    const job *j = job_of(x, task);
    uint64_t n_bytes = 0;
    tare_status status = run_job(x, j, task - j->first_task, &x->scratch[worker], &n_bytes, err);
    if (status == TARE_OK) {
        atomic_fetch_add_explicit(x->done, n_bytes, memory_order_relaxed);
        if (atomic_fetch_sub(&x->file_left[j->file], 1) == 1 && x->sink->file_done)
            status = x->sink->file_done(x->sink->ctx, j->file, err);
    } else {
        name_tensor(x, j, err);
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

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

static uint64_t tasks_of(const tare_execution *x, const job *j) {
    const job *next = j + 1;
    return (next < x->jobs + x->n_jobs ? next->first_task : x->n_tasks) - j->first_task;
}

/* What is in no file of the input comes first. */
static void place_turn(turn *t, const tare_execution *x, const job *j, uint64_t index) {
    const tare_planned *planned;
    const tare_plane *plane;
    t->file = 0;
    t->offset = 0;
    switch (j->kind) {
    case JOB_RANGE:
        t->file = j->in_file;
        t->offset = j->in_offset + index * j->step;
        break;
    case JOB_PLANE:
    case JOB_CHUNKS:
        planned = &x->plan->tensors[j->item];
        plane = planned->from->catalog.tensors[planned->source].planes;
        if (j->kind == JOB_PLANE) plane += j->plane;
        t->file = plane->file;
        t->offset = plane->offset + plane->size / tasks_of(x, j) * index;
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
            const job *j = job_of(x, task);
            *t = (turn){.task = task, .x = (uint32_t)i};
            place_turn(t, x, j, task - j->first_task);
        }
    }
    qsort(together->turns, (size_t)together->n_turns, sizeof *t, by_input);
    return TARE_OK;
}

static tare_status run_turn(void *ctx, uint64_t i, unsigned worker, tare_error *err) {
    const joint *together = ctx;
    if (!together->turns) return run_task(together->x[0], i, worker, err);
    const turn *t = &together->turns[i];
    return run_task(together->x[t->x], t->task, worker, err);
}

static tare_status run_digests(tare_execution *x, tare_run run, tare_error *err) {
    if (x->n_tasks == x->first_digest) return TARE_OK;
    run.task = run_task;
    run.ctx = x;
    run.n_tasks = x->n_tasks - x->first_digest;
    x->first_task = x->first_digest;
    return tare_run_parallel(&run, err);
}

static tare_status begin_run(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                             _Atomic uint64_t *done, tare_error *err) {
    if (x->n_tasks > x->first_digest && !sink->read)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the format's digests need a file to read back");
    x->sink = sink;
    x->watch = watch ? *watch : (tare_watch){0};
    x->done = done;
    x->first_task = 0;
    for (size_t i = 0; i < x->plan->files.n_files; i++)
        atomic_store(&x->file_left[i], x->file_tasks[i]);
    return TARE_OK;
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
        TARE_TRY(begin_run(x[i], &sinks[i], watches ? &watches[i] : NULL, done, err));
    if (!run.context.threads) run.context.threads = tare_default_threads();
    if (sinks[0].is_sequential) run.context.threads = 1;
    return run_joint(&together, run, err);
}

tare_status tare_execution_run(tare_execution *x, const tare_sink *sink, const tare_watch *watch,
                               _Atomic uint64_t *done, uint64_t total, tare_error *err) {
    return tare_executions_run(&x, 1, sink, watch, done, total, err);
}

/* ---- a part of the output -------------------------------------------------------------------- */

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
static uint64_t task_work(const tare_execution *x, const job *j) {
    uint64_t work = j->size;
    if (j->kind == JOB_CHUNKS) {
        const tare_planned *planned = &x->plan->tensors[j->item];
        work += tare_tensor_origin(planned->from, planned->source).size_bytes;
    } else if (j->kind != JOB_BYTES) {
        work += j->size;
    }
    return tare_max_u64(work / tasks_of(x, j), 1);
}

uint64_t tare_execution_work(const tare_execution *x) {
    uint64_t work = 0;
    for (const job *j = x->jobs; j < x->jobs + x->n_jobs; j++)
        work += task_work(x, j) * tasks_of(x, j);
    return work;
}

/* Of a plane that some chunks add nothing to, the next chunk that does. */
static tare_status place_cut(tare_cut *out, const tare_execution *x, const job *j, uint64_t index,
                             tare_error *err) {
    tare_chunks chunks;
    uint64_t offset = index * j->step, size = 1;
    if (j->kind == JOB_CHUNKS) {
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
    if (x->n_tasks > x->first_digest)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the format's digests need a file to read back");
    for (const job *j = x->jobs; j < x->jobs + x->n_jobs; j++) {
        const uint64_t n = tasks_of(x, j), each = task_work(x, j);
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
                    .task = run_task,
                    .ctx = x,
                    .total = (to->work - from->work) / 2,
                    .done = &done};
    if (!run.context.threads) run.context.threads = tare_default_threads();
    TARE_TRY(begin_run(x, sink, watch, &done, err));
    x->first_task = from->task;
    x->scratch = tare_scratch_new(run.context.threads, run.context.allocator);
    if (!x->scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    const tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(x->scratch, run.context.threads, run.context.allocator);
    x->scratch = NULL;
    return status;
}

/* ---- a piece at a time ----------------------------------------------------------------------- */

/* The last job that begins at a byte or before it; NULL: none does. */
static const job *job_before(const tare_execution *x, uint32_t file, uint64_t offset) {
    size_t low = 0, high = x->n_jobs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const job *j = &x->jobs[middle];
        if (j->file < file || (j->file == file && j->offset <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low && x->jobs[low - 1].file == file ? &x->jobs[low - 1] : NULL;
}

/* Up to the next job of the file. */
static void find_gap(tare_made_piece *out, const tare_execution *x, const job *before) {
    const job *next = before ? before + 1 : x->jobs;
    while (next < x->jobs + x->n_jobs && next->file < out->file) next++;
    const bool is_last = next == x->jobs + x->n_jobs || next->file != out->file;
    out->task = UINT64_MAX;
    out->begin = before ? before->offset + before->size : 0;
    out->end = is_last ? x->plan->files.files[out->file].size : next->offset;
}

/* The chunk of a plane that a byte of it lies in. */
static tare_status find_chunk(tare_made_piece *out, const tare_execution *x, const job *j,
                              uint64_t at, tare_error *err) {
    tare_chunks chunks;
    uint64_t offset, size, low = 0;
    TARE_TRY(tare_plan_chunks(&chunks, x->plan, &x->plan->tensors[j->item], err));
    for (uint64_t high = chunks.n_chunks; high - low > 1;) {
        const uint64_t middle = low + (high - low) / 2;
        tare_chunks_range(&chunks, middle, j->plane, &offset, &size);
        if (size && offset <= at)
            low = middle;
        else
            high = middle;
    }
    tare_chunks_range(&chunks, low, j->plane, &offset, &size);
    out->task = j->first_task + low;
    out->begin = j->offset + offset;
    out->end = out->begin + size;
    return TARE_OK;
}

tare_status tare_execution_piece(tare_made_piece *out, const tare_execution *x, uint32_t file,
                                 uint64_t offset, tare_error *err) {
    *out = (tare_made_piece){.file = file};
    if (x->n_tasks > x->first_digest)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the format's digests need a file to read back");
    const job *j = job_before(x, file, offset);
    if (!j || offset - j->offset >= j->size) {
        find_gap(out, x, j);
        return TARE_OK;
    }
    if (j->kind == JOB_CHUNKS) return find_chunk(out, x, j, offset - j->offset, err);
    const uint64_t index = (offset - j->offset) / j->step;
    out->task = j->first_task + index;
    out->begin = j->offset + index * j->step;
    out->end = j->offset + tare_min_u64((index + 1) * j->step, j->size);
    return TARE_OK;
}

/* Where the bytes of a piece go. */
typedef struct piece_room {
    uint8_t *bytes;
    const tare_made_piece *piece;
} piece_room;

static tare_status put_into_room(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                                 size_t n, tare_scratch *scratch, tare_error *err) {
    const piece_room *room = ctx;
    const tare_made_piece *p = room->piece;
    (void)scratch;
    if (file != p->file || offset < p->begin || offset > p->end || n > p->end - offset)
        return tare_fail(err, TARE_ERR_IO, "the input has changed");
    memcpy(room->bytes + (offset - p->begin), bytes, n);
    return TARE_OK;
}

tare_status tare_execution_make(uint8_t *out, tare_execution *x, const tare_made_piece *made,
                                tare_scratch *scratch, tare_error *err) {
    piece_room room = {out, made};
    const tare_sink sink = {.ctx = &room, .put = put_into_room, .is_sequential = true};
    uint64_t n_bytes = 0;
    if (made->task == UINT64_MAX) {
        memset(out, 0, (size_t)(made->end - made->begin));
        return TARE_OK;
    }
    const job *j = job_of(x, made->task);
    x->sink = &sink;
    x->watch = (tare_watch){0};
    const tare_status status = run_job(x, j, made->task - j->first_task, scratch, &n_bytes, err);
    x->sink = NULL;
    if (status != TARE_OK) name_tensor(x, j, err);
    return status;
}
