/* SPDX-License-Identifier: MIT
 *
 * Lists that many architectures use as they are. */
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
