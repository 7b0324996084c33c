/* SPDX-License-Identifier: MIT
 *
 * Encoders of iq1_s and iq1_m: elements -1, 0 or 1, shifted by an eighth up or down, in points of
 * eight from a codebook; sub-blocks of 32 under one shift (s) or of 16 with a shift for each half
 * (m), 3-bit scales under one f16. The best split of the sorted elements into three groups is found
 * by exhaustive search. Byte for byte what ggml's encoders write. */
#include <math.h>
#include <string.h>

#include "encoding/float16.h"
#include "encoding/iq1_search.h"
#include "encoding/iq_pack.h"
#include "encoding/lattice.h"
#include "encoding/scalar.h"
#include "encoding/scale_search.h"

/* One sub-block: the split that was found, then points of the codebook. `shift`: bit h says that
 * half h is shifted down (iq1_s: both bits alike). */
typedef struct iq1_sub {
    float weights[32];
    uint8_t order[32]; /* elements by ascending value, equal ones as they stand */
    uint8_t levels[32];
    uint16_t points[4];
    unsigned shift;
    float scale;
} iq1_sub;

static const float *values_of(const iq1_sub *b, unsigned half) {
    return b->shift >> half & 1 ? tare_iq1_down : tare_iq1_up;
}

/* 2 * mean square of the super-block. */
static float sigma2_of(const float *x) {
    float sum = 0;
    for (int i = 0; i < 256; i++) sum += x[i] * x[i];
    return 2 * sum / 256;
}

static void weigh(float *weights, const float *x, const float *importance, int n, float sigma2) {
    for (int i = 0; i < n; i++)
        weights[i] = importance ? importance[i] * sqrtf(sigma2 + x[i] * x[i]) : x[i] * x[i];
}

static float largest_magnitude(const float *x, int n) {
    float max = fabsf(x[0]);
    for (int i = 1; i < n; i++) max = max > fabsf(x[i]) ? max : fabsf(x[i]);
    return max;
}

static void take_split(iq1_sub *b, const tare_iq1_split *s, int n) {
    b->scale = s->scale;
    b->shift = s->shift;
    for (int j = 0; j < n; j++)
        b->levels[b->order[j]] = (uint8_t)((j >= s->first) + (j >= s->second));
    if (!(b->scale < 0)) return;
    /* The scale is stored without a sign: negate everything. */
    for (int i = 0; i < n; i++) b->levels[i] = (uint8_t)(2 - b->levels[i]);
    b->scale = -b->scale;
    b->shift = ~b->shift & 3;
}

/* Moves every group of eight to a point of the codebook and fits the scale anew if any moved.
 * groups_per_half: how many groups share a shift. */
static void place(iq1_sub *b, const float *x, int n, int groups_per_half,
                  const tare_iq1_searches *by) {
    const tare_lattice *l = tare_lattice_get(TARE_LATTICE_IQ1);
    bool has_moved = false;
    for (int k = 0; k < n / 8; k++)
        has_moved |= !by->place(&b->points[k], b->levels + 8 * k, x + 8 * k, b->weights + 8 * k,
                                b->scale, values_of(b, (unsigned)(k / groups_per_half)));
    if (!has_moved) return;
    float qx = 0, qq = 0;
    for (int i = 0; i < n; i++) {
        float v = values_of(
            b, (unsigned)(i / 8 / groups_per_half))[tare_lattice_level(l, b->points[i / 8], i % 8)];
        qx += b->weights[i] * v * x[i];
        qq += b->weights[i] * v * v;
    }
    if (qx > 0 && qq > 0) b->scale = qx / qq;
}

/* 3-bit scale. */
static uint8_t stored_scale(float inverse, float scale) {
    return (uint8_t)tare_clamp_i32(tare_round_even(0.5f * (inverse * scale - 1)), 0, 7);
}

static void encode_block_iq1_s(uint8_t *y, const float *x, const float *importance,
                               const tare_iq1_searches *by) {
    float sigma2 = sigma2_of(x), scales[8] = {0}, max = 0;
    tare_iq_codes c = {0};
    for (int j = 0; j < 8; j++) {
        iq1_sub b;
        const float *xj = x + 32 * j;
        weigh(b.weights, xj, importance ? importance + 32 * j : NULL, 32, sigma2);
        if (largest_magnitude(xj, 32) < 1e-12f) continue;
        by->sort(b.order, xj, 32);
        tare_iq1_split s = by->split_s(xj, b.weights, b.order);
        if (s.first < 0) continue;
        take_split(&b, &s, 32);
        place(&b, xj, 32, 4, by);
        memcpy(c.points + 4 * j, b.points, sizeof b.points);
        c.signs[j] = b.shift & 1;
        scales[j] = b.scale;
        max = max > b.scale ? max : b.scale;
    }
    c.is_empty = max == 0;
    float d = max / 15;
    if (!c.is_empty) c.d = tare_f16_of_f32(d * 1.125f);
    for (int j = 0; j < 8 && !c.is_empty; j++) c.scales[j] = stored_scale(1 / d, scales[j]);
    tare_pack_iq1_s(y, &c);
}

/* The scale of an iq1_m super-block that fits its codes best. */
static float fit_m(const iq1_sub *subs, const uint8_t *stored, const float *x,
                   const float *importance, float sigma2, float otherwise) {
    const tare_lattice *l = tare_lattice_get(TARE_LATTICE_IQ1);
    float qx = 0, qq = 0;
    for (int j = 0; j < 16; j++) {
        float weights[16];
        const float *xj = x + 16 * j;
        weigh(weights, xj, importance ? importance + 16 * j : NULL, 16, sigma2);
        for (int i = 0; i < 16; i++) {
            unsigned half = (unsigned)i / 8;
            float v = values_of(&subs[j], half)[tare_lattice_level(l, subs[j].points[half], i % 8)];
            v *= (float)(2 * stored[j] + 1);
            qx += weights[i] * v * xj[i];
            qq += weights[i] * v * v;
        }
    }
    return qq > 0 ? qx / qq : otherwise;
}

static void encode_block_iq1_m(uint8_t *y, const float *x, const float *importance,
                               const tare_iq1_searches *by) {
    iq1_sub subs[16];
    tare_iq_codes c = {0};
    float sigma2 = sigma2_of(x), max = 0;
    for (int j = 0; j < 16; j++) {
        iq1_sub *b = &subs[j];
        const float *xj = x + 16 * j;
        memset(b, 0, sizeof *b);
        weigh(b->weights, xj, importance ? importance + 16 * j : NULL, 16, sigma2);
        if (largest_magnitude(xj, 16) < 1e-7f) continue;
        by->sort(b->order, xj, 16);
        tare_iq1_split s = by->split_m(xj, b->weights, b->order);
        if (s.first < 0) continue;
        take_split(b, &s, 16);
        place(b, xj, 16, 1, by);
        memcpy(c.points + 2 * j, b->points, 2 * sizeof b->points[0]);
        c.signs[2 * j] = b->shift & 1;
        c.signs[2 * j + 1] = (uint8_t)(b->shift >> 1);
        max = max > b->scale ? max : b->scale;
    }
    c.is_empty = max == 0;
    if (!c.is_empty) {
        float d = max / 15;
        for (int j = 0; j < 16; j++) c.scales[j] = stored_scale(1 / d, subs[j].scale);
        c.d = tare_f16_of_f32(fit_m(subs, c.scales, x, importance, sigma2, d) * 1.1125f);
    }
    tare_pack_iq1_m(y, &c);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_finite_all(const float *v, size_t n) {
    bool is_finite = true;
    for (size_t i = 0; i < n; i++)
        is_finite &= (tare_f32_bits(v[i]) & ~TARE_F32_SIGN) < TARE_F32_INF;
    return is_finite;
}

typedef void (*encode_block_fn)(uint8_t *y, const float *x, const float *importance,
                                const tare_iq1_searches *by);

static void encode_rows(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_iq1_searches *by,
                        size_t block_bytes, encode_block_fn encode) {
    const uint8_t *importance = (const uint8_t *)(params ? params->importance : NULL);
    size_t n = tare_rows_mut_count(dst) / 256, row = (size_t)(dst->cols / 256);
    float x[256], weights[256];
    for (size_t at = 0; at < n; at++) {
        memcpy(x, (const uint8_t *)src + at * sizeof x, sizeof x);
        if (importance) memcpy(weights, importance + at % row * sizeof weights, sizeof weights);
        bool is_odd = !is_finite_all(x, 256) || (importance && !is_finite_all(weights, 256));
        encode(dst->planes[0] + at * block_bytes, x, importance ? weights : NULL,
               is_odd ? by->for_odd : by);
    }
}

void tare_encode_iq1_s(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq1_searches *by) {
    encode_rows(dst, src, params, by, IQ1_S_BYTES, encode_block_iq1_s);
}

void tare_encode_iq1_m(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq1_searches *by) {
    encode_rows(dst, src, params, by, IQ1_M_BYTES, encode_block_iq1_m);
}

void tare_encode_iq1_m_older(const tare_rows_mut *dst, const float *src,
                             const tare_encode_params *params, const tare_iq1_searches *by) {
    tare_iq1_searches older = *by, odd = *by->for_odd;
    older.split_m = by->split_m_older;
    odd.split_m = by->for_odd->split_m_older;
    older.for_odd = &odd;
    encode_rows(dst, src, params, &older, IQ1_M_BYTES, encode_block_iq1_m);
}

TARE_DEFINE_IQ1_ENCODERS(&tare_iq1_searches_c)

void tare_kernels_init_iq1_encode(tare_kernels *k) {
    use_iq1_encoders(k);
}
