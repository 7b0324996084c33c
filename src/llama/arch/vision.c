/* SPDX-License-Identifier: MIT
 *
 * Vision encoders of other kinds: Pixtral's, InternVL's, Llama 4's, Janus Pro's,
 * Kimi-VL's, Kimi K2.5's, LFM2-VL's. */
#include "llama/arch/tower_rows.h"

/* ---- Pixtral, Mistral 3, LightOnOCR ---------------------------------------------------------- */

static const char *const pixtral_defaults[] = {"hidden_size = 4096",
                                               "vision_config.hidden_size = 1024",
                                               "vision_config.intermediate_size = 4096",
                                               "vision_config.num_hidden_layers = 24",
                                               "vision_config.num_attention_heads = 16",
                                               "vision_config.image_size = 1024",
                                               "vision_config.patch_size = 16",
                                               "vision_config.hidden_act = 'gelu'",
                                               "vision_config.layer_norm_eps = 0.00001",
                                               NULL};
#define PIXTRAL_KEYS(projector)                                                                    \
    VISION_KEYS, KEY_PROJECTOR(projector), KEY_VISION_EPS("vision_config.layer_norm_eps"),         \
        KEYS_ACTIVATION, KEY_VISION_MERGE("spatial_merge_size")
static const tare_llama_key pixtral_keys[] = {PIXTRAL_KEYS("pixtral"), END_OF_KEYS};
static const tare_llama_key lighton_keys[] = {PIXTRAL_KEYS("lightonocr"), END_OF_KEYS};

#define PIXTRAL_BLOCK(p, name, to)                                                                 \
    { p "transformer.layers.#." name "@", "=v.blk.#." to, NULL }
#define PIXTRAL_HEADS(p, name, to)                                                                 \
    {                                                                                              \
        p "transformer.layers.#." name "@", "=v.blk.#." to,                                        \
            "heads(vision_config.num_attention_heads)"                                             \
    }
#define PIXTRAL_RULES(p, connects)                                                                 \
    PATCHES(p "patch_conv"), {p "ln_pre@", "=v.pre_ln", NULL},                                     \
        PIXTRAL_HEADS(p, "attention.q_proj", "attn_q"),                                            \
        PIXTRAL_HEADS(p, "attention.k_proj", "attn_k"),                                            \
        PIXTRAL_BLOCK(p, "attention.v_proj", "attn_v"),                                            \
        PIXTRAL_BLOCK(p, "attention.o_proj", "attn_out"),                                          \
        PIXTRAL_BLOCK(p, "attention_norm", "ln1"), PIXTRAL_BLOCK(p, "ffn_norm", "ln2"),            \
        PIXTRAL_BLOCK(p, "feed_forward.gate_proj", "ffn_gate"),                                    \
        PIXTRAL_BLOCK(p, "feed_forward.up_proj", "ffn_up"),                                        \
        PIXTRAL_BLOCK(p, "feed_forward.down_proj", "ffn_down"),                                    \
        {connects "linear_1@", "=mm.1", NULL}, {connects "linear_2@", "=mm.2", NULL},              \
        {connects "norm@", "=mm.input_norm", NULL}, {                                              \
        connects "patch_merger.merging_layer@", "=mm.patch_merger", NULL                           \
    }
static const tare_llama_rule pixtral_rules[] = {
    PIXTRAL_RULES("vision_tower.", "multi_modal_projector."),
    /* what stands between the rows of a picture is a token of the text model */
    {"*embed_tokens.weight", "=v.token_embd.img_break", "rows(0, token, 1) view(d1)"},
    END_OF_RULES};
static const tare_llama_rule lighton_rules[] = {
    PIXTRAL_RULES("vision_encoder.", "vision_projection."), END_OF_RULES};
const tare_llama_must tare_llama_must_activate[] = {MUST_ACTIVATE, {NULL, NULL}};
#define BACK_PIXTRAL(type)                                                                         \
    "model_type = '" type "'", "vision_feature_layer = -1",                                        \
        "multimodal_projector_bias = has(tensors.mm.1.bias)", "projector_hidden_act = 'gelu'",     \
        "vision_config.model_type = 'pixtral'",                                                    \
        "vision_config.num_hidden_layers = vision.block_count",                                    \
        "vision_config.head_dim = vision.embedding_length / vision.attention.head_count",          \
        "processor.image_processor_type = 'PixtralImageProcessor'",                                \
        "processor.processor_class = 'PixtralProcessor'",                                          \
        "processor.patch_size = vision.patch_size",                                                \
        "processor.size.longest_edge = vision.image_size"
static const char *const pixtral_back_config[] = {BACK_PIXTRAL("llava"),
                                                  "vision_feature_select_strategy = 'full'", NULL};
static const char *const mistral3_back_config[] = {BACK_PIXTRAL("mistral3"), NULL};
#define PIXTRAL_BACK(rows, condition)                                                              \
    {                                                                                              \
        .names = "vision_tower. multi_modal_projector.", .config = rows, .when = condition,        \
        .text = "model.=language_model.model. lm_head=language_model.lm_head",                     \
        .tokens = "image_token_index=[IMG]"                                                        \
    }
static const tare_llama_back pixtral_back = PIXTRAL_BACK(pixtral_back_config, NULL);
static const tare_llama_back mistral3_back =
    PIXTRAL_BACK(mistral3_back_config, "has(tensors.mm.patch_merger.weight)");
static const tare_llama_tower pixtral_tower = {
    .optional = "v.patch_embd.bias mm.input_norm mm.patch_merger",
    .projector = "pixtral",
    .takes = "vision_tower. multi_modal_projector.",
    .layers = VISION_LAYERS,
    .token = "[IMG_BREAK]",
    .musts = tare_llama_must_activate};
static const tare_llama_tower lighton_tower = {.optional = "v.patch_embd.bias",
                                               .projector = "lightonocr",
                                               .takes = "vision_encoder. vision_projection.",
                                               .layers = VISION_LAYERS,
                                               .musts = tare_llama_must_activate};

/* ---- InternVL -------------------------------------------------------------------------------- */

static const char *const intern_defaults[] = {
    "vision_config.layer_norm_eps = 0.000001",
    /* a list: height and width */
    "intern.image_size = at(vision_config.image_size, 0) | vision_config.image_size",
    "intern.patch_size = at(vision_config.patch_size, 0) | vision_config.patch_size", NULL};
static const tare_llama_key intern_keys[] = {
    VISION_KEYS,
    {"vision.image_size", U32, "intern.image_size"},
    {"vision.patch_size", U32, "intern.patch_size"},
    KEY_PROJECTOR("internvl"),
    KEY_VISION_EPS("vision_config.layer_norm_eps"),
    KEYS_ACTIVATION,
    KEY_VISION_SCALE("floor(1 / downsample_ratio)"),
    {"vision.preproc_min_tiles", U32, "if(min_dynamic_patch > 0, min_dynamic_patch)"},
    {"vision.preproc_max_tiles", U32, "if(max_dynamic_patch > 0, max_dynamic_patch)"},
    END_OF_KEYS};
#define INTERN_BLOCK(name, to)                                                                     \
    { "vision_model.encoder.layers.#." name "@", "=v.blk.#." to, NULL }
/* As transformers names what InternVL's authors published. */
#define INTERN_S1_BLOCK(name, to)                                                                  \
    { "vision_tower.encoder.layer.#." name "@", "=v.blk.#." to, NULL }
#define INTERN_BARE(name, to)                                                                      \
    {"vision_model.encoder.layers.#." name, "=v.blk.#." to ".weight", NULL}, {                     \
        "vision_model.encoder.layers.#." name ".weight", "=v.blk.#." to ".weight", NULL            \
    }
static const tare_llama_rule intern_rules[] = {
    {"vision_model.embeddings.class_embedding", "=v.class_embd", NULL},
    {"vision_model.embeddings.patch_embedding.weight", "=v.patch_embd.weight",
     "view(d0, d1, intern.patch_size, intern.patch_size)"},
    {"vision_model.embeddings.patch_embedding.bias", "=v.patch_embd.bias", NULL},
    {"vision_model.embeddings.position_embedding", "=v.position_embd.weight", NULL},
    {"vision_model.embeddings.position_embedding.weight", "=v.position_embd.weight", NULL},
    SPLIT_QKV("vision_model.encoder.layers.#.attn.qkv@"),
    INTERN_BLOCK("attn.proj", "attn_out"),
    INTERN_BLOCK("attn.q_norm", "attn_q_norm"),
    INTERN_BLOCK("attn.k_norm", "attn_k_norm"),
    INTERN_BLOCK("norm1", "ln1"),
    INTERN_BLOCK("norm2", "ln2"),
    INTERN_BLOCK("mlp.fc1", "ffn_up"),
    INTERN_BLOCK("mlp.fc2", "ffn_down"),
    INTERN_BARE("ls1", "ls1"),
    INTERN_BARE("ls2", "ls2"),
    {"mlp1.#@", "=mm.model.mlp.#", NULL},
    {"vision_tower.embeddings.cls_token", "=v.class_embd", NULL},
    {"vision_tower.embeddings.patch_embeddings.projection@", "=v.patch_embd", NULL},
    {"vision_tower.embeddings.position_embeddings", "=v.position_embd.weight", NULL},
    INTERN_S1_BLOCK("attention.q_proj", "attn_q"),
    INTERN_S1_BLOCK("attention.k_proj", "attn_k"),
    INTERN_S1_BLOCK("attention.v_proj", "attn_v"),
    INTERN_S1_BLOCK("attention.projection_layer", "attn_out"),
    INTERN_S1_BLOCK("attention.q_norm", "attn_q_norm"),
    INTERN_S1_BLOCK("attention.k_norm", "attn_k_norm"),
    INTERN_S1_BLOCK("layernorm_before", "ln1"),
    INTERN_S1_BLOCK("layernorm_after", "ln2"),
    INTERN_S1_BLOCK("mlp.fc1", "ffn_up"),
    INTERN_S1_BLOCK("mlp.fc2", "ffn_down"),
    {"vision_tower.encoder.layer.#.lambda_1", "=v.blk.#.ls1.weight", NULL},
    {"vision_tower.encoder.layer.#.lambda_2", "=v.blk.#.ls2.weight", NULL},
    {"multi_modal_projector.layer_norm@", "=mm.model.mlp.0", NULL},
    {"multi_modal_projector.linear_1@", "=mm.model.mlp.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.model.mlp.3", NULL},
    END_OF_RULES};
static const tare_llama_must intern_musts[] = {
    MUST_ACTIVATE, {"downsample_ratio > 0", "it does not say downsample_ratio"}, {NULL, NULL}};
/* As transformers stores it. */
static const char *const intern_back_config[] = {
    "model_type = 'internvl'",
    "downsample_ratio = 1 / vision.projector.scale_factor",
    "min_dynamic_patch = vision.preproc_min_tiles",
    "max_dynamic_patch = vision.preproc_max_tiles",
    "projector_hidden_act = 'gelu'",
    "vision_feature_layer = -1",
    "vision_feature_select_strategy = 'default'",
    "vision_config.model_type = 'internvl_vision'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.attention_bias = has(tensors.v.attn_q.bias)",
    "vision_config.use_qk_norm = has(tensors.v.attn_q_norm.weight)",
    "vision_config.norm_type = if(has(tensors.v.ln1.bias), 'layer_norm', 'rms_norm')",
    "processor.image_processor_type = 'GotOcr2ImageProcessor'",
    "processor.processor_class = 'InternVLProcessor'",
    "processor.size.height = vision.image_size",
    "processor.size.width = vision.image_size",
    "processor.min_patches = vision.preproc_min_tiles",
    "processor.max_patches = vision.preproc_max_tiles",
    NULL};
static const tare_llama_shape_row intern_back_shapes[] = {
    {"vision_tower.embeddings.cls_token", "1, 1, cols"},
    {"vision_tower.embeddings.position_embeddings", "1, rows, cols"},
    {NULL, NULL}};
static const tare_llama_back intern_back = {
    .names = "vision_tower. multi_modal_projector.",
    .config = intern_back_config,
    .shapes = intern_back_shapes,
    .text = "model.=language_model.model. lm_head=language_model.lm_head",
    .tokens = "image_token_id=<IMG_CONTEXT>"};
static const tare_llama_tower intern_tower = {
    .optional = "v.blk.#.attn_q_norm v.blk.#.attn_k_norm",
    .projector = "internvl",
    .takes = "vision_model. mlp1. vision_tower. multi_modal_projector.",
    .layers = VISION_LAYERS,
    .positions = "floor(intern.image_size / intern.patch_size) * "
                 "floor(intern.image_size / intern.patch_size) + 1",
    .musts = intern_musts};

/* ---- Llama 4 --------------------------------------------------------------------------------- */

static const char *const llama4_defaults[] = {"hidden_size = 5120",
                                              "vision_config.hidden_size = 768",
                                              "vision_config.intermediate_size = 5632",
                                              "vision_config.num_hidden_layers = 34",
                                              "vision_config.num_attention_heads = 16",
                                              "vision_config.image_size = 448",
                                              "vision_config.patch_size = 14",
                                              "vision_config.hidden_act = 'gelu'",
                                              "vision_config.norm_eps = 0.00001",
                                              "vision_config.pixel_shuffle_ratio = 0.5",
                                              NULL};
static const tare_llama_key llama4_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("llama4"),
    KEY_VISION_EPS("vision_config.norm_eps"),
    KEY_VISION_SCALE("floor(1 / vision_config.pixel_shuffle_ratio)"),
    KEY_GELU,
    END_OF_KEYS};
#define LLAMA4_BLOCK(name, to)                                                                     \
    { "vision_model.model.layers.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule llama4_rules[] = {
    {"vision_model.class_embedding", "=v.class_embd", NULL},
    {"vision_model.patch_embedding.linear@", "=v.patch_embd", NULL},
    {"vision_model.positional_embedding_vlm", "=v.position_embd.weight", NULL},
    {"vision_model.layernorm_pre@", "=v.pre_ln", NULL},
    {"vision_model.layernorm_post@", "=v.post_ln", NULL},
    LLAMA4_BLOCK("self_attn.q_proj", "attn_q"),
    LLAMA4_BLOCK("self_attn.k_proj", "attn_k"),
    LLAMA4_BLOCK("self_attn.v_proj", "attn_v"),
    LLAMA4_BLOCK("self_attn.o_proj", "attn_out"),
    LLAMA4_BLOCK("input_layernorm", "ln1"),
    LLAMA4_BLOCK("post_attention_layernorm", "ln2"),
    LLAMA4_BLOCK("mlp.fc1", "ffn_up"),
    LLAMA4_BLOCK("mlp.fc2", "ffn_down"),
    {"vision_model.vision_adapter.mlp.fc1@", "=mm.model.mlp.1", NULL},
    {"vision_model.vision_adapter.mlp.fc2@", "=mm.model.mlp.2", NULL},
    {"multi_modal_projector.linear_1.weight", "=mm.model.fc.weight", NULL},
    END_OF_RULES};
static const tare_llama_must llama4_musts[] = {
    {"vision_config.hidden_act == 'gelu'",
     "vision_config.hidden_act is not gelu, which llama.cpp computes"},
    {NULL, NULL}};
static const char *const llama4_back_config[] = {
    "model_type = 'llama4'",
    "vision_config.model_type = 'llama4_vision_model'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.pixel_shuffle_ratio = 1 / vision.projector.scale_factor",
    "vision_config.projector_input_dim = tensors.mm.model.mlp.1.weight.rows",
    "vision_config.projector_output_dim = tensors.mm.model.mlp.2.weight.rows",
    "vision_config.vision_output_dim = tensors.mm.model.fc.weight.cols",
    "processor.image_processor_type = 'Llama4ImageProcessorFast'",
    "processor.processor_class = 'Llama4Processor'",
    NULL};
static const tare_llama_back llama4_back = {
    .names = "vision_model. multi_modal_projector.",
    .config = llama4_back_config,
    .text = "model.=language_model.model. lm_head=language_model.lm_head",
    .tokens = "image_token_index=<|patch|>"};
static const tare_llama_tower llama4_tower = {.projector = "llama4",
                                              .takes = "vision_model. multi_modal_projector.",
                                              .layers = VISION_LAYERS,
                                              .positions = VISION_GRID " + 1",
                                              .musts = llama4_musts};

/* ---- Janus Pro, Kimi-VL, LFM2-VL --------------------------------------------------------------- */

static const char *const janus_defaults[] = {
    "vision_config.intermediate_size = round(vision_config.hidden_size * vision_config.mlp_ratio)",
    "vision_config.mlp_ratio = 4",
    "vision_config.hidden_size = 1024",
    "vision_config.num_hidden_layers = 24",
    "vision_config.num_attention_heads = 16",
    "vision_config.image_size = 384",
    "vision_config.patch_size = 16",
    "vision_config.hidden_act = 'gelu'",
    "vision_config.layer_norm_eps = 0.000001",
    NULL};
static const tare_llama_key janus_keys[] = {VISION_KEYS, KEY_PROJECTOR("janus_pro"),
                                            KEY_VISION_EPS("vision_config.layer_norm_eps"),
                                            KEYS_ACTIVATION, END_OF_KEYS};
static const tare_llama_rule janus_rules[] = {
    SIGLIP("vision_model."),
    {"vision_model.encoder.layers.#.self_attn.projection_layer@", "=v.blk.#.attn_out", NULL},
    {"aligner.fc1@", "=mm.0", NULL},
    {"aligner.hidden_layers.#@", "=mm.#", "block(layer + 1)"},
    END_OF_RULES};
static const char *const janus_back_config[] = {
    "model_type = 'janus'",
    "vision_config.model_type = 'janus_vision_model'",
    "vision_config.num_hidden_layers = vision.block_count",
    "vision_config.projection_dim = vision.projection_dim",
    "vision_config.mlp_ratio = vision.feed_forward_length / vision.embedding_length",
    "processor.image_processor_type = 'JanusImageProcessor'",
    "processor.processor_class = 'JanusProcessor'",
    NULL};
static const tare_llama_back janus_back = {
    .names = ".self_attn.q_proj .self_attn.k_proj .self_attn.v_proj .projection_layer .layer_norm "
             ".mlp.fc vision_model.embeddings. vision_model.post_layernorm aligner.",
    .config = janus_back_config,
    .lead = "model.",
    .text = "model.=model.language_model."};
static const tare_llama_tower janus_tower = {.projector = "janus_pro",
                                             .takes = "vision_model. aligner.",
                                             .layers = VISION_LAYERS,
                                             .positions = VISION_GRID,
                                             .musts = tare_llama_must_activate};

static const tare_llama_key kimi_keys[] = {VISION_KEYS,
                                           {"vision.image_size", U32, "64 * 14"},
                                           KEY_PROJECTOR("kimivl"),
                                           KEY_GELU,
                                           KEY_VISION_SCALE("2"),
                                           KEY_VISION_EPS("vision_config.layer_norm_eps | 0.00001"),
                                           END_OF_KEYS};
/* Images have any size. */
static const char *const kimi_defaults[] = {"vision_config.image_size = 0", NULL};
#define KIMI_BLOCK(name, to)                                                                       \
    { "vision_tower.encoder.blocks.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule kimi_rules[] = {
    PATCHES("vision_tower.patch_embed.proj"),
    {"vision_tower.patch_embed.pos_emb@", "=v.position_embd", "view(0, d2)"},
    SPLIT_QKV("vision_tower.encoder.blocks.#.wqkv@"),
    KIMI_BLOCK("wo", "attn_out"),
    KIMI_BLOCK("norm0", "ln1"),
    KIMI_BLOCK("norm1", "ln2"),
    KIMI_BLOCK("mlp.fc0", "ffn_up"),
    KIMI_BLOCK("mlp.fc1", "ffn_down"),
    {"vision_tower.encoder.final_layernorm@", "=v.post_ln", NULL},
    {"multi_modal_projector.pre_norm@", "=mm.input_norm", NULL},
    {"multi_modal_projector.linear_1@", "=mm.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_tower kimi_tower = {.projector = "kimivl",
                                            .takes = "vision_tower. multi_modal_projector.",
                                            .layers = VISION_LAYERS};

/* Kimi K2.5, GLM-5 Vision: the halves of rotary positions lie apart. */
static const char *const k25_defaults[] = {
    "vision_config.hidden_size = vision_config.vt_hidden_size",
    "vision_config.intermediate_size = vision_config.vt_intermediate_size",
    "vision_config.num_hidden_layers = vision_config.vt_num_hidden_layers",
    "vision_config.num_attention_heads = vision_config.vt_num_attention_heads | 16",
    "vision_config.patch_size = 14",
    "k.side = vision_config.init_pos_emb_height | 64",
    "k.patch = vision_config.patch_size * vision_config.patch_size",
    "vision_config.image_size = k.side * vision_config.patch_size",
    NULL};
static const tare_llama_key k25_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("kimik25"),
    {"=vision.pos_emb_height", U32, "k.side"},
    {"=vision.pos_emb_width", U32, "vision_config.init_pos_emb_width | 64"},
    {"=vision.pos_emb_time", U32, "vision_config.init_pos_emb_time | 4"},
    {"use_gelu", BOOL, "(vision_config.projector_hidden_act | 'gelu') == 'gelu'"},
    KEY_VISION_EPS("vision_config.projector_ln_eps | 0.00001"),
    KEY_VISION_SCALE("at(vision_config.merge_kernel_size, 0) | 2"),
    KEY_MIN_PIXELS("8 * k.patch"),
    KEY_MAX_PIXELS("(processor.in_patch_limit | 16384) * k.patch"),
    END_OF_KEYS};
#define K25_HEADS "view(vision_config.num_attention_heads, 0, 2, 2"
#define K25_QKV(i, weight, bias)                                                                   \
    {"vision_tower.encoder.blocks.#.wqkv.weight", "=v.blk.#.attn_qkv.weight",                      \
     "slice(0, " i ", 3) " weight "part(" i ", 3)"},                                               \
    {                                                                                              \
        "vision_tower.encoder.blocks.#.wqkv.bias", "=v.blk.#.attn_qkv.bias",                       \
            "slice(0, " i ", 3) " bias "part(" i ", 3)"                                            \
    }
#define K25_TURNED(i)                                                                              \
    K25_QKV(i, K25_HEADS ", d1) swap(1, 2) view(0, vision_config.hidden_size) ",                   \
            K25_HEADS ") swap(1, 2) view(0) ")
#define K25_BLOCK(name, to)                                                                        \
    { "vision_tower.encoder.blocks.#." name "@", "=v.blk.#." to, NULL }
static const tare_llama_rule k25_rules[] = {
    PATCHES("vision_tower.patch_embed.proj"),
    {"vision_tower.patch_embed.pos_emb@", "=v.position_embd", NULL},
    K25_TURNED("0"),
    K25_TURNED("1"),
    K25_QKV("2", "", ""),
    K25_BLOCK("wo", "attn_out"),
    K25_BLOCK("norm0", "ln1"),
    K25_BLOCK("norm1", "ln2"),
    K25_BLOCK("mlp.fc0", "ffn_up"),
    K25_BLOCK("mlp.fc1", "ffn_down"),
    {"vision_tower.encoder.final_layernorm@", "=v.post_ln", NULL},
    {"mm_projector.pre_norm@", "=mm.input_norm", NULL},
    {"mm_projector.proj.0@", "=mm.1", NULL},
    {"mm_projector.proj.2@", "=mm.2", NULL},
    {"mm_projector.linear_1@", "=mm.1", NULL},
    {"mm_projector.linear_2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_tower k25_tower = {
    .projector = "kimik25", .takes = "vision_tower. mm_projector.", .layers = VISION_LAYERS};

static const char *const lfm2_defaults[] = {"hidden_size = 2560",
                                            "vision_config.hidden_size = 768",
                                            "vision_config.intermediate_size = 3072",
                                            "vision_config.num_hidden_layers = 12",
                                            "vision_config.num_attention_heads = 12",
                                            "vision_config.patch_size = 16",
                                            "vision_config.layer_norm_eps = 0.000001",
                                            "vision_config.image_size = 256",
                                            NULL};
static const tare_llama_key lfm2_keys[] = {
    VISION_KEYS,
    {"vision.image_size", U32, "256"},
    {"vision.block_count", U32, "layers + 1 + (vision_feature_layer | -1)"},
    KEY_PROJECTOR("lfm2"),
    KEY_VISION_EPS("vision_config.layer_norm_eps"),
    KEY_VISION_SCALE("downsample_factor | 2"),
    KEY_GELU,
    END_OF_KEYS};
static const tare_llama_rule lfm2_rules[] = {
    RULE_DROP("vision_tower.vision_model.head.*"),
    {"vision_tower.vision_model.embeddings.patch_embedding.weight", "=v.patch_embd.weight",
     "view(d0, vision_config.patch_size, vision_config.patch_size, 3) swap(1, 3) swap(2, 3)"},
    {"vision_tower.vision_model.embeddings.patch_embedding.bias", "=v.patch_embd.bias", NULL},
    {"vision_tower.vision_model.embeddings.position_embedding@", "=v.position_embd", NULL},
    {"vision_tower.vision_model.post_layernorm@", "=v.post_ln", NULL},
    SIGLIP_BLOCKS("vision_tower.vision_model.encoder.layers.#."),
    {"multi_modal_projector.layer_norm@", "=mm.input_norm", NULL},
    {"multi_modal_projector.linear_1@", "=mm.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.2", NULL},
    END_OF_RULES};
static const tare_llama_tower lfm2_tower = {
    .projector = "lfm2", .takes = "vision_tower. multi_modal_projector.", .layers = VISION_LAYERS};

const tare_llama_arch tare_llama_towers_vision[] = {
    {.name = CLIP,
     .classes = "Mistral3ForConditionalGeneration",
     .requires = "vision_config.model_type == 'pixtral'",
     .tensors = "",
     .defaults = pixtral_defaults,
     .own = pixtral_keys,
     .rules = pixtral_rules,
     .back = &mistral3_back,
     .tower = &pixtral_tower},
    {.name = CLIP,
     .classes = "LlavaForConditionalGeneration",
     .requires = "vision_config.model_type == 'pixtral'",
     .tensors = "",
     .defaults = pixtral_defaults,
     .own = pixtral_keys,
     .rules = pixtral_rules,
     .back = &pixtral_back,
     .tower = &pixtral_tower},
    {.name = CLIP,
     .classes = "LightOnOCRForConditionalGeneration",
     .tensors = "",
     .defaults = pixtral_defaults,
     .own = lighton_keys,
     .rules = lighton_rules,
     .tower = &lighton_tower},
    {.name = CLIP,
     .classes = "InternVLForConditionalGeneration InternVisionModel InternVLVisionModel "
                "InternS1ForConditionalGeneration InternVLChatModel",
     .tensors = "",
     .defaults = intern_defaults,
     .own = intern_keys,
     .rules = intern_rules,
     .back = &intern_back,
     .tower = &intern_tower},
    {.name = CLIP,
     .classes = "Llama4ForConditionalGeneration",
     .tensors = "",
     .defaults = llama4_defaults,
     .own = llama4_keys,
     .rules = llama4_rules,
     .back = &llama4_back,
     .tower = &llama4_tower},
    {.name = CLIP,
     .classes = "JanusForConditionalGeneration",
     .tensors = "",
     .defaults = janus_defaults,
     .own = janus_keys,
     .rules = janus_rules,
     .back = &janus_back,
     .tower = &janus_tower},
    {.name = CLIP,
     .classes = "KimiVLForConditionalGeneration",
     .tensors = "",
     .defaults = kimi_defaults,
     .own = kimi_keys,
     .rules = kimi_rules,
     .tower = &kimi_tower},
    {.name = CLIP,
     .classes = "KimiK25ForConditionalGeneration Glm5vForConditionalGeneration",
     .tensors = "",
     .defaults = k25_defaults,
     .own = k25_keys,
     .rules = k25_rules,
     .tower = &k25_tower},
    {.name = CLIP,
     .classes = "Lfm2VlForConditionalGeneration",
     .cut = TOWER_OF_CLIP,
     .tensors = "",
     .defaults = lfm2_defaults,
     .own = lfm2_keys,
     .rules = lfm2_rules,
     .tower = &lfm2_tower},
    {.name = NULL},
};
