/* SPDX-License-Identifier: MIT */
#include "format/wcodec/wcodec_crcs.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"

enum { CRC_BYTES = 4, LAYER_CRC = 16 /* its place in the record */ };

static const char tag[4] = {'C', 'R', 'C', 'S'};
static const char ends[] = "CRCs of a layer: the record ends inside them";

void tare_wcodec_crcs_put(tare_buffer *out, const tare_wc_layer *l) {
    tare_buffer_put(out, tag, sizeof tag);
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        const tare_wc_record *r = &l->records[i];
        tare_buffer_put_u32(out, r->head_crc, false);
        for (uint64_t s = 0; s < p->n_segments; s++) tare_buffer_put_u32(out, r->crcs[s], false);
    }
}

/* The CRCs of segments as the layer's CRC counts them: little-endian, as they are here. */
static tare_status read_stream(tare_wc_record *r, uint64_t n_segments, uint32_t *whole,
                               uint64_t n_after, tare_cursor *c, tare_arena *arena,
                               tare_error *err) {
    r->head_crc = tare_cursor_u32(c, ends);
    if (!tare_cursor_fits(c, n_segments, CRC_BYTES, tare_cursor_offset(c), ends))
        return tare_cursor_status(c, err);
    const size_t n = (size_t)n_segments * CRC_BYTES;
    const uint8_t *bytes = tare_cursor_take(c, n, ends);
    TARE_TRY(tare_cursor_status(c, err));
    r->crcs = TARE_NEW_ARRAY(arena, uint32_t, n_segments);
    if (!r->crcs) return tare_fail(err, TARE_ERR_NOMEM, "index");
    for (uint64_t s = 0; s < n_segments; s++) r->crcs[s] = tare_load_le32(bytes + s * CRC_BYTES);
    *whole ^= tare_crc32_part(r->head_crc, n + n_after);
    *whole ^= tare_crc32_part(tare_crc32(0, bytes, n), n_after);
    return TARE_OK;
}

tare_status tare_wcodec_crcs_read(tare_wc_layer *l, tare_cursor *c, uint64_t record, uint16_t minor,
                                  tare_arena *arena, tare_error *err) {
    uint64_t n_after = 0;
    uint32_t whole = 0;
    bool are_there =
        minor && tare_cursor_left(c) >= sizeof tag && memcmp(c->pos, tag, sizeof tag) == 0;
    if (!are_there && minor >= TARE_WCODEC_CRCS)
        return tare_fail_at(err, TARE_ERR_CORRUPT, tare_cursor_offset(c),
                            "layer: the CRCs of its segments are missing");
    if (!are_there) return TARE_OK;
    tare_cursor_take(c, sizeof tag, ends);
    for (unsigned i = 0; i < l->n_streams; i++)
        n_after += l->streams[i].head_bytes + CRC_BYTES * l->streams[i].n_segments;
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *p = &l->streams[i];
        n_after -= p->head_bytes + CRC_BYTES * p->n_segments;
        TARE_TRY(read_stream(&l->records[i], p->n_segments, &whole, n_after, c, arena, err));
    }
    if (whole == l->crc) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, record + LAYER_CRC,
                        "layer CRC: not that of the CRCs at the end of the record");
}
