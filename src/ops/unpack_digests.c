/* SPDX-License-Identifier: MIT
 *
 * Digests that a package states of its tensors, of which only the first bits were unpacked: they
 * are computed again and written over those that stand in its text, which is as long. */
#include "ops/unpack_digests.h"

#include <stdatomic.h>

#include "base/arith.h"
#include "base/hash.h"
#include "format/wcodec_read.h"
#include "model/catalog.h"

enum { PIECE = 1 << 20 };

typedef struct mending {
    const tare_unpack_digests *to;
    const tare_wcodec_index *index;
    tare_model *m; /* the same container, opened as what it holds */
    uint8_t *buf;  /* PIECE bytes */
    tare_error *err;
} mending;

/* Where a plane is in the container; false: in no single layer, which only other encoders do. */
static bool find_plane(tare_wcodec_range *out, const mending *d, const tare_plane *plane) {
    return tare_wcodec_reader_range(out, &d->m->files[plane->file].reader, plane->offset,
                                    plane->size);
}

static bool is_coarse(const mending *d, const tare_tensor *t) {
    tare_wcodec_range r;
    for (uint32_t p = 0; p < t->encoding->n_planes; p++)
        if (t->planes[p].size && find_plane(&r, d, &t->planes[p]) &&
            atomic_load_explicit(&d->to->losses->is_coarse[r.layer], memory_order_relaxed))
            return true;
    return false;
}

static tare_status hash_planes(const mending *d, tare_sha256 *h, const tare_tensor *t) {
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        tare_wcodec_range r;
        if (!t->planes[p].size) continue;
        if (!find_plane(&r, d, &t->planes[p]))
            return tare_fail(d->err, TARE_ERR_UNSUPPORTED,
                             "its sha256 cannot be stated again: it lies in several layers");
        for (uint64_t at = 0; at < r.length; at += PIECE) {
            size_t n = (size_t)tare_min_u64(r.length - at, PIECE);
            TARE_TRY(tare_wcodec_store_read(d->to->store, r.layer, r.region, r.offset + at, d->buf,
                                            n, d->err));
            tare_sha256_update(h, d->buf, n);
        }
    }
    return TARE_OK;
}

/* The unpacked file that has a byte of a layer, and where; false: none has. */
static bool find_byte(uint32_t *file, uint64_t *offset, const mending *d,
                      const tare_wcodec_range *r) {
    for (uint32_t f = 0; f < d->index->n_files; f++) {
        const tare_wcodec_file *to = &d->index->files[f];
        uint64_t at = 0;
        for (uint32_t i = 0; i < to->n_ranges; at += to->ranges[i++].length) {
            const tare_wcodec_range *x = &to->ranges[i];
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

static tare_status put_digest(const mending *d, size_t tensor, const uint8_t *digest) {
    const tare_stated_digest *stated = d->m->catalog.digests[tensor];
    char hex[65];
    tare_wcodec_range r;
    uint32_t file;
    uint64_t offset;
    tare_hex(hex, digest, 32);
    bool is_found = stated->place != TARE_NO_OFFSET &&
                    tare_wcodec_reader_range(&r, &d->m->files[stated->file].reader, stated->place,
                                             sizeof hex - 1) &&
                    find_byte(&file, &offset, d, &r);
    if (!is_found)
        return tare_fail(d->err, TARE_ERR_UNSUPPORTED,
                         "its sha256 cannot be stated again: expected 64 digits without escapes");
    TARE_TRY(tare_outset_write(d->to->set, file, offset, hex, sizeof hex - 1, d->err));
    return tare_outset_member_done(d->to->set, file, d->err);
}

static tare_status mend_tensor(const mending *d, size_t i) {
    uint8_t digest[32];
    tare_sha256 h;
    TARE_TRY(tare_sha256_init(&h, d->err));
    tare_status status = hash_planes(d, &h, &d->m->catalog.tensors[i]);
    if (status != TARE_OK) {
        tare_sha256_free(&h);
        return status;
    }
    tare_sha256_final(&h, digest);
    return put_digest(d, i, digest);
}

static tare_status mend(const mending *d) {
    const tare_catalog *c = &d->m->catalog;
    for (size_t i = 0; c->digests && i < c->n_tensors; i++) {
        if (!c->digests[i] || !is_coarse(d, &c->tensors[i])) continue;
        tare_status status = mend_tensor(d, i);
        if (status == TARE_OK) continue;
        tare_error_item(d->err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
        return status;
    }
    return TARE_OK;
}

tare_status tare_unpack_mend_digests(const tare_unpack_digests *to, const tare_source *in,
                                     const tare_unpack_options *options, tare_error *err) {
    tare_open_options open = TARE_OPEN_OPTIONS_INIT;
    mending d = {.to = to, .index = tare_wcodec_store_index(to->store), .err = err};
    open.allocator = options->allocator;
    open.limits = options->limits;
    tare_status status = tare_model_open(&d.m, in, &open, NULL);
    /* What is no model, or none that tare reads, states nothing that tare knows. */
    if (status != TARE_OK)
        return status == TARE_ERR_NOMEM ? tare_fail(err, status, "model") : TARE_OK;
    d.buf = tare_alloc(options->allocator, PIECE);
    status = d.buf ? mend(&d) : tare_fail(err, TARE_ERR_NOMEM, "buffer");
    tare_free(options->allocator, d.buf, PIECE);
    tare_model_free(d.m);
    return status;
}
