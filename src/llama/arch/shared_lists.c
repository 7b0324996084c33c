/* SPDX-License-Identifier: MIT
 *
 * Lists that many architectures use as they are, and the ends of the lists for the way back, which all
 * have. */
#include "llama/arch/rows.h"

const char *const tare_llama_all_heads[] = {KV_HEADS_ALL, NULL};

const tare_llama_key tare_llama_usual_keys[] = {KEY_VOCAB_SIZE, KEY_ROPE_DIM, END_OF_KEYS};

const tare_llama_rule tare_llama_permute[] = {RULES_PERMUTE, END_OF_RULES};
const tare_llama_rule tare_llama_permute_weights[] = {
    {"=blk.#.attn_q.weight", NULL, "heads(num_attention_heads)"},
    {"=blk.#.attn_k.weight", NULL, "heads(num_key_value_heads | num_attention_heads)"},
    END_OF_RULES};
const tare_llama_rule tare_llama_tied_head[] = {
    {"=output.weight", NULL, "if(tie_word_embeddings | false) drop"}, END_OF_RULES};

/* What config.json says of all models. */
const char *const tare_llama_back_common[] = {
    "num_hidden_layers = block_count - (nextn_predict_layers | 0)",
    "vocab_size = tensors.token_embd.weight.rows",
    "tie_word_embeddings = has(tensors.output.weight) == false",
    "bos_token_id = tokenizer.ggml.bos_token_id",
    "eos_token_id = tokenizer.ggml.eos_token_id",
    "pad_token_id = tokenizer.ggml.padding_token_id",
    "rope_scaling.rope_type = if(rope.scaling.type == 'yarn', 'yarn', if(rope.scaling.type == "
    "'linear', 'linear'))",
    "rope_scaling.factor = if(rope.scaling.type == 'yarn', rope.scaling.factor, "
    "if(rope.scaling.type == 'linear', rope.scaling.factor))",
    "rope_scaling.original_max_position_embeddings = if(rope.scaling.type == 'yarn', "
    "rope.scaling.original_context_length)",
    "rope_scaling.attention_factor = rope.scaling.yarn_attn_factor | if(rope.scaling.type == "
    "'yarn', "
    "rope.scaling.attn_factor * " TARE_LLAMA_YARN_KEY("1") ")",
    "rope_scaling.beta_fast = rope.scaling.yarn_beta_fast",
    "rope_scaling.beta_slow = rope.scaling.yarn_beta_slow",
    NULL,
};

/* And of all towers. A key of the text model's is that of the part of config.json that is laid over the
 * whole. */
const char *const tare_llama_back_towers[] = {
    "text_config.hidden_size = vision.projection_dim | audio.projection_dim",
    "hidden_size = nothing",
    "vision_config.hidden_act = if(use_silu, 'silu', if(use_gelu, 'gelu'))",
    NULL,
};
