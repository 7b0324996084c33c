/* SPDX-License-Identifier: MIT
 *
 * The scalar searches of the IQ2 and IQ3 encoders. All f32 operations are in ggml's order. */
#include "encoding/iq_search.h"

#include <math.h>
#include <string.h>

#include "encoding/float16.h"

/* A sub-block in progress: also the levels of its elements, and which groups were rounded directly
 * onto the codebook. */
typedef struct placing {
    tare_iq_sub *b;
    const tare_iq_form *form;
    const tare_lattice *l;
    int n_groups;
    uint8_t levels[32];
    bool is_point[8];
} placing;

static void weigh(tare_iq_chunk *c, size_t at, size_t n, bool is_weighted, const tare_iq_form *form,
                  float sigma2) {
    for (size_t i = at; i < at + n; i++) {
        float square = c->x[i] * c->x[i];
        if (is_weighted)
            c->weights[i] = c->importance[i] * sqrtf(sigma2 + square);
        else
            c->weights[i] = form->flat_weight > 0 ? form->flat_weight * sigma2 + square : square;
        c->roots[i] = sqrtf(c->weights[i]);
    }
}

/* Signs and magnitudes of eight elements. An odd number of signs is fixed where it costs least. */
static uint8_t split_signs(float *magnitudes, const float *x, const float *weights, bool is_even) {
    unsigned signs = 0;
    for (int i = 0; i < 8; i++) {
        bool is_plus = x[i] >= 0;
        magnitudes[i] = is_plus ? x[i] : -x[i];
        if (!is_plus) signs |= 1u << i;
    }
    if (!is_even) return (uint8_t)signs;
    if (__builtin_parity(signs)) {
        int at = 0;
        float least = weights[0] * x[0] * x[0];
        for (int i = 1; i < 8; i++) {
            float cost = weights[i] * x[i] * x[i];
            if (cost < least) {
                least = cost;
                at = i;
            }
        }
        magnitudes[at] = -magnitudes[at];
        signs ^= 1u << at;
    }
    return (uint8_t)(signs & 127);
}

static void split(tare_iq_chunk *c, size_t at, size_t n, bool is_weighted, const tare_iq_form *form,
                  float sigma2) {
    weigh(c, at, n, is_weighted, form, sigma2);
    for (size_t i = at; i < at + n; i += 8)
        c->signs[i / 8] =
            split_signs(c->magnitudes + i, c->x + i, c->weights + i, form->has_even_signs);
}

/* The point of a list nearest to the values at this scale. */
static uint16_t nearest_point(const tare_lattice *l, const uint16_t *list, const float *values,
                              const float *weights, float scale) {
    uint16_t best = list[1];
    float least = 3.40282347e+38f;
    for (uint32_t j = 1; j <= list[0]; j++) {
        float sum = 0;
        for (int i = 0; i < l->lanes; i++) {
            float q = (float)(2 * tare_lattice_level(l, list[j], i) + 1);
            float diff = scale * q - values[i];
            sum += weights[i] * diff * diff;
        }
        if (sum < least) {
            least = sum;
            best = list[j];
        }
    }
    return best;
}

/* Rounds one group to levels and, if they are not a point of the codebook, to the nearest one. True
 * if they were a point. */
static bool place_group(const placing *p, int group, float inverse, float scale, uint8_t *levels,
                        uint16_t *point) {
    const tare_lattice *l = p->l;
    const float *values = p->b->magnitudes + group * l->lanes;
    for (int i = 0; i < l->lanes; i++)
        levels[i] = (uint8_t)tare_clamp_i32(tare_round_even(0.5f * (inverse * values[i] - 1)), 0,
                                            l->levels - 1);
    int32_t at = l->at[tare_lattice_place(l, levels)];
    bool is_point = at >= 0;
    *point = is_point ? (uint16_t)at
                      : nearest_point(l, l->near + (-1 - at), values,
                                      p->b->roots + group * l->lanes, scale);
    for (int i = 0; i < l->lanes; i++) levels[i] = tare_lattice_level(l, *point, i);
    return is_point;
}

typedef struct products {
    float qx, qq;
} products;

static products products_of(const placing *p, const uint8_t *levels) {
    products sum = {0, 0};
    for (int i = 0; i < p->form->sub; i++) {
        float q = (float)(2 * levels[i] + 1);
        sum.qx += p->b->weights[i] * p->b->magnitudes[i] * q;
        sum.qq += p->b->weights[i] * q * q;
    }
    return sum;
}

/* Walks the scales; the best points go to the sub-block. */
static float walk_scales(placing *p, float range, float scale) {
    const tare_iq_form *form = p->form;
    float best = 0;
    for (int step = -form->n_steps; step <= form->n_steps; step++) {
        uint8_t levels[32];
        uint16_t points[8];
        bool on[8];
        float inverse = ((float)(2 * p->l->levels - 1) + (float)step * form->step) / range;
        float this_scale = 1 / inverse;
        for (int k = 0; k < p->n_groups; k++)
            on[k] = place_group(p, k, inverse, this_scale, levels + k * p->l->lanes, &points[k]);
        products sum = products_of(p, levels);
        if (!(sum.qq > 0 && sum.qx * sum.qx > best * sum.qq)) continue;
        scale = sum.qx / sum.qq;
        best = scale * sum.qx;
        memcpy(p->levels, levels, (size_t)form->sub);
        memcpy(p->b->points, points, sizeof points[0] * (size_t)p->n_groups);
        memcpy(p->is_point, on, (size_t)p->n_groups);
    }
    return scale;
}

/* Assigns groups again at the scale that was found, and fits the scale to the result. */
static float refine(placing *p, float scale) {
    bool has_work = p->form->starts_by_search;
    for (int k = 0; k < p->n_groups; k++) has_work |= !p->is_point[k];
    if (!has_work || !(scale > 0)) return scale;
    for (int k = 0; k < p->n_groups; k++)
        if (p->form->refines_all || !p->is_point[k])
            place_group(p, k, 1 / scale, scale, p->levels + k * p->l->lanes, &p->b->points[k]);
    products sum = products_of(p, p->levels);
    return sum.qq > 0 ? sum.qx / sum.qq : scale;
}

static float search(tare_iq_sub *b, const tare_iq_form *form, float range, float scale) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    /* Until a scale wins the levels are 0, which is a point of every codebook. */
    placing p = {.b = b, .form = form, .l = l, .n_groups = form->sub / l->lanes};
    memset(b->points, 0, sizeof b->points);
    for (int k = 0; k < p.n_groups; k++) p.is_point[k] = !form->refines_all;
    scale = walk_scales(&p, range, scale);
    return refine(&p, scale);
}

const tare_iq_searches tare_iq_searches_c = {&tare_searches_c, split, search, &tare_iq_searches_c};
