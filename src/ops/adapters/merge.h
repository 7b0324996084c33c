/* SPDX-License-Identifier: MIT
 *
 * Adapters merged into tensors while these are gone over: every chunk of decoded values has the
 * products added that are for it, so that whoever looks at values sees the merged ones. */
#ifndef TARE_OPS_ADAPTERS_MERGE_H
#define TARE_OPS_ADAPTERS_MERGE_H

#include <tare/ops.h>

#include "ops/convert/chunks.h"

/* Which pairs go to which tensors of a model, and the factors of those in work. */
typedef struct tare_merge tare_merge;

/* Finds the tensor of every pair that `uses` name. ARG: a use names no pair, a pair finds no tensor
 * or one of another shape; the report has the words. No uses: *out is NULL. */
tare_status tare_merge_new(tare_merge **out, const tare_model *in, const tare_adapter_use *uses,
                           size_t n_uses, tare_report *report, const tare_allocator *allocator,
                           tare_error *err);
void tare_merge_free(tare_merge *m);
/* A copy with no factors in work, for a run of its own. *out is NULL where m is. */
tare_status tare_merge_copy(tare_merge **out, const tare_merge *m, tare_error *err);
/* Whether something is added to a tensor. `m` may be NULL. */
bool tare_merge_changes(const tare_merge *m, size_t tensor);
/* Has the chunks of a tensor, which are set up, changed as they are decoded. */
void tare_merge_into(tare_chunks *s, tare_merge *m);
/* Adds to elements [first, first + n) of a tensor. Any number of threads at once. UNSUPPORTED: NaN
 * or Inf among the factors, or products that may overflow F32. */
tare_status tare_merge_add(tare_merge *m, size_t tensor, float *values, uint64_t first, uint64_t n,
                           tare_scratch *scratch, tare_error *err);
/* Lets go of the factors of a tensor that was not gone over to its end. */
void tare_merge_leave(tare_merge *m, size_t tensor);

/* The tensor that a pair is for. The name, or what is behind one of its dots, is that of a tensor,
 * with ".weight" or without; else the tensor of the same role in the same layer, if there is just
 * one. -1: none. */
int64_t tare_merge_find_tensor(const tare_model *in, tare_str name, tare_error *err);

#endif
