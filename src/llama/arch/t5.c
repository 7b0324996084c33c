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

static const char *const t5_defaults[] = {"layer_norm_epsilon = 0.000001",
                                          "relative_attention_num_buckets = 32",
                                          "decoder_start_token_id = 0", "d_kv = 64", NULL};
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
/* Embeddings may be stored up to three times; the first counts. */
static const tare_llama_rule t5_rules[] = {
    {"decoder.embed_tokens.weight", "=token_embd.weight", "first"},
    {"encoder.embed_tokens.weight", "=token_embd.weight", "first"},
    {"shared.weight", "=token_embd.weight", "first"},
    END_OF_RULES};

const tare_llama_arch tare_llama_family_t5[] = {
    {.name = "t5",
     .classes = "T5WithLMHeadModel T5ForConditionalGeneration MT5ForConditionalGeneration "
                "UMT5ForConditionalGeneration UMT5Model",
     .tensors = T5_ENCODER T5_DECODER,
     .defaults = t5_defaults,
     .own = t5_own,
     .rules = t5_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_UNIGRAM}},
    {.name = "t5encoder",
     .classes = "T5EncoderModel",
     .tensors = T5_ENCODER,
     .defaults = t5_defaults,
     .own = t5encoder_own,
     .rules = t5_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_UNIGRAM}},
    {.name = NULL},
};
