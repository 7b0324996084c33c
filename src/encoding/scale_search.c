/* SPDX-License-Identifier: MIT
 *
 * Scale searches on one block; see scale_search.h for the guarantees. Comparisons are all strict,
 * the first of equal candidates stays. */
#include <stdbool.h>
#include <string.h>

#include "encoding/levels.h"
#include "encoding/scale_search.h"

#define MOST 32

/* The value of largest magnitude, with its sign; of equal ones the first. */
static float signed_peak(const float *x, int n, float *magnitude) {
    float peak = 0, most = 0;
    for (int i = 0; i < n; i++) {
        float a = fabsf(x[i]);
        if (a > most) {
            most = a;
            peak = x[i];
        }
    }
    *magnitude = most;
    return peak;
}

/* Weighted products of the codes that `inverse` gives: sum w*x*l and sum w*l*l. */
typedef struct products {
    float xl, ll;
} products;

static products signed_products(const float *x, const float *weights, int n, int top,
                                float inverse) {
    products p = {0, 0};
    for (int i = 0; i < n; i++) {
        float l = (float)tare_clamp_i32(tare_round_even(inverse * x[i]), -top, top - 1);
        float w = weights ? weights[i] : x[i] * x[i];
        p.xl += w * x[i] * l;
        p.ll += w * l * l;
    }
    return p;
}

float tare_search_signed(uint8_t *codes, const float *x, const float *weights, int n, int top) {
    float magnitude;
    float peak = signed_peak(x, n, &magnitude);
    if (magnitude < TARE_SEARCH_ZERO) {
        if (codes) memset(codes, 0, (size_t)n);
        return 0;
    }
    float best_inverse = (float)-top / peak;
    products p = signed_products(x, weights, n, top, best_inverse);
    float scale = p.ll != 0 ? p.xl / p.ll : 0;
    float best = scale * p.xl;
    for (int step = -9; step <= 9; step++) {
        if (step == 0) continue;
        float inverse = -((float)top + 0.1f * (float)step) / peak;
        p = signed_products(x, weights, n, top, inverse);
        if (p.ll > 0 && p.xl * p.xl > best * p.ll) {
            best_inverse = inverse;
            scale = p.xl / p.ll;
            best = scale * p.xl;
        }
    }
    for (int i = 0; codes && i < n; i++)
        codes[i] =
            (uint8_t)(top + tare_clamp_i32(tare_round_even(best_inverse * x[i]), -top, top - 1));
    return scale;
}

/* Tries a better code for x[i] given all others; true if it moved. */
static bool move_signed(int32_t *code, float x, int top, products *sum) {
    float w = x * x, l = (float)*code;
    products rest = {sum->xl - w * x * l, 0};
    if (!(rest.xl > 0)) return false;
    rest.ll = sum->ll - w * l * l;
    int32_t moved = tare_clamp_i32(tare_round_even(x * rest.ll / rest.xl), -top, top - 1);
    if (moved == *code) return false;
    rest.xl += w * x * (float)moved;
    rest.ll += w * (float)moved * (float)moved;
    if (!(rest.ll > 0 && rest.xl * rest.xl * sum->ll > sum->xl * sum->xl * rest.ll)) return false;
    *code = moved;
    *sum = rest;
    return true;
}

float tare_search_signed_moves(uint8_t *codes, const float *x, int n, int top) {
    float magnitude;
    float peak = signed_peak(x, n, &magnitude);
    if (magnitude < TARE_SEARCH_ZERO) {
        memset(codes, 0, (size_t)n);
        return 0;
    }
    float inverse = (float)-top / peak;
    int32_t l[MOST];
    for (int i = 0; i < n; i++)
        l[i] = tare_clamp_i32(tare_round_even(inverse * x[i]), -top, top - 1);
    products sum = signed_products(x, NULL, n, top, inverse);
    for (int round = 0; round < 5; round++) {
        bool has_moved = false;
        for (int i = 0; i < n; i++) has_moved |= move_signed(&l[i], x[i], top, &sum);
        if (!has_moved) break;
    }
    for (int i = 0; i < n; i++) codes[i] = (uint8_t)(l[i] + top);
    return sum.ll > 0 ? sum.xl / sum.ll : 0;
}

/* ---- affine ---------------------------------------------------------------------------------- */

static void affine_codes(uint8_t *codes, const float *x, int n, int top, float inverse, float min) {
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)tare_clamp_i32(tare_round_even(inverse * (x[i] - min)), 0, top);
}

static float affine_error(const uint8_t *codes, const float *x, const float *weights, int n,
                          float scale, float min, bool uses_abs) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float diff = scale * (float)codes[i] + min - x[i];
        diff = uses_abs ? fabsf(diff) : diff * diff;
        sum += weights[i] * diff;
    }
    return sum;
}

/* The scale and minimum (not above 0) of least squares for given codes; false: no solution. */
static bool affine_fit(float *scale, float *min, const uint8_t *codes, const float *x,
                       const float *weights, int n, float sum_w, float sum_x) {
    float sum_l = 0, sum_l2 = 0, sum_xl = 0;
    for (int i = 0; i < n; i++) {
        float w = weights[i], l = (float)codes[i];
        sum_l += w * l;
        sum_l2 += w * l * l;
        sum_xl += w * l * x[i];
    }
    float det = sum_w * sum_l2 - sum_l * sum_l;
    if (!(det > 0)) return false;
    *scale = (sum_w * sum_xl - sum_x * sum_l) / det;
    *min = (sum_l2 * sum_x - sum_l * sum_xl) / det;
    if (*min > 0) {
        *min = 0;
        *scale = sum_xl / sum_l2;
    }
    return true;
}

float tare_search_affine(uint8_t *codes, float *minus_min, const float *x, const float *weights,
                         int n, const tare_affine_walk *walk) {
    float min = x[0], max = x[0], sum_w = weights[0], sum_x = sum_w * x[0];
    for (int i = 1; i < n; i++) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
        sum_w += weights[i];
        sum_x += weights[i] * x[i];
    }
    if (min > 0) min = 0;
    if (max <= min) {
        memset(codes, 0, (size_t)n);
        *minus_min = -min;
        return 0;
    }
    float inverse = (float)walk->top / (max - min);
    float scale = 1 / inverse;
    affine_codes(codes, x, n, walk->top, inverse, min);
    float best = affine_error(codes, x, weights, n, scale, min, walk->uses_abs);
    for (int step = 0; step <= walk->n_steps; step++) {
        uint8_t tried[MOST];
        float new_scale, new_min;
        /* The minimum found so far is used: a better one also shifts the later steps. */
        inverse = (walk->first + walk->step * (float)step + (float)walk->top) / (max - min);
        affine_codes(tried, x, n, walk->top, inverse, min);
        if (!affine_fit(&new_scale, &new_min, tried, x, weights, n, sum_w, sum_x)) continue;
        float error = affine_error(tried, x, weights, n, new_scale, new_min, walk->uses_abs);
        if (!(error < best)) continue;
        memcpy(codes, tried, (size_t)n);
        best = error;
        scale = new_scale;
        min = new_min;
    }
    *minus_min = -min;
    return scale;
}

/* ---- unsigned -------------------------------------------------------------------------------- */

/* Weighted squared error of the codes that `inverse` gives. The first candidate of the reference
 * stores its codes in bytes without a clamp, hence wraps. */
static float unsigned_error(const float *x, const float *weights, int n, int top, float inverse,
                            bool wraps) {
    float scale = 1 / inverse, sum = 0;
    for (int i = 0; i < n; i++) {
        int32_t l = tare_round_even(inverse * x[i]);
        l = wraps ? (uint8_t)l : l < top ? l : top;
        float diff = x[i] - scale * (float)l;
        sum += weights[i] * diff * diff;
    }
    return sum;
}

static bool move_unsigned(uint8_t *code, float x, float w, int top, products *sum) {
    float l = *code;
    products rest = {sum->xl - w * x * l, sum->ll - w * l * l};
    if (!(rest.xl > 0 && rest.ll > 0)) return false;
    int32_t moved = tare_round_even(x * rest.ll / rest.xl);
    if (moved > top) moved = top;
    if (moved == *code) return false;
    rest.xl += w * x * (float)moved;
    rest.ll += w * (float)moved * (float)moved;
    if (!(rest.xl * rest.xl * sum->ll > sum->xl * sum->xl * rest.ll)) return false;
    *code = (uint8_t)moved;
    *sum = rest;
    return true;
}

float tare_search_unsigned(uint8_t *codes, const float *x, const float *weights, int n, int top) {
    float max = 0;
    for (int i = 0; i < n; i++) max = max > x[i] ? max : x[i];
    if (max < TARE_SEARCH_ZERO) {
        memset(codes, 0, (size_t)n);
        return 0;
    }
    float inverse = (float)top / max;
    float best = unsigned_error(x, weights, n, top, inverse, true);
    for (int step = -4; step <= 4; step++) {
        if (step == 0) continue;
        float tried = (0.1f * (float)step + (float)top) / max;
        float error = unsigned_error(x, weights, n, top, tried, false);
        if (error < best) {
            best = error;
            inverse = tried;
        }
    }
    products sum = {0, 0};
    for (int i = 0; i < n; i++) {
        int32_t l = tare_round_even(inverse * x[i]);
        if (l > top) l = top;
        codes[i] = (uint8_t)l;
        sum.xl += weights[i] * x[i] * (float)l;
        sum.ll += weights[i] * (float)l * (float)l;
    }
    for (int round = 0; round < 5; round++) {
        bool has_moved = false;
        for (int i = 0; i < n; i++)
            has_moved |= move_unsigned(&codes[i], x[i], weights[i], top, &sum);
        if (!has_moved) break;
    }
    return sum.ll > 0 ? sum.xl / sum.ll : 0;
}

/* ---- uneven levels --------------------------------------------------------------------------- */

uint8_t tare_nearest_level(float x) {
    const int8_t *v = tare_levels_iq4;
    if (x <= v[0]) return 0;
    if (x >= v[15]) return 15;
    int low = 0, high = 15;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (x < v[middle])
            high = middle;
        else
            low = middle;
    }
    return (uint8_t)(x - v[low] < v[high] - x ? low : high);
}

static products level_products(const float *x, const float *weights, float inverse) {
    products p = {0, 0};
    for (int i = 0; i < 32; i++) {
        float l = tare_levels_iq4[tare_nearest_level(inverse * x[i])];
        p.xl += weights[i] * l * x[i];
        p.ll += weights[i] * l * l;
    }
    return p;
}

float tare_search_levels(const float *x, const float *weights) {
    float magnitude;
    float peak = signed_peak(x, 32, &magnitude);
    if (magnitude < TARE_SEARCH_ZERO) return 0;
    float scale = -peak / tare_levels_iq4[0];
    products p = level_products(x, weights, 1 / scale);
    scale = p.ll > 0 ? p.xl / p.ll : 0;
    float best = scale * p.xl;
    for (int step = -7; step <= 7; step++) {
        p = level_products(x, weights, (float)(step + tare_levels_iq4[0]) / peak);
        if (p.ll > 0 && p.xl * p.xl > best * p.ll) {
            scale = p.xl / p.ll;
            best = scale * p.xl;
        }
    }
    return scale;
}
