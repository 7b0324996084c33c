/* SPDX-License-Identifier: MIT
 *
 * Many tensors into the caller's memory. Each job is a grid (box.h), cut into tasks: pieces of its
 * longest runs that begin and end where the file's reader decodes anew, or some of its short runs.
 * Cells go straight to their place where a run is one run in dst, too. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/pool.h"
#include "base/thread_scratch.h"
#include "encoding/slab.h"
#include "ops/read/box.h"

enum {
    CELLS_ASIDE = 1 << 16,  /* that wait for their place */
    FAR_APART = 1 << 10,    /* cells that are read one by one rather than with those in between */
    RUN_LONG = 1 << 15,     /* bytes of a run that is read by itself, whatever lies around it */
    THREAD_BYTES = 1 << 18, /* that are worth a thread */
    MOST_THREADS = 256,
};
#define PIECE ((uint64_t)1 << 20) /* of a file, where it has no pieces of its own */

typedef struct cut_job {
    tare_grid grid;
    size_t number; /* the caller's */
    uint32_t file;
    uint64_t place; /* of the first cell */
    tare_grain grain;
    uint64_t align;        /* cells: pieces begin at multiples of it */
    uint64_t n_runs;       /* along the last axis */
    uint64_t runs_at_once; /* of a task; 1: runs have n_pieces each, some of them empty */
    uint64_t n_pieces;
    uint64_t first_task;
    _Atomic uint64_t left; /* tasks */
} cut_job;

typedef struct reading {
    tare_read_options options;
    tare_context context; /* of the options */
    cut_job *jobs;        /* in the order of the file */
    size_t n_jobs, size;
    uint64_t n_tasks, total;
    unsigned threads;
    tare_scratch *scratch;
    _Atomic uint64_t done;
} reading;

TARE_DEFINE_INIT(tare_read_job)
TARE_DEFINE_INIT(tare_read_options)

/* ---- cutting --------------------------------------------------------------------------------- */

static const tare_axis *inner_of(const cut_job *j) {
    return &j->grid.axes[j->grid.n_axes - 1];
}

/* Cells from the first of a run to its last. */
static uint64_t span_of(const cut_job *j) {
    const tare_axis *inner = inner_of(j);
    return (inner->count - 1) * inner->step + 1;
}

static uint64_t grain_of(const cut_job *j, uint64_t cell) {
    return (tare_grid_place(&j->grid, cell) - j->grain.origin) / j->grain.step;
}

static void cut(cut_job *j) {
    const tare_grid *g = &j->grid;
    const uint64_t span = span_of(j);
    const uint64_t bytes = tare_grid_place(g, g->first + span - 1) - j->place;
    j->n_runs = g->n_cells / inner_of(j)->count;
    j->runs_at_once = 1;
    j->n_pieces = bytes / j->grain.step + 2;
    if (j->n_runs == 1) j->n_pieces = grain_of(j, g->first + span - 1) - grain_of(j, g->first) + 1;
    if (bytes >= j->grain.step || j->n_runs == 1) return;
    const uint64_t last = g->first + g->axes[g->n_axes - 2].step;
    const uint64_t distance = last < g->t->n_elements ? tare_grid_place(g, last) - j->place : bytes;
    j->n_pieces = 1;
    j->runs_at_once = tare_max_u64(j->grain.step / tare_max_u64(distance, 1), 1);
    j->runs_at_once = tare_min_u64(j->runs_at_once, CELLS_ASIDE);
}

static void prepare(cut_job *j) {
    const tare_grid *g = &j->grid;
    const tare_plane *plane = &g->t->planes[g->plane];
    j->file = plane->file;
    j->place = tare_grid_place(g, g->first);
    j->grain = tare_reader_grain(&g->m->files[j->file].reader, j->place);
    if (!j->grain.step) j->grain = (tare_grain){0, PIECE};
    j->align = g->as != TARE_ENCODING_UNKNOWN ? tare_encoding_step(g->t->encoding) : 1;
    cut(j);
}

static int by_place(const void *a, const void *b) {
    const cut_job *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void tell_done(const reading *r, const cut_job *j) {
    if (r->options.job_done) r->options.job_done(r->options.job_done_ctx, j->number);
}

/* Jobs have the caller's struct size, which may differ from ours. */
static tare_status take_job(tare_read_job *out, const tare_read_job *jobs, size_t i,
                            tare_error *err) {
    const tare_read_job defaults = tare_read_job_default();
    const void *theirs = (const uint8_t *)jobs + i * jobs->size;
    *out = defaults;
    TARE_TRY(tare_options_read(out, sizeof *out, theirs, err));
    if (((const tare_read_job *)theirs)->size != jobs->size)
        return tare_fail(err, TARE_ERR_ARG, "jobs: not all of one size");
    return TARE_OK;
}

static tare_status take_jobs(reading *r, const tare_model *m, const tare_read_job *jobs, size_t n,
                             tare_error *err) {
    uint64_t bytes;
    if (!tare_mul_u64(n, sizeof *r->jobs, &bytes) || !tare_size_of_u64(bytes, &r->size))
        return tare_fail(err, TARE_ERR_NOMEM, "list of jobs");
    r->jobs = tare_alloc(r->options.context->allocator, r->size);
    if (!r->jobs) return tare_fail(err, TARE_ERR_NOMEM, "list of jobs");
    for (size_t i = 0; i < n; i++) {
        cut_job *j = &r->jobs[i];
        tare_read_job own;
        memset(j, 0, sizeof *j);
        TARE_TRY(take_job(&own, jobs, i, err));
        TARE_TRY(tare_grid_make(&j->grid, m, &own, err));
        j->number = i;
        if (j->grid.n_cells == 0) continue;
        TARE_REQUIRE(own.dst, err);
        prepare(j);
        r->total += j->grid.n_cells * j->grid.width;
    }
    r->n_jobs = n;
    qsort(r->jobs, n, sizeof *r->jobs, by_place);
    for (size_t i = 0; i < n; i++) {
        cut_job *j = &r->jobs[i];
        const uint64_t n_tasks =
            j->n_pieces * tare_ceil_div_u64(j->n_runs, tare_max_u64(j->runs_at_once, 1));
        j->first_task = r->n_tasks;
        atomic_init(&j->left, n_tasks);
        r->n_tasks += n_tasks;
    }
    return TARE_OK;
}

/* ---- cells to their places ------------------------------------------------------------------- */

/* A place in a grid: the first cell of a run, and where it goes. */
typedef struct place {
    uint64_t first;
    uint8_t *dst;
} place;

static place place_of_run(const tare_grid *g, uint64_t number) {
    place at = {g->first, g->dst};
    for (unsigned i = g->n_axes - 1; i-- > 0; number /= g->axes[i].count) {
        const uint64_t index = number % g->axes[i].count;
        at.first += index * g->axes[i].step;
        at.dst += (int64_t)index * g->axes[i].stride;
    }
    return at;
}

/* Every step-th of some cells in a row, n of them. */
static void scatter(uint8_t *dst, int64_t stride, const uint8_t *src, uint64_t step, uint64_t n,
                    size_t width) {
    if (step == 1 && stride == (int64_t)width)
        memcpy(dst, src, (size_t)n * width);
    else if (width == 2)
        for (; n > 0; n--, dst += stride, src += 2 * step) memcpy(dst, src, 2);
    else if (width == 4)
        for (; n > 0; n--, dst += stride, src += 4 * step) memcpy(dst, src, 4);
    else
        for (; n > 0; n--, dst += stride, src += width * step) memcpy(dst, src, width);
}

/* What a worker has: its memory, and the job at hand. */
typedef struct hand {
    const cut_job *j;
    tare_scratch *scratch;
    tare_error *err;
} hand;

/* Cells [begin, end) aside. */
static tare_status read_aside(const hand *h, uint64_t begin, uint64_t end, const uint8_t **at) {
    const tare_grid *g = &h->j->grid;
    uint64_t bytes;
    if (!tare_mul_u64(end - begin, g->width, &bytes))
        return tare_fail(h->err, TARE_ERR_LIMIT, "row too long to decode");
    uint8_t *aside = tare_scratch_get(h->scratch, 0, bytes);
    if (!aside) return tare_fail(h->err, TARE_ERR_NOMEM, "buffer");
    *at = aside;
    return tare_grid_read(aside, g, begin, end - begin, h->err);
}

/* Cells of a run that are far apart. */
static tare_status read_each(const hand *h, const place *of, uint64_t begin, uint64_t end) {
    const tare_axis *inner = inner_of(h->j);
    uint64_t index = tare_ceil_div_u64(begin - of->first, inner->step);
    for (; of->first + index * inner->step < end; index++) {
        if (index % FAR_APART == 0) TARE_TRY(tare_run_check(h->err));
        TARE_TRY(tare_grid_read(of->dst + (int64_t)index * inner->stride, &h->j->grid,
                                of->first + index * inner->step, 1, h->err));
    }
    return TARE_OK;
}

/* The part of a run that lies in cells [begin, end). */
static tare_status read_run(const hand *h, const place *of, uint64_t begin, uint64_t end) {
    const tare_grid *g = &h->j->grid;
    const tare_axis *inner = inner_of(h->j);
    const bool is_run = inner->step == 1 && inner->stride == (int64_t)g->width;
    if (begin >= end) return TARE_OK;
    if (is_run)
        return tare_grid_read(of->dst + (begin - of->first) * g->width, g, begin, end - begin,
                              h->err);
    if (inner->step >= FAR_APART) return read_each(h, of, begin, end);
    while (begin < end) {
        const uint64_t stop = tare_min_u64((begin / CELLS_ASIDE + 1) * CELLS_ASIDE, end);
        const uint64_t index = tare_ceil_div_u64(begin - of->first, inner->step);
        const uint64_t cell = of->first + index * inner->step;
        const uint8_t *aside = NULL;
        TARE_TRY(tare_run_check(h->err));
        if (cell < stop) {
            TARE_TRY(read_aside(h, cell, stop, &aside));
            scatter(of->dst + (int64_t)index * inner->stride, inner->stride, aside, inner->step,
                    (stop - cell - 1) / inner->step + 1, g->width);
        }
        begin = stop;
    }
    return TARE_OK;
}

/* Evenly spaced runs that are close enough to be read together with what is between them. */
static tare_status read_together(const hand *h, const place *of, uint64_t n) {
    const tare_grid *g = &h->j->grid;
    const tare_axis *inner = inner_of(h->j), *outer = inner - 1;
    const uint8_t *aside = NULL;
    TARE_TRY(read_aside(h, of->first, of->first + (n - 1) * outer->step + span_of(h->j), &aside));
    for (uint64_t i = 0; i < n; i++)
        scatter(of->dst + (int64_t)i * outer->stride, inner->stride,
                aside + i * outer->step * g->width, inner->step, inner->count, g->width);
    return TARE_OK;
}

/* How many runs from one on are best read together; at most n, which lie along one axis. */
static uint64_t together(const cut_job *j, uint64_t n) {
    const tare_grid *g = &j->grid;
    const tare_axis *inner = inner_of(j), *outer = inner - 1;
    const uint64_t span = span_of(j), step = tare_max_u64(outer->step, 1);
    const bool is_run = inner->step == 1 && inner->stride == (int64_t)g->width;
    if (is_run && span * g->width >= RUN_LONG) return 1;
    if (inner->count < step / 4) return 1; /* most of it would be in vain */
    if (span >= CELLS_ASIDE) return 1;
    return tare_min_u64((CELLS_ASIDE - span) / step + 1, n);
}

static tare_status read_runs(const hand *h, uint64_t first, uint64_t n) {
    const tare_grid *g = &h->j->grid;
    const uint64_t along = g->axes[g->n_axes - 2].count;
    while (n > 0) {
        const place of = place_of_run(g, first);
        const uint64_t left = tare_min_u64(along - first % along, n);
        const uint64_t taken = together(h->j, left);
        TARE_TRY(tare_run_check(h->err));
        if (taken > 1)
            TARE_TRY(read_together(h, &of, taken));
        else
            TARE_TRY(read_run(h, &of, of.first, of.first + span_of(h->j)));
        first += taken;
        n -= taken;
    }
    return TARE_OK;
}

/* ---- pieces of long runs --------------------------------------------------------------------- */

/* The first cell of [begin, end) that is stored at `byte` or beyond, or one before it where pieces
 * may begin. */
static uint64_t cell_at(const cut_job *j, uint64_t byte, uint64_t begin, uint64_t end) {
    uint64_t low = begin, high = end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (tare_grid_place(&j->grid, middle) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return tare_max_u64(low == end ? end : low - low % j->align, begin);
}

static tare_status read_piece(const hand *h, uint64_t number, uint64_t piece) {
    const cut_job *j = h->j;
    const place of = place_of_run(&j->grid, number);
    const uint64_t end = of.first + span_of(j), first = grain_of(j, of.first);
    const uint64_t n = grain_of(j, end - 1) - first + 1, from = j->grain.origin;
    if (piece >= n) return TARE_OK;
    uint64_t begin = of.first, stop = end;
    if (piece > 0) begin = cell_at(j, from + (first + piece) * j->grain.step, of.first, end);
    if (piece + 1 < n) stop = cell_at(j, from + (first + piece + 1) * j->grain.step, of.first, end);
    return read_run(h, &of, begin, stop);
}

/* ---- running --------------------------------------------------------------------------------- */

static tare_status run_task(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    reading *r = ctx;
    cut_job *j = &r->jobs[tare_part_of(&r->jobs->first_task, r->n_jobs, sizeof *r->jobs, task)];
    const hand h = {j, &r->scratch[worker], err};
    const tare_grid *g = &j->grid;
    task -= j->first_task;
    tare_status s;
    if (j->runs_at_once > 1 || j->n_pieces == 1) {
        const uint64_t first = task * j->runs_at_once;
        const uint64_t n = tare_min_u64(j->runs_at_once, j->n_runs - first);
        s = g->n_axes > 1 ? read_runs(&h, first, n) : read_piece(&h, first, 0);
    } else {
        s = read_piece(&h, task / j->n_pieces, task % j->n_pieces);
    }
    if (s != TARE_OK) {
        if (s != TARE_ERR_CANCELLED)
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)g->tensor, g->t->name);
        return s;
    }
    /* tasks of a job are about alike */
    const uint64_t bytes = g->n_cells * g->width,
                   n_tasks =
                       tare_max_u64(j->n_pieces * tare_ceil_div_u64(j->n_runs, j->runs_at_once), 1);
    atomic_fetch_add(&r->done, bytes / n_tasks + (task == 0 ? bytes % n_tasks : 0));
    if (atomic_fetch_sub(&j->left, 1) == 1) tell_done(r, j);
    return TARE_OK;
}

static tare_status run_all(reading *r, tare_error *err) {
    for (size_t i = 0; i < r->n_jobs; i++)
        if (!r->jobs[i].grid.n_cells) tell_done(r, &r->jobs[i]);
    r->threads = r->options.context->threads ? r->options.context->threads : tare_default_threads();
    r->threads = (unsigned)tare_min_u64(r->threads, MOST_THREADS);
    r->threads = (unsigned)tare_min_u64(r->threads, r->total / THREAD_BYTES + 1);
    r->scratch = tare_scratch_new(r->threads, r->options.context->allocator);
    if (!r->scratch) return tare_fail(err, TARE_ERR_NOMEM, "work memory");
    tare_run run = {.context = *r->options.context,
                    .n_tasks = r->n_tasks,
                    .task = run_task,
                    .ctx = r,
                    .total = r->total,
                    .done = &r->done};
    run.context.threads = r->threads;
    return tare_run_parallel(&run, err);
}

tare_status tare_read_many(const tare_model *model, const tare_read_job *jobs, size_t n,
                           const tare_read_options *options, tare_error *err) {
    TARE_REQUIRE(model && (jobs || n == 0), err);
    reading r = {.options = tare_read_options_default()};
    TARE_TRY(tare_options_read(&r.options, sizeof r.options, options, err));
    TARE_TRY(tare_context_keep(&r.context, &r.options.context, err));
    if (n == 0) return TARE_OK;
    tare_status s = take_jobs(&r, model, jobs, n, err);
    if (s == TARE_OK) s = run_all(&r, err);
    if (r.scratch) tare_scratch_delete(r.scratch, r.threads, r.options.context->allocator);
    if (r.jobs) tare_free(r.options.context->allocator, r.jobs, r.size);
    return s;
}

tare_status tare_read_job_bytes(uint64_t *out, const tare_model *model, const tare_read_job *job,
                                tare_error *err) {
    TARE_REQUIRE(out && model && job, err);
    tare_read_job own;
    tare_grid grid;
    *out = 0;
    TARE_TRY(take_job(&own, job, 0, err));
    TARE_TRY(tare_grid_make(&grid, model, &own, err));
    *out = grid.n_cells * grid.width;
    return TARE_OK;
}
