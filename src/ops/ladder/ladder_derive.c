/* SPDX-License-Identifier: MIT
 *
 * For each tensor, the tensors of larger models that have its name and shape are encoded as it is, on a
 * few samples: without and with each matrix of the folder, in both qualities. That which gives most of
 * its blocks is kept, if that are nearly all. */
#include <math.h>

#include "base/pool.h"
#include "base/str.h"
#include "ops/derive/derive.h"
#include "ops/ladder/ladder.h"
#include "ops/mix/importance_matrix.h"

enum {
    SAMPLES = 3,    /* chunks of a tensor */
    OTHER_MOST = 8, /* one block of a sample in so many may be another one */
    OTHER_FEW =
        16, /* so many are another build's: neither the slow searches nor smaller sources give more */
    SOURCES_MOST = 3, /* tensors that are tried, the largest first */
};

typedef struct searching {
    tare_ladder *l;
    tare_scratch *scratch;
} searching;

typedef struct found {
    tare_pack_derivation how;
    double share; /* of blocks that are others */
} found;

/* The model that a tensor is of. */
static size_t model_of(const tare_ladder *l, size_t tensor) {
    size_t i = 0;
    while (i + 1 < l->n_models && tensor >= l->models[i].first + l->models[i].n) i++;
    return i;
}

static bool is_same_shape(const tare_tensor *a, const tare_tensor *b) {
    bool is_same = a->n_dims == b->n_dims;
    for (uint32_t d = 0; is_same && d < a->n_dims; d++) is_same = a->dims[d] == b->dims[d];
    return is_same;
}

/* Tries one way; it replaces the best one if it gives more. */
static tare_status try_way(found *best, const searching *s, size_t tensor,
                           const tare_ladder_source *source, const tare_pack_derivation *how,
                           unsigned worker, tare_error *err) {
    const tare_model *m = s->l->all;
    const tare_derivation way = {.from = source->from,
                                 .source = source->tensor,
                                 .importance = how->importance,
                                 .slice_rows = how->slice_rows,
                                 .quality = (tare_quality)how->quality,
                                 .compat = (tare_compat)how->compat};
    tare_derive_counts counts = {0};
    tare_chunks chunks;
    TARE_TRY(tare_derive_cut(&chunks, &way, m->catalog.tensors[tensor].encoding, err));
    const uint64_t n = chunks.n_chunks < SAMPLES ? chunks.n_chunks : SAMPLES;
    for (uint64_t i = 0; i < n; i++)
        TARE_TRY(tare_derive_compare(&counts, &way, &chunks, i * chunks.n_chunks / n, m, tensor,
                                     &s->scratch[worker], err));
    const double share = (double)counts.n_other / ((double)counts.n_blocks + 1e-9);
    if (share >= best->share) return TARE_OK;
    *best = (found){*how, share};
    return TARE_OK;
}

static bool is_found(const found *best) {
    return best->share <= 1.0 / OTHER_FEW;
}

/* With each matrix that has the tensor, and without one. */
static tare_status try_source(found *best, const searching *s, size_t tensor, tare_str name,
                              const tare_ladder_source *source, unsigned worker, tare_error *err) {
    const tare_tensor *t = &s->l->all->catalog.tensors[tensor];
    const bool is_block = t->encoding->kind == TARE_KIND_BLOCK;
    tare_tensor named = *t;
    named.name = name;
    tare_derivation by;
    for (unsigned k = 0; best->share > 0 && tare_derive_next_encoder(&by, t->encoding, &k);) {
        if (by.quality == TARE_QUALITY_BEST && is_found(best)) break;
        tare_pack_derivation how = {.is_set = true,
                                    .source = source->pieces ? 0 : source->tensor,
                                    .pieces = source->pieces,
                                    .quality = (uint8_t)by.quality,
                                    .compat = (uint8_t)by.compat};
        if (!tare_encoding_needs_importance(t->encoding))
            TARE_TRY(try_way(best, s, tensor, source, &how, worker, err));
        for (size_t i = 0; is_block && i < s->l->n_matrices && best->share > 0; i++) {
            if (tare_importance_of_tensor(&how.importance, s->l->matrices[i], &named) !=
                TARE_IMPORTANCE_FITS)
                continue;
            const uint64_t slices = tare_importance_slices(t);
            how.n_importance = slices * t->cols;
            how.slice_rows = t->n_rows / slices;
            TARE_TRY(try_way(best, s, tensor, source, &how, worker, err));
        }
    }
    return TARE_OK;
}

/* Of more bytes, as a wider float, or in another order. */
static bool may_be_made(const tare_tensor *t, const tare_ladder_source *source) {
    const tare_tensor *from = &source->from->catalog.tensors[source->tensor];
    const bool are_floats =
        t->encoding->kind == TARE_KIND_FLOAT && from->encoding->kind == TARE_KIND_FLOAT;
    return is_same_shape(t, from) && (source->pieces || from->encoding != t->encoding) &&
           (are_floats || from->size_bytes >= t->size_bytes) &&
           tare_packed_can_derive(from->encoding, t->encoding, t->cols);
}

static tare_status search(void *ctx, uint64_t tensor, unsigned worker, tare_error *err) {
    const searching *s = ctx;
    const tare_ladder *l = s->l;
    const size_t own = model_of(l, (size_t)tensor);
    const tare_tensor *t = &l->all->catalog.tensors[tensor];
    const tare_str name = tare_ladder_tensor_name(l, own, (size_t)tensor);
    found best = {.share = INFINITY};
    unsigned n_tried = 0;
    for (size_t k = 0; k < own && n_tried < SOURCES_MOST && !is_found(&best); k++) {
        tare_ladder_source source;
        if (!tare_ladder_find(&source, l, k, name) || !may_be_made(t, &source)) continue;
        TARE_TRY(try_source(&best, s, (size_t)tensor, name, &source, worker, err));
        n_tried++;
    }
    if (best.share <= 1.0 / OTHER_MOST) l->derivations[tensor] = best.how;
    return TARE_OK;
}

/* Rows of importance are stored as those of the matrix's file; without a place there, nothing is made with
 * them. */
static void find_importance(const tare_ladder *l, tare_pack_derivation *how, uint64_t cols,
                            tare_arena *arena) {
    for (size_t i = 0; i < l->n_matrices; i++)
        if (tare_importance_find_origin(&how->importance_at, &how->divisors, l->matrices[i],
                                        how->importance, how->n_importance / cols, cols, arena)) {
            how->importance_file = l->matrix_names[i];
            return;
        }
    how->is_set = false;
}

tare_status tare_ladder_derive(tare_ladder *l, tare_error *err) {
    const size_t n = l->all->catalog.n_tensors;
    searching s = {.l = l};
    tare_run run = {.context = l->context, .n_tasks = n, .task = search, .ctx = &s};
    run.context.progress = NULL;
    l->derivations = TARE_NEW_ARRAY(&l->arena, tare_pack_derivation, n);
    if (!l->derivations) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    const unsigned threads = tare_run_threads(&run);
    s.scratch = tare_scratch_new(threads, l->context.allocator);
    if (!s.scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffers of threads");
    const tare_status status = tare_run_parallel(&run, err);
    tare_scratch_delete(s.scratch, threads, l->context.allocator);
    for (size_t i = 0; status == TARE_OK && i < n; i++)
        if (l->derivations[i].importance)
            find_importance(l, &l->derivations[i], l->all->catalog.tensors[i].cols, &l->arena);
    return status;
}
