/* SPDX-License-Identifier: MIT
 *
 * The search for the steps of a trellis that represent real numbers (docs/wcodec.md, 8 and 14): of
 * all paths through the states of each lane the one whose squared errors and bits together are
 * least. All arithmetic is that of IEEE floats in a fixed order, so every kernel finds the same
 * path. */
#ifndef TARE_WCODEC_SEARCH_H
#define TARE_WCODEC_SEARCH_H

#include "wcodec/wc_format.h"

enum {
    TARE_WC_SYMBOLS = 64,
    TARE_WC_SEARCH_STATES = 32, /* most */
    /* Numbers a trellis reaches: 4c + 1 and -(4c + 1) for c = -32 .. 31. */
    TARE_WC_TRELLIS_MOST = 125,
};

typedef struct tare_wc_search_job {
    uint8_t states;       /* 8 or 32 */
    uint32_t n_positions; /* a multiple of 64; lanes begin in state 0 */
    const float *numbers; /* in units of the values, between -2^10 and 2^10 */
    const float *weights; /* of the squared errors; NULL: 1 */
    /* What a symbol costs in each class, in squared units. */
    const float (*prices)[TARE_WC_SYMBOLS];
    const uint8_t *classes; /* one for each 256 positions; NULL: all 0 */
    uint32_t *choices;      /* room for one a position */
    int8_t *symbols;        /* room for four a position */
    int8_t *values;         /* result: one for each position */
} tare_wc_search_job;

/* Two states and symbol parities lead to each state. */
typedef struct tare_wc_arrivals {
    uint8_t state[TARE_WC_SEARCH_STATES][2];
    uint8_t kind[TARE_WC_SEARCH_STATES][2]; /* 2 * (whether values are negated) + parity */
} tare_wc_arrivals;

void tare_wc_arrivals_init(tare_wc_arrivals *a, unsigned states);
/* The last part of a search: from the best state of each lane (`costs`: of states, by lane) back
 * along the choices. */
void tare_wc_search_back(const tare_wc_search_job *job, const tare_wc_arrivals *a,
                         const float (*costs)[TARE_WC_LANES]);

#endif
