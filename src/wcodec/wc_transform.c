/* SPDX-License-Identifier: MIT
 *
 * DCT-II and DST-IV of eight numbers as plane rotations, each done by three lifting steps with
 * coefficients in units of 2^-12. A lifting step adds to one number a rounded function of the
 * other, so it can be undone exactly whatever the rounding did.
 *
 * The lists are the fast factorizations: butterflies (rotations by 45 degrees) and the rotations
 * that DCT-IV of two halves leaves. Fewer rotations mean less rounding noise, too: 13 and 15,
 * against the 28 that an arbitrary orthogonal matrix of order 8 takes. */
#include "wcodec/wc_transform.h"

typedef struct rotation {
    uint8_t i, j;
    int16_t p, u; /* -tan(angle / 2), sin(angle) */
} rotation;

typedef struct transform {
    uint8_t n;
    uint8_t out[8]; /* where coefficient m ends up */
    rotation rotations[15];
} transform;

static const transform transforms[] = {
    {13,
     {0, 7, 3, 5, 1, 6, 2, 4},
     {{0, 7, 1697, -2896},
      {1, 6, 1697, -2896},
      {2, 5, 1697, -2896},
      {3, 4, 1697, -2896},
      {0, 3, 1697, -2896},
      {1, 2, 1697, -2896},
      {0, 1, 1697, -2896},
      {3, 2, 815, -1567},
      {7, 4, 403, -799},
      {6, 5, 1243, -2276},
      {7, 6, 1697, -2896},
      {4, 5, -1697, 2896},
      {6, 5, -1697, 2896}}},
    {15,
     {7, 2, 4, 1, 6, 3, 5, 0},
     {{7, 0, 201, -401},
      {6, 1, 608, -1189},
      {5, 2, 1026, -1931},
      {4, 3, 1466, -2598},
      {7, 4, 1697, -2896},
      {6, 5, 1697, -2896},
      {7, 6, 1697, -2896},
      {4, 5, 815, -1567},
      {0, 3, -1697, 2896},
      {1, 2, -1697, 2896},
      {0, 1, -1697, 2896},
      {3, 2, -815, 1567},
      {4, 2, -1697, 2896},
      {6, 1, -1697, 2896},
      {5, 3, 1697, -2896}}},
};

static int32_t part(int16_t factor, int32_t x) {
    return (factor * x + 2048) >> 12;
}

/* Eight numbers `step` apart. */
static void forward(int32_t *v, unsigned step, const transform *t) {
    int32_t x[8];
    for (unsigned i = 0; i < 8; i++) x[i] = v[i * step];
    for (unsigned r = 0; r < t->n; r++) {
        const rotation *o = &t->rotations[r];
        x[o->i] += part(o->p, x[o->j]);
        x[o->j] += part(o->u, x[o->i]);
        x[o->i] += part(o->p, x[o->j]);
    }
    for (unsigned m = 0; m < 8; m++) v[m * step] = x[t->out[m]];
}

static void inverse(int32_t *v, unsigned step, const transform *t) {
    int32_t x[8];
    for (unsigned m = 0; m < 8; m++) x[t->out[m]] = v[m * step];
    for (unsigned r = t->n; r-- > 0;) {
        const rotation *o = &t->rotations[r];
        x[o->i] -= part(o->p, x[o->j]);
        x[o->j] -= part(o->u, x[o->i]);
        x[o->i] -= part(o->p, x[o->j]);
    }
    for (unsigned i = 0; i < 8; i++) v[i * step] = x[i];
}

void tare_wc_transform(int32_t block[64], unsigned kind) {
    if (kind == TARE_WC_IDENTITY) return;
    for (unsigned r = 0; r < 8; r++) forward(block + 8 * r, 1, &transforms[kind - 1]);
    for (unsigned c = 0; c < 8; c++) forward(block + c, 8, &transforms[kind - 1]);
}

void tare_wc_transform_inverse(int32_t block[64], unsigned kind) {
    if (kind == TARE_WC_IDENTITY) return;
    for (unsigned c = 0; c < 8; c++) inverse(block + c, 8, &transforms[kind - 1]);
    for (unsigned r = 0; r < 8; r++) inverse(block + 8 * r, 1, &transforms[kind - 1]);
}
