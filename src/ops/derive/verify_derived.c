/* SPDX-License-Identifier: MIT
 *
 * tare_verify_derived: each tensor against what encoders make of the source's: a few chunks with each
 * of them, then all of it with the one that agrees most. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include <tare/experimental/derived.h>

#include "base/arith.h"
#include "base/pool.h"
#include "base/report.h"
#include "model/catalog.h"
#include "ops/derive/derive.h"
#include "ops/digest.h"
#include "ops/mix/importance_matrix.h"
#include "ops/steps.h"

enum {
    SAMPLES = 6,      /* chunks with which an encoder is chosen */
    PATCHED_MOST = 8, /* one block in so many may differ */
    WAYS_MOST = 6,    /* of three encoders, without and with importance */
    CLOSE_MOST = 4,   /* times the squared error of an encoder that a close tensor may have */
};

typedef struct checking {
    const tare_model *model, *source;
    const tare_importance *importance;
    tare_context context;
    tare_scratch *scratch;
    /* Of the tensor at hand. */
    size_t tensor;
    tare_derivation how;
    tare_chunks chunks;
    pthread_mutex_t mutex;
    tare_derive_counts counts;
    _Atomic uint64_t done;
    uint64_t total;
    bool is_derived;
} checking;

/* ---- telling --------------------------------------------------------------------------------- */

static tare_finding finding_of(checking *c, tare_level level, const char *code) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, code);
    f.level = level;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)c->tensor;
    f.item_name = c->model->catalog.tensors[c->tensor].name;
    if (level == TARE_LEVEL_ERROR) c->is_derived = false;
    return f;
}

static const char *words_of(const tare_derivation *how) {
    const bool is_best = how->quality == TARE_QUALITY_BEST;
    if (how->compat == TARE_COMPAT_GGML_0_21)
        return how->importance ? ", with the matrix, by ggml up to 0.21" : ", by ggml up to 0.21";
    return how->importance ? is_best ? ", with the matrix and quality best" : ", with the matrix"
           : is_best       ? ", with quality best"
                           : "";
}

static void tell_unknown(checking *c, const char *why) {
    const tare_finding f = finding_of(c, TARE_LEVEL_ERROR, "derived.unknown");
    tare_report_addf(c->context.report, &f, "%s", why);
}

static void tell(checking *c) {
    const tare_derive_counts *n = &c->counts;
    const char *name = c->chunks.to->name, *words = words_of(&c->how);
    tare_finding f;
    if (n->n_other == 0 || n->error == 0) { /* codes that were kept are the same numbers, too */
        f = finding_of(c, TARE_LEVEL_INFO, "derived.exact");
        tare_report_addf(c->context.report, &f, "exactly the source's as %s%s", name, words);
    } else if (n->n_other <= n->n_blocks / PATCHED_MOST) {
        f = finding_of(c, TARE_LEVEL_INFO, "derived.patched");
        tare_report_addf(c->context.report, &f,
                         "the source's as %s%s, but for %" PRIu64 " of %" PRIu64 " blocks", name,
                         words, n->n_other, n->n_blocks);
    } else if (n->error <= CLOSE_MOST * n->expected) {
        f = finding_of(c, TARE_LEVEL_ERROR, "derived.close");
        tare_report_addf(c->context.report, &f,
                         "about the source's numbers as %s, but encoded otherwise: with another "
                         "importance matrix, or by another encoder",
                         name);
    } else {
        f = finding_of(c, TARE_LEVEL_ERROR, "derived.not");
        tare_report_addf(c->context.report, &f, "other numbers than the source's");
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static tare_status compare(checking *c, uint64_t chunk, unsigned worker, tare_error *err) {
    tare_derive_counts counts = {0};
    TARE_TRY(tare_derive_compare(&counts, &c->how, &c->chunks, chunk, c->model, c->tensor,
                                 &c->scratch[worker], err));
    pthread_mutex_lock(&c->mutex);
    c->counts.n_blocks += counts.n_blocks;
    c->counts.n_other += counts.n_other;
    c->counts.error += counts.error;
    c->counts.expected += counts.expected;
    pthread_mutex_unlock(&c->mutex);
    return TARE_OK;
}

static tare_status run_sample(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    checking *c = ctx;
    return compare(c, task * c->chunks.n_chunks / SAMPLES, worker, err);
}

static tare_status run_all(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    checking *c = ctx;
    TARE_TRY(compare(c, task, worker, err));
    atomic_fetch_add(&c->done, tare_derive_chunk_bytes(&c->chunks, task));
    return TARE_OK;
}

static tare_status run(checking *c, tare_task_fn task, uint64_t n, tare_error *err) {
    const tare_run run = {.context = c->context,
                          .n_tasks = n,
                          .task = task,
                          .ctx = c,
                          .total = c->total,
                          .done = &c->done};
    c->counts = (tare_derive_counts){0};
    return tare_run_parallel(&run, err);
}

/* How the tensor may have been made: by each encoder, without and with the matrix. */
static unsigned list_ways(tare_derivation *ways, const checking *c, size_t source) {
    const tare_tensor *t = &c->model->catalog.tensors[c->tensor];
    const tare_derivation plain = {.from = c->source, .source = source};
    const float *values;
    unsigned n = 0;
    const bool is_block = t->encoding->kind == TARE_KIND_BLOCK;
    const bool fits = is_block && c->importance &&
                      tare_importance_of_tensor(&values, c->importance, t) == TARE_IMPORTANCE_FITS;
    tare_derivation way = plain;
    for (unsigned k = 0; tare_derive_next_encoder(&way, t->encoding, &k);) {
        if (fits) {
            way.importance = values;
            way.slice_rows = t->n_rows / tare_importance_slices(t);
            ways[n++] = way;
        }
        way.importance = NULL;
        if (!tare_encoding_needs_importance(t->encoding)) ways[n++] = way;
    }
    return n;
}

/* That whose sample agrees most. */
static tare_status choose_way(checking *c, const tare_derivation *ways, unsigned n,
                              tare_error *err) {
    const tare_encoding *to = c->model->catalog.tensors[c->tensor].encoding;
    tare_derivation chosen = ways[0];
    double least = INFINITY;
    for (unsigned i = 0; i < n && n > 1 && least > 0; i++) {
        c->how = ways[i];
        TARE_TRY(tare_derive_cut(&c->chunks, &c->how, to, err));
        TARE_TRY(run(c, run_sample, tare_min_u64(SAMPLES, c->chunks.n_chunks), err));
        const double share = (double)c->counts.n_other / (double)(c->counts.n_blocks + 1);
        if (share >= least) continue;
        least = share;
        chosen = ways[i];
    }
    c->how = chosen;
    return tare_derive_cut(&c->chunks, &c->how, to, err);
}

static bool is_same_shape(const tare_tensor *a, const tare_tensor *b) {
    bool is_same = a->n_dims == b->n_dims;
    for (uint32_t d = 0; is_same && d < a->n_dims; d++) is_same = a->dims[d] == b->dims[d];
    return is_same;
}

static tare_status check_tensor(checking *c, size_t tensor, tare_error *err) {
    const tare_tensor *t = &c->model->catalog.tensors[tensor];
    const int64_t at = tare_model_find_tensor(c->source, t->name);
    tare_derivation ways[WAYS_MOST];
    c->tensor = tensor;
    if (at < 0 || !is_same_shape(t, &c->source->catalog.tensors[at])) {
        tell_unknown(c,
                     at < 0 ? "the source has no such tensor" : "of another shape in the source");
        return TARE_OK;
    }
    if (t->encoding->n_planes != 1 || !tare_encoding_can_encode(t->encoding) ||
        !tare_tensor_can_decode(c->source, (size_t)at)) {
        tell_unknown(c, "its type cannot be made from other numbers");
        return TARE_OK;
    }
    const unsigned n = list_ways(ways, c, (size_t)at);
    if (n == 0) {
        tell_unknown(c, "its type needs an importance matrix, and none is given for it");
        return TARE_OK;
    }
    TARE_TRY(choose_way(c, ways, n, err));
    TARE_TRY(run(c, run_all, c->chunks.n_chunks, err));
    tell(c);
    return TARE_OK;
}

static tare_status check_all(checking *c, tare_error *err) {
    const tare_catalog *k = &c->model->catalog;
    c->total = tare_catalog_tensor_bytes(k);
    for (size_t i = 0; i < k->n_tensors; i++) {
        const tare_status status = check_tensor(c, i, err);
        if (status == TARE_OK) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, k->tensors[i].name);
        return status;
    }
    return TARE_OK;
}

tare_status tare_verify_derived(bool *is_derived, const tare_model *model, const tare_model *source,
                                const tare_importance *importance, const tare_context *context,
                                tare_error *err) {
    TARE_REQUIRE(model && source, err);
    checking c = {.model = model, .source = source, .importance = importance, .is_derived = true};
    c.context = tare_context_default();
    TARE_TRY(tare_options_read(&c.context, sizeof c.context, context, err));
    const tare_context quiet = tare_steps_context_quiet(&c.context);
    TARE_TRY(tare_digests_check(tare_model_as_stored(source), &quiet, err));
    if (!c.context.threads) c.context.threads = tare_default_threads();
    c.scratch = tare_scratch_new(c.context.threads, c.context.allocator);
    if (!c.scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    tare_status status =
        pthread_mutex_init(&c.mutex, NULL) == 0 ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "lock");
    if (status == TARE_OK) {
        status = check_all(&c, err);
        pthread_mutex_destroy(&c.mutex);
    }
    tare_scratch_delete(c.scratch, c.context.threads, c.context.allocator);
    if (status == TARE_OK && is_derived) *is_derived = c.is_derived;
    return status;
}
