/* SPDX-License-Identifier: MIT
 *
 * The text models inside of models for pictures and sound, and Mistral 3, which is most often one:
 * their tensors are renamed only. */
#include "llama/arch/rows.h"

static const char *const qwen2vl_defaults[] = {
    "num_key_value_heads = num_attention_heads", "rope_theta = 1000000",
    "max_position_embeddings = 32768", "rms_norm_eps = 0.000001", NULL};
static const char *const qwen3vl_defaults[] = {
    "num_key_value_heads = 32",         "head_dim = 128",          "rope_theta = 500000",
    "max_position_embeddings = 128000", "rms_norm_eps = 0.000001", NULL};
static const tare_llama_key qwen3vl_keys[] = {
    {"n_deepstack_layers", U32,
     "len(thinker_config.vision_config.deepstack_visual_indexes | "
     "vision_config.deepstack_visual_indexes) | 0"},
    END_OF_KEYS};
static const tare_llama_key qwen3asr_keys[] = {{"n_deepstack_layers", U32, "0"}, END_OF_KEYS};
static const tare_llama_key qwen3vlmoe_keys[] = {
    KEY_EXPERT_FFN,
    {"n_deepstack_layers", U32, "len(vision_config.deepstack_visual_indexes) | 0"},
    END_OF_KEYS};
#define FUSED_GATE ".experts.gate_proj.weight", "swap(1, 2) rows(1, 0, d1 / 2)"
#define FUSED_UP   ".experts.up_proj.weight", "swap(1, 2) rows(1, d1 / 2, d1 / 2)"
#define FUSED_DOWN ".experts.down_proj.weight", "swap(1, 2)"
static const tare_llama_rule qwen3vlmoe_rules[] = {{"*.experts.gate_up_proj", FUSED_GATE},
                                                   {"*.experts.gate_up_proj.weight", FUSED_GATE},
                                                   {"*.experts.gate_up_proj", FUSED_UP},
                                                   {"*.experts.gate_up_proj.weight", FUSED_UP},
                                                   {"*.experts.down_proj", FUSED_DOWN},
                                                   {"*.mlp.experts.down_proj.weight", FUSED_DOWN},
                                                   END_OF_RULES};

static const char *const mistral3_defaults[] = {
    HEAD_DIM_OF_HIDDEN,        "num_key_value_heads = 8",
    "rope_theta = 10000",      "max_position_embeddings = 131072",
    "rms_norm_eps = 0.000001", NULL};
static const tare_llama_key mistral3_keys[] = {
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    {"rope.scaling.yarn_log_multiplier", F32,
     "if(model_type == 'ministral3', rope.mscale_all_dim)"},
    {"attention.temperature_scale", F32,
     "if(model_type == 'ministral3', rope_parameters.llama_4_scaling_beta)"},
    END_OF_KEYS};

static const char *const paddleocr_defaults[] = {
    KV_HEADS_ALL, "head_dim = 128", "rope_theta = 500000", "rms_norm_eps = 0.00001", NULL};

/* What comes back is the text model alone: config.json is that of a model without towers. */
static const char *const qwen2vl_back_config[] = {
    "model_type = 'qwen2_vl'",
    "rope_scaling.rope_type = if(has(rope.dimension_sections), 'default')",
    "rope_scaling.mrope_section = rope.dimension_sections", NULL};
static const tare_llama_back qwen2vl_back = {.names = HF_DENSE, .config = qwen2vl_back_config};
static const char *const ministral3_back_config[] = {
    "model_type = 'ministral3'",
    "rope_parameters.llama_4_scaling_beta = attention.temperature_scale",
    "rope_parameters.mscale_all_dim = rope.scaling.yarn_log_multiplier", NULL};
static const tare_llama_back ministral3_back = {.names = HF_DENSE,
                                                .config = ministral3_back_config};

const tare_llama_arch tare_llama_family_towers[] = {
    {.name = "qwen2vl",
     .classes = "Qwen2VLForConditionalGeneration Qwen2VLModel Qwen2_5_VLForConditionalGeneration "
                "Qwen2_5OmniModel",
     .tensors = ENDS QKV NORMS FFN,
     .cut = "thinker.",
     .defaults = qwen2vl_defaults,
     .back = &qwen2vl_back},
    {.name = "qwen3vl",
     .classes = "Qwen3VLForConditionalGeneration",
     .tensors = DENSE QK_NORMS,
     .cut = "thinker.",
     .defaults = qwen3vl_defaults,
     .keys = qwen3vl_keys,
     .has_pooling = true},
    {.name = "qwen3vl",
     .classes = "Qwen3ASRForConditionalGeneration",
     .tensors = DENSE QK_NORMS,
     .cut = "thinker.",
     .defaults = qwen3vl_defaults,
     .keys = qwen3asr_keys},
    {.name = "qwen3vlmoe",
     .classes = "Qwen3VLMoeForConditionalGeneration Qwen3OmniMoeForConditionalGeneration",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .cut = "thinker.",
     .defaults = qwen3vl_defaults,
     .keys = qwen3vlmoe_keys,
     .rules = qwen3vlmoe_rules},
    {.name = "mistral3",
     .classes = "Mistral3ForConditionalGeneration Ministral3ForCausalLM",
     .requires = "if(model_type == 'mistral4', false, true)",
     .tensors = DENSE MOE "attn_rot_embd",
     .defaults = mistral3_defaults,
     .keys = mistral3_keys,
     .rules = tare_llama_permute,
     .has_rope_freqs = true,
     .back = &ministral3_back},
    {.name = "paddleocr",
     .classes = "PaddleOCRVLForConditionalGeneration",
     .tensors = ENDS QKV NORMS FFN,
     .cut = "ernie.>model.",
     .defaults = paddleocr_defaults,
     .tokenizer = {.reads_prefix_space = true}},
    {.name = NULL},
};
