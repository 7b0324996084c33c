/* SPDX-License-Identifier: MIT
 *
 * Searches for the scale (and minimum) of one small block: the scalar reference of ggml's block
 * encoders. Every operation is in ggml's order, in f32 without contraction, because the resulting
 * bytes must be the same; so nothing here may be rearranged. */
#ifndef TARE_ENCODING_SCALE_SEARCH_H
#define TARE_ENCODING_SCALE_SEARCH_H

#include <stdint.h>

#include "encoding/float16.h"

/* Blocks whose largest magnitude is below count as all zero. */
#define TARE_SEARCH_ZERO 1e-15f

/* Nearest integer, halves to even, by adding 1.5 * 2^23: exact for |t| <= 4194303. Beyond that (and
 * for NaN) the bits wrap as ggml's do, so that even unusual input gives the same bytes. */
static inline int32_t tare_round_even(float t) {
    return (int32_t)(tare_f32_bits(t + 12582912.0f) & 0x007fffff) - 0x00400000;
}

static inline int32_t tare_clamp_i32(int32_t v, int32_t low, int32_t high) {
    return v < low ? low : v > high ? high : v;
}

/* x ~ scale * (code - top), codes 0..2*top-1: the scale of least weighted error among 19 around
 * -top / (value of largest magnitude). weights NULL: x^2. Returns the scale; a zero block gives
 * scale 0 and codes 0. n <= 32; codes may be NULL. */
float tare_search_signed(uint8_t *codes, const float *x, const float *weights, int n, int top);

/* The same form, one start and then up to five rounds of moving single codes; weights x^2. */
float tare_search_signed_moves(uint8_t *codes, const float *x, int n, int top);

/* How an affine search walks: scales (first + step * i + top) / range, i = 0..n_steps. */
typedef struct tare_affine_walk {
    float first, step;
    int n_steps;
    int top;      /* largest code */
    int uses_abs; /* error |diff| in place of diff^2 */
} tare_affine_walk;

/* x ~ scale * code - *minus_min, codes 0..top, *minus_min >= 0: least weighted error along the
 * walk. A constant block gives scale 0 and codes 0. n <= 32. */
float tare_search_affine(uint8_t *codes, float *minus_min, const float *x, const float *weights,
                         int n, const tare_affine_walk *walk);

/* x ~ scale * code with x >= 0, codes 0..top: for the scales of sub-blocks. */
float tare_search_unsigned(uint8_t *codes, const float *x, const float *weights, int n, int top);

/* x ~ scale * one of tare_levels_iq4, 32 elements: the scale of least weighted error among 16, 0
 * for a zero block. */
float tare_search_levels(const float *x, const float *weights);

/* The nearest of tare_levels_iq4; of two equally near the upper one. */
uint8_t tare_nearest_level(float x);

#endif
