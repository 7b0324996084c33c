/* SPDX-License-Identifier: MIT
 *
 * Which elements of a tensor are stored as outliers in addition to its codes: those above a
 * threshold, or a share of the largest. The number in each chunk is known before a byte is written,
 * so that chunks can be encoded in any order. docs/infq.md, "Outliers". */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan_scan.h"

#define THRESHOLD 6.0f /* of the public converter */

/* Magnitudes are found by their upper and then by their lower 16 bits. */
#define BINS ((size_t)1 << 16)

typedef struct finder {
    const tare_plan *plan;
    tare_chunks chunks;
    tare_scratch *scratch;
    tare_planned_outliers *out;
    uint64_t *bins;   /* BINS a worker */
    bool takes_lower; /* the lower bits of magnitudes whose upper ones are these */
    uint32_t upper;
} finder;

/* ---- counting -------------------------------------------------------------------------------- */

static tare_status count_chunk(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    finder *f = ctx;
    tare_chunk chunk;
    TARE_TRY(tare_chunks_decode(&chunk, &f->chunks, task, &f->scratch[worker], err));
    tare_outliers_count(&f->out->records[task], &f->out->equal[task], chunk.values,
                        (size_t)tare_chunk_count(&chunk), f->out->rule.bits);
    return TARE_OK;
}

/* From counts of chunks to sums before each: records are what is above, and the first `n_equal` of
 * the rule's own magnitude. */
static void sum_up(tare_planned_outliers *o, uint64_t n_chunks) {
    uint64_t records = 0, equal = 0;
    for (uint64_t i = 0; i <= n_chunks; i++) {
        const uint64_t above = i < n_chunks ? o->records[i] : 0,
                       same = i < n_chunks ? o->equal[i] : 0;
        const uint64_t left = o->rule.n_equal - tare_min_u64(equal, o->rule.n_equal);
        o->records[i] = records;
        o->equal[i] = equal;
        records += above + tare_min_u64(same, left);
        equal += same;
    }
}

static tare_status count_all(finder *f, tare_error *err) {
    TARE_TRY(tare_plan_scan(f->plan, &f->chunks, &f->scratch, count_chunk, f, err));
    sum_up(f->out, f->chunks.n_chunks);
    return TARE_OK;
}

/* ---- a share --------------------------------------------------------------------------------- */

static tare_status fill_bins(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    finder *f = ctx;
    tare_chunk chunk;
    uint64_t *bins = f->bins + worker * BINS;
    TARE_TRY(tare_chunks_decode(&chunk, &f->chunks, task, &f->scratch[worker], err));
    for (uint64_t i = 0; i < tare_chunk_count(&chunk); i++) {
        const uint32_t size = tare_get_f32_bits(chunk.values, (size_t)i) & ~TARE_F32_SIGN;
        if (size >= TARE_F32_INF) continue;
        if (!f->takes_lower)
            bins[size >> 16]++;
        else if (size >> 16 == f->upper)
            bins[size & 0xffff]++;
    }
    return TARE_OK;
}

/* The bin, from the largest down, that the n-th number lies in; *n: which one it is there. */
static tare_status find_bin(finder *f, uint32_t *bin, uint64_t *n, tare_error *err) {
    const unsigned threads = tare_plan_threads(f->plan);
    memset(f->bins, 0, threads * BINS * sizeof *f->bins);
    TARE_TRY(tare_plan_scan(f->plan, &f->chunks, &f->scratch, fill_bins, f, err));
    for (size_t i = BINS; i-- > 0;) {
        uint64_t count = 0;
        for (unsigned t = 0; t < threads; t++) count += f->bins[t * BINS + i];
        *bin = (uint32_t)i;
        if (count >= *n) return TARE_OK;
        *n -= count;
    }
    *n = 0; /* there are fewer numbers than that: all of them */
    return TARE_OK;
}

/* The rule that takes the n largest magnitudes, but no zeros. */
static tare_status find_rule(finder *f, uint64_t n, tare_error *err) {
    uint32_t lower;
    const size_t size = tare_plan_threads(f->plan) * BINS * sizeof *f->bins;
    f->bins = tare_alloc(f->plan->options.context->allocator, size);
    if (!f->bins) return tare_fail(err, TARE_ERR_NOMEM, "counts of magnitudes");
    tare_status status = find_bin(f, &f->upper, &n, err);
    f->takes_lower = true;
    if (status == TARE_OK) status = find_bin(f, &lower, &n, err);
    if (status == TARE_OK) {
        f->out->rule.bits = n ? f->upper << 16 | lower : 0;
        f->out->rule.n_equal = f->out->rule.bits ? n : 0;
    }
    tare_free(f->plan->options.context->allocator, f->bins, size);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Whether a tensor is encoded into a type that has a list, and stored as that. */
static bool is_wanted(const tare_plan *p, size_t i) {
    const tare_planned *t = &p->tensors[i];
    const tare_encoding *e = t->becomes->encoding;
    return (t->action == TARE_ACTION_ENCODE || t->action == TARE_ACTION_LOSSY) &&
           tare_encoding_list_plane(e) < e->n_planes && p->catalog.tensors[i].encoding == e;
}

static void report_left_out(const tare_plan *p, size_t i) {
    const tare_tensor *t = p->tensors[i].becomes;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.outliers-left-out");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)p->tensors[i].source;
    f.item_name = t->name;
    tare_report_addf(p->options.context->report, &f,
                     "written without outliers: a record cannot hold a position among its %s",
                     t->cols > TARE_OUTLIER_COLS ? "columns" : "rows");
}

/* The tensor as planned, with a list of this many records. */
static tare_status set_list(tare_plan *p, size_t i, uint64_t n, tare_error *err) {
    tare_tensor *t = TARE_NEW(&p->arena, tare_tensor);
    uint64_t size;
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    if (!tare_mul_u64(n, TARE_OUTLIER_BYTES, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "size of the tensor");
    *t = *p->tensors[i].becomes;
    TARE_TRY(tare_tensor_set_list(t, size, &p->arena, err));
    p->tensors[i].becomes = t;
    p->catalog.tensors[i].planes = t->planes;
    p->catalog.tensors[i].size_bytes = t->size_bytes;
    return TARE_OK;
}

static tare_status find_outliers(tare_plan *p, size_t i, tare_error *err) {
    const tare_convert_infq_options *o = &p->infq;
    const tare_tensor *t = p->tensors[i].becomes;
    finder f = {.plan = p, .out = TARE_NEW(&p->arena, tare_planned_outliers)};
    TARE_TRY(tare_plan_chunks(&f.chunks, p, &p->tensors[i], err));
    const size_t n_sums = (size_t)f.chunks.n_chunks + 1;
    uint64_t *sums = f.out ? TARE_NEW_ARRAY(&p->arena, uint64_t, 2 * n_sums) : NULL;
    if (!sums) return tare_fail(err, TARE_ERR_NOMEM, "outliers");
    f.out->records = sums;
    f.out->equal = sums + n_sums;
    const float threshold = o->outlier_threshold > 0 ? o->outlier_threshold : THRESHOLD;
    f.out->rule.bits = tare_f32_bits(threshold);
    if (o->outlier_share > 0) {
        const uint64_t n = (uint64_t)((double)t->n_elements * o->outlier_share);
        if (n == 0) return TARE_OK;
        TARE_TRY(find_rule(&f, n, err));
    }
    TARE_TRY(count_all(&f, err));
    if (f.out->records[f.chunks.n_chunks] == 0) return TARE_OK;
    if (t->cols > TARE_OUTLIER_COLS || t->n_rows > TARE_OUTLIER_ROWS) {
        report_left_out(p, i);
        return TARE_OK;
    }
    p->tensors[i].outliers = f.out;
    return set_list(p, i, f.out->records[f.chunks.n_chunks], err);
}

tare_status tare_plan_outliers(tare_plan *plan, tare_error *err) {
    const tare_convert_infq_options *o = &plan->infq;
    const bool is_asked = o->outlier_threshold != 0 || o->outlier_share != 0;
    if (is_asked &&
        !plan->format->caps->has_encoding(tare_encoding_get(TARE_ENCODING_INT8_ROWWISE)))
        return tare_fail(err, TARE_ERR_ARG, "only INFQ stores outliers");
    if (o->outlier_threshold == INFINITY && o->outlier_share == 0) return TARE_OK;
    for (size_t i = 0; i < plan->catalog.n_tensors; i++)
        if (is_wanted(plan, i)) TARE_TRY(find_outliers(plan, i, err));
    return TARE_OK;
}
