/* SPDX-License-Identifier: MIT
 *
 * Predictors of tiles. All of them are sums of a part that depends on the row and one that depends
 * on the column, but for AVG. */
#include "wcodec/wc_predict.h"

typedef struct edge {
    bool is_there;
    unsigned n;
    int values[TARE_WC_CELLS];
} edge;

static void take_edges(edge *left, edge *top, const int16_t *matrix, const tare_wc_view *v,
                       uint32_t tile) {
    const int16_t *at = matrix + tare_wc_tile_at(v, tile);
    *left = (edge){.is_there = tile % v->n_tile_cols != 0, .n = v->tile_rows};
    *top = (edge){.is_there = tile >= v->n_tile_cols, .n = v->tile_cols};
    for (unsigned i = 0; left->is_there && i < left->n; i++)
        left->values[i] = at[(ptrdiff_t)(i * v->stride) - 1];
    for (unsigned j = 0; top->is_there && j < top->n; j++) top->values[j] = (at - v->stride)[j];
}

static int64_t divide_down(int64_t a, int64_t b) { /* b > 0 */
    return a / b - (a % b < 0);
}

static int mean(const edge *left, const edge *top) {
    int64_t sum = 0, n = 0;
    const edge *edges[2] = {left, top};
    for (unsigned e = 0; e < 2; e++) {
        if (!edges[e]->is_there) continue;
        for (unsigned i = 0; i < edges[e]->n; i++) sum += edges[e]->values[i];
        n += edges[e]->n;
    }
    return n ? (int)divide_down(2 * sum + n, 2 * n) : 0;
}

/* The straight line that fits an edge best, without its mean. */
static void slope(int line[TARE_WC_CELLS], const edge *e) {
    int64_t n = e->n, sum = 0, d = n * (n * n - 1) / 3;
    for (int64_t m = 0; m < n; m++) sum += (2 * m - n + 1) * e->values[m];
    for (int64_t m = 0; m < n; m++)
        line[m] = n == 1 ? 0 : (int)divide_down(2 * sum * (2 * m - n + 1) + d, 2 * d);
}

static unsigned possible(unsigned predictor, const edge *left, const edge *top) {
    bool needs_left = predictor == TARE_WC_PREDICT_LEFT || predictor >= TARE_WC_PREDICT_AVG;
    bool needs_top = predictor >= TARE_WC_PREDICT_TOP;
    if ((needs_left && !left->is_there) || (needs_top && !top->is_there)) return TARE_WC_PREDICT_DC;
    return predictor;
}

void tare_wc_predict(int16_t cells[TARE_WC_CELLS], unsigned predictor, const int16_t *matrix,
                     const tare_wc_view *v, uint32_t tile) {
    edge left, top;
    int by_row[TARE_WC_CELLS] = {0}, by_col[TARE_WC_CELLS] = {0}, shift = 0, base = 0;
    take_edges(&left, &top, matrix, v, tile);
    predictor = possible(predictor, &left, &top);
    if (predictor == TARE_WC_PREDICT_DC || predictor == TARE_WC_PREDICT_PLANAR)
        base = mean(&left, &top);
    if (predictor == TARE_WC_PREDICT_LEFT || predictor == TARE_WC_PREDICT_AVG)
        memcpy(by_row, left.values, sizeof by_row);
    if (predictor == TARE_WC_PREDICT_TOP || predictor == TARE_WC_PREDICT_AVG)
        memcpy(by_col, top.values, sizeof by_col);
    if (predictor == TARE_WC_PREDICT_PLANAR) {
        slope(by_row, &left);
        slope(by_col, &top);
    }
    if (predictor == TARE_WC_PREDICT_AVG) shift = 1;
    for (unsigned i = 0; i < v->tile_rows; i++)
        for (unsigned j = 0; j < v->tile_cols; j++)
            cells[i * v->tile_cols + j] = (int16_t)((base + by_row[i] + by_col[j]) >> shift);
}
