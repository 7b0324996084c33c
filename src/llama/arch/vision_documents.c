/* SPDX-License-Identifier: MIT
 *
 * Vision encoders of models that read documents: dots.ocr, PaddleOCR-VL, HunYuan-VL, Youtu-VL, and
 * MiniCPM-V 4.6; pictures keep their shapes. */
#include "llama/arch/tower_rows.h"

/* ---- dots.ocr -------------------------------------------------------------------------------- */

static const tare_llama_key dots_keys[] = {VISION_KEYS,
                                           {"vision.image_size", U32, "0"}, /* any */
                                           KEY_PROJECTOR("dots_ocr"),
                                           KEY_MIN_PIXELS(MIN_PIXELS),
                                           KEY_MAX_PIXELS(MAX_PIXELS),
                                           KEY_VISION_EPS("vision_config.rms_norm_eps"),
                                           KEY_VISION_SCALE("vision_config.spatial_merge_size"),
                                           KEY_SILU,
                                           END_OF_KEYS};
static const char *const dots_defaults[] = {"vision_config.image_size = 0", NULL};
#define DOTS_BLOCK(name, to)                                                                       \
    { "vision_tower.blocks.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule dots_rules[] = {
    PATCHES("vision_tower.patch_embed.patchifier.proj"),
    {"vision_tower.patch_embed.patchifier.norm@", "=v.pre_ln", NULL},
    DOTS_BLOCK("attn.qkv", "attn_qkv"),
    DOTS_BLOCK("attn.proj", "attn_out"),
    DOTS_BLOCK("norm1", "ln1"),
    DOTS_BLOCK("norm2", "ln2"),
    DOTS_BLOCK("mlp.fc1", "ffn_gate"),
    DOTS_BLOCK("mlp.fc2", "ffn_down"),
    DOTS_BLOCK("mlp.fc3", "ffn_up"),
    {"vision_tower.post_trunk_norm@", "=mm.post_norm", NULL},
    {"vision_tower.merger.ln_q@", "=mm.input_norm", NULL},
    {"vision_tower.merger.mlp.#@", "=mm.#", NULL},
    END_OF_RULES};
static const tare_llama_tower dots_tower = {
    .projector = "dots_ocr", .takes = "vision_tower.", .layers = VISION_LAYERS};

/* ---- PaddleOCR-VL ---------------------------------------------------------------------------- */

static const char *const paddle_defaults[] = {"vision_config.image_size = 0",
                                              "paddle.side = floor(sqrt(" MAX_PIXELS "))", NULL};
static const tare_llama_key paddle_keys[] = {
    VISION_KEYS,
    {"vision.image_size", U32, "paddle.side"},
    KEY_PROJECTOR("paddleocr"),
    KEY_MAX_PIXELS(MAX_PIXELS),
    KEY_MIN_PIXELS(MIN_PIXELS),
    KEY_GELU,
    KEY_VISION_EPS("vision_config.rms_norm_eps | 0.000001"),
    END_OF_KEYS};
static const tare_llama_rule paddle_rules[] = {
    RULE_DROP("visual.vision_model.embeddings.packing_position_embedding@"),
    RULE_DROP("visual.vision_model.head.*"),
    SIGLIP("visual.vision_model."),
    {"mlp_AR.pre_norm@", "=mm.input_norm", NULL},
    {"mlp_AR.linear_1@", "=mm.1", NULL},
    {"mlp_AR.linear_2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_tower paddle_tower = {
    .projector = "paddleocr", .takes = "visual. mlp_AR.", .layers = VISION_LAYERS};

/* ---- HunYuan-VL ------------------------------------------------------------------------------ */

static const char *const hunyuan_defaults[] = {
    "vision_config.image_size = vision_config.max_image_size | 2048", NULL};
static const tare_llama_key hunyuan_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("hunyuanvl"),
    KEY_GELU,
    KEY_VISION_EPS("vision_config.rms_norm_eps | 0.00001"),
    KEY_VISION_MERGE("vision_config.spatial_merge_size | 2"),
    KEY_MIN_PIXELS(MIN_PIXELS),
    KEY_MAX_PIXELS(MAX_PIXELS),
    END_OF_KEYS};
#define HUNYUAN_BLOCK(name, to)                                                                    \
    { "vit.layers.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule hunyuan_rules[] = {
    PATCHES("vit.embeddings.patch_embedding"),
    /* the first is that of a class */
    {"vit.embeddings.position_embedding@", "=v.position_embd", "rows(0, 1, d0 - 1)"},
    HUNYUAN_BLOCK("self_attn.q_proj", "attn_q"),
    HUNYUAN_BLOCK("self_attn.k_proj", "attn_k"),
    HUNYUAN_BLOCK("self_attn.v_proj", "attn_v"),
    HUNYUAN_BLOCK("self_attn.o_proj", "attn_out"),
    HUNYUAN_BLOCK("input_layernorm", "ln1"),
    HUNYUAN_BLOCK("post_attention_layernorm", "ln2"),
    HUNYUAN_BLOCK("mlp.dense_h_to_4h", "ffn_up"),
    HUNYUAN_BLOCK("mlp.dense_4h_to_h", "ffn_down"),
    {"vit.perceive.before_rms@", "=mm.pre_norm", NULL},
    {"vit.perceive.after_rms@", "=mm.post_norm", NULL},
    {"vit.perceive.proj.#@", "=mm.#", NULL},
    {"vit.perceive.mlp@", "=mm.model.fc", NULL},
    {"vit.perceive.image_newline", "=v.image_newline", NULL},
    {"vit.perceive.image_sep", "=v.view_seperator", NULL},
    {"vit.perceive.image_begin", "=mm.image_begin", NULL},
    {"vit.perceive.image_end", "=mm.image_end", NULL},
    END_OF_RULES};
static const tare_llama_tower hunyuan_tower = {
    .projector = "hunyuanvl", .takes = "vit.", .layers = VISION_LAYERS, .f16_or_f32 = "mm.0 mm.2"};

/* ---- Youtu-VL -------------------------------------------------------------------------------- */

static const char *const youtu_defaults[] = {"vision_config.image_size = 560",
                                             "vision_config.hidden_act = 'gelu_pytorch_tanh'",
                                             "youtu.is_silu = " VISION_ACT " == 'silu'", NULL};
static const tare_llama_key youtu_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("youtuvl"),
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),
    {"use_gelu", BOOL, "if(youtu.is_silu, nothing, true)"},
    {"use_silu", BOOL, "if(youtu.is_silu, true)"},
    KEY_VISION_MERGE("vision_config.spatial_merge_size | 2"),
    {"vision.window_size", U32, "vision_config.window_size"},
    {"vision.wa_layer_indexes", U32, "vision_config.fullatt_block_indexes"},
    END_OF_KEYS};
static const tare_llama_rule youtu_rules[] = {
    RULE_DROP("siglip2.vision_model.head.*"),
    SIGLIP_BLOCKS("siglip2.vision_model.encoder.layers.#."),
    {"siglip2.vision_model.embeddings.patch_embedding@", "=v.patch_embd", NULL},
    {"siglip2.vision_model.post_layernorm@", "=v.post_ln", NULL},
    {"merger.ln_q@", "=mm.input_norm", NULL},
    {"merger.mlp.#@", "=mm.#", NULL},
    END_OF_RULES};
static const tare_llama_must youtu_musts[] = {
    MUST_ACTIVATE,
    {"has(vision_config.fullatt_block_indexes)",
     "it does not say vision_config.fullatt_block_indexes"},
    {NULL, NULL}};
static const tare_llama_tower youtu_tower = {.projector = "youtuvl",
                                             .takes = "siglip2. merger.",
                                             .layers = VISION_LAYERS,
                                             .musts = youtu_musts};

/* ---- MiniCPM-V 4.6 --------------------------------------------------------------------------- */

/* Pictures are seen in slices; the first merger of patches may be left out. */
static const char *const minicpm_defaults[] = {
    "minicpm.is_fine = processor.downsample_mode == '4x'", NULL};
static const tare_llama_key minicpm_keys[] = {
    VISION_KEYS,
    {"vision.image_size", U32, "processor.scale_resolution"},
    KEY_PROJECTOR("minicpmv4_6"),
    KEY_VISION_SCALE("if(minicpm.is_fine, 2, 4)"),
    {"vision.wa_layer_indexes[1]", I32, "insert_layer_id | vision_config.insert_layer_id | 6"},
    KEY_GELU,
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),
    END_OF_KEYS};
#define MINICPM_MERGER(name, to)                                                                   \
    {                                                                                              \
        "vision_tower.vit_merger." name "@", "=v.vit_merger." to,                                  \
            "if(if(minicpm.is_fine, false, true))"                                                 \
    }
static const tare_llama_rule minicpm_rules[] = {
    SIGLIP("vision_tower."),
    {"vision_tower.vit_merger.*", NULL, "if(minicpm.is_fine) drop"},
    MINICPM_MERGER("layer_norm1", "ln1"),
    MINICPM_MERGER("self_attn.q_proj", "attn_q"),
    MINICPM_MERGER("self_attn.k_proj", "attn_k"),
    MINICPM_MERGER("self_attn.v_proj", "attn_v"),
    MINICPM_MERGER("self_attn.out_proj", "attn_out"),
    MINICPM_MERGER("pre_norm", "ds_ln"),
    MINICPM_MERGER("linear_1", "ds_ffn_up"),
    MINICPM_MERGER("linear_2", "ds_ffn_down"),
    {"merger.mlp.0.pre_norm@", "=mm.input_norm", NULL},
    {"merger.mlp.0.linear_1@", "=mm.up", NULL},
    {"merger.mlp.0.linear_2@", "=mm.down", NULL},
    END_OF_RULES};
static const tare_llama_tower minicpm_tower = {.projector = "minicpmv4_6",
                                               .takes = "vision_tower. merger.",
                                               .layers = VISION_LAYERS,
                                               .positions = VISION_GRID};

const tare_llama_arch tare_llama_towers_documents[] = {
    {.name = CLIP,
     .classes = "DotsOCRForCausalLM",
     .tensors = "",
     .defaults = dots_defaults,
     .own = dots_keys,
     .rules = dots_rules,
     .tower = &dots_tower},
    {.name = CLIP,
     .classes = "PaddleOCRVisionModel PaddleOCRVLForConditionalGeneration",
     .tensors = "",
     .defaults = paddle_defaults,
     .own = paddle_keys,
     .rules = paddle_rules,
     .tower = &paddle_tower},
    {.name = CLIP,
     .classes = "HunYuanVLForConditionalGeneration",
     .tensors = "",
     .defaults = hunyuan_defaults,
     .own = hunyuan_keys,
     .rules = hunyuan_rules,
     .tower = &hunyuan_tower},
    {.name = CLIP,
     .classes = "YoutuVLForConditionalGeneration",
     .tensors = "",
     .defaults = youtu_defaults,
     .own = youtu_keys,
     .rules = youtu_rules,
     .tower = &youtu_tower},
    {.name = CLIP,
     .classes = "MiniCPMV4_6ForConditionalGeneration",
     .tensors = "",
     .defaults = minicpm_defaults,
     .own = minicpm_keys,
     .rules = minicpm_rules,
     .tower = &minicpm_tower},
    {.name = NULL},
};
