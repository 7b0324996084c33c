/* SPDX-License-Identifier: MIT
 *
 * Iterating over a tensor's values in bounded memory. */
#ifndef TARE_OPS_INSPECT_VALUE_PIECES_H
#define TARE_OPS_INSPECT_VALUE_PIECES_H

#include "base/arith.h"
#include "model/catalog.h"

/* Elements at a time. */
#define TARE_VALUES_PIECE (UINT64_C(1) << 16)

static inline uint64_t tare_values_piece(const tare_model *model, size_t tensor) {
    return tare_min_u64(TARE_VALUES_PIECE, model->catalog.tensors[tensor].n_elements);
}

#endif
