/* SPDX-License-Identifier: MIT
 *
 * How far values are from those of a reference: sums of squares, the largest difference, how many
 * differ. The sums have 16 lanes, which are added up as a tree in the end: element i of a run is in
 * lane i % 16, so that additions need not wait for each other and every CPU level gives the same
 * bits. */
#ifndef TARE_ENCODING_DEVIATION_H
#define TARE_ENCODING_DEVIATION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define TARE_DEVIATION_LANES 16

/* Zero-initialised: of nothing. */
typedef struct tare_deviation {
    double difference[TARE_DEVIATION_LANES]; /* squares */
    double reference[TARE_DEVIATION_LANES];  /* squares, of what is finite */
    double max_abs[TARE_DEVIATION_LANES];
    uint64_t n_different;
} tare_deviation;

typedef struct tare_deviation_sums {
    double difference, reference; /* squares */
    double max_abs;
    uint64_t n_different;
} tare_deviation_sums;

/* Equal values, equal infinities and two NaN are the same; a NaN against a number is infinitely
 * wrong. */
static inline void tare_deviation_add_pair(tare_deviation *s, size_t lane, double reference,
                                           double value) {
    const double x = reference, y = value;
    if (x - x == 0) s->reference[lane] += x * x;
    if (x == y || (x != x && y != y)) return;
    double d = fabs(x - y);
    if (d != d) d = (double)INFINITY;
    s->n_different++;
    s->difference[lane] += d * d;
    if (d > s->max_abs[lane]) s->max_abs[lane] = d;
}

/* A run of n values; the pointers need not be aligned. */
void tare_deviation_add(tare_deviation *sum, const float *reference, const float *values, size_t n);
tare_deviation_sums tare_deviation_sum(const tare_deviation *sum);

/* ||reference - values|| / ||reference||. */
static inline double tare_deviation_relative(const tare_deviation_sums *s) {
    if (s->n_different == 0) return 0;
    if (s->reference == 0 || s->max_abs > 1.7e308) return (double)INFINITY;
    double ratio = sqrt(s->difference) / sqrt(s->reference);
    return ratio == ratio ? ratio : (double)INFINITY; /* both sums overflowed */
}

#endif
