/* SPDX-License-Identifier: MIT
 *
 * Digests of tensors and models; docs/behaviour.md, "Digests". They are the same in every container
 * that holds the same encodings: what is hashed is the canonical name of the encoding, the shape,
 * and the planes as tare_tensor_read gives them, little-endian. An encoding that tare does not know
 * is told apart by the file's own number for it. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "ops/inspect/digest.h"
#include "ops/item_walk.h"

/* ---- one tensor ------------------------------------------------------------------------------ */

static void hash_u64(tare_sha256 *h, uint64_t v) {
    uint8_t bytes[8];
    tare_store_le64(bytes, v);
    tare_sha256_update(h, bytes, sizeof bytes);
}

static void hash_head(tare_sha256 *h, const tare_tensor *t) {
    tare_sha256_update(h, t->encoding->name, strlen(t->encoding->name) + 1);
    if (t->encoding->id == TARE_ENCODING_UNKNOWN) hash_u64(h, t->native_type);
    hash_u64(h, t->n_dims);
    for (uint32_t i = 0; i < t->n_dims; i++) hash_u64(h, t->dims[i]);
}

/* A tensor's bytes on their way into its hash, plane by plane. */
typedef struct hashing {
    const tare_model *model;
    size_t tensor;
    tare_sha256 hash;
    uint8_t *bytes, *room; /* those that were read and wait, in room for TARE_PIECE */
    size_t n;
    uint32_t plane; /* what is read next: */
    uint64_t at;
} hashing;

/* Reads the next bytes if none wait; at the end none do. */
static tare_status read_next(hashing *h, const tare_walk_job *job, tare_error *err) {
    const tare_tensor *t = &h->model->catalog.tensors[h->tensor];
    if (h->n) return TARE_OK;
    while (h->plane < t->encoding->n_planes && h->at == t->planes[h->plane].size) {
        h->plane++;
        h->at = 0;
    }
    if (h->plane == t->encoding->n_planes) return TARE_OK;
    const size_t n = tare_min_u64(t->planes[h->plane].size - h->at, tare_walk_piece(t, h->plane));
    tare_status s = tare_tensor_read(h->model, h->tensor, h->plane, h->at, h->room, n, err);
    if (s != TARE_OK) return tare_walk_blame(s, h->model, h->tensor, err);
    h->bytes = h->room;
    h->n = n;
    h->at += n;
    return tare_walk_tick(job, n, err);
}

static void take(hashing *h, size_t n) {
    h->bytes += n;
    h->n -= n;
}

/* What is left of a tensor. */
static tare_status hash_rest(hashing *h, const tare_walk_job *job, tare_error *err) {
    for (;;) {
        TARE_TRY(read_next(h, job, err));
        if (!h->n) return TARE_OK;
        tare_sha256_update(&h->hash, h->bytes, h->n);
        take(h, h->n);
    }
}

/* Two tensors, until one of them ends. */
static tare_status hash_both(hashing *a, hashing *b, const tare_walk_job *job, tare_error *err) {
    for (;;) {
        TARE_TRY(read_next(a, job, err));
        TARE_TRY(read_next(b, job, err));
        const size_t n = a->n < b->n ? a->n : b->n;
        if (!n) return TARE_OK;
        tare_sha256_update_two((tare_sha256 *const[]){&a->hash, &b->hash},
                               (const uint8_t *const[]){a->bytes, b->bytes}, (size_t[]){n, n});
        take(a, n);
        take(b, n);
    }
}

/* Tensors that one visit hashes. */
enum { MOST_AT_ONCE = 2 };

typedef struct sized_tensor {
    uint64_t size;
    size_t tensor;
} sized_tensor;

typedef struct digest_walk {
    const tare_model *model;
    size_t first;              /* digests begin with this tensor's */
    const sized_tensor *order; /* an item is the next n_at_once; NULL: that of the model */
    size_t n, n_at_once;
    tare_digest *digests;
} digest_walk;

/* The tensors of an item; returns their number. */
static size_t tensors_of(size_t tensors[MOST_AT_ONCE], const digest_walk *w, size_t item) {
    size_t n = 0;
    for (size_t i = item * w->n_at_once; n < w->n_at_once && i < w->n; i++)
        tensors[n++] = w->order ? w->order[i].tensor : w->first + i;
    return n;
}

static uint64_t item_size(const void *ctx, size_t item) {
    const digest_walk *w = ctx;
    size_t tensors[MOST_AT_ONCE];
    const size_t n = tensors_of(tensors, w, item);
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++) size += w->model->catalog.tensors[tensors[i]].size_bytes;
    return size;
}

static tare_status digest_item(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    digest_walk *w = ctx;
    hashing h[MOST_AT_ONCE];
    size_t tensors[MOST_AT_ONCE];
    const size_t n = tensors_of(tensors, w, item);
    for (size_t i = 0; i < n; i++) {
        h[i] = (hashing){
            .model = w->model, .tensor = tensors[i], .room = job->scratch + i * TARE_PIECE};
        tare_sha256_init(&h[i].hash);
        hash_head(&h[i].hash, &w->model->catalog.tensors[tensors[i]]);
    }
    if (n > 1) TARE_TRY(hash_both(&h[0], &h[1], job, err));
    for (size_t i = 0; i < n; i++) {
        TARE_TRY(hash_rest(&h[i], job, err));
        tare_sha256_final(&h[i].hash, w->digests[tensors[i] - w->first].bytes);
    }
    return TARE_OK;
}

/* ---- which tensors go together --------------------------------------------------------------- */

static int largest_first(const void *a, const void *b) {
    const sized_tensor *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* Tensors from the largest to the smallest: neighbours end together. NULL: memory is out. */
static sized_tensor *order_by_size(const digest_walk *w, const tare_allocator *allocator) {
    sized_tensor *order = tare_alloc(allocator, w->n * sizeof *order);
    for (size_t i = 0; order && i < w->n; i++)
        order[i] = (sized_tensor){w->model->catalog.tensors[w->first + i].size_bytes, w->first + i};
    if (order) qsort(order, w->n, sizeof *order, largest_first);
    return order;
}

static tare_status walk_digests(digest_walk *w, const tare_run_options *o, tare_error *err) {
    return tare_walk_run(&(tare_walk){.n_items = (w->n + w->n_at_once - 1) / w->n_at_once,
                                      .size_of = item_size,
                                      .visit = digest_item,
                                      .ctx = w,
                                      .scratch_size = w->n_at_once * TARE_PIECE,
                                      TARE_RUN_FROM(o),
                                      .allocator = o->allocator},
                         err);
}

/* Two at once, where all threads still have several pairs to choose from. */
static tare_status digest_tensors(tare_digest *digests, const tare_model *model, size_t first,
                                  size_t n, const tare_run_options *o, tare_error *err) {
    enum { A_THREAD = 8 };
    const size_t threads = o->threads ? o->threads : tare_default_threads();
    digest_walk w = {model, first, NULL, n, 1, digests};
    if (n / A_THREAD < threads) return walk_digests(&w, o, err);
    sized_tensor *order = order_by_size(&w, o->allocator);
    if (!order) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    w.order = order;
    w.n_at_once = MOST_AT_ONCE;
    tare_status s = walk_digests(&w, o, err);
    tare_free(o->allocator, order, n * sizeof *order);
    return s;
}

tare_status tare_tensor_digest(tare_digest *out, const tare_model *model, size_t tensor,
                               const tare_run_options *options, tare_error *err) {
    TARE_REQUIRE(out && model && tensor < model->catalog.n_tensors, err);
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    o.threads = 1;
    if (!o.allocator) o.allocator = model->allocator;
    return digest_tensors(out, model, tensor, 1, &o, err);
}

/* ---- what the container states --------------------------------------------------------------- */

static tare_status check_one(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const digest_walk *w = ctx;
    const size_t tensor = w->first + item;
    const tare_model *m = w->model;
    uint8_t found[32];
    hashing h = {.model = m, .tensor = tensor, .room = job->scratch};
    tare_sha256_init(&h.hash);
    TARE_TRY(hash_rest(&h, job, err));
    tare_sha256_final(&h.hash, found);
    if (memcmp(found, m->catalog.digests[tensor]->bytes, sizeof found) == 0) return TARE_OK;
    const tare_plane *first = &m->catalog.tensors[tensor].planes[0];
    tare_fail_at(err, TARE_ERR_CHECKSUM, first->offset, TARE_WRONG_DIGEST);
    tare_error_file(err, m->files[first->file].name);
    return tare_walk_blame(TARE_ERR_CHECKSUM, m, tensor, err);
}

tare_status tare_tensor_check(const tare_model *model, size_t tensor,
                              const tare_run_options *options, tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors, err);
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    o.threads = 1;
    if (!model->catalog.digests || !model->catalog.digests[tensor]) return TARE_OK;
    digest_walk w = {.model = model, .first = tensor, .n = 1, .n_at_once = 1};
    return tare_walk_run(&(tare_walk){.n_items = 1,
                                      .size_of = item_size,
                                      .visit = check_one,
                                      .ctx = &w,
                                      .scratch_size = TARE_PIECE,
                                      TARE_RUN_FROM(&o),
                                      .allocator = o.allocator ? o.allocator : model->allocator},
                         err);
}

/* ---- the manifest's digest ------------------------------------------------------------------- */

static void hash_line(void *ctx, const tare_buffer *line) {
    tare_sha256_update(ctx, line->data, line->size);
}

static tare_status hash_manifest(tare_digest *out, const tare_model *model,
                                 const tare_digest *digests, const tare_allocator *allocator,
                                 tare_error *err) {
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_status s = tare_manifest_lines(model, digests, allocator, hash_line, &h, err);
    if (s == TARE_OK) tare_sha256_final(&h, out->bytes);
    return s;
}

tare_status tare_model_digest(tare_digest *digests, tare_digest *whole, const tare_model *model,
                              const tare_run_options *options, tare_error *err) {
    TARE_REQUIRE(model, err);
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    const size_t n = model->catalog.n_tensors, size = n * sizeof *digests;
    tare_digest *own = NULL;
    if (!digests && n) {
        digests = own = tare_alloc(o.allocator, size);
        if (!own) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    }
    tare_status s = digest_tensors(digests, model, 0, n, &o, err);
    if (s == TARE_OK && whole) s = hash_manifest(whole, model, digests, o.allocator, err);
    if (own) tare_free(o.allocator, own, size);
    return s;
}
