/* SPDX-License-Identifier: MIT
 *
 * The searches of the IQ1 encoders: for the split of a sub-block's sorted elements into levels, and
 * for points of the codebook. There is one table for each instruction set; all give the same bytes
 * as the scalar one. */
#ifndef TARE_ENCODING_IQ1_SEARCH_H
#define TARE_ENCODING_IQ1_SEARCH_H

#include <stdbool.h>
#include <string.h>

#include "encoding/iq.h"
#include "encoding/kernels.h"

/* What the levels 0, 1, 2 stand for with the shift up and down. */
static const float tare_iq1_up[3] = {-1 + TARE_IQ1_SHIFT, TARE_IQ1_SHIFT, 1 + TARE_IQ1_SHIFT};
static const float tare_iq1_down[3] = {-1 - TARE_IQ1_SHIFT, -TARE_IQ1_SHIFT, 1 - TARE_IQ1_SHIFT};

/* A split: sorted elements below `first` are level 0, from `second` on level 2. `shift`: bit h says
 * that half h is shifted down (iq1_s: both bits alike). first is -1 where there is none. */
typedef struct tare_iq1_split {
    int first, second;
    unsigned shift;
    float scale, score;
} tare_iq1_split;

#define TARE_IQ1_LARGEST 3.40282347e+38f
#define TARE_IQ1_NO_SPLIT                                                                          \
    (tare_iq1_split) {                                                                             \
        -1, -1, 0, 0, -TARE_IQ1_LARGEST                                                            \
    }

/* Takes a split with these sums of products if it is better. */
static inline void tare_iq1_offer(tare_iq1_split *best, float qx, float qq, int first, int second,
                                  unsigned shift) {
    if (!(qq > 0 && qx * qx > best->score * qq)) return;
    *best = (tare_iq1_split){first, second, shift, qx / qq, 0};
    best->score = best->scale * qx;
}

/* iq1_m, by cut: the sums of weight * x and of weights over the sorted elements before it, of each
 * half; whole vectors are read from any of the 17 on. */
enum { TARE_IQ1_M_CUTS = 17, TARE_IQ1_M_ROOM = TARE_IQ1_M_CUTS + 16 };
typedef struct tare_iq1_totals {
    float x[2][TARE_IQ1_M_ROOM], w[2][TARE_IQ1_M_ROOM];
    float all_x[2][2], all_q[2][2]; /* of a half, shifted up and down: all at level 2 */
} tare_iq1_totals;

/* How far the square of a level is above that of the next, shifted up and down. */
static const float tare_iq1_steps[2][2] = {
    {1 - 2 * TARE_IQ1_SHIFT, -1 - 2 * TARE_IQ1_SHIFT},
    {1 + 2 * TARE_IQ1_SHIFT, -1 + 2 * TARE_IQ1_SHIFT},
};

static inline void tare_iq1_totals_fill(tare_iq1_totals *t, const float *x, const float *weights,
                                        const uint8_t *order) {
    memset(t, 0, sizeof *t);
    for (int j = 0; j + 1 < TARE_IQ1_M_CUTS; j++) {
        const int i = order[j], here = i >= 8, other = i < 8;
        t->x[here][j + 1] = t->x[here][j] + weights[i] * x[i];
        t->x[other][j + 1] = t->x[other][j];
        t->w[here][j + 1] = t->w[here][j] + weights[i];
        t->w[other][j + 1] = t->w[other][j];
    }
    for (int half = 0; half < 2; half++)
        for (int down = 0; down < 2; down++) {
            const float v = (down ? tare_iq1_down : tare_iq1_up)[2];
            t->all_x[half][down] = t->x[half][TARE_IQ1_M_CUTS - 1] * v;
            t->all_q[half][down] = t->w[half][TARE_IQ1_M_CUTS - 1] * v * v;
        }
}

/* The sums of products of a split; k counts pairs of shifts as ggml does: the higher bit is the
 * first half's. */
static inline void tare_iq1_totals_split(float *qx, float *qq, const tare_iq1_totals *t, int first,
                                         int second, unsigned k) {
    float half_x[2], half_q[2];
    for (int half = 0; half < 2; half++) {
        const unsigned down = half ? k & 1 : k >> 1;
        const float *x = t->x[half], *w = t->w[half], *steps = tare_iq1_steps[down];
        half_x[half] = t->all_x[half][down] - (x[first] + x[second]);
        half_q[half] = t->all_q[half][down] + w[first] * steps[0] + w[second] * steps[1];
    }
    *qx = half_x[0] + half_x[1];
    *qq = half_q[0] + half_q[1];
}

/* The same as ggml up to 0.21 summed them: anew for every split, over the sorted elements in order. */
static inline void tare_iq1_sums_anew(float *qx, float *qq, const float *x, const float *weights,
                                      const uint8_t *order, int first, int second, unsigned k) {
    *qx = *qq = 0;
    for (int j = 0; j + 1 < TARE_IQ1_M_CUTS; j++) {
        const int i = order[j], level = (j >= first) + (j >= second);
        const float w = weights[i];
        const float v = (k >> (i < 8) & 1 ? tare_iq1_down : tare_iq1_up)[level];
        *qx += w * v * x[i];
        *qq += w * v * v;
    }
}

typedef struct tare_iq1_searches {
    /* The elements by ascending value, equal ones as they stand; n is 16 or 32. */
    void (*sort)(uint8_t *order, const float *x, int n);
    /* iq1_s: the best of all splits of 32 elements. */
    tare_iq1_split (*split_s)(const float *x, const float *weights, const uint8_t *order);
    /* iq1_m: the same of 16 elements whose halves have shifts of their own. */
    tare_iq1_split (*split_m)(const float *x, const float *weights, const uint8_t *order);
    /* The same as ggml up to 0.21 found it. */
    tare_iq1_split (*split_m_older)(const float *x, const float *weights, const uint8_t *order);
    /* For eight levels the index of the point nearest to x at a scale; values: what levels stand
     * for. True: they are that point themselves. */
    bool (*place)(uint16_t *point, const uint8_t *levels, const float *x, const float *weights,
                  float scale, const float *values);
    const struct tare_iq1_searches *for_odd; /* what to use where numbers are not finite */
} tare_iq1_searches;

extern const tare_iq1_searches tare_iq1_searches_c;

void tare_encode_iq1_s(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq1_searches *by);
void tare_encode_iq1_m(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq1_searches *by);
/* As ggml up to 0.21. */
void tare_encode_iq1_m_older(const tare_rows_mut *dst, const float *src,
                             const tare_encode_params *params, const tare_iq1_searches *by);

/* encode_NAME and use_iq1_encoders for the table of kernels, on one table of searches. IQ1_S is for
 * importance only. */
#define TARE_DEFINE_IQ1_ENCODERS(by)                                                               \
    static void encode_iq1_s(const tare_rows_mut *dst, const float *src,                           \
                             const tare_encode_params *params) {                                   \
        tare_encode_iq1_s(dst, src, params, by);                                                   \
    }                                                                                              \
    static void encode_iq1_m(const tare_rows_mut *dst, const float *src,                           \
                             const tare_encode_params *params) {                                   \
        tare_encode_iq1_m(dst, src, params, by);                                                   \
    }                                                                                              \
    static void encode_iq1_m_older(const tare_rows_mut *dst, const float *src,                     \
                                   const tare_encode_params *params) {                             \
        tare_encode_iq1_m_older(dst, src, params, by);                                             \
    }                                                                                              \
    static void use_iq1_encoders(tare_kernels *k) {                                                \
        k->encode_weighted[TARE_ENCODING_IQ1_S] = encode_iq1_s;                                    \
        k->encode_older[TARE_ENCODING_IQ1_M] = encode_iq1_m_older;                                 \
        k->encode[TARE_ENCODING_IQ1_M] = k->encode_weighted[TARE_ENCODING_IQ1_M] = encode_iq1_m;   \
    }

#endif
