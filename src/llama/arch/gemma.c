/* SPDX-License-Identifier: MIT
 *
 * Gemma: norms are stored without the 1 that is added to them. */
#include "llama/arch/rows.h"

#define GEMMA_OWN                                                                                  \
    {"context_length", U32, "max_position_embeddings"}, {"embedding_length", U32, "hidden_size"},  \
        {"block_count", U32, "layers"}, {"feed_forward_length", U32, "intermediate_size"},         \
        {"attention.head_count", U32, "num_attention_heads"},                                      \
        {"attention.head_count_kv", U32, "num_key_value_heads | num_attention_heads"},             \
        {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},                                 \
        {"attention.key_length", U32, "head_dim"}, {"attention.value_length", U32, "head_dim"},    \
        KEY_FILE_TYPE

static const char *const gemma_defaults[] = {"head_dim = 256", "max_position_embeddings = 8192",
                                             "rms_norm_eps = 0.000001", NULL};
static const char *const gemma2_defaults[] = {"head_dim = 256",
                                              "max_position_embeddings = 8192",
                                              "rms_norm_eps = 0.000001",
                                              "attn_logit_softcapping = 50",
                                              "final_logit_softcapping = 30",
                                              "sliding_window = 4096",
                                              NULL};
static const char *const gemma3_defaults[] = {"head_dim = 256",
                                              "max_position_embeddings = 131072",
                                              "num_attention_heads = 8",
                                              "num_key_value_heads = 4",
                                              "rms_norm_eps = 0.000001",
                                              "rope_theta = 1000000",
                                              "rope_local_base_freq = 10000",
                                              "sliding_window = 4096",
                                              NULL};
static const tare_llama_key gemma_own[] = {GEMMA_OWN, END_OF_KEYS};
/* llama.cpp always caps Gemma 2's logits: at this they stay what they are. */
#define NO_CAP "1000000"
static const tare_llama_key gemma2_own[] = {
    GEMMA_OWN,
    {"attn_logit_softcapping", F32, "attn_logit_softcapping"},
    {"final_logit_softcapping", F32,
     "if(is_null('final_logit_softcapping'), " NO_CAP ", final_logit_softcapping)"},
    {"attention.sliding_window", U32, "sliding_window"},
    END_OF_KEYS};
/* Gemma 3n and 4 have per-layer embeddings, and layers that share keys and values. */
#define KEY_SLIDING                                                                                \
    { "attention.sliding_window_pattern[layer_types]", BOOL, LAYER_WINDOW }
#define KEY_SHARED                                                                                 \
    { "attention.shared_kv_layers", U32, "num_kv_shared_layers" }
#define KEYS_GEMMA3                                                                                \
    {"final_logit_softcapping", F32, "if(final_logit_softcapping | 0, final_logit_softcapping)"},  \
    {                                                                                              \
        "attention.sliding_window", U32,                                                           \
            "if(sliding_window_pattern == 1, nothing, " WITH_WINDOWS ")"                           \
    }
static const tare_llama_key gemma3_keys[] = {KEYS_GEMMA3, END_OF_KEYS};
static const char *const gemma3n_defaults[] = {"head_dim = 256",
                                               "max_position_embeddings = 32768",
                                               "num_attention_heads = 8",
                                               "num_key_value_heads = 2",
                                               "rms_norm_eps = 0.000001",
                                               "rope_theta = 1000000",
                                               "rope_local_base_freq = 10000",
                                               "sliding_window = 512",
                                               "vocab_size = 262400",
                                               NULL};
static const tare_llama_key gemma3n_keys[] = {
    KEYS_GEMMA3,
    {"altup.active_idx", U32, "altup_active_idx"},
    {"altup.num_inputs", U32, "altup_num_inputs"},
    {"embedding_length_per_layer_input", U32, "hidden_size_per_layer_input"},
    KEY_SHARED,
    {"activation_sparsity_scale[activation_sparsity_pattern]", F32,
     "probit(at(activation_sparsity_pattern, layer))"},
    KEY_SLIDING,
    END_OF_KEYS};
static const tare_llama_rule gemma3n_rules[] = {
    {"=token_embd.weight", NULL, "pad(vocab_size)"},
    {"=per_layer_token_embd.weight", NULL, "pad(vocab_size)"},
    {"model.altup_projections.#.weight", "=altup_proj.weight", "stack(number, 3)"},
    {"model.altup_unembed_projections.#.weight", "=altup_unembd_proj.weight", "stack(number, 3)"},
    {"*.altup.correct_output_scale", ".altup.correct_output_scale.weight", NULL},
    END_OF_RULES};

static const char *const gemma4_defaults[] = {"head_dim = 256",
                                              /* which a list of layers is instead of */
                                              "global_head_dim = if(has(per_layer_config), "
                                              "head_dim, 512)",
                                              "max_position_embeddings = 131072",
                                              "num_attention_heads = 8", "num_key_value_heads = 4",
                                              "rms_norm_eps = 0.000001", "sliding_window = 512",
                                              "g.first_shared = layers - num_kv_shared_layers",
                                              "g.first_full = leading(layer_types, "
                                              "'sliding_attention', '" WINDOWS "')",
                                              "g.head_dim = at(per_layer_config, g.first_full, "
                                              "'head_dim') | global_head_dim",
                                              NULL};
#define GEMMA4_KEYS                                                                                \
    KEYS_GEMMA3, KEY_SHARED,                                                                       \
        {"embedding_length_per_layer_input", U32, "hidden_size_per_layer_input | 0"}, KEY_SLIDING, \
        {"attention.key_length", U32, "g.head_dim"},                                               \
        {"attention.value_length", U32, "g.head_dim"},                                             \
        {"attention.key_length_swa", U32, "head_dim"},                                             \
        {"attention.value_length_swa", U32, "head_dim"},                                           \
        {"expert_feed_forward_length", U32, "expert_intermediate_size | moe_intermediate_size"},   \
        {"feed_forward_length[]", I32,                                                             \
         "if(use_double_wide_mlp | false, if(layer < g.first_shared, intermediate_size, "          \
         "intermediate_size * 2))"},                                                               \
        {"attention.head_count_kv[layer_types]", I32,                                              \
         "if(has(per_layer_config), if(if(like_reference, has(at(per_layer_config, g.first_full, " \
         "'num_key_value_heads')), true), at(per_layer_config, layer, 'num_key_value_heads') | "   \
         "num_key_value_heads), if(if(like_reference, true, attention_k_eq_v | false), "           \
         "if(has(num_global_key_value_heads), if(" LAYER_WINDOW                                    \
         ", num_key_value_heads, num_global_key_value_heads))))"},                                 \
        {"rope.dimension_count", U32, "g.head_dim"}, {                                             \
        "rope.dimension_count_swa", U32,                                                           \
            "floor(head_dim * (rope_parameters.partial_rotary_factor | 1))"                        \
    }
static const tare_llama_key gemma4_keys[] = {
    GEMMA4_KEYS,
    /* without it llama.cpp caps at 30 */
    {"final_logit_softcapping", F32,
     "if(like_reference, nothing, if(final_logit_softcapping | 0, nothing, 0))"},
    END_OF_KEYS};
/* A small model that drafts for another. */
static const tare_llama_key gemma4_assistant_keys[] = {
    GEMMA4_KEYS,
    {"embedding_length_out", U32, "backbone_hidden_size"},
    {"nextn_predict_layers", U32, "layers"},
    END_OF_KEYS};
static const tare_llama_rule gemma4_rules[] = {
    {"*.router.scale", "=blk.#.ffn_gate_inp.scale", NULL},
    {"*.router.per_expert_scale", "=blk.#.ffn_down_exps.scale", NULL},
    {"*.layer_scalar", ".layer_scalar.weight", NULL},
    {"*.experts.gate_up_proj", ".experts.gate_up_proj.weight", NULL},
    {"*.experts.down_proj", ".experts.down_proj.weight", NULL},
    END_OF_RULES};
static const tare_llama_rule gemma4_assistant_rules[] = {
    RULE_DROP("*masked_embedding*"),
    {"*.layer_scalar", ".layer_scalar.weight", NULL},
    END_OF_RULES};

/* EmbeddingGemma 2: what layers are given besides comes from the embeddings, windows are of so many tokens
 * to both sides, and the vectors are projected. */
static const char *const embedding2_defaults[] = {
    "head_dim = 256",
    "num_key_value_heads = 2",
    "sliding_window = 512",
    "rms_norm_eps = 0.000001",
    "hidden_size_per_layer_input = 512",
    "embedding_dim = 768",
    "g.is_window = if(layer == layers - 1, false, if(has(layer_types), " LAYER_WINDOW
    ", (layer + 1) % (sliding_window_pattern | 6) > 0))",
    "g.head_dim = at(per_layer_config, layers - 1, 'head_dim') | if(has(per_layer_config), "
    "head_dim, global_head_dim | 512)",
    "g.kv_heads = at(per_layer_config, layer, 'num_key_value_heads') | if(has(per_layer_config), "
    "num_key_value_heads, if(g.is_window, num_key_value_heads, num_global_key_value_heads | 1))",
    NULL};
static const tare_llama_key embedding2_keys[] = {
    {"embedding_length_out", U32, "embedding_dim"},
    {"embedding_length_per_layer_input", U32, "hidden_size_per_layer_input"},
    {"attention.key_length", U32, "g.head_dim"},
    {"attention.value_length", U32, "g.head_dim"},
    {"attention.key_length_swa", U32, "head_dim"},
    {"attention.value_length_swa", U32, "head_dim"},
    {"attention.head_count_kv[]", I32, "g.kv_heads"},
    {"attention.sliding_window", U32, "2 * sliding_window"},
    {"attention.sliding_window_pattern[]", BOOL, "g.is_window"},
    {"rope.dimension_count", U32, "g.head_dim"},
    {"rope.dimension_count_swa", U32, "head_dim"},
    END_OF_KEYS};
static const tare_llama_rule embedding2_rules[] = {{"*.layer_scalar", ".layer_scalar.weight", NULL},
                                                   END_OF_RULES};

static const tare_llama_rule gemma_rules[] = {
    {"=*norm.weight", NULL, "add(1)"}, RULE_DROP("lm_head.weight"), END_OF_RULES};
static const tare_llama_rule gemma3_rules[] = {
    {"=*norm.weight", NULL, "add(1)"},
    {"=token_embd.weight", NULL, "rows(0, 0, if(tokens, min(tokens, d0), d0))"},
    END_OF_RULES};
/* Code Gemma's tokens for filling in. */
static const tare_llama_special_rule gemma_specials[] = {
    {.special = TARE_LLAMA_PREFIX, .id = 67},
    {.special = TARE_LLAMA_SUFFIX, .id = 69},
    {.special = TARE_LLAMA_MIDDLE, .id = 68},
    {.special = TARE_LLAMA_EOT, .id = 107},
};

/* The largest model of each family scales by the width of a head without padding. */
#define GEMMA_HEAD_SCALE(layers)                                                                   \
    "query_pre_attn_scalar = if(block_count == " layers                                            \
    ", embedding_length / attention.head_count, attention.key_length)"
static const char *const gemma_back_config[] = {"model_type = 'gemma'", NULL};
static const tare_llama_back gemma_back = {.names = HF_DENSE, .config = gemma_back_config};
static const char *const gemma2_back_config[] = {
    "model_type = 'gemma2'",
    "final_logit_softcapping = if((final_logit_softcapping | 30) < " NO_CAP
    ", final_logit_softcapping | 30) | null",
    GEMMA_HEAD_SCALE("46"), BACK_LAYER_TYPES, NULL};
static const tare_llama_back gemma2_back = {.names = HF_DENSE HF_SANDWICH,
                                            .config = gemma2_back_config};
static const char *const gemma3_back_config[] = {
    "model_type = 'gemma3_text'",
    "final_logit_softcapping = final_logit_softcapping",
    "sliding_window = attention.sliding_window",
    GEMMA_HEAD_SCALE("62"),
    BACK_LAYER_TYPES " | if(has(attention.sliding_window), nothing, 'full_attention')",
    NULL};
static const tare_llama_back gemma3_back = {.names = HF_DENSE HF_SANDWICH HF_QK_NORM,
                                            .config = gemma3_back_config};
/* EmbeddingGemma sees all tokens. */
static const char *const embedding_back_config[] = {"model_type = 'gemma3_text'",
                                                    "sliding_window = attention.sliding_window",
                                                    "use_bidirectional_attention = true",
                                                    GEMMA_HEAD_SCALE("62"),
                                                    BACK_LAYER_TYPES,
                                                    NULL};
static const tare_llama_back embedding_back = {.names = HF_DENSE HF_SANDWICH HF_QK_NORM,
                                               .config = embedding_back_config};

static const char *const embedding2_back_config[] = {
    "model_type = 'embedding_gemma2_text'",
    "layer_types[] = if(at(attention.sliding_window_pattern, layer), 'sliding_attention', "
    "'full_attention')",
    "sliding_window = floor(attention.sliding_window / 2)",
    "head_dim = attention.key_length_swa",
    "global_head_dim = attention.key_length",
    "num_key_value_heads = at(attention.head_count_kv, " FIRST_WINDOW
    ") | at(attention.head_count_kv, 0) | attention.head_count_kv",
    "num_global_key_value_heads = at(attention.head_count_kv, " FIRST_WHOLE ")",
    "hidden_size_per_layer_input = embedding_length_per_layer_input",
    "embedding_dim = embedding_length_out",
    "rope_parameters.full_attention.rope_type = 'default'",
    "rope_parameters.full_attention.rope_theta = rope.freq_base",
    "rope_parameters.sliding_attention.rope_type = 'default'",
    "rope_parameters.sliding_attention.rope_theta = rope.freq_base_swa",
    "rope_theta = nothing",
    "rope_scaling = nothing",
    NULL};
static const tare_llama_shape_row embedding2_back_shapes[] = {{"*.layer_scalar", "d0"},
                                                              {NULL, NULL}};
static const tare_llama_back embedding2_back = {
    .names = "model.layers. model.embed_tokens model.norm model.embedding_projection "
             "model.ple.per_layer_model_projection model.ple.per_layer_projection_norm "
             "ple_block.per_layer_input_gate ple_block.per_layer_projection "
             "ple_block.post_per_layer_input_norm " HF_NORMS HF_ATTN HF_MLP HF_QK_NORM HF_SANDWICH
                 HF_CONFIG,
    .config = embedding2_back_config,
    .shapes = embedding2_back_shapes};

/* What config.json of Gemma 4 and of its assistant says. */
#define GEMMA4_CONFIG                                                                              \
    "layer_types[] = if(at(attention.sliding_window_pattern, layer), 'sliding_attention', "        \
    "'full_attention')",                                                                           \
        "global_head_dim = attention.key_length", "head_dim = attention.key_length_swa",           \
        "num_kv_shared_layers = attention.shared_kv_layers",                                       \
        "hidden_size_per_layer_input = embedding_length_per_layer_input",                          \
        "sliding_window = attention.sliding_window",                                               \
        "final_logit_softcapping = if((final_logit_softcapping | 30) > 0, "                        \
        "final_logit_softcapping | 30)",                                                           \
        "rope_parameters.full_attention.rope_type = 'proportional'",                               \
        "rope_parameters.full_attention.rope_theta = rope.freq_base",                              \
        "rope_parameters.full_attention.partial_rotary_factor = rope_turning | 0.25",              \
        "rope_parameters.full_attention.factor = if((rope_slowed | 1) == 1, nothing, "             \
        "rope_slowed)",                                                                            \
        "rope_parameters.sliding_attention.rope_type = 'default'",                                 \
        "rope_parameters.sliding_attention.rope_theta = rope.freq_base_swa",                       \
        "rope_theta = nothing", "rope_scaling = nothing",                                          \
        "moe_intermediate_size = expert_feed_forward_length", "top_k_experts = expert_used_count", \
        "num_experts_per_tok = nothing", "enable_moe_block = has(tensors.ffn_gate_inp.weight)"

static const char *const gemma4_back_config[] = {
    "model_type = 'gemma4_text'",
    "num_key_value_heads = at(attention.head_count_kv, " FIRST_WINDOW ") | "
    "at(attention.head_count_kv, 0) | attention.head_count_kv",
    "num_global_key_value_heads = at(attention.head_count_kv, " FIRST_WHOLE ")",
    "attention_k_eq_v = tensors.attn_v.weight.blocks < tensors.attn_k.weight.blocks",
    "intermediate_size = at(feed_forward_length, 0) | feed_forward_length",
    "use_double_wide_mlp = if(len(feed_forward_length) > 0, largest(feed_forward_length) > "
    "at(feed_forward_length, 0))",
    "vocab_size_per_layer_input = tensors.per_layer_token_embd.weight.rows",
    GEMMA4_CONFIG,
    NULL};
static const tare_llama_shape_row gemma4_back_shapes[] = {{"*.router.scale", "d0"},
                                                          {"*.router.per_expert_scale", "d0"},
                                                          {"*.layer_scalar", "d0"},
                                                          {"*.experts.gate_up_proj", "d0, d1, d2"},
                                                          {"*.experts.down_proj", "d0, d1, d2"},
                                                          {NULL, NULL}};
static const tare_llama_back gemma4_back = {
    .names = HF_DENSE HF_QK_NORM HF_SANDWICH
    "model.embed_tokens_per_layer model.per_layer_model_projection model.per_layer_projection_norm "
    "per_layer_input_gate per_layer_projection post_per_layer_input_norm "
    "pre_feedforward_layernorm_2 post_feedforward_layernorm_1 post_feedforward_layernorm_2 "
    "router.proj num_experts top_k_experts",
    .config = gemma4_back_config,
    .shapes = gemma4_back_shapes};

static const char *const gemma4_assistant_back_config[] = {
    "model_type = 'gemma4_assistant'", "num_hidden_layers = block_count", GEMMA4_CONFIG,
    "backbone_hidden_size = embedding_length_out", NULL};
static const tare_llama_shape_row gemma4_assistant_back_shapes[] = {{"*.layer_scalar", "d0"},
                                                                    {NULL, NULL}};
static const tare_llama_back gemma4_assistant_back = {.names = HF_DENSE HF_QK_NORM HF_SANDWICH
                                                      "pre_projection post_projection",
                                                      .config = gemma4_assistant_back_config,
                                                      .shapes = gemma4_assistant_back_shapes};

static const char *const gemma3n_back_config[] = {
    "model_type = 'gemma3n_text'",
    "layer_types[] = if(at(attention.sliding_window_pattern, layer), 'sliding_attention', "
    "'full_attention')",
    "num_kv_shared_layers = attention.shared_kv_layers",
    "hidden_size_per_layer_input = embedding_length_per_layer_input",
    "sliding_window = attention.sliding_window",
    "final_logit_softcapping = final_logit_softcapping",
    "activation_sparsity_pattern[] = if(has(activation_sparsity_scale), "
    "if(at(activation_sparsity_scale, layer) > -9, normal(at(activation_sparsity_scale, layer)), "
    "0.0))",
    "vocab_size_per_layer_input = tensors.per_layer_token_embd.weight.rows",
    NULL};
static const tare_llama_shape_row gemma3n_back_shapes[] = {
    {"model.altup_projections.#.weight", "d1, d2"},
    {"model.altup_unembed_projections.#.weight", "d1, d2"},
    {"*.altup.correct_output_scale", "d0"},
    {NULL, NULL}};
static const tare_llama_back gemma3n_back = {
    .names = HF_DENSE HF_QK_NORM HF_SANDWICH
    "altup.correction_coefs altup.prediction_coefs altup.modality_router altup.router_norm "
    "laurel.linear_left laurel.linear_right laurel.post_laurel_norm per_layer_input_gate "
    "per_layer_projection post_per_layer_input_norm model.embed_tokens_per_layer "
    "model.per_layer_model_projection model.per_layer_projection_norm",
    .config = gemma3n_back_config,
    .shapes = gemma3n_back_shapes};

const tare_llama_arch tare_llama_family_gemma[] = {
    {.name = "gemma",
     .classes = "GemmaForCausalLM",
     .tensors = "token_embd output_norm " QKV NORMS FFN,
     .defaults = gemma_defaults,
     .own = gemma_own,
     .rules = gemma_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO, .rules = gemma_specials, .n_rules = 4},
     .back = &gemma_back},
    {.name = "gemma2",
     .classes = "Gemma2ForCausalLM",
     .tensors = "token_embd output_norm " QKV SANDWICH FFN,
     .defaults = gemma2_defaults,
     .own = gemma2_own,
     .rules = gemma_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .back = &gemma2_back},
    {.name = "gemma3",
     .classes = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
     .tensors = ENDS QKV SANDWICH FFN QK_NORMS,
     .defaults = gemma3_defaults,
     .keys = gemma3_keys,
     .rules = gemma3_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .back = &gemma3_back},
    {.name = "gemma3n",
     .classes = "Gemma3nForCausalLM Gemma3nForConditionalGeneration",
     .tensors = ENDS QKV QK_NORMS FFN SANDWICH
     "per_layer_token_embd per_layer_model_proj per_layer_proj_norm inp_gate proj post_norm "
     "altup_proj altup_unembd_proj altup_correct_coef altup_correct_scale altup_predict_coef "
     "altup_router altup_router_norm laurel_l laurel_r laurel_post_norm",
     .defaults = gemma3n_defaults,
     .keys = gemma3n_keys,
     .rules = gemma3n_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .back = &gemma3n_back},
    {.name = "gemma4",
     .classes = "Gemma4ForCausalLM Gemma4ForConditionalGeneration "
                "Gemma4UnifiedForConditionalGeneration",
     .tensors = ENDS QKV QK_NORMS FFN SANDWICH
     "rope_freqs ffn_gate_up_exps ffn_gate_exps ffn_up_exps ffn_down_exps ffn_gate_inp "
     "pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2 layer_output_scale per_layer_token_embd "
     "per_layer_model_proj inp_gate proj per_layer_proj_norm post_norm",
     .optional = "attn_v layer_output_scale pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2",
     .defaults = gemma4_defaults,
     .keys = gemma4_keys,
     .rules = gemma4_rules,
     .has_rope_freqs = true,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_GEMMA4,
                   .add_space_prefix = TARE_LLAMA_FLAG_NO,
                   .add_bos = TARE_LLAMA_FLAG_YES},
     .ignores_vocab_size = true,
     .back = &gemma4_back},
    {.name = "gemma4-assistant",
     .classes = "Gemma4AssistantForCausalLM Gemma4UnifiedAssistantForCausalLM",
     .tensors = "token_embd output_norm attn_q attn_q_norm attn_output rope_freqs "
                "nextn.pre_projection nextn.post_projection attn_norm post_attention_norm "
                "ffn_pre_norm post_ffw_norm layer_output_scale " FFN,
     .defaults = gemma4_defaults,
     .keys = gemma4_assistant_keys,
     .rules = gemma4_assistant_rules,
     .has_rope_freqs = true,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_GEMMA4,
                   .add_space_prefix = TARE_LLAMA_FLAG_NO,
                   .add_bos = TARE_LLAMA_FLAG_YES},
     .ignores_vocab_size = true,
     .back = &gemma4_assistant_back},
    {.name = "gemma-embedding",
     .classes = "Gemma3TextModel",
     .tensors = "output dense_2 dense_3 " ENDS QKV SANDWICH FFN QK_NORMS,
     .defaults = gemma3_defaults,
     .keys = gemma3_keys,
     .rules = gemma3_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .has_pooling = true,
     .back = &embedding_back},
    {.name = "gemma-embedding2",
     .classes = "EmbeddingGemma2TextModel EmbeddingGemma2Model",
     .prefix = "model.",
     .tensors = ENDS QKV QK_NORMS FFN SANDWICH "per_layer_model_proj per_layer_proj_norm inp_gate "
                                               "proj post_norm layer_output_scale",
     .defaults = embedding2_defaults,
     .keys = embedding2_keys,
     .rules = embedding2_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_GEMMA4,
                   .add_space_prefix = TARE_LLAMA_FLAG_NO,
                   .add_bos = TARE_LLAMA_FLAG_YES},
     .has_pooling = true,
     .back = &embedding2_back},
    {.name = NULL},
};
