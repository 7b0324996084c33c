/* SPDX-License-Identifier: MIT
 *
 * Models with both attention and state-space layers, or with linear attention. */
#include <math.h>

#include "llama/arch/rows.h"

/* ---- Falcon H1: its multipliers become part of the weights ------------------------------------ */

static const char *const falcon_h1_defaults[] = {
    "m.inner = mamba_d_ssm | mamba_expand * hidden_size",
    "m.groups = n_groups | mamba_n_groups",
    "m.states = m.groups * mamba_d_state",
    "m.ssm_in = ssm_in_multiplier | 1",
    "m.is_tied = if(like_reference, false, "
    "tie_word_embeddings | false)",
    NULL};
static const tare_llama_key falcon_h1_own[] = {
    {"context_length", U32, "max_position_embeddings | 0"},
    {"embedding_length", U32, "hidden_size"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"block_count", U32, "layers"},
    {"ssm.conv_kernel", U32, "conv_kernel | d_conv | mamba_d_conv | 4"},
    {"ssm.inner_size", U32, "m.inner"},
    {"ssm.state_size", U32, "state_size | d_state | mamba_d_state | 128"},
    {"ssm.time_step_rank", U32, "mamba_n_heads | m.inner / (mamba_d_head | head_dim | 64)"},
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
        "=blk.#.ssm_in.weight", NULL,                                                              \
            "rows(0, " from ", " n ") mul(m.ssm_in) mul(at(ssm_multipliers, " i ") | 1) part(" i   \
            ", 5)"                                                                                 \
    }
static const tare_llama_rule falcon_h1_rules[] = {
    RULES_MAMBA2,
    {"=blk.#.ffn_down@", NULL, "mul(at(mlp_multipliers, 1) | 1)"},
    {"=blk.#.ffn_gate@", NULL, "mul(at(mlp_multipliers, 0) | 1)"},
    {"=token_embd.weight", "=output.weight", "if(m.is_tied) mul(lm_head_multiplier | 1) first"},
    {"=blk.#.attn_k.weight", NULL, "mul(key_multiplier | 1) mul(attention_in_multiplier | 1)"},
    {"=blk.#.attn_k.bias", NULL, "mul(key_multiplier | 1)"},
    {"=blk.#.attn_q.weight", NULL, "mul(attention_in_multiplier | 1)"},
    {"=blk.#.attn_v.weight", NULL, "mul(attention_in_multiplier | 1)"},
    {"=blk.#.attn_output@", NULL, "mul(attention_out_multiplier | 1)"},
    {"=blk.#.ssm_out@", NULL, "mul(ssm_out_multiplier | 1)"},
    SSM_PART("0", "0", "m.inner"),
    SSM_PART("1", "m.inner", "m.inner"),
    SSM_PART("2", "2 * m.inner", "m.states"),
    SSM_PART("3", "2 * m.inner + m.states", "m.states"),
    SSM_PART("4", "2 * (m.inner + m.states)", "d0 - 2 * (m.inner + m.states)"),
    {"=output.weight", NULL, "mul(lm_head_multiplier | 1)"},
    {"=token_embd.weight", NULL, "mul(embedding_multiplier | 1)"},
    END_OF_RULES};

/* ---- Nemotron H: a layer has either a mixer or a feed-forward --------------------------------- */

#define NEMOTRON_KINDS "M/mamba/linear_attention */attention/full_attention -/mlp E/moe"
/* The layer that predicts more tokens has attention and experts. */
#define NEMOTRON_H_DEFAULTS                                                                        \
    "n.predicts = layer + 1 > num_hidden_layers",                                                  \
        "n.is_attention = if(n.predicts, true, n.kind == '*')",                                    \
        "n.is_feed_forward = if(n.predicts, true, one_of(n.kind, '- E'))",                         \
        "n.head_dim = head_dim | attention_head_dim",                                              \
        "m.groups = n_groups | num_groups | mamba_n_groups | mamba_num_groups",                    \
        "experts = n_routed_experts"
static const char *const nemotron_h_defaults[] = {
    "n.pattern = hybrid_override_pattern | layers_block_type | layer_types",
    "num_hidden_layers = len(n.pattern)",
    "n.has_experts = if(has(hybrid_override_pattern), num_experts_per_tok > 0, "
    "in('E', n.pattern, '" NEMOTRON_KINDS "'))",
    "n.kind = word(at(n.pattern, layer), '" NEMOTRON_KINDS "')",
    "n.experts_inner = moe_intermediate_size",
    NEMOTRON_H_DEFAULTS,
    NULL};
/* Puzzles: experts of each layer by itself. */
static const char *const puzzle_defaults[] = {
    "n.pattern = block_configs",
    "num_hidden_layers = len(block_configs)",
    "n.has_experts = true",
    "n.kind = word(at(block_configs, layer, 'block_type'), '" NEMOTRON_KINDS "')",
    "n.experts_inner = at(block_configs, layer, 'moe_intermediate_size') | 0",
    NEMOTRON_H_DEFAULTS,
    NULL};
#define NEMOTRON_H_OWN                                                                             \
    {"block_count", U32, "layers"}, {"context_length", U32, "1048576"},                            \
        {"embedding_length", U32, "hidden_size"},                                                  \
        {"feed_forward_length[]", I32,                                                             \
         "if(n.is_feed_forward, if(n.has_experts, n.experts_inner, intermediate_size), 0)"},       \
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
#define NEMOTRON_H_EXPERTS                                                                         \
    {"expert_shared_feed_forward_length", U32, "moe_shared_expert_intermediate_size"},             \
        {"expert_shared_count", U32, "n_shared_experts"},                                          \
        {"expert_weights_norm", BOOL, "norm_topk_prob"},                                           \
        {"expert_weights_scale", F32, "routed_scaling_factor"}, {                                  \
        "moe_latent_size", U32, "moe_latent_size"                                                  \
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
    NEMOTRON_H_EXPERTS,
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
static const tare_llama_key puzzle_own[] = {
    NEMOTRON_H_OWN,
    {"expert_count", U32, "n_routed_experts"},
    {"expert_group_count", U32, "n_group"},
    {"expert_group_used_count", U32, "topk_group"},
    NEMOTRON_H_REST,
    {"expert_feed_forward_length[]", I32, "n.experts_inner"},
    {"expert_used_count[]", I32, "at(block_configs, layer, 'num_experts_per_tok') | 0"},
    NEMOTRON_H_EXPERTS,
    END_OF_KEYS};
/* Heads of attention: n_heads are those of the state-space layers here. */
#define RULES_NEMOTRON_H                                                                           \
    {"=blk.#.attn_q@", NULL, "heads(num_attention_heads)"},                                        \
        {"=blk.#.attn_k@", NULL, "heads(num_key_value_heads)"},                                    \
        {"*.mixer.dt_bias", "=blk.#.ssm_dt.bias", NULL}, RULES_MAMBA2
static const tare_llama_rule nemotron_h_rules[] = {RULE_DROP("mtp.*"), RULES_NEMOTRON_H,
                                                   END_OF_RULES};
static const tare_llama_rule nemotron_h_moe_rules[] = {RULES_NEMOTRON_H, END_OF_RULES};

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
    {"=output_norm.weight", NULL, "add(1)"}, {"=blk.#.attn_norm.weight", NULL, "add(1)"},          \
        {"=blk.#.post_attention_norm.weight", NULL, "add(1)"},                                     \
        {"=blk.#.attn_q_norm.weight", NULL, "add(1)"}, {                                           \
        "=blk.#.attn_k_norm.weight", NULL, "add(1)"                                                \
    }
/* One part of the rows of every key head; each head holds queries, keys, values and gates. */
#define QKVZ(from, n)                                                                              \
    "view(q.kh, 2 * q.kd + 2 * q.vd, d1) rows(1, " from ", " n ") view(q.kh * " n ", d2) "
static const tare_llama_rule qwen3next_rules[] = {
    RULE_DROP("mtp.*"),
    {"=blk.#.ssm_a", NULL, "negexp"},
    {"=blk.#.ssm_conv1d.weight", NULL, "squeeze"},
    RULES_PLUS_ONE,
    {"*.linear_attn.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight", QKVZ("0", "q.kd") "part(0, 3)"},
    {"*.linear_attn.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight",
     QKVZ("q.kd", "q.kd") "part(1, 3)"},
    {"*.linear_attn.in_proj_qkvz.weight", "=blk.#.attn_qkv.weight",
     QKVZ("2 * q.kd", "q.vd") "part(2, 3)"},
    {"*.linear_attn.in_proj_qkvz.weight", "=blk.#.attn_gate.weight",
     QKVZ("2 * q.kd + q.vd", "q.vd")},
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
    {"=blk.#.ssm_a", NULL, TILE("0", "1") " negexp"},                                              \
        {"=blk.#.ssm_dt.bias", NULL, TILE("0", "1")},                                              \
        {"=blk.#.ssm_conv1d.weight", NULL, "squeeze rows(0, 0, " QWEN35_QK ") part(0, 2)"},        \
        {"=blk.#.ssm_conv1d.weight", NULL,                                                         \
         "squeeze rows(0, " QWEN35_QK ", d0 - " QWEN35_QK ") " TILE("0", QWEN35_V) " part(1, 2)"}, \
        {"=blk.#.attn_qkv.weight", NULL, "rows(0, 0, " QWEN35_QK ") part(0, 2)"},                  \
        {"=blk.#.attn_qkv.weight", NULL,                                                           \
         "rows(0, " QWEN35_QK ", d0 - " QWEN35_QK ") " TILE("0", QWEN35_V) " part(1, 2)"},         \
        {"=blk.#.attn_gate.weight", NULL, TILE("0", QWEN35_V)},                                    \
        {"=blk.#.ssm_alpha.weight", NULL, TILE("0", "1")},                                         \
        {"=blk.#.ssm_beta.weight", NULL, TILE("0", "1")},                                          \
        {"=blk.#.ssm_out.weight", NULL, TILE("1", QWEN35_V)}, RULES_FUSED_EXPERTS
#define QWEN35_NEXTN                                                                               \
    {"=blk.#.nextn.shared_head_norm.weight", NULL, "add(1)"},                                      \
        {"=blk.#.nextn.enorm.weight", NULL, "add(1)"}, {                                           \
        "=blk.#.nextn.hnorm.weight", NULL, "add(1)"                                                \
    }
static const tare_llama_rule qwen35_rules[] = {RULES_PLUS_ONE, QWEN35_RULES, QWEN35_NEXTN,
                                               END_OF_RULES};
/* MiniCPM-V 4.6: llama.cpp has no layers that predict more tokens for it. */
static const tare_llama_rule minicpmv_rules[] = {RULE_DROP("mtp.*"), RULE_DROP("model.merger.*"),
                                                 RULES_PLUS_ONE, QWEN35_RULES, END_OF_RULES};

/* llama.cpp requires the sections of positions; the config.json of a text model may omit them. Together
 * they are no wider than a head: where it is narrower than the usual ones, each is as many of the
 * frequencies as turn in it, which take turns. */
static tare_status add_sections(tare_llama_mapping *m, tare_error *err) {
    double sections[] = {11, 11, 10, 0}, width, turned;
    tare_llama_value v;
    TARE_TRY(tare_llama_formula(&v, TARE_STR("rope.mrope_section"), &m->config, NULL, err));
    if (v.kind != TARE_LLAMA_ABSENT) return TARE_OK;
    TARE_TRY(tare_llama_number(&width, m, "attention.dim", 0, err));
    TARE_TRY(tare_llama_number(&turned, m,
                               "floor(floor(attention.dim * (rope.partial | 0.25)) / 2)", 0, err));
    for (size_t i = 0; width < 32 && !m->options->like_reference && i < 3; i++)
        sections[i] = floor((turned + 2 - (double)i) / 3);
    return tare_llama_set_numbers(m, "rope.dimension_sections", TARE_VALUE_I32, sections, 4, err);
}

/* ---- Qwen 4 (experimental): Qwen 3.5's layers, several residual streams, embeddings of n-grams ----- */

#define QWEN4_LAYERS "linear_attention full_attention/indexed_attention"
static const char *const qwen4_defaults[] = {
    "num_key_value_heads = 2",
    "head_dim = 256",
    "rms_norm_eps = 0.000001",
    "partial_rotary_factor = 0.25",
    "q.kd = linear_key_head_dim",
    "q.kh = linear_num_key_heads",
    "q.r = linear_num_value_heads / linear_num_key_heads",
    "q.is_linear = if(has(layer_types), word(at(layer_types, layer), '" QWEN4_LAYERS
    "') == 'linear_attention', (layer + 1) % (full_attention_interval | 4) > 0)",
    "q.has_ngrams = len(ple_layer_ids) > 0",
    NULL};
static const tare_llama_key qwen4_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    {"ssm.conv_kernel", U32, "linear_conv_kernel_dim"},
    {"ssm.state_size", U32, "linear_key_head_dim"},
    {"ssm.group_count", U32, "linear_num_key_heads"},
    {"ssm.time_step_rank", U32, "linear_num_value_heads"},
    {"ssm.inner_size", U32, "linear_value_head_dim * linear_num_value_heads"},
    {"attention.recurrent_layers[]", BOOL, "q.is_linear"},
    {"full_attention_interval", U32, "full_attention_interval | 4"},
    {"rope.dimension_count", U32, "floor(attention.dim * (rope.partial | 0.25))"},
    {"hyper_connection.count", U32, "hc_count"},
    {"hyper_connection.low_rank", U32, "hc_lowrank"},
    {"attention.indexer.head_count", U32, "indexer_n_heads"},
    {"attention.indexer.key_length", U32, "indexer_head_dim"},
    {"attention.indexer.top_k", U32, "indexer_budget"},
    {"attention.compress_ratios[]", I32, "if(q.is_linear, 0, indexer_compress_ratio)"},
    {"ple.layers[ple_layer_ids]", I32, "at(ple_layer_ids, layer) - 1"},
    {"ple.ngram_size", U32, "if(q.has_ngrams, ngram_size)"},
    {"ple.heads_per_ngram", U32, "if(q.has_ngrams, heads_per_ngram)"},
    {"ple.conv_kernel", U32, "if(q.has_ngrams, ple_conv_kernel_size)"},
    {"ple.eos_token_id", U32,
     "if(q.has_ngrams, at(eos_token_id, len(eos_token_id) - 1) | eos_token_id)"},
    {"ple.image_token_id", U32, "if(q.has_ngrams, image_token_id)"},
    {"embedding_length_per_layer_input", U32,
     "if(q.has_ngrams, (ple_embed_dim | hidden_size) / ((ngram_size - 1) * heads_per_ngram))"},
    END_OF_KEYS};
#define QWEN4_PLUS_ONE(name)                                                                       \
    { name ".weight", NULL, "add(1)" }
static const tare_llama_rule qwen4_rules[] = {
    RULE_DROP("mtp.*"),
    QWEN35_RULES,
    QWEN4_PLUS_ONE("=blk.#.attn_q_norm"),
    QWEN4_PLUS_ONE("=blk.#.attn_k_norm"),
    QWEN4_PLUS_ONE("=output_hc_norm"),
    QWEN4_PLUS_ONE("=blk.#.hc_attn_norm"),
    QWEN4_PLUS_ONE("=blk.#.hc_ffn_norm"),
    QWEN4_PLUS_ONE("=blk.#.indexer.q_norm"),
    QWEN4_PLUS_ONE("=blk.#.indexer.k_norm"),
    QWEN4_PLUS_ONE("=blk.#.ple_norm_key"),
    QWEN4_PLUS_ONE("=blk.#.ple_norm_query"),
    QWEN4_PLUS_ONE("=blk.#.ple_norm_conv"),
    {"=blk.#.ple_conv1d.weight", NULL, "squeeze"},
    {"*.self_attn.indexer.index_qk_proj.weight", "=blk.#.indexer.q_proj.weight",
     "rows(0, 0, indexer_n_heads * indexer_head_dim)"},
    {"*.self_attn.indexer.index_qk_proj.weight", "=blk.#.indexer.k_proj.weight",
     "rows(0, indexer_n_heads * indexer_head_dim, d0 - indexer_n_heads * indexer_head_dim)"},
    {"*.ngram_embedding.shards.#.weight", "=per_layer_token_embd.weight",
     "part(number, split_ngram_parts)"},
    {"*.ple_embedding.layer_multipliers", "ple.layer_multipliers", "value"},
    {"*.ple_embedding.ngram_heads_offsets", "ple.head_offsets", "value"},
    {"*.ple_embedding.ngram_heads_vocab_sizes", "ple.head_vocab_sizes", "value"},
    END_OF_RULES};

#define STREAMS(part) "hc_" part "_norm hc_" part "_down hc_" part "_up hc_" part "_inject "

static const char *const falcon_h1_back_config[] = {
    "model_type = 'falcon_h1'",
    BACK_BIASES,
    "mamba_d_ssm = ssm.inner_size",
    "mamba_d_state = ssm.state_size",
    "mamba_d_conv = ssm.conv_kernel",
    "mamba_n_groups = ssm.group_count",
    "mamba_n_heads = ssm.time_step_rank",
    "mamba_d_head = floor(ssm.inner_size / ssm.time_step_rank)",
    "mamba_rms_norm = has(tensors.ssm_norm.weight)",
    "mamba_norm_before_gate = if(has(tensors.ssm_norm.weight), false)",
    "rms_norm_eps = attention.layer_norm_rms_epsilon",
    NULL};
static const tare_llama_shape_row falcon_h1_back_shapes[] = {
    {"=blk.#.ssm_a", "d0"},
    {"=blk.#.ssm_d", "d0"},
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"=blk.#.ssm_norm.weight", "d0 * d1"},
    {NULL, NULL}};
static const tare_llama_back falcon_h1_back = {
    .names = "model.layers. model.embed_tokens model.final_layernorm lm_head input_layernorm "
             "pre_ff_layernorm feed_forward.gate_proj feed_forward.up_proj feed_forward.down_proj "
             "pre_ff_layernorm.weight mamba.in_proj mamba.conv1d mamba.dt_proj mamba.A_log mamba.D "
             "mamba.norm "
             "mamba.out_proj " HF_ATTN HF_CONFIG,
    .config = falcon_h1_back_config,
    .shapes = falcon_h1_back_shapes};

#define BACK_NEMOTRON_H                                                                            \
    "model_type = 'nemotron_h'", BACK_BIASES,                                                      \
        "layers_block_type[] = if(at(attention.head_count_kv, layer) > 0, 'attention', "           \
        "if(at(feed_forward_length, layer) > 0, if(has(expert_count), 'moe', 'mlp'), 'mamba'))",   \
        "num_key_value_heads = largest(attention.head_count_kv)",                                  \
        "head_dim = attention.key_length", "conv_kernel = ssm.conv_kernel",                        \
        "ssm_state_size = ssm.state_size", "n_groups = ssm.group_count",                           \
        "mamba_num_heads = ssm.time_step_rank",                                                    \
        "mamba_head_dim = floor(ssm.inner_size / ssm.time_step_rank)",                             \
        "layer_norm_epsilon = attention.layer_norm_epsilon"
static const char *const nemotron_h_back_config[] = {
    BACK_NEMOTRON_H, "intermediate_size = largest(feed_forward_length)", NULL};
static const tare_llama_shape_row nemotron_h_back_shapes[] = {
    {"=blk.#.ssm_a", "d0"},
    {"=blk.#.ssm_d", "d0"},
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"=blk.#.ssm_norm.weight", "d0 * d1"},
    {"*.mixer.dt_bias", "d0"},
    {NULL, NULL}};
static const tare_llama_back nemotron_h_back = {
    .names = "backbone.layers. backbone.embeddings backbone.norm_f lm_head norm mixer.q_proj "
             "mixer.k_proj mixer.v_proj mixer.o_proj mixer.in_proj mixer.conv1d mixer.A_log "
             "mixer.D mixer.norm mixer.out_proj mixer.up_proj mixer.down_proj hidden_size "
             "num_attention_heads rope_theta",
    .config = nemotron_h_back_config,
    .shapes = nemotron_h_back_shapes};

static const char *const nemotron_h_moe_back_config[] = {
    BACK_NEMOTRON_H, "num_local_experts = nothing",
    "moe_intermediate_size = expert_feed_forward_length",
    "num_nextn_predict_layers = nextn_predict_layers", NULL};
#define NEMOTRON_H_MOE_NAMES                                                                       \
    "backbone.layers. backbone.embeddings backbone.norm_f lm_head norm mixer.q_proj "              \
    "mixer.k_proj mixer.v_proj mixer.o_proj mixer.in_proj mixer.conv1d mixer.A_log "               \
    "mixer.D mixer.norm mixer.out_proj mixer.up_proj mixer.down_proj mixer.gate "                  \
    "mixer.gate.e_score_correction mlp.experts.up_proj mlp.experts.down_proj "                     \
    "mixer.shared_experts.up_proj mixer.shared_experts.down_proj mixer.fc1_latent_proj "           \
    "mixer.fc2_latent_proj hidden_size num_attention_heads rope_theta num_experts_per_tok "        \
    "post_attention_layernorm " HF_NEXTN
static const tare_llama_back nemotron_h_moe_back = {
    .names = NEMOTRON_H_MOE_NAMES,
    .config = nemotron_h_moe_back_config,
    .shapes = nemotron_h_back_shapes,
    .when = "if(has(expert_count), if(len(expert_used_count) > 0, false, true))"};

static const char *const puzzle_back_config[] = {
    BACK_NEMOTRON_H,
    "model_type = 'nemotron_h_puzzle'",
    "layers_block_type = nothing",
    "num_local_experts = nothing",
    "num_experts_per_tok = nothing",
    "block_configs[].block_type = if(at(attention.head_count_kv, layer) > 0, 'attention', "
    "if(at(feed_forward_length, layer) > 0, 'moe', 'mamba'))",
    "block_configs[].moe_intermediate_size = if(at(feed_forward_length, layer) > 0, "
    "at(feed_forward_length, layer))",
    "block_configs[].num_experts_per_tok = if(at(feed_forward_length, layer) > 0, "
    "at(expert_used_count, layer))",
    NULL};
static const tare_llama_back puzzle_back = {.names = NEMOTRON_H_MOE_NAMES,
                                            .config = puzzle_back_config,
                                            .shapes = nemotron_h_back_shapes,
                                            .when = "len(expert_used_count) > 0"};

#define LINEAR_NAMES                                                                               \
    HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_MLP HF_MOE HF_CONFIG                                    \
        "linear_attn.conv1d linear_attn.dt_proj linear_attn.A_log linear_attn.norm "               \
        "linear_attn.out_proj linear_attn.in_proj_qkv linear_attn.in_proj_z "                      \
        "linear_attn.in_proj_a linear_attn.in_proj_b linear_attn.in_proj_ba "                      \
        "mlp.shared_expert.gate_proj mlp.shared_expert.up_proj mlp.shared_expert.down_proj "       \
        "mlp.shared_expert_gate num_experts "
#define LINEAR_NEXTN "fc pre_fc_norm_embedding eh_proj enorm hnorm shared_head.norm"
#define BACK_LINEAR                                                                                \
    "linear_value_head_dim = floor(ssm.inner_size / ssm.time_step_rank)",                          \
        "partial_rotary_factor = rope.dimension_count / attention.key_length",                     \
        "layer_types[] = if(layer < block_count - (nextn_predict_layers | 0), "                    \
        "if(if(layer < len(attention.recurrent_layers), at(attention.recurrent_layers, layer), "   \
        "(layer + 1) % full_attention_interval > 0), 'linear_attention', 'full_attention'))"
#define BACK_SECTIONS                                                                              \
    "rope_parameters.mrope_section[3] = at(rope.dimension_sections, layer)",                       \
        "rope_parameters.mrope_interleaved = if(has(rope.dimension_sections), true)",              \
        BACK_ROPE(""),                                                                             \
        "rope_parameters.partial_rotary_factor = rope.dimension_count / attention.key_length",     \
        "mtp_num_hidden_layers = nextn_predict_layers"
static const char *const qwen3next_back_config[] = {"model_type = 'qwen3_next'", BACK_LINEAR, NULL};
static const tare_llama_shape_row qwen3next_back_shapes[] = {
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"*.linear_attn.in_proj_qkvz.weight", "2 * q.kh * q.kd + 2 * q.kh * q.vd, d1"},
    {NULL, NULL}};
static const tare_llama_back qwen3next_back = {
    .names = LINEAR_NAMES, .config = qwen3next_back_config, .shapes = qwen3next_back_shapes};

static const char *const qwen35_back_config[] = {"model_type = 'qwen3_5_text'", BACK_LINEAR,
                                                 BACK_SECTIONS, NULL};
static const tare_llama_shape_row qwen35_back_shapes[] = {{"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                          {NULL, NULL}};
static const tare_llama_back qwen35_back = {
    .names = LINEAR_NAMES LINEAR_NEXTN, .config = qwen35_back_config, .shapes = qwen35_back_shapes};

static const char *const qwen35moe_back_config[] = {"model_type = 'qwen3_5_moe_text'", BACK_LINEAR,
                                                    BACK_SECTIONS, NULL};
static const tare_llama_shape_row qwen35moe_back_shapes[] = {
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"*.mlp.experts.gate_up_proj", "d0, 2 * d1, d2"},
    {"*.mlp.experts.down_proj", "d0, d1, d2"},
    {NULL, NULL}};
static const tare_llama_back qwen35moe_back = {.names = LINEAR_NAMES LINEAR_NEXTN,
                                               .config = qwen35moe_back_config,
                                               .shapes = qwen35moe_back_shapes};

/* Without embeddings of n-grams, whose tables of numbers are keys. */
static const char *const qwen4_back_config[] = {
    "model_type = 'qwen4_exp_text'",
    "layer_types[] = if(if(layer < len(attention.recurrent_layers), at(attention.recurrent_layers, "
    "layer), (layer + 1) % full_attention_interval > 0), 'linear_attention', 'indexed_attention')",
    "indexer_compress_ratio = largest(attention.compress_ratios)",
    "indexer_kv_heads = 1",
    "output_gate_type = 'sigmoid'",
    BACK_LINEAR,
    BACK_SECTIONS,
    NULL};
static const tare_llama_shape_row qwen4_back_shapes[] = {
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"*.mlp.experts.gate_up_proj", "d0, 2 * d1, d2"},
    {"*.mlp.experts.down_proj", "d0, d1, d2"},
    {"*.self_attn.indexer.index_qk_proj.weight", "(indexer_n_heads + 1) * indexer_head_dim, d1"},
    {NULL, NULL}};
#define QWEN4_STREAM(of) of "hc_norm " of "input_mix_weight_down " of "input_mix_weight_up "
static const tare_llama_back qwen4_back = {
    .names = LINEAR_NAMES QWEN4_STREAM("model.hyper_connection_mixer.")
        QWEN4_STREAM("attn_hyper_connection.") QWEN4_STREAM(
            "mlp_hyper_connection.") "attn_hyper_connection.block_inject_weight "
                                     "mlp_hyper_connection.block_inject_weight "
                                     "self_attn.indexer.q_layernorm self_attn.indexer.k_layernorm",
    .config = qwen4_back_config,
    .shapes = qwen4_back_shapes,
    .when = "has(ple.layers) == false"};

/* ---- MiniMax 01: lightning attention ---------------------------------------------------------- */

/* Its own names of the factors of residuals, and transformers'. */
static const char *const minimax01_defaults[] = {
    KV_HEADS_ALL,
    "mm.alpha = layernorm_full_attention_alpha | full_attn_alpha_factor | 1",
    "mm.alpha_linear = layernorm_linear_attention_alpha | linear_attn_alpha_factor | 1",
    "mm.alpha_mlp = layernorm_mlp_alpha | mlp_alpha_factor | 1",
    "mm.beta = (layernorm_full_attention_beta | full_attn_beta_factor | 1) * "
    "(layernorm_linear_attention_beta | linear_attn_beta_factor | 1) * "
    "(layernorm_mlp_beta | mlp_beta_factor | 1)",
    "mm.is_linear = if(has(attn_type_list), at(attn_type_list, layer) == 0, if(has(layer_types), "
    "word(at(layer_types, layer), 'linear_attention full_attention') == 'linear_attention', "
    "(layer + 1) % 8 > 0))",
    NULL};
/* llama.cpp's layers of whole attention are every eighth, unless it is told. */
static const tare_llama_key minimax01_keys[] = {
    {"residual_scale", F32, "mm.alpha"},
    {"rope.dimension_count", U32, "rotary_dim | floor(attention.dim * (rope.partial | 1))"},
    {"attention.recurrent_layers[]", U32, "if(like_reference, nothing, if(mm.is_linear, 1, 0))"},
    END_OF_KEYS};
static const tare_llama_rule minimax01_rules[] = {
    {"*.self_attn.out_proj@", ".self_attn.o_proj", "if(mm.is_linear) as_is"},
    RULE_DROP("*.self_attn.diagonal_decay"),
    RULE_DROP("*.self_attn.key_decay"),
    RULE_DROP("*.self_attn.query_decay"),
    RULE_DROP("*.self_attn.slope_rate"),
    END_OF_RULES};
static const char *const minimax01_back_config[] = {
    "model_type = 'minimax'",
    "layer_types[] = if(if(has(attention.recurrent_layers), at(attention.recurrent_layers, layer) "
    "> 0, (layer + 1) % 8 > 0), 'linear_attention', 'full_attention')",
    "rotary_dim = nothing",
    "linear_attn_alpha_factor = residual_scale | 1",
    "mlp_alpha_factor = residual_scale | 1",
    "partial_rotary_factor = if(rope.dimension_count == (attention.key_length | "
    "floor(embedding_length / attention.head_count)), nothing, rope.dimension_count / "
    "(attention.key_length | floor(embedding_length / attention.head_count)))",
    NULL};
static const tare_llama_shape_row minimax01_back_shapes[] = {{"*.self_attn.out_proj@", "d0, d1"},
                                                             {NULL, NULL}};
static const tare_llama_back minimax01_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "self_attn.norm self_attn.qkv_proj self_attn.output_gate block_sparse_moe.gate "
    "block_sparse_moe.experts.w1 block_sparse_moe.experts.w2 block_sparse_moe.experts.w3 "
    "num_local_experts full_attn_alpha_factor",
    .config = minimax01_back_config,
    .shapes = minimax01_back_shapes};
const tare_llama_arch tare_llama_family_hybrid[] = {
    {.name = "minimax-01",
     .classes = "MiniMaxForCausalLM MiniMaxText01ForCausalLM MiniMaxM1ForCausalLM",
     .tensors = ENDS QKV NORMS MOE "attn_norm_2 attn_qkv attn_gate",
     .optional = "attn_norm_2 attn_qkv attn_gate attn_q attn_k attn_v",
     .defaults = minimax01_defaults,
     .keys = minimax01_keys,
     .rules = minimax01_rules,
     .back = &minimax01_back},
    {.name = "falcon-h1",
     .classes = "FalconH1ForCausalLM",
     .tensors = ENDS QKV "attn_norm ffn_pre_norm " FFN MAMBA2,
     .optional = "ssm_norm",
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = falcon_h1_defaults,
     .own = falcon_h1_own,
     .rules = falcon_h1_rules,
     .back = &falcon_h1_back},
    {.name = "nemotron_h_moe",
     .classes = "NemotronHForCausalLM",
     .requires = "n.has_experts",
     .tensors = ENDS QKV
     "attn_norm ffn_down ffn_up ffn_gate_inp ffn_up_exps ffn_down_exps "
     "ffn_latent_down ffn_latent_up ffn_down_shexp ffn_up_shexp "
     "exp_probs_b " MAMBA2
     "nextn.eh_proj nextn.enorm nextn.hnorm nextn.shared_head_norm post_attention_norm",
     .optional = "post_attention_norm",
     .cut = ".mixer.experts.=.mlp.experts. "
            "mtp.layers.1.norm.>mtp.layers.0.post_attention_layernorm. "
            "mtp.layers.1.final_layernorm.>mtp.layers.0.shared_head.norm. "
            "mtp.layers.1.>mtp.layers.0.",
     .defaults = nemotron_h_defaults,
     .own = nemotron_h_moe_own,
     .rules = nemotron_h_moe_rules,
     .extra_layers = "num_nextn_predict_layers",
     .nextn = "mtp.",
     .tokenizer = {.multiple = 8},
     .back = &nemotron_h_moe_back},
    {.name = "nemotron_h_moe",
     .classes = "NemotronHPuzzleForCausalLM",
     .requires = "has(block_configs)",
     .tensors = ENDS QKV "attn_norm ffn_gate_inp ffn_up_exps ffn_down_exps "
                         "ffn_latent_down ffn_latent_up ffn_down_shexp ffn_up_shexp "
                         "exp_probs_b " MAMBA2,
     .cut = ".mixer.experts.=.mlp.experts.",
     .defaults = puzzle_defaults,
     .own = puzzle_own,
     .rules = nemotron_h_rules,
     .tokenizer = {.multiple = 8},
     .back = &puzzle_back},
    {.name = "nemotron_h",
     .classes = "NemotronHForCausalLM",
     .tensors = ENDS QKV "attn_norm ffn_down ffn_up " MAMBA2,
     .defaults = nemotron_h_defaults,
     .own = nemotron_h_own,
     .rules = nemotron_h_rules,
     .tokenizer = {.multiple = 8, .add_bos = TARE_LLAMA_FLAG_YES},
     .back = &nemotron_h_back},
    {.name = "qwen3next",
     .classes = "Qwen3NextForCausalLM",
     .tensors = QWEN_LINEAR MOE SHARED "ffn_gate_inp_shexp ssm_in ssm_ba",
     .optional = "attn_gate ssm_in ssm_ba attn_qkv",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen3next_keys,
     .rules = qwen3next_rules,
     .back = &qwen3next_back},
    {.name = "qwen35",
     .classes = "Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration",
     .tensors = QWEN_LINEAR FFN NEXTN "ssm_alpha ssm_beta",
     .optional = "attn_gate",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = qwen35_rules,
     .extra_layers = "nextn",
     .nextn = "mtp.",
     .extra = add_sections,
     .back = &qwen35_back},
    {.name = "qwen35",
     .classes = "MiniCPMV4_6ForConditionalGeneration",
     .tensors = QWEN_LINEAR FFN "ssm_alpha ssm_beta",
     .optional = "attn_gate",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = minicpmv_rules,
     .extra = add_sections},
    {.name = "qwen35moe",
     .classes = "Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration",
     .tensors = QWEN_LINEAR MOE SHARED NEXTN "ffn_gate_inp_shexp ssm_alpha ssm_beta",
     .optional = "attn_gate",
     .cut = "model.mtp.>mtp. .dt_bias=.dt_proj.bias",
     .defaults = qwen3next_defaults,
     .keys = qwen35_keys,
     .rules = qwen35_rules,
     .extra_layers = "nextn",
     .nextn = "mtp.",
     .extra = add_sections,
     .back = &qwen35moe_back},
    {.name = "qwen4exp",
     .classes = "Qwen4ExpForCausalLM Qwen4ExpForConditionalGeneration",
     .tensors = "token_embd output " QKV QK_NORMS STREAMS("attn") STREAMS("ffn") MOE SHARED
     "output_hc_norm output_hc_down output_hc_up attn_gate attn_qkv ssm_a ssm_conv1d ssm_dt "
     "ssm_norm ssm_out ssm_alpha ssm_beta ffn_gate_inp_shexp indexer.q_proj indexer.k_proj "
     "indexer.q_norm indexer.k_norm per_layer_token_embd ple_key ple_value ple_norm_key "
     "ple_norm_query ple_norm_conv ple_conv1d",
     .optional = "attn_gate per_layer_token_embd ple_key ple_value ple_norm_key ple_norm_query "
                 "ple_norm_conv ple_conv1d",
     .cut = ".dt_bias=.dt_proj.bias .shard_>.shards.",
     .defaults = qwen4_defaults,
     .keys = qwen4_keys,
     .rules = qwen4_rules,
     .extra = add_sections,
     .back = &qwen4_back},
    {.name = NULL},
};
