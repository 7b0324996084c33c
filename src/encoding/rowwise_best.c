/* SPDX-License-Identifier: MIT
 *
 * The searching encoders of INFQ's formats: the same bytes' meaning, a smaller (weighted) squared
 * error. A row is one part under one f16 scale. Scales are walked down from the one that just
 * reaches the largest number; each that is tried also tells where the lowest point for its codes
 * is. A row may be of any length, so its fits are added up from runs that fit the stack. */
#include "encoding/best.h"
#include "encoding/rowwise.h"

enum { RUN = 256, ROUNDS = 3 };

typedef struct row {
    const float *src, *importance;
    size_t from, cols;
    float heaviest; /* weight */
    int bits;
} row;

static float weight_at(const row *r, size_t i) {
    return r->importance ? tare_get_f32(r->importance, i) : 1;
}

/* ---- fits ------------------------------------------------------------------------------------ */

typedef struct row_fit {
    double error, rq, qq; /* as of tare_fit */
} row_fit;

/* Weights are scaled to at most 1; a little is added, so that numbers without weight get sound
 * codes too. */
static row_fit fit_row(const row *r, float scale) {
    float x[RUN], weights[RUN], top = (float)tare_rowwise_top(r->bits);
    tare_levels levels = {.low = -top, .high = top};
    row_fit sum = {0, 0, 0};
    for (size_t at = 0; at < r->cols; at += RUN) {
        size_t n = r->cols - at < RUN ? r->cols - at : RUN;
        for (size_t i = 0; i < RUN; i++) {
            x[i] = i < n ? tare_get_f32(r->src, r->from + at + i) : 0;
            weights[i] = i < n ? weight_at(r, at + i) / r->heaviest + 0x1p-20f : 0;
        }
        size_t filled = (n + TARE_FIT_LANES - 1) / TARE_FIT_LANES * TARE_FIT_LANES;
        tare_part part = {.x = x, .weights = weights, .n = filled, .form = &levels};
        tare_fit fit = tare_fit_levels(&part, scale);
        sum.error += (double)fit.error;
        sum.rq += (double)fit.rq;
        sum.qq += (double)fit.qq;
    }
    return sum;
}

typedef struct lowest {
    double error;
    float scale;
} lowest;

/* Tries a scale; returns the error at the lowest point for its codes. */
static double try_scale(lowest *best, const row *r, float scale) {
    row_fit fit = fit_row(r, scale);
    if (!(fit.qq > 0)) return fit.error;
    double shift = fit.rq / fit.qq, error = fit.error - shift * fit.rq;
    if (error < best->error) *best = (lowest){error, (float)((double)scale + shift)};
    return error;
}

/* The scale of least error; coarse codes gain more from clipping, and are walked in wider steps. */
static uint16_t search(const row *r, float largest) {
    enum { STEPS = 96 };
    float ratio = r->bits == 8 ? 0.994f : 0.98f;
    float scale = 1.01f * largest / (float)tare_rowwise_top(r->bits);
    lowest best = {(double)INFINITY, scale};
    for (int i = 0; i < STEPS; i++, scale *= ratio)
        if (try_scale(&best, r, scale) > 1.5 * best.error) break;
    for (int i = 0; i < ROUNDS; i++) {
        float before = best.scale;
        try_scale(&best, r, before);
        if (best.scale == before) break;
    }
    uint16_t near = tare_f16_of_f32(best.scale), found = near;
    double least = (double)INFINITY;
    for (int i = -1; i <= 1; i++) {
        uint16_t stored = (uint16_t)(near + (near > 0 ? i : 0));
        double error = fit_row(r, tare_f32_of_f16(stored)).error;
        if (!(error < least)) continue;
        least = error;
        found = stored;
    }
    return found;
}

/* ---- never worse than the reference ---------------------------------------------------------- */

/* The weighted squared error of what a row decodes to, if its codes come from `used`. */
static double stored_error(const row *r, float used, uint16_t stored) {
    float top = (float)tare_rowwise_top(r->bits), scale = tare_f32_of_f16(stored);
    double sum = 0;
    for (size_t i = 0; i < r->cols; i++) {
        float x = tare_get_f32(r->src, r->from + i);
        double d = (double)(scale * (float)tare_rowwise_code(x, used, top)) - (double)x;
        sum += (double)weight_at(r, i) * (d * d);
    }
    return sum;
}

/* Numbers and weights that can be searched over. */
static bool is_ordinary(row *r, float largest) {
    r->heaviest = 0;
    for (size_t i = 0; i < r->cols; i++) {
        float x = tare_get_f32(r->src, r->from + i), w = weight_at(r, i);
        if (!(fabsf(x) <= largest) || !(w >= 0 && w < INFINITY)) return false;
        if (w > r->heaviest) r->heaviest = w;
    }
    return largest > 0x1p-40f && largest < 0x1p60f && r->heaviest > 0;
}

static void encode_best(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, int bits) {
    row r = {.src = src,
             .importance = params ? params->importance : NULL,
             .cols = (size_t)dst->cols,
             .bits = bits};
    size_t row_bytes = tare_rowwise_bytes(r.cols, bits);
    for (uint64_t i = 0; i < dst->n_rows; i++, r.from += r.cols) {
        float largest = tare_rowwise_largest(src, r.from, r.cols);
        tare_rowwise_scale scale = tare_rowwise_scale_of(largest, tare_rowwise_top(bits));
        if (is_ordinary(&r, largest)) {
            uint16_t found = search(&r, largest);
            float used = tare_f32_of_f16(found);
            if (used > 0 && used < INFINITY &&
                stored_error(&r, used, found) < stored_error(&r, scale.used, scale.stored))
                scale = (tare_rowwise_scale){found, used};
        }
        tare_store_le16(dst->planes[1] + i * 2, scale.stored);
        tare_rowwise_put(dst->planes[0] + i * row_bytes, src, r.from, r.cols, scale.used, bits);
    }
}

#define DEFINE_BEST(name, ID, bits)                                                                \
    static void best_##name(const tare_rows_mut *dst, const float *src,                            \
                            const tare_encode_params *params) {                                    \
        encode_best(dst, src, params, bits);                                                       \
    }
TARE_ROWWISE_TYPES(DEFINE_BEST)

#define USE_BEST(name, ID, bits) k->encode_best[TARE_ENCODING_##ID] = best_##name;
void tare_kernels_init_rowwise_best(tare_kernels *k) {
    TARE_ROWWISE_TYPES(USE_BEST)
}
