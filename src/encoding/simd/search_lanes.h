/* SPDX-License-Identifier: MIT
 *
 * What the searches with one block a lane share: blocks into lanes, their weights, rounding, and
 * codes back into rows. Written on the names of lanes_avx2.h or lanes_avx512.h, which the including
 * file chooses.
 *
 * A lane does to its block what the scalar search does, operation by operation, so that even
 * overflow gives the same result. Blocks with a NaN or infinity are called odd and left to the
 * scalar search. */
#ifndef TARE_ENCODING_SIMD_SEARCH_LANES_H
#define TARE_ENCODING_SIMD_SEARCH_LANES_H

#include <float.h>

#include "encoding/block_searches.h"

enum { LARGEST = 32 };

/* Added and taken away again, it rounds what is exact as an integer of 23 bits. */
#define ROUNDER 12582912.0f

INLINE vec round_small(vec t) {
    return sub(add(t, all(ROUNDER)), all(ROUNDER));
}
/* tare_round_even */
INLINE ivec round_even(vec t) {
    ivec bits = and_i(bits_of(add(t, all(ROUNDER))), all_i(0x007fffff));
    return sub_i(bits, all_i(0x00400000));
}
INLINE mask is_finite(vec a) {
    return is_at_most(size_of(a), all(FLT_MAX));
}
/* Whether round_small(t) is not sure to be tare_round_even(t). */
INLINE mask is_past_rounding(vec t) {
    return opposite(is_at_most(size_of(t), all(4194303)));
}
INLINE vec clamp(vec t, float low, float high) {
    return min_of(max_of(t, all(low)), all(high));
}
INLINE ivec clamp_i(ivec t, int low, int high) {
    return min_signed(max_signed(t, all_i((uint32_t)low)), all_i((uint32_t)high));
}

/* Element i of LANES blocks of `size` in x[i]. */
INLINE void load_blocks(vec *x, const float *from, int size) {
    for (int part = 0; part < size; part += LANES) {
        for (int lane = 0; lane < LANES; lane++) x[part + lane] = load(from + lane * size + part);
        transpose(x + part);
    }
}

/* The weights of LANES blocks from `first` on; not for TARE_WEIGH_SQUARE. */
INLINE void load_weights(vec *weights, const vec *x, const tare_blocks *b, size_t first, int size,
                         tare_weighing weighing) {
    vec sum = all(0);
    switch (weighing) {
    case TARE_WEIGH_MEAN:
        for (int i = 0; i < size; i++) sum = add(sum, mul(x[i], x[i]));
        sum = root(divide(sum, all((float)size)));
        for (int i = 0; i < size; i++) weights[i] = add(sum, size_of(x[i]));
        break;
    case TARE_WEIGH_MAGNITUDE:
        for (int i = 0; i < size; i++) weights[i] = size_of(x[i]);
        break;
    case TARE_WEIGH_SPREAD:
        load_blocks(weights, b->importance + first * (size_t)size, size);
        for (int i = 0; i < size; i++) {
            vec spread = add(load(b->sigma2 + first), mul(x[i], x[i]));
            weights[i] = mul(weights[i], root(spread));
            sum = add(sum, weights[i]);
        }
        store(b->sums + first, sum);
        break;
    default:
        load_blocks(weights, b->importance + first * (size_t)size, size);
    }
}

/* Codes of LANES blocks from `first` on, in rows: inverse * (x - origin), between low and high,
 * plus offset; these three may differ from block to block. */
INLINE void store_codes(const tare_blocks *b, size_t first, int size, const float *inverse,
                        const float *origin, const float *offset, float low, float high) {
    size_t at = first * (size_t)size;
    for (int i = 0; i < LANES * size; i += 32) {
        block32 codes;
        for (int v = 0; v < VECTORS; v++) {
            int lane = (i + v * LANES) / size;
            vec x = sub(load(b->x + at + i + v * LANES), all(origin[lane]));
            vec t = clamp(mul(all(inverse[lane]), x), low, high);
            codes.v[v] = add(round_small(t), all(offset[lane]));
        }
        store_32(b->codes + at + i, low_bytes(&codes));
    }
}

#endif
