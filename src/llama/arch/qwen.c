/* SPDX-License-Identifier: MIT
 *
 * Qwen: dense models are renamed only; experts are stacked. */
#include "llama/arch/rows.h"

static const char *const qwen2_defaults[] = {"num_key_value_heads = 32", "rope_theta = 10000",
                                             "max_position_embeddings = 32768",
                                             "rms_norm_eps = 0.000001", NULL};
static const char *const qwen3_defaults[] = {
    "num_key_value_heads = 32",        "head_dim = 128",          "rope_theta = 10000",
    "max_position_embeddings = 32768", "rms_norm_eps = 0.000001", NULL};
/* Qwen 1; llama.cpp asks for its epsilon under the name of RMS norms. */
static const tare_llama_key qwen_keys[] = {
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon"}, END_OF_KEYS};
static const char *const moe_defaults[] = {"num_key_value_heads = 16", "rope_theta = 10000",
                                           "max_position_embeddings = 32768",
                                           "rms_norm_eps = 0.000001", NULL};
static const tare_llama_key moe_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    END_OF_KEYS};
static const tare_llama_rule moe_rules[] = {RULES_FUSED_EXPERTS, END_OF_RULES};

static const char *const qwen2_back_config[] = {"model_type = 'qwen2'", NULL};
static const tare_llama_back qwen2_back = {.names = HF_DENSE, .config = qwen2_back_config};
static const char *const qwen3_back_config[] = {
    "model_type = 'qwen3'", "attention_bias = if(has(tensors.attn_q.bias), true)", NULL};
static const tare_llama_back qwen3_back = {.names = HF_DENSE HF_QK_NORM,
                                           .config = qwen3_back_config};
static const char *const qwen2moe_back_config[] = {"model_type = 'qwen2_moe'",
                                                   "qkv_bias = has(tensors.attn_q.bias)", NULL};
static const tare_llama_back qwen2moe_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG HF_MOE
    "mlp.shared_expert.gate_proj mlp.shared_expert.up_proj mlp.shared_expert.down_proj "
    "mlp.shared_expert_gate num_experts",
    .config = qwen2moe_back_config};
static const char *const qwen3moe_back_config[] = {"model_type = 'qwen3_moe'",
                                                   "norm_topk_prob = true", NULL};
static const tare_llama_back qwen3moe_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_CONFIG HF_MOE "num_experts",
    .config = qwen3moe_back_config};

static const char *const qwen_back_config[] = {"model_type = 'qwen'", "no_bias = true",
                                               "rms_norm_eps = nothing",
                                               "seq_length = context_length", NULL};
static const tare_llama_back qwen_back = {
    .names = "transformer.h. transformer.wte transformer.ln_f lm_head ln_1 ln_2 attn.c_attn "
             "attn.c_proj mlp.w1 mlp.w2 mlp.c_proj max_position_embeddings hidden_size "
             "intermediate_size num_attention_heads layer_norm_epsilon rotary_emb_base",
    .config = qwen_back_config};

const tare_llama_arch tare_llama_family_qwen[] = {
    {.name = "qwen2",
     .classes = "Qwen2ForCausalLM Qwen2AudioForConditionalGeneration KORMoForCausalLM "
                "AudioFlamingo3ForConditionalGeneration DotsOCRForCausalLM",
     .tensors = DENSE,
     .defaults = qwen2_defaults,
     .has_pooling = true,
     .back = &qwen2_back},
    {.name = "qwen3",
     .classes = "Qwen3ForCausalLM StepVLForConditionalGeneration",
     .tensors = DENSE QK_NORMS,
     .defaults = qwen3_defaults,
     .has_pooling = true,
     .back = &qwen3_back},
    {.name = "qwen",
     .classes = "QWenLMHeadModel",
     .tensors = ENDS FUSED NORMS FFN "rope_freqs",
     .keys = qwen_keys,
     .tokenizer = {.prefers_json = true},
     .back = &qwen_back},
    {.name = "qwen2moe",
     .classes = "Qwen2MoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED "ffn_gate_inp_shexp",
     .defaults = moe_defaults,
     .keys = moe_keys,
     .rules = moe_rules,
     .back = &qwen2moe_back},
    {.name = "qwen3moe",
     .classes = "Qwen3MoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .defaults = moe_defaults,
     .keys = moe_keys,
     .rules = moe_rules,
     .back = &qwen3moe_back},
    {.name = NULL},
};
