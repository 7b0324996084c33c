/* SPDX-License-Identifier: MIT
 *
 * EXAONE: windows by layer in the fourth, experts in the last. */
#include "llama/arch/rows.h"

static const tare_llama_key exaone_keys[] = {
    {"rope.dimension_count", U32, "(rope.partial | 1) * floor(hidden_size / num_attention_heads)"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | layer_norm_epsilon"},
    END_OF_KEYS};
static const char *const exaone4_defaults[] = {"num_key_value_heads = 32", NULL};
static const char *const exaone_moe_defaults[] = {"num_key_value_heads = 32", SIGMOID_ROUTER, NULL};
#define EXAONE4_WINDOWS                                                                            \
    {"attention.sliding_window", U32, "sliding_window"}, {                                         \
        "attention.sliding_window_pattern[]", BOOL,                                                \
            "if(has(sliding_window), if(has(layer_types), " LAYER_WINDOW ", "                      \
            "(layer + 1) % if(one_of(sliding_window_pattern, 'LLLG'), 4, sliding_window_pattern) " \
            "> 0))"                                                                                \
    }
static const tare_llama_key exaone4_keys[] = {KEY_VOCAB_SIZE, EXAONE4_WINDOWS, END_OF_KEYS};
static const tare_llama_key exaone45_keys[] = {
    KEY_VOCAB_SIZE,
    KEYS_WINDOW_BY_LAYER,
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
static const tare_llama_key exaone_moe_keys[] = {
    KEY_VOCAB_SIZE,
    KEYS_WINDOW_BY_LAYER,
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "num_shared_experts"},
    {"expert_shared_feed_forward_length", U32, "moe_intermediate_size * num_shared_experts"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    {"leading_dense_block_count", U32,
     DENSE_FIRST " | first_k_dense_replace | first_last_k_dense_replace | 0"},
    {"nextn_predict_layers", U32, "num_nextn_predict_layers | 0"},
    KEY_NO_SCALING,
    END_OF_KEYS};

static const char *const exaone_back_config[] = {
    "model_type = 'exaone'", "num_layers = block_count", "num_hidden_layers = nothing",
    "rms_norm_eps = nothing", NULL};
static const tare_llama_back exaone_back = {
    .names =
        "transformer.h. transformer.wte transformer.ln_f lm_head ln_1 ln_2 attn.attention.q_proj "
        "attn.attention.k_proj attn.attention.v_proj attn.attention.out_proj mlp.c_fc_0 mlp.c_fc_1 "
        "mlp.c_proj max_position_embeddings hidden_size intermediate_size num_attention_heads "
        "num_key_value_heads rope_theta layer_norm_epsilon",
    .config = exaone_back_config};
static const char *const exaone4_back_config[] = {
    "model_type = 'exaone4'", "sliding_window = attention.sliding_window | null",
    BACK_LAYER_TYPES " | if(has(attention.sliding_window), nothing, 'full_attention')", NULL};
static const tare_llama_back exaone4_back = {.names = HF_DENSE HF_QK_NORM HF_SANDWICH,
                                             .config = exaone4_back_config,
                                             .when = "has(nextn_predict_layers) == false"};

static const char *const exaone_moe_back_config[] = {
    "model_type = 'exaone_moe'",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    BACK_LAYER_TYPES,
    "moe_intermediate_size = expert_feed_forward_length",
    "num_shared_experts = expert_shared_count",
    NULL};
static const tare_llama_back exaone_moe_back = {
    .names =
        HF_DENSE HF_MOE HF_SHARED HF_QK_NORM "num_experts fc eh_proj enorm hnorm shared_head.norm",
    .config = exaone_moe_back_config};

static const char *const exaone45_back_config[] = {
    "model_type = 'exaone4_5'", BACK_LAYER_TYPES, "num_nextn_predict_layers = nextn_predict_layers",
    NULL};
static const tare_llama_back exaone45_back = {.names = HF_DENSE HF_QK_NORM HF_SANDWICH
                                              "fc eh_proj enorm hnorm shared_head.norm",
                                              .config = exaone45_back_config,
                                              .when = "has(nextn_predict_layers)"};

const tare_llama_arch tare_llama_family_exaone[] = {
    {.name = "exaone",
     .classes = "ExaoneForCausalLM",
     .tensors = DENSE,
     .keys = exaone_keys,
     .has_rope_freqs = true,
     .back = &exaone_back},
    {.name = "exaone4",
     .classes = "Exaone4ForCausalLM",
     .tensors = ENDS QKV QK_NORMS FFN "rope_freqs post_attention_norm post_ffw_norm",
     .defaults = exaone4_defaults,
     .keys = exaone4_keys,
     .has_rope_freqs = true,
     .back = &exaone4_back},
    {.name = "exaone4",
     .classes = "Exaone4_5_ForConditionalGeneration",
     .tensors = ENDS QKV QK_NORMS FFN NEXTN "rope_freqs post_attention_norm post_ffw_norm",
     .defaults = exaone4_defaults,
     .keys = exaone45_keys,
     .has_rope_freqs = true,
     .extra_layers = "num_nextn_predict_layers",
     .nextn = "mtp.",
     .back = &exaone45_back},
    {.name = "exaone-moe",
     .classes = "ExaoneMoeForCausalLM ExaoneMoEForCausalLM",
     .tensors = DENSE MOE SHARED QK_NORMS NEXTN "exp_probs_b",
     .defaults = exaone_moe_defaults,
     .keys = exaone_moe_keys,
     .has_rope_freqs = true,
     .extra_layers = "num_nextn_predict_layers",
     .nextn = "mtp.",
     .back = &exaone_moe_back},
    {.name = NULL},
};
