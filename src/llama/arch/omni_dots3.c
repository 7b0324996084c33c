/* SPDX-License-Identifier: MIT
 *
 * Dots 3 Note: pictures, by blocks of experts, more of them the deeper, and sounds. Its authors have members of
 * their own in config.json, transformers the usual ones. */
#include "llama/arch/tower_rows.h"

#define SOUND(member, usual) "audio_config.whisper_config." member " | audio_config." usual
#define EXPERTS                                                                                    \
    "max(at(vision_config.pyramid_num_routed, layer) | if(word(at(vision_config.mlp_layer_types, " \
    "layer), 'dense sparse') == 'sparse', at(vision_config.per_layer_config, layer, "              \
    "'num_local_experts') | vision_config.num_local_experts | 64, 0), 0)"
static const char *const dots3_defaults[] = {
    "hidden_size = 5120",
    "vision_config.num_hidden_layers = 42",
    "vision_config.intermediate_size = 4224",
    "vision_config.patch_size = 14",
    "vision_config.spatial_merge_size = 2",
    "vision_config.rms_norm_eps = 0.00001",
    "vision.width = vision_config.embed_dim | vision_config.hidden_size",
    "vision.experts = " EXPERTS,
    "vision_config.image_size = 0", /* any */
    NULL};
static const tare_llama_key dots3_keys[] = {
    VISION_KEYS_OF("vision.width", "vision_config.intermediate_size"),
    {"has_audio_encoder", BOOL, "true"},
    {"audio.projection_dim", U32, "hidden_size"},
    {"audio.embedding_length", U32, SOUND("d_model", "hidden_size | 1280")},
    {"audio.feed_forward_length", U32, SOUND("encoder_ffn_dim", "intermediate_size | 5120")},
    {"audio.block_count", U32, SOUND("encoder_layers", "num_hidden_layers | 32")},
    {"audio.attention.head_count", U32,
     SOUND("encoder_attention_heads", "num_attention_heads | 20")},
    {"vision.projector_type", TEXT, "'dots3note_v'"},
    KEY_SILU,
    KEY_VISION_EPS("vision_config.rms_norm_eps"),
    KEY_VISION_MERGE("vision_config.spatial_merge_size"),
    KEY_MIN_PIXELS("processor.vision_config.min_pixels | " MIN_PIXELS),
    KEY_MAX_PIXELS("processor.vision_config.max_pixels | " MAX_PIXELS),
    {"vision.expert_count_per_layer[]", I32, "vision.experts"},
    {"vision.expert_used_count", U32,
     "vision_config.capacity_factor | vision_config.num_experts_per_tok | 2"},
    {"audio.projector_type", TEXT, "'dots3note_a'"},
    {"audio.num_mel_bins", U32, SOUND("num_mel_bins", "feature_size | 128")},
    {"audio.attention.layer_norm_epsilon", F32, "0.000001"},
    END_OF_KEYS};
#define SEES(name, to)                                                                             \
    { "vision_encoder.blocks.#." name "@", "=v.blk.#." to, NULL }
#define EXPERT(name, to)                                                                           \
    {                                                                                              \
        "vision_encoder.blocks.#.mlp.experts.#." name ".weight", "=v.blk.#." to "_exps.weight",    \
            "stack(number, vision.experts)"                                                        \
    }
#define HEARS "audio_encoder.dots_encoder.speech_encoder."
static const tare_llama_rule dots3_rules[] = {
    PATCHES("vision_encoder.patch_embed.proj"),
    {"vision_encoder.patch_embed.norm@", "=v.pre_ln", NULL},
    SEES("attn.qkv", "attn_qkv"),
    SEES("attn.q_norm", "attn_q_norm"),
    SEES("attn.k_norm", "attn_k_norm"),
    SEES("attn.proj", "attn_out"),
    SEES("norm_1", "ln1"),
    SEES("norm_2", "ln2"),
    SEES("mlp.fc1", "ffn_gate"),
    SEES("mlp.fc2", "ffn_down"),
    SEES("mlp.fc3", "ffn_up"),
    {"vision_encoder.blocks.#.mlp.gate_weight", "=v.blk.#.ffn_gate_inp.weight", NULL},
    {"vision_encoder.blocks.#.mlp.router_bias", "=v.blk.#.exp_probs_b.weight", NULL},
    EXPERT("fc1", "ffn_gate"),
    EXPERT("fc2", "ffn_down"),
    EXPERT("fc3", "ffn_up"),
    {"vision_encoder.post_trunk_norm@", "=mm.post_norm", NULL},
    BOTH("vision_encoder.adapter.ln_q", "mm.input_norm"),
    BOTH("vision_encoder.adapter.mlp.0", "mm.0"),
    BOTH("vision_encoder.adapter.mlp.2", "mm.2"),
    BOTH(HEARS "conv2d1", "a.conv2d.1"),
    BOTH(HEARS "conv2d2", "a.conv2d.2"),
    BOTH(HEARS "conv2d3", "a.conv2d.3"),
    {HEARS "conv_out@", "=a.conv_out", NULL},
    {HEARS "layer_norm@", "=a.post_ln", NULL},
    WHISPER_BLOCK(HEARS, "self_attn.q_proj", "attn_q"),
    WHISPER_BLOCK(HEARS, "self_attn.k_proj", "attn_k"),
    WHISPER_BLOCK(HEARS, "self_attn.v_proj", "attn_v"),
    WHISPER_BLOCK(HEARS, "self_attn.out_proj", "attn_out"),
    WHISPER_BLOCK(HEARS, "self_attn_layer_norm", "ln1"),
    WHISPER_BLOCK(HEARS, "final_layer_norm", "ln2"),
    {HEARS "layers.#.fc1@", "=a.blk.#.ffn_gate", "slice(0, 0, 2)"},
    {HEARS "layers.#.fc1@", "=a.blk.#.ffn_up", "slice(0, 1, 2)"},
    WHISPER_BLOCK(HEARS, "fc2", "ffn_down"),
    BOTH("audio_encoder.audio_adapter.proj.0", "mm.a.norm_pre"),
    BOTH("audio_encoder.audio_adapter.proj.1", "mm.a.mlp.1"),
    BOTH("audio_encoder.audio_adapter.proj.3", "mm.a.mlp.3"),
    END_OF_RULES};
#define IS(member, value) "(" member " | " value ") == " value
static const tare_llama_must dots3_musts[] = {
    {"if(" IS("vision_config.adapter_type", "'patch_merger'") ", if(" IS(
         "vision_config.pre_pixel_shuffle", "true") ", " IS("vision_config.temporal_patch_size",
                                                            "1") "))",
     "vision_config.adapter_type, pre_pixel_shuffle or temporal_patch_size is not 'patch_merger', "
     "true and 1, which llama.cpp computes"},
    {"if(" IS("vision_config.router_scoring_func",
              "'sigmoid'") ", (vision_config.router_scale | vision_config.router_scaling_factor | "
                           "1) == 1)",
     "vision_config.router_scoring_func or router_scale is not 'sigmoid' and 1, which llama.cpp "
     "computes"},
    {"if((vision_config.use_bias | vision_config.attention_bias | false) == false, " IS(
         "vision_config.use_qk_norm", "true") ")",
     "vision_config.use_bias or use_qk_norm is not false and true, as llama.cpp has it"},
    {"if(" IS("audio_config.use_conv2d_stem", "true") ", if(" IS(
         "audio_config.use_rope", "true") ", if(" IS("audio_config.use_rms_norm",
                                                     "true") ", " IS("audio_config.use_causal",
                                                                     "false") ")))",
     "audio_config.use_conv2d_stem, use_rope, use_rms_norm or use_causal is not true, true, true "
     "and false, as llama.cpp has it"},
    {IS("audio_config.whisper_config.activation_function", "'swiglu'"),
     "audio_config.whisper_config.activation_function is not swiglu, which llama.cpp computes"},
    {"if(" IS("audio_config.merge_factor", "1") ", " IS("audio_config.chunk_seconds", "60") ")",
     "audio_config.merge_factor or chunk_seconds is not 1 and 60, as llama.cpp has it"},
    {"if(" IS("audio_config.rope_parameters.partial_rotary_factor",
              "0.5") ", " IS("audio_config.rope_parameters.rope_theta", "10000") ")",
     "audio_config.rope_parameters are not those that llama.cpp computes with: half of a head, "
     "10000"},
    {NULL, NULL}};
static const tare_llama_tower dots3_tower = {
    .by_block = "v.blk.#.ffn_gate|v.blk.#.ffn_gate_exps v.blk.#.ffn_up|v.blk.#.ffn_up_exps "
                "v.blk.#.ffn_down|v.blk.#.ffn_down_exps v.blk.#.ffn_gate_inp|v.blk.#.ffn_up "
                "v.blk.#.exp_probs_b|v.blk.#.ffn_up",
    .projector = "dots3note_a",
    .takes = "vision_encoder. audio_encoder.",
    .layers = "vision_config.num_hidden_layers",
    .f32 = "v.ffn_gate_inp v.exp_probs_b a.conv2d.1 a.conv2d.2 a.conv2d.3 a.conv_out",
    .musts = dots3_musts};

const tare_llama_arch tare_llama_towers_dots3[] = {
    {.name = CLIP,
     .classes = "Dots3NoteForCausalLM Dots3NoteForConditionalGeneration",
     .requires = "has(vision_config)",
     .tensors = "",
     .defaults = dots3_defaults,
     .own = dots3_keys,
     .rules = dots3_rules,
     .tower = &dots3_tower},
    {.name = NULL},
};
