/* SPDX-License-Identifier: MIT
 *
 * The decoder of STRUCTURED segments: side symbols, bit planes, signs; then tile by tile the
 * inverse transform and the prediction. */
#include "wcodec/wc_structured.h"

#include "wcodec/wc_head.h"
#include "wcodec/wc_predict.h"
#include "wcodec/wc_transform.h"

typedef struct decoder {
    const tare_wc_piece *piece;
    const tare_wc_segment *segment;
    tare_wc_view view;
    tare_wc_lanes lanes;
    unsigned lane; /* of the next symbol */
    const uint8_t *raw;
    uint64_t raw_bits, raw_at; /* how many there are; the next one */
    uint8_t *predictors, *transforms;
    uint16_t *magnitudes; /* in coefficient order */
    int16_t *matrix;
    uint8_t *contexts, *nibbles;
} decoder;

static tare_status refuse(const tare_wc_piece *piece, uint64_t at, tare_error *err,
                          const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + at, what);
}

static const tare_wc_table *table_of(const decoder *d, unsigned context) {
    return &d->piece->head->t16[d->piece->head->contexts[context]];
}

static uint8_t take(decoder *d, const tare_wc_table *t) {
    uint8_t symbol = tare_wc_lanes_take(&d->lanes, d->lane, t);
    d->lane = (d->lane + 1) % TARE_WC_LANES;
    return symbol;
}

static void take_padding(decoder *d, const tare_wc_table *t) {
    while (d->lane) take(d, t);
}

/* 0 past the end; the final position reveals that. */
static unsigned take_raw(decoder *d) {
    uint64_t at = d->raw_at++;
    return at < d->raw_bits ? (unsigned)d->raw[at / 8] >> at % 8 & 1u : 0u;
}

/* ---- set up ---------------------------------------------------------------------------------- */

tare_status tare_wc_structured_parts(tare_wc_structured *out, const tare_wc_segment *s,
                                     const tare_wc_piece *piece, tare_error *err) {
    const tare_wc_shape *shape = &piece->head->shape;
    uint64_t n_values = tare_wc_values_of(shape->value_bits, piece->n_bytes);
    if (shape->value_bits > 8)
        return refuse(piece, 0, err, "segment: values too wide for its mode");
    if (n_values > TARE_WC_MAX_VALUES ||
        !tare_wc_view_init(&out->view, (uint32_t)n_values, s->extent, s->rule))
        return refuse(piece, 2, err, "segment: tiles that do not fit its values");
    if (!piece->head->n_contexts || s->table > piece->head->max_magnitude)
        return refuse(piece, 3, err, "segment: more bits of magnitude than contexts");
    if (s->option > 1)
        return refuse(piece, 25, err, "segment: whether values are signed: expected 0 or 1");
    uint64_t raw = TARE_WC_SEGMENT_HEADER + TARE_WC_STATES;
    raw += 2 * ((uint64_t)s->size_a + s->size_b);
    uint64_t end = raw + s->count;
    if (end > piece->stored || piece->stored - end >= TARE_CODED_UNIT)
        return refuse(piece, 8, err, "segment: its parts do not add up to its size");
    out->raw = (uint32_t)raw;
    out->end = (uint32_t)end;
    return TARE_OK;
}

static tare_status begin(decoder *d, tare_error *err) {
    const tare_wc_segment *s = d->segment;
    const tare_wc_piece *piece = d->piece;
    tare_wc_structured parts;
    TARE_TRY(tare_wc_structured_parts(&parts, s, piece, err));
    if (!tare_wc_is_zero(piece->bytes + parts.end, piece->stored - parts.end))
        return refuse(piece, parts.end, err, "segment: padding is not 0");
    d->view = parts.view;
    d->raw = piece->bytes + parts.raw;
    d->raw_bits = (uint64_t)s->count * 8;
    tare_wc_lanes_init(&d->lanes, piece->bytes + TARE_WC_SEGMENT_HEADER, s->size_a, s->size_b);
    if (!tare_wc_lanes_can_begin(&d->lanes))
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: a state is below 65536");
    return TARE_OK;
}

static tare_status take_memory(decoder *d, tare_wc_scratch *scratch, tare_error *err) {
    uint32_t n = d->view.n_cells;
    d->magnitudes =
        tare_wc_scratch_take(scratch, TARE_WC_DECODE_MAGNITUDES, n * sizeof *d->magnitudes);
    d->matrix = tare_wc_scratch_take(scratch, TARE_WC_DECODE_MATRIX, n * sizeof *d->matrix);
    d->contexts = tare_wc_scratch_take(scratch, TARE_WC_DECODE_CONTEXTS, n);
    d->nibbles =
        tare_wc_scratch_take(scratch, TARE_WC_DECODE_NIBBLES, n / 4 + TARE_WC_PLANE_CONTEXTS);
    d->predictors =
        tare_wc_scratch_take(scratch, TARE_WC_DECODE_SIDE, d->view.n_tiles * (1 + TARE_WC_SUBS));
    if (!d->magnitudes || !d->matrix || !d->contexts || !d->nibbles || !d->predictors)
        return tare_fail(err, TARE_ERR_NOMEM, "segment");
    d->transforms = d->predictors + d->view.n_tiles;
    memset(d->magnitudes, 0, n * sizeof *d->magnitudes);
    return TARE_OK;
}

/* ---- coefficients ---------------------------------------------------------------------------- */

static tare_status read_side(decoder *d, tare_error *err) {
    unsigned worst_predictor = 0, worst_transform = 0;
    for (uint32_t i = 0; i < d->view.n_tiles; i++) {
        d->predictors[i] = take(d, table_of(d, 0));
        if (d->predictors[i] > worst_predictor) worst_predictor = d->predictors[i];
    }
    for (uint32_t i = 0; i < d->view.n_tiles * TARE_WC_SUBS; i++) {
        d->transforms[i] = take(d, table_of(d, 1));
        if (d->transforms[i] > worst_transform) worst_transform = d->transforms[i];
    }
    take_padding(d, table_of(d, 1));
    if (worst_predictor >= TARE_WC_PREDICTORS || worst_transform >= TARE_WC_TRANSFORMS)
        return refuse(d->piece, TARE_WC_SEGMENT_HEADER, err,
                      "segment: unknown predictor or transform");
    return TARE_OK;
}

/* A bit plane: the symbols of all contexts, then each coefficient takes its bit from those of its
 * context. */
static tare_status read_plane(decoder *d, unsigned b, tare_error *err) {
    uint32_t counts[TARE_WC_PLANE_CONTEXTS], at[TARE_WC_PLANE_CONTEXTS], n = 0;
    const tare_wc_table *t = NULL;
    tare_wc_contexts(d->contexts, counts, d->magnitudes, d->transforms, d->view.n_cells, b);
    for (unsigned c = 0; c < TARE_WC_PLANE_CONTEXTS; c++) {
        at[c] = n * 4; /* in bits: the next one of the context */
        if (!counts[c]) continue;
        t = table_of(d, TARE_WC_SIDE_CONTEXTS + b * TARE_WC_PLANE_CONTEXTS + c);
        for (uint32_t i = 0; i < counts[c]; i += 4) d->nibbles[n++] = take(d, t);
        unsigned rest = counts[c] % 4;
        if (rest && d->nibbles[n - 1] >> rest)
            return refuse(d->piece, TARE_WC_SEGMENT_HEADER, err,
                          "segment: bits after the last coefficient of a context");
    }
    if (t) take_padding(d, t);
    for (uint32_t i = 0; i < d->view.n_cells; i++) {
        unsigned c = d->contexts[i], bit;
        if (c == TARE_WC_NO_CONTEXT) {
            bit = take_raw(d);
        } else {
            uint32_t place = at[c]++;
            bit = d->nibbles[place / 4] >> place % 4 & 1;
        }
        d->magnitudes[i] = (uint16_t)(d->magnitudes[i] | bit << b);
    }
    return TARE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void restore_tile(decoder *d, uint32_t tile, const tare_wc_scan *scan) {
    const tare_wc_view *v = &d->view;
    const uint16_t *from = d->magnitudes + (size_t)tile * TARE_WC_CELLS;
    int16_t cells[TARE_WC_CELLS], *at = d->matrix + tare_wc_tile_at(v, tile);
    tare_wc_predict(cells, d->predictors[tile], d->matrix, v, tile);
    for (unsigned s = 0; s < TARE_WC_SUBS; s++, from += TARE_WC_SUB_CELLS) {
        int32_t block[TARE_WC_SUB_CELLS];
        for (unsigned z = 0; z < TARE_WC_SUB_CELLS; z++) {
            int32_t size = from[z] & ~TARE_WC_NEGATIVE;
            block[scan->zigzag[z]] = from[z] & TARE_WC_NEGATIVE ? -size : size;
        }
        tare_wc_transform_inverse(block, d->transforms[tile * TARE_WC_SUBS + s]);
        for (unsigned i = 0; i < TARE_WC_SUB_CELLS; i++) {
            unsigned p = scan->cells[s][i];
            at[p / v->tile_cols * v->stride + p % v->tile_cols] = tare_wc_wrap(
                cells[p] + block[i], d->piece->head->shape.value_bits, d->segment->option);
        }
    }
}

tare_status tare_wc_structured_decode(const tare_wc_piece *piece, const tare_wc_segment *s,
                                      tare_wc_scratch *scratch, tare_error *err) {
    decoder d = {.piece = piece, .segment = s};
    tare_wc_scan scan;
    TARE_TRY(begin(&d, err));
    TARE_TRY(take_memory(&d, scratch, err));
    TARE_TRY(read_side(&d, err));
    for (unsigned b = s->table; b-- > 0;) TARE_TRY(read_plane(&d, b, err));
    for (uint32_t i = 0; i < d.view.n_cells; i++)
        if (d.magnitudes[i])
            d.magnitudes[i] = (uint16_t)(d.magnitudes[i] | take_raw(&d) * TARE_WC_NEGATIVE);
    if (!tare_wc_lanes_have_ended(&d.lanes))
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err,
                      "segment: states and words do not end together");
    if (d.raw_at > d.raw_bits || d.raw_bits - d.raw_at >= 8)
        return refuse(piece, 16, err, "segment: number of raw bits: more than its values have");
    while (d.raw_at < d.raw_bits)
        if (take_raw(&d)) return refuse(piece, 16, err, "segment: padding of raw bits is not 0");
    tare_wc_scan_init(&scan, &d.view);
    for (uint32_t tile = 0; tile < d.view.n_tiles; tile++) restore_tile(&d, tile, &scan);
    tare_wc_matrix_store(piece->dst, piece->head->shape.value_bits, d.matrix, &d.view);
    return TARE_OK;
}
