/* SPDX-License-Identifier: MIT
 *
 * The searches of iq1_search.h in vectors: the places where a split can have its second cut have a
 * lane each. Every sum is taken in the order of the scalar search, and splits are compared in its
 * order, too. Written on the names of lanes_avx2.h or lanes_avx512.h. */
#ifndef TARE_ENCODING_SIMD_SEARCH_SPLITS_H
#define TARE_ENCODING_SIMD_SEARCH_SPLITS_H

#include <string.h>

#include "encoding/iq1_search.h"
#include "encoding/simd/nearest_point.h"

/* An element's rank is the number of those that are less, or equal and stand before it. */
INLINE void sort_ranks(uint8_t *order, const float *x, int n) {
    uint32_t ranks[LANES];
    for (int i = 0; i < n; i += LANES) {
        vec here = load(x + i), number = add(load(counting), all((float)i));
        ivec rank = all_i(0);
        for (int j = 0; j < n; j++) {
            vec other = all(x[j]);
            mask is_before = both(is_at_most(other, here), is_below(all((float)j), number));
            rank = count_where(either(is_below(other, here), is_before), rank);
        }
        store_i(ranks, rank);
        for (int lane = 0; lane < LANES; lane++) order[ranks[lane]] = (uint8_t)(i + lane);
    }
}

static void sort_elements(uint8_t *order, const float *x, int n) {
    if (n == 16)
        sort_ranks(order, x, 16);
    else
        sort_ranks(order, x, 32);
}

/* About qx^2 / qq of all splits, in the order of the scalar search: by first cut, then by second
 * cut in vectors of lanes, then by shifts, of which there are some kinds. */
enum { MOST_KINDS = 4, MOST_SPLITS = 96 };
typedef struct splits {
    int n, kinds;
    vec ratios[MOST_SPLITS][MOST_KINDS];
    int first[MOST_SPLITS], second[MOST_SPLITS]; /* the latter of lane 0 */
    vec peaks;
} splits;

INLINE void splits_start(splits *s, int kinds) {
    s->n = 0;
    s->kinds = kinds;
    s->peaks = all(0);
}

/* Splits of one first cut; only some lanes are valid. */
INLINE void splits_add(splits *s, const vec *qx, const vec *qq, int first, int second, mask valid) {
    for (int k = 0; k < s->kinds; k++) {
        vec ratio = choose(valid, divide_roughly(mul(qx[k], qx[k]), qq[k]), all(0));
        s->peaks = max_of(ratio, s->peaks);
        s->ratios[s->n][k] = ratio;
    }
    s->first[s->n] = first;
    s->second[s->n++] = second;
}

/* Splits that come near to the best, with their exact sums. */
enum { MOST_NEAR = 32 };
typedef struct near_split {
    int first, second, kind;
    float qx, qq;
} near_split;

/* Finds them; their number, or -1 where there are too many. */
INLINE int splits_near(near_split *near, const splits *s) {
    vec low = mul(negative(least_across(negative(s->peaks))), all(1 - 0x1p-9f));
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        mask is_near = none();
        for (int k = 0; k < s->kinds; k++)
            is_near = either(is_near, is_at_most(low, s->ratios[i][k]));
        for (uint32_t lanes = lanes_of(is_near); lanes; lanes &= lanes - 1) {
            int lane = __builtin_ctz(lanes);
            for (int k = 0; k < s->kinds; k++) {
                if (!(lanes_of(is_at_most(low, s->ratios[i][k])) >> lane & 1)) continue;
                if (n == MOST_NEAR) return -1;
                near[n++] = (near_split){s->first[i], s->second[i] + lane, k, 0, 0};
            }
        }
    }
    return n;
}

/* A split is taken for better by qx^2 / qq, but for the last bits. So if no split is near to some
 * threshold, those below it do not change which of the others is taken in the end: the first of
 * these is taken whatever came before. With a threshold just below the peak hardly any are left to
 * offer. `sum` is that of the weights, at most 64 times any qq. False: the threshold is not clear,
 * or numbers are so large or small that products may be off by more than their last bits. */
INLINE bool splits_take(tare_iq1_split *best, const near_split *near, int n, float sum,
                        const unsigned *shifts) {
    float peak = 0;
    for (int i = 0; i < n; i++) {
        float ratio = near[i].qx * near[i].qx / near[i].qq;
        peak = ratio > peak ? ratio : peak;
    }
    float low = peak * (1 - 0x1p-17f), high = peak * (1 - 0x1p-18f), product = peak * sum;
    if (!(sum > 1e-30f && sum < 1e30f && product > 1e-30f && product < 1e30f)) return false;
    *best = TARE_IQ1_NO_SPLIT;
    for (int i = 0; i < n; i++) {
        float xx = near[i].qx * near[i].qx;
        if (!(xx > low * near[i].qq)) continue;
        if (!(xx > high * near[i].qq)) return false;
        tare_iq1_offer(best, near[i].qx, near[i].qq, near[i].first, near[i].second,
                       shifts[near[i].kind]);
    }
    return best->first >= 0;
}

INLINE float sum_of_weights(const float *weights, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        if (!(weights[i] >= 0)) return 0;
        sum += weights[i];
    }
    return sum;
}

/* ---- iq1_s ----------------------------------------------------------------------------------- */

/* By second cut; whole vectors may be read starting at any of the 33. */
enum { CUTS_S = 33, ROOM_S = CUTS_S + LANES };
typedef struct split_sums {
    float x[ROOM_S], w[ROOM_S];                 /* running totals */
    float tail_x[2][ROOM_S], tail_q[2][ROOM_S]; /* what level 2 adds, shifted up and down */
    float head_x[2][CUTS_S], head_q[2][CUTS_S]; /* what level 0 adds, by first cut */
} split_sums;

INLINE void split_sums_fill(split_sums *s, const float *x, const float *weights,
                            const uint8_t *order) {
    memset(s, 0, sizeof *s);
    for (int j = 0; j < 32; j++) {
        int i = order[j];
        s->x[j + 1] = s->x[j] + weights[i] * x[i];
        s->w[j + 1] = s->w[j] + weights[i];
    }
    for (int down = 0; down < 2; down++) {
        const float *v = down ? tare_iq1_down : tare_iq1_up;
        for (int j = 0; j < CUTS_S; j++) {
            s->head_x[down][j] = (s->x[j] - s->x[0]) * v[0];
            s->head_q[down][j] = (s->w[j] - s->w[0]) * v[0] * v[0];
            s->tail_x[down][j] = (s->x[32] - s->x[j]) * v[2];
            s->tail_q[down][j] = (s->w[32] - s->w[j]) * v[2] * v[2];
        }
    }
}

INLINE void split_sums_near(near_split *near, const split_sums *s) {
    int first = near->first, second = near->second, down = near->kind;
    float mean = (down ? tare_iq1_down : tare_iq1_up)[1];
    near->qx = s->head_x[down][first] + (s->x[second] - s->x[first]) * mean;
    near->qx += s->tail_x[down][second];
    near->qq = s->head_q[down][first] + (s->w[second] - s->w[first]) * mean * mean;
    near->qq += s->tail_q[down][second];
}

static tare_iq1_split split_32(const float *x, const float *weights, const uint8_t *order) {
    static const unsigned shifts[2] = {0, 3};
    tare_iq1_split best;
    near_split near[MOST_NEAR];
    splits found;
    split_sums s;
    splits_start(&found, 2);
    split_sums_fill(&s, x, weights, order);
    for (int first = 0; first < CUTS_S; first++)
        for (int second = first; second < CUTS_S; second += LANES) {
            vec middle_x = sub(load(s.x + second), all(s.x[first]));
            vec middle_w = sub(load(s.w + second), all(s.w[first])), qx[2], qq[2];
            for (int down = 0; down < 2; down++) {
                vec mean = all((down ? tare_iq1_down : tare_iq1_up)[1]);
                qx[down] = add(all(s.head_x[down][first]), mul(middle_x, mean));
                qx[down] = add(qx[down], load(s.tail_x[down] + second));
                qq[down] = add(all(s.head_q[down][first]), mul(mul(middle_w, mean), mean));
                qq[down] = add(qq[down], load(s.tail_q[down] + second));
            }
            mask valid = is_below(load(counting), all((float)(CUTS_S - second)));
            splits_add(&found, qx, qq, first, second, valid);
        }
    int n = splits_near(near, &found);
    for (int i = 0; i < n; i++) split_sums_near(&near[i], &s);
    if (splits_take(&best, near, n, sum_of_weights(weights, 32), shifts)) return best;
    return tare_iq1_searches_c.split_s(x, weights, order);
}

/* ---- iq1_m ----------------------------------------------------------------------------------- */

/* The sums of one half for one first cut, by second cut. */
INLINE void half_sums(vec *qx, vec *qq, const tare_iq1_totals *t, int half, int down, int first,
                      int second) {
    const float *steps = tare_iq1_steps[down];
    vec sum_x = add(all(t->x[half][first]), load(t->x[half] + second));
    *qx = sub(all(t->all_x[half][down]), sum_x);
    *qq = add(all(t->all_q[half][down] + t->w[half][first] * steps[0]),
              mul(load(t->w[half] + second), all(steps[1])));
}

/* The best split by exact sums, of those that come near to it. `is_older`: these are taken anew. */
INLINE tare_iq1_split split_halves(const float *x, const float *weights, const uint8_t *order,
                                   bool is_older) {
    static const unsigned shifts[4] = {0, 2, 1, 3};
    tare_iq1_split best;
    near_split near[MOST_NEAR + 4];
    splits found;
    tare_iq1_totals t;
    splits_start(&found, 4);
    tare_iq1_totals_fill(&t, x, weights, order);
    /* Second cuts from 1 on, so that 16 lanes hold them; both cuts at 0, the first split, is always
     * examined. */
    for (int first = 0; first < TARE_IQ1_M_CUTS; first++)
        for (int second = first ? first : 1; second < TARE_IQ1_M_CUTS; second += LANES) {
            vec half_x[2][2], half_q[2][2], qx[4], qq[4];
            for (int i = 0; i < 4; i++)
                half_sums(&half_x[i / 2][i % 2], &half_q[i / 2][i % 2], &t, i / 2, i % 2, first,
                          second);
            for (int k = 0; k < 4; k++) {
                qx[k] = add(half_x[0][k >> 1], half_x[1][k & 1]);
                qq[k] = add(half_q[0][k >> 1], half_q[1][k & 1]);
            }
            mask valid = is_below(load(counting), all((float)(TARE_IQ1_M_CUTS - second)));
            splits_add(&found, qx, qq, first, second, valid);
        }
    for (int k = 0; k < 4; k++) near[k] = (near_split){0, 0, k, 0, 0};
    int n = splits_near(near + 4, &found);
    for (int i = 0; i < n + 4; i++)
        if (is_older)
            tare_iq1_sums_anew(&near[i].qx, &near[i].qq, x, weights, order, near[i].first,
                               near[i].second, (unsigned)near[i].kind);
        else
            tare_iq1_totals_split(&near[i].qx, &near[i].qq, &t, near[i].first, near[i].second,
                                  (unsigned)near[i].kind);
    if (n >= 0 && splits_take(&best, near, n + 4, sum_of_weights(weights, 16), shifts)) return best;
    return (is_older ? tare_iq1_searches_c.split_m_older : tare_iq1_searches_c.split_m)(x, weights,
                                                                                        order);
}

static tare_iq1_split split_16(const float *x, const float *weights, const uint8_t *order) {
    return split_halves(x, weights, order, false);
}

static tare_iq1_split split_16_older(const float *x, const float *weights, const uint8_t *order) {
    return split_halves(x, weights, order, true);
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool place_eight(uint16_t *point, const uint8_t *levels, const float *x,
                        const float *weights, float scale, const float *values) {
    const tare_point_lists *lists = tare_point_lists_get(TARE_LATTICE_IQ1);
    uint32_t packed = 0;
    for (int i = 0; i < 8; i++) packed |= (uint32_t)levels[i] << 2 * i;
    int32_t entry = lists->entries[packed];
    bool is_point = entry < 0;
    if (!is_point) {
        float costs[GROUP_VALUES];
        for (int i = 0; i < 8; i++)
            for (int l = 0; l < 4; l++) {
                float diff = scale * values[l < 3 ? l : 0] - x[i];
                costs[4 * i + l] = weights[i] * diff * diff;
            }
        packed = nearest_point(tare_point_list(lists, entry), tare_point_list_length(entry), costs,
                               (points_form){8, 2, 3});
        entry = lists->entries[packed];
    }
    *point = (uint16_t)(-1 - entry);
    return is_point;
}

#endif
