/* SPDX-License-Identifier: MIT
 *
 * Decoders with one feature that no other has: activation parameters as keys, head counts and widths
 * that differ by layer, scaled embeddings. */
#include "llama/arch/rows.h"

/* Apertus: the parameters of its activation become keys. */
static const char *const apertus_defaults[] = {KV_HEADS_ALL, "rope_theta = 12000000",
                                               "rms_norm_eps = 0.00001", NULL};
static const tare_llama_rule apertus_rules[] = {{"*.mlp.act_fn.alpha_n", "xielu.alpha_n", "value"},
                                                {"*.mlp.act_fn.alpha_p", "xielu.alpha_p", "value"},
                                                {"*.mlp.act_fn.beta", "xielu.beta", "value"},
                                                {"*.mlp.act_fn.eps", "xielu.eps", "value"},
                                                END_OF_RULES};

static const tare_llama_key maincoder_keys[] = {{"rope.dimension_count", U32, "head_dim"},
                                                END_OF_KEYS};

static const tare_llama_key pangu_keys[] = {KEY_VOCAB_SIZE,
                                            KEY_ROPE_DIM,
                                            {"attention.key_length", U32, "attention.dim"},
                                            {"attention.value_length", U32, "attention.dim"},
                                            END_OF_KEYS};

/* Jais: its tensors repeat ALiBi's usual slopes, which belong to a bias of 8. */
static const tare_llama_key jais_early[] = {{"attention.max_alibi_bias", F32, "8"}, END_OF_KEYS};
static const tare_llama_key jais_own[] = {
    {"block_count", U32, "layers"},
    {"context_length", U32, "n_positions"},
    {"embedding_length", U32, "n_embd"},
    {"feed_forward_length", U32, "n_inner"},
    {"attention.head_count", U32, "n_head"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule jais_rules[] = {
    RULE_DROP("*relative_pe.slopes"),
    RULE_DROP("*.attn.bias"),
    RULES_CONV1D,
    {"=blk.#.ffn_gate.weight", NULL, "swap(0, 1)"},
    {"=token_embd.weight", NULL, "mul(mup_embeddings_scale | embeddings_scale | 1)"},
    {"=output.weight", NULL, "mul(mup_output_alpha * mup_width_scale | width_scale | 1)"},
    END_OF_RULES};

/* OpenELM: heads and widths grow from layer to layer. */
static const char *const openelm_defaults[] = {
    "o.wish = at(ffn_multipliers, layer) * model_dim",
    "o.width = max(ffn_dim_divisor, ffn_dim_divisor * floor((o.wish + ffn_dim_divisor / 2) / "
    "ffn_dim_divisor))",
    "o.ff = if(o.width < 0.9 * o.wish, o.width + ffn_dim_divisor, o.width)", NULL};
static const tare_llama_key openelm_own[] = {{"block_count", U32, "layers"},
                                             {"context_length", U32, "max_context_length"},
                                             {"embedding_length", U32, "model_dim"},
                                             {"feed_forward_length[]", I32, "o.ff"},
                                             {"attention.head_count", U32, "num_query_heads"},
                                             {"attention.head_count_kv", U32, "num_kv_heads"},
                                             {"rope.freq_base", F32, "rope_freq_constant"},
                                             {"attention.layer_norm_rms_epsilon", F32, "0.000001"},
                                             {"rope.dimension_count", U32, "head_dim"},
                                             {"attention.key_length", U32, "head_dim"},
                                             {"attention.value_length", U32, "head_dim"},
                                             KEY_FILE_TYPE,
                                             END_OF_KEYS};
static const tare_llama_rule openelm_rules[] = {
    {"*.ffn.proj_1.weight", "=blk.#.ffn_gate.weight", "rows(0, 0, o.ff)"},
    {"*.ffn.proj_1.weight", "=blk.#.ffn_up.weight", "rows(0, o.ff, d0 - o.ff)"},
    END_OF_RULES};

/* Deci: some layers have no attention, a matrix instead of it, or no feed-forward. */
static const char *const deci_defaults[] = {
    HEAD_DIM_OF_HIDDEN,
    "d.group = at(block_configs, layer, 'attention.n_heads_in_group')",
    "d.is_linear = at(block_configs, layer, 'attention.replace_with_linear') | false",
    "d.heads = if(has(block_configs), if(has(d.group), num_attention_heads, if(d.is_linear, "
    "num_attention_heads, 0)), num_attention_heads)",
    "d.kv = if(has(block_configs), if(has(d.group), floor(num_attention_heads / d.group), 0), "
    "at(num_key_value_heads_per_layer, layer) | num_key_value_heads)",
    "d.width = floor(2 * (at(block_configs, layer, 'ffn.ffn_mult') | 0) * hidden_size / 3)",
    "d.dim = floor(hidden_size / num_attention_heads)",
    NULL};
static const tare_llama_key deci_own[] = {
    {"rope.freq_base", F32, "rope.theta"},
    {"attention.head_count_kv[]", I32, "d.kv"},
    {"attention.head_count[]", I32, "d.heads"},
    {"feed_forward_length[]", I32, "256 * floor((d.width + 255) / 256)"},
    {"block_count", U32, "layers"},
    {"context_length", U32, "max_position_embeddings"},
    {"embedding_length", U32, "hidden_size"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},
    {"attention.key_length", U32, "d.dim"},
    {"attention.value_length", U32, "d.dim"},
    KEY_FILE_TYPE,
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    END_OF_KEYS};
static const tare_llama_key deci7_keys[] = {
    {"attention.head_count_kv", U32, "num_key_value_heads_per_layer"},
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    END_OF_KEYS};
static const tare_llama_rule deci_rules[] = {
    {"=blk.#.attn_q@", NULL, "heads(d.heads)"},
    {"=blk.#.attn_k@", NULL, "heads(d.kv)"},
    {"*.self_attn.linear_attn.weight", "=blk.#.attn_output.weight", "if(d.is_linear)"},
    END_OF_RULES};

static const char *const deci_back_config[] = {
    "model_type = 'nemotron-nas'",
    "num_attention_heads = largest(attention.head_count)",
    "block_configs[].attention.n_heads_in_group = if(at(attention.head_count_kv, layer) > 0, "
    "floor(largest(attention.head_count) / at(attention.head_count_kv, layer)))",
    "block_configs[].attention.no_op = at(attention.head_count, layer) == 0",
    "block_configs[].attention.replace_with_linear = if(at(attention.head_count, layer) > 0, "
    "at(attention.head_count_kv, layer) == 0, false)",
    "block_configs[].ffn.ffn_mult = if(at(feed_forward_length, layer) > 0, "
    "1.5 * at(feed_forward_length, layer) / embedding_length)",
    "block_configs[].ffn.no_op = at(feed_forward_length, layer) == 0",
    "block_configs[].ffn.replace_with_linear = false",
    "num_key_value_heads = nothing",
    "intermediate_size = nothing",
    "head_dim = nothing",
    BACK_BIASES,
    NULL};
static const tare_llama_shape_row deci_back_shapes[] = {
    {"*.self_attn.linear_attn.weight", "d0, d1"}, {NULL, NULL}};
static const tare_llama_back deci_back = {.names = HF_DENSE,
                                          .config = deci_back_config,
                                          .shapes = deci_back_shapes,
                                          .when = "len(attention.head_count) > 0"};
static const char *const deci7_back_config[] = {"model_type = 'deci'", NULL};
static const tare_llama_back deci7_back = {.names = HF_DENSE "num_key_value_heads_per_layer",
                                           .config = deci7_back_config};

/* BitNet: weights of three levels, which are stored as floats while it is trained. */
#define TERNARY                                                                                    \
    "if(if(quantization_config.quant_method == 'bitnet', "                                         \
    "quantization_config.quantization_mode == 'online', true)) ternary"
static const tare_llama_key bitnet_keys[] = {
    {"rope.scaling.type", TEXT, "'linear'"}, {"rope.scaling.factor", F32, "1"}, END_OF_KEYS};
static const char *const bitnet_defaults[] = {"rope_theta = 500000", "rms_norm_eps = 0.00001",
                                              KV_HEADS_ALL, NULL};
static const tare_llama_rule bitnet_rules[] = {
    {"=blk.#.attn_q.weight", NULL, TERNARY},   {"=blk.#.attn_k.weight", NULL, TERNARY},
    {"=blk.#.attn_v.weight", NULL, TERNARY},   {"=blk.#.attn_output.weight", NULL, TERNARY},
    {"=blk.#.ffn_gate.weight", NULL, TERNARY}, {"=blk.#.ffn_up.weight", NULL, TERNARY},
    {"=blk.#.ffn_down.weight", NULL, TERNARY}, END_OF_RULES};

/* Chameleon: the norm of a head counts for all, in the order of llama.cpp's rotary halves. */
#define HEAD_NORM(n) "rows(0, 0, 1) view(2, 0) swap(0, 1) view(1, 0) repeat(" n ")"
static const tare_llama_key chameleon_keys[] = {{"swin_norm", BOOL, "swin_norm | false"},
                                                END_OF_KEYS};
static const char *const chameleon_defaults[] = {KV_HEADS_ALL, "rope_theta = 10000",
                                                 "rms_norm_eps = 0.00001",
                                                 "max_position_embeddings = 4096", NULL};
static const tare_llama_rule chameleon_rules[] = {
    RULE_DROP("model.vqmodel*"),
    RULES_PERMUTE,
    {"=blk.#.attn_q_norm@", NULL, HEAD_NORM("num_attention_heads")},
    {"=blk.#.attn_k_norm@", NULL, HEAD_NORM("num_key_value_heads | num_attention_heads")},
    END_OF_RULES};

/* Talkie: positions turn the other way, gains beside the weights. */
#define TALKIE_FIRST "view(0, head_dim, d1) rows(1, 0, head_dim / 2) turns(0, 2)"
#define TALKIE_SECOND                                                                              \
    "view(0, head_dim, d1) rows(1, head_dim / 2, head_dim / 2) mul(-1) turns(1, 2)"
static const tare_llama_key talkie_keys[] = {
    {"attention.layer_norm_rms_epsilon", F32, "0.00000011920928955078125"}, END_OF_KEYS};
static const tare_llama_rule talkie_rules[] = {
    {"*.attn_gain.a_g", "=blk.#.attn_output.scale", NULL},
    {"*.mlp_gain.a_g", "=blk.#.ffn_down.scale", NULL},
    {"lm_head_gain.w_g", "logit_scale", "value"},
    {"=blk.#.attn_q.weight", NULL, TALKIE_FIRST},
    {"=blk.#.attn_q.weight", NULL, TALKIE_SECOND},
    {"=blk.#.attn_k.weight", NULL, TALKIE_FIRST},
    {"=blk.#.attn_k.weight", NULL, TALKIE_SECOND},
    {"*.attn.head_gain.head_g", ".attn.head_gain.head_g.weight", "view(d0, 1)"},
    {"*.embed_skip.a_g", ".embed_skip.a_g.weight", NULL},
    {"lm_head", "=output.weight", NULL},
    END_OF_RULES};

static const char *const maincoder_back_config[] = {"model_type = 'maincoder'", NULL};
static const tare_llama_back maincoder_back = {.names = HF_DENSE HF_QK_NORM,
                                               .config = maincoder_back_config};
static const char *const pangu_back_config[] = {
    "model_type = 'PanguEmbedded'", "bias = has(tensors.attn_q.bias)", "head_dim = nothing", NULL};
static const tare_llama_back pangu_back = {.names = HF_DENSE, .config = pangu_back_config};
static const char *const jais2_back_config[] = {"model_type = 'jais2'",
                                                "attention_bias = has(tensors.attn_q.bias)",
                                                "mlp_bias = has(tensors.ffn_up.bias)", NULL};
static const tare_llama_back jais2_back = {.names = HF_DENSE "layer_norm_eps",
                                           .config = jais2_back_config};

static const char *const openelm_back_config[] = {
    "model_type = 'openelm'",
    "num_transformer_layers = block_count",
    "num_hidden_layers = nothing",
    "ffn_dim_divisor = 1",
    "ffn_multipliers[] = at(feed_forward_length, layer) / embedding_length",
    "share_input_output_layers = true",
    NULL};
static const tare_llama_shape_row openelm_back_shapes[] = {{"*.ffn.proj_1.weight", "2 * d0, d1"},
                                                           {NULL, NULL}};
static const tare_llama_back openelm_back = {
    .names = "transformer.layers. transformer.token_embeddings transformer.norm attn.qkv_proj "
             "attn.out_proj attn.q_norm attn.k_norm attn_norm ffn_norm ffn.proj_2 model_dim "
             "max_context_length num_query_heads num_kv_heads rope_freq_constant head_dim",
    .config = openelm_back_config,
    .shapes = openelm_back_shapes};

static const char *const jais_back_config[] = {"model_type = 'jais'",
                                               "n_layer = block_count",
                                               "num_hidden_layers = nothing",
                                               "position_embedding_type = 'alibi'",
                                               "activation_function = 'swiglu'",
                                               "mup_embeddings_scale = 1",
                                               "mup_output_alpha = 1",
                                               "mup_width_scale = 1",
                                               NULL};
static const tare_llama_shape_row jais_back_shapes[] = {
    SHAPES_CONV1D, {"=blk.#.ffn_gate.weight", "d1, d0"}, {NULL, NULL}};
static const tare_llama_back jais_back = {
    .names =
        "transformer.h. transformer.wte transformer.ln_f lm_head ln_1 ln_2 attn.c_attn attn.c_proj "
        "mlp.c_fc mlp.c_fc2 mlp.c_proj n_positions n_embd n_head n_inner layer_norm_epsilon",
    .config = jais_back_config,
    .shapes = jais_back_shapes};

static const char *const apertus_back_config[] = {
    "model_type = 'apertus'", BACK_BIASES, "hidden_act = 'xielu'",
    "head_dim = attention.key_length",
    /* transformers assumes Llama 3's factors */
    "rope_scaling.rope_type = if(has(tensors.rope_freqs.weight), nothing, rope.scaling.type | "
    "'default')",
    NULL};
static const tare_llama_shape_row apertus_back_shapes[] = {
    {"*.mlp.act_fn.beta", ""}, {"*.mlp.act_fn.eps", ""}, {NULL, NULL}};
static const tare_llama_back apertus_back = {
    .shapes = apertus_back_shapes,
    .names = "model.layers. model.embed_tokens model.norm lm_head attention_layernorm "
             "feedforward_layernorm mlp.up_proj mlp.down_proj " HF_ATTN HF_QK_NORM HF_CONFIG,
    .config = apertus_back_config};

static const char *const talkie_back_config[] = {"model_type = 'talkie'", NULL};
static const tare_llama_shape_row talkie_back_shapes[] = {
    {"*.attn_gain.a_g", "d0"},  {"*.mlp_gain.a_g", "d0"}, {"*.attn.head_gain.head_g", "d0"},
    {"*.embed_skip.a_g", "d0"}, {"lm_head", "d0, d1"},    {NULL, NULL}};
static const tare_llama_back talkie_back = {
    .names = "model.blocks. model.embed attn.attn_query attn.attn_key attn.attn_value "
             "attn.attn_resid mlp.mlp_gate mlp.mlp_linear mlp.mlp_resid " HF_CONFIG,
    .config = talkie_back_config,
    .shapes = talkie_back_shapes};

/* HRM Text: two stacks of layers, run in turns; each run has a cache of its own, which llama.cpp counts as
 * blocks. The low stack's tensors come first. */
static const char *const hrm_defaults[] = {"hrm.stack = num_layers_per_stack | num_hidden_layers",
                                           "embedding_scale = 1 / (initializer_range | 0.02)",
                                           "prefix_lm = true", NULL};
static const tare_llama_key hrm_keys[] = {
    {"block_count", U32, "hrm.stack * H_cycles * (L_cycles + 1)"},
    {"rope.dimension_count", U32, "attention.dim"},
    {"embedding_scale", F32, "embedding_scale"},
    {"hrm.layers_per_stack", U32, "hrm.stack"},
    {"hrm.h_cycles", U32, "H_cycles"},
    {"hrm.l_cycles", U32, "L_cycles"},
    {"hrm.prefix_lm", BOOL, "prefix_lm"},
    END_OF_KEYS};
#define RULES_STACK(stack, first)                                                                  \
    {stack "attn.gqkv_proj.weight", "=blk.#.attn_gate.weight", first "rows(0, 0, d0 / 4)"},        \
        {stack "attn.gqkv_proj.weight", "=blk.#.attn_q.weight", first "rows(0, d0 / 4, d0 / 4)"},  \
        {stack "attn.gqkv_proj.weight", "=blk.#.attn_k.weight", first "rows(0, d0 / 2, d0 / 4)"},  \
        {stack "attn.gqkv_proj.weight", "=blk.#.attn_v.weight",                                    \
         first "rows(0, 3 * d0 / 4, d0 / 4)"},                                                     \
        {stack "attn.o_proj.weight", "=blk.#.attn_output.weight", first},                          \
        {stack "mlp.gate_up_proj.weight", "=blk.#.ffn_gate.weight", first "rows(0, 0, d0 / 2)"},   \
        {stack "mlp.gate_up_proj.weight", "=blk.#.ffn_up.weight",                                  \
         first "rows(0, d0 / 2, d0 / 2)"},                                                         \
        {stack "mlp.down_proj.weight", "=blk.#.ffn_down.weight", first},                           \
        {stack "self_attn.gate_proj.weight", "=blk.#.attn_gate.weight", first},                    \
        {stack "self_attn.q_proj.weight", "=blk.#.attn_q.weight", first},                          \
        {stack "self_attn.k_proj.weight", "=blk.#.attn_k.weight", first},                          \
        {stack "self_attn.v_proj.weight", "=blk.#.attn_v.weight", first},                          \
        {stack "self_attn.o_proj.weight", "=blk.#.attn_output.weight", first},                     \
        {stack "mlp.gate_proj.weight", "=blk.#.ffn_gate.weight", first}, {                         \
        stack "mlp.up_proj.weight", "=blk.#.ffn_up.weight", first                                  \
    }
static const tare_llama_rule hrm_rules[] = {
    RULES_STACK("model.L_module.layers.#.", "block(layer) "),
    RULES_STACK("model.H_module.layers.#.", "block(layer + hrm.stack) "),
    {"model.z_L_init", "=hrm.z_l_init", NULL},
    END_OF_RULES};

const tare_llama_arch tare_llama_family_others[] = {
    {.name = "apertus",
     .classes = "ApertusForCausalLM",
     .tensors = DENSE QK_NORMS,
     .optional = "ffn_gate",
     .defaults = apertus_defaults,
     .keys = tare_llama_usual_keys,
     .rules = apertus_rules,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &apertus_back},
    {.name = "bitnet",
     .classes = "BitnetForCausalLM BitNetForCausalLM",
     .tensors = "token_embd output_norm " QKV NORMS FFN "attn_sub_norm ffn_sub_norm",
     .defaults = bitnet_defaults,
     .keys = bitnet_keys,
     .rules = bitnet_rules},
    {.name = "chameleon",
     .classes = "ChameleonForConditionalGeneration ChameleonForCausalLM",
     .tensors = ENDS QKV QK_NORMS NORMS FFN,
     .defaults = chameleon_defaults,
     .keys = chameleon_keys,
     .rules = chameleon_rules,
     .tokenizer = {.prefers_json = true}},
    {.name = "talkie",
     .classes = "TalkieForCausalLM",
     .tensors = "token_embd output attn_q_norm layer_output_scale " QKV FFN,
     .keys = talkie_keys,
     .rules = talkie_rules,
     .back = &talkie_back},
    {.name = "maincoder",
     .classes = "MaincoderForCausalLM",
     .tensors = ENDS QKV NORMS FFN QK_NORMS,
     .keys = maincoder_keys,
     .back = &maincoder_back},
    {.name = "pangu-embedded",
     .classes = "PanguEmbeddedForCausalLM",
     .tensors = ENDS QKV NORMS FFN,
     .keys = pangu_keys,
     .rules = tare_llama_tied_head,
     .tokenizer = {.reads_prefix_space = true},
     .back = &pangu_back},
    {.name = "jais2",
     .classes = "Jais2ForCausalLM",
     .tensors = ENDS QKV NORMS "ffn_down ffn_up",
     .keys = &tare_llama_usual_keys[1],
     .back = &jais2_back},
    {.name = "jais",
     .classes = "JAISLMHeadModel",
     .tensors = ENDS FUSED NORMS FFN,
     .early = jais_early,
     .own = jais_own,
     .rules = jais_rules,
     .back = &jais_back},
    {.name = "openelm",
     .classes = "OpenELMForCausalLM",
     .tensors = "token_embd output_norm " FUSED NORMS FFN QK_NORMS,
     .defaults = openelm_defaults,
     .own = openelm_own,
     .rules = openelm_rules,
     .back = &openelm_back},
    {.name = "deci",
     .classes = "DeciLMForCausalLM",
     .requires = "has(block_configs)",
     .tensors = DENSE,
     .optional = "attn_norm attn_q attn_k attn_v attn_output ffn_norm",
     .defaults = deci_defaults,
     .own = deci_own,
     .rules = deci_rules,
     .has_rope_freqs = true,
     .back = &deci_back},
    {.name = "deci",
     .classes = "DeciLMForCausalLM",
     .tensors = DENSE,
     .optional = "attn_norm attn_q attn_k attn_v attn_output ffn_norm",
     .defaults = deci_defaults,
     .keys = deci7_keys,
     .rules = deci_rules,
     .has_rope_freqs = true,
     .back = &deci7_back},
    {.name = "hrm_text",
     .classes = "HrmTextForCausalLM",
     .tensors = "token_embd output hrm.z_l_init attn_gate " QKV FFN,
     .defaults = hrm_defaults,
     .keys = hrm_keys,
     .rules = hrm_rules,
     .layers = "2 * hrm.stack"},
    {.name = NULL},
};
