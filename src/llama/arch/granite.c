/* SPDX-License-Identifier: MIT
 *
 * Granite: Llama with scales, and mixtures of experts that lie in two tensors. */
#include "llama/arch/rows.h"

static const char *const all_heads[] = {KV_HEADS_ALL, NULL};

/* Scales that are 0 or absent make no key. */
#define KEY_SCALE(key, member)                                                                     \
    { key, F32, "if(" member " | 0, " member ")" }
#define GRANITE_KEYS                                                                               \
    KEY_VOCAB_SIZE, {"rope.dimension_count", U32, "floor(hidden_size / num_attention_heads)"},     \
        KEY_SCALE("attention.scale", "attention_multiplier"),                                      \
        KEY_SCALE("embedding_scale", "embedding_multiplier"),                                      \
        KEY_SCALE("residual_scale", "residual_multiplier"),                                        \
        KEY_SCALE("logit_scale", "logits_scaling")
static const tare_llama_key granite_keys[] = {GRANITE_KEYS, END_OF_KEYS};
static const tare_llama_key granitemoe_keys[] = {
    GRANITE_KEYS,
    {"expert_shared_feed_forward_length", U32,
     "if(shared_intermediate_size | 0, shared_intermediate_size)"},
    END_OF_KEYS};
static const tare_llama_rule granitemoe_rules[] = {
    RULES_PERMUTE,
    {"*.block_sparse_moe.input_linear.weight", "=blk.#.ffn_gate_exps.weight", "rows(1, 0, d1 / 2)"},
    {"*.block_sparse_moe.input_linear.weight", "=blk.#.ffn_up_exps.weight",
     "rows(1, d1 / 2, d1 / 2)"},
    {"*.shared_mlp.input_linear.weight", "=blk.#.ffn_gate_shexp.weight", "rows(0, 0, d0 / 2)"},
    {"*.shared_mlp.input_linear.weight", "=blk.#.ffn_up_shexp.weight", "rows(0, d0 / 2, d0 / 2)"},
    END_OF_RULES};

#define BACK_SCALES                                                                                \
    "attention_multiplier = attention.scale", "embedding_multiplier = embedding_scale",            \
        "residual_multiplier = residual_scale", "logits_scaling = logit_scale"
static const char *const granite_back_config[] = {"model_type = 'granite'", BACK_SCALES,
                                                  BACK_BIASES, NULL};
static const tare_llama_back granite_back = {
    .names = HF_DENSE, .config = granite_back_config, .when = "has(ssm.conv_kernel) == false"};
static const char *const granitemoe_back_config[] = {
    "model_type = 'granitemoe'", BACK_SCALES,
    "shared_intermediate_size = expert_shared_feed_forward_length", NULL};
static const tare_llama_shape_row granitemoe_back_shapes[] = {
    {"*.block_sparse_moe.input_linear.weight", "d0, 2 * d1, d2"},
    {"*.shared_mlp.input_linear.weight", "2 * d0, d1"},
    {NULL, NULL}};
#define GRANITEMOE_NAMES                                                                           \
    HF_ENDS HF_NORMS HF_ATTN HF_CONFIG                                                             \
        "block_sparse_moe.router.layer block_sparse_moe.output_linear shared_mlp.output_linear "   \
        "num_local_experts"
static const tare_llama_back granitemoe_back = {.names = GRANITEMOE_NAMES,
                                                .config = granitemoe_back_config,
                                                .shapes = granitemoe_back_shapes,
                                                .when = "has(ssm.conv_kernel) == false"};
static const char *const granitemoe_shared_back_config[] = {
    "model_type = 'granitemoeshared'", BACK_SCALES,
    "shared_intermediate_size = expert_shared_feed_forward_length", NULL};
static const tare_llama_back granitemoe_shared_back = {
    .names = GRANITEMOE_NAMES,
    .config = granitemoe_shared_back_config,
    .shapes = granitemoe_back_shapes,
    .when = "if(has(ssm.conv_kernel), false, expert_shared_feed_forward_length > 0)"};

const tare_llama_arch tare_llama_family_granite[] = {
    {.name = "granite",
     .classes = "GraniteForCausalLM",
     .tensors = ENDS QKV NORMS FFN,
     .defaults = all_heads,
     .keys = granite_keys,
     .rules = tare_llama_permute,
     .back = &granite_back},
    {.name = "granitemoe",
     .classes = "GraniteMoeSharedForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED,
     .defaults = all_heads,
     .keys = granitemoe_keys,
     .rules = granitemoe_rules,
     .back = &granitemoe_shared_back},
    {.name = "granitemoe",
     .classes = "GraniteMoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED,
     .defaults = all_heads,
     .keys = granitemoe_keys,
     .rules = granitemoe_rules,
     .back = &granitemoe_back},
    {.name = NULL},
};
