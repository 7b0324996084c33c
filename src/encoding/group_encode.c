/* SPDX-License-Identifier: MIT
 *
 * Encoders of groups; see group_encode.h. */
#include "encoding/group_encode.h"

#include <math.h>
#include <string.h>

#include "encoding/best.h"
#include "encoding/float16.h"
#include "encoding/levels.h"

/* A group in progress, filled up to whole lanes with zeros of weight 0. */
typedef struct group {
    const float *x, *weights;
    size_t n, n_padded;
    const tare_group_form *form;
    float low, high, largest;
    float factor;  /* what scales are multiplied by */
    float divisor; /* the same as it is stored where it divides; 0: it does not */
    float *room;   /* two more such arrays */
} group;

/* ---- types of scales --------------------------------------------------------------------------- */

float tare_group_value(uint32_t bits, tare_encoding_id type) {
    return type == TARE_ENCODING_F16       ? tare_f32_of_f16((uint16_t)bits)
           : type == TARE_ENCODING_BF16    ? tare_f32_of_bits(bits << 16)
           : type == TARE_ENCODING_F32     ? tare_f32_of_bits(bits)
           : type == TARE_ENCODING_F8_E8M0 ? 2 * tare_half_of_e8m0((uint8_t)bits)
                                           : 2 * tare_half_of_ue4m3((uint8_t)bits);
}

static uint32_t nearest(float v, tare_encoding_id type) {
    return type == TARE_ENCODING_F16    ? tare_f16_of_f32(v)
           : type == TARE_ENCODING_BF16 ? tare_bf16_of_f32_bits(tare_f32_bits(v))
                                        : tare_f32_bits(v);
}

static uint32_t nearest_e4m3(float scale) {
    uint8_t code;
    const tare_rows_mut to = {.planes = {&code}, .n_rows = 1, .cols = 1};
    tare_kernels_get()->encode[TARE_ENCODING_F8_E4M3](&to, &scale, NULL);
    return code;
}

uint32_t tare_group_bits(float v, tare_encoding_id type) {
    return type == TARE_ENCODING_F8_E4M3   ? nearest_e4m3(v)
           : type == TARE_ENCODING_F8_E8M0 ? tare_f32_bits(v) >> 23
                                           : nearest(v, type);
}

float tare_group_rounded(float v, tare_encoding_id type) {
    return tare_group_value(nearest(v, type), type);
}

static float value_bf16(uint32_t code) {
    return tare_f32_of_bits(code << 16);
}
static uint32_t nearest_bf16(float scale) {
    return tare_bf16_of_f32_bits(tare_f32_bits(scale));
}
static float value_f32(uint32_t code) {
    return tare_f32_of_bits(code);
}
static uint32_t nearest_f32(float scale) {
    return tare_f32_bits(scale);
}

static const tare_scale_kind scale_bf16 = {value_bf16, nearest_bf16, 0x7f7f, 1};
static const tare_scale_kind scale_f32 = {value_f32, nearest_f32, 0x7f7fffff, 0};

static const tare_scale_kind *kind_of(tare_encoding_id type) {
    return type == TARE_ENCODING_F16       ? &tare_scale_f16
           : type == TARE_ENCODING_BF16    ? &scale_bf16
           : type == TARE_ENCODING_F8_E8M0 ? &tare_scale_half_e8m0
           : type == TARE_ENCODING_F8_E4M3 ? &tare_scale_half_ue4m3
                                           : &scale_f32;
}

static uint32_t sign_bit(tare_encoding_id type) {
    return type == TARE_ENCODING_F32 ? TARE_F32_SIGN : 0x8000;
}

/* ---- whole numbers around zero ----------------------------------------------------------------- */

static tare_levels whole_levels(uint32_t bits) {
    const float half = (float)(1u << (bits - 1));
    return (tare_levels){.low = -half, .high = half - 1};
}

/* Fine codes are walked in small steps, of which few are worth trying. */
static tare_walk walk_of(uint32_t bits) {
    const float reach = (float)(1u << (bits - 1));
    return bits >= 7   ? (tare_walk){reach, 1.06f, 1.008f, INFINITY, 20}
           : bits >= 5 ? (tare_walk){reach, 1.15f, 1.02f, INFINITY, 48}
                       : (tare_walk){reach, 1.3f, 1.04f, INFINITY, 64};
}

static tare_part part_of(const group *g, const tare_levels *levels, tare_walk walk) {
    return (tare_part){.x = g->x,
                       .weights = g->weights,
                       .n = g->n_padded,
                       .fit = tare_fit_levels,
                       .form = levels,
                       .walk = walk};
}

static void signed_best(uint8_t *codes, tare_group *out, const group *g) {
    const tare_levels levels = whole_levels(g->form->bits);
    tare_part part = part_of(g, &levels, walk_of(g->form->bits));
    part.has_sign = true;
    const tare_stored found = tare_search_stored(&part, kind_of(g->form->scale));
    out->scale = found.code | (found.scale < 0 ? sign_bit(g->form->scale) : 0);
    tare_levels_codes(codes, g->x, g->n, found.scale, &levels);
}

/* The library divides in the type of the numbers, and takes its step there for a scale of 0. */
static float plain_scale(const group *g, float range) {
    const tare_encoding_id type = g->form->numbers;
    const float scale = tare_group_rounded(range, type);
    if (scale > 0) return scale;
    return type == TARE_ENCODING_BF16 ? 0x1p-7f : type == TARE_ENCODING_F16 ? 0x1p-10f : 0x1p-23f;
}

static void plain_codes(uint8_t *codes, const group *g, float scale, float zero,
                        const tare_levels *levels) {
    const tare_rounding r = {.numbers = g->form->numbers,
                             .scale = scale,
                             .zero = zero,
                             .low = levels->low,
                             .high = levels->high};
    tare_kernels_get()->group_whole(codes, g->x, g->n, &r);
}

static void signed_plain(uint8_t *codes, tare_group *out, const group *g) {
    const tare_levels levels = whole_levels(g->form->bits);
    const float scale = plain_scale(g, g->largest / ((levels.high - levels.low) / 2));
    out->scale = nearest(scale, g->form->scale);
    plain_codes(codes, g, scale, 0, &levels);
}

/* ---- whole numbers around a zero point --------------------------------------------------------- */

typedef struct centred {
    float scale, zero, error;
} centred;

static tare_fit fit_centred(const group *g, float scale, float zero) {
    const float top = (float)((1u << g->form->bits) - 1);
    const tare_levels levels = {.low = -zero, .high = top - zero};
    const tare_part part = part_of(g, &levels, (tare_walk){0});
    return tare_fit_levels(&part, scale);
}

/* A scale and a zero point, and the scale that is best with the codes that they give. */
static void try_centred(centred *best, const group *g, float scale, float zero) {
    for (int round = 0; round < 2; round++) {
        scale = tare_group_rounded(scale, g->form->scale);
        if (!(scale > 0) || isinf(scale)) return;
        const tare_fit fit = fit_centred(g, scale, zero);
        if (fit.error < best->error) *best = (centred){scale, zero, fit.error};
        if (!(fit.qq > 0)) return;
        scale += fit.rq / fit.qq;
    }
}

static void centred_best(uint8_t *codes, tare_group *out, const group *g) {
    const float top = (float)((1u << g->form->bits) - 1);
    const float low = g->low < 0 ? g->low : 0, high = g->high > 0 ? g->high : 0;
    const float unit = 0.4f * (high - low) / top;
    centred best = {0, 0, INFINITY};
    for (int i = -1; i <= 4; i++)
        for (int k = -1; k <= 4; k++) {
            const float from = low + unit * (float)i, scale = (high - unit * (float)k - from) / top;
            if (scale > 0) try_centred(&best, g, scale, tare_round_clamped(-from / scale, 0, top));
        }
    /* the neighbours of the best zero point, under the scale that fits it and one a little smaller */
    const centred found = best;
    for (float zero = found.zero - 1; zero <= found.zero + 1; zero++)
        for (int i = 0; i < 2 && zero >= 0 && zero <= top; i++)
            try_centred(&best, g, found.scale * (i ? 0.98f : 1), zero);
    out->scale = nearest(best.scale, g->form->scale);
    out->zero = (uint8_t)(int)best.zero;
    const tare_levels levels = {.low = -best.zero, .high = top - best.zero};
    tare_levels_codes(codes, g->x, g->n, best.scale, &levels);
}

static void centred_plain(uint8_t *codes, tare_group *out, const group *g) {
    const tare_encoding_id type = g->form->numbers;
    const tare_levels levels = whole_levels(g->form->bits);
    const float low = g->low < 0 ? g->low : 0, high = g->high > 0 ? g->high : 0;
    const float scale =
        plain_scale(g, tare_group_rounded(high - low, type) / (levels.high - levels.low));
    const float zero = tare_round_clamped(
        tare_group_rounded(levels.low - tare_group_rounded(low / scale, type), type), levels.low,
        levels.high);
    out->scale = nearest(scale, g->form->scale);
    out->zero = (uint8_t)(int)(zero - levels.low);
    plain_codes(codes, g, scale, zero, &levels);
}

/* ---- a scale and an offset --------------------------------------------------------------------- */

static float beside(float v, int steps, tare_encoding_id type) {
    const uint32_t bits = nearest(v, type), sign = bits & sign_bit(type);
    const int64_t size = (int64_t)(bits ^ sign) + steps;
    return tare_group_value(size < 0 ? sign : (uint32_t)size | sign, type);
}

/* Both are stored in few bits, and an error of the scale counts as often as the code says: pairs
 * around the ideal one are tried. */
static void affine_best(uint8_t *codes, tare_group *out, const group *g) {
    const tare_encoding_id type = g->form->scale;
    const float top = (float)((1u << g->form->bits) - 1);
    tare_line ideal = tare_search_line(g->x, g->weights, g->n, g->n_padded, top),
              best = {0, g->low};
    const int around = type == TARE_ENCODING_F32 ? 0 : 2;
    const tare_kernels *kernels = tare_kernels_get();
    float least = INFINITY;
    for (int i = -around; i <= around; i++) {
        const float scale = beside(ideal.scale, i, type);
        /* what the middle code stands for stays */
        const float middle = ideal.offset + (ideal.scale - scale) * (top / 2);
        for (int k = -around; k <= around; k++) {
            const float offset = beside(middle, k, type);
            tare_line_fit fit;
            kernels->fit_line(&fit, g->x, g->weights, g->n_padded, top, scale, offset);
            if (!(fit.error < least)) continue;
            least = fit.error;
            best = (tare_line){scale, offset};
        }
    }
    out->scale = nearest(best.scale, type);
    out->offset = nearest(best.offset, type);
    best.offset = tare_group_rounded(best.offset, type);
    for (size_t i = 0; i < g->n; i++) g->room[i] = g->x[i] - best.offset;
    const tare_levels levels = {.low = 0, .high = top};
    tare_levels_codes(codes, g->room, g->n, best.scale, &levels);
}

/* As MLX does it: the end of larger magnitude is met exactly, where a code falls on zero. */
static void affine_plain(uint8_t *codes, tare_group *out, const group *g) {
    const tare_encoding_id type = g->form->scale;
    const float top = (float)((1u << g->form->bits) - 1);
    const bool is_low = fabsf(g->low) > fabsf(g->high);
    const float edge = is_low ? g->low : g->high, range = (g->high - g->low) / top;
    float scale = range > 1e-7f ? range : 1e-7f;
    if (!is_low) scale = -scale;
    const float zero = rintf(edge / scale);
    if (zero != 0) scale = edge / zero;
    const float offset = zero != 0 ? edge : 0;
    out->scale = nearest(scale, type);
    out->offset = nearest(offset, type);
    const tare_rounding r = {
        .numbers = TARE_ENCODING_F32, .offset = offset, .scale = scale, .high = top};
    tare_kernels_get()->group_whole(codes, g->x, g->n, &r);
}

/* ---- floats of four bits ----------------------------------------------------------------------- */

/* The exponent of the library: that of the largest number, one more if its mantissa is large, less that
 * of the largest code. */
static uint32_t plain_exponent(const group *g, int most) {
    const int exponent = (int)((tare_f32_bits(g->largest) + g->form->carry) >> 23) - most;
    return (uint32_t)(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent);
}

/* As ModelOpt does it. */
static float divided_e2m1_scale(tare_group *out, const group *g) {
    const float scale = g->largest / (6 * g->divisor);
    out->scale = nearest_e4m3(scale == 0        ? 1
                              : scale < 0x1p-9f ? 0x1p-9f
                              : scale < 448     ? scale
                                                : 448);
    return tare_group_value(out->scale, g->form->scale) * g->divisor;
}

static float plain_e2m1_scale(tare_group *out, const group *g) {
    if (g->form->scale == TARE_ENCODING_F8_E8M0) {
        out->scale = plain_exponent(g, 2);
        return tare_group_value(out->scale, g->form->scale);
    }
    if (g->form->multiplies) return divided_e2m1_scale(out, g);
    const float scale = tare_group_rounded(g->largest / 6, g->form->numbers) * g->factor;
    out->scale = nearest_e4m3(scale < 448 ? scale : 448);
    if (out->scale == 0) out->scale = nearest_e4m3(0.125f);
    return tare_group_value(out->scale, g->form->scale) / g->factor;
}

static void put_e2m1(uint8_t *codes, const group *g, float scale) {
    const tare_e2m1_rounding r = {scale, g->form->has_one_zero, g->form->ties_to_zero};
    tare_kernels_get()->group_e2m1(codes, g->x, g->n, &r);
}

static void e2m1_plain(uint8_t *codes, tare_group *out, const group *g) {
    put_e2m1(codes, g, plain_e2m1_scale(out, g));
}

/* Scales have few values: all of them are tried from where the largest number has the code below the
 * last one, or nearly so, to where it has one about half as large. Numbers are brought to where scales are
 * stored; levels are doubled. */
static void e2m1_best(uint8_t *codes, tare_group *out, const group *g) {
    static const tare_levels levels = TARE_LEVELS_FP4;
    const tare_scale_kind *kind = kind_of(g->form->scale);
    const tare_kernels *kernels = tare_kernels_get();
    const float reach = g->largest * g->factor / 12;
    const uint32_t first = kind->nearest(0.65f * reach), last = kind->nearest(2.1f * reach);
    float *scaled = g->room, least = INFINITY;
    for (size_t i = 0; i < g->n_padded; i++) scaled[i] = g->x[i] * g->factor;
    for (uint32_t code = first; code <= last && code <= kind->last; code++) {
        const float error =
            kernels->fit_levels(scaled, g->weights, g->n_padded, &levels, kind->value(code)).error;
        if (error < least) least = error, out->scale = code;
    }
    put_e2m1(codes, g, tare_group_value(out->scale, g->form->scale) / g->factor);
}

/* ---- floats of eight bits ---------------------------------------------------------------------- */

/* ComfyUI's library multiplies by the reciprocal, rounded. */
static void put_e4m3(uint8_t *codes, const group *g, float scale) {
    const tare_encoding_id type = g->form->is_plain ? g->form->numbers : TARE_ENCODING_F32;
    const bool multiplies = g->form->is_scaled && g->form->is_plain;
    const tare_rounding r = {.numbers = type,
                             .scale = multiplies ? tare_group_rounded(1 / scale, type) : scale,
                             .multiplies = multiplies,
                             .low = -TARE_E4M3_LAST,
                             .high = TARE_E4M3_LAST};
    tare_kernels_get()->group_e4m3(codes, g->x, g->n, &r);
}

static void e4m3_plain(uint8_t *codes, tare_group *out, const group *g) {
    float scale;
    if (g->form->scale == TARE_ENCODING_F8_E8M0) {
        out->scale = plain_exponent(g, 8);
        scale = tare_group_value(out->scale, g->form->scale);
    } else {
        scale = plain_scale(g, g->largest / 448);
        out->scale = nearest(scale, g->form->scale);
    }
    put_e4m3(codes, g, scale);
}

/* All scales of an octave: where numbers fall between the codes repeats with the next one. */
static void e4m3_best(uint8_t *codes, tare_group *out, const group *g) {
    const tare_encoding_id type = g->form->scale;
    float least = INFINITY, best = 0;
    if (type == TARE_ENCODING_F8_E8M0 || g->largest == 0) {
        e4m3_plain(codes, out, g);
        return;
    }
    for (float t = 0.86f; t < 1.75f; t *= 1.045f) {
        const float scale = tare_group_rounded(t * g->largest / 448, type);
        if (!(scale > 0)) continue;
        const float error = tare_kernels_get()->fit_e4m3(g->x, g->weights, g->n_padded, scale);
        if (error < least) least = error, best = scale;
    }
    if (!(best > 0)) best = plain_scale(g, 0);
    out->scale = nearest(best, type);
    put_e4m3(codes, g, best);
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Weights of at most 1; a little is added, so that numbers that nobody looked at have codes, too. */
static void fill_weights(float *to, const float *weights, size_t n) {
    float most = 0;
    for (size_t i = 0; weights && i < n; i++)
        if (weights[i] > most) most = weights[i];
    for (size_t i = 0; i < n; i++) to[i] = most > 0 ? weights[i] / most + 1e-4f : 1;
}

static bool measure(group *g) {
    tare_reach reach;
    tare_kernels_get()->group_reach(&reach, g->x, g->n);
    g->low = reach.low;
    g->high = reach.high;
    g->largest = tare_f32_of_bits(reach.largest);
    return reach.largest < TARE_F32_INF;
}

/* Whether scales reach the largest number, and squares of the numbers are floats. */
static bool is_in_range(const group *g) {
    const tare_encoding_id type = g->form->scale;
    if (g->largest * g->factor > 1e18f) return false;
    /* 448 times 6, and what the rounding of a factor may add */
    if (type == TARE_ENCODING_F8_E4M3 && g->largest * g->factor > 2688 * 1.01f) return false;
    return type != TARE_ENCODING_F16 || g->largest < 65504;
}

/* To whole lanes, for searches. */
static void pad(group *g, const float *weights) {
    float *numbers = g->room, *weighed = numbers + g->n_padded;
    memcpy(numbers, g->x, g->n * sizeof *g->x);
    memset(numbers + g->n, 0, (g->n_padded - g->n) * sizeof *g->x);
    fill_weights(weighed, weights, g->n);
    memset(weighed + g->n, 0, (g->n_padded - g->n) * sizeof *g->x);
    g->x = numbers;
    g->weights = weighed;
    g->room += 2 * g->n_padded;
}

bool tare_group_encode(uint8_t *codes, tare_group *out, const float *x, const float *weights,
                       size_t n, const tare_group_form *form, float factor, float *room) {
    static void (*const encoders[][2])(uint8_t *, tare_group *, const group *) = {
        [TARE_GROUP_SIGNED] = {signed_best, signed_plain},
        [TARE_GROUP_CENTRED] = {centred_best, centred_plain},
        [TARE_GROUP_AFFINE] = {affine_best, affine_plain},
        [TARE_GROUP_E2M1] = {e2m1_best, e2m1_plain},
        [TARE_GROUP_E4M3] = {e4m3_best, e4m3_plain},
    };
    const size_t n_padded = (n + TARE_FIT_LANES - 1) / TARE_FIT_LANES * TARE_FIT_LANES;
    group g = {.x = x, .n = n, .n_padded = n_padded, .form = form, .factor = factor};
    if (form->multiplies) g.divisor = factor, g.factor = 1 / factor;
    *out = (tare_group){.scale = 0};
    if (!measure(&g) || !is_in_range(&g)) return false;
    g.room = room;
    if (form->is_scaled) {
        put_e4m3(codes, &g, g.divisor);
        return true;
    }
    /* squares of such numbers are none that could be compared */
    const bool is_plain = form->is_plain || g.largest * g.factor < 1e-15f;
    if (!is_plain) pad(&g, weights);
    encoders[form->kind][is_plain](codes, out, &g);
    return true;
}
