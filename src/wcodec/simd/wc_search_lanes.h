/* SPDX-License-Identifier: MIT
 *
 * The search through a trellis, 64 lanes at a time: loops over lanes that compilers turn into
 * vectors of any width. A file of one instruction set defines first
 *
 *     look_up_prices(out, prices, symbols)    prices[symbols[i] & 63] of all lanes
 */
#ifndef TARE_WCODEC_SIMD_WC_SEARCH_LANES_H
#define TARE_WCODEC_SIMD_WC_SEARCH_LANES_H

#include "wcodec/simd/wc_block.h"
#include "wcodec/wc_search.h"

enum { KINDS = 4, SETTLE = 16 /* steps after which costs are brought back near 0 */ };

/* Adding and taking away 1.5 * 2^23 rounds to a whole number. */
static ALWAYS_INLINE float rounded(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

static ALWAYS_INLINE float within(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* One of the two symbols of a parity around each number, and its squared error. `other`: not the
 * nearest one but that on the number's other side, which may cost fewer bits. */
static ALWAYS_INLINE void weigh(float *restrict errors, int32_t *restrict symbols,
                                const float *restrict numbers, const float *restrict weights,
                                bool is_negated, unsigned parity, bool other) {
    const float low = parity ? -31.0f : -32.0f, high = parity ? 31.0f : 30.0f;
    const float sign = is_negated ? -1.0f : 1.0f, p = (float)parity;
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        float x = sign * numbers[i], place = (x - 1.0f) * 0.25f;
        float c = 2.0f * rounded((place - p) * 0.5f) + p;
        if (other) c = c + (place > c ? 2.0f : -2.0f);
        c = within(c, low, high);
        float e = x - (4.0f * c + 1.0f);
        errors[i] = weights[i] * (e * e);
        symbols[i] = (int32_t)c;
    }
}

/* The cheaper of the two. */
static ALWAYS_INLINE void take_cheaper(float *restrict cost, int8_t *restrict symbol,
                                       const float *restrict errors,
                                       const int32_t *restrict symbols,
                                       const float *restrict prices, const float *restrict errors_2,
                                       const int32_t *restrict symbols_2,
                                       const float *restrict prices_2) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        float a = errors[i] + prices[i], b = errors_2[i] + prices_2[i];
        cost[i] = b < a ? b : a;
        symbol[i] = (int8_t)(b < a ? symbols_2[i] : symbols[i]);
    }
}

/* What a step costs, by kind (tare_wc_arrivals). */
static ALWAYS_INLINE void price_step(float costs[KINDS][TARE_WC_LANES], int8_t *symbols,
                                     const float *numbers, const float *weights,
                                     const float *prices) {
    float errors[2][TARE_WC_LANES], bits[2][TARE_WC_LANES];
    int32_t found[2][TARE_WC_LANES];
    for (unsigned kind = 0; kind < KINDS; kind++) {
        weigh(errors[0], found[0], numbers, weights, kind >> 1, kind & 1, false);
        weigh(errors[1], found[1], numbers, weights, kind >> 1, kind & 1, true);
        look_up_prices(bits[0], prices, found[0]);
        look_up_prices(bits[1], prices, found[1]);
        take_cheaper(costs[kind], symbols + kind * TARE_WC_LANES, errors[0], found[0], bits[0],
                     errors[1], found[1], bits[1]);
    }
}

static ALWAYS_INLINE void arrive(float *restrict to, uint32_t *restrict choices,
                                 const float *restrict from_a, const float *restrict cost_a,
                                 const float *restrict from_b, const float *restrict cost_b,
                                 uint32_t bit) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        float a = from_a[i] + cost_a[i], b = from_b[i] + cost_b[i];
        choices[i] |= b < a ? bit : 0;
        to[i] = b < a ? b : a;
    }
}

static ALWAYS_INLINE void settle(float (*costs)[TARE_WC_LANES], unsigned states) {
    float least[TARE_WC_LANES];
    for (unsigned i = 0; i < TARE_WC_LANES; i++) least[i] = costs[0][i];
    for (unsigned t = 1; t < states; t++)
        for (unsigned i = 0; i < TARE_WC_LANES; i++)
            least[i] = costs[t][i] < least[i] ? costs[t][i] : least[i];
    for (unsigned t = 0; t < states; t++)
        for (unsigned i = 0; i < TARE_WC_LANES; i++) costs[t][i] -= least[i];
}

static ALWAYS_INLINE void search_lanes(const tare_wc_search_job *job) {
    float costs[2][TARE_WC_SEARCH_STATES][TARE_WC_LANES], step[KINDS][TARE_WC_LANES];
    float ones[TARE_WC_LANES];
    tare_wc_arrivals a;
    unsigned now = 0;
    tare_wc_arrivals_init(&a, job->states);
    for (unsigned i = 0; i < TARE_WC_LANES; i++) ones[i] = 1.0f;
    for (unsigned t = 0; t < job->states; t++)
        for (unsigned i = 0; i < TARE_WC_LANES; i++) costs[0][t][i] = t ? 1e30f : 0.0f;
    for (uint32_t p = 0; p < job->n_positions; p += TARE_WC_LANES) {
        unsigned class = job->classes ? job->classes[p / TARE_WC_CLASS_RUN] : 0;
        uint32_t *choices = job->choices + p;
        price_step(step, job->symbols + KINDS * (size_t)p, job->numbers + p,
                   job->weights ? job->weights + p : ones, job->prices[class]);
        for (unsigned i = 0; i < TARE_WC_LANES; i++) choices[i] = 0;
        for (unsigned t = 0; t < job->states; t++)
            arrive(costs[!now][t], choices, costs[now][a.state[t][0]], step[a.kind[t][0]],
                   costs[now][a.state[t][1]], step[a.kind[t][1]], UINT32_C(1) << t);
        now = !now;
        if (p / TARE_WC_LANES % SETTLE == SETTLE - 1) settle(costs[now], job->states);
    }
    tare_wc_search_back(job, &a, (const float(*)[TARE_WC_LANES])costs[now]);
}

#endif
