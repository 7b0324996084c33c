/* SPDX-License-Identifier: MIT
 *
 * The searching encoders of INFQ's formats: bytes with the same meaning, a smaller (weighted)
 * squared error. A row has one f16 scale: scales are walked down from the one that just reaches the
 * largest number. */
#include "encoding/best_long.h"
#include "encoding/rowwise.h"

/* The scale of least error; coarse codes gain more from clipping, and are walked in wider steps. */
static uint16_t search(const tare_long *r, float largest, int bits) {
    float scale = 1.01f * largest / r->high;
    tare_lowest best = {(double)INFINITY, scale};
    tare_long_walk(&best, r, scale, bits == 8 ? 0.994f : 0.98f, 96);
    tare_long_converge(&best, r);
    uint16_t near = tare_f16_of_f32(best.scale), found = near;
    double least = (double)INFINITY;
    for (int i = -1; i <= 1; i++) {
        uint16_t stored = (uint16_t)(near + (near > 0 ? i : 0));
        double error = tare_long_error(r, tare_f32_of_f16(stored));
        if (!(error < least)) continue;
        least = error;
        found = stored;
    }
    return found;
}

/* ---- never worse than the reference ---------------------------------------------------------- */

/* The weighted squared error of what a row decodes to, if its codes come from `used`. */
static double stored_error(const tare_long *r, float used, uint16_t stored) {
    float scale = tare_f32_of_f16(stored);
    double sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        float x = tare_long_at(r, i);
        double d = (double)(scale * (float)tare_rowwise_code(x, used, r->high)) - (double)x;
        sum += tare_long_weight(r, i) * (d * d);
    }
    return sum;
}

static void encode_best(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, int bits) {
    float top = (float)tare_rowwise_top(bits);
    tare_long r = {.src = src,
                   .importance = params ? params->importance : NULL,
                   .n = (size_t)dst->cols,
                   .cols = (size_t)dst->cols,
                   .min = -INFINITY,
                   .max = INFINITY,
                   .low = -top,
                   .high = top};
    size_t row_bytes = tare_rowwise_bytes(r.n, bits);
    for (uint64_t i = 0; i < dst->n_rows; i++, r.from += r.n) {
        float largest = tare_rowwise_largest(src, r.from, r.n);
        tare_rowwise_scale scale = tare_rowwise_scale_of(largest, tare_rowwise_top(bits));
        if (tare_long_is_ordinary(&r, largest)) {
            uint16_t found = search(&r, largest, bits);
            float used = tare_f32_of_f16(found);
            if (used > 0 && used < INFINITY &&
                stored_error(&r, used, found) < stored_error(&r, scale.used, scale.stored))
                scale = (tare_rowwise_scale){found, used};
        }
        tare_store_le16(dst->planes[1] + i * 2, scale.stored);
        tare_rowwise_put(dst->planes[0] + i * row_bytes, src, r.from, r.n, scale.used, bits);
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
