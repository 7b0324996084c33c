/* SPDX-License-Identifier: MIT
 *
 * Muse Glimmer: a gate behind attention, norms of heads that have no weights of their own, and no
 * positions in layers without a window; and its encoder, which looks through windows, too. */
#include <stdio.h>

#include "base/str.h"
#include "llama/arch/tower_rows.h"

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
static const tare_llama_rule muse_rules[] = {
    RULES_PERMUTE, {"=blk.*norm.weight", NULL, "add(1)"}, END_OF_RULES};

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

/* ---- the encoder ----------------------------------------------------------------------------- */

#define MUSE_BLOCK(name, to)                                                                       \
    { "vision_tower.layers.#." name "@", "=v.blk.#." to, NULL }
#define MUSE_TURNED(name, to)                                                                      \
    {                                                                                              \
        "vision_tower.layers.#." name "@", "=v.blk.#." to,                                         \
            "heads(vision_config.num_attention_heads)"                                             \
    }
static const char *const muse_tower_defaults[] = {
    "vision_config.hidden_size = 1536",
    "vision_config.intermediate_size = 8960",
    "vision_config.num_hidden_layers = 50",
    "vision_config.num_attention_heads = 16",
    "vision_config.patch_size = 14",
    "vision_config.patch_temporal = 2",
    "vision_config.merge_size = 2",
    "vision_config.pos_emb_height = 32",
    "vision_config.pos_emb_width = 32",
    "vision_config.layer_norm_eps = 0.00001",
    "vision_config.hidden_act = 'gelu'",
    "vision_config.image_size = vision_config.pos_emb_height * vision_config.patch_size * "
    "vision_config.merge_size", /* of any size */
    NULL};
static const tare_llama_key muse_tower_keys[] = {
    VISION_KEYS, KEY_PROJECTOR("muse-glimmer"), KEY_VISION_EPS("vision_config.layer_norm_eps"),
    KEY_VISION_MERGE("vision_config.merge_size"), END_OF_KEYS};
/* A picture is the same in all frames of a patch, so that their weights can be added up. */
static const tare_llama_rule muse_tower_rules[] = {
    {"vision_tower.patch_embedder.patch_embedding.weight", "=v.patch_embd.weight",
     "view(d0, vision_config.patch_temporal, 3, vision_config.patch_size, "
     "vision_config.patch_size) sum(1)"},
    {"vision_tower.patch_embedder.position_embedding_table@", "=v.position_embd", NULL},
    BOTH("vision_tower.ln_pre", "v.pre_ln"),
    BOTH("vision_tower.ln_post", "v.post_ln"),
    MUSE_TURNED("attn.q_proj", "attn_q"),
    MUSE_TURNED("attn.k_proj", "attn_k"),
    MUSE_BLOCK("attn.v_proj", "attn_v"),
    MUSE_BLOCK("attn.proj", "attn_out"),
    MUSE_BLOCK("norm1", "ln1"),
    MUSE_BLOCK("norm2", "ln2"),
    MUSE_BLOCK("mlp.fc1", "ffn_up"),
    MUSE_BLOCK("mlp.fc2", "ffn_down"),
    {"vision_adapter.fc1@", "=mm.0", NULL},
    {"vision_adapter.fc2@", "=mm.1", NULL},
    {"vision_projection@", "=mm.2", NULL},
    END_OF_RULES};
#define MUSE_IS_WHOLE "if(layer == layers - 1, true, (layer + 1) % 4 == 0)"
static const tare_llama_must muse_tower_musts[] = {
    {"if(one_of(" VISION_ACT ", 'gelu'), one_of(projector_hidden_act | 'gelu', 'gelu'))",
     "vision_config.hidden_act or projector_hidden_act is not gelu, which llama.cpp computes"},
    {"vision_config.pos_emb_height == vision_config.pos_emb_width",
     "vision_config.pos_emb_height is not pos_emb_width: llama.cpp has a square of positions"},
    {"vision_config.layer_norm_eps == 0.00001",
     "vision_config.layer_norm_eps is not 1e-5, which the norms of its blocks have"},
    {"(vision_config.rope_parameters.rope_theta | 10000) == 10000",
     "vision_config.rope_parameters.rope_theta is not 10000, with which llama.cpp computes"},
    {"if(has(vision_config.layer_types), (word(at(vision_config.layer_types, layer), "
     "'full_attention window_attention') == 'full_attention') == " MUSE_IS_WHOLE ", true)",
     "vision_config.layer_types: llama.cpp has windows in all layers but every fourth and the "
     "last"},
    {NULL, NULL}};
static const tare_llama_tower muse_tower = {
    .projector = "muse-glimmer",
    .takes = "vision_tower. vision_adapter. vision_projection.",
    .layers = "vision_config.num_hidden_layers",
    .positions = "vision_config.pos_emb_height * vision_config.pos_emb_width",
    .musts = muse_tower_musts};

const tare_llama_arch tare_llama_towers_muse[] = {
    {.name = CLIP,
     .classes = "MuseGlimmerForConditionalGeneration",
     .tensors = "",
     .defaults = muse_tower_defaults,
     .own = muse_tower_keys,
     .rules = muse_tower_rules,
     .tower = &muse_tower},
    {.name = NULL},
};
