/* SPDX-License-Identifier: MIT
 *
 * Encoders of the IQ2 and IQ3 formats: super-blocks of 256 whose elements are signs and points of a
 * codebook (of 8 or 4 elements), in sub-blocks of 16 or 32 with 4-bit scales under one f16. Byte
 * for byte what ggml's encoders write, so every f32 operation stands in its order. */
#include <math.h>
#include <string.h>

#include "encoding/blocks.h"
#include "encoding/iq_pack.h"
#include "encoding/lattice.h"
#include "encoding/numbers.h"
#include "encoding/search.h"

/* What the five formats differ in. */
typedef struct iq_form {
    tare_lattice_id lattice;
    int sub;     /* elements under one scale */
    int n_steps; /* scales tried: -n_steps..n_steps around the start */
    float step;
    float zero_below;      /* a sub-block whose largest value is smaller is empty */
    float sigma_factor;    /* of the mean square, in the weights */
    float flat_weight;     /* without importance: + flat_weight * sigma2 in each weight */
    float stored_factor;   /* of the super-block's scale as it is stored */
    bool has_even_signs;   /* the number of minus signs of eight elements is even */
    bool starts_by_search; /* the first scale comes from a search over plain integers */
    bool refines_all;      /* the last pass takes groups on the codebook too */
} iq_form;

static const iq_form form_iq2_xxs = {.lattice = TARE_LATTICE_IQ2_XXS,
                                     .sub = 32,
                                     .n_steps = 6,
                                     .step = 0.1f,
                                     .zero_below = TARE_SEARCH_ZERO,
                                     .sigma_factor = 1,
                                     .stored_factor = 1,
                                     .has_even_signs = true,
                                     .starts_by_search = true,
                                     .refines_all = true};
static const iq_form form_iq2_xs = {.lattice = TARE_LATTICE_IQ2_XS,
                                    .sub = 16,
                                    .n_steps = 9,
                                    .step = 0.1f,
                                    .zero_below = TARE_SEARCH_ZERO,
                                    .sigma_factor = 1,
                                    .stored_factor = 1,
                                    .has_even_signs = true};
static const iq_form form_iq2_s = {.lattice = TARE_LATTICE_IQ2_S,
                                   .sub = 16,
                                   .n_steps = 9,
                                   .step = 0.1f,
                                   .zero_below = 1e-8f,
                                   .sigma_factor = 2,
                                   .flat_weight = 0.25f,
                                   .stored_factor = 0.9875f};
static const iq_form form_iq3_xxs = {.lattice = TARE_LATTICE_IQ3_XXS,
                                     .sub = 32,
                                     .n_steps = 15,
                                     .step = 0.2f,
                                     .zero_below = 1e-8f,
                                     .sigma_factor = 2,
                                     .stored_factor = 1.0125f,
                                     .has_even_signs = true};
static const iq_form form_iq3_s = {.lattice = TARE_LATTICE_IQ3_S,
                                   .sub = 32,
                                   .n_steps = 9,
                                   .step = 0.2f,
                                   .zero_below = 0,
                                   .sigma_factor = 2,
                                   .stored_factor = 1.033f,
                                   .refines_all = true};

/* One sub-block on its way. */
typedef struct sub_block {
    float magnitudes[32]; /* |x|, but minus it where an even number of signs was forced */
    float weights[32], roots[32];
    uint8_t signs[4]; /* a bit an element; bit 7 is implied where signs are even */
    uint8_t levels[32];
    uint16_t points[8];
} sub_block;

static void weigh(sub_block *b, const float *x, const float *importance, const iq_form *form,
                  float sigma2) {
    for (int i = 0; i < form->sub; i++) {
        float square = x[i] * x[i];
        if (importance)
            b->weights[i] = importance[i] * sqrtf(sigma2 + square);
        else
            b->weights[i] = form->flat_weight > 0 ? form->flat_weight * sigma2 + square : square;
        b->roots[i] = sqrtf(b->weights[i]);
    }
}

/* Signs and magnitudes of eight elements. An odd number of signs is mended where it costs least. */
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

/* Rounds one group to levels and, where they are no point of the codebook, on to the nearest one.
 * True: they were. */
static bool place_group(sub_block *b, const tare_lattice *l, int group, float inverse, float scale,
                        uint8_t *levels, uint16_t *point) {
    const float *values = b->magnitudes + group * l->lanes;
    for (int i = 0; i < l->lanes; i++)
        levels[i] = (uint8_t)tare_clamp_i32(tare_round_even(0.5f * (inverse * values[i] - 1)), 0,
                                            l->levels - 1);
    int32_t at = l->at[tare_lattice_place(l, levels)];
    bool is_point = at >= 0;
    *point = is_point ? (uint16_t)at
                      : nearest_point(l, l->near + (-1 - at), values, b->roots + group * l->lanes,
                                      scale);
    for (int i = 0; i < l->lanes; i++) levels[i] = tare_lattice_level(l, *point, i);
    return is_point;
}

typedef struct iq_products {
    float qx, qq;
} iq_products;

static iq_products products_of(const sub_block *b, const uint8_t *levels, int n) {
    iq_products p = {0, 0};
    for (int i = 0; i < n; i++) {
        float q = (float)(2 * levels[i] + 1);
        p.qx += b->weights[i] * b->magnitudes[i] * q;
        p.qq += b->weights[i] * q * q;
    }
    return p;
}

/* Walks the scales; the best codes go to *b. `range` is what the highest level should reach.
 * is_point tells of each group whether it was rounded right onto the codebook. */
static float walk_scales(sub_block *b, const iq_form *form, const tare_lattice *l, float range,
                         float scale, bool *is_point) {
    int n_groups = form->sub / l->lanes;
    float best = 0;
    for (int step = -form->n_steps; step <= form->n_steps; step++) {
        uint8_t levels[32];
        uint16_t points[8];
        bool on[8];
        float inverse = ((float)(2 * l->levels - 1) + (float)step * form->step) / range;
        float this_scale = 1 / inverse;
        for (int k = 0; k < n_groups; k++)
            on[k] = place_group(b, l, k, inverse, this_scale, levels + k * l->lanes, &points[k]);
        iq_products p = products_of(b, levels, form->sub);
        if (!(p.qq > 0 && p.qx * p.qx > best * p.qq)) continue;
        scale = p.qx / p.qq;
        best = scale * p.qx;
        memcpy(b->levels, levels, (size_t)form->sub);
        memcpy(b->points, points, sizeof points[0] * (size_t)n_groups);
        memcpy(is_point, on, (size_t)n_groups);
    }
    return scale;
}

/* Places groups once more at the scale that was found, and fits the scale to what comes out. */
static float refine(sub_block *b, const iq_form *form, const tare_lattice *l, float scale,
                    const bool *is_point) {
    int n_groups = form->sub / l->lanes;
    bool has_work = form->starts_by_search;
    for (int k = 0; k < n_groups; k++) has_work |= !is_point[k];
    if (!has_work || !(scale > 0)) return scale;
    for (int k = 0; k < n_groups; k++)
        if (form->refines_all || !is_point[k])
            place_group(b, l, k, 1 / scale, scale, b->levels + k * l->lanes, &b->points[k]);
    iq_products p = products_of(b, b->levels, form->sub);
    return p.qq > 0 ? p.qx / p.qq : scale;
}

/* Codes and scale of one sub-block; false: it counts as empty. */
static bool encode_sub(sub_block *b, float *out_scale, const float *x, const float *importance,
                       const iq_form *form, float sigma2) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    bool is_point[8];
    weigh(b, x, importance, form, sigma2);
    for (int k = 0; k < form->sub / 8; k++)
        b->signs[k] =
            split_signs(b->magnitudes + 8 * k, x + 8 * k, b->weights + 8 * k, form->has_even_signs);
    memset(b->points, 0, sizeof b->points);
    float max = b->magnitudes[0];
    for (int i = 1; i < form->sub; i++) max = max > b->magnitudes[i] ? max : b->magnitudes[i];
    if (max < form->zero_below || max == 0) return false;
    float range = max, scale = max / (float)(2 * l->levels - 1);
    if (form->starts_by_search) {
        scale =
            tare_search_unsigned(b->levels, b->magnitudes, b->weights, form->sub, l->levels + 1);
        range = scale * l->levels;
        if (range <= 0) return false;
    }
    /* Until a scale wins the levels are 0, which is a point of every codebook. */
    memset(b->levels, 0, sizeof b->levels);
    for (int k = 0; k < 8; k++) is_point[k] = !form->refines_all;
    scale = walk_scales(b, form, l, range, scale, is_point);
    scale = refine(b, form, l, scale, is_point);
    if (scale < 0) {
        scale = -scale;
        for (int k = 0; k < form->sub / 8; k++)
            b->signs[k] = (uint8_t)(~b->signs[k] & (form->has_even_signs ? 127 : 255));
    }
    *out_scale = scale;
    return true;
}

static void encode_super(tare_iq_codes *c, const float *x, const float *importance,
                         const iq_form *form) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    int n_subs = form->sub == 16 ? 16 : 8, n_groups = form->sub / l->lanes;
    float scales[16], max = 0, sum = 0;
    for (int i = 0; i < 256; i++) sum += x[i] * x[i];
    float sigma2 = form->sigma_factor * sum / 256;
    memset(c, 0, sizeof *c);
    for (int j = 0; j < n_subs; j++) {
        sub_block b;
        int at = j * form->sub;
        scales[j] = 0;
        if (!encode_sub(&b, &scales[j], x + at, importance ? importance + at : NULL, form, sigma2))
            continue;
        max = max > scales[j] ? max : scales[j];
        memcpy(c->points + j * n_groups, b.points, sizeof b.points[0] * (size_t)n_groups);
        memcpy(c->signs + j * form->sub / 8, b.signs, (size_t)form->sub / 8);
    }
    c->is_empty = max == 0;
    if (c->is_empty) return;
    float d = max / 31;
    float inverse = 1 / d;
    for (int j = 0; j < n_subs; j++)
        c->scales[j] =
            (uint8_t)tare_clamp_i32(tare_round_even(0.5f * (inverse * scales[j] - 1)), 0, 15);
    c->d = tare_f16_of_f32(d * form->stored_factor);
}

#define DEFINE_ENCODE(name, NAME)                                                                  \
    static void encode_block_##name(uint8_t *y, const float *x, const float *importance) {         \
        tare_iq_codes c;                                                                           \
        encode_super(&c, x, importance, &form_##name);                                             \
        tare_pack_##name(y, &c);                                                                   \
    }                                                                                              \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        tare_encode_blocks(dst, src, params, 256, NAME##_BYTES, encode_block_##name);              \
    }
DEFINE_ENCODE(iq2_xxs, IQ2_XXS)
DEFINE_ENCODE(iq2_xs, IQ2_XS)
DEFINE_ENCODE(iq2_s, IQ2_S)
DEFINE_ENCODE(iq3_xxs, IQ3_XXS)
DEFINE_ENCODE(iq3_s, IQ3_S)

void tare_kernels_init_iq_encode(tare_kernels *k) {
    k->encode_weighted[TARE_ENCODING_IQ2_XXS] = encode_iq2_xxs;
    k->encode_weighted[TARE_ENCODING_IQ2_XS] = encode_iq2_xs;
    k->encode[TARE_ENCODING_IQ2_S] = k->encode_weighted[TARE_ENCODING_IQ2_S] = encode_iq2_s;
    k->encode[TARE_ENCODING_IQ3_XXS] = k->encode_weighted[TARE_ENCODING_IQ3_XXS] = encode_iq3_xxs;
    k->encode[TARE_ENCODING_IQ3_S] = k->encode_weighted[TARE_ENCODING_IQ3_S] = encode_iq3_s;
}
