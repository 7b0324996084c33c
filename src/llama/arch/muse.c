/* SPDX-License-Identifier: MIT
 *
 * Muse Glimmer: a gate behind attention, norms of heads that have no weights of their own, and no
 * positions in layers without a window. */
#include <stdio.h>

#include "base/str.h"
#include "llama/arch/rows.h"

static const char *const muse_defaults[] = {"qk_scale_factor = 3.87",
                                            "g.is_window = if(has(layer_types), " LAYER_WINDOW
                                            ", (num_hidden_layers - 1 - layer) % 4 > 0)",
                                            NULL};
static const tare_llama_key muse_keys[] = {
    {"final_logit_softcapping", F32, "final_logit_softcapping"},
    {"logit_scale", F32, "output_multiplier"},
    {"attention.sliding_window", U32, "sliding_window"},
    {"attention.sliding_window_pattern[]", BOOL, "g.is_window"},
    END_OF_KEYS};
static const tare_llama_rule muse_rules[] = {RULES_PERMUTE,
                                             {"=blk.*norm.weight", NULL, "add(1)"},
                                             RULE_DROP("*vision_adapter.*"),
                                             RULE_DROP("*vision_projection.*"),
                                             END_OF_RULES};

static const char *const muse_back_config[] = {
    "model_type = 'muse_glimmer_text'", "qk_scale_factor = 3.87",
    "sliding_window = attention.sliding_window", BACK_LAYER_TYPES, NULL};
static const tare_llama_back muse_back = {.names = HF_DENSE HF_SANDWICH
                                          "self_attn.gate_proj output_multiplier",
                                          .config = muse_back_config,
                                          .generated = "attn_q_norm attn_k_norm"};

enum { MOST_DIM = 1024 };

static tare_status generate_norm(tare_llama_mapping *m, const char *letter, uint64_t layer,
                                 size_t n, float value, tare_error *err) {
    char name[64];
    float values[MOST_DIM];
    for (size_t i = 0; i < n; i++) values[i] = value;
    snprintf(name, sizeof name, "blk.%llu.attn_%s_norm.weight", (unsigned long long)layer, letter);
    const tare_str kept = tare_arena_str(&m->out->arena, tare_str_of(name));
    if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "name of a norm");
    return tare_llama_generate(m, kept.ptr, values, n, err);
}

/* What queries are multiplied by behind their norms is the weight of that norm in llama.cpp. */
static tare_status generate_norms(tare_llama_mapping *m, tare_error *err) {
    double scale, dim;
    TARE_TRY(tare_llama_number(&scale, m, "qk_scale_factor", 0, err));
    TARE_TRY(tare_llama_number(&dim, m, "attention.dim", 0, err));
    if (!(dim >= 1 && dim <= MOST_DIM))
        return tare_fail(err, TARE_ERR_CORRUPT, "head_dim: expected 1 to 1024");
    for (uint64_t i = 0; i < m->n_layers; i++) {
        TARE_TRY(generate_norm(m, "q", i, (size_t)dim, (float)scale, err));
        TARE_TRY(generate_norm(m, "k", i, (size_t)dim, 1, err));
    }
    return TARE_OK;
}

const tare_llama_arch tare_llama_family_muse[] = {
    {.name = "muse-glimmer",
     .classes = "MuseGlimmerForConditionalGeneration",
     .tensors = ENDS QKV SANDWICH FFN QK_NORMS "attn_gate",
     .defaults = muse_defaults,
     .keys = muse_keys,
     .rules = muse_rules,
     .back = &muse_back,
     .extra = generate_norms},
    {.name = NULL},
};
