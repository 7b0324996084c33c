/* SPDX-License-Identifier: MIT */
#include "ops/packing/pack_digests.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "ops/digest.h"
#include "ops/item_walk.h"

tare_status tare_pack_digest_model(tare_digest *out, const tare_pack_digests *d,
                                   const tare_model *model, tare_error *err) {
    const tare_context o = tare_steps_context(d->options->context, d->steps);
    TARE_TRY(tare_model_digest(NULL, out, model, &o, err));
    tare_steps_end(d->steps, tare_catalog_tensor_bytes(&model->catalog));
    return TARE_OK;
}

/* ---- what may be the same -------------------------------------------------------------------- */

enum { SAMPLES = 3, SAMPLE_BYTES = 256 }; /* of each plane, evenly spread */

typedef struct candidate {
    uint64_t likeness; /* the same for duplicates, and seldom for others */
    size_t tensor;
    tare_digest *digest;
} candidate;

static tare_status sample_plane(uint32_t *crc, const tare_model *m, const tare_plane *p,
                                tare_error *err) {
    uint8_t bytes[SAMPLE_BYTES];
    const size_t n = (size_t)tare_min_u64(p->size, SAMPLE_BYTES);
    for (unsigned i = 0; n && i < SAMPLES; i++) {
        const uint64_t at = (p->size - n) / SAMPLES * (i + 1);
        TARE_TRY(tare_reader_read(&m->files[p->file].reader, p->offset + at, bytes, n, err));
        *crc = tare_crc32(*crc, bytes, n);
    }
    return TARE_OK;
}

static tare_status sample(uint64_t *likeness, const tare_model *m, size_t tensor, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    uint32_t kind = tare_crc32(0, t->encoding->name, strlen(t->encoding->name)), bytes = 0;
    kind = tare_crc32(kind, t->dims, t->n_dims * sizeof *t->dims);
    kind = tare_crc32(kind, &t->size_bytes, sizeof t->size_bytes);
    for (uint32_t p = 0; p < t->encoding->n_planes; p++)
        TARE_TRY(tare_walk_blame(sample_plane(&bytes, m, &t->planes[p], err), m, tensor, err));
    *likeness = (uint64_t)kind << 32 | bytes;
    return TARE_OK;
}

static int by_likeness(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return (x->likeness > y->likeness) - (x->likeness < y->likeness);
}

/* Leaves those that are like another, together; *n of them. */
static tare_status collect(candidate *list, size_t *n, const tare_pack_digests *d,
                           tare_error *err) {
    const tare_model *m = d->model;
    const size_t all = m->catalog.n_tensors;
    for (size_t i = 0; i < all; i++) {
        list[i] = (candidate){.tensor = i, .digest = &d->tensors[i]};
        TARE_TRY(sample(&list[i].likeness, m, i, err));
    }
    if (all) qsort(list, all, sizeof *list, by_likeness);
    *n = 0;
    for (size_t i = 0, end; i < all; i = end) {
        for (end = i + 1; end < all && list[end].likeness == list[i].likeness;) end++;
        for (size_t k = i; end - i > 1 && k < end; k++) list[(*n)++] = list[k];
    }
    return TARE_OK;
}

/* ---- what is --------------------------------------------------------------------------------- */

typedef struct candidates {
    tare_pack_digests *digests;
    const candidate *list;
} candidates;

static uint64_t size_of(const void *ctx, size_t item) {
    const candidates *c = ctx;
    return c->digests->model->catalog.tensors[c->list[item].tensor].size_bytes;
}

static tare_status hash(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const candidates *c = ctx;
    const candidate *of = &c->list[item];
    c->digests->is_known[of->tensor] = true;
    return tare_digest_visit(of->digest, c->digests->model, of->tensor, job, err);
}

static tare_status hash_all(tare_pack_digests *d, const candidate *list, size_t n,
                            tare_error *err) {
    candidates c = {d, list};
    const tare_walk walk = {.n_items = n,
                            .size_of = size_of,
                            .visit = hash,
                            .ctx = &c,
                            .scratch_size = TARE_PIECE,
                            .context = tare_steps_context_retain(d->options->context, d->steps)};
    return tare_walk_run(&walk, err);
}

static int by_digest(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int order = memcmp(x->digest->bytes, y->digest->bytes, sizeof x->digest->bytes);
    return order ? order : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static void match(const tare_pack_digests *d, candidate *list, size_t n) {
    if (n) qsort(list, n, sizeof *list, by_digest);
    for (size_t i = 1; i < n; i++)
        if (memcmp(list[i].digest, list[i - 1].digest, sizeof *list[i].digest) == 0)
            d->duplicates[list[i].tensor] = d->duplicates[list[i - 1].tensor];
}

tare_status tare_pack_digests_begin(tare_pack_digests *d, tare_arena *arena, tare_error *err) {
    const tare_allocator *a = d->options->context->allocator;
    const size_t all = d->model->catalog.n_tensors;
    size_t n = 0;
    d->tensors = TARE_NEW_ARRAY(arena, tare_digest, all);
    d->is_known = TARE_NEW_ARRAY(arena, bool, all);
    d->duplicates = TARE_NEW_ARRAY(arena, size_t, all);
    if (!d->tensors || !d->is_known || !d->duplicates)
        return tare_fail(err, TARE_ERR_NOMEM, "digests");
    for (size_t i = 0; i < all; i++) {
        TARE_TRY(tare_tensor_check_data(d->model, i, err));
        d->duplicates[i] = i;
    }
    if (d->opened) TARE_TRY(tare_pack_digest_model(&d->whole, d, d->opened, err));
    if (d->is_part) return TARE_OK;
    candidate *list = tare_alloc(a, all * sizeof *list);
    tare_status status =
        list ? collect(list, &n, d, err) : tare_fail(err, TARE_ERR_NOMEM, "digests");
    if (status == TARE_OK) status = hash_all(d, list, n, err);
    if (status == TARE_OK) match(d, list, n);
    tare_free(a, list, all * sizeof *list);
    return status;
}

/* ---- while packing --------------------------------------------------------------------------- */

static tare_status visit(void *ctx, size_t tensor, tare_error *err) {
    tare_pack_digests *d = ctx;
    const tare_allocator *a = d->options->context->allocator;
    const uint64_t bytes = d->model->catalog.tensors[tensor].size_bytes;
    const size_t n = (size_t)tare_min_u64(bytes, TARE_PIECE);
    if (d->is_known[tensor]) return TARE_OK;
    const tare_walk_job job = {.scratch = tare_alloc(a, n)};
    if (!job.scratch) return tare_fail(err, TARE_ERR_NOMEM, "digest");
    tare_status status = tare_digest_visit(&d->tensors[tensor], d->model, tensor, &job, err);
    tare_free(a, job.scratch, n);
    return status;
}

static tare_status finish(void *ctx, uint8_t digest[32], tare_error *err) {
    tare_pack_digests *d = ctx;
    if (!d->opened)
        TARE_TRY(tare_digest_of_digests(&d->whole, d->model, d->tensors,
                                        d->options->context->allocator, err));
    memcpy(digest, d->whole.bytes, sizeof d->whole.bytes);
    return TARE_OK;
}

static void tell(void *ctx, size_t tensor, uint8_t digest[32]) {
    const tare_pack_digests *d = ctx;
    memcpy(digest, d->tensors[tensor].bytes, sizeof d->tensors[tensor].bytes);
}

tare_pack_digest tare_pack_digests_hooks(tare_pack_digests *d) {
    return (tare_pack_digest){d->opened ? NULL : visit, finish, tell, d};
}
