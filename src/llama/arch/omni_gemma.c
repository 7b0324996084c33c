/* SPDX-License-Identifier: MIT
 *
 * Encoders of Gemma 4, which sees and, where config.json tells of it, hears; the unified models see
 * and hear without blocks. */
#include "llama/arch/tower_rows.h"

/* Sizes of sounds, where the model hears. */
#define IF_HEARS(x) "if(has(gemma.hears), " x ")"
#define GEMMA_AUDIO_KEYS(inner)                                                                    \
    {"has_audio_encoder", BOOL, IF_HEARS("true")},                                                 \
        {"audio.projection_dim", U32, IF_HEARS("hidden_size")},                                    \
        {"audio.embedding_length", U32, "gemma.hears"},                                            \
        {"audio.feed_forward_length", U32, IF_HEARS(inner)},                                       \
        {"audio.block_count", U32, IF_HEARS("audio_config.num_hidden_layers | 0")}, {              \
        "audio.attention.head_count", U32, IF_HEARS("audio_config.num_attention_heads | 0")        \
    }
#define GEMMA_KEYS(sees, hears, inner)                                                             \
    VISION_KEYS, {"vision.image_size", U32, "224"}, GEMMA_AUDIO_KEYS(inner),                       \
        {"vision.projector_type", TEXT, "'" sees "'"},                                             \
        KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),                                 \
        {"audio.projector_type", TEXT, IF_HEARS("'" hears "'")},                                   \
        {"audio.num_mel_bins", U32, IF_HEARS("audio_config.input_feat_size | 128")}, {             \
        "audio.attention.layer_norm_epsilon", F32,                                                 \
            IF_HEARS("audio_config.layer_norm_eps | 0.000001")                                     \
    }
#define GEMMA_EMBED                                                                                \
    {"embed_vision.embedding_projection@", "=mm.input_projection", NULL}, {                        \
        "embed_audio.embedding_projection@", "=mm.a.input_projection", NULL                        \
    }

/* ---- Gemma 4 --------------------------------------------------------------------------------- */

static const char *const gemma4_defaults[] = {"vision_config.image_size = 224",
                                              "gemma.hears = audio_config.hidden_size", NULL};
static const tare_llama_key gemma4_keys[] = {
    GEMMA_KEYS("gemma4v", "gemma4a", "4 * audio_config.hidden_size"), END_OF_KEYS};
/* A matrix, and between which numbers what goes into it and comes out of it is kept. */
#define BOUND(name, to, which)                                                                     \
    { name which, "=" to which, "view(1)" }
#define BOUNDS(name, to)                                                                           \
    BOUND(name, to, ".input_min"), BOUND(name, to, ".input_max"), BOUND(name, to, ".output_min"),  \
        BOUND(name, to, ".output_max")
#define CLIPPED(name, to) {name ".linear.weight", "=" to ".weight", NULL}, BOUNDS(name, to)
#define SEES              "vision_tower.encoder.layers.#."
#define HEARS             "audio_tower.layers.#."
#define PLAIN(name, to)                                                                            \
    { name "@", "=" to, NULL }
static const tare_llama_rule gemma4_rules[] = {
    GEMMA_EMBED,
    {"vision_tower.patch_embedder.input_proj.weight", "=v.patch_embd.weight",
     "view(d0, round(sqrt(d1 / 3)), round(sqrt(d1 / 3)), 3) swap(2, 3) swap(1, 2)"},
    {"vision_tower.patch_embedder.position_embedding_table", "=v.position_embd.weight", NULL},
    {"vision_tower.std_bias", "=v.std_bias", NULL},
    {"vision_tower.std_scale", "=v.std_scale", NULL},
    {"vision_tower.encoder.layers.#.layer_scalar", "=v.blk.#.out_scale.weight", "view(0)"},
    CLIPPED(SEES "self_attn.q_proj", "v.blk.#.attn_q"),
    CLIPPED(SEES "self_attn.k_proj", "v.blk.#.attn_k"),
    CLIPPED(SEES "self_attn.v_proj", "v.blk.#.attn_v"),
    CLIPPED(SEES "self_attn.o_proj", "v.blk.#.attn_out"),
    CLIPPED(SEES "mlp.gate_proj", "v.blk.#.ffn_gate"),
    CLIPPED(SEES "mlp.up_proj", "v.blk.#.ffn_up"),
    CLIPPED(SEES "mlp.down_proj", "v.blk.#.ffn_down"),
    PLAIN(SEES "self_attn.q_norm", "v.blk.#.attn_q_norm"),
    PLAIN(SEES "self_attn.k_norm", "v.blk.#.attn_k_norm"),
    PLAIN(SEES "input_layernorm", "v.blk.#.ln1"),
    PLAIN(SEES "post_attention_layernorm", "v.blk.#.attn_post_norm"),
    PLAIN(SEES "pre_feedforward_layernorm", "v.blk.#.ln2"),
    PLAIN(SEES "post_feedforward_layernorm", "v.blk.#.ffn_post_norm"),
    {"audio_tower.subsample_conv_projection.layer0.conv@", "=a.conv1d.0", NULL},
    {"audio_tower.subsample_conv_projection.layer0.norm@", "=a.conv1d.0.norm", NULL},
    {"audio_tower.subsample_conv_projection.layer1.conv@", "=a.conv1d.1", NULL},
    {"audio_tower.subsample_conv_projection.layer1.norm@", "=a.conv1d.1.norm", NULL},
    {"audio_tower.subsample_conv_projection.input_proj_linear@", "=a.input_projection", NULL},
    BOTH("audio_tower.output_proj", "a.pre_encode.out"),
    CLIPPED(HEARS "self_attn.q_proj", "a.blk.#.attn_q"),
    CLIPPED(HEARS "self_attn.k_proj", "a.blk.#.attn_k"),
    CLIPPED(HEARS "self_attn.v_proj", "a.blk.#.attn_v"),
    CLIPPED(HEARS "self_attn.post", "a.blk.#.attn_out"),
    CLIPPED(HEARS "feed_forward1.ffw_layer_1", "a.blk.#.ffn_up"),
    CLIPPED(HEARS "feed_forward1.ffw_layer_2", "a.blk.#.ffn_down"),
    CLIPPED(HEARS "feed_forward2.ffw_layer_1", "a.blk.#.ffn_up_1"),
    CLIPPED(HEARS "feed_forward2.ffw_layer_2", "a.blk.#.ffn_down_1"),
    CLIPPED(HEARS "lconv1d.linear_start", "a.blk.#.conv_pw1"),
    CLIPPED(HEARS "lconv1d.linear_end", "a.blk.#.conv_pw2"),
    PLAIN(HEARS "self_attn.relative_k_proj", "a.blk.#.attn_k_rel"),
    PLAIN(HEARS "norm_pre_attn", "a.blk.#.attn_pre_norm"),
    PLAIN(HEARS "norm_post_attn", "a.blk.#.attn_post_norm"),
    PLAIN(HEARS "norm_out", "a.blk.#.ln2"),
    PLAIN(HEARS "feed_forward1.pre_layer_norm", "a.blk.#.ffn_norm"),
    PLAIN(HEARS "feed_forward1.post_layer_norm", "a.blk.#.ffn_post_norm"),
    PLAIN(HEARS "feed_forward2.pre_layer_norm", "a.blk.#.ffn_norm_1"),
    PLAIN(HEARS "feed_forward2.post_layer_norm", "a.blk.#.ffn_post_norm_1"),
    PLAIN(HEARS "lconv1d.pre_layer_norm", "a.blk.#.conv_norm"),
    PLAIN(HEARS "lconv1d.conv_norm", "a.blk.#.norm_conv"),
    {"audio_tower.layers.#.lconv1d.depthwise_conv1d.weight", "=a.blk.#.conv_dw.weight",
     "view(d0, d2)"},
    {"audio_tower.layers.#.self_attn.per_dim_scale", "=a.blk.#.per_dim_scale.weight", "softplus"},
    END_OF_RULES};
static const tare_llama_tower gemma4_tower = {
    .optional = "v.std_bias v.std_scale *.input_min *.input_max *.output_min *.output_max",
    .projector = "gemma4v",
    .takes = "vision_tower. embed_vision. audio_tower. embed_audio.",
    .layers = VISION_LAYERS,
    .f32 = "a.conv1d.0 a.conv1d.1 a.input_projection a.conv_dw"};

/* ---- Gemma 4, unified ------------------------------------------------------------------------ */

/* Patches of several, which are cut from pictures at once. */
static const char *const unified_defaults[] = {
    "vision_config.hidden_size = vision_config.mm_embed_dim",
    "vision_config.intermediate_size = 0",
    "vision_config.num_attention_heads = 0",
    "vision_config.image_size = 224",
    "gemma.hears = audio_config.audio_embed_dim",
    "gemma.patch = vision_config.model_patch_size | "
    "vision_config.patch_size * vision_config.pooling_kernel_size",
    NULL};
static const tare_llama_key unified_keys[] = {GEMMA_KEYS("gemma4uv", "gemma4ua", "0"), END_OF_KEYS};
/* Colours of each pixel side by side become pixels of each colour. */
#define BY_COLOUR "swap(2, 3) swap(1, 2) view(d0, 0)"
#define UNIFIED_NORM(from, to)                                                                     \
    { "vision_embedder." from "@", "=v.patch_norm." to, NULL }
static const tare_llama_rule unified_rules[] = {
    GEMMA_EMBED,
    {"vision_embedder.patch_dense.weight", "=v.patch_embd.weight",
     "view(d0, gemma.patch, gemma.patch, 3) " BY_COLOUR},
    {"vision_embedder.patch_dense.bias", "=v.patch_embd.bias", NULL},
    {"vision_embedder.patch_ln1@", "=v.patch_norm.1",
     "view(1, gemma.patch, gemma.patch, 3) " BY_COLOUR " view(0)"},
    UNIFIED_NORM("patch_ln2", "2"),
    UNIFIED_NORM("pos_norm", "3"),
    {"vision_embedder.pos_embedding", "=v.position_embd.weight", "swap(0, 1)"},
    END_OF_RULES};
static const tare_llama_tower unified_tower = {.projector = "gemma4uv",
                                               .takes =
                                                   "vision_embedder. embed_vision. embed_audio.",
                                               .layers = "vision_config.num_hidden_layers | 0"};

const tare_llama_arch tare_llama_towers_gemma[] = {
    {.name = CLIP,
     .classes = "Gemma4ForConditionalGeneration EmbeddingGemma2Model",
     .tensors = "",
     .defaults = gemma4_defaults,
     .own = gemma4_keys,
     .rules = gemma4_rules,
     .tower = &gemma4_tower},
    {.name = CLIP,
     .classes = "Gemma4UnifiedForConditionalGeneration",
     .tensors = "",
     .defaults = unified_defaults,
     .own = unified_keys,
     .rules = unified_rules,
     .tower = &unified_tower},
    {.name = NULL},
};
