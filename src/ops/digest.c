/* SPDX-License-Identifier: MIT
 *
 * Digests of tensors and models; docs/behaviour.md, "Digests". They are the same in every container
 * that holds the same encodings: what is hashed is the canonical name of the encoding, the shape,
 * and the planes as tare_tensor_read gives them, little-endian. An encoding that tare does not know
 * is told apart by the file's own number for it. */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "model/adapter_set.h"
#include "ops/checksums.h"
#include "ops/digest.h"
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

static tare_status hash_planes(tare_sha256 *h, const tare_model *model, size_t tensor,
                               const tare_walk_job *job, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        const size_t piece = tare_walk_piece(t, p);
        for (uint64_t at = 0; at < t->planes[p].size; at += piece) {
            uint64_t left = t->planes[p].size - at;
            size_t n = left < piece ? (size_t)left : piece;
            TARE_TRY(tare_tensor_read(job->scratch, model, tensor, p, at, n, err));
            tare_sha256_update(h, job->scratch, n);
            TARE_TRY(tare_walk_tick(job, n, err));
        }
    }
    return TARE_OK;
}

tare_status tare_digest_visit(tare_digest *out, const tare_model *model, size_t tensor,
                              const tare_walk_job *job, tare_error *err) {
    tare_sha256 h;
    tare_sha256_init(&h);
    hash_head(&h, &model->catalog.tensors[tensor]);
    tare_status s = hash_planes(&h, model, tensor, job, err);
    if (s != TARE_OK) return tare_walk_blame(s, model, tensor, err);
    tare_sha256_final(&h, out->bytes);
    return TARE_OK;
}

typedef struct digest_walk {
    const tare_model *model;
    size_t first; /* item 0 is this tensor */
    tare_digest *digests;
} digest_walk;

static uint64_t tensor_size(const void *ctx, size_t item) {
    const digest_walk *w = ctx;
    return w->model->catalog.tensors[w->first + item].size_bytes;
}

static tare_status digest_one(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    digest_walk *w = ctx;
    return tare_digest_visit(&w->digests[item], w->model, w->first + item, job, err);
}

static tare_status digest_tensors(tare_digest *digests, const tare_model *model, size_t first,
                                  size_t n, const tare_context *o, tare_error *err) {
    digest_walk w = {model, first, digests};
    return tare_walk_run(&(tare_walk){.n_items = n,
                                      .size_of = tensor_size,
                                      .visit = digest_one,
                                      .ctx = &w,
                                      .scratch_size = TARE_PIECE,
                                      .context = *o},
                         err);
}

tare_status tare_tensor_digest(tare_digest *out, const tare_model *model, size_t tensor,
                               const tare_context *context, tare_error *err) {
    TARE_REQUIRE(out && model && tensor < model->catalog.n_tensors, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    o.threads = 1;
    if (!o.allocator) o.allocator = model->allocator;
    return digest_tensors(out, model, tensor, 1, &o, err);
}

/* ---- what the container states --------------------------------------------------------------- */

static bool is_stated(const tare_model *m, size_t tensor) {
    return m->catalog.digests && m->catalog.digests[tensor];
}

static tare_status check_one(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const digest_walk *w = ctx;
    const size_t tensor = w->first + item;
    const tare_model *m = w->model;
    if (!is_stated(m, tensor)) return TARE_OK;
    uint8_t found[32];
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_status s = hash_planes(&h, m, tensor, job, err);
    if (s != TARE_OK) return tare_walk_blame(s, m, tensor, err);
    tare_sha256_final(&h, found);
    if (memcmp(found, m->catalog.digests[tensor]->bytes, sizeof found) == 0) return TARE_OK;
    const tare_plane *first = &m->catalog.tensors[tensor].planes[0];
    tare_fail_at(err, TARE_ERR_CHECKSUM, first->offset, TARE_WRONG_DIGEST);
    tare_error_file(err, m->files[first->file].name);
    return tare_walk_blame(TARE_ERR_CHECKSUM, m, tensor, err);
}

static tare_status check_tensors(const tare_model *model, size_t first, size_t n,
                                 const tare_context *o, tare_error *err) {
    digest_walk w = {model, first, NULL};
    return tare_walk_run(&(tare_walk){.n_items = n,
                                      .size_of = tensor_size,
                                      .visit = check_one,
                                      .ctx = &w,
                                      .scratch_size = TARE_PIECE,
                                      .context = *o},
                         err);
}

tare_status tare_tensor_check(const tare_model *model, size_t tensor, const tare_context *context,
                              tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    o.threads = 1;
    if (!o.allocator) o.allocator = model->allocator;
    TARE_TRY(check_tensors(model, tensor, 1, &o, err));
    return tare_crcs_check(model, &model->catalog.tensors[tensor], &o, err);
}

tare_status tare_digests_check(const tare_model *model, const tare_context *context,
                               tare_error *err) {
    TARE_TRY(tare_crcs_check(model, NULL, context, err));
    if (model->catalog.digests)
        TARE_TRY(check_tensors(model, 0, model->catalog.n_tensors, context, err));
    for (size_t i = 0; i < model->n_sources; i++)
        TARE_TRY(tare_digests_check(tare_model_as_stored(model->sources[i]), context, err));
    return TARE_OK;
}

tare_status tare_factors_check(const tare_adapter_set *set, const tare_model *in,
                               const tare_allocator *allocator, tare_error *err) {
    const tare_model *factors = tare_model_as_stored(set->factors);
    tare_context context = tare_context_default();
    context.allocator = allocator;
    if (!factors || factors == tare_model_as_stored(in)) return TARE_OK;
    return tare_digests_check(factors, &context, err);
}

/* ---- the manifest's digest ------------------------------------------------------------------- */

static void hash_line(void *ctx, const tare_buffer *line) {
    tare_sha256_update(ctx, line->data, line->size);
}

tare_status tare_digest_of_tensors(uint8_t out[32], const tare_tensor *tensors,
                                   const tare_digest *digests, size_t n,
                                   const tare_allocator *allocator, tare_error *err) {
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_status s = tare_manifest_lines(tensors, digests, n, allocator, hash_line, &h, err);
    if (s == TARE_OK) tare_sha256_final(&h, out);
    return s;
}

tare_status tare_digest_of_digests(tare_digest *out, const tare_model *model,
                                   const tare_digest *digests, const tare_allocator *allocator,
                                   tare_error *err) {
    return tare_digest_of_tensors(out->bytes, model->catalog.tensors, digests,
                                  model->catalog.n_tensors, allocator, err);
}

tare_status tare_model_digest(tare_digest *digests, tare_digest *whole, const tare_model *model,
                              const tare_context *context, tare_error *err) {
    TARE_REQUIRE(model, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    const size_t n = model->catalog.n_tensors, size = n * sizeof *digests;
    tare_digest *own = NULL;
    if (!digests && n) {
        digests = own = tare_alloc(o.allocator, size);
        if (!own) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    }
    tare_status s = digest_tensors(digests, model, 0, n, &o, err);
    if (s == TARE_OK && whole) s = tare_digest_of_digests(whole, model, digests, o.allocator, err);
    if (own) tare_free(o.allocator, own, size);
    return s;
}
