/* SPDX-License-Identifier: MIT
 *
 * The tables of lattice.h in the form kernels need: by packed combinations of levels (as points are
 * packed in codebooks.h), and the lists hold packed points and whole vectors of them. */
#ifndef TARE_ENCODING_SIMD_POINT_LISTS_H
#define TARE_ENCODING_SIMD_POINT_LISTS_H

#include <stddef.h>

#include "encoding/lattice.h"

typedef struct tare_point_lists {
    /* By combination: -1 - index of the point, or for none where its list is and how long. */
    const int32_t *entries;
    /* A list begins at a multiple of TARE_LIST_STEP; up to the next one its first point fills it,
     * so that vectors may read on. */
    const uint16_t *points;
} tare_point_lists;

enum { TARE_LIST_STEP = 16, TARE_LIST_BITS = 12, TARE_LIST_MOST = 304 };

const tare_point_lists *tare_point_lists_get(tare_lattice_id id);

static inline const uint16_t *tare_point_list(const tare_point_lists *l, int32_t entry) {
    return l->points + (size_t)(entry >> TARE_LIST_BITS) * TARE_LIST_STEP;
}
static inline size_t tare_point_list_length(int32_t entry) {
    return (size_t)(entry & ((1 << TARE_LIST_BITS) - 1));
}

#endif
