/* SPDX-License-Identifier: MIT
 *
 * Programs on tensors: words that turn a tensor of Hugging Face into one of llama.cpp, one blank
 * between them; arguments are formulas (formula.h), in which d0, d1, .. are the dimensions so far,
 * `layer` the block's number, `number` the last number in its name.
 *
 *   heads(n)           each of n heads holds its two halves one after the other: interleave them
 *   view(a, b, ..)     another shape; 0: what is left
 *   rows(d, from, n)   n steps of dimension d
 *   slice(d, i, n)     slice i of n equal ones of dimension d
 *   swap(a, b)         exchange two dimensions
 *   even(d) odd(d)     every second step of a dimension
 *   tile(d, a, b, c)   a * b * c steps of dimension d as a, b, c: b before a
 *   squeeze            leave out dimensions of 1
 *   repeat(n)          dimension 0, which is 1, n times
 *   sum(d)             dimension d, all its steps added up
 *   add(x) mul(x) negexp exp softplus
 *   center             minus the mean of all elements
 *   ternary            -1, 0 or 1 times the mean of their magnitudes
 *   norm_factor norm_shift  of the weight of a batch norm: what the norm multiplies by, what it adds
 *   draw(n)            positions of a square of patches as those of n patches to a side
 *   times_proj         times the one row of what has 'proj' where its own name has 'norm'
 *   pad(n) lead(n)     rows of zeros after it, up to n; n rows of zeros before it
 *   part(i, n)         part i of n that stand one after the other along dimension 0
 *   turns(i, n)        part i of n that stand one after the other along dimension 1 in each step of
 *                      dimension 0; the two become one
 *   beside(i, n)       part i of n that stand one after the other along dimension 1
 *   stack(i, n)        slice i of n of a new first dimension
 *   block(n)           what '#' stands for in the new name
 *   if(x)              the rule holds only where x is true
 *   drop               no tensor, whatever other rules say
 *   as_is              the tensor as it is, whatever other rules say
 *   first              no tensor where another already has its name
 *   ids(n)             whole numbers below n, as I32
 *   value              no tensor: its number is the block's element of the key that the rule names,
 *                      or, of whole numbers (I64), all are the key's
 */
#ifndef TARE_LLAMA_PROGRAM_H
#define TARE_LLAMA_PROGRAM_H

#include "llama/formula.h"
#include "llama/view.h"

/* A number of all elements of a tensor. */
typedef enum tare_llama_measure {
    TARE_LLAMA_NO_MEASURE = 0,
    TARE_LLAMA_MEAN = 1,
    TARE_LLAMA_MEAN_MAGNITUDE = 2,
} tare_llama_measure;

/* What is computed of several vectors: the four of a batch norm, or two. */
typedef enum tare_llama_fold {
    TARE_LLAMA_NO_FOLD = 0,
    TARE_LLAMA_FACTOR = 1,  /* weight / sqrt(variance + 1e-5) */
    TARE_LLAMA_SHIFT = 2,   /* bias - mean * factor */
    TARE_LLAMA_PRODUCT = 3, /* of the two */
} tare_llama_fold;

/* How the parts of a tensor lie. */
typedef enum tare_llama_joint {
    TARE_LLAMA_ROWS = 0,   /* one after the other */
    TARE_LLAMA_SLICES = 1, /* of a new first dimension */
    TARE_LLAMA_TURNS = 2,  /* one after the other in each step of the first dimension */
    TARE_LLAMA_BESIDE = 3, /* the same, and the first dimension stays */
} tare_llama_joint;

/* A tensor on its way. */
typedef struct tare_llama_draft {
    uint32_t source;
    int64_t layer, number; /* in the name; -1: none */
    tare_llama_shape shape;
    tare_piece_arithmetic arithmetic;
    float constant, second;
    uint64_t n_terms, step;     /* of a sum, as a piece has them */
    tare_llama_measure measure; /* what the constant still has to be computed from */
    tare_llama_fold fold;       /* the numbers are computed of these vectors */
    uint64_t drawn;             /* patches to a side; 0: as many as there are */
    uint64_t n_ids;             /* what whole numbers are below; 0: they are none */
    uint64_t padded, led; /* rows up to which, and how many before which there are zeros; 0: none */
    uint64_t slot, n_slots; /* of a joined tensor; n_slots 0: it stands alone */
    tare_llama_joint joint; /* how slots are put together */
    bool is_dropped, is_skipped, is_first_only, is_value;
} tare_llama_draft;

/* CORRUPT: the shape does not allow an operation. */
tare_status tare_llama_program_run(tare_llama_draft *draft, const char *program,
                                   const tare_llama_config *config, tare_error *err);

#endif
