/* SPDX-License-Identifier: MIT
 *
 * STRUCTURED segments (docs/wcodec.md, 9): tiles predicted from their neighbours, transformed, in
 * bit planes. Also the code shared by decoder and encoder. */
#ifndef TARE_WCODEC_STRUCTURED_H
#define TARE_WCODEC_STRUCTURED_H

#include "wcodec/wc_segment.h"

enum {
    TARE_WC_CELLS = 256,         /* positions of a tile */
    TARE_WC_SUB_CELLS = 64,      /* of a sub-block */
    TARE_WC_SUBS = 4,            /* sub-blocks of a tile */
    TARE_WC_TILE_SHAPES = 4,     /* 16x16, 8x32, 32x8, 1x256 */
    TARE_WC_SIDE_CONTEXTS = 2,   /* predictors, transforms */
    TARE_WC_PLANE_CONTEXTS = 33, /* refinement, then significance: 2 * 4 * 4 */
    TARE_WC_NO_CONTEXT = 255,
    TARE_WC_NEGATIVE = 1 << 15, /* beside a magnitude */
};

/* A segment's values seen as a matrix cut into tiles. */
typedef struct tare_wc_view {
    uint32_t n_values, width, height;
    uint16_t tile_rows, tile_cols;
    uint32_t n_tile_rows, n_tile_cols, n_tiles, n_cells;
    uint32_t stride; /* n_tile_cols * tile_cols: cells of a row of the padded matrix */
    uint8_t shape;
} tare_wc_view;

/* False if the shape is invalid, the width is not 1..n_values, or the tiles have too many cells. */
bool tare_wc_view_init(tare_wc_view *v, uint32_t n_values, uint32_t width, uint8_t shape);
/* The order of coefficients: step z of the zigzag is at place zigzag[z] (8 * row + column) of its
 * sub-block; place i of sub-block s is cell cells[s][i] of the tile, row-major. */
typedef struct tare_wc_scan {
    uint8_t zigzag[TARE_WC_SUB_CELLS];
    uint8_t cells[TARE_WC_SUBS][TARE_WC_SUB_CELLS];
} tare_wc_scan;

void tare_wc_scan_init(tare_wc_scan *scan, const tare_wc_view *v);
/* The position of a tile's first cell in the padded matrix. */
static inline uint32_t tare_wc_tile_at(const tare_wc_view *v, uint32_t tile) {
    return tile / v->n_tile_cols * v->tile_rows * v->stride + tile % v->n_tile_cols * v->tile_cols;
}

/* Contexts of bit plane b, relative to the plane's first one, for all coefficients in order: 0
 * refinement, 1..32 significance, TARE_WC_NO_CONTEXT raw. `magnitudes` needs only what stands
 * above bit plane b; TARE_WC_NEGATIVE does not matter. counts[c] is how many have context c. */
void tare_wc_contexts(uint8_t *contexts, uint32_t counts[TARE_WC_PLANE_CONTEXTS],
                      const uint16_t *magnitudes, const uint8_t *transforms, uint32_t n_cells,
                      unsigned b);

/* Padded-matrix values to and from stream bytes (items 4, 6, 8). */
void tare_wc_matrix_store(uint8_t *bytes, uint8_t value_bits, const int16_t *matrix,
                          const tare_wc_view *v);
void tare_wc_matrix_load(int16_t *matrix, uint8_t value_bits, bool is_signed, const uint8_t *bytes,
                         const tare_wc_view *v);
/* A number modulo 2^value_bits, in the range that the sign says. */
static inline int16_t tare_wc_wrap(int v, uint8_t value_bits, bool is_signed) {
    int low = v & ((1 << value_bits) - 1);
    return (int16_t)(is_signed && low >> (value_bits - 1) ? low - (1 << value_bits) : low);
}

/* Value i of stream bytes (items 4, 6, 8). */
static inline int16_t tare_wc_value_at(const uint8_t *bytes, uint8_t value_bits, bool is_signed,
                                       uint32_t i) {
    const uint8_t *p = bytes + i / 4 * 3;
    unsigned bits;
    if (value_bits == 8)
        bits = bytes[i];
    else if (value_bits == 4)
        bits = (unsigned)bytes[i / 2] >> i % 2 * 4;
    else
        bits = (p[0] | (unsigned)p[1] << 8 | (unsigned)p[2] << 16) >> i % 4 * 6;
    return tare_wc_wrap((int)bits, value_bits, is_signed);
}

/* Where the parts of a STRUCTURED segment lie, from its header. */
typedef struct tare_wc_structured {
    tare_wc_view view;
    uint32_t raw, end; /* raw bits, what follows them */
} tare_wc_structured;

/* Checks the header against the head and the size of the segment. */
tare_status tare_wc_structured_parts(tare_wc_structured *out, const tare_wc_segment *s,
                                     const tare_wc_piece *piece, tare_error *err);
tare_status tare_wc_structured_decode(const tare_wc_piece *piece, const tare_wc_segment *s,
                                      tare_wc_scratch *scratch, tare_error *err);

#endif
