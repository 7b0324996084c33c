/* SPDX-License-Identifier: MIT
 *
 * The point of a list nearest to a group of values: each point has a lane, and an element's
 * contribution to the distance is looked up by its level. Written on the names of lanes_avx2.h or
 * lanes_avx512.h. */
#ifndef TARE_ENCODING_SIMD_NEAREST_POINT_H
#define TARE_ENCODING_SIMD_NEAREST_POINT_H

#include "encoding/simd/point_lists.h"
#include "encoding/simd/search_lanes.h"

/* A group is 8 elements of 4 levels (one of them unused) or 4 elements of 8 levels. */
enum { GROUP_VALUES = 32 };

typedef struct points_form {
    int lanes, bits, levels;
} points_form;

/* Lookup in the values of an element by the lowest bits of each lane. */
INLINE vec lookup(const float *values, ivec at, points_form f) {
    return f.bits == 2 ? lookup4(values, at) : lookup8(values, at);
}

/* The point of least cost, packed, of equal ones the first. costs: what each element adds at each
 * level. Where no cost is a number the first point of all. */
INLINE uint32_t nearest_point(const uint16_t *list, size_t n, const float *costs, points_form f) {
    vec sums[TARE_LIST_MOST / LANES], least = all(FLT_MAX);
    size_t n_vectors = (n + LANES - 1) / LANES;
    for (size_t v = 0; v < n_vectors; v++) {
        ivec points = load_u16(list + v * LANES);
        vec sum = lookup(costs, points, f);
        for (int i = 1; i < f.lanes; i++)
            sum = add(sum, lookup(costs + (i << f.bits), shift_right(points, i * f.bits), f));
        sums[v] = sum;
        least = min_of(sum, least);
    }
    least = least_across(least);
    if (!(first_of(least) < FLT_MAX)) return list[0];
    for (size_t v = 0;; v++) {
        uint32_t found = equal_mask_f(sums[v], least);
        if (found) return list[v * LANES + (size_t)__builtin_ctz(found)];
    }
}

#endif
