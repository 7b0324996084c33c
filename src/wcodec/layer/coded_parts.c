/* SPDX-License-Identifier: MIT
 *
 * Compressed access: the stored form of a layer, for decoders other than ours
 * (include/tare/experimental/wcodec.h). */
#include <string.h>

#include "base/arith.h"
#include "wcodec/layer/coded.h"
#include "wcodec/layer/wc_gather.h"
#include "wcodec/wc_bypass.h"
#include "wcodec/wc_parts.h"

_Static_assert(sizeof((tare_coded_segment *)0)->groups / sizeof(uint32_t) ==
                   (size_t)TARE_WC_BYPASS_GROUPS,
               "groups of bypass bits");

/* ---- heads ----------------------------------------------------------------------------------- */

static void copy_table(tare_coded_table *to, const tare_wc_table *t) {
    *to = (tare_coded_table){.n_symbols = t->alphabet};
    memcpy(to->threshold, t->thr, t->alphabet);
    memcpy(to->alias, t->alias, t->alphabet);
    memcpy(to->frequency, t->freq, t->alphabet * sizeof *t->freq);
    for (unsigned b = 0; b < t->alphabet; b++)
        to->adjust[b] = (uint16_t)(t->adj_low[b] | t->adj_high[b] << 8);
}

static tare_coded_table *copy_tables(tare_arena *arena, const tare_wc_table *from, unsigned n) {
    tare_coded_table *tables = TARE_NEW_ARRAY(arena, tare_coded_table, n);
    for (unsigned i = 0; tables && i < n; i++) copy_table(&tables[i], &from[i]);
    return tables;
}

static tare_coded_rule *copy_rules(tare_arena *arena, const tare_wc_rule *from, unsigned n) {
    tare_coded_rule *rules = TARE_NEW_ARRAY(arena, tare_coded_rule, n);
    for (unsigned i = 0; rules && i < n; i++) {
        rules[i] = (tare_coded_rule){.form = from[i].form,
                                     .bypass_bits = from[i].k,
                                     .trellis = from[i].trellis,
                                     .has_map = from[i].has_map};
        memcpy(rules[i].map, from[i].map, sizeof rules[i].map);
    }
    return rules;
}

tare_status tare_coded_make_heads(tare_coded *c, tare_error *err) {
    c->heads = TARE_NEW_ARRAY(&c->arena, tare_coded_head, c->layer.n_streams);
    bool is_made = c->heads != NULL;
    for (unsigned i = 0; is_made && i < c->layer.n_streams; i++) {
        const tare_wc_head *h = c->opened.heads[i];
        c->heads[i] = (tare_coded_head){
            .n_rules = h->n_rules,
            .n_tables64 = h->n_t64,
            .n_tables16 = h->n_t16,
            .n_contexts = h->n_contexts,
            .rules = copy_rules(&c->arena, h->rules, h->n_rules),
            .tables64 = copy_tables(&c->arena, h->t64, h->n_t64),
            .tables16 = copy_tables(&c->arena, h->t16, h->n_t16),
            .contexts = h->contexts,
        };
        is_made = c->heads[i].rules && c->heads[i].tables64 && c->heads[i].tables16;
    }
    return is_made ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "heads");
}

const tare_coded_head *tare_coded_stream_head(const tare_coded *c, unsigned stream) {
    return stream < c->layer.n_streams ? &c->heads[stream] : NULL;
}

/* ---- stored bytes ---------------------------------------------------------------------------- */

static bool is_inside(const tare_coded *c, uint64_t position, size_t n) {
    return position <= c->layer.size && n <= c->layer.size - position;
}

const uint8_t *tare_coded_borrow(const tare_coded *c, uint64_t position, size_t n) {
    return c->described.data && is_inside(c, position, n) ? c->described.data + position : NULL;
}

tare_status tare_coded_read(void *dst, const tare_coded *c, uint64_t position, size_t n,
                            tare_error *err) {
    TARE_REQUIRE(c && (dst || !n), err);
    TARE_REQUIRE(is_inside(c, position, n), err);
    return tare_reader_read(c->opened.file, c->layer.offset + position, dst, n, err);
}

tare_status tare_coded_read_base(void *dst, const tare_coded *c, unsigned region, uint64_t offset,
                                 size_t n, tare_error *err) {
    TARE_REQUIRE(c && (dst || !n) && region < c->layer.n_regions, err);
    const uint64_t size = c->layer.region_bytes[region];
    TARE_REQUIRE(offset <= size && n <= size - offset, err);
    const tare_wc_source *base = c->opened.base;
    if (!base) return tare_fail(err, TARE_ERR_ARG, "layer: its base is missing");
    return tare_reader_read(base->readers[region], base->starts[region] + offset, dst, n, err);
}

/* ---- segments -------------------------------------------------------------------------------- */

static void set_entropy_parts(tare_coded_segment *out, const tare_wc_segment *s) {
    out->states = TARE_WC_SEGMENT_HEADER;
    out->words[0] = out->states + TARE_WC_STATES;
    out->words[1] = out->words[0] + 2 * s->size_a;
    out->n_words[0] = s->size_a;
    out->n_words[1] = s->size_b;
}

static void set_direct(tare_coded_segment *out, const tare_wc_segment *s, const tare_wc_direct *d) {
    set_entropy_parts(out, s);
    out->rule = s->rule;
    out->first_table = s->table;
    out->n_classes = s->n_classes;
    out->class_table = s->option;
    out->n_positions = d->n_positions;
    out->patches = d->patches;
    out->patches_bytes = s->extent;
    out->n_patches = s->count;
    out->patch_rice = s->rice;
    out->n_groups = (uint8_t)d->n_groups;
    for (unsigned g = 0; g < d->n_groups; g++) {
        out->group_bits[g] = d->widths[g];
        out->groups[g] = d->groups[g];
        out->groups_bytes[g] = tare_wc_group_bytes(d->widths[g], d->n_positions);
    }
}

static void set_structured(tare_coded_segment *out, const tare_wc_segment *s,
                           const tare_wc_structured *parts) {
    set_entropy_parts(out, s);
    out->body = parts->raw;
    out->body_bytes = s->count;
    out->tile_shape = s->rule;
    out->magnitude_bits = s->table;
    out->is_signed = s->option;
    out->view_width = s->extent;
}

static void set_body(tare_coded_segment *out, const tare_wc_segment *s) {
    out->body = TARE_WC_SEGMENT_HEADER;
    out->body_bytes = s->mode == TARE_CODED_ZSTD ? s->size_a : out->n_bytes;
}

/* A predictor refers to what the layer says it has. */
static tare_status check_predictor(const tare_coded *c, const tare_wc_piece *piece, unsigned stream,
                                   uint64_t segment, tare_error *err) {
    uint64_t first, n;
    if (piece->header.predictor && !c->layer.has_base)
        return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + 1,
                            "segment: predicted in a layer without base");
    if (piece->header.predictor == TARE_CODED_REF_SCALED &&
        !tare_wc_scale_span(&first, &n, &c->layer, stream, segment))
        return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + 1,
                            "segment: predicted by scale in a stream without scales");
    return TARE_OK;
}

static void set_parts(tare_coded_segment *out, const tare_wc_piece *piece,
                      const tare_wc_parts *parts) {
    const tare_wc_segment *s = &piece->header;
    out->mode = s->mode;
    out->predictor = s->predictor;
    out->crc = s->crc;
    memcpy(out->pattern, s->pattern, sizeof out->pattern);
    if (s->mode == TARE_CODED_DIRECT)
        set_direct(out, s, &parts->direct);
    else if (s->mode == TARE_CODED_STRUCTURED)
        set_structured(out, s, &parts->structured);
    else if (s->mode != TARE_CODED_CONSTANT)
        set_body(out, s);
}

tare_status tare_coded_parse_segment(tare_coded_segment *out, const tare_coded *c, unsigned stream,
                                     uint64_t segment, tare_error *err) {
    TARE_REQUIRE(out && out->size >= sizeof *out && c && stream < c->layer.n_streams, err);
    const tare_coded_stream *p = &c->layer.streams[stream];
    TARE_REQUIRE(segment < p->n_segments, err);
    uint8_t header[TARE_WC_SEGMENT_HEADER];
    tare_wc_parts parts;
    tare_wc_piece piece = {.head = c->opened.heads[stream],
                           .bytes = header,
                           .stored = p->sizes[segment] * TARE_CODED_UNIT,
                           .present = sizeof header,
                           .offset = tare_wc_segment_position(&c->opened, stream, segment),
                           .n_bytes = tare_wc_segment_bytes(p, segment)};
    TARE_TRY(tare_reader_read(c->opened.file, piece.offset, header, sizeof header, err));
    TARE_TRY(tare_wc_read_header(&piece, err));
    TARE_TRY(tare_wc_check_place(&piece, &c->layer.records[stream], segment, err));
    TARE_TRY(check_predictor(c, &piece, stream, segment, err));
    TARE_TRY(tare_wc_find_parts(&parts, &piece, err));
    *out = (tare_coded_segment){.size = out->size,
                                .position = piece.offset - c->layer.offset,
                                .stored_bytes = piece.stored,
                                .n_bytes = piece.n_bytes};
    set_parts(out, &piece, &parts);
    return TARE_OK;
}
