/* SPDX-License-Identifier: MIT
 *
 * What tensor operations of the converter amount to: shapes while these are applied, which end as views
 * of pieces (model/pieces.h). */
#ifndef TARE_LLAMA_VIEW_H
#define TARE_LLAMA_VIEW_H

#include "model/catalog.h"
#include "model/pieces.h"

enum { TARE_LLAMA_DIMS = 5 /* of a shape while it is worked on */ };

/* ---- shapes while operations are applied ----------------------------------------------------- */

/* A dimension: a run of axes over the source's elements, slowest first. */
typedef struct tare_llama_dim {
    uint64_t extent;
    uint32_t n_axes;
    tare_piece_axis axes[TARE_PIECE_AXES];
} tare_llama_dim;

typedef struct tare_llama_shape {
    uint32_t n_dims;
    tare_llama_dim dims[TARE_LLAMA_DIMS];
    uint64_t offset;
} tare_llama_shape;

/* Each returns false where the shape does not allow it. */
bool tare_llama_shape_init(tare_llama_shape *s, const uint64_t *dims, uint32_t n_dims);
bool tare_llama_shape_view(tare_llama_shape *s, const uint64_t *dims, uint32_t n_dims);
bool tare_llama_shape_rows(tare_llama_shape *s, uint32_t dim, uint64_t from, uint64_t n);
/* Dimension i becomes what order[i] was. */
bool tare_llama_shape_order(tare_llama_shape *s, const uint32_t *order);
/* The view, NULL in *out where all elements are as they lie; false: memory is out. */
bool tare_llama_shape_finish(const tare_piece_view **out, const tare_llama_shape *s,
                             uint64_t n_source, tare_arena *arena);
uint64_t tare_llama_shape_elements(const tare_llama_shape *s);
/* Whether a shape takes whole blocks of `block` neighbours, each in one piece. */
bool tare_llama_shape_keeps_blocks(const tare_llama_shape *s, uint64_t block);

/* ---- the other way --------------------------------------------------------------------------- */

/* What a view takes of its source, told from the source's side: in each turn of `turn` elements the
 * `n` ones from `begin` on, which lie in the result as `view` says. */
typedef struct tare_llama_share {
    uint64_t turn, begin, n;
    tare_piece_view view; /* over the result's elements, in the order of the source's */
} tare_llama_share;

/* Where a piece's elements lie in the result: from `base` on, `n` of each turn of `turn` elements. */
typedef struct tare_llama_place {
    uint64_t base, n, turn;
} tare_llama_place;

/* The inverse of a view (NULL: all elements as they lie) on a source of n_source elements. False:
 * what it takes are no runs of one length. */
bool tare_llama_view_invert(tare_llama_share *out, const tare_piece_view *view, uint64_t n_source,
                            const tare_llama_place *place);
/* The operation that undoes a piece's on each element, and its constant. */
tare_piece_arithmetic tare_llama_undo(const tare_piece *piece, float *constant);

#endif
