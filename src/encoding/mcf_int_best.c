/* SPDX-License-Identifier: MIT
 *
 * The searching encoders of MCF's types with one scale for a whole tensor: the same format as the
 * default's, a smaller error. Scales are walked down from the default's in wide steps and around
 * the best one in narrow ones; with a zero point, others near it are tried then. */
#include "encoding/best_long.h"
#include "encoding/mcf_blocks.h"

/* The levels under a zero point. */
static void set_zero(tare_long *p, const tare_mcf_grid *g, float zero) {
    p->low = (float)g->low - zero;
    p->high = (float)g->top - zero;
}

/* Takes another zero point if it is better. */
static void try_zero(tare_lowest *best, tare_mcf_grid *g, tare_long *p, float zero) {
    tare_lowest found = {(double)INFINITY, best->scale};
    if (zero < (float)g->low || zero > (float)g->top) return;
    set_zero(p, g, zero);
    tare_long_walk(&found, p, best->scale * 1.06f, 0.99f, 12);
    if (!(found.error < best->error)) return;
    *best = found;
    g->zero = zero;
}

static tare_mcf_grid search(const tare_mcf_grid *plain, tare_long *p, bool has_zero) {
    tare_mcf_grid g = *plain;
    tare_lowest best = {(double)INFINITY, g.scale};
    set_zero(p, &g, g.zero);
    tare_long_walk(&best, p, g.scale * 1.05f, 0.95f, 128);
    tare_long_walk(&best, p, best.scale * 1.06f, 0.994f, 20);
    for (int step = (g.top + 1) / 4; has_zero && step > 0; step /= 2) {
        float zero = g.zero;
        try_zero(&best, &g, p, zero - (float)step);
        try_zero(&best, &g, p, zero + (float)step);
    }
    set_zero(p, &g, g.zero);
    tare_long_converge(&best, p);
    g.scale = best.scale;
    return g;
}

/* The weighted squared error of what the codes of a grid decode to. */
static double stored_error(const tare_long *p, const tare_mcf_grid *g) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        float x = tare_long_at(p, i);
        double d = (double)(g->scale * ((float)tare_mcf_int_code(g, x) - g->zero)) - (double)x;
        sum += tare_long_weight(p, i) * (d * d);
    }
    return sum;
}

/* Never worse than the default encoder, to which non-finite numbers and invalid weights are left.
 */
static void encode_best(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, int bits, bool has_zero) {
    size_t n = tare_rows_mut_count(dst);
    tare_mcf_grid g = tare_mcf_int_grid(src, n, params, bits, has_zero);
    tare_long p = {.src = src,
                   .importance = params ? params->importance : NULL,
                   .n = n,
                   .cols = (size_t)dst->cols,
                   .min = g.min,
                   .max = g.max};
    if (tare_long_is_ordinary(&p, fmaxf(-g.min, g.max))) {
        tare_mcf_grid found = search(&g, &p, has_zero);
        if (found.scale > 0 && found.scale < INFINITY &&
            stored_error(&p, &found) < stored_error(&p, &g))
            g = found;
    }
    tare_mcf_int_put(dst, src, &g, bits, has_zero);
}

#define DEFINE_BEST(name, ID, bits, has_zero)                                                      \
    static void best_##name(const tare_rows_mut *dst, const float *src,                            \
                            const tare_encode_params *params) {                                    \
        encode_best(dst, src, params, bits, has_zero);                                             \
    }
TARE_MCF_INTS(DEFINE_BEST)

#define USE_BEST(name, ID, bits, has_zero) k->encode_best[TARE_ENCODING_##ID] = best_##name;
void tare_kernels_init_mcf_int_best(tare_kernels *k) {
    TARE_MCF_INTS(USE_BEST)
}
