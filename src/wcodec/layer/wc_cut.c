/* SPDX-License-Identifier: MIT
 *
 * From the fields of an encoding to streams. One table says how a field is coded, by its type, role
 * and width of codes; the rest is the location of its bytes. Fields that the encoding declares to
 * be parts of the same values are joined into one stream. */
#include "wcodec/layer/wc_cut.h"

#include <string.h>

#include "base/arith.h"
#include "encoding/table.h"

_Static_assert((int)TARE_MAX_JOINED_LOG2 == (int)TARE_WC_MAX_JOIN, "sizes of units");

/* ---- the table ------------------------------------------------------------------------------- */

enum { ANY = 255, BYTES_LOG2 = 22, INTEGERS_LOG2 = 20, ENOUGH_FOR_STREAM = 1024 };
/* Values of 5 bits that do not shrink have head and states of DIRECT added, for RAW would take 6:
 * but not where that matters, as no file may grow by more than 0.1 % and 256 bytes per tensor. Less
 * than this is joined only if it is known to shrink. */
enum { ENOUGH_FOR_FIVE_BITS = 5 << 18 };

/* How the fields of a kind are coded. A field is one stream, or `pieces` cut each of its numbers,
 * the most significant bytes first. */
typedef struct cut_rule {
    uint8_t type, role, bits; /* of the field; ANY */
    uint8_t value_bits;       /* of the stream, or of the first piece */
    uint8_t n_bytes;          /* that follow the first piece, each a piece of 8-bit values */
    uint8_t count;            /* numbers of the field; 0: any */
    bool is_repetitive, is_scales;
    double width; /* bits that a value is worth, about: what a good length of segments follows */
    tare_encoding_kind kind; /* UNKNOWN: any */
} cut_rule;

#define TYPE(t) TARE_FIELD_##t
#define MASKS   TARE_KIND_INTEGER /* and bytes of anything; 8-bit floats are of another kind */
/* The first matching entry applies. */
static const cut_rule rules[] = {
    {TYPE(F16), ANY, ANY, .value_bits = 16, .width = 11},
    {TYPE(BF16), ANY, ANY, .value_bits = 16, .width = 11},
    {TYPE(F32), ANY, ANY, .value_bits = 16, .n_bytes = 2, .width = 11},
    {TYPE(F64), ANY, ANY, .value_bits = 16, .n_bytes = 6, .width = 11},
    {TYPE(U16), TYPE(VALUE), ANY, .value_bits = 8, .n_bytes = 1, .is_repetitive = true, .width = 8},
    {TYPE(I16), TYPE(VALUE), ANY, .value_bits = 8, .n_bytes = 1, .is_repetitive = true, .width = 8},
    {TYPE(U32), TYPE(VALUE), ANY, .value_bits = 8, .n_bytes = 3, .is_repetitive = true, .width = 8},
    {TYPE(U64), TYPE(VALUE), ANY, .value_bits = 8, .n_bytes = 7, .is_repetitive = true, .width = 8},
    {TYPE(U8), TYPE(VALUE), ANY, .value_bits = 8, .is_repetitive = true, .width = 8, .kind = MASKS},
    /* Eight scales, eight minima in 12 bytes. */
    {TYPE(U8), TYPE(SUBSCALE), 6, .value_bits = 6, .count = 12, .is_scales = true, .width = 6},
    {ANY, TYPE(CODE), 3, .value_bits = 6, .width = 4.5}, /* two in a value */
    {ANY, TYPE(CODE), 6, .value_bits = 6, .width = 5},
    {ANY, ANY, 1, .value_bits = 4, .width = 4},
    {ANY, ANY, 2, .value_bits = 4, .width = 4},
    {ANY, ANY, 3, .value_bits = 4, .width = 4}, /* beside a further bit: sign, sign of an offset */
    {ANY, ANY, 4, .value_bits = 4, .width = 4},
    {ANY, ANY, ANY, .value_bits = 8, .width = 7},
};

static bool fits(uint8_t wanted, uint8_t is) {
    return wanted == ANY || wanted == is;
}

static const cut_rule wide_codes = {.type = TYPE(I16), .value_bits = 16, .width = 11};

static const cut_rule *rule_of(const tare_wc_effort *effort, const tare_encoding *e,
                               const tare_field *f) {
    const cut_rule *r = rules;
    if (effort->has_wide_codes && f->type == TARE_FIELD_I16) return &wide_codes;
    while (!fits(r->type, f->type) || !fits(r->role, f->role) || !fits(r->bits, f->bits) ||
           (r->kind && r->kind != e->kind) || (r->count && r->count != f->count))
        r++;
    return r;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

typedef struct cutter {
    tare_wc_cut *out;
    const tare_encoding *encoding;
    const uint64_t *dims;
    uint32_t n_dims;
    uint64_t cols;
    bool is_big_endian;
    const tare_wc_effort *effort;
} cutter;

uint8_t tare_wc_most_for_gpu(uint8_t value_bits) {
    return value_bits == 16 ? 16 : value_bits == 4 ? 18 : 17;
}

/* Head and states are 0.15 % of so many values of 3 bits. */
uint8_t tare_wc_trellis_log2(const tare_wc_effort *effort) {
    enum { USUAL = 19, MOST = 20 }; /* longer ones are not DIRECT */
    if (effort->log2_segment) return effort->log2_segment < MOST ? effort->log2_segment : MOST;
    return effort->is_for_gpu ? tare_wc_most_for_gpu(8) : USUAL;
}

/* The settings common to all streams; NULL rule: bytes. */
static void add_stream(cutter *c, const tare_coded_field *field, const cut_rule *rule) {
    tare_coded_stream *p = &c->out->streams[c->out->n_streams++];
    tare_coded_field *f = &p->field;
    *p = (tare_coded_stream){.field = *field};
    f->mode = (uint8_t)c->effort->mode;
    f->is_big_endian = f->value_bits == 16 && c->is_big_endian;
    f->is_repetitive = rule ? rule->is_repetitive : true;
    f->log2_segment = c->effort->log2_segment;
    const uint64_t region_bytes = c->out->region_bytes[f->region];
    const uint64_t n_values =
        tare_wc_values_of(f->value_bits, region_bytes / f->stride * tare_wc_unit_bytes(p));
    const bool is_given = f->log2_segment;
    if (!is_given) {
        uint8_t suits = tare_wc_suggest_log2(n_values, rule ? rule->width : 8);
        uint8_t most = !rule ? BYTES_LOG2 : rule->is_repetitive ? INTEGERS_LOG2 : suits;
        while (most > suits && UINT64_C(1) << (most - 1) >= n_values) most--;
        if (c->out->how.no_zstd && most > tare_wc_most_for_gpu(f->value_bits))
            most = tare_wc_most_for_gpu(f->value_bits);
        f->log2_segment = most;
    }
    tare_wc_measure_stream(p, region_bytes);
    while (is_given && p->segment_bytes > TARE_WC_MAX_BYTES) {
        f->log2_segment--;
        tare_wc_measure_stream(p, region_bytes);
    }
}

static void add(cutter *c, uint8_t region, uint8_t value_bits, const cut_rule *rule,
                uint32_t stride, uint32_t offset, uint32_t width) {
    const tare_coded_field f = {.region = region,
                                .stride = stride,
                                .offset = offset,
                                .width = width,
                                .value_bits = value_bits,
                                .is_packed_scales = rule && rule->is_scales};
    add_stream(c, &f, rule);
}

/* Values of a stream that stand for a row of the tensor; where rows are very short (the taps of a
 * convolution), for enough of them that patterns can show. */
static uint32_t view_width(const cutter *c, const tare_coded_stream *p,
                           const tare_plane_info *info) {
    enum { SHORT = 8 };
    if (info->scope != TARE_PLANE_ELEMENTS || c->effort->is_for_gpu) return 0; /* no tiles */
    uint64_t cols = c->cols, a_unit = tare_wc_values_of(p->field.value_bits, tare_wc_unit_bytes(p));
    for (uint32_t d = c->n_dims; cols < SHORT && d-- > 1;)
        if (!tare_mul_u64(cols, c->dims[d - 1], &cols)) return 0;
    uint64_t width = tare_ceil_div_u64(cols, info->unit);
    return tare_mul_u64(width, a_unit, &width) && width <= UINT32_MAX ? (uint32_t)width : 0;
}

/* ---- what is joined -------------------------------------------------------------------------- */

/* Whether all bytes of a field belong to the values that are joined. */
static bool is_part(const tare_joined *w, const tare_field *f) {
    uint32_t end = f->offset + tare_field_width(f->type) * f->count;
    for (uint32_t at = f->offset; at < end; at++) {
        bool is_low = at >= w->low && at - w->low < tare_joined_low_bytes(w);
        bool is_high = at >= w->high && at - w->high < tare_joined_high_bytes(w);
        if (!is_low && !is_high) return false;
    }
    return true;
}

/* In a big-endian file the bits of a multi-byte number have other places, which cannot be expressed
 * as a permutation of the bits of value numbers. */
static bool has_turned_part(const cutter *c, const tare_joined *w) {
    const tare_field *f = c->encoding->fields;
    for (uint32_t i = 0; i < c->encoding->n_fields; i++, f++)
        if (c->is_big_endian && tare_field_width(f->type) > 1 && is_part(w, f)) return true;
    return false;
}

/* What a field is joined into; NULL: nothing. */
static const tare_joined *joined_of(const cutter *c, const tare_field *f) {
    const tare_joined *w = tare_encoding_joined(c->encoding);
    for (unsigned i = 0; f->plane == 0 && i < TARE_MAX_JOINED && w->high_bits; i++, w++) {
        if (!is_part(w, f)) continue;
        bool is_small = w->high_bits == 1 && !c->effort->joins_small &&
                        c->out->region_bytes[0] < ENOUGH_FOR_FIVE_BITS;
        return is_small || has_turned_part(c, w) ? NULL : w;
    }
    return NULL;
}

/* The stream of joined values replaces the field that has their low bits. */
static bool has_low_bits(const tare_joined *w, const tare_field *f) {
    return f->offset == w->low;
}

static void add_joined(cutter *c, const tare_joined *w) {
    const tare_plane_info *info = &c->encoding->planes[0];
    /* Below 5 for the longest segments, whose frames are the least part of noise. */
    const cut_rule rule = {.width = w->high_bits == 1 ? 4.9 : 5.8};
    tare_coded_field f = {.value_bits = 6,
                          .stride = info->unit_bytes,
                          .offset = w->low,
                          .width = tare_joined_low_bytes(w),
                          .join = {w->high, w->high_bits, w->log2_values, {0}}};
    memcpy(f.join.place, w->place, w->log2_values);
    tare_coded_stream *p = &c->out->streams[c->out->n_streams];
    add_stream(c, &f, &rule);
    p->field.row = view_width(c, p, info);
}

/* The streams of a field; `unit`: bytes of the unit it lies in. */
static void add_field(cutter *c, const tare_field *f) {
    const tare_plane_info *info = &c->encoding->planes[f->plane];
    const cut_rule *r = rule_of(c->effort, c->encoding, f);
    uint32_t size = tare_field_width(f->type), unit = info->unit_bytes;
    bool is_alone = size * f->count == unit, is_split = r->n_bytes && (is_alone || f->count == 1);
    uint8_t first = c->out->n_streams;
    if (!is_split) {
        const bool is_paired = c->effort->pairs_codes && is_alone && f->role == TARE_FIELD_CODE &&
                               f->bits == 4 && r->value_bits == 4;
        uint8_t value_bits = r->n_bytes || is_paired ? 8 : r->value_bits;
        add(c, f->plane, value_bits, r, unit, f->offset, size * f->count);
    } else {
        uint32_t stride = is_alone ? size : unit, top = r->value_bits / 8;
        uint32_t at = c->is_big_endian ? 0 : size - top;
        add(c, f->plane, r->value_bits, r, stride, f->offset + at, top);
        for (uint32_t i = 0; i < r->n_bytes; i++) {
            at = c->is_big_endian ? top + i : size - top - 1 - i;
            add(c, f->plane, 8, r, stride, f->offset + at, 1);
        }
    }
    for (uint8_t i = first; i < c->out->n_streams; i++) {
        tare_coded_stream *p = &c->out->streams[i];
        p->field.is_signed = f->type == TARE_FIELD_I8;
        if (c->effort->trellis && p->field.is_signed && f->role == TARE_FIELD_CODE) {
            p->field.trellis = c->effort->trellis;
            p->field.log2_segment = tare_wc_trellis_log2(c->effort);
            tare_wc_measure_stream(p, c->out->region_bytes[f->plane]);
        }
        if (p->field.value_bits <= 8 && !p->field.is_packed_scales)
            p->field.row = view_width(c, p, info);
    }
}

/* Whether a region is worth cutting at all: each stream costs a record, a head and segments. */
static bool is_worth_cutting(const cutter *c, uint8_t region) {
    uint32_t n = 0;
    const tare_field *f = c->encoding->fields;
    for (uint32_t i = 0; i < c->encoding->n_fields; i++, f++) {
        const cut_rule *r = rule_of(c->effort, c->encoding, f);
        const tare_joined *w = joined_of(c, f);
        if (f->plane == region && w)
            n += has_low_bits(w, f);
        else if (f->plane == region)
            n += 1u + r->n_bytes;
    }
    return n <= 1 ? n == 1 : c->out->region_bytes[region] / ENOUGH_FOR_STREAM >= n;
}

static bool is_scale(const tare_field *f) {
    return f->role == TARE_FIELD_SCALE && (f->type == TARE_FIELD_F16 || f->type == TARE_FIELD_BF16);
}

/* 8-bit codes are linked to their scales, so that they can be predicted from a base with different
 * scales. `scales` is the number of that stream, `scale` its field. */
static void link_scales(cutter *c, uint8_t codes, const tare_field *f, uint8_t scales,
                        const tare_field *scale) {
    const tare_plane_info *of_scale = &c->encoding->planes[scale->plane];
    tare_coded_stream *p = &c->out->streams[codes];
    uint64_t share = p->field.width;
    if (f->plane != scale->plane && of_scale->scope == TARE_PLANE_ROW)
        share = c->cols;
    else if (of_scale->scope != TARE_PLANE_ELEMENTS || scale->count != 1 ||
             of_scale->unit != c->encoding->planes[f->plane].unit)
        return;
    if (!share || share > UINT32_MAX) return;
    p->field.scale_stream = (uint8_t)(1 + scales);
    p->field.scale_form = scale->type == TARE_FIELD_F16 ? 1 : 2;
    p->field.values_per_scale = (uint32_t)share;
}

/* Scales go first, because streams that refer to them come later. */
static void add_fields(cutter *c, bool scales, const bool *is_cut, const tare_field **scale,
                       uint8_t *scale_stream) {
    const tare_field *f = c->encoding->fields;
    for (uint32_t i = 0; i < c->encoding->n_fields; i++, f++) {
        uint8_t first = c->out->n_streams;
        if (is_scale(f) != scales || !is_cut[f->plane]) continue;
        const tare_joined *w = joined_of(c, f);
        if (!w)
            add_field(c, f);
        else if (has_low_bits(w, f))
            add_joined(c, w);
        if (scales && !*scale) {
            *scale = f;
            *scale_stream = first;
        }
        if (*scale && f->role == TARE_FIELD_CODE && f->type == TARE_FIELD_I8)
            link_scales(c, first, f, *scale_stream, *scale);
    }
}

void tare_wc_cut_tensor(tare_wc_cut *out, const tare_encoding *encoding,
                        const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                        bool is_big_endian, const tare_wc_effort *effort) {
    static const cut_rule opaque = {.value_bits = 8, .width = 7};
    bool is_cut[TARE_MAX_PLANES];
    const tare_field *scale = NULL;
    uint8_t scale_stream = 0;
    cutter c = {.out = out,
                .encoding = encoding,
                .dims = dims,
                .n_dims = n_dims,
                .cols = n_dims ? dims[n_dims - 1] : 1,
                .is_big_endian = is_big_endian,
                .effort = effort};
    out->how = (tare_wc_options){
        .is_full = effort->is_full, .no_zstd = effort->is_for_gpu, .tiles = effort->tiles};
    out->n_streams = 0;
    out->n_regions = encoding->n_planes;
    /* An empty list is omitted; any other is always written, and not cut. */
    while (encoding->planes[out->n_regions - 1].scope == TARE_PLANE_LIST &&
           plane_bytes[out->n_regions - 1] == 0)
        out->n_regions--;
    memcpy(out->region_bytes, plane_bytes, out->n_regions * sizeof *plane_bytes);
    for (uint8_t i = 0; i < encoding->n_planes; i++)
        is_cut[i] = encoding->planes[i].scope != TARE_PLANE_LIST && is_worth_cutting(&c, i);
    add_fields(&c, true, is_cut, &scale, &scale_stream);
    add_fields(&c, false, is_cut, &scale, &scale_stream);
    for (uint8_t i = 0; i < out->n_regions; i++)
        if (!is_cut[i]) add(&c, i, 8, &opaque, 1, 0, 1);
}

void tare_wc_cut_bytes(tare_wc_cut *out, uint64_t n_bytes, const tare_wc_effort *effort) {
    tare_wc_cut_whole(out, &n_bytes, 1, effort);
}

void tare_wc_cut_whole(tare_wc_cut *out, const uint64_t *region_bytes, uint8_t n_regions,
                       const tare_wc_effort *effort) {
    cutter c = {.out = out, .effort = effort};
    out->how = (tare_wc_options){.is_full = effort->is_full, .tiles = effort->tiles};
    out->n_streams = 0;
    out->n_regions = n_regions;
    memcpy(out->region_bytes, region_bytes, n_regions * sizeof *region_bytes);
    for (uint8_t i = 0; i < n_regions; i++) add(&c, i, 8, NULL, 1, 0, 1);
}

tare_status tare_wc_apply_cut(tare_wc_layer *layer, const tare_wc_cut *cut, tare_arena *arena,
                              tare_error *err) {
    layer->n_regions = cut->n_regions;
    layer->n_streams = cut->n_streams;
    memcpy(layer->region_bytes, cut->region_bytes, cut->n_regions * sizeof *cut->region_bytes);
    layer->streams = TARE_NEW_ARRAY(arena, tare_coded_stream, cut->n_streams);
    layer->records = TARE_NEW_ARRAY(arena, tare_wc_record, cut->n_streams);
    if (!layer->streams || !layer->records) return tare_fail(err, TARE_ERR_NOMEM, "streams");
    memcpy(layer->streams, cut->streams, cut->n_streams * sizeof *cut->streams);
    return TARE_OK;
}
