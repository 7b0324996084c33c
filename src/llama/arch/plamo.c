/* SPDX-License-Identifier: MIT
 *
 * PLaMo: the first with five heads of keys, the second with state-space layers, the third with windows. */
#include "llama/arch/rows.h"

/* PLaMo 13B: five heads of keys, whose queries are not neighbours. */
static const tare_llama_key plamo_own[] = {
    {"context_length", U32, "4096"},
    {"embedding_length", U32, "hidden_size"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"attention.head_count_kv", U32, "5"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule plamo_rules[] = {
    {"=blk.#.attn_q.weight", NULL,
     "view(num_attention_heads / 5, 5, 0, d1) swap(0, 1) view(0, d3)"},
    {"=blk.#.attn_output.weight", NULL,
     "view(d0, num_attention_heads / 5, 5, 0) swap(1, 2) view(d0, 0)"},
    END_OF_RULES};
static const char *const plamo2_defaults[] = {
    "hidden_size = 4096",
    "p.step = mamba_step | 2",
    "p.is_attention = if(layers < floor(p.step / 2) + 1, layer == layers - 1, "
    "layer % p.step == floor(p.step / 2))",
    "hidden_size_per_head = 128",
    "mamba_num_heads = 64",
    NULL};
static const tare_llama_key plamo2_own[] = {
    KEY_VOCAB_SIZE,
    {"attention.head_count_kv[]", I32, "if(p.is_attention, num_key_value_heads | 4, 0)"},
    {"attention.head_count[]", I32, "if(p.is_attention, num_attention_heads | 32, 0)"},
    {"context_length", U32, "max_position_embeddings | 2048"},
    {"embedding_length", U32, "hidden_size"},
    {"attention.key_length", U32, "hidden_size_per_head"},
    {"attention.value_length", U32, "hidden_size_per_head"},
    {"block_count", U32, "layers"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | 0.000001"},
    {"rope.freq_base", F32, "rope.theta | 10000"},
    {"ssm.state_size", U32, "mamba_d_state | 64"},
    {"ssm.conv_kernel", U32, "mamba_d_conv | 4"},
    {"ssm.time_step_rank", U32, "mamba_num_heads"},
    {"ssm.inner_size", U32, "mamba_num_heads * hidden_size_per_head"},
    {"ssm.group_count", U32, "0"},
    {"feed_forward_length", U32, "intermediate_size | 13312"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
#define RULES_PLAMO                                                                                \
    {"=blk.#.attn_norm.weight", NULL, "add(1)"},                                                   \
        {"=blk.#.post_attention_norm*", NULL, "add(1 / 5)"},                                       \
        {"=blk.#.ffn_norm.weight", NULL, "add(1)"},                                                \
        {"=blk.#.post_ffw_norm*", NULL, "add(1 / pow(5, 1.5))"}, {                                 \
        "=output_norm.weight", NULL, "add(1)"                                                      \
    }
static const tare_llama_rule plamo2_rules[] = {
    {"=blk.#.ssm_a", NULL, "negexp"},
    {"=blk.#.ssm_conv1d.weight", NULL, "squeeze"},
    {"*.mixer.dt_norm_weight", ".mixer.dt_norm.weight", NULL}, /* stored without ".weight" */
    {"*.mixer.B_norm_weight", ".mixer.B_norm.weight", NULL},
    {"*.mixer.C_norm_weight", ".mixer.C_norm.weight", NULL},
    {"*.mixer.k_weight", "=blk.#.attn_k_norm.weight", NULL},
    {"*.mixer.q_weight", "=blk.#.attn_q_norm.weight", NULL},
    RULES_PLAMO,
    END_OF_RULES};
static const tare_llama_key plamo3_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.sliding_window", U32, "window_size | sliding_window"},
    {"attention.sliding_window_pattern", U32,
     "if(has(window_size | sliding_window), sliding_window_pattern)"},
    END_OF_KEYS};
static const tare_llama_rule plamo3_rules[] = {{"=blk.#.attn_q_norm.weight", NULL, "add(1)"},
                                               {"=blk.#.attn_k_norm.weight", NULL, "add(1)"},
                                               RULES_PLAMO,
                                               END_OF_RULES};

static const char *const plamo_back_config[] = {
    "model_type = 'plamo'", "num_key_value_heads = attention.head_count",
    "n_shared_head = floor(attention.head_count / 5)", NULL};
static const tare_llama_back plamo_back = {
    .names =
        "model.layers.layers. model.embed_tokens model.norm lm_head norm " HF_ATTN HF_MLP HF_CONFIG,
    .config = plamo_back_config};
#define PLAMO_NAMES                                                                                \
    "model.layers.layers. model.embed_tokens model.norm lm_head pre_mixer_norm post_mixer_norm "   \
    "post_mixer_norm.weight pre_mlp_norm post_mlp_norm post_mlp_norm.weight mlp.gate_up_proj "     \
    "mlp.down_proj mixer.qkv_proj mixer.o_proj mixer.in_proj mixer.conv1d mixer.bcdt_proj "        \
    "mixer.dt_proj mixer.A_log mixer.D mixer.out_proj mixer.q_norm mixer.k_norm "                  \
    "max_position_embeddings hidden_size intermediate_size num_attention_heads "                   \
    "num_key_value_heads rms_norm_eps rope_theta "
static const char *const plamo2_back_config[] = {
    "model_type = 'plamo2'",
    "mamba_enabled = true",
    "num_key_value_heads = largest(attention.head_count_kv)",
    "num_attention_heads = largest(attention.head_count)",
    "mamba_step = if(at(attention.head_count, 1) > 0, 2, if(at(attention.head_count, 2) > 0, 4, "
    "if(at(attention.head_count, 3) > 0, 6, 8)))",
    "mamba_num_heads = ssm.time_step_rank",
    NULL};
static const tare_llama_shape_row plamo2_back_shapes[] = {{"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                          {"*.mixer.dt_norm_weight", "d0"},
                                                          {"*.mixer.B_norm_weight", "d0"},
                                                          {"*.mixer.C_norm_weight", "d0"},
                                                          {"*.mixer.k_weight", "d0, d1"},
                                                          {"*.mixer.q_weight", "d0, d1"},
                                                          {NULL, NULL}};
static const tare_llama_back plamo2_back = {
    .names = PLAMO_NAMES "mamba_d_state mamba_d_conv mamba_num_heads hidden_size_per_head",
    .config = plamo2_back_config,
    .shapes = plamo2_back_shapes};
static const char *const plamo3_back_config[] = {
    "model_type = 'plamo3'", "sliding_window_pattern = attention.sliding_window_pattern", NULL};
static const tare_llama_back plamo3_back = {.names = PLAMO_NAMES "head_dim window_size",
                                            .config = plamo3_back_config};

const tare_llama_arch tare_llama_family_plamo[] = {
    {.name = "plamo",
     .classes = "PlamoForCausalLM",
     .tensors = ENDS QKV FFN "rope_freqs attn_norm attn_rot_embd",
     .own = plamo_own,
     .rules = plamo_rules,
     .back = &plamo_back},
    {.name = "plamo2",
     .classes = "Plamo2ForCausalLM PLaMo2ForCausalLM",
     .tensors = ENDS FUSED QK_NORMS FFN MAMBA
     "attn_norm post_attention_norm ffn_norm post_ffw_norm ssm_dt_norm ssm_b_norm ssm_c_norm",
     .optional = "ffn_gate",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = plamo2_defaults,
     .own = plamo2_own,
     .rules = plamo2_rules,
     .back = &plamo2_back},
    {.name = "plamo3",
     .classes = "Plamo3ForCausalLM PLaMo3ForCausalLM",
     .tensors =
         ENDS FUSED QK_NORMS "attn_norm post_attention_norm ffn_norm ffn_down ffn_up post_ffw_norm",
     .keys = plamo3_keys,
     .rules = plamo3_rules,
     .back = &plamo3_back},
    {.name = NULL},
};
