/* SPDX-License-Identifier: MIT
 *
 * Comparing one tensor of two models. */
#ifndef TARE_OPS_INSPECT_DIFF_TENSOR_H
#define TARE_OPS_INSPECT_DIFF_TENSOR_H

#include <tare/inspect.h>
#include <tare/model.h>

#include "ops/item_walk.h"

/* Two tensors of the same name and shape. */
typedef struct tare_tensor_pair {
    const tare_model *a, *b;
    size_t in_a, in_b;
} tare_tensor_pair;

/* How much of two tensors is compared. */
typedef enum tare_pair_depth {
    TARE_PAIR_TYPES = 0, /* nothing is read */
    TARE_PAIR_BYTES,     /* whether they differ */
    TARE_PAIR_NUMBERS,   /* and by how much */
} tare_pair_depth;

#define TARE_PAIR_SCRATCH (2 * TARE_PIECE)

/* Stored bytes of both. */
uint64_t tare_tensor_pair_bytes(const tare_tensor_pair *p);
/* Whether they differ in encoding or stored bytes; then *item says how, with figures for the
 * decoded values if they can be decoded and `depth` asks for it. */
tare_status tare_tensor_pair_compare(bool *differs, tare_diff_item *item, const tare_tensor_pair *p,
                                     tare_pair_depth depth, const tare_walk_job *job,
                                     tare_error *err);

#endif
