/* SPDX-License-Identifier: MIT
 *
 * GPT-2 and other models before Llama: one matrix of queries, keys and values, ordered differently in
 * each. */
#include "llama/arch/rows.h"

static const tare_llama_key gpt2_own[] = {
    {"block_count", U32, "layers"},
    {"context_length", U32, "n_ctx | n_positions"},
    {"embedding_length", U32, "n_embd"},
    {"feed_forward_length", U32, "n_inner | 4 * n_embd"},
    {"attention.head_count", U32, "n_head"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon | 0.00001"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule gpt2_rules[] = {
    RULE_DROP("*.attn.bias"), RULE_DROP("*.attn.masked_bias"), RULES_CONV1D, END_OF_RULES};
/* RuGPT-3 XL has separate matrices for queries, keys and values. */
static const tare_llama_rule rugpt3_rules[] = {
    {"*.self_attn.q_proj@", "=blk.#.attn_qkv", "part(0, 3)"},
    {"*.self_attn.k_proj@", "=blk.#.attn_qkv", "part(1, 3)"},
    {"*.self_attn.v_proj@", "=blk.#.attn_qkv", "part(2, 3)"},
    END_OF_RULES};

/* Whose positions have names of their own beside the settings; the usual ones do not count there. */
static const char *const neox_defaults[] = {
    "rope.theta = rope_parameters.rope_theta | rope_scaling.rope_theta | rotary_emb_base",
    "rope.partial = rope_parameters.partial_rotary_factor | rope_scaling.partial_rotary_factor",
    "neox.partial = rope.partial | rotary_pct | 0.25",
    "layer_norm_eps = 0.00001",
    "max_position_embeddings = 2048",
    NULL};
static const tare_llama_key neox_own[] = {
    {"context_length", U32, "max_position_embeddings"},
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"feed_forward_length", U32, "intermediate_size"},
    {"rope.dimension_count", U32, "neox.partial * floor(hidden_size / num_attention_heads)"},
    {"attention.head_count", U32, "num_attention_heads"},
    {"use_parallel_residual", BOOL, "use_parallel_residual | true"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_eps"},
    END_OF_KEYS};
#define RULES_QKV(heads)                                                                           \
    RULE_QKV(heads, "0"), RULE_QKV(heads, "1"), RULE_QKV(heads, "2"), RULE_QKV_BIAS(heads, "0"),   \
        RULE_QKV_BIAS(heads, "1"), RULE_QKV_BIAS(heads, "2")
#define RULE_QKV(heads, i)                                                                         \
    {                                                                                              \
        "=blk.#.attn_qkv.weight", NULL,                                                            \
            "view(" heads ", 3, 0, d1) rows(1, " i ", 1) view(0, d3) part(" i ", 3)"               \
    }
#define RULE_QKV_BIAS(heads, i)                                                                    \
    {                                                                                              \
        "=blk.#.attn_qkv.bias", NULL,                                                              \
            "view(" heads ", 3, 0) rows(1, " i ", 1) view(0) part(" i ", 3)"                       \
    }
static const tare_llama_rule neox_rules[] = {
    RULES_QKV("num_attention_heads"), RULE_DROP("*.attention.rotary_emb.inv_freq"), END_OF_RULES};

static const tare_llama_key bloom_own[] = {
    {"context_length", U32, "seq_length | hidden_size | n_embed"},
    {"embedding_length", U32, "hidden_size | n_embed"},
    {"feed_forward_length", U32, "4 * (hidden_size | n_embed)"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "n_head | num_attention_heads"},
    {"attention.head_count_kv", U32, "n_head | num_attention_heads"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon | 0.00001"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule bloom_rules[] = {RULES_QKV("(n_head | num_attention_heads)"),
                                              END_OF_RULES};

static const char *const falcon_defaults[] = {
    "layer_norm_epsilon = 0.00001", "falcon.heads = num_attention_heads | n_head",
    /* where heads are in no groups, num_kv_heads says nothing, and transformers writes it for all */
    "falcon.is_grouped = if(has(n_head_kv), true, new_decoder_architecture | false)",
    "falcon.kv = if(falcon.is_grouped, n_head_kv | num_kv_heads | falcon.heads, "
    "if(multi_query | true, 1, falcon.heads))",
    "falcon.per_kv = falcon.heads / falcon.kv", NULL};
static const tare_llama_key falcon_own[] = {
    {"context_length", U32, "2048"},
    {"tensor_data_layout", TEXT, "'jploski'"},
    {"embedding_length", U32, "hidden_size"},
    {"feed_forward_length", U32, "ffn_hidden_size | 4 * hidden_size"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "falcon.heads"},
    {"attention.head_count_kv", U32, "falcon.kv"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
#define FALCON_GROUPS "view(falcon.kv, falcon.per_kv + 2, 0, d1) "
static const tare_llama_rule falcon_rules[] = {
    {"=blk.#.attn_qkv.weight", NULL,
     FALCON_GROUPS "rows(1, 0, falcon.per_kv) view(0, d3) part(0, 3)"},
    {"=blk.#.attn_qkv.weight", NULL,
     FALCON_GROUPS "rows(1, falcon.per_kv, 1) view(0, d3) part(1, 3)"},
    {"=blk.#.attn_qkv.weight", NULL,
     FALCON_GROUPS "rows(1, falcon.per_kv + 1, 1) view(0, d3) part(2, 3)"},
    END_OF_RULES};

static const tare_llama_key mpt_own[] = {
    {"context_length", U32, "max_seq_len"},
    {"embedding_length", U32, "d_model"},
    {"block_count", U32, "layers"},
    {"feed_forward_length", U32, "4 * d_model"},
    {"attention.head_count", U32, "n_heads"},
    {"attention.head_count_kv", U32, "attn_config.kv_n_heads"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon | 0.00001"},
    {"attention.clamp_kqv", F32, "attn_config.clip_qkv"},
    {"attention.max_alibi_bias", F32,
     "if(attn_config.alibi | false, attn_config.alibi_bias_max | 8, 0)"},
    END_OF_KEYS};
static const tare_llama_rule mpt_rules[] = {{"*.ffn.act.scales", "=blk.#.ffn.act.scales", NULL},
                                            END_OF_RULES};

static const tare_llama_key starcoder_own[] = {
    {"context_length", U32, "n_positions"},
    {"embedding_length", U32, "n_embd"},
    {"feed_forward_length", U32, "n_inner | 4 * n_embd"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "n_head"},
    {"attention.head_count_kv", U32, "1"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon | 0.00001"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_key codeshell_own[] = {
    {"context_length", U32, "n_positions"},
    {"embedding_length", U32, "n_embd"},
    {"feed_forward_length", U32, "n_inner | 4 * n_embd"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "n_head"},
    {"attention.head_count_kv", U32, "num_query_groups"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    KEY_FILE_TYPE,
    {"rope.freq_base", F32, "10000"},
    {"rope.scaling.type", TEXT, "'linear'"},
    {"rope.scaling.factor", F32, "1"},
    END_OF_KEYS};
static const char *const refact_defaults[] = {
    "refact.ff = 256 * floor((floor(8 * n_embd / 3) + 255) / 256)",
    "refact.head = floor(n_embd / n_head)", NULL};
static const tare_llama_key refact_own[] = {
    {"context_length", U32, "n_positions"},
    {"embedding_length", U32, "n_embd"},
    {"feed_forward_length", U32, "refact.ff"},
    {"block_count", U32, "layers"},
    {"attention.head_count", U32, "n_head"},
    {"attention.head_count_kv", U32, "1"},
    {"attention.layer_norm_rms_epsilon", F32, "layer_norm_epsilon"},
    KEY_FILE_TYPE,
    END_OF_KEYS};
static const tare_llama_rule refact_rules[] = {
    {"*.attn.kv.weight", "=blk.#.attn_k.weight", "rows(0, 0, refact.head)"},
    {"*.attn.kv.weight", "=blk.#.attn_v.weight", "rows(0, refact.head, d0 - refact.head)"},
    {"*.attn.q.weight", "=blk.#.attn_q.weight", NULL},
    {"*.mlp.gate_up_proj.weight", "=blk.#.ffn_gate.weight", "rows(0, 0, refact.ff)"},
    {"*.mlp.gate_up_proj.weight", "=blk.#.ffn_up.weight", "rows(0, refact.ff, d0 - refact.ff)"},
    END_OF_RULES};
static const tare_llama_special_rule refact_specials[] = {
    {.special = TARE_LLAMA_PREFIX, .id = 1},
    {.special = TARE_LLAMA_SUFFIX, .id = 3},
    {.special = TARE_LLAMA_MIDDLE, .id = 2},
};

static const char *const codeshell_back_config[] = {
    "model_type = 'codeshell'", "n_layer = block_count", "num_hidden_layers = nothing", NULL};
static const tare_llama_back codeshell_back = {
    .names = "transformer.h. transformer.wte transformer.ln_f lm_head ln_1 ln_2 attn.c_attn "
             "attn.c_proj mlp.c_fc mlp.c_proj n_positions n_embd n_head num_query_groups",
    .config = codeshell_back_config};
static const char *const refact_back_config[] = {
    "model_type = 'gpt_refact'", "n_layer = block_count", "num_hidden_layers = nothing", NULL};
static const tare_llama_shape_row refact_back_shapes[] = {
    {"*.attn.kv.weight", "2 * d0, d1"},
    {"*.attn.q.weight", "d0, d1"},
    {"*.mlp.gate_up_proj.weight", "2 * d0, d1"},
    {NULL, NULL}};
static const tare_llama_back refact_back = {
    .names = "transformer.h. transformer.wte transformer.ln_f lm_head ln_1 ln_2 attn.c_proj "
             "mlp.c_proj n_positions n_embd n_head layer_norm_epsilon",
    .config = refact_back_config,
    .shapes = refact_back_shapes};

/* The width of feed-forward networks, where it is not the class's. */
#define BACK_INNER                                                                                 \
    "n_inner = if(feed_forward_length == 4 * embedding_length, nothing, feed_forward_length)"
static const char *const gpt2_back_config[] = {"model_type = 'gpt2'", "n_layer = block_count",
                                               "num_hidden_layers = nothing", BACK_INNER, NULL};
static const tare_llama_shape_row gpt2_back_shapes[] = {SHAPES_CONV1D, {NULL, NULL}};
static const tare_llama_back gpt2_back = {
    .names = "transformer.h. transformer.wte transformer.wpe transformer.ln_f lm_head ln_1 ln_2 "
             "attn.c_attn attn.c_proj mlp.c_fc mlp.c_proj n_positions n_embd n_head",
    .config = gpt2_back_config,
    .shapes = gpt2_back_shapes};
static const char *const neox_back_config[] = {
    "model_type = 'gpt_neox'",
    "rotary_pct = rope.dimension_count * attention.head_count / embedding_length", NULL};
static const tare_llama_back neox_back = {
    .names = "gpt_neox.layers. gpt_neox.embed_in gpt_neox.final_layer_norm embed_out "
             "input_layernorm post_attention_layernorm attention.query_key_value attention.dense "
             "mlp.dense_h_to_4h mlp.dense_4h_to_h max_position_embeddings hidden_size "
             "intermediate_size num_attention_heads rotary_emb_base",
    .config = neox_back_config};
static const char *const bloom_back_config[] = {"model_type = 'bloom'", "n_layer = block_count",
                                                "num_hidden_layers = nothing", NULL};
static const tare_llama_back bloom_back = {
    .names = "h. word_embeddings word_embeddings_layernorm ln_f lm_head input_layernorm "
             "post_attention_layernorm self_attention.query_key_value self_attention.dense "
             "mlp.dense_h_to_4h mlp.dense_4h_to_h n_head hidden_size seq_length",
    .config = bloom_back_config,
    .lead = "transformer."};
#define FALCON_GROUPED                                                                             \
    "if(attention.head_count_kv > 1, attention.head_count_kv < attention.head_count, false)"
static const char *const falcon_back_config[] = {"model_type = 'falcon'",
                                                 "num_attention_heads = attention.head_count",
                                                 "num_kv_heads = attention.head_count_kv",
                                                 "multi_query = attention.head_count_kv == 1",
                                                 "new_decoder_architecture = " FALCON_GROUPED,
                                                 "num_ln_in_parallel_attn = if(" FALCON_GROUPED
                                                 ", 1)",
                                                 NULL};
static const tare_llama_back falcon_back = {
    .names = "transformer.h. transformer.word_embeddings transformer.ln_f lm_head input_layernorm "
             "self_attention.query_key_value self_attention.dense mlp.dense_h_to_4h "
             "mlp.dense_4h_to_h hidden_size num_attention_heads rope_theta",
    .config = falcon_back_config,
    .when = "has(tensors.attn_norm_2.weight) == false"};
static const char *const falcon_new_back_config[] = {"model_type = 'falcon'",
                                                     "num_attention_heads = attention.head_count",
                                                     "num_kv_heads = attention.head_count_kv",
                                                     "multi_query = true",
                                                     "new_decoder_architecture = true",
                                                     NULL};
static const tare_llama_back falcon_new_back = {
    .names = "transformer.h. transformer.word_embeddings transformer.ln_f lm_head ln_mlp ln_attn "
             "self_attention.query_key_value self_attention.dense mlp.dense_h_to_4h "
             "mlp.dense_4h_to_h hidden_size num_attention_heads rope_theta",
    .config = falcon_new_back_config};
static const char *const mpt_back_config[] = {
    "model_type = 'mpt'",
    "n_layers = block_count",
    "num_hidden_layers = nothing",
    "attn_config.alibi = attention.max_alibi_bias > 0",
    "attn_config.alibi_bias_max = if(attention.max_alibi_bias > 0, "
    "floor(attention.max_alibi_bias))",
    NULL};
static const tare_llama_back mpt_back = {
    .names =
        "transformer.blocks. transformer.wte transformer.norm_f lm_head norm_1 norm_2 attn.Wqkv "
        "attn.out_proj ffn.up_proj ffn.down_proj attn_config.kv_n_heads attn_config.clip_qkv",
    .config = mpt_back_config};
static const char *const starcoder_back_config[] = {
    "model_type = 'gpt_bigcode'", "n_layer = block_count", "num_hidden_layers = nothing",
    BACK_INNER, NULL};
static const tare_llama_back starcoder_back = {
    .names = "transformer.h. transformer.wte transformer.wpe transformer.ln_f lm_head ln_1 ln_2 "
             "attn.c_attn attn.c_proj mlp.c_fc mlp.c_proj n_positions n_embd n_head",
    .config = starcoder_back_config};
static const char *const starcoder2_back_config[] = {"model_type = 'starcoder2'",
                                                     "use_bias = has(tensors.attn_q.bias)", NULL};
static const tare_llama_back starcoder2_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN
    "mlp.c_fc mlp.c_proj norm_epsilon max_position_embeddings hidden_size intermediate_size "
    "num_attention_heads num_key_value_heads rope_theta",
    .config = starcoder2_back_config};

const tare_llama_arch tare_llama_family_gpt[] = {
    {.name = "gpt2",
     .classes = "GPT2LMHeadModel",
     .tensors = ENDS "position_embd " FUSED NORMS "ffn_down ffn_up",
     .own = gpt2_own,
     .rules = gpt2_rules,
     .back = &gpt2_back},
    {.name = "gpt2",
     .classes = "RuGPT3XLForCausalLM",
     .tensors = ENDS "position_embd " FUSED NORMS "ffn_down ffn_up",
     .rules = rugpt3_rules},
    {.name = "gptneox",
     .classes = "GPTNeoXForCausalLM",
     .tensors = ENDS FUSED NORMS "ffn_down ffn_up",
     .defaults = neox_defaults,
     .own = neox_own,
     .rules = neox_rules,
     .back = &neox_back},
    {.name = "bloom",
     .classes = "BloomForCausalLM BloomModel",
     .tensors = ENDS "token_embd_norm " FUSED NORMS "ffn_down ffn_up",
     .cut = "transformer.",
     .own = bloom_own,
     .rules = bloom_rules,
     .back = &bloom_back},
    {.name = "falcon",
     .classes = "FalconForCausalLM RWForCausalLM",
     .tensors = ENDS FUSED "attn_norm attn_norm_2 ffn_down ffn_up",
     .optional = "attn_norm_2",
     .defaults = falcon_defaults,
     .own = falcon_own,
     .rules = falcon_rules,
     .back = &falcon_back},
    {.name = "falcon",
     .classes = "FalconForCausalLM RWForCausalLM",
     .tensors = ENDS FUSED "attn_norm attn_norm_2 ffn_down ffn_up",
     .optional = "attn_norm_2",
     .defaults = falcon_defaults,
     .own = falcon_own,
     .rules = falcon_rules,
     .back = &falcon_new_back},
    {.name = "mpt",
     .classes = "MptForCausalLM MPTForCausalLM",
     .tensors = ENDS FUSED NORMS QK_NORMS "position_embd ffn_down ffn_up",
     .optional = "position_embd attn_q_norm attn_k_norm",
     .own = mpt_own,
     .rules = mpt_rules,
     .tokenizer = {.prefers_json = true},
     .back = &mpt_back},
    {.name = "starcoder",
     .classes = "GPTBigCodeForCausalLM",
     .tensors = ENDS "position_embd " FUSED NORMS "ffn_down ffn_up",
     .own = starcoder_own,
     .back = &starcoder_back},
    {.name = "starcoder2",
     .classes = "Starcoder2ForCausalLM",
     .tensors = ENDS QKV NORMS "ffn_down ffn_up rope_freqs",
     .back = &starcoder2_back},
    {.name = "codeshell",
     .classes = "CodeShellForCausalLM",
     .tensors = ENDS "position_embd attn_rot_embd " FUSED NORMS "ffn_down ffn_up",
     .optional = "position_embd",
     .own = codeshell_own,
     .back = &codeshell_back},
    {.name = "refact",
     .classes = "GPTRefactForCausalLM",
     .tensors = ENDS QKV NORMS FFN,
     .defaults = refact_defaults,
     .own = refact_own,
     .rules = refact_rules,
     .tokenizer = {.rules = refact_specials, .n_rules = 3},
     .back = &refact_back},
    {.name = NULL},
};
