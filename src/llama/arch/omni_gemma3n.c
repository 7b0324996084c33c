/* SPDX-License-Identifier: MIT
 *
 * The encoders of Gemma 3n: a MobileNet for pictures, whose blocks have two numbers, and a conformer
 * for sound. */
#include "llama/arch/tower_rows.h"

static const char *const gemma3n_defaults[] = {
    "hidden_size = 2048",
    "vision_config.hidden_size = 2048",
    "vision_config.image_size = processor.size.height | 768",
    "vision_config.patch_size = floor(vision_config.image_size / (processor.image_seq_length | "
    "256))",
    "audio_config.hidden_size = 1536",
    "audio_config.conf_num_hidden_layers = 12",
    "audio_config.conf_num_attention_heads = 8",
    "audio_config.input_feat_size = 128",
    NULL};
/* llama.cpp counts neither the MobileNet's blocks nor its heads, and takes colours as they are. */
static const tare_llama_key gemma3n_keys[] = {
    KEY_FILE_TYPE,
    {"has_vision_encoder", BOOL, "true"},
    {"vision.projection_dim", U32, "hidden_size"},
    {"vision.image_size", U32, "vision_config.image_size"},
    {"vision.patch_size", U32, "vision_config.patch_size"},
    {"vision.embedding_length", U32, "vision_config.hidden_size"},
    {"vision.feed_forward_length", U32, "(vision_config.intermediate_size | 2048) * 4"},
    {"vision.block_count", U32, "128"},
    {"vision.attention.head_count", U32, "vision_config.num_attention_heads | 8"},
    {"vision.image_mean[3]", F32, "0"},
    {"vision.image_std[3]", F32, "1"},
    {"has_audio_encoder", BOOL, "true"},
    {"audio.projection_dim", U32, "hidden_size"},
    {"audio.embedding_length", U32, "audio_config.hidden_size"},
    {"audio.feed_forward_length", U32, "audio_config.intermediate_size | 6144"},
    {"audio.block_count", U32, "audio_config.conf_num_hidden_layers"},
    {"audio.attention.head_count", U32, "audio_config.conf_num_attention_heads"},
    {"vision.projector_type", TEXT, "'gemma3nv'"},
    {"vision.attention.layer_norm_epsilon", F32, "vision_config.layer_norm_eps | 0.000001"},
    {"audio.projector_type", TEXT, "'gemma3na'"},
    {"audio.num_mel_bins", U32, "audio_config.input_feat_size"},
    {"audio.attention.layer_norm_epsilon", F32, "0.00001"},
    END_OF_KEYS};

#define SEES(name)                                                                                 \
    { "vision_tower.timm_model.blocks.#.#." name "@", "=v.blk.#.#." name, NULL }
#define HEARS(name, to)                                                                            \
    { "audio_tower.conformer.#." name "@", "=a.blk.#." to, NULL }
#define FORWARD(part, end)                                                                         \
    HEARS(part ".pre_layer_norm", "ffn_norm" end),                                                 \
        HEARS(part ".post_layer_norm", "ffn_post_norm" end),                                       \
        HEARS(part ".ffw_layer_1", "ffn_up" end), HEARS(part ".ffw_layer_2", "ffn_down" end)
#define CONVOLVES(n)                                                                               \
    {"audio_tower.subsample_conv_projection.conv_" n ".conv@", "=a.conv1d." n, NULL}, {            \
        "audio_tower.subsample_conv_projection.conv_" n ".norm@", "=a.conv1d." n ".norm", NULL     \
    }
#define EMBEDS(from, to)                                                                           \
    {from ".embedding@", "=" to ".embedding", NULL},                                               \
        {from ".hard_embedding_norm@", "=" to ".hard_emb_norm", NULL},                             \
        {from ".soft_embedding_norm@", "=" to ".soft_emb_norm", NULL}, {                           \
        from ".embedding_projection@", "=" to ".input_projection", NULL                            \
    }
static const tare_llama_rule gemma3n_rules[] = {
    {"vision_tower.timm_model.conv_stem.conv.weight", "=v.conv_stem.conv.weight", NULL},
    {"vision_tower.timm_model.conv_stem.conv.bias", "=v.conv_stem.conv.bias", "view(1, d0, 1, 1)"},
    {"vision_tower.timm_model.conv_stem.bn@", "=v.conv_stem.bn", NULL},
    {"vision_tower.timm_model.msfa.ffn.pw_exp.conv@", "=v.msfa.ffn.pw_exp.conv", NULL},
    {"vision_tower.timm_model.msfa.ffn.pw_exp.bn@", "=v.msfa.ffn.pw_exp.bn", NULL},
    {"vision_tower.timm_model.msfa.ffn.pw_proj.conv@", "=v.msfa.ffn.pw_proj.conv", NULL},
    {"vision_tower.timm_model.msfa.ffn.pw_proj.bn@", "=v.msfa.ffn.pw_proj.bn", NULL},
    {"vision_tower.timm_model.msfa.norm@", "=v.msfa.norm", NULL},
    SEES("conv_exp"),
    SEES("bn1"),
    SEES("conv_pwl"),
    SEES("bn2"),
    SEES("dw_start.conv"),
    SEES("dw_start.bn"),
    SEES("dw_mid.conv"),
    SEES("dw_mid.bn"),
    SEES("pw_exp.conv"),
    SEES("pw_exp.bn"),
    SEES("pw_proj.conv"),
    SEES("pw_proj.bn"),
    SEES("attn.query.proj"),
    SEES("attn.key.proj"),
    SEES("attn.value.proj"),
    SEES("attn.output.proj"),
    SEES("attn.key.down_conv"),
    SEES("attn.key.norm"),
    SEES("attn.value.down_conv"),
    SEES("attn.value.norm"),
    SEES("norm"),
    {"vision_tower.timm_model.blocks.#.#.layer_scale.gamma", "=v.blk.#.#.layer_scale.gamma", NULL},
    EMBEDS("embed_vision", "mm"),
    EMBEDS("embed_audio", "mm.a"),
    CONVOLVES("0"),
    CONVOLVES("1"),
    {"audio_tower.subsample_conv_projection.input_proj_linear@", "=a.pre_encode.out", NULL},
    HEARS("attention.attn.q_proj", "attn_q"),
    HEARS("attention.attn.k_proj", "attn_k"),
    HEARS("attention.attn.v_proj", "attn_v"),
    {"audio_tower.conformer.#.attention.attn.per_dim_scale", "=a.blk.#.per_dim_scale", NULL},
    HEARS("attention.attn.relative_position_embedding.pos_proj", "linear_pos"),
    HEARS("attention.pre_attn_norm", "ln1"),
    HEARS("attention.post", "attn_out"),
    HEARS("attention.post_norm", "ln2"),
    HEARS("norm", "layer_pre_norm"),
    FORWARD("ffw_layer_start", ""),
    FORWARD("ffw_layer_end", "_1"),
    HEARS("lconv1d.pre_layer_norm", "conv_norm"),
    HEARS("lconv1d.linear_start", "conv_pw1"),
    HEARS("lconv1d.depthwise_conv1d", "conv_dw"),
    HEARS("lconv1d.conv_norm", "norm_conv"),
    HEARS("lconv1d.linear_end", "conv_pw2"),
    END_OF_RULES};
/* llama.cpp convolves in F16 and F32 only. */
static tare_status prefer_f16(tare_llama_mapping *m, tare_error *err) {
    (void)err;
    m->usual_type = TARE_ENCODING_F16;
    return TARE_OK;
}

static const tare_llama_tower gemma3n_tower = {
    .projector = "gemma3nv",
    .takes = "vision_tower. embed_vision. audio_tower. embed_audio.",
    .layers = "128",
    .f32 = "v.conv_stem.conv a.conv_dw a.conv1d.0 a.conv1d.1",
    .f16 = "a.pre_encode.out",
    .generate = prefer_f16};

const tare_llama_arch tare_llama_towers_gemma3n[] = {
    {.name = CLIP,
     .classes = "Gemma3nForConditionalGeneration",
     .tensors = "",
     .defaults = gemma3n_defaults,
     .own = gemma3n_keys,
     .rules = gemma3n_rules,
     .tower = &gemma3n_tower},
    {.name = NULL},
};
