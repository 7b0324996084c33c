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
    tare_cache *cache; /* of blocks of rows */
};

/* The packed weight that a tensor is; NULL: it is none. */
const tare_weight *tare_packed_weight_of(const tare_model *m, size_t tensor);

#endif
