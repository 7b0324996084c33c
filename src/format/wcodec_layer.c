/* SPDX-License-Identifier: MIT
 *
 * Reading layers: segments are decoded one at a time and spread over the units of their region. */
#include "format/wcodec_layer.h"

#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec_planes.h"
#include "wcodec/wc_head.h"

enum { CRC_FIELD = 4 };

/* ---- between region and plane ---------------------------------------------------------------- */

tare_status tare_wcodec_gather(uint8_t *dst, const tare_wcodec_plane *p,
                               const tare_wcodec_source *source, uint64_t first, uint64_t n,
                               tare_error *err) {
    enum { CHUNK = 1 << 15 };
    const tare_reader *reader = source->readers[p->region];
    uint8_t chunk[CHUNK];
    for (uint64_t at = first, end = first + n; at < end;) {
        uint64_t skip = at % p->width, run = tare_min_u64(p->width - skip, end - at);
        uint64_t from = source->starts[p->region] + at / p->width * p->stride + p->offset;
        if (p->width == p->stride) run = end - at; /* nothing lies between */
        if (p->width == p->stride || p->stride > CHUNK) {
            TARE_TRY(tare_reader_read(reader, from + skip, dst + (at - first), (size_t)run, err));
            at += run;
            continue;
        }
        uint64_t n_units = tare_ceil_div_u64(end - at + skip, p->width);
        n_units = tare_min_u64(n_units, CHUNK / p->stride);
        size_t span = (size_t)((n_units - 1) * p->stride + p->width);
        TARE_TRY(tare_reader_read(reader, from, chunk, span, err));
        for (uint64_t u = 0; u < n_units; u++, skip = 0, at += run) {
            run = tare_min_u64(p->width - skip, end - at);
            memcpy(dst + (at - first), chunk + u * p->stride + skip, (size_t)run);
        }
    }
    return TARE_OK;
}

/* The plane's bytes first .. end - 1, which `bytes` begins with, to where they belong in bytes
 * offset .. offset + n - 1 of the region. */
static void scatter(uint8_t *dst, uint64_t offset, uint64_t n, const tare_wcodec_plane *p,
                    const uint8_t *bytes, uint64_t first, uint64_t end) {
    for (uint64_t at = first; at < end;) {
        uint64_t to = at / p->width * p->stride + p->offset + at % p->width;
        uint64_t run = tare_min_u64(p->width - at % p->width, end - at);
        uint64_t low = tare_max_u64(to, offset), high = tare_min_u64(to + run, offset + n);
        if (low < high)
            memcpy(dst + (low - offset), bytes + (at - first) + (low - to), (size_t)(high - low));
        at += run;
    }
}

tare_status tare_wcodec_reference(tare_wc_reference *out, uint8_t *room, const tare_wcodec_layer *l,
                                  unsigned plane, uint64_t segment, const tare_wcodec_source *base,
                                  const tare_wcodec_scales *scales, tare_error *err) {
    const tare_wcodec_plane *p = &l->planes[plane];
    uint32_t n_bytes = tare_wcodec_segment_bytes(p, segment);
    *out = (tare_wc_reference){
        .bytes = room,
        .first_value = segment << p->shape.log2_segment,
        .values_per_scale = p->values_per_scale,
        .scale_form = p->scale_form,
    };
    uint64_t first =
        segment * tare_wc_bytes_of(p->shape.item, UINT64_C(1) << p->shape.log2_segment);
    TARE_TRY(tare_wcodec_gather(room, p, base, first, n_bytes, err));
    if (!scales->own) return TARE_OK;
    out->own_scales = scales->own;
    out->base_scales = scales->base;
    out->scales_are_big_endian = l->planes[p->scale_plane].shape.is_big_endian;
    return TARE_OK;
}

bool tare_wcodec_scale_span(uint64_t *first, uint64_t *n, const tare_wcodec_layer *l,
                            unsigned plane, uint64_t segment) {
    const tare_wcodec_plane *p = &l->planes[plane];
    if (p->scale_plane == TARE_WCODEC_NO_SCALES || p->shape.item != 8) return false;
    uint64_t value = segment << p->shape.log2_segment;
    uint64_t last = value + tare_wcodec_segment_bytes(p, segment) - 1;
    *first = value / p->values_per_scale * 2;
    *n = (last / p->values_per_scale + 1) * 2 - *first;
    return *first + *n <= l->planes[p->scale_plane].n_bytes;
}

/* ---- opening --------------------------------------------------------------------------------- */

tare_status tare_wcodec_open_layer(tare_wcodec_opened *out, const tare_reader *file,
                                   const tare_wcodec_layer *layer, tare_arena *arena,
                                   tare_error *err) {
    *out = (tare_wcodec_opened){.file = file, .layer = layer, .groups = TARE_WC_ALL_GROUPS};
    for (unsigned i = 0; i < layer->n_planes; i++) {
        const tare_wcodec_plane *p = &layer->planes[i];
        uint8_t *bytes = TARE_NEW_ARRAY(arena, uint8_t, p->head_bytes);
        tare_cursor c;
        if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "head of a plane");
        TARE_TRY(tare_reader_read(file, p->position, bytes, p->head_bytes, err));
        tare_cursor_init(&c, bytes, p->head_bytes, p->position);
        TARE_TRY(tare_wc_head_read(&out->heads[i], &p->shape, &c, arena, err));
    }
    return TARE_OK;
}

static tare_status add_crc(uint32_t *crc, const tare_reader *file, uint64_t at, uint64_t n,
                           tare_error *err) {
    uint8_t chunk[4096];
    for (uint64_t done = 0; done < n;) {
        size_t take = (size_t)tare_min_u64(n - done, sizeof chunk);
        TARE_TRY(tare_reader_read(file, at + done, chunk, take, err));
        *crc = tare_crc32(*crc, chunk, take);
        done += take;
    }
    return TARE_OK;
}

tare_status tare_wcodec_check_layer(const tare_wcodec_opened *o, tare_error *err) {
    const tare_wcodec_layer *l = o->layer;
    uint32_t crc = 0;
    uint64_t at = l->offset;
    for (unsigned i = 0; i < l->n_planes; i++) {
        const tare_wcodec_plane *p = &l->planes[i];
        TARE_TRY(add_crc(&crc, o->file, at, p->head_bytes, err));
        at += p->head_bytes;
        for (uint64_t s = 0; s < p->n_segments; s++) {
            TARE_TRY(add_crc(&crc, o->file, at + 4, CRC_FIELD, err));
            at += (uint64_t)p->sizes[s] * TARE_WC_UNIT;
        }
    }
    uint8_t padding[TARE_WCODEC_ALIGN];
    size_t n = (size_t)(l->offset + l->size - at);
    TARE_TRY(tare_reader_read(o->file, at, padding, n, err));
    if (!tare_wc_is_zero(padding, n))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "layer: padding is not 0");
    if (crc != l->crc) return tare_fail_at(err, TARE_ERR_CHECKSUM, l->offset, "layer: CRC-32");
    return TARE_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A segment, its stored bytes and what it is predicted from, in one piece of memory. */
typedef struct work {
    const tare_wcodec_opened *opened;
    unsigned plane;
    uint8_t *stored, *bytes, *reference, *scales;
    size_t size;
} work;

static tare_status decode_plane(uint8_t *dst, const tare_wcodec_opened *o, unsigned plane,
                                uint64_t first, uint64_t end, tare_wc_scratch *scratch,
                                tare_error *err);

/* Both models' scales of a segment. */
static tare_status read_scales(tare_wcodec_scales *scales, uint8_t *room, const work *w,
                               uint64_t first, uint64_t n, tare_wc_scratch *scratch,
                               tare_error *err) {
    const tare_wcodec_layer *l = w->opened->layer;
    unsigned plane = l->planes[w->plane].scale_plane;
    TARE_TRY(decode_plane(room, w->opened, plane, first, first + n, scratch, err));
    TARE_TRY(tare_wcodec_gather(room + n, &l->planes[plane], w->opened->base, first, n, err));
    *scales = (tare_wcodec_scales){room, room + n};
    return TARE_OK;
}

static tare_status decode_with(const work *w, tare_wc_piece *piece, uint64_t segment,
                               tare_wc_scratch *scratch, tare_error *err) {
    const tare_allocator *allocator = scratch->allocator;
    const tare_wcodec_layer *l = w->opened->layer;
    tare_wcodec_scales scales = {0};
    tare_wc_reference reference;
    uint64_t first, n = 0;
    unsigned failed;
    if (piece->bytes[1] == TARE_WC_NONE)
        return tare_wc_decode(piece, 1, w->opened->groups, scratch, &failed, err);
    if (!w->opened->base)
        return tare_fail_at(err, TARE_ERR_ARG, piece->offset, "segment: needs the base model");
    bool has_scales = piece->bytes[1] == TARE_WC_REF_SCALED &&
                      tare_wcodec_scale_span(&first, &n, l, w->plane, segment);
    size_t size = piece->n_bytes + (has_scales ? 2 * (size_t)n : 0);
    uint8_t *room = tare_alloc(allocator, size);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    tare_status status = TARE_OK;
    if (has_scales) status = read_scales(&scales, room + piece->n_bytes, w, first, n, scratch, err);
    if (status == TARE_OK)
        status = tare_wcodec_reference(&reference, room, l, w->plane, segment, w->opened->base,
                                       &scales, err);
    piece->reference = &reference;
    if (status == TARE_OK)
        status = tare_wc_decode(piece, 1, w->opened->groups, scratch, &failed, err);
    tare_free(allocator, room, size);
    return status;
}

/* Decodes a segment to w->bytes. */
static tare_status decode_one(work *w, uint64_t segment, uint64_t position,
                              tare_wc_scratch *scratch, tare_error *err) {
    const tare_wcodec_plane *p = &w->opened->layer->planes[w->plane];
    uint32_t stored = p->sizes[segment] * TARE_WC_UNIT;
    TARE_TRY(tare_reader_read(w->opened->file, position, w->stored, stored, err));
    memset(w->stored + stored, 0, TARE_WC_READ_AHEAD);
    tare_wc_piece piece = {
        .head = w->opened->heads[w->plane],
        .bytes = w->stored,
        .stored = stored,
        .present = stored,
        .offset = position,
        .dst = w->bytes,
        .n_bytes = tare_wcodec_segment_bytes(p, segment),
    };
    return decode_with(w, &piece, segment, scratch, err);
}

static bool work_init(work *w, const tare_wcodec_opened *o, unsigned plane,
                      const tare_allocator *allocator) {
    uint32_t n = tare_wcodec_segment_bytes(&o->layer->planes[plane], 0);
    *w = (work){.opened = o, .plane = plane};
    w->size = (size_t)tare_wc_max_stored(n) + TARE_WC_READ_AHEAD + n;
    w->stored = tare_alloc(allocator, w->size);
    w->bytes = w->stored ? w->stored + w->size - n : NULL;
    return w->stored != NULL;
}

/* Plane bytes first .. end - 1, each decoded segment handed to `use`. */
typedef struct target {
    uint8_t *dst;
    uint64_t offset, n; /* of a region; n 0: dst takes the plane's bytes */
} target;

static tare_status walk(const tare_wcodec_opened *o, unsigned plane, uint64_t first, uint64_t end,
                        const target *t, tare_wc_scratch *scratch, tare_error *err) {
    const tare_wcodec_plane *p = &o->layer->planes[plane];
    uint64_t whole = tare_wc_bytes_of(p->shape.item, UINT64_C(1) << p->shape.log2_segment);
    uint64_t position = p->position + p->head_bytes;
    tare_status status = TARE_OK;
    work w;
    if (first >= end) return TARE_OK;
    if (!work_init(&w, o, plane, scratch->allocator))
        return tare_fail(err, TARE_ERR_NOMEM, "segment");
    for (uint64_t s = 0; s * whole < end && status == TARE_OK; s++) {
        uint64_t start = s * whole, stop = start + tare_wcodec_segment_bytes(p, s);
        if (stop > first) {
            status = decode_one(&w, s, position, scratch, err);
            uint64_t from = tare_max_u64(start, first), to = tare_min_u64(stop, end);
            if (status == TARE_OK && t->n)
                scatter(t->dst, t->offset, t->n, p, w.bytes + (from - start), from, to);
            else if (status == TARE_OK)
                memcpy(t->dst + (from - first), w.bytes + (from - start), (size_t)(to - from));
        }
        position += (uint64_t)p->sizes[s] * TARE_WC_UNIT;
    }
    tare_free(scratch->allocator, w.stored, w.size);
    return status;
}

static tare_status decode_plane(uint8_t *dst, const tare_wcodec_opened *o, unsigned plane,
                                uint64_t first, uint64_t end, tare_wc_scratch *scratch,
                                tare_error *err) {
    const target t = {.dst = dst};
    return walk(o, plane, first, end, &t, scratch, err);
}

tare_status tare_wcodec_read_region(uint8_t *dst, const tare_wcodec_opened *o, unsigned region,
                                    uint64_t offset, size_t n, tare_wc_scratch *scratch,
                                    tare_error *err) {
    const target t = {dst, offset, n};
    for (unsigned i = 0; n && i < o->layer->n_planes; i++) {
        const tare_wcodec_plane *p = &o->layer->planes[i];
        if (p->region != region) continue;
        uint64_t first = offset / p->stride * p->width;
        uint64_t end = tare_ceil_div_u64(offset + n, p->stride) * p->width;
        TARE_TRY(walk(o, i, first, end, &t, scratch, err));
    }
    return TARE_OK;
}
