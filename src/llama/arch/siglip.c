/* SPDX-License-Identifier: MIT
 *
 * Vision encoders like SigLIP: Gemma 3, Idefics 3 and SmolVLM, Phi-4. */
#include "llama/arch/tower_rows.h"

/* Defaults of SigLIP's configuration. */
static const char *const gemma3_defaults[] = {
    "hidden_size = 2304", "vision_config.hidden_size = 768",
    "vision_config.intermediate_size = 3072", "vision_config.num_hidden_layers = 12",
    "vision_config.num_attention_heads = 12", "vision_config.image_size = 224",
    "vision_config.patch_size = 16",
    /* patches along a side, divided by what remains of them as tokens */
    "tower.scale = floor(floor(vision_config.image_size / vision_config.patch_size) / "
    "floor(sqrt(processor.image_seq_length | 256)))",
    NULL};
static const tare_llama_key gemma3_keys[] = {
    VISION_KEYS, KEY_PROJECTOR("gemma3"), KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),
    KEY_GELU,
    /* llama.cpp assumes 4 */
    KEY_VISION_SCALE("if(tower.scale == 4, nothing, if(tower.scale > 0, tower.scale))"),
    END_OF_KEYS};
static const tare_llama_rule gemma3_rules[] = {
    RULE_DROP("vision_tower.vision_model.head.*"),
    SIGLIP("vision_tower.vision_model."),
    {"multi_modal_projector.mm_input_projection_weight", "=mm.input_projection.weight", NULL},
    {"multi_modal_projector.mm_input_projection.weight", "=mm.input_projection.weight", NULL},
    {"multi_modal_projector.mm_soft_emb_norm.weight", "=mm.soft_emb_norm.weight", "add(1)"},
    END_OF_RULES};
#define GEMMA3_SIDE                                                                                \
    "floor(floor(vision.image_size / vision.patch_size) / (vision.projector.scale_factor | 4))"
static const char *const gemma3_back_config[] = {
    "model_type = 'gemma3'",
    "mm_tokens_per_image = " GEMMA3_SIDE " * " GEMMA3_SIDE,
    "vision_config.model_type = 'siglip_vision_model'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.vision_use_head = false",
    "vision_config.hidden_act = 'gelu_pytorch_tanh'",
    "processor.image_processor_type = 'Gemma3ImageProcessor'",
    "processor.processor_class = 'Gemma3Processor'",
    "processor.image_seq_length = " GEMMA3_SIDE " * " GEMMA3_SIDE,
    "processor.size.height = vision.image_size",
    "processor.size.width = vision.image_size",
    NULL};
static const tare_llama_back gemma3_back = {
    .names = "vision_tower. multi_modal_projector.",
    .config = gemma3_back_config,
    .text = "model.=language_model.model. lm_head=language_model.lm_head",
    .tokens = "image_token_index=<image_soft_token> boi_token_index=<start_of_image> "
              "eoi_token_index=<end_of_image>"};
static const tare_llama_tower gemma3_tower = {.projector = "gemma3",
                                              .takes = "vision_tower. multi_modal_projector.",
                                              .layers = VISION_LAYERS,
                                              .positions = VISION_GRID,
                                              .f32 = "v.patch_embd",
                                              .f16 = "mm.input_projection"};

static const char *const idefics3_defaults[] = {"hidden_size = 4096",
                                                "vision_config.hidden_size = 1152",
                                                "vision_config.intermediate_size = 3072",
                                                "vision_config.num_hidden_layers = 12",
                                                "vision_config.num_attention_heads = 16",
                                                "vision_config.image_size = 224",
                                                "vision_config.patch_size = 32",
                                                NULL};
static const tare_llama_key idefics3_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("idefics3"),
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),
    KEY_VISION_SCALE("scale_factor | 2"),
    KEY_GELU,
    {"vision.preproc_image_size", U32, "processor.size.longest_edge | vision_config.image_size"},
    END_OF_KEYS};
static const tare_llama_rule idefics3_rules[] = {
    SIGLIP("vision_model."),
    {"connector.modality_projection.proj@", "=mm.model.fc", NULL},
    END_OF_RULES};
static const char *const idefics3_back_config[] = {
    "model_type = 'idefics3'",
    "vision_config.model_type = 'idefics3_vision'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.hidden_act = 'gelu_pytorch_tanh'",
    "processor.image_processor_type = 'Idefics3ImageProcessor'",
    "processor.processor_class = 'Idefics3Processor'",
    "processor.max_image_size.longest_edge = vision.image_size",
    NULL};
static const tare_llama_back idefics3_back = {.names = "vision_model. connector.",
                                              .config = idefics3_back_config,
                                              .lead = "model.",
                                              .text = "model.=model.text_model.",
                                              .tokens = "image_token_id=<image>"};
static const tare_llama_tower idefics3_tower = {.projector = "idefics3",
                                                .takes = "vision_model. connector.",
                                                .layers = VISION_LAYERS,
                                                .positions = VISION_GRID,
                                                .f32 = "v.patch_embd"};

/* ---- Phi-4 ----------------------------------------------------------------------------------- */

/* The text model takes the output of the last block but one: the last is left out. */
static const char *const phi4_defaults[] = {
    "phi.side = floor(sqrt(vision_config.num_patches | 256))",
    "phi.area = processor.patch_size * processor.patch_size", "vision_config.image_size = 0",
    "vision_config.patch_size = processor.patch_size", NULL};
static const tare_llama_key phi4_keys[] = {
    VISION_KEYS,
    {"vision.image_size", U32, "phi.side * processor.patch_size"},
    {"vision.patch_size", U32, "processor.patch_size"},
    KEY_PROJECTOR("phi4"),
    KEY_MIN_PIXELS("(processor.min_num_patches | min_num_patches) * phi.area"),
    KEY_MAX_PIXELS("(processor.max_num_patches | max_num_patches) * phi.area"),
    KEY_GELU,
    KEY_VISION_EPS("vision_config.layer_norm_eps | 0.000001"),
    END_OF_KEYS};
#define PHI4 "vision_tower.vision_tower.vision_model."
static const tare_llama_rule phi4_rules[] = {
    RULE_DROP(PHI4 "head.*"),
    RULE_DROP(PHI4 "post_layernorm@"),
    {PHI4 "encoder.layers.#.*", NULL, "if(layer == layers) drop"},
    SIGLIP_BLOCKS_IF(PHI4 "encoder.layers.#.", "if(layer < layers)"),
    {PHI4 "embeddings.patch_embedding.weight", "=v.patch_embd.weight",
     "view(d0, processor.patch_size, processor.patch_size, 3) swap(2, 3) swap(1, 2)"},
    {PHI4 "embeddings.patch_embedding.bias", "=v.patch_embd.bias", NULL},
    {PHI4 "embeddings.position_embedding@", "=v.position_embd", NULL},
    {"mm_projector.0@", "=mm.0", NULL},
    {"mm_projector.2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_must phi4_musts[] = {
    {"processor.patch_size > 0", "preprocessor_config.json does not say patch_size"},
    {"vision_config.num_hidden_layers > 1", "the encoder has a single block, which is left out"},
    {NULL, NULL}};
static const tare_llama_tower phi4_tower = {.projector = "phi4",
                                            .takes = "vision_tower. mm_projector.",
                                            .layers = "vision_config.num_hidden_layers - 1",
                                            .positions = "phi.side * phi.side",
                                            .musts = phi4_musts};

const tare_llama_arch tare_llama_towers_siglip[] = {
    {.name = CLIP,
     .classes = "Gemma3ForConditionalGeneration",
     .cut = TOWER_OF_CLIP,
     .tensors = "",
     .defaults = gemma3_defaults,
     .own = gemma3_keys,
     .rules = gemma3_rules,
     .back = &gemma3_back,
     .tower = &gemma3_tower},
    {.name = CLIP,
     .classes = "Idefics3ForConditionalGeneration SmolVLMForConditionalGeneration",
     .tensors = "",
     .defaults = idefics3_defaults,
     .own = idefics3_keys,
     .rules = idefics3_rules,
     .back = &idefics3_back,
     .tower = &idefics3_tower},
    {.name = CLIP,
     .classes = "Phi4ForCausalLMV",
     .tensors = "",
     .defaults = phi4_defaults,
     .own = phi4_keys,
     .rules = phi4_rules,
     .tower = &phi4_tower},
    {.name = NULL},
};
