/* SPDX-License-Identifier: MIT
 *
 * tare_search_levels with one block a lane, and the codes for a scale. On the names of
 * levels_avx2.h or levels_avx512.h. */
#ifndef TARE_ENCODING_SIMD_SEARCH_LEVELS_H
#define TARE_ENCODING_SIMD_SEARCH_LEVELS_H

#include "encoding/simd/search_lanes.h"

typedef struct levels_data {
    vec x[32], w[32];
} levels_data;

typedef struct levels_lanes {
    vec peak; /* of largest magnitude, 1 where that is no block to search */
    vec scale, best;
    vec next; /* the inverse of the step to come */
    mask is_zero, is_odd;
} levels_lanes;

typedef struct levels_sums {
    vec xl, ll;
} levels_sums;

/* Lanes that are not searched get zeros, as their small numbers would be slow. */
INLINE void levels_start(levels_lanes *s, levels_data *d, const tare_blocks *b, size_t first,
                         tare_weighing weighing) {
    vec most = all(0), sum = all(0);
    s->peak = s->scale = s->best = all(0);
    load_blocks(d->x, b->x + first * 32, 32);
    if (weighing != TARE_WEIGH_SQUARE) load_weights(d->w, d->x, b, first, 32, weighing);
    for (int i = 0; i < 32; i++) {
        vec magnitude = size_of(d->x[i]);
        mask is_more = is_below(most, magnitude);
        most = choose(is_more, magnitude, most);
        s->peak = choose(is_more, d->x[i], s->peak);
        if (weighing == TARE_WEIGH_SQUARE) d->w[i] = mul(d->x[i], d->x[i]);
        sum = add(sum, mul(d->w[i], d->x[i]));
    }
    s->is_odd = opposite(is_finite(sum));
    s->is_zero = either(is_below(most, all(TARE_SEARCH_ZERO)), s->is_odd);
    s->peak = choose(s->is_zero, all(1), s->peak);
    if (lanes_of(s->is_zero))
        for (int i = 0; i < 32; i++) {
            d->x[i] = choose(s->is_zero, all(0), d->x[i]);
            d->w[i] = choose(s->is_zero, all(0), d->w[i]);
        }
}

INLINE void levels_tally(levels_sums *sums, const levels_lanes *s, const levels_data *d, int sides,
                         const level_tables *tables) {
    for (int g = 0; g < sides; g++) sums[g].xl = sums[g].ll = all(0);
    for (int i = 0; i < 32; i++)
        for (int g = 0; g < sides; g++) {
            vec l = level_values(tables, mul(s[g].next, d[g].x[i]));
            vec wl = mul(d[g].w[i], l);
            sums[g].xl = add(sums[g].xl, mul(wl, d[g].x[i]));
            sums[g].ll = add(sums[g].ll, mul(wl, l));
        }
}

/* The first candidate counts regardless of its quality. */
INLINE void levels_keep(levels_lanes *s, const levels_sums *t, bool is_first) {
    mask is_better = is_below(all(0), t->ll);
    if (!is_first) is_better = both(is_better, is_below(mul(s->best, t->ll), mul(t->xl, t->xl)));
    vec scale = divide(t->xl, t->ll);
    s->scale = choose(is_better, scale, s->scale);
    s->best = choose(is_better, mul(scale, t->xl), s->best);
}

INLINE void levels_group(const tare_blocks *b, size_t first, int sides, const level_tables *tables,
                         tare_weighing weighing) {
    levels_data data[SIDE_BY_SIDE];
    levels_lanes lanes[SIDE_BY_SIDE];
    levels_sums sums[SIDE_BY_SIDE];
    float lowest = tare_levels_iq4[0];
    for (int g = 0; g < sides; g++) {
        levels_start(&lanes[g], &data[g], b, first + (size_t)g * LANES, weighing);
        lanes[g].next = divide(all(1), divide(negative(lanes[g].peak), all(lowest)));
    }
    for (int step = -8; step <= 7; step++) { /* -8: the first candidate, near that of 0 */
        levels_tally(sums, lanes, data, sides, tables);
        for (int g = 0; g < sides; g++) {
            levels_keep(&lanes[g], &sums[g], step == -8);
            lanes[g].next = divide(all((float)(step + 1) + lowest), lanes[g].peak);
        }
    }
    for (int g = 0; g < sides; g++) {
        size_t at = first + (size_t)g * LANES;
        store(b->scales + at, choose(lanes[g].is_zero, all(0), lanes[g].scale));
        for (uint32_t odd = lanes_of(lanes[g].is_odd); odd; odd &= odd - 1) {
            size_t j = at + (size_t)__builtin_ctz(odd);
            if (j < b->n) tare_search_levels_of(b, j);
        }
    }
}

INLINE void levels_groups(const tare_blocks *b, tare_weighing weighing) {
    level_tables tables = level_tables_of_values();
    size_t first = 0;
    for (; b->n >= first + SIDE_BY_SIDE * LANES; first += SIDE_BY_SIDE * LANES)
        levels_group(b, first, SIDE_BY_SIDE, &tables, weighing);
    for (; first < b->n; first += LANES) levels_group(b, first, 1, &tables, weighing);
}

static void search_levels(const tare_blocks *b) {
    if (b->weighing == TARE_WEIGH_SQUARE)
        levels_groups(b, TARE_WEIGH_SQUARE);
    else
        levels_groups(b, TARE_WEIGH_SPREAD);
}

/* NaN counts as large, as it does in tare_nearest_level. */
static void level_codes(uint8_t *nibbles_out, size_t stride, const float *x, const float *inverses,
                        size_t n) {
    level_tables tables = level_tables_of_codes();
    for (size_t j = 0; j < n; j++) {
        block32 codes;
        for (int v = 0; v < VECTORS; v++) {
            vec t = mul(all(inverses[j]), load(x + 32 * j + v * LANES));
            t = max_of(min_of(t, all(134)), all(-134));
            codes.v[v] = level_numbers(&tables, t);
        }
        store_16(nibbles_out + stride * j, nibbles(&codes));
    }
}

#endif
