/* SPDX-License-Identifier: MIT
 *
 * Rows that several towers share. Names are those without "model." before them. */
#ifndef TARE_LLAMA_ARCH_TOWER_ROWS_H
#define TARE_LLAMA_ARCH_TOWER_ROWS_H

#include "llama/arch/rows.h"
#include "llama/tower.h"

#define CLIP "clip" /* general.architecture of every tower */

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
         "vision_config.num_attention_heads | vision_config.num_heads"},                           \
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
#define KEYS_ACTIVATION                                                                            \
    {"use_silu", BOOL, "if(vision_config.hidden_act == 'silu', true)"}, {                          \
        "use_gelu", BOOL, "if(vision_config.hidden_act == 'gelu', true)"                           \
    }
#define MUST_ACTIVATE                                                                              \
    {                                                                                              \
        "if(vision_config.hidden_act == 'silu', true, vision_config.hidden_act == 'gelu')",        \
            "vision_config.hidden_act is neither silu nor gelu, which llama.cpp computes"          \
    }

/* A convolution over patches, which are squares. */
#define PATCHES(name)                                                                              \
    {name ".weight", "=v.patch_embd.weight", PATCH_SQUARE}, {                                      \
        name ".bias", "=v.patch_embd.bias", NULL                                                   \
    }
#define PATCH_SQUARE "view(d0, d1, vision_config.patch_size, vision_config.patch_size)"

/* Blocks and what is around them as SigLIP's authors named them; p: what stands before. */
#define SIGLIP_BLOCKS(p)                                                                           \
    {p "self_attn.q_proj@", "=v.blk.#.attn_q", NULL},                                              \
        {p "self_attn.k_proj@", "=v.blk.#.attn_k", NULL},                                          \
        {p "self_attn.v_proj@", "=v.blk.#.attn_v", NULL},                                          \
        {p "self_attn.out_proj@", "=v.blk.#.attn_out", NULL},                                      \
        {p "layer_norm1@", "=v.blk.#.ln1", NULL}, {p "layer_norm2@", "=v.blk.#.ln2", NULL},        \
        {p "mlp.fc1@", "=v.blk.#.ffn_up", NULL}, {                                                 \
        p "mlp.fc2@", "=v.blk.#.ffn_down", NULL                                                    \
    }
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

#endif
