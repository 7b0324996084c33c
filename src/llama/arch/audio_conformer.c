/* SPDX-License-Identifier: MIT
 *
 * Audio encoders whose blocks have convolutions between two feed-forward parts: those of Granite
 * Speech and LFM2-Audio. A batch norm becomes what it multiplies by and adds. */
#include "llama/arch/tower_rows.h"

#define IN_BLOCK(p, name, to)                                                                      \
    { p "layers.#." name "@", "=a.blk.#." to, NULL }
#define BATCH_NORM(p)                                                                              \
    {p "layers.#.conv.batch_norm.weight", "=a.blk.#.conv_norm.weight", "norm_factor"},             \
        {p "layers.#.conv.batch_norm.weight", "=a.blk.#.conv_norm.bias", "norm_shift"},            \
        RULE_DROP(p "layers.#.conv.batch_norm.bias"),                                              \
        RULE_DROP(p "layers.#.conv.batch_norm.running_mean"),                                      \
        RULE_DROP(p "layers.#.conv.batch_norm.running_var"),                                       \
        RULE_DROP(p "layers.#.conv.batch_norm.num_batches_tracked")
#define CONFORMER_F32 "a.conv_pw1 a.conv_pw2 a.conv_dw"

/* ---- Granite Speech ---------------------------------------------------------------------------- */

#define GRANITE_KEYS                                                                               \
    KEY_FILE_TYPE, {"has_audio_encoder", BOOL, "true"},                                            \
        {"audio.projection_dim", U32, "hidden_size"},                                              \
        {"audio.embedding_length", U32, "encoder_config.hidden_dim"},                              \
        {"audio.feed_forward_length", U32,                                                         \
         "encoder_config.hidden_dim * encoder_config.feedforward_mult"},                           \
        {"audio.block_count", U32, "layers"},                                                      \
        {"audio.attention.head_count", U32, "encoder_config.num_heads"},                           \
        KEY_PROJECTOR("granite_speech"), {"audio.num_mel_bins", U32, "encoder_config.input_dim"},  \
        {"audio.attention.layer_norm_epsilon", F32, "0.00001"},                                    \
        {"audio.chunk_size", U32, "encoder_config.context_size"},                                  \
        {"audio.conv_kernel_size", U32, "encoder_config.conv_kernel_size"},                        \
        {"audio.max_pos_emb", U32, "encoder_config.max_pos_emb"},                                  \
        {"audio.projector.window_size", U32, "window_size"},                                       \
        {"audio.projector.downsample_rate", U32, "downsample_rate"}, {                             \
        "audio.projector.head_count", U32, "projector_config.num_attention_heads"                  \
    }
static const tare_llama_key granite_keys[] = {GRANITE_KEYS, END_OF_KEYS};
/* The last layer's output beside those of the layers that it names. */
static const tare_llama_key granite_plus_keys[] = {
    GRANITE_KEYS, {"audio.feature_layer", I32, "encoder_config.cat_hidden_layers"}, END_OF_KEYS};
#define GRANITE(name, to) IN_BLOCK("encoder.", name, to)
#define QFORMER(name, to)                                                                          \
    { "projector.qformer.encoder.layer.#." name "@", "=a.proj_blk.#." to, NULL }
#define QFORMER_OF(from, to)                                                                       \
    QFORMER(from ".attention.query", to "_q"), QFORMER(from ".attention.key", to "_k"),            \
        QFORMER(from ".attention.value", to "_v"), QFORMER(from ".output.dense", to "_out"),       \
        QFORMER(from ".output.LayerNorm", to "_norm")
static const tare_llama_rule granite_rules[] = {
    {"encoder.input_linear@", "=a.input_projection", NULL},
    {"encoder.out@", "=a.enc_ctc_out", NULL},
    {"encoder.out_mid@", "=a.enc_ctc_out_mid", NULL},
    GRANITE("attn.to_q", "attn_q"),
    {"encoder.layers.#.attn.to_kv.weight", "=a.blk.#.attn_k.weight", "slice(0, 0, 2)"},
    {"encoder.layers.#.attn.to_kv.weight", "=a.blk.#.attn_v.weight", "slice(0, 1, 2)"},
    GRANITE("attn.to_out", "attn_out"),
    {"encoder.layers.#.attn.rel_pos_emb.weight", "=a.blk.#.attn_rel_pos_emb", NULL},
    GRANITE("attn.pre_norm", "ln1"),
    GRANITE("post_norm", "ln2"),
    GRANITE("ff1.pre_norm", "ffn_norm"),
    GRANITE("ff1.up_proj", "ffn_up"),
    GRANITE("ff1.down_proj", "ffn_down"),
    GRANITE("ff2.pre_norm", "ffn_norm_1"),
    GRANITE("ff2.up_proj", "ffn_up_1"),
    GRANITE("ff2.down_proj", "ffn_down_1"),
    GRANITE("conv.norm", "norm_conv"),
    {"encoder.layers.#.conv.up_conv.weight", "=a.blk.#.conv_pw1.weight", "view(d0, d1)"},
    {"encoder.layers.#.conv.up_conv.bias", "=a.blk.#.conv_pw1.bias", NULL},
    {"encoder.layers.#.conv.depth_conv.conv.weight", "=a.blk.#.conv_dw.weight", "view(d0, d2)"},
    {"encoder.layers.#.conv.depth_conv.conv.bias", "=a.blk.#.conv_dw.bias", NULL},
    {"encoder.layers.#.conv.down_conv.weight", "=a.blk.#.conv_pw2.weight", "view(d0, d1)"},
    {"encoder.layers.#.conv.down_conv.bias", "=a.blk.#.conv_pw2.bias", NULL},
    BATCH_NORM("encoder."),
    RULE_DROP("*attention_dists"),
    {"projector.query", "=a.proj_query", NULL},
    {"projector.qformer.layernorm@", "=a.proj_norm", NULL},
    {"projector.linear@", "=a.proj_linear", NULL},
    QFORMER_OF("attention", "self_attn"),
    QFORMER_OF("crossattention", "cross_attn"),
    QFORMER("intermediate_query.dense", "ffn_up"),
    QFORMER("output_query.dense", "ffn_down"),
    QFORMER("output_query.LayerNorm", "ffn_norm"),
    END_OF_RULES};
static const tare_llama_must granite_plus_musts[] = {
    {"projector_config.encoder_hidden_size == "
     "encoder_config.hidden_dim * ((len(encoder_config.cat_hidden_layers) | 0) + 1)",
     "projector_config.encoder_hidden_size is not the width of all layers that it takes"},
    {NULL, NULL}};
static const tare_llama_tower granite_tower = {.optional = "a.blk.#.conv_dw.bias",
                                               .projector = "granite_speech",
                                               .takes = "encoder. projector.",
                                               .layers = "encoder_config.num_layers",
                                               .f32 = CONFORMER_F32};
static const tare_llama_tower granite_plus_tower = {.optional = "a.blk.#.conv_dw.bias",
                                                    .projector = "granite_speech",
                                                    .takes = "encoder. projector.",
                                                    .layers = "encoder_config.num_layers",
                                                    .f32 = CONFORMER_F32,
                                                    .musts = granite_plus_musts};

/* ---- LFM2-Audio -------------------------------------------------------------------------------- */

static const tare_llama_key lfm2_keys[] = {KEY_FILE_TYPE,
                                           {"has_audio_encoder", BOOL, "true"},
                                           {"audio.projection_dim", U32, "hidden_size"},
                                           {"audio.embedding_length", U32, "encoder.d_model"},
                                           {"audio.feed_forward_length", U32, "encoder.d_model"},
                                           {"audio.block_count", U32, "layers"},
                                           {"audio.attention.head_count", U32, "encoder.n_heads"},
                                           KEY_PROJECTOR("lfm2a"),
                                           {"audio.num_mel_bins", U32, "encoder.feat_in"},
                                           {"audio.attention.layer_norm_epsilon", F32, "0.00001"},
                                           END_OF_KEYS};
#define LFM2(name, to) IN_BLOCK("conformer.", name, to)
static const tare_llama_rule lfm2_rules[] = {
    {"conformer.pre_encode.conv.#.weight", "=a.conv1d.#.weight", NULL},
    {"conformer.pre_encode.conv.#.bias", "=a.conv1d.#.bias", "view(d0, 1, 1)"},
    {"conformer.pre_encode.out@", "=a.pre_encode.out", NULL},
    LFM2("self_attn.linear_q", "attn_q"),
    LFM2("self_attn.linear_k", "attn_k"),
    LFM2("self_attn.linear_v", "attn_v"),
    LFM2("self_attn.linear_out", "attn_out"),
    LFM2("self_attn.linear_pos", "linear_pos"),
    {"conformer.layers.#.self_attn.pos_bias_u", "=a.blk.#.pos_bias_u", NULL},
    {"conformer.layers.#.self_attn.pos_bias_v", "=a.blk.#.pos_bias_v", NULL},
    LFM2("norm_self_att", "ln1"),
    LFM2("norm_out", "ln2"),
    LFM2("norm_feed_forward1", "ffn_norm"),
    LFM2("feed_forward1.linear1", "ffn_up"),
    LFM2("feed_forward1.linear2", "ffn_down"),
    LFM2("norm_feed_forward2", "ffn_norm_1"),
    LFM2("feed_forward2.linear1", "ffn_up_1"),
    LFM2("feed_forward2.linear2", "ffn_down_1"),
    LFM2("norm_conv", "norm_conv"),
    {"conformer.layers.#.conv.pointwise_conv1.weight", "=a.blk.#.conv_pw1.weight", "view(d0, d1)"},
    {"conformer.layers.#.conv.pointwise_conv1.bias", "=a.blk.#.conv_pw1.bias", NULL},
    {"conformer.layers.#.conv.depthwise_conv.weight", "=a.blk.#.conv_dw.weight", "view(d0, d2)"},
    {"conformer.layers.#.conv.depthwise_conv.bias", "=a.blk.#.conv_dw.bias", NULL},
    {"conformer.layers.#.conv.pointwise_conv2.weight", "=a.blk.#.conv_pw2.weight", "view(d0, d1)"},
    {"conformer.layers.#.conv.pointwise_conv2.bias", "=a.blk.#.conv_pw2.bias", NULL},
    BATCH_NORM("conformer."),
    {"audio_adapter.model.#@", "=mm.a.mlp.#", NULL},
    /* of the part that produces sound llama.cpp reads these embeddings only */
    {"audio_embedding.embedding@", "=a.position_embd", NULL},
    {"audio_embedding.embedding_norm@", "=a.position_embd_norm", NULL},
    {"audio_embedding.to_logits@", "=a.embd_to_logits", NULL},
    RULE_DROP("*audio_loss_weight*"),
    RULE_DROP("*codebook_offsets*"),
    RULE_DROP("*depth_embeddings*"),
    RULE_DROP("*depth_linear*"),
    RULE_DROP("*depthformer*"),
    END_OF_RULES};
static const tare_llama_tower lfm2_tower = {
    .projector = "lfm2a",
    .takes = "conformer. audio_adapter. audio_embedding.",
    .layers = "encoder.n_layers",
    .f32 = CONFORMER_F32 " a.conv1d.0 a.conv1d.2 a.conv1d.3 a.conv1d.5 a.conv1d.6"};

const tare_llama_arch tare_llama_towers_conformer[] = {
    {.name = CLIP,
     .classes = "GraniteSpeechForConditionalGeneration",
     .tensors = "",
     .own = granite_keys,
     .rules = granite_rules,
     .tower = &granite_tower},
    {.name = CLIP,
     .classes = "GraniteSpeechPlusForConditionalGeneration",
     .tensors = "",
     .own = granite_plus_keys,
     .rules = granite_rules,
     .tower = &granite_plus_tower},
    {.name = CLIP,
     .classes = "Lfm2AudioForConditionalGeneration",
     .tensors = "",
     .own = lfm2_keys,
     .rules = lfm2_rules,
     .tower = &lfm2_tower},
    {.name = NULL},
};
