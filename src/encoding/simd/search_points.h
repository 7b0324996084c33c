/* SPDX-License-Identifier: MIT
 *
 * The searches of iq_search.h in vectors. The steps of a walk over scales have a lane each; where
 * the levels of a group are no point of the codebook, the points of its list of neighbours have a
 * lane each: an element's contribution to their distances depends on its level alone, and a lookup
 * in the few possible values replaces the arithmetic. All sums stay in the order of the scalar
 * search. Written on the names of lanes_avx2.h or lanes_avx512.h, and split_eight, which the
 * including file chooses. */
#ifndef TARE_ENCODING_SIMD_SEARCH_POINTS_H
#define TARE_ENCODING_SIMD_SEARCH_POINTS_H

#include <string.h>

#include "encoding/iq_search.h"
#include "encoding/simd/nearest_point.h"

enum { MOST_GROUPS = 8, MOST_STEPS = 32 };

/* What belongs to an element and a level, all elements and levels of a group in one run. */
typedef struct points_data {
    float qx[MOST_GROUPS * GROUP_VALUES]; /* weight * magnitude * level */
    float qq[MOST_GROUPS * GROUP_VALUES]; /* weight * level^2 */
    float values[MOST_GROUPS * GROUP_VALUES], roots[MOST_GROUPS * GROUP_VALUES];
} points_data;

/* Elements of each step of a walk: packed levels, later packed points. */
typedef struct points_walk {
    uint32_t packed[MOST_GROUPS][MOST_STEPS];
    uint32_t on[MOST_GROUPS]; /* a bit a step: rounded right onto the codebook */
    float scales[MOST_STEPS], qx[MOST_STEPS], qq[MOST_STEPS];
} points_walk;

INLINE void points_prepare(points_data *d, const tare_iq_sub *b, int n, points_form f) {
    int n_levels = 1 << f.bits;
    for (int i = 0; i < n; i++) {
        float w = b->weights[i], m = b->magnitudes[i], r = b->roots[i];
        for (int l = 0; l < n_levels; l++) {
            float q = (float)(2 * l + 1);
            d->qx[i * n_levels + l] = w * m * q;
            d->qq[i * n_levels + l] = w * q * q;
            d->values[i * n_levels + l] = m;
            d->roots[i * n_levels + l] = r;
        }
    }
}

/* The point of a list nearest to a group at a scale. */
INLINE uint32_t points_nearest(const points_data *d, int group, const uint16_t *list, size_t n,
                               float scale, points_form f) {
    float costs[GROUP_VALUES];
    vec q = mul(all(scale), load(f.bits == 2 ? odd_numbers_4 : odd_numbers_8));
    for (int i = 0; i < GROUP_VALUES; i += LANES) {
        vec diff = sub(q, load(d->values + group * GROUP_VALUES + i));
        store(costs + i, mul(mul(load(d->roots + group * GROUP_VALUES + i), diff), diff));
    }
    return nearest_point(list, n, costs, f);
}

/* Rounded levels of a group, packed. Adding 2 * ROUNDER rounds twice the level, which saves halving
 * it; what wraps does so as in tare_round_even. Each level comes with ROUNDER's own bits, whose sum
 * is taken away in the end. */
INLINE ivec points_round(vec inverse, const float *magnitudes, points_form f) {
    ivec packed = all_i(0), lowest = all_i(0x00400000),
         highest = all_i(0x00400000 + (uint32_t)f.levels - 1);
    uint32_t extra = 0;
    for (int i = f.lanes - 1; i >= 0; i--) {
        vec t = sub(mul(inverse, all(magnitudes[i])), all(1));
        ivec level = and_i(bits_of(add(t, all(2 * ROUNDER))), all_i(0x007fffff));
        level = min_signed(max_signed(level, lowest), highest);
        packed = add_i(shift_left(packed, f.bits), level);
        extra = (extra << f.bits) + 0x00400000;
    }
    return sub_i(packed, all_i(extra));
}

INLINE void points_steps(points_walk *k, const tare_iq_sub *b, const points_data *d,
                         const tare_iq_form *form, float range, int first, points_form f) {
    const tare_point_lists *lists = tare_point_lists_get(form->lattice);
    int n_groups = form->sub / f.lanes, n = 2 * form->n_steps + 1 - first;
    vec step = add(load(counting), all((float)(first - form->n_steps)));
    vec inverse =
        divide(add(all((float)(2 * f.levels - 1)), mul(step, all(form->step))), all(range));
    vec qx = all(0), qq = all(0);
    store(k->scales + first, divide(all(1), inverse));
    for (int g = 0; g < n_groups; g++) {
        uint32_t *packed = k->packed[g] + first;
        store_i(packed, points_round(inverse, b->magnitudes + g * f.lanes, f));
        for (int s = 0; s < (n < LANES ? n : LANES); s++) {
            int32_t entry = lists->entries[packed[s]];
            if (entry < 0)
                k->on[g] |= 1u << (first + s);
            else
                packed[s] = points_nearest(d, g, tare_point_list(lists, entry),
                                           tare_point_list_length(entry), k->scales[first + s], f);
        }
        ivec points = load_i(packed);
        for (int i = 0; i < f.lanes; i++) {
            int at = g * GROUP_VALUES + (i << f.bits);
            ivec level = shift_right(points, i * f.bits);
            qx = add(qx, lookup(d->qx + at, level, f));
            qq = add(qq, lookup(d->qq + at, level, f));
        }
    }
    store(k->qx + first, qx);
    store(k->qq + first, qq);
}

/* Assigns groups again at the scale that was found, and fits the scale to the result. */
INLINE float points_refine(uint32_t *packed, uint32_t on, const tare_iq_sub *b,
                           const points_data *d, const tare_iq_form *form, float scale,
                           points_form f) {
    const tare_point_lists *lists = tare_point_lists_get(form->lattice);
    int n_groups = form->sub / f.lanes;
    bool has_work = form->starts_by_search || on != (1u << n_groups) - 1;
    if (!has_work || !(scale > 0)) return scale;
    float inverse = 1 / scale, qx = 0, qq = 0;
    for (int g = 0; g < n_groups; g++) {
        if (form->refines_all || !(on >> g & 1)) {
            uint32_t rounded = 0;
            for (int i = 0; i < f.lanes; i++) {
                float t = 0.5f * (inverse * b->magnitudes[g * f.lanes + i] - 1);
                rounded |= (uint32_t)tare_clamp_i32(tare_round_even(t), 0, f.levels - 1)
                           << i * f.bits;
            }
            int32_t entry = lists->entries[rounded];
            packed[g] = entry < 0 ? rounded
                                  : points_nearest(d, g, tare_point_list(lists, entry),
                                                   tare_point_list_length(entry), scale, f);
        }
        for (int i = 0; i < f.lanes; i++) {
            uint32_t level = packed[g] >> i * f.bits & ((1u << f.bits) - 1);
            qx += d->qx[g * GROUP_VALUES + (i << f.bits) + (int)level];
            qq += d->qq[g * GROUP_VALUES + (i << f.bits) + (int)level];
        }
    }
    return qq > 0 ? qx / qq : scale;
}

INLINE float points_search(tare_iq_sub *b, const tare_iq_form *form, float range, float scale,
                           points_form f) {
    const tare_point_lists *lists = tare_point_lists_get(form->lattice);
    int n_steps = 2 * form->n_steps + 1, n_groups = form->sub / f.lanes;
    points_data d;
    points_walk k;
    uint32_t packed[MOST_GROUPS] = {0}, on = form->refines_all ? 0 : (1u << n_groups) - 1;
    float best = 0;
    int best_step = -1;
    memset(k.on, 0, sizeof k.on);
    points_prepare(&d, b, form->sub, f);
    for (int first = 0; first < n_steps; first += LANES)
        points_steps(&k, b, &d, form, range, first, f);
    for (int s = 0; s < n_steps; s++) {
        if (!(k.qq[s] > 0 && k.qx[s] * k.qx[s] > best * k.qq[s])) continue;
        scale = k.qx[s] / k.qq[s];
        best = scale * k.qx[s];
        best_step = s;
    }
    if (best_step >= 0) {
        on = 0;
        for (int g = 0; g < n_groups; g++) {
            packed[g] = k.packed[g][best_step];
            on |= (k.on[g] >> best_step & 1) << g;
        }
    }
    scale = points_refine(packed, on, b, &d, form, scale, f);
    for (int g = 0; g < n_groups; g++) b->points[g] = (uint16_t)(-1 - lists->entries[packed[g]]);
    return scale;
}

static float search_points(tare_iq_sub *b, const tare_iq_form *form, float range, float scale) {
    bool is_8_of_3 = form->lattice != TARE_LATTICE_IQ3_XXS && form->lattice != TARE_LATTICE_IQ3_S;
    return is_8_of_3 ? points_search(b, form, range, scale, (points_form){8, 2, 3})
                     : points_search(b, form, range, scale, (points_form){4, 3, 8});
}

/* ---- weights and signs ----------------------------------------------------------------------- */

static void split_points(tare_iq_chunk *c, size_t at, size_t n, bool is_weighted,
                         const tare_iq_form *form, float sigma2) {
    for (size_t i = at; i < at + n; i += LANES) {
        vec x = load(c->x + i), weight = mul(x, x);
        if (is_weighted)
            weight = mul(load(c->importance + i), root(add(all(sigma2), weight)));
        else if (form->flat_weight > 0)
            weight = add(all(form->flat_weight * sigma2), weight);
        store(c->weights + i, weight);
        store(c->roots + i, root(weight));
    }
    for (size_t i = at; i < at + n; i += 8)
        if (!split_eight(c, i, form->has_even_signs))
            tare_iq_searches_c.split(c, i, 8, is_weighted, form, sigma2);
}

#endif
