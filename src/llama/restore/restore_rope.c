/* SPDX-License-Identifier: MIT
 *
 * Factors of rotary positions back into config.json: longrope's lists as they are; of Llama 3's
 * factors the four settings that they are computed from, of proportional ones the two. */
#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/restore/restore.h"

#define MOST_FACTORS 4096
#define PI           3.14159265358979323846

/* The numbers of a tensor; *n 0: there is none, or not of numbers that JSON could have. */
static tare_status read_factors(float *out, size_t *n, const tare_llama_restoring *r,
                                const char *name, tare_error *err) {
    int64_t i = tare_model_find_tensor(r->gguf, tare_str_of(name));
    *n = 0;
    if (i < 0 || r->gguf->catalog.tensors[i].n_elements > MOST_FACTORS) return TARE_OK;
    const size_t count = (size_t)r->gguf->catalog.tensors[i].n_elements;
    TARE_TRY(tare_tensor_values_f32(out, r->gguf, (size_t)i, 0, count, err));
    for (size_t k = 0; k < count; k++)
        if (!isfinite(out[k])) return TARE_OK;
    *n = count;
    return TARE_OK;
}

static void put_list(tare_buffer *b, const float *factors, size_t n) {
    char text[48];
    tare_buffer_put_u8(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) tare_buffer_put_text(b, ", ");
        size_t size = tare_llama_f32_text(text, sizeof text, (double)factors[i]);
        tare_buffer_put_str(b, (tare_str){text, size});
    }
    tare_buffer_put_u8(b, ']');
}

/* The factor of longrope, where it is another one than the contexts give. */
static tare_status put_longrope_factor(tare_buffer *b, const tare_llama_restoring *r,
                                       tare_error *err) {
    tare_llama_value has, usual;
    TARE_TRY(
        tare_llama_formula(&has, TARE_STR("rope.scaling.attn_factor"), &r->by_keys, NULL, err));
    TARE_TRY(tare_llama_formula(
        &usual,
        TARE_STR("if(context_length > (rope.scaling.original_context_length | context_length), "
                 "sqrt(1 + ln(context_length / rope.scaling.original_context_length) / "
                 "ln(rope.scaling.original_context_length)), 1)"),
        &r->by_keys, NULL, err));
    if (has.kind != TARE_LLAMA_NUMBER || usual.kind != TARE_LLAMA_NUMBER ||
        fabs(has.number - usual.number) < 1e-6 * usual.number)
        return TARE_OK;
    char text[48];
    const size_t size = tare_llama_f32_text(text, sizeof text, has.number);
    tare_buffer_put_text(b, ", \"attention_factor\": ");
    tare_buffer_put_str(b, (tare_str){text, size});
    return TARE_OK;
}

/* Longrope: `long` and `short` lists. False: there are none. */
static tare_status put_longrope(tare_buffer *b, bool *is_there, const tare_llama_restoring *r,
                                tare_error *err) {
    float longs[MOST_FACTORS], shorts[MOST_FACTORS];
    size_t n_long, n_short;
    TARE_TRY(read_factors(longs, &n_long, r, "rope_factors_long.weight", err));
    TARE_TRY(read_factors(shorts, &n_short, r, "rope_factors_short.weight", err));
    *is_there = n_long && n_short;
    if (!*is_there) return TARE_OK;
    tare_buffer_put_text(b, "{\"type\": \"longrope\", \"long_factor\": ");
    put_list(b, longs, n_long);
    tare_buffer_put_text(b, ", \"short_factor\": ");
    put_list(b, shorts, n_short);
    TARE_TRY(put_longrope_factor(b, r, err));
    tare_buffer_put_u8(b, '}');
    return TARE_OK;
}

/* A factor of Llama 3 between 1 and that of the slowest wave: what it blends. */
typedef struct blended {
    double turns; /* 1 / the length of its wave */
    double share; /* of the frequency that stays as it is */
} blended;

/* Factors that Llama 3's settings give: `n` that are blended, the longest wave that stays as it is, the
 * shortest that is stretched in full. */
typedef struct blend {
    blended of[MOST_FACTORS];
    size_t n;
    double factor, longest, shortest;
} blend;

static void find_blend(blend *out, const float *factors, size_t n, double theta) {
    out->n = 0;
    out->factor = (double)factors[n - 1];
    out->longest = 0;
    out->shortest = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double f = (double)factors[i], wave = 2 * PI * pow(theta, (double)i / (double)n);
        if (f <= 1.0 + 1e-6)
            out->longest = wave;
        else if (f >= out->factor * (1 - 1e-6))
            out->shortest = fmin(out->shortest, wave);
        else
            out->of[out->n++] =
                (blended){1 / wave, (1 / f - 1 / out->factor) / (1 - 1 / out->factor)};
    }
}

/* The context where the lower bound is 1 and the upper one about 4, as in nearly all models of this
 * kind; 0: the blended ones contradict that. Where none is blended, the usual one, or the first power
 * of two that fits. */
static double find_context(double *high, const blend *b) {
    if (b->n) {
        const double context = floor((1 + 3 * b->of[0].share) / b->of[0].turns + 0.5);
        const double above = (context * b->of[0].turns - 1) / b->of[0].share;
        for (size_t i = 0; i < b->n; i++)
            if (!(fabs(context * b->of[i].turns - 1 - above * b->of[i].share) < 1e-3)) return 0;
        *high = floor((1 + above) * 1e4 + 0.5) / 1e4;
        return context;
    }
    if (4 * b->longest < 8192 && b->shortest > 8192) return 8192;
    for (double context = 1; context < b->shortest; context *= 2)
        if (context > 4 * b->longest) return context;
    return 0;
}

/* The bounds otherwise: the share is a straight line over context / wave, so they follow from two of
 * them, up to a factor that is fixed by a context of 8192. */
static void find_bounds(double *low, double *high, const blend *b) {
    if (b->n < 2) return;
    const double slope =
        (b->of[1].share - b->of[0].share) / (b->of[1].turns - b->of[0].turns) / 8192;
    *low = b->of[0].turns * 8192 - b->of[0].share / slope;
    *high = *low + 1 / slope;
    *low = floor(*low * 1000 + 0.5) / 1000; /* they were written by hand */
    *high = floor(*high * 1000 + 0.5) / 1000;
}

/* The first frequencies alone turn, those before the first factor that is as good as infinite. */
static size_t count_turning(const float *factors, size_t n) {
    size_t n_turning = 0;
    while (n_turning < n && factors[n_turning] < 1e29F) n_turning++;
    return n_turning;
}

static bool put_proportional(tare_buffer *b, const float *factors, size_t n) {
    const size_t n_turning = count_turning(factors, n);
    if (n_turning == n || n_turning == 0) return false;
    tare_buffer_printf(b,
                       "{\"rope_type\": \"proportional\", \"partial_rotary_factor\": %.9g, "
                       "\"factor\": %.9g}",
                       (double)n_turning / (double)n, (double)factors[0]);
    return true;
}

/* What comes of settings for Llama 3 or for fewer frequencies; the check at the end tells of wrong ones. */
static tare_status put_settings(tare_buffer *b, bool *is_there, const tare_llama_restoring *r,
                                tare_error *err) {
    float factors[MOST_FACTORS];
    double low = 1, high = 4, context;
    blend found;
    tare_llama_value theta;
    size_t n;
    TARE_TRY(read_factors(factors, &n, r, "rope_freqs.weight", err));
    TARE_TRY(
        tare_llama_formula(&theta, TARE_STR("rope.freq_base | 10000"), &r->by_keys, NULL, err));
    *is_there = false;
    if (!n || !r->arch->has_rope_freqs) return TARE_OK;
    *is_there = put_proportional(b, factors, n);
    if (*is_there) return TARE_OK;
    find_blend(&found, factors, n, theta.number);
    context = find_context(&high, &found);
    if (!(context > 0)) find_bounds(&low, &high, &found);
    *is_there = found.factor >= 1 && low > 0 && high > low && isfinite(high);
    if (!*is_there) return TARE_OK;
    tare_buffer_printf(b,
                       "{\"rope_type\": \"llama3\", \"factor\": %.9g, \"low_freq_factor\": %.9g, "
                       "\"high_freq_factor\": %.9g, \"original_max_position_embeddings\": %.0f}",
                       found.factor, low, high, context > 0 ? context : 8192);
    return TARE_OK;
}

static tare_status add_number(tare_json_node *to, const char *name, double number,
                              tare_arena *arena, tare_error *err) {
    char text[48];
    snprintf(text, sizeof text, "%.9g", number);
    const tare_str kept = tare_arena_str(arena, tare_str_of(text));
    tare_json_node *node = tare_json_new(arena, TARE_JSON_NUMBER, kept);
    if (!kept.ptr || !node) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    tare_json_add(to, tare_str_of(name), node);
    return TARE_OK;
}

tare_status tare_llama_count_turning(tare_llama_restoring *r, tare_error *err) {
    float factors[MOST_FACTORS];
    size_t n;
    TARE_TRY(read_factors(factors, &n, r, "rope_freqs.weight", err));
    const size_t n_turning = count_turning(factors, n);
    if (n_turning == 0) return TARE_OK;
    TARE_TRY(
        add_number(r->keys, "rope_turning", (double)n_turning / (double)n, &r->out->arena, err));
    return add_number(r->keys, "rope_slowed", (double)factors[0], &r->out->arena, err);
}

tare_status tare_llama_restore_rope(tare_str *out, tare_llama_restoring *r, tare_error *err) {
    tare_buffer b;
    bool is_there = false;
    *out = (tare_str){NULL, 0};
    tare_buffer_init(&b, r->out->allocator);
    tare_status status = put_longrope(&b, &is_there, r, err);
    if (status == TARE_OK && !is_there) status = put_settings(&b, &is_there, r, err);
    if (status == TARE_OK && is_there) status = tare_buffer_text(out, &b, &r->out->arena, err);
    tare_buffer_free(&b);
    return status;
}
