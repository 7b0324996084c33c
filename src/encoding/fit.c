/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of fits; see fit.h. */
#include "encoding/fit.h"

enum { LANES = TARE_FIT_LANES };

static inline void whole_levels(float *q, const float *x, float inverse, const tare_levels *l) {
    for (int k = 0; k < LANES; k++) q[k] = tare_round_clamped(x[k] * inverse, l->low, l->high);
}

static inline void uneven_levels(float *q, const float *x, float inverse, const tare_levels *l) {
    for (int k = 0; k < LANES; k++) q[k] = l->low;
    for (int m = 0; m < l->n_limits; m++)
        for (int k = 0; k < LANES; k++) q[k] += x[k] * inverse > l->limits[m] ? l->gaps[m] : 0;
}

typedef struct sums {
    float error[LANES], rq[LANES], qq[LANES];
} sums;

static inline void add(sums *s, const float *q, const float *x, const float *w, float scale) {
    for (int k = 0; k < LANES; k++) {
        float r = x[k] - scale * q[k];
        s->error[k] += w[k] * r * r;
        s->rq[k] += w[k] * r * q[k];
        s->qq[k] += w[k] * q[k] * q[k];
    }
}

tare_fit tare_fit_levels_c(const float *x, const float *weights, size_t n,
                           const tare_levels *levels, float scale) {
    float inverse = scale != 0 ? 1 / scale : 0, q[LANES];
    sums s = {0};
    if (levels->n_limits == 0) {
        for (size_t i = 0; i < n; i += LANES) {
            whole_levels(q, x + i, inverse, levels);
            add(&s, q, x + i, weights + i, scale);
        }
    } else {
        for (size_t i = 0; i < n; i += LANES) {
            uneven_levels(q, x + i, inverse, levels);
            add(&s, q, x + i, weights + i, scale);
        }
    }
    return (tare_fit){tare_sum_lanes(s.error), tare_sum_lanes(s.rq), tare_sum_lanes(s.qq)};
}
