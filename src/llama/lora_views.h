/* SPDX-License-Identifier: MIT
 *
 * What is done to a matrix, as what is done to its two factors. */
#ifndef TARE_LLAMA_LORA_VIEWS_H
#define TARE_LLAMA_LORA_VIEWS_H

#include "llama/view.h"

/* A view over a matrix taken apart: the rows it takes and the columns, in the order of the result, as
 * views over their numbers. */
typedef struct tare_llama_split {
    tare_piece_view front, back; /* of the result's rows, of its columns */
    bool is_turned;              /* the result's rows are the matrix's columns */
} tare_llama_split;

/* False: rows and columns are mixed, which no factors can follow. `view` NULL: all as it lies. */
bool tare_llama_split_view(tare_llama_split *out, const tare_piece_view *view, uint64_t rows,
                           uint64_t cols);
/* The view over a factor that has an element for each step of `steps`, `stride` apart, and for each
 * of `rank`, `rank_stride` apart. False: too many axes. */
bool tare_llama_factor_view(tare_piece_view *out, const tare_piece_view *steps, uint64_t stride,
                            uint64_t rank, uint64_t rank_stride, bool is_rank_first);
/* Steps of all axes together. */
uint64_t tare_llama_view_steps(const tare_piece_view *view);
/* Whether it is n elements one after the other, from the first on. */
bool tare_llama_view_is_plain(const tare_piece_view *view, uint64_t n);

#endif
