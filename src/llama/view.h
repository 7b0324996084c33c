/* SPDX-License-Identifier: MIT
 *
 * Tensors made of others: each is one or more pieces, each piece the elements of one tensor of the
 * source in another order (a strided view), perhaps with arithmetic on each. What tensor operations
 * of the converter amount to, so that any range of the result can be read on demand. */
#ifndef TARE_LLAMA_VIEW_H
#define TARE_LLAMA_VIEW_H

#include "model/catalog.h"

enum {
    TARE_LLAMA_DIMS = 5,  /* of a shape while it is worked on */
    TARE_LLAMA_AXES = 12, /* of a view */
};

/* One axis of a view: so many steps of so many elements of the source. */
typedef struct tare_llama_axis {
    uint64_t extent, stride;
} tare_llama_axis;

typedef enum tare_llama_arithmetic {
    TARE_LLAMA_AS_IS = 0,
    TARE_LLAMA_ADD = 1,       /* x + constant */
    TARE_LLAMA_MUL = 2,       /* x * constant */
    TARE_LLAMA_NEG_EXP = 3,   /* -exp(x) */
    TARE_LLAMA_DIV = 4,       /* x / constant: of MUL */
    TARE_LLAMA_LOG_NEG = 5,   /* log(-x): of NEG_EXP */
    TARE_LLAMA_MUL_TWICE = 6, /* x * constant * second, rounded twice */
    TARE_LLAMA_TERNARY = 7,   /* x * constant as -1, 0 or 1, over constant */
    TARE_LLAMA_SOFTPLUS = 8,  /* log(1 + exp(x)) */
} tare_llama_arithmetic;

/* Elements in the order of the result, slowest axis first. */
typedef struct tare_llama_view {
    uint64_t offset; /* element of the source that comes first */
    uint32_t n_axes;
    tare_llama_axis axes[TARE_LLAMA_AXES];
} tare_llama_view;

#define TARE_LLAMA_ZEROS UINT32_MAX /* a piece of zeros */

typedef struct tare_llama_piece {
    uint64_t end;                /* elements of a turn of the result up to here */
    const tare_llama_view *view; /* NULL: all elements as they lie */
    uint32_t source;             /* tensor of the source model, or ZEROS */
    tare_llama_arithmetic arithmetic;
    float constant, second;
} tare_llama_piece;

/* A tensor of the result that is computed: its place in the virtual file, and what it is made of.
 * `bytes` stand for pieces where it is generated. Pieces take turns: after the last one the first
 * goes on where it stopped. Most tensors are a single turn. */
typedef struct tare_llama_made {
    uint64_t offset, size;
    const uint8_t *bytes; /* NULL: of pieces */
    const tare_llama_piece *pieces;
    size_t n_pieces;
    const tare_encoding *encoding; /* of its elements: one of whole bytes each, or a block of which
                                      pieces and views count as an element */
    uint32_t element_bytes;
} tare_llama_made;

typedef struct tare_llama_virtual {
    const tare_model *source;
    const tare_allocator *allocator;
    tare_llama_made *made; /* in the order of their offsets */
    size_t n_made;
} tare_llama_virtual;

/* Whether a tensor can only be read as the floats it decodes to: it has scales beside it, or
 * blocks. */
bool tare_llama_is_decoded(const tare_model *source, size_t tensor);
/* A reader's fetch; ctx is the file. */
tare_status tare_llama_virtual_fetch(void *ctx, uint64_t offset, void *buf, size_t n,
                                     tare_error *err);
/* A reader's locate: bytes of a piece that is a tensor of the source as it lies. */
bool tare_llama_virtual_locate(void *ctx, uint64_t offset, uint64_t *n, const tare_reader **file,
                               uint64_t *at);

/* ---- shapes while operations are applied ----------------------------------------------------- */

/* A dimension: a run of axes over the source's elements, slowest first. */
typedef struct tare_llama_dim {
    uint64_t extent;
    uint32_t n_axes;
    tare_llama_axis axes[TARE_LLAMA_AXES];
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
bool tare_llama_shape_finish(const tare_llama_view **out, const tare_llama_shape *s,
                             uint64_t n_source, tare_arena *arena);
uint64_t tare_llama_shape_elements(const tare_llama_shape *s);
/* Whether a shape takes whole blocks of `block` neighbours, each in one piece. */
bool tare_llama_shape_keeps_blocks(const tare_llama_shape *s, uint64_t block);
/* The same view of blocks as elements; NULL: memory is out. */
const tare_llama_view *tare_llama_view_of_blocks(const tare_llama_view *view, uint64_t block,
                                                 tare_arena *arena);

/* ---- the other way --------------------------------------------------------------------------- */

/* What a view takes of its source, told from the source's side: in each turn of `turn` elements the
 * `n` ones from `begin` on, which lie in the result as `view` says. */
typedef struct tare_llama_share {
    uint64_t turn, begin, n;
    tare_llama_view view; /* over the result's elements, in the order of the source's */
} tare_llama_share;

/* Where a piece's elements lie in the result: from `base` on, `n` of each turn of `turn` elements. */
typedef struct tare_llama_place {
    uint64_t base, n, turn;
} tare_llama_place;

/* The inverse of a view (NULL: all elements as they lie) on a source of n_source elements. False:
 * what it takes are no runs of one length. */
bool tare_llama_view_invert(tare_llama_share *out, const tare_llama_view *view, uint64_t n_source,
                            const tare_llama_place *place);
/* The operation that undoes a piece's on each element, and its constant. */
tare_llama_arithmetic tare_llama_undo(const tare_llama_piece *piece, float *constant);

#endif
