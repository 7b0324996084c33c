/* SPDX-License-Identifier: MIT
 *
 * Words and rows that many architectures share. */
#ifndef TARE_LLAMA_ARCH_ROWS_H
#define TARE_LLAMA_ARCH_ROWS_H

#include "llama/mapping.h"

#define U32  TARE_VALUE_U32
#define I32  TARE_VALUE_I32
#define F32  TARE_VALUE_F32
#define BOOL TARE_VALUE_BOOL
#define TEXT TARE_VALUE_STRING

/* Groups of llama.cpp's tensors; each ends with a blank. */
#define ENDS     "token_embd output_norm output "
#define QKV      "attn_q attn_k attn_v attn_output "
#define FUSED    "attn_qkv attn_output "
#define QK_NORMS "attn_q_norm attn_k_norm "
#define NORMS    "attn_norm ffn_norm "
#define FFN      "ffn_gate ffn_down ffn_up "
#define MOE      "ffn_gate_inp ffn_gate_exps ffn_down_exps ffn_up_exps "
#define SHARED   "ffn_gate_shexp ffn_down_shexp ffn_up_shexp "
#define SANDWICH "attn_norm post_attention_norm ffn_pre_norm post_ffw_norm "
#define NEXTN                                                                                      \
    "nextn.eh_proj nextn.embed_tokens nextn.enorm nextn.hnorm nextn.shared_head_head "             \
    "nextn.shared_head_norm "
#define MLA                                                                                        \
    "attn_q_a attn_q_b attn_kv_a_mqa attn_kv_b attn_k_b attn_v_b attn_q_a_norm attn_kv_a_norm "
#define HYPER  "hc_attn_fn hc_attn_base hc_attn_scale hc_ffn_fn hc_ffn_base hc_ffn_scale "
#define MAMBA  "ssm_in ssm_conv1d ssm_x ssm_dt ssm_a ssm_d ssm_out "
#define MAMBA2 "ssm_in ssm_conv1d ssm_dt ssm_a ssm_d ssm_norm ssm_out "
#define DENSE  ENDS QKV NORMS FFN "rope_freqs "

/* Rows of keys; each list ends with END_OF_KEYS, of rules with END_OF_RULES. */
#define END_OF_KEYS                                                                                \
    { NULL, U32, NULL }
#define END_OF_RULES                                                                               \
    { NULL, NULL, NULL }
#define KEY_VOCAB_SIZE                                                                             \
    { "vocab_size", U32, "vocab_size" }
#define KEY_ROPE_DIM                                                                               \
    { "rope.dimension_count", U32, "attention.dim" }
#define KEY_FILE_TYPE                                                                              \
    { "general.file_type", U32, "file_type" }
#define KEY_EXPERT_FFN                                                                             \
    { "expert_feed_forward_length", U32, "moe_intermediate_size" }

#define KEY_NEXTN                                                                                  \
    { "nextn_predict_layers", U32, "num_nextn_predict_layers" }
/* Several residual streams, mixed before and behind each part of a block. */
#define KEYS_HYPER                                                                                 \
    {"hyper_connection.count", U32, "hc_mult"},                                                    \
        {"hyper_connection.sinkhorn_iterations", U32, "hc_sinkhorn_iters"}, {                      \
        "hyper_connection.epsilon", F32, "hc_eps"                                                  \
    }
/* Where the reference says that positions are not scaled, whatever config.json says. */
#define KEY_NO_SCALING                                                                             \
    {                                                                                              \
        "rope.scaling.type", TEXT,                                                                 \
            "if(like_reference, 'none', if(has(rope.factor), if(rope.type == 'linear', 'linear', " \
            "if(rope.type == 'yarn', 'yarn')))) | 'none'"                                          \
    }
#define KEY_NOT_CAUSAL                                                                             \
    { "attention.causal", BOOL, "false" }
/* The kinds of layers, which config.json has had two spellings of: that of a layer, as the first. */
#define WINDOWS      "sliding_attention full_attention/attention"
#define LAYER_KINDS  "mamba/linear_attention attention/full_attention"
#define LAYER_WINDOW "word(at(layer_types, layer), '" WINDOWS "') == 'sliding_attention'"
/* llama.cpp stops where none of the layers has the window that the keys tell of. */
#define WITH_WINDOWS                                                                               \
    "if(like_reference, sliding_window, if(has(layer_types), if(in('sliding_attention', "          \
    "layer_types, '" WINDOWS "'), sliding_window), sliding_window))"
#define KEYS_WINDOW_BY_LAYER                                                                       \
    {"attention.sliding_window", U32, "sliding_window"}, {                                         \
        "attention.sliding_window_pattern[layer_types]", BOOL,                                     \
            "if(has(sliding_window), " LAYER_WINDOW ")"                                            \
    }
/* How experts are scored where llama.cpp has one way for the architecture. */
#define KEY_SIGMOID                                                                                \
    { "expert_gating_func", U32, "if(word(score_function, 'sigmoid') == 'sigmoid', 2, 2)" }

/* Query and key rows as llama.cpp's rotary positions want them; what Meta calls wq and wk is so. */
#define RULES_PERMUTE                                                                              \
    {"*.attention.wq@", NULL, "as_is"}, {"*.attention.wk@", NULL, "as_is"},                        \
        {"=blk.#.attn_q@", NULL, "heads(n_heads | num_attention_heads)"}, {                        \
        "=blk.#.attn_k@", NULL,                                                                    \
            "heads(n_kv_heads | num_key_value_heads | n_heads | num_attention_heads)"              \
    }
#define RULE_HYPER(name)                                                                           \
    { "*." name, "=blk.#." name ".weight", NULL }
#define RULES_HYPER                                                                                \
    RULE_HYPER("hc_attn_fn"), RULE_HYPER("hc_attn_base"), RULE_HYPER("hc_attn_scale"),             \
        RULE_HYPER("hc_ffn_fn"), RULE_HYPER("hc_ffn_base"), RULE_HYPER("hc_ffn_scale")
#define SHAPES_HYPER                                                                               \
    {"*.hc_attn_fn", "d0, d1"}, {"*.hc_attn_base", "d0"}, {"*.hc_attn_scale", "d0"},               \
        {"*.hc_ffn_fn", "d0, d1"}, {"*.hc_ffn_base", "d0"}, {                                      \
        "*.hc_ffn_scale", "d0"                                                                     \
    }
#define RULE_DROP(pattern)                                                                         \
    { pattern, NULL, "drop" }
/* Experts that are stored as one tensor, gate above up. */
#define RULES_FUSED_EXPERTS                                                                        \
    {"*.mlp.experts.gate_up_proj", ".mlp.experts.gate_proj.weight", "rows(1, 0, d1 / 2)"},         \
        {"*.mlp.experts.gate_up_proj", ".mlp.experts.up_proj.weight", "rows(1, d1 / 2, d1 / 2)"},  \
        {"*.mlp.experts.gate_up_proj.weight", ".mlp.experts.gate_proj.weight",                     \
         "rows(1, 0, d1 / 2)"},                                                                    \
        {"*.mlp.experts.gate_up_proj.weight", ".mlp.experts.up_proj.weight",                       \
         "rows(1, d1 / 2, d1 / 2)"},                                                               \
    {                                                                                              \
        "*.mlp.experts.down_proj", ".mlp.experts.down_proj.weight", NULL                           \
    }
/* Experts that are stored as one tensor of columns, gate beside up: what stands after the pattern. */
#define SWAPPED_GATE(in) in ".experts.gate_proj.weight", "swap(1, 2) rows(1, 0, d1 / 2)"
#define SWAPPED_UP(in)   in ".experts.up_proj.weight", "swap(1, 2) rows(1, d1 / 2, d1 / 2)"
#define SWAPPED_DOWN(in) in ".experts.down_proj.weight", "swap(1, 2)"
/* Keys and values of latent attention, the keys transposed. */
#define RULES_LATENT                                                                               \
    {"*.self_attn.kv_b_proj.weight", ".self_attn.k_b_proj.weight",                                 \
     "view(0, qk_nope_head_dim + v_head_dim, d1) rows(1, 0, qk_nope_head_dim) swap(1, 2)"},        \
    {                                                                                              \
        "*.self_attn.kv_b_proj.weight", ".self_attn.v_b_proj.weight",                              \
            "view(0, qk_nope_head_dim + v_head_dim, d1) rows(1, qk_nope_head_dim, v_head_dim)"     \
    }
/* What they are made of. */
#define SHAPE_LATENT                                                                               \
    {                                                                                              \
        "*.self_attn.kv_b_proj.weight",                                                            \
            "num_attention_heads * (qk_nope_head_dim + v_head_dim), kv_lora_rank"                  \
    }
#define RULES_MAMBA2                                                                               \
    {"=blk.#.ssm_a", NULL, "view(d0, 1) negexp"}, {"=blk.#.ssm_d", NULL, "view(d0, 1)"},           \
        {"=blk.#.ssm_conv1d.weight", NULL, "squeeze"}, {                                           \
        "=blk.#.ssm_norm.weight", NULL, "view(m.groups, 0)"                                        \
    }
/* GPT-2 stores matrices as columns. */
#define RULES_CONV1D                                                                               \
    {"=blk.#.attn_qkv.weight", NULL, "swap(0, 1)"},                                                \
        {"=blk.#.attn_output.weight", NULL, "swap(0, 1)"},                                         \
        {"=blk.#.ffn_down.weight", NULL, "swap(0, 1)"}, {                                          \
        "=blk.#.ffn_up.weight", NULL, "swap(0, 1)"                                                 \
    }
#define SHAPES_CONV1D                                                                              \
    {"=blk.#.attn_qkv.weight", "d1, d0"}, {"=blk.#.attn_output.weight", "d1, d0"},                 \
        {"=blk.#.ffn_down.weight", "d1, d0"}, {                                                    \
        "=blk.#.ffn_up.weight", "d1, d0"                                                           \
    }

/* The way back: spellings of tensors and of members of config.json; each ends with a blank. */
#define HF_ENDS    "model.layers. model.embed_tokens model.norm lm_head "
#define HF_NORMS   "input_layernorm post_attention_layernorm "
#define HF_ATTN    "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
#define HF_QK_NORM "self_attn.q_norm self_attn.k_norm "
#define HF_MLP     "mlp.gate_proj mlp.up_proj mlp.down_proj "
#define HF_EXPERTS "mlp.gate mlp.experts.gate_proj mlp.experts.up_proj mlp.experts.down_proj "
#define HF_MOE     HF_EXPERTS "mlp.gate.e_score_correction "
#define HF_SHARED                                                                                  \
    "mlp.shared_experts.gate_proj mlp.shared_experts.up_proj mlp.shared_experts.down_proj "
#define HF_NEXTN    "eh_proj enorm hnorm embed_tokens shared_head.head shared_head.norm "
#define HF_SANDWICH "pre_feedforward_layernorm post_feedforward_layernorm "
#define HF_CONFIG                                                                                  \
    "max_position_embeddings hidden_size intermediate_size num_attention_heads "                   \
    "num_key_value_heads rope_theta rms_norm_eps head_dim num_experts_per_tok "                    \
    "partial_rotary_factor rope_local_base_freq original_max_position_embeddings "
#define HF_DENSE HF_ENDS HF_NORMS HF_ATTN HF_MLP HF_CONFIG

/* Members of config.json that tell of biases. */
#define BACK_BIASES                                                                                \
    "attention_bias = if(has(tensors.attn_q.bias), true)",                                         \
        "mlp_bias = if(has(tensors.ffn_up.bias), true)"
#define BACK_ROTARY                                                                                \
    "partial_rotary_factor = rope.dimension_count * attention.head_count / embedding_length"

/* Members of transformers' rope_parameters, or of those of one kind of layers, which ends with a dot. */
#define BACK_ROPE_BESIDE(of)                                                                       \
    "rope_parameters." of "rope_type = if(rope.scaling.type == 'yarn', 'yarn') | "                 \
    "if(rope.scaling.type == 'linear', 'linear') | 'default'",                                     \
        "rope_parameters." of "rope_theta = rope.freq_base",                                       \
        "rope_parameters." of "factor = rope.scaling.factor",                                      \
        "rope_parameters." of                                                                      \
        "original_max_position_embeddings = rope.scaling.original_context_length",                 \
        "rope_parameters." of "attention_factor = rope.scaling.yarn_attn_factor | "                \
        "if(rope.scaling.type == 'yarn', rope.scaling.attn_factor * " TARE_LLAMA_YARN_KEY(         \
            "1") ")",                                                                              \
        "rope_parameters." of "beta_fast = rope.scaling.yarn_beta_fast",                           \
        "rope_parameters." of "beta_slow = rope.scaling.yarn_beta_slow"
/* The same instead of what older versions have. */
#define BACK_ROPE(of) BACK_ROPE_BESIDE(of), "rope_theta = nothing", "rope_scaling = nothing"
#define BACK_LONGROPE                                                                              \
    "original_max_position_embeddings = if(rope.scaling.type == 'longrope', "                      \
    "rope.scaling.original_context_length)"
#define BACK_ROPE_SWA                                                                              \
    "rope_parameters.sliding_attention.rope_type = if(has(rope.freq_base_swa), 'default')",        \
        "rope_parameters.sliding_attention.rope_theta = rope.freq_base_swa",                       \
        "rope_local_base_freq = nothing"

#define BACK_LAYER_TYPES                                                                           \
    "layer_types[] = if(layer < len(attention.sliding_window_pattern), "                           \
    "if(at(attention.sliding_window_pattern, layer), 'sliding_attention', 'full_attention'))"

/* The first block with a window, and the first without. */
#define FIRST_WINDOW "leading(attention.sliding_window_pattern, false)"
#define FIRST_WHOLE  "leading(attention.sliding_window_pattern, true)"

/* Which layers are a mixture of experts, where the first n are not. */
#define DENSE_FIRST         "if(has(mlp_layer_types), leading(mlp_layer_types, 'dense', 'dense sparse'))"
#define BACK_DENSE_FIRST(n) "mlp_layer_types[] = if(layer < (" n " | 0), 'dense', 'sparse')"

#define BACK_HYPER                                                                                 \
    "hc_mult = hyper_connection.count",                                                            \
        "hc_sinkhorn_iters = hyper_connection.sinkhorn_iterations",                                \
        "hc_eps = hyper_connection.epsilon"

#define HEAD_DIM_OF_HIDDEN "head_dim = floor(hidden_size / num_attention_heads)"
#define KV_HEADS_ALL       "num_key_value_heads = num_attention_heads"
/* The class scores experts so where config.json does not say how. */
#define SIGMOID_ROUTER "class.scoring_func = if(like_reference, nothing, 'sigmoid')"

/* Defaults: as many heads of keys as of queries. */
extern const char *const tare_llama_all_heads[];
/* The keys of Llama after those common to all. */
extern const tare_llama_key tare_llama_usual_keys[];
/* The order of Llama's rotary halves, with biases and for weights alone; a head that repeats the
 * embeddings is left out. */
extern const tare_llama_rule tare_llama_permute[];
extern const tare_llama_rule tare_llama_permute_weights[];
extern const tare_llama_rule tare_llama_tied_head[];

/* Which layers the projectors of Granite 4 Vision feed. */
tare_status tare_llama_granite_deepstack(tare_llama_mapping *m, tare_error *err);

/* The tables of the families; `name` NULL ends each. */
extern const tare_llama_arch
    tare_llama_family_drafts[]; /* before Llama, one of whose classes it has */
extern const tare_llama_arch tare_llama_family_llama[];
extern const tare_llama_arch tare_llama_family_qwen[];
extern const tare_llama_arch tare_llama_family_gemma[];
extern const tare_llama_arch tare_llama_family_phi[];
extern const tare_llama_arch tare_llama_family_bert[];
extern const tare_llama_arch tare_llama_family_gpt[];
extern const tare_llama_arch tare_llama_family_dense[];
extern const tare_llama_arch tare_llama_family_granite[];
extern const tare_llama_arch tare_llama_family_deepseek[];
extern const tare_llama_arch tare_llama_family_deepseek4[];
extern const tare_llama_arch tare_llama_family_glm[];
extern const tare_llama_arch tare_llama_family_moe[];
extern const tare_llama_arch tare_llama_family_mamba[];
extern const tare_llama_arch tare_llama_family_t5[];
extern const tare_llama_arch tare_llama_family_towers[];
extern const tare_llama_arch tare_llama_family_encoders[];
extern const tare_llama_arch tare_llama_family_delta[];
extern const tare_llama_arch tare_llama_family_hybrid[];
extern const tare_llama_arch tare_llama_family_sparse[];
extern const tare_llama_arch tare_llama_family_rwkv[];
extern const tare_llama_arch tare_llama_family_ernie[];
extern const tare_llama_arch tare_llama_family_exaone[];
extern const tare_llama_arch tare_llama_family_hunyuan[];
extern const tare_llama_arch tare_llama_family_lfm2[];
extern const tare_llama_arch tare_llama_family_plamo[];
extern const tare_llama_arch tare_llama_family_others[];
extern const tare_llama_arch tare_llama_family_muse[];

/* The same of towers. */
extern const tare_llama_arch tare_llama_towers_siglip[];
extern const tare_llama_arch tare_llama_towers_qwen[];
extern const tare_llama_arch tare_llama_towers_vision[];
extern const tare_llama_arch tare_llama_towers_clip[];
extern const tare_llama_arch tare_llama_towers_documents[];
extern const tare_llama_arch tare_llama_towers_deepseek[];
extern const tare_llama_arch tare_llama_towers_muse[];
extern const tare_llama_arch tare_llama_towers_dots3[];
extern const tare_llama_arch tare_llama_towers_nemotron[];
extern const tare_llama_arch tare_llama_towers_audio[];
extern const tare_llama_arch tare_llama_towers_conformer[];
extern const tare_llama_arch tare_llama_towers_granite[];
extern const tare_llama_arch tare_llama_towers_omni[];
extern const tare_llama_arch tare_llama_towers_gemma[];
extern const tare_llama_arch tare_llama_towers_gemma3n[];

#endif
