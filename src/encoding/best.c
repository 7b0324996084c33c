/* SPDX-License-Identifier: MIT
 *
 * Searches for scales; see best.h. Every comparison is strict, the first of equal candidates
 * stays. */
#include "encoding/best.h"

#include <math.h>
#include <string.h>

#include "encoding/float16.h"
#include "encoding/levels.h"

/* ---- fits ------------------------------------------------------------------------------------ */

tare_fit tare_fit_levels(const tare_part *p, float scale) {
    return tare_kernels_get()->fit_levels(p->x, p->weights, p->n, p->form, scale);
}

void tare_levels_codes(uint8_t *codes, const float *x, size_t n, float scale,
                       const tare_levels *levels) {
    float inverse = scale != 0 ? 1 / scale : 0;
    for (size_t i = 0; i < n; i++) {
        float t = x[i] * inverse;
        if (levels->n_limits == 0) {
            float q = tare_round_clamped(t, levels->low, levels->high);
            codes[i] = (uint8_t)(int)(q - levels->low);
        } else {
            codes[i] = 0;
            for (int m = 0; m < levels->n_limits; m++)
                codes[i] = (uint8_t)(codes[i] + (t > levels->limits[m]));
        }
    }
}

int tare_lowest_minima(int *at, int most, const float *values, int n) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if ((i > 0 && values[i - 1] < values[i]) || (i + 1 < n && values[i + 1] < values[i]))
            continue;
        int place = found < most ? found++ : most;
        for (; place > 0 && values[i] < values[at[place - 1]]; place--)
            if (place < most) at[place] = at[place - 1];
        if (place < most) at[place] = i;
    }
    return found;
}

/* ---- one scale ------------------------------------------------------------------------------- */

/* Takes the lowest point of the parabola on which the scale stands, if it lies lower. Returns the
 * error there. */
static float take_lower(tare_ideal *best, const tare_fit *fit, float scale) {
    if (!(fit->qq > 0)) return fit->error;
    float shift = fit->rq / fit->qq, error = fit->error - shift * fit->rq;
    if (error < best->error) *best = (tare_ideal){scale + shift, error, fit->qq};
    return error;
}

/* Until the error is well above the lowest, or clipping the largest number alone costs that much.
 */
static void walk_down(tare_ideal *best, const tare_part *p, float most, float weight, float sign) {
    const tare_walk *walk = &p->walk;
    float scale = walk->from * most / walk->reach;
    for (int i = 0; i < walk->n_steps; i++, scale /= walk->ratio) {
        tare_fit fit = p->fit(p, sign * scale);
        float error = take_lower(best, &fit, sign * scale);
        float cut = most - walk->reach * scale;
        if (error > walk->patience * best->error) break;
        if (cut > 0 && weight * cut * cut > best->error) break;
    }
}

tare_ideal tare_search_ideal(const tare_part *p) {
    float most = 0, weight = 0;
    tare_ideal best = {0, 0, 0};
    for (size_t i = 0; i < p->n; i++) {
        float size = fabsf(p->x[i]);
        best.error += p->weights[i] * size * size;
        if (size > most) {
            most = size;
            weight = p->weights[i];
        }
    }
    if (most == 0) return best;
    walk_down(&best, p, most, weight, 1);
    if (p->has_sign) walk_down(&best, p, most, weight, -1);
    for (int i = 0; i < 4; i++) {
        float scale = best.scale;
        tare_fit fit = p->fit(p, scale);
        take_lower(&best, &fit, scale);
        if (best.scale == scale) break;
    }
    return best;
}

static float value_f16(uint32_t code) {
    return tare_f32_of_f16((uint16_t)code);
}
static uint32_t nearest_f16(float scale) {
    return tare_f16_of_f32(scale);
}
static float value_e8m0(uint32_t code) {
    return tare_half_of_e8m0((uint8_t)code);
}
static uint32_t nearest_e8m0(float scale) {
    int exponent = scale > 0 ? ilogbf(scale) + 128 : 0;
    return exponent < 0 ? 0 : (uint32_t)exponent;
}
static float value_ue4m3(uint32_t code) {
    return tare_half_of_ue4m3((uint8_t)code);
}
static uint32_t nearest_ue4m3(float scale) {
    uint32_t low = 0, high = 126;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (value_ue4m3(middle) <= scale)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const tare_scale_kind tare_scale_f16 = {value_f16, nearest_f16, 0x7bff, 1};
const tare_scale_kind tare_scale_half_e8m0 = {value_e8m0, nearest_e8m0, 254, 2};
const tare_scale_kind tare_scale_half_ue4m3 = {value_ue4m3, nearest_ue4m3, 126, 12};

tare_stored tare_search_stored(const tare_part *p, const tare_scale_kind *kind) {
    tare_ideal ideal = tare_search_ideal(p);
    float sign = ideal.scale < 0 ? -1 : 1;
    uint32_t at = kind->nearest(fabsf(ideal.scale)), window = kind->window;
    uint32_t low = at > window ? at - window : 0;
    uint32_t high = at < kind->last - window ? at + window : kind->last;
    tare_stored best = {0, 0, INFINITY};
    for (uint32_t code = low; code <= high; code++) {
        float scale = sign * kind->value(code);
        tare_fit fit = p->fit(p, scale);
        if (fit.error < best.error) best = (tare_stored){code, scale, fit.error};
    }
    return best;
}

/* ---- scales that are whole numbers times an f16 ---------------------------------------------- */

static float factor_of(const tare_super *s, int index) {
    return s->unit * (float)(s->first + s->step * index);
}

/* The fractional index of a number that is given in units of the f16. */
static float place_of(const tare_super *s, float number) {
    return (number / s->unit - (float)s->first) / (float)s->step;
}

/* The error to come if the parts keep their codes and only scales are rounded. */
static float guess_error(const tare_ideal *ideal, const tare_super *s, float d) {
    float sum = 0, inverse = 1 / d;
    for (int j = 0; j < s->n_parts; j++) {
        float place = place_of(s, inverse * ideal[j].scale);
        int index = (int)tare_round_clamped(place, 0, (float)(s->count - 1));
        float off = d * factor_of(s, index) - ideal[j].scale;
        sum += ideal[j].qq * off * off;
    }
    return sum;
}

enum { WALK = 48, MOST_STARTS = 4 };

/* The f16s that look best: the lowest of the local minima of the guess. */
static int find_starts(float *starts, const tare_ideal *ideal, const tare_super *s) {
    float guess[2 * WALK], at[2 * WALK], most = 0;
    int n = 0;
    for (int j = 0; j < s->n_parts; j++) most = fmaxf(most, fabsf(ideal[j].scale));
    if (most == 0) return 0;
    float reach = fmaxf(fabsf(factor_of(s, 0)), fabsf(factor_of(s, s->count - 1)));
    for (int side = 0; side < (s->has_sign ? 2 : 1); side++) {
        float d = 1.05f * most / reach * (side ? -1 : 1);
        for (int i = 0; i < WALK; i++, d /= 1.02f) {
            at[n] = d;
            guess[n++] = guess_error(ideal, s, d);
        }
    }
    int minima[MOST_STARTS], n_starts = tare_lowest_minima(minima, s->n_starts, guess, n);
    for (int i = 0; i < n_starts; i++) starts[i] = at[minima[i]];
    return n_starts;
}

/* The best of the whole numbers around a part's ideal scale, as many as the search tries. */
static tare_fit choose_index(int *index, const tare_part *p, const tare_super *s, float d,
                             float ideal) {
    tare_fit best = {INFINITY, 0, 0};
    *index = 0;
    float first = place_of(s, ideal / d) - 0.5f * (float)(s->n_near - 1);
    int low = (int)tare_round_clamped(first, 0, (float)(s->count - 1));
    for (int i = low; i < low + s->n_near && i < s->count; i++) {
        tare_fit fit = p->fit(p, d * factor_of(s, i));
        if (fit.error < best.error) {
            best = fit;
            *index = i;
        }
    }
    return best;
}

/* From one f16: numbers for all parts, then the f16 that fits them best, for as long as it helps.
 */
static void refine(tare_super_found *best, const tare_part *parts, const tare_ideal *ideal,
                   const tare_super *s, float d) {
    for (int round = 0; round < 3; round++) {
        tare_super_found found = {.d = tare_f16_of_f32(d)};
        float rq = 0, qq = 0;
        d = tare_f32_of_f16(found.d);
        if (d == 0 || isinf(d)) break;
        for (int j = 0; j < s->n_parts && j < TARE_MOST_PARTS; j++) {
            int index;
            tare_fit fit = choose_index(&index, &parts[j], s, d, ideal[j].scale);
            float factor = factor_of(s, index);
            found.index[j] = (uint8_t)index;
            found.error += fit.error;
            found.scales[j] = d * factor;
            rq += factor * fit.rq;
            qq += factor * factor * fit.qq;
        }
        float before = best->error;
        if (found.error < before) *best = found;
        if (!(qq > 0) || found.error > 1.02f * before) break;
        d += rq / qq;
        if (tare_f16_of_f32(d) == found.d) break;
    }
}

tare_super_found tare_search_super(const tare_part *parts, const tare_super *super) {
    tare_ideal ideal[TARE_MOST_PARTS];
    tare_super_found best = {.error = INFINITY};
    float starts[MOST_STARTS];
    for (int j = 0; j < super->n_parts; j++) ideal[j] = tare_search_ideal(&parts[j]);
    int n = find_starts(starts, ideal, super);
    for (int i = 0; i < n; i++) refine(&best, parts, ideal, super, starts[i]);
    return best;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The location of a block in its planes. */
typedef struct placed {
    uint8_t *planes[TARE_MAX_PLANES];
    size_t sizes[TARE_MAX_PLANES];
} placed;

static void step(placed *at, const tare_encoding *e) {
    for (uint32_t p = 0; p < e->n_planes; p++) at->planes[p] += at->sizes[p];
}

/* The number of bytes in a block of n numbers. */
static void set_sizes(placed *at, const tare_encoding *e, size_t n) {
    for (uint32_t p = 0; p < e->n_planes; p++) {
        const tare_plane_info *info = &e->planes[p];
        at->sizes[p] = (n + info->unit - 1) / info->unit * info->unit_bytes;
    }
}

/* The error of what a block decodes to. */
static double error_of(const tare_encoding *e, tare_decode_fn decode, const placed *at,
                       const tare_best_block *b, const float *importance) {
    float values[256];
    tare_rows rows = {.n_rows = 1, .cols = b->n};
    double sum = 0;
    for (uint32_t p = 0; p < e->n_planes; p++) rows.planes[p] = at->planes[p];
    decode(values, &rows);
    for (size_t i = 0; i < b->n; i++) {
        double r = (double)values[i] - (double)b->x[i];
        sum += (importance ? (double)tare_get_f32(importance, i) : 1) * (r * r);
    }
    return sum;
}

/* Numbers and weights for the search, the numbers clamped to bounds; false if they cannot be
 * searched. Weights are scaled to at most 1; a little is added, so that numbers of weight 0 get
 * sensible codes too. */
static bool take_block(tare_best_block *b, size_t block, const float *src, size_t first,
                       const float *importance, const tare_encode_params *params) {
    float most = 0, heaviest = 0;
    for (size_t i = 0; i < b->n; i++) {
        float v = tare_get_f32(src, first + i);
        if (params && params->has_clip)
            v = v < params->clip_min   ? params->clip_min
                : v > params->clip_max ? params->clip_max
                                       : v;
        if (!(fabsf(v) < 0x1p60f)) return false;
        b->x[i] = v;
        most = fmaxf(most, fabsf(v));
        b->weights[i] = importance ? tare_get_f32(importance, i) : 1;
        if (!(b->weights[i] >= 0 && b->weights[i] < INFINITY)) return false;
        heaviest = fmaxf(heaviest, b->weights[i]);
    }
    for (size_t i = 0; importance && i < b->n; i++)
        b->weights[i] = b->weights[i] / heaviest + 0x1p-20f;
    for (size_t i = b->n; i < block; i++) b->x[i] = b->weights[i] = 0;
    return most > 0x1p-40f && heaviest > 0;
}

/* The better one of what the block has and a candidate. */
static void improve_block(const placed *at, const tare_best_block *b, const tare_encoding *e,
                          const float *importance, const tare_best_format *format) {
    tare_decode_fn decode = tare_kernels_get()->decode[e->id];
    uint8_t bytes[256 + 64];
    placed candidate = *at;
    double error = error_of(e, decode, at, b, importance);
    if (error == 0) return;
    uint8_t *to = bytes;
    for (uint32_t p = 0; p < e->n_planes; to += at->sizes[p++]) candidate.planes[p] = to;
    format->improve(candidate.planes, b);
    if (!(error_of(e, decode, &candidate, b, importance) < error)) return;
    for (uint32_t p = 0; p < e->n_planes; p++)
        memcpy(at->planes[p], candidate.planes[p], at->sizes[p]);
}

void tare_encode_best(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                      const tare_best_format *format) {
    const tare_kernels *k = tare_kernels_get();
    const tare_encoding *e = tare_encoding_get(format->id);
    const float *importance = params ? params->importance : NULL;
    tare_encode_fn reference = k->encode[format->id];
    if (importance && k->encode_weighted[format->id]) reference = k->encode_weighted[format->id];
    size_t first = 0;
    placed at = {.sizes = {0}};
    memcpy(at.planes, dst->planes, sizeof at.planes);
    reference(dst, src, params);
    for (uint64_t row = 0; row < dst->n_rows; row++)
        for (uint64_t col = 0; col < dst->cols; col += e->block) {
            uint64_t left = dst->cols - col;
            tare_best_block b;
            b.n = left < e->block ? (size_t)left : e->block;
            const float *w = importance ? importance + col : NULL;
            set_sizes(&at, e, b.n);
            if (take_block(&b, e->block, src, first, w, params))
                improve_block(&at, &b, e, w, format);
            step(&at, e);
            first += b.n;
        }
}
