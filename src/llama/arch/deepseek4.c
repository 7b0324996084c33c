/* SPDX-License-Identifier: MIT
 *
 * DeepSeek V4: one head of keys that are the values, too, windows beside tokens that are compressed by 4
 * (with an index) or by 128, several residual streams, and first layers whose experts a table of tokens
 * says. Names are those of the published files; transformers writes some of them otherwise. */
#include "llama/arch/rows.h"

#define V4_LAYERS                                                                                  \
    "sliding_attention compressed_sparse_attention heavily_compressed_attention full_attention"
#define V4_HASHED "leading(mlp_layer_types, 'hash_moe', 'hash_moe moe/sparse')"
/* A number for each layer, or what each kind of layers has. */
#define V4_RATIO                                                                                   \
    "if(v4.kind == 'compressed_sparse_attention', compress_rate_csa | "                            \
    "compress_rates.compressed_sparse_attention | 4, if(v4.kind == "                               \
    "'heavily_compressed_attention', compress_rate_hca | "                                         \
    "compress_rates.heavily_compressed_attention | 128, 0))"
static const char *const v4_defaults[] = {
    "v4.kind = word(at(layer_types, layer), '" V4_LAYERS "')",
    "num_hash_layers = " V4_HASHED,
    "qk_rope_head_dim = floor(head_dim * rope.partial)",
    "compress_rope_theta = rope_parameters.compress.rope_theta",
    "norm_topk_prob = true",
    NULL};
#define V4_KEYS                                                                                    \
    {"rope.scaling.attn_factor", F32, NULL}, /* llama.cpp scales nothing here */                   \
        {"rope.dimension_count", U32, "qk_rope_head_dim"},                                         \
        {"attention.q_lora_rank", U32, "q_lora_rank"},                                             \
        {"attention.sliding_window", U32, "sliding_window"}, KEY_EXPERT_FFN,                       \
        {"expert_shared_count", U32, "n_shared_experts"},                                          \
        {"expert_weights_scale", F32, "routed_scaling_factor"}, /* whatever norm_topk_prob says */ \
        {"expert_weights_norm", BOOL, "if(like_reference, norm_topk_prob, true)"},                 \
        {"swiglu_clamp_exp[]", F32, "swiglu_limit"},                                               \
        {"swiglu_clamp_shexp[]", F32, "swiglu_limit"},                                             \
        {"attention.indexer.head_count", U32, "index_n_heads"},                                    \
        {"attention.indexer.key_length", U32, "index_head_dim"},                                   \
        {"attention.indexer.top_k", U32, "index_topk"},                                            \
        {"attention.output_group_count", U32, "o_groups"}, {                                       \
        "attention.output_lora_rank", U32, "o_lora_rank"                                           \
    }
#define V4_KEYS_REST                                                                               \
    {"attention.compress_rope_freq_base", F32,                                                     \
     "rope_parameters.compress.rope_theta | compress_rope_theta"},                                 \
        KEYS_HYPER
static const tare_llama_key v4_keys[] = {
    V4_KEYS,
    {"attention.compress_ratios[layer_types]", I32, V4_RATIO},
    {"attention.compress_ratios[compress_ratios]", I32, "at(compress_ratios, layer)"},
    V4_KEYS_REST,
    {"hash_layer_count", U32, "num_hash_layers"},
    {"embedding_length_out", U32, "hidden_size * hc_mult"},
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
/* A draft of its layers, none of which compresses or hashes. */
static const tare_llama_key v4_dspark_keys[] = {
    V4_KEYS,
    {"attention.compress_ratios[]", I32, "0"},
    V4_KEYS_REST,
    {"hash_layer_count", U32, "0"},
    {"block_size", U32, "dspark_block_size"},
    {"target_layers[dspark_target_layer_ids]", I32, "at(dspark_target_layer_ids, layer) + 1"},
    END_OF_KEYS};
#define V4_BARE(name, to) "*." name, "=blk.#." to, NULL
#define V4_RULES                                                                                   \
    RULES_HYPER, {"*hc_head_fn", "=output_hc_fn.weight", NULL},                                    \
        {"*hc_head_base", "=output_hc_base.weight", NULL},                                         \
        {"*hc_head_scale", "=output_hc_scale.weight", NULL},                                       \
        {V4_BARE("attn.attn_sink", "attn_sinks.weight")}, {                                        \
        V4_BARE("ffn.gate.bias", "exp_probs_b.bias")                                               \
    }
static const tare_llama_rule v4_rules[] = {
    RULE_DROP("aligner.*"),
    RULE_DROP("image_*"),
    RULE_DROP("vision.*"),
    V4_RULES,
    {"*hc_head.hc_fn", "=output_hc_fn.weight", NULL},
    {"*hc_head.hc_base", "=output_hc_base.weight", NULL},
    {"*hc_head.hc_scale", "=output_hc_scale.weight", NULL},
    {V4_BARE("attn.compressor.ape", "attn_compressor_ape.weight")},
    {V4_BARE("attn.indexer.compressor.ape", "indexer_compressor_ape.weight")},
    {"*.ffn.gate.bias", NULL, "if(layer < num_hash_layers) drop"},
    {V4_BARE("ffn.gate.bias_vl", "exp_probs_b_vl.bias")},
    {"*.e_proj.weight", "=blk.#.nextn.eh_proj.weight", "beside(0, 2)"},
    {"*.h_proj.weight", "=blk.#.nextn.eh_proj.weight", "beside(1, 2)"},
    {"model.layers.#.norm.weight", "=blk.#.nextn.shared_head_norm.weight", NULL},
    {"*.ffn.gate.tid2eid", "=blk.#.ffn_gate_tid2eid.weight", "ids(n_routed_experts)"},
    END_OF_RULES};
/* What is not of the draft's stages is the model's. */
static const tare_llama_rule v4_dspark_rules[] = {
    RULE_DROP("layers.*"),
    RULE_DROP("embed.*"),
    RULE_DROP("norm.*"),
    RULE_DROP("head.*"),
    RULE_DROP("hc_head_*"),
    RULE_DROP("*.ffn.gate.bias_vl"),
    V4_RULES,
    {"*.main_proj.weight", "=fc.weight", NULL},
    {"*.main_norm.weight", "=enc.output_norm.weight", NULL},
    {"*.markov_head.markov_w1.weight", "=markov_w1.weight", NULL},
    {"*.markov_head.markov_w2.weight", "=markov_w2.weight", NULL},
    {"*.confidence_head.proj.weight", "=conf_proj.weight", NULL},
    {"model.layers.#.norm.weight", "=output_norm.weight", NULL},
    END_OF_RULES};

static const char *const v4_back_config[] = {
    "model_type = 'deepseek_v4'",
    "intermediate_size = nothing",
    "qk_rope_head_dim = rope.dimension_count",
    "moe_intermediate_size = expert_feed_forward_length",
    "scoring_func = 'sqrtsoftplus'",
    "swiglu_limit = at(swiglu_clamp_exp, 0)",
    "index_n_heads = attention.indexer.head_count",
    "index_head_dim = attention.indexer.key_length",
    "index_topk = attention.indexer.top_k",
    "o_groups = attention.output_group_count",
    "o_lora_rank = attention.output_lora_rank",
    "compress_ratios[] = at(attention.compress_ratios, layer)",
    "compress_rope_theta = attention.compress_rope_freq_base",
    "num_nextn_predict_layers = 0",
    BACK_HYPER,
    "num_hash_layers = hash_layer_count",
    NULL};
static const tare_llama_shape_row v4_back_shapes[] = {SHAPES_HYPER,
                                                      {"*hc_head_fn", "d0, d1"},
                                                      {"*hc_head_base", "d0"},
                                                      {"*hc_head_scale", "d0"},
                                                      {"*.attn.attn_sink", "d0"},
                                                      {"*.attn.compressor.ape", "d0, d1"},
                                                      {"*.attn.indexer.compressor.ape", "d0, d1"},
                                                      {"*.ffn.gate.bias", "d0"},
                                                      {"*.ffn.gate.bias_vl", "d0"},
                                                      {"*.ffn.gate.tid2eid", "d0, d1"},
                                                      {NULL, NULL}};
static const tare_llama_back v4_back = {
    .names =
        "layers. embed attn_norm ffn_norm norm head attn.wq_a attn.wq_b attn.q_norm attn.wkv "
        "attn.kv_norm attn.wo_a attn.wo_b attn.compressor.wkv attn.compressor.wgate "
        "attn.compressor.norm attn.indexer.wq_b attn.indexer.weights_proj "
        "attn.indexer.compressor.wkv attn.indexer.compressor.wgate attn.indexer.compressor.norm "
        "ffn.gate ffn.experts.w1 ffn.experts.w2 ffn.experts.w3 ffn.shared_experts.w1 "
        "ffn.shared_experts.w2 ffn.shared_experts.w3 n_routed_experts " HF_CONFIG,
    .config = v4_back_config,
    .shapes = v4_back_shapes};

#define V4_TENSORS                                                                                 \
    NORMS MOE SHARED HYPER                                                                         \
        "attn_sinks attn_q_a attn_q_a_norm attn_q_b attn_kv attn_kv_a_norm attn_output_a "         \
        "attn_output_b exp_probs_b output_hc_fn output_hc_base output_hc_scale "
const tare_llama_arch tare_llama_family_deepseek4[] = {
    {.name = "deepseek4",
     .classes = "DeepseekV4ForCausalLM",
     .tensors = ENDS V4_TENSORS
     "attn_compressor_kv attn_compressor_gate attn_compressor_ape attn_compressor_norm "
     "indexer.proj indexer.attn_q_b indexer_compressor_kv indexer_compressor_gate "
     "indexer_compressor_ape indexer_compressor_norm ffn_gate_tid2eid exp_probs_b_vl "
     "nextn.eh_proj nextn.enorm nextn.hnorm nextn.shared_head_norm",
     .optional = "ffn_gate_tid2eid exp_probs_b_vl",
     .defaults = v4_defaults,
     .keys = v4_keys,
     .rules = v4_rules,
     .extra_layers = "num_nextn_predict_layers",
     .nextn = "mtp.",
     .nextn_apart = true,
     .back = &v4_back},
    {.name = "dflash",
     .classes = "DeepseekV4DSparkModel",
     .tensors = "output_norm fc enc.output_norm markov_w1 markov_w2 conf_proj " V4_TENSORS,
     .optional = "conf_proj",
     .defaults = v4_defaults,
     .keys = v4_dspark_keys,
     .rules = v4_dspark_rules,
     .layers = "0",
     .extra_layers = "nextn",
     .nextn = "mtp.",
     .is_draft = true,
     .mask_token = "dspark_noise_token_id"},
    {.name = NULL},
};
