/* SPDX-License-Identifier: MIT
 *
 * The search for one scale of a long row or a whole tensor. */
#include "encoding/best_long.h"

enum { RUN = 256, ROUNDS = 3 };

typedef struct long_fit {
    double error, rq, qq; /* as of tare_fit */
} long_fit;

/* Weights are scaled to at most 1; a little is added, so that numbers of weight 0 get sensible
 * codes too. */
static float scaled(const tare_long *p, float weight) {
    return weight / p->heaviest + 0x1p-20f;
}

/* Weights from column *col on, which moves on. */
static void take_weights(float *weights, const tare_long *p, size_t n, size_t *col) {
    for (size_t i = 0; i < n; i++) {
        weights[i] = scaled(p, tare_get_f32(p->importance, *col));
        if (++*col == p->cols) *col = 0;
    }
}

static long_fit fit_long(const tare_long *p, float scale) {
    float copy[RUN], weights[RUN];
    tare_levels levels = {.low = p->low, .high = p->high};
    long_fit sum = {0, 0, 0};
    size_t col = 0;
    for (size_t i = 0; !p->importance && i < RUN; i++) weights[i] = scaled(p, 1);
    for (size_t at = 0; at < p->n; at += RUN) {
        size_t n = p->n - at < RUN ? p->n - at : RUN;
        size_t filled = (n + TARE_FIT_LANES - 1) / TARE_FIT_LANES * TARE_FIT_LANES;
        bool is_direct = p->is_direct && filled == n;
        if (p->importance) take_weights(weights, p, n, &col);
        for (size_t i = 0; !is_direct && i < n; i++) copy[i] = tare_long_at(p, at + i);
        for (size_t i = n; i < filled; i++) copy[i] = weights[i] = 0;
        const float *x = is_direct ? p->src + p->from + at : copy;
        tare_part part = {.x = x, .weights = weights, .n = filled, .form = &levels};
        tare_fit fit = tare_fit_levels(&part, scale);
        sum.error += (double)fit.error;
        sum.rq += (double)fit.rq;
        sum.qq += (double)fit.qq;
    }
    return sum;
}

double tare_long_error(const tare_long *p, float scale) {
    return fit_long(p, scale).error;
}

/* Tries a scale; returns the error at the lowest point for its codes. */
static double try_scale(tare_lowest *best, const tare_long *p, float scale) {
    long_fit fit = fit_long(p, scale);
    if (!(fit.qq > 0)) return fit.error;
    double shift = fit.rq / fit.qq, error = fit.error - shift * fit.rq;
    if (error < best->error) *best = (tare_lowest){error, (float)((double)scale + shift)};
    return error;
}

void tare_long_walk(tare_lowest *best, const tare_long *p, float from, float ratio, int n_steps) {
    for (int i = 0; i < n_steps; i++, from *= ratio)
        if (try_scale(best, p, from) > 1.5 * best->error) break;
}

void tare_long_converge(tare_lowest *best, const tare_long *p) {
    for (int i = 0; i < ROUNDS; i++) {
        float before = best->scale;
        try_scale(best, p, before);
        if (best->scale == before) break;
    }
}

bool tare_long_is_ordinary(tare_long *p, float largest) {
    double heaviest = 0;
    p->is_direct = (uintptr_t)p->src % sizeof *p->src == 0;
    for (size_t i = 0; i < p->n; i++) {
        float x = tare_get_f32(p->src, p->from + i);
        double w = tare_long_weight(p, i);
        if (!(fabsf(x) < INFINITY)) return false;
        p->is_direct &= tare_long_at(p, i) == x;
        if (!(w >= 0 && w < (double)INFINITY)) return false;
        if (w > heaviest) heaviest = w;
    }
    p->heaviest = (float)heaviest;
    return largest > 0x1p-40f && largest < 0x1p60f && p->heaviest > 0;
}
