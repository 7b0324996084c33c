/* SPDX-License-Identifier: MIT
 *
 * Kimi's delta attention beside latent attention. */
#include "llama/arch/rows.h"

/* Latent attention: ranks, and heads. */
#define KEYS_LATENT_RANKS                                                                          \
    {"attention.q_lora_rank", U32, "q_lora_rank"},                                                 \
        {"attention.kv_lora_rank", U32, "kv_lora_rank"},                                           \
        {"rope.dimension_count", U32, "qk_rope_head_dim"}, {                                       \
        "attention.key_length", U32, "kv_lora_rank + qk_rope_head_dim"                             \
    }
#define KEYS_LATENT_HEADS                                                                          \
    {"attention.key_length_mla", U32, "qk_nope_head_dim + qk_rope_head_dim"}, {                    \
        "attention.value_length_mla", U32, "v_head_dim"                                            \
    }
#define BACK_LATENT                                                                                \
    "kv_lora_rank = attention.kv_lora_rank", "qk_rope_head_dim = rope.dimension_count",            \
        "qk_nope_head_dim = attention.key_length_mla - rope.dimension_count",                      \
        "v_head_dim = attention.value_length_mla", "num_key_value_heads = attention.head_count"

/* Convolutions of queries, keys and values, one for each number of a token. */
#define RULES_DELTA_CONV                                                                           \
    {"=blk.#.ssm_conv1d_q.weight", NULL, "squeeze view(1, d0, 1, d1)"},                            \
        {"=blk.#.ssm_conv1d_k.weight", NULL, "squeeze view(1, d0, 1, d1)"}, {                      \
        "=blk.#.ssm_conv1d_v.weight", NULL, "squeeze view(1, d0, 1, d1)"                           \
    }

/* ---- Kimi Linear -------------------------------------------------------------------------------- */

#define KIMI_LATENT                                                                                \
    "kimi.latent = if(if(has(linear_attn_config.full_attn_layers), in(layer + 1, "                 \
    "linear_attn_config.full_attn_layers), word(at(layer_types, layer), '" LAYER_KINDS             \
    "') == 'attention'), 1, 0)"
static const char *const kimi_defaults[] = {"kv_lora_rank = n_lora_kv", "qk_rope_head_dim = n_rot",
                                            KIMI_LATENT, SIGMOID_ROUTER, NULL};
static const tare_llama_key kimi_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.head_count_kv[]", I32, "kimi.latent"},
    {"ssm.conv_kernel", U32, "linear_attn_config.short_conv_kernel_size | linear_conv_kernel_dim"},
    {"kda.head_dim", U32, "linear_attn_config.head_dim | linear_head_dim"},
    {"attention.q_lora_rank", U32, "q_lora_rank | n_lora_q"},
    {"attention.kv_lora_rank", U32, "kv_lora_rank"},
    {"rope.dimension_count", U32, "qk_rope_head_dim"},
    {"attention.key_length", U32, "kv_lora_rank + qk_rope_head_dim"},
    {"attention.key_length_mla", U32, "n_embd_head_k_mla | qk_nope_head_dim + qk_rope_head_dim"},
    {"attention.value_length_mla", U32, "n_embd_head_v_mla | v_head_dim"},
    KEY_EXPERT_FFN,
    {"expert_group_count", U32, "if(num_expert_group > 1, num_expert_group)"},
    {"expert_shared_count", U32, "num_shared_experts"},
    {"leading_dense_block_count", U32, DENSE_FIRST " | first_k_dense_replace"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    END_OF_KEYS};
static const tare_llama_rule kimi_rules[] = {
    {"=blk.#.ssm_a", NULL, "negexp"}, RULES_DELTA_CONV, RULES_LATENT, END_OF_RULES};

static const char *const kimi_back_config[] = {
    "model_type = 'kimi_linear'",
    "num_experts_per_tok = nothing",
    "num_experts_per_token = expert_used_count",
    "moe_router_activation_func = if(expert_gating_func == 2, 'sigmoid', if(expert_gating_func == "
    "1, 'softmax'))",
    BACK_LATENT,
    "head_dim = attention.value_length",
    "linear_attn_config.full_attn_layers[] = if(at(attention.head_count_kv, layer) > 0, layer + 1)",
    "linear_attn_config.kda_layers[] = if(at(attention.head_count_kv, layer) == 0, layer + 1)",
    "linear_attn_config.short_conv_kernel_size = ssm.conv_kernel",
    "linear_attn_config.head_dim = kda.head_dim",
    "linear_attn_config.num_heads = attention.head_count",
    NULL};
static const tare_llama_shape_row kimi_back_shapes[] = {
    {"=blk.#.ssm_conv1d_q.weight", "linear_attn_config.head_dim * linear_attn_config.num_heads, 1, "
                                   "linear_attn_config.short_conv_kernel_size"},
    {"=blk.#.ssm_conv1d_k.weight", "linear_attn_config.head_dim * linear_attn_config.num_heads, 1, "
                                   "linear_attn_config.short_conv_kernel_size"},
    {"=blk.#.ssm_conv1d_v.weight", "linear_attn_config.head_dim * linear_attn_config.num_heads, 1, "
                                   "linear_attn_config.short_conv_kernel_size"},
    {"=blk.#.ssm_a", "1, 1, linear_attn_config.num_heads, 1"},
    SHAPE_LATENT,
    {NULL, NULL}};
static const tare_llama_back kimi_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_MLP HF_CONFIG
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.q_a_proj self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.f_a_proj self_attn.f_b_proj self_attn.b_proj "
    "self_attn.g_a_proj self_attn.g_b_proj self_attn.dt_proj self_attn.A_log self_attn.q_conv1d "
    "self_attn.k_conv1d self_attn.v_conv1d self_attn.o_norm "
    "block_sparse_moe.gate block_sparse_moe.gate.e_score_correction block_sparse_moe.experts.w1 "
    "block_sparse_moe.experts.w2 block_sparse_moe.experts.w3 "
    "block_sparse_moe.shared_experts.gate_proj block_sparse_moe.shared_experts.up_proj "
    "block_sparse_moe.shared_experts.down_proj num_experts num_experts_per_token",
    .config = kimi_back_config,
    .shapes = kimi_back_shapes};

/* ---- Kimi K3: a whole gate of linear attention and one of the other, residuals of several layers, experts
 * of fewer numbers, an activation of its own -------------------------------------------------------- */

static const char *const k3_defaults[] = {KIMI_LATENT, NULL};
static const tare_llama_key k3_keys[] = {
    {"attention.key_length", U32, NULL}, /* of config.json's head_dim */
    {"attention.value_length", U32, NULL},
    KEY_VOCAB_SIZE,
    {"attention.head_count_kv[]", I32, "kimi.latent"},
    {"ssm.conv_kernel", U32, "linear_attn_config.short_conv_kernel_size"},
    {"kda.head_dim", U32, "linear_attn_config.head_dim"},
    {"kda.gate_lower_bound", F32, "linear_attn_config.gate_lower_bound"},
    KEYS_LATENT_RANKS,
    {"attention.value_length", U32, "kv_lora_rank"},
    KEYS_LATENT_HEADS,
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "num_shared_experts"},
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "moe_renormalize"},
    {"expert_latent_length", U32, "routed_expert_hidden_size"},
    {"activation.situ_beta", F32, "activation_situ_beta"},
    {"activation.situ_linear_beta", F32, "activation_situ_linear_beta"},
    {"attn_res.block_size", U32, "attn_res_block_size"},
    END_OF_KEYS};
static const tare_llama_rule k3_rules[] = {
    {"*.self_attention_res_norm.weight", "=blk.#.attn_res_score.weight", "times_proj"},
    {"*.mlp_res_norm.weight", "=blk.#.ffn_res_score.weight", "times_proj"},
    {"*output_attn_res_norm.weight", "=output_res_score.weight", "times_proj"},
    RULE_DROP("*_res_proj.weight"),
    {"=blk.#.attn_gate.weight", "=blk.#.ssm_g.weight", "if(kimi.latent == 0) as_is"},
    {"=blk.#.ssm_a", NULL, "rows(0, 0, num_attention_heads) negexp"},
    RULES_DELTA_CONV,
    RULES_LATENT,
    END_OF_RULES};

/* ---- Ling 3: Kimi's delta attention without factors of its gates, latent attention in every so manieth
 * layer and in those behind the last group -------------------------------------------------------- */

#define LING_GROUPED "floor(num_hidden_layers / layer_group_size) * layer_group_size"
#define LING_LATENT                                                                                \
    "if((layer + 1) % layer_group_size == 0, 1, if(layer + 1 > " LING_GROUPED ", 1, 0))"
static const char *const ling3_defaults[] = {"num_shared_experts = 1", "ling.latent = " LING_LATENT,
                                             SIGMOID_ROUTER, NULL};
#define LING3_KEYS                                                                                 \
    {"attention.head_count_kv[]", I32, "ling.latent"}, KEY_VOCAB_SIZE,                             \
        {"ssm.conv_kernel", U32, "short_conv_kernel_size"}, {"kda.head_dim", U32, "head_dim"},     \
        {"kda.safe_gate", BOOL, "kda_safe_gate"},                                                  \
        {"kda.gate_lower_bound", F32, "kda_lower_bound"}, KEYS_LATENT_RANKS, KEYS_LATENT_HEADS,    \
        KEY_EXPERT_FFN,                                                                            \
        {"expert_shared_feed_forward_length", U32, "moe_shared_expert_intermediate_size"},         \
        {"expert_shared_count", U32, "num_shared_experts"},                                        \
        {"leading_dense_block_count", U32, "first_k_dense_replace"},                               \
        {"expert_weights_scale", F32, "routed_scaling_factor"},                                    \
        {"expert_weights_norm", BOOL, "norm_topk_prob"},                                           \
        {"swiglu_clamp_exp[]", F32,                                                                \
         "if(has(expert_swiglu_limit_list), at(expert_swiglu_limit_list, layer) | 0)"},            \
        {"swiglu_clamp_shexp[]", F32,                                                              \
         "if(has(share_expert_swiglu_limit_list), at(share_expert_swiglu_limit_list, layer) | "    \
         "0)"},                                                                                    \
        KEY_NEXTN
static const tare_llama_key ling3_keys[] = {LING3_KEYS, END_OF_KEYS};
static const tare_llama_key ling3vl_keys[] = {
    LING3_KEYS,
    {"rope.dimension_sections[4]", I32,
     "if(has(mrope_section), if(layer < 3, at(mrope_section, min(layer, 2)), 0), 0)"},
    END_OF_KEYS};
static const tare_llama_rule ling3_rules[] = {
    {"*.self_attn.dense@", ".self_attn.o_proj", "if(ling.latent) as_is"},
    {"*.self_attn.f_proj@", ".self_attn.f_a_proj", "as_is"},
    {"*.self_attn.g_proj@", ".self_attn.g_a_proj", "if(ling.latent == 0) as_is"},
    {"=blk.#.ssm_a", NULL, "squeeze view(d0, 1) exp"},
    RULES_DELTA_CONV,
    RULES_LATENT,
    END_OF_RULES};

#define LING3_IS_KNOWN                                                                             \
    "if(no_kda_lora | false, if(kda_safe_gate | false, "                                           \
    "gated_attention_proj_granularity_type == 'head_wise'))"
#define LING3_TENSORS                                                                              \
    ENDS QKV NORMS FFN MOE SHARED MLA                                                              \
        "attn_gate ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_beta ssm_a ssm_g_a ssm_dt "  \
        "ssm_norm exp_probs_b nextn.eh_proj nextn.enorm nextn.hnorm layer_output_norm"
#define LING3_CUT ".attention.=.self_attn. .dt_bias=.dt_proj.bias .expert_bias=.expert_bias.bias"
static const char *const ling3_back_config[] = {
    "model_type = 'bailing_moe_v3'",
    "layer_group_size = leading(attention.head_count_kv, 0) + 1",
    "head_dim = kda.head_dim",
    "short_conv_kernel_size = ssm.conv_kernel",
    "no_kda_lora = true",
    "kda_safe_gate = true", /* llama.cpp knows no other */
    "kda_lower_bound = kda.gate_lower_bound",
    "gated_attention_proj_granularity_type = 'head_wise'",
    BACK_LATENT,
    "q_lora_rank = attention.q_lora_rank | null",
    "moe_shared_expert_intermediate_size = expert_shared_feed_forward_length",
    "score_function = if(expert_gating_func == 2, 'sigmoid', if(expert_gating_func == 1, "
    "'softmax'))",
    "expert_swiglu_limit_list[] = at(swiglu_clamp_exp, layer)",
    "share_expert_swiglu_limit_list[] = at(swiglu_clamp_shexp, layer)",
    NULL};
static const tare_llama_shape_row ling3_back_shapes[] = {
    {"*.self_attn.dense@", "d0, d1"},
    {"*.self_attn.f_proj@", "d0, d1"},
    {"*.self_attn.g_proj@", "d0, d1"},
    {"=blk.#.ssm_conv1d_q.weight", "head_dim * num_attention_heads, 1, short_conv_kernel_size"},
    {"=blk.#.ssm_conv1d_k.weight", "head_dim * num_attention_heads, 1, short_conv_kernel_size"},
    {"=blk.#.ssm_conv1d_v.weight", "head_dim * num_attention_heads, 1, short_conv_kernel_size"},
    {"=blk.#.ssm_a", "num_attention_heads"},
    SHAPE_LATENT,
    {NULL, NULL}};
static const tare_llama_back ling3_back = {
    .names =
        "model.word_embeddings model.layers. model.norm lm_head final_layernorm " HF_NORMS HF_ATTN
            HF_MLP HF_CONFIG HF_EXPERTS HF_SHARED
        "self_attn.q_a_proj self_attn.q_b_proj self_attn.q_a_layernorm "
        "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.b_proj self_attn.g_proj "
        "self_attn.f_a_proj self_attn.g_a_proj "
        "self_attn.dt_proj self_attn.A_log self_attn.q_conv1d self_attn.k_conv1d "
        "self_attn.v_conv1d self_attn.o_norm mlp.gate.expert_bias eh_proj enorm hnorm num_experts",
    .config = ling3_back_config,
    .shapes = ling3_back_shapes,
    .when = "has(rope.dimension_sections) == false"};

/* ---- GLM 5 Next: Kimi's delta attention, latent attention without positions that looks at the tokens of
 * an index, several residual streams ---------------------------------------------------------------- */

#define GLM5_LAYERS                                                                                \
    "linear_attention full_attention/attention/sparse_attention/deepseek_sparse_attention/"        \
    "indexed_attention"
static const char *const glm5_defaults[] = {
    "glm5.latent = if(layer + 1 > num_hidden_layers, 1, if(word(at(layer_types, layer), "
    "'" GLM5_LAYERS "') == 'linear_attention', 0, 1))",
    SIGMOID_ROUTER, NULL};
static const tare_llama_key glm5_keys[] = {
    {"attention.key_length", U32, NULL}, /* of config.json's head_dim */
    {"attention.value_length", U32, NULL},
    {"attention.head_count_kv[]", I32, "glm5.latent"},
    KEY_VOCAB_SIZE,
    {"attention.layer_norm_epsilon", F32, "0.000001"},
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    {"ssm.conv_kernel", U32, "linear_attn_config.short_conv_kernel_size | linear_conv_kernel_dim"},
    {"kda.head_dim", U32, "linear_attn_config.head_dim | linear_head_dim"},
    {"kda.gate_lower_bound", F32, "linear_attn_config.gate_lower_bound | linear_lower_bound"},
    KEYS_LATENT_RANKS,
    {"attention.value_length", U32, "kv_lora_rank"},
    KEYS_LATENT_HEADS,
    {"attention.indexer.head_count", U32, "index_n_heads"},
    {"attention.indexer.key_length", U32, "index_head_dim"},
    {"attention.indexer.top_k", U32, "index_topk"},
    {"attention.indexer.kpool", U32, "index_kpool"},
    {"attention.indexer.kpool_select_tail", BOOL, "index_kpool_always_select_tail | true"},
    {"attention.indexer.types[indexer_types]", BOOL,
     "word(at(indexer_types, layer), 'full shared') == 'full'"},
    KEYS_HYPER,
    {"leading_dense_block_count", U32, DENSE_FIRST " | first_k_dense_replace"},
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "n_shared_experts"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    {"swiglu_clamp_exp[]", F32, "swiglu_limit"},
    {"swiglu_clamp_shexp[]", F32, "swiglu_limit"},
    END_OF_KEYS};
static const tare_llama_rule glm5_rules[] = {
    {"=output.weight", NULL, "if(tie_word_embeddings | false) drop"},
    RULES_HYPER,
    {"*.self_attn.indexer.index_kpool_compress_gate", "=blk.#.indexer_compressor_gate.weight",
     NULL},
    {"*.self_attn.indexer.index_kpool_compress_ape", "=blk.#.indexer_compressor_ape.weight", NULL},
    {"=blk.#.ssm_a", NULL, "view(num_attention_heads) negexp"},
    RULES_DELTA_CONV,
    RULES_LATENT,
    END_OF_RULES};

static const char *const glm5_back_config[] = {
    "model_type = 'glm5_next'",
    "head_dim = nothing",
    "layer_norm_eps = nothing",
    "num_nextn_predict_layers = nextn_predict_layers",
    "layer_types[] = if(at(attention.head_count_kv, layer) > 0, 'full_attention', "
    "'linear_attention')",
    "linear_attn_config.num_heads = attention.head_count",
    "linear_attn_config.head_dim = kda.head_dim",
    "linear_attn_config.short_conv_kernel_size = ssm.conv_kernel",
    "linear_attn_config.gate_lower_bound = kda.gate_lower_bound",
    "mla_use_nope = true",
    BACK_LATENT,
    "q_lora_rank = attention.q_lora_rank",
    "index_n_heads = attention.indexer.head_count",
    "index_head_dim = attention.indexer.key_length",
    "index_topk = attention.indexer.top_k",
    "index_kpool = attention.indexer.kpool",
    "index_kpool_always_select_tail = attention.indexer.kpool_select_tail | true",
    "indexer_types[] = if(layer < len(attention.indexer.types), "
    "if(at(attention.indexer.types, layer), 'full', 'shared'))",
    "mhc = true",
    BACK_HYPER,
    "first_k_dense_replace = leading_dense_block_count",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid', if(expert_gating_func == 1, 'softmax'))",
    "swiglu_limit = at(swiglu_clamp_exp, 0)",
    NULL};
static const tare_llama_shape_row glm5_back_shapes[] = {
    SHAPES_HYPER,
    {"*.self_attn.indexer.index_kpool_compress_gate", "d0, d1"},
    {"*.self_attn.indexer.index_kpool_compress_ape", "d0, d1"},
    {"=blk.#.ssm_conv1d_q.weight", "d1, 1, d3"},
    {"=blk.#.ssm_conv1d_k.weight", "d1, 1, d3"},
    {"=blk.#.ssm_conv1d_v.weight", "d1, 1, d3"},
    {"=blk.#.ssm_a", "1, 1, d0, 1"},
    SHAPE_LATENT,
    {NULL, NULL}};
static const tare_llama_back glm5_back = {
    .names = HF_DENSE HF_MOE HF_SHARED HF_NEXTN
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.q_a_proj self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.f_a_proj self_attn.f_b_proj self_attn.b_proj "
    "self_attn.g_a_proj self_attn.g_b_proj self_attn.dt_proj self_attn.A_log self_attn.q_conv1d "
    "self_attn.k_conv1d self_attn.v_conv1d self_attn.o_norm self_attn.indexer.k_norm "
    "self_attn.indexer.weights_proj self_attn.indexer.wk self_attn.indexer.wq_b n_routed_experts",
    .config = glm5_back_config,
    .shapes = glm5_back_shapes};

const tare_llama_arch tare_llama_family_delta[] = {
    {.name = "kimi-linear",
     .classes = "KimiLinearForCausalLM KimiLinearModel",
     .tensors = ENDS QKV NORMS FFN MOE SHARED MLA
     "ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_f_b ssm_beta ssm_a ssm_g_a ssm_g_b "
     "ssm_dt ssm_norm exp_probs_b",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = kimi_defaults,
     .keys = kimi_keys,
     .rules = kimi_rules,
     .back = &kimi_back},
    {.name = "kimi-k3",
     .classes = "KimiK3ForConditionalGeneration",
     .requires = "if(has(attn_res_block_size), mla_use_nope | false, true)",
     .tensors = ENDS QKV NORMS FFN MOE SHARED MLA
     "attn_gate ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_f_b ssm_beta ssm_a ssm_g ssm_dt "
     "ssm_norm exp_probs_b ffn_routed_down ffn_routed_up ffn_routed_norm attn_res_score "
     "ffn_res_score output_res_score",
     .optional = "attn_gate ffn_routed_norm",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = k3_defaults,
     .keys = k3_keys,
     .rules = k3_rules},
    {.name = "bailingmoe3",
     .classes = "BailingMoeV3ForCausalLM",
     .requires = "if(has(layer_group_size), " LING3_IS_KNOWN ", true)",
     .tensors = LING3_TENSORS,
     .optional = "attn_gate layer_output_norm",
     .cut = LING3_CUT,
     .defaults = ling3_defaults,
     .keys = ling3_keys,
     .rules = ling3_rules,
     .extra_layers = "num_nextn_predict_layers",
     .back = &ling3_back},
    {.name = "bailingmoe3",
     .classes = "BailingMoeV3VLForConditionalGeneration",
     .requires = "if(has(layer_group_size), if(" LING3_IS_KNOWN ", 2 * (at(mrope_section, 0) + "
                 "at(mrope_section, 1) + at(mrope_section, 2)) == qk_rope_head_dim), true)",
     .tensors = LING3_TENSORS,
     .optional = "attn_gate layer_output_norm",
     .cut = LING3_CUT,
     .defaults = ling3_defaults,
     .keys = ling3vl_keys,
     .rules = ling3_rules,
     .extra_layers = "num_nextn_predict_layers"},
    {.name = "glm5-next",
     .classes = "Glm5NextForConditionalGeneration",
     .requires =
         "if(has(index_kpool), if(mhc | true, if(mla_use_nope | true, qk_rope_head_dim == 0)), "
         "true)",
     .tensors = ENDS QKV NORMS FFN MOE SHARED MLA NEXTN
     "ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_f_b ssm_beta ssm_a ssm_g_a ssm_g_b "
     "ssm_dt ssm_norm exp_probs_b indexer.k_norm indexer.proj indexer.attn_k indexer.attn_q_b "
     "indexer_compressor_gate indexer_compressor_ape " HYPER,
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = glm5_defaults,
     .keys = glm5_keys,
     .rules = glm5_rules,
     .extra_layers = "num_nextn_predict_layers",
     .back = &glm5_back},
    {.name = NULL},
};
