/* SPDX-License-Identifier: MIT
 *
 * Keys that llama.cpp's loader ends without, by architecture; those that sizes of tensors come from are
 * loader_numbers.c's. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

/* Names as in loader_keys.c, of which one is enough where '|' is between; architectures behind '!': all
 * but these. */
static const struct {
    const char *keys, *archs;
} required[] = {
    {"attention.layer_norm_rms_epsilon",
     "!arwkv7 bert bloom codeshell cohere2 cohere2moe command-r dbrx falcon gpt2 gptneox jais "
     "jais2 jina-bert-v2 jina-bert-v3 modern-bert mpt nemotron nemotron_h nemotron_h_moe "
     "nomic-bert nomic-bert-moe olmo orion phi2 pockettts qwen2vl rwkv6 rwkv6qwen2 rwkv7 stablelm "
     "starcoder starcoder2 wavtokenizer-dec"},
    {"expert_feed_forward_length",
     "afmoe bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek deepseek2 deepseek2-ocr "
     "deepseek32 deepseek4 dots1 dots3note ernie4_5-moe exaone-moe glm-dsa glm4moe "
     "glm5-next gpt-oss grovemoe hunyuan-moe hy_v3 hy_v4 kimi-k3 kimi-linear laguna lfm2moe llama4 "
     "maple mellum mimo2 minimax-m2 minimax-m3 mistral4 step35"},
    {"attention.layer_norm_epsilon",
     "bert bloom codeshell cohere2 command-r dbrx falcon gpt2 gptneox jais jais2 jina-bert-v2 "
     "jina-bert-v3 modern-bert mpt nemotron nemotron_h nemotron_h_moe nomic-bert nomic-bert-moe "
     "olmo orion phi2 pockettts stablelm starcoder starcoder2 wavtokenizer-dec"},
    {"expert_shared_count", "afmoe bailingmoe bailingmoe2 bailingmoe3 deepseek deepseek2 "
                            "deepseek2-ocr deepseek32 deepseek4 dots1 dots3note glm-dsa "
                            "glm4moe glm5-next hy_v4 kimi-k3 kimi-linear minimax-m3 mistral4"},
    {"ssm.conv_kernel",
     "bailingmoe3 falcon-h1 glm5-next granitehybrid jamba kimi-k3 kimi-linear mamba mamba2 "
     "nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe qwen3next qwen4exp"},
    {"attention.sliding_window",
     "afmoe cohere2 cohere2moe deepseek4 dots3note exaone-moe gemma-embedding gemma-embedding2 "
     "gemma3n gemma4 "
     "gemma4-assistant gpt-oss granite_swa maple mimo2 muse-glimmer spark2_5 step35"},
    {"ssm.inner_size ssm.state_size ssm.time_step_rank",
     "falcon-h1 granitehybrid jamba mamba mamba2 nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe "
     "qwen3next qwen4exp"},
    {"attention.kv_lora_rank", "bailingmoe3 deepseek2 deepseek32 dots3note glm-dsa glm5-next hy_v4 "
                               "kimi-k3 kimi-linear minicpm3 mistral4 plm"},
    {"ssm.group_count", "falcon-h1 granitehybrid mamba2 nemotron_h nemotron_h_moe plamo2 qwen35 "
                        "qwen35moe qwen3next qwen4exp"},
    {"attention.sliding_window_pattern",
     "dots3note gemma4 gemma4-assistant granite_swa maple mimo2 spark2_5 step35"},
    {"logit_scale",
     "cohere2 cohere2moe granite granite_swa granitemoe graniteswitch muse-glimmer talkie"},
    {"attention.q_lora_rank", "deepseek32 deepseek4 dots3note glm-dsa glm5-next hy_v4 minicpm3"},
    {"rope.dimension_sections",
     "paddleocr qwen2vl qwen35 qwen35moe qwen3tts qwen3vl qwen3vlmoe qwen4exp"},
    {"attention.indexer.head_count attention.indexer.key_length attention.indexer.top_k",
     "deepseek32 deepseek4 dots3note glm-dsa glm5-next minimax-m3 qwen4exp"},
    {"attention.key_length_mla attention.value_length_mla",
     "bailingmoe3 dots3note glm5-next hy_v4 kimi-k3 kimi-linear"},
    {"leading_dense_block_count", "bailingmoe3 cohere2moe dots3note laguna"},
    {"hyper_connection.count", "deepseek4 glm5-next hy_v4 qwen4exp"},
    {"hyper_connection.epsilon", "deepseek4 glm5-next hy_v4"},
    {"wkv.head_size", "arwkv7 rwkv6 rwkv6qwen2 rwkv7"},
    {"kda.head_dim", "bailingmoe3 glm5-next kimi-k3 kimi-linear"},
    {"interleave_moe_layer_step", "ernie4_5-moe llama4"},
    {"swiglu_clamp_exp", "deepseek4 maple"},
    {"hyper_connection.sinkhorn_iterations", "deepseek4 glm5-next"},
    {"attention.key_length_swa attention.value_length_swa", "gemma4 gemma4-assistant"},
    {"attention.output_group_count attention.output_lora_rank expert_weights_norm "
     "expert_weights_scale",
     "deepseek4"},
    {"target_layers", "dflash eagle3"},
    {"target_hidden_size", "eagle3"},
    {"feed_forward_length", "arctic dbrx granitemoe hunyuan-moe jamba llama phimoe"},
    {"attention.relative_buckets_count", "t5 t5encoder"},
    {"time_decay_extra_dim time_mix_extra_dim", "rwkv6 rwkv6qwen2"},
    {"attention.decay_lora_rank attention.iclr_lora_rank attention.value_residual_mix_lora_rank",
     "arwkv7 rwkv7"},
    {"shortconv.l_cache", "lfm2 lfm2moe"},
    {"embedding_length_per_layer_input", "gemma4 gemma-embedding2"},
    {"attention.clamp_kqv", "dbrx"},
    {"use_parallel_residual", "gptneox"},
    {"attention.indexer.types attention.key_length_mla_swa attention.kv_lora_rank_swa "
     "attention.value_length_mla_swa rope.freq_base_swa",
     "dots3note"},
    {"attention.compress_ratios attention.compress_rope_freq_base hash_layer_count", "deepseek4"},
    {"adapters.count adapters.lora_rank adapters.token_ids_activate adapters.token_ids_substitute",
     "graniteswitch"},
    {"attention.group_norm_epsilon attention.group_norm_groups", "wavtokenizer-dec"},
    {"kda.gate_lower_bound", "bailingmoe3"},
    {"hyper_connection.magnitude", "hy_v4"},
    {"expert_group_scale experts_per_group", "grovemoe"},
    {"=xielu.alpha_n =xielu.alpha_p =xielu.beta =xielu.eps", "apertus"},
    {"residual_scale", "minimax-01"},
    {"attention.indexer.block_size attention.indexer.local_blocks", "minimax-m3"},
    {"hrm.h_cycles hrm.l_cycles hrm.layers_per_stack", "hrm_text"},
    {"hyper_connection.low_rank", "qwen4exp"},
    {"activation.situ_beta activation.situ_linear_beta attn_res.block_size", "kimi-k3"},
    {"attention.indexer.kpool", "glm5-next"},
    {"attention.layer_norm_epsilon|attention.layer_norm_rms_epsilon", "cohere2moe"},
};

/* *key: the first of the names, whole. */
static bool has_key(const tare_model *gguf, tare_str architecture, tare_str names, char *key,
                    size_t size) {
    char other[160];
    const char *bar = memchr(names.ptr, '|', names.len);
    const tare_str name = {names.ptr, bar ? (size_t)(bar - names.ptr) : names.len};
    if (name.ptr[0] == '=')
        snprintf(key, size, "%.*s", (int)name.len - 1, name.ptr + 1);
    else
        snprintf(key, size, "%.*s.%.*s", (int)tare_min_u64(architecture.len, 64), architecture.ptr,
                 (int)name.len, name.ptr);
    if (tare_model_find_key(gguf, tare_str_of(key)) >= 0) return true;
    if (!bar) return false;
    const tare_str rest = {bar + 1, names.len - name.len - 1};
    return has_key(gguf, architecture, rest, other, sizeof other);
}

static bool no(tare_error *why, const char *key) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, "it is missing");
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    return false;
}

/* Whether it has layers that predict more tokens. */
static bool predicts_more(const tare_model *gguf) {
    const tare_str end = TARE_STR(".nextn.eh_proj.weight");
    for (size_t i = 0; i < gguf->catalog.n_tensors; i++)
        if (tare_str_ends(gguf->catalog.tensors[i].name, end)) return true;
    return false;
}

bool tare_llama_has_keys(const tare_model *gguf, tare_str architecture, tare_error *why) {
    char key[160];
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        const char *archs = required[i].archs, *names = required[i].keys;
        const bool is_but = archs[0] == '!';
        if (tare_llama_is_one_of(architecture, archs + is_but) == is_but) continue;
        for (tare_str name; (name = tare_llama_next_word(&names)).len;)
            if (!has_key(gguf, architecture, name, key, sizeof key)) return no(why, key);
    }
    snprintf(key, sizeof key, "%.*s.nextn_predict_layers", (int)tare_min_u64(architecture.len, 64),
             architecture.ptr);
    if (tare_model_find_key(gguf, tare_str_of(key)) < 0 && predicts_more(gguf)) return no(why, key);
    return true;
}
