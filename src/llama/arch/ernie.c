/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5, also with experts, and the text model of PaddleOCR. */
#include "llama/arch/rows.h"

static const char *const ernie_defaults[] = {KV_HEADS_ALL, "head_dim = 128", "rope_theta = 500000",
                                             "rms_norm_eps = 0.00001", NULL};
static const tare_llama_rule ernie_rules[] = {
    {"*qkv_proj.weight", "q_proj.weight", "rows(0, 0, num_attention_heads * attention.dim)"},
    {"*qkv_proj.weight", "k_proj.weight",
     "rows(0, num_attention_heads * attention.dim, num_key_value_heads * attention.dim)"},
    {"*qkv_proj.weight", "v_proj.weight",
     "rows(0, (num_attention_heads + num_key_value_heads) * attention.dim, num_key_value_heads * "
     "attention.dim)"},
    {"*up_gate_proj.weight", "gate_proj.weight", "rows(0, 0, d0 / 2)"},
    {"*up_gate_proj.weight", "up_proj.weight", "rows(0, d0 / 2, d0 / 2)"},
    END_OF_RULES};
static const char *const ernie_moe_defaults[] = {KV_HEADS_ALL, "rope_theta = 500000",
                                                 "rms_norm_eps = 0.00001",
                                                 "experts = moe_num_experts", NULL};
static const tare_llama_key ernie_moe_keys[] = {
    {"expert_count", U32, "moe_num_experts"},
    {"expert_used_count", U32, "moe_k"},
    {"interleave_moe_layer_step", U32, "moe_layer_interval"},
    {"leading_dense_block_count", U32, "moe_layer_start_index"},
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "moe_num_shared_experts"},
    {"expert_shared_feed_forward_length", U32,
     "if(moe_num_shared_experts > 0, moe_intermediate_size * moe_num_shared_experts)"},
    END_OF_KEYS};
static const tare_llama_rule ernie_moe_rules[] = {RULE_DROP("model.mtp_*"), END_OF_RULES};

static const char *const ernie_back_config[] = {"model_type = 'ernie4_5'", NULL};
static const tare_llama_back ernie_back = {.names = HF_DENSE, .config = ernie_back_config};

static const char *const ernie_moe_back_config[] = {
    "model_type = 'ernie4_5_moe'",
    "num_local_experts = nothing",
    "num_experts_per_tok = nothing",
    "moe_num_experts = expert_count",
    "moe_k = expert_used_count",
    "moe_intermediate_size = expert_feed_forward_length",
    NULL};
static const tare_llama_back ernie_moe_back = {
    .names =
        HF_DENSE HF_EXPERTS HF_SHARED "mlp.moe_statics.e_score_correction moe_num_experts moe_k",
    .config = ernie_moe_back_config};

const tare_llama_arch tare_llama_family_ernie[] = {
    {.name = "ernie4_5",
     .classes = "Ernie4_5ForCausalLM Ernie4_5_ForCausalLM",
     .tensors = ENDS QKV NORMS FFN,
     .cut = "ernie.>model.",
     .defaults = ernie_defaults,
     .rules = ernie_rules,
     .tokenizer = {.reads_prefix_space = true},
     .back = &ernie_back},
    {.name = "ernie4_5-moe",
     .classes = "Ernie4_5_MoeForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE SHARED "exp_probs_b",
     .cut = "ernie.>model. moe_statics.e_score_correction_bias>moe_statics.e_score_correction.bias",
     .defaults = ernie_moe_defaults,
     .keys = ernie_moe_keys,
     .rules = ernie_moe_rules,
     .tokenizer = {.reads_prefix_space = true},
     .gate_experts_first = true,
     .back = &ernie_moe_back},
    {.name = "paddleocr",
     .classes = "PaddleOCRVLForConditionalGeneration",
     .tensors = ENDS QKV NORMS FFN,
     .cut = "ernie.>model.",
     .defaults = ernie_defaults,
     .tokenizer = {.reads_prefix_space = true}},
    {.name = NULL},
};
