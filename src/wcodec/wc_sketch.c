/* SPDX-License-Identifier: MIT
 *
 * From values to symbols of contexts: for each tile the predictor, for each sub-block the transform
 * whose coefficients look cheapest, then the bit planes. The cost of a coefficient c is taken as
 * log2(1 + 2|c|) plus a constant: for a spread-out distribution the bits grow with the logarithm of
 * its width. */
#include "wcodec/wc_predict.h"
#include "wcodec/wc_structured_encode.h"
#include "wcodec/wc_table.h"
#include "wcodec/wc_transform.h"

enum { LIMIT = 1 << TARE_WC_MAX_MAGNITUDE, SIDE_COST = 2 << 16 };

typedef struct sketcher {
    tare_wc_view view;
    tare_wc_scan scan;
    uint8_t value_bits;
    int16_t *matrix;
    uint16_t *magnitudes; /* signs beside them, in coefficient order */
    uint8_t *contexts, *predictors, *transforms;
    tare_tile_limits limits;
    tare_wc_sketch *sketch;
    const uint32_t *costs; /* of a magnitude */
} sketcher;

/* ---- choosing -------------------------------------------------------------------------------- */

/* The cheapest transform of a sub-block's residual, which it replaces by the coefficients; its
 * cost, UINT64_MAX where all are too large. */
static uint64_t choose_transform(const sketcher *m, int32_t block[TARE_WC_SUB_CELLS],
                                 uint8_t *kind) {
    int32_t best[TARE_WC_SUB_CELLS] = {0};
    uint64_t least = UINT64_MAX;
    for (uint8_t k = 0; k < TARE_WC_TRANSFORMS; k++) {
        int32_t trial[TARE_WC_SUB_CELLS];
        uint64_t cost = k ? SIDE_COST : 0;
        if (!tare_wc_limits_allow(m->limits.transforms, k)) continue;
        memcpy(trial, block, sizeof trial);
        tare_wc_transform(trial, k);
        for (unsigned i = 0; i < TARE_WC_SUB_CELLS && cost < least; i++) {
            uint32_t size = (uint32_t)(trial[i] < 0 ? -trial[i] : trial[i]);
            cost = size < LIMIT ? cost + m->costs[size] : UINT64_MAX;
        }
        if (cost >= least) continue;
        least = cost;
        *kind = k;
        memcpy(best, trial, sizeof best);
    }
    memcpy(block, best, sizeof best);
    return least;
}

static uint64_t try_predictor(sketcher *m, uint32_t tile, unsigned predictor, uint8_t *transforms,
                              int32_t blocks[TARE_WC_SUBS][TARE_WC_SUB_CELLS], uint64_t limit) {
    const tare_wc_view *v = &m->view;
    const int16_t *at = m->matrix + tare_wc_tile_at(v, tile);
    int16_t cells[TARE_WC_CELLS];
    uint64_t cost = predictor ? SIDE_COST : 0;
    tare_wc_predict(cells, predictor, m->matrix, v, tile);
    for (unsigned s = 0; s < TARE_WC_SUBS && cost < limit; s++) {
        for (unsigned i = 0; i < TARE_WC_SUB_CELLS; i++) {
            unsigned p = m->scan.cells[s][i];
            blocks[s][i] = at[p / v->tile_cols * v->stride + p % v->tile_cols] - cells[p];
        }
        uint64_t sub = choose_transform(m, blocks[s], &transforms[s]);
        if (sub == UINT64_MAX) return UINT64_MAX;
        cost += sub;
    }
    return cost;
}

/* False: the coefficients are too large with every transform. */
static bool choose_tile(sketcher *m, uint32_t tile) {
    uint64_t least = UINT64_MAX;
    for (uint8_t p = 0; p < TARE_WC_PREDICTORS; p++) {
        int32_t blocks[TARE_WC_SUBS][TARE_WC_SUB_CELLS];
        uint8_t transforms[TARE_WC_SUBS];
        if (!tare_wc_limits_allow(m->limits.predictors, p)) continue;
        uint64_t cost = try_predictor(m, tile, p, transforms, blocks, least);
        if (cost >= least) continue;
        least = cost;
        m->predictors[tile] = p;
        memcpy(m->transforms + (size_t)tile * TARE_WC_SUBS, transforms, sizeof transforms);
        uint16_t *to = m->magnitudes + (size_t)tile * TARE_WC_CELLS;
        for (unsigned i = 0; i < TARE_WC_CELLS; i++) {
            int32_t c = blocks[i / TARE_WC_SUB_CELLS][m->scan.zigzag[i % TARE_WC_SUB_CELLS]];
            to[i] = (uint16_t)(c < 0 ? -c | TARE_WC_NEGATIVE : c);
        }
    }
    return least != UINT64_MAX;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void put(tare_wc_sketch *s, unsigned context, uint8_t symbol) {
    s->contexts[s->n_symbols] = (uint16_t)context;
    s->symbols[s->n_symbols++] = symbol;
}

static void pad(tare_wc_sketch *s) {
    while (s->n_symbols % TARE_WC_LANES) put(s, TARE_WC_PADDING, 0);
}

static void put_raw(tare_wc_sketch *s, unsigned bit) {
    if (s->n_raw % 8 == 0) s->raw[s->n_raw / 8] = 0;
    s->raw[s->n_raw / 8] = (uint8_t)(s->raw[s->n_raw / 8] | bit << s->n_raw % 8);
    s->n_raw++;
}

static void put_plane(sketcher *m, unsigned b) {
    uint32_t counts[TARE_WC_PLANE_CONTEXTS], at[TARE_WC_PLANE_CONTEXTS];
    tare_wc_sketch *s = m->sketch;
    tare_wc_contexts(m->contexts, counts, m->magnitudes, m->transforms, m->view.n_cells, b);
    for (unsigned c = 0; c < TARE_WC_PLANE_CONTEXTS; c++) {
        at[c] = s->n_symbols * 4; /* in bits: the next one of the context */
        unsigned context = TARE_WC_SIDE_CONTEXTS + b * TARE_WC_PLANE_CONTEXTS + c;
        for (uint32_t i = 0; i < counts[c]; i += 4) put(s, context, 0);
    }
    pad(s);
    for (uint32_t i = 0; i < m->view.n_cells; i++) {
        unsigned bit = m->magnitudes[i] >> b & 1;
        if (m->contexts[i] == TARE_WC_NO_CONTEXT) {
            put_raw(s, bit);
            continue;
        }
        uint32_t place = at[m->contexts[i]]++;
        s->symbols[place / 4] = (uint8_t)(s->symbols[place / 4] | bit << place % 4);
    }
}

static void put_all(sketcher *m) {
    tare_wc_sketch *s = m->sketch;
    uint32_t n = m->view.n_cells;
    unsigned all = 0;
    for (uint32_t i = 0; i < n; i++) all |= m->magnitudes[i] & ~(unsigned)TARE_WC_NEGATIVE;
    while (all >> s->magnitude_bits) s->magnitude_bits++;
    for (uint32_t i = 0; i < m->view.n_tiles; i++) put(s, 0, m->predictors[i]);
    for (uint32_t i = 0; i < m->view.n_tiles * TARE_WC_SUBS; i++) put(s, 1, m->transforms[i]);
    pad(s);
    for (unsigned b = s->magnitude_bits; b-- > 0;) put_plane(m, b);
    for (uint32_t i = 0; i < n; i++)
        if (m->magnitudes[i]) put_raw(s, m->magnitudes[i] >> 15);
}

/* The costs of magnitudes, worked out once a thread. */
static const uint32_t *take_costs(tare_wc_scratch *scratch) {
    uint32_t *costs = scratch->blocks[TARE_WC_SKETCH_COSTS];
    if (costs) return costs;
    costs = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_COSTS, LIMIT * sizeof *costs);
    for (uint32_t i = 0; costs && i < LIMIT; i++)
        costs[i] = tare_wc_log2(1 + 2 * i) + (i ? 1u << 16 : 1u << 15);
    return costs;
}

static bool take_memory(sketcher *m, tare_wc_scratch *scratch) {
    size_t n = m->view.n_cells;
    /* Each bit plane has a quarter of a symbol a coefficient, and what its contexts round up. */
    size_t n_symbols = TARE_WC_MAX_MAGNITUDE * (n / 4 + TARE_WC_PLANE_CONTEXTS + TARE_WC_LANES) +
                       (size_t)m->view.n_tiles * (1 + TARE_WC_SUBS) + TARE_WC_LANES;
    m->costs = take_costs(scratch);
    m->matrix = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_MATRIX, n * sizeof *m->matrix);
    m->magnitudes =
        tare_wc_scratch_take(scratch, TARE_WC_SKETCH_MAGNITUDES, n * sizeof *m->magnitudes);
    m->contexts = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_CONTEXTS, n);
    m->predictors =
        tare_wc_scratch_take(scratch, TARE_WC_SKETCH_SIDE, m->view.n_tiles * (1 + TARE_WC_SUBS));
    m->sketch->contexts = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_SYMBOLS, n_symbols * 3);
    /* Every coefficient has at most 10 raw bits of refinement, and a sign. */
    m->sketch->raw = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_RAW, n * 11 / 8 + 1);
    if (!m->costs || !m->matrix || !m->magnitudes || !m->contexts || !m->predictors ||
        !m->sketch->contexts || !m->sketch->raw)
        return false;
    m->transforms = m->predictors + m->view.n_tiles;
    m->sketch->symbols = (uint8_t *)(m->sketch->contexts + n_symbols);
    return true;
}

tare_status tare_wc_limits_check(const tare_tile_limits *limits, tare_error *err) {
    if (limits->shapes >> TARE_WC_TILE_SHAPES || limits->predictors >> TARE_WC_PREDICTORS ||
        limits->transforms >> TARE_WC_TRANSFORMS)
        return tare_fail(err, TARE_ERR_ARG,
                         "tiles: unknown bit in the set of shapes, predictors or transforms");
    return TARE_OK;
}

bool tare_wc_sketch_init(tare_wc_sketch *sketch, uint8_t value_bits, const tare_wc_options *options,
                         uint8_t shape, uint32_t width, const uint8_t *bytes, uint32_t n_bytes,
                         tare_wc_scratch *scratch, tare_status *status) {
    uint64_t n_values = tare_wc_values_of(value_bits, n_bytes);
    const bool is_signed = options->is_signed;
    sketcher m = {.value_bits = value_bits, .limits = options->tiles, .sketch = sketch};
    *status = TARE_OK;
    *sketch = (tare_wc_sketch){.shape = shape, .is_signed = is_signed, .width = width};
    if (value_bits > 8 || n_values > TARE_WC_MAX_VALUES ||
        !tare_wc_view_init(&m.view, (uint32_t)n_values, width, shape))
        return false;
    if (!take_memory(&m, scratch)) {
        *status = TARE_ERR_NOMEM;
        return false;
    }
    tare_wc_scan_init(&m.scan, &m.view);
    tare_wc_matrix_load(m.matrix, value_bits, is_signed, bytes, &m.view);
    for (uint32_t tile = 0; tile < m.view.n_tiles; tile++)
        if (!choose_tile(&m, tile)) return false;
    put_all(&m);
    return true;
}

/* ---- use ------------------------------------------------------------------------------------- */

void tare_wc_sketch_count(uint64_t counts[TARE_WC_ALL_CONTEXTS][16], const tare_wc_sketch *sketch) {
    for (uint32_t i = 0; i < sketch->n_symbols; i++)
        if (sketch->contexts[i] != TARE_WC_PADDING)
            counts[sketch->contexts[i]][sketch->symbols[i]]++;
}

uint64_t tare_wc_sketch_cost(const tare_wc_sketch *sketch) {
    uint64_t counts[TARE_WC_ALL_CONTEXTS][16] = {{0}}, cost = sketch->n_raw << 16;
    tare_wc_sketch_count(counts, sketch);
    for (unsigned c = 0; c < TARE_WC_ALL_CONTEXTS; c++) cost += tare_wc_entropy(counts[c], 16);
    return cost;
}
