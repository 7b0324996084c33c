/* SPDX-License-Identifier: MIT
 *
 * Vision encoders after CLIP: those of LLaVA, CogVLM, Step3-VL and MiniMax M3. */
#include "llama/arch/tower_rows.h"

/* ---- LLaVA ----------------------------------------------------------------------------------- */

/* llama.cpp takes the output of the last block but one of the file. */
static const char *const llava_defaults[] = {
    "hidden_size = 4096",
    "vision_config.hidden_size = 1024",
    "vision_config.intermediate_size = 4096",
    "vision_config.num_hidden_layers = 24",
    "vision_config.num_attention_heads = 16",
    "vision_config.image_size = 336",
    "vision_config.patch_size = 14",
    "vision_config.hidden_act = 'quick_gelu'",
    "llava.taken = vision_feature_layer | -2",
    "llava.layers = if(llava.taken < 0, vision_config.num_hidden_layers + 2 + llava.taken, "
    "llava.taken + 1)",
    NULL};
static const tare_llama_key llava_keys[] = {
    VISION_KEYS,
    {"has_llava_projector", BOOL, "true"},
    KEY_PROJECTOR("mlp"),
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.00001"),
    {"use_gelu", BOOL, "vision_config.hidden_act == 'gelu'"},
    END_OF_KEYS};
#define LLAVA "vision_tower.vision_model."
static const tare_llama_rule llava_rules[] = {
    {LLAVA "encoder.layers.#.*", NULL, "if(layer + 1 > llava.layers) drop"},
    SIGLIP_BLOCKS_IF(LLAVA "encoder.layers.#.", "if(layer < llava.layers)"),
    PATCHES(LLAVA "embeddings.patch_embedding"),
    {LLAVA "embeddings.class_embedding", "=v.class_embd", NULL},
    {LLAVA "embeddings.position_embedding@", "=v.position_embd", NULL},
    {LLAVA "pre_layrnorm@", "=v.pre_ln", NULL},
    RULE_DROP(LLAVA "post_layernorm@"),
    RULE_DROP(LLAVA "embeddings.position_ids"),
    {"multi_modal_projector.linear_1@", "=mm.0", NULL},
    {"multi_modal_projector.linear_2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_must llava_musts[] = {
    {"(projector_hidden_act | 'gelu') == 'gelu'",
     "projector_hidden_act is not gelu, which llama.cpp computes"},
    {"(vision_feature_select_strategy | 'default') == 'default'",
     "vision_feature_select_strategy is not default, which llama.cpp computes"},
    {"if(vision_config.hidden_act == 'quick_gelu', true, vision_config.hidden_act == 'gelu')",
     "vision_config.hidden_act is neither quick_gelu nor gelu, which llama.cpp computes"},
    {"if(llava.layers > 1, vision_config.num_hidden_layers + 1 > llava.layers)",
     "vision_feature_layer is not that of a block before the last, which llama.cpp takes"},
    {NULL, NULL}};
/* The blocks behind the one whose output is taken are not in the file. */
static const char *const llava_back_config[] = {
    "model_type = 'llava'",
    "vision_feature_layer = -2",
    "vision_feature_select_strategy = 'default'",
    "projector_hidden_act = 'gelu'",
    "multimodal_projector_bias = has(tensors.mm.0.bias)",
    "vision_config.model_type = 'clip_vision_model'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.hidden_act = if(use_gelu, 'gelu', 'quick_gelu')",
    "processor.image_processor_type = 'CLIPImageProcessor'",
    "processor.processor_class = 'LlavaProcessor'",
    "processor.size.shortest_edge = vision.image_size",
    "processor.crop_size.height = vision.image_size",
    "processor.crop_size.width = vision.image_size",
    NULL};
static const tare_llama_back llava_back = {
    .names = LLAVA " multi_modal_projector.",
    .config = llava_back_config,
    .text = "model.=language_model.model. lm_head=language_model.lm_head",
    .tokens = "image_token_index=<image>"};
static const tare_llama_tower llava_tower = {.optional = "v.patch_embd.bias",
                                             .projector = "mlp",
                                             .takes = "vision_tower. multi_modal_projector.",
                                             .layers = "llava.layers",
                                             .positions = VISION_GRID " + 1",
                                             .musts = llava_musts};

/* ---- CogVLM ---------------------------------------------------------------------------------- */

static const char *const cogvlm_defaults[] = {"vision_config.layer_norm_eps = 0.000001", NULL};
static const tare_llama_key cogvlm_keys[] = {VISION_KEYS,
                                             KEY_VISION_EPS("vision_config.layer_norm_eps"),
                                             KEY_PROJECTOR("cogvlm"), END_OF_KEYS};
#define COGVLM_BLOCK(name, to)                                                                     \
    { "vision.transformer.layers.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule cogvlm_rules[] = {
    {"vision.boi", "=v.boi", NULL},
    {"vision.eoi", "=v.eoi", NULL},
    {"vision.patch_embedding.cls_embedding", "=v.class_embd", NULL},
    PATCHES("vision.patch_embedding.proj"),
    {"vision.patch_embedding.position_embedding@", "=v.position_embd", NULL},
    COGVLM_BLOCK("attention.query_key_value", "attn_qkv"),
    COGVLM_BLOCK("attention.dense", "attn_out"),
    COGVLM_BLOCK("input_layernorm", "ln1"),
    COGVLM_BLOCK("post_attention_layernorm", "ln2"),
    COGVLM_BLOCK("mlp.fc1", "ffn_up"),
    COGVLM_BLOCK("mlp.fc2", "ffn_down"),
    {"vision.linear_proj.linear_proj@", "=mm.model.fc", NULL},
    {"vision.linear_proj.norm1@", "=mm.post_fc_norm", NULL},
    {"vision.linear_proj.gate_proj@", "=mm.gate", NULL},
    {"vision.linear_proj.dense_h_to_4h@", "=mm.up", NULL},
    {"vision.linear_proj.dense_4h_to_h@", "=mm.down", NULL},
    END_OF_RULES};
static const tare_llama_tower cogvlm_tower = {.projector = "cogvlm",
                                              .takes = "vision.",
                                              .layers = VISION_LAYERS,
                                              .positions = VISION_GRID " + 1"};

/* ---- Step3-VL -------------------------------------------------------------------------------- */

static const char *const step_defaults[] = {
    "step.ratio = vision_config.mlp_ratio | 8960 / 1536",
    "step.width = vision_config.hidden_size | vision_config.width",
    "step.inner = vision_config.intermediate_size", NULL};
#define STEP_COLORS(member, r, g, b)                                                               \
    "at(processor." member ", layer) | if(layer == 0, " r ", if(layer == 1, " g ", " b "))"
static const tare_llama_key step_keys[] = {
    VISION_KEYS_OF("step.width", "if(step.inner > 0, step.inner, round(step.width * step.ratio))"),
    {"vision.image_mean[3]", F32,
     STEP_COLORS("image_mean", "0.48145466", "0.4578275", "0.40821073")},
    {"vision.image_std[3]", F32,
     STEP_COLORS("image_std", "0.26862954", "0.26130258", "0.27577711")},
    KEY_PROJECTOR("step3vl"),
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.00001"),
    KEY_VISION_SCALE("pow(understand_projector_stride, 2)"),
    {"vision.preproc_image_size", U32, "3024"}, /* of its processor's code */
    END_OF_KEYS};
#define STEP_BLOCK(name, to)                                                                       \
    { "vision_model.transformer.resblocks.#." name, "=v.blk.#." to, NULL }
static const tare_llama_rule step_rules[] = {
    {"vision_model.conv1@", "=v.patch_embd", NULL},
    {"vision_model.positional_embedding", "=v.position_embd.weight", NULL},
    {"vision_model.ln_pre@", "=v.pre_ln", NULL},
    STEP_BLOCK("attn.in_proj_weight", "attn_qkv.weight"),
    STEP_BLOCK("attn.in_proj_bias", "attn_qkv.bias"),
    STEP_BLOCK("attn.out_proj@", "attn_out"),
    STEP_BLOCK("ln_1@", "ln1"),
    STEP_BLOCK("ln_2@", "ln2"),
    STEP_BLOCK("mlp.c_fc@", "ffn_up"),
    STEP_BLOCK("mlp.c_proj@", "ffn_down"),
    STEP_BLOCK("ls_1.gamma", "ls1.weight"),
    STEP_BLOCK("ls_2.gamma", "ls2.weight"),
    {"vision_model.vit_downsampler1@", "=mm.0", NULL},
    {"vision_model.vit_downsampler2@", "=mm.1", NULL},
    {"vit_large_projector.weight", "=mm.model.fc.weight", NULL},
    END_OF_RULES};
static const tare_llama_must step_musts[] = {
    {"understand_projector_stride == 2",
     "understand_projector_stride is not 2, which llama.cpp computes"},
    {NULL, NULL}};
static const tare_llama_tower step_tower = {.projector = "step3vl",
                                            .takes = "vision_model. vit_large_projector.",
                                            .layers = VISION_LAYERS " | vision_config.layers",
                                            .positions = VISION_GRID,
                                            .f16_or_f32 = "mm.0 mm.1",
                                            .musts = step_musts};

/* ---- MiniMax M3 ------------------------------------------------------------------------------ */

static const tare_llama_key minimax_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("minimax_m3"),
    KEY_GELU,
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.00001"),
    KEY_VISION_MERGE("vision_config.img_token_compression_config.spatial_merge_size | 2"),
    END_OF_KEYS};
#define MINIMAX "vision_tower.vision_model."
#define MINIMAX_BLOCK(name, to)                                                                    \
    { MINIMAX "encoder.layers.#." name "@", "=v.blk.#." to, NULL }
/* Rotary positions of time, height and width turn 26 of 80 rows each: their first halves stand
 * together, then their second ones; llama.cpp wants the two halves of each side by side. */
#define MINIMAX_TURNED(name, to, heads)                                                            \
    {MINIMAX "encoder.layers.#." name, "=v.blk.#." to,                                             \
     heads "rows(1, 0, 78) tile(1, 2, 3, 13) turns(0, 2)"},                                        \
    {                                                                                              \
        MINIMAX "encoder.layers.#." name, "=v.blk.#." to, heads "rows(1, 78, 2) turns(1, 2)"       \
    }
#define MINIMAX_HEADS(name, to)                                                                    \
    MINIMAX_TURNED(name ".weight", to ".weight",                                                   \
                   "view(vision_config.num_attention_heads, 80, d1) "),                            \
        MINIMAX_TURNED(name ".bias", to ".bias", "view(vision_config.num_attention_heads, 80) ")
static const tare_llama_rule minimax_rules[] = {
    SPLIT_FRAMES(MINIMAX "embeddings.patch_embedding.weight"),
    {MINIMAX "pre_layrnorm@", "=v.pre_ln", NULL},
    {MINIMAX "post_layernorm@", "=v.post_ln", NULL},
    MINIMAX_HEADS("self_attn.q_proj", "attn_q"),
    MINIMAX_HEADS("self_attn.k_proj", "attn_k"),
    MINIMAX_BLOCK("self_attn.v_proj", "attn_v"),
    MINIMAX_BLOCK("self_attn.out_proj", "attn_out"),
    MINIMAX_BLOCK("layer_norm1", "ln1"),
    MINIMAX_BLOCK("layer_norm2", "ln2"),
    MINIMAX_BLOCK("mlp.fc1", "ffn_up"),
    MINIMAX_BLOCK("mlp.fc2", "ffn_down"),
    {"multi_modal_projector.linear_1@", "=mm.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.2", NULL},
    {"patch_merge_mlp.linear_1@", "=mm.merger.fc1", NULL},
    {"patch_merge_mlp.linear_2@", "=mm.merger.fc2", NULL},
    END_OF_RULES};
static const tare_llama_must minimax_musts[] = {
    {"vision_config.hidden_size == 80 * vision_config.num_attention_heads",
     "the heads of the encoder are not 80 wide, which llama.cpp computes"},
    {NULL, NULL}};
static const tare_llama_tower minimax_tower = {
    .optional = "v.post_ln",
    .projector = "minimax_m3",
    .takes = "vision_tower. multi_modal_projector. patch_merge_mlp.",
    .layers = VISION_LAYERS,
    .musts = minimax_musts};

const tare_llama_arch tare_llama_towers_clip[] = {
    {.name = CLIP,
     .classes = "LlavaForConditionalGeneration",
     .requires = "vision_config.model_type == 'clip_vision_model'",
     .cut = TOWER_OF_CLIP,
     .tensors = "",
     .defaults = llava_defaults,
     .own = llava_keys,
     .rules = llava_rules,
     .back = &llava_back,
     .tower = &llava_tower},
    {.name = CLIP,
     .classes = "CogVLMForCausalLM",
     .tensors = "",
     .defaults = cogvlm_defaults,
     .own = cogvlm_keys,
     .rules = cogvlm_rules,
     .tower = &cogvlm_tower},
    {.name = CLIP,
     .classes = "StepVLForConditionalGeneration Step3p7ForConditionalGeneration",
     .tensors = "",
     .defaults = step_defaults,
     .own = step_keys,
     .rules = step_rules,
     .tower = &step_tower},
    {.name = CLIP,
     .classes = "MiniMaxM3SparseForConditionalGeneration MiniMaxM3VLForConditionalGeneration",
     .tensors = "",
     .own = minimax_keys,
     .rules = minimax_rules,
     .tower = &minimax_tower},
    {.name = NULL},
};
