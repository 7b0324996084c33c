/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp's loader wants the values of keys to be. It asks for each with one type, in the
 * architectures that read it, and refuses the file where it has another. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

typedef enum key_kind {
    U16,
    U32,
    I32,
    F32,
    BOOL,
    TEXT,
    EACH_U32, /* one for all blocks, or an array with one for each */
    EACH_F32,
    EACH_MAIN, /* one for each block that does not predict more tokens */
    FOUR,      /* sections of a head */
    LIST,      /* whole numbers or bools, for as many blocks as there are */
    LIST_OR_U32,
    LIST_U64,
    LIST_I32,
    TEXTS,
    SCORES,
} key_kind;

static const char *const wanted[] = {
    [U16] = "llama.cpp takes it as u16 only",
    [U32] = "llama.cpp takes it as u32 only",
    [I32] = "llama.cpp takes it as i32 only",
    [F32] = "llama.cpp takes it as f32 only",
    [BOOL] = "llama.cpp takes it as bool only",
    [TEXT] = "llama.cpp takes it as a string only",
    [EACH_U32] = "llama.cpp takes it as u32, or as an array of i32 or u32 with one for each block",
    [EACH_F32] = "llama.cpp takes it as f32, or as an array of f32 with one for each block",
    [EACH_MAIN] = "llama.cpp takes it as u32, or as an array with one for each of the main blocks",
    [FOUR] = "llama.cpp takes it as an array of four i32",
    [LIST] = "llama.cpp takes it as an array of bool, i32 or u32",
    [LIST_OR_U32] = "llama.cpp takes it as u32, or as an array of bool, i32 or u32",
    [LIST_U64] = "llama.cpp takes it as an array of u64",
    [LIST_I32] = "llama.cpp takes it as an array of i32",
    [TEXTS] = "llama.cpp takes it as an array of strings",
    [SCORES] = "llama.cpp takes it as an array of f32 or i32",
};

/* Of the architecture, in those that read them; NULL: in all; behind '!': in all but these. */
static const struct {
    const char *keys;
    key_kind kind;
    const char *readers;
} of_architecture[] = {
    {"vocab_size", U32, "llama llama-embed deepseek2 mistral4"},
    {"context_length embedding_length embedding_length_out pooling_type classifier.pooling_type "
     "block_count nextn_predict_layers expert_count expert_group_count expert_group_used_count "
     "rope.scaling.original_context_length attention.key_length attention.value_length "
     "rope.dimension_count attention.key_length_swa attention.value_length_swa "
     "rope.dimension_count_swa",
     U32, NULL},
    {"attention.causal rope.scaling.finetuned", BOOL, NULL},
    {"expert_used_count feed_forward_length attention.head_count attention.head_count_kv", EACH_U32,
     NULL},
    {"rope.freq_base rope.scaling.factor rope.scale_linear rope.scaling.attn_factor "
     "rope.scaling.alpha",
     F32, NULL},
    {"rope.scaling.type", TEXT, NULL},
    {"classifier.output_labels", TEXTS, NULL},
    {"attention.layer_norm_rms_epsilon", F32,
     "!bert bloom codeshell cohere2 command-r dbrx falcon gpt2 gptneox jais jais2 jina-bert-v2 "
     "jina-bert-v3 modern-bert mpt nemotron nomic-bert nomic-bert-moe olmo orion phi2 qwen2vl "
     "stablelm starcoder "
     "starcoder2"},
    {"expert_feed_forward_length", EACH_U32,
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek deepseek2 deepseek2-ocr "
     "deepseek32 deepseek4 dflash dots1 dots3note ernie4_5 ernie4_5-moe exaone-moe gemma4 glm-dsa "
     "glm4moe glm5-next gpt-oss grok grovemoe hunyuan-moe hy_v3 hy_v4 kimi-k3 kimi-linear laguna "
     "lfm2moe llada-moe llama4 maple mellum mimo2 minimax-m2 minimax-m3 mistral4 nemotron_h "
     "nemotron_h_moe paddleocr qwen2moe qwen35moe qwen3moe qwen3next qwen3vlmoe qwen4exp rnd1 "
     "smallthinker step35"},
    {"attention.layer_norm_epsilon", F32,
     "arwkv7 bert bloom codeshell cohere2 cohere2moe command-r dbrx falcon glm5-next gpt2 gptneox "
     "jais jais2 jina-bert-v2 jina-bert-v3 modern-bert mpt nemotron nemotron_h nemotron_h_moe "
     "nomic-bert nomic-bert-moe olmo orion phi2 pockettts rwkv6 rwkv6qwen2 rwkv7 stablelm "
     "starcoder starcoder2 wavtokenizer-dec"},
    {"attention.sliding_window", U32,
     "afmoe cohere2 cohere2moe deepseek4 dflash dots3note exaone-moe exaone4 gemma-embedding "
     "gemma-embedding2 "
     "gemma2 gemma3 gemma3n gemma4 gemma4-assistant gpt-oss granite_swa laguna lfm2 llama4 maple "
     "mellum mimo2 modern-bert muse-glimmer olmo2 phi3 plamo3 smallthinker spark2_5 step35"},
    {"expert_weights_scale", F32,
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek deepseek2 deepseek2-ocr "
     "deepseek32 deepseek4 dflash dots1 dots3note exaone-moe glm-dsa glm4moe glm5-next hy_v3 hy_v4 "
     "kimi-k3 kimi-linear laguna minimax-m3 mistral4 nemotron_h nemotron_h_moe step35"},
    {"expert_gating_func", U32,
     "afmoe bailingmoe2 bailingmoe3 cohere2moe deepseek2 deepseek2-ocr deepseek32 deepseek4 dflash "
     "dots1 dots3note exaone-moe glm-dsa glm4moe glm5-next hy_v3 hy_v4 kimi-k3 kimi-linear laguna "
     "lfm2moe minimax-m2 minimax-m3 mistral4 smallthinker step35"},
    {"expert_shared_count", U32,
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek deepseek2 deepseek2-ocr "
     "deepseek32 deepseek4 dflash dots1 dots3note exaone-moe glm-dsa glm4moe glm5-next hy_v4 "
     "kimi-k3 kimi-linear laguna minimax-m3 mistral4 nemotron_h nemotron_h_moe"},
    {"expert_weights_norm", BOOL,
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek2 deepseek2-ocr deepseek32 "
     "deepseek4 dflash dots1 dots3note exaone-moe glm-dsa glm4moe glm5-next hy_v3 hy_v4 kimi-k3 "
     "laguna minimax-m3 mistral4 nemotron_h nemotron_h_moe step35"},
    {"leading_dense_block_count", U32,
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek deepseek2 deepseek2-ocr "
     "deepseek32 dots1 dots3note ernie4_5 ernie4_5-moe exaone-moe glm-dsa glm4moe glm5-next hy_v4 "
     "kimi-k3 kimi-linear laguna lfm2moe minimax-m3 mistral4 paddleocr"},
    {"rope.freq_base_swa", F32,
     "afmoe cohere2 cohere2moe dots3note exaone-moe exaone4 gemma-embedding gemma-embedding2 "
     "gemma2 gemma3 gemma3n "
     "gemma4 gemma4-assistant gpt-oss laguna llama4 maple mellum mimo2 modern-bert muse-glimmer "
     "olmo2 plamo3 smallthinker spark2_5 step35"},
    {"expert_shared_feed_forward_length", U32,
     "bailingmoe2 bailingmoe3 cohere2moe ernie4_5 ernie4_5-moe exaone-moe granite granite_swa "
     "granitehybrid granitemoe graniteswitch hunyuan-moe hy_v3 laguna nemotron_h nemotron_h_moe "
     "paddleocr qwen2moe qwen35moe qwen3next qwen4exp step35"},
    {"attention.sliding_window_pattern", LIST_OR_U32,
     "afmoe cohere2 cohere2moe exaone-moe exaone4 gemma-embedding gemma-embedding2 gemma2 gemma3 "
     "gemma3n gpt-oss "
     "laguna llama4 mellum modern-bert muse-glimmer olmo2 plamo3 smallthinker"},
    {"rope.dimension_sections", FOUR,
     "bailingmoe3 deepseek32 dflash ernie4_5 ernie4_5-moe glm-dsa glm4 glm4moe hunyuan-dense "
     "hunyuan_vl paddleocr qwen2vl qwen35 qwen35moe qwen3tts qwen3vl qwen3vlmoe qwen4exp"},
    {"ssm.conv_kernel", U32,
     "bailingmoe3 falcon-h1 glm5-next granitehybrid jamba kimi-k3 kimi-linear mamba mamba2 "
     "nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe qwen3next qwen4exp"},
    {"logit_scale", F32,
     "cohere2 cohere2moe command-r dflash granite granite_swa granitehybrid granitemoe "
     "graniteswitch grok minicpm muse-glimmer talkie"},
    {"attention.kv_lora_rank", U32,
     "bailingmoe3 deepseek2 deepseek32 dots3note glm-dsa glm5-next hy_v4 kimi-k3 kimi-linear "
     "minicpm3 mistral4 plm"},
    {"attention.q_lora_rank", U32,
     "bailingmoe3 deepseek2 deepseek32 deepseek4 dflash dots3note glm-dsa glm5-next hy_v4 kimi-k3 "
     "minicpm3 mistral4"},
    {"ssm.inner_size ssm.state_size ssm.time_step_rank", U32,
     "falcon-h1 granitehybrid jamba mamba mamba2 nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe "
     "qwen3next qwen4exp"},
    {"attention.key_length_mla attention.value_length_mla", U32,
     "bailingmoe3 deepseek2 deepseek32 dots3note glm-dsa glm5-next hy_v4 kimi-k3 kimi-linear "
     "mistral4"},
    {"ssm.group_count", U32,
     "falcon-h1 granitehybrid mamba2 nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe qwen3next "
     "qwen4exp"},
    {"attention.sliding_window_pattern", LIST,
     "dflash dots3note gemma4 gemma4-assistant granite_swa maple mimo2 spark2_5 step35"},
    {"embedding_scale", F32,
     "dflash granite granite_swa granitehybrid granitemoe graniteswitch grok hrm_text minicpm"},
    {"attention.indexer.head_count attention.indexer.key_length attention.indexer.top_k", U32,
     "deepseek32 deepseek4 dots3note glm-dsa glm5-next hy_v4 minimax-m3 qwen4exp"},
    {"residual_scale", F32,
     "granite granite_swa granitehybrid granitemoe graniteswitch minicpm minimax-01"},
    {"swiglu_clamp_exp", EACH_F32, "bailingmoe3 deepseek4 dflash glm5-next hy_v4 maple step35"},
    {"attention.scale", F32, "dflash granite granite_swa granitehybrid granitemoe graniteswitch"},
    {"final_logit_softcapping", F32, "dflash gemma2 gemma3 gemma4 grok muse-glimmer"},
    {"attention.recurrent_layers", EACH_U32, "minimax-01 qwen35 qwen35moe qwen3next qwen4exp"},
    {"full_attention_interval", U32, "minimax-01 qwen35 qwen35moe qwen3next qwen4exp"},
    {"hyper_connection.count", U32, "deepseek4 dflash glm5-next hy_v4 qwen4exp"},
    {"swiglu_clamp_shexp", EACH_F32, "bailingmoe3 deepseek4 dflash glm5-next step35"},
    {"hyper_connection.epsilon", F32, "deepseek4 dflash glm5-next hy_v4"},
    {"interleave_moe_layer_step", U32, "ernie4_5 ernie4_5-moe llama4 paddleocr"},
    {"kda.head_dim", U32, "bailingmoe3 glm5-next kimi-k3 kimi-linear"},
    {"rope.scaling.yarn_log_multiplier", F32, "deepseek2 deepseek32 mistral3 mistral4"},
    {"token_shift_count wkv.head_size", U32, "arwkv7 rwkv6 rwkv6qwen2 rwkv7"},
    {"attention.clamp_kqv", F32, "dbrx mpt olmo"},
    {"attention.indexer.types", EACH_MAIN, "glm-dsa glm5-next hy_v4"},
    {"attention.temperature_length", U32, "deepseek2 grok mistral4"},
    {"attention.temperature_scale", F32, "deepseek2 mistral3 mistral4"},
    {"hyper_connection.sinkhorn_iterations", U32, "deepseek4 dflash glm5-next"},
    {"kda.gate_lower_bound", F32, "bailingmoe3 glm5-next kimi-k3"},
    {"n_deepstack_layers", U32, "qwen3tts qwen3vl qwen3vlmoe"},
    {"attention.compress_ratios", LIST, "deepseek4 dflash"},
    {"attention.decay_lora_rank attention.gate_lora_rank attention.iclr_lora_rank "
     "attention.value_residual_mix_lora_rank",
     U32, "arwkv7 rwkv7"},
    {"attention.max_alibi_bias", F32, "jais mpt"},
    {"attention.output_group_count attention.output_lora_rank", U32, "deepseek4 dflash"},
    {"attention.relative_buckets_count", U32, "t5 t5encoder"},
    {"attention.shared_kv_layers", U32, "gemma4 gemma4-assistant"},
    {"attention.value_scale", F32, "dflash mimo2"},
    {"attn_logit_softcapping", F32, "gemma2 grok"},
    {"deepstack_mapping", LIST, "granite granite_swa"},
    {"embedding_length_per_layer_input", U32, "gemma4 gemma-embedding2 qwen4exp"},
    {"hidden_activation", TEXT, "dflash modern-bert"},
    {"moe_latent_size", U32, "nemotron_h nemotron_h_moe"},
    {"rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow", F32, "grok mistral3"},
    {"shortconv.l_cache", U32, "lfm2 lfm2moe"},
    {"rescale_every_n_layers time_decay_extra_dim time_mix_extra_dim", U32, "rwkv6 rwkv6qwen2"},
    {"=xielu.alpha_n =xielu.alpha_p =xielu.beta =xielu.eps", EACH_F32, "apertus"},
    {"activation.situ_beta activation.situ_linear_beta", F32, "kimi-k3"},
    {"adapters.count adapters.lora_rank", U32, "graniteswitch"},
    {"adapters.router_gain", F32, "graniteswitch"},
    {"adapters.token_ids_activate adapters.token_ids_substitute", LIST, "graniteswitch"},
    {"attention.compress_ratios", EACH_U32, "qwen4exp"},
    {"attention.compress_rope_freq_base", F32, "deepseek4"},
    {"attention.group_norm_epsilon", F32, "wavtokenizer-dec"},
    {"attention.group_norm_groups convnext.block_count convnext.embedding_length features_length "
     "posnet.block_count posnet.embedding_length",
     U32, "wavtokenizer-dec"},
    {"attention.indexer.block_size attention.indexer.local_blocks", U32, "minimax-m3"},
    {"attention.indexer.kpool", U32, "glm5-next"},
    {"attention.indexer.kpool_select_tail", BOOL, "glm5-next"},
    {"attention.indexer.types", LIST, "dots3note"},
    {"attention.key_length_mla_swa attention.kv_lora_rank_swa attention.value_length_mla_swa", U32,
     "dots3note"},
    {"attention.output_scale rope.scaling.yarn_attn_factor rope.scaling.yarn_ext_factor "
     "router_logit_softcapping",
     F32, "grok"},
    {"attention.rope_pattern", LIST, "granite_swa"},
    {"block_size conv_group_size conv_kernel_size selector_rank selector_top_k", U32, "dflash"},
    {"decoder_block_count decoder_start_token_id", U32, "t5"},
    {"dense_2_feat_in dense_2_feat_out dense_3_feat_in dense_3_feat_out", U32, "gemma-embedding"},
    {"expert_chunk_feed_forward_length experts_per_group", U32, "grovemoe"},
    {"expert_group_scale", F32, "grovemoe"},
    {"attn_res.block_size expert_latent_length", U32, "kimi-k3"},
    {"hash_layer_count", U32, "deepseek4"},
    {"hrm.h_cycles hrm.l_cycles hrm.layers_per_stack", U32, "hrm_text"},
    {"hrm.prefix_lm", BOOL, "hrm_text"},
    {"hyper_connection.low_rank ple.conv_kernel ple.eos_token_id ple.heads_per_ngram "
     "ple.image_token_id ple.ngram_size",
     U32, "qwen4exp"},
    {"hyper_connection.magnitude", F32, "hy_v4"},
    {"kda.safe_gate", BOOL, "bailingmoe3"},
    {"moe_every_n_layers", U32, "nomic-bert-moe"},
    {"norm_before_fc norm_before_residual", BOOL, "eagle3"},
    {"num_loops", U32, "nanbeige"},
    {"ple.head_offsets ple.head_vocab_sizes ple.layer_multipliers", LIST_U64, "qwen4exp"},
    {"ple.layers", LIST, "qwen4exp"},
    {"skip_loop_final_norm", BOOL, "nanbeige"},
    {"ssm.dt_b_c_rms", BOOL, "mamba"},
    {"swin_norm", BOOL, "chameleon"},
    {"target_hidden_size", U32, "eagle3"},
    {"use_parallel_residual", BOOL, "gptneox"},
};

/* Of any model; names are whole. */
static const struct {
    const char *keys;
    key_kind kind;
} of_all[] = {
    {"general.name general.architecture tokenizer.ggml.model tokenizer.ggml.pre", TEXT},
    {"tokenizer.ggml.bos_token_id tokenizer.ggml.eos_token_id tokenizer.ggml.eot_token_id "
     "tokenizer.ggml.eom_token_id tokenizer.ggml.unknown_token_id "
     "tokenizer.ggml.seperator_token_id tokenizer.ggml.padding_token_id "
     "tokenizer.ggml.mask_token_id tokenizer.ggml.fim_pre_token_id "
     "tokenizer.ggml.fim_suf_token_id tokenizer.ggml.fim_mid_token_id "
     "tokenizer.ggml.fim_pad_token_id tokenizer.ggml.fim_rep_token_id "
     "tokenizer.ggml.fim_sep_token_id tokenizer.ggml.prefix_token_id "
     "tokenizer.ggml.suffix_token_id tokenizer.ggml.middle_token_id "
     "tokenizer.ggml.token_type_count",
     U32},
    {"general.file_type", U32},
    {"tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token tokenizer.ggml.add_sep_token "
     "tokenizer.ggml.add_space_prefix tokenizer.ggml.remove_extra_whitespaces "
     "tokenizer.ggml.normalizer.lowercase tokenizer.ggml.normalizer.strip_accents",
     BOOL},
    {"tokenizer.ggml.tokens", TEXTS},
    {"tokenizer.ggml.scores", SCORES},
    {"tokenizer.ggml.token_type tokenizer.ggml.suppress_tokens", LIST_I32},
    {"split.no split.count", U16},
    {"split.tensors.count", I32},
};

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct keys {
    const tare_model *gguf;
    tare_str architecture;
    uint64_t blocks, nextn; /* blocks in all; of these, layers that predict more tokens */
} keys;

static bool is_list_of(const tare_value *v, tare_value_type a, tare_value_type b,
                       tare_value_type c) {
    if (v->type != TARE_VALUE_ARRAY) return false;
    const tare_value_type type = v->as.a.type;
    return type == a || type == b || type == c;
}

static bool is_list(const tare_value *v) {
    return is_list_of(v, TARE_VALUE_U32, TARE_VALUE_I32, TARE_VALUE_BOOL);
}

static bool is_right(const tare_value *v, key_kind kind, const keys *k) {
    switch (kind) {
    case U16:
        return v->type == TARE_VALUE_U16;
    case U32:
        return v->type == TARE_VALUE_U32;
    case I32:
        return v->type == TARE_VALUE_I32;
    case F32:
        return v->type == TARE_VALUE_F32;
    case BOOL:
        return v->type == TARE_VALUE_BOOL;
    case TEXT:
        return v->type == TARE_VALUE_STRING;
    case EACH_U32:
        return v->type == TARE_VALUE_U32 || (is_list(v) && v->as.a.count == k->blocks);
    case EACH_F32:
        return v->type == TARE_VALUE_F32 ||
               (is_list_of(v, TARE_VALUE_F32, TARE_VALUE_F32, TARE_VALUE_F32) &&
                v->as.a.count == k->blocks);
    case EACH_MAIN:
        return v->type == TARE_VALUE_U32 || (is_list(v) && v->as.a.count == k->blocks - k->nextn);
    case FOUR:
        return v->type == TARE_VALUE_I32 || (is_list(v) && v->as.a.count == 4);
    case LIST:
        return is_list(v) && v->as.a.count <= TARE_LLAMA_MOST_BLOCKS;
    case LIST_OR_U32:
        return v->type == TARE_VALUE_U32 || (is_list(v) && v->as.a.count <= TARE_LLAMA_MOST_BLOCKS);
    case LIST_U64:
        return is_list_of(v, TARE_VALUE_U64, TARE_VALUE_U64, TARE_VALUE_U64);
    case LIST_I32:
        return is_list_of(v, TARE_VALUE_I32, TARE_VALUE_I32, TARE_VALUE_I32);
    case TEXTS:
        return is_list_of(v, TARE_VALUE_STRING, TARE_VALUE_STRING, TARE_VALUE_STRING);
    case SCORES:
        return is_list_of(v, TARE_VALUE_F32, TARE_VALUE_I32, TARE_VALUE_I32);
    }
    return false;
}

static bool no(tare_error *why, const char *key, const char *what) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    return false;
}

/* "llama." and a name; a name behind '=' is whole. */
static const tare_value *value_of(char *key, size_t size, const keys *k, tare_str name,
                                  bool is_whole) {
    if (name.len && name.ptr[0] == '=') {
        is_whole = true;
        name = tare_str_cut(name, 1);
    }
    snprintf(key, size, "%.*s%s%.*s", is_whole ? 0 : (int)tare_min_u64(k->architecture.len, 64),
             k->architecture.ptr, is_whole ? "" : ".", (int)name.len, name.ptr);
    const int64_t i = tare_model_find_key(k->gguf, tare_str_of(key));
    return i < 0 ? NULL : &k->gguf->catalog.metadata[i].value;
}

const tare_value *tare_llama_value_of_key(const tare_model *gguf, tare_str architecture,
                                          const char *name) {
    char key[160];
    const keys k = {.gguf = gguf, .architecture = architecture};
    return value_of(key, sizeof key, &k, tare_str_of(name), false);
}

uint64_t tare_llama_number_of_key(const tare_model *gguf, tare_str architecture, const char *name,
                                  uint64_t otherwise) {
    const tare_value *v = tare_llama_value_of_key(gguf, architecture, name);
    uint64_t n;
    return v && tare_value_u64(&n, v) ? n : otherwise;
}

static bool are_right(const keys *k, const char *names, key_kind kind, bool are_whole,
                      tare_error *why) {
    char key[160];
    for (tare_str name; (name = tare_llama_next_word(&names)).len;) {
        const tare_value *v = value_of(key, sizeof key, k, name, are_whole);
        if (v && !is_right(v, kind, k)) return no(why, key, wanted[kind]);
    }
    return true;
}

bool tare_llama_reads_key(tare_str architecture, const char *name) {
    for (size_t i = 0; i < sizeof of_architecture / sizeof *of_architecture; i++)
        if (tare_llama_is_one_of(tare_str_of(name), of_architecture[i].keys) &&
            tare_llama_is_among(architecture, of_architecture[i].readers))
            return true;
    return false;
}

bool tare_llama_keys_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                          tare_error *why) {
    keys k = {gguf, architecture, blocks, 0};
    char key[160];
    const tare_value *nextn =
        value_of(key, sizeof key, &k, TARE_STR("nextn_predict_layers"), false);
    if (nextn && tare_value_u64(&k.nextn, nextn)) k.nextn = tare_min_u64(k.nextn, blocks);
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        if (!are_right(&k, of_all[i].keys, of_all[i].kind, true, why)) return false;
    for (size_t i = 0; i < sizeof of_architecture / sizeof *of_architecture; i++) {
        const char *readers = of_architecture[i].readers;
        if (!tare_llama_is_among(architecture, readers)) continue;
        if (!are_right(&k, of_architecture[i].keys, of_architecture[i].kind, false, why))
            return false;
    }
    return true;
}
