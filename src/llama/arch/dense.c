/* SPDX-License-Identifier: MIT
 *
 * Dense decoders with the tensor names of Llama, and keys or operations of their own. */
#include "llama/arch/rows.h"

/* ---- StableLM -------------------------------------------------------------------------------- */

static const char *const stablelm_defaults[] = {
    "num_key_value_heads = 32", "partial_rotary_factor = 0.25", "use_parallel_residual = true",
    "layer_norm_eps = 0.00001", NULL};
static const tare_llama_key stablelm_own[] = {
    {"context_length", U32, "max_position_embeddings"},
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"rope.dimension_count", U32, "rope.partial * floor(hidden_size / num_attention_heads)"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"attention.head_count_kv", U32, "num_key_value_heads"},
    {"use_parallel_residual", BOOL, "use_parallel_residual"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_eps | norm_eps"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
/* Each head has a norm; llama.cpp has them in one tensor. */
static const tare_llama_rule stablelm_rules[] = {
    {"*.self_attn.q_layernorm.norms.#.weight", ".self_attn.q_layernorm.weight",
     "stack(number, num_attention_heads)"},
    {"*.self_attn.k_layernorm.norms.#.weight", ".self_attn.k_layernorm.weight",
     "stack(number, num_key_value_heads)"},
    END_OF_RULES};

/* ---- Command R ------------------------------------------------------------------------------- */

static const char *const cohere_defaults[] = {
    KV_HEADS_ALL, "rope_theta = 500000", "layer_norm_eps = 0.00001", "logit_scale = 0.0625", NULL};
static const char *const cohere2_defaults[] = {KV_HEADS_ALL,
                                               HEAD_DIM_OF_HIDDEN,
                                               "rope_theta = 10000",
                                               "layer_norm_eps = 0.00001",
                                               "logit_scale = 0.0625",
                                               "sliding_window = 4096",
                                               NULL};
static const tare_llama_key cohere_keys[] = {
    {"context_length", U32, "model_max_length | max_position_embeddings"},
    {"logit_scale", F32, "logit_scale"},
    KEY_NO_SCALING,
    END_OF_KEYS};
static const tare_llama_key cohere2_keys[] = {
    {"logit_scale", F32, "logit_scale"},
    {"attention.sliding_window", U32, "sliding_window"},
    KEY_VOCAB_SIZE,
    {"rope.dimension_count", U32, "(rotary_pct | 1) * floor(hidden_size / num_attention_heads)"},
    KEY_NO_SCALING,
    END_OF_KEYS};

/* ---- OLMo ------------------------------------------------------------------------------------ */

static const tare_llama_key olmo_keys[] = {{"attention.layer_norm_epsilon", F32, "0.00001"},
                                           {"attention.clamp_kqv", F32, "clip_qkv"},
                                           END_OF_KEYS};
/* For sliding layers transformers always uses the theta of the class. */
static const char *const olmo3_defaults[] = {KV_HEADS_ALL, "rope_local_base_freq = 500000", NULL};
static const tare_llama_key olmo2_keys[] = {
    {"attention.sliding_window", U32, WITH_WINDOWS},
    {"attention.sliding_window_pattern[]", BOOL,
     "if(has(" WITH_WINDOWS "), if(has(layer_types), " LAYER_WINDOW ", (layer + 1) % 4 > 0))"},
    END_OF_KEYS};

/* ---- Nemotron -------------------------------------------------------------------------------- */

static const char *const nemotron_defaults[] = {"partial_rotary_factor = 0.5", "norm_eps = 0.00001",
                                                NULL};
static const tare_llama_key nemotron_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.layer_norm_epsilon", F32,
     "layer_norm_eps | layer_norm_epsilon | norm_epsilon | norm_eps"},
    {"rope.dimension_count", U32,
     "floor(rope.partial * (hidden_size | n_embd)) / (num_attention_heads | n_head)"},
    {"rope.scaling.type", TEXT,
     "if(rope.type == 'yarn', if(like_reference, nothing, 'yarn')) | if(has(factor | rope.factor), "
     "'linear', 'none')"},
    {"rope.scaling.factor", F32, "factor | rope.factor"},
    END_OF_KEYS};
static const tare_llama_rule nemotron_rules[] = {{"=*norm.weight", NULL, "add(1)"}, END_OF_RULES};
static const tare_llama_special_rule nemotron_specials[] = {
    {.special = TARE_LLAMA_PAD, .id = 0, .is_late = true},
    {.special = TARE_LLAMA_UNK, .id = 1, .is_late = true},
};

/* ---- MiniCPM, InternLM 2 ---------------------------------------------------------------------- */

static const tare_llama_key minicpm_keys[] = {
    {"embedding_scale", F32, "scale_emb"},
    {"residual_scale", F32, "scale_depth / sqrt(num_hidden_layers)"},
    {"logit_scale", F32, "hidden_size / dim_model_base"},
    END_OF_KEYS};
static const char *const internlm2_defaults[] = {
    KV_HEADS_ALL, "internlm.per_kv = num_attention_heads / num_key_value_heads", NULL};
static const tare_llama_special_rule internlm2_specials[] = {
    {.special = TARE_LLAMA_EOS, .text = "<|im_end|>"},
};
#define INTERNLM_GROUPS "view(num_key_value_heads, internlm.per_kv + 2, 0, d1) "
static const tare_llama_rule internlm2_rules[] = {
    {"*.attention.wqkv.weight", "=blk.#.attn_q.weight",
     INTERNLM_GROUPS "rows(1, 0, internlm.per_kv) view(0, d3) heads(num_attention_heads)"},
    {"*.attention.wqkv.weight", "=blk.#.attn_k.weight",
     INTERNLM_GROUPS "rows(1, internlm.per_kv, 1) view(0, d3) heads(num_key_value_heads)"},
    {"*.attention.wqkv.weight", "=blk.#.attn_v.weight",
     INTERNLM_GROUPS "rows(1, internlm.per_kv + 1, 1) view(0, d3)"},
    END_OF_RULES};

/* ---- gpt-oss ---------------------------------------------------------------------------------- */

static const char *const gpt_oss_defaults[] = {"head_dim = 64",           "num_key_value_heads = 8",
                                               "rms_norm_eps = 0.00001",  "rope_theta = 150000",
                                               "sliding_window = 128",    "num_local_experts = 128",
                                               "num_experts_per_tok = 4", NULL};
static const tare_llama_key gpt_oss_keys[] = {
    {"attention.sliding_window", U32, "sliding_window"},
    {"expert_feed_forward_length", U32, "intermediate_size"},
    END_OF_KEYS};
static const tare_llama_rule gpt_oss_rules[] = {
    {"*.self_attn.sinks", ".self_attn.sinks.weight", NULL},
    {"*.mlp.experts.down_proj", ".mlp.experts.down_proj.weight", "swap(1, 2)"},
    {"*.mlp.experts.down_proj_bias", ".mlp.experts.down_proj.bias", NULL},
    {"*.mlp.experts.gate_up_proj", ".mlp.experts.gate_proj.weight", "swap(1, 2) even(1)"},
    {"*.mlp.experts.gate_up_proj", ".mlp.experts.up_proj.weight", "swap(1, 2) odd(1)"},
    {"*.mlp.experts.gate_up_proj_bias", ".mlp.experts.gate_proj.bias", "even(1)"},
    {"*.mlp.experts.gate_up_proj_bias", ".mlp.experts.up_proj.bias", "odd(1)"},
    END_OF_RULES};

/* ---- others ---------------------------------------------------------------------------------- */

static const char *const smollm3_defaults[] = {"num_key_value_heads = 4", "rope_theta = 2000000",
                                               "rms_norm_eps = 0.000001", NULL};
static const tare_llama_key orion_own[] = {
    KEY_FILE_TYPE,
    {"tensor_data_layout", TEXT, "'Meta AI original pth'"},
    {"context_length", U32, "max_sequence_length | max_position_embeddings | model_max_length"},
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"attention.head_count_kv", U32, "num_key_value_heads | num_attention_heads"},
    {"attention.layer_norm_epsilon", F32, "rms_norm_eps"},
    END_OF_KEYS};
static const tare_llama_key baichuan_keys[] = {
    {"tensor_data_layout", TEXT, "'Meta AI original pth'"},
    {"rope.dimension_count", U32, "floor(hidden_size / num_attention_heads)"},
    END_OF_KEYS};
static const tare_llama_rule baichuan_rules[] = {
    {"*.self_attn.W_pack.weight", "=blk.#.attn_q.weight",
     "rows(0, 0, d0 / 3) heads(num_attention_heads)"},
    {"*.self_attn.W_pack.weight", "=blk.#.attn_k.weight",
     "rows(0, d0 / 3, d0 / 3) heads(num_key_value_heads | num_attention_heads)"},
    {"*.self_attn.W_pack.weight", "=blk.#.attn_v.weight", "rows(0, 2 * d0 / 3, d0 / 3)"},
    END_OF_RULES};
static const char *const seed_defaults[] = {"head_dim = 128", "num_key_value_heads = 8", NULL};

static const char *const stablelm_back_config[] = {
    "model_type = 'stablelm'", BACK_ROTARY, "use_qkv_bias = has(tensors.attn_q.bias)",
    "qk_layernorm = has(tensors.attn_q_norm.weight)", NULL};
static const tare_llama_shape_row stablelm_back_shapes[] = {
    {"*.self_attn.q_layernorm.norms.#.weight", "d1"},
    {"*.self_attn.k_layernorm.norms.#.weight", "d1"},
    {NULL, NULL}};
static const tare_llama_back stablelm_back = {
    .names = HF_DENSE "self_attn.q_layernorm self_attn.k_layernorm layer_norm_eps",
    .config = stablelm_back_config,
    .shapes = stablelm_back_shapes};
static const char *const cohere_back_config[] = {"model_type = 'cohere'",
                                                 "tie_word_embeddings = true",
                                                 "max_position_embeddings = context_length",
                                                 "use_qk_norm = has(tensors.attn_q_norm.weight)",
                                                 BACK_BIASES,
                                                 NULL};
static const tare_llama_back cohere_back = {
    .names = HF_DENSE HF_QK_NORM "model_max_length layer_norm_eps", .config = cohere_back_config};
static const char *const cohere2_back_config[] = {"model_type = 'cohere2'", BACK_LAYER_TYPES,
                                                  "tie_word_embeddings = true", NULL};
static const tare_llama_back cohere2_back = {.names = HF_DENSE "layer_norm_eps",
                                             .config = cohere2_back_config};
static const char *const olmo_back_config[] = {"model_type = 'olmo'", "layer_norm_eps = nothing",
                                               NULL};
static const tare_llama_back olmo_back = {.names = HF_DENSE "clip_qkv", .config = olmo_back_config};
static const char *const olmo2_back_config[] = {"model_type = 'olmo2'", NULL};
static const tare_llama_back olmo2_back = {.names = HF_DENSE HF_QK_NORM HF_SANDWICH,
                                           .config = olmo2_back_config,
                                           .when = "has(attention.sliding_window) == false"};
static const char *const olmo3_back_config[] = {
    "model_type = 'olmo3'", "sliding_window = attention.sliding_window",
    "layer_types[] = if(at(attention.sliding_window_pattern, layer), 'sliding_attention', "
    "'full_attention')",
    /* rope_theta and rope_scaling beside it are those of full attention alone to transformers 5 */
    BACK_ROPE_BESIDE("full_attention."), "rope_parameters.sliding_attention.rope_type = 'default'",
    "rope_parameters.sliding_attention.rope_theta = rope.freq_base_swa | rope.freq_base", NULL};
static const tare_llama_back olmo3_back = {.names = HF_DENSE HF_QK_NORM HF_SANDWICH,
                                           .config = olmo3_back_config};
/* Spark 2.5: a gate for each head behind attention, and a base and share of positions for each kind
 * of layer. */
#define SPARK_ROPE(layers) "rope_parameters." layers ".partial_rotary_factor"
static const tare_llama_key spark_keys[] = {
    KEY_VOCAB_SIZE,
    KEYS_WINDOW_BY_LAYER,
    {"rope.dimension_count", U32, "floor(head_dim * " SPARK_ROPE("full_attention") ")"},
    {"rope.dimension_count_swa", U32, "floor(head_dim * " SPARK_ROPE("sliding_attention") ")"},
    END_OF_KEYS};
static const tare_llama_rule spark_rules[] = {
    {"*.self_attn.q_k_v_proj.weight", "=blk.#.attn_qkv.weight", NULL}, END_OF_RULES};
static const char *const spark_back_config[] = {
    "model_type = 'spark2_5'",
    "hidden_act = 'gelu'",
    "gate_attn_act_mode = 'sigmoid'",
    "headwise_attn_output_gate = true",
    BACK_LAYER_TYPES,
    "sliding_window = attention.sliding_window",
    "rope_parameters.full_attention.rope_type = 'default'",
    "rope_parameters.full_attention.rope_theta = rope.freq_base",
    SPARK_ROPE("full_attention") " = rope.dimension_count / attention.key_length",
    "rope_parameters.sliding_attention.rope_type = 'default'",
    "rope_parameters.sliding_attention.rope_theta = rope.freq_base_swa",
    SPARK_ROPE("sliding_attention") " = rope.dimension_count_swa / attention.key_length",
    "rope_theta = nothing",
    "rope_local_base_freq = nothing",
    NULL};
static const tare_llama_shape_row spark_back_shapes[] = {
    {"*.self_attn.q_k_v_proj.weight", "d0, d1"}, {NULL, NULL}};
static const tare_llama_back spark_back = {
    .names = HF_DENSE "self_attn.g_proj", .config = spark_back_config, .shapes = spark_back_shapes};
static const char *const seed_back_config[] = {
    "model_type = 'seed_oss'",
    "head_dim = attention.key_length | floor(embedding_length / attention.head_count)",
    "attention_bias = has(tensors.attn_q.bias)",
    "attention_out_bias = has(tensors.attn_output.bias)", NULL};
static const tare_llama_back seed_back = {.names = HF_DENSE, .config = seed_back_config};
static const char *const nemotron_back_config[] = {"model_type = 'nemotron'",
                                                   BACK_BIASES,
                                                   "norm_eps = attention.layer_norm_epsilon",
                                                   "rms_norm_eps = nothing",
                                                   "layer_norm_eps = nothing",
                                                   BACK_ROTARY,
                                                   "head_dim = nothing",
                                                   NULL};
static const tare_llama_back nemotron_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_MLP HF_CONFIG "norm_eps", .config = nemotron_back_config};
static const char *const minicpm_back_config[] = {
    "model_type = 'minicpm'", "scale_emb = embedding_scale",
    "scale_depth = residual_scale * sqrt(block_count)",
    "dim_model_base = floor(embedding_length / logit_scale + 0.5)", NULL};
static const tare_llama_back minicpm_back = {.names = HF_DENSE, .config = minicpm_back_config};
static const char *const internlm2_back_config[] = {"model_type = 'internlm2'", NULL};
static const tare_llama_shape_row internlm2_back_shapes[] = {
    {"*.attention.wqkv.weight",
     "(num_attention_heads + 2 * num_key_value_heads) * (d0 / num_attention_heads), d1"},
    {NULL, NULL}};
static const tare_llama_back internlm2_back = {
    .names = "model.layers. model.tok_embeddings model.norm output attention_norm ffn_norm "
             "attention.wo feed_forward.w1 feed_forward.w2 feed_forward.w3 " HF_CONFIG,
    .config = internlm2_back_config,
    .shapes = internlm2_back_shapes};
static const char *const gpt_oss_back_config[] = {
    "model_type = 'gpt_oss'", "intermediate_size = expert_feed_forward_length",
    "attention_bias = has(tensors.attn_q.bias)", BACK_LAYER_TYPES,
    /* transformers assumes YaRN; llama.cpp rounds the bounds of it, and published models do not */
    "rope_scaling.rope_type = rope.scaling.type | 'default'",
    "rope_scaling.truncate = if(rope.scaling.type == 'yarn', if(rope.scaling.factor == 32, "
    "if(rope.scaling.original_context_length == 4096, false)))",
    NULL};
static const tare_llama_shape_row gpt_oss_back_shapes[] = {
    {"*.self_attn.sinks", "d0"},
    {"*.mlp.experts.down_proj", "d0, d2, d1"},
    {"*.mlp.experts.down_proj_bias", "d0, d1"},
    {"*.mlp.experts.gate_up_proj", "d0, d2, 2 * d1"},
    {"*.mlp.experts.gate_up_proj_bias", "d0, 2 * d1"},
    {NULL, NULL}};
static const tare_llama_back gpt_oss_back = {.names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
                                             "mlp.router num_local_experts",
                                             .config = gpt_oss_back_config,
                                             .shapes = gpt_oss_back_shapes};
static const char *const smollm3_back_config[] = {"model_type = 'smollm3'", BACK_BIASES,
                                                  "head_dim = attention.key_length", NULL};
static const tare_llama_back smollm3_back = {.names = HF_DENSE, .config = smollm3_back_config};
static const char *const arcee_back_config[] = {"model_type = 'arcee'", BACK_BIASES, NULL};
static const tare_llama_back arcee_back = {.names = HF_DENSE, .config = arcee_back_config};
static const char *const orion_back_config[] = {
    "model_type = 'orion'", "max_sequence_length = context_length",
    "max_position_embeddings = context_length", "rms_norm_eps = attention.layer_norm_epsilon",
    NULL};
static const tare_llama_back orion_back = {.names = HF_DENSE, .config = orion_back_config};
static const char *const baichuan_back_config[] = {"model_type = 'baichuan'", NULL};
static const tare_llama_shape_row baichuan_back_shapes[] = {
    {"*.self_attn.W_pack.weight", "3 * d0, d1"}, {NULL, NULL}};
static const tare_llama_back baichuan_back = {.names = HF_ENDS HF_NORMS HF_MLP HF_CONFIG
                                              "self_attn.o_proj",
                                              .config = baichuan_back_config,
                                              .shapes = baichuan_back_shapes};
static const char *const xverse_back_config[] = {"model_type = 'xverse'", NULL};
static const tare_llama_back xverse_back = {.names = HF_DENSE, .config = xverse_back_config};

static const char *const llama_embed_back_config[] = {"model_type = 'llama_bidirec'",
                                                      "is_causal = attention.causal", NULL};
static const tare_llama_back llama_embed_back = {.names = HF_DENSE,
                                                 .config = llama_embed_back_config};

const tare_llama_arch tare_llama_family_dense[] = {
    {.name = "stablelm",
     .classes = "StableLmForCausalLM StableLMEpochForCausalLM LlavaStableLMEpochForCausalLM",
     .tensors = DENSE QK_NORMS,
     .optional = "attn_q_norm attn_k_norm ffn_norm",
     .defaults = stablelm_defaults,
     .own = stablelm_own,
     .rules = stablelm_rules,
     .tokenizer = {.prefers_json = true},
     .back = &stablelm_back},
    {.name = "command-r",
     .classes = "CohereForCausalLM",
     .tensors = "token_embd output_norm attn_norm " QKV FFN QK_NORMS,
     .optional = "attn_q_norm attn_k_norm",
     .defaults = cohere_defaults,
     .keys = cohere_keys,
     .back = &cohere_back},
    {.name = "cohere2",
     .classes = "Cohere2ForCausalLM",
     .tensors = "token_embd output_norm attn_norm " QKV FFN,
     .defaults = cohere2_defaults,
     .keys = cohere2_keys,
     .drops_zero_biases = true,
     .back = &cohere2_back},
    {.name = "olmo",
     .classes = "OlmoForCausalLM OLMoForCausalLM",
     .tensors = "token_embd output " QKV FFN,
     .defaults = tare_llama_all_heads,
     .keys = olmo_keys,
     .rules = tare_llama_permute_weights,
     .back = &olmo_back},
    {.name = "olmo2",
     .classes = "Olmo2ForCausalLM",
     .tensors = ENDS QKV QK_NORMS FFN "post_attention_norm post_ffw_norm",
     .defaults = tare_llama_all_heads,
     .keys = olmo2_keys,
     .back = &olmo2_back},
    {.name = "olmo2",
     .classes = "Olmo3ForCausalLM",
     .tensors = ENDS QKV QK_NORMS FFN "post_attention_norm post_ffw_norm",
     .defaults = olmo3_defaults,
     .keys = olmo2_keys,
     .back = &olmo3_back},
    {.name = "seed_oss",
     .classes = "SeedOssForCausalLM",
     .tensors = ENDS QKV FFN "attn_norm post_attention_norm",
     .defaults = seed_defaults,
     .back = &seed_back},
    {.name = "spark2_5",
     .classes = "Spark2_5ForCausalLM",
     .tensors = ENDS FUSED NORMS FFN "attn_gate",
     .keys = spark_keys,
     .rules = spark_rules,
     .back = &spark_back},
    {.name = "nemotron",
     .classes = "NemotronForCausalLM",
     .tensors = ENDS QKV NORMS "rope_freqs ffn_down ffn_up",
     .defaults = nemotron_defaults,
     .keys = nemotron_keys,
     .rules = nemotron_rules,
     .tokenizer = {.rules = nemotron_specials, .n_rules = 2},
     .back = &nemotron_back},
    {.name = "minicpm",
     .classes = "MiniCPMForCausalLM",
     .tensors = DENSE MOE "rope_factors_long rope_factors_short",
     .keys = minicpm_keys,
     .rules = tare_llama_permute_weights,
     .back = &minicpm_back},
    {.name = "internlm2",
     .classes = "InternLM2ForCausalLM",
     .tensors = ENDS QKV NORMS FFN,
     .defaults = internlm2_defaults,
     .rules = internlm2_rules,
     .tokenizer = {.reads_added_list = true,
                   .tells_space_prefix = true,
                   .unused = "[UNUSED",
                   .rules = internlm2_specials,
                   .n_rules = 1},
     .back = &internlm2_back},
    {.name = "gpt-oss",
     .classes = "GptOssForCausalLM",
     .tensors = ENDS QKV MOE "attn_norm post_attention_norm attn_sinks",
     .defaults = gpt_oss_defaults,
     .keys = gpt_oss_keys,
     .rules = gpt_oss_rules,
     .back = &gpt_oss_back},
    {.name = "smollm3",
     .classes = "SmolLM3ForCausalLM",
     .tensors = DENSE,
     .defaults = smollm3_defaults,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &smollm3_back},
    {.name = "arcee",
     .classes = "ArceeForCausalLM",
     .tensors = ENDS QKV NORMS "rope_freqs ffn_down ffn_up",
     .defaults = tare_llama_all_heads,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .has_pooling = true,
     .back = &arcee_back},
    {.name = "llama-embed",
     .classes = "LlamaBidirectionalModel",
     .tensors = DENSE MOE,
     .prefix = "model.",
     .defaults = tare_llama_all_heads,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &llama_embed_back},
    {.name = "orion",
     .classes = "OrionForCausalLM",
     .tensors = DENSE,
     .own = orion_own,
     .back = &orion_back},
    {.name = "baichuan",
     .classes = "BaichuanForCausalLM BaiChuanForCausalLM",
     .tensors = DENSE,
     .keys = baichuan_keys,
     .rules = baichuan_rules,
     .back = &baichuan_back},
    {.name = "xverse",
     .classes = "XverseForCausalLM",
     .tensors = DENSE,
     .keys = baichuan_keys,
     .rules = tare_llama_permute_weights,
     .back = &xverse_back},
    {.name = NULL},
};
