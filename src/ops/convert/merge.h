/* SPDX-License-Identifier: MIT
 *
 * Adapters are merged on the fly: the products that apply to a chunk are added to its decoded
 * values, so that every reader of the values sees the merged ones. */
#ifndef TARE_OPS_CONVERT_MERGE_H
#define TARE_OPS_CONVERT_MERGE_H

#include <tare/experimental/adapter.h>
#include <tare/model.h>

#include "ops/convert/chunks.h"

/* Which pairs apply to which tensors of a model, and the factors of those being processed. */
typedef struct tare_merge tare_merge;

/* Finds the tensor of every pair that `uses` name. ARG: a use names no pair, or a pair has no
 * tensor or one of a different shape; the details are in the report. Without uses *out is NULL. */
tare_status tare_merge_new(tare_merge **out, const tare_model *in, const tare_adapter_use *uses,
                           size_t n_uses, tare_report *report, const tare_allocator *allocator,
                           tare_error *err);
void tare_merge_free(tare_merge *m);
/* A copy with no factors loaded, for a separate run. *out is NULL if m is. */
tare_status tare_merge_copy(tare_merge **out, const tare_merge *m, tare_error *err);
/* Whether something is added to a tensor. `m` may be NULL. */
bool tare_merge_changes(const tare_merge *m, size_t tensor);
/* Makes the chunks of a tensor, already set up, be changed as they are decoded. */
void tare_merge_into(tare_chunks *s, tare_merge *m);
/* Adds to elements [first, first + n) of a tensor. Any number of threads at once. UNSUPPORTED: NaN
 * or Inf among the factors, or products that may overflow F32. */
tare_status tare_merge_add(tare_merge *m, size_t tensor, float *values, uint64_t first, uint64_t n,
                           tare_scratch *scratch, tare_error *err);
/* Releases the factors of a tensor that was not processed to its end. */
void tare_merge_leave(tare_merge *m, size_t tensor);

/* The tensor that a pair applies to: the one whose name is the pair's name, or what follows one of
 * its dots, with or without ".weight"; else the tensor with the same role in the same layer, if
 * there is exactly one; where is_flat, the one tensor that what follows the first dot is, with '_' for
 * dots. -1: none. */
int64_t tare_merge_find_tensor(const tare_model *in, tare_str name, bool is_flat, tare_error *err);

/* Where in a model a pair's product, or a part of it, is added. */
typedef struct tare_merge_place {
    size_t tensor;
    uint64_t first, n_elements; /* of the tensor: those of the matrix */
    uint64_t rows, cols;
    uint64_t row,
        of_rows; /* of the pair's: the first one that is added here, and all; of_rows 0: those of the place */
    bool is_in_stack; /* of experts: it may lie turned */
} tare_merge_place;

/* The place of a pair: its tensor; else, for that of an expert ("experts.3.down_proj"), the expert's
 * matrix in the tensor of all ("experts.down_proj"); else for gate_up_proj the places of gate_proj and up_proj,
 * whose rows are fused in this order. How many there are, 0 with an error. Only pairs have others than
 * tensors. */
size_t tare_merge_find_places(tare_merge_place out[2], const tare_model *in, tare_str name,
                              bool is_flat, tare_adapter_kind kind, tare_error *err);

#endif
