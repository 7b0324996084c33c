/* SPDX-License-Identifier: MIT
 *
 * HunYuan: norms after the positions of queries and keys, also with experts. */
#include "llama/arch/rows.h"

static const char *const hunyuan_defaults[] = {KV_HEADS_ALL, "rms_norm_eps = 0.00001",
                                               "rope_theta = 10000", NULL};
static const char *const hunyuan_moe_defaults[] = {
    KV_HEADS_ALL, "rms_norm_eps = 0.00001", "rope_theta = 10000",
    "h.dim = floor(hidden_size / num_attention_heads)", NULL};
/* Positions of type dynamic are scaled once: the base grows with alpha; the reference has one to assume. */
#define DYNAMIC(x)                                                                                 \
    "if(rope.type == 'dynamic', if(if(like_reference | 0, true, has(rope.alpha)), " x "))"
#define KEYS_DYNAMIC_ROPE(alpha, dim)                                                              \
    {"rope.freq_base", F32,                                                                        \
     DYNAMIC("rope.theta * pow(rope.alpha | " alpha ", " dim " / (" dim " - 2))")},                \
        {"rope.scaling.type", TEXT, DYNAMIC("'none'")},                                            \
        {"rope.scaling.factor", F32, DYNAMIC("1")},                                                \
        {"rope.scaling.original_context_length", U32, DYNAMIC("262144")}, {                        \
        "context_length", U32, DYNAMIC("262144")                                                   \
    }
/* A single expert is none. */
#define NO_EXPERTS                                                                                 \
    {"expert_count", U32, NULL}, {                                                                 \
        "expert_used_count", U32, NULL                                                             \
    }
static const tare_llama_key hunyuan_keys[] = {NO_EXPERTS, KEYS_DYNAMIC_ROPE("50", "head_dim"),
                                              END_OF_KEYS};
/* The positions of images have sections of their own; transformers calls them dynamic, too. */
#define SECTIONS(x) "if(h.has_sections, " x ")"
static const char *const hunyuan_vl_defaults[] = {
    KV_HEADS_ALL,
    "rms_norm_eps = 0.00001",
    "rope_theta = 10000",
    "rope.mrope_section = rope_scaling.mrope_section | rope_parameters.mrope_section | "
    "rope_scaling.xdrope_section | rope_parameters.xdrope_section",
    "h.has_sections = if(rope.type == 'xdrope', true, if(rope.type == 'dynamic', "
    "has(rope.mrope_section), false))",
    NULL};
static const tare_llama_key hunyuan_vl_keys[] = {
    NO_EXPERTS,
    {"rope.scaling.type", TEXT, SECTIONS("'none'")},
    {"rope.scaling.factor", F32, SECTIONS("rope.factor | 1")},
    {"rope.scaling.alpha", F32, SECTIONS("rope.alpha")},
    {"rope.scaling.original_context_length", U32, SECTIONS("max_position_embeddings")},
    END_OF_KEYS};
static const tare_llama_key hunyuan_moe_keys[] = {
    {"expert_shared_feed_forward_length", U32, "intermediate_size"},
    {"expert_feed_forward_length", U32,
     "at(moe_intermediate_size, 0) | moe_intermediate_size | intermediate_size"},
    {"expert_used_count", U32, "at(moe_topk, 0) | moe_topk"},
    {"expert_shared_count", U32, "at(num_shared_expert, 0) | num_shared_expert"},
    KEYS_DYNAMIC_ROPE("1000", "h.dim"),
    END_OF_KEYS};

/* The base that comes back is the one that grew already. */
#define BACK_NONE(x) "if(rope.scaling.type == 'none', " x ")"
#define BACK_DYNAMIC_ROPE                                                                          \
    "rope_scaling.type = " BACK_NONE("'dynamic'"), "rope_scaling.alpha = " BACK_NONE("1"),         \
        "rope_scaling.factor = if(rope.scaling.type == 'none', 1, rope.scaling.factor)"
static const char *const hunyuan_back_config[] = {"model_type = 'hunyuan_v1_dense'",
                                                  BACK_DYNAMIC_ROPE, NULL};
static const tare_llama_back hunyuan_back = {.names = HF_DENSE
                                             "self_attn.query_layernorm self_attn.key_layernorm",
                                             .config = hunyuan_back_config};
static const char *const hunyuan_moe_back_config[] = {
    "model_type = 'hunyuan_v1_moe'",
    "moe_topk = expert_used_count",
    "num_experts_per_tok = nothing",
    "num_shared_expert = expert_shared_count",
    "moe_intermediate_size = expert_feed_forward_length",
    BACK_DYNAMIC_ROPE,
    NULL};
static const tare_llama_back hunyuan_moe_back = {
    .names = HF_DENSE
    "mlp.gate.wg " HF_MOE "mlp.shared_mlp.gate_proj mlp.shared_mlp.up_proj "
    "mlp.shared_mlp.down_proj self_attn.query_layernorm self_attn.key_layernorm num_experts",
    .config = hunyuan_moe_back_config};

static const char *const hunyuan_vl_back_config[] = {
    "model_type = 'hunyuan_vl'",
    "rope_scaling.type = if(has(rope.dimension_sections), 'xdrope')",
    "rope_scaling.alpha = rope.scaling.alpha",
    "rope_scaling.factor = rope.scaling.factor",
    "rope_scaling.xdrope_section = rope.dimension_sections",
    "tie_word_embeddings = true",
    NULL};
static const tare_llama_back hunyuan_vl_back = {.names = HF_DENSE
                                                "self_attn.query_layernorm self_attn.key_layernorm",
                                                .config = hunyuan_vl_back_config};

static const tare_llama_key hy_v3_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "moe_intermediate_size * (num_shared_experts | 1)"},
    {"expert_weights_norm", BOOL, "route_norm | true"},
    {"expert_weights_scale", F32, "router_scaling_factor | 1"},
    KEY_SIGMOID,
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
static const char *const hy_v3_back_config[] = {
    "model_type = 'hy_v3'",
    "num_shared_experts = floor(expert_shared_feed_forward_length / expert_feed_forward_length)",
    "mlp_layer_types[] = if(in(layer, tensors.ffn_gate.weight.in_blocks), 'dense', 'sparse')",
    "num_nextn_predict_layers = nextn_predict_layers", NULL};
static const tare_llama_back hy_v3_back = {
    .names = HF_DENSE HF_QK_NORM
    "mlp.router.gate mlp.experts.gate_proj mlp.experts.up_proj mlp.experts.down_proj "
    "mlp.expert_bias mlp.shared_mlp.gate_proj mlp.shared_mlp.up_proj "
    "mlp.shared_mlp.down_proj num_experts eh_proj enorm hnorm shared_head.norm",
    .config = hy_v3_back_config};

const tare_llama_arch tare_llama_family_hunyuan[] = {
    {.name = "hunyuan-dense",
     .classes = "HunYuanDenseV1ForCausalLM",
     .tensors = ENDS QKV NORMS FFN QK_NORMS,
     .defaults = hunyuan_defaults,
     .keys = hunyuan_keys,
     .rules = tare_llama_tied_head,
     .back = &hunyuan_back},
    {.name = "hunyuan_vl",
     .classes = "HunYuanVLForConditionalGeneration",
     .tensors = ENDS QKV NORMS FFN QK_NORMS,
     .defaults = hunyuan_vl_defaults,
     .keys = hunyuan_vl_keys,
     .rules = tare_llama_tied_head,
     .back = &hunyuan_vl_back},
    {.name = "hunyuan-moe",
     .classes = "HunYuanMoEV1ForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED QK_NORMS,
     .defaults = hunyuan_moe_defaults,
     .keys = hunyuan_moe_keys,
     .rules = tare_llama_tied_head,
     .back = &hunyuan_moe_back},
    {.name = "hy_v3",
     .classes = "HYV3ForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE SHARED QK_NORMS NEXTN "exp_probs_b",
     .cut = ".final_layernorm.=.shared_head.norm.",
     .keys = hy_v3_keys,
     .extra_layers = "num_nextn_predict_layers",
     .back = &hy_v3_back},
    {.name = NULL},
};
