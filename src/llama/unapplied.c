/* SPDX-License-Identifier: MIT
 *
 * What config.json asks for and llama.cpp does not compute: it has it in other architectures only, or in
 * one way whatever the file says. The model is written all the same, and that is said. */
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/mapping.h"
#include "quantized/quantized.h"

#define ACTIVATION                                                                                 \
    "word(mlp_hidden_act | hidden_activation | hidden_act | activation_function | activation, "    \
    "'" TARE_LLAMA_ACTIVATIONS "')"
#define OTHER_THAN(words)                                                                          \
    "if(has(" ACTIVATION "), if(one_of(" ACTIVATION ", '" words "'), false, true))"
#define OWN           TARE_TEXT_OF(TARE_LLAMA_OWN_KV_LAYERS) /* of Gemma 3n */
#define T5_ACTIVATION "word(dense_act_fn, '" TARE_LLAMA_ACTIVATIONS "')"
#define TOPK_METHOD   "word(topk_method, 'greedy group_limited_greedy noaux_tc')"
#define GELU_ARCHS                                                                                 \
    "bert bloom codeshell falcon gemma gemma2 gemma3 gemma-embedding gemma-embedding2 gemma3n "    \
    "gemma4 "                                                                                      \
    "gemma4-assistant gpt2 gptneox grok jina-bert-v2 jina-bert-v3 mpt phi2 starcoder "             \
    "spark2_5 starcoder2"
#define SQUARED_ARCHS "arcee jais2 nemotron nemotron_h nemotron_h_moe plm"
/* Whose activation no member of these names says, or whose keys say it. */
#define OTHER_ARCHS                                                                                \
    "apertus dbrx jais kimi-k3 lfm2 lfm2moe llada llada-moe minimax-m3 modern-bert neo-bert "      \
    "nomic-bert nomic-bert-moe gpt-oss openelm rwkv6 rwkv6qwen2 rwkv7 arwkv7 smallthinker t5 "     \
    "t5encoder talkie wavtokenizer-dec qwen refact"

/* Where llama.cpp has windows of attention, by layer or in all; what others call so is refused. */
#define WINDOW_ARCHS                                                                               \
    "afmoe cohere2 cohere2moe exaone-moe gemma-embedding gemma-embedding2 gemma2 gemma3 gemma3n "  \
    "gemma4 "                                                                                      \
    "dflash gemma4-assistant gpt-oss granite_swa laguna llama4 maple mellum mimo2 modern-bert "    \
    "muse-glimmer olmo2 plamo3 smallthinker spark2_5 step35 deepseek2-ocr deepseek4 dots3note "    \
    "lfm2 "                                                                                        \
    "lfm2moe exaone4"
/* Whether all layers have a window, where there is no list of layers: Qwen's only if told so. */
#define WINDOW_IN_ALL                                                                              \
    "if(has(layer_types), false, if(one_of(model_type, 'qwen2 qwen2_moe qwen3 qwen3_moe "          \
    "qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_vl qwen2_5_vl dots1 seed_oss'), "       \
    "use_sliding_window | false, use_sliding_window | true))"
/* Whether it is a number of tokens: 0 and false are no window. */
#define IS_WINDOW "if(sliding_window == false, false, sliding_window > 0)"
#define NORMALIZES                                                                                 \
    "ernie4_5-moe grovemoe kimi-linear lfm2moe maple mellum mimo2 minimax-m2 qwen35moe qwen3moe "  \
    "qwen3next qwen3vlmoe qwen4exp rnd1"
#define DOES_NOT_NORMALIZE "deepseek jamba llada-moe olmoe qwen2moe"
/* The largest model scales by the width of a head without padding. */
#define SCALES_OTHERWISE(layers)                                                                   \
    "if(has(query_pre_attn_scalar), if(query_pre_attn_scalar == if(num_hidden_layers == " layers   \
    ", floor(hidden_size / num_attention_heads), attention.dim), false, true))"
#define LLAMA4_LAYERS "'chunked_attention full_attention'"
#define MAMBA2_ARCHS  "falcon-h1 granitehybrid mamba2"
#define OTHER_RESULTS ", so results differ"
/* Interleaved sections: of three frequencies each has one, until it has as many as it says. */
#define SECTION(i) "at(rope.mrope_section, " i ")"
#define FIRST_UNTURNED                                                                             \
    "min(3 * " SECTION("0") ", min(3 * " SECTION("1") " + 1, 3 * " SECTION("2") " + 2))"
#define TURNED_PAIRS "(attention.dim * (rope.partial | 1) / 2)"

/* A formula that holds where llama.cpp computes something else, for each `layer` where it names one;
 * unless the architecture has this key, or tensor. */
static const struct {
    const char *archs; /* those it is about; behind '!': all but these; NULL: all */
    const char *when, *key, *tensor;
    const char *text;
} wishes[] = {
    {NULL, "if(rope.type == 'linear', has(rope.factor))", "rope.scaling.type", NULL,
     "rope_type linear: llama.cpp does not scale positions in this architecture, the model is "
     "written without it"},
    {NULL, "if(rope.type == 'yarn', has(rope.factor))", "rope.scaling.type", NULL,
     "rope_type yarn: llama.cpp does not scale positions in this architecture, the model is "
     "written without it"},
    {NULL, "rope.type == 'longrope'", NULL, "rope_factors_long.weight",
     "rope_type longrope: llama.cpp has no such factors in this architecture, the model is written "
     "without it"},
    {NULL, "rope.type == 'llama3'", NULL, "rope_freqs.weight",
     "rope_type llama3: llama.cpp has no such factors in this architecture, the model is written "
     "without it"},
    {NULL, "rope.type == 'proportional'", NULL, "rope_freqs.weight",
     "rope_type proportional: llama.cpp has no such factors in this architecture, the model is "
     "written without it"},
    {"!hunyuan-dense hunyuan-moe hunyuan_vl", "if(rope.type == 'dynamic', (rope.factor | 1) > 1)",
     NULL, NULL,
     "rope_type dynamic: llama.cpp has no dynamic RoPE scaling, so results differ for texts longer "
     "than max_position_embeddings"},
    {NULL, "if(has(rope.factor), has(rope.type) == false)", NULL, NULL,
     "rope_scaling has a factor and no type: the model is written without it"},
    {"bert",
     "if(has(position_embedding_type), word(position_embedding_type, 'absolute relative_key "
     "relative_key_query alibi rotary/rope') == 'absolute') == false",
     NULL, NULL,
     "position_embedding_type: llama.cpp has absolute positions in this "
     "architecture" OTHER_RESULTS},
    {NULL, "rope.type == 'xdrope'", "rope.dimension_sections", NULL,
     "rope_type xdrope: llama.cpp does not have it in this architecture, the model is written "
     "without it"},
    {"!" WINDOW_ARCHS,
     "if(if(model_type == 'smollm3', true, use_sliding_window | true), if(has(sliding_window), "
     "if(" IS_WINDOW ", in('sliding_attention', layer_types))))",
     NULL, NULL,
     "layer_types has sliding_attention: llama.cpp has no sliding-window attention in this "
     "architecture: all layers attend to all tokens, so results differ for texts longer than "
     "sliding_window"},
    {"!" WINDOW_ARCHS,
     "if(" WINDOW_IN_ALL ", if(has(sliding_window), if(" IS_WINDOW
     ", sliding_window < (max_position_embeddings | 1000000000))))",
     NULL, NULL,
     "sliding_window: llama.cpp has no sliding-window attention in this architecture: all layers "
     "attend to all tokens, so results differ for longer texts"},
    {"exaone4",
     "if(has(sliding_window), if(" IS_WINDOW ", if(num_hidden_layers == 64, false, true)))", NULL,
     NULL,
     "sliding_window: llama.cpp has these windows, and layers without positions, in models of 64 "
     "layers only" OTHER_RESULTS},
    {"maple", "if(nope_on_global_attention | false, false, true)", NULL, NULL,
     "nope_on_global_attention: llama.cpp has no positions in layers without a window in this "
     "architecture" OTHER_RESULTS},
    {"spark2_5", "if(gate_attn_act_mode == 'sigmoid', false, true)", NULL, NULL,
     "gate_attn_act_mode: llama.cpp computes the sigmoid in this architecture" OTHER_RESULTS},
    {"muse-glimmer",
     "if(g.is_window, if(at(layer_rope_theta, layer) == rope.theta, false, has(layer_rope_theta)), "
     "at(layer_rope_theta, layer) > 0)",
     NULL, NULL,
     "layer_rope_theta: llama.cpp has positions in layers with a window alone, and one base of "
     "them" OTHER_RESULTS},
    {"muse-glimmer", "if(one_of(rope.type, 'linear yarn'), (rope.factor | 1) > 1)", NULL, NULL,
     "the scaling of rotary positions: llama.cpp does not scale the positions of layers with "
     "windows, which alone have some in this architecture" OTHER_RESULTS},
    {"muse-glimmer", "if(has(post_norm_eps), if(post_norm_eps == 0.00000001, false, true))", NULL,
     NULL, "post_norm_eps: llama.cpp has 1e-8 in this architecture" OTHER_RESULTS},
    {"qwen4exp", "if((output_gate_type | hidden_act | 'silu') == 'sigmoid', false, true)", NULL,
     NULL, "output_gate_type: llama.cpp computes the sigmoid in this architecture" OTHER_RESULTS},
    {"minimax-01",
     "if(mm.alpha == mm.alpha_linear, if(mm.alpha == mm.alpha_mlp, false, true), true)", NULL, NULL,
     "alpha factors of residuals: llama.cpp has one for all" OTHER_RESULTS},
    {"minimax-01", "if(mm.beta == 1, false, true)", NULL, NULL,
     "beta factors of residuals: llama.cpp has none" OTHER_RESULTS},
    {"granite_swa",
     "if(at(layer_rope_theta, layer) > 0, if(at(layer_rope_theta, layer) == rope.theta, false, "
     "true))",
     NULL, NULL,
     "layer_rope_theta: llama.cpp has one base of positions for all layers" OTHER_RESULTS},
    {GELU_ARCHS, OTHER_THAN(TARE_LLAMA_GELUS), NULL, NULL,
     "hidden_act: llama.cpp computes GELU in this architecture" OTHER_RESULTS},
    {"modern-bert", OTHER_THAN(TARE_LLAMA_GELUS " silu relu reglu"), NULL, NULL,
     "hidden_activation: llama.cpp computes GELU, SiLU or ReLU in this architecture" OTHER_RESULTS},
    {SQUARED_ARCHS, OTHER_THAN("relu2"), NULL, NULL,
     "hidden_act: llama.cpp computes the square of ReLU in this architecture" OTHER_RESULTS},
    {"!" GELU_ARCHS " " SQUARED_ARCHS " " OTHER_ARCHS, OTHER_THAN("silu"), NULL, NULL,
     "hidden_act: llama.cpp computes SiLU in this architecture" OTHER_RESULTS},
    {"glm5-next", "(index_kpool_always_select_tail | true) == false", NULL, NULL,
     "index_kpool_always_select_tail: without it llama.cpp computes no numbers for the first "
     "tokens"},
    {"dots3note", "index_topk < max_position_embeddings", NULL, NULL,
     "the index: llama.cpp turns halves of its heads, transformers neighbours, so results differ "
     "for texts longer than index_topk"},
    {"kimi-k3", OTHER_THAN("situ"), NULL, NULL,
     "hidden_act: llama.cpp computes SiTU in this architecture" OTHER_RESULTS},
    {"dbrx",
     "if(has(ffn_config.ffn_act_fn.name), word(ffn_config.ffn_act_fn.name, '" TARE_LLAMA_ACTIVATIONS
     "') == 'silu') == false",
     NULL, NULL,
     "ffn_config.ffn_act_fn: llama.cpp computes SiLU in this architecture" OTHER_RESULTS},
    {"jais llada llada-moe lfm2 lfm2moe nomic-bert qwen refact talkie neo-bert", OTHER_THAN("silu"),
     NULL, NULL, "activation: llama.cpp computes SiLU in this architecture" OTHER_RESULTS},
    {"openelm",
     "if(has(activation_fn_name), word(activation_fn_name, '" TARE_LLAMA_ACTIVATIONS
     "') == 'silu') == false",
     NULL, NULL, "activation_fn_name: llama.cpp computes SiLU in this architecture" OTHER_RESULTS},
    {"nomic-bert-moe", OTHER_THAN(TARE_LLAMA_GELUS), NULL, NULL,
     "activation_function: llama.cpp computes GELU in this architecture" OTHER_RESULTS},
    {"smallthinker", OTHER_THAN("relu"), NULL, NULL,
     "hidden_act: llama.cpp computes ReLU in this architecture" OTHER_RESULTS},
    {"t5 t5encoder",
     "if(has(feed_forward_proj), if(one_of(feed_forward_proj, 'relu gated-gelu'), false, "
     "has(dense_act_fn) == false))",
     NULL, NULL,
     "feed_forward_proj: llama.cpp computes GELU where there is a gate, else ReLU" OTHER_RESULTS},
    {"t5 t5encoder",
     "if(has(dense_act_fn), if(is_gated_act | one_of(feed_forward_proj, 'gated-gelu gated-silu "
     "gated-relu'), one_of(" T5_ACTIVATION ", '" TARE_LLAMA_GELUS "'), " T5_ACTIVATION
     " == 'relu')) == false",
     NULL, NULL,
     "dense_act_fn: llama.cpp computes GELU where there is a gate, else ReLU" OTHER_RESULTS},
    {"modern-bert",
     "if(is_classifier, if(has(classifier_activation), one_of(word(classifier_activation, "
     "'" TARE_LLAMA_ACTIVATIONS "'), '" TARE_LLAMA_GELUS "'))) == false",
     NULL, NULL,
     "classifier_activation: llama.cpp computes GELU in this architecture" OTHER_RESULTS},
    {"gemma2", "is_null('attn_logit_softcapping')", NULL, NULL,
     "attn_logit_softcapping null: llama.cpp caps scores of attention at 50 in this "
     "architecture" OTHER_RESULTS},
    {"gemma3",
     "if(in('Gemma3ForConditionalGeneration', architectures), (final_logit_softcapping | 0) > 0)",
     NULL, NULL,
     "final_logit_softcapping: llama.cpp caps logits, which transformers does not do in models "
     "with an encoder" OTHER_RESULTS},
    {"gemma-embedding gemma3 gemma3n modern-bert olmo2",
     "if(model_type == 'olmo2', false, if(has(rope_scaling.type), if(has(rope_scaling.rope_type), "
     "false, if(rope.type == 'default', false, true))))",
     NULL, NULL,
     "rope_scaling.type: transformers looks at rope_type alone in this architecture, and does not "
     "scale positions" OTHER_RESULTS},
    {"laguna mellum",
     "if(has(rope_parameters), false, if(has(rope_theta), if(rope_theta == 500000, false, true)))",
     NULL, NULL,
     "rope_theta: transformers takes rope_parameters alone in this architecture, else 500000; the "
     "conversion takes this base" OTHER_RESULTS},
    {"modern-bert", "if(has(rope_scaling.rope_type), rope_scaling.rope_type == 'default') == false",
     NULL, NULL,
     "rope_scaling: transformers scales the positions of layers with windows, too" OTHER_RESULTS},
    {"gemma-embedding gemma3 gemma3n",
     "if(has(rope_parameters), if(has(rope_parameters.full_attention), false, "
     "has(rope_parameters.sliding_attention) == false))",
     NULL, NULL,
     "rope_parameters has no full_attention: transformers takes the positions of the class, the "
     "conversion those of rope_parameters" OTHER_RESULTS},
    {"cohere2moe",
     "if(has(rope_scaling), one_of(rope.type, 'linear yarn llama3 dynamic longrope'))", NULL, NULL,
     "rope_scaling: transformers looks at rope_parameters alone in this architecture, and does not "
     "scale positions" OTHER_RESULTS},
    {"gemma3n", "(altup_active_idx | 0) > 0", NULL, NULL,
     "altup_active_idx: llama.cpp takes the first of the inputs" OTHER_RESULTS},
    {"gemma3n",
     "if(is_null('final_logit_softcapping'), true, if((final_logit_softcapping | 30) == 30, false, "
     "true))",
     NULL, NULL,
     "final_logit_softcapping: llama.cpp caps logits at 30 in this architecture" OTHER_RESULTS},
    {"gemma3n", "if(min(" OWN ", layers) == layers - (num_kv_shared_layers | 0), false, true)",
     NULL, NULL,
     "num_kv_shared_layers: llama.cpp has keys and values of the first " OWN
     " layers, which all others "
     "share" OTHER_RESULTS},
    {"kimi-linear", "if(moe_renormalize | true, false, true)", NULL, NULL,
     "moe_renormalize false: llama.cpp normalizes the weights of experts in this "
     "architecture" OTHER_RESULTS},
    {"minimax-01",
     "if(has(sliding_window), if(" IS_WINDOW
     ", sliding_window < (max_position_embeddings | 1000000000)))",
     NULL, NULL,
     "sliding_window: llama.cpp has no sliding-window attention in this architecture: all layers "
     "attend to all tokens, so results differ for longer texts"},
    {"step35",
     "if(has(rope_parameters.sliding_attention.partial_rotary_factor), "
     "rope_parameters.sliding_attention.partial_rotary_factor == 1) == false",
     NULL, NULL,
     "rope_parameters.sliding_attention.partial_rotary_factor: llama.cpp turns heads with a window "
     "as a whole" OTHER_RESULTS},
    {"apertus", OTHER_THAN("xielu"), NULL, NULL,
     "hidden_act: llama.cpp computes xIELU in this architecture" OTHER_RESULTS},
    {"distilbert bert", "if(is_classifier, model_type == 'distilbert')", NULL, NULL,
     "DistilBERT's classifier: llama.cpp computes tanh where it has ReLU" OTHER_RESULTS},
    {NORMALIZES, "if(norm_topk_prob | true, false, true)", NULL, NULL,
     "norm_topk_prob false: llama.cpp normalizes the weights of experts in this "
     "architecture" OTHER_RESULTS},
    {DOES_NOT_NORMALIZE, "norm_topk_prob | false", NULL, NULL,
     "norm_topk_prob: llama.cpp does not normalize the weights of experts in this "
     "architecture" OTHER_RESULTS},
    {"deepseek2 deepseek2-ocr",
     "if(" TOPK_METHOD " == 'group_limited_greedy', if(n_group > 1, topk_group < n_group))", NULL,
     NULL,
     "topk_method group_limited_greedy: llama.cpp rates a group by its two best "
     "experts" OTHER_RESULTS},
    {"smollm3",
     "if(has(no_rope_layers), at(no_rope_layers, layer) == ((layer + 1) % 4 == 0), "
     "if((no_rope_layer_interval | 4) == 4, false, true))",
     NULL, NULL,
     "no_rope_layers: llama.cpp leaves positions out in every fourth layer" OTHER_RESULTS},
    {"llama4",
     "if(has(no_rope_layers), if(len(no_rope_layers) > 0, at(no_rope_layers, layer) == "
     "((layer + 1) % 4 == 0), false), false)",
     NULL, NULL,
     "no_rope_layers: llama.cpp leaves positions out in every fourth layer" OTHER_RESULTS},
    {"llama4",
     "if(if(has(layer_types), in('chunked_attention', layer_types, " LLAMA4_LAYERS
     "), true), (attention_chunk_size | 8192) == 8192) == false",
     NULL, NULL, "attention_chunk_size: llama.cpp has chunks of 8192 tokens" OTHER_RESULTS},
    {"llama4",
     "if(has(layer_types), if(max_position_embeddings > 8192, (word(at(layer_types, "
     "layer), " LLAMA4_LAYERS ") == 'chunked_attention') == ((layer + 1) % 4 == 0)))",
     NULL, NULL,
     "layer_types: llama.cpp has chunks of 8192 tokens in three of four layers, so results differ "
     "for longer texts"},
    {"deepseek2", "if(model_type == 'deepseek_v2', norm_topk_prob | false)", NULL, NULL,
     "norm_topk_prob: llama.cpp divides the weights of experts by their sum, which transformers "
     "does not do in DeepSeek 2" OTHER_RESULTS},
    {NULL, "topk_group < 1", NULL, NULL,
     "topk_group: llama.cpp chooses among all groups of experts where it is 0" OTHER_RESULTS},
    {"deepseek32 glm-dsa hy_v4", "index_topk < 1", NULL, NULL,
     "index_topk: llama.cpp computes no numbers where no token is looked at"},
    {"modern-bert", "local_attention < 1", NULL, NULL,
     "local_attention: llama.cpp has no windows where it is 0" OTHER_RESULTS},
    {"qwen35 qwen35moe qwen3vl qwen3vlmoe qwen4exp",
     "if(has(rope.mrope_section), if(" FIRST_UNTURNED " < " SECTION("0") " + " SECTION(
         "1") " + " SECTION("2") ", "
                                 "pow(rope.theta, 0 - " FIRST_UNTURNED " / " TURNED_PAIRS
                                 ") * max_position_embeddings > 1))",
     NULL, NULL,
     "mrope_section: llama.cpp does not turn what interleaved sections of other sizes leave "
     "out" OTHER_RESULTS},
    {"minimax-m3", "if(has(rope.partial), false, rotary_dim < head_dim)", NULL, NULL,
     "rotary_dim: transformers turns heads as a whole without partial_rotary_factor" OTHER_RESULTS},
    {"minimax-m3", "index_topk_blocks < 1", NULL, NULL,
     "index_topk_blocks: llama.cpp looks at other tokens where it is 0" OTHER_RESULTS},
    {"hy_v4", "true", NULL, NULL,
     "HY 4: llama.cpp turns neighbours in a head, transformers' class halves of it" OTHER_RESULTS},
    {"bitnet", "if(model_type == 'bitnet', has(quantization_config) == false)", NULL, NULL,
     "BitNet without quantization_config: weights are rounded to three values, which "
     "transformers takes as they are" OTHER_RESULTS},
    {"!dbrx mpt olmo", "has(clip_qkv)", NULL, NULL,
     "clip_qkv: llama.cpp does not clip in this architecture" OTHER_RESULTS},
    {"!grok mistral3",
     "if(rope.type == 'yarn', if((rope.beta_fast | 32) == 32, if((rope.beta_slow | 1) == 1, false, "
     "true), true))",
     NULL, NULL,
     "beta_fast, beta_slow: llama.cpp computes with 32 and 1 whatever a file says" OTHER_RESULTS},
    {NULL, "if(rope.type == 'yarn', if(has(rope.factor), if(rope.truncate | true, false, true)))",
     NULL, NULL,
     "truncate false: llama.cpp rounds the bounds of YaRN to whole frequencies" OTHER_RESULTS},
    {"glm-dsa hy_v4",
     "if(rope.type == 'yarn', if(has(rope.factor), yarn.turned == yarn.scaled), if(rope.type == "
     "'linear', (rope.factor | 1) == 1)) == false",
     NULL, NULL,
     "the scaling of rotary positions: llama.cpp scales the scores of attention by it, too, in "
     "this "
     "architecture" OTHER_RESULTS},
    {"step35",
     "if(has(rope_parameters), (rope.partial | 1) == 0.5, has(partial_rotary_factors)) == false",
     NULL, NULL,
     "partial_rotary_factor of full_attention: llama.cpp turns half of a head" OTHER_RESULTS},
    {"step35", "if(has(query_pre_attn_scalar), if(query_pre_attn_scalar == head_dim, false, true))",
     NULL, NULL, "query_pre_attn_scalar: llama.cpp scales by the width of a head" OTHER_RESULTS},
    {"gemma2", SCALES_OTHERWISE("46"), NULL, NULL,
     "query_pre_attn_scalar: llama.cpp scales by the width of a head" OTHER_RESULTS},
    {"gemma3 gemma-embedding", SCALES_OTHERWISE("62"), NULL, NULL,
     "query_pre_attn_scalar: llama.cpp scales by the width of a head" OTHER_RESULTS},
    {"olmo2", "if(has(rope.theta_swa), if(rope.theta_swa == rope.theta, false, true))", NULL, NULL,
     "rope_parameters.sliding_attention.rope_theta: llama.cpp has one base of positions in this "
     "architecture" OTHER_RESULTS},
    /* 1e-5, which published models have, is no difference that is seen */
    {"deepseek2 deepseek32 glm-dsa hy_v4 kimi-linear minicpm3 mistral4",
     "(rms_norm_eps | 0) > 0.00002", NULL, NULL,
     "rms_norm_eps: llama.cpp has it in the norms of latents, too, where transformers has "
     "1e-6" OTHER_RESULTS},
    {"kimi-linear minimax-01 qwen3next qwen35 qwen35moe qwen4exp", "(rms_norm_eps | 0) > 0.00002",
     NULL, NULL,
     "rms_norm_eps: llama.cpp has it in the norms of linear attention, too, where transformers has "
     "1e-6" OTHER_RESULTS},
    {"mamba",
     "if(model_type == 'falcon_mamba', if((layer_norm_epsilon | 0.00001) == (mixer_rms_eps | "
     "0.000001), false, if((layer_norm_epsilon | 0) > 0.00002, true, (mixer_rms_eps | 0) > "
     "0.00002)))",
     NULL, NULL,
     "layer_norm_epsilon, mixer_rms_eps: llama.cpp has one epsilon for all norms" OTHER_RESULTS},
    {"qwen2vl", "(rms_norm_eps | 0) > 0.00002", NULL, NULL,
     "rms_norm_eps: llama.cpp does not read it in this architecture" OTHER_RESULTS},
    {"gemma-embedding gemma3 gemma3n mimo2 modern-bert step35",
     "if(rope.type == 'yarn', if(has(rope.attention_factor), true, if(rope.mscale | 0, "
     "(rope.mscale_all_dim | 0) > 0)))",
     NULL, NULL,
     "attention_factor, mscale: llama.cpp computes with them in another way in this "
     "architecture" OTHER_RESULTS},
    {"minicpm3 plm", "if(rope.type == 'yarn', (rope.mscale_all_dim | 0) > 0)", NULL, NULL,
     "mscale_all_dim: llama.cpp does not scale the scores of attention in this "
     "architecture" OTHER_RESULTS},
    {"gpt2 starcoder",
     "if(scale_attn_by_inverse_layer_idx | false, true, if(scale_attn_weights | true, false, "
     "true))",
     NULL, NULL, "the scale of attention: llama.cpp has the usual one" OTHER_RESULTS},
    {"gemma3n",
     "if(has(activation_sparsity_pattern), if(at(activation_sparsity_pattern, layer) == "
     "if(layer < 10, 0.95, 0), false, true), if(num_hidden_layers > 10, false, true))",
     NULL, NULL,
     "activation_sparsity_pattern: llama.cpp keeps 5 % of the first ten layers" OTHER_RESULTS},
    {"afmoe",
     "if(has(layer_types), if(has(sliding_window), (word(at(layer_types, layer), "
     "'sliding_attention full_attention/attention') == 'sliding_attention') == "
     "((layer + 1) % 4 == 0)))",
     NULL, NULL, "layer_types: llama.cpp leaves positions out in every fourth layer" OTHER_RESULTS},
    {"afmoe", "if(mup_enabled | false, false, true)", NULL, NULL,
     "mup_enabled false: llama.cpp scales the embeddings" OTHER_RESULTS},
    {"phimoe", "true", NULL, NULL,
     "PhiMoE: llama.cpp computes norms and the weights of experts in another way" OTHER_RESULTS},
    {"falcon",
     "if(alibi | false, true, if(falcon.is_grouped, false, if(parallel_attn | true, "
     "false, true)))",
     NULL, NULL,
     "alibi, parallel_attn: llama.cpp has rotary positions and attention beside the feed-forward "
     "network only" OTHER_RESULTS},
    {NULL,
     "if(if(has(layer_types), in('sliding_attention', layer_types), true), if(has(rope.type_swa), "
     "rope.type_swa == 'default')) == false",
     NULL, NULL,
     "rope_parameters.sliding_attention.rope_type: llama.cpp does not scale the positions of "
     "layers "
     "with windows" OTHER_RESULTS},
    {NULL, "if(has(routed_scaling_factor), routed_scaling_factor == 1) == false",
     "expert_weights_scale", NULL,
     "routed_scaling_factor: llama.cpp does not scale the weights of experts in this "
     "architecture" OTHER_RESULTS},
    {MAMBA2_ARCHS,
     "if(has(time_step_limit), if(finite(at(time_step_limit, 0), 0) > 0, true, "
     "finite(at(time_step_limit, 1), 1000000) < 1000000))",
     NULL, NULL, "time_step_limit: llama.cpp does not limit steps of time" OTHER_RESULTS},
    {"nemotron_h nemotron_h_moe",
     "if(has(mamba_hidden_act), word(mamba_hidden_act, '" TARE_LLAMA_ACTIVATIONS
     "') == 'silu') == false",
     NULL, NULL, "mamba_hidden_act: llama.cpp computes SiLU" OTHER_RESULTS},
    {"nemotron_h nemotron_h_moe", "(time_step_min | 0.001) > 0.001", NULL, NULL,
     "time_step_min: llama.cpp does not limit steps of time" OTHER_RESULTS},
    {"falcon-h1", "attention_bias | false", NULL, NULL,
     "attention_bias: llama.cpp adds no bias behind attention in this architecture" OTHER_RESULTS},
    {"mimo2", "attention_bias | false", NULL, NULL,
     "attention_bias: llama.cpp adds no bias to queries, keys and values in this "
     "architecture" OTHER_RESULTS},
    {"granitemoe", "if(has(layer_types), word(position_embedding_type, 'rope nope') == 'nope')",
     NULL, NULL,
     "position_embedding_type nope: llama.cpp has rotary positions in this "
     "architecture" OTHER_RESULTS},
    {"falcon-h1", "if(mamba_rms_norm | false, mamba_norm_before_gate | true)", NULL, NULL,
     "mamba_norm_before_gate: llama.cpp has the gate before the norm" OTHER_RESULTS},
    {"bloom", "apply_residual_connection_post_layernorm | false", NULL, NULL,
     "apply_residual_connection_post_layernorm: llama.cpp adds what is before the "
     "norm" OTHER_RESULTS},
    {"gemma3 gemma-embedding", "(attn_logit_softcapping | 0) > 0", NULL, NULL,
     "attn_logit_softcapping: llama.cpp does not cap scores of attention in this "
     "architecture" OTHER_RESULTS},
    {"gemma3", "use_bidirectional_attention | false", NULL, NULL,
     "use_bidirectional_attention: llama.cpp computes causal attention in this "
     "architecture" OTHER_RESULTS},
    {"gemma-embedding", "if(use_bidirectional_attention | true, false, true)", NULL, NULL,
     "use_bidirectional_attention false: llama.cpp lets each token see all others in this "
     "architecture" OTHER_RESULTS},
    {"gemma4 gemma4-assistant",
     "if(has(use_bidirectional_attention), word(use_bidirectional_attention, 'vision all') == "
     "'all')",
     NULL, NULL,
     "use_bidirectional_attention all: llama.cpp computes causal attention of texts" OTHER_RESULTS},
    {"gemma3n", "if(altup_correct_scale | true, false, true)", NULL, NULL,
     "altup_correct_scale false: llama.cpp scales" OTHER_RESULTS},
    {"gpt-oss minimax-m3",
     "if((swiglu_alpha | 1.702) == 1.702, (swiglu_limit | 7) == 7, false) == false", NULL, NULL,
     "swiglu_alpha, swiglu_limit: llama.cpp computes with 1.702 and 7" OTHER_RESULTS},
    {"laguna",
     "if(in('full_attention', layer_types), if(at(layer_types, 0) == 'sliding_attention', "
     "(rope_parameters.full_attention.partial_rotary_factor | 1) == "
     "(rope_parameters.sliding_attention.partial_rotary_factor | 1))) == false",
     NULL, NULL,
     "partial_rotary_factor of full_attention: llama.cpp rotates as much in all layers where the "
     "first one has a window" OTHER_RESULTS},
    {"mellum", "if(in('sliding_attention', layer_types), rope.theta_swa == rope.theta) == false",
     NULL, NULL,
     "rope_parameters.sliding_attention.rope_theta: llama.cpp has one base of positions in this "
     "architecture" OTHER_RESULTS},
    {"mimo2",
     "if(has(rope_parameters.sliding_attention.partial_rotary_factor), "
     "rope_parameters.sliding_attention.partial_rotary_factor == rope.partial) == false",
     NULL, NULL,
     "rope_parameters.sliding_attention.partial_rotary_factor: llama.cpp rotates as much in all "
     "layers" OTHER_RESULTS},
    {"lfm2 lfm2moe", "(conv_L_cache | 3) < 2", NULL, NULL,
     "conv_L_cache: llama.cpp stops where convolutions have no state"},
    {"laguna", "(moe_router_logit_softcapping | 0) > 0", NULL, NULL,
     "moe_router_logit_softcapping: llama.cpp does not cap the scores of experts in this "
     "architecture" OTHER_RESULTS},
    {"cohere2moe",
     "if(has(shared_expert_combination_strategy), word(shared_expert_combination_strategy, "
     "'average sum') == 'average') == false",
     NULL, NULL,
     "shared_expert_combination_strategy sum: llama.cpp takes the average" OTHER_RESULTS},
    {"t5 t5encoder", "if((relative_attention_max_distance | 128) == 128, false, true)", NULL, NULL,
     "relative_attention_max_distance: llama.cpp computes with 128" OTHER_RESULTS},
    {"deepseek2 deepseek2-ocr deepseek32 glm-dsa mistral4",
     "if(rope_interleave | true, false, true)", NULL, NULL,
     "rope_interleave false: llama.cpp rotates neighbours in this architecture" OTHER_RESULTS},
    {"minicpm3",
     "if((scale_emb | 12) == 12, if((scale_depth | if(is_null('scale_depth'), "
     "sqrt(num_hidden_layers), 1.4)) == 1.4, (dim_model_base | if(is_null('dim_model_base'), "
     "hidden_size, 256)) == 256, false), false) == false",
     NULL, NULL,
     "scale_emb, scale_depth, dim_model_base: llama.cpp computes with 12, 1.4 and "
     "256" OTHER_RESULTS},
    {"llama4", "(use_qk_norm | true) == (num_local_experts == 128)", NULL, NULL,
     "use_qk_norm: llama.cpp normalizes queries and keys unless there are 128 "
     "experts" OTHER_RESULTS},
    {"llama4",
     "if(attn_temperature_tuning | true, if((attn_scale | 0.1) == 0.1, (floor_scale | 8192) == "
     "8192, false), false) == false",
     NULL, NULL,
     "attn_temperature_tuning, attn_scale, floor_scale: llama.cpp computes with 0.1 and "
     "8192" OTHER_RESULTS},
    {"nomic-bert nomic-bert-moe",
     "if(causal | false, true, if(prenorm | false, true, rotary_emb_interleaved | false))", NULL,
     NULL,
     "causal, prenorm, rotary_emb_interleaved: llama.cpp has none of them in this "
     "architecture" OTHER_RESULTS},
    {"bert jina-bert-v2", "is_decoder | false", NULL, NULL,
     "is_decoder: llama.cpp lets each token see all others in this architecture" OTHER_RESULTS},
    {"jina-bert-v2 jais",
     "if(has(position_embedding_type), word(position_embedding_type, 'absolute learned "
     "relative_key relative_key_query alibi rotary/rope') == 'alibi') == false",
     NULL, NULL, "position_embedding_type: llama.cpp has ALiBi in this architecture" OTHER_RESULTS},
    {"mpt",
     "if(has(attn_config.softmax_scale), true, if(has(logit_scale), true, attn_config.prefix_lm | "
     "false))",
     NULL, NULL,
     "attn_config.softmax_scale, attn_config.prefix_lm, logit_scale: llama.cpp has none of "
     "them" OTHER_RESULTS},
    {"minimax-01",
     "if(model_type == 'minimax', (rotary_dim | floor(attention.dim * "
     "(rope.partial | 1))) == attention.dim) == false",
     NULL, NULL,
     "partial_rotary_factor, rotary_dim: transformers' class turns heads as a whole, llama.cpp "
     "as much as they say" OTHER_RESULTS},
    {"mpt",
     "if(if(in('MptForCausalLM', architectures), true, in('MptModel', architectures)), "
     "if((attn_config.alibi_bias_max | 8) == 8, "
     "attn_config.alibi | true, false)) == false",
     NULL, NULL,
     "attn_config.alibi, attn_config.alibi_bias_max: transformers' class computes with true and 8 "
     "whatever they say, llama.cpp with them" OTHER_RESULTS},
    {"starcoder refact", "if(multi_query | true, false, true)", NULL, NULL,
     "multi_query false: llama.cpp has one key and value for all heads" OTHER_RESULTS},
    {"dbrx", "if(has(attn_config.rope_theta), rope.theta == attn_config.rope_theta) == false", NULL,
     NULL,
     "attn_config.rope_theta is not the base of rope_parameters, which transformers takes instead "
     "of it: so does the conversion"},
    {"dbrx",
     "if(is_null('ffn_config.moe_normalize_expert_weights'), true, "
     "if((ffn_config.moe_normalize_expert_weights | 1) == 1, false, true))",
     NULL, NULL,
     "moe_normalize_expert_weights: llama.cpp divides the weights of experts by their "
     "sum" OTHER_RESULTS},
};

/* Words that decide nothing here, as llama.cpp has one way or tensors tell; another one is a fault. */
static const struct {
    const char *archs, *word;
} closed[] = {
    {NULL, TOPK_METHOD},
    {"minimax-m3", "word(hidden_act, '" TARE_LLAMA_ACTIVATIONS " swigluoai')"},
    {"laguna", "word(gating, 'per-head per-element')"},
    {"granite granitehybrid granitemoe", "word(position_embedding_type, 'rope nope')"},
    {"cohere2moe", "word(shared_expert_combination_strategy, 'average sum')"},
};

static bool is_about(const char *archs, tare_str name) {
    if (!archs) return true;
    if (archs[0] == '!') return !tare_llama_is_one_of(name, archs + 1);
    return tare_llama_is_one_of(name, archs);
}

/* Members that are lists, of layers or of frequencies: anything else in their place would be none. */
static const char *const lists[] = {"layer_types",      "mlp_layer_types", "layers_block_type",
                                    "indexer_types",    "no_rope_layers",  "rope.long_factor",
                                    "rope.short_factor"};

static tare_status check_lists(const tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tare_llama_value v;
        TARE_TRY(tare_llama_formula(&v, tare_str_of(lists[i]), &m->config, NULL, err));
        if (v.kind == TARE_LLAMA_ABSENT) continue;
        if (v.kind != TARE_LLAMA_TREE || v.tree->type != TARE_JSON_ARRAY)
            return tare_llama_wrong_kind("config.json: expected a list", &v, err);
    }
    return TARE_OK;
}

tare_status tare_llama_check_words(const tare_llama_mapping *m, tare_error *err) {
    TARE_TRY(check_lists(m, err));
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        tare_llama_value v;
        if (is_about(closed[i].archs, tare_str_of(m->arch->name)))
            TARE_TRY(tare_llama_formula(&v, tare_str_of(closed[i].word), &m->config, NULL, err));
    }
    return TARE_OK;
}

static void note(tare_llama_mapping *m, const tare_finding *of) {
    tare_finding f = *of;
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("config.json");
    tare_report_add(m->options->context->report, &f);
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
}

/* A method that nobody knows beside weights that are no codes: transformers loads them as they are, and
 * says so. */
static tare_status note_method(tare_llama_mapping *m, tare_error *err) {
    const tare_json_node *said =
        tare_llama_config_find(&m->config, TARE_STR("quantization_config"));
    const tare_str method = tare_json_node_text(tare_json_member(said, TARE_STR("quant_method")));
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.not-applied");
    char *text = tare_arena_take(&m->out->arena, 160);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "finding");
    if (!said || said->type != TARE_JSON_OBJECT || tare_quantized_count(m->hf) ||
        tare_quantized_is_method(method))
        return TARE_OK;
    snprintf(text, 160,
             method.len
                 ? "quantization_config.quant_method: tare does not know '%.*s': weights are "
                   "taken as they are"
                 : "quantization_config has no quant_method%.*s: weights are taken as they are",
             (int)tare_min_u64(method.len, 60), method.ptr);
    f.text = tare_str_of(text);
    note(m, &f);
    return TARE_OK;
}

tare_status tare_llama_note_unapplied(tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        bool is_wished;
        if (!is_about(wishes[i].archs, tare_str_of(m->arch->name))) continue;
        TARE_TRY(tare_llama_holds(&is_wished, m, wishes[i].when, false, err));
        if (!is_wished || (wishes[i].key && tare_llama_has_key(m, wishes[i].key)) ||
            (wishes[i].tensor && tare_llama_has_target(m, tare_str_of(wishes[i].tensor))))
            continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.not-applied");
        f.text = tare_str_of(wishes[i].text);
        note(m, &f);
    }
    return note_method(m, err);
}
