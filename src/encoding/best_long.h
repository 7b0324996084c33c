/* SPDX-License-Identifier: MIT
 *
 * One scale for more numbers than fit the stack: a whole row or tensor. Levels are whole numbers;
 * fits are added up from runs (best.h). Scales are walked downwards; each one tried also gives the
 * lowest point for its codes. */
#ifndef TARE_ENCODING_BEST_LONG_H
#define TARE_ENCODING_BEST_LONG_H

#include "encoding/best.h"
#include "encoding/float16.h"

typedef struct tare_long {
    const float *src;        /* n numbers from src[from] on */
    const float *importance; /* of cols columns, the first number in the first; NULL: 1 each */
    size_t from, n, cols;
    float min, max;  /* numbers are held to these */
    float low, high; /* the levels */
    /* Set by tare_long_is_ordinary: */
    float heaviest; /* weight */
    bool is_direct; /* numbers can be read in place: they are aligned and inside the bounds */
} tare_long;

typedef struct tare_lowest {
    double error; /* of weights scaled to at most 1 */
    float scale;
} tare_lowest;

static inline float tare_long_at(const tare_long *p, size_t i) {
    float v = tare_get_f32(p->src, p->from + i);
    return v < p->min ? p->min : v > p->max ? p->max : v;
}

static inline double tare_long_weight(const tare_long *p, size_t i) {
    return p->importance ? (double)tare_get_f32(p->importance, i % p->cols) : 1;
}

/* Whether numbers, with `largest` as their largest magnitude, and weights can be searched over. */
bool tare_long_is_ordinary(tare_long *p, float largest);
/* The error under a scale as it is. */
double tare_long_error(const tare_long *p, float scale);
/* Walks n_steps scales down from `from`, each `ratio` times the one before, until the error is far
 * above the lowest; `best` keeps the lowest point of all walks. */
void tare_long_walk(tare_lowest *best, const tare_long *p, float from, float ratio, int n_steps);
/* Follows the lowest point while codes change. */
void tare_long_converge(tare_lowest *best, const tare_long *p);

#endif
