/* SPDX-License-Identifier: MIT
 *
 * The tools of the better encoders: they look for the scales of least (weighted) squared error
 * among those that a format can store, choosing the codes again for every scale tried. A format is
 * described by parts (numbers under one scale, with whatever codes they have) and by how scales are
 * stored. All in one fixed order: the result is the same on every machine.
 *
 * Least squares: with codes q fixed, sum w (x - s q)^2 is a parabola in s. A fit also gives the
 * scale's position on it, so that finding the lowest point of the parabola needs no further pass.
 */
#ifndef TARE_ENCODING_BEST_H
#define TARE_ENCODING_BEST_H

#include "encoding/fit.h"
#include "encoding/kernels.h"

/* ---- helpers --------------------------------------------------------------------------------- */

/* Positions of the lowest local minima of n values, at most `most`, the lowest first. */
int tare_lowest_minima(int *at, int most, const float *values, int n);

/* ---- one scale ------------------------------------------------------------------------------- */

/* How scales are walked: down from one that reaches beyond the largest number. */
typedef struct tare_walk {
    float reach;    /* what the largest code stands for under scale 1 */
    float from;     /* the first scale over the one that just reaches the largest number */
    float ratio;    /* of one scale to the next: nearer to 1 for finer codes */
    float patience; /* how far the error may rise above the lowest before the walk ends */
    int n_steps;    /* at most */
} tare_walk;

/* Numbers under one scale. `weights` are not NULL, not negative and at most 1 or so; numbers lie
 * well inside the range of f32 squared. */
typedef struct tare_part {
    const float *x, *weights;
    size_t n;
    tare_fit (*fit)(const struct tare_part *p, float scale);
    const void *form; /* for fit: a tare_levels if it is tare_fit_levels */
    tare_walk walk;
    bool has_sign; /* negative scales can be stored and say something else */
} tare_part;

tare_fit tare_fit_levels(const tare_part *p, float scale);
/* Codes of the numbers under a scale: 0 for the lowest level. */
void tare_levels_codes(uint8_t *codes, const float *x, size_t n, float scale,
                       const tare_levels *levels);

/* The best scale if any number could be stored. */
typedef struct tare_ideal {
    float scale, error, qq;
} tare_ideal;
tare_ideal tare_search_ideal(const tare_part *p);

/* How a scale is stored: codes 0..last stand for ascending numbers from 0 up; the sign, if there is
 * one, is stored separately. */
typedef struct tare_scale_kind {
    float (*value)(uint32_t code);
    uint32_t (*nearest)(float scale); /* scale >= 0; a code near it */
    uint32_t last;
    uint32_t window; /* how many codes around the ideal one are tried */
} tare_scale_kind;

extern const tare_scale_kind tare_scale_f16, tare_scale_half_e8m0, tare_scale_half_ue4m3;

typedef struct tare_stored {
    uint32_t code;
    float scale; /* its value, with its sign */
    float error;
} tare_stored;
/* The best scale of those that can be stored. */
tare_stored tare_search_stored(const tare_part *p, const tare_scale_kind *kind);

/* ---- a scale and an offset ------------------------------------------------------------------- */

/* x ~ scale * code + offset. */
typedef struct tare_line {
    float scale, offset;
} tare_line;

/* The best pair for codes 0..top, if any numbers could be stored (best_affine.c). Of n_padded numbers,
 * a multiple of TARE_FIT_LANES, those from n on have weight 0. */
tare_line tare_search_line(const float *x, const float *weights, size_t n, size_t n_padded,
                           float top);

/* ---- scales that are whole numbers times an f16 ---------------------------------------------- */

/* Several parts whose scales are whole numbers first + step * i, i = 0..count-1, times `unit` times
 * one f16. */
enum { TARE_MOST_PARTS = 16 };
typedef struct tare_super {
    int n_parts;
    int first, step, count;
    float unit;
    bool has_sign; /* the f16 may be negative and this says something else */
    int n_starts;  /* how many f16s (at most 4) are refined */
    int n_near;    /* how many whole numbers around the ideal one are tried for a part */
} tare_super;

typedef struct tare_super_found {
    uint16_t d; /* f16 */
    uint8_t index[TARE_MOST_PARTS];
    float scales[TARE_MOST_PARTS];
    float error;
} tare_super_found;
tare_super_found tare_search_super(const tare_part *parts, const tare_super *super);

/* ---- blocks ---------------------------------------------------------------------------------- */

/* One block in progress: numbers and weights for the search, and room to write it. Past the end of
 * a row a block is padded with zeros of weight 0. */
typedef struct tare_best_block {
    float x[256], weights[256];
    size_t n; /* numbers of the row */
} tare_best_block;

/* A format's better encoder: block by block, in as many planes as it has. `improve` writes a
 * candidate; the better of the candidate and the reference encoder's block is kept, judged by the
 * error after decoding. It is not called for blocks with NaN, Inf or numbers out of f16's range,
 * nor where the reference has no error. */
typedef struct tare_best_format {
    tare_encoding_id id;
    void (*improve)(uint8_t *const *planes, const tare_best_block *b);
} tare_best_format;

void tare_encode_best(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                      const tare_best_format *format);

/* encode_best_NAME for the table of kernels, from a function that improves the planes of a block.
 */
#define TARE_DEFINE_BEST_PLANES(name, NAME, improve_planes)                                        \
    static void encode_best_##name(const tare_rows_mut *dst, const float *src,                     \
                                   const tare_encode_params *params) {                             \
        static const tare_best_format format = {TARE_ENCODING_##NAME, improve_planes};             \
        tare_encode_best(dst, src, params, &format);                                               \
    }

/* The same for a format with one plane, from improve_NAME. */
#define TARE_DEFINE_BEST(name, NAME)                                                               \
    static void improve_plane_##name(uint8_t *const *planes, const tare_best_block *b) {           \
        improve_##name(planes[0], b);                                                              \
    }                                                                                              \
    TARE_DEFINE_BEST_PLANES(name, NAME, improve_plane_##name)

#endif
