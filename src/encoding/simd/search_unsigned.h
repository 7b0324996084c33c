/* SPDX-License-Identifier: MIT
 *
 * tare_search_unsigned with one block a lane. Its blocks are short and few, and their numbers come
 * from a search: every rounding is the exact one. */
#ifndef TARE_ENCODING_SIMD_SEARCH_UNSIGNED_H
#define TARE_ENCODING_SIMD_SEARCH_UNSIGNED_H

#include <string.h>

#include "encoding/simd/search_lanes.h"

typedef struct unsigned_data {
    vec x[LARGEST], w[LARGEST];
    ivec codes[LARGEST];
} unsigned_data;

typedef struct unsigned_sums {
    vec xl, ll;
} unsigned_sums;

/* As load_blocks, for blocks shorter than a vector too. */
INLINE void load_short(vec *x, const float *from, int size) {
    float rows[LARGEST * LANES];
    for (int i = 0; i < size; i++) {
        for (int lane = 0; lane < LANES; lane++) rows[i * LANES + lane] = from[lane * size + i];
        x[i] = load(rows + i * LANES);
    }
}

/* The first candidate is stored in bytes without a clamp, hence wraps. */
INLINE vec unsigned_error(const unsigned_data *d, int size, int top, vec inverse, bool wraps) {
    vec scale = divide(all(1), inverse), sum = all(0);
    for (int i = 0; i < size; i++) {
        ivec l = round_even(mul(inverse, d->x[i]));
        l = wraps ? and_i(l, all_i(0xff)) : min_signed(l, all_i((uint32_t)top));
        vec diff = sub(d->x[i], mul(scale, to_floats(l)));
        sum = add(sum, mul(mul(d->w[i], diff), diff));
    }
    return sum;
}

INLINE vec unsigned_best_inverse(const unsigned_data *d, int size, int top, vec max) {
    vec inverse = divide(all((float)top), max);
    vec best = unsigned_error(d, size, top, inverse, true);
    for (int step = -4; step <= 4; step++) {
        if (step == 0) continue;
        vec tried = divide(all(0.1f * (float)step + (float)top), max);
        vec error = unsigned_error(d, size, top, tried, false);
        mask is_better = is_below(error, best);
        best = choose(is_better, error, best);
        inverse = choose(is_better, tried, inverse);
    }
    return inverse;
}

/* move_unsigned of the scalar search; where the code moved. */
INLINE mask move_short(ivec *code, unsigned_sums *sum, vec x, vec w, int top) {
    vec l = to_floats(*code), wx = mul(w, x);
    vec xl = sub(sum->xl, mul(wx, l)), ll = sub(sum->ll, mul(mul(w, l), l));
    mask moves = both(is_below(all(0), xl), is_below(all(0), ll));
    ivec moved = min_signed(round_even(divide(mul(x, ll), xl)), all_i((uint32_t)top));
    vec moved_f = to_floats(moved);
    moves = both(moves, differs(moved_f, l));
    xl = add(xl, mul(wx, moved_f));
    ll = add(ll, mul(mul(w, moved_f), moved_f));
    moves = both(moves, is_below(mul(mul(sum->xl, sum->xl), ll), mul(mul(xl, xl), sum->ll)));
    ivec byte = and_i(moved, all_i(0xff));
    *code = bits_of(choose(moves, of_bits(byte), of_bits(*code)));
    sum->xl = choose(moves, xl, sum->xl);
    sum->ll = choose(moves, ll, sum->ll);
    return moves;
}

INLINE void unsigned_moves(unsigned_data *d, unsigned_sums *sum, int size, int top) {
    for (int round = 0; round < 5; round++) {
        mask has_moved = none();
        for (int i = 0; i < size; i++)
            has_moved = either(has_moved, move_short(&d->codes[i], sum, d->x[i], d->w[i], top));
        if (!lanes_of(has_moved)) break;
    }
}

INLINE void store_short(uint8_t *codes, const ivec *lanes, int size, uint32_t is_zero) {
    uint32_t row[LANES];
    for (int i = 0; i < size; i++) {
        store_i(row, lanes[i]);
        for (int lane = 0; lane < LANES; lane++)
            codes[lane * size + i] = is_zero >> lane & 1 ? 0 : (uint8_t)row[lane];
    }
}

INLINE void unsigned_group(const tare_blocks *b, size_t first, int size, int top) {
    unsigned_data d;
    unsigned_sums sum = {all(0), all(0)};
    vec max = all(0), odd = all(0);
    load_short(d.x, b->x + first * (size_t)size, size);
    load_short(d.w, b->importance + first * (size_t)size, size);
    for (int i = 0; i < size; i++) {
        max = max_of(max, d.x[i]);
        odd = add(odd, mul(d.w[i], d.x[i]));
    }
    mask is_odd = opposite(is_finite(odd));
    mask is_zero = either(is_below(max, all(TARE_SEARCH_ZERO)), is_odd);
    vec inverse = unsigned_best_inverse(&d, size, top, choose(is_zero, all(1), max));
    for (int i = 0; i < size; i++) {
        ivec l = min_signed(round_even(mul(inverse, d.x[i])), all_i((uint32_t)top));
        vec f = to_floats(l);
        d.codes[i] = and_i(l, all_i(0xff));
        sum.xl = add(sum.xl, mul(mul(d.w[i], d.x[i]), f));
        sum.ll = add(sum.ll, mul(mul(d.w[i], f), f));
    }
    unsigned_moves(&d, &sum, size, top);
    mask is_solved = without(is_below(all(0), sum.ll), is_zero);
    store(b->scales + first, choose(is_solved, divide(sum.xl, sum.ll), all(0)));
    store_short(b->codes + first * (size_t)size, d.codes, size, lanes_of(is_zero));
    for (uint32_t lanes = lanes_of(is_odd); lanes; lanes &= lanes - 1) {
        size_t j = first + (size_t)__builtin_ctz(lanes);
        if (j < b->n) tare_search_unsigned_of(b, j, top);
    }
}

static void search_unsigned(const tare_blocks *b, int top) {
    for (size_t first = 0; first < b->n; first += LANES)
        if (b->size == 8)
            unsigned_group(b, first, 8, top);
        else if (b->size == 16)
            unsigned_group(b, first, 16, top);
        else
            unsigned_group(b, first, 32, top);
}

#endif
