/* SPDX-License-Identifier: MIT
 *
 * Rows that several towers share. Names are those without "model." before them. */
#ifndef TARE_LLAMA_ARCH_TOWER_ROWS_H
#define TARE_LLAMA_ARCH_TOWER_ROWS_H

#include "llama/arch/rows.h"
#include "llama/tower.h"

#define CLIP "clip" /* general.architecture of every tower */

/* As transformers 5.24 names CLIP and SigLIP: without the model inside of the tower. */
#define CUT_TOWER(part) "vision_tower." part ">vision_tower.vision_model." part
#define TOWER_OF_CLIP                                                                              \
    CUT_TOWER("embeddings.")                                                                       \
    " " CUT_TOWER("encoder.") " " CUT_TOWER("pre_layrnorm.") " " CUT_TOWER(                        \
        "post_layernorm.") " " CUT_TOWER("head.")

#define VISION_LAYERS "vision_config.num_hidden_layers | vision_config.depth"
/* Patches of a picture, where it has to be of image_size. */
#define VISION_GRID                                                                                \
    "floor(vision_config.image_size / vision_config.patch_size) * "                                \
    "floor(vision_config.image_size / vision_config.patch_size)"
/* The keys that every vision encoder begins with; `width`, `inner`: formulas. */
#define VISION_KEYS_OF(width, inner)                                                               \
    KEY_FILE_TYPE, {"has_vision_encoder", BOOL, "true"},                                           \
        {"vision.projection_dim", U32, "hidden_size | n_embd"},                                    \
        {"vision.image_size", U32, "vision_config.image_size"},                                    \
        {"vision.patch_size", U32, "vision_config.patch_size"},                                    \
        {"vision.embedding_length", U32, width}, {"vision.feed_forward_length", U32, inner},       \
        {"vision.block_count", U32, "layers"},                                                     \
        {"vision.attention.head_count", U32,                                                       \
         "vision_config.num_attention_heads | vision_config.num_heads | vision_config.heads"},     \
        {"vision.image_mean", F32, "processor.image_mean"}, {                                      \
        "vision.image_std", F32, "processor.image_std"                                             \
    }
#define VISION_KEYS VISION_KEYS_OF("vision_config.hidden_size", "vision_config.intermediate_size")

#define KEY_PROJECTOR(type)                                                                        \
    { "projector_type", TEXT, "'" type "'" }
#define KEY_VISION_EPS(formula)                                                                    \
    { "vision.attention.layer_norm_epsilon", F32, formula }
#define KEY_VISION_SCALE(formula)                                                                  \
    { "vision.projector.scale_factor", U32, formula }
/* Pictures are scaled to a size between these. */
#define KEY_MIN_PIXELS(formula)                                                                    \
    { "vision.image_min_pixels", U32, formula }
#define KEY_MAX_PIXELS(formula)                                                                    \
    { "vision.image_max_pixels", U32, formula }
#define MIN_PIXELS "processor.min_pixels"
#define MAX_PIXELS "processor.max_pixels"
#define KEY_VISION_MERGE(formula)                                                                  \
    { "vision.spatial_merge_size", U32, formula }
#define KEY_GELU                                                                                   \
    { "use_gelu", BOOL, "true" }
#define KEY_SILU                                                                                   \
    { "use_silu", BOOL, "true" }
/* As hidden_act says. */
#define VISION_ACT     "word(vision_config.hidden_act, '" TARE_LLAMA_ACTIVATIONS "')"
#define VISION_IS_GELU "one_of(" VISION_ACT ", '" TARE_LLAMA_GELUS "')"
#define KEYS_ACTIVATION                                                                            \
    {"use_silu", BOOL, "if(" VISION_ACT " == 'silu', true)"}, {                                    \
        "use_gelu", BOOL, "if(" VISION_IS_GELU ", true)"                                           \
    }
#define MUST_ACTIVATE                                                                              \
    {                                                                                              \
        "if(" VISION_ACT " == 'silu', true, " VISION_IS_GELU ")",                                  \
            "vision_config.hidden_act is neither silu nor gelu, which llama.cpp computes"          \
    }

extern const tare_llama_must tare_llama_must_activate[];

/* A weight and a bias, neither of which may be missing. */
#define BOTH(name, to)                                                                             \
    {name ".weight", "=" to ".weight", NULL}, {                                                    \
        name ".bias", "=" to ".bias", NULL                                                         \
    }

/* A convolution over patches, which are squares. */
#define PATCHES(name)                                                                              \
    {name ".weight", "=v.patch_embd.weight", PATCH_SQUARE}, {                                      \
        name ".bias", "=v.patch_embd.bias", NULL                                                   \
    }
#define PATCH_SQUARE "view(d0, d1, vision_config.patch_size, vision_config.patch_size)"

/* Blocks and what is around them as SigLIP's authors named them; p: what stands before, only: which
 * blocks are taken. */
#define SIGLIP_BLOCKS_IF(p, only)                                                                  \
    {p "self_attn.q_proj@", "=v.blk.#.attn_q", only},                                              \
        {p "self_attn.k_proj@", "=v.blk.#.attn_k", only},                                          \
        {p "self_attn.v_proj@", "=v.blk.#.attn_v", only},                                          \
        {p "self_attn.out_proj@", "=v.blk.#.attn_out", only},                                      \
        {p "layer_norm1@", "=v.blk.#.ln1", only}, {p "layer_norm2@", "=v.blk.#.ln2", only},        \
        {p "mlp.fc1@", "=v.blk.#.ffn_up", only}, {                                                 \
        p "mlp.fc2@", "=v.blk.#.ffn_down", only                                                    \
    }
#define SIGLIP_BLOCKS(p) SIGLIP_BLOCKS_IF(p, NULL)
#define SIGLIP(p)                                                                                  \
    SIGLIP_BLOCKS(p "encoder.layers.#."), PATCHES(p "embeddings.patch_embedding"),                 \
        {p "embeddings.position_embedding@", "=v.position_embd", NULL}, {                          \
        p "post_layernorm@", "=v.post_ln", NULL                                                    \
    }

/* Queries, keys and values in one matrix, one behind the other. */
#define SPLIT_QKV(match)                                                                           \
    {match, "=v.blk.#.attn_q", "slice(0, 0, 3)"}, {match, "=v.blk.#.attn_k", "slice(0, 1, 3)"}, {  \
        match, "=v.blk.#.attn_v", "slice(0, 2, 3)"                                                 \
    }
/* A convolution over two frames as two over one each. */
#define PATCH_PAIR "view(d0, d1, 2, vision_config.patch_size, vision_config.patch_size) "
#define SPLIT_FRAMES(match)                                                                        \
    {match, "=v.patch_embd.weight", PATCH_PAIR "rows(2, 0, 1) " PATCH_SQUARE}, {                   \
        match, "=v.patch_embd.weight.1", PATCH_PAIR "rows(2, 1, 1) " PATCH_SQUARE                  \
    }

/* The shapes that the two had, on the way back. */
#define SHAPE_QKV(match)                                                                           \
    { match, "3 * d0, cols" }
#define SHAPE_FRAMES(match)                                                                        \
    { match, "d0, d1, 2, d2, d3" }

/* ---- Qwen's encoders, which others have, too ------------------------------------------------- */

#define FULL            "vision_config.fullatt_block_indexes"
#define FULL_STEP       "at(" FULL ", 0) + 1"
#define FULL_IS_REGULAR "at(" FULL ", len(" FULL ") - 1) + 1 == len(" FULL ") * (" FULL_STEP ")"
#define IRREGULAR       FULL " is not every n-th block, which llama.cpp computes"
#define QWEN_BLOCK(name, to)                                                                       \
    { "visual.blocks.#." name "@", "=v.blk.#." to, NULL }
/* What all of them have. */
#define QWEN_BLOCKS                                                                                \
    SPLIT_FRAMES("visual.patch_embed.proj.weight"), QWEN_BLOCK("attn.proj", "attn_out"),           \
        QWEN_BLOCK("norm1", "ln1"), QWEN_BLOCK("norm2", "ln2")
#define QWEN_GATED                                                                                 \
    QWEN_BLOCK("mlp.gate_proj", "ffn_gate"), QWEN_BLOCK("mlp.up_proj", "ffn_up"),                  \
        QWEN_BLOCK("mlp.down_proj", "ffn_down")
#define QWEN_MERGER                                                                                \
    {"visual.merger.ln_q@", "=v.post_ln", NULL}, {                                                 \
        "visual.merger.mlp.#@", "=mm.#", NULL                                                      \
    }
#define QWEN3_BLOCKS                                                                               \
    QWEN_BLOCKS, QWEN_BLOCK("attn.qkv", "attn_qkv"),                                               \
        {"visual.patch_embed.proj.bias", "=v.patch_embd.bias", NULL},                              \
        {"visual.pos_embed@", "=v.position_embd", NULL}, QWEN_BLOCK("mlp.linear_fc1", "ffn_up"),   \
        QWEN_BLOCK("mlp.linear_fc2", "ffn_down")
#define QWEN3_IMAGE_SIZE                                                                           \
    "vision_config.image_size = floor(sqrt(vision_config.num_position_embeddings | 2304) * "       \
    "vision_config.patch_size)"
#define KEY_DEEPSTACK                                                                              \
    { "vision.is_deepstack_layers[]", BOOL, "in(layer, vision_config.deepstack_visual_indexes)" }
/* The layer of the tower whose output an entry of the list takes. */
#define DEEPSTACK(name, to)                                                                        \
    {                                                                                              \
        "visual." name "@", "=v.deepstack.#." to,                                                  \
            "block(at(vision_config.deepstack_visual_indexes, layer))"                             \
    }

/* ---- Whisper's encoder ----------------------------------------------------------------------- */

/* `c`: the member of config.json that tells of the encoder. */
#define AUDIO_LAYERS(c) c ".num_hidden_layers | " c ".encoder_layers"
#define AUDIO_KEYS(c)                                                                              \
    {"has_audio_encoder", BOOL, "true"}, {"audio.projection_dim", U32, "hidden_size | n_embd"},    \
        {"audio.embedding_length", U32, c ".hidden_size | " c ".d_model"},                         \
        {"audio.feed_forward_length", U32, c ".intermediate_size | " c ".encoder_ffn_dim"},        \
        {"audio.block_count", U32, AUDIO_LAYERS(c)}, {                                             \
        "audio.attention.head_count", U32,                                                         \
            c ".num_attention_heads | " c ".encoder_attention_heads"                               \
    }
#define KEYS_WHISPER(c)                                                                            \
    {"audio.num_mel_bins", U32, c ".num_mel_bins"}, {                                              \
        "audio.attention.layer_norm_epsilon", F32, c ".layer_norm_eps | 0.00001"                   \
    }
/* `p`: what stands before names. A bias of a convolution is a column, which is added to all steps
 * in time. */
#define WHISPER_BLOCK(p, name, to)                                                                 \
    { p "layers.#." name "@", "=a.blk.#." to, NULL }
#define WHISPER_BLOCKS(p)                                                                          \
    WHISPER_BLOCK(p, "self_attn.q_proj", "attn_q"),                                                \
        WHISPER_BLOCK(p, "self_attn.k_proj", "attn_k"),                                            \
        WHISPER_BLOCK(p, "self_attn.v_proj", "attn_v"),                                            \
        WHISPER_BLOCK(p, "self_attn.out_proj", "attn_out"),                                        \
        WHISPER_BLOCK(p, "self_attn_layer_norm", "ln1"),                                           \
        WHISPER_BLOCK(p, "final_layer_norm", "ln2"), WHISPER_BLOCK(p, "fc1", "ffn_up"),            \
        WHISPER_BLOCK(p, "fc2", "ffn_down")
#define WHISPER_CONVOLVE(p)                                                                        \
    {p "conv1.weight", "=a.conv1d.1.weight", NULL},                                                \
        {p "conv2.weight", "=a.conv1d.2.weight", NULL},                                            \
        {p "conv1.bias", "=a.conv1d.1.bias", "view(d0, 1)"}, {                                     \
        p "conv2.bias", "=a.conv1d.2.bias", "view(d0, 1)"                                          \
    }
#define WHISPER_CONVOLUTIONS "a.conv1d.1 a.conv1d.2"

#endif
