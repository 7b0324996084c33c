/* SPDX-License-Identifier: MIT
 *
 * Layers: plane bytes from regions, opening, and the CRC that covers what no segment covers. */
#include "format/wcodec/wcodec_layer.h"

#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_join.h"
#include "format/wcodec/wcodec_planes.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_scales.h"

enum { CRC_FIELD = 4 };

/* ---- between region and plane ---------------------------------------------------------------- */

tare_status tare_wcodec_gather(uint8_t *dst, const tare_wcodec_plane *p,
                               const tare_wcodec_source *source, uint64_t first, uint64_t n,
                               tare_error *err) {
    enum { CHUNK = 1 << 15 };
    const tare_reader *reader = source->readers[p->region];
    if (p->join.high_bits) return tare_wcodec_join_units(dst, p, source, first, n, err);
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
    uint64_t first = segment * tare_wc_whole_bytes(&p->shape);
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

/* Where every 64th segment lies. */
static tare_status find_places(uint64_t **out, const tare_wcodec_plane *p, tare_arena *arena,
                               tare_error *err) {
    uint64_t at = p->position + p->head_bytes;
    *out = TARE_NEW_ARRAY(arena, uint64_t, p->n_segments / TARE_WCODEC_PLACES + 1);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "places of segments");
    for (uint64_t s = 0; s < p->n_segments; s++) {
        if (s % TARE_WCODEC_PLACES == 0) (*out)[s / TARE_WCODEC_PLACES] = at;
        at += (uint64_t)p->sizes[s] * TARE_WC_UNIT;
    }
    return TARE_OK;
}

static tare_status read_head(tare_wcodec_opened *o, unsigned i, tare_arena *arena,
                             tare_error *err) {
    const tare_wcodec_plane *p = &o->layer->planes[i];
    uint8_t *bytes = TARE_NEW_ARRAY(arena, uint8_t, p->head_bytes);
    tare_cursor c;
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "head of a plane");
    TARE_TRY(tare_reader_read(o->file, p->position, bytes, p->head_bytes, err));
    tare_cursor_init(&c, bytes, p->head_bytes, p->position);
    tare_status status = tare_wc_head_read(&o->heads[i], &p->shape, &c, arena, err);
    if (status != TARE_OK) tare_error_field(err, "planes", i, NULL, NULL);
    return status;
}

bool tare_wcodec_is_loss(tare_status status) {
    return status == TARE_ERR_CORRUPT || status == TARE_ERR_CHECKSUM ||
           status == TARE_ERR_TRUNCATED || status == TARE_ERR_UNSUPPORTED ||
           status == TARE_ERR_IO || status == TARE_ERR_LIMIT;
}

tare_status tare_wcodec_open_watched(tare_wcodec_opened *out, const tare_reader *file,
                                     const tare_wcodec_layer *layer, uint64_t number,
                                     const tare_wcodec_watch *watch, tare_arena *arena,
                                     tare_error *err) {
    *out = (tare_wcodec_opened){.file = file,
                                .layer = layer,
                                .groups = TARE_WC_ALL_GROUPS,
                                .number = number,
                                .watch = watch};
    for (unsigned i = 0; i < layer->n_planes; i++) {
        tare_error fault = TARE_ERROR_NONE;
        tare_status status = read_head(out, i, arena, &fault);
        bool is_lost = watch && watch->lost && tare_wcodec_is_loss(status);
        if (is_lost) {
            out->heads[i] = NULL;
            watch->lost(watch->ctx, number, i, TARE_WCODEC_ALL_SEGMENTS, &fault);
        } else if (status != TARE_OK) {
            if (err) *err = fault;
            return status;
        }
        TARE_TRY(find_places(&out->places[i], &layer->planes[i], arena, err));
    }
    return TARE_OK;
}

tare_status tare_wcodec_open_layer(tare_wcodec_opened *out, const tare_reader *file,
                                   const tare_wcodec_layer *layer, tare_arena *arena,
                                   tare_error *err) {
    return tare_wcodec_open_watched(out, file, layer, 0, NULL, arena, err);
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
    if (crc != l->crc)
        return tare_fail_at(err, TARE_ERR_CHECKSUM, l->offset,
                            "layer: CRC-32 is not that of its heads and segments");
    return TARE_OK;
}

/* ---- packed scales --------------------------------------------------------------------------- */

_Static_assert(TARE_WCODEC_SCALES_STEP == (int)TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP,
               "a group of units");

void tare_wcodec_unpack_scales(uint8_t *dst, const uint8_t *src, uint32_t n) {
    tare_wc_scales_unpack(dst, src, n);
}
