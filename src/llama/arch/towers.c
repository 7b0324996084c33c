/* SPDX-License-Identifier: MIT
 *
 * Text models of Qwen's models for images and audio: their tensors are only renamed. */
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
/* Qwen's own files have the experts as columns, gate beside up; transformers 5 writes them as rows. Where an
 * expert is half as wide as the model, gate and up are square, and files of rows are refused. */
#define IS_COLS(d)    "if(d" d " == hidden_size) "
#define IS_ROWS(d)    "if(if(d" d " == hidden_size, false, true)) "
#define GATE_COLS(in) in ".experts.gate_proj.weight", IS_COLS("1") "swap(1, 2) rows(1, 0, d1 / 2)"
#define UP_COLS(in)   in ".experts.up_proj.weight", IS_COLS("1") "swap(1, 2) rows(1, d1 / 2, d1 / 2)"
#define GATE_ROWS(in) in ".experts.gate_proj.weight", IS_ROWS("1") "rows(1, 0, d1 / 2)"
#define UP_ROWS(in)   in ".experts.up_proj.weight", IS_ROWS("1") "rows(1, d1 / 2, d1 / 2)"
#define DOWN_COLS(in) in ".experts.down_proj.weight", IS_COLS("2") "swap(1, 2)"
#define DOWN_ROWS(in)                                                                              \
    in ".experts.down_proj.weight", IS_ROWS("2") "view(0, if(d1 == 2 * d2, d1 + 1, d1), d2)"
#define EITHER_WAY(suffix)                                                                         \
    {"*.mlp.experts.gate_up_proj" suffix, GATE_COLS(".mlp")},                                      \
        {"*.mlp.experts.gate_up_proj" suffix, UP_COLS(".mlp")},                                    \
        {"*.mlp.experts.gate_up_proj" suffix, GATE_ROWS(".mlp")},                                  \
        {"*.mlp.experts.gate_up_proj" suffix, UP_ROWS(".mlp")},                                    \
        {"*.mlp.experts.down_proj" suffix, DOWN_COLS(".mlp")}, {                                   \
        "*.mlp.experts.down_proj" suffix, DOWN_ROWS(".mlp")                                        \
    }
static const tare_llama_rule qwen3vlmoe_rules[] = {EITHER_WAY(""), EITHER_WAY(".weight"),
                                                   END_OF_RULES};

/* What comes back is the text model alone: config.json is that of a model without towers. */
static const char *const qwen2vl_back_config[] = {
    "model_type = 'qwen2_vl'",
    "rope_scaling.rope_type = if(has(rope.dimension_sections), 'default')",
    "rope_scaling.mrope_section[3] = at(rope.dimension_sections, layer)", NULL};
static const tare_llama_back qwen2vl_back = {.names = HF_DENSE, .config = qwen2vl_back_config};

static const char *const qwen3vl_back_config[] = {
    "model_type = 'qwen3_vl'",
    "rope_scaling.rope_type = if(has(rope.dimension_sections), 'default')",
    "rope_scaling.mrope_section[3] = at(rope.dimension_sections, layer)",
    "rope_scaling.mrope_interleaved = true",
    "vision_config.deepstack_visual_indexes[] = if(layer < n_deepstack_layers, layer)",
    NULL};
static const tare_llama_back qwen3vl_back = {.names = HF_DENSE HF_QK_NORM,
                                             .config = qwen3vl_back_config};

static const char *const qwen3vlmoe_back_config[] = {
    "model_type = 'qwen3_vl_moe'",
    "rope_scaling.rope_type = if(has(rope.dimension_sections), 'default')",
    "rope_scaling.mrope_section[3] = at(rope.dimension_sections, layer)",
    "rope_scaling.mrope_interleaved = true",
    "vision_config.deepstack_visual_indexes[] = if(layer < n_deepstack_layers, layer)",
    NULL};
static const tare_llama_shape_row qwen3vlmoe_back_shapes[] = {
    {"*.mlp.experts.gate_up_proj", "d0, d2, 2 * d1"},
    {"*.mlp.experts.down_proj", "d0, d2, d1"},
    {NULL, NULL}};
static const tare_llama_back qwen3vlmoe_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_CONFIG HF_MOE "num_experts",
    .config = qwen3vlmoe_back_config,
    .shapes = qwen3vlmoe_back_shapes};

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
     .has_pooling = true,
     .back = &qwen3vl_back},
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
     .rules = qwen3vlmoe_rules,
     .back = &qwen3vlmoe_back},
    {.name = NULL},
};
