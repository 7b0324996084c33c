/* SPDX-License-Identifier: MIT
 *
 * T5: an encoder and a decoder that share their embeddings. */
#include "llama/arch/rows.h"

#define T5_DECODER                                                                                 \
    "dec.attn_norm dec.attn_q dec.attn_k dec.attn_v dec.attn_o dec.attn_rel_b "                    \
    "dec.cross_attn_norm "                                                                         \
    "dec.cross_attn_q dec.cross_attn_k dec.cross_attn_v dec.cross_attn_o dec.cross_attn_rel_b "    \
    "dec.ffn_norm dec.ffn_gate dec.ffn_down dec.ffn_up dec.output_norm "
#define T5_ENCODER                                                                                 \
    "token_embd output enc.attn_norm enc.attn_q enc.attn_k enc.attn_v enc.attn_o enc.attn_rel_b "  \
    "enc.ffn_norm enc.ffn_gate enc.ffn_down enc.ffn_up enc.output_norm "

static const char *const t5_defaults[] = {
    "layer_norm_epsilon = 0.000001",
    "relative_attention_num_buckets = 32",
    "decoder_start_token_id = 0",
    "d_kv = 64",
    "t.is_scaled = if(like_reference, false, if(model_type == 'mt5', false, "
    "if(is_null('scale_decoder_outputs'), false, scale_decoder_outputs | tie_word_embeddings | "
    "true)))",
    NULL};
static const tare_llama_key t5_own[] = {
    {"context_length", U32, "n_positions | 512"},
    {"embedding_length", U32, "d_model"},
    {"feed_forward_length", U32, "d_ff"},
    {"block_count", U32, "layers"},
    {"decoder_block_count", U32, "num_decoder_layers | layers"},
    {"attention.head_count", U32, "num_heads"},
    {"attention.key_length", U32, "d_kv"},
    {"attention.value_length", U32, "d_kv"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    {"attention.relative_buckets_count", U32, "relative_attention_num_buckets"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon"},
    {"decoder_start_token_id", U32, "decoder_start_token_id"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_key t5encoder_own[] = {
    {"context_length", U32, "n_positions | 512"},
    {"embedding_length", U32, "d_model"},
    {"feed_forward_length", U32, "d_ff"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "num_heads"},
    {"attention.key_length", U32, "d_kv"},
    {"attention.value_length", U32, "d_kv"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    {"attention.relative_buckets_count", U32, "relative_attention_num_buckets"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
/* Embeddings may be stored up to three times; the first counts. The first T5 scales what its head reads,
 * which llama.cpp does not: the head is scaled, and then is another one than the embeddings. */
#define T5_SCALE "if(t.is_scaled) mul(1 / sqrt(d_model)) "
static const tare_llama_rule t5_rules[] = {
    {"=output.weight", NULL, T5_SCALE},
    {"shared.weight", "=output.weight", T5_SCALE "first"},
    {"decoder.embed_tokens.weight", "=token_embd.weight", "first"},
    {"encoder.embed_tokens.weight", "=token_embd.weight", "first"},
    {"shared.weight", "=token_embd.weight", "first"},
    END_OF_RULES};

static const tare_llama_rule t5encoder_rules[] = {
    {"encoder.embed_tokens.weight", "=token_embd.weight", "first"},
    {"shared.weight", "=token_embd.weight", "first"},
    END_OF_RULES};

#define T5_SIZES                                                                                   \
    "d_model = embedding_length", "d_ff = feed_forward_length", "num_layers = block_count",        \
        "num_hidden_layers = nothing", "num_decoder_layers = decoder_block_count",                 \
        "num_heads = attention.head_count", "d_kv = attention.key_length",                         \
        "layer_norm_epsilon = attention.layer_norm_rms_epsilon",                                   \
        "relative_attention_num_buckets = attention.relative_buckets_count",                       \
        "is_encoder_decoder = true", "scale_decoder_outputs = false"
#define T5_NAMES                                                                                   \
    "encoder.block. decoder.block. shared lm_head encoder.final_layer_norm "                       \
    "decoder.final_layer_norm layer.0.layer_norm layer.1.layer_norm layer.2.layer_norm "           \
    "layer.0.SelfAttention.q layer.0.SelfAttention.k layer.0.SelfAttention.v "                     \
    "layer.0.SelfAttention.o layer.0.SelfAttention.relative_attention_bias "                       \
    "layer.1.EncDecAttention.q layer.1.EncDecAttention.k layer.1.EncDecAttention.v "               \
    "layer.1.EncDecAttention.o layer.1.EncDecAttention.relative_attention_bias "                   \
    "layer.1.DenseReluDense.wo layer.2.DenseReluDense.wo "
#define T5_GATED_NAMES                                                                             \
    T5_NAMES "layer.1.DenseReluDense.wi_0 layer.1.DenseReluDense.wi_1 "                            \
             "layer.2.DenseReluDense.wi_0 layer.2.DenseReluDense.wi_1"
#define T5_PLAIN_NAMES T5_NAMES "layer.1.DenseReluDense.wi layer.2.DenseReluDense.wi"
static const char *const t5_back_config[] = {"model_type = 't5'",
                                             "feed_forward_proj = 'gated-gelu'", T5_SIZES, NULL};
static const tare_llama_shape_row t5_back_shapes[] = {{"shared.weight", "d0, d1"}, {NULL, NULL}};
/* UMT5 has positions of its own in each layer. */
#define T5_HAS_ALL_POSITIONS "tensors.enc.attn_rel_b.weight.blocks == block_count"
static const char *const umt5_back_config[] = {"model_type = 'umt5'",
                                               "feed_forward_proj = 'gated-gelu'", T5_SIZES, NULL};
static const tare_llama_back umt5_back = {
    .names = T5_GATED_NAMES,
    .config = umt5_back_config,
    .shapes = t5_back_shapes,
    .when = "if(block_count > 1, if(has(tensors.enc.ffn_gate.weight), " T5_HAS_ALL_POSITIONS "))"};
static const char *const umt5_plain_back_config[] = {"model_type = 'umt5'",
                                                     "feed_forward_proj = 'relu'", T5_SIZES, NULL};
static const tare_llama_back umt5_plain_back = {.names = T5_PLAIN_NAMES,
                                                .config = umt5_plain_back_config,
                                                .shapes = t5_back_shapes,
                                                .when = "if(block_count > 1, " T5_HAS_ALL_POSITIONS
                                                        ")"};
static const tare_llama_back t5_back = {.names = T5_GATED_NAMES,
                                        .config = t5_back_config,
                                        .shapes = t5_back_shapes,
                                        .when = "has(tensors.enc.ffn_gate.weight)"};
static const char *const t5_plain_back_config[] = {"model_type = 't5'",
                                                   "feed_forward_proj = 'relu'", T5_SIZES, NULL};
static const tare_llama_back t5_plain_back = {
    .names = T5_PLAIN_NAMES, .config = t5_plain_back_config, .shapes = t5_back_shapes};
#define T5_ENCODER_SIZES                                                                           \
    "model_type = 't5'", "d_model = embedding_length", "d_ff = feed_forward_length",               \
        "num_layers = block_count", "num_hidden_layers = nothing",                                 \
        "num_decoder_layers = decoder_block_count", "num_heads = attention.head_count",            \
        "d_kv = attention.key_length", "layer_norm_epsilon = attention.layer_norm_rms_epsilon",    \
        "relative_attention_num_buckets = attention.relative_buckets_count"
static const char *const t5encoder_back_config[] = {T5_ENCODER_SIZES,
                                                    "feed_forward_proj = 'gated-gelu'", NULL};
static const char *const t5encoder_plain_back_config[] = {T5_ENCODER_SIZES,
                                                          "feed_forward_proj = 'relu'", NULL};
static const tare_llama_shape_row t5encoder_back_shapes[] = {{"shared.weight", "d0, d1"},
                                                             {NULL, NULL}};
static const tare_llama_back t5encoder_back = {.names = T5_GATED_NAMES,
                                               .config = t5encoder_back_config,
                                               .shapes = t5encoder_back_shapes,
                                               .when = "has(tensors.enc.ffn_gate.weight)"};
static const tare_llama_back t5encoder_plain_back = {.names = T5_PLAIN_NAMES,
                                                     .config = t5encoder_plain_back_config,
                                                     .shapes = t5encoder_back_shapes};

#define T5_CLASSES "T5ForConditionalGeneration T5WithLMHeadModel MT5ForConditionalGeneration"
#define T5_ROW(of, way_back)                                                                       \
    {                                                                                              \
        .name = "t5", .classes = of, .tensors = T5_ENCODER T5_DECODER,                             \
        .optional = "attn_rel_b cross_attn_rel_b ffn_gate", .defaults = t5_defaults,               \
        .own = t5_own, .rules = t5_rules, .tokenizer = {.family = TARE_LLAMA_VOCAB_UNIGRAM},       \
        .back = &way_back                                                                          \
    }
#define T5_ENCODER_ROW(way_back)                                                                   \
    {                                                                                              \
        .name = "t5encoder", .classes = "T5EncoderModel", .tensors = T5_ENCODER,                   \
        .optional = "attn_rel_b ffn_gate", .defaults = t5_defaults, .own = t5encoder_own,          \
        .rules = t5encoder_rules, .tokenizer = {.family = TARE_LLAMA_VOCAB_UNIGRAM},               \
        .back = &way_back                                                                          \
    }
const tare_llama_arch tare_llama_family_t5[] = {
    T5_ROW("UMT5ForConditionalGeneration UMT5Model", umt5_back),
    T5_ROW("UMT5ForConditionalGeneration UMT5Model", umt5_plain_back),
    T5_ROW(T5_CLASSES, t5_back),
    T5_ROW(T5_CLASSES, t5_plain_back),
    T5_ENCODER_ROW(t5encoder_back),
    T5_ENCODER_ROW(t5encoder_plain_back),
    {.name = NULL},
};
