/* SPDX-License-Identifier: MIT
 *
 * Opening layers, and the CRC that covers what no segment covers. */
#include "wcodec/layer/wc_layer.h"

#include "base/arith.h"
#include "base/hash.h"
#include "wcodec/wc_head.h"

enum { CRC_FIELD = 4 };

/* Where every 64th segment lies; `at`: the layer. */
static tare_status find_places(uint64_t **out, const tare_coded_stream *p, uint64_t at,
                               tare_arena *arena, tare_error *err) {
    at += p->position + p->head_bytes;
    *out = TARE_NEW_ARRAY(arena, uint64_t, p->n_segments / TARE_WC_PLACES + 1);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "places of segments");
    for (uint64_t s = 0; s < p->n_segments; s++) {
        if (s % TARE_WC_PLACES == 0) (*out)[s / TARE_WC_PLACES] = at;
        at += (uint64_t)p->sizes[s] * TARE_CODED_UNIT;
    }
    return TARE_OK;
}

static tare_status read_head(tare_wc_opened *o, unsigned i, tare_arena *arena, tare_error *err) {
    const tare_coded_stream *p = &o->layer->streams[i];
    const tare_wc_record *r = &o->layer->records[i];
    const tare_wc_shape shape = tare_wc_shape_of(&p->field);
    const uint64_t at = o->layer->offset + p->position;
    uint8_t *bytes = TARE_NEW_ARRAY(arena, uint8_t, p->head_bytes);
    tare_cursor c;
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "head of a stream");
    TARE_TRY(tare_reader_read(o->file, at, bytes, p->head_bytes, err));
    tare_cursor_init(&c, bytes, p->head_bytes, at);
    o->head_crcs[i] = tare_crc32(0, bytes, p->head_bytes);
    tare_status status = r->crcs && o->head_crcs[i] != r->head_crc
                             ? tare_fail_at(err, TARE_ERR_CHECKSUM, at,
                                            "head of a stream: CRC-32 is not the index's")
                             : tare_wc_head_read(&o->heads[i], &shape, &c, arena, err);
    if (status != TARE_OK) tare_error_field(err, "streams", i, NULL, NULL);
    return status;
}

tare_status tare_wc_open_watched(tare_wc_opened *out, const tare_reader *file,
                                 const tare_wc_layer *layer, uint64_t number,
                                 const tare_wc_watch *watch, tare_arena *arena, tare_error *err) {
    *out = (tare_wc_opened){.file = file,
                            .layer = layer,
                            .groups = TARE_WC_ALL_GROUPS,
                            .number = number,
                            .watch = watch};
    for (unsigned i = 0; i < layer->n_streams; i++) {
        tare_error fault = TARE_ERROR_NONE;
        tare_status status = read_head(out, i, arena, &fault);
        bool is_lost = watch && watch->lost && tare_status_is_loss(status);
        if (is_lost) {
            out->heads[i] = NULL;
            watch->lost(watch->ctx, number, i, TARE_WC_ALL_SEGMENTS, &fault);
        } else if (status != TARE_OK) {
            if (err) *err = fault;
            return status;
        }
        TARE_TRY(find_places(&out->places[i], &layer->streams[i], layer->offset, arena, err));
    }
    return TARE_OK;
}

tare_status tare_wc_open_layer(tare_wc_opened *out, const tare_reader *file,
                               const tare_wc_layer *layer, tare_arena *arena, tare_error *err) {
    return tare_wc_open_watched(out, file, layer, 0, NULL, arena, err);
}

tare_status tare_wc_check_place(const tare_wc_piece *piece, const tare_wc_record *r,
                                uint64_t segment, tare_error *err) {
    if (!r->crcs || piece->header.crc == r->crcs[segment]) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CHECKSUM, piece->offset + 4,
                        "segment: CRC-32 is not the index's: another segment, or damaged");
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

tare_status tare_wc_check_layer(const tare_wc_opened *o, tare_error *err) {
    const tare_wc_layer *l = o->layer;
    uint32_t crc = 0;
    uint64_t at = l->offset;
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        TARE_TRY(add_crc(&crc, o->file, at, p->head_bytes, err));
        at += p->head_bytes;
        for (uint64_t s = 0; s < p->n_segments; s++) {
            TARE_TRY(add_crc(&crc, o->file, at + 4, CRC_FIELD, err));
            at += (uint64_t)p->sizes[s] * TARE_CODED_UNIT;
        }
    }
    uint8_t padding[TARE_WC_LAYER_ALIGN];
    size_t n = (size_t)(l->offset + l->size - at);
    TARE_TRY(tare_reader_read(o->file, at, padding, n, err));
    if (!tare_wc_is_zero(padding, n))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "layer: padding is not 0");
    if (crc != l->crc)
        return tare_fail_at(err, TARE_ERR_CHECKSUM, l->offset,
                            "layer: CRC-32 is not that of its heads and segments");
    return TARE_OK;
}
