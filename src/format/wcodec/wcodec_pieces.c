/* SPDX-License-Identifier: MIT
 *
 * Views in records of derivations: written, read, and checked before anything is read through them. */
#include "format/wcodec/wcodec_pieces.h"

#include "base/arith.h"
#include "base/bytes.h"
#include "format/packed.h"
#include "format/wcodec/wcodec_index.h"
#include "wcodec/wc_varint.h"

enum {
    LEAST_BYTES = 4,         /* of a piece */
    SHORT_RUN = 1024,        /* bytes */
    SHORT_SOURCE = 16 << 20, /* bytes: of which all segments are kept while it is read */
};

static const tare_encoding_id types[] = {TARE_ENCODING_F32, TARE_ENCODING_F16, TARE_ENCODING_BF16};
enum { N_TYPES = sizeof types / sizeof *types };

/* Of the operations that give the same bits everywhere. */
static const tare_piece_arithmetic last_operation = TARE_PIECE_MUL;

static const char ends[] = "derivation of a layer: the record ends inside its pieces";

static unsigned type_number(const tare_encoding *e) {
    unsigned i = 0;
    while (e && i < N_TYPES && types[i] != e->id) i++;
    return e ? i : N_TYPES;
}

/* Whether a record can say it: its types and operations are among those of the format. */
static bool is_known(const tare_composition *of) {
    bool fits = of->n_pieces > 0 && type_number(of->encoding) < N_TYPES;
    for (size_t i = 0; fits && i < of->n_pieces; i++)
        fits = of->pieces[i].arithmetic <= last_operation;
    return fits;
}

/* Whether elements that lie apart are few enough to be read: runs are long, or the source short. */
static bool runs_well(const tare_piece *p, const tare_encoding *type, uint64_t source_bytes) {
    return !p->view || source_bytes <= SHORT_SOURCE ||
           tare_piece_run(p->view) >= SHORT_RUN / type->planes[0].unit_bytes;
}

bool tare_packed_can_compose(const tare_composition *of, uint64_t n_elements,
                             const tare_model *sources) {
    bool fits = is_known(of) && of->pieces[of->n_pieces - 1].end == n_elements;
    for (size_t i = 0; fits && i < of->n_pieces; i++) {
        const tare_piece *p = &of->pieces[i];
        if (p->source == TARE_PIECE_ZEROS) continue;
        const tare_tensor *t = &sources->catalog.tensors[p->source];
        fits = type_number(t->encoding) < N_TYPES && runs_well(p, t->encoding, t->size_bytes);
    }
    return fits;
}

/* ---- records --------------------------------------------------------------------------------- */

static void put_piece(tare_buffer *out, const tare_piece *p, uint64_t n) {
    const bool is_zeros = p->source == TARE_PIECE_ZEROS;
    const tare_piece_view *v = p->view;
    tare_wc_put_varint(out, is_zeros ? 0 : (uint64_t)p->source + 1);
    tare_wc_put_varint(out, n);
    tare_buffer_put_u8(out, (uint8_t)p->arithmetic);
    tare_buffer_put_u8(out, v ? (uint8_t)v->n_axes : 0);
    if (p->arithmetic) tare_buffer_put_u32(out, tare_f32_bits(p->constant), false);
    if (!v) return;
    tare_wc_put_varint(out, v->offset);
    for (uint32_t a = 0; a < v->n_axes; a++) {
        tare_wc_put_varint(out, v->axes[a].extent);
        tare_wc_put_varint(out, v->axes[a].stride);
    }
}

void tare_wcodec_pieces_put(tare_buffer *out, const tare_composition *of) {
    uint64_t begin = 0;
    tare_buffer_put_u8(out, (uint8_t)type_number(of->encoding));
    tare_wc_put_varint(out, of->n_pieces);
    for (size_t i = 0; i < of->n_pieces; i++) {
        put_piece(out, &of->pieces[i], of->pieces[i].end - begin);
        begin = of->pieces[i].end;
    }
}

static tare_status refuse(tare_error *err, uint64_t at, const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, at, what);
}

static tare_status read_view(const tare_piece_view **out, tare_cursor *c, uint8_t n_axes,
                             tare_arena *arena, tare_error *err) {
    tare_piece_view *v = TARE_NEW(arena, tare_piece_view);
    if (!v) return tare_fail(err, TARE_ERR_NOMEM, "derivation");
    v->offset = tare_wc_varint(c, ends);
    v->n_axes = n_axes;
    for (uint32_t a = 0; a < n_axes; a++) {
        const uint64_t at = tare_cursor_offset(c);
        v->axes[a].extent = tare_wc_varint(c, ends);
        v->axes[a].stride = tare_wc_varint(c, ends);
        TARE_TRY(tare_cursor_status(c, err));
        if (!v->axes[a].extent) return refuse(err, at, "derivation: an axis without steps");
    }
    *out = v;
    return TARE_OK;
}

static tare_status read_piece(tare_piece *p, uint64_t *end, tare_cursor *c, tare_arena *arena,
                              tare_error *err) {
    const uint64_t at = tare_cursor_offset(c), source = tare_wc_varint(c, ends);
    const uint64_t n = tare_wc_varint(c, ends);
    const uint8_t arithmetic = tare_cursor_u8(c, ends), n_axes = tare_cursor_u8(c, ends);
    TARE_TRY(tare_cursor_status(c, err));
    if (source > TARE_PIECE_ZEROS || !n || !tare_add_u64(*end, n, end))
        return refuse(err, at, "derivation: the source or the length of a piece is out of range");
    if (arithmetic > last_operation || n_axes > TARE_PIECE_AXES ||
        (!source && (arithmetic || n_axes)))
        return refuse(err, at, "derivation: an operation or a view of a piece that is not known");
    *p = (tare_piece){.end = *end,
                      .source = source ? (uint32_t)(source - 1) : TARE_PIECE_ZEROS,
                      .arithmetic = (tare_piece_arithmetic)arithmetic};
    if (arithmetic) p->constant = tare_f32_of_bits(tare_cursor_u32(c, ends));
    if (n_axes) TARE_TRY(read_view(&p->view, c, n_axes, arena, err));
    return tare_cursor_status(c, err);
}

tare_status tare_wcodec_pieces_read(const tare_composition **out, tare_cursor *c, tare_arena *arena,
                                    tare_error *err) {
    const uint64_t at = tare_cursor_offset(c);
    const uint8_t type = tare_cursor_u8(c, ends);
    const uint64_t n = tare_wc_varint(c, ends);
    uint64_t end = 0;
    if (!tare_cursor_fits(c, n, LEAST_BYTES, at, ends)) return tare_cursor_status(c, err);
    if (type >= N_TYPES || !n)
        return refuse(err, at, "derivation: an unknown type of pieces, or none of them");
    tare_composition *of = TARE_NEW(arena, tare_composition);
    tare_piece *pieces = TARE_NEW_ARRAY(arena, tare_piece, n);
    if (!of || !pieces) return tare_fail(err, TARE_ERR_NOMEM, "derivation");
    for (uint64_t i = 0; i < n; i++) TARE_TRY(read_piece(&pieces[i], &end, c, arena, err));
    *of = (tare_composition){pieces, (size_t)n, tare_encoding_get(types[type])};
    *out = of;
    return TARE_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Whether a view is n elements, all of them among n_source ones. */
static bool is_inside(const tare_piece_view *v, uint64_t n, uint64_t n_source) {
    uint64_t count = 1, last = v ? v->offset : 0, step;
    if (!v) return n == n_source;
    for (uint32_t a = 0; a < v->n_axes; a++)
        if (!tare_mul_u64(count, v->axes[a].extent, &count) ||
            !tare_mul_u64(v->axes[a].extent - 1, v->axes[a].stride, &step) ||
            !tare_add_u64(last, step, &last))
            return false;
    return count == n && last < n_source;
}

static tare_status check_piece(const tare_wcodec_index *x, const tare_piece *p, uint64_t n,
                               uint64_t at, tare_error *err) {
    const tare_wcodec_layer *from = &x->layers[p->source];
    const tare_encoding *e = tare_encoding_find(from->encoding);
    if (type_number(e) == N_TYPES)
        return refuse(err, at, "derivation: a piece of what is not F32, F16 or BF16");
    const uint64_t width = e->planes[0].unit_bytes, bytes = from->coded.region_bytes[0];
    if (bytes % width || !is_inside(p->view, n, bytes / width))
        return refuse(err, at, "derivation: a piece that does not lie in its source");
    if (!runs_well(p, e, bytes))
        return refuse(err, at, "derivation: numbers of a large tensor that lie apart");
    return TARE_OK;
}

tare_status tare_wcodec_pieces_check(const tare_wcodec_index *x, const tare_composition *of,
                                     uint64_t n_elements, uint64_t at, tare_error *err) {
    uint64_t begin = 0;
    for (size_t i = 0; i < of->n_pieces; i++) {
        const tare_piece *p = &of->pieces[i];
        if (p->source != TARE_PIECE_ZEROS) TARE_TRY(check_piece(x, p, p->end - begin, at, err));
        begin = p->end;
    }
    return begin == n_elements ? TARE_OK
                               : refuse(err, at, "derivation: its pieces are not as many numbers");
}
