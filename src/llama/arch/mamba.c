/* SPDX-License-Identifier: MIT
 *
 * State-space models: decay is stored as its logarithm, the convolution with a dimension of 1. */
#include "llama/arch/rows.h"

static const char *const mamba_defaults[] = {
    "m.width = hidden_size | d_model", "m.inner = intermediate_size | d_inner | 2 * m.width",
    "m.rank = time_step_rank | dt_rank | floor((m.width + 15) / 16)", NULL};
static const tare_llama_key mamba_own[] = {
    {"context_length", U32, "1048576"},
    {"embedding_length", U32, "m.width"},
    {"feed_forward_length", U32, "0"},
    {"attention.head_count", U32, "0"},
    {"block_count", U32, "layers"},
    {"ssm.conv_kernel", U32, "conv_kernel | d_conv | 4"},
    {"ssm.inner_size", U32, "m.inner"},
    {"ssm.state_size", U32, "state_size | d_state | 16"},
    {"ssm.time_step_rank", U32, "m.rank"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon | rms_norm_eps | 0.00001"},
    {"ssm.dt_b_c_rms", BOOL, "model_type == 'falcon_mamba'"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule mamba_rules[] = {
    {"=blk.#.ssm_a", NULL, "negexp"}, {"=blk.#.ssm_conv1d.weight", NULL, "squeeze"}, END_OF_RULES};

static const char *const mamba2_defaults[] = {
    "m.width = hidden_size | d_model | dim",
    "m.inner = mamba_d_ssm | intermediate_size | d_inner | (mamba_expand | expand | 2) * m.width",
    "m.groups = n_groups | 1", NULL};
static const tare_llama_key mamba2_own[] = {
    {"context_length", U32, "1048576"},
    {"embedding_length", U32, "m.width"},
    {"feed_forward_length", U32, "0"},
    {"attention.head_count", U32, "0"},
    {"block_count", U32, "layers"},
    {"ssm.conv_kernel", U32, "conv_kernel | d_conv | 4"},
    {"ssm.inner_size", U32, "m.inner"},
    {"ssm.state_size", U32, "state_size | d_state | 128"},
    {"ssm.time_step_rank", U32, "m.inner / (mamba_d_head | head_dim | 64)"},
    {"ssm.group_count", U32, "m.groups"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon | rms_norm_eps | 0.00001"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule mamba2_rules[] = {RULES_MAMBA2, END_OF_RULES};

/* Jamba: layers without experts have a single one, which is an ordinary feed-forward. */
static const char *const jamba_defaults[] = {"num_key_value_heads = 8", "num_experts = 16",
                                             "num_experts_per_tok = 2", "attn_layer_period = 8",
                                             "attn_layer_offset = 4",   "expert_layer_period = 2",
                                             "expert_layer_offset = 1", "mamba_expand = 2",
                                             "rms_norm_eps = 0.000001", NULL};
static const tare_llama_key jamba_own[] = {
    {"block_count", U32, "layers"},
    {"context_length", U32, "max_position_embeddings | n_ctx | 262144"},
    {"embedding_length", U32, "hidden_size | mamba_d_model"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"attention.head_count_kv[]", I32,
     "if(layer < attn_layer_offset, 0, if((layer - attn_layer_offset) % attn_layer_period == 0, "
     "num_key_value_heads, 0))"},
    {"ssm.conv_kernel", U32, "mamba_d_conv | 4"},
    {"ssm.inner_size", U32, "mamba_expand * (hidden_size | mamba_d_model)"},
    {"ssm.state_size", U32, "mamba_d_state | 16"},
    {"ssm.time_step_rank", U32, "mamba_dt_rank | floor(((hidden_size | mamba_d_model) + 15) / 16)"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon | rms_norm_eps"},
    {"expert_count", U32, "num_local_experts | num_experts"},
    {"expert_used_count", U32, "num_experts_per_tok | num_experts_per_token"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
#define JAMBA_IS_DENSE                                                                             \
    "if(if(layer < expert_layer_offset, true, (layer - expert_layer_offset) % "                    \
    "expert_layer_period > 0))"
static const tare_llama_rule jamba_rules[] = {
    {"=blk.#.ssm_a", NULL, "negexp"},
    {"=blk.#.ssm_conv1d.weight", NULL, "squeeze"},
    {"*.feed_forward.experts.0.gate_proj.weight", ".feed_forward.gate_proj.weight", JAMBA_IS_DENSE},
    {"*.feed_forward.experts.0.up_proj.weight", ".feed_forward.up_proj.weight", JAMBA_IS_DENSE},
    {"*.feed_forward.experts.0.down_proj.weight", ".feed_forward.down_proj.weight", JAMBA_IS_DENSE},
    END_OF_RULES};

#define MAMBA_BACK                                                                                 \
    "hidden_size = embedding_length", "intermediate_size = ssm.inner_size",                        \
        "conv_kernel = ssm.conv_kernel", "state_size = ssm.state_size",                            \
        "time_step_rank = ssm.time_step_rank",                                                     \
        "layer_norm_epsilon = attention.layer_norm_rms_epsilon"
static const char *const mamba_back_config[] = {"model_type = 'mamba'", MAMBA_BACK, NULL};
static const tare_llama_shape_row mamba_back_shapes[] = {{"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                         {NULL, NULL}};
#define MAMBA_NAMES                                                                                \
    "backbone.layers. backbone.embeddings backbone.norm_f lm_head norm mixer.in_proj "             \
    "mixer.conv1d mixer.x_proj mixer.dt_proj mixer.A_log mixer.D mixer.out_proj"
static const tare_llama_back mamba_back = {
    .names = MAMBA_NAMES, .config = mamba_back_config, .shapes = mamba_back_shapes};
/* Falcon Mamba normalizes what else comes out of its state. */
static const char *const falcon_mamba_back_config[] = {"model_type = 'falcon_mamba'", MAMBA_BACK,
                                                       NULL};
static const tare_llama_back falcon_mamba_back = {.names = MAMBA_NAMES,
                                                  .config = falcon_mamba_back_config,
                                                  .shapes = mamba_back_shapes,
                                                  .when = "ssm.dt_b_c_rms | false"};
static const char *const mamba2_back_config[] = {
    "model_type = 'mamba2'",
    "hidden_size = embedding_length",
    "expand = floor(ssm.inner_size / embedding_length)",
    "conv_kernel = ssm.conv_kernel",
    "state_size = ssm.state_size",
    "num_heads = ssm.time_step_rank",
    "head_dim = floor(ssm.inner_size / ssm.time_step_rank)",
    "n_groups = ssm.group_count",
    "layer_norm_epsilon = attention.layer_norm_rms_epsilon",
    NULL};
static const tare_llama_shape_row mamba2_back_shapes[] = {{"=blk.#.ssm_a", "d0"},
                                                          {"=blk.#.ssm_d", "d0"},
                                                          {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                          {"=blk.#.ssm_norm.weight", "d0 * d1"},
                                                          {NULL, NULL}};
static const tare_llama_back mamba2_back = {
    .names = "backbone.layers. backbone.embeddings backbone.norm_f lm_head norm mixer.in_proj "
             "mixer.conv1d mixer.dt_proj mixer.A_log mixer.D mixer.norm mixer.out_proj",
    .config = mamba2_back_config,
    .shapes = mamba2_back_shapes};
static const char *const jamba_back_config[] = {
    "model_type = 'jamba'", "num_key_value_heads = largest(attention.head_count_kv)",
    /* where the layers of a kind are as far apart as they are few */
    "attn_layer_offset = leading(attention.head_count_kv, 0)",
    "attn_layer_period = floor(block_count / tensors.attn_q.weight.blocks)",
    "expert_layer_period = floor(block_count / tensors.ffn_gate_inp.weight.blocks)",
    "expert_layer_offset = if(tensors.ffn_gate_inp.weight.blocks == block_count, 0, 1)",
    "mamba_d_conv = ssm.conv_kernel", "mamba_d_state = ssm.state_size",
    "mamba_dt_rank = ssm.time_step_rank", "mamba_expand = floor(ssm.inner_size / embedding_length)",
    NULL};
static const tare_llama_shape_row jamba_back_shapes[] = {{"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                         {NULL, NULL}};
static const tare_llama_back jamba_back = {
    .names = "model.layers. model.embed_tokens model.final_layernorm lm_head input_layernorm "
             "pre_ff_layernorm feed_forward.gate_proj feed_forward.up_proj feed_forward.down_proj "
             "feed_forward.router feed_forward.experts.gate_proj feed_forward.experts.up_proj "
             "feed_forward.experts.down_proj mamba.in_proj mamba.conv1d mamba.x_proj mamba.dt_proj "
             "mamba.A_log mamba.D mamba.out_proj mamba.dt_layernorm mamba.b_layernorm "
             "mamba.c_layernorm num_experts " HF_ATTN HF_CONFIG,
    .config = jamba_back_config,
    .shapes = jamba_back_shapes};

#define MAMBA_ROW(of, way_back)                                                                    \
    {                                                                                              \
        .name = "mamba", .classes = of, .tensors = ENDS "attn_norm " MAMBA,                        \
        .defaults = mamba_defaults, .own = mamba_own, .rules = mamba_rules,                        \
        .drops_equal_output = true, .tokenizer = {.prefers_json = true, .multiple = 8},            \
        .back = &way_back                                                                          \
    }
const tare_llama_arch tare_llama_family_mamba[] = {
    MAMBA_ROW("FalconMambaForCausalLM", falcon_mamba_back),
    MAMBA_ROW("MambaForCausalLM MambaLMHeadModel", mamba_back),
    {.name = "mamba2",
     .classes = "Mamba2ForCausalLM",
     .tensors = ENDS "attn_norm " MAMBA2,
     .cut = "model.backbone>backbone model.lm_head>lm_head .dt_bias=.dt_proj.bias",
     .defaults = mamba2_defaults,
     .own = mamba2_own,
     .rules = mamba2_rules,
     .tokenizer = {.multiple = 16},
     .back = &mamba2_back},
    {.name = "jamba",
     .classes = "JambaForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE MAMBA "ssm_dt_norm ssm_b_norm ssm_c_norm",
     .cut = ".moe.>.feed_forward.",
     .defaults = jamba_defaults,
     .own = jamba_own,
     .rules = jamba_rules,
     .back = &jamba_back},
    {.name = NULL},
};
