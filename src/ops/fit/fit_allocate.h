/* SPDX-License-Identifier: MIT
 *
 * The choice of one option for each of many units, such that the sum of losses is small and the sum
 * of costs within a limit (the multiple-choice knapsack problem). Costs and losses are bytes and
 * damages, or the reverse. */
#ifndef TARE_OPS_FIT_FIT_ALLOCATE_H
#define TARE_OPS_FIT_FIT_ALLOCATE_H

#include "base/alloc.h"

typedef struct tare_fit_option {
    double cost, loss; /* not negative, finite */
} tare_fit_option;

typedef struct tare_fit_unit_options {
    const tare_fit_option *options;
    size_t n; /* > 0 */
} tare_fit_unit_options;

typedef struct tare_fit_problem {
    const tare_fit_unit_options *units;
    size_t n;
    const tare_allocator *allocator;
    const tare_cancel *cancel; /* may be NULL */
} tare_fit_problem;

/* Sums over a choice, in the order of the units. */
tare_fit_option tare_fit_sum(const tare_fit_problem *p, const size_t *choice);
/* The cheapest option of every unit, of several the one that loses least. */
void tare_fit_cheapest(size_t *choice, const tare_fit_problem *p);
/* A good choice within the limit, which the cheapest must be. *slope: loss that the next unit of
 * cost would save; 0: there is nothing left to buy. */
tare_status tare_fit_allocate(size_t *choice, double *slope, const tare_fit_problem *p,
                              double limit, tare_error *err);
/* The optimum of the hulls alone: quick, and below the limit by up to a step of a unit. */
tare_status tare_fit_climb(size_t *choice, double *slope, const tare_fit_problem *p, double limit,
                           tare_error *err);
/* The first optimum of the hulls that costs no less: there is no better choice of its cost, whatever it
 * is. *is_end: it has all there is. */
tare_status tare_fit_climb_beyond(size_t *choice, bool *is_end, const tare_fit_problem *p,
                                  double cost, tare_error *err);
/* Makes a choice that is within the limit better, by changes of one unit and of two, until none
 * helps. */
tare_status tare_fit_improve(size_t *choice, const tare_fit_problem *p, double limit,
                             tare_error *err);

/* The lower convex hull of a unit's options: their numbers by rising cost and falling loss into
 * out[n], and how many they are. */
size_t tare_fit_hull(size_t *out, const tare_fit_unit_options *unit);

#endif
