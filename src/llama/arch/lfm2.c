/* SPDX-License-Identifier: MIT
 *
 * LFM2: layers of short convolutions among those of attention, also with experts. */
#include "llama/arch/rows.h"

static const char *const lfm2_defaults[] = {
    "num_key_value_heads = 8", "rope_theta = 1000000", "norm_eps = 0.00001",
    "block_auto_adjust_ff_dim = true", "block_multiple_of = 256",
    "lfm2.ff = block_ff_dim | intermediate_size",
    "lfm2.adjusted = floor((block_ffn_dim_multiplier | 1) * floor(2 * lfm2.ff / 3))",
    "lfm2.conv = conv_L_cache | 3",
    "lfm2.kind = word(at(layer_types, layer), 'conv full_attention/attention')",
    /* files of its first release number these layers */
    "lfm2.is_attention = if(has(layer_types), 1 - (lfm2.kind == 'conv'), "
    "if(has(full_attn_idxs), in(layer, full_attn_idxs), 1))",
    NULL};
#define LFM2_KEYS                                                                                  \
    {"attention.head_count_kv[]", I32, "if(lfm2.is_attention, num_key_value_heads, 0)"},           \
        KEY_VOCAB_SIZE, {"shortconv.l_cache", U32, "lfm2.conv"},                                   \
        {"attention.layer_norm_rms_epsilon", F32, "norm_eps"}, {                                   \
        "feed_forward_length", U32,                                                                \
            "if(block_auto_adjust_ff_dim, block_multiple_of * floor((lfm2.adjusted + "             \
            "block_multiple_of - "                                                                 \
            "1) / block_multiple_of), lfm2.ff)"                                                    \
    }
static const tare_llama_key lfm2_keys[] = {LFM2_KEYS, END_OF_KEYS};
static const tare_llama_key lfm2_encoder_keys[] = {LFM2_KEYS, KEY_NOT_CAUSAL, END_OF_KEYS};
/* The part of LFM2-Audio that produces sound has names of its own. */
static const tare_llama_rule lfm2_rules[] = {{"=blk.#.shortconv.conv@", NULL, "view(d0, d2)"},
                                             RULE_DROP("codebook_offsets"),
                                             RULE_DROP("depth_embeddings.*"),
                                             RULE_DROP("depth_linear@"),
                                             RULE_DROP("depthformer.*"),
                                             END_OF_RULES};
/* What makes sound of the codes of LFM2.5-Audio: a small model without a tokenizer, whose vectors are
 * spectra. */
static const tare_llama_key lfm2_sound_keys[] = {
    LFM2_KEYS,
    {"attention.sliding_window", U32, "sliding_window"},
    {"embedding_length_out", U32, "output_size"},
    END_OF_KEYS};
static const tare_llama_rule lfm2_sound_rules[] = {{"=blk.#.shortconv.conv@", NULL, "view(d0, d2)"},
                                                   {"lin@", "=dense_2", NULL},
                                                   RULE_DROP("emb.emb*"),
                                                   RULE_DROP("istft.window"),
                                                   END_OF_RULES};
static const char *const lfm2moe_defaults[] = {"num_key_value_heads = 8", "rope_theta = 1000000",
                                               "norm_eps = 0.00001", NULL};
static const tare_llama_key lfm2moe_keys[] = {
    {"attention.head_count_kv[]", I32,
     "if(word(at(layer_types, layer), 'conv full_attention/attention') == 'full_attention', "
     "num_key_value_heads, 0)"},
    KEY_EXPERT_FFN,
    {"leading_dense_block_count", U32, "num_dense_layers"},
    KEY_SIGMOID,
    KEY_VOCAB_SIZE,
    {"shortconv.l_cache", U32, "conv_L_cache"},
    END_OF_KEYS};

#define BACK_CONV_LAYERS                                                                           \
    "layer_types[] = if(at(attention.head_count_kv, layer) == 0, 'conv', 'full_attention')",       \
        "num_key_value_heads = max(at(attention.head_count_kv, 0), "                               \
        "max(at(attention.head_count_kv, 1), at(attention.head_count_kv, 2) | 0))"
static const char *const lfm2_back_config[] = {"model_type = 'lfm2'",
                                               BACK_CONV_LAYERS,
                                               "conv_L_cache = shortconv.l_cache",
                                               "norm_eps = attention.layer_norm_rms_epsilon",
                                               "block_auto_adjust_ff_dim = false",
                                               "conv_bias = has(tensors.shortconv.conv.bias)",
                                               NULL};
static const char *const lfm2moe_back_config[] = {
    "model_type = 'lfm2_moe'", BACK_CONV_LAYERS, "norm_eps = attention.layer_norm_rms_epsilon",
    "conv_bias = has(tensors.shortconv.conv.bias)", NULL};
static const tare_llama_shape_row lfm2_back_shapes[] = {{"=blk.#.shortconv.conv@", "d0, 1, d1"},
                                                        {NULL, NULL}};
#define LFM2_NAMES                                                                                 \
    "model.layers. model.embed_tokens model.embedding_norm lm_head operator_norm ffn_norm "        \
    "feed_forward.w1 feed_forward.w2 feed_forward.w3 conv.conv conv.in_proj conv.out_proj "        \
    "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "                       \
    "self_attn.q_layernorm self_attn.k_layernorm " HF_CONFIG
static const tare_llama_back lfm2_back = {.names = LFM2_NAMES,
                                          .config = lfm2_back_config,
                                          .shapes = lfm2_back_shapes,
                                          .when = "if(has(embedding_length_out), false, "
                                                  "has(attention.causal) == false)"};
static const tare_llama_back lfm2moe_back = {
    .names = LFM2_NAMES "feed_forward.gate feed_forward.expert_bias feed_forward.experts.w1 "
                        "feed_forward.experts.w2 feed_forward.experts.w3 num_experts",
    .config = lfm2moe_back_config,
    .shapes = lfm2_back_shapes};

#define LFM2_TENSORS                                                                               \
    "token_embd token_embd_norm output dense_2 shortconv.conv shortconv.in_proj "                  \
    "shortconv.out_proj " QKV NORMS FFN QK_NORMS
static const char *const lfm2_encoder_back_config[] = {
    "model_type = 'lfm2'",
    BACK_CONV_LAYERS,
    "conv_L_cache = shortconv.l_cache",
    "norm_eps = attention.layer_norm_rms_epsilon",
    "block_auto_adjust_ff_dim = false",
    "conv_bias = has(tensors.shortconv.conv.bias)",
    NULL};
static const tare_llama_shape_row lfm2_encoder_back_shapes[] = {
    {"=blk.#.shortconv.conv@", "d0, 1, d1"}, {NULL, NULL}};
static const tare_llama_back lfm2_encoder_back = {.names = LFM2_NAMES,
                                                  .when = "has(embedding_length_out) == false",
                                                  .config = lfm2_encoder_back_config,
                                                  .shapes = lfm2_encoder_back_shapes};

const tare_llama_arch tare_llama_family_lfm2[] = {
    {.name = "lfm2",
     .classes = "Lfm2ForCausalLM LFM2ForCausalLM",
     .tensors = LFM2_TENSORS,
     .cut = "lfm.>model.",
     .defaults = lfm2_defaults,
     .keys = lfm2_keys,
     .rules = lfm2_rules,
     .back = &lfm2_back},
    {.name = "lfm2",
     .classes = "Lfm25AudioTokenizer",
     .tensors = LFM2_TENSORS,
     .cut = "lfm.>model.",
     .defaults = lfm2_defaults,
     .keys = lfm2_sound_keys,
     .rules = lfm2_sound_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_NONE}},
    {.name = "lfm2",
     .classes = "Lfm2Model",
     .tensors = LFM2_TENSORS,
     .prefix = "model.",
     .defaults = lfm2_defaults,
     .keys = lfm2_keys,
     .rules = lfm2_rules,
     .has_pooling = true},
    {.name = "lfm2",
     .classes = "Lfm2BidirectionalModel",
     .tensors = LFM2_TENSORS,
     .prefix = "model.",
     .defaults = lfm2_defaults,
     .keys = lfm2_encoder_keys,
     .rules = lfm2_rules,
     .has_pooling = true,
     .back = &lfm2_encoder_back},
    {.name = "lfm2moe",
     .classes = "Lfm2MoeForCausalLM",
     .tensors =
         "token_embd token_embd_norm output shortconv.conv shortconv.in_proj shortconv.out_proj "
         "exp_probs_b " QKV NORMS FFN MOE QK_NORMS,
     .cut = ".expert_bias=.expert_bias.bias",
     .defaults = lfm2moe_defaults,
     .keys = lfm2moe_keys,
     .rules = lfm2_rules,
     .back = &lfm2moe_back},
    {.name = NULL},
};
