/* SPDX-License-Identifier: MIT
 *
 * Sizes that the loader alone checks, by the keys: of recurrent blocks, of latent attention, of what
 * chooses the tokens that are looked at, of what predicts more tokens, of embeddings of layers. */
#include <stddef.h>

#include "llama/size_rules.h"

enum { COLS = 0, ROWS = 1, STACK = 2 }; /* dimensions, fastest first */

#define B(x)    "blk.#." x ".weight "
#define BIAS(x) "blk.#." x ".bias "
#define BARE(x) "blk.#." x " "
#define WIDTH   "embedding_length"

#define RWKV   "rwkv6 rwkv6qwen2 rwkv7 arwkv7"
#define RWKV_6 "rwkv6 rwkv6qwen2"
#define RWKV_7 "rwkv7 arwkv7"
#define MAMBA  "jamba mamba"
#define DELTA  "qwen35 qwen35moe qwen3next qwen4exp" /* linear attention of Qwen */

#define INNER  "ssm.inner_size"
#define STATE  "ssm.state_size"
#define RANK   "ssm.time_step_rank"
#define GROUPS "ssm.group_count"
#define KERNEL "ssm.conv_kernel"
/* Queries and keys, and values, of linear attention. */
#define MIXED        "2*" STATE "*" GROUPS " " STATE "*" RANK
#define CHOOSING     "deepseek32 deepseek4 dots3note glm-dsa glm5-next hy_v4"
#define PROJECTING   "minimax-m3 qwen4exp"
#define BESIDE       "hyper_connection.count"
#define MIXING       "deepseek4 glm5-next"
#define LAYERED      "gemma3n gemma4 gemma-embedding2"
#define LAYER_WIDTH  "embedding_length_per_layer_input"
#define LATENT       "attention.kv_lora_rank"
#define HEADS        "attention.head_count"
#define KEYS         "attention.key_length_mla"
#define VALUES       "attention.value_length_mla"
#define CHUNK        "expert_chunk_feed_forward_length"
#define TURNED       "bailingmoe gpt-oss"
#define LINEAR       "attention.head_count*kda.head_dim"
#define LATENT_MAMBA "nemotron_h nemotron_h_moe"
#define SWITCHED(half)                                                                             \
    BARE("attn_q." half)                                                                           \
    BARE("attn_k." half)                                                                           \
    BARE("attn_v." half)                                                                           \
    BARE("attn_output." half) BARE("ffn_gate." half) BARE("ffn_up." half) BARE("ffn_down." half)
#define OF_HEADS HEADS "*attention.key_length"
#define ENCODING "t5 t5encoder"

const tare_llama_loader_size tare_llama_loader_sizes[] = {
    /* RWKV */
    {WIDTH,
     B("time_mix_lerp_x") B("time_mix_lerp_fused") B("time_mix_w1") B("time_mix_w0")
         B("time_mix_a0") B("time_mix_a1") B("time_mix_v0") B("time_mix_v1") B("time_mix_g1")
             B("time_mix_decay_w1") B("time_mix_decay") B("time_mix_k_k") B("time_mix_k_a")
                 B("time_mix_r_k") B("time_mix_ln") B("time_mix_gate") B("time_mix_output")
                     B("channel_mix_lerp_k") B("channel_mix_lerp_r") B("channel_mix_key")
                         B("channel_mix_receptance"),
     COLS, RWKV, NULL},
    {WIDTH,
     B("time_mix_gate") B("time_mix_receptance") B("time_mix_decay_w2") B("time_mix_w2")
         B("time_mix_a2") B("time_mix_v2") B("time_mix_g2") B("channel_mix_receptance")
             B("channel_mix_value"),
     ROWS, RWKV, NULL},
    {WIDTH, B("time_mix_key") B("time_mix_value"), ROWS, "rwkv6 " RWKV_7, NULL},
    {"attention.head_count_kv*wkv.head_size", B("time_mix_key") B("time_mix_value"), ROWS,
     "rwkv6qwen2", NULL},
    {"feed_forward_length", B("channel_mix_key"), ROWS, RWKV, NULL},
    {"feed_forward_length", B("channel_mix_value"), COLS, RWKV, NULL},
    {"wkv.head_size", B("time_mix_first"), COLS, RWKV_6, NULL},
    {WIDTH "/wkv.head_size", B("time_mix_first"), ROWS, RWKV_6, NULL},
    {"time_decay_extra_dim", B("time_mix_decay_w1"), ROWS, RWKV_6, NULL},
    {"time_decay_extra_dim", B("time_mix_decay_w2"), COLS, RWKV_6, NULL},
    {"5*time_mix_extra_dim", B("time_mix_w1"), ROWS, RWKV_6, NULL},
    {"time_mix_extra_dim", B("time_mix_w2"), COLS, RWKV_6, NULL},
    {"5", B("time_mix_w2"), STACK, RWKV_6, NULL},
    {"1", B("time_mix_lerp_fused"), ROWS, RWKV, NULL},
    {"attention.decay_lora_rank", B("time_mix_w1"), ROWS, RWKV_7, NULL},
    {"attention.decay_lora_rank", B("time_mix_w2"), COLS, RWKV_7, NULL},
    {"attention.iclr_lora_rank", B("time_mix_a1"), ROWS, RWKV_7, NULL},
    {"attention.iclr_lora_rank", B("time_mix_a2"), COLS, RWKV_7, NULL},
    {"attention.value_residual_mix_lora_rank", B("time_mix_v1"), ROWS, RWKV_7, NULL},
    {"attention.value_residual_mix_lora_rank", B("time_mix_v2"), COLS, RWKV_7, NULL},
    {"attention.gate_lora_rank", B("time_mix_g1"), ROWS, RWKV_7, NULL},
    {"attention.gate_lora_rank", B("time_mix_g2"), COLS, RWKV_7, NULL},
    /* state spaces */
    {KERNEL, B("ssm_conv1d"), COLS, MAMBA " " TARE_LLAMA_MAMBA_2 " " DELTA " plamo2", NULL},
    {INNER, B("ssm_out"), COLS, MAMBA " " TARE_LLAMA_MAMBA_2 " plamo2", NULL},
    {INNER, B("ssm_conv1d"), ROWS, MAMBA " plamo2", NULL},
    {"2*" INNER, B("ssm_in"), ROWS, MAMBA " plamo2", NULL},
    {INNER, B("ssm_x") BARE("ssm_d"), COLS, MAMBA, NULL},
    {RANK " 2*" STATE, B("ssm_x"), ROWS, MAMBA, NULL},
    {RANK, B("ssm_dt") B("ssm_dt_norm"), COLS, MAMBA, NULL},
    {INNER, B("ssm_dt") BARE("ssm_a"), ROWS, MAMBA, NULL},
    {STATE, BARE("ssm_a") B("ssm_b_norm") B("ssm_c_norm"), COLS, MAMBA, NULL},
    {INNER, B("ssm_x"), COLS, "plamo2", NULL},
    {RANK, BARE("ssm_a") BARE("ssm_d") BIAS("ssm_dt"), COLS, "plamo2", NULL},
    {RANK, B("ssm_dt"), ROWS, "plamo2", NULL},
    {STATE, BARE("ssm_b_norm") BARE("ssm_c_norm"), COLS, "plamo2", NULL},
    {"8*8 | " WIDTH "/8/2", B("ssm_dt") BARE("ssm_dt_norm"), COLS, "plamo2", NULL},
    {"8*8 2*" STATE " | " WIDTH "/8/2 2*" STATE, B("ssm_x"), ROWS, "plamo2", NULL},
    {"attention.key_length", B("attn_q_norm") B("attn_k_norm"), COLS, "plamo2", NULL},
    {"2*" INNER " 2*" GROUPS "*" STATE " " RANK, B("ssm_in"), ROWS, TARE_LLAMA_MAMBA_2, NULL},
    {INNER " 2*" GROUPS "*" STATE, B("ssm_conv1d"), ROWS, TARE_LLAMA_MAMBA_2, NULL},
    {RANK, BARE("ssm_a") BARE("ssm_d"), ROWS, TARE_LLAMA_MAMBA_2, NULL},
    {"1", BARE("ssm_a") BARE("ssm_d"), COLS, TARE_LLAMA_MAMBA_2 " bailingmoe3 kimi-linear", NULL},
    {RANK, BIAS("ssm_dt"), COLS, TARE_LLAMA_MAMBA_2 " " DELTA, NULL},
    {INNER "/" GROUPS, B("ssm_norm"), COLS, TARE_LLAMA_MAMBA_2, NULL},
    {GROUPS, B("ssm_norm"), ROWS, TARE_LLAMA_MAMBA_2, NULL},
    /* linear attention */
    {MIXED, B("ssm_conv1d"), ROWS, DELTA, NULL},
    {MIXED, B("attn_qkv"), ROWS, DELTA, "ssm_conv1d"},
    {STATE "*" RANK, B("attn_gate"), ROWS, DELTA, "ssm_conv1d"},
    {STATE "*" RANK, B("ssm_out"), COLS, DELTA, NULL},
    {WIDTH, B("attn_gate") B("ssm_ba") B("ssm_alpha") B("ssm_beta"), COLS, DELTA " " TARE_LLAMA_KDA,
     NULL},
    {RANK, BARE("ssm_a"), COLS, DELTA, NULL},
    {"2*" RANK, B("ssm_ba"), ROWS, DELTA, NULL},
    {RANK, B("ssm_alpha") B("ssm_beta"), ROWS, DELTA, NULL},
    {STATE, B("ssm_norm"), COLS, DELTA, NULL},
    {KERNEL, B("ssm_conv1d_q") B("ssm_conv1d_k") B("ssm_conv1d_v"), COLS, TARE_LLAMA_KDA, NULL},
    {LINEAR, B("ssm_conv1d_q") B("ssm_conv1d_k") B("ssm_conv1d_v"), STACK, TARE_LLAMA_KDA, NULL},
    {"1", B("ssm_conv1d_q") B("ssm_conv1d_k") B("ssm_conv1d_v"), ROWS, TARE_LLAMA_KDA, NULL},
    {LINEAR, B("attn_q") B("attn_k") B("attn_v") B("ssm_f_b") B("ssm_g_b"), ROWS, TARE_LLAMA_KDA,
     "ssm_f_a"},
    {LINEAR, B("attn_output") BIAS("ssm_dt"), COLS, TARE_LLAMA_KDA, "ssm_f_a"},
    {WIDTH, B("ssm_f_a") B("ssm_g_a"), COLS, TARE_LLAMA_KDA, NULL},
    {"kda.head_dim", B("ssm_f_a") B("ssm_g_a"), ROWS, "kimi-k3 " TARE_LLAMA_KDA_TWO, NULL},
    {LINEAR, B("ssm_g"), ROWS, "kimi-k3", NULL},
    {WIDTH, B("ssm_g"), COLS, "kimi-k3", NULL},
    {LINEAR, B("ssm_f_a") B("ssm_g_a"), ROWS, "bailingmoe3", NULL},
    {"kda.head_dim", B("ssm_f_b") B("ssm_g_b") B("ssm_norm"), COLS, TARE_LLAMA_KDA, NULL},
    {HEADS, B("ssm_beta"), ROWS, TARE_LLAMA_KDA, NULL},
    {HEADS, BARE("ssm_a"), ROWS, "bailingmoe3 kimi-linear", NULL},
    {HEADS, BARE("ssm_a"), COLS, "glm5-next kimi-k3", NULL},
    {"2*attention.head_count*attention.key_length", B("attn_q"), ROWS, DELTA, NULL},
    /* latent attention */
    {LATENT " rope.dimension_count", B("attn_kv_a_mqa"), ROWS, NULL, NULL},
    {HEADS "*" VALUES, B("attn_output"), COLS, TARE_LLAMA_KDA, "attn_kv_a_mqa"},
    {LATENT, B("attn_kv_b"), COLS, NULL, NULL},
    {HEADS "*" KEYS " -" HEADS "*rope.dimension_count " HEADS "*" VALUES, B("attn_kv_b"), ROWS,
     NULL, NULL},
    {KEYS " -rope.dimension_count", B("attn_k_b"), COLS, NULL, NULL},
    {LATENT, B("attn_k_b"), ROWS, NULL, NULL},
    {LATENT, B("attn_v_b"), COLS, NULL, NULL},
    {VALUES, B("attn_v_b"), ROWS, NULL, NULL},
    {HEADS, B("attn_k_b") B("attn_v_b"), STACK, NULL, NULL},
    {HEADS "*" KEYS, B("attn_q"), ROWS, NULL, "attn_kv_a_mqa"},
    {HEADS "*attention.value_length", B("attn_output"), COLS, "minicpm3", NULL},
    /* gates and what they are for in one */
    {"2*feed_forward_length", B("ffn_up"), ROWS,
     "chatglm glm4 modern-bert neo-bert phi3 plamo2 plamo3", NULL},
    {"feed_forward_length | 2*feed_forward_length", B("ffn_up"), ROWS, "jina-bert-v2", NULL},
    {"feed_forward_length", B("ffn_up"), ROWS, "granite_swa", NULL},
    {"2*feed_forward_length", B("ffn_gate_up_exps"), ROWS, "granite_swa", NULL},
    {"2*expert_shared_feed_forward_length", B("ffn_up_shexp"), ROWS, "granite_swa", NULL},
    {"attention.key_length", B("attn_q_norm") B("attn_k_norm"), COLS,
     "bailingmoe2 openelm plamo3 stablelm", NULL},
    {"feed_forward_length", B("ffn_sub_norm"), COLS, "bitnet", NULL},
    {WIDTH, B("attn_sub_norm"), COLS, "bitnet", NULL},
    /* heads that turn as a whole, and are as wide as what turns */
    {HEADS "*rope.dimension_count", B("attn_q"), ROWS, TURNED, NULL},
    {HEADS "_kv*rope.dimension_count", B("attn_k") B("attn_v"), ROWS, TURNED, NULL},
    {HEADS "*rope.dimension_count", B("attn_output"), COLS, TURNED, NULL},
    {"3*" WIDTH, B("attn_qkv"), ROWS, "modern-bert qwen", NULL},
    /* CogVLM's second set */
    {WIDTH, B("vis_attn_qkv") B("vis_gate") B("vis_up"), COLS, "cogvlm", NULL},
    {"3*" OF_HEADS, B("attn_qkv") B("vis_attn_qkv"), ROWS, "cogvlm", NULL},
    {OF_HEADS, B("vis_attn_output"), COLS, "cogvlm", NULL},
    {WIDTH, B("vis_attn_output") B("vis_down"), ROWS, "cogvlm", NULL},
    {"feed_forward_length", B("vis_gate") B("vis_up"), ROWS, "cogvlm", NULL},
    {"feed_forward_length", B("vis_down"), COLS, "cogvlm", NULL},
    {HEADS, B("attn_q_norm"), ROWS, "plamo2 stablelm talkie", NULL},
    {HEADS "_kv", B("attn_k_norm"), ROWS, "plamo2 stablelm", NULL},
    {"1", B("attn_q_norm") B("layer_output_scale") "blk.#.attn_output.scale blk.#.ffn_down.scale ",
     COLS, "talkie", NULL},
    /* of encoders */
    {HEADS, B("attn_rel_b"), COLS, ENCODING, NULL},
    {"attention.relative_buckets_count", B("attn_rel_b"), ROWS, ENCODING, NULL},
    {OF_HEADS, B("cross_attn_q") B("cross_attn_k"), ROWS, ENCODING, NULL},
    {HEADS "*attention.value_length", B("cross_attn_v"), ROWS, ENCODING, NULL},
    {HEADS "*attention.value_length", B("attn_o") B("cross_attn_o"), COLS, ENCODING, NULL},
    {WIDTH, B("attn_o") B("cross_attn_o"), ROWS, ENCODING, NULL},
    {WIDTH, B("cross_attn_q") B("cross_attn_k") B("cross_attn_v") B("cross_attn_norm"), COLS,
     ENCODING, NULL},
    {WIDTH, "cls.weight cls.output.weight", COLS, NULL, NULL},
    {WIDTH, "enc.output_norm.weight dec.output_norm.weight ", COLS, "neo-bert " ENCODING, NULL},
    {WIDTH, "hrm.z_l_init", COLS, "hrm_text", NULL},
    {"=tokenizer.ggml.token_type_count", "token_types.weight", ROWS, NULL, NULL},
    /* what predicts more tokens */
    {"2*" WIDTH, B("nextn.eh_proj"), COLS, NULL, NULL},
    {WIDTH, B("nextn.eh_proj"), ROWS, NULL, NULL},
    {WIDTH, B("nextn.embed_tokens") B("nextn.shared_head_head"), COLS, NULL, NULL},
    /* smaller experts beside others */
    {WIDTH, B("ffn_up_chexps") B("ffn_gate_chexps"), COLS, NULL, NULL},
    {WIDTH, B("ffn_down_chexps"), ROWS, NULL, NULL},
    {CHUNK, B("ffn_up_chexps") B("ffn_gate_chexps"), ROWS, NULL, NULL},
    {CHUNK, B("ffn_down_chexps"), COLS, NULL, NULL},
    {"expert_count/experts_per_group", B("ffn_up_chexps") B("ffn_gate_chexps") B("ffn_down_chexps"),
     STACK, NULL, NULL},
    /* several shared experts side by side, each as wide as a key says */
    {"expert_shared_feed_forward_length*expert_shared_count", B("ffn_gate_shexp") B("ffn_up_shexp"),
     ROWS, "bailingmoe2", NULL},
    {"expert_shared_feed_forward_length*expert_shared_count", B("ffn_down_shexp"), COLS,
     "bailingmoe2", NULL},
    /* gates, and norms of experts */
    {WIDTH,
     B("ffn_gate_inp_shexp") B("pre_ffw_norm_2") B("post_ffw_norm_1") B("post_ffw_norm_2") BARE(
         "ffn_norm") BARE("post_attention_norm") BARE("post_ffw_norm") "blk.#.ffn_gate_inp.scale ",
     COLS, NULL, NULL},
    {"2*expert_feed_forward_length", B("ffn_gate_up_exps"), ROWS, NULL, NULL},
    {"expert_count", B("ffn_gate_up_exps"), STACK, NULL, NULL},
    {"expert_count", BARE("exp_probs_b"), COLS, NULL, NULL},
    {"expert_count",
     "blk.#.ffn_down_exps.scale blk.#.ffn_gate_exps.scale blk.#.ffn_up_exps.scale "
     "blk.#.ffn_down_exps.input_scale blk.#.ffn_gate_exps.input_scale "
     "blk.#.ffn_up_exps.input_scale",
     COLS, NULL, NULL},
    {WIDTH, B("attn_gate"), COLS,
     "afmoe bailingmoe3 dots3note hrm_text hy_v4 kimi-k3 laguna minimax-01 muse-glimmer spark2_5 "
     "step35",
     NULL},
    {HEADS "*" VALUES, B("attn_gate"), ROWS, "hy_v4 kimi-k3", NULL},
    {HEADS, B("attn_gate"), ROWS, "bailingmoe3 dots3note spark2_5 step35", NULL},
    {"rope.dimension_count", B("attn_k_norm"), COLS, "dots3note", NULL},
    {OF_HEADS, B("attn_gate"), ROWS, "afmoe hrm_text muse-glimmer", NULL},
    {HEADS " | " OF_HEADS, B("attn_gate"), ROWS, "laguna", NULL},
    /* embeddings of layers */
    {WIDTH, B("inp_gate") B("post_norm") "per_layer_model_proj.weight ", COLS, LAYERED, NULL},
    {WIDTH, B("proj"), ROWS, LAYERED, NULL},
    {LAYER_WIDTH, B("inp_gate"), ROWS, LAYERED, NULL},
    {LAYER_WIDTH, B("proj") "per_layer_proj_norm.weight ", COLS, LAYERED, NULL},
    {LAYER_WIDTH "*block_count", "per_layer_token_embd.weight", COLS, LAYERED, NULL},
    {LAYER_WIDTH "*block_count", "per_layer_model_proj.weight", ROWS, LAYERED, NULL},
    /* what chooses the tokens that are looked at */
    {WIDTH, B("indexer.attn_k") B("indexer.proj"), COLS, CHOOSING, NULL},
    {"attention.indexer.head_count", B("indexer.proj"), ROWS, CHOOSING, NULL},
    {"attention.q_lora_rank", B("indexer.attn_q_b"), COLS, CHOOSING, NULL},
    {WIDTH, B("indexer.k_proj") B("indexer.q_proj"), COLS, PROJECTING, NULL},
    {"attention.indexer.key_length", B("indexer.attn_k") B("indexer.k_proj"), ROWS,
     CHOOSING " " PROJECTING, NULL},
    {"attention.indexer.key_length", B("indexer.k_norm") B("indexer.q_norm"), COLS,
     CHOOSING " " PROJECTING, NULL},
    {"attention.indexer.head_count*attention.indexer.key_length",
     B("indexer.attn_q_b") B("indexer.q_proj"), ROWS, CHOOSING " " PROJECTING, NULL},
    {WIDTH, B("indexer_compressor_gate"), COLS, "deepseek4 glm5-next", NULL},
    {"attention.indexer.key_length", B("indexer_compressor_gate"), ROWS, "glm5-next", NULL},
    {"attention.indexer.key_length", B("indexer_compressor_ape"), COLS, "glm5-next", NULL},
    {"attention.indexer.kpool", B("indexer_compressor_ape"), ROWS, "glm5-next", NULL},
    /* experts of fewer numbers */
    {"expert_latent_length", B("ffn_gate_exps") B("ffn_up_exps"), COLS, "kimi-k3", NULL},
    {"expert_latent_length", B("ffn_down_exps") B("ffn_routed_down"), ROWS, "kimi-k3", NULL},
    {"expert_latent_length", B("ffn_routed_up") B("ffn_routed_norm"), COLS, "kimi-k3", NULL},
    {WIDTH, B("ffn_routed_down"), COLS, "kimi-k3", NULL},
    {WIDTH, B("ffn_routed_up"), ROWS, "kimi-k3", NULL},
    {"moe_latent_size", B("ffn_up_exps") B("ffn_latent_up"), COLS, LATENT_MAMBA, NULL},
    {"moe_latent_size", B("ffn_down_exps") B("ffn_latent_down"), ROWS, LATENT_MAMBA, NULL},
    {WIDTH, B("ffn_latent_down"), COLS, LATENT_MAMBA, NULL},
    {WIDTH, B("ffn_latent_up"), ROWS, LATENT_MAMBA, NULL},
    /* residuals of several layers */
    {WIDTH, B("attn_res_score") B("ffn_res_score") "output_res_score.weight ", COLS, "kimi-k3",
     NULL},
    /* one head of keys, which are the values, too, and tokens that are compressed */
    {WIDTH,
     B("attn_kv") B("attn_compressor_kv") B("attn_compressor_gate") B("indexer_compressor_kv"),
     COLS, "deepseek4", NULL},
    {"attention.key_length", B("attn_kv"), ROWS, "deepseek4", NULL},
    {"attention.key_length", B("attn_kv_a_norm") B("attn_compressor_norm"), COLS, "deepseek4",
     NULL},
    {"2*attention.indexer.key_length", B("indexer_compressor_kv") B("indexer_compressor_gate"),
     ROWS, "deepseek4", NULL},
    {"2*attention.indexer.key_length", B("indexer_compressor_ape"), COLS, "deepseek4", NULL},
    {"4", B("indexer_compressor_ape"), ROWS, "deepseek4", NULL},
    {"attention.indexer.key_length", B("indexer_compressor_norm"), COLS, "deepseek4", NULL},
    {OF_HEADS, B("attn_q_b"), ROWS, "deepseek4", NULL},
    {HEADS "*attention.key_length/attention.output_group_count", B("attn_output_a"), COLS,
     "deepseek4", NULL},
    {"attention.output_lora_rank*attention.output_group_count", B("attn_output_a"), ROWS,
     "deepseek4", NULL},
    {"attention.output_lora_rank*attention.output_group_count", B("attn_output_b"), COLS,
     "deepseek4", NULL},
    {WIDTH, B("attn_output_b"), ROWS, "deepseek4", NULL},
    {"expert_used_count", B("ffn_gate_tid2eid"), COLS, "deepseek4", NULL},
    /* lightning attention */
    {"3*" OF_HEADS, B("attn_qkv"), ROWS, "minimax-01", "attn_norm_2"},
    {OF_HEADS, B("attn_gate"), ROWS, "minimax-01", NULL},
    {OF_HEADS, B("attn_norm_2"), COLS, "minimax-01", NULL},
    /* residuals side by side */
    {BESIDE "*" WIDTH, B("hc_attn_fn") B("hc_ffn_fn"), COLS, MIXING, NULL},
    {"2*" BESIDE " " BESIDE "*" BESIDE, B("hc_attn_fn") B("hc_ffn_fn"), ROWS, MIXING, NULL},
    {"2*" BESIDE " " BESIDE "*" BESIDE, B("hc_attn_base") B("hc_ffn_base"), COLS, MIXING, NULL},
    {"3", B("hc_attn_scale") B("hc_ffn_scale"), COLS, MIXING, NULL},
    {BESIDE "*" WIDTH,
     B("hc_attn_inject") B("hc_attn_norm") B("hc_attn_down") B("hc_ffn_inject") B("hc_ffn_norm")
         B("hc_ffn_down") "output_hc_norm.weight output_hc_down.weight ",
     COLS, "qwen4exp", NULL},
    {BESIDE "*" WIDTH, B("hc_attn_up") B("hc_ffn_up") "output_hc_up.weight ", ROWS, "qwen4exp",
     NULL},
    {BESIDE, B("hc_attn_inject") B("hc_ffn_inject"), ROWS, "qwen4exp", NULL},
    {"hyper_connection.low_rank", B("hc_attn_down") B("hc_ffn_down") "output_hc_down.weight ", ROWS,
     "qwen4exp", NULL},
    {"hyper_connection.low_rank", B("hc_attn_up") B("hc_ffn_up") "output_hc_up.weight ", COLS,
     "qwen4exp", NULL},
    /* embeddings of n-grams, of which a layer makes keys and values for each residual */
    {LAYER_WIDTH, "per_layer_token_embd.weight", COLS, "qwen4exp", NULL},
    {WIDTH, B("ple_key") B("ple_value"), COLS, "qwen4exp", NULL},
    {BESIDE "*" WIDTH, B("ple_key") B("ple_conv1d"), ROWS, "qwen4exp", NULL},
    {WIDTH, B("ple_value"), ROWS, "qwen4exp", NULL},
    {BESIDE "*" WIDTH, B("ple_norm_key") B("ple_norm_query") B("ple_norm_conv"), COLS, "qwen4exp",
     NULL},
    {"ple.conv_kernel", B("ple_conv1d"), COLS, "qwen4exp", NULL},
    {BESIDE "*" WIDTH, B("hc_attn_fn") B("hc_ffn_fn"), COLS, "hy_v4", NULL},
    {BESIDE "*" WIDTH, "output_hc_fn.weight", COLS, "deepseek4 hy_v4", NULL},
    {"2*" BESIDE, B("hc_attn_fn") B("hc_ffn_fn"), ROWS, "hy_v4", NULL},
    {"2*" BESIDE, B("hc_attn_base") B("hc_ffn_base"), COLS, "hy_v4", NULL},
    {BESIDE, "output_hc_fn.weight", ROWS, "deepseek4 hy_v4", NULL},
    {BESIDE, "output_hc_base.weight", COLS, "deepseek4 hy_v4", NULL},
    {"1", "output_hc_scale.weight", COLS, "deepseek4 hy_v4", NULL},
    {"2", B("hc_attn_scale") B("hc_ffn_scale"), COLS, "hy_v4", NULL},
    /* a bias for each expert */
    {"expert_count", BIAS("ffn_gate_exps") BIAS("ffn_up_exps") BIAS("ffn_down_exps"), ROWS,
     "gpt-oss", NULL},
    {"expert_feed_forward_length", BIAS("ffn_gate_exps") BIAS("ffn_up_exps"), COLS, "gpt-oss",
     NULL},
    {WIDTH, BIAS("ffn_down_exps"), COLS, "gpt-oss", NULL},
    /* vectors of another width */
    {"embedding_length_out", "output.weight ", ROWS, "gemma-embedding2", NULL},
    {"embedding_length_out", "dense_2.weight ", ROWS, "lfm2", NULL},
    {WIDTH, "dense_2.weight ", COLS, "lfm2", NULL},
    {"embedding_length_out", "dense_2.bias ", COLS, "lfm2", NULL},
    /* adapters in the model, and none in front of them */
    {"adapters.count 1", SWITCHED("lora_a") SWITCHED("lora_b"), STACK, "graniteswitch", NULL},
    {"adapters.lora_rank", SWITCHED("lora_a"), ROWS, "graniteswitch", NULL},
    {"adapters.lora_rank", SWITCHED("lora_b"), COLS, "graniteswitch", NULL},
    {WIDTH,
     BARE("attn_q.lora_a") BARE("attn_k.lora_a") BARE("attn_v.lora_a") BARE("ffn_gate.lora_a")
         BARE("ffn_up.lora_a"),
     COLS, "graniteswitch", NULL},
    {WIDTH, BARE("attn_output.lora_b") BARE("ffn_down.lora_b"), ROWS, "graniteswitch", NULL},
    {OF_HEADS, BARE("attn_q.lora_b"), ROWS, "graniteswitch", NULL},
    {OF_HEADS, BARE("attn_output.lora_a"), COLS, "graniteswitch", NULL},
    {"attention.head_count_kv*attention.key_length", BARE("attn_k.lora_b") BARE("attn_v.lora_b"),
     ROWS, "graniteswitch", NULL},
    {"feed_forward_length", BARE("ffn_gate.lora_b") BARE("ffn_up.lora_b"), ROWS, "graniteswitch",
     NULL},
    {"feed_forward_length", BARE("ffn_down.lora_a"), COLS, "graniteswitch", NULL},
    /* convolutions of LFM 2 */
    {"shortconv.l_cache", B("shortconv.conv"), COLS, NULL, NULL},
    {WIDTH, B("shortconv.conv"), ROWS, NULL, NULL},
    {WIDTH, B("shortconv.in_proj") B("shortconv.out_proj"), COLS, NULL, NULL},
    {"3*" WIDTH, B("shortconv.in_proj"), ROWS, NULL, NULL},
    {WIDTH, B("shortconv.out_proj"), ROWS, NULL, NULL},
    {.sum = NULL},
};
