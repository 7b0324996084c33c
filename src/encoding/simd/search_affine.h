/* SPDX-License-Identifier: MIT
 *
 * tare_search_affine with one block a lane. The codes of the steps are not kept: they are
 * recomputed from the factor and minimum of the best step. Rounding is done in floats, which is
 * exact as long as no element leaves the range of is_past_rounding; both ends of each block are
 * checked. */
#ifndef TARE_ENCODING_SIMD_SEARCH_AFFINE_H
#define TARE_ENCODING_SIMD_SEARCH_AFFINE_H

#include "encoding/simd/search_lanes.h"

typedef struct affine_data {
    vec x[LARGEST], weights[LARGEST], codes[LARGEST];
} affine_data;

typedef struct affine_lanes {
    vec lowest; /* of x, before 0 is let in */
    vec min, max, sum_w, sum_x;
    vec scale, best;
    vec inverse, origin; /* of the codes found best */
    vec tried;           /* the inverse of the step */
    mask is_flat, is_odd;
} affine_lanes;

/* The elements' scaled place above the minimum, with a look at both ends. */
INLINE void affine_try(affine_lanes *s, float steps) {
    vec range = choose(s->is_flat, all(1), sub(s->max, s->min));
    s->tried = divide(all(steps), range);
    mask bottom = is_past_rounding(mul(s->tried, sub(s->lowest, s->min)));
    mask end = is_past_rounding(mul(s->tried, sub(s->max, s->min)));
    s->is_odd = either(s->is_odd, without(either(bottom, end), s->is_flat));
}

INLINE vec affine_code(const affine_lanes *s, vec x, float top) {
    return round_small(clamp(mul(s->tried, sub(x, s->min)), 0, top));
}

INLINE void affine_start(affine_lanes *s, affine_data *d, const tare_blocks *b, size_t first,
                         int size, tare_weighing weighing, float top) {
    load_blocks(d->x, b->x + first * (size_t)size, size);
    load_weights(d->weights, d->x, b, first, size, weighing);
    s->lowest = s->max = d->x[0];
    s->sum_w = d->weights[0];
    s->sum_x = mul(s->sum_w, d->x[0]);
    for (int i = 1; i < size; i++) {
        s->lowest = min_of(d->x[i], s->lowest);
        s->max = max_of(d->x[i], s->max);
        s->sum_w = add(s->sum_w, d->weights[i]);
        s->sum_x = add(s->sum_x, mul(d->weights[i], d->x[i]));
    }
    s->min = min_of(all(0), s->lowest);
    s->is_odd = opposite(is_finite(s->sum_x));
    s->is_flat = either(is_at_most(s->max, s->min), s->is_odd);
    affine_try(s, top);
    s->inverse = s->tried;
    s->origin = s->min;
    s->scale = divide(all(1), s->tried);
}

/* Error of the first codes, which are not kept. */
INLINE void affine_first_errors(affine_lanes *s, const affine_data *d, int sides, int size,
                                float top, bool uses_abs) {
    for (int g = 0; g < sides; g++) s[g].best = all(0);
    for (int i = 0; i < size; i++)
        for (int g = 0; g < sides; g++) {
            vec l = affine_code(&s[g], d[g].x[i], top);
            vec diff = sub(add(mul(s[g].scale, l), s[g].min), d[g].x[i]);
            diff = uses_abs ? size_of(diff) : mul(diff, diff);
            s[g].best = add(s[g].best, mul(d[g].weights[i], diff));
        }
}

typedef struct affine_sums {
    vec l, l2, xl;
} affine_sums;

INLINE void affine_tally(affine_sums *sums, const affine_lanes *s, affine_data *d, int sides,
                         int size, float top) {
    for (int g = 0; g < sides; g++) sums[g].l = sums[g].l2 = sums[g].xl = all(0);
    for (int i = 0; i < size; i++)
        for (int g = 0; g < sides; g++) {
            vec l = affine_code(&s[g], d[g].x[i], top), wl = mul(d[g].weights[i], l);
            d[g].codes[i] = l;
            sums[g].l = add(sums[g].l, wl);
            sums[g].l2 = add(sums[g].l2, mul(wl, l));
            sums[g].xl = add(sums[g].xl, mul(wl, d[g].x[i]));
        }
}

/* Least squares: see affine_fit of the scalar search. */
typedef struct affine_fit {
    vec scale, min, error;
    mask is_solved;
} affine_fit;

INLINE void affine_solve(affine_fit *f, const affine_sums *t, const affine_lanes *s) {
    vec det = sub(mul(s->sum_w, t->l2), mul(t->l, t->l));
    f->is_solved = is_below(all(0), det);
    f->scale = divide(sub(mul(s->sum_w, t->xl), mul(s->sum_x, t->l)), det);
    f->min = divide(sub(mul(t->l2, s->sum_x), mul(t->l, t->xl)), det);
    mask is_above = is_below(all(0), f->min);
    if (lanes_of(is_above)) {
        f->min = choose(is_above, all(0), f->min);
        f->scale = choose(is_above, divide(t->xl, t->l2), f->scale);
    }
}

INLINE void affine_errors(affine_fit *f, const affine_data *d, int sides, int size, bool uses_abs) {
    for (int g = 0; g < sides; g++) f[g].error = all(0);
    for (int i = 0; i < size; i++)
        for (int g = 0; g < sides; g++) {
            vec diff = sub(add(mul(f[g].scale, d[g].codes[i]), f[g].min), d[g].x[i]);
            diff = uses_abs ? size_of(diff) : mul(diff, diff);
            f[g].error = add(f[g].error, mul(d[g].weights[i], diff));
        }
}

/* Where the step is better, it is kept; its minimum then moves the steps to come. */
INLINE void affine_keep(affine_lanes *s, const affine_fit *f) {
    mask is_better = both(f->is_solved, is_below(f->error, s->best));
    s->inverse = choose(is_better, s->tried, s->inverse);
    s->origin = choose(is_better, s->min, s->origin);
    s->best = choose(is_better, f->error, s->best);
    s->scale = choose(is_better, f->scale, s->scale);
    s->min = choose(without(is_better, s->is_flat), f->min, s->min);
}

INLINE void affine_store(const affine_lanes *s, const tare_blocks *b, size_t first, int size,
                         const tare_affine_walk *walk) {
    static const float no_offset[LANES] = {0};
    float inverse[LANES], origin[LANES];
    store(b->scales + first, choose(s->is_flat, all(0), s->scale));
    store(b->minus_mins + first, negative(s->min));
    store(inverse, choose(s->is_flat, all(0), s->inverse));
    store(origin, s->origin);
    store_codes(b, first, size, inverse, origin, no_offset, 0, (float)walk->top);
    for (uint32_t odd = lanes_of(s->is_odd); odd; odd &= odd - 1) {
        size_t j = first + (size_t)__builtin_ctz(odd);
        if (j < b->n) tare_search_affine_of(b, j, walk);
    }
}

INLINE void affine_group(const tare_blocks *b, size_t first, int sides,
                         const tare_affine_walk *walk, int size, tare_weighing weighing,
                         bool uses_abs) {
    float top = (float)walk->top;
    affine_data data[SIDE_BY_SIDE];
    affine_lanes lanes[SIDE_BY_SIDE];
    affine_sums sums[SIDE_BY_SIDE];
    affine_fit fits[SIDE_BY_SIDE];
    for (int g = 0; g < sides; g++)
        affine_start(&lanes[g], &data[g], b, first + (size_t)g * LANES, size, weighing, top);
    affine_first_errors(lanes, data, sides, size, top, uses_abs);
    for (int step = 0; step <= walk->n_steps; step++) {
        for (int g = 0; g < sides; g++)
            affine_try(&lanes[g], walk->first + walk->step * (float)step + top);
        affine_tally(sums, lanes, data, sides, size, top);
        for (int g = 0; g < sides; g++) affine_solve(&fits[g], &sums[g], &lanes[g]);
        affine_errors(fits, data, sides, size, uses_abs);
        for (int g = 0; g < sides; g++) affine_keep(&lanes[g], &fits[g]);
    }
    for (int g = 0; g < sides; g++)
        affine_store(&lanes[g], b, first + (size_t)g * LANES, size, walk);
}

INLINE void affine_groups(const tare_blocks *b, const tare_affine_walk *walk, int size,
                          tare_weighing weighing, bool uses_abs) {
    size_t first = 0;
    for (; b->n >= first + SIDE_BY_SIDE * LANES; first += SIDE_BY_SIDE * LANES)
        affine_group(b, first, SIDE_BY_SIDE, walk, size, weighing, uses_abs);
    for (; first < b->n; first += LANES) affine_group(b, first, 1, walk, size, weighing, uses_abs);
}

/* Each format's form gets its own loop. */
static void search_affine(const tare_blocks *b, const tare_affine_walk *walk) {
    if (b->size == 32 && b->weighing == TARE_WEIGH_MEAN && !walk->uses_abs)
        affine_groups(b, walk, 32, TARE_WEIGH_MEAN, false);
    else if (b->size == 32 && b->weighing == TARE_WEIGH_SPREAD && !walk->uses_abs)
        affine_groups(b, walk, 32, TARE_WEIGH_SPREAD, false);
    else if (b->size == 16 && b->weighing == TARE_WEIGH_MAGNITUDE && walk->uses_abs)
        affine_groups(b, walk, 16, TARE_WEIGH_MAGNITUDE, true);
    else if (b->size == 16 && b->weighing == TARE_WEIGH_SPREAD && !walk->uses_abs)
        affine_groups(b, walk, 16, TARE_WEIGH_SPREAD, false);
    else
        tare_searches_c.affine(b, walk);
}

#endif
