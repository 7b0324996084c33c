/* SPDX-License-Identifier: MIT */
#include "format/wcodec/wcodec_derivation.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_pieces.h"
#include "wcodec/wc_varint.h"

static const char tag[4] = {'D', 'E', 'R', 'V'};
static const char ends[] = "derivation of a layer: the record ends inside it";

/* Bits of the view. */
enum { HAS_PIECES = 1, HAS_DIVISORS = 2 };

static void put_divisors(tare_buffer *out, const tare_wcodec_derivation *d) {
    tare_wc_put_varint(out, d->n_divisors);
    for (uint64_t i = 0; i < d->n_divisors; i++)
        tare_buffer_put_u32(out, tare_f32_bits(d->divisors[i]), false);
}

static tare_status read_divisors(tare_wcodec_derivation *out, tare_cursor *c, tare_arena *arena,
                                 tare_error *err) {
    const uint64_t at = tare_cursor_offset(c);
    out->n_divisors = tare_wc_varint(c, ends);
    if (!tare_cursor_fits(c, out->n_divisors, sizeof(float), at, ends))
        return tare_cursor_status(c, err);
    float *divisors = TARE_NEW_ARRAY(arena, float, out->n_divisors);
    if (!divisors) return tare_fail(err, TARE_ERR_NOMEM, "index");
    for (uint64_t i = 0; i < out->n_divisors; i++) {
        divisors[i] = tare_f32_of_bits(tare_cursor_u32(c, ends));
        if (!isfinite(divisors[i]) || divisors[i] < 0)
            return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                                "derivation: a divisor of importance is not finite, or below 0");
    }
    out->divisors = divisors;
    return TARE_OK;
}

void tare_wcodec_derivation_put(tare_buffer *out, const tare_wcodec_derivation *d) {
    if (!d->is_set) return;
    tare_buffer_put(out, tag, sizeof tag);
    tare_buffer_put_u32(out, d->source, false);
    tare_buffer_put_u32(out, d->importance, false);
    tare_buffer_put_u64(out, d->importance_offset, false);
    tare_buffer_put_u8(out, (uint8_t)d->version);
    tare_buffer_put_u8(out, (uint8_t)(d->version >> 8));
    tare_buffer_put_u8(out, d->quality);
    tare_buffer_put_u8(out,
                       (uint8_t)((d->pieces ? HAS_PIECES : 0) | (d->divisors ? HAS_DIVISORS : 0)));
    if (d->divisors) put_divisors(out, d);
    if (d->pieces) tare_wcodec_pieces_put(out, d->pieces);
}

tare_status tare_wcodec_derivation_read(tare_wcodec_derivation *out, tare_cursor *c,
                                        tare_arena *arena, tare_error *err) {
    *out = (tare_wcodec_derivation){.is_set = false};
    if (tare_cursor_left(c) < sizeof tag || memcmp(c->pos, tag, sizeof tag) != 0) return TARE_OK;
    tare_cursor_take(c, sizeof tag, ends);
    const uint64_t at = tare_cursor_offset(c);
    out->source = tare_cursor_u32(c, ends);
    out->importance = tare_cursor_u32(c, ends);
    out->importance_offset = tare_cursor_u64(c, ends);
    out->version = tare_cursor_u16(c, ends);
    out->quality = tare_cursor_u8(c, ends);
    const uint8_t view = tare_cursor_u8(c, ends);
    TARE_TRY(tare_cursor_status(c, err));
    if (out->quality > 1)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 18, "derivation: unknown quality");
    if (view > (HAS_PIECES | HAS_DIVISORS))
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, at + 19,
                            "derivation: a view that this version does not know");
    if (!out->importance && out->importance_offset)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 8,
                            "derivation: a place of importance without importance");
    if (view & HAS_DIVISORS && !out->importance)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 19,
                            "derivation: divisors of importance without importance");
    if (view & HAS_PIECES && out->source)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "derivation: a source beside pieces");
    if (view & HAS_DIVISORS) TARE_TRY(read_divisors(out, c, arena, err));
    if (view & HAS_PIECES) TARE_TRY(tare_wcodec_pieces_read(&out->pieces, c, arena, err));
    out->is_set = true;
    return TARE_OK;
}

static tare_status refuse(tare_error *err, uint64_t at, const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, at, what);
}

static bool is_same_shape(const tare_wcodec_layer *a, const tare_wcodec_layer *b) {
    bool is_same = a->n_dims == b->n_dims;
    for (unsigned d = 0; is_same && d < a->n_dims; d++) is_same = a->dims[d] == b->dims[d];
    return is_same;
}

static tare_status check_importance(const tare_wcodec_index *x, const tare_wcodec_layer *l,
                                    uint64_t at, tare_error *err) {
    const tare_wcodec_derivation *d = &l->derived;
    uint64_t n = 1, end;
    if (!d->importance) return TARE_OK;
    if (d->importance > x->n_layers || x->layers[d->importance - 1].kind != TARE_WCODEC_BYTES ||
        x->layers[d->importance - 1].derived.is_set)
        return refuse(err, at, "derivation: its importance is not a layer of bytes");
    for (unsigned i = 0; i + 2 < l->n_dims; i++)
        if (!tare_mul_u64(n, l->dims[i], &n))
            return refuse(err, at, "derivation: its importance is too large");
    if (d->divisors && d->n_divisors != n)
        return refuse(err, at, "derivation: not a divisor for each row of importance");
    if (!tare_mul_u64(n, l->n_dims ? l->dims[l->n_dims - 1] : 1, &n) ||
        !tare_mul_u64(n, sizeof(float), &n) || !tare_add_u64(n, d->importance_offset, &end) ||
        end > x->layers[d->importance - 1].coded.region_bytes[0])
        return refuse(err, at, "derivation: its importance is not all there");
    return TARE_OK;
}

/* One of the layers that layer i is made of. */
static tare_status check_source(tare_wcodec_index *x, uint32_t i, uint32_t source, uint64_t at,
                                tare_error *err) {
    enum { DEEPEST = 2 };
    if (source >= i) return refuse(err, at, "derivation: its source is not a layer before it");
    tare_wcodec_derivation *d = &x->layers[i].derived;
    const tare_wcodec_layer *from = &x->layers[source];
    const unsigned depth = from->derived.is_set ? from->derived.depth + 1u : 1;
    if (depth > d->depth) d->depth = (uint8_t)depth;
    if (depth > DEEPEST) return refuse(err, at, "derivation: more than two deep");
    if (from->kind != TARE_WCODEC_TENSOR || from->is_big_endian || from->coded.n_regions != 1)
        return refuse(err, at, "derivation: its source is not a tensor of one region");
    return TARE_OK;
}

static tare_status check_pieces(tare_wcodec_index *x, uint32_t i, uint64_t at, tare_error *err) {
    const tare_wcodec_layer *l = &x->layers[i];
    const tare_composition *of = l->derived.pieces;
    uint64_t n = 1;
    for (size_t k = 0; k < of->n_pieces; k++)
        if (of->pieces[k].source != TARE_PIECE_ZEROS)
            TARE_TRY(check_source(x, i, of->pieces[k].source, at, err));
    for (unsigned d = 0; d < l->n_dims; d++)
        if (!tare_mul_u64(n, l->dims[d], &n))
            return refuse(err, at, "derivation: its tensor is too large");
    return tare_wcodec_pieces_check(x, of, n, at, err);
}

tare_status tare_wcodec_derivation_check(tare_wcodec_index *x, uint32_t i, uint64_t at,
                                         tare_error *err) {
    const tare_wcodec_layer *l = &x->layers[i];
    x->layers[i].derived.depth = 1;
    if (l->kind != TARE_WCODEC_TENSOR || l->base || l->is_big_endian || l->coded.n_regions != 1)
        return refuse(err, at, "derivation: its layer is not a little-endian tensor of one region");
    if (l->derived.pieces) {
        TARE_TRY(check_pieces(x, i, at, err));
    } else {
        TARE_TRY(check_source(x, i, l->derived.source, at, err));
        if (!is_same_shape(l, &x->layers[l->derived.source]))
            return refuse(err, at, "derivation: its source is not a tensor of the same shape");
    }
    return check_importance(x, l, at, err);
}
