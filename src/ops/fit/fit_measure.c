/* SPDX-License-Identifier: MIT
 *
 * The relative error of every candidate for every unit, on a sample of whole rows. Each row is
 * encoded and decoded by itself, with the importance that a conversion would use, and the squares
 * of the differences are weighed by it: importance of a column is the mean square of what is
 * multiplied by it, so that the sum is the error of the output.
 *
 * Sums of each piece of rows are kept apart and joined in order: they do not depend on threads. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/pool.h"
#include "encoding/slab.h"
#include "ops/convert/chunks.h"
#include "ops/convert/plan_scan.h"
#include "ops/fit/fit_parts.h"
#include "ops/mix/importance_matrix.h"

#define ROWS_LEAST    24  /* the error of a type varies by a few percent between rows */
#define ROWS_MOST     256 /* of a tensor, unless it is a stack of more matrices than half of that */
#define ROWS_PART     128 /* of the rows of a tensor one in so many, between these bounds */
#define ROWS_LARGEST  32  /* never more than one in so many where there are enough rows */
#define ROWS_OF_PIECE 8   /* of a task */
#define ROWS_OF_PROBE 2   /* of them: whether weights lie on the grid of a type */

/* Rows of one unit that are measured in one task. */
typedef struct piece {
    size_t unit;
    uint64_t first, n; /* of the sampled rows */
    uint64_t n_sampled;
} piece;

typedef struct sums {
    double reference;
    double error[TARE_FIT_TYPES_MAX];
    double mix_error[TARE_FIT_TYPES_MAX]; /* 0 where it is the same */
    uint64_t off_grid; /* set of types that the weights do not lie on the grid of */
} sums;

typedef struct measure {
    const tare_fit *f;
    tare_merge *merge;
    piece *pieces;
    sums *sums; /* of each piece */
    size_t n_pieces;
    tare_scratch *scratch;
} measure;

/* One row, and what its columns weigh. */
typedef struct sampled_row {
    size_t tensor;
    uint64_t cols;
    float *values;
    const float *importance; /* NULL: none */
    double *weights;         /* of errors; NULL: all alike */
    double reference;
} sampled_row;

static const tare_tensor *tensor(const measure *m, size_t i) {
    return &m->f->in->catalog.tensors[i];
}

/* ---- which rows ------------------------------------------------------------------------------ */

static uint64_t count_rows(const measure *m, const tare_fit_unit *u) {
    const uint64_t n_slices =
        tare_importance_slices(tensor(m, u->tensors[0])) * (uint64_t)u->n_tensors;
    uint64_t n = tare_min_u64(tare_max_u64(u->n_rows / ROWS_PART, ROWS_LEAST), ROWS_MOST);
    n = tare_max_u64(n, 2 * n_slices);
    n = tare_min_u64(n, tare_max_u64(u->n_rows / ROWS_LARGEST, ROWS_LEAST));
    return tare_min_u64(n, u->n_rows);
}

/* Row i of n: one from each of n equal parts, at a place that moves by the golden ratio, for heads
 * and experts repeat every so many rows. */
static uint64_t row_at(uint64_t n_rows, uint64_t n, uint64_t i) {
    const uint64_t from = (uint64_t)((double)n_rows * (double)i / (double)n);
    const uint64_t to = (uint64_t)((double)n_rows * (double)(i + 1) / (double)n);
    const uint32_t place = (uint32_t)(i * 2654435769u);
    return from + (uint64_t)((double)(to - from) * (place / 4294967296.0));
}

/* ---- importance ------------------------------------------------------------------------------ */

/* The k-th smallest of n finite numbers, which are moved about. */
static float select_kth(float *v, size_t n, size_t k) {
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1;
    const ptrdiff_t at = (ptrdiff_t)k;
    while (low < high) {
        const float pivot = v[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i > j) break;
            const float t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (at > j && at < i) break; /* between both parts: the pivot */
        if (at <= j)
            high = j;
        else
            low = i;
    }
    return v[at];
}

static double median_of(const float *importance, size_t n, float *copy) {
    memcpy(copy, importance, n * sizeof *copy);
    const double median = (double)select_kth(copy, n, n / 2);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)importance[i];
    /* Columns that were hardly ever used: by their mean. */
    return median > 0 ? median : sum / (double)n;
}

bool tare_fit_weigh_columns(double *out, const float *importance, size_t n,
                            const tare_fit_weighing *how, float *copy) {
    if (!importance) return false;
    const double unit = how->most_medians > 0 ? median_of(importance, n, copy) : 1;
    for (size_t i = 0; i < n && unit > 0; i++)
        out[i] = tare_fit_weight(how, fmax(0, (double)importance[i] / unit));
    return unit > 0;
}

static tare_status weigh(sampled_row *row, const tare_fit_weighing *how, tare_scratch *scratch,
                         tare_error *err) {
    const size_t n = (size_t)row->cols;
    row->weights = NULL;
    if (!row->importance) return TARE_OK;
    float *copy = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_READ_BACK,
                                                    row->cols * sizeof *copy);
    row->weights = (double *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_OUTLIERS,
                                                      row->cols * sizeof *row->weights);
    if (!copy || !row->weights) return tare_fail(err, TARE_ERR_NOMEM, "weights of columns");
    if (!tare_fit_weigh_columns(row->weights, row->importance, n, how, copy)) row->weights = NULL;
    return TARE_OK;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* The sum of squares of values, or of the differences between two. */
static double sum_squares(const sampled_row *row, const float *other) {
    double sum = 0;
    for (uint64_t i = 0; i < row->cols; i++) {
        const double d = (double)row->values[i] - (other ? (double)other[i] : 0);
        sum += (row->weights ? row->weights[i] : 1) * (d * d);
    }
    return sum;
}

/* As a conversion by the choice will weigh it. */
static tare_status floor_importance(sampled_row *row, tare_scratch *scratch, tare_error *err) {
    const tare_encoding *finest = tare_encoding_get(TARE_ENCODING_Q6_K); /* blocks of 16 */
    if (!row->importance || !tare_importance_unseen(row->importance, 1, row->cols, finest))
        return TARE_OK;
    float *copy = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_IMPORTANCE,
                                                    row->cols * sizeof *copy);
    if (!copy) return tare_fail(err, TARE_ERR_NOMEM, "importance");
    tare_importance_floor(copy, row->importance, row->cols);
    row->importance = copy;
    return TARE_OK;
}

static tare_status read_row(sampled_row *row, const measure *m, const tare_fit_unit *u,
                            uint64_t number, tare_scratch *scratch, tare_error *err) {
    const uint64_t rows_each = u->n_rows / u->n_tensors, at = number % rows_each;
    row->tensor = u->tensors[number / rows_each];
    row->cols = u->cols;
    row->values = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_VALUES,
                                                    row->cols * sizeof *row->values);
    if (!row->values) return tare_fail(err, TARE_ERR_NOMEM, "row");
    TARE_TRY(
        tare_tensor_values_f32(row->values, m->f->in, row->tensor, at * u->cols, u->cols, err));
    if (m->merge)
        TARE_TRY(tare_merge_add(m->merge, row->tensor, row->values, at * u->cols, u->cols, scratch,
                                err));
    const tare_tensor *t = tensor(m, row->tensor);
    const tare_importance *all = m->f->convert.importance;
    const float *values = NULL;
    if (all && tare_importance_of_tensor(&values, all, t) != TARE_IMPORTANCE_FITS) values = NULL;
    const uint64_t slice = at / (t->n_rows / tare_importance_slices(t));
    row->importance = values ? values + slice * u->cols : u->estimate;
    TARE_TRY(floor_importance(row, scratch, err));
    TARE_TRY(weigh(row, &u->weighing, scratch, err));
    row->reference = sum_squares(row, NULL);
    return TARE_OK;
}

/* Encodes a row, by an importance, and decodes it again: *error is the sum of the differences. */
static tare_status try_type(double *error, const measure *m, const sampled_row *row,
                            const tare_encoding *type, const float *importance,
                            tare_scratch *scratch, tare_error *err) {
    const tare_slab at = {.n_rows = 1, .n_cols = row->cols, .row_length = row->cols};
    tare_encode_params params = tare_encode_params_default();
    uint8_t *bytes = tare_scratch_get(scratch, TARE_SCRATCH_ENCODED, tare_slab_bytes(&at, type));
    float *after =
        (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_DECODED, row->cols * sizeof *after);
    if (!bytes || !after) return tare_fail(err, TARE_ERR_NOMEM, "row");
    tare_rows_mut encoded = {.n_rows = 1, .cols = row->cols};
    tare_rows rows = {.n_rows = 1, .cols = row->cols};
    for (uint32_t p = 0; p < type->n_planes; p++) {
        uint64_t offset, size;
        tare_slab_range(&at, type, p, &offset, &size);
        rows.planes[p] = encoded.planes[p] = bytes;
        bytes += size;
    }
    params.quality = m->f->convert.quality;
    if (tare_plan_is_weighted(type, params.quality)) params.importance = importance;
    TARE_TRY(tare_encode_rows(&encoded, type, row->values, &params, err));
    TARE_TRY(tare_decode_rows(after, type, &rows, err));
    *error = sum_squares(row, after);
    if (!isfinite(*error)) *error = row->reference; /* values out of its range: nothing is left */
    return TARE_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static uint64_t wanted(const tare_fit_unit *u) {
    return u->usable & ~u->known;
}

/* Named mixes encode by an estimate of importance only with the better encoders: else theirs are the
 * bytes of llama.cpp, which knows none. */
static bool differs_in_mixes(const measure *m, const tare_fit_unit *u) {
    return u->estimate && m->f->convert.quality != TARE_QUALITY_BEST;
}

static tare_status measure_row(sums *s, const measure *m, const tare_fit_unit *u,
                               const sampled_row *row, tare_scratch *scratch, tare_error *err) {
    const uint64_t types = wanted(u) & ~s->off_grid;
    s->reference += row->reference;
    for (size_t k = 0; k < m->f->n_types; k++) {
        double error = 0;
        if (!(types >> k & 1)) continue;
        TARE_TRY(try_type(&error, m, row, m->f->types[k], row->importance, scratch, err));
        s->error[k] += error;
        if (!differs_in_mixes(m, u)) continue;
        TARE_TRY(try_type(&error, m, row, m->f->types[k], NULL, scratch, err));
        s->mix_error[k] += error;
    }
    return TARE_OK;
}

static double relative_error(const sums *s, size_t type) {
    return s->reference > 0 ? s->error[type] / s->reference : s->error[type] > 0;
}

/* Weights lie on the grid of a type if it makes less than half the error that types of its bits
 * usually make. */
static void judge_grids(sums *s, const measure *m, const tare_fit_unit *u) {
    for (size_t k = 0; k < m->f->n_types; k++) {
        if (!((wanted(u) & u->grids) >> k & 1)) continue;
        const double usual = tare_fit_usual_error(tare_encoding_bits(m->f->types[k]));
        if (relative_error(s, k) >= 0.5 * usual) s->off_grid |= UINT64_C(1) << k;
    }
}

/* The first rows tell which types on a grid are tried on the others: most are on none. */
static tare_status measure_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const measure *m = ctx;
    const piece *p = &m->pieces[task];
    const tare_fit_unit *u = &m->f->units[p->unit];
    tare_scratch *scratch = &m->scratch[worker];
    sums *s = &m->sums[task];
    *s = (sums){0};
    for (uint64_t i = 0; i < p->n; i++) {
        sampled_row row = {0};
        TARE_TRY(read_row(&row, m, u, row_at(u->n_rows, p->n_sampled, p->first + i), scratch, err));
        if (isfinite(row.reference)) /* else it is reported by the conversion */
            TARE_TRY(measure_row(s, m, u, &row, scratch, err));
        if (i + 1 == tare_min_u64(ROWS_OF_PROBE, p->n)) judge_grids(s, m, u);
    }
    return TARE_OK;
}

static tare_status cut(measure *m, tare_arena *arena, tare_error *err) {
    const tare_fit *f = m->f;
    uint64_t n = 0;
    for (size_t u = 0; u < f->n_units; u++)
        if (wanted(&f->units[u]))
            n += tare_ceil_div_u64(count_rows(m, &f->units[u]), ROWS_OF_PIECE);
    m->pieces = TARE_NEW_ARRAY(arena, piece, n);
    m->sums = TARE_NEW_ARRAY(arena, sums, n);
    if (!m->pieces || !m->sums) return tare_fail(err, TARE_ERR_NOMEM, "sample of rows");
    for (size_t u = 0; u < f->n_units; u++) {
        const uint64_t n_rows = wanted(&f->units[u]) ? count_rows(m, &f->units[u]) : 0;
        for (uint64_t i = 0; i < n_rows; i += ROWS_OF_PIECE)
            m->pieces[m->n_pieces++] =
                (piece){u, i, tare_min_u64(ROWS_OF_PIECE, n_rows - i), n_rows};
    }
    return TARE_OK;
}

/* The relative errors of a unit, from the sums of its rows. */
static void conclude(tare_fit_unit *u, const measure *m, const sums *all) {
    u->usable &= ~all->off_grid;
    u->grids &= ~all->off_grid;
    for (size_t k = 0; k < m->f->n_types; k++) {
        if (!(wanted(u) >> k & 1)) continue;
        u->error[k] = relative_error(all, k);
        u->mix_error[k] = differs_in_mixes(m, u) && all->reference > 0
                              ? all->mix_error[k] / all->reference
                              : u->error[k];
    }
    if (u->by_energy > 0 && !u->is_measured)
        u->alpha = u->by_energy * all->reference / (double)count_rows(m, u);
}

static void add(sums *all, const sums *s, size_t n_types) {
    all->reference += s->reference;
    all->off_grid |= s->off_grid;
    for (size_t k = 0; k < n_types; k++) {
        all->error[k] += s->error[k];
        all->mix_error[k] += s->mix_error[k];
    }
}

/* Joins the sums of the pieces, in order. */
static void conclude_all(const measure *m, tare_fit *f) {
    for (size_t i = 0, next; i < m->n_pieces; i = next) {
        const size_t unit = m->pieces[i].unit;
        sums all = {0};
        for (next = i; next < m->n_pieces && m->pieces[next].unit == unit; next++)
            add(&all, &m->sums[next], f->n_types);
        conclude(&f->units[unit], m, &all);
    }
}

static tare_status run(measure *m, const tare_plan *plan, tare_error *err) {
    const tare_convert_options *o = &m->f->convert;
    const unsigned threads = tare_plan_threads(plan);
    m->scratch = tare_scratch_new(threads, o->context->allocator);
    if (!m->scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    _Atomic uint64_t done = 0;
    tare_run run = {
        .context = *o->context, .n_tasks = m->n_pieces, .task = measure_piece, .ctx = m};
    run.context.threads = threads;
    run.total = m->n_pieces;
    run.done = &done;
    const tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(m->scratch, threads, o->context->allocator);
    return status;
}

/* Each row is read once: of a model on a server, that is what it costs. */
tare_status tare_fit_measure(tare_fit *f, const tare_plan *plan, tare_error *err) {
    measure m = {.f = f, .merge = plan->merge};
    tare_arena arena;
    tare_arena_init(&arena, f->convert.context->allocator);
    tare_status status = cut(&m, &arena, err);
    if (status == TARE_OK) status = run(&m, plan, err);
    if (status == TARE_OK) conclude_all(&m, f);
    for (size_t u = 0; status == TARE_OK && u < f->n_units; u++)
        f->units[u].known |= f->units[u].usable;
    tare_arena_free(&arena);
    return status;
}
