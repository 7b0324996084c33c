/* SPDX-License-Identifier: MIT
 *
 * The first pass over a stream: how often values occur, overall and in runs grouped by magnitude,
 * and what tiles would need. */
#include "wcodec/wc_tally.h"

#include "wcodec/wc_direct.h"
#include "wcodec/wc_direct_encode.h"
#include "wcodec/wc_reference.h"
#include "wcodec/wc_scales.h"
#include "wcodec/wc_screen.h"
#include "wcodec/wc_structured.h"

enum { SAMPLE = 4096 /* values; a multiple of every tile */ };

/* ---- memory ---------------------------------------------------------------------------------- */

static const size_t contexts_size = TARE_WC_ALL_CONTEXTS * sizeof(uint64_t[16]);

static size_t groups_size(const tare_wc_tally *t) {
    return (size_t)TARE_WC_GROUPS * t->n_kinds * sizeof *t->groups;
}

static void *take_zeros(const tare_allocator *allocator, size_t size) {
    void *memory = tare_alloc(allocator, size);
    if (memory) memset(memory, 0, size);
    return memory;
}

/* What is counted of a stream. */
typedef struct wanted {
    uint32_t n_kinds;
    bool has_classes, has_tiles;
} wanted;

static wanted wanted_of(const tare_wc_shape *shape, const tare_wc_options *o) {
    wanted w = {.n_kinds = o->trellis ? 64 : 1u << shape->value_bits};
    w.has_classes =
        o->is_full && (shape->value_bits == 4 || shape->value_bits == 8) && !o->is_repetitive;
    w.has_classes |= shape->is_scales; /* what is a minimum is known */
    w.has_classes |= o->trellis != 0;
    w.has_tiles = o->width && shape->value_bits <= 8 && !o->trellis &&
                  (o->is_full || o->mode == TARE_CODED_STRUCTURED);
    return w;
}

tare_wc_tally *tare_wc_tally_new(const tare_wc_shape *shape, const tare_wc_options *options,
                                 bool has_base, const tare_allocator *allocator) {
    tare_wc_tally *t = take_zeros(allocator, sizeof *t);
    if (!t) return NULL;
    t->shape = *shape;
    t->options = options ? *options : TARE_WC_OPTIONS_DEFAULT;
    t->allocator = allocator;
    t->has_base = has_base;
    const wanted w = wanted_of(shape, &t->options);
    t->n_kinds = w.n_kinds;
    bool is_whole = true;
    for (unsigned i = 0; i <= (unsigned)has_base; i++) {
        t->counts[i] = take_zeros(allocator, t->n_kinds * sizeof *t->counts[i]);
        is_whole = is_whole && t->counts[i];
    }
    if (w.has_classes) t->groups = take_zeros(allocator, groups_size(t));
    if (w.has_tiles) t->contexts = take_zeros(allocator, contexts_size);
    if (is_whole && !w.has_classes == !t->groups && !w.has_tiles == !t->contexts) return t;
    tare_wc_tally_free(t);
    return NULL;
}

bool tare_wc_tally_renew(tare_wc_tally *t, const tare_wc_shape *shape,
                         const tare_wc_options *options, bool has_base) {
    const wanted w = wanted_of(shape, options);
    if (w.n_kinds != t->n_kinds || has_base != t->has_base || w.has_classes == !t->groups ||
        w.has_tiles == !t->contexts)
        return false;
    t->shape = *shape;
    t->options = *options;
    t->n_values = t->n_sketches = 0;
    t->magnitude_bits = 0;
    for (unsigned i = 0; i <= (unsigned)has_base; i++)
        memset(t->counts[i], 0, t->n_kinds * sizeof *t->counts[i]);
    if (t->groups) memset(t->groups, 0, groups_size(t));
    if (t->contexts) memset(t->contexts, 0, contexts_size);
    return true;
}

void tare_wc_tally_free(tare_wc_tally *t) {
    if (!t) return;
    for (unsigned i = 0; i < TARE_WC_PREDICTIONS; i++)
        tare_free(t->allocator, t->counts[i], t->n_kinds * sizeof *t->counts[i]);
    tare_free(t->allocator, t->groups, groups_size(t));
    tare_free(t->allocator, t->contexts, contexts_size);
    tare_free(t->allocator, t, sizeof *t);
}

const uint8_t *tare_wc_prepare(const uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                               const tare_wc_reference *reference, tare_coded_predictor predictor,
                               tare_wc_scratch *scratch) {
    if (!shape->is_big_endian && !shape->is_scales && !predictor) return bytes;
    size_t room = shape->is_scales ? 2 * (size_t)n_bytes : n_bytes;
    uint8_t *copy = tare_wc_scratch_take(scratch, TARE_WC_ENCODE_PREPARED, room);
    if (!copy) return NULL;
    memcpy(copy, bytes, n_bytes);
    if (predictor) tare_wc_reference_subtract(copy, n_bytes, shape, reference, predictor);
    if (shape->is_scales) {
        tare_wc_scales_unpack(copy + n_bytes, copy, n_bytes);
        return copy + n_bytes;
    }
    for (uint32_t i = 0; shape->is_big_endian && i < n_bytes; i += 2)
        tare_store_le16(copy + i, tare_load_u16(copy + i, true));
    return copy;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Four in three bytes; of every `step` bytes the first `run`. Values have rows of their own by their
 * place: the same value again does not wait for its counter. */
static void count_sixes(uint64_t counts[64], const uint8_t *bytes, uint32_t n_bytes, uint32_t run,
                        uint32_t step) {
    uint32_t rows[4][64] = {{0}};
    for (uint32_t at = 0; at < n_bytes; at += step) {
        const uint32_t end = n_bytes - at < run ? n_bytes : at + run;
        for (uint32_t i = at; i < end; i += 3) {
            unsigned all = bytes[i] | (unsigned)bytes[i + 1] << 8 | (unsigned)bytes[i + 2] << 16;
            for (unsigned r = 0; r < 4; r++) rows[r][all >> 6 * r & 63]++;
        }
    }
    for (unsigned v = 0; v < 64; v++)
        counts[v] += (uint64_t)rows[0][v] + rows[1][v] + rows[2][v] + rows[3][v];
}

static void count_values(uint64_t *counts, uint8_t value_bits, const uint8_t *bytes,
                         uint32_t n_bytes) {
    uint64_t by_byte[256] = {0};
    if (value_bits == 8) {
        tare_wc_kernels_get()->count_bytes(counts, bytes, n_bytes);
    } else if (value_bits == 16) {
        for (uint32_t i = 0; i < n_bytes; i += 2) counts[tare_load_le16(bytes + i)]++;
    } else if (value_bits == 4) {
        tare_wc_kernels_get()->count_bytes(by_byte, bytes, n_bytes);
        for (unsigned v = 0; v < 256; v++) {
            counts[v & 15] += by_byte[v];
            counts[v >> 4] += by_byte[v];
        }
    } else {
        count_sixes(counts, bytes, n_bytes, n_bytes, n_bytes);
    }
}

/* Packed scales: runs take turns. */
static void count_turns(tare_wc_tally *t, const uint8_t *bytes, uint32_t n_bytes) {
    const uint32_t run = tare_wc_run_bytes(t->shape.value_bits);
    for (uint32_t turn = 0; turn < 2 && turn * run < n_bytes; turn++) {
        unsigned group = tare_wc_run_group(bytes, n_bytes, t->shape.value_bits, turn);
        count_sixes(t->groups + (size_t)group * t->n_kinds, bytes + turn * run,
                    n_bytes - turn * run, run, 2 * run);
    }
}

static void count_groups(tare_wc_tally *t, const uint8_t *bytes, uint32_t n_bytes) {
    uint32_t run = tare_wc_run_bytes(t->shape.value_bits);
    for (uint32_t at = 0; at < n_bytes; at += run) {
        uint32_t n = n_bytes - at < run ? n_bytes - at : run;
        unsigned group = tare_wc_run_group(bytes + at, n, t->shape.value_bits, at / run);
        uint64_t *row = t->groups + (size_t)group * t->n_kinds;
        for (uint32_t i = at; t->shape.value_bits == 8 && i < at + n; i++) row[bytes[i]]++;
        for (uint32_t i = at; t->shape.value_bits == 4 && i < at + n; i++) {
            row[bytes[i] & 15]++;
            row[bytes[i] >> 4]++;
        }
    }
}

static tare_status count_tiles(tare_wc_tally *t, const uint8_t *bytes, uint32_t n_bytes,
                               tare_wc_scratch *scratch) {
    tare_status status;
    tare_wc_sketch sketch;
    if (!tare_wc_promising_sketch(&sketch, &t->shape, &t->options, bytes, n_bytes, scratch,
                                  &status))
        return status;
    tare_wc_sketch_count(t->contexts, &sketch);
    t->n_sketches++;
    if (sketch.magnitude_bits > t->magnitude_bits) t->magnitude_bits = sketch.magnitude_bits;
    return TARE_OK;
}

tare_status tare_wc_tally_add(tare_wc_tally *t, const uint8_t *bytes, uint32_t n_bytes,
                              const tare_wc_reference *reference, tare_wc_scratch *scratch,
                              tare_error *err) {
    const tare_coded_predictor predictors[] = {TARE_CODED_NO_PREDICTOR,
                                               tare_wc_predictor_of(reference)};
    t->n_values += tare_wc_values_of(t->shape.value_bits, n_bytes);
    if (t->options.trellis) {
        tare_wc_trellis_count(t->counts[0], t->groups, t->options.trellis, bytes, n_bytes);
        return TARE_OK;
    }
    for (unsigned i = 0; i <= (reference != NULL); i++) {
        const uint8_t *values =
            tare_wc_prepare(bytes, n_bytes, &t->shape, reference, predictors[i], scratch);
        if (!values) return tare_fail(err, TARE_ERR_NOMEM, "segment");
        count_values(t->counts[i], t->shape.value_bits, values, n_bytes);
        if (t->shape.is_scales && i == 0)
            count_turns(t, values, n_bytes);
        else if (t->groups && i == 0)
            count_groups(t, values, n_bytes);
    }
    if (t->contexts && count_tiles(t, bytes, n_bytes, scratch) != TARE_OK)
        return tare_fail(err, TARE_ERR_NOMEM, "segment");
    return TARE_OK;
}

/* An eighth, but 4 where there are as many: of 2^18 values and more each, so that a table of 64
 * symbols fits the stream to 1e-4 bit even if its rows differ. Never first or last alone. */
bool tare_wc_tally_wants(const tare_wc_options *options, uint64_t i, uint64_t n) {
    uint64_t step = n < 32 ? n / 4 : 8;
    return options->is_full || options->trellis || step < 2 || i % step == step / 2;
}

static void add_up(uint64_t *into, const uint64_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) into[i] += from[i];
}

void tare_wc_tally_merge(tare_wc_tally *into, const tare_wc_tally *from) {
    for (unsigned i = 0; i <= (unsigned)into->has_base; i++)
        add_up(into->counts[i], from->counts[i], into->n_kinds);
    if (into->groups) add_up(into->groups, from->groups, (size_t)TARE_WC_GROUPS * into->n_kinds);
    if (into->contexts)
        add_up(into->contexts[0], from->contexts[0], (size_t)TARE_WC_ALL_CONTEXTS * 16);
    into->n_values += from->n_values;
    into->n_sketches += from->n_sketches;
    if (from->magnitude_bits > into->magnitude_bits) into->magnitude_bits = from->magnitude_bits;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* A run of whole rows from the segment's beginning, about SAMPLE values, at least a row of tiles.
 */
static uint32_t sample_bytes(const tare_wc_options *options, uint8_t value_bits, uint32_t n_bytes) {
    uint64_t rows = (SAMPLE + options->width - 1) / options->width;
    uint64_t n = tare_wc_bytes_of(value_bits, (rows < 16 ? 16 : rows) * options->width / 8 * 8);
    return n && n < n_bytes ? (uint32_t)n : n_bytes;
}

/* How many cells the tiles of a shape may have to be tried: rows or columns that fill a small part
 * of a tile are mostly padding, which costs time (up to 256 times the values) and gains nothing.
 * Never less than the shape with the fewest has, among those that may be used. */
static uint32_t most_cells(uint32_t n_values, uint32_t width, uint32_t shapes) {
    uint32_t least = UINT32_MAX;
    tare_wc_view v;
    for (uint8_t s = 0; s < TARE_WC_TILE_SHAPES; s++)
        if (tare_wc_limits_allow(shapes, s) && tare_wc_view_init(&v, n_values, width, s) &&
            v.n_cells < least)
            least = v.n_cells;
    uint32_t most = 4 * n_values < 64 * TARE_WC_CELLS ? 64 * TARE_WC_CELLS : 4 * n_values;
    return least > most ? least : most;
}

/* Whether a shape is worth trying on so many values. */
static bool is_dense(uint32_t n_values, uint32_t width, uint8_t shape, uint32_t most) {
    tare_wc_view v;
    return tare_wc_view_init(&v, n_values, width, shape) && v.n_cells <= most;
}

bool tare_wc_promising_sketch(tare_wc_sketch *sketch, const tare_wc_shape *shape,
                              const tare_wc_options *options, const uint8_t *bytes,
                              uint32_t n_bytes, tare_wc_scratch *scratch, tare_status *status) {
    uint32_t n_values = (uint32_t)tare_wc_values_of(shape->value_bits, n_bytes);
    uint32_t width = options->width < n_values ? options->width : n_values;
    uint32_t n_sample = sample_bytes(options, shape->value_bits, n_bytes);
    uint64_t counts[256] = {0}, least = UINT64_MAX;
    uint8_t best = 0;
    *status = TARE_OK;
    if (n_values > TARE_WC_MAX_VALUES || !n_values) return false;
    if (options->mode != TARE_CODED_STRUCTURED &&
        !tare_wc_may_have_tiles(shape->value_bits, options->is_signed, width, bytes, n_bytes))
        return false;
    const uint32_t n_tried = (uint32_t)tare_wc_values_of(shape->value_bits, n_sample);
    const uint32_t most = most_cells(n_tried, width, options->tiles.shapes);
    for (uint8_t s = 0; s < TARE_WC_TILE_SHAPES; s++) {
        if (!tare_wc_limits_allow(options->tiles.shapes, s) || !is_dense(n_tried, width, s, most))
            continue;
        if (!tare_wc_sketch_init(sketch, shape->value_bits, options, s, width, bytes, n_sample,
                                 scratch, status)) {
            if (*status != TARE_OK) return false;
            continue;
        }
        uint64_t cost = tare_wc_sketch_cost(sketch);
        if (cost >= least) continue;
        least = cost;
        best = s;
    }
    /* Counts of contexts fit a sample better than they will fit the rest: about 3 %. */
    count_values(counts, shape->value_bits, bytes, n_sample);
    bool is_forced = options->mode == TARE_CODED_STRUCTURED;
    uint64_t plain = tare_wc_entropy(counts, (size_t)1 << shape->value_bits);
    if (least == UINT64_MAX || (!is_forced && least > plain - plain / 32)) return false;
    return tare_wc_sketch_init(sketch, shape->value_bits, options, best, width, bytes, n_bytes,
                               scratch, status);
}
