/* SPDX-License-Identifier: MIT
 *
 * Phi: renamed only; long contexts have two lists of rotary factors. */
#include "llama/arch/rows.h"

static const char *const phi2_defaults[] = {"partial_rotary_factor = 0.5",
                                            "max_position_embeddings = 2048",
                                            "layer_norm_eps = 0.00001", NULL};
static const char *const phi3_defaults[] = {KV_HEADS_ALL,
                                            "max_position_embeddings = 4096",
                                            "original_max_position_embeddings = 4096",
                                            "rms_norm_eps = 0.00001",
                                            "rope_theta = 10000",
                                            NULL};
static const char *const phimoe_defaults[] = {"num_key_value_heads = 8",
                                              "max_position_embeddings = 131072",
                                              "rms_norm_eps = 0.00001",
                                              "rope_theta = 1000000",
                                              "num_local_experts = 16",
                                              "num_experts_per_tok = 2",
                                              NULL};
static const tare_llama_key phi2_own[] = {
    {"context_length", U32, "n_positions | max_position_embeddings"},
    {"embedding_length", U32, "hidden_size | n_embd"},
    {"feed_forward_length", U32, "intermediate_size | n_inner | 4 * (hidden_size | n_embd)"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "num_attention_heads | n_head"},
    {"attention.head_count_kv", U32, "num_key_value_heads | num_attention_heads | n_head"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon | layer_norm_eps"},
    {"rope.dimension_count", U32,
     "floor(rope.partial * (hidden_size | n_embd)) / (num_attention_heads | n_head)"},
    KEY_FILE_TYPE,
    {"tokenizer.ggml.add_bos_token", BOOL, "false"},
    END_OF_KEYS};
#define PHI3_OWN                                                                                   \
    {"context_length", U32, "n_positions | max_position_embeddings"},                              \
        {"rope.scaling.original_context_length", U32, "rope.original_context"},                    \
        {"embedding_length", U32, "hidden_size | n_embd"},                                         \
        {"feed_forward_length", U32, "intermediate_size"}, {"block_count", U32, "layers"},         \
        {"attention.head_count", U32, "num_attention_heads | n_head"},                             \
        {"attention.head_count_kv", U32, "num_key_value_heads | n_head_kv"},                       \
        {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},                                 \
        {"rope.dimension_count", U32,                                                              \
         "floor((rope.partial | 1) * (hidden_size | n_embd)) / (num_attention_heads | n_head)"},   \
        {"rope.freq_base", F32, "rope.theta"}, KEY_FILE_TYPE, {                                    \
        "attention.sliding_window", U32, "sliding_window | 0"                                      \
    }
#define PHI3_FACTOR                                                                                \
    {                                                                                              \
        "rope.scaling.attn_factor", F32,                                                           \
            "if(has(rope.long_factor), rope.attention_factor | if(context_scale > 1, "             \
            "if(rope.type == 'yarn', 0.1 * "                                                       \
            "ln(context_scale) + 1, sqrt(1 + ln(context_scale) / ln(rope.original_context))), 1))" \
    }
static const tare_llama_key phi3_early[] = {PHI3_FACTOR, END_OF_KEYS};
static const tare_llama_key phi3_own[] = {PHI3_OWN, END_OF_KEYS};
static const tare_llama_key phimoe_own[] = {PHI3_OWN,
                                            {"expert_used_count", U32, "num_experts_per_tok"},
                                            {"expert_count", U32, "num_local_experts"},
                                            END_OF_KEYS};

static const char *const phi2_back_config[] = {"model_type = 'phi'", BACK_ROTARY,
                                               "intermediate_size = feed_forward_length", NULL};
static const tare_llama_back phi2_back = {
    .names = "model.layers. model.embed_tokens model.final_layernorm lm_head input_layernorm "
             "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense mlp.fc1 mlp.fc2 "
             "max_position_embeddings hidden_size num_attention_heads num_key_value_heads "
             "layer_norm_eps rope_theta",
    .config = phi2_back_config};
static const char *const phi3_back_config[] = {
    "model_type = 'phi3'", BACK_ROTARY,
    "sliding_window = if(attention.sliding_window > 0, attention.sliding_window)", NULL};
static const tare_llama_back phi3_back = {
    .names = HF_ENDS HF_NORMS HF_CONFIG
    "self_attn.qkv_proj self_attn.o_proj mlp.gate_up_proj mlp.down_proj",
    .config = phi3_back_config};
static const char *const phimoe_back_config[] = {
    "model_type = 'phimoe'",
    BACK_ROTARY,
    "attention_bias = has(tensors.attn_q.bias)",
    "lm_head_bias = true",
    "sliding_window = if(attention.sliding_window > 0, attention.sliding_window)",
    NULL};
static const tare_llama_back phimoe_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "block_sparse_moe.gate block_sparse_moe.experts.w1 block_sparse_moe.experts.w2 "
    "block_sparse_moe.experts.w3 num_local_experts",
    .config = phimoe_back_config};

const tare_llama_arch tare_llama_family_phi[] = {
    {.name = "phi2",
     .classes = "PhiForCausalLM",
     .tensors = ENDS QKV FUSED NORMS "ffn_down ffn_up",
     .optional = "ffn_norm",
     .defaults = phi2_defaults,
     .own = phi2_own,
     .tokenizer = {.add_bos = TARE_LLAMA_FLAG_NO},
     .back = &phi2_back},
    {.name = "phi3",
     .classes = "Phi3ForCausalLM Phi4ForCausalLMV",
     .tensors = ENDS QKV FUSED NORMS "ffn_down ffn_up rope_factors_long rope_factors_short",
     .defaults = phi3_defaults,
     .early = phi3_early,
     .own = phi3_own,
     .back = &phi3_back},
    {.name = "phimoe",
     .classes = "PhimoeForCausalLM PhiMoEForCausalLM",
     .tensors = ENDS QKV FUSED NORMS MOE "rope_factors_long rope_factors_short",
     .defaults = phimoe_defaults,
     .early = phi3_early,
     .own = phimoe_own,
     .back = &phimoe_back},
    {.name = NULL},
};
