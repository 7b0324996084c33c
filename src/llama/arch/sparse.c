/* SPDX-License-Identifier: MIT
 *
 * Mixtures of experts with shared experts, windows that differ by layer, or layers that predict more
 * tokens; language models by diffusion. */
#include "llama/arch/rows.h"

/* ---- AFMoE, GroveMoE, Mellum, Cohere 2 MoE --------------------------------------------------- */

static const char *const afmoe_defaults[] = {KV_HEADS_ALL, HEAD_DIM_OF_HIDDEN, SIGMOID_ROUTER,
                                             "route_norm = true", NULL};
static const tare_llama_key afmoe_keys[] = {KEY_VOCAB_SIZE,
                                            KEY_ROPE_DIM,
                                            {"expert_shared_count", U32, "num_shared_experts"},
                                            KEY_EXPERT_FFN,
                                            {"leading_dense_block_count", U32, "num_dense_layers"},
                                            {"expert_weights_norm", BOOL, "route_norm"},
                                            {"expert_weights_scale", F32, "route_scale"},
                                            {"attention.sliding_window", U32, "sliding_window"},
                                            END_OF_KEYS};

static const tare_llama_key grove_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_chunk_feed_forward_length", U32, "head_dim | 128"},
    {"experts_per_group", U32, "2"},
    {"expert_group_scale", F32, "0.05"},
    END_OF_KEYS};
#define GROVE_CHUNK(name)                                                                          \
    {                                                                                              \
        "*.mlp.chunk_experts.#." name ".weight", ".mlp.chunk_experts." name ".weight",             \
            "stack(number, floor((num_local_experts | num_experts) / 2))"                          \
    }
static const tare_llama_rule grove_rules[] = {RULE_DROP("*.expert_bias"), GROVE_CHUNK("down_proj"),
                                              GROVE_CHUNK("gate_proj"), GROVE_CHUNK("up_proj"),
                                              END_OF_RULES};

/* Where a list alone says which layers have windows. */
#define LISTED_WINDOWS(when)                                                                       \
    "if(" when ", if(has(layer_types), " WITH_WINDOWS ", if(like_reference, sliding_window)))"

static const tare_llama_key mellum_keys[] = {
    KEY_EXPERT_FFN,
    {"attention.sliding_window", U32, LISTED_WINDOWS("use_sliding_window | true")},
    {"attention.sliding_window_pattern[layer_types]", BOOL,
     "if(use_sliding_window | true, " LAYER_WINDOW ")"},
    END_OF_KEYS};

/* Maple: gates and values of experts stay within 7, which config.json does not say. */
static const tare_llama_key maple_keys[] = {
    KEY_VOCAB_SIZE,
    {"rope.dimension_count", U32, "floor(attention.dim * (rope.partial | 1))"},
    KEYS_WINDOW_BY_LAYER,
    KEY_EXPERT_FFN,
    {"swiglu_clamp_exp[]", F32, "7.0"},
    END_OF_KEYS};
/* Laguna: heads and rotary positions by layer, and a gate behind attention. */
#define LAGUNA_ROPE(layers) "rope_parameters." layers ".partial_rotary_factor"
static const char *const laguna_defaults[] = {
    "l.heads = at(num_attention_heads_per_layer, layer) | num_attention_heads", NULL};
static const tare_llama_key laguna_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.head_count[]", I32, "l.heads"},
    {"attention.sliding_window", U32, LISTED_WINDOWS("sliding_window > 0")},
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    {"expert_weights_norm", BOOL, "true"},
    {"expert_weights_scale", F32, "moe_routed_scaling_factor | 1"},
    KEY_SIGMOID,
    {"leading_dense_block_count", U32,
     "if(has(mlp_layer_types), leading(mlp_layer_types, 'dense', 'dense sparse'), 1)"},
    {"rope.dimension_count", U32,
     "floor(head_dim * (" LAGUNA_ROPE("full_attention") " | if(has(rope_parameters), 1, 0.5)))"},
    {"rope.dimension_count_swa", U32,
     "if(has(rope_parameters), if(has(rope_parameters.sliding_attention), floor(head_dim * "
     "(" LAGUNA_ROPE("sliding_attention") " | 1))), head_dim)"},
    END_OF_KEYS};
static const tare_llama_special_rule laguna_specials[] = {
    {.special = TARE_LLAMA_EOT, .text = "</assistant>", .is_late = true}};

static const char *const cohere2moe_defaults[] = {KV_HEADS_ALL, "expert_selection_fn = 'softmax'",
                                                  NULL};
static const tare_llama_key cohere2moe_keys[] = {
    {"logit_scale", F32, "logit_scale"},
    KEYS_WINDOW_BY_LAYER,
    {"attention.sliding_window_pattern[]", BOOL,
     "if(has(layer_types), nothing, if(has(sliding_window), if(layer < (first_k_dense_replace | "
     "0), (layer + 1) % (prefix_dense_sliding_window_pattern | 1), (layer - (first_k_dense_replace "
     "| 0) + 1) % (sliding_window_pattern | 4)) > 0))"},
    KEY_VOCAB_SIZE,
    {"expert_feed_forward_length", U32, "intermediate_size"},
    {"leading_dense_block_count", U32, DENSE_FIRST " | first_k_dense_replace | 0"},
    /* softmax is that of the chosen ones */
    {"expert_weights_norm", BOOL,
     "if(like_reference, norm_topk_prob | false, if(score_function == 'softmax', true, "
     "norm_topk_prob | false))"},
    {"expert_shared_count", U32, "if(num_shared_experts | 0, num_shared_experts)"},
    {"expert_shared_feed_forward_length", U32,
     "if(num_shared_experts | 0, intermediate_size * num_shared_experts)"},
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    {"rope.dimension_count", U32, "head_dim"},
    KEY_NO_SCALING,
    END_OF_KEYS};

/* ---- MiMo 2, Step 3.5 --------------------------------------------------------------------------- */

static const char *const mimo2_defaults[] = {
    "m.is_window = if(layer < num_hidden_layers, if(has(hybrid_layer_pattern), "
    "at(hybrid_layer_pattern, layer) == 1, " LAYER_WINDOW "), true)",
    "swa_num_key_value_heads = 2 * num_key_value_heads", "m.nextn = 3", NULL};
static const tare_llama_key mimo2_keys[] = {
    {"attention.head_count_kv[]", I32,
     "if(m.is_window, swa_num_key_value_heads, num_key_value_heads)"},
    {"attention.sliding_window", U32, "sliding_window"},
    {"attention.sliding_window_pattern[]", I32, "if(m.is_window, 1, 0)"},
    {"attention.value_length", U32, "v_head_dim"},
    {"expert_count", U32, "n_routed_experts"},
    KEY_EXPERT_FFN,
    {"rope.dimension_count", U32, "floor(head_dim * rope.partial)"},
    {"attention.layer_norm_rms_epsilon", F32, "layernorm_epsilon | rms_norm_eps | 0.00001"},
    {"attention.value_scale", F32, "attention_value_scale"},
    {"nextn_predict_layers", U32, "m.nextn"},
    END_OF_KEYS};
static const tare_llama_rule mimo2_rules[] = {
    {"*.self_attn.attention_sink_bias", ".self_attn.attention_sink_bias.weight", NULL},
    END_OF_RULES};

static const char *const step35_defaults[] = {
    "s.theta = at(rope_theta, 0) | rope_theta",
    "rope.theta = at(rope_theta, 0) | rope_parameters.full_attention.rope_theta | "
    "rope_parameters.rope_theta | rope_scaling.rope_theta | "
    "rope_theta",
    "rope.theta_swa = at(rope_theta, 1) | rope_parameters.sliding_attention.rope_theta",
    "s.is_window = " LAYER_WINDOW,
    "experts = moe_num_experts | n_routed_experts",
    "num_attention_groups = num_key_value_heads",
    "moe_top_k = num_experts_per_tok",
    "norm_expert_weight = if(has(n_routed_experts), true)",
    NULL};
static const tare_llama_key step35_keys[] = {
    {"attention.head_count[]", I32,
     "if(s.is_window, attention_other_setting.num_attention_heads | num_sliding_attention_heads | "
     "num_attention_heads, num_attention_heads)"},
    {"attention.head_count_kv[]", I32,
     "if(s.is_window, attention_other_setting.num_attention_groups | num_attention_groups, "
     "num_attention_groups)"},
    {"attention.sliding_window", U32, "sliding_window"},
    {"attention.sliding_window_pattern[]", BOOL, "s.is_window"},
    {"attention.value_length", U32, "head_dim"},
    {"expert_count", U32, "experts"},
    {"expert_used_count", U32, "moe_top_k"},
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "share_expert_dim"},
    {"expert_weights_scale", F32, "moe_router_scaling_factor"},
    {"expert_weights_norm", BOOL, "norm_expert_weight"},
    {"leading_dense_block_count", U32,
     "number(moe_layers_enum) | leading(mlp_layer_types, 'dense') | 0"},
    {"moe_every_n_layers", U32, "moe_every_n_layer | 1"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | 0.00001"},
    {"swiglu_clamp_exp[]", F32, "if(has(swiglu_limits), at(swiglu_limits, layer) | 0)"},
    {"swiglu_clamp_shexp[]", F32,
     "if(has(swiglu_limits_shared), at(swiglu_limits_shared, layer) | 0)"},
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
static const tare_llama_rule step35_rules[] = {
    {"=*norm.weight", NULL, "add(1)"},
    {"*.moe.router_bias", "=blk.#.exp_probs_b.bias", NULL},
    {"=blk.#.attn_gate.weight", NULL, "squeeze"},
    {"=blk.#.ffn_gate_inp.weight", NULL, "squeeze"},
    {"=blk.#.ffn_up_exps.weight", NULL, "squeeze"},
    {"=blk.#.ffn_gate_exps.weight", NULL, "squeeze"},
    {"=blk.#.ffn_down_exps.weight", NULL, "squeeze"},
    END_OF_RULES};

static const char *const step35_back_config[] = {
    "model_type = 'step3p5'",
    "num_nextn_predict_layers = nextn_predict_layers",
    "rope_theta[] = if(layer == 0, rope.freq_base, if(layer == 1, rope.freq_base_swa))",
    "num_attention_heads = at(attention.head_count, " FIRST_WHOLE ")",
    "num_attention_groups = at(attention.head_count_kv, " FIRST_WHOLE ")",
    "num_key_value_heads = nothing",
    "attention_other_setting.num_attention_heads = at(attention.head_count, " FIRST_WINDOW ")",
    "attention_other_setting.num_attention_groups = at(attention.head_count_kv, " FIRST_WINDOW ")",
    "layer_types[] = if(at(attention.sliding_window_pattern, layer), 'sliding_attention', "
    "'full_attention')",
    "partial_rotary_factors[] = if(at(attention.sliding_window_pattern, layer), 1, 0.5)",
    "moe_num_experts = expert_count",
    "moe_top_k = expert_used_count",
    "num_experts_per_tok = nothing",
    "num_local_experts = nothing",
    "share_expert_dim = expert_shared_feed_forward_length",
    "moe_layers_enum{} = if(layer < leading_dense_block_count, nothing, if(layer < block_count - "
    "(nextn_predict_layers | 0), layer))",
    "moe_router_activation = if(expert_gating_func == 2, 'sigmoid', 'softmax')",
    "swiglu_limits = swiglu_clamp_exp",
    "swiglu_limits_shared = swiglu_clamp_shexp",
    "rope_local_base_freq = nothing",
    NULL};
static const tare_llama_shape_row step35_back_shapes[] = {{"*.moe.router_bias", "d0"},
                                                          {NULL, NULL}};
static const tare_llama_back step35_back = {
    .names = HF_DENSE HF_QK_NORM
    "self_attn.g_proj moe.gate moe.gate_proj moe.up_proj moe.down_proj share_expert.gate_proj "
    "share_expert.up_proj share_expert.down_proj eh_proj enorm hnorm shared_head.head "
    "shared_head.norm embed_tokens",
    .config = step35_back_config,
    .shapes = step35_back_shapes};

#define MIMO2_TURNS "(rope.dimension_count + 0.5) / attention.key_length"
static const char *const mimo2_back_config[] = {
    "model_type = 'mimo_v2_flash'",
    "hybrid_layer_pattern[] = if(layer < block_count - nextn_predict_layers, "
    "at(attention.sliding_window_pattern, layer))",
    "layer_types[] = if(layer < block_count - nextn_predict_layers, "
    "if(at(attention.sliding_window_pattern, layer) == 1, 'sliding_attention', 'full_attention'))",
    "num_key_value_heads = at(attention.head_count_kv, leading(attention.sliding_window_pattern, "
    "1)) | floor(at(attention.head_count_kv, 0) / 2)",
    "attention_bias = if(has(tensors.attn_q.bias), true)",
    "swa_num_key_value_heads = at(attention.head_count_kv, "
    "leading(attention.sliding_window_pattern, 0))",
    "head_dim = attention.key_length",
    "v_head_dim = attention.value_length",
    "swa_head_dim = attention.key_length",
    "swa_v_head_dim = attention.value_length",
    "swa_num_attention_heads = attention.head_count",
    "partial_rotary_factor = " MIMO2_TURNS,
    "n_routed_experts = expert_count",
    "layernorm_epsilon = attention.layer_norm_rms_epsilon",
    "rms_norm_eps = attention.layer_norm_rms_epsilon",
    BACK_ROPE("full_attention."), /* as transformers has it; beside it, as the authors */
    BACK_ROPE_SWA,
    "rope_parameters.full_attention.partial_rotary_factor = " MIMO2_TURNS,
    "rope_parameters.sliding_attention.partial_rotary_factor = " MIMO2_TURNS,
    "rope_theta = rope.freq_base",
    "swa_rope_theta = rope.freq_base_swa",
    "rope_local_base_freq = nothing",
    "attention_value_scale = attention.value_scale | null",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid', 'softmax')",
    NULL};
static const tare_llama_shape_row mimo2_back_shapes[] = {{"*.self_attn.attention_sink_bias", "d0"},
                                                         {NULL, NULL}};
static const tare_llama_back mimo2_back = {.names = HF_DENSE HF_MOE
                                           "self_attn.qkv_proj eh_proj enorm hnorm "
                                           "final_layernorm",
                                           .config = mimo2_back_config,
                                           .shapes = mimo2_back_shapes};

/* ---- language models by diffusion --------------------------------------------------------------- */

#define KEY_MASK                                                                                   \
    { "tokenizer.ggml.mask_token_id", U32, "mask_token_id" }
static const tare_llama_key dream_keys[] = {KEY_NOT_CAUSAL, KEY_MASK, END_OF_KEYS};
static const char *const llada_defaults[] = {"l.width = hidden_size | d_model",
                                             "l.heads = num_attention_heads | n_heads", NULL};
static const tare_llama_key llada_keys[] = {
    KEY_VOCAB_SIZE,
    {"rope.dimension_count", U32, "head_dim | floor(l.width / l.heads)"},
    {"context_length", U32, "max_sequence_length | 4096"},
    {"embedding_length", U32, "d_model | 4096"},
    {"feed_forward_length", U32, "mlp_hidden_size | 12288"},
    KEY_NOT_CAUSAL,
    {"diffusion.shift_logits", BOOL, "false"},
    END_OF_KEYS};
static const tare_llama_key llada_moe_keys[] = {
    {"expert_feed_forward_length", U32, "expert_intermediate_size"},
    {"tokenizer.ggml.mask_token_id", U32, "156895"},
    KEY_NOT_CAUSAL,
    {"diffusion.shift_logits", BOOL, "false"},
    END_OF_KEYS};
static const tare_llama_key rnd1_keys[] = {
    KEY_EXPERT_FFN,
    {"expert_shared_feed_forward_length", U32, "shared_expert_intermediate_size"},
    KEY_NOT_CAUSAL,
    KEY_MASK,
    END_OF_KEYS};
static const tare_llama_rule rnd1_rules[] = {RULES_FUSED_EXPERTS, END_OF_RULES};

static const char *const mellum_back_config[] = {
    "model_type = 'mellum'",
    BACK_LAYER_TYPES " | if(has(attention.sliding_window), nothing, 'full_attention')",
    BACK_ROPE("full_attention."),
    BACK_ROPE_SWA,
    "sliding_window = attention.sliding_window",
    NULL};
static const tare_llama_back mellum_back = {.names = HF_DENSE HF_MOE HF_QK_NORM "num_experts",
                                            .config = mellum_back_config};
static const char *const maple_back_config[] = {"model_type = 'maple'",
                                                "hidden_act = 'silu'",
                                                BACK_LAYER_TYPES,
                                                "sliding_window = attention.sliding_window",
                                                "nope_on_global_attention = true",
                                                "norm_topk_prob = true",
                                                "num_shared_experts = 0",
                                                "partial_rotary_factor = rope.dimension_count / "
                                                "attention.key_length",
                                                NULL};
static const tare_llama_back maple_back = {.names = HF_DENSE HF_MOE HF_QK_NORM "num_experts",
                                           .config = maple_back_config};
static const char *const cohere2moe_back_config[] = {
    "model_type = 'cohere2_moe'",
    BACK_LAYER_TYPES,
    BACK_ROPE(""),
    "sliding_window = attention.sliding_window",
    "tie_word_embeddings = true",
    "intermediate_size = expert_feed_forward_length",
    "prefix_dense_intermediate_size = feed_forward_length",
    "first_k_dense_replace = leading_dense_block_count",
    "num_shared_experts = expert_shared_count",
    "expert_selection_fn = if(expert_gating_func == 2, 'sigmoid', 'softmax')",
    NULL};
static const tare_llama_back cohere2moe_back = {.names = HF_DENSE HF_MOE HF_SHARED
                                                "num_experts layer_norm_eps",
                                                .config = cohere2moe_back_config};
static const char *const afmoe_back_config[] = {
    "model_type = 'afmoe'",
    "score_func = if(expert_gating_func == 2, 'sigmoid', 'softmax')",
    "mup_enabled = true", /* llama.cpp always scales */
    "sliding_window = attention.sliding_window",
    BACK_LAYER_TYPES " | if(attention.sliding_window > 0, if((layer + 1) % 4 == 0, "
                     "'full_attention', 'sliding_attention'))",
    NULL};
static const tare_llama_back afmoe_back = {
    .names = HF_DENSE "mlp.router.gate mlp.expert_bias " HF_MOE HF_SHARED HF_QK_NORM
                      "self_attn.gate_proj pre_mlp_layernorm post_mlp_layernorm num_experts",
    .config = afmoe_back_config};
static const char *const laguna_back_config[] = {
    "model_type = 'laguna'", "num_attention_heads = largest(attention.head_count)",
    "num_attention_heads_per_layer = attention.head_count",
    BACK_DENSE_FIRST("leading_dense_block_count"),
    /* llama.cpp takes every fourth layer for one without a window, and no key says it */
    BACK_LAYER_TYPES " | if(has(attention.sliding_window), if(layer % 4 == 0, 'full_attention', "
                     "'sliding_attention'), 'full_attention')",
    "sliding_window = attention.sliding_window",
    "gating = if(tensors.attn_gate.weight.rows > largest(attention.head_count), 'per-element', "
    "'per-head')",
    "moe_routed_scaling_factor = expert_weights_scale", BACK_ROPE("full_attention."), BACK_ROPE_SWA,
    "rope_parameters.full_attention.partial_rotary_factor = rope.dimension_count / "
    "attention.key_length",
    "rope_parameters.sliding_attention.partial_rotary_factor = rope.dimension_count_swa / "
    "attention.key_length",
    NULL};
static const tare_llama_back laguna_back = {
    .names = HF_DENSE HF_QK_NORM HF_EXPERTS
    "self_attn.g_proj mlp.experts.e_score_correction mlp.shared_expert.gate_proj "
    "mlp.shared_expert.up_proj mlp.shared_expert.down_proj num_experts",
    .config = laguna_back_config};
static const char *const llada_moe_back_config[] = {"model_type = 'llada_moe'", NULL};
static const tare_llama_back llada_moe_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_CONFIG HF_MOE "num_experts",
    .config = llada_moe_back_config};
static const char *const rnd1_back_config[] = {
    "model_type = 'rnd1'", "mask_token_id = tokenizer.ggml.mask_token_id", NULL};
static const tare_llama_back rnd1_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_CONFIG HF_MOE "num_experts",
    .config = rnd1_back_config};
static const char *const dream_back_config[] = {"model_type = 'Dream'", NULL};
static const tare_llama_back dream_back = {.names = HF_DENSE, .config = dream_back_config};

static const char *const grove_back_config[] = {
    "model_type = 'grove_moe'", "moe_intermediate_size = expert_feed_forward_length", NULL};
static const tare_llama_shape_row grove_back_shapes[] = {
    {"*.mlp.chunk_experts.#.down_proj.weight", "d1, d2"},
    {"*.mlp.chunk_experts.#.gate_proj.weight", "d1, d2"},
    {"*.mlp.chunk_experts.#.up_proj.weight", "d1, d2"},
    {NULL, NULL}};
static const tare_llama_back grove_back = {.names = HF_DENSE HF_MOE HF_QK_NORM "num_experts",
                                           .config = grove_back_config,
                                           .shapes = grove_back_shapes};

static const char *const llada_back_config[] = {"model_type = 'llada'",
                                                "hidden_size = nothing",
                                                "prefix_dense_intermediate_size = nothing",
                                                "head_dim = attention.key_length",
                                                "n_layers = block_count",
                                                "num_hidden_layers = nothing",
                                                "d_model = embedding_length",
                                                "mlp_hidden_size = feed_forward_length",
                                                "max_sequence_length = context_length",
                                                NULL};
static const tare_llama_back llada_back = {
    .names = "model.transformer.blocks. model.transformer.wte model.transformer.ln_f "
             "model.transformer.ff_out attn_norm ff_norm q_proj k_proj v_proj attn_out ff_proj "
             "up_proj ff_out d_model n_heads n_kv_heads mlp_hidden_size max_sequence_length "
             "rope_theta rms_norm_eps",
    .config = llada_back_config};

const tare_llama_arch tare_llama_family_sparse[] = {
    {.name = "afmoe",
     .classes = "AfmoeForCausalLM",
     .tensors = ENDS QKV QK_NORMS FFN MOE SHARED SANDWICH "attn_gate exp_probs_b",
     .cut = ".expert_bias=.expert_bias.bias",
     .defaults = afmoe_defaults,
     .keys = afmoe_keys,
     .tokenizer = {.reads_prefix_space = true},
     .back = &afmoe_back,
     .gate_experts_first = true},
    {.name = "grovemoe",
     .classes = "GroveMoeForCausalLM modeling_grove_moe.GroveMoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS "ffn_gate_chexps ffn_down_chexps ffn_up_chexps",
     .defaults = tare_llama_all_heads,
     .keys = grove_keys,
     .rules = grove_rules,
     .back = &grove_back},
    {.name = "mellum",
     .classes = "MellumForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .keys = mellum_keys,
     .back = &mellum_back},
    {.name = "maple",
     .classes = "MapleForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .keys = maple_keys,
     .back = &maple_back},
    {.name = "cohere2moe",
     .classes = "Cohere2MoeForCausalLM",
     .tensors = ENDS QKV FFN MOE SHARED NEXTN "attn_norm",
     .defaults = cohere2moe_defaults,
     .keys = cohere2moe_keys,
     .drops_zero_biases = true,
     .back = &cohere2moe_back,
     .extra_layers = "num_nextn_predict_layers"},
    {.name = "laguna",
     .classes = "LagunaForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE SHARED QK_NORMS "attn_gate exp_probs_b",
     .defaults = laguna_defaults,
     .keys = laguna_keys,
     .tokenizer = {.rules = laguna_specials, .n_rules = 1},
     .gate_experts_first = true,
     .back = &laguna_back},
    {.name = "mimo2",
     .classes = "MiMoV2FlashForCausalLM MiMoV2ForCausalLM",
     .tensors = ENDS FUSED QKV NORMS FFN MOE
     "attn_sinks exp_probs_b layer_output_norm nextn.eh_proj nextn.enorm nextn.hnorm",
     .optional = "layer_output_norm",
     .defaults = mimo2_defaults,
     .keys = mimo2_keys,
     .rules = mimo2_rules,
     .back = &mimo2_back,
     .extra_layers = "m.nextn",
     .nextn = "model.mtp.",
     .gate_experts_first = true},
    {.name = "step35",
     .classes = "Step3p5ForCausalLM Step3p7ForConditionalGeneration",
     .tensors = DENSE MOE SHARED QK_NORMS NEXTN "attn_gate exp_probs_b",
     .optional = "attn_gate attn_q_norm attn_k_norm",
     .cut = ".transformer.shared_head.output.=.shared_head.head. "
            ".transformer.shared_head.norm.=.shared_head.norm. .transformer.>. "
            "shared_head.output>shared_head.head",
     .defaults = step35_defaults,
     .keys = step35_keys,
     .rules = step35_rules,
     .back = &step35_back,
     .extra_layers = "num_nextn_predict_layers"},
    {.name = "dream",
     .classes = "DreamModel",
     .tensors = DENSE,
     .keys = dream_keys,
     .has_pooling = true,
     .back = &dream_back},
    {.name = "llada",
     .classes = "LLaDAModelLM",
     .tensors = DENSE,
     .defaults = llada_defaults,
     .keys = llada_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.add_bos = TARE_LLAMA_FLAG_YES},
     .back = &llada_back},
    {.name = "llada-moe",
     .classes = "LLaDAMoEModel LLaDAMoEModelLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .keys = llada_moe_keys,
     .back = &llada_moe_back},
    {.name = "rnd1",
     .classes = "RND1",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .keys = rnd1_keys,
     .rules = rnd1_rules,
     .back = &rnd1_back},
    {.name = NULL},
};
