/* SPDX-License-Identifier: MIT
 *
 * Drafts: EAGLE 3 reads what three layers of its model make of a token, DFlash and DSpark, which chains
 * what it guesses, those of several. */
#include "llama/arch/rows.h"

/* ---- EAGLE 3 ----------------------------------------------------------------------------------- */

static const char *const eagle_defaults[] = {
    KV_HEADS_ALL,
    "rope_theta = 10000",
    "max_position_embeddings = 2048",
    "rms_norm_eps = 0.000001",
    "e.layers = target.num_hidden_layers",
    "e.are_listed = len(eagle_aux_hidden_state_layer_ids) > 0",
    NULL};
static const tare_llama_key eagle_early[] = {
    {"target_layers[3]", I32,
     "if(e.are_listed | false, nothing, if(layer == 0, 2, if(layer == 1, floor(e.layers / 2), "
     "e.layers - 3)))"},
    {"target_layers", I32, "if(e.are_listed | false, eagle_aux_hidden_state_layer_ids)"},
    {"target_hidden_size", U32, "target_hidden_size | target.hidden_size"},
    {"norm_before_residual", BOOL, "norm_before_residual | false"},
    {"norm_before_fc", BOOL, "norm_before_fc | false"},
    END_OF_KEYS};
static const tare_llama_rule eagle_rules[] = {RULES_PERMUTE, RULE_DROP("d2t"), RULE_DROP("t2d"),
                                              END_OF_RULES};

/* ---- DFlash, DSpark ----------------------------------------------------------------------------- */

#define DFLASH_DEFAULTS                                                                            \
    "num_key_value_heads = 32", "head_dim = 128", "rope_theta = 10000",                            \
        "max_position_embeddings = 32768", "rms_norm_eps = 0.000001",                              \
        "d.all_windows = dflash_config.use_swa | false",                                           \
        "d.window = dflash_config.swa_window_size | sliding_window",                               \
        "d.has_windows = if(use_sliding_window | false, true, d.all_windows)",                     \
        "d.sections = target.rope_parameters.mrope_section | target.rope_scaling.mrope_section"
static const char *const dflash_defaults[] = {DFLASH_DEFAULTS, NULL};
static const char *const dspark_defaults[] = {
    DFLASH_DEFAULTS,
    "d.from_anchor = if(has(transformer_layer_config), false, "
    "has(aux_hidden_state_layer_ids) == false)",
    NULL};
#define DFLASH_KEYS                                                                                \
    {"rope.dimension_count", U32, "floor(attention.dim * rope.partial)"},                          \
        {"attention.value_scale", F32, "dflash_config.attention_value_scale"},                     \
        {"block_size", U32, "dflash_config.block_size | block_size | 16"},                         \
        {"conv_kernel_size", U32, "dflash_config.conv_kernel_size"},                               \
        {"conv_group_size", U32, "dflash_config.conv_group_size"},                                 \
        {"selector_rank", U32, "dflash_config.selector_rank"},                                     \
        {"selector_top_k", U32, "dflash_config.selector_top_k"},                                   \
        {"logit_scale", F32, "dflash_config.output_multiplier | output_multiplier"},               \
        {"final_logit_softcapping", F32,                                                           \
         "if((dflash_config.final_logit_softcapping | final_logit_softcapping | 0) > 0, "          \
         "dflash_config.final_logit_softcapping | final_logit_softcapping)"},                      \
        {"embedding_scale", F32, "dflash_config.input_embedding_scale | input_embedding_scale"}, { \
        "target_layers[target_layer_ids]", I32, "at(target_layer_ids, layer) + 1"                  \
    }
#define DFLASH_REST                                                                                \
    {"target_layers[dflash_config.target_layer_ids]", I32,                                         \
     "at(dflash_config.target_layer_ids, layer) + 1"},                                             \
        {"attention.sliding_window", U32, "if(d.has_windows, if(d.window | 0, d.window))"},        \
        {"attention.sliding_window_pattern[]", BOOL,                                               \
         "if(d.has_windows, if(d.window | 0, if(d.all_windows, true, " LAYER_WINDOW ")))"},        \
        {"attention.causal", BOOL, "is_causal | dflash_config.causal"}, {                          \
        "rope.dimension_sections[4]", I32,                                                         \
            "if(has(d.sections), if(layer == 0, floor(attention.dim / 2), 0))"                     \
    }
static const tare_llama_key dflash_keys[] = {DFLASH_KEYS, DFLASH_REST, END_OF_KEYS};
static const tare_llama_key dspark_keys[] = {
    DFLASH_KEYS,
    {"target_layers[aux_hidden_state_layer_ids]", I32, "at(aux_hidden_state_layer_ids, layer)"},
    DFLASH_REST,
    {"sample_from_anchor", BOOL,
     "if(word(markov_head_type | 'vanilla', 'vanilla') == 'vanilla', sample_from_anchor | "
     "d.from_anchor)"},
    END_OF_KEYS};
/* Rotary pairs that are neighbours stand apart in llama.cpp here. */
#define PAIRED(more)                                                                               \
    "if((rope_is_neox_style | true) == false) view(d0 / head_dim, head_dim / 2, 2" more            \
    ") swap(1, 2) "
#define DFLASH_RULES                                                                               \
    {"=blk.#.attn_q.weight", NULL, PAIRED(", d1") "view(d0 * d1 * d2, d3)"},                       \
        {"=blk.#.attn_k.weight", NULL, PAIRED(", d1") "view(d0 * d1 * d2, d3)"},                   \
        {"=blk.#.attn_q_norm.weight", NULL, PAIRED("") "view(d0 * d1 * d2)"},                      \
        {"=blk.#.attn_k_norm.weight", NULL, PAIRED("") "view(d0 * d1 * d2)"}, {                    \
        "=token_embd.weight", NULL, "if((has_embed_tokens | true) == false) drop"                  \
    }
static const tare_llama_rule dflash_rules[] = {DFLASH_RULES, END_OF_RULES};
/* The head of all tokens is the model's. */
static const tare_llama_rule dspark_rules[] = {
    {"=output.weight", NULL, "if((draft_vocab_size | vocab_size) == vocab_size) drop"},
    RULE_DROP("model.d2t"),
    RULE_DROP("model.t2d"),
    DFLASH_RULES,
    END_OF_RULES};
#define DFLASH_TENSORS                                                                             \
    DENSE QK_NORMS                                                                                 \
        "attn_sinks fc enc.output_norm d2t markov_w1 markov_w2 conf_proj selector_predecessor "    \
        "selector_successor selector_hidden attn_conv_base attn_conv_proj ffn_conv_base "          \
        "ffn_conv_proj"
#define DFLASH_OPTIONAL                                                                            \
    "token_embd output attn_sinks d2t markov_w1 markov_w2 conf_proj selector_predecessor "         \
    "selector_successor selector_hidden attn_conv_base attn_conv_proj ffn_conv_base ffn_conv_proj"

/* Muse Glimmer's, in transformers' names. */
static const char *const muse_defaults[] = {"muse.has_windows = if(has(sliding_window), "
                                            "if(sliding_window > 0, len(layer_types) > 0))",
                                            NULL};
static const tare_llama_key muse_keys[] = {
    {"block_size", U32, "block_size"},
    {"target_layers[target_layer_ids]", I32, "at(target_layer_ids, layer) + 1"},
    {"attention.sliding_window", U32, "if(muse.has_windows, sliding_window)"},
    {"attention.sliding_window_pattern[layer_types]", BOOL,
     "if(muse.has_windows, " LAYER_WINDOW ")"},
    END_OF_KEYS};

/* Gemma 4's DSpark: heads of its layers without a window. */
static const char *const gemma_dspark_defaults[] = {
    DFLASH_DEFAULTS, "g.head_dim = global_head_dim", "sample_from_anchor = true",
    "hidden_activation = 'gelu_pytorch_tanh'", NULL};
static const tare_llama_key gemma_dspark_keys[] = {
    DFLASH_KEYS,
    DFLASH_REST,
    {"attention.head_count_kv", U32, "num_global_key_value_heads"},
    {"attention.key_length", U32, "global_head_dim"},
    {"attention.value_length", U32, "global_head_dim"},
    {"rope.dimension_count", U32, "global_head_dim"},
    {"embedding_scale", F32, "sqrt(hidden_size)"},
    {"attention.scale", F32, "1"},
    {"hidden_activation", TEXT, "hidden_activation"},
    {"sample_from_anchor", BOOL, "sample_from_anchor"},
    END_OF_KEYS};

#define EAGLE_ROW(of, needs)                                                                       \
    {                                                                                              \
        .name = "eagle3", .classes = of, .requires = needs,                                        \
        .tensors = DENSE "attn_norm_2 fc enc.output_norm d2t",                                     \
        .optional = "token_embd output enc.output_norm d2t", .cut = "midlayer.>model.layers.0.",   \
        .defaults = eagle_defaults, .early = eagle_early, .keys = tare_llama_usual_keys,           \
        .rules = eagle_rules, .is_draft = true, .has_rope_freqs = true,                            \
        .extra = tare_llama_draft_ids                                                              \
    }
const tare_llama_arch tare_llama_family_drafts[] = {
    EAGLE_ROW("LlamaForCausalLM", "if(has(draft_vocab_size), num_hidden_layers == 1, false)"),
    EAGLE_ROW("LlamaForCausalLMEagle3 Eagle3LlamaForCausalLM Eagle3Speculator Eagle3DraftModel",
              NULL),
    {.name = "dflash",
     .classes = "DFlashDraftModel DFlash2DraftModel",
     .tensors = DFLASH_TENSORS,
     .optional = DFLASH_OPTIONAL,
     .prefix = "model.",
     .defaults = dflash_defaults,
     .keys = dflash_keys,
     .rules = dflash_rules,
     .has_pooling = true,
     .is_draft = true,
     .mask_token = "dflash_config.mask_token_id",
     .extra = tare_llama_draft_heads},
    {.name = "dflash",
     .classes = "Qwen3DSparkModel DSparkDraftModel DSparkSpeculator Lfm2DSparkDraftModel "
                "LingDSparkModel",
     .tensors = DFLASH_TENSORS,
     .optional = DFLASH_OPTIONAL,
     .prefix = "model.",
     .defaults = dspark_defaults,
     .keys = dspark_keys,
     .rules = dspark_rules,
     .has_pooling = true,
     .is_draft = true,
     .mask_token = "dflash_config.mask_token_id | mask_token_id",
     .extra = tare_llama_draft_heads},
    {.name = "dflash",
     .classes = "Gemma4DSparkModel",
     .requires = "if(attention_k_eq_v | false, if(hidden_activation == 'gelu_pytorch_tanh', "
                 "if(in('sliding_attention', layer_types, '" WINDOWS "'), false, true)))",
     .tensors = ENDS QKV QK_NORMS SANDWICH FFN
     "rope_freqs fc enc.output_norm markov_w1 markov_w2 conf_proj layer_output_scale",
     .optional = "token_embd output attn_v markov_w1 markov_w2 conf_proj post_attention_norm "
                 "post_ffw_norm layer_output_scale",
     .prefix = "model.",
     .cut = "confidence_proj.>confidence_head.proj.",
     .defaults = gemma_dspark_defaults,
     .keys = gemma_dspark_keys,
     .has_rope_freqs = true,
     .is_draft = true,
     .mask_token = "dflash_config.mask_token_id | mask_token_id",
     .extra = tare_llama_draft_heads},
    {.name = "dflash",
     .classes = "MuseGlimmerAssistantModel",
     .tensors = DFLASH_TENSORS,
     .optional = DFLASH_OPTIONAL,
     .defaults = muse_defaults,
     .keys = muse_keys,
     .is_draft = true,
     .mask_token = "mask_token_id"},
    {.name = NULL},
};
