/* SPDX-License-Identifier: MIT
 *
 * DeepSeek and other models whose attention uses a latent vector: keys and values of all heads come
 * from one matrix, which llama.cpp has in two, the keys' transposed. */
#include "llama/arch/rows.h"

static const char *const deepseek_defaults[] = {KV_HEADS_ALL, NULL};
static const tare_llama_key deepseek_keys[] = {
    KEY_ROPE_DIM,
    KEY_NO_SCALING,
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    KEY_VOCAB_SIZE,
    KEY_EXPERT_FFN,
    {"expert_weights_scale", F32, "1"},
    {"expert_count", U32, "n_routed_experts"},
    {"expert_shared_count", U32, "n_shared_experts"},
    END_OF_KEYS};

#define KEYS_LEADING                                                                               \
    {"leading_dense_block_count", U32,                                                             \
     DENSE_FIRST " | first_k_dense_replace | if(has(n_routed_experts), 0, num_hidden_layers)"},    \
        KEY_VOCAB_SIZE, {                                                                          \
        "attention.q_lora_rank", U32, "q_lora_rank | lora.none"                                    \
    }
#define KEYS_EXPERTS                                                                               \
    {"expert_feed_forward_length", U32, "moe_intermediate_size | intermediate_size"},              \
        {"expert_count", U32, "n_routed_experts"},                                                 \
        {"expert_shared_count", U32, "n_shared_experts | 0"},                                      \
        {"expert_weights_scale", F32, "routed_scaling_factor"},                                    \
        {"expert_weights_norm", BOOL, "if(norm_topk_prob | false, norm_topk_prob)"}, {             \
        "rope.dimension_count", U32, "qk_rope_head_dim"                                            \
    }
#define KEY_MSCALE                                                                                 \
    { "rope.scaling.yarn_log_multiplier", F32, "0.1 * rope.mscale_all_dim" }
/* llama.cpp turns by attn_factor, and scales all scores by the square of that times 1 + this times
 * ln(factor), positions of type linear also by 1 + 0.1 ln(factor). So this undoes the one in the other:
 * what transformers turns by is yarn.turned, what it scales by yarn.scaled. */
#define YARN_LOG(turned)                                                                           \
    "round(10000000 * (yarn.scaled / (" turned ") - 1) / ln(rope.factor)) / 10000000"
#define KEY_YARN_LOG                                                                               \
    {                                                                                              \
        "rope.scaling.yarn_log_multiplier", F32,                                                   \
            "if(like_reference, 0.1 * rope.mscale_all_dim, if(yarn.is_plain, nothing, yarn.log | " \
            "0.1 * rope.mscale_all_dim))"                                                          \
    }
#define YARN_DEFAULTS                                                                              \
    "yarn.turned = rope.attention_factor | if(rope.mscale | 0, if(rope.mscale_all_dim | "          \
    "0, " TARE_LLAMA_YARN("rope.mscale") " / " TARE_LLAMA_YARN(                                    \
        "rope.mscale_all_dim") ")) | " TARE_LLAMA_YARN("1"),                                       \
        "yarn.scaled = if(rope.mscale_all_dim | 0, " TARE_LLAMA_YARN(                              \
            "rope.mscale_all_dim") ", 1)",                                                         \
        "yarn.log = if((rope.factor | 1) > 1, if(rope.type == 'linear', " YARN_LOG(                \
            TARE_LLAMA_YARN("1")) ", if(rope.type == 'yarn', " YARN_LOG("yarn.turned") ")))",      \
        "yarn.is_plain = if(has(yarn.log), yarn.log == 0, false)"
#define LATENT_FACTOR                                                                              \
    "rope.latent_factor = if(yarn.is_plain, yarn.turned / " TARE_LLAMA_YARN("1") ", yarn.turned)"
/* But for DeepSeek 2, llama.cpp turns by 1 + 0.1 ln(factor) over the scale of this. */
#define SCALED_FACTOR "rope.latent_factor = yarn.scaled / " TARE_LLAMA_YARN("1")
#define DEEPSEEK2_KEYS                                                                             \
    {"attention.head_count_kv", U32, "1"}, KEYS_LEADING,                                           \
        {"attention.kv_lora_rank", U32, "kv_lora_rank"},                                           \
        {"attention.key_length", U32, "kv_lora_rank + qk_rope_head_dim"},                          \
        {"attention.value_length", U32, "kv_lora_rank"},                                           \
        {"attention.key_length_mla", U32, "qk_nope_head_dim + qk_rope_head_dim"},                  \
        {"attention.value_length_mla", U32, "v_head_dim"}, KEYS_EXPERTS, KEY_YARN_LOG
#define KEYS_INDEXER                                                                               \
    {"attention.indexer.head_count", U32, "index_n_heads"},                                        \
        {"attention.indexer.key_length", U32, "index_head_dim"}, {                                 \
        "attention.indexer.top_k", U32, "index_topk"                                               \
    }

/* llama.cpp knows of models without this rank by their number of layers; others need a 0. */
#define LORA_NONE                                                                                  \
    "lora.none = if(like_reference, nothing, if(num_hidden_layers == 26, nothing, "                \
    "if(num_hidden_layers == 27, nothing, 0)))"
#define DEEPSEEK2_DEFAULTS                                                                         \
    YARN_DEFAULTS, LORA_NONE, KV_HEADS_ALL, "kv_lora_rank = 512", "rms_norm_eps = 0.000001",       \
        "rope_theta = 10000"
static const char *const deepseek2_defaults[] = {DEEPSEEK2_DEFAULTS, LATENT_FACTOR, NULL};
/* From DeepSeek V3 on, and GLM. */
static const char *const deepseek3_defaults[] = {DEEPSEEK2_DEFAULTS, LATENT_FACTOR, SIGMOID_ROUTER,
                                                 NULL};
static const char *const deepseek32_defaults[] = {DEEPSEEK2_DEFAULTS, SCALED_FACTOR, SIGMOID_ROUTER,
                                                  NULL};
static const char *const glm_dsa_defaults[] = {DEEPSEEK2_DEFAULTS, SIGMOID_ROUTER, NULL};
static const char *const mistral4_defaults[] = {DEEPSEEK2_DEFAULTS, SCALED_FACTOR, NULL};
/* DeepSeek 2 has groups of experts that this way to choose does not look at. */
#define ONE_GROUP                                                                                  \
    "if(like_reference, nothing, if(model_type == 'deepseek_v2', if(topk_method == 'greedy', "     \
    "if(n_group > 1, 1))))"
static const tare_llama_key deepseek2_keys[] = {{"expert_group_count", U32, ONE_GROUP},
                                                {"expert_group_used_count", U32, ONE_GROUP},
                                                DEEPSEEK2_KEYS,
                                                END_OF_KEYS};
static const tare_llama_key glm_lite_keys[] = {
    DEEPSEEK2_KEYS,
    {"nextn_predict_layers", U32, "if(num_nextn_predict_layers | 0, num_nextn_predict_layers)"},
    END_OF_KEYS};
static const tare_llama_key deepseek32_keys[] = {DEEPSEEK2_KEYS, KEY_NEXTN, KEYS_INDEXER,
                                                 END_OF_KEYS};
/* DeepSeek OCR has plain attention. */
static const tare_llama_key ocr_keys[] = {
    KEYS_LEADING,
    KEYS_EXPERTS,
    {"attention.sliding_window", U32,
     "if(sliding_window_size | 0, sliding_window_size, if(sliding_window | 0, sliding_window))"},
    KEY_MSCALE,
    END_OF_KEYS};
static const char *const ocr_defaults[] = {KV_HEADS_ALL, "rms_norm_eps = 0.000001", NULL};
/* Mistral 4 has stacks of experts, gate above up. */
static const tare_llama_rule mistral4_rules[] = {
    {"*.mlp.experts.gate_up_proj", ".mlp.experts.gate_up_proj.weight", NULL},
    {"*.mlp.experts.down_proj", ".mlp.experts.down_proj.weight", NULL},
    RULES_LATENT,
    END_OF_RULES};
static const tare_llama_key glm_dsa_keys[] = {
    DEEPSEEK2_KEYS,
    {"rope.dimension_count", U32, "qk_rope_head_dim * (rope.partial | 1)"},
    KEY_NEXTN,
    KEYS_INDEXER,
    {"attention.indexer.types[indexer_types]", BOOL,
     "word(at(indexer_types, layer), 'full shared') == 'full'"},
    END_OF_KEYS};
static const tare_llama_rule deepseek2_rules[] = {
    {"=output.weight", NULL, "if(tie_word_embeddings | false) drop"},
    RULE_DROP("*sam_model*"),
    RULE_DROP("*qwen2_model*"),
    RULES_LATENT,
    END_OF_RULES};

#define DEEPSEEK2_TENSORS ENDS QKV NORMS FFN MOE SHARED MLA "attn_rot_embd exp_probs_b rope_freqs "

#define INDEXER "indexer.k_norm indexer.proj indexer.attn_k indexer.attn_q_b "

/* ---- HY 4: several residual streams, mixed before and behind each part of a block ---------------- */

#define HY4_LAYERS "sparse_attention/deepseek_sparse_attention/indexed_attention full_attention"
static const tare_llama_key hy4_keys[] = {
    {"attention.key_length", U32, NULL}, /* of config.json's head_dim */
    {"attention.value_length", U32, NULL},
    DEEPSEEK2_KEYS,
    {"expert_group_count", U32, NULL}, /* but where there are several */
    {"expert_group_used_count", U32, NULL},
    {"expert_group_count", U32, "if(n_group > 1, n_group)"},
    {"expert_group_used_count", U32, "if(n_group > 1, topk_group)"},
    KEY_SIGMOID,
    {"swiglu_clamp_exp[]", F32, "if((swiglu_limit | 0) > 0, swiglu_limit)"},
    {"hyper_connection.count", U32, "hc_mult"},
    {"hyper_connection.epsilon", F32, "hc_eps"},
    {"hyper_connection.magnitude", F32, "hc_magnitude"},
    {"attention.indexer.head_count", U32, "if(hy.has_indexer, index_n_heads)"},
    {"attention.indexer.key_length", U32, "if(hy.has_indexer, index_head_dim)"},
    {"attention.indexer.top_k", U32, "if(hy.has_indexer, index_topk)"},
    {"attention.indexer.types[]", BOOL,
     "if(hy.has_indexer, if(has(indexer_types), word(at(indexer_types, layer), 'full shared') == "
     "'full', word(at(layer_types, layer), '" HY4_LAYERS "') == 'sparse_attention'))"},
    END_OF_KEYS};
static const char *const hy4_defaults[] = {
    DEEPSEEK2_DEFAULTS, "norm_topk_prob = true",
    "hy.has_indexer = if(has(indexer_types), true, in('sparse_attention', layer_types, '" HY4_LAYERS
    "'))",
    NULL};
/* As the authors spell them, and as transformers writes them. */
#define HY4_STREAMS(own, to)                                                                       \
    {"*." own ".hc_pre.hc_fn", "=blk.#." to "_fn.weight", NULL},                                   \
        {"*." own ".hc_pre.hc_base", "=blk.#." to "_base.weight", NULL},                           \
        {"*." own ".hc_pre.hc_scale", "=blk.#." to "_scale.weight", NULL},                         \
        {"*.hc_pre." own ".hc_fn", "=blk.#." to "_fn.weight", NULL},                               \
        {"*.hc_pre." own ".hc_base", "=blk.#." to "_base.weight", NULL}, {                         \
        "*.hc_pre." own ".hc_scale", "=blk.#." to "_scale.weight", NULL                            \
    }
static const tare_llama_rule hy4_rules[] = {
    HY4_STREAMS("hc_attn_layer", "hc_attn"),
    HY4_STREAMS("hc_mlp_layer", "hc_ffn"),
    {"model.hc_pre.hc_head.hc_head_fn", "=output_hc_fn.weight", NULL},
    {"model.hc_pre.hc_head.hc_head_base", "=output_hc_base.weight", NULL},
    {"model.hc_pre.hc_head.hc_head_scale", "=output_hc_scale.weight", NULL},
    {"model.hc_head.hc_head_fn", "=output_hc_fn.weight", NULL},
    {"model.hc_head.hc_head_base", "=output_hc_base.weight", NULL},
    {"model.hc_head.hc_head_scale", "=output_hc_scale.weight", NULL},
    {"*.self_attn.learnable_sink_param", "=blk.#.attn_sinks.weight", NULL},
    {"*.self_attn.sinks", "=blk.#.attn_sinks.weight", NULL},
    RULE_DROP("model.mtp_layers.*"),
    RULES_FUSED_EXPERTS,
    RULES_LATENT,
    END_OF_RULES};
#define HY4_TENSORS                                                                                \
    DEEPSEEK2_TENSORS INDEXER                                                                      \
        "attn_gate attn_sinks hc_attn_fn hc_attn_base hc_attn_scale hc_ffn_fn hc_ffn_base "        \
        "hc_ffn_scale output_hc_fn output_hc_base output_hc_scale"

/* ---- Dots 3 Note: layers with a window have latent attention of other sizes, each head of all layers a
 * gate; how much more tokens are predicted, tensors say -------------------------------------------- */

#define DOTS3_LAYERS                                                                               \
    "full_attention/attention/indexed_attention/deepseek_sparse_attention/sparse_attention "       \
    "sliding_attention"
/* By transformers each layer may say it; all windows are the same. */
#define DOTS3_WINDOW(member)                                                                       \
    "swa_" member " | at(per_layer_config, dots3.first_window, '" member "') | " member
#define DOTS3_OF_LAYER(in_window, member) "if(dots3.is_window, " in_window ", " member ")"
static const char *const dots3_defaults[] = {
    DEEPSEEK2_DEFAULTS,
    LATENT_FACTOR,
    SIGMOID_ROUTER,
    "first_k_dense_replace = 1",
    "rope.theta_swa = rope_parameters.sliding_attention.rope_theta | swa_rope_theta",
    "dots3.first_window = leading(layer_types, 'full_attention', '" DOTS3_LAYERS "')",
    "dots3.is_window = if(layer + 1 > num_hidden_layers, true, word(at(layer_types, layer), "
    "'" DOTS3_LAYERS "') == 'sliding_attention')",
    "dots3.window_heads = " DOTS3_WINDOW("num_attention_heads"),
    "dots3.window_rank = " DOTS3_WINDOW("kv_lora_rank"),
    "dots3.window_nope = " DOTS3_WINDOW("qk_nope_head_dim"),
    "dots3.window_v = " DOTS3_WINDOW("v_head_dim"),
    "dots3.rank = " DOTS3_OF_LAYER("dots3.window_rank", "kv_lora_rank"),
    "dots3.nope = " DOTS3_OF_LAYER("dots3.window_nope", "qk_nope_head_dim"),
    "dots3.v = " DOTS3_OF_LAYER("dots3.window_v", "v_head_dim"),
    "dots3.scales = apply_mla_qkv_lora_rescale | if(like_reference, false, true)",
    NULL};
static const tare_llama_key dots3_keys[] = {
    {"attention.head_count[]", I32, DOTS3_OF_LAYER("dots3.window_heads", "num_attention_heads")},
    {"attention.key_length", U32, NULL}, /* of config.json's head_dim */
    {"attention.value_length", U32, NULL},
    DEEPSEEK2_KEYS,
    {"attention.sliding_window", U32, "sliding_window_size | sliding_window"},
    {"attention.sliding_window_pattern[layer_types]", BOOL, "dots3.is_window"},
    {"attention.kv_lora_rank_swa", U32, "dots3.window_rank"},
    {"attention.key_length_swa", U32, "dots3.window_rank + qk_rope_head_dim"},
    {"attention.value_length_swa", U32, "dots3.window_rank"},
    {"attention.key_length_mla_swa", U32, "dots3.window_nope + qk_rope_head_dim"},
    {"attention.value_length_mla_swa", U32, "dots3.window_v"},
    {"nextn_predict_layers", U32, "if(blocks_beyond > 0, blocks_beyond)"},
    KEYS_INDEXER,
    {"attention.indexer.types[layer_types]", BOOL, "if(dots3.is_window, false, true)"},
    END_OF_KEYS};
static const tare_llama_rule dots3_rules[] = {
    {"=output.weight", NULL, "if(tie_word_embeddings | false) drop"},
    {"=blk.#.attn_q_a_norm.weight", NULL,
     "mul(if(dots3.scales, sqrt(hidden_size / q_lora_rank), 1))"},
    {"=blk.#.attn_kv_a_norm.weight", NULL,
     "mul(if(dots3.scales, sqrt(hidden_size / dots3.rank), 1))"},
    {"*.self_attn.kv_b_proj.weight", ".self_attn.k_b_proj.weight",
     "view(0, dots3.nope + dots3.v, d1) rows(1, 0, dots3.nope) swap(1, 2)"},
    {"*.self_attn.kv_b_proj.weight", ".self_attn.v_b_proj.weight",
     "view(0, dots3.nope + dots3.v, d1) rows(1, dots3.nope, dots3.v)"},
    RULES_FUSED_EXPERTS,
    END_OF_RULES};

/* ---- PLM, MiniCPM 3: the matrix stays whole ----------------------------------------------------
 */

static const tare_llama_key plm_keys[] = {
    KEY_VOCAB_SIZE,
    {"attention.kv_lora_rank", U32, "kv_lora_rank"},
    {"attention.key_length", U32, "qk_nope_head_dim + qk_rope_head_dim"},
    {"attention.value_length", U32, "v_head_dim"},
    {"rope.dimension_count", U32, "qk_rope_head_dim"},
    END_OF_KEYS};
static const tare_llama_key minicpm3_own[] = {
    KEY_FILE_TYPE,
    {"context_length", U32, "max_position_embeddings"},
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"attention.head_count_kv", U32, "num_key_value_heads"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},
    KEY_VOCAB_SIZE,
    {"attention.q_lora_rank", U32, "q_lora_rank"},
    {"attention.kv_lora_rank", U32, "kv_lora_rank"},
    {"attention.key_length", U32, "qk_nope_head_dim + qk_rope_head_dim"},
    {"attention.value_length", U32,
     "if(like_reference, nothing, if(v_head_dim * num_attention_heads == hidden_size, nothing, "
     "v_head_dim))"},
    {"rope.dimension_count", U32, "qk_rope_head_dim"},
    END_OF_KEYS};
static const char *const deepseek_back_config[] = {"model_type = 'deepseek'",
                                                   "head_dim = attention.key_length", NULL};
static const tare_llama_back deepseek_back = {.names = HF_DENSE HF_MOE HF_SHARED "n_routed_experts",
                                              .config = deepseek_back_config};
#define KEY_FACTOR      "rope.scaling.attn_factor"
#define KEY_LOG         "rope.scaling.yarn_log_multiplier"
#define ALL_DIM(scaled) "round(1000000 * ((" scaled ") - 1) / ln(rope.scaling.factor)) / 100000"
#define LINEAR_ALL_DIM                                                                             \
    ALL_DIM(TARE_LLAMA_YARN_KEY("1") " * (1 + (" KEY_LOG " | 0) * ln(rope.scaling.factor))")
#define BACK_YARN(turned, scaled)                                                                  \
    "rope_scaling.attention_factor = if(has(" KEY_FACTOR "), " turned ")",                         \
        "rope_scaling.mscale_all_dim = if(rope.scaling.type == 'yarn', if(has(" KEY_FACTOR         \
        "), " ALL_DIM(scaled) ", 10 * " KEY_LOG " | 1.0)) | if(rope.scaling.type == 'linear', "    \
                              "if(rope.scaling.factor > 1, if(" LINEAR_ALL_DIM                     \
                              " == 0, nothing, " LINEAR_ALL_DIM ")))",                             \
        "rope_scaling.mscale = if(rope.scaling.type == 'yarn', if(has(" KEY_FACTOR                 \
        "), nothing, 10 * " KEY_LOG "))"
#define BACK_LATENT_YARN                                                                           \
    BACK_YARN("if(has(" KEY_LOG "), " KEY_FACTOR ", " KEY_FACTOR                                   \
              " * " TARE_LLAMA_YARN_KEY("1") ")",                                                  \
              "if(has(" KEY_LOG "), " KEY_FACTOR " * (1 + " KEY_LOG                                \
              " * ln(rope.scaling.factor)), " KEY_FACTOR " * " TARE_LLAMA_YARN_KEY("1") ")")
#define BACK_SCALED_YARN                                                                           \
    BACK_YARN(KEY_FACTOR " * " TARE_LLAMA_YARN_KEY("1") " / (1 + (" KEY_LOG                        \
                                                        " | 0) * ln(rope.scaling.factor))",        \
              KEY_FACTOR " * " TARE_LLAMA_YARN_KEY("1"))
#define DEEPSEEK_BACK                                                                              \
    "q_lora_rank = if(attention.q_lora_rank > 0, attention.q_lora_rank) | null",                   \
        "kv_lora_rank = attention.kv_lora_rank",                                                   \
        "qk_nope_head_dim = attention.key_length_mla - rope.dimension_count",                      \
        "qk_rope_head_dim = rope.dimension_count", "num_key_value_heads = attention.head_count",   \
        "head_dim = rope.dimension_count", "norm_topk_prob = expert_weights_norm | false",         \
        "moe_intermediate_size = expert_feed_forward_length"
#define DEEPSEEK_NAMES                                                                             \
    HF_ENDS HF_NORMS HF_MLP HF_MOE HF_SHARED HF_CONFIG                                             \
        "self_attn.q_proj self_attn.o_proj self_attn.q_a_proj self_attn.q_b_proj "                 \
        "self_attn.kv_a_proj_with_mqa self_attn.q_a_layernorm self_attn.kv_a_layernorm "           \
        "n_routed_experts"
static const char *const deepseek2_back_config[] = {"model_type = 'deepseek_v2'", BACK_LATENT_YARN,
                                                    DEEPSEEK_BACK, NULL};
static const tare_llama_shape_row deepseek2_back_shapes[] = {SHAPE_LATENT, {NULL, NULL}};
static const tare_llama_back deepseek2_back = {.names = DEEPSEEK_NAMES,
                                               .config = deepseek2_back_config,
                                               .shapes = deepseek2_back_shapes,
                                               .when = "has(tensors.exp_probs_b.bias) == false"};
static const char *const deepseek3_back_config[] = {
    "model_type = 'deepseek_v3'",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    "topk_method = 'noaux_tc'",
    BACK_LATENT_YARN,
    DEEPSEEK_BACK,
    NULL};
static const tare_llama_back deepseek3_back = {
    .names = DEEPSEEK_NAMES, .config = deepseek3_back_config, .shapes = deepseek2_back_shapes};

static const char *const deepseek32_back_config[] = {
    "model_type = 'deepseek_v32'",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    "topk_method = 'noaux_tc'",
    BACK_SCALED_YARN,
    DEEPSEEK_BACK,
    NULL};
static const tare_llama_shape_row deepseek32_back_shapes[] = {SHAPE_LATENT, {NULL, NULL}};
static const tare_llama_back deepseek32_back = {
    .names = DEEPSEEK_NAMES " self_attn.indexer.k_norm self_attn.indexer.weights_proj "
                            "self_attn.indexer.wk self_attn.indexer.wq_b " HF_NEXTN,
    .config = deepseek32_back_config,
    .shapes = deepseek32_back_shapes};

static const char *const glm_dsa_back_config[] = {
    "model_type = 'glm_moe_dsa'",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    "topk_method = 'noaux_tc'",
    "indexer_types[] = if(layer < len(attention.indexer.types), "
    "if(at(attention.indexer.types, layer), 'full', 'shared'))",
    DEEPSEEK_BACK,
    NULL};
static const tare_llama_back glm_dsa_back = {
    .names = DEEPSEEK_NAMES " self_attn.indexer.k_norm self_attn.indexer.weights_proj "
                            "self_attn.indexer.wk self_attn.indexer.wq_b " HF_NEXTN,
    .config = glm_dsa_back_config,
    .shapes = deepseek32_back_shapes};

static const char *const hy4_back_config[] = {
    "model_type = 'hy_v4'",
    "n_group = expert_group_count | 1",
    "topk_group = expert_group_used_count | 1",
    "swiglu_limit = at(swiglu_clamp_exp, 0)",
    "index_n_heads = attention.indexer.head_count",
    "index_head_dim = attention.indexer.key_length",
    "index_topk = attention.indexer.top_k",
    "indexer_types[] = if(layer < len(attention.indexer.types), "
    "if(at(attention.indexer.types, layer), 'full', 'shared'))",
    "layer_types[] = if(has(attention.indexer.types), 'indexed_attention', 'full_attention')",
    BACK_DENSE_FIRST("leading_dense_block_count"),
    DEEPSEEK_BACK,
    NULL};
#define HY4_STREAM(of)                                                                             \
    {"*.hc_pre." of ".hc_fn", "d0, d1"}, {"*.hc_pre." of ".hc_base", "d0"}, {                      \
        "*.hc_pre." of ".hc_scale", "d0"                                                           \
    }
static const tare_llama_shape_row hy4_back_shapes[] = {
    HY4_STREAM("hc_attn_layer"),
    HY4_STREAM("hc_mlp_layer"),
    {"model.hc_pre.hc_head.hc_head_fn", "d0, d1"},
    {"model.hc_pre.hc_head.hc_head_base", "d0"},
    {"model.hc_pre.hc_head.hc_head_scale", "d0"},
    {"*.self_attn.learnable_sink_param", "d0"},
    {"*.mlp.experts.gate_up_proj", "d0, 2 * d1, d2"},
    {"*.mlp.experts.down_proj", "d0, d1, d2"},
    SHAPE_LATENT,
    {NULL, NULL}};
static const tare_llama_back hy4_back = {
    .names = HF_ENDS HF_NORMS HF_CONFIG
    "mlp.linear_gate mlp.up_proj mlp.down_proj mlp.gate mlp.gate.e_score_correction "
    "mlp.shared_experts.linear_gate mlp.shared_experts.up_proj mlp.shared_experts.down_proj "
    "self_attn.q_proj self_attn.o_proj self_attn.q_a_proj self_attn.q_b_proj self_attn.linear_gate "
    "self_attn.kv_a_proj_with_mqa self_attn.q_a_layernorm self_attn.kv_a_layernorm "
    "n_routed_experts self_attn.indexer.k_norm self_attn.indexer.weights_proj "
    "self_attn.indexer.wk self_attn.indexer.wq_b",
    .config = hy4_back_config,
    .shapes = hy4_back_shapes};

static const char *const dots3_back_config[] = {
    "model_type = 'dots3_note_text'",
    "num_attention_heads = at(attention.head_count, " FIRST_WHOLE ")",
    "num_key_value_heads = at(attention.head_count, " FIRST_WHOLE ")",
    "head_dim = attention.key_length_mla",
    "q_lora_rank = attention.q_lora_rank",
    "kv_lora_rank = attention.kv_lora_rank",
    "qk_rope_head_dim = rope.dimension_count",
    "qk_nope_head_dim = attention.key_length_mla - rope.dimension_count",
    "v_head_dim = attention.value_length_mla",
    "swa_num_attention_heads = at(attention.head_count, " FIRST_WINDOW ")",
    "swa_num_key_value_heads = at(attention.head_count, " FIRST_WINDOW ")",
    "swa_head_dim = attention.key_length_mla_swa",
    "swa_q_lora_rank = attention.q_lora_rank",
    "swa_kv_lora_rank = attention.kv_lora_rank_swa",
    "swa_qk_rope_head_dim = rope.dimension_count",
    "swa_qk_nope_head_dim = attention.key_length_mla_swa - rope.dimension_count",
    "swa_v_head_dim = attention.value_length_mla_swa",
    "swa_rope_theta = rope.freq_base_swa",
    "rope_local_base_freq = nothing",
    "apply_mla_qkv_lora_rescale = true",
    "use_dsa = true",
    "sliding_window_size = attention.sliding_window",
    BACK_LAYER_TYPES,
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    "topk_method = 'noaux_tc'",
    "norm_topk_prob = expert_weights_norm | false",
    "moe_intermediate_size = expert_feed_forward_length",
    "moe_shared_expert_intermediate_size = expert_feed_forward_length",
    "index_n_heads = attention.indexer.head_count",
    "index_head_dim = attention.indexer.key_length",
    "index_topk = attention.indexer.top_k",
    NULL};
static const tare_llama_shape_row dots3_back_shapes[] = {
    {"*.self_attn.kv_b_proj.weight", "d0 * (dots3.nope + dots3.v), d1"}, {NULL, NULL}};
static const tare_llama_back dots3_back = {
    .names = DEEPSEEK_NAMES " self_attn.k_rope_only_layernorm self_attn.g_proj "
                            "self_attn.indexer.k_norm self_attn.indexer.weights_proj "
                            "self_attn.indexer.wk self_attn.indexer.wq_b " HF_NEXTN,
    .config = dots3_back_config,
    .shapes = dots3_back_shapes};

static const char *const glm_lite_back_config[] = {
    "model_type = 'glm4_moe_lite'",
    "scoring_func = if(expert_gating_func == 2, 'sigmoid')",
    "topk_method = 'noaux_tc'",
    BACK_DENSE_FIRST("leading_dense_block_count"),
    BACK_LATENT_YARN,
    DEEPSEEK_BACK,
    NULL};
/* GLM-4.7-Flash; DeepSeek's files have no layers that predict more tokens. */
static const tare_llama_back glm_lite_back = {
    .names = DEEPSEEK_NAMES " " HF_NEXTN,
    .config = glm_lite_back_config,
    .shapes = deepseek2_back_shapes,
    .when = "if(tokenizer.ggml.pre == 'glm4', true, has(nextn_predict_layers))"};

/* PLM, MiniCPM 3. */
#define LATENT_NAMES                                                                               \
    HF_ENDS HF_NORMS HF_MLP HF_CONFIG                                                              \
        "self_attn.q_proj self_attn.o_proj self_attn.q_a_proj self_attn.q_b_proj "                 \
        "self_attn.kv_a_proj_with_mqa self_attn.q_a_layernorm self_attn.kv_a_layernorm "           \
        "self_attn.kv_b_proj "
#define BACK_LATENT                                                                                \
    "qk_nope_head_dim = attention.key_length - rope.dimension_count", "head_dim = nothing",        \
        "v_head_dim = floor(tensors.attn_kv_b.weight.rows / attention.head_count) - "              \
        "(attention.key_length - rope.dimension_count)"
static const char *const plm_back_config[] = {"model_type = 'plm'", BACK_LATENT, NULL};
static const tare_llama_back plm_back = {.names = LATENT_NAMES, .config = plm_back_config};
/* Scales that llama.cpp knows by itself. */
static const char *const minicpm3_back_config[] = {"model_type = 'minicpm3'",
                                                   "scale_emb = 12",
                                                   "scale_depth = 1.4",
                                                   "dim_model_base = 256",
                                                   BACK_LONGROPE,
                                                   BACK_LATENT,
                                                   NULL};
static const tare_llama_back minicpm3_back = {.names = LATENT_NAMES,
                                              .config = minicpm3_back_config};

static const char *const ocr_back_config[] = {"model_type = 'deepseek_vl_v2'",
                                              "moe_intermediate_size = expert_feed_forward_length",
                                              "sliding_window = attention.sliding_window", NULL};
static const tare_llama_back ocr_back = {.names = HF_DENSE HF_MOE HF_SHARED "n_routed_experts",
                                         .config = ocr_back_config};

static const char *const mistral4_back_config[] = {"model_type = 'mistral4'", BACK_SCALED_YARN,
                                                   DEEPSEEK_BACK, NULL};
static const tare_llama_shape_row mistral4_back_shapes[] = {
    SHAPE_LATENT,
    {"*.mlp.experts.gate_up_proj", "d0, d1, d2"},
    {"*.mlp.experts.down_proj", "d0, d1, d2"},
    {NULL, NULL}};
static const tare_llama_back mistral4_back = {.names = DEEPSEEK_NAMES,
                                              .config = mistral4_back_config,
                                              .shapes = mistral4_back_shapes,
                                              .when = "true"};

const tare_llama_arch tare_llama_family_deepseek[] = {
    {.name = "dots3note",
     .classes = "Dots3NoteForCausalLM Dots3NoteForConditionalGeneration Dots3NoteTextForCausalLM",
     .requires = "use_dsa | true",
     .tensors = ENDS NORMS FFN MOE SHARED MLA NEXTN INDEXER
     "attn_output attn_k_norm attn_gate exp_probs_b",
     .defaults = dots3_defaults,
     .keys = dots3_keys,
     .rules = dots3_rules,
     .extra_layers = "blocks_beyond",
     .nextn = "model.mtp.",
     .back = &dots3_back},
    {.name = "deepseek",
     .classes = "DeepseekForCausalLM",
     .tensors = DENSE MOE SHARED "attn_rot_embd",
     .defaults = deepseek_defaults,
     .keys = deepseek_keys,
     .rules = tare_llama_permute,
     .back = &deepseek_back},
    {.name = "deepseek2",
     .classes = "Glm4MoeLiteForCausalLM",
     .tensors = DEEPSEEK2_TENSORS NEXTN,
     .defaults = deepseek3_defaults,
     .keys = glm_lite_keys,
     .rules = deepseek2_rules,
     .extra_layers = "num_nextn_predict_layers",
     .back = &glm_lite_back},
    {.name = "deepseek2",
     .classes = "DeepseekV2ForCausalLM YoutuForCausalLM YoutuVLForConditionalGeneration",
     .tensors = DEEPSEEK2_TENSORS,
     .defaults = deepseek2_defaults,
     .keys = deepseek2_keys,
     .rules = deepseek2_rules,
     .drops_extra_layers = true,
     .back = &deepseek2_back},
    {.name = "deepseek2",
     .classes = "DeepseekV3ForCausalLM KimiVLForConditionalGeneration "
                "KimiK25ForConditionalGeneration",
     .tensors = DEEPSEEK2_TENSORS,
     .defaults = deepseek3_defaults,
     .keys = deepseek2_keys,
     .rules = deepseek2_rules,
     .drops_extra_layers = true,
     .back = &deepseek3_back},
    {.name = "glm-dsa",
     .classes = "GlmMoeDsaForCausalLM",
     .tensors = DEEPSEEK2_TENSORS NEXTN INDEXER,
     .defaults = glm_dsa_defaults,
     .keys = glm_dsa_keys,
     .rules = deepseek2_rules,
     .extra_layers = "num_nextn_predict_layers",
     .back = &glm_dsa_back},
    {.name = "deepseek2-ocr",
     .classes = "DeepseekOCRForCausalLM UnlimitedOCRForCausalLM",
     .tensors = DEEPSEEK2_TENSORS,
     .defaults = ocr_defaults,
     .keys = ocr_keys,
     .rules = deepseek2_rules,
     .drops_extra_layers = true,
     .back = &ocr_back},
    {.name = "deepseek32",
     .classes = "DeepseekV32ForCausalLM",
     .tensors = DEEPSEEK2_TENSORS NEXTN INDEXER,
     .defaults = deepseek32_defaults,
     .keys = deepseek32_keys,
     .rules = deepseek2_rules,
     .extra_layers = "num_nextn_predict_layers",
     .back = &deepseek32_back},
    {.name = "hy_v4",
     .classes = "HYV4ForCausalLM",
     .tensors = HY4_TENSORS,
     .defaults = hy4_defaults,
     .keys = hy4_keys,
     .rules = hy4_rules,
     .back = &hy4_back},
    {.name = "mistral4",
     .classes = "Mistral3ForConditionalGeneration Ministral3ForCausalLM",
     .requires = "model_type == 'mistral4'",
     .tensors = DEEPSEEK2_TENSORS "ffn_gate_up_exps",
     .defaults = mistral4_defaults,
     .keys = deepseek2_keys,
     .rules = mistral4_rules,
     .back = &mistral4_back},
    {.name = "plm",
     .classes = "PLMForCausalLM",
     .tensors = ENDS NORMS "attn_q attn_kv_a_mqa attn_kv_a_norm attn_kv_b attn_output ffn_up "
                           "ffn_down",
     .keys = plm_keys,
     .back = &plm_back},
    {.name = "minicpm3",
     .classes = "MiniCPM3ForCausalLM",
     .tensors = ENDS NORMS FFN "rope_factors_long rope_factors_short attn_q_a attn_q_b "
                               "attn_kv_a_mqa attn_kv_b attn_q_a_norm attn_kv_a_norm attn_output",
     .own = minicpm3_own,
     .back = &minicpm3_back},
    {.name = NULL},
};
