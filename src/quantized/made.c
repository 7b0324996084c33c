/* SPDX-License-Identifier: MIT
 *
 * The virtual file of computed tensors: pieces (model/pieces.h) of the tensors of a model, whose elements
 * are read as they lie, as the floats they decode to, or as blocks. */
#include "quantized/made.h"

#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "quantized/quantized.h"

enum {
    LONG_RUN = 512,      /* bytes; shorter ones are read from far apart, best many at once */
    PORTION = 256 << 10, /* bytes that are made at once: they stay in a processor's own cache */
};

bool tare_made_is_decoded(const tare_model *source, size_t tensor) {
    const tare_encoding *e = source->catalog.tensors[tensor].encoding;
    return e->kind == TARE_KIND_BLOCK || e->n_planes != 1 || e->planes[0].unit != 1;
}

/* ---- elements of the source ------------------------------------------------------------------ */

/* Floats of a tensor that decodes in whole rows only. */
static tare_status decoded_run(uint8_t *out, const tare_made_file *f, uint32_t source,
                               uint64_t from, uint64_t n, tare_error *err) {
    const tare_model *m = f->source;
    const uint64_t cols = m->catalog.tensors[source].cols;
    uint64_t bytes;
    size_t size;
    if (!tare_mul_u64(cols, sizeof(float), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    float *row = tare_alloc(f->allocator, size);
    if (!row) return tare_fail(err, TARE_ERR_NOMEM, "row");
    tare_status status = TARE_OK;
    while (n > 0 && status == TARE_OK) {
        uint64_t skip = from % cols, take = tare_min_u64(cols - skip, n);
        status = tare_tensor_values_f32(row, m, source, from - skip, cols, err);
        for (uint64_t i = 0; i < take && status == TARE_OK; i++)
            tare_store_le32(out + 4 * i, tare_f32_bits(row[skip + i]));
        out += take * sizeof(float);
        from += take;
        n -= take;
    }
    tare_free(f->allocator, row, size);
    return status;
}

static const tare_encoding *type_of(const void *ctx, uint32_t source) {
    const tare_made_file *f = ctx;
    return tare_made_is_decoded(f->source, source) ? tare_encoding_get(TARE_ENCODING_F32)
                                                   : f->source->catalog.tensors[source].encoding;
}

static tare_status read_source(uint8_t *out, const void *ctx, const tare_composition *of,
                               uint32_t source, uint64_t first, uint64_t n, tare_error *err) {
    const tare_made_file *f = ctx;
    const tare_encoding *e = f->source->catalog.tensors[source].encoding;
    const bool are_blocks = of->encoding->kind == TARE_KIND_BLOCK;
    if (are_blocks && e != of->encoding)
        return tare_quantized_blocks_read(out, f->source, source, first, n, err);
    if (!are_blocks && tare_made_is_decoded(f->source, source))
        return decoded_run(out, f, source, first, n, err);
    const uint32_t size = e->planes[0].unit_bytes;
    return tare_tensor_read(out, f->source, source, 0, first * size, (size_t)(n * size), err);
}

/* ---- the file -------------------------------------------------------------------------------- */

static tare_status read_made(uint8_t *out, const tare_made_file *f, const tare_made *made,
                             uint64_t at, size_t n, tare_error *err) {
    const tare_piece_sources from = {
        .allocator = f->allocator, .ctx = f, .type = type_of, .read = read_source};
    if (!made->bytes) return tare_pieces_read(out, &made->of, &from, at, n, err);
    memcpy(out, made->bytes + at, n);
    return TARE_OK;
}

tare_status tare_made_fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const tare_made_file *f = ctx;
    uint8_t *out = buf;
    size_t i = tare_part_of(&f->made->offset, f->n_made, sizeof *f->made, offset);
    for (; n > 0; i++) {
        const tare_made *made = &f->made[i];
        uint64_t at = offset - made->offset;
        size_t take = (size_t)tare_min_u64(n, made->size - at);
        TARE_TRY(read_made(out, f, made, at, take, err));
        out += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

/* The file that the elements of a piece lie in; NULL: they have to be decoded, or are elsewhere. */
static const tare_reader *file_of(const tare_made_file *f, const tare_piece *p) {
    if (p->source == TARE_PIECE_ZEROS || tare_made_is_decoded(f->source, p->source)) return NULL;
    const tare_tensor *t = &f->source->catalog.tensors[p->source];
    const tare_reader *r = &f->source->files[t->planes[0].file].reader;
    return r->fd < 0 ? NULL : r;
}

static bool has_long_runs(const tare_piece *p, uint64_t element_bytes) {
    return !p->view || tare_piece_run(p->view) * element_bytes >= LONG_RUN;
}

bool tare_made_locate(void *ctx, uint64_t offset, uint64_t *n, const tare_reader **file,
                      uint64_t *at) {
    const tare_made_file *f = ctx;
    const size_t i = tare_part_of(&f->made->offset, f->n_made, sizeof *f->made, offset);
    const tare_made *made = &f->made[i];
    const tare_composition *of = &made->of;
    const uint64_t from = offset - made->offset, size = of->encoding->planes[0].unit_bytes;
    *n = tare_min_u64(*n, made->size - from);
    if (made->bytes || of->pieces[of->n_pieces - 1].end * size != made->size) return false;
    const size_t k = tare_piece_at(of, from / size);
    const tare_piece *p = &of->pieces[k];
    const tare_reader *r = file_of(f, p);
    if (!r) return false;
    const tare_tensor *t = &f->source->catalog.tensors[p->source];
    if (p->view || p->arithmetic != TARE_PIECE_AS_IS || t->encoding != of->encoding) {
        if (has_long_runs(p, size)) *n = tare_min_u64(*n, PORTION);
        return false;
    }
    *n = tare_min_u64(*n, p->end * size - from);
    *file = r;
    *at = t->planes[0].offset + from - (k ? of->pieces[k - 1].end : 0) * size;
    return true;
}
