/* SPDX-License-Identifier: MIT
 *
 * Models with both attention and state-space layers, or with linear attention. */
#include "base/str.h"
#include "llama/arch/rows.h"

/* ---- Falcon H1: its multipliers become part of the weights ------------------------------------ */

static const char *const falcon_h1_defaults[] = {"m.groups = n_groups | mamba_n_groups",
                                                 "m.states = m.groups * mamba_d_state",
                                                 "m.ssm_in = ssm_in_multiplier | 1", NULL};
static const tare_llama_key falcon_h1_own[] = {
    {"context_length", U32, "max_position_embeddings | 0"},
    {"embedding_length", U32, "hidden_size"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"block_count", U32, "layers"},
    {"ssm.conv_kernel", U32, "conv_kernel | d_conv | mamba_d_conv | 4"},
    {"ssm.inner_size", U32, "mamba_d_ssm"},
    {"ssm.state_size", U32, "state_size | d_state | mamba_d_state | 128"},
    {"ssm.time_step_rank", U32, "mamba_d_ssm / (mamba_d_head | head_dim | 64)"},
    {"ssm.group_count", U32, "m.groups"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon | rms_norm_eps | 0.00001"},
    KEY_FILE_TYPE,
    KEY_VOCAB_SIZE,
    {"attention.head_count_kv", U32, "num_key_value_heads"},
    {"attention.key_length", U32, "head_dim"},
    {"attention.value_length", U32, "head_dim"},
    {"rope.freq_base", F32, "rope.theta"},
    END_OF_KEYS};
#define SSM_PART(i, from, n)                                                                       \
    {                                                                                              \
        "*.mamba.in_proj.weight", NULL,                                                            \
            "rows(0, " from ", " n ") mul(m.ssm_in) mul(at(ssm_multipliers, " i ")) part(" i       \
            ", 5)"                                                                                 \
    }
static const tare_llama_rule falcon_h1_rules[] = {
    RULES_MAMBA2("*.mamba."),
    {"*.down_proj@", NULL, "mul(at(mlp_multipliers, 1))"},
    {"*.gate_proj@", NULL, "mul(at(mlp_multipliers, 0))"},
    {"*.k_proj@", NULL, "mul(key_multiplier) mul(attention_in_multiplier)"},
    {"*.q_proj@", NULL, "mul(attention_in_multiplier)"},
    {"*.v_proj@", NULL, "mul(attention_in_multiplier)"},
    {"*.o_proj@", NULL, "mul(attention_out_multiplier)"},
    {"*.mamba.out_proj@", NULL, "mul(ssm_out_multiplier)"},
    SSM_PART("0", "0", "mamba_d_ssm"),
    SSM_PART("1", "mamba_d_ssm", "mamba_d_ssm"),
    SSM_PART("2", "2 * mamba_d_ssm", "m.states"),
    SSM_PART("3", "2 * mamba_d_ssm + m.states", "m.states"),
    SSM_PART("4", "2 * (mamba_d_ssm + m.states)", "d0 - 2 * (mamba_d_ssm + m.states)"),
    {"lm_head.weight", NULL, "mul(lm_head_multiplier)"},
    {"*embed_tokens.weight", NULL, "mul(embedding_multiplier)"},
    END_OF_RULES};

/* ---- Nemotron H: a layer has either a mixer or a feed-forward --------------------------------- */

static const char *const nemotron_h_defaults[] = {
    "n.pattern = hybrid_override_pattern | layers_block_type",
    "n.kind = at(n.pattern, layer)",
    "n.is_attention = if(n.kind == '*', true, n.kind == 'attention')",
    "n.is_feed_forward = if(n.kind == '-', true, if(n.kind == 'E', true, n.kind == 'moe'))",
    "n.head_dim = head_dim | attention_head_dim",
    "m.groups = n_groups | num_groups | mamba_n_groups | mamba_num_groups",
    "experts = n_routed_experts",
    NULL};
#define NEMOTRON_H_OWN                                                                             \
    {"block_count", U32, "layers"}, {"context_length", U32, "1048576"},                            \
        {"embedding_length", U32, "hidden_size"},                                                  \
        {"feed_forward_length[]", I32,                                                             \
         "if(n.is_feed_forward, if(has(num_experts_per_tok), moe_intermediate_size, "              \
         "intermediate_size), 0)"},                                                                \
        {"attention.head_count", U32, "num_attention_heads"},                                      \
        {"attention.head_count_kv[]", I32, "if(n.is_attention, num_key_value_heads, 0)"},          \
        {"rope.freq_base", F32, "rope.theta"},                                                     \
        {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | norm_eps"}, {                    \
        "attention.layer_norm_epsilon", F32, "layer_norm_eps | layer_norm_epsilon | norm_epsilon"  \
    }
#define NEMOTRON_H_REST                                                                            \
    KEY_FILE_TYPE, KEY_VOCAB_SIZE,                                                                 \
        {"rope.dimension_count", U32, "floor(hidden_size / num_attention_heads)"},                 \
        {"ssm.conv_kernel", U32, "conv_kernel | d_conv | mamba_conv_kernel | mamba_d_conv"},       \
        {"ssm.state_size", U32, "state_size | d_state | state_dim | ssm_state_size"},              \
        {"ssm.group_count", U32, "m.groups"},                                                      \
        {"ssm.inner_size", U32, "(num_heads | mamba_num_heads) * mamba_head_dim"},                 \
        {"ssm.time_step_rank", U32, "n_heads | num_heads | mamba_n_heads | mamba_num_heads"},      \
        {"rope.scaling.finetuned", BOOL, "has(n.pattern) == false"},                               \
        {"attention.key_length", U32, "n.head_dim"}, {                                             \
        "attention.value_length", U32, "n.head_dim"                                                \
    }
static const tare_llama_key nemotron_h_own[] = {NEMOTRON_H_OWN, NEMOTRON_H_REST, END_OF_KEYS};
static const tare_llama_key nemotron_h_moe_own[] = {
    NEMOTRON_H_OWN,
    {"expert_count", U32, "n_routed_experts"},
    {"expert_used_count", U32, "num_experts_per_tok"},
    {"expert_group_count", U32, "n_group"},
    {"expert_group_used_count", U32, "topk_group"},
    NEMOTRON_H_REST,
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "moe_shared_expert_intermediate_size"},
    {"expert_shared_count", U32, "n_shared_experts"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"moe_latent_size", U32, "moe_latent_size"},
    END_OF_KEYS};
static const tare_llama_rule nemotron_h_rules[] = {RULE_DROP("mtp.*"),
                                                   RULES_PERMUTE,
                                                   {"*.mixer.dt_bias", "=blk.#.ssm_dt.bias", NULL},
                                                   RULES_MAMBA2("*.mixer."),
                                                   END_OF_RULES};

/* ---- Qwen 3 Next, Qwen 3.5: linear attention --------------------------------------------------- */

#define KEYS_LINEAR                                                                                \
    {"ssm.conv_kernel", U32, "linear_conv_kernel_dim"},                                            \
        {"ssm.state_size", U32, "linear_key_head_dim"},                                            \
        {"ssm.group_count", U32, "linear_num_key_heads"},                                          \
        {"ssm.time_step_rank", U32, "linear_num_value_heads"},                                     \
        {"ssm.inner_size", U32, "linear_value_head_dim * linear_num_value_heads"},                 \
        {"full_attention_interval", U32, "full_attention_interval | 4"}, {                         \
        "rope.dimension_count", U32, "floor(attention.dim * (rope.partial | 0.25))"                \
    }
static const char *const qwen3next_defaults[] = {
    "num_key_value_heads = 2",
    "head_dim = 256",
    "rope_theta = 10000",
    "rms_norm_eps = 0.000001",
    "partial_rotary_factor = 0.25",
    "q.kd = linear_key_head_dim",
    "q.kh = linear_num_key_heads",
    "q.r = linear_num_value_heads / linear_num_key_heads",
    "q.vd = q.r * linear_value_head_dim",
    NULL};
static const tare_llama_key qwen3next_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    KEYS_LINEAR,
    END_OF_KEYS};
#define RULES_PLUS_ONE                                                                             \
    {"*layernorm.weight", NULL, "add(1)"}, {"*_norm.weight", NULL, "add(1)"}, {                    \
        "model.norm.weight", NULL, "add(1)"                                                        \
    }
/* One part of the rows of every key head; each head holds queries, keys, values and gates. */
#define QKVZ(from, n)                                                                              \
    "view(q.kh, 2 * q.kd + 2 * q.vd, d1) rows(1, " from ", " n ") view(q.kh * " n ", d2) "
static const tare_llama_rule qwen3next_rules[] = {
    RULE_DROP("mtp.*"),
    {"*.A_log", NULL, "negexp"},
    {"*.conv1d.weight", NULL, "squeeze"},
    RULES_PLUS_ONE,
    {"*.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight", QKVZ("0", "q.kd") "part(0, 3)"},
    {"*.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight", QKVZ("q.kd", "q.kd") "part(1, 3)"},
    {"*.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight", QKVZ("2 * q.kd", "q.vd") "part(2, 3)"},
    {"*.in_proj_qkvz.weight", "=blk.#.attn_gate.weight", QKVZ("2 * q.kd + q.vd", "q.vd")},
    RULES_FUSED_EXPERTS,
    END_OF_RULES};
#define QWEN_LINEAR                                                                                \
    ENDS QKV QK_NORMS "attn_norm post_attention_norm attn_gate attn_qkv ssm_a ssm_conv1d ssm_dt "  \
                      "ssm_norm ssm_out "

/* llama.cpp repeats the list of key heads, so value heads of the same key head are not adjacent. */
#define TILE(dim, size) "tile(" dim ", q.kh, q.r, " size ")"
#define QWEN35_QK       "2 * q.kh * q.kd"
#define QWEN35_V        "linear_value_head_dim"
static const tare_llama_key qwen35_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    {"nextn_predict_layers", U32, "if(nextn, nextn)"},
    KEYS_LINEAR,
    END_OF_KEYS};
#define QWEN35_RULES                                                                               \
    {"*.A_log", NULL, TILE("0", "1") " negexp"},                                                   \
        {"*.linear_attn.dt_proj.bias", NULL, TILE("0", "1")},                                      \
        {"*.conv1d.weight", NULL, "squeeze rows(0, 0, " QWEN35_QK ") part(0, 2)"},                 \
        {"*.conv1d.weight", NULL,                                                                  \
         "squeeze rows(0, " QWEN35_QK ", d0 - " QWEN35_QK ") " TILE("0", QWEN35_V) " part(1, 2)"}, \
        RULES_PLUS_ONE, {"*.shared_head.norm.weight", NULL, "add(1)"},                             \
        {"*.enorm.weight", NULL, "add(1)"}, {"*.hnorm.weight", NULL, "add(1)"},                    \
        {"*.in_proj_qkv.weight", NULL, "rows(0, 0, " QWEN35_QK ") part(0, 2)"},                    \
        {"*.in_proj_qkv.weight", NULL,                                                             \
         "rows(0, " QWEN35_QK ", d0 - " QWEN35_QK ") " TILE("0", QWEN35_V) " part(1, 2)"},         \
        {"*.in_proj_z.weight", NULL, TILE("0", QWEN35_V)},                                         \
        {"*.in_proj_a.weight", NULL, TILE("0", "1")},                                              \
        {"*.in_proj_b.weight", NULL, TILE("0", "1")},                                              \
        {"*.linear_attn.out_proj.weight", NULL, TILE("1", QWEN35_V)}, RULES_FUSED_EXPERTS
static const tare_llama_rule qwen35_rules[] = {QWEN35_RULES, END_OF_RULES};
/* MiniCPM-V 4.6: llama.cpp has no layers that predict more tokens for it. */
static const tare_llama_rule minicpmv_rules[] = {RULE_DROP("mtp.*"), RULE_DROP("model.merger.*"),
                                                 QWEN35_RULES, END_OF_RULES};

/* ---- Kimi Linear -------------------------------------------------------------------------------- */

static const char *const kimi_defaults[] = {"kv_lora_rank = n_lora_kv", "qk_rope_head_dim = n_rot",
                                            NULL};
static const tare_llama_key kimi_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.head_count_kv[]", I32,
     "if(in(layer + 1, linear_attn_config.full_attn_layers), 1, 0)"},
    {"ssm.conv_kernel", U32, "linear_attn_config.short_conv_kernel_size"},
    {"kda.head_dim", U32, "linear_attn_config.head_dim"},
    {"attention.q_lora_rank", U32, "q_lora_rank | n_lora_q"},
    {"attention.kv_lora_rank", U32, "kv_lora_rank"},
    {"rope.dimension_count", U32, "qk_rope_head_dim"},
    {"attention.key_length", U32, "kv_lora_rank + qk_rope_head_dim"},
    {"attention.key_length_mla", U32, "n_embd_head_k_mla | qk_nope_head_dim + qk_rope_head_dim"},
    {"attention.value_length_mla", U32, "n_embd_head_v_mla | v_head_dim"},
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "num_shared_experts"},
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    END_OF_KEYS};
static const tare_llama_rule kimi_rules[] = {
    {"*.A_log", NULL, "negexp"},
    {"*.q_conv1d.weight", NULL, "squeeze view(1, d0, 1, d1)"},
    {"*.k_conv1d.weight", NULL, "squeeze view(1, d0, 1, d1)"},
    {"*.v_conv1d.weight", NULL, "squeeze view(1, d0, 1, d1)"},
    RULES_LATENT,
    END_OF_RULES};

/* ---- PLaMo 2, 3 ---------------------------------------------------------------------------------- */

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
    {"*.pre_mixer_norm.weight", NULL, "add(1)"}, {"*.post_mixer_norm.weight", NULL, "add(1 / 5)"}, \
        {"*.pre_mlp_norm.weight", NULL, "add(1)"},                                                 \
        {"*.post_mlp_norm.weight", NULL, "add(1 / pow(5, 1.5))"}, {                                \
        "*.norm.weight", NULL, "add(1)"                                                            \
    }
static const tare_llama_rule plamo2_rules[] = {
    {"*.A_log", NULL, "negexp"},
    {"*.conv1d.weight", NULL, "squeeze"},
    {"*.mixer.dt_norm_weight", ".mixer.dt_norm.weight", NULL}, /* stored without ".weight" */
    {"*.mixer.B_norm_weight", ".mixer.B_norm.weight", NULL},
    {"*.mixer.C_norm_weight", ".mixer.C_norm.weight", NULL},
    {"*.k_weight", "=blk.#.attn_k_norm.weight", NULL},
    {"*.q_weight", "=blk.#.attn_q_norm.weight", NULL},
    RULES_PLAMO,
    END_OF_RULES};
static const tare_llama_key plamo3_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.sliding_window", U32, "window_size | sliding_window"},
    {"attention.sliding_window_pattern", U32,
     "if(has(window_size | sliding_window), sliding_window_pattern)"},
    END_OF_KEYS};
static const tare_llama_rule plamo3_rules[] = {{"*.mixer.q_norm.weight", NULL, "add(1)"},
                                               {"*.mixer.k_norm.weight", NULL, "add(1)"},
                                               RULES_PLAMO,
                                               END_OF_RULES};

/* llama.cpp requires the sections of positions; the config.json of a text model may omit them. */
static tare_status add_sections(tare_llama_mapping *m, tare_error *err) {
    static const double usual[] = {11, 11, 10, 0};
    tare_llama_value v;
    TARE_TRY(tare_llama_formula(&v, TARE_STR("rope.mrope_section"), &m->config, NULL, err));
    if (v.kind != TARE_LLAMA_ABSENT) return TARE_OK;
    return tare_llama_set_numbers(m, "rope.dimension_sections", TARE_VALUE_I32, usual, 4, err);
}

const tare_llama_arch tare_llama_family_hybrid[] = {
    {.name = "falcon-h1",
     .classes = "FalconH1ForCausalLM",
     .tensors = ENDS QKV "attn_norm ffn_pre_norm " FFN MAMBA2,
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = falcon_h1_defaults,
     .own = falcon_h1_own,
     .rules = falcon_h1_rules},
    {.name = "nemotron_h_moe",
     .classes = "NemotronHForCausalLM",
     .requires = "num_experts_per_tok > 0",
     .tensors = ENDS QKV "attn_norm ffn_down ffn_up ffn_gate_inp ffn_up_exps ffn_down_exps "
                         "ffn_latent_down ffn_latent_up ffn_down_shexp ffn_up_shexp "
                         "exp_probs_b " MAMBA2,
     .cut = ".mixer.experts.>.mlp.experts.",
     .defaults = nemotron_h_defaults,
     .own = nemotron_h_moe_own,
     .rules = nemotron_h_rules,
     .tokenizer = {.multiple = 8}},
    {.name = "nemotron_h",
     .classes = "NemotronHForCausalLM",
     .tensors = ENDS QKV "attn_norm ffn_down ffn_up " MAMBA2,
     .defaults = nemotron_h_defaults,
     .own = nemotron_h_own,
     .rules = nemotron_h_rules,
     .tokenizer = {.multiple = 8, .add_bos = TARE_LLAMA_FLAG_YES}},
    {.name = "qwen3next",
     .classes = "Qwen3NextForCausalLM",
     .tensors = QWEN_LINEAR MOE SHARED "ffn_gate_inp_shexp ssm_in ssm_ba",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen3next_keys,
     .rules = qwen3next_rules},
    {.name = "qwen35",
     .classes = "Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration",
     .tensors = QWEN_LINEAR FFN NEXTN "ssm_alpha ssm_beta",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = qwen35_rules,
     .extra_layers = "nextn",
     .nextn = "mtp.",
     .extra = add_sections},
    {.name = "qwen35",
     .classes = "MiniCPMV4_6ForConditionalGeneration",
     .tensors = QWEN_LINEAR FFN "ssm_alpha ssm_beta",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = minicpmv_rules,
     .extra = add_sections},
    {.name = "qwen35moe",
     .classes = "Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration",
     .tensors = QWEN_LINEAR MOE SHARED NEXTN "ffn_gate_inp_shexp ssm_alpha ssm_beta",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = qwen35_rules,
     .extra_layers = "nextn",
     .nextn = "mtp.",
     .extra = add_sections},
    {.name = "kimi-linear",
     .classes = "KimiLinearForCausalLM KimiLinearModel",
     .tensors = ENDS QKV NORMS FFN MOE SHARED MLA
     "ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_f_a ssm_f_b ssm_beta ssm_a ssm_g_a ssm_g_b "
     "ssm_dt ssm_norm exp_probs_b",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = kimi_defaults,
     .keys = kimi_keys,
     .rules = kimi_rules},
    {.name = "plamo2",
     .classes = "Plamo2ForCausalLM PLaMo2ForCausalLM",
     .tensors = ENDS FUSED QK_NORMS FFN MAMBA
     "attn_norm post_attention_norm ffn_norm post_ffw_norm ssm_dt_norm ssm_b_norm ssm_c_norm",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = plamo2_defaults,
     .own = plamo2_own,
     .rules = plamo2_rules},
    {.name = "plamo3",
     .classes = "Plamo3ForCausalLM PLaMo3ForCausalLM",
     .tensors =
         ENDS FUSED QK_NORMS "attn_norm post_attention_norm ffn_norm ffn_down ffn_up post_ffw_norm",
     .keys = plamo3_keys,
     .rules = plamo3_rules},
    {.name = NULL},
};
