/* SPDX-License-Identifier: MIT
 *
 * config.json of a packed model: the text that it has, without settings of another packing, and at its
 * end what says how its weights are packed. */
#include <inttypes.h>

#include "base/buffer.h"
#include "base/str.h"
#include "model/json_resource.h"
#include "ops/mix/roles.h"
#include "ops/schemes/scheme_model.h"
#include "quantized/quantized.h"

/* A list of names. */
typedef struct names {
    tare_buffer *out;
    size_t n;
} names;

static void put_name(names *list, tare_str name) {
    tare_buffer_put_text(list->out, list->n++ ? ", " : "");
    tare_buffer_put_json(list->out, name);
}

static bool is_same(const tare_scheme_choice *a, const tare_scheme_choice *b) {
    return a->writer == b->writer && a->group == b->group;
}

/* ---- compressed-tensors ------------------------------------------------------------------------ */

static const tare_packed_weight *weight_of(const tare_scheme_search *s, size_t tensor) {
    return s->weight_of[tensor] < 0 ? NULL : &s->weights[s->weight_of[tensor]];
}

static bool is_packed(const tare_scheme_search *s, size_t tensor) {
    const tare_packed_weight *w = weight_of(s, tensor);
    return w && w->scheme.writer;
}

/* Where the layer's number begins in a name, "layers.0.mlp", which is the same in all programs. */
static tare_str from_layers(tare_str name) {
    const tare_str word = TARE_STR("layers.");
    size_t at = 0;
    while (at < name.len && !tare_str_starts(tare_str_cut(name, at), word)) at++;
    return at < name.len ? tare_str_cut(name, at) : name;
}

/* What a list of names may have beside whole names. */
typedef enum patterns { PATTERNS_NONE = 0, PATTERNS_REGEX, PATTERNS_GLOB } patterns;

/* A stack of experts that stays. Servers ask for the matrices of an expert, "experts.0.up_proj". */
static void put_stack(names *list, tare_str name, patterns kind) {
    tare_buffer text;
    tare_buffer_init(&text, list->out->allocator);
    tare_buffer_put_text(&text, kind == PATTERNS_REGEX ? "re:.*" : "*");
    while (name.len && name.ptr[name.len - 1] != '.') name.len--;
    name = from_layers(name);
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] == '.' && kind == PATTERNS_REGEX)
            tare_buffer_put_text(&text, "[.]");
        else
            tare_buffer_put_u8(&text, (uint8_t)name.ptr[i]);
    if (kind == PATTERNS_GLOB) tare_buffer_put_text(&text, "*");
    put_name(list, (tare_str){(const char *)text.data, text.size});
    list->out->failed = list->out->failed || text.failed;
    tare_buffer_free(&text);
}

/* Servers take every linear layer for a packed one that is not named here: all matrices that could be
 * one. */
static void put_ignored(tare_buffer *out, const tare_scheme_search *s, patterns kind) {
    names list = {.out = out};
    put_name(&list, TARE_STR("lm_head"));
    for (size_t i = 0; i < s->in->catalog.n_tensors; i++) {
        const tare_tensor *t = &s->in->catalog.tensors[i];
        const tare_role_info info = tare_role_of_name(t->name);
        if (is_packed(s, i) || t->n_dims < 2 || info.role == TARE_ROLE_TOKEN_EMBEDDING ||
            tare_str_is(t->name, "lm_head.weight"))
            continue;
        tare_str module = t->name;
        const bool is_module = tare_str_ends(module, TARE_STR(".weight"));
        if (is_module) module.len -= strlen(".weight");
        if (kind && !is_module && t->n_dims == 3 && info.is_expert)
            put_stack(&list, module, kind);
        else
            put_name(&list, module);
    }
}

static void put_weights(tare_buffer *out, const tare_scheme_choice *c) {
    const tare_writer *w = c->writer;
    const bool is_float = w->kind == TARE_GROUP_E2M1 || w->kind == TARE_GROUP_E4M3;
    const char *strategy = w->block_rows               ? "block"
                           : tare_writer_has_factor(w) ? "tensor_group"
                           : c->group                  ? "group"
                                                       : "channel";
    tare_buffer_printf(out,
                       "{\"num_bits\": %" PRIu32 ", \"type\": \"%s\", \"symmetric\": %s, "
                       "\"strategy\": \"%s\", \"dynamic\": false",
                       w->bits, is_float ? "float" : "int",
                       w->kind == TARE_GROUP_CENTRED ? "false" : "true", strategy);
    if (w->block_rows)
        tare_buffer_printf(out, ", \"block_structure\": [%" PRIu32 ", %" PRIu32 "]", w->block_rows,
                           c->group);
    else if (c->group)
        tare_buffer_printf(out, ", \"group_size\": %" PRIu32, c->group);
    if (w->scale)
        tare_buffer_printf(out, ", \"scale_dtype\": \"torch.%s\"",
                           w->scale == TARE_ENCODING_F8_E8M0 ? "uint8" : "float8_e4m3fn");
    tare_buffer_put_text(out, "}");
}

/* The weights that a rule gave another scheme are named, the others are all linear layers. */
static void put_targets(tare_buffer *out, const tare_scheme_search *s,
                        const tare_scheme_choice *c) {
    names list = {.out = out};
    bool is_only = true;
    for (size_t i = 0; i < s->n_weights; i++)
        is_only = is_only && (!s->weights[i].scheme.writer || is_same(&s->weights[i].scheme, c));
    if (is_only) {
        put_name(&list, TARE_STR("Linear"));
        return;
    }
    /* the class would win over the names of what vLLM fuses */
    for (size_t i = 0; i < s->n_weights; i++)
        if (is_same(&s->weights[i].scheme, c)) put_name(&list, s->weights[i].module);
}

static void put_group(tare_buffer *out, const tare_scheme_search *s, size_t number,
                      const tare_scheme_choice *c) {
    tare_buffer_printf(out, "%s\n      \"group_%zu\": {\"targets\": [", number ? "," : "", number);
    put_targets(out, s, c);
    tare_buffer_printf(out, "], \"format\": \"%s\",\n        \"weights\": ", c->writer->format);
    put_weights(out, c);
    tare_buffer_printf(out, ",\n        \"input_activations\": %s, \"output_activations\": null}",
                       c->writer->activations ? c->writer->activations : "null");
}

/* Whether no weight before this one has its scheme. */
static bool is_first(const tare_scheme_search *s, size_t weight) {
    for (size_t k = 0; k < weight; k++)
        if (is_same(&s->weights[k].scheme, &s->weights[weight].scheme)) return false;
    return s->weights[weight].scheme.writer != NULL;
}

static void put_compressed(tare_buffer *out, const tare_scheme_search *s) {
    size_t n = 0;
    const char *format = NULL;
    tare_buffer_put_text(out, "{\n    \"quant_method\": \"compressed-tensors\", \"version\": "
                              "\"0.20.0\", \"quantization_status\": \"compressed\",\n    "
                              "\"config_groups\": {");
    for (size_t i = 0; i < s->n_weights; i++) {
        if (!is_first(s, i)) continue;
        const char *own = s->weights[i].scheme.writer->format;
        put_group(out, s, n++, &s->weights[i].scheme);
        format = !format || strcmp(format, own) == 0 ? own : "mixed-precision";
    }
    tare_buffer_printf(out, "},\n    \"format\": \"%s\",\n    \"ignore\": [", format);
    put_ignored(out, s, PATTERNS_REGEX);
    tare_buffer_put_text(out, "],\n    \"kv_cache_scheme\": null, \"global_compression_ratio\": "
                              "null, \"transform_config\": {}\n  }");
}

/* ---- the others -------------------------------------------------------------------------------- */

static void put_block_fp8(tare_buffer *out, const tare_scheme_search *s) {
    const tare_writer *w = s->scheme.writer;
    tare_buffer_printf(out,
                       "{\n    \"quant_method\": \"fp8\", \"fmt\": \"%s\", "
                       "\"activation_scheme\": \"dynamic\", \"weight_block_size\": [%" PRIu32
                       ", %" PRIu32 "],\n    \"modules_to_not_convert\": [",
                       w->format, w->block_rows, w->group);
    put_ignored(out, s, PATTERNS_NONE);
    tare_buffer_put_text(out, "]\n  }");
}

static void put_mlx_setting(tare_buffer *out, const tare_scheme_choice *c) {
    tare_buffer_printf(out, "\"group_size\": %" PRIu32 ", \"bits\": %" PRIu32 ", \"mode\": \"%s\"",
                       c->group, c->writer->bits, c->writer->format);
}

static void put_mlx(tare_buffer *out, const tare_scheme_search *s) {
    tare_buffer_put_text(out, "{\n    ");
    put_mlx_setting(out, &s->scheme);
    for (size_t i = 0; i < s->n_weights; i++) {
        const tare_packed_weight *w = &s->weights[i];
        if (!w->scheme.writer || is_same(&w->scheme, &s->scheme) || w->place > 0) continue;
        tare_buffer_put_text(out, ",\n    ");
        tare_buffer_put_json(out, w->stack.len ? w->stack : w->module);
        tare_buffer_put_text(out, ": {");
        put_mlx_setting(out, &w->scheme);
        tare_buffer_put_text(out, "}");
    }
    tare_buffer_put_text(out, "\n  }");
}

/* ModelOpt says it twice: in config.json, and in a file of its own, whose words are others. Activations
 * are in four bits, too, where all weights have the scale of their input. */
static const char *modelopt_name(const tare_scheme_search *s) {
    for (size_t i = 0; i < s->n_weights; i++)
        if (s->weights[i].input != 0) return "NVFP4";
    return s->scheme.writer->format;
}

static const char producer[] = "\"producer\": {\"name\": \"modelopt\", \"version\": \"0.47.0\"}";

static void put_modelopt(tare_buffer *out, const tare_scheme_search *s) {
    static const char numbers[] = "{\"dynamic\": false, \"num_bits\": 4, \"type\": \"float\", "
                                  "\"group_size\": 16}";
    const char *name = modelopt_name(s);
    tare_buffer_put_text(out, "{\n    \"config_groups\": {\"group_0\": {");
    if (name != s->scheme.writer->format)
        tare_buffer_printf(out, "\"input_activations\": %s, ", numbers);
    tare_buffer_printf(out, "\"weights\": %s, \"targets\": [\"Linear\"]}},\n    \"ignore\": [",
                       numbers);
    put_ignored(out, s, PATTERNS_GLOB);
    tare_buffer_printf(out,
                       "],\n    \"quant_algo\": \"%s\", %s, \"quant_method\": \"modelopt\"\n  }",
                       name, producer);
}

static void put_modelopt_file(tare_buffer *out, const tare_scheme_search *s) {
    tare_buffer_printf(out,
                       "{\n  %s,\n  \"quantization\": {\n    \"quant_algo\": \"%s\", "
                       "\"kv_cache_quant_algo\": null, \"group_size\": 16,\n    "
                       "\"exclude_modules\": [",
                       producer, modelopt_name(s));
    put_ignored(out, s, PATTERNS_GLOB);
    tare_buffer_put_text(out, "]\n  }\n}\n");
}

static void put_settings(tare_buffer *out, const tare_scheme_search *s, bool is_empty) {
    static void (*const families[])(tare_buffer *, const tare_scheme_search *) = {
        [TARE_WRITER_COMPRESSED] = put_compressed,
        [TARE_WRITER_BLOCK_FP8] = put_block_fp8,
        [TARE_WRITER_MLX] = put_mlx,
        [TARE_WRITER_MODELOPT] = put_modelopt,
        [TARE_WRITER_COMFY] = NULL,
    };
    const tare_writer_family family = s->scheme.writer->family;
    if (!families[family]) return;
    tare_buffer_put_text(out, is_empty ? "\n  " : ",\n  ");
    if (family == TARE_WRITER_MLX) {
        tare_buffer_put_text(out, "\"quantization\": ");
        put_mlx(out, s);
        tare_buffer_put_text(out, ",\n  ");
    }
    tare_buffer_put_text(out, "\"quantization_config\": ");
    families[family](out, s);
}

/* ---- the file ---------------------------------------------------------------------------------- */

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The text less its closing bracket. */
static tare_str open_end(tare_str text) {
    while (text.len && text.ptr[text.len - 1] != '}') text.len--;
    if (text.len) text.len--;
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

static tare_status make_file(tare_str *out, const tare_scheme_search *s, tare_arena *arena,
                             tare_error *err) {
    tare_buffer b;
    *out = (tare_str){NULL, 0};
    if (!s->n_packed || s->scheme.writer->family != TARE_WRITER_MODELOPT) return TARE_OK;
    tare_buffer_init(&b, arena->allocator);
    put_modelopt_file(&b, s);
    const tare_status status = tare_buffer_text(out, &b, arena, err);
    tare_buffer_free(&b);
    return status;
}

tare_status tare_scheme_config(tare_str *out, tare_str *beside, const tare_scheme_search *s,
                               tare_arena *arena, tare_error *err) {
    const tare_json_node *root;
    tare_str text, plain;
    TARE_TRY(tare_model_json(&root, s->in, "config.json", arena, err));
    *out = *beside = (tare_str){NULL, 0};
    if (!root && s->scheme.writer->family == TARE_WRITER_COMFY) return TARE_OK;
    if (!root || root->type != TARE_JSON_OBJECT)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "config.json: there is none, which has to say how weights are packed");
    TARE_TRY(tare_model_text(&text, s->in, "config.json", arena, err));
    TARE_TRY(tare_quantized_plain_config(&plain, text, NULL, arena, err));
    TARE_TRY(make_file(beside, s, arena, err));
    const tare_str head = open_end(plain.ptr ? plain : text);
    tare_buffer b;
    tare_buffer_init(&b, arena->allocator);
    tare_buffer_put_str(&b, head);
    if (s->n_packed) put_settings(&b, s, !root->n || head.ptr[head.len - 1] == '{');
    tare_buffer_put_text(&b, "\n}\n");
    const tare_status status = tare_buffer_text(out, &b, arena, err);
    tare_buffer_free(&b);
    return status;
}
