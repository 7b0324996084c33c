/* SPDX-License-Identifier: MIT
 *
 * Iterating over a tensor's values in bounded memory. */
#ifndef TARE_OPS_INSPECT_VALUE_PIECES_H
#define TARE_OPS_INSPECT_VALUE_PIECES_H

#include "base/arith.h"
#include "model/catalog.h"

/* Elements at a time: TARE_VALUES_PIECE, or whole rows where only these can be decoded; never less
 * than one row then. */
#define TARE_VALUES_PIECE (UINT64_C(1) << 16)

static inline uint64_t tare_values_piece(const tare_model *model, size_t tensor) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    if (t->n_elements == 0 || !tare_tensor_needs_rows(model, tensor))
        return tare_min_u64(TARE_VALUES_PIECE, t->n_elements);
    return t->cols > TARE_VALUES_PIECE ? t->cols : TARE_VALUES_PIECE / t->cols * t->cols;
}

#endif
