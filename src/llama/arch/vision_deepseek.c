/* SPDX-License-Identifier: MIT
 *
 * Vision encoders of DeepSeek OCR: SAM's, behind which CLIP's looks at pictures again, or in the
 * second version a decoder of Qwen 2. */
#include "llama/arch/tower_rows.h"

#define SAM(member)    "at(vision_config.width, 'sam_vit_b." member "')"
#define CLIP_L(member) "at(vision_config.width, 'clip-l-14-224." member "')"

/* Patches along a side, divided by what remains of them as tokens; llama.cpp assumes 4. */
#define OCR_SCALE                                                                                  \
    "ocr.scale = floor(floor(ocr.image_size / vision_config.patch_size) / "                        \
    "floor(sqrt(processor.image_seq_length | 256)))"
#define OCR_KEYS(projector, tiles)                                                                 \
    VISION_KEYS, {"vision.image_size", U32, "ocr.image_size"}, KEY_PROJECTOR(projector),           \
        KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"), KEY_GELU,                       \
        KEY_VISION_SCALE("if(ocr.scale == 4, nothing, if(ocr.scale > 0, ocr.scale))"),             \
        {"vision.window_size", U32, "vision_config.window_size | 14"},                             \
        {"vision.preproc_min_tiles", U32, "2"}, {"vision.preproc_max_tiles", U32, tiles},          \
        {"vision.sam.block_count", U32, SAM("layers")},                                            \
        {"vision.sam.embedding_length", U32, SAM("width")}, {                                      \
        "vision.sam.head_count", U32, SAM("heads")                                                 \
    }
#define SAM_BLOCK(name, to)                                                                        \
    { "sam_model.blocks.#." name "@", "=v.sam.blk.#." to, NULL }
#define OCR_RULES                                                                                  \
    {"sam_model.pos_embed", "=v.sam.pos_embd.weight", NULL},                                       \
        {"sam_model.patch_embed.proj@", "=v.sam.patch_embd", NULL}, SAM_BLOCK("norm1", "pre_ln"),  \
        SAM_BLOCK("norm2", "post_ln"),                                                             \
        {"sam_model.blocks.#.attn.rel_pos_h", "=v.sam.blk.#.attn.pos_h.weight", NULL},             \
        {"sam_model.blocks.#.attn.rel_pos_w", "=v.sam.blk.#.attn.pos_w.weight", NULL},             \
        SAM_BLOCK("attn.qkv", "attn.qkv"), SAM_BLOCK("attn.proj", "attn.out"),                     \
        SAM_BLOCK("mlp.lin1", "mlp.lin1"), SAM_BLOCK("mlp.lin2", "mlp.lin2"),                      \
        {"sam_model.neck.#@", "=v.sam.neck.#", NULL}, {"sam_model.net_2@", "=v.sam.net_2", NULL},  \
        {"sam_model.net_3@", "=v.sam.net_3", NULL}, {"projector.layers@", "=mm.model.fc", NULL},   \
        {"image_newline", "=v.image_newline", NULL}, {                                             \
        "view_seperator", "=v.view_seperator", "view(1, d0)"                                       \
    }
#define OCR_F32                                                                                    \
    "v.patch_embd v.sam.pos_embd v.sam.neck.0 v.sam.neck.2 v.sam.net_2 v.sam.net_3 "               \
    "v.sam.attn.pos_h v.sam.attn.pos_w"
#define OCR_TAKES "sam_model. projector. image_newline view_seperator "
static const tare_llama_must ocr_musts[] = {
    {"has(" SAM("layers") ")", "it does not say vision_config.width.sam_vit_b"}, {NULL, NULL}};

/* ---- DeepSeek OCR, Unlimited OCR ------------------------------------------------------------- */

static const char *const clip_defaults[] = {
    "ocr.image_size = " CLIP_L("image_size"),
    "vision_config.hidden_size = " CLIP_L("width"),
    "vision_config.intermediate_size = 4 * " CLIP_L("heads"), /* llama.cpp does not use it */
    "vision_config.num_attention_heads = " CLIP_L("heads"),
    "vision_config.patch_size = " CLIP_L("patch_size"),
    OCR_SCALE,
    NULL};
static const tare_llama_key ocr_keys[] = {OCR_KEYS("deepseekocr", "9"), END_OF_KEYS};
static const tare_llama_key unlimited_keys[] = {OCR_KEYS("deepseekocr", "32"), END_OF_KEYS};
#define OCR_BLOCK(name, to)                                                                        \
    { "vision_model.transformer.layers.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule ocr_rules[] = {
    OCR_RULES,
    PATCHES("vision_model.embeddings.patch_embedding"),
    {"vision_model.embeddings.class_embedding", "=v.class_embd", NULL},
    {"vision_model.embeddings.position_embedding@", "=v.position_embd", NULL},
    {"vision_model.pre_layrnorm@", "=v.pre_ln", NULL},
    OCR_BLOCK("self_attn.qkv_proj", "attn_qkv"),
    OCR_BLOCK("self_attn.out_proj", "attn_out"),
    OCR_BLOCK("layer_norm1", "ln1"),
    OCR_BLOCK("layer_norm2", "ln2"),
    OCR_BLOCK("mlp.fc1", "ffn_up"),
    OCR_BLOCK("mlp.fc2", "ffn_down"),
    END_OF_RULES};
static const tare_llama_tower ocr_tower = {.optional = "v.patch_embd.bias",
                                           .projector = "deepseekocr",
                                           .takes = OCR_TAKES "vision_model.",
                                           .layers = CLIP_L("layers"),
                                           .f32 = OCR_F32,
                                           .f16_or_f32 = "v.sam.patch_embd",
                                           .musts = ocr_musts};

/* ---- DeepSeek OCR 2 -------------------------------------------------------------------------- */

/* Its second encoder is that of Qwen 2 0.5B; config.json has no more of it than the width. */
static const char *const second_defaults[] = {
    "ocr.image_size = vision_config.image_size",
    "vision_config.hidden_size = at(vision_config.width, 'qwen2-0-5b.dim')",
    "vision_config.intermediate_size = 4864",
    "vision_config.num_attention_heads = 14",
    "vision_config.patch_size = 16",
    OCR_SCALE,
    NULL};
static const tare_llama_key second_keys[] = {
    OCR_KEYS("deepseekocr2", "6"), {"vision.attention.head_count_kv", U32, "2"}, END_OF_KEYS};
#define SECOND_BLOCK(name, to)                                                                     \
    { "qwen2_model.model.model.layers.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule second_rules[] = {
    OCR_RULES,
    SECOND_BLOCK("self_attn.q_proj", "attn_q"),
    SECOND_BLOCK("self_attn.k_proj", "attn_k"),
    SECOND_BLOCK("self_attn.v_proj", "attn_v"),
    SECOND_BLOCK("self_attn.o_proj", "attn_out"),
    SECOND_BLOCK("input_layernorm", "ln1"),
    SECOND_BLOCK("post_attention_layernorm", "ln2"),
    SECOND_BLOCK("mlp.gate_proj", "ffn_gate"),
    SECOND_BLOCK("mlp.up_proj", "ffn_up"),
    SECOND_BLOCK("mlp.down_proj", "ffn_down"),
    {"qwen2_model.model.model.norm@", "=v.post_ln", NULL},
    {"qwen2_model.query_768@", "=v.resample_query_768", NULL},
    {"qwen2_model.query_1024@", "=v.resample_query_1024", NULL},
    END_OF_RULES};
static const tare_llama_tower second_tower = {.optional = "v.image_newline",
                                              .projector = "deepseekocr2",
                                              .takes = OCR_TAKES "qwen2_model.",
                                              .layers = "vision_config.layers | 24",
                                              .f32 = OCR_F32,
                                              .f16_or_f32 = "v.sam.patch_embd",
                                              .musts = ocr_musts};

/* ---- DeepSeek V4 Flash Vision ----------------------------------------------------------------- */

static const char *const v4_defaults[] = {
    "vision_config.image_size = vision_patch_size * vision_downsample_ratio * 16", /* of any size */
    "vision_config.patch_size = vision_patch_size",
    "vision_config.num_attention_heads = vision_n_heads", NULL};
#define V4_HALF(name)                                                                              \
    {"vision." name, F32, "processor." name}, {                                                    \
        "vision." name "[3]", F32, "if(has(processor." name "), nothing, 0.5)"                     \
    }
static const tare_llama_key v4_keys[] = {KEY_FILE_TYPE,
                                         {"has_vision_encoder", BOOL, "true"},
                                         {"vision.projection_dim", U32, "hidden_size"},
                                         {"vision.image_size", U32, "vision_config.image_size"},
                                         {"vision.patch_size", U32, "vision_patch_size"},
                                         {"vision.embedding_length", U32, "vision_dim"},
                                         {"vision.feed_forward_length", U32, "vision_inter_dim"},
                                         {"vision.block_count", U32, "layers"},
                                         {"vision.attention.head_count", U32, "vision_n_heads"},
                                         V4_HALF("image_mean"),
                                         V4_HALF("image_std"),
                                         KEY_PROJECTOR("deepseek4v"),
                                         KEY_VISION_EPS("0.000001"), /* not the text model's */
                                         KEY_SILU,
                                         KEY_VISION_SCALE("vision_downsample_ratio"),
                                         KEY_MIN_PIXELS("vision_min_pixels"),
                                         END_OF_KEYS};
#define V4_BLOCK(name, to)                                                                         \
    { "vision.blocks.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule v4_rules[] = {
    {"vision.patch_embed.proj.weight", "=v.patch_embd.weight",
     "view(d0, 3, vision_patch_size, vision_patch_size)"},
    {"vision.patch_embed.proj.bias", "=v.patch_embd.bias", NULL},
    V4_BLOCK("attn.wqkv", "attn_qkv"),
    V4_BLOCK("attn.wo", "attn_out"),
    V4_BLOCK("norm1", "ln1"),
    V4_BLOCK("norm2", "ln2"),
    {"vision.blocks.#.mlp.w1@", "=v.blk.#.ffn_gate", "slice(0, 0, 2)"},
    {"vision.blocks.#.mlp.w1@", "=v.blk.#.ffn_up", "slice(0, 1, 2)"},
    V4_BLOCK("mlp.w2", "ffn_down"),
    {"vision.norm@", "=v.post_ln", NULL},
    {"aligner.w1@", "=mm.1", NULL},
    {"aligner.w2@", "=mm.2", NULL},
    {"image_newline", "=v.image_newline", NULL},
    {"image_start", "=v.token_embd.img_start", NULL},
    {"image_end", "=v.token_embd.img_end", NULL},
    {"image_pad", "=v.token_embd.img_pad", NULL},
    END_OF_RULES};
static const tare_llama_must v4_musts[] = {
    {"if(vision_max_n_token == 384, if(vision_max_wh_ratio == 8, (vision_rope_theta | 10000) == "
     "10000))",
     "vision_max_n_token, vision_max_wh_ratio or vision_rope_theta is not 384, 8 and 10000, with "
     "which llama.cpp computes"},
    {NULL, NULL}};
static const tare_llama_tower v4_tower = {.projector = "deepseek4v",
                                          .takes = "vision. aligner. image_",
                                          .layers = "vision_n_layers",
                                          .musts = v4_musts};

const tare_llama_arch tare_llama_towers_deepseek[] = {
    {.name = CLIP,
     .classes = "DeepseekOCRForCausalLM",
     .tensors = "",
     .defaults = clip_defaults,
     .own = ocr_keys,
     .rules = ocr_rules,
     .tower = &ocr_tower},
    {.name = CLIP,
     .classes = "UnlimitedOCRForCausalLM",
     .tensors = "",
     .defaults = clip_defaults,
     .own = unlimited_keys,
     .rules = ocr_rules,
     .tower = &ocr_tower},
    {.name = CLIP,
     .classes = "DeepseekOCR2ForCausalLM",
     .tensors = "",
     .defaults = second_defaults,
     .own = second_keys,
     .rules = second_rules,
     .tower = &second_tower},
    {.name = CLIP,
     .classes = "DeepseekV4ForCausalLM",
     .requires = "vision_n_layers > 0",
     .tensors = "",
     .defaults = v4_defaults,
     .own = v4_keys,
     .rules = v4_rules,
     .tower = &v4_tower},
    {.name = NULL},
};
