/* SPDX-License-Identifier: MIT
 *
 * The search through a trellis: what all instruction sets share, and the loops for any of them. */
#include "wcodec/wc_search.h"

#include "wcodec/wc_kernels.h"
#include "wcodec/wc_trellis.h"

static inline void look_up_prices(float *restrict out, const float *restrict prices,
                                  const int32_t *restrict symbols) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) out[i] = prices[symbols[i] & 63];
}

#include "wcodec/simd/wc_search_lanes.h"

void tare_wc_search_c(const tare_wc_search_job *job) {
    search_lanes(job);
}

void tare_wc_arrivals_init(tare_wc_arrivals *a, unsigned states) {
    uint8_t n[TARE_WC_SEARCH_STATES] = {0};
    for (uint8_t t = 0; t < states; t++)
        for (uint8_t parity = 0; parity < 2; parity++) {
            uint8_t next = tare_wc_trellis_next(states, t, parity);
            a->state[next][n[next]] = t;
            a->kind[next][n[next]++] = (uint8_t)(2 * (t & 1) + parity);
        }
}

void tare_wc_search_back(const tare_wc_search_job *job, const tare_wc_arrivals *a,
                         const float (*costs)[TARE_WC_LANES]) {
    uint8_t state[TARE_WC_LANES];
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        state[i] = 0;
        for (uint8_t t = 1; t < job->states; t++)
            if (costs[t][i] < costs[state[i]][i]) state[i] = t;
    }
    for (uint32_t p = job->n_positions; p > 0; p -= TARE_WC_LANES) {
        const uint32_t first = p - TARE_WC_LANES;
        const int8_t *symbols = job->symbols + 4 * (size_t)first;
        for (unsigned i = 0; i < TARE_WC_LANES; i++) {
            const unsigned choice = job->choices[first + i] >> state[i] & 1;
            const unsigned kind = a->kind[state[i]][choice];
            state[i] = a->state[state[i]][choice];
            const uint8_t symbol = (uint8_t)symbols[kind * TARE_WC_LANES + i];
            job->values[first + i] = (int8_t)tare_wc_trellis_value(state[i], symbol);
        }
    }
}
