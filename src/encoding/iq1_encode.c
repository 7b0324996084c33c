/* SPDX-License-Identifier: MIT
 *
 * Encoders of iq1_s and iq1_m: elements -1, 0 or 1, shifted by an eighth up or down, in points of
 * eight from a codebook; sub-blocks of 32 under one shift (s) or of 16 with a shift for each half
 * (m), 3-bit scales under one f16. The best split of the sorted elements into three groups is found
 * by trying all. Byte for byte what ggml's encoders write. */
#include <math.h>
#include <string.h>

#include "encoding/blocks.h"
#include "encoding/iq_pack.h"
#include "encoding/lattice.h"
#include "encoding/numbers.h"
#include "encoding/search.h"

#define LOWEST (-3.40282347e+38f)

/* What the levels 0, 1, 2 stand for with the shift up and down. */
static const float values_up[3] = {-1 + TARE_IQ1_SHIFT, TARE_IQ1_SHIFT, 1 + TARE_IQ1_SHIFT};
static const float values_down[3] = {-1 - TARE_IQ1_SHIFT, -TARE_IQ1_SHIFT, 1 - TARE_IQ1_SHIFT};

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
    return b->shift >> half & 1 ? values_down : values_up;
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

static void sort(uint8_t *order, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && x[order[at - 1]] > x[i]; at--) order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

static float largest_magnitude(const float *x, int n) {
    float max = fabsf(x[0]);
    for (int i = 1; i < n; i++) max = max > fabsf(x[i]) ? max : fabsf(x[i]);
    return max;
}

/* The best split so far: sorted elements below `first` are level 0, from `second` on level 2. */
typedef struct split {
    int first, second;
    unsigned shift;
    float scale, score;
} split;

static void offer(split *best, float qx, float qq, int first, int second, unsigned shift) {
    if (!(qq > 0 && qx * qx > best->score * qq)) return;
    *best = (split){first, second, shift, qx / qq, 0};
    best->score = best->scale * qx;
}

/* iq1_s: sums over runs of the sorted elements come from running totals. */
static split split_s(const iq1_sub *b, const float *x) {
    enum { N = 32 };
    float sx[N + 1] = {0}, sw[N + 1] = {0};
    for (int j = 0; j < N; j++) {
        int i = b->order[j];
        sx[j + 1] = sx[j] + b->weights[i] * x[i];
        sw[j + 1] = sw[j] + b->weights[i];
    }
    split best = {-1, -1, 0, 0, LOWEST};
    for (int first = 0; first <= N; first++)
        for (int second = first; second <= N; second++)
            for (unsigned down = 0; down < 2; down++) {
                const float *v = down ? values_down : values_up;
                float qx = (sx[first] - sx[0]) * v[0] + (sx[second] - sx[first]) * v[1] +
                           (sx[N] - sx[second]) * v[2];
                float qq = (sw[first] - sw[0]) * v[0] * v[0] +
                           (sw[second] - sw[first]) * v[1] * v[1] +
                           (sw[N] - sw[second]) * v[2] * v[2];
                offer(&best, qx, qq, first, second, down * 3);
            }
    return best;
}

/* iq1_m: each half has its own shift, so the sums are taken anew for every split and pair of
 * shifts, over the sorted elements in order. */
static split split_m(const iq1_sub *b, const float *x) {
    enum { N = 16 };
    split best = {-1, -1, 0, 0, LOWEST};
    for (int first = 0; first <= N; first++)
        for (int second = first; second <= N; second++) {
            float qx[4] = {0}, qq[4] = {0};
            for (int j = 0; j < N; j++) {
                int i = b->order[j], level = (j >= first) + (j >= second);
                float w = b->weights[i], up = values_up[level], down = values_down[level];
                for (unsigned k = 0; k < 4; k++) {
                    /* k counts as ggml does: the shift of the first half is the higher bit. */
                    float v = k >> (i < N / 2) & 1 ? down : up;
                    qx[k] += w * v * x[i];
                    qq[k] += w * v * v;
                }
            }
            for (unsigned k = 0; k < 4; k++)
                offer(&best, qx[k], qq[k], first, second, k >> 1 | (k & 1) << 1);
        }
    return best;
}

static void take_split(iq1_sub *b, const split *s, int n) {
    b->scale = s->scale;
    b->shift = s->shift;
    for (int j = 0; j < n; j++)
        b->levels[b->order[j]] = (uint8_t)((j >= s->first) + (j >= s->second));
    if (!(b->scale < 0)) return;
    /* The scale is stored without a sign: turn everything round. */
    for (int i = 0; i < n; i++) b->levels[i] = (uint8_t)(2 - b->levels[i]);
    b->scale = -b->scale;
    b->shift = ~b->shift & 3;
}

/* The point of a list nearest to the values at this scale. */
static uint16_t nearest_point(const tare_lattice *l, const uint16_t *list, const float *x,
                              const float *weights, float scale, const float *values) {
    uint16_t best = list[1];
    float least = -LOWEST;
    for (uint32_t j = 1; j <= list[0]; j++) {
        float sum = 0;
        for (int i = 0; i < 8; i++) {
            float diff = scale * values[tare_lattice_level(l, list[j], i)] - x[i];
            sum += weights[i] * diff * diff;
        }
        if (sum < least) {
            least = sum;
            best = list[j];
        }
    }
    return best;
}

/* Moves every group of eight to a point of the codebook and fits the scale anew if any moved.
 * groups_per_half: how many groups share a shift. */
static void place(iq1_sub *b, const float *x, int n, int groups_per_half) {
    const tare_lattice *l = tare_lattice_get(TARE_LATTICE_IQ1);
    bool has_moved = false;
    for (int k = 0; k < n / 8; k++) {
        int32_t at = l->at[tare_lattice_place(l, b->levels + 8 * k)];
        const float *values = values_of(b, (unsigned)(k / groups_per_half));
        has_moved |= at < 0;
        b->points[k] = at >= 0 ? (uint16_t)at
                               : nearest_point(l, l->near + (-1 - at), x + 8 * k,
                                               b->weights + 8 * k, b->scale, values);
    }
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

static void encode_block_iq1_s(uint8_t *y, const float *x, const float *importance) {
    float sigma2 = sigma2_of(x), scales[8] = {0}, max = 0;
    tare_iq_codes c = {0};
    for (int j = 0; j < 8; j++) {
        iq1_sub b;
        const float *xj = x + 32 * j;
        weigh(b.weights, xj, importance ? importance + 32 * j : NULL, 32, sigma2);
        if (largest_magnitude(xj, 32) < 1e-12f) continue;
        sort(b.order, xj, 32);
        split s = split_s(&b, xj);
        if (s.first < 0) continue;
        take_split(&b, &s, 32);
        place(&b, xj, 32, 4);
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

static void encode_block_iq1_m(uint8_t *y, const float *x, const float *importance) {
    iq1_sub subs[16];
    tare_iq_codes c = {0};
    float sigma2 = sigma2_of(x), max = 0;
    for (int j = 0; j < 16; j++) {
        iq1_sub *b = &subs[j];
        const float *xj = x + 16 * j;
        memset(b, 0, sizeof *b);
        weigh(b->weights, xj, importance ? importance + 16 * j : NULL, 16, sigma2);
        if (largest_magnitude(xj, 16) < 1e-7f) continue;
        sort(b->order, xj, 16);
        split s = split_m(b, xj);
        if (s.first < 0) continue;
        take_split(b, &s, 16);
        place(b, xj, 16, 1);
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

static void encode_iq1_s(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 256, IQ1_S_BYTES, encode_block_iq1_s);
}

static void encode_iq1_m(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 256, IQ1_M_BYTES, encode_block_iq1_m);
}

void tare_kernels_init_iq1_encode(tare_kernels *k) {
    k->encode_weighted[TARE_ENCODING_IQ1_S] = encode_iq1_s;
    k->encode[TARE_ENCODING_IQ1_M] = k->encode_weighted[TARE_ENCODING_IQ1_M] = encode_iq1_m;
}
