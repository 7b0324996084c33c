/* SPDX-License-Identifier: MIT
 *
 * Checks that the structs describing layers are consistent: sizes, indexes of rules and tables,
 * parts of segments within their stored bytes. Those made by libtare always are; the kernels rely
 * on it whatever their origin. */
#include <string.h>

#include "wg_plan.h"

enum {
    MAX_BYTES = 1 << 26,
    MAX_VALUES = 1 << 20,
    MAX_PER_SCALE = 1 << 30,
    MAX_CLASSES = 16,
    MAX_RICE = 20,
    UNIT = 64
};

tare_status wg_fail(tare_error *err, tare_status status, int64_t item, const char *what) {
    if (!err) return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    err->item = item;
    err->offset = TARE_NO_OFFSET;
    err->what = what;
    return status;
}

static uint64_t values_of(uint8_t value_bits, uint64_t n_bytes) {
    return value_bits == 6   ? n_bytes / 3 * 4
           : value_bits == 4 ? n_bytes * 2
                             : n_bytes / (value_bits / 8u);
}
static uint64_t align(uint64_t n) {
    return (n + UNIT - 1) / UNIT * UNIT;
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool is_join(const tare_coded_field *f) {
    const tare_coded_join *w = &f->join;
    unsigned seen = 0;
    if (w->high_bits > 2 || w->log2_values < 3 || w->log2_values > 10 || f->value_bits != 6)
        return false;
    for (unsigned i = 0; i < w->log2_values; i++)
        seen |= w->place[i] < w->log2_values ? 1u << w->place[i] : 0;
    uint32_t n_high = (uint32_t)w->high_bits << w->log2_values >> 3;
    return seen == (1u << w->log2_values) - 1 && f->width == 1u << w->log2_values >> 1 &&
           n_high <= f->stride && w->high_offset <= f->stride - n_high;
}

static bool is_field(const tare_coded_field *f, unsigned n_regions) {
    bool is_item =
        f->value_bits == 4 || f->value_bits == 6 || f->value_bits == 8 || f->value_bits == 16;
    if (!is_item || f->region >= n_regions || f->log2_segment < 14 || f->log2_segment > 26)
        return false;
    if (!f->stride || !f->width || f->offset > f->stride || f->width > f->stride - f->offset)
        return false;
    if (f->join.high_bits && !is_join(f)) return false;
    if (f->is_packed_scales && (f->value_bits != 6 || f->width != 12 || f->join.high_bits))
        return false;
    if (f->value_bits == 6 && !f->join.high_bits && f->width % 3) return false;
    return f->value_bits != 16 || f->width % 2 == 0;
}

/* The stream with the scales has one for each value. */
static bool has_scales(const tare_cuda_layer *l, unsigned stream) {
    const tare_coded_stream *p = &l->layer->streams[stream];
    const tare_coded_field *f = &p->field;
    if (!f->scale_stream) return true;
    if (f->scale_stream > stream || !f->values_per_scale || f->values_per_scale > MAX_PER_SCALE ||
        f->scale_form < 1 || f->scale_form > 2)
        return false;
    return l->layer->streams[f->scale_stream - 1].field.value_bits == 16;
}

static bool is_stream(const tare_cuda_layer *l, unsigned stream) {
    const tare_coded_stream *p = &l->layer->streams[stream];
    const tare_coded_field *f = &p->field;
    if (!is_field(f, l->layer->n_regions) || !has_scales(l, stream)) return false;
    uint64_t n_units = l->layer->region_bytes[f->region] / f->stride, whole = p->segment_bytes;
    if (n_units > UINT64_MAX / 2 / (wg_unit_bytes(f) + 1)) return false;
    if (p->n_bytes != n_units * wg_unit_bytes(f) || !whole || whole > MAX_BYTES) return false;
    if (8 * whole != (uint64_t)f->value_bits << f->log2_segment) return false;
    return p->n_segments == p->n_bytes / whole + (p->n_bytes % whole != 0);
}

bool wg_is_wanted(const tare_cuda_layer *l, unsigned stream) {
    if (!l->streams || l->streams >> stream & 1) return true;
    for (unsigned i = stream + 1; i < l->layer->n_streams; i++)
        if (l->streams >> i & 1 && l->layer->streams[i].field.scale_stream == stream + 1)
            return true;
    return false;
}

static bool is_head(const tare_coded_head *h) {
    if (!h || h->n_rules > 16 || h->n_tables64 > 64 || h->n_tables16 > 64) return false;
    for (unsigned i = 0; i < h->n_rules; i++) {
        const tare_coded_rule *r = &h->rules[i];
        bool is_trellis = r->trellis == 8 || r->trellis == 32;
        if (r->form > TARE_CODED_EDGE || r->bypass_bits > 15 || (r->trellis && !is_trellis))
            return false;
    }
    return true;
}

tare_status wg_check_layer(const tare_cuda_layer *l, int64_t item, tare_error *err) {
    const tare_coded_layer *c = l->layer;
    if (!c || c->n_regions < 1 || c->n_regions > TARE_CODED_MAX_REGIONS ||
        c->n_streams > TARE_CODED_MAX_STREAMS || (c->n_streams && !(l->heads && l->segments)))
        return wg_fail(err, TARE_ERR_ARG, item, "layer: numbers of regions and streams, lists");
    for (unsigned i = 0; i < c->n_streams; i++) {
        if (!is_stream(l, i))
            return wg_fail(err, TARE_ERR_ARG, item, "stream: how it is cut, or its sizes");
        if (!wg_is_wanted(l, i)) continue;
        if (!is_head(l->heads[i]) || (c->streams[i].n_segments && !l->segments[i]))
            return wg_fail(err, TARE_ERR_ARG, item, "stream: its head, or a list that is missing");
    }
    return TARE_OK;
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool is_rule_for(const tare_coded_rule *r, uint8_t value_bits) {
    if (r->bypass_bits >= value_bits || (value_bits < 8 && r->bypass_bits)) return false;
    if (r->form == TARE_CODED_SIGN && (value_bits < 8 || !r->bypass_bits)) return false;
    if (r->form == TARE_CODED_EDGE && (value_bits != 8 || r->bypass_bits != 2)) return false;
    return !r->trellis || (value_bits == 8 && r->form == TARE_CODED_PLAIN && !r->bypass_bits);
}

/* Groups of bypass bits: widths that make k, each with room for all positions. */
static bool are_groups(const tare_coded_segment *s, unsigned k, uint64_t end) {
    unsigned n = 0;
    for (; k; n++) {
        unsigned bits = k >= 4 ? 4 : k >= 2 ? 2 : 1;
        if (n >= s->n_groups || s->group_bits[n] != bits || s->groups[n] != end) return false;
        end += ((uint64_t)s->n_positions * bits + 511) / 512 * UNIT;
        k -= bits;
    }
    return n == s->n_groups && end == s->stored_bytes;
}

static bool is_direct(const tare_coded_segment *s, const tare_coded_head *h, uint8_t value_bits) {
    unsigned n_tables = value_bits == 4 ? h->n_tables16 : h->n_tables64;
    uint64_t n_values = values_of(value_bits, s->n_bytes);
    uint64_t n_positions = value_bits == 4 ? 2 * align(s->n_bytes) : align(n_values);
    if (n_values > MAX_VALUES || s->n_positions != n_positions) return false;
    if (s->rule >= h->n_rules || !is_rule_for(&h->rules[s->rule], value_bits)) return false;
    if (s->n_classes == 1 || s->n_classes > MAX_CLASSES) return false;
    if (s->first_table + (s->n_classes ? s->n_classes : 1u) > n_tables) return false;
    if (s->n_classes && s->class_table >= h->n_tables16) return false;
    uint64_t end = WG_HEADER + WG_STATES;
    if (s->states != WG_HEADER || s->words[0] != end) return false;
    end += 2 * (uint64_t)s->n_words[0];
    if (s->words[1] != end) return false;
    end += 2 * (uint64_t)s->n_words[1];
    if (s->patches != end || s->patch_rice > MAX_RICE) return false;
    return are_groups(s, h->rules[s->rule].bypass_bits, align(end + s->patches_bytes));
}

static bool are_parts(const tare_coded_segment *s, const tare_cuda_layer *l, unsigned stream) {
    uint8_t value_bits = l->layer->streams[stream].field.value_bits;
    switch (s->mode) {
    case TARE_CODED_RAW:
        return !s->predictor && s->stored_bytes == align(WG_HEADER + (uint64_t)s->n_bytes);
    case TARE_CODED_CONSTANT:
        return s->stored_bytes == UNIT;
    case TARE_CODED_DIRECT:
        return is_direct(s, l->heads[stream], value_bits);
    default:
        return wg_is_for_host(s);
    }
}

static bool has_scale_of_each(const tare_cuda_layer *l, const tare_coded_stream *p,
                              uint64_t last_value) {
    if (!p->field.scale_stream || p->field.value_bits != 8) return false;
    const tare_coded_stream *scales = &l->layer->streams[p->field.scale_stream - 1];
    return last_value / p->field.values_per_scale < scales->n_bytes / 2;
}

tare_status wg_check_segment(const tare_coded_segment *s, const tare_cuda_layer *l, unsigned stream,
                             uint64_t number, int64_t item, tare_error *err) {
    const tare_coded_stream *p = &l->layer->streams[stream];
    uint64_t first = number * p->segment_bytes, left = p->n_bytes - first, size = l->layer->size;
    uint64_t n = left < p->segment_bytes ? left : p->segment_bytes;
    if (s->size < sizeof *s || s->n_bytes != n || s->stored_bytes < UNIT ||
        s->stored_bytes % UNIT || s->position % UNIT || s->position > size ||
        s->stored_bytes > size - s->position)
        return wg_fail(err, TARE_ERR_ARG, item, "segment: its sizes, or where it is");
    if (!are_parts(s, l, stream))
        return wg_fail(err, TARE_ERR_ARG, item, "segment: its mode, or where its parts are");
    if (s->predictor > TARE_CODED_REF_SCALED ||
        (s->predictor == TARE_CODED_REF_SCALED && !has_scale_of_each(l, p, first + n - 1)))
        return wg_fail(err, TARE_ERR_ARG, item, "segment: predicted by scale without scales");
    return TARE_OK;
}
