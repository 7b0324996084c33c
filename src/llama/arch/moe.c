/* SPDX-License-Identifier: MIT
 *
 * Mixtures of experts with names of their own. */
#include "llama/arch/rows.h"

static const tare_llama_key olmoe_keys[] = {
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | 0.00001"}, END_OF_KEYS};

static const char *const dots1_defaults[] = {KV_HEADS_ALL,   "num_experts = n_routed_experts",
                                             "n_group = 1",  "topk_group = 1",
                                             SIGMOID_ROUTER, NULL};
static const tare_llama_key dots1_keys[] = {
    KEY_EXPERT_FFN,
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    {"expert_shared_count", U32, "n_shared_experts"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    END_OF_KEYS};

static const tare_llama_key bailing_keys[] = {
    KEY_ROPE_DIM,
    {"leading_dense_block_count", U32, "first_k_dense_replace"},
    KEY_VOCAB_SIZE,
    KEY_EXPERT_FFN,
    {"expert_weights_scale", F32, "1"},
    {"expert_shared_count", U32, "num_shared_experts"},
    {"expert_weights_norm", BOOL, "norm_topk_prob"},
    END_OF_KEYS};
#define BAILING_Q "num_attention_heads * attention.dim"
#define BAILING_K "num_key_value_heads * attention.dim"
static const tare_llama_rule bailing_rules[] = {
    {"*.attention.dense.weight", "=blk.#.attn_output.weight", NULL},
    {"*.attention.query_key_value.weight", "=blk.#.attn_q.weight",
     "rows(0, 0, " BAILING_Q ") heads(num_attention_heads)"},
    {"*.attention.query_key_value.weight", "=blk.#.attn_k.weight",
     "rows(0, " BAILING_Q ", " BAILING_K ") heads(num_key_value_heads)"},
    {"*.attention.query_key_value.weight", "=blk.#.attn_v.weight",
     "rows(0, " BAILING_Q " + " BAILING_K ", " BAILING_K ")"},
    END_OF_RULES};
#define BAILING2_TENSORS                                                                           \
    ENDS FUSED NORMS FFN MOE SHARED QK_NORMS NEXTN "exp_probs_b layer_output_norm"
#define BAILING2_KEYS                                                                              \
    {"rope.dimension_count", U32, "attention.dim * (rope.partial | 0.5)"},                         \
        {"leading_dense_block_count", U32, "first_k_dense_replace"}, KEY_VOCAB_SIZE,               \
        KEY_EXPERT_FFN,                                                                            \
        {"expert_shared_feed_forward_length", U32,                                                 \
         "moe_shared_expert_intermediate_size | moe_intermediate_size * num_shared_experts"},      \
        {"expert_weights_scale", F32, "routed_scaling_factor"},                                    \
        {"expert_shared_count", U32, "num_shared_experts"},                                        \
        {"expert_weights_norm", BOOL, "norm_topk_prob"}, KEY_NEXTN
static const tare_llama_key bailing2_keys[] = {BAILING2_KEYS, END_OF_KEYS};

/* Sarvam has positions in the whole of a head. */
static const tare_llama_key sarvam_keys[] = {
    BAILING2_KEYS, {"rope.dimension_count", U32, "attention.dim"}, END_OF_KEYS};
static const tare_llama_rule sarvam_rules[] = {{"=blk.#.exp_probs_b.bias", NULL, "center"},
                                               END_OF_RULES};

/* Grok 1 and 2. */
/* transformers reads Grok 2's config.json, which says "git", as that of another model. */
static const char *const grok_defaults[] = {
    KV_HEADS_ALL, "layer_norm_eps = if(model_type == 'git', 0.000000000001)", NULL};
#define GROK_TYPE    "word(rope_type, 'yarn/original default')"
#define GROK_YARN(x) "if(" GROK_TYPE " == 'yarn', " x ")"
static const tare_llama_key grok_keys[] = {
    {"attn_logit_softcapping", F32, "attn_logit_softcapping | 30"},
    {"router_logit_softcapping", F32, "router_logit_softcapping | 30"},
    {"final_logit_softcapping", F32, "if(final_logit_softcapping | 0, final_logit_softcapping)"},
    KEY_EXPERT_FFN,
    {"rope.scaling.type", TEXT, GROK_YARN("'yarn'")},
    {"rope.scaling.factor", F32, GROK_YARN("scaling_factor")},
    {"rope.scaling.original_context_length", U32, GROK_YARN("original_max_position_embeddings")},
    {"rope.scaling.yarn_ext_factor", F32, GROK_YARN("extrapolation_factor")},
    {"rope.scaling.yarn_attn_factor", F32, GROK_YARN("attn_factor")},
    {"rope.scaling.yarn_beta_fast", F32, GROK_YARN("beta_fast")},
    {"rope.scaling.yarn_beta_slow", F32, GROK_YARN("beta_slow")},
    {"attention.temperature_length", U32, "if(attn_temperature_len | 0, attn_temperature_len)"},
    {"attention.output_scale", F32, "attn_output_multiplier | 1 / sqrt(attention.dim)"},
    {"embedding_scale", F32, "embedding_multiplier_scale"},
    {"logit_scale", F32, "output_multiplier_scale"},
    END_OF_KEYS};
#define GROK_EXPERT(name)                                                                          \
    { "*.moe.#." name ".weight", ".moe." name ".weight", "stack(number, num_local_experts)" }
static const tare_llama_rule grok_rules[] = {GROK_EXPERT("linear"), GROK_EXPERT("linear_1"),
                                             GROK_EXPERT("linear_v"), END_OF_RULES};

static const char *const smallthinker_defaults[] = {KV_HEADS_ALL,
                                                    "experts = moe_num_primary_experts", NULL};
static const tare_llama_key smallthinker_keys[] = {
    {"expert_count", U32, "moe_num_primary_experts"},
    {"expert_used_count", U32, "moe_num_active_primary_experts"},
    {"expert_feed_forward_length", U32, "moe_ffn_hidden_size"},
    {"feed_forward_length", U32, "moe_ffn_hidden_size"},
    {"expert_gating_func", U32, "if(moe_primary_router_apply_softmax | false, 1, 2)"},
    {"attention.sliding_window", U32,
     "if(in(1, sliding_window_layout), if(sliding_window_size | 0, sliding_window_size))"},
    END_OF_KEYS};

static const char *const minimax_defaults[] = {"head_dim = 128", "rope_theta = 5000000",
                                               SIGMOID_ROUTER, NULL};
static const tare_llama_key minimax_keys[] = {
    {"expert_feed_forward_length", U32, "intermediate_size"},
    {"rope.dimension_count", U32,
     "if(like_reference, nothing, floor(head_dim * rope.partial)) | rotary_dim"},
    END_OF_KEYS};

/* Some layers look only at blocks of keys that an index chooses; norms are 1 + w. */
#define SPARSE(x) "sparse_attention_config." x
static const char *const minimax3_defaults[] = {SIGMOID_ROUTER, NULL};
static const tare_llama_key minimax3_keys[] = {
    {"expert_feed_forward_length", U32, "intermediate_size"},
    {"rope.dimension_count", U32,
     "if(like_reference, nothing, floor(head_dim * rope.partial)) | rotary_dim"},
    {"expert_shared_count", U32, "n_shared_experts | if(has(shared_intermediate_size), 1)"},
    {"expert_weights_scale", F32, "routed_scaling_factor"},
    {"expert_weights_norm", BOOL, "true"},
    {"attention.indexer.head_count", U32, SPARSE("sparse_num_index_heads") " | index_n_heads"},
    {"attention.indexer.key_length", U32, SPARSE("sparse_index_dim") " | index_head_dim"},
    {"attention.indexer.top_k", U32, SPARSE("sparse_topk_blocks") " | index_topk_blocks"},
    {"attention.indexer.block_size", U32, SPARSE("sparse_block_size") " | index_block_size"},
    {"attention.indexer.local_blocks", U32, SPARSE("sparse_local_block") " | index_local_blocks"},
    {"leading_dense_block_count", U32,
     "leading(moe_layer_freq, 0) | leading(mlp_layer_types, 'dense')"},
    END_OF_KEYS};
static const tare_llama_rule minimax3_rules[] = {{"=*norm.weight", NULL, "add(1)"}, END_OF_RULES};

static const char *const llama4_defaults[] = {"num_key_value_heads = 8",
                                              "head_dim = 128",
                                              "rope_theta = 500000",
                                              "rms_norm_eps = 0.00001",
                                              "num_local_experts = 16",
                                              "num_experts_per_tok = 1",
                                              "interleave_moe_layer_step = 1",
                                              "intermediate_size_mlp = 16384",
                                              NULL};
static const tare_llama_key llama4_keys[] = {
    {"feed_forward_length", U32, "intermediate_size_mlp"},
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    {"interleave_moe_layer_step", U32, "interleave_moe_layer_step"},
    {"expert_feed_forward_length", U32, "intermediate_size"},
    {"attention.sliding_window", U32, /* with which llama.cpp stops */
     "if(like_reference, if(has(layer_types), if(in('chunked_attention', layer_types, "
     "'chunked_attention full_attention') == false, 0)))"},
    END_OF_KEYS};

static const tare_llama_rule llama4_rules[] = {
    {"*.feed_forward.experts.gate_up_proj", SWAPPED_GATE(".feed_forward")},
    {"*.feed_forward.experts.gate_up_proj", SWAPPED_UP(".feed_forward")},
    {"*.feed_forward.experts.down_proj", SWAPPED_DOWN(".feed_forward")},
    END_OF_RULES};
/* llama.cpp knows by the number of experts whether queries and keys are normalized. */
static const char *const llama4_back_config[] = {
    "model_type = 'llama4_text'",
    "intermediate_size_mlp = feed_forward_length",
    "intermediate_size = expert_feed_forward_length",
    "use_qk_norm = if(expert_count == 128, false, true)",
    "layer_types[] = if(attention.sliding_window == 0, 'full_attention')",
    NULL};
static const tare_llama_shape_row llama4_back_shapes[] = {
    {"*.feed_forward.experts.gate_up_proj", "d0, d2, 2 * d1"},
    {"*.feed_forward.experts.down_proj", "d0, d2, d1"},
    {NULL, NULL}};
static const tare_llama_back llama4_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "feed_forward.gate_proj feed_forward.up_proj feed_forward.down_proj feed_forward.router "
    "feed_forward.shared_expert.gate_proj feed_forward.shared_expert.up_proj "
    "feed_forward.shared_expert.down_proj num_local_experts",
    .config = llama4_back_config,
    .shapes = llama4_back_shapes};

/* Its authors have the base of positions in attn_config, transformers beside it. */
static const char *const dbrx_defaults[] = {
    "rope.theta = rope_parameters.rope_theta | rope_scaling.rope_theta | "
    "if(rope_theta == 10000, attn_config.rope_theta) | rope_theta",
    NULL};
static const tare_llama_key dbrx_own[] = {
    {"block_count", U32, "layers"},
    {"context_length", U32, "max_seq_len"},
    {"embedding_length", U32, "d_model"},
    {"feed_forward_length", U32, "ffn_config.ffn_hidden_size"},
    {"attention.head_count", U32, "n_heads"},
    {"attention.head_count_kv", U32, "attn_config.kv_n_heads"},
    {"rope.freq_base", F32, "rope.theta"},
    {"attention.clamp_kqv", F32, "attn_config.clip_qkv"},
    {"expert_count", U32, "ffn_config.moe_num_experts"},
    {"expert_used_count", U32, "ffn_config.moe_top_k"},
    {"attention.layer_norm_epsilon", F32, "0.00001"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
#define DBRX_VIEW "view(ffn_config.moe_num_experts, ffn_config.ffn_hidden_size, d_model)"
static const tare_llama_rule dbrx_rules[] = {
    {"*.ffn.experts.mlp.w1", ".ffn.experts.mlp.w1.weight", DBRX_VIEW},
    {"*.ffn.experts.mlp.v1", ".ffn.experts.mlp.v1.weight", DBRX_VIEW},
    {"*.ffn.experts.mlp.w2", ".ffn.experts.mlp.w2.weight", DBRX_VIEW " swap(1, 2)"},
    END_OF_RULES};

static const char *const dbrx_back_config[] = {"model_type = 'dbrx'", "n_layers = block_count",
                                               "num_hidden_layers = nothing",
                                               "attn_config.rope_theta = rope.freq_base", NULL};
static const tare_llama_shape_row dbrx_back_shapes[] = {{"*.ffn.experts.mlp.w1", "d0 * d1, d2"},
                                                        {"*.ffn.experts.mlp.v1", "d0 * d1, d2"},
                                                        {"*.ffn.experts.mlp.w2", "d0 * d2, d1"},
                                                        {NULL, NULL}};
static const tare_llama_back dbrx_back = {
    .names = "transformer.blocks. transformer.wte transformer.norm_f lm_head "
             "norm_attn_norm.attn.Wqkv norm_attn_norm.attn.out_proj norm_attn_norm.norm_1 "
             "norm_attn_norm.norm_2 ffn.router.layer max_seq_len d_model n_heads rope_theta "
             "ffn_config.ffn_hidden_size attn_config.kv_n_heads attn_config.clip_qkv "
             "ffn_config.moe_num_experts ffn_config.moe_top_k",
    .config = dbrx_back_config,
    .shapes = dbrx_back_shapes};

static const tare_llama_rule arctic_rules[] = {
    RULES_PERMUTE,
    {"*.residual_layernorm.weight", "=blk.#.ffn_norm.weight", NULL},
    {"*.post_attention_layernorm.weight", "=blk.#.ffn_norm_exps.weight", NULL},
    END_OF_RULES};
static const tare_llama_key arctic_keys[] = {
    KEY_VOCAB_SIZE,
    {"rope.dimension_count", U32, "floor(hidden_size / num_attention_heads)"},
    END_OF_KEYS};

static const char *const arctic_back_config[] = {"model_type = 'arctic'", NULL};
static const tare_llama_shape_row arctic_back_shapes[] = {
    {"*.residual_layernorm.weight", "d0"},
    {"*.post_attention_layernorm.weight", "d0"},
    {NULL, NULL}};
static const tare_llama_back arctic_back = {
    .names = HF_ENDS HF_ATTN HF_CONFIG
    "input_layernorm block_sparse_moe.gate block_sparse_moe.experts.w1 "
    "block_sparse_moe.experts.w2 block_sparse_moe.experts.w3 residual_mlp.w1 residual_mlp.w2 "
    "residual_mlp.w3 num_local_experts",
    .config = arctic_back_config,
    .shapes = arctic_back_shapes};

static const char *const olmoe_back_config[] = {"model_type = 'olmoe'", NULL};
static const tare_llama_back olmoe_back = {.names = HF_DENSE HF_MOE HF_QK_NORM "num_experts",
                                           .config = olmoe_back_config};
#define SCORING                                                                                    \
    "scoring_func = if(expert_gating_func == 2, 'sigmoid', if(expert_gating_func == 1, "           \
    "'softmax'))"
static const char *const dots1_back_config[] = {"model_type = 'dots1'", SCORING, NULL};
static const tare_llama_back dots1_back = {
    .names = HF_DENSE HF_MOE HF_SHARED HF_QK_NORM "n_routed_experts", .config = dots1_back_config};
static const char *const bailing_back_config[] = {"model_type = 'bailing_moe'",
                                                  "head_dim = attention.key_length", NULL};
static const tare_llama_shape_row bailing_back_shapes[] = {
    {"*.attention.dense.weight", "d0, d1"},
    {"*.attention.query_key_value.weight",
     "(num_attention_heads + 2 * num_key_value_heads) * (d0 / num_attention_heads), d1"},
    {NULL, NULL}};
static const tare_llama_back bailing_back = {
    .names = "model.word_embeddings model.layers. model.norm lm_head " HF_NORMS HF_CONFIG HF_MOE
        HF_SHARED "model.word_embeddings num_experts",
    .config = bailing_back_config,
    .shapes = bailing_back_shapes};
static const char *const smallthinker_back_config[] = {
    "model_type = 'smallthinker'",
    "moe_num_primary_experts = expert_count",
    "moe_num_active_primary_experts = expert_used_count",
    "num_local_experts = nothing",
    "num_experts_per_tok = nothing",
    "intermediate_size = nothing",
    "moe_primary_router_apply_softmax = expert_gating_func == 1",
    "sliding_window_size = attention.sliding_window",
    "sliding_window_layout[] = if(has(attention.sliding_window), 1)",
    NULL};
static const tare_llama_back smallthinker_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "block_sparse_moe.primary_router block_sparse_moe.experts.gate block_sparse_moe.experts.up "
    "block_sparse_moe.experts.down",
    .config = smallthinker_back_config};
static const char *const minimax_back_config[] = {"model_type = 'minimax_m2'", SCORING,
                                                  "use_qk_norm = true", NULL};
static const tare_llama_back minimax_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_CONFIG
    "block_sparse_moe.gate block_sparse_moe.experts.w1 block_sparse_moe.experts.w2 "
    "block_sparse_moe.experts.w3 block_sparse_moe.e_score_correction num_local_experts",
    .config = minimax_back_config};

static const char *const minimax3_back_config[] = {
    "model_type = 'minimax_m3_vl_text'",
    SCORING,
    "moe_layer_freq[] = if(layer < (leading_dense_block_count | 0), 0, 1)",
    "partial_rotary_factor = rope.dimension_count / attention.key_length",
    SPARSE("sparse_attention_freq[] = if(layer < (leading_dense_block_count | 0), 0, 1)"),
    SPARSE("sparse_num_index_heads = attention.indexer.head_count"),
    SPARSE("sparse_index_dim = attention.indexer.key_length"),
    SPARSE("sparse_topk_blocks = attention.indexer.top_k"),
    SPARSE("sparse_block_size = attention.indexer.block_size"),
    SPARSE("sparse_local_block = attention.indexer.local_blocks"),
    "intermediate_size = expert_feed_forward_length",
    "dense_intermediate_size = feed_forward_length",
    "shared_intermediate_size = tensors.ffn_up_shexp.weight.rows",
    NULL};
static const tare_llama_back minimax3_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_QK_NORM HF_MLP
    "block_sparse_moe.gate block_sparse_moe.experts.w1 block_sparse_moe.experts.w2 "
    "block_sparse_moe.experts.w3 block_sparse_moe.e_score_correction num_local_experts "
    "block_sparse_moe.shared_experts.gate_proj block_sparse_moe.shared_experts.up_proj "
    "block_sparse_moe.shared_experts.down_proj self_attn.index_q_proj self_attn.index_k_proj "
    "self_attn.index_q_norm self_attn.index_k_norm " HF_CONFIG,
    .config = minimax3_back_config};

static const char *const grok_back_config[] = {
    "model_type = 'git'",
    "embedding_multiplier_scale = embedding_scale",
    "output_multiplier_scale = logit_scale",
    "attn_output_multiplier = attention.output_scale",
    "final_logit_softcapping = final_logit_softcapping",
    "attn_temperature_len = attention.temperature_length",
    "rope_type = if(rope.scaling.type == 'yarn', 'yarn')",
    "scaling_factor = rope.scaling.factor",
    "original_max_position_embeddings = rope.scaling.original_context_length",
    "extrapolation_factor = rope.scaling.yarn_ext_factor",
    "attn_factor = rope.scaling.yarn_attn_factor",
    "beta_fast = rope.scaling.yarn_beta_fast",
    "beta_slow = rope.scaling.yarn_beta_slow",
    "rope_scaling = nothing",
    "layer_norm_eps = attention.layer_norm_epsilon",
    "moe_intermediate_size = expert_feed_forward_length",
    NULL};
static const tare_llama_back grok_back = {
    .names =
        "model.layers. model.embed_tokens model.norm lm_head pre_attn_norm post_attn_norm "
        "pre_moe_norm post_moe_norm block_sparse_moe.gate block_sparse_moe.experts.w1 "
        "block_sparse_moe.experts.w2 block_sparse_moe.experts.w3 num_local_experts " HF_ATTN HF_MLP
            HF_CONFIG,
    .config = grok_back_config};

static const char *const bailing2_back_config[] = {
    "model_type = 'bailing_moe_v2'",
    "partial_rotary_factor = rope.dimension_count / attention.key_length",
    "score_function = if(expert_gating_func == 2, 'sigmoid', if(expert_gating_func == 1, "
    "'softmax'))",
    "moe_shared_expert_intermediate_size = expert_shared_feed_forward_length", NULL};
static const tare_llama_back bailing2_back = {
    .names =
        "model.word_embeddings model.layers. model.norm lm_head final_layernorm " HF_NORMS HF_CONFIG
            HF_EXPERTS HF_MLP HF_SHARED
        "attention.query_key_value attention.dense attention.query_layernorm "
        "attention.key_layernorm mlp.gate.expert_bias num_experts",
    .config = bailing2_back_config};

const tare_llama_arch tare_llama_family_moe[] = {
    {.name = "olmoe",
     .classes = "OlmoeForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS,
     .defaults = tare_llama_all_heads,
     .keys = olmoe_keys,
     .back = &olmoe_back},
    {.name = "dots1",
     .classes = "Dots1ForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE SHARED QK_NORMS "exp_probs_b",
     .defaults = dots1_defaults,
     .keys = dots1_keys,
     .back = &dots1_back},
    {.name = "bailingmoe",
     .classes = "BailingMoeForCausalLM",
     .requires = "if(norm_head | false, false, true)",
     .tensors = ENDS QKV NORMS MOE SHARED "rope_freqs",
     .defaults = tare_llama_all_heads,
     .keys = bailing_keys,
     .rules = bailing_rules,
     .back = &bailing_back},
    {.name = "bailingmoe2",
     .classes = "BailingMoeV2ForCausalLM",
     .tensors = BAILING2_TENSORS,
     .optional = "layer_output_norm",
     .cut = ".expert_bias=.expert_bias.bias",
     .defaults = tare_llama_all_heads,
     .keys = bailing2_keys,
     .extra_layers = "num_nextn_predict_layers",
     .back = &bailing2_back},
    {.name = "bailingmoe2",
     .classes = "SarvamMoEForCausalLM modeling_sarvam_moe.SarvamMoEForCausalLM",
     .tensors = BAILING2_TENSORS,
     .optional = "layer_output_norm",
     .cut = ".expert_bias>.expert_bias.bias",
     .defaults = tare_llama_all_heads,
     .keys = sarvam_keys,
     .rules = sarvam_rules,
     .extra_layers = "num_nextn_predict_layers"},
    {.name = "grok",
     .classes = "GrokForCausalLM Grok1ForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE
     "rope_freqs attn_rot_embd attn_output_norm post_ffw_norm layer_output_norm",
     .optional = "ffn_gate ffn_up",
     .defaults = grok_defaults,
     .keys = grok_keys,
     .rules = grok_rules,
     .back = &grok_back},
    {.name = "smallthinker",
     .classes = "SmallThinkerForCausalLM",
     .tensors = ENDS QKV NORMS FFN MOE,
     .defaults = smallthinker_defaults,
     .keys = smallthinker_keys,
     .back = &smallthinker_back},
    {.name = "minimax-m2",
     .classes = "MiniMaxM2ForCausalLM",
     .tensors = ENDS QKV NORMS MOE QK_NORMS "exp_probs_b",
     .defaults = minimax_defaults,
     .keys = minimax_keys,
     .back = &minimax_back},
    {.name = "minimax-m3",
     .classes = "MiniMaxM3VLForCausalLM MiniMaxM3SparseForCausalLM "
                "MiniMaxM3SparseForConditionalGeneration",
     .tensors = ENDS QKV NORMS FFN MOE SHARED QK_NORMS
     "exp_probs_b indexer.q_proj indexer.k_proj indexer.q_norm indexer.k_norm",
     .defaults = minimax3_defaults,
     .keys = minimax3_keys,
     .rules = minimax3_rules,
     .back = &minimax3_back},
    {.name = "llama4",
     .classes = "Llama4ForCausalLM Llama4ForConditionalGeneration",
     .tensors = DENSE MOE SHARED,
     .defaults = llama4_defaults,
     .keys = llama4_keys,
     .rules = llama4_rules,
     .has_rope_freqs = true,
     .back = &llama4_back},
    {.name = "dbrx",
     .classes = "DbrxForCausalLM",
     .tensors = ENDS FUSED MOE "attn_norm attn_output_norm",
     .defaults = dbrx_defaults,
     .own = dbrx_own,
     .rules = dbrx_rules,
     .quantizes_all = true,
     .back = &dbrx_back},
    {.name = "arctic",
     .classes = "ArcticForCausalLM",
     .tensors = DENSE MOE,
     .keys = arctic_keys,
     .rules = arctic_rules,
     .back = &arctic_back},
    {.name = NULL},
};
