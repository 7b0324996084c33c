/* SPDX-License-Identifier: MIT
 *
 * Gemma: norms are stored without the 1 that is added to them. */
#include "llama/arch/rows.h"

#define GEMMA_OWN                                                                                  \
    {"context_length", U32, "max_position_embeddings"}, {"embedding_length", U32, "hidden_size"},  \
        {"block_count", U32, "layers"}, {"feed_forward_length", U32, "intermediate_size"},         \
        {"attention.head_count", U32, "num_attention_heads"},                                      \
        {"attention.head_count_kv", U32, "num_key_value_heads | num_attention_heads"},             \
        {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},                                 \
        {"attention.key_length", U32, "head_dim"}, {"attention.value_length", U32, "head_dim"},    \
        KEY_FILE_TYPE

static const char *const gemma_defaults[] = {"head_dim = 256", "max_position_embeddings = 8192",
                                             "rms_norm_eps = 0.000001", NULL};
static const char *const gemma2_defaults[] = {"head_dim = 256",
                                              "max_position_embeddings = 8192",
                                              "rms_norm_eps = 0.000001",
                                              "attn_logit_softcapping = 50",
                                              "final_logit_softcapping = 30",
                                              "sliding_window = 4096",
                                              NULL};
static const char *const gemma3_defaults[] = {"head_dim = 256",
                                              "max_position_embeddings = 131072",
                                              "num_attention_heads = 8",
                                              "num_key_value_heads = 4",
                                              "rms_norm_eps = 0.000001",
                                              "rope_theta = 1000000",
                                              "rope_local_base_freq = 10000",
                                              "sliding_window = 4096",
                                              NULL};
static const tare_llama_key gemma_own[] = {GEMMA_OWN, END_OF_KEYS};
static const tare_llama_key gemma2_own[] = {
    GEMMA_OWN,
    {"attn_logit_softcapping", F32, "attn_logit_softcapping"},
    {"final_logit_softcapping", F32, "final_logit_softcapping"},
    {"attention.sliding_window", U32, "sliding_window"},
    END_OF_KEYS};
static const tare_llama_key gemma3_keys[] = {
    {"final_logit_softcapping", F32, "if(final_logit_softcapping | 0, final_logit_softcapping)"},
    {"attention.sliding_window", U32, "if(sliding_window_pattern == 1, nothing, sliding_window)"},
    END_OF_KEYS};
static const tare_llama_rule gemma_rules[] = {
    {"*norm.weight", NULL, "add(1)"}, RULE_DROP("lm_head.weight"), END_OF_RULES};
static const tare_llama_rule gemma3_rules[] = {
    {"*norm.weight", NULL, "add(1)"},
    {"*embed_tokens.weight", NULL, "rows(0, 0, if(tokens, min(tokens, d0), d0))"},
    END_OF_RULES};
/* Code Gemma's tokens for filling in. */
static const tare_llama_special_rule gemma_specials[] = {
    {.special = TARE_LLAMA_PREFIX, .id = 67},
    {.special = TARE_LLAMA_SUFFIX, .id = 69},
    {.special = TARE_LLAMA_MIDDLE, .id = 68},
    {.special = TARE_LLAMA_EOT, .id = 107},
};

/* The largest model of each family scales by the width of a head without padding. */
#define GEMMA_HEAD_SCALE(layers)                                                                   \
    "query_pre_attn_scalar = if(block_count == " layers                                            \
    ", embedding_length / attention.head_count, attention.key_length)"
static const char *const gemma_back_config[] = {"model_type = 'gemma'", NULL};
static const tare_llama_back gemma_back = {.names = HF_DENSE, .config = gemma_back_config};
static const char *const gemma2_back_config[] = {"model_type = 'gemma2'", GEMMA_HEAD_SCALE("46"),
                                                 NULL};
static const tare_llama_back gemma2_back = {.names = HF_DENSE HF_SANDWICH,
                                            .config = gemma2_back_config};
static const char *const gemma3_back_config[] = {"model_type = 'gemma3_text'",
                                                 "sliding_window = attention.sliding_window",
                                                 GEMMA_HEAD_SCALE("62"), NULL};
static const tare_llama_back gemma3_back = {.names = HF_DENSE HF_SANDWICH HF_QK_NORM,
                                            .config = gemma3_back_config};

const tare_llama_arch tare_llama_family_gemma[] = {
    {.name = "gemma",
     .classes = "GemmaForCausalLM",
     .tensors = "token_embd output_norm " QKV NORMS FFN,
     .defaults = gemma_defaults,
     .own = gemma_own,
     .rules = gemma_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO, .rules = gemma_specials, .n_rules = 4},
     .back = &gemma_back},
    {.name = "gemma2",
     .classes = "Gemma2ForCausalLM",
     .tensors = "token_embd output_norm " QKV SANDWICH FFN,
     .defaults = gemma2_defaults,
     .own = gemma2_own,
     .rules = gemma_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .back = &gemma2_back},
    {.name = "gemma3",
     .classes = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
     .tensors = ENDS QKV SANDWICH FFN QK_NORMS,
     .defaults = gemma3_defaults,
     .keys = gemma3_keys,
     .rules = gemma3_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .back = &gemma3_back},
    {.name = "gemma-embedding",
     .classes = "Gemma3TextModel",
     .tensors = "output dense_2 dense_3 " ENDS QKV SANDWICH FFN QK_NORMS,
     .defaults = gemma3_defaults,
     .keys = gemma3_keys,
     .rules = gemma3_rules,
     .tokenizer = {.add_space_prefix = TARE_LLAMA_FLAG_NO},
     .has_pooling = true,
     .back = &gemma3_back},
    {.name = NULL},
};
