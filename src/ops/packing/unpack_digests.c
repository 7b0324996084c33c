/* SPDX-License-Identifier: MIT
 *
 * Digests that a package states of its tensors, of which only the first bits were unpacked: they
 * are computed again and written over those that stand in its text, which is as long. */
#include "ops/packing/unpack_digests.h"

#include <stdatomic.h>

#include "base/arith.h"
#include "base/hash.h"
#include "model/catalog.h"
#include "ops/item_walk.h"

/* A tensor whose digest is stated again. */
typedef struct stale {
    size_t tensor;
    uint8_t digest[32];
} stale;

typedef struct mending {
    const tare_unpack_digests *to;
    tare_packed_contents contents;
    const tare_allocator *allocator;
    tare_model *m; /* the same container, opened as what it holds */
    stale *list;
    size_t n, room;
} mending;

/* Where a plane is in the container; false: in no single layer, which only other encoders do. */
static bool find_plane(tare_packed_range *out, const mending *d, const tare_plane *plane) {
    return tare_packed_reader_range(out, &d->m->files[plane->file].reader, plane->offset,
                                    plane->size);
}

static bool is_coarse(const mending *d, const tare_tensor *t) {
    tare_packed_range r;
    for (uint32_t p = 0; p < t->encoding->n_planes; p++)
        if (t->planes[p].size && find_plane(&r, d, &t->planes[p]) &&
            atomic_load_explicit(&d->to->losses->is_coarse[r.layer], memory_order_relaxed))
            return true;
    return false;
}

static tare_status hash_planes(const mending *d, tare_sha256 *h, const tare_tensor *t,
                               const tare_walk_job *job, tare_error *err) {
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        tare_packed_range r;
        if (!t->planes[p].size) continue;
        if (!find_plane(&r, d, &t->planes[p]))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "its sha256 cannot be given: it is stored in several layers");
        for (uint64_t at = 0; at < r.length; at += TARE_PIECE) {
            size_t n = (size_t)tare_min_u64(r.length - at, TARE_PIECE);
            TARE_TRY(tare_packed_read(d->to->store, r.layer, r.region, r.offset + at, job->scratch,
                                      n, err));
            tare_sha256_update(h, job->scratch, n);
            TARE_TRY(tare_walk_tick(job, n, err));
        }
    }
    return TARE_OK;
}

static tare_status hash_tensor(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const mending *d = ctx;
    stale *s = &d->list[item];
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_status status = hash_planes(d, &h, &d->m->catalog.tensors[s->tensor], job, err);
    if (status == TARE_OK) tare_sha256_final(&h, s->digest);
    return tare_walk_blame(status, d->m, s->tensor, err);
}

static uint64_t size_of(const void *ctx, size_t item) {
    const mending *d = ctx;
    const tare_tensor *t = &d->m->catalog.tensors[d->list[item].tensor];
    uint64_t sum = 0;
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) sum += t->planes[p].size;
    return sum;
}

/* The unpacked file that has a byte of a layer, and where; false: none has. */
static bool find_byte(uint32_t *file, uint64_t *offset, const mending *d,
                      const tare_packed_range *r) {
    for (uint32_t f = 0; f < d->contents.n_files; f++) {
        const tare_packed_file *to = &d->contents.files[f];
        uint64_t at = 0;
        for (uint32_t i = 0; i < to->n_ranges; at += to->ranges[i++].length) {
            const tare_packed_range *x = &to->ranges[i];
            if (x->layer != r->layer || x->region != r->region || r->offset < x->offset ||
                r->offset - x->offset >= x->length)
                continue;
            *file = f;
            *offset = at + (r->offset - x->offset);
            return true;
        }
    }
    return false;
}

static tare_status put_digest(const mending *d, const stale *s, tare_error *err) {
    const tare_stated_digest *stated = d->m->catalog.digests[s->tensor];
    char hex[65];
    tare_packed_range r;
    uint32_t file;
    uint64_t offset;
    tare_hex(hex, s->digest, sizeof s->digest);
    bool is_found = stated->place != TARE_NO_OFFSET &&
                    tare_packed_reader_range(&r, &d->m->files[stated->file].reader, stated->place,
                                             sizeof hex - 1) &&
                    find_byte(&file, &offset, d, &r);
    if (!is_found)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "its sha256 cannot be stated again: expected 64 digits without escapes");
    TARE_TRY(tare_outset_write(d->to->set, file, offset, hex, sizeof hex - 1, err));
    return tare_outset_member_done(d->to->set, file, err);
}

static tare_status list_stale(mending *d, tare_error *err) {
    const tare_catalog *c = &d->m->catalog;
    for (size_t i = 0; c->digests && i < c->n_tensors; i++) {
        if (!c->digests[i] || !is_coarse(d, &c->tensors[i])) continue;
        void *list = d->list;
        if (!tare_grow(d->allocator, &list, &d->room, d->n + 1, sizeof *d->list))
            return tare_fail(err, TARE_ERR_NOMEM, "list of digests");
        d->list = list;
        d->list[d->n++].tensor = i;
    }
    return TARE_OK;
}

static tare_status mend(mending *d, const tare_unpack_options *o, tare_error *err) {
    TARE_TRY(list_stale(d, err));
    const tare_walk walk = {.n_items = d->n,
                            .size_of = size_of,
                            .visit = hash_tensor,
                            .ctx = d,
                            .scratch_size = TARE_PIECE,
                            .context = *o->context};
    TARE_TRY(tare_walk_run(&walk, err));
    for (size_t i = 0; i < d->n; i++)
        TARE_TRY(tare_walk_blame(put_digest(d, &d->list[i], err), d->m, d->list[i].tensor, err));
    return TARE_OK;
}

/* What is no model, or none that tare reads, states nothing that tare knows. */
static bool is_no_model(tare_status status) {
    return status == TARE_ERR_UNSUPPORTED || status == TARE_ERR_CORRUPT ||
           status == TARE_ERR_TRUNCATED || status == TARE_ERR_CHECKSUM || status == TARE_ERR_ARG;
}

tare_status tare_unpack_mend_digests(const tare_unpack_digests *to, const tare_source *in,
                                     const tare_unpack_options *options, tare_error *err) {
    tare_open_options open = tare_open_options_default();
    open.stored = true;
    mending d = {.to = to,
                 .contents = tare_packed_describe(to->store),
                 .allocator = options->context->allocator};
    const tare_context context = {.size = sizeof context,
                                  .allocator = options->context->allocator,
                                  .limits = options->context->limits};
    open.context = &context;
    tare_status status = tare_model_open(&d.m, in, &open, err);
    if (is_no_model(status)) return TARE_OK;
    if (status != TARE_OK) return status;
    status = mend(&d, options, err);
    if (d.list) tare_free(options->context->allocator, d.list, d.room * sizeof *d.list);
    tare_model_free(d.m);
    return status;
}
