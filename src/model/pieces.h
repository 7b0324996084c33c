/* SPDX-License-Identifier: MIT
 *
 * Tensors made of others: each is one or more pieces, each piece the elements of one source in another
 * order (a strided view), perhaps with arithmetic on each: permuted, stacked, split, one added. Any
 * range of the result is read on demand. */
#ifndef TARE_MODEL_PIECES_H
#define TARE_MODEL_PIECES_H

#include <tare/encoding.h>

#include "base/alloc.h"

enum { TARE_PIECE_AXES = 12 /* of a view */ };

/* One axis of a view: so many steps of so many elements of the source. */
typedef struct tare_piece_axis {
    uint64_t extent, stride;
} tare_piece_axis;

typedef enum tare_piece_arithmetic {
    TARE_PIECE_AS_IS = 0,
    TARE_PIECE_ADD = 1,       /* x + constant */
    TARE_PIECE_MUL = 2,       /* x * constant */
    TARE_PIECE_NEG_EXP = 3,   /* -exp(x) */
    TARE_PIECE_DIV = 4,       /* x / constant: of MUL */
    TARE_PIECE_LOG_NEG = 5,   /* log(-x): of NEG_EXP */
    TARE_PIECE_MUL_TWICE = 6, /* x * constant * second, rounded twice */
    TARE_PIECE_TERNARY = 7,   /* x * constant as -1, 0 or 1, over constant */
    TARE_PIECE_SOFTPLUS = 8,  /* log(1 + exp(x)) */
    TARE_PIECE_EXP = 9,       /* exp(x) */
    TARE_PIECE_LOG = 10,      /* log(x): of EXP */
    TARE_PIECE_SUM = 11,      /* of several elements that stand at equal steps */
} tare_piece_arithmetic;

/* Elements in the order of the result, slowest axis first. */
typedef struct tare_piece_view {
    uint64_t offset; /* element of the source that comes first */
    uint32_t n_axes;
    tare_piece_axis axes[TARE_PIECE_AXES];
} tare_piece_view;

#define TARE_PIECE_ZEROS UINT32_MAX /* a piece of zeros */

typedef struct tare_piece {
    uint64_t end;                /* elements of a turn of the result up to here */
    const tare_piece_view *view; /* NULL: all elements as they lie */
    uint32_t source;             /* its number, or ZEROS */
    tare_piece_arithmetic arithmetic;
    float constant, second;
    uint64_t n_terms; /* of a sum: how many elements, of which the view has the first ones */
    uint64_t step;    /* and how far apart they are in the source */
} tare_piece;

/* What a tensor is made of. Pieces take turns: after the last one the first goes on where it stopped.
 * Most tensors are a single turn. */
typedef struct tare_composition {
    const tare_piece *pieces;
    size_t n_pieces;
    const tare_encoding *encoding; /* of its elements: one of whole bytes each, or a block of which
                                      pieces and views count as an element */
} tare_composition;

/* Where elements of sources come from. */
typedef struct tare_piece_sources {
    const tare_allocator *allocator;
    const void *ctx;
    /* What elements of a source are where numbers are asked for: of whole bytes each. */
    const tare_encoding *(*type)(const void *ctx, uint32_t source);
    /* n of them from `first` on; blocks, if that is what `of` consists of. */
    tare_status (*read)(uint8_t *out, const void *ctx, const tare_composition *of, uint32_t source,
                        uint64_t first, uint64_t n, tare_error *err);
} tare_piece_sources;

/* n bytes of a tensor from byte `offset` on. */
tare_status tare_pieces_read(uint8_t *out, const tare_composition *of,
                             const tare_piece_sources *from, uint64_t offset, size_t n,
                             tare_error *err);
/* The piece that an element of a turn lies in. */
size_t tare_piece_at(const tare_composition *of, uint64_t element);
/* Elements that are neighbours both in the source and in the result of a view. */
uint64_t tare_piece_run(const tare_piece_view *view);
/* The element of the source for element `at` of a view; *left: along the last axis from it on. */
uint64_t tare_piece_place(const tare_piece_view *view, uint64_t at, uint64_t *left);
/* The same view with n neighbours as one element; false: it takes others than whole ones. */
bool tare_piece_view_of_runs(tare_piece_view *out, const tare_piece_view *view, uint64_t n);

#endif
