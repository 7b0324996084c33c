/* SPDX-License-Identifier: MIT
 *
 * Vision encoders after CLIP: LLaVA's, and CogVLM's. */
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
#define LLAVA_BLOCK(name, to)                                                                      \
    { LLAVA "encoder.layers.#." name "@", "=v.blk.#." to, "if(layer < llava.layers)" }
static const tare_llama_rule llava_rules[] = {
    {LLAVA "encoder.layers.#.*", NULL, "if(layer + 1 > llava.layers) drop"},
    LLAVA_BLOCK("self_attn.q_proj", "attn_q"),
    LLAVA_BLOCK("self_attn.k_proj", "attn_k"),
    LLAVA_BLOCK("self_attn.v_proj", "attn_v"),
    LLAVA_BLOCK("self_attn.out_proj", "attn_out"),
    LLAVA_BLOCK("layer_norm1", "ln1"),
    LLAVA_BLOCK("layer_norm2", "ln2"),
    LLAVA_BLOCK("mlp.fc1", "ffn_up"),
    LLAVA_BLOCK("mlp.fc2", "ffn_down"),
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
static const tare_llama_tower llava_tower = {.projector = "mlp",
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

const tare_llama_arch tare_llama_towers_clip[] = {
    {.name = CLIP,
     .classes = "LlavaForConditionalGeneration",
     .requires = "vision_config.model_type == 'clip_vision_model'",
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
    {.name = NULL},
};
