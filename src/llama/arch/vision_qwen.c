/* SPDX-License-Identifier: MIT
 *
 * Vision encoders of Qwen 2, 2.5, 3 and 3.5, of GLM 4, which is like that of Qwen 3, and of
 * EXAONE 4.5, which is like that of Qwen 2.5. */
#include "llama/arch/tower_rows.h"

static const char *const qwen2_defaults[] = {"hidden_size = 8192",
                                             "vision_config.depth = 32",
                                             "vision_config.num_heads = 16",
                                             "vision_config.embed_dim = 1280",
                                             "vision_config.hidden_size = 3584",
                                             "vision_config.patch_size = 14",
                                             "vision_config.image_size = 560",
                                             NULL};
/* llama.cpp takes the size of the text model for that of the tower's inner layers, and does not use
 * it. */
static const tare_llama_key qwen2_keys[] = {
    VISION_KEYS_OF("vision_config.embed_dim", "vision_config.hidden_size"),
    KEY_PROJECTOR("qwen2vl_merger"), KEY_VISION_EPS("0.000001"), END_OF_KEYS};

static const char *const qwen25_defaults[] = {"hidden_size = 8192",
                                              "vision_config.depth = 32",
                                              "vision_config.num_heads = 16",
                                              "vision_config.hidden_size = 3584",
                                              "vision_config.intermediate_size = 3420",
                                              "vision_config.patch_size = 14",
                                              "vision_config.image_size = 560",
                                              NULL};
static const tare_llama_key qwen25_keys[] = {VISION_KEYS,
                                             KEY_PROJECTOR("qwen2.5vl_merger"),
                                             KEY_SILU,
                                             {"vision.n_wa_pattern", U32, FULL_STEP},
                                             KEY_VISION_EPS("0.000001"),
                                             END_OF_KEYS};
static const tare_llama_must qwen25_musts[] = {{FULL_IS_REGULAR, IRREGULAR}, {NULL, NULL}};

static const tare_llama_rule qwen2_rules[] = {QWEN_BLOCKS,
                                              SPLIT_QKV("visual.blocks.#.attn.qkv@"),
                                              QWEN_BLOCK("mlp.fc1", "ffn_up"),
                                              QWEN_BLOCK("mlp.fc2", "ffn_down"),
                                              QWEN_GATED,
                                              QWEN_MERGER,
                                              END_OF_RULES};
#define BACK_QWEN(type, processor)                                                                 \
    "model_type = '" type "'", "text_config.model_type = '" type "_text'",                         \
        "vision_config.model_type = '" type "'", "vision_config.depth = vision.block_count",       \
        "vision_config.temporal_patch_size = 2", "vision_config.image_size = nothing",             \
        "processor.image_processor_type = 'Qwen2VLImageProcessor" processor "'",                   \
        "processor.patch_size = vision.patch_size", "processor.temporal_patch_size = 2"
/* Four patches become one where they are a square of two. */
#define BACK_MERGED(member)                                                                        \
    member " = round(sqrt(tensors.mm.0.weight.cols / vision.embedding_length))"
#define QWEN_TOKENS                                                                                \
    "image_token_id=<|image_pad|> video_token_id=<|video_pad|> "                                   \
    "vision_start_token_id=<|vision_start|> vision_end_token_id=<|vision_end|>"
#define QWEN_NAMES                                                                                 \
    "visual.patch_embed. .attn.qkv .attn.proj .norm1 .norm2 visual.merger. "                       \
    "vision_config.num_heads "
static const tare_llama_shape_row qwen2_back_shapes[] = {
    SHAPE_FRAMES("visual.patch_embed.proj.weight"),
    SHAPE_QKV("visual.blocks.#.attn.qkv@"),
    {NULL, NULL}};
static const char *const qwen2_back_config[] = {
    BACK_QWEN("qwen2_vl", ""),
    BACK_MERGED("vision_config.spatial_merge_size"),
    BACK_MERGED("processor.merge_size"),
    "processor.processor_class = 'Qwen2VLProcessor'",
    "vision_config.mlp_ratio = round(tensors.v.ffn_up.weight.rows / vision.embedding_length)",
    "vision_config.hidden_size = vision.projection_dim",
    NULL};
static const tare_llama_back qwen2_back = {.names = QWEN_NAMES ".mlp.fc",
                                           .config = qwen2_back_config,
                                           .shapes = qwen2_back_shapes,
                                           .tokens = QWEN_TOKENS};
static const char *const qwen25_back_config[] = {
    BACK_QWEN("qwen2_5_vl", ""),
    BACK_MERGED("vision_config.spatial_merge_size"),
    BACK_MERGED("processor.merge_size"),
    "processor.processor_class = 'Qwen2_5_VLProcessor'",
    "vision_config.out_hidden_size = vision.projection_dim",
    "vision_config.fullatt_block_indexes[] = if((layer + 1) % vision.n_wa_pattern == 0, layer)",
    NULL};
static const tare_llama_back qwen25_back = {.names = QWEN_NAMES
                                            ".mlp.gate_proj .mlp.up_proj .mlp.down_proj",
                                            .config = qwen25_back_config,
                                            .shapes = qwen2_back_shapes,
                                            .tokens = QWEN_TOKENS};
static const tare_llama_tower qwen2_tower = {.optional = "v.blk.#.ffn_gate",
                                             .projector = "qwen2vl_merger",
                                             .takes = "visual.",
                                             .layers = "vision_config.depth"};
static const tare_llama_tower qwen25_tower = {.projector = "qwen2.5vl_merger",
                                              .takes = "visual.",
                                              .layers = "vision_config.depth",
                                              .musts = qwen25_musts};

static const char *const qwen3_defaults[] = {"hidden_size = 4096",
                                             "vision_config.depth = 27",
                                             "vision_config.num_heads = 16",
                                             "rms_norm_eps = 0.000001",
                                             "vision_config.hidden_size = 1152",
                                             "vision_config.intermediate_size = 4304",
                                             "vision_config.patch_size = 16",
                                             "vision_config.spatial_merge_size = 2",
                                             QWEN3_IMAGE_SIZE,
                                             NULL};
static const tare_llama_key qwen3_keys[] = {VISION_KEYS,
                                            KEY_PROJECTOR("qwen3vl_merger"),
                                            KEY_GELU,
                                            KEY_VISION_MERGE("vision_config.spatial_merge_size"),
                                            KEY_VISION_EPS("rms_norm_eps"),
                                            KEY_DEEPSTACK,
                                            END_OF_KEYS};
static const tare_llama_rule qwen3_rules[] = {
    QWEN3_BLOCKS,
    {"visual.merger.norm@", "=v.post_ln", NULL},
    {"visual.merger.linear_fc1@", "=mm.0", NULL},
    {"visual.merger.linear_fc2@", "=mm.2", NULL},
    DEEPSTACK("deepstack_merger_list.#.norm", "norm"),
    DEEPSTACK("deepstack_merger_list.#.linear_fc1", "fc1"),
    DEEPSTACK("deepstack_merger_list.#.linear_fc2", "fc2"),
    END_OF_RULES};
#define BACK_QWEN3(type)                                                                           \
    BACK_QWEN(type, "Fast"), "processor.processor_class = 'Qwen3VLProcessor'",                     \
        "processor.merge_size = vision.spatial_merge_size",                                        \
        "vision_config.hidden_act = 'gelu_pytorch_tanh'",                                          \
        "vision_config.num_position_embeddings = tensors.v.position_embd.weight.rows",             \
        "vision_config.out_hidden_size = vision.projection_dim",                                   \
        "vision_config.deepstack_visual_indexes[] = "                                              \
        "if(at(vision.is_deepstack_layers, layer), layer)",                                        \
        "text_config.rms_norm_eps = vision.attention.layer_norm_epsilon", "rms_norm_eps = nothing"
static const char *const qwen3_back_config[] = {BACK_QWEN3("qwen3_vl"), NULL};
static const char *const qwen3moe_back_config[] = {BACK_QWEN3("qwen3_vl_moe"), NULL};
static const char *const qwen35_back_config[] = {BACK_QWEN3("qwen3_5"), NULL};
static const char *const qwen35moe_back_config[] = {BACK_QWEN3("qwen3_5_moe"), NULL};
static const tare_llama_shape_row qwen3_back_shapes[] = {
    SHAPE_FRAMES("visual.patch_embed.proj.weight"), {NULL, NULL}};
#define QWEN3_BACK(rows, condition)                                                                \
    {                                                                                              \
        .names = QWEN_NAMES ".mlp.linear_fc visual.pos_embed visual.deepstack_merger_list.",       \
        .config = rows, .shapes = qwen3_back_shapes, .when = condition, .lead = "model.",          \
        .text = "model.=model.language_model.", .tokens = QWEN_TOKENS                              \
    }
static const tare_llama_back qwen3_back = QWEN3_BACK(qwen3_back_config, NULL);
static const tare_llama_back qwen3moe_back =
    QWEN3_BACK(qwen3moe_back_config, "text_architecture == 'qwen3vlmoe'");
static const tare_llama_back qwen35_back =
    QWEN3_BACK(qwen35_back_config, "text_architecture == 'qwen35'");
static const tare_llama_back qwen35moe_back =
    QWEN3_BACK(qwen35moe_back_config, "text_architecture == 'qwen35moe'");
static const tare_llama_tower qwen3_tower = {.projector = "qwen3vl_merger",
                                             .takes = "visual.",
                                             .layers = "vision_config.depth",
                                             .positions = VISION_GRID};

/* Ling 3 VL: the merger is its norm, and what follows has names beside the tower's. */
static const char *const ling3_defaults[] = {
    "rms_norm_eps = 0.000001", "vision_config.spatial_merge_size = 2", QWEN3_IMAGE_SIZE, NULL};
static const tare_llama_key ling3_keys[] = {VISION_KEYS,
                                            KEY_PROJECTOR("ling3vl"),
                                            KEY_GELU,
                                            KEY_VISION_MERGE("vision_config.spatial_merge_size"),
                                            KEY_VISION_EPS("rms_norm_eps"),
                                            END_OF_KEYS};
static const tare_llama_rule ling3_rules[] = {QWEN3_BLOCKS,
                                              {"visual.merger.norm@", "=mm.input_norm", NULL},
                                              {"linear_proj.#@", "=mm.#", NULL},
                                              END_OF_RULES};
static const tare_llama_must ling3_musts[] = {
    {"vision_config.disable_merger_proj | false",
     "vision_config.disable_merger_proj is not true, as llama.cpp has it"},
    {NULL, NULL}};
static const tare_llama_tower ling3_tower = {.optional = "v.patch_embd.bias",
                                             .projector = "ling3vl",
                                             .takes = "visual. linear_proj.",
                                             .layers = "vision_config.depth",
                                             .positions = VISION_GRID,
                                             .musts = ling3_musts};

static const char *const glm4_defaults[] = {"hidden_size = 4096",
                                            "vision_config.depth = 24",
                                            "vision_config.num_heads = 12",
                                            "vision_config.hidden_size = 1536",
                                            "vision_config.intermediate_size = 13696",
                                            "vision_config.patch_size = 14",
                                            "vision_config.image_size = 336",
                                            "vision_config.hidden_act = 'silu'",
                                            NULL};
static const tare_llama_key glm4_keys[] = {VISION_KEYS, KEY_PROJECTOR("glm4v"), KEYS_ACTIVATION,
                                           KEY_VISION_EPS("vision_config.rms_norm_eps | 0.00001"),
                                           END_OF_KEYS};
static const tare_llama_rule glm4_rules[] = {
    QWEN3_BLOCKS,
    QWEN_BLOCK("attn.q_norm", "attn_q_norm"),
    QWEN_BLOCK("attn.k_norm", "attn_k_norm"),
    QWEN_GATED,
    {"visual.embeddings.position_embedding@", "=v.position_embd", NULL},
    {"visual.post_conv_layernorm@", "=v.norm_embd", NULL},
    {"visual.post_layernorm@", "=v.post_ln", NULL},
    {"visual.downsample@", "=mm.patch_merger", NULL},
    {"visual.merger.proj@", "=mm.model.fc", NULL},
    {"visual.merger.post_projection_norm@", "=mm.post_norm", NULL},
    {"visual.merger.gate_proj@", "=mm.gate", NULL},
    {"visual.merger.up_proj@", "=mm.up", NULL},
    {"visual.merger.down_proj@", "=mm.down", NULL},
    END_OF_RULES};
/* GLM-OCR alone has norms of the heads. */
#define BACK_GLM4(type)                                                                            \
    "model_type = '" type "'", "text_config.model_type = '" type "_text'",                         \
        "vision_config.model_type = '" type "_vision'",                                            \
        "vision_config.depth = vision.block_count",                                                \
        "vision_config.out_hidden_size = vision.projection_dim",                                   \
        "vision_config.spatial_merge_size = 2", "vision_config.temporal_patch_size = 2",           \
        "processor.image_processor_type = 'Glm4vImageProcessor'",                                  \
        "processor.processor_class = 'Glm4vProcessor'", "processor.patch_size = vision.patch_size"
static const char *const glm4_back_config[] = {BACK_GLM4("glm4v"), NULL};
static const char *const glm4moe_back_config[] = {BACK_GLM4("glm4v_moe"), NULL};
static const char *const glm_ocr_back_config[] = {BACK_GLM4("glm_ocr"), NULL};
#define GLM4_BACK(rows, condition)                                                                 \
    {                                                                                              \
        .names = "visual.patch_embed. .attn.qkv .attn.proj .attn.q_norm .attn.k_norm .norm1 "      \
                 ".norm2 .mlp.gate_proj .mlp.up_proj .mlp.down_proj visual.embeddings. "           \
                 "visual.post_ visual.downsample visual.merger. vision_config.num_heads ",         \
        .config = rows, .shapes = qwen3_back_shapes, .when = condition, .lead = "model.",          \
        .text = "model.=model.language_model.",                                                    \
        .tokens = "image_token_id=<|image|> video_token_id=<|video|> "                             \
                  "image_start_token_id=<|begin_of_image|> image_end_token_id=<|end_of_image|> "   \
                  "video_start_token_id=<|begin_of_video|> video_end_token_id=<|end_of_video|>"    \
    }
static const tare_llama_back glm4moe_back =
    GLM4_BACK(glm4moe_back_config, "text_architecture == 'glm4moe'");
static const tare_llama_back glm_ocr_back =
    GLM4_BACK(glm_ocr_back_config, "has(tensors.v.attn_q_norm.weight)");
static const tare_llama_back glm4_back = GLM4_BACK(glm4_back_config, NULL);
/* GLM 5 Next: no positions but rotary ones, and a bound of activations. */
#define GLM5_TOKEN                                                                                 \
    "processor.patch_size * processor.patch_size * processor.merge_size * processor.merge_size"
static const char *const glm5_defaults[] = {"hidden_size = 4096",
                                            "vision_config.depth = 24",
                                            "vision_config.num_heads = 16",
                                            "vision_config.hidden_size = 1024",
                                            "vision_config.intermediate_size = 4096",
                                            "vision_config.patch_size = 14",
                                            "vision_config.image_size = 336",
                                            "vision_config.spatial_merge_size = 2",
                                            "vision_config.hidden_act = 'silu'",
                                            "processor.patch_size = 14",
                                            "processor.merge_size = 2",
                                            NULL};
static const tare_llama_key glm5_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("glm5v"),
    KEYS_ACTIVATION,
    KEY_VISION_EPS("vision_config.rms_norm_eps | 0.00001"),
    KEY_VISION_MERGE("vision_config.spatial_merge_size"),
    {"vision.swiglu_clamp", F32, "vision_config.swiglu_limit | 10"},
    KEY_MIN_PIXELS("processor.min_image_tokens * " GLM5_TOKEN),
    KEY_MAX_PIXELS("processor.max_image_tokens * " GLM5_TOKEN),
    END_OF_KEYS};
static const tare_llama_must glm5_musts[] = {
    MUST_ACTIVATE,
    {"if(vision_config.spatial_merge_size == 2, "
     "(vision_config.rope_parameters.rope_theta | 10000) == 10000)",
     "vision_config.spatial_merge_size or rope_theta is not 2 and 10000, with which llama.cpp "
     "computes"},
    {NULL, NULL}};
static const tare_llama_tower glm5_tower = {.optional = "v.position_embd v.norm_embd",
                                            .projector = "glm5v",
                                            .takes = "visual.",
                                            .layers = "vision_config.depth",
                                            .musts = glm5_musts};

static const tare_llama_tower glm4_tower = {.optional = "v.blk.#.attn_q_norm v.blk.#.attn_k_norm",
                                            .projector = "glm4v",
                                            .takes = "visual.",
                                            .layers = "vision_config.depth",
                                            .musts = tare_llama_must_activate};

static const tare_llama_key exaone_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("exaone4_5"),
    KEY_SILU,
    KEY_MIN_PIXELS(MIN_PIXELS),
    KEY_MAX_PIXELS(MAX_PIXELS),
    {"vision.attention.head_count_kv", U32, "vision_config.num_key_value_heads"},
    KEY_VISION_EPS("vision_config.rms_norm_eps | rms_norm_eps | 0.000001"),
    {"vision.window_size", U32, "vision_config.window_size"},
    {"vision.n_wa_pattern", U32, FULL_STEP},
    END_OF_KEYS};
static const tare_llama_rule exaone_rules[] = {QWEN_BLOCKS, QWEN_BLOCK("attn.qkv", "attn_qkv"),
                                               QWEN_GATED, QWEN_MERGER, END_OF_RULES};
static const tare_llama_must exaone_musts[] = {
    {"if(has(" FULL "), " FULL_IS_REGULAR ", true)", IRREGULAR}, {NULL, NULL}};
static const tare_llama_tower exaone_tower = {.projector = "exaone4_5",
                                              .takes = "visual.",
                                              .layers = "vision_config.depth",
                                              .musts = exaone_musts};

#define QWEN3_ROW(class, way_back)                                                                 \
    {                                                                                              \
        .name = CLIP, .classes = class, .tensors = "", .defaults = qwen3_defaults,                 \
        .own = qwen3_keys, .rules = qwen3_rules, .back = &way_back, .tower = &qwen3_tower          \
    }
#define GLM4_ROW(class, way_back)                                                                  \
    {                                                                                              \
        .name = CLIP, .classes = class, .tensors = "", .defaults = glm4_defaults,                  \
        .own = glm4_keys, .rules = glm4_rules, .back = &way_back, .tower = &glm4_tower             \
    }
const tare_llama_arch tare_llama_towers_qwen[] = {
    {.name = CLIP,
     .classes = "Qwen2VLForConditionalGeneration Qwen2VLModel Sarashina2VisionForCausalLM",
     .tensors = "",
     .defaults = qwen2_defaults,
     .own = qwen2_keys,
     .rules = qwen2_rules,
     .back = &qwen2_back,
     .tower = &qwen2_tower},
    {.name = CLIP,
     .classes = "Qwen2_5_VLForConditionalGeneration",
     .tensors = "",
     .defaults = qwen25_defaults,
     .own = qwen25_keys,
     .rules = qwen2_rules,
     .back = &qwen25_back,
     .tower = &qwen25_tower},
    QWEN3_ROW("Qwen3VLMoeForConditionalGeneration", qwen3moe_back),
    QWEN3_ROW("Qwen3_5ForConditionalGeneration", qwen35_back),
    QWEN3_ROW("Qwen3_5MoeForConditionalGeneration "
              "Qwen4ExpForConditionalGeneration",
              qwen35moe_back),
    QWEN3_ROW("Qwen3VLForConditionalGeneration", qwen3_back),
    GLM4_ROW("Glm4vMoeForConditionalGeneration", glm4moe_back),
    GLM4_ROW("GlmOcrForConditionalGeneration", glm_ocr_back),
    GLM4_ROW("Glm4vForConditionalGeneration", glm4_back),
    {.name = CLIP,
     .classes = "Glm5NextForConditionalGeneration",
     .tensors = "",
     .defaults = glm5_defaults,
     .own = glm5_keys,
     .rules = glm4_rules,
     .tower = &glm5_tower},
    {.name = CLIP,
     .classes = "BailingMoeV3VLForConditionalGeneration",
     .tensors = "",
     .defaults = ling3_defaults,
     .own = ling3_keys,
     .rules = ling3_rules,
     .tower = &ling3_tower},
    {.name = CLIP,
     .classes = "Exaone4_5_ForConditionalGeneration",
     .tensors = "",
     .defaults = qwen25_defaults,
     .own = exaone_keys,
     .rules = exaone_rules,
     .tower = &exaone_tower},
    {.name = NULL},
};
