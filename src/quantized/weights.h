/* SPDX-License-Identifier: MIT
 *
 * The packed weights of a model. */
#ifndef TARE_QUANTIZED_WEIGHTS_H
#define TARE_QUANTIZED_WEIGHTS_H

#include "base/cache.h"
#include "quantized/weight.h"

struct tare_packed_weights {
    const tare_model *stored;
    const tare_allocator *allocator;
    tare_weight *weights; /* in the order of their offsets */
    size_t n;
    tare_str unknown_method; /* quant_method of the settings, where tare does not know it */
    tare_cache *cache;       /* of blocks of rows */
};

/* Where the rows of a tensor are: itself, or where a mapping has them from. */
typedef struct tare_rows_place {
    const tare_model *model;
    size_t tensor;
    const tare_same_rows *rows; /* NULL: it is itself */
    uint64_t matrix;            /* of a stack, that the first row is in */
} tare_rows_place;

tare_rows_place tare_rows_place_of(const tare_model *m, size_t tensor);

/* The packed weight that a tensor is; NULL: it is none. */
const tare_weight *tare_packed_weight_of(const tare_model *m, size_t tensor);

#endif
