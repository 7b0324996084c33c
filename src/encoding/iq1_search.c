/* SPDX-License-Identifier: MIT
 *
 * The scalar searches of the IQ1 encoders. All f32 operations are in ggml's order. */
#include "encoding/iq1_search.h"

#include "encoding/lattice.h"

static void sort(uint8_t *order, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && x[order[at - 1]] > x[i]; at--) order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

/* Sums over runs of the sorted elements come from running totals. */
static tare_iq1_split split_s(const float *x, const float *weights, const uint8_t *order) {
    enum { N = 32 };
    float sx[N + 1] = {0}, sw[N + 1] = {0};
    for (int j = 0; j < N; j++) {
        int i = order[j];
        sx[j + 1] = sx[j] + weights[i] * x[i];
        sw[j + 1] = sw[j] + weights[i];
    }
    tare_iq1_split best = TARE_IQ1_NO_SPLIT;
    for (int first = 0; first <= N; first++)
        for (int second = first; second <= N; second++)
            for (unsigned down = 0; down < 2; down++) {
                const float *v = down ? tare_iq1_down : tare_iq1_up;
                float qx = (sx[first] - sx[0]) * v[0] + (sx[second] - sx[first]) * v[1] +
                           (sx[N] - sx[second]) * v[2];
                float qq = (sw[first] - sw[0]) * v[0] * v[0] +
                           (sw[second] - sw[first]) * v[1] * v[1] +
                           (sw[N] - sw[second]) * v[2] * v[2];
                tare_iq1_offer(&best, qx, qq, first, second, down * 3);
            }
    return best;
}

/* The halves have running totals of their own. As levels of one shift are 1 apart, the three sums of
 * a split fold into its total at level 2 and the running totals at both cuts. */
static tare_iq1_split split_m(const float *x, const float *weights, const uint8_t *order) {
    enum { N = TARE_IQ1_M_CUTS - 1 };
    tare_iq1_totals t;
    tare_iq1_split best = TARE_IQ1_NO_SPLIT;
    tare_iq1_totals_fill(&t, x, weights, order);
    for (int first = 0; first <= N; first++)
        for (int second = first; second <= N; second++)
            for (unsigned k = 0; k < 4; k++) {
                float qx, qq;
                tare_iq1_totals_split(&qx, &qq, &t, first, second, k);
                tare_iq1_offer(&best, qx, qq, first, second, k >> 1 | (k & 1) << 1);
            }
    return best;
}

static tare_iq1_split split_m_older(const float *x, const float *weights, const uint8_t *order) {
    enum { N = TARE_IQ1_M_CUTS - 1 };
    tare_iq1_split best = TARE_IQ1_NO_SPLIT;
    for (int first = 0; first <= N; first++)
        for (int second = first; second <= N; second++)
            for (unsigned k = 0; k < 4; k++) {
                float qx, qq;
                tare_iq1_sums_anew(&qx, &qq, x, weights, order, first, second, k);
                tare_iq1_offer(&best, qx, qq, first, second, k >> 1 | (k & 1) << 1);
            }
    return best;
}

/* The point of a list nearest to the values at this scale. */
static uint16_t nearest_point(const tare_lattice *l, const uint16_t *list, const float *x,
                              const float *weights, float scale, const float *values) {
    uint16_t best = list[1];
    float least = TARE_IQ1_LARGEST;
    for (uint32_t j = 1; j <= list[0]; j++) {
        float sum = 0;
        for (int i = 0; i < 8; i++) {
            float diff = scale * values[tare_lattice_level(l, list[j], i)] - x[i];
            sum += weights[i] * diff * diff;
        }
        if (sum < least) {
            least = sum;
            best = list[j];
        }
    }
    return best;
}

static bool place(uint16_t *point, const uint8_t *levels, const float *x, const float *weights,
                  float scale, const float *values) {
    const tare_lattice *l = tare_lattice_get(TARE_LATTICE_IQ1);
    int32_t at = l->at[tare_lattice_place(l, levels)];
    *point =
        at >= 0 ? (uint16_t)at : nearest_point(l, l->near + (-1 - at), x, weights, scale, values);
    return at >= 0;
}

const tare_iq1_searches tare_iq1_searches_c = {sort,          split_s, split_m,
                                               split_m_older, place,   &tare_iq1_searches_c};
