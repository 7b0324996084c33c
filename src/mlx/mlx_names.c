/* SPDX-License-Identifier: MIT
 *
 * The rows. mlx-lm has no list of them: each of its models rearranges what it loads. Rows without kinds hold
 * where no other one does. */
#include "mlx/mlx_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/json_resource.h"

#define EACH(kinds, before, after, mlx, plain)                                                     \
    { kinds, before mlx ".", NULL, after plain ".", TARE_MLX_EACH, false }
#define EACH_OF(kinds, before, after, gate, up, down)                                              \
    EACH(kinds, before, after, "gate_proj", gate), EACH(kinds, before, after, "up_proj", up),      \
        EACH(kinds, before, after, "down_proj", down)
#define ABOVE(kinds, before, plain)                                                                \
    { kinds, before "gate_proj.weight", before "up_proj.weight", plain, TARE_MLX_ABOVE, true }
#define BOTH(kinds, before, end, plain, form)                                                      \
    { kinds, before "gate_proj" end, before "up_proj" end, plain, form, false }
#define DOWN(kinds, before, plain, form)                                                           \
    { kinds, before "down_proj.weight", NULL, plain, form, false }

#define NOT_UNDONE(kinds, name)                                                                    \
    { kinds, name, NULL, name, TARE_MLX_NOT_UNDONE, true }

#define GATHERED(kinds, mlx, plain, form)                                                          \
    { kinds, mlx, NULL, plain, form, true }

#define STEP(name)                                                                                 \
    { "step3p5", ".mlp.switch_mlp." name, NULL, ".moe." name, TARE_MLX_SAME, true }

#define LLAMA4    "llama4 llama4_text"
#define QWEN3_VL  "qwen3_vl_moe qwen3_vl_moe_text"
#define FUSED     "qwen3_5_moe qwen3_5_moe_text mistral4"
#define GEMMA4    "gemma4 gemma4_text"
#define GRANITE   "granitemoe granitemoeshared granitemoehybrid"
#define OWN_STACK "afmoe dots1 Klear"
#define APART     "olmo_hybrid bailing_moe_v3"
#define VISUAL                                                                                     \
    "qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe glm4v glm4v_moe glm_ocr"
#define INSIDE    "gemma4 gemma4_unified granite4_vision minicpmv4_6 lfm2_vl muse_glimmer"
#define BESIDE    "dots_ocr hunyuan_vl youtu_vl"
#define SMOL      "idefics3 smolvlm"
#define MOONVIT   "kimi_vl kimi_k25"
#define WITH_NEXT "qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text minicpmv4_6"
#define ADDS_ONE  WITH_NEXT " step3p5"
/* Encoders of which mlx-vlm's names and form are known, by what it makes of models in transformers' form. */
#define TOWERS                                                                                     \
    VISUAL " " INSIDE " " BESIDE " " SMOL " " MOONVIT                                              \
           " mistral3 internvl internvl_chat llava gemma3 llama4 minimax_m3_vl"

static const tare_mlx_row stacks[] = {
    BOTH("gpt_oss", ".experts.", ".weight", ".experts.gate_up_proj", TARE_MLX_MINGLED),
    BOTH("gpt_oss", ".experts.", ".bias", ".experts.gate_up_proj_bias", TARE_MLX_MINGLED),
    DOWN("gpt_oss", ".experts.", ".experts.down_proj", TARE_MLX_TURNED),
    {"gpt_oss", ".experts.down_proj.bias", NULL, ".experts.down_proj_bias", TARE_MLX_SAME, false},
    BOTH(LLAMA4, ".feed_forward.experts.", ".weight", ".feed_forward.experts.gate_up_proj",
         TARE_MLX_BESIDE),
    DOWN(LLAMA4, ".feed_forward.experts.", ".feed_forward.experts.down_proj", TARE_MLX_TURNED),
    BOTH(QWEN3_VL, ".switch_mlp.", ".weight", ".experts.gate_up_proj", TARE_MLX_BESIDE),
    DOWN(QWEN3_VL, ".switch_mlp.", ".experts.down_proj", TARE_MLX_TURNED),
    BOTH(FUSED, ".switch_mlp.", ".weight", ".experts.gate_up_proj", TARE_MLX_ABOVE),
    DOWN(FUSED, ".switch_mlp.", ".experts.down_proj", TARE_MLX_SAME),
    ABOVE(GEMMA4, ".experts.switch_glu.", ".experts.gate_up_proj"),
    DOWN(GEMMA4, ".experts.switch_glu.", ".experts.down_proj", TARE_MLX_SAME),
    ABOVE(GRANITE, ".block_sparse_moe.switch_mlp.", ".block_sparse_moe.input_linear.weight"),
    DOWN(GRANITE, ".block_sparse_moe.switch_mlp.", ".block_sparse_moe.output_linear.weight",
         TARE_MLX_SAME),
    BOTH("-granitemoehybrid", ".mlp.", ".weight", ".shared_mlp.input_linear.weight",
         TARE_MLX_ABOVE),
    DOWN("-granitemoehybrid", ".mlp.", ".shared_mlp.output_linear.weight", TARE_MLX_SAME),
    GATHERED("dbrx", ".ffn.experts.#.w1.weight", ".ffn.experts.mlp.w1", TARE_MLX_GATHERED),
    GATHERED("dbrx", ".ffn.experts.#.v1.weight", ".ffn.experts.mlp.v1", TARE_MLX_GATHERED),
    GATHERED("dbrx", ".ffn.experts.#.w2.weight", ".ffn.experts.mlp.w2", TARE_MLX_GATHERED_TURNED),
    STEP("gate_proj."),
    STEP("up_proj."),
    STEP("down_proj."),
    NOT_UNDONE("deepseek_v41 deepseek_v41_text", ".experts.switch_mlp."),
    EACH_OF("kimi_linear", ".mlp.switch_mlp.", ".block_sparse_moe.experts.#.", "w1", "w3", "w2"),
    EACH_OF("lfm2_moe", ".switch_mlp.", ".experts.#.", "w1", "w3", "w2"),
    EACH("nemotron_h", ".switch_mlp.", ".experts.#.", "fc1", "up_proj"),
    EACH("nemotron_h", ".switch_mlp.", ".experts.#.", "fc2", "down_proj"),
    EACH_OF(OWN_STACK, ".mlp.experts.", ".mlp.experts.#.", "gate_proj", "up_proj", "down_proj"),
    EACH_OF(NULL, ".block_sparse_moe.switch_mlp.", ".block_sparse_moe.experts.#.", "w1", "w3",
            "w2"),
    EACH_OF(NULL, ".switch_mlp.", ".experts.#.", "gate_proj", "up_proj", "down_proj"),
    /* for writing alone: names of experts that are MLX's under the rows above */
    EACH_OF(NULL, ".switch_mlp.", ".experts.#.", "w1", "w3", "w2"),
    {NULL, NULL, NULL, NULL, TARE_MLX_SAME, false}};

#define CONVOLUTION(kinds, name)                                                                   \
    { kinds, name, NULL, name, TARE_MLX_LAST_TWO, false }
#define NORM(name)                                                                                 \
    { ADDS_ONE, name, NULL, name, TARE_MLX_LESS_ONE, false }
#define TURNED(kinds, name)                                                                        \
    { kinds, name, NULL, name, TARE_MLX_TURNED, false }
#define RENAMED(kinds, mlx, plain)                                                                 \
    { kinds, mlx, NULL, plain, TARE_MLX_SAME, false }

#define DIVIDED(name)                                                                              \
    { "falcon_h1", name, NULL, name, TARE_MLX_DIVIDED, false }
#define VECTOR(kinds, name)                                                                        \
    { kinds, name, NULL, name, TARE_MLX_VECTOR, false }

static const tare_mlx_row others[] = {
    DIVIDED(".embed_tokens.weight"),
    DIVIDED("lm_head.weight"),
    DIVIDED(".q_proj.weight"),
    DIVIDED(".k_proj.weight"),
    DIVIDED(".o_proj.weight"),
    DIVIDED(".out_proj.weight"),
    DIVIDED(".gate_proj.weight"),
    DIVIDED(".down_proj.weight"),
    DIVIDED(".in_proj.weight"),
    NOT_UNDONE("muse_spark", ".qkvg_proj."),
    NOT_UNDONE("kimi_k3", ".qkv_conv."),
    CONVOLUTION("mamba mamba2 granitemoehybrid jamba nemotron_h plamo2 falcon_h1 " WITH_NEXT,
                ".conv1d.weight"),
    CONVOLUTION("lfm2 lfm2_moe lfm2_vl", ".conv.conv.weight"),
    CONVOLUTION("recurrent_gemma", ".conv_1d.weight"),
    CONVOLUTION(APART, ".q_conv1d.weight"),
    CONVOLUTION(APART, ".k_conv1d.weight"),
    CONVOLUTION(APART, ".v_conv1d.weight"),
    {"kimi_linear", ".q_conv.conv.weight", NULL, ".q_conv1d.weight", TARE_MLX_LAST_TWO, false},
    {"kimi_linear", ".k_conv.conv.weight", NULL, ".k_conv1d.weight", TARE_MLX_LAST_TWO, false},
    {"kimi_linear", ".v_conv.conv.weight", NULL, ".v_conv1d.weight", TARE_MLX_LAST_TWO, false},
    NORM(".input_layernorm.weight"),
    NORM(".post_attention_layernorm.weight"),
    {"qwen3_next", "mtp.", NULL, "mtp.", TARE_MLX_LEFT_OUT, false},
    NORM("model.norm.weight"),
    NORM(".language_model.norm.weight"),
    NORM(".model.norm.weight"),
    NORM(".q_norm.weight"),
    NORM(".k_norm.weight"),
    {NULL, ".embed_q.weight", ".unembed_out.weight", ".kv_b_proj.weight", TARE_MLX_KEYS_VALUES,
     false},
    VECTOR("apertus", ".alpha_p"),
    VECTOR("apertus", ".alpha_n"),
    VECTOR("rwkv7", ".k_k"),
    VECTOR("rwkv7", ".k_a"),
    VECTOR("rwkv7", ".g_norm.weight"),
    VECTOR("rwkv7", ".g_norm.bias"),
    TURNED("gpt2", ".attn.c_attn.weight"),
    TURNED("gpt2", ".attn.c_proj.weight"),
    TURNED("gpt2", ".mlp.c_fc.weight"),
    TURNED("gpt2", ".mlp.c_proj.weight"),
    RENAMED("kimi_linear", ".mlp.shared_experts.", ".block_sparse_moe.shared_experts."),
    RENAMED("kimi_linear", ".mlp.gate.weight", ".block_sparse_moe.gate.weight"),
    RENAMED("kimi_linear", ".mlp.e_score_correction_bias",
            ".block_sparse_moe.gate.e_score_correction_bias"),
    RENAMED("lfm2_moe", ".feed_forward.gate_proj.", ".feed_forward.w1."),
    RENAMED("lfm2_moe", ".feed_forward.up_proj.", ".feed_forward.w3."),
    RENAMED("lfm2_moe", ".feed_forward.down_proj.", ".feed_forward.w2."),
    RENAMED("laguna", ".mlp.gate.proj.", ".mlp.gate."),
    RENAMED("laguna", ".mlp.gate.e_score_correction_bias", ".mlp.experts.e_score_correction_bias"),
    RENAMED("exaone_moe", ".mlp.gate.e_score_correction_bias", ".mlp.e_score_correction_bias"),
    RENAMED("step3p5", ".mlp.gate.gate.", ".moe.gate."),
    RENAMED("step3p5", ".mlp.gate.router_bias", ".moe.router_bias"),
    RENAMED("step3p5", ".mlp.share_expert.", ".share_expert."),
    RENAMED(MOONVIT, ".attn.wqkv.", ".wqkv."),
    RENAMED(MOONVIT, ".attn.wo.", ".wo."),
    RENAMED(NULL, ".mlp.gate.gate_proj.", ".mlp.gate."),
    RENAMED(NULL, ".ngram_embeddings.word_embeddings.", ".embed_tokens."),
    CONVOLUTION("gemma4 gemma4_unified", ".depthwise_conv1d.weight"),
    /* behind all others, whose convolutions have one channel */
    {TOWERS, ".weight", NULL, ".weight", TARE_MLX_CHANNELS_LAST, false},
    {NULL, NULL, NULL, NULL, TARE_MLX_SAME, false}};

/* Beginnings. */
static const tare_mlx_row roots[] = {
    RENAMED("gpt2", "model.", ""),
    RENAMED("gpt_neox", "model.h.", "gpt_neox.layers."),
    RENAMED("gpt_neox", "model.embed_out.", "embed_out."),
    RENAMED("gpt_neox", "model.", "gpt_neox."),
    RENAMED("gptj", "model.", "transformer."),
    RENAMED(VISUAL " " INSIDE, "language_model.model.", "model.language_model."),
    RENAMED(VISUAL " " INSIDE " " SMOL, "language_model.lm_head.", "lm_head."),
    RENAMED(VISUAL, "vision_tower.", "model.visual."),
    RENAMED("lfm2_vl", "vision_tower.", "model.vision_tower.vision_model."),
    RENAMED(INSIDE, "vision_tower.", "model.vision_tower."),
    RENAMED("gemma4 gemma4_unified", "audio_tower.", "model.audio_tower."),
    RENAMED("gemma4 gemma4_unified", "embed_vision.", "model.embed_vision."),
    RENAMED("gemma4 gemma4_unified", "embed_audio.", "model.embed_audio."),
    RENAMED("gemma4 gemma4_unified", "vision_embedder.", "model.vision_embedder."),
    RENAMED("granite4_vision", "image_newline", "model.image_newline"),
    RENAMED("granite4_vision", "layerwise_projectors.", "model.layerwise_projectors."),
    RENAMED("granite4_vision", "spatial_projectors.", "model.spatial_projectors."),
    RENAMED("minicpmv4_6", "vit_merger.", "model.vision_tower.vit_merger."),
    RENAMED("minicpmv4_6", "merger.", "model.merger."),
    RENAMED("lfm2_vl", "multi_modal_projector.", "model.multi_modal_projector."),
    RENAMED("muse_glimmer", "vision_adapter.", "model.vision_adapter."),
    RENAMED("muse_glimmer", "vision_projection.", "model.vision_projection."),
    RENAMED("muse_glimmer", "perception_emb_norm.", "model.perception_emb_norm."),
    RENAMED("muse_glimmer", "model.embed_tokens.", "model.language_model.embed_tokens."),
    RENAMED("muse_glimmer", "model.layers.", "model.language_model.layers."),
    RENAMED("muse_glimmer", "model.norm.", "model.language_model.norm."),
    RENAMED(SMOL, "language_model.", "model.text_model."),
    RENAMED(SMOL, "vision_model.", "model.vision_model."),
    RENAMED(SMOL, "connector.", "model.connector."),
    RENAMED("dots_ocr", "language_model.model.lm_head.", "lm_head."),
    RENAMED(BESIDE, "language_model.", ""),
    RENAMED("hunyuan_vl", "vision_tower.", "vit."),
    RENAMED("youtu_vl", "vision_tower.merger.", "merger."),
    RENAMED("youtu_vl", "vision_tower.", "siglip2.vision_model."),
    RENAMED("mistral3", "vision_tower.vision_model.", "vision_tower."),
    RENAMED(MOONVIT, "vision_tower.blocks.", "vision_tower.encoder.blocks."),
    RENAMED(MOONVIT, "vision_tower.final_layernorm.", "vision_tower.encoder.final_layernorm."),
    {NULL, NULL, NULL, NULL, TARE_MLX_SAME, false}};

/* What Falcon H1's weights were multiplied by: members of config.json. */
static const struct {
    const char *name, *member;
    size_t item; /* of an array */
} factors[] = {{".embed_tokens.weight", "embedding_multiplier", 0},
               {"lm_head.weight", "lm_head_multiplier", 0},
               {".q_proj.weight", "attention_in_multiplier", 0},
               {".k_proj.weight", "attention_in_multiplier", 0},
               {".o_proj.weight", "attention_out_multiplier", 0},
               {".out_proj.weight", "ssm_out_multiplier", 0},
               {".gate_proj.weight", "mlp_multipliers", 0},
               {".down_proj.weight", "mlp_multipliers", 1},
               {".in_proj.weight", "ssm_in_multiplier", 0}};

/* ---- what a model is --------------------------------------------------------------------------- */

tare_status tare_mlx_kind_of(tare_mlx_kind *out, const tare_model *m, tare_arena *arena,
                             tare_error *err) {
    const tare_json_node *config;
    *out = (tare_mlx_kind){TARE_STR(""), TARE_STR(""), 0, false, NULL};
    TARE_TRY(tare_model_json(&config, m, "config.json", arena, err));
    if (!config) return TARE_OK;
    out->config = config;
    const tare_json_node *hidden = tare_json_path(config, TARE_STR("text_config.hidden_size"));
    if (!hidden) hidden = tare_json_path(config, TARE_STR("hidden_size"));
    uint64_t n_experts = 0;
    tare_json_node_u64(hidden, &out->hidden);
    tare_json_node_u64(tare_json_path(config, TARE_STR("num_local_experts")), &n_experts);
    out->has_experts = n_experts > 0;
    out->whole = tare_json_node_text(tare_json_path(config, TARE_STR("model_type")));
    out->text = tare_json_node_text(tare_json_path(config, TARE_STR("text_config.model_type")));
    return TARE_OK;
}

static bool has_word(const char *words, tare_str word, bool has_experts) {
    while (*words) {
        const bool is_dense = *words == '-';
        words += is_dense;
        const size_t n = strcspn(words, " ");
        if (word.len == n && memcmp(words, word.ptr, n) == 0 && !(is_dense && has_experts))
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

static bool is_for(const tare_mlx_row *row, const tare_mlx_kind *kind) {
    return !row->kinds || has_word(row->kinds, kind->whole, kind->has_experts) ||
           has_word(row->kinds, kind->text, kind->has_experts);
}

bool tare_mlx_has_tower(const tare_mlx_kind *kind) {
    return has_word(TOWERS, kind->whole, false);
}

bool tare_mlx_tells_norms(tare_str name, const tare_mlx_kind *kind, bool is_plain) {
    return tare_str_is(kind->whole, "step3p5") &&
           tare_mlx_is_in(name, is_plain ? ".moe." : ".mlp.switch_mlp.");
}

bool tare_mlx_lacks_biases(const tare_mlx_kind *kind) {
    return tare_str_is(kind->whole, "ernie4_5_moe");
}

/* ---- factors ----------------------------------------------------------------------------------- */

/* A number of config.json, or of an array there. */
static bool number_of(double *out, const tare_mlx_kind *kind, const char *member, size_t item) {
    const tare_json_node *n = tare_json_path(kind->config, tare_str_of(member));
    if (n && n->type == TARE_JSON_ARRAY)
        for (n = n->child; n && item > 0; item--) n = n->next;
    if (!n || n->type != TARE_JSON_NUMBER) return false;
    const tare_json_value v = {.type = n->type, .raw = n->text};
    return tare_json_f64(&v, out) && isfinite(*out) && *out != 0;
}

/* Rows of a projection into a mixer: two of its inner width, two of the states of all groups, one a head. */
static bool mixer_factors(tare_mlx_factor *to, const tare_mlx_kind *kind) {
    static const char *const rows[] = {"mamba_d_ssm", "mamba_d_ssm", "mamba_n_groups",
                                       "mamba_n_groups", "mamba_n_heads"};
    uint64_t n_states = 0;
    const float all = to[0].by;
    if (!tare_json_node_u64(tare_json_path(kind->config, TARE_STR("mamba_d_state")), &n_states))
        return false;
    for (size_t i = 0; i < TARE_MLX_FACTORS; i++) {
        double of;
        const bool is_state = i == 2 || i == 3;
        const tare_json_node *n = tare_json_path(kind->config, tare_str_of(rows[i]));
        if (!tare_json_node_u64(n, &to[i].n_rows) ||
            !tare_mul_u64(to[i].n_rows, is_state ? n_states : 1, &to[i].n_rows) ||
            !number_of(&of, kind, "ssm_multipliers", i))
            return false;
        to[i].by = (float)(all * of);
    }
    return true;
}

size_t tare_mlx_factors_of(tare_mlx_factor *to, tare_str name, const tare_mlx_kind *kind) {
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        double by;
        if (!tare_mlx_is_in(name, factors[i].name)) continue;
        if (!number_of(&by, kind, factors[i].member, factors[i].item)) return 0;
        for (size_t k = 0; k < TARE_MLX_FACTORS; k++) to[k] = (tare_mlx_factor){0, (float)by};
        if (strcmp(factors[i].name, ".in_proj.weight") != 0) return 1;
        return mixer_factors(to, kind) ? TARE_MLX_FACTORS : 0;
    }
    return 0;
}

/* ---- names ------------------------------------------------------------------------------------- */

/* Where a part lies in a name; SIZE_MAX: nowhere. */
static size_t place_of(tare_str name, const char *part) {
    const size_t n = strlen(part);
    const bool begins = part[0] != '.', ends = part[n - 1] != '.';
    if (name.len < n) return SIZE_MAX;
    const size_t first = ends ? name.len - n : 0, last = begins ? 0 : name.len - n;
    for (size_t i = first; i <= last; i++)
        if (memcmp(name.ptr + i, part, n) == 0) return i;
    return SIZE_MAX;
}

/* Where a pattern with '#' lies in a name, and how many bytes it takes there; the number. */
static size_t place_of_expert(tare_str name, const char *pattern, size_t *n, int64_t *number) {
    const size_t before = strcspn(pattern, "#"), after = strlen(pattern) - before - 1;
    for (size_t i = 0; i + before < name.len; i++) {
        size_t end = i + before;
        if (memcmp(name.ptr + i, pattern, before) != 0) continue;
        for (*number = 0; end < name.len && name.ptr[end] >= '0' && name.ptr[end] <= '9'; end++)
            *number = *number < 1000000 ? 10 * *number + (name.ptr[end] - '0') : *number;
        if (end == i + before || name.len - end < after ||
            memcmp(name.ptr + end, pattern + before + 1, after) != 0)
            continue;
        *n = end + after - i;
        return i;
    }
    return SIZE_MAX;
}

bool tare_mlx_is_in(tare_str name, const char *part) {
    size_t n;
    int64_t number;
    if (strchr(part, '#')) return place_of_expert(name, part, &n, &number) != SIZE_MAX;
    return place_of(name, part) != SIZE_MAX;
}

static const tare_mlx_row *find(const tare_mlx_row *rows, tare_str name,
                                const tare_mlx_kind *kind) {
    for (const tare_mlx_row *r = rows; r->name; r++)
        if (is_for(r, kind) &&
            (tare_mlx_is_in(name, r->name) || (r->second && tare_mlx_is_in(name, r->second))))
            return r;
    return NULL;
}

const tare_mlx_row *tare_mlx_stack_row(tare_str name, const tare_mlx_kind *kind) {
    return find(stacks, name, kind);
}

const tare_mlx_row *tare_mlx_other_row(tare_str name, const tare_mlx_kind *kind) {
    return find(others, name, kind);
}

static const tare_mlx_row *find_plain(const tare_mlx_row *rows, tare_str name,
                                      const tare_mlx_kind *kind) {
    for (const tare_mlx_row *r = rows; r->name; r++) {
        const bool is_done = r->form == TARE_MLX_EACH || r->form == TARE_MLX_KEYS_VALUES ||
                             r->form == TARE_MLX_VECTOR || r->form == TARE_MLX_CHANNELS_LAST;
        if (r->kinds && is_for(r, kind) && !is_done && tare_mlx_is_in(name, r->plain)) return r;
    }
    return NULL;
}

const tare_mlx_row *tare_mlx_row_of_plain(tare_str name, const tare_mlx_kind *kind) {
    const tare_mlx_row *row = find_plain(stacks, name, kind);
    return row ? row : find_plain(others, name, kind);
}

tare_str tare_mlx_replaced(tare_str name, const char *part, const char *by, tare_arena *arena) {
    size_t n = strlen(part);
    int64_t number;
    const size_t k = strlen(by), at = strchr(part, '#') ? place_of_expert(name, part, &n, &number)
                                                        : place_of(name, part);
    char *text = tare_arena_take(arena, name.len - n + k + 1);
    if (!text) return (tare_str){NULL, 0};
    memcpy(text, name.ptr, at);
    memcpy(text + at, by, k);
    memcpy(text + at + k, name.ptr + at + n, name.len - at - n);
    return (tare_str){text, name.len - n + k};
}

tare_str tare_mlx_numbered(tare_str name, const char *part, uint64_t number, tare_arena *arena) {
    char text[96];
    const size_t before = strcspn(part, "#");
    snprintf(text, sizeof text, "%.*s%llu%s", (int)before, part, (unsigned long long)number,
             part + before + 1);
    return tare_mlx_replaced(name, part, text, arena);
}

int64_t tare_mlx_number(tare_str name, const char *part) {
    size_t n;
    int64_t number;
    return place_of_expert(name, part, &n, &number) == SIZE_MAX ? -1 : number;
}

tare_str tare_mlx_rooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena) {
    for (const tare_mlx_row *r = roots; r->name; r++)
        if (is_for(r, kind) && tare_str_starts(name, tare_str_of(r->name)))
            return tare_mlx_replaced(name, r->name, r->plain, arena);
    return name;
}

tare_str tare_mlx_unrooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena) {
    const tare_str root = TARE_STR("model.");
    if (!tare_str_is(kind->whole, "gpt2") || tare_str_starts(name, root) ||
        tare_str_starts(name, TARE_STR("transformer.")) || tare_str_starts(name, TARE_STR("lm_")))
        return name;
    char *text = tare_arena_take(arena, root.len + name.len);
    if (!text) return (tare_str){NULL, 0};
    memcpy(text, root.ptr, root.len);
    memcpy(text + root.len, name.ptr, name.len);
    return (tare_str){text, root.len + name.len};
}

/* ---- experts, the other way -------------------------------------------------------------------- */

tare_status tare_mlx_stack_of(tare_str *out, int64_t *expert, tare_str module,
                              const tare_mlx_kind *kind, tare_arena *arena, tare_error *err) {
    char *name = tare_arena_take(arena, module.len + 2);
    *out = (tare_str){NULL, 0};
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "names of experts");
    memcpy(name + 1, module.ptr, module.len);
    name[0] = name[module.len + 1] = '.'; /* as rows have it */
    const tare_str whole = {name, module.len + 2};
    for (const tare_mlx_row *r = stacks; r->name; r++) {
        size_t n;
        if (r->form != TARE_MLX_EACH || !is_for(r, kind)) continue;
        const size_t at = place_of_expert(whole, r->plain, &n, expert), k = strlen(r->name);
        if (at == SIZE_MAX) continue;
        char *text = tare_arena_take(arena, whole.len - n + k);
        if (!text) return tare_fail(err, TARE_ERR_NOMEM, "names of experts");
        memcpy(text, name, at);
        memcpy(text + at, r->name, k);
        memcpy(text + at + k, name + at + n, whole.len - at - n);
        *out = (tare_str){text + 1, whole.len - n + k - 2};
        return TARE_OK;
    }
    return TARE_OK;
}
