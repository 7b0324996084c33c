/* SPDX-License-Identifier: MIT
 *
 * Nemotron Nano VL: RADIO's encoder of pictures, which has positions for larger ones than it is shown, and
 * Parakeet's encoder of sounds. */
#include "llama/arch/tower_rows.h"

#define RADIO       "vision_model.radio_model.model."
#define IF_HEARS(x) "if(has(sound_config), " x ")"
/* RADIO's config.json does not say how large its ViT-H is. */
static const char *const nano_defaults[] = {
    "vision_config.hidden_size = 1280",
    "vision_config.intermediate_size = 5120",
    "vision_config.num_hidden_layers = 32",
    "vision_config.num_attention_heads = 16",
    "vision_config.patch_size = 16",
    "vision_config.image_size = force_image_size | 512",
    "nano.grid = floor(vision_config.image_size / vision_config.patch_size)",
    "nano.ratio = downsample_ratio | 0.5",
    NULL};
static const tare_llama_key nano_keys[] = {
    {"audio.num_mel_bins", U32, IF_HEARS("sound_config.num_mel_bins")},
    {"audio.attention.layer_norm_epsilon", F32, IF_HEARS("0.00001")},
    {"audio.subsampling_factor", U32, IF_HEARS("sound_config.subsampling_factor")},
    {"audio.conv_kernel_size", U32, IF_HEARS("sound_config.conv_kernel_size")},
    {"audio.projector_type", TEXT, IF_HEARS("'parakeet'")},
    {"vision.projector_type", TEXT, IF_HEARS("'nemotron_v2_vl'")},
    {"projector_type", TEXT, "if(has(sound_config), nothing, 'nemotron_v2_vl')"},
    VISION_KEYS,
    {"vision.image_mean[3]", F32,
     "if(has(processor.image_mean), nothing, if(layer == 0, 0.485, if(layer == 1, 0.456, 0.406)))"},
    {"vision.image_std[3]", F32,
     "if(has(processor.image_std), nothing, if(layer == 0, 0.229, if(layer == 1, 0.224, 0.225)))"},
    {"has_audio_encoder", BOOL, IF_HEARS("true")},
    {"audio.projection_dim", U32, IF_HEARS("hidden_size")},
    {"audio.embedding_length", U32, IF_HEARS("sound_config.hidden_size")},
    {"audio.feed_forward_length", U32, IF_HEARS("sound_config.intermediate_size")},
    {"audio.block_count", U32, IF_HEARS("sound_config.num_hidden_layers")},
    {"audio.attention.head_count", U32, IF_HEARS("sound_config.num_attention_heads")},
    KEY_VISION_EPS("0.000001"),
    KEY_GELU,
    KEY_VISION_SCALE("floor(1 / nano.ratio)"),
    END_OF_KEYS};
#define SEES(name, to)                                                                             \
    { RADIO "blocks.#." name "@", "=v.blk.#." to, NULL }
#define HEARS "sound_encoder.encoder."
#define HEARD(name, to)                                                                            \
    { HEARS "layers.#." name "@", "=a.blk.#." to, NULL }
#define CONVOLVED(n)                                                                               \
    {HEARS "subsampling.layers." n ".weight", "=a.conv1d." n ".weight", NULL}, {                   \
        HEARS "subsampling.layers." n ".bias", "=a.conv1d." n ".bias", "view(1, d0, 1, 1)"         \
    }
#define BARE(name, to)                                                                             \
    { HEARS "layers.#." name, "=a.blk.#." to, NULL }
#define POINTS(n)                                                                                  \
    {HEARS "layers.#.conv.pointwise_conv" n ".weight", "=a.blk.#.conv_pw" n ".weight",             \
     "view(d0, d1)"},                                                                              \
    {                                                                                              \
        HEARS "layers.#.conv.pointwise_conv" n ".bias", "=a.blk.#.conv_pw" n ".bias",              \
            "view(1, d0, 1, 1)"                                                                    \
    }
static const tare_llama_rule nano_rules[] = {
    RULE_DROP("*input_conditioner*"), /* of the picture, before it comes here */
    RULE_DROP(RADIO "patch_generator.video_embedder*"),
    RULE_DROP("vision_model.radio_model.summary_idxs"),
    {RADIO "patch_generator.cls_token.token", "=v.class_embd", NULL},
    {RADIO "patch_generator.embedder.weight", "=v.patch_embd.weight",
     "view(d0, 3, vision_config.patch_size, vision_config.patch_size)"},
    {RADIO "patch_generator.pos_embed", "=v.position_embd.weight", "draw(nano.grid)"},
    SEES("attn.qkv", "attn_qkv"),
    SEES("attn.proj", "attn_out"),
    SEES("norm1", "ln1"),
    SEES("norm2", "ln2"),
    SEES("mlp.fc1", "ffn_up"),
    SEES("mlp.fc2", "ffn_down"),
    {"mlp1.0@", "=mm.model.mlp.0", NULL},
    {"mlp1.1@", "=mm.model.mlp.1", NULL},
    {"mlp1.3@", "=mm.model.mlp.3", NULL},
    {HEARS "feature_extractor.featurizer.fb", "=a.mel_filters", NULL},
    {HEARS "feature_extractor.featurizer.window", "=a.window", NULL},
    CONVOLVED("0"),
    CONVOLVED("2"),
    CONVOLVED("3"),
    CONVOLVED("5"),
    CONVOLVED("6"),
    BOTH(HEARS "subsampling.linear", "a.pre_encode.out"),
    HEARD("self_attn.q_proj", "attn_q"),
    HEARD("self_attn.k_proj", "attn_k"),
    HEARD("self_attn.v_proj", "attn_v"),
    HEARD("self_attn.o_proj", "attn_out"),
    HEARD("self_attn.relative_k_proj", "linear_pos"),
    BARE("self_attn.bias_u", "pos_bias_u"),
    BARE("self_attn.bias_v", "pos_bias_v"),
    HEARD("norm_self_att", "ln1"),
    HEARD("norm_out", "ln2"),
    HEARD("norm_feed_forward1", "ffn_norm"),
    HEARD("feed_forward1.linear1", "ffn_up"),
    HEARD("feed_forward1.linear2", "ffn_down"),
    HEARD("norm_feed_forward2", "ffn_norm_1"),
    HEARD("feed_forward2.linear1", "ffn_up_1"),
    HEARD("feed_forward2.linear2", "ffn_down_1"),
    HEARD("norm_conv", "norm_conv"),
    POINTS("1"),
    POINTS("2"),
    {HEARS "layers.#.conv.depthwise_conv.weight", "=a.blk.#.conv_dw.weight", "view(1, 1, d0, d2)"},
    BARE("conv.depthwise_conv.bias", "conv_dw.bias"),
    BARE("conv.norm.weight", "conv_norm.weight"),
    BARE("conv.norm.bias", "conv_norm.bias"),
    BARE("conv.norm.running_mean", "conv_norm_mean"),
    BARE("conv.norm.running_var", "conv_norm_var"),
    RULE_DROP(HEARS "layers.#.conv.norm.num_batches_tracked"),
    {"sound_projection.norm@", "=mm.a.norm_pre", NULL},
    {"sound_projection.linear1@", "=mm.a.mlp.1", NULL},
    {"sound_projection.linear2@", "=mm.a.mlp.2", NULL},
    END_OF_RULES};
static const tare_llama_must nano_musts[] = {
    {"if(has(sound_config), if(sound_config.subsampling_factor == 8, sound_config.conv_kernel_size "
     "% 2 == 1), true)",
     "sound_config.subsampling_factor or conv_kernel_size is not 8 and odd, as llama.cpp has it"},
    {"floor(1 / nano.ratio) == 1 / nano.ratio",
     "downsample_ratio is not one over a whole number, as llama.cpp has it"},
    {NULL, NULL}};
static const tare_llama_tower nano_tower = {
    .optional = "a.blk.#.conv_pw1.bias a.blk.#.conv_pw2.bias a.blk.#.conv_dw.bias",
    .projector = "nemotron_v2_vl",
    .takes = "vision_model. mlp1. sound_encoder. sound_projection.",
    .layers = "vision_config.num_hidden_layers",
    .positions = "nano.grid * nano.grid",
    .f32 = "a.conv1d.0 a.conv1d.2 a.conv1d.3 a.conv1d.5 a.conv1d.6 a.conv_pw1 a.conv_pw2 a.conv_dw",
    .musts = nano_musts};

const tare_llama_arch tare_llama_towers_nemotron[] = {
    {.name = CLIP,
     .classes = "NemotronH_Nano_VL_V2",
     .tensors = "",
     .defaults = nano_defaults,
     .own = nano_keys,
     .rules = nano_rules,
     .tower = &nano_tower},
    {.name = NULL},
};
