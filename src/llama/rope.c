/* SPDX-License-Identifier: MIT
 *
 * Tensors of factors for rotary positions: those that Llama 3 computes from its settings, those
 * that longrope lists in config.json. */
#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "llama/mapping.h"

#define MOST_FACTORS 4096 /* half a head; heads have 64 to 512 elements */
#define PI           3.14159265358979323846

/* The factor of one frequency: 1 where waves are short, `factor` where they are longer than the
 * context that was trained with, between the two a blend; in floats, as the reference has it: a number divided by a
 * tensor is the number times its reciprocal. */
static float factor_of(float frequency, float factor, float low, float high, float context) {
    float wave = 1 / frequency * (float)(2 * PI);
    if (wave < context / high) return 1;
    if (wave > context / low) return factor;
    float blend = (1 / wave * context - low) / (high - low);
    return 1 / ((1 - blend) / factor + blend);
}

static tare_status fail_setting(const char *member, tare_error *err) {
    return tare_llama_fail_rope(member, "this setting of rotary positions is out of range", err);
}

static bool is_head(double dim) {
    return dim >= 2 && dim <= 2 * MOST_FACTORS;
}

static tare_status fail_head(const tare_llama_mapping *m, tare_error *err) {
    const char *const members[] = {"global_head_dim", "head_dim"};
    for (size_t i = 0; i < 2; i++)
        if (tare_llama_config_find(&m->config, tare_str_of(members[i])))
            return fail_setting(members[i], err);
    return fail_setting("hidden_size / num_attention_heads", err);
}

static tare_status add_frequencies(tare_llama_mapping *m, tare_error *err) {
    double theta, dim, factor, low, high, context;
    float factors[MOST_FACTORS];
    TARE_TRY(tare_llama_number(&theta, m, "rope.theta", 10000, err));
    TARE_TRY(tare_llama_number(&dim, m, "floor(attention.dim * (rope.partial | 1))", 0, err));
    TARE_TRY(tare_llama_number(&factor, m, "rope.factor", 0, err));
    TARE_TRY(tare_llama_number(&low, m, "rope.low_freq_factor", 0, err));
    TARE_TRY(tare_llama_number(&high, m, "rope.high_freq_factor", 0, err));
    TARE_TRY(
        tare_llama_number(&context, m, "rope.original_context | max_position_embeddings", 0, err));
    if (!is_head(dim)) return fail_head(m, err);
    if (!(context > 0)) return fail_setting("original_max_position_embeddings", err);
    if (!(low > 0)) return fail_setting("low_freq_factor", err);
    if (!(high > low)) return fail_setting("high_freq_factor", err);
    size_t n = 0;
    for (double i = 0; i < dim; i += 2) {
        /* frequencies as f32, which is how the reference has them */
        float frequency = 1.0f / powf((float)theta, (float)i / (float)dim);
        factors[n++] = factor_of(frequency, (float)factor, (float)low, (float)high, (float)context);
    }
    return tare_llama_generate(m, "rope_freqs.weight", factors, n, err);
}

/* Heads of which only the first frequencies turn: the others are so slow that they stand. */
static tare_status add_proportional(tare_llama_mapping *m, tare_error *err) {
    double dim, turning, factor;
    float factors[MOST_FACTORS];
    TARE_TRY(tare_llama_number(&dim, m, "g.head_dim | attention.dim", 0, err));
    TARE_TRY(tare_llama_number(&turning, m, "rope.partial", 1, err));
    TARE_TRY(tare_llama_number(&factor, m, "rope.factor", 1, err));
    if (!is_head(dim)) return fail_head(m, err);
    if (!(turning >= 0 && turning <= 1)) return fail_setting("partial_rotary_factor", err);
    size_t n = (size_t)(dim / 2), n_turning = (size_t)(dim * turning / 2);
    for (size_t i = 0; i < n; i++) factors[i] = i < n_turning ? (float)factor : 1e30f;
    return tare_llama_generate(m, "rope_freqs.weight", factors, n, err);
}

static tare_status add_list(tare_llama_mapping *m, const char *name, const char *member,
                            tare_error *err) {
    tare_llama_value v;
    float factors[MOST_FACTORS];
    char formula[32];
    snprintf(formula, sizeof formula, "rope.%s", member);
    TARE_TRY(tare_llama_formula(&v, tare_str_of(formula), &m->config, NULL, err));
    if (v.kind != TARE_LLAMA_TREE || v.tree->type != TARE_JSON_ARRAY) return TARE_OK;
    size_t n = 0;
    for (const tare_json_node *c = v.tree->child; c; c = c->next) {
        tare_llama_value factor = tare_llama_value_of(c);
        if (factor.kind != TARE_LLAMA_NUMBER || !isfinite(factor.number) || n == MOST_FACTORS)
            return tare_llama_fail_rope(
                member, "factors of rotary positions: expected finite numbers", err);
        factors[n++] = (float)factor.number;
    }
    return tare_llama_generate(m, name, factors, n, err);
}

tare_status tare_llama_rope_tensors(tare_llama_mapping *m, tare_error *err) {
    tare_llama_value type;
    TARE_TRY(tare_llama_check_rope(m, err));
    TARE_TRY(tare_llama_formula(&type, TARE_STR("rope.type"), &m->config, NULL, err));
    if (m->arch->has_rope_freqs && type.kind == TARE_LLAMA_TEXT && tare_str_is(type.text, "llama3"))
        TARE_TRY(add_frequencies(m, err));
    if (m->arch->has_rope_freqs && type.kind == TARE_LLAMA_TEXT &&
        tare_str_is(type.text, "proportional"))
        TARE_TRY(add_proportional(m, err));
    if (!tare_llama_is_one_of(TARE_STR("rope_factors_long"), m->arch->tensors)) return TARE_OK;
    TARE_TRY(add_list(m, "rope_factors_long.weight", "long_factor", err));
    return add_list(m, "rope_factors_short.weight", "short_factor", err);
}
