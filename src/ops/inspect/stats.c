/* SPDX-License-Identifier: MIT
 *
 * Statistics of tensors in one pass over their values. Sums have 16 lanes that are added up as a
 * tree, so that they do not depend on the CPU. The histogram begins with the reach of the first
 * values; when larger ones come, its bins are merged in pairs and the reach doubles, which gives
 * the same counts as if the final reach had been known, because a bin of the wider histogram is two
 * whole bins of the narrower one. */
#include <tare/inspect.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "model/hidden_scales.h"
#include "ops/digest.h"
#include "ops/inspect/value_pieces.h"
#include "ops/item_walk.h"

#define LANES  16
#define MIDDLE (TARE_STATS_BINS / 2)

typedef struct sums {
    double sum[LANES], squares[LANES];
    float min[LANES], max[LANES];
    uint64_t n, n_zero, n_nan, n_inf;
} sums;

typedef struct stats_walk {
    const tare_model *model;
    const size_t *tensors; /* NULL: all */
    tare_stats_fn fn;
    void *ctx;
    pthread_mutex_t lock;
} stats_walk;

/* ---- one piece ------------------------------------------------------------------------------- */

static void count_special(sums *s, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = tare_f32_bits(values[i]) & 0x7FFFFFFFu;
        s->n_zero += magnitude == 0;
        if (magnitude < 0x7F800000u) continue;
        s->n_inf += magnitude == 0x7F800000u;
        s->n_nan += magnitude > 0x7F800000u;
    }
}

static bool is_finite(float x) {
    return x - x == 0;
}

/* Values first .. first + n - 1 of a tensor, n at most LANES: lane i takes value i. */
static void add_lanes(sums *s, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float x = values[i];
        const bool counts = is_finite(x);
        const double d = counts ? (double)x : 0;
        s->sum[i] += d;
        s->squares[i] += d * d;
        s->min[i] = counts && x < s->min[i] ? x : s->min[i];
        s->max[i] = counts && x > s->max[i] ? x : s->max[i];
    }
}

static void add_sums(sums *s, const float *values, size_t n) {
    size_t i = 0;
    for (; n - i >= LANES; i += LANES) add_lanes(s, values + i, LANES);
    add_lanes(s, values + i, n - i);
    count_special(s, values, n);
    s->n += n;
}

/* ---- histogram ------------------------------------------------------------------------------- */

static float largest_magnitude(const sums *s) {
    float most = 0;
    for (size_t i = 0; i < LANES; i++) {
        if (s->max[i] > most) most = s->max[i];
        if (-s->min[i] > most) most = -s->min[i];
    }
    return most;
}

/* Bin i covers [i - MIDDLE, i - MIDDLE + 1) before, and is a half of bin (i - MIDDLE) >> 1. */
static void merge_bins(uint64_t *bins) {
    uint64_t merged[TARE_STATS_BINS] = {0};
    for (int i = 0; i < TARE_STATS_BINS; i++) {
        int from_middle = i - MIDDLE;
        int half = from_middle >= 0 ? from_middle / 2 : -((1 - from_middle) / 2);
        merged[half + MIDDLE] += bins[i];
    }
    memcpy(bins, merged, sizeof merged);
}

/* Widens the histogram until `most` lies below its reach. */
static void reach_out(tare_tensor_stats *out, float most) {
    if (most == 0 || (double)most < out->reach) return;
    int exponent;
    frexp((double)most, &exponent);
    const double reach = ldexp(1, exponent);
    /* After so many merges nothing but the two bins beside the middle is filled. */
    const int merges = out->reach > 0 ? exponent - ilogb(out->reach) : 0;
    for (int i = 0; i < merges && i < 8; i++) merge_bins(out->histogram);
    out->reach = reach;
}

/* Four copies of the bins: equal values follow each other, and an addition need not wait for the
 * one before. */
static void add_bins(tare_tensor_stats *out, const float *values, size_t n) {
    uint64_t copies[4][TARE_STATS_BINS] = {{0}};
    const double scale = out->reach > 0 ? MIDDLE / out->reach : 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_finite(values[i])) continue;
        double x = (double)values[i] * scale; /* exact: a power of two */
        int bin = (int)x;
        bin -= x < bin;
        copies[i % 4][bin + MIDDLE]++;
    }
    for (size_t b = 0; b < TARE_STATS_BINS; b++)
        out->histogram[b] += copies[0][b] + copies[1][b] + copies[2][b] + copies[3][b];
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static void begin(sums *s) {
    *s = (sums){.n = 0};
    for (size_t i = 0; i < LANES; i++) {
        s->min[i] = INFINITY;
        s->max[i] = -INFINITY;
    }
}

static void finish(tare_tensor_stats *out, sums *s) {
    for (size_t step = LANES / 2; step > 0; step /= 2)
        for (size_t i = 0; i < step; i++) {
            s->sum[i] += s->sum[i + step];
            s->squares[i] += s->squares[i + step];
            if (s->min[i + step] < s->min[i]) s->min[i] = s->min[i + step];
            if (s->max[i + step] > s->max[i]) s->max[i] = s->max[i + step];
        }
    out->is_decoded = true;
    out->n_zero = s->n_zero;
    out->n_nan = s->n_nan;
    out->n_inf = s->n_inf;
    out->n_finite = s->n - s->n_nan - s->n_inf;
    if (out->n_finite == 0) return;
    const double n = (double)out->n_finite, mean = s->sum[0] / n;
    const double variance = s->squares[0] / n - mean * mean;
    out->mean = mean;
    out->std_dev = variance > 0 ? sqrt(variance) : 0;
    out->min = (double)s->min[0];
    out->max = (double)s->max[0];
}

/* Numbers whose scale is none, and which decode to 0: they are no numbers. */
static tare_status count_hidden(tare_tensor_stats *out, sums *s, const tare_model *m, size_t tensor,
                                uint64_t first, size_t n, tare_error *err) {
    tare_nonfinite_counts odd = tare_nonfinite_counts_default();
    TARE_TRY(tare_count_hidden(&odd, m, tensor, first, n, err));
    s->n_nan += odd.n_nan;
    s->n_zero -= odd.n_nan;
    out->histogram[MIDDLE] -= odd.n_nan;
    return TARE_OK;
}

static tare_status read_pieces(tare_tensor_stats *out, const tare_model *m, size_t tensor,
                               uint64_t piece, float *values, const tare_walk_job *job,
                               tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    sums s;
    uint64_t ticked = 0;
    begin(&s);
    for (uint64_t first = 0; first < t->n_elements; first += piece) {
        const size_t n = (size_t)tare_min_u64(t->n_elements - first, piece);
        TARE_TRY(tare_tensor_values_f32(values, m, tensor, first, n, err));
        add_sums(&s, values, n);
        reach_out(out, largest_magnitude(&s));
        add_bins(out, values, n);
        TARE_TRY(count_hidden(out, &s, m, tensor, first, n, err));
        uint64_t done =
            (uint64_t)((double)t->size_bytes * ((double)(first + n) / (double)t->n_elements));
        TARE_TRY(tare_walk_tick(job, done - ticked, err));
        ticked = done;
    }
    finish(out, &s);
    return TARE_OK;
}

static tare_status measure(tare_tensor_stats *out, const tare_model *m, size_t tensor,
                           const tare_walk_job *job, tare_error *err) {
    tare_error unread;
    if (!tare_tensor_can_decode(m, tensor) ||
        tare_tensor_check_packed(m, tensor, &unread) != TARE_OK)
        return tare_walk_tick(job, m->catalog.tensors[tensor].size_bytes, err);
    uint64_t piece = tare_values_piece(m, tensor), bytes;
    size_t size;
    if (!tare_mul_u64(piece, sizeof(float), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    float *values = tare_alloc(m->allocator, size ? size : 1);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "values");
    tare_status status = read_pieces(out, m, tensor, piece, values, job, err);
    tare_free(m->allocator, values, size ? size : 1);
    return status;
}

/* ---- all tensors ----------------------------------------------------------------------------- */

static size_t tensor_of(const stats_walk *w, size_t item) {
    return w->tensors ? w->tensors[item] : item;
}

static uint64_t item_size(const void *ctx, size_t item) {
    const stats_walk *w = ctx;
    return w->model->catalog.tensors[tensor_of(w, item)].size_bytes;
}

static tare_status visit(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    stats_walk *w = ctx;
    const size_t tensor = tensor_of(w, item);
    tare_tensor_stats stats = {.is_decoded = false};
    tare_status status = measure(&stats, w->model, tensor, job, err);
    if (status != TARE_OK) return tare_walk_blame(status, w->model, tensor, err);
    pthread_mutex_lock(&w->lock);
    w->fn(w->ctx, tensor, &stats);
    pthread_mutex_unlock(&w->lock);
    return TARE_OK;
}

/* Numbers of tensors whose checksum is not the one that is stated would be those of other tensors. */
static tare_status check_stated(const tare_model *model, const size_t *tensors, size_t n_tensors,
                                const tare_context *o, tare_error *err) {
    tare_context quiet = *o;
    quiet.progress = NULL;
    if (!tensors) return tare_digests_check(tare_model_as_stored(model), &quiet, err);
    for (size_t i = 0; i < n_tensors; i++)
        TARE_TRY(tare_tensor_check(model, tensors[i], &quiet, err));
    return TARE_OK;
}

tare_status tare_model_stats(const tare_model *model, const size_t *tensors, size_t n_tensors,
                             tare_stats_fn fn, void *ctx, const tare_context *context,
                             tare_error *err) {
    if (!model || !fn) return tare_fail(err, TARE_ERR_ARG, "no model, or no function to call");
    for (size_t i = 0; tensors && i < n_tensors; i++)
        if (tensors[i] >= model->catalog.n_tensors)
            return tare_fail(err, TARE_ERR_ARG, "no such tensor");
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    if (!o.allocator) o.allocator = model->allocator;
    TARE_TRY(check_stated(model, tensors, n_tensors, &o, err));
    stats_walk w = {.model = model, .tensors = tensors, .fn = fn, .ctx = ctx};
    if (pthread_mutex_init(&w.lock, NULL) != 0) return tare_fail(err, TARE_ERR_NOMEM, "lock");
    const tare_walk walk = {
        .n_items = tensors ? n_tensors : model->catalog.n_tensors,
        .size_of = item_size,
        .visit = visit,
        .ctx = &w,
        .context = o,
    };
    tare_status status = tare_walk_run(&walk, err);
    pthread_mutex_destroy(&w.lock);
    return status;
}

void tare_stats_columns(uint64_t *columns, size_t n_columns, const tare_tensor_stats *stats) {
    memset(columns, 0, n_columns * sizeof *columns);
    if (n_columns == 0 || stats->n_finite == 0) return;
    const double width = (stats->max - stats->min) / (double)n_columns;
    const double bin = stats->reach / MIDDLE;
    for (size_t b = 0; b < TARE_STATS_BINS; b++) {
        if (stats->histogram[b] == 0) continue;
        double low = fmax(((double)b - MIDDLE) * bin, stats->min);
        double high = fmin(((double)b + 1 - MIDDLE) * bin, stats->max);
        double from = width > 0 ? (low - stats->min) / width : 0;
        double to = width > 0 ? (high - stats->min) / width : 0;
        size_t first = (size_t)fmin(fmax(from, 0), (double)n_columns - 1);
        size_t last = (size_t)fmin(fmax(to, 0), (double)n_columns - 1);
        for (size_t c = first; c <= last; c++) {
            double share = to > from
                               ? (fmin(to, (double)c + 1) - fmax(from, (double)c)) / (to - from)
                               : c == first;
            columns[c] += (uint64_t)llround(share * (double)stats->histogram[b]);
        }
    }
}
