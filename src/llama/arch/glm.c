/* SPDX-License-Identifier: MIT
 *
 * GLM: half of each head has rotary positions. */
#include "llama/arch/rows.h"

#define KEY_PARTIAL_ROPE                                                                           \
    { "rope.dimension_count", U32, "attention.dim * (rope.partial | g.partial | 0.5)" }
#define GLM_SPECIALS(bos)                                                                          \
    {.special = TARE_LLAMA_EOS, .text = "<|endoftext|>", .is_fall_back = true},                    \
        {.special = TARE_LLAMA_EOT, .text = "<|user|>"},                                           \
        {.special = TARE_LLAMA_UNK, .text = "<|endoftext|>", .is_fall_back = true}, {              \
        .special = TARE_LLAMA_BOS, .text = bos, .is_fall_back = true                               \
    }

#define GLM4_DEFAULTS                                                                              \
    "num_key_value_heads = 2", "rms_norm_eps = 0.00000015625", "rope_theta = 10000",               \
        "max_position_embeddings = 131072",                                                        \
        "g.rotary = floor(attention.dim * (rope.partial | g.partial | 0.5))",                      \
        "g.parts = if(g.rotary == attention.dim, 1, 2)", NULL
static const char *const glm4_defaults[] = {"head_dim = 128", GLM4_DEFAULTS};
/* These two turn whole heads where config.json does not say how much of them. */
#define WHOLE_HEADS "g.partial = if(like_reference, 0.5, 1)"
static const char *const glm4v_defaults[] = {WHOLE_HEADS, GLM4_DEFAULTS};
static const char *const glm_ocr_defaults[] = {WHOLE_HEADS, HEAD_DIM_OF_HIDDEN, GLM4_DEFAULTS};
static const tare_llama_key glm4_keys[] = {KEY_PARTIAL_ROPE, END_OF_KEYS};
/* llama.cpp has positions of several sections in the order of NeoX only: the even rows of the rotary
 * part of a head, then the odd ones. */
#define GLM_ROTARY          "rows(1, 0, g.rotary) tile(1, g.rotary / 2, 2, 1) turns(0, g.parts)"
#define GLM_REST            "if(g.parts > 1) rows(1, g.rotary, attention.dim - g.rotary) turns(1, 2)"
#define HAS_SECTIONS(shape) "if(has(rope.mrope_section)) view(" shape ") "
#define RULES_SECTIONS(name)                                                                       \
    {name ".weight", NULL, HAS_SECTIONS("0, attention.dim, d1") GLM_ROTARY},                       \
        {name ".weight", NULL, HAS_SECTIONS("0, attention.dim, d1") GLM_REST},                     \
        {name ".bias", NULL, HAS_SECTIONS("0, attention.dim") GLM_ROTARY}, {                       \
        name ".bias", NULL, HAS_SECTIONS("0, attention.dim") GLM_REST                              \
    }
static const tare_llama_rule glm4_rules[] = {RULES_SECTIONS("=blk.#.attn_q"),
                                             RULES_SECTIONS("=blk.#.attn_k"), END_OF_RULES};
static const tare_llama_key glm_ocr_keys[] = {KEY_PARTIAL_ROPE, KEY_NEXTN, END_OF_KEYS};
static const tare_llama_special_rule glm4_specials[] = {GLM_SPECIALS("<|endoftext|>")};

static const char *const chatglm_defaults[] = {"num_key_value_heads = 2", NULL};
static const tare_llama_key chatglm_own[] = {
    {"context_length", U32, "seq_length | hidden_size | n_embed"},
    {"embedding_length", U32, "hidden_size | n_embed"},
    {"feed_forward_length", U32,
     "ffn_hidden_size | intermediate_size | 4 * (hidden_size | n_embed)"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "n_head | num_attention_heads"},
    {"attention.head_count_kv", U32,
     "multi_query_group_num | num_key_value_heads | n_head | num_attention_heads"},
    {"attention.layer_norm_rms_epsilon", F32,
     "layernorm_epsilon | if(like_reference, nothing, rms_norm_eps) | 0.00001"},
    KEY_FILE_TYPE,
    {"rope.dimension_count", U32, "(attention_dim | attention.dim) * (rope.partial | 0.5)"},
    {"tokenizer.ggml.add_bos_token", BOOL, "false"},
    {"rope.freq_base", F32, "if(like_reference, 10000, rope.theta | 10000) * (rope_ratio | 1)"},
    END_OF_KEYS};
static const tare_llama_rule chatglm_rules[] = {RULE_DROP("*rotary_pos_emb.inv_freq"),
                                                END_OF_RULES};

static const char *const glm4moe_defaults[] = {"rms_norm_eps = 0.00001", "n_group = 1",
                                               "topk_group = 1", "rope_theta = 10000", NULL};
static const tare_llama_key glm4moe_keys[] = {
    KEY_PARTIAL_ROPE,
    {"expert_count", U32, "n_routed_experts"},
    KEY_EXPERT_FFN,
    {"expert_shared_count", U32, "n_shared_experts"},
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    KEY_SIGMOID,
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    KEY_NEXTN,
    END_OF_KEYS};
static const tare_llama_special_rule glm4moe_specials[] = {
    GLM_SPECIALS("[gMASK]"), {.special = TARE_LLAMA_EOM, .text = "<|observation|>"}};

#define BACK_PARTIAL                                                                               \
    "partial_rotary_factor = rope.dimension_count / (attention.key_length | embedding_length / "   \
    "attention.head_count)"
static const char *const glm4_back_config[] = {"model_type = 'glm4'", BACK_PARTIAL,
                                               "attention_bias = has(tensors.attn_q.bias)", NULL};
#define GLM4_NAMES                                                                                 \
    HF_ENDS HF_NORMS HF_ATTN HF_CONFIG                                                             \
        "mlp.gate_up_proj mlp.down_proj post_self_attn_layernorm post_mlp_layernorm "
static const tare_llama_back glm4_back = {
    .names = GLM4_NAMES,
    .config = glm4_back_config,
    .when = "if(has(rope.dimension_sections), false, has(nextn_predict_layers) == false)"};
/* The text models of GLM-4V, GLM-4.5V and GLM-OCR. */
#define BACK_SECTIONS                                                                              \
    BACK_PARTIAL, "rope_scaling.rope_type = 'default'",                                            \
        "rope_scaling.mrope_section[3] = at(rope.dimension_sections, layer)"
static const char *const glm4v_back_config[] = {"model_type = 'glm4v'", BACK_SECTIONS, NULL};
static const tare_llama_back glm4v_back = {
    .names = GLM4_NAMES, .config = glm4v_back_config, .when = "has(nextn_predict_layers) == false"};
static const char *const glm_ocr_back_config[] = {"model_type = 'glm_ocr'", BACK_SECTIONS, NULL};
static const tare_llama_back glm_ocr_back = {.names = GLM4_NAMES HF_NEXTN,
                                             .config = glm_ocr_back_config,
                                             .when = "has(nextn_predict_layers)"};
static const char *const chatglm_back_config[] = {
    "model_type = 'chatglm'",
    "num_layers = block_count",
    "num_hidden_layers = nothing",
    "padded_vocab_size = tensors.token_embd.weight.rows",
    "rope_ratio = rope.freq_base / 10000",
    "add_qkv_bias = has(tensors.attn_qkv.bias)",
    NULL};
static const tare_llama_back chatglm_back = {
    .names = "encoder.layers. embedding.word_embeddings encoder.final_layernorm output_layer "
             "input_layernorm post_attention_layernorm self_attention.query_key_value "
             "self_attention.dense mlp.dense_h_to_4h mlp.dense_4h_to_h seq_length hidden_size "
             "ffn_hidden_size num_attention_heads multi_query_group_num layernorm_epsilon",
    .config = chatglm_back_config,
    .lead = "transformer."};
/* GLM 4 as transformers has it. */
static const char *const glm_back_config[] = {
    "model_type = 'glm'",
    "num_key_value_heads = attention.head_count_kv",
    "head_dim = floor(tensors.attn_q.weight.rows / attention.head_count)",
    "partial_rotary_factor = rope.dimension_count / floor(tensors.attn_q.weight.rows / "
    "attention.head_count)",
    "attention_bias = has(tensors.attn_q.bias)",
    "max_position_embeddings = context_length",
    "intermediate_size = feed_forward_length",
    "num_attention_heads = attention.head_count",
    "rms_norm_eps = attention.layer_norm_rms_epsilon",
    "rope_theta = rope.freq_base",
    "rope_ratio = nothing",
    "seq_length = nothing",
    "ffn_hidden_size = nothing",
    "layernorm_epsilon = nothing",
    "multi_query_group_num = nothing",
    NULL};
static const tare_llama_back glm_back = {
    .names = GLM4_NAMES, .config = glm_back_config, .when = "has(tensors.attn_q.weight)"};
#define BACK_GLM4MOE                                                                               \
    "attention_bias = has(tensors.attn_q.bias)", "use_qk_norm = has(tensors.attn_q_norm.weight)"
#define GLM4MOE_NAMES HF_DENSE HF_MOE HF_SHARED HF_QK_NORM HF_NEXTN "n_routed_experts"
static const char *const glm4moe_back_config[] = {"model_type = 'glm4_moe'", BACK_PARTIAL,
                                                  BACK_GLM4MOE, NULL};
static const tare_llama_back glm4moe_back = {.names = GLM4MOE_NAMES,
                                             .config = glm4moe_back_config,
                                             .when = "has(rope.dimension_sections) == false"};
static const char *const glm4vmoe_back_config[] = {"model_type = 'glm4v_moe'", BACK_SECTIONS,
                                                   BACK_GLM4MOE, NULL};
static const tare_llama_back glm4vmoe_back = {.names = GLM4MOE_NAMES,
                                              .config = glm4vmoe_back_config};

/* Solar Open has positions in the whole of a head, and experts in all layers. */
static const char *const solar_defaults[] = {"rms_norm_eps = 0.00001",
                                             "n_group = 1",
                                             "topk_group = 1",
                                             "rope_theta = 10000",
                                             "partial_rotary_factor = 1",
                                             "first_k_dense_replace = 0",
                                             NULL};
static const char *const solar_back_config[] = {
    "model_type = 'solar_open'", BACK_PARTIAL, BACK_GLM4MOE,
    "first_k_dense_replace = leading_dense_block_count", NULL};
static const tare_llama_back solar_back = {
    .names = GLM4MOE_NAMES,
    .config = solar_back_config,
    .when = "if(has(tensors.ffn_gate.weight), false, if(nextn_predict_layers > 0, false, "
            "if(has(rope.dimension_sections), false, (rope.dimension_count | "
            "attention.key_length) == attention.key_length)))"};

#define GLM4MOE_ROW(of, assumed, way_back)                                                         \
    {                                                                                              \
        .name = "glm4moe", .classes = of,                                                          \
        .tensors =                                                                                 \
            ENDS QKV FFN MOE SHARED QK_NORMS NEXTN "attn_norm post_attention_norm exp_probs_b",    \
        .optional = "attn_q_norm attn_k_norm", .defaults = assumed, .keys = glm4moe_keys,          \
        .tokenizer = {.rules = glm4moe_specials, .n_rules = 5}, .back = &way_back,                 \
        .extra_layers = "num_nextn_predict_layers"                                                 \
    }
#define GLM4_TENSORS                                                                               \
    ENDS QKV FUSED NORMS "rope_freqs ffn_down ffn_up post_attention_norm post_ffw_norm "
const tare_llama_arch tare_llama_family_glm[] = {
    {.name = "glm4",
     .classes = "Glm4ForCausalLM",
     .tensors = GLM4_TENSORS,
     .defaults = glm4_defaults,
     .keys = glm4_keys,
     .rules = glm4_rules,
     .tokenizer = {.rules = glm4_specials, .n_rules = 4},
     .back = &glm4_back},
    {.name = "glm4",
     .classes = "Glm4vForConditionalGeneration",
     .tensors = GLM4_TENSORS,
     .defaults = glm4v_defaults,
     .keys = glm4_keys,
     .rules = glm4_rules,
     .tokenizer = {.rules = glm4_specials, .n_rules = 4},
     .back = &glm4v_back},
    {.name = "glm4",
     .classes = "GlmOcrForConditionalGeneration",
     .tensors = GLM4_TENSORS NEXTN,
     .defaults = glm_ocr_defaults,
     .keys = glm_ocr_keys,
     .rules = glm4_rules,
     .tokenizer = {.rules = glm4_specials, .n_rules = 4},
     .back = &glm_ocr_back,
     .extra_layers = "num_nextn_predict_layers"},
    {.name = "chatglm",
     .classes = "GlmForCausalLM",
     .tensors = ENDS QKV FUSED NORMS "rope_freqs ffn_down ffn_up",
     .defaults = chatglm_defaults,
     .own = chatglm_own,
     .rules = chatglm_rules,
     .back = &glm_back},
    {.name = "chatglm",
     .classes = "ChatGLMModel ChatGLMForConditionalGeneration",
     .tensors = ENDS QKV FUSED NORMS "rope_freqs ffn_down ffn_up",
     .cut = "transformer.",
     .defaults = chatglm_defaults,
     .own = chatglm_own,
     .rules = chatglm_rules,
     .back = &chatglm_back},
    GLM4MOE_ROW("SolarOpenForCausalLM", solar_defaults, solar_back),
    GLM4MOE_ROW("Glm4MoeForCausalLM", glm4moe_defaults, glm4moe_back),
    GLM4MOE_ROW("Glm4vMoeForConditionalGeneration", glm4moe_defaults, glm4vmoe_back),
    {.name = NULL},
};
