/* SPDX-License-Identifier: MIT
 *
 * Guards against: choices above their limit; choices much worse than the best there is; room that is
 * left although a change of two units would use it; an improvement that makes something worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/fit/fit_allocate.h"

#define UNITS   16
#define OPTIONS 10
#define MOST    6000 /* cost of all units together */

typedef struct instance {
    tare_fit_option options[UNITS][OPTIONS];
    tare_fit_unit_options units[UNITS];
    tare_fit_problem problem;
} instance;

static uint64_t state;

static uint32_t next(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33);
}

static double uniform(void) {
    return next() / 2147483648.0;
}

/* Tensors of unlike sizes and sensitivities in types of 2 to 8 bits, with errors that fall by about
 * four for each bit. */
static void make(instance *m, size_t n_units) {
    static const double bits[OPTIONS] = {2.625, 2.5625, 3.0625, 3.4375, 3.4375,
                                         4.25,  4.5,    5.5,    6.5625, 8.5};
    for (size_t u = 0; u < n_units; u++) {
        const double size = 3 + floor(40 * uniform() * uniform()), alpha = exp(4 * uniform() - 2);
        for (size_t i = 0; i < OPTIONS; i++)
            m->options[u][i] = (tare_fit_option){ceil(size * bits[i]), alpha * exp2(-2 * bits[i]) *
                                                                           (0.8 + 0.4 * uniform())};
        m->units[u] = (tare_fit_unit_options){m->options[u], 4 + next() % (OPTIONS - 3)};
    }
    m->problem = (tare_fit_problem){m->units, n_units, NULL, NULL};
}

/* The least loss at every cost, unit after unit. */
static double best(const instance *m, size_t limit) {
    static double now[MOST + 1], then[MOST + 1];
    for (size_t c = 0; c <= limit; c++) now[c] = 0;
    for (size_t u = 0; u < m->problem.n; u++) {
        for (size_t c = 0; c <= limit; c++) {
            then[c] = INFINITY;
            for (size_t i = 0; i < m->units[u].n; i++) {
                const tare_fit_option *o = &m->options[u][i];
                if (o->cost <= (double)c)
                    then[c] = fmin(then[c], now[c - (size_t)o->cost] + o->loss);
            }
        }
        memcpy(now, then, sizeof now);
    }
    return now[limit];
}

/* Within half a percent of the optimum for every limit, on the average of them much closer. */
static void is_close_to_the_best(void **unused) {
    (void)unused;
    double worst = 0, sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < 400; k++) {
        instance m;
        size_t choice[UNITS];
        double slope;
        state = k;
        make(&m, 4 + k % (UNITS - 3));
        tare_fit_cheapest(choice, &m.problem);
        const double least = tare_fit_sum(&m.problem, choice).cost;
        const double limit = floor(least * (1.02 + 1.5 * uniform()));
        assert_true(limit <= MOST);
        assert_int_equal(tare_fit_allocate(choice, &slope, &m.problem, limit, NULL), TARE_OK);
        const tare_fit_option got = tare_fit_sum(&m.problem, choice);
        const double optimum = best(&m, (size_t)limit);
        assert_true(got.cost <= limit);
        assert_true(got.loss >= optimum * (1 - 1e-12));
        worst = fmax(worst, got.loss / optimum - 1);
        sum += got.loss / optimum - 1;
        n++;
    }
    print_message("worst %.3f %%, mean %.4f %%\n", 100 * worst, 100 * sum / (double)n);
    assert_true(worst <= 0.005);
    assert_true(sum / (double)n <= 0.0005);
}

static void everything_fits(void **unused) {
    (void)unused;
    instance m;
    size_t choice[UNITS];
    double slope;
    state = 7;
    make(&m, UNITS);
    assert_int_equal(tare_fit_allocate(choice, &slope, &m.problem, 1e9, NULL), TARE_OK);
    assert_true(slope == 0);
    for (size_t u = 0; u < UNITS; u++)
        for (size_t i = 0; i < m.units[u].n; i++)
            assert_true(m.options[u][choice[u]].loss <= m.options[u][i].loss);
}

static void nothing_but_the_cheapest_fits(void **unused) {
    (void)unused;
    instance m;
    size_t choice[UNITS], cheapest[UNITS];
    double slope;
    state = 8;
    make(&m, UNITS);
    tare_fit_cheapest(cheapest, &m.problem);
    const double least = tare_fit_sum(&m.problem, cheapest).cost;
    assert_int_equal(tare_fit_allocate(choice, &slope, &m.problem, least, NULL), TARE_OK);
    assert_true(tare_fit_sum(&m.problem, choice).cost == least);
    assert_true(slope > 0);
}

/* One unit's step down pays for another's step up: no single change helps. */
static void two_are_exchanged(void **unused) {
    (void)unused;
    static const tare_fit_option a[] = {{10, 8}, {20, 7}}, b[] = {{10, 9}, {20, 1}};
    const tare_fit_unit_options units[] = {{a, 2}, {b, 2}};
    const tare_fit_problem p = {units, 2, NULL, NULL};
    size_t choice[] = {1, 0};
    assert_int_equal(tare_fit_improve(choice, &p, 30, NULL), TARE_OK);
    assert_int_equal(choice[0], 0);
    assert_int_equal(choice[1], 1);
}

/* From the cheapest to the whole, each the best there is for its cost. */
static void points_of_the_curve_are_optima(void **unused) {
    (void)unused;
    for (size_t k = 0; k < 40; k++) {
        instance m;
        size_t choice[UNITS], n_points = 0;
        bool is_end = false;
        state = 1000 + k;
        make(&m, 2 + k % (UNITS - 1));
        tare_fit_cheapest(choice, &m.problem);
        double cost = tare_fit_sum(&m.problem, choice).cost;
        for (; !is_end; n_points++) {
            const double asked = cost + 1 + floor(cost * uniform() / 4);
            assert_int_equal(tare_fit_climb_beyond(choice, &is_end, &m.problem, asked, NULL),
                             TARE_OK);
            const tare_fit_option got = tare_fit_sum(&m.problem, choice);
            assert_true(is_end || got.cost >= asked);
            assert_true(got.cost > cost || is_end);
            assert_true(got.cost <= MOST);
            assert_true(got.loss <= best(&m, (size_t)got.cost) * (1 + 1e-12));
            cost = got.cost;
        }
        assert_true(n_points > 1);
    }
}

static void hulls_are_convex(void **unused) {
    (void)unused;
    instance m;
    for (size_t k = 0; k < 100; k++) {
        size_t hull[OPTIONS];
        state = k;
        make(&m, 1);
        const size_t n = tare_fit_hull(hull, &m.units[0]);
        double last = INFINITY;
        assert_in_range(n, 1, m.units[0].n);
        for (size_t i = 0; i + 1 < n; i++) {
            const tare_fit_option *x = &m.options[0][hull[i]], *y = &m.options[0][hull[i + 1]];
            const double slope = (x->loss - y->loss) / (y->cost - x->cost);
            assert_true(y->cost > x->cost && slope > 0 && slope < last);
            last = slope;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_close_to_the_best),           cmocka_unit_test(everything_fits),
        cmocka_unit_test(nothing_but_the_cheapest_fits),  cmocka_unit_test(two_are_exchanged),
        cmocka_unit_test(points_of_the_curve_are_optima), cmocka_unit_test(hulls_are_convex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
