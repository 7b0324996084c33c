/* SPDX-License-Identifier: MIT
 *
 * tare_diff_new: the differences between two models of any formats. Metadata and resources are
 * compared by name, then the tensors that both have: by bytes if the encodings are the same, and by
 * decoded values if bytes or encodings differ (diff_tensor.c). */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/write_plan.h"
#include "ops/digest.h"
#include "ops/inspect/diff_tensor.h"
#include "ops/steps.h"

struct tare_diff {
    const tare_allocator *allocator;
    tare_diff_item *items;
    size_t n, capacity;
    bool differs;
};

typedef struct differ {
    tare_diff *diff;
    const tare_model *a, *b;
    const tare_diff_options *options;
} differ;

static bool is_done(const differ *d) {
    return d->options->brief && d->diff->differs;
}

static tare_status add(differ *d, const tare_diff_item *item, tare_error *err) {
    void *items = d->diff->items;
    if (!tare_grow(d->diff->allocator, &items, &d->diff->capacity, d->diff->n + 1, sizeof *item))
        return tare_fail(err, TARE_ERR_NOMEM, "differences");
    d->diff->items = items;
    d->diff->items[d->diff->n++] = *item;
    if (!item->is_tolerated) d->diff->differs = true;
    return TARE_OK;
}

static tare_status add_plain(differ *d, tare_diff_kind kind, tare_str name, int64_t a, int64_t b,
                             tare_error *err) {
    return add(d, &(tare_diff_item){.kind = kind, .name = name, .a = a, .b = b}, err);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
    const tare_metadata *x = *(const tare_metadata *const *)a;
    const tare_metadata *y = *(const tare_metadata *const *)b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    return tare_str_compare(x->key, y->key);
}

/* The keys of a model; spare room in a header and how files are split are none. */
static size_t sort_keys(const tare_metadata **out, const tare_catalog *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_metadata; i++)
        if (!tare_metadata_is_spare(&c->metadata[i]) && !tare_metadata_is_split(&c->metadata[i]))
            out[n++] = &c->metadata[i];
    if (n) qsort(out, n, sizeof *out, by_key);
    return n;
}

/* Keys that follow from the types of tensors: where types may differ, so may these. */
static bool follows_from_types(const tare_metadata *m) {
    return m->space == TARE_KEYS_MODEL && (tare_str_is(m->key, "general.file_type") ||
                                           tare_str_is(m->key, "general.quantization_version"));
}

static tare_status add_key(differ *d, tare_diff_kind kind, const tare_metadata *m, int64_t a,
                           int64_t b, tare_error *err) {
    return add(
        d,
        &(tare_diff_item){.kind = kind,
                          .name = m->key,
                          .a = a,
                          .b = b,
                          .is_tolerated = d->options->tolerance > 0 && follows_from_types(m)},
        err);
}

/* Two sorted lists side by side. */
static tare_status merge_keys(differ *d, const tare_metadata **a, size_t n_a,
                              const tare_metadata **b, size_t n_b, tare_error *err) {
    const tare_catalog *ca = &d->a->catalog, *cb = &d->b->catalog;
    for (size_t i = 0, j = 0; (i < n_a || j < n_b) && !is_done(d);) {
        int c = i == n_a ? 1 : j == n_b ? -1 : by_key(&a[i], &b[j]);
        int64_t at_a = c <= 0 ? a[i] - ca->metadata : -1;
        int64_t at_b = c >= 0 ? b[j] - cb->metadata : -1;
        const tare_metadata *key = c <= 0 ? a[i] : b[j];
        if (c < 0)
            TARE_TRY(add_key(d, TARE_DIFF_KEY_ONLY_A, key, at_a, at_b, err));
        else if (c > 0)
            TARE_TRY(add_key(d, TARE_DIFF_KEY_ONLY_B, key, at_a, at_b, err));
        else if (!tare_value_equal(&a[i]->value, &b[j]->value))
            TARE_TRY(add_key(d, TARE_DIFF_KEY_VALUE, key, at_a, at_b, err));
        i += c <= 0;
        j += c >= 0;
    }
    return TARE_OK;
}

static tare_status diff_metadata(differ *d, tare_error *err) {
    size_t n = d->a->catalog.n_metadata + d->b->catalog.n_metadata;
    if (n == 0) return TARE_OK;
    const tare_metadata **keys = tare_alloc(d->diff->allocator, n * sizeof *keys);
    if (!keys) return tare_fail(err, TARE_ERR_NOMEM, "differences");
    const size_t n_a = sort_keys(keys, &d->a->catalog);
    const size_t n_b = sort_keys(keys + n_a, &d->b->catalog);
    tare_status s = merge_keys(d, keys, n_a, keys + n_a, n_b, err);
    tare_free(d->diff->allocator, keys, n * sizeof *keys);
    return s;
}

/* ---- resources ------------------------------------------------------------------------------- */

#define RESOURCE_PIECE ((size_t)1 << 16)

static tare_status same_resource(bool *out, const differ *d, size_t a, size_t b, uint8_t *scratch,
                                 tare_error *err) {
    uint64_t size = d->a->catalog.resources[a].info.size;
    *out = size == d->b->catalog.resources[b].info.size;
    for (uint64_t at = 0; !d->options->directory && *out && at < size; at += RESOURCE_PIECE) {
        size_t n = (size_t)tare_min_u64(size - at, RESOURCE_PIECE);
        TARE_TRY(tare_resource_read(scratch, d->a, a, at, n, err));
        TARE_TRY(tare_resource_read(scratch + RESOURCE_PIECE, d->b, b, at, n, err));
        *out = memcmp(scratch, scratch + RESOURCE_PIECE, n) == 0;
    }
    return TARE_OK;
}

static tare_status diff_resource_lists(differ *d, uint8_t *scratch, tare_error *err) {
    const tare_catalog *ca = &d->a->catalog, *cb = &d->b->catalog;
    for (size_t i = 0; i < ca->n_resources && !is_done(d); i++) {
        tare_str name = ca->resources[i].info.name;
        int64_t j = tare_model_find_resource(d->b, name);
        bool is_same = false;
        if (j >= 0) TARE_TRY(same_resource(&is_same, d, i, (size_t)j, scratch, err));
        tare_diff_kind kind = j < 0 ? TARE_DIFF_RESOURCE_ONLY_A : TARE_DIFF_RESOURCE;
        if (!is_same) TARE_TRY(add_plain(d, kind, name, (int64_t)i, j, err));
    }
    for (size_t j = 0; j < cb->n_resources && !is_done(d); j++) {
        tare_str name = cb->resources[j].info.name;
        if (tare_model_find_resource(d->a, name) < 0)
            TARE_TRY(add_plain(d, TARE_DIFF_RESOURCE_ONLY_B, name, -1, (int64_t)j, err));
    }
    return TARE_OK;
}

static tare_status diff_resources(differ *d, tare_error *err) {
    uint8_t *scratch = tare_alloc(d->diff->allocator, 2 * RESOURCE_PIECE);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "differences");
    tare_status s = diff_resource_lists(d, scratch, err);
    tare_free(d->diff->allocator, scratch, 2 * RESOURCE_PIECE);
    return s;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* A tensor that both have, with the same shape. */
typedef struct pair {
    tare_tensor_pair tensors;
    tare_diff_item item;
    bool differs;
} pair;

typedef struct pair_walk {
    differ *d;
    pair *pairs;
    _Atomic bool found; /* a difference that counts */
} pair_walk;

static bool same_shape(const tare_tensor *x, const tare_tensor *y) {
    return x->n_dims == y->n_dims &&
           (x->n_dims == 0 || memcmp(x->dims, y->dims, x->n_dims * sizeof *x->dims) == 0);
}

/* The tensor set; the pairs left to compare go to pairs[*n]. Shapes are reported last. */
static tare_status diff_tensor_set(differ *d, pair *pairs, size_t *n, tare_error *err) {
    const tare_catalog *ca = &d->a->catalog, *cb = &d->b->catalog;
    for (size_t i = 0; i < ca->n_tensors && !is_done(d); i++) {
        tare_str name = ca->tensors[i].name;
        if (tare_model_find_tensor(d->b, name) < 0)
            TARE_TRY(add_plain(d, TARE_DIFF_TENSOR_ONLY_A, name, (int64_t)i, -1, err));
    }
    for (size_t j = 0; j < cb->n_tensors && !is_done(d); j++) {
        tare_str name = cb->tensors[j].name;
        if (tare_model_find_tensor(d->a, name) < 0)
            TARE_TRY(add_plain(d, TARE_DIFF_TENSOR_ONLY_B, name, -1, (int64_t)j, err));
    }
    for (size_t i = 0; i < ca->n_tensors && !is_done(d); i++) {
        tare_str name = ca->tensors[i].name;
        int64_t j = tare_model_find_tensor(d->b, name);
        if (j < 0) continue;
        if (same_shape(&ca->tensors[i], &cb->tensors[j]))
            pairs[(*n)++].tensors = (tare_tensor_pair){d->a, d->b, i, (size_t)j};
        else
            TARE_TRY(add_plain(d, TARE_DIFF_SHAPE, name, (int64_t)i, j, err));
    }
    return TARE_OK;
}

static uint64_t pair_size(const void *ctx, size_t item) {
    const pair_walk *w = ctx;
    return tare_tensor_pair_bytes(&w->pairs[item].tensors);
}

static tare_status compare_pair(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    pair_walk *w = ctx;
    pair *p = &w->pairs[item];
    const tare_diff_options *o = w->d->options;
    if (o->brief && atomic_load(&w->found)) return TARE_OK;
    tare_pair_depth depth = !o->brief || o->tolerance > 0 ? TARE_PAIR_NUMBERS : TARE_PAIR_BYTES;
    if (o->directory) depth = TARE_PAIR_TYPES;
    TARE_TRY(tare_tensor_pair_compare(&p->differs, &p->item, &p->tensors, depth, job, err));
    if (!p->differs) return TARE_OK;
    p->item.is_tolerated =
        o->tolerance > 0 && p->item.is_decoded && p->item.relative_rmse <= o->tolerance;
    if (!p->item.is_tolerated) atomic_store(&w->found, true);
    return TARE_OK;
}

/* Worst first: items without numbers, then by relative RMSE; ties are in the order of A. */
static int worst_first(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->differs != y->differs) return x->differs ? -1 : 1;
    if (x->item.is_decoded != y->item.is_decoded) return x->item.is_decoded ? 1 : -1;
    if (x->item.relative_rmse > y->item.relative_rmse) return -1;
    if (x->item.relative_rmse < y->item.relative_rmse) return 1;
    return x->tensors.in_a < y->tensors.in_a ? -1 : x->tensors.in_a > y->tensors.in_a;
}

static tare_status diff_pairs(differ *d, pair *pairs, size_t n, tare_error *err) {
    pair_walk w = {.d = d, .pairs = pairs};
    TARE_TRY(tare_walk_run(&(tare_walk){.n_items = n,
                                        .size_of = pair_size,
                                        .visit = compare_pair,
                                        .ctx = &w,
                                        .scratch_size = TARE_PAIR_SCRATCH,
                                        .context = *d->options->context},
                           err));
    if (n) qsort(pairs, n, sizeof *pairs, worst_first);
    for (size_t i = 0; i < n && pairs[i].differs && !is_done(d); i++)
        TARE_TRY(add(d, &pairs[i].item, err));
    return TARE_OK;
}

static tare_status diff_tensors(differ *d, tare_error *err) {
    size_t n = 0, most = d->a->catalog.n_tensors, size = most * sizeof(pair);
    pair *pairs = NULL;
    if (most) {
        pairs = tare_alloc(d->diff->allocator, size);
        if (!pairs) return tare_fail(err, TARE_ERR_NOMEM, "differences");
        memset(pairs, 0, size);
    }
    tare_status s = diff_tensor_set(d, pairs, &n, err);
    if (s == TARE_OK && !is_done(d)) s = diff_pairs(d, pairs, n, err);
    if (pairs) tare_free(d->diff->allocator, pairs, size);
    return s;
}

/* ---- the whole ------------------------------------------------------------------------------- */

tare_status tare_diff_new(tare_diff **out, const tare_model *a, const tare_model *b,
                          const tare_diff_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(a && b, err);
    tare_diff_options o = tare_diff_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_REQUIRE(o.tolerance >= 0, err);
    const tare_context run = tare_steps_context_quiet(o.context);
    TARE_TRY(tare_digests_check(a, &run, err));
    TARE_TRY(tare_digests_check(b, &run, err));
    tare_diff *diff = tare_alloc(o.context->allocator, sizeof *diff);
    if (!diff) return tare_fail(err, TARE_ERR_NOMEM, "differences");
    *diff = (tare_diff){.allocator = o.context->allocator};
    differ d = {diff, a, b, &o};
    tare_status s = diff_metadata(&d, err);
    if (s == TARE_OK && !is_done(&d)) s = diff_resources(&d, err);
    if (s == TARE_OK && !is_done(&d)) s = diff_tensors(&d, err);
    if (s != TARE_OK) {
        tare_diff_free(diff);
        return s;
    }
    *out = diff;
    return TARE_OK;
}

void tare_diff_free(tare_diff *diff) {
    if (!diff) return;
    if (diff->items) tare_free(diff->allocator, diff->items, diff->capacity * sizeof *diff->items);
    tare_free(diff->allocator, diff, sizeof *diff);
}

bool tare_diff_is_same(const tare_diff *diff) {
    return !diff->differs;
}

const tare_diff_item *tare_diff_at(const tare_diff *diff, size_t i) {
    return i < diff->n ? &diff->items[i] : NULL;
}
