/* SPDX-License-Identifier: MIT
 *
 * tare_search_signed and tare_search_signed_moves with one block a lane. */
#ifndef TARE_ENCODING_SIMD_SEARCH_SIGNED_H
#define TARE_ENCODING_SIMD_SEARCH_SIGNED_H

#include "encoding/simd/search_lanes.h"

typedef struct signed_data {
    vec x[LARGEST], w[LARGEST], wx[LARGEST];
} signed_data;

typedef struct signed_lanes {
    vec peak; /* of largest magnitude, 1 where that is no block to search */
    vec scale, best;
    vec inverse; /* of the codes found best */
    vec next;    /* the inverse of the step to come */
    mask is_zero, is_odd;
} signed_lanes;

/* Sums of weighted products with codes. */
typedef struct signed_sums {
    vec xl, ll;
} signed_sums;

/* The value of largest magnitude; of equal ones the first, which only matters where they differ in
 * sign. */
INLINE vec signed_peak(const vec *x, int size) {
    vec high = all(0), low = all(0), most = all(0), peak = all(0);
    for (int i = 0; i < size; i++) {
        high = max_of(x[i], high);
        low = min_of(x[i], low);
    }
    mask is_tie = without(is_at_most(high, negative(low)), is_below(high, negative(low)));
    if (!lanes_of(both(is_tie, is_below(all(0), high))))
        return choose(is_below(high, negative(low)), low, high);
    for (int i = 0; i < size; i++) {
        mask is_more = is_below(most, size_of(x[i]));
        most = choose(is_more, size_of(x[i]), most);
        peak = choose(is_more, x[i], peak);
    }
    return peak;
}

static void peaks(float *peaks, const float *values, size_t n) {
    for (size_t at = 0; at < n; at += LANES) {
        vec x[16];
        load_blocks(x, values + 16 * at, 16);
        store(peaks + at, signed_peak(x, 16));
    }
}

/* Lanes that are not searched get zeros: their small numbers would be slow. */
INLINE void signed_start(signed_lanes *s, signed_data *d, const tare_blocks *b, size_t first,
                         int size, tare_weighing weighing) {
    load_blocks(d->x, b->x + first * (size_t)size, size);
    if (weighing != TARE_WEIGH_SQUARE) load_weights(d->w, d->x, b, first, size, weighing);
    s->scale = s->best = s->inverse = all(0);
    s->peak = signed_peak(d->x, size);
    s->is_zero = is_below(size_of(s->peak), all(TARE_SEARCH_ZERO));
    s->peak = choose(s->is_zero, all(1), s->peak);
    for (int i = 0; i < size; i++) {
        if (weighing == TARE_WEIGH_SQUARE) d->w[i] = mul(d->x[i], d->x[i]);
        d->wx[i] = mul(d->w[i], d->x[i]);
    }
    s->is_odd = none();
    if (lanes_of(s->is_zero)) {
        vec sum = all(0); /* finite, unless there is a NaN among the zeros */
        for (int i = 0; i < size; i++) {
            sum = add(sum, d->wx[i]);
            d->x[i] = choose(s->is_zero, all(0), d->x[i]);
            d->w[i] = choose(s->is_zero, all(0), d->w[i]);
            d->wx[i] = choose(s->is_zero, all(0), d->wx[i]);
        }
        s->is_odd = both(s->is_zero, opposite(is_finite(sum)));
    }
}

/* What is not finite, or overflows, makes the first sum so. */
INLINE void signed_find_odd(signed_lanes *s, const signed_sums *t) {
    s->is_odd = either(s->is_odd, opposite(is_finite(t->xl)));
}

/* No |inverse * x| is above top + 0.1 * step, but for the last bit: steps below -5 reach no code
 * above top - 1, and steps up to 4 none below -top. All are far from the end of exact rounding. */
INLINE void signed_tally(signed_sums *sums, const signed_lanes *s, const signed_data *d, int sides,
                         int size, int top, bool clamps_above, bool clamps_below) {
    vec low = all((float)-top), high = all((float)(top - 1));
    for (int g = 0; g < sides; g++) sums[g].xl = sums[g].ll = all(0);
    for (int i = 0; i < size; i++)
        for (int g = 0; g < sides; g++) {
            vec l = mul(s[g].next, d[g].x[i]);
            if (clamps_above) l = min_of(l, high);
            if (clamps_below) l = max_of(l, low);
            l = round_small(l);
            sums[g].xl = add(sums[g].xl, mul(d[g].wx[i], l));
            sums[g].ll = add(sums[g].ll, mul(mul(d[g].w[i], l), l));
        }
}

INLINE void signed_keep_first(signed_lanes *s, const signed_sums *t, vec tried) {
    s->inverse = tried;
    s->scale = choose(differs(t->ll, all(0)), divide(t->xl, t->ll), all(0));
    s->best = mul(s->scale, t->xl);
}

/* Weights x^2 are above 0 at the peak, whose code is not 0. */
INLINE void signed_keep(signed_lanes *s, const signed_sums *t, vec tried, bool is_positive) {
    mask is_better = is_below(mul(s->best, t->ll), mul(t->xl, t->xl));
    if (!is_positive) is_better = both(is_better, is_below(all(0), t->ll));
    vec scale = divide(t->xl, t->ll);
    s->inverse = choose(is_better, tried, s->inverse);
    s->scale = choose(is_better, scale, s->scale);
    s->best = choose(is_better, mul(scale, t->xl), s->best);
}

INLINE void signed_store_codes(const signed_lanes *s, const tare_blocks *b, size_t first, int size,
                               int top) {
    static const float origin[LANES] = {0};
    float inverse[LANES], offset[LANES];
    store(inverse, choose(s->is_zero, all(0), s->inverse));
    store(offset, choose(s->is_zero, all(0), all((float)top)));
    store_codes(b, first, size, inverse, origin, offset, (float)-top, (float)(top - 1));
}

INLINE void signed_store(const signed_lanes *s, const tare_blocks *b, size_t first, int size,
                         int top, bool keeps_codes) {
    store(b->scales + first, choose(s->is_zero, all(0), s->scale));
    if (keeps_codes) signed_store_codes(s, b, first, size, top);
    for (uint32_t odd = lanes_of(s->is_odd); odd; odd &= odd - 1) {
        size_t j = first + (size_t)__builtin_ctz(odd);
        if (j < b->n) tare_search_signed_of(b, j, top);
    }
}

/* Step -10 stands for the first candidate, which is that of 0. */
INLINE void signed_group(const tare_blocks *b, size_t first, int sides, int top, int size,
                         tare_weighing weighing, bool keeps_codes) {
    signed_data data[MOST_SIDES];
    signed_lanes lanes[MOST_SIDES];
    signed_sums sums[MOST_SIDES];
    for (int g = 0; g < sides; g++) {
        signed_start(&lanes[g], &data[g], b, first + (size_t)g * LANES, size, weighing);
        lanes[g].next = divide(all((float)-top), lanes[g].peak);
    }
    for (int step = -10; step <= 9; step++) {
        if (step == 0) continue;
        if (step > 4)
            signed_tally(sums, lanes, data, sides, size, top, true, true);
        else if (step > -6 || step == -10)
            signed_tally(sums, lanes, data, sides, size, top, true, false);
        else
            signed_tally(sums, lanes, data, sides, size, top, false, false);
        int next = step == -1 ? 1 : step + 1;
        for (int g = 0; g < sides; g++) {
            vec tried = lanes[g].next;
            lanes[g].next = divide(all(-((float)top + 0.1f * (float)next)), lanes[g].peak);
            if (step == -10) {
                signed_find_odd(&lanes[g], &sums[g]);
                signed_keep_first(&lanes[g], &sums[g], tried);
            } else {
                signed_keep(&lanes[g], &sums[g], tried, weighing == TARE_WEIGH_SQUARE);
            }
        }
    }
    for (int g = 0; g < sides; g++)
        signed_store(&lanes[g], b, first + (size_t)g * LANES, size, top, keeps_codes);
}

INLINE void signed_groups_of(const tare_blocks *b, int top, int size, tare_weighing weighing,
                             bool keeps_codes) {
    size_t first = 0;
    for (; b->n >= first + MOST_SIDES * LANES; first += MOST_SIDES * LANES)
        signed_group(b, first, MOST_SIDES, top, size, weighing, keeps_codes);
    for (; first < b->n; first += LANES)
        signed_group(b, first, 1, top, size, weighing, keeps_codes);
}

INLINE void signed_groups(const tare_blocks *b, int top, int size, tare_weighing weighing) {
    if (b->codes)
        signed_groups_of(b, top, size, weighing, true);
    else
        signed_groups_of(b, top, size, weighing, false);
}

static void search_signed(const tare_blocks *b, int top) {
    if (b->size == 16 && b->weighing == TARE_WEIGH_SQUARE)
        signed_groups(b, top, 16, TARE_WEIGH_SQUARE);
    else if (b->size == 16 && b->weighing == TARE_WEIGH_GIVEN)
        signed_groups(b, top, 16, TARE_WEIGH_GIVEN);
    else if (b->size == 16 && b->weighing == TARE_WEIGH_SPREAD)
        signed_groups(b, top, 16, TARE_WEIGH_SPREAD);
    else if (b->size == 32 && b->weighing == TARE_WEIGH_SPREAD)
        signed_groups(b, top, 32, TARE_WEIGH_SPREAD);
    else
        tare_searches_c.with_sign(b, top);
}

/* ---- moves ----------------------------------------------------------------------------------- */

typedef struct move_data {
    signed_data in;
    vec codes[16];
} move_data;

INLINE void moves_start(signed_sums *sum, signed_lanes *s, move_data *d, const tare_blocks *b,
                        size_t first, int top) {
    signed_start(s, &d->in, b, first, 16, TARE_WEIGH_SQUARE);
    vec inverse = divide(all((float)-top), s->peak);
    sum->xl = sum->ll = all(0);
    for (int i = 0; i < 16; i++) {
        vec l = round_small(clamp(mul(inverse, d->in.x[i]), (float)-top, (float)(top - 1)));
        d->codes[i] = l;
        sum->xl = add(sum->xl, mul(d->in.wx[i], l));
        sum->ll = add(sum->ll, mul(mul(d->in.w[i], l), l));
    }
    signed_find_odd(s, sum);
}

/* move_signed of the scalar search; where the code moved. */
INLINE mask move_code(vec *code, signed_sums *sum, vec x, vec w, vec wx, int top) {
    vec l = *code;
    vec xl = sub(sum->xl, mul(wx, l)), ll = sub(sum->ll, mul(mul(w, l), l));
    mask moves = is_below(all(0), xl);
    vec moved = to_floats(clamp_i(round_even(divide(mul(x, ll), xl)), -top, top - 1));
    moves = both(moves, differs(moved, l));
    xl = add(xl, mul(wx, moved));
    ll = add(ll, mul(mul(w, moved), moved));
    moves = both(moves, is_below(all(0), ll));
    moves = both(moves, is_below(mul(mul(sum->xl, sum->xl), ll), mul(mul(xl, xl), sum->ll)));
    *code = choose(moves, moved, l);
    sum->xl = choose(moves, xl, sum->xl);
    sum->ll = choose(moves, ll, sum->ll);
    return moves;
}

/* The codes of 16 elements a lane in rows. */
INLINE void store_lane_codes(uint8_t *codes, vec *lanes) {
    float rows[LANES * 16];
    for (int part = 0; part < 16; part += LANES) {
        transpose(lanes + part);
        for (int lane = 0; lane < LANES; lane++) store(rows + 16 * lane + part, lanes[part + lane]);
    }
    for (int i = 0; i < LANES * 16; i += 32) {
        block32 row;
        for (int v = 0; v < VECTORS; v++) row.v[v] = load(rows + i + v * LANES);
        store_32(codes + i, low_bytes(&row));
    }
}

INLINE void moves_store(const signed_sums *sum, const signed_lanes *s, move_data *d,
                        const tare_blocks *b, size_t first, int top) {
    mask is_solved = without(is_below(all(0), sum->ll), s->is_zero);
    store(b->scales + first, choose(is_solved, divide(sum->xl, sum->ll), all(0)));
    vec offset = choose(s->is_zero, all(0), all((float)top));
    for (int i = 0; i < 16; i++) d->codes[i] = add(d->codes[i], offset);
    store_lane_codes(b->codes + first * 16, d->codes);
    for (uint32_t odd = lanes_of(s->is_odd); odd; odd &= odd - 1) {
        size_t j = first + (size_t)__builtin_ctz(odd);
        if (j < b->n) tare_search_moves_of(b, j, top);
    }
}

/* A lane in which nothing moves stays as it is, however often it is processed again. */
INLINE void moves_group(const tare_blocks *b, size_t first, int sides, int top) {
    move_data data[MOST_SIDES];
    signed_lanes lanes[MOST_SIDES];
    signed_sums sums[MOST_SIDES];
    for (int g = 0; g < sides; g++)
        moves_start(&sums[g], &lanes[g], &data[g], b, first + (size_t)g * LANES, top);
    for (int round = 0; round < 5; round++) {
        mask has_moved = none();
        for (int i = 0; i < 16; i++)
            for (int g = 0; g < sides; g++) {
                const signed_data *in = &data[g].in;
                has_moved = either(has_moved, move_code(&data[g].codes[i], &sums[g], in->x[i],
                                                        in->w[i], in->wx[i], top));
            }
        if (!lanes_of(has_moved)) break;
    }
    for (int g = 0; g < sides; g++)
        moves_store(&sums[g], &lanes[g], &data[g], b, first + (size_t)g * LANES, top);
}

static void search_moves(const tare_blocks *b, int top) {
    size_t first = 0;
    for (; b->n >= first + MOST_SIDES * LANES; first += MOST_SIDES * LANES)
        moves_group(b, first, MOST_SIDES, top);
    for (; first < b->n; first += LANES) moves_group(b, first, 1, top);
}

#endif
