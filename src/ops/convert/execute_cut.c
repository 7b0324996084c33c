/* SPDX-License-Identifier: MIT
 *
 * A plan's extents become jobs: ranges, which are cut into pieces of a few MiB, or chunks of a tensor that
 * is decoded and encoded. */
#include "ops/convert/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "ops/convert/plan_scan.h"

static tare_status add_job(tare_execution *x, tare_job j, uint64_t n_tasks, tare_error *err) {
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
static bool joins_last(tare_execution *x, const tare_job *j) {
    tare_job *last = x->n_jobs ? &x->jobs[x->n_jobs - 1] : NULL;
    if (!last || last->kind != TARE_JOB_RANGE || j->kind != TARE_JOB_RANGE ||
        last->file != j->file || last->from != j->from || last->in_file != j->in_file ||
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

static tare_status add_range(tare_execution *x, tare_job j, uint64_t unit, tare_error *err) {
    if (joins_last(x, &j)) return TARE_OK;
    j.step = TARE_JOB_PIECE / unit * unit;
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
        tare_job j = {.kind = is_raw ? TARE_JOB_RANGE : TARE_JOB_PLANE,
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
    tare_job j = {.kind = TARE_JOB_CHUNKS,
                  .file = e->file,
                  .offset = e->offset,
                  .size = takes_all ? t->size_bytes : e->size,
                  .plane = takes_all ? TARE_JOB_ALL_PLANES : e->plane,
                  .item = e->item};
    j.planes[e->plane] = (tare_plane){e->file, e->offset, e->size};
    if (takes_all) memcpy(j.planes, x->planes[e->item], sizeof j.planes);
    return add_job(x, j, chunks.n_chunks, err);
}

static tare_status add_extent(tare_execution *x, const tare_extent *e, tare_error *err) {
    tare_job j = {.file = e->file, .offset = e->offset, .size = e->size, .item = e->item};
    switch (e->kind) {
    case TARE_EXTENT_DIGEST:
        j.kind = TARE_JOB_DIGEST;
        j.size = x->plan->catalog.tensors[e->item].size_bytes; /* to be read */
        return add_job(x, j, 1, err);
    case TARE_EXTENT_TENSOR:
        return tare_planned_is_made(&x->plan->tensors[e->item]) ? add_encoded(x, e, err)
                                                                : add_copied(x, e, err);
    case TARE_EXTENT_RESOURCE:
        j.kind = TARE_JOB_RESOURCE;
        break;
    case TARE_EXTENT_COPY:
        j.kind = TARE_JOB_RANGE;
        j.from = x->plan->in;
        j.in_file = (uint32_t)e->item;
        j.in_offset = e->source_offset;
        break;
    case TARE_EXTENT_BYTES:
    default:
        j.kind = TARE_JOB_BYTES;
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

/* The extents of a plan by their places, to be freed; NULL: memory is out. */
static const tare_extent **sort_extents(const tare_plan *plan) {
    const tare_write_plan *w = &plan->files;
    const tare_extent **sorted =
        tare_alloc(plan->options.context->allocator, w->n_extents * sizeof *sorted);
    for (size_t i = 0; sorted && i < w->n_extents; i++) sorted[i] = &w->extents[i];
    if (sorted) qsort(sorted, w->n_extents, sizeof *sorted, by_place);
    return sorted;
}

/* Up to `end` of a file; *at: where the last extent ended. */
static tare_status visit_gap(uint64_t *at, uint32_t file, uint64_t end, tare_gap_fn visit,
                             void *ctx, tare_error *err) {
    const uint64_t from = *at;
    *at = tare_max_u64(from, end);
    return end > from ? visit(ctx, file, from, end - from, err) : TARE_OK;
}

tare_status tare_plan_gaps(const tare_plan *plan, tare_gap_fn visit, void *ctx, tare_error *err) {
    const tare_write_plan *w = &plan->files;
    const tare_extent **sorted = sort_extents(plan);
    tare_status status = sorted ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    size_t i = 0;
    for (uint32_t file = 0; file < w->n_files && status == TARE_OK; file++) {
        uint64_t at = 0;
        for (; i < w->n_extents && sorted[i]->file == file && status == TARE_OK; i++) {
            status = visit_gap(&at, file, sorted[i]->offset, visit, ctx, err);
            at = tare_max_u64(at, sorted[i]->offset + sorted[i]->size);
        }
        if (status == TARE_OK) status = visit_gap(&at, file, w->files[file].size, visit, ctx, err);
    }
    tare_free(plan->options.context->allocator, sorted, w->n_extents * sizeof *sorted);
    return status;
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
    const tare_extent **sorted = sort_extents(x->plan);
    if (!sorted) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
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

const tare_job *tare_job_of(const tare_execution *x, uint64_t task) {
    return &x->jobs[tare_part_of(&x->jobs->first_task, x->n_jobs, sizeof *x->jobs, task)];
}

uint64_t tare_job_tasks(const tare_execution *x, const tare_job *j) {
    const tare_job *next = j + 1;
    return (next < x->jobs + x->n_jobs ? next->first_task : x->n_tasks) - j->first_task;
}

tare_status tare_execution_refuse_digests(const tare_execution *x, tare_error *err) {
    if (x->n_tasks == x->first_digest) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED, "the format's digests need a file to read back");
}
