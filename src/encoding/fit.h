/* SPDX-License-Identifier: MIT
 *
 * How well codes under a scale fit numbers: where the searches of the better encoders spend most of
 * their time. Sums run in lanes that are added up as a tree, so that every CPU level gives the same
 * bits. */
#ifndef TARE_ENCODING_FIT_H
#define TARE_ENCODING_FIT_H

#include <stddef.h>

/* Sums run in this many lanes: arrays of numbers have a multiple of it, filled up with weights 0.
 */
enum { TARE_FIT_LANES = 8 };

static inline float tare_sum_lanes(const float *lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* The whole number nearest to t, halves to even, of low..high. Adding and taking away 1.5 * 2^23
 * rounds. */
static inline float tare_round_clamped(float t, float low, float high) {
    t = t > low ? t : low;
    t = t < high ? t : high;
    return (t + 12582912.0f) - 12582912.0f;
}

/* The values that codes can express under a scale: all whole numbers low..high, or (n_limits > 0)
 * uneven levels from low to high, ascending: the next one, `gaps` higher, begins above each limit.
 */
typedef struct tare_levels {
    float low, high;
    int n_limits;
    float limits[15], gaps[15];
} tare_levels;

/* x ~ scale * q for the q that are best under this scale; r = x - scale * q. */
typedef struct tare_fit {
    float error;  /* sum w r^2 */
    float rq, qq; /* sum w r q, sum w q^2 */
} tare_fit;

/* Over n numbers, a multiple of TARE_FIT_LANES. */
tare_fit tare_fit_levels_c(const float *x, const float *weights, size_t n,
                           const tare_levels *levels, float scale);

/* x ~ scale * q + offset, q the nearest whole numbers 0..top; r = x - (scale * q + offset). */
typedef struct tare_line_fit {
    float error;  /* sum w r^2 */
    float rq, r1; /* sum w r q, sum w r */
    float qq, q1; /* sum w q^2, sum w q */
    float w1;     /* sum w: not computed here */
} tare_line_fit;

void tare_fit_line_c(tare_line_fit *out, const float *x, const float *weights, size_t n, float top,
                     float scale, float offset);

/* Adding and taking away 1.5 * 2^20 times a power of two rounds to the four bits below it; beneath 2^-6
 * E4M3 has the steps of 2^-6. */
#define TARE_E4M3_MAGIC  1572864.0f
#define TARE_E4M3_NORMAL 0x1p-6f
#define TARE_E4M3_LAST   448.0f

/* The error sum w (x - scale * q)^2 of E4M3 numbers q that are nearest under a scale > 0; those beyond
 * the last one are it. */
float tare_fit_e4m3_c(const float *x, const float *weights, size_t n, float scale);

#endif
