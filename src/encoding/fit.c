/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of fits; see fit.h. */
#include "encoding/fit.h"

#include "base/bytes.h"

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

/* The nearest E4M3, halves to even. */
static inline float e4m3(float t) {
    t = t > -TARE_E4M3_LAST ? t : -TARE_E4M3_LAST;
    t = t < TARE_E4M3_LAST ? t : TARE_E4M3_LAST;
    const float power = tare_f32_of_bits(tare_f32_bits(t) & 0x7f800000u);
    const float magic = (power > TARE_E4M3_NORMAL ? power : TARE_E4M3_NORMAL) * TARE_E4M3_MAGIC;
    return (t + magic) - magic;
}

float tare_fit_e4m3_c(const float *x, const float *weights, size_t n, float scale) {
    const float inverse = 1 / scale;
    float error[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const float r = x[i + (size_t)k] - scale * e4m3(x[i + (size_t)k] * inverse);
            error[k] += weights[i + (size_t)k] * r * r;
        }
    return tare_sum_lanes(error);
}

void tare_fit_line_c(tare_line_fit *out, const float *x, const float *weights, size_t n, float top,
                     float scale, float offset) {
    float error[LANES] = {0}, rq[LANES] = {0}, r1[LANES] = {0}, qq[LANES] = {0}, q1[LANES] = {0};
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (size_t i = 0; i < n; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const float v = x[i + k], w = weights[i + k];
            const float q = tare_round_clamped((v - offset) * inverse, 0, top);
            const float r = v - (scale * q + offset), wr = w * r, wq = w * q;
            error[k] += wr * r;
            rq[k] += wr * q;
            r1[k] += wr;
            qq[k] += wq * q;
            q1[k] += wq;
        }
    out->error = tare_sum_lanes(error);
    out->rq = tare_sum_lanes(rq);
    out->r1 = tare_sum_lanes(r1);
    out->qq = tare_sum_lanes(qq);
    out->q1 = tare_sum_lanes(q1);
}
