/* SPDX-License-Identifier: MIT
 *
 * Tiles: how a segment's values are cut, the order of coefficients, the contexts of a bit plane.
 * Shared by decoder and encoder. */
#include "wcodec/wc_structured.h"

enum { SIZE = TARE_WC_NEGATIVE - 1 };

static const uint16_t shapes[TARE_WC_TILE_SHAPES][2] = {{16, 16}, {8, 32}, {32, 8}, {1, 256}};

bool tare_wc_view_init(tare_wc_view *v, uint32_t n_values, uint32_t width, uint8_t shape) {
    if (shape >= TARE_WC_TILE_SHAPES || width == 0 || width > n_values ||
        n_values > TARE_WC_MAX_VALUES)
        return false;
    *v = (tare_wc_view){
        .n_values = n_values,
        .width = width,
        .height = (n_values + width - 1) / width,
        .tile_rows = shapes[shape][0],
        .tile_cols = shapes[shape][1],
        .shape = shape,
    };
    v->n_tile_rows = (v->height + v->tile_rows - 1) / v->tile_rows;
    v->n_tile_cols = (width + v->tile_cols - 1) / v->tile_cols;
    v->stride = v->n_tile_cols * v->tile_cols;
    uint64_t n_cells = (uint64_t)v->n_tile_rows * v->n_tile_cols * TARE_WC_CELLS;
    if (n_cells > TARE_WC_MAX_CELLS) return false;
    v->n_cells = (uint32_t)n_cells;
    v->n_tiles = v->n_cells / TARE_WC_CELLS;
    return true;
}

/* Anti-diagonals, upwards where row + column is even. */
static void zigzag(uint8_t places[TARE_WC_SUB_CELLS]) {
    unsigned n = 0;
    for (unsigned d = 0; d < 15; d++) {
        for (unsigned i = 0; i <= d; i++) {
            unsigned row = d % 2 ? i : d - i, col = d - row;
            if (row < 8 && col < 8) places[n++] = (uint8_t)(8 * row + col);
        }
    }
}

void tare_wc_scan_init(tare_wc_scan *scan, const tare_wc_view *v) {
    unsigned across = v->tile_cols / 8u;
    zigzag(scan->zigzag);
    for (unsigned s = 0; s < TARE_WC_SUBS; s++) {
        for (unsigned i = 0; i < TARE_WC_SUB_CELLS; i++) {
            unsigned row = s / across * 8 + i / 8, col = s % across * 8 + i % 8;
            bool is_row = v->tile_rows == 1; /* four runs of 64 */
            scan->cells[s][i] =
                (uint8_t)(is_row ? s * TARE_WC_SUB_CELLS + i : row * v->tile_cols + col);
        }
    }
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Significance contexts of one sub-block. */
static void sub_contexts(uint8_t *contexts, const uint16_t *magnitudes, bool is_transformed,
                         unsigned b) {
    static const uint8_t class_ends[4] = {1, 10, 36, TARE_WC_SUB_CELLS};
    uint8_t is_significant[TARE_WC_SUB_CELLS + 4] = {0}; /* two on either side */
    for (unsigned z = 0; z < TARE_WC_SUB_CELLS; z++)
        is_significant[z + 2] = (magnitudes[z] & SIZE) >> (b + 1) != 0;
    for (unsigned z = 0, class = 0; z < TARE_WC_SUB_CELLS; z++) {
        if (z == class_ends[class]) class ++;
        if (is_significant[z + 2]) {
            contexts[z] = (magnitudes[z] & SIZE) >> (b + 2) ? TARE_WC_NO_CONTEXT : 0;
            continue;
        }
        unsigned n = (unsigned)is_significant[z] + is_significant[z + 1] + is_significant[z + 3] +
                     is_significant[z + 4];
        contexts[z] = (uint8_t)(1 + 16u * is_transformed + 4 * class + (n > 3 ? 3 : n));
    }
}

void tare_wc_contexts(uint8_t *contexts, uint32_t counts[TARE_WC_PLANE_CONTEXTS],
                      const uint16_t *magnitudes, const uint8_t *transforms, uint32_t n_cells,
                      unsigned b) {
    memset(counts, 0, TARE_WC_PLANE_CONTEXTS * sizeof *counts);
    for (uint32_t at = 0; at < n_cells; at += TARE_WC_SUB_CELLS)
        sub_contexts(contexts + at, magnitudes + at, transforms[at / TARE_WC_SUB_CELLS] != 0, b);
    for (uint32_t i = 0; i < n_cells; i++)
        if (contexts[i] != TARE_WC_NO_CONTEXT) counts[contexts[i]]++;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static void put_bits(uint8_t *bytes, uint8_t value_bits, uint32_t i, unsigned v) {
    uint64_t bit = (uint64_t)i * value_bits;
    uint8_t *p = bytes + bit / 8;
    unsigned shift = bit % 8, mask = ((1u << value_bits) - 1) << shift;
    v <<= shift;
    p[0] = (uint8_t)((p[0] & ~mask) | v);
    if (mask > 0xff) p[1] = (uint8_t)((p[1] & ~(mask >> 8)) | v >> 8);
}

void tare_wc_matrix_store(uint8_t *bytes, uint8_t value_bits, const int16_t *matrix,
                          const tare_wc_view *v) {
    unsigned mask = (1u << value_bits) - 1;
    for (uint32_t i = 0, row = 0; i < v->n_values; row++) {
        const int16_t *from = matrix + (size_t)row * v->stride;
        for (uint32_t col = 0; col < v->width && i < v->n_values; col++, i++)
            put_bits(bytes, value_bits, i, (unsigned)from[col] & mask);
    }
}

void tare_wc_matrix_load(int16_t *matrix, uint8_t value_bits, bool is_signed, const uint8_t *bytes,
                         const tare_wc_view *v) {
    uint32_t n_rows = v->n_tile_rows * v->tile_rows;
    for (uint32_t row = 0; row < n_rows; row++) {
        int16_t *to = matrix + (size_t)row * v->stride;
        for (uint32_t col = 0; col < v->stride; col++) {
            /* Cells beyond an edge repeat the edge, so that they cost little. */
            uint32_t r = row < v->height ? row : v->height - 1,
                     c = col < v->width ? col : v->width - 1;
            uint64_t i = (uint64_t)r * v->width + c;
            if (i >= v->n_values) i = v->n_values - 1;
            to[col] = tare_wc_value_at(bytes, value_bits, is_signed, (uint32_t)i);
        }
    }
}
