/* SPDX-License-Identifier: MIT
 *
 * Granite: Llama with scales, experts stored in two tensors, and the hybrids of Granite 4. */
#include "llama/arch/rows.h"

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

#define KEY_SHARED_FFN                                                                             \
    {                                                                                              \
        "expert_shared_feed_forward_length", U32,                                                  \
            "if(shared_intermediate_size | 0, shared_intermediate_size)"                           \
    }
static const tare_llama_key granitemoe_keys[] = {GRANITE_KEYS, KEY_SHARED_FFN, END_OF_KEYS};
/* Gate above up in one matrix. */
#define RULES_GATE_UP(from, gate, up, holds)                                                       \
    {from, "=blk.#." gate ".weight", holds "rows(0, 0, d0 / 2)"}, {                                \
        from, "=blk.#." up ".weight", holds "rows(0, d0 / 2, d0 / 2)"                              \
    }
#define RULES_EXPERTS                                                                              \
    {"*.block_sparse_moe.input_linear.weight", "=blk.#.ffn_gate_exps.weight",                      \
     "rows(1, 0, d1 / 2)"},                                                                        \
    {                                                                                              \
        "*.block_sparse_moe.input_linear.weight", "=blk.#.ffn_up_exps.weight",                     \
            "rows(1, d1 / 2, d1 / 2)"                                                              \
    }
#define SHARED_INPUT "*.shared_mlp.input_linear.weight"
static const tare_llama_rule granitemoe_rules[] = {
    RULES_PERMUTE, RULES_EXPERTS, RULES_GATE_UP(SHARED_INPUT, "ffn_gate_shexp", "ffn_up_shexp", ""),
    END_OF_RULES};

/* ---- windows -------------------------------------------------------------------------------- */

/* Layers whose base of positions is 0 have none; older files have a list of those that have them. */
static const char *const swa_defaults[] = {
    KV_HEADS_ALL, "sliding_window = 128",
    "g.is_window = if(has(layer_types), " LAYER_WINDOW ", layer % 4 > 0)",
    "g.has_rope = if(has(layer_rope_theta), at(layer_rope_theta, layer) > 0, "
    "at(no_rope_layers, layer) == 1)",
    NULL};
#define SWA_OWN_DIM                                                                                \
    "if(attention.dim == floor(hidden_size / num_attention_heads), nothing, attention.dim)"
static const tare_llama_key swa_keys[] = {
    GRANITE_KEYS,
    {"rope.dimension_count", U32, "attention.dim"},
    {"attention.key_length", U32, NULL}, /* but where it is not the usual one */
    {"attention.value_length", U32, NULL},
    {"attention.key_length", U32, SWA_OWN_DIM},
    {"attention.value_length", U32, SWA_OWN_DIM},
    {"attention.sliding_window", U32, "sliding_window"},
    {"attention.sliding_window_pattern[]", BOOL, "g.is_window"},
    {"attention.rope_pattern[]", BOOL,
     "if(if(has(layer_rope_theta), in(0, layer_rope_theta), has(no_rope_layers)), g.has_rope)"},
    KEY_SHARED_FFN,
    END_OF_KEYS};
static const tare_llama_rule swa_rules[] = {
    RULES_PERMUTE,
    {"*.self_attn.sinks", "=blk.#.attn_sinks.weight", NULL},
    {"*.block_sparse_moe.experts.gate_up_proj", "=blk.#.ffn_gate_up_exps.weight", NULL},
    {"*.block_sparse_moe.experts.down_proj", "=blk.#.ffn_down_exps.weight", NULL},
    {"*.block_sparse_moe.input_linear.weight", "=blk.#.ffn_gate_up_exps.weight", NULL},
    {SHARED_INPUT, "=blk.#.ffn_up_shexp.weight", NULL},
    {"*.shared_mlp.output_linear.weight", "=blk.#.ffn_down_shexp.weight", NULL},
    END_OF_RULES};
#define SWA_TENSORS ENDS QKV "attn_sinks rope_freqs " NORMS

/* ---- Granite 4, Bamba: state-space layers among those of attention ---------------------------- */

static const char *const hybrid_defaults[] = {
    KV_HEADS_ALL,
    "g.rotary = attn_rotary_emb | floor(attention.dim * (rope.partial | 1))",
    "g.is_whole = g.rotary == attention.dim",
    "g.layers = layer_types | layers_block_type",
    "g.is_attention = if(has(g.layers), word(at(g.layers, layer), '" LAYER_KINDS
    "') == 'attention', "
    "if(has(attn_layer_indices), in(layer, attn_layer_indices), "
    "layer % attn_layer_period == attn_layer_offset))",
    "g.is_hybrid = if(has(g.layers), in('mamba', g.layers, '" LAYER_KINDS "'), true)",
    "g.uses_rope = if(model_type == 'bamba', true, if(like_reference, g.is_hybrid "
    "== "
    "false, if(has(position_embedding_type), word(position_embedding_type, 'rope nope') == 'rope', "
    "g.is_hybrid == false)))",
    "m.groups = n_groups | num_groups | mamba_n_groups | mamba_num_groups",
    NULL};
static const tare_llama_key hybrid_keys[] = {
    GRANITE_KEYS,
    {"rope.dimension_count", U32, "g.rotary"},
    {"feed_forward_length", U32, "if(num_local_experts | 0, nothing, shared_intermediate_size)"},
    KEY_SHARED_FFN,
    {"ssm.conv_kernel", U32, "conv_kernel | d_conv | mamba_conv_kernel | mamba_d_conv"},
    {"ssm.state_size", U32,
     "state_size | d_state | state_dim | ssm_state_size | mamba_state_size | mamba_d_state"},
    {"ssm.group_count", U32, "m.groups"},
    {"ssm.inner_size", U32,
     "(expand | num_heads | mamba_expand | mamba_num_heads) * (mamba_head_dim | hidden_size)"},
    {"ssm.time_step_rank", U32, "n_heads | num_heads | mamba_n_heads | mamba_num_heads"},
    {"attention.head_count_kv[]", I32, "if(g.is_attention, num_key_value_heads, 0)"},
    {"expert_used_count", U32, "if(num_local_experts | 0, num_experts_per_tok, 0)"},
    {"rope.scaling.finetuned", BOOL, "g.uses_rope"},
    {"context_length", U32, "if(g.uses_rope, nothing, 1048576)"},
    END_OF_KEYS};
#define WITH_EXPERTS    "if(num_local_experts | 0) "
#define WITHOUT_EXPERTS "if((num_local_experts | 0) == 0) "
/* Where only the first rows of a head turn, the others stay behind them. */
#define RULES_PARTLY(name, shape)                                                                  \
    {name, NULL,                                                                                   \
     "if(g.is_whole == false) view(" shape ") rows(1, 0, g.rotary) "                               \
     "tile(1, 2, g.rotary / 2, 1) turns(0, 2)"},                                                   \
    {                                                                                              \
        name, NULL,                                                                                \
            "if(g.is_whole == false) view(" shape ") "                                             \
            "rows(1, g.rotary, attention.dim - g.rotary) turns(1, 2)"                              \
    }
static const tare_llama_rule hybrid_rules[] = {
    {"=blk.#.attn_q@", NULL, "if(g.is_whole) heads(num_attention_heads)"},
    {"=blk.#.attn_k@", NULL, "if(g.is_whole) heads(num_key_value_heads)"},
    RULES_PARTLY("=blk.#.attn_q.weight", "0, attention.dim, d1"),
    RULES_PARTLY("=blk.#.attn_k.weight", "0, attention.dim, d1"),
    RULES_PARTLY("=blk.#.attn_q.bias", "0, attention.dim"),
    RULES_PARTLY("=blk.#.attn_k.bias", "0, attention.dim"),
    RULES_MAMBA2,
    RULES_EXPERTS,
    RULES_GATE_UP(SHARED_INPUT, "ffn_gate_shexp", "ffn_up_shexp", WITH_EXPERTS),
    RULES_GATE_UP(SHARED_INPUT, "ffn_gate", "ffn_up", WITHOUT_EXPERTS),
    {"*.shared_mlp.output_linear.weight", "=blk.#.ffn_down.weight", WITHOUT_EXPERTS},
    END_OF_RULES};
#define HYBRID_TENSORS ENDS QKV NORMS FFN MOE SHARED MAMBA2

/* ---- adapters in the model, which tokens choose -------------------------------------------------- */

static const char *const switch_defaults[] = {
    KV_HEADS_ALL,
    "attention.dim = projection_head_dim | head_dim | floor(hidden_size / "
    "num_attention_heads)",
    NULL};
static const tare_llama_key switch_keys[] = {
    GRANITE_KEYS,
    {"attention.key_length", U32, NULL}, /* but where it is not the usual one */
    {"attention.value_length", U32, NULL},
    {"attention.key_length", U32, SWA_OWN_DIM},
    {"attention.value_length", U32, SWA_OWN_DIM},
    {"feed_forward_length", U32, "shared_intermediate_size"},
    KEY_SHARED_FFN,
    {"expert_used_count", U32, "0"},
    {"adapters.count", U32, "num_adapters"},
    {"adapters.lora_rank", U32, "max_lora_rank"},
    {"adapters.token_ids_activate", I32, "adapter_token_ids"},
    {"adapters.token_ids_substitute", I32, "adapter_substitute_token_ids"},
    {"adapters.router_gain", F32, "control_token_gain | 15"},
    END_OF_KEYS};
/* The first of the adapters is that of no token: zeros. */
#define SWITCH_PART "view(d0, d2, d3) lead(1)"
#define SWITCH_B_TURNED(heads)                                                                     \
    "view(0, max_lora_rank) heads(num_adapters * " heads ") view(num_adapters, 0, max_lora_rank) " \
    "lead(1)"
#define SWITCH_PAIR(from, to)                                                                      \
    {"*." from ".base_layer.weight", "=blk.#." to ".weight", NULL},                                \
        {"*." from ".lora_A", "=blk.#." to ".lora_a", SWITCH_PART}, {                              \
        "*." from ".lora_B", "=blk.#." to ".lora_b", SWITCH_PART                                   \
    }
#define SWITCH_SLICE(from, i, to, b)                                                               \
    {"*." from ".lora_A_slices." i, "=blk.#." to ".lora_a", SWITCH_PART}, {                        \
        "*." from ".lora_B_slices." i, "=blk.#." to ".lora_b", b                                   \
    }
#define SWITCH_Q   "num_attention_heads * attention.dim"
#define SWITCH_K   "num_key_value_heads * attention.dim"
#define SWITCH_QKV "*.self_attn.qkv_proj.base_layer.weight"
static const tare_llama_rule switch_rules[] = {
    RULE_DROP("*switch.*"), /* no numbers that were learned */
    RULE_DROP("*adapter_token_ids"),
    RULE_DROP("*control_to_substitute_lut"),
    {SWITCH_QKV, "=blk.#.attn_qkv.weight",
     "rows(0, 0, " SWITCH_Q ") heads(num_attention_heads) part(0, 3)"},
    {SWITCH_QKV, "=blk.#.attn_qkv.weight",
     "rows(0, " SWITCH_Q ", " SWITCH_K ") heads(num_key_value_heads) part(1, 3)"},
    {SWITCH_QKV, "=blk.#.attn_qkv.weight",
     "rows(0, " SWITCH_Q " + " SWITCH_K ", " SWITCH_K ") part(2, 3)"},
    SWITCH_SLICE("qkv_proj", "0", "attn_q", SWITCH_B_TURNED("num_attention_heads")),
    SWITCH_SLICE("qkv_proj", "1", "attn_k", SWITCH_B_TURNED("num_key_value_heads")),
    SWITCH_SLICE("qkv_proj", "2", "attn_v", SWITCH_PART),
    SWITCH_PAIR("o_proj", "attn_output"),
    RULES_GATE_UP("*.shared_mlp.input_linear.base_layer.weight", "ffn_gate", "ffn_up", ""),
    SWITCH_SLICE("input_linear", "0", "ffn_gate", SWITCH_PART),
    SWITCH_SLICE("input_linear", "1", "ffn_up", SWITCH_PART),
    SWITCH_PAIR("output_linear", "ffn_down"),
    END_OF_RULES};
#define SWITCH_LORA(word) word ".lora_a " word ".lora_b "

/* ---- the way back ------------------------------------------------------------------------------ */

#define BACK_SCALES                                                                                \
    "attention_multiplier = attention.scale", "embedding_multiplier = embedding_scale",            \
        "residual_multiplier = residual_scale", "logits_scaling = logit_scale"
static const char *const granite_back_config[] = {"model_type = 'granite'", BACK_SCALES,
                                                  BACK_LONGROPE, BACK_BIASES, NULL};
static const tare_llama_back granite_back = {
    .names = HF_DENSE, .config = granite_back_config, .when = "has(ssm.conv_kernel) == false"};
static const char *const granitemoe_back_config[] = {
    "model_type = 'granitemoe'",
    BACK_SCALES,
    BACK_LONGROPE,
    BACK_BIASES,
    "shared_intermediate_size = expert_shared_feed_forward_length",
    NULL};
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
    "model_type = 'granitemoeshared'",
    BACK_SCALES,
    BACK_LONGROPE,
    BACK_BIASES,
    "shared_intermediate_size = expert_shared_feed_forward_length",
    NULL};
static const tare_llama_back granitemoe_shared_back = {
    .names = GRANITEMOE_NAMES,
    .config = granitemoe_shared_back_config,
    .shapes = granitemoe_back_shapes,
    .when = "if(has(ssm.conv_kernel), false, expert_shared_feed_forward_length > 0)"};

#define SWA_BACK                                                                                   \
    BACK_SCALES, BACK_LAYER_TYPES, BACK_BIASES,                                                    \
        "layer_rope_theta[] = if(layer < len(attention.rope_pattern), "                            \
        "if(at(attention.rope_pattern, layer), rope.freq_base, 0), rope.freq_base)"
static const tare_llama_shape_row swa_back_shapes[] = {
    {"*.self_attn.sinks", "d0"},
    {"*.block_sparse_moe.experts.gate_up_proj", "d0, d1, d2"},
    {"*.block_sparse_moe.experts.down_proj", "d0, d1, d2"},
    {SHARED_INPUT, "d0, d1"},
    {"*.shared_mlp.output_linear.weight", "d0, d1"},
    {NULL, NULL}};
static const char *const swa_back_config[] = {"model_type = 'granite_swa'", SWA_BACK, NULL};
static const tare_llama_back swa_back = {.names = HF_DENSE " self_attn.sinks sliding_window",
                                         .config = swa_back_config,
                                         .shapes = swa_back_shapes};
static const char *const moeswa_back_config[] = {
    "model_type = 'granitemoe_swa'", SWA_BACK,
    "shared_intermediate_size = expert_shared_feed_forward_length | 0", NULL};
static const tare_llama_back moeswa_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "self_attn.sinks sliding_window block_sparse_moe.router block_sparse_moe.experts.down_proj "
    "block_sparse_moe.experts.gate_up_proj shared_mlp.output_linear num_local_experts",
    .config = moeswa_back_config,
    .shapes = swa_back_shapes,
    .when = "expert_count > 0"};

static const char *const hybrid_back_config[] = {
    "model_type = 'granitemoehybrid'",
    BACK_SCALES,
    "layer_types[] = if(at(attention.head_count_kv, layer) == 0, 'mamba', 'attention')",
    "num_key_value_heads = largest(attention.head_count_kv)",
    "mamba_d_conv = ssm.conv_kernel",
    "mamba_d_state = ssm.state_size",
    "mamba_n_groups = ssm.group_count",
    "mamba_n_heads = ssm.time_step_rank",
    "mamba_expand = floor(ssm.inner_size / embedding_length)",
    "mamba_d_head = floor(ssm.inner_size / ssm.time_step_rank)",
    "shared_intermediate_size = expert_shared_feed_forward_length",
    "num_local_experts = expert_count | 0",
    "num_experts_per_tok = expert_used_count | 0",
    "position_embedding_type = if(rope.scaling.finetuned, 'rope', 'nope')",
    BACK_BIASES,
    NULL};
static const tare_llama_shape_row hybrid_back_shapes[] = {
    {"=blk.#.ssm_a", "d0"},
    {"=blk.#.ssm_d", "d0"},
    {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
    {"=blk.#.ssm_norm.weight", "d0 * d1"},
    {"*.block_sparse_moe.input_linear.weight", "d0, 2 * d1, d2"},
    {"*.shared_mlp.input_linear.weight", "2 * d0, d1"},
    {"*.shared_mlp.output_linear.weight", "d0, d1"},
    {NULL, NULL}};
static const char *const bamba_back_config[] = {
    "model_type = 'bamba'",
    "attn_layer_indices[] = if(at(attention.head_count_kv, layer) > 0, layer)",
    "num_key_value_heads = largest(attention.head_count_kv)",
    "mamba_d_conv = ssm.conv_kernel",
    "mamba_d_state = ssm.state_size",
    "mamba_n_groups = ssm.group_count",
    "mamba_n_heads = ssm.time_step_rank",
    "mamba_expand = floor(ssm.inner_size / embedding_length)",
    "mamba_d_head = floor(ssm.inner_size / ssm.time_step_rank)",
    "rope_parameters.rope_type = 'default'",
    "rope_parameters.rope_theta = rope.freq_base",
    "rope_parameters.partial_rotary_factor = rope.dimension_count * attention.head_count / "
    "embedding_length",
    "rope_theta = nothing",
    "num_local_experts = nothing",
    "num_experts_per_tok = nothing",
    "attn_rotary_emb = nothing",
    BACK_BIASES,
    NULL};
static const tare_llama_shape_row bamba_back_shapes[] = {{"=blk.#.ssm_a", "d0"},
                                                         {"=blk.#.ssm_d", "d0"},
                                                         {"=blk.#.ssm_conv1d.weight", "d0, 1, d1"},
                                                         {"=blk.#.ssm_norm.weight", "d0 * d1"},
                                                         {NULL, NULL}};
static const tare_llama_back bamba_back = {
    .names = "model.layers. model.embed_tokens model.final_layernorm lm_head input_layernorm "
             "pre_ff_layernorm feed_forward.gate_proj feed_forward.up_proj feed_forward.down_proj "
             "mamba.in_proj mamba.conv1d mamba.dt_proj mamba.A_log mamba.D mamba.norm "
             "mamba.out_proj " HF_ATTN HF_CONFIG,
    .config = bamba_back_config,
    .shapes = bamba_back_shapes,
    .when = "if(has(ssm.conv_kernel), if(has(embedding_scale), false, has(expert_count) == false), "
            "false)"};
static const tare_llama_back hybrid_back = {
    .names = GRANITEMOE_NAMES
    " mamba.in_proj mamba.conv1d mamba.dt_proj mamba.A_log mamba.D mamba.norm mamba.out_proj",
    .config = hybrid_back_config,
    .shapes = hybrid_back_shapes,
    .when = "has(ssm.conv_kernel)"};

/* The audio encoder of Granite Speech; the projectors of Granite 4 Vision. */
static const tare_llama_rule granite_rules[] = {RULES_PERMUTE,
                                                RULE_DROP("encoder.*"),
                                                RULE_DROP("projector.*"),
                                                RULE_DROP("*layerwise_projectors.*"),
                                                RULE_DROP("*spatial_projectors.*"),
                                                END_OF_RULES};

const tare_llama_arch tare_llama_family_granite[] = {
    {.name = "granite",
     .classes = "GraniteForCausalLM GraniteSpeechForConditionalGeneration "
                "GraniteSpeechPlusForConditionalGeneration Granite4VisionForConditionalGeneration",
     .tensors = ENDS QKV NORMS FFN "rope_factors_long rope_factors_short",
     .defaults = tare_llama_all_heads,
     .keys = granite_keys,
     .rules = granite_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true},
     .back = &granite_back,
     .extra = tare_llama_granite_deepstack},
    {.name = "granitemoe",
     .classes = "GraniteMoeSharedForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED "rope_factors_long rope_factors_short",
     .defaults = tare_llama_all_heads,
     .keys = granitemoe_keys,
     .rules = granitemoe_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true},
     .back = &granitemoe_shared_back},
    {.name = "granitemoe",
     .classes = "GraniteMoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE SHARED "rope_factors_long rope_factors_short",
     .defaults = tare_llama_all_heads,
     .keys = granitemoe_keys,
     .rules = granitemoe_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true},
     .back = &granitemoe_back},
    {.name = "granite_swa",
     .classes = "GraniteMoeSWAForCausalLM",
     .tensors =
         SWA_TENSORS "ffn_gate_inp ffn_gate_up_exps ffn_down_exps ffn_up_shexp ffn_down_shexp",
     .defaults = swa_defaults,
     .keys = swa_keys,
     .rules = swa_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true},
     .back = &moeswa_back},
    {.name = "granite_swa",
     .classes = "GraniteSWAForCausalLM",
     .tensors = SWA_TENSORS FFN,
     .defaults = swa_defaults,
     .keys = swa_keys,
     .rules = swa_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true},
     .back = &swa_back},
    {.name = "graniteswitch",
     .classes = "GraniteSwitchForCausalLM",
     .layers = "num_hidden_layers - 1", /* but the one that chooses */
     .tensors = ENDS NORMS FFN "attn_qkv attn_output " SWITCH_LORA("attn_q") SWITCH_LORA("attn_k")
         SWITCH_LORA("attn_v") SWITCH_LORA("attn_output") SWITCH_LORA("ffn_gate")
             SWITCH_LORA("ffn_up") SWITCH_LORA("ffn_down"),
     .defaults = switch_defaults,
     .keys = switch_keys,
     .rules = switch_rules,
     .has_rope_freqs = true,
     .tokenizer = {.reads_prefix_space = true}},
    {.name = "granitehybrid",
     .classes = "BambaForCausalLM",
     .tensors = HYBRID_TENSORS,
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = hybrid_defaults,
     .keys = hybrid_keys,
     .rules = hybrid_rules,
     .has_rope_freqs = true,
     .tokenizer = {.multiple = 8},
     .back = &bamba_back},
    {.name = "granitehybrid",
     .classes = "GraniteMoeHybridForCausalLM",
     .requires = "g.is_hybrid",
     .tensors = HYBRID_TENSORS,
     .cut = ".dt_bias=.dt_proj.bias",
     .defaults = hybrid_defaults,
     .keys = hybrid_keys,
     .rules = hybrid_rules,
     .has_rope_freqs = true,
     .tokenizer = {.multiple = 8},
     .back = &hybrid_back},
    {.name = "granitemoe",
     .classes = "GraniteMoeHybridForCausalLM",
     .requires = "if((num_local_experts | 1) > 0, num_experts_per_tok > 0, false)",
     .tensors = HYBRID_TENSORS,
     .defaults = hybrid_defaults,
     .keys = hybrid_keys,
     .rules = hybrid_rules,
     .has_rope_freqs = true,
     .back = &hybrid_back},
    {.name = "granite",
     .classes = "GraniteMoeHybridForCausalLM",
     .tensors = HYBRID_TENSORS,
     .defaults = hybrid_defaults,
     .keys = hybrid_keys,
     .rules = hybrid_rules,
     .has_rope_freqs = true,
     .back = &hybrid_back},
    {.name = NULL},
};
