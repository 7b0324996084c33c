/* SPDX-License-Identifier: MIT
 *
 * Where makers of packed models leave their settings: the first place that has some counts. */
#include "quantized/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "quantized/quantized.h"

/* Notes a setting that is not what it must be, if it is the first one. */
static void note_fault(const tare_weight_settings *s, const char *place, tare_str path,
                       const char *expected) {
    if (!s->fault[0])
        snprintf(s->fault, TARE_SETTING_FAULT, "%s%.*s: %s", place,
                 (int)tare_min_u64(path.len, 100), path.ptr, expected);
}

/* A side file as a tree. */
static tare_status read_file(const tare_json_node **out, const tare_weight_settings *s,
                             const tare_model *m, const char *name, tare_arena *arena,
                             tare_error *err) {
    tare_error own = TARE_ERROR_NONE;
    const tare_status status = tare_model_json(out, m, name, arena, &own);
    if (status == TARE_OK) return TARE_OK;
    if (status == TARE_ERR_CORRUPT || status == TARE_ERR_UNSUPPORTED || status == TARE_ERR_LIMIT) {
        note_fault(s, name, TARE_STR(""), own.what);
        return TARE_OK;
    }
    if (err) *err = own;
    return status;
}

/* The JSON text of a key of __metadata__. */
static tare_status read_key(const tare_json_node **out, const tare_weight_settings *s,
                            const tare_model *m, const char *key, tare_arena *arena,
                            tare_error *err) {
    const int64_t i = tare_model_find_key(m, tare_str_of(key));
    *out = NULL;
    if (i < 0 || m->catalog.metadata[i].value.type != TARE_VALUE_STRING) return TARE_OK;
    const tare_status status = tare_json_tree(out, m->catalog.metadata[i].value.as.s, arena, NULL);
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "settings of packed weights");
    if (status != TARE_OK) note_fault(s, "__metadata__.", tare_str_of(key), "JSON expected");
    return TARE_OK;
}

static const tare_json_node *object(const tare_json_node *node) {
    return node && node->type == TARE_JSON_OBJECT ? node : NULL;
}

/* An object, else a fault; null and false stand for none, and so does an empty one. */
static const tare_json_node *object_at(const tare_weight_settings *s, const tare_json_node *node,
                                       const char *file, const char *path) {
    if (node && node->type != TARE_JSON_OBJECT && node->type != TARE_JSON_FALSE)
        note_fault(s, file, tare_str_of(path), "an object expected");
    return node && node->n ? object(node) : NULL;
}

#define IN_CONFIG "config.json: "

/* The settings that a part of config.json has: a language model's beside an encoder (llm_config,
 * thinker_config.text_config). */
static const tare_json_node *in_parts(const tare_json_node *parent, int depth) {
    static const char *const names[] = {"quantization_config", "compression_config"};
    const tare_json_node *found = NULL;
    for (const tare_json_node *part = parent ? parent->child : NULL; part && !found;
         part = part->next) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
            found = object(tare_json_member(object(part), tare_str_of(names[i])));
        if (found && found->n == 0) found = NULL;
        if (!found && depth > 1) found = in_parts(object(part), depth - 1);
    }
    return found;
}

static const tare_json_node *in_config(tare_weight_settings *s) {
    static const char *const places[] = {
        IN_CONFIG "quantization_config", IN_CONFIG "text_config.quantization_config",
        IN_CONFIG "compression_config",  IN_CONFIG "text_config.compression_config",
        IN_CONFIG "quantization",        IN_CONFIG "text_config.quantization"};
    const tare_json_node *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        s->place = places[i];
        const char *path = places[i] + strlen(IN_CONFIG);
        found = object_at(s, tare_json_path(s->root, tare_str_of(path)), IN_CONFIG, path);
    }
    if (found) return found;
    s->place = IN_CONFIG "quantization_config of a part";
    return in_parts(object(s->root), 2);
}

/* In small letters. */
static tare_status lower(tare_str *out, tare_str text, tare_arena *arena, tare_error *err) {
    char *own = tare_arena_take(arena, text.len + 1);
    if (!own) return tare_fail(err, TARE_ERR_NOMEM, "settings of packed weights");
    for (size_t i = 0; i < text.len; i++)
        own[i] = (char)(text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? text.ptr[i] - 'A' + 'a'
                                                                 : text.ptr[i]);
    *out = (tare_str){own, text.len};
    return TARE_OK;
}

/* ---- single settings --------------------------------------------------------------------------- */

static bool is_kind(const tare_json_node *node, tare_setting_kind kind) {
    uint64_t n;
    switch (kind) {
    case TARE_SETTING_TEXT:
        return node->type == TARE_JSON_STRING;
    case TARE_SETTING_WHOLE:
        return tare_json_node_u64(node, &n);
    case TARE_SETTING_TRUTH:
        return node->type == TARE_JSON_TRUE || node->type == TARE_JSON_FALSE;
    case TARE_SETTING_LIST:
        return node->type == TARE_JSON_ARRAY;
    case TARE_SETTING_OBJECT:
        break;
    }
    return node->type == TARE_JSON_OBJECT;
}

void tare_weight_setting_wrong(const tare_weight_settings *s, const char *path,
                               const char *expected) {
    char place[80];
    snprintf(place, sizeof place, "%s%s", s->place, *s->place ? "." : "");
    note_fault(s, place, tare_str_of(path), expected);
}

const tare_json_node *tare_weight_setting_of(const tare_weight_settings *s,
                                             const tare_json_node *object, const char *name,
                                             tare_setting_kind kind) {
    static const char *const expected[] = {[TARE_SETTING_TEXT] = "a text expected",
                                           [TARE_SETTING_WHOLE] = "a whole number expected",
                                           [TARE_SETTING_TRUTH] = "true or false expected",
                                           [TARE_SETTING_OBJECT] = "an object expected",
                                           [TARE_SETTING_LIST] = "a list expected"};
    const tare_json_node *node = tare_json_member(object, tare_str_of(name));
    if (!node || is_kind(node, kind)) return node;
    tare_weight_setting_wrong(s, name, expected[kind]);
    return NULL;
}

const tare_json_node *tare_weight_setting_at(const tare_weight_settings *s, const char *path,
                                             tare_setting_kind kind) {
    const tare_json_node *at = s->config;
    char name[48];
    for (const char *dot; at && (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        at = tare_weight_setting_of(s, at, name, TARE_SETTING_OBJECT);
    }
    return tare_weight_setting_of(s, at, path, kind);
}

uint64_t tare_weight_setting(const tare_weight_settings *s, const char *path, uint64_t otherwise) {
    uint64_t n;
    return tare_json_node_u64(tare_weight_setting_at(s, path, TARE_SETTING_WHOLE), &n) ? n
                                                                                       : otherwise;
}

uint64_t tare_weight_stated_group(const tare_weight_settings *s) {
    static const char *const names[] = {"group_size", "q_group_size"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && n == 0; i++) {
        const tare_json_node *node = tare_json_member(s->config, tare_str_of(names[i]));
        const bool is_row = node && node->type == TARE_JSON_NUMBER && tare_str_is(node->text, "-1");
        n = is_row ? UINT64_MAX : tare_weight_setting(s, names[i], 0);
    }
    return n;
}

/* Whatever the case of letters. */
static bool is_text(tare_str have, const char *text) {
    const size_t n = strlen(text);
    if (have.len != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((have.ptr[i] | 32) != (text[i] | 32)) return false;
    return true;
}

bool tare_weight_setting_is(const tare_weight_settings *s, const char *path, const char *text) {
    return is_text(tare_json_node_text(tare_weight_setting_at(s, path, TARE_SETTING_TEXT)), text);
}

size_t tare_weight_word(const tare_weight_settings *s, const char *path, tare_str text,
                        const char *const *words) {
    size_t i = 0;
    while (words[i] && !is_text(text, words[i])) i++;
    if (!words[i] && text.len) {
        char expected[80];
        snprintf(expected, sizeof expected, "tare does not know '%.*s'",
                 (int)tare_min_u64(text.len, 50), text.ptr);
        tare_weight_setting_wrong(s, path, expected);
    }
    return i;
}

size_t tare_weight_setting_word(const tare_weight_settings *s, const char *path,
                                const char *const *words) {
    const tare_json_node *node = tare_weight_setting_at(s, path, TARE_SETTING_TEXT);
    return tare_weight_word(s, path, tare_json_node_text(node), words);
}

bool tare_weight_is_of(const tare_weight_settings *s, const char *const *own) {
    for (size_t i = 0; own[i]; i++)
        if (tare_str_is(s->method, own[i])) return true;
    return !tare_quantized_is_method(s->method);
}

bool tare_weight_setting_holds(const tare_weight_settings *s, const char *path) {
    const tare_json_node *node = tare_weight_setting_at(s, path, TARE_SETTING_TRUTH);
    return node && node->type == TARE_JSON_TRUE;
}

bool tare_weight_setting_pair(uint64_t out[2], const tare_weight_settings *s,
                              const tare_json_node *parent, const char *name) {
    const tare_json_node *node = tare_json_member(parent, tare_str_of(name));
    if (!node) return false;
    const tare_json_node *first = node->child;
    if (node->type == TARE_JSON_ARRAY && node->n == 2 && tare_json_node_u64(first, &out[0]) &&
        tare_json_node_u64(first->next, &out[1]))
        return true;
    const char *x =
        node->type == TARE_JSON_STRING ? memchr(node->text.ptr, 'x', node->text.len) : NULL;
    const size_t n = x ? (size_t)(x - node->text.ptr) : 0;
    const tare_json_value rows = {.type = TARE_JSON_NUMBER, .raw = {node->text.ptr, n}};
    const tare_json_value cols = {.type = TARE_JSON_NUMBER, .raw = tare_str_cut(node->text, n + 1)};
    if (n && cols.raw.len && tare_json_u64(&rows, &out[0]) && tare_json_u64(&cols, &out[1]))
        return true;
    tare_weight_setting_wrong(s, name, "a list of two whole numbers expected");
    return false;
}

const tare_json_node *tare_weight_group_next(const tare_weight_settings *s,
                                             const tare_json_node **at) {
    const tare_json_node *groups = tare_weight_setting_at(s, "config_groups", TARE_SETTING_OBJECT);
    *at = *at ? (*at)->next : groups ? groups->child : NULL;
    if (!*at || (*at)->type == TARE_JSON_ARRAY) return NULL; /* of a preset */
    if ((*at)->type != TARE_JSON_OBJECT)
        tare_weight_setting_wrong(s, "config_groups", "objects or lists expected");
    return tare_weight_setting_of(s, object(*at), "weights", TARE_SETTING_OBJECT);
}

/* What MLX's settings say of a module itself. */
static const tare_json_node *mlx_module(const tare_weight_settings *s, tare_str module) {
    const tare_json_node *own = tare_json_member(s->modules, module);
    if (own && own->type != TARE_JSON_OBJECT && own->type != TARE_JSON_TRUE)
        note_fault(s, "quantization.", module, "true or an object expected");
    return object(own);
}

uint64_t tare_weight_mlx_setting(const tare_weight_settings *s, tare_str module, const char *name) {
    uint64_t n;
    const tare_json_node *own = mlx_module(s, module);
    if (tare_json_node_u64(tare_weight_setting_of(s, own, name, TARE_SETTING_WHOLE), &n) ||
        tare_json_node_u64(tare_weight_setting_of(s, s->modules, name, TARE_SETTING_WHOLE), &n))
        return n;
    return 0;
}

bool tare_weight_is_mlx_mode(const tare_weight_settings *s, tare_str module, const char *mode) {
    const char *const words[] = {mode, NULL};
    const tare_json_node *own =
        tare_weight_setting_of(s, mlx_module(s, module), "mode", TARE_SETTING_TEXT);
    if (!own) own = tare_weight_setting_of(s, s->modules, "mode", TARE_SETTING_TEXT);
    const tare_str text = tare_json_node_text(own);
    if (text.len == 0 || is_text(text, mode)) return true;
    tare_weight_word(s, "mode", text, words);
    return false;
}

/* ---- what is not what it seems ----------------------------------------------------------------- */

/* Schemes that are known by name only. */
static const struct {
    const char *method, *refusal;
} methods[] = {
    {"exl2", TARE_NOT_DECODED("exl2")},
    {"exl3", TARE_NOT_DECODED("exl3")},
    {"aqlm", TARE_NOT_DECODED("aqlm")},
    {"vptq", TARE_NOT_DECODED("vptq")},
    {"spqr", TARE_NOT_DECODED("spqr")},
    {"higgs", TARE_NOT_DECODED("higgs")},
    {"qqq", TARE_IN_KERNEL_ORDER("qqq")},
    {"qoq", TARE_IN_KERNEL_ORDER("qoq")},
    {"w4afp8", TARE_NOT_DECODED("w4afp8")},
    {"marlin", TARE_IN_KERNEL_ORDER("marlin")},
    {"bitblas", TARE_IN_KERNEL_ORDER("bitblas")},
    {"fp_quant", TARE_IS_ROTATED("fp_quant")},
    {"paroquant", TARE_IS_ROTATED("paroquant")},
    {"quip", TARE_IS_ROTATED("quip")},
    {"quip_sharp", TARE_IS_ROTATED("quip")},
    {"qtip", TARE_IS_ROTATED("qtip")},
    {"spinquant", TARE_IS_ROTATED("spinquant")},
    {"sinq", TARE_NOT_DECODED("sinq")},
    {"fouroversix", TARE_NOT_DECODED("fouroversix")},
    {"nunchaku", TARE_IS_SVDQUANT("nunchaku")},
    {"nvfp4_svd", TARE_HAS_LOW_RANK("nvfp4_svd")},
    {"eetq", TARE_IN_KERNEL_ORDER("eetq")},
};

/* Those that are decoded, and other names for how they or those above run, of transformers 5.24 and vLLM. */
static const char *const read_methods[] = {"auto-round",
                                           "autoround",
                                           "awq",
                                           "awq_marlin",
                                           "bitnet",
                                           "bitsandbytes",
                                           "blockwise_int8",
                                           "compressed-tensors",
                                           "compressed_tensors",
                                           "deepspeedfp",
                                           "experts_int8",
                                           "fbgemm_fp8",
                                           "fp8",
                                           "gemma",
                                           "gguf",
                                           "gptq",
                                           "gptq_marlin",
                                           "hqq",
                                           "intel/auto-round",
                                           "ipex",
                                           "metal",
                                           "mlx",
                                           "modelopt",
                                           "modelopt_fp4",
                                           "modelopt_mixed",
                                           "moe_wna16",
                                           "mxfp4",
                                           "mxfp8",
                                           "nvfp4",
                                           "ptpc_fp8",
                                           "quanto",
                                           "quark",
                                           "rtn",
                                           "torchao",
                                           "w8a8_fp8",
                                           "w8a8_int8"};

bool tare_quantized_is_method(tare_str name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (tare_str_is(name, methods[i].method)) return true;
    for (size_t i = 0; i < sizeof read_methods / sizeof *read_methods; i++)
        if (tare_str_is(name, read_methods[i])) return true;
    return false;
}

static bool is_set(const tare_json_node *node) {
    if (!node || node->type == TARE_JSON_FALSE || node->type == TARE_JSON_NULL) return false;
    if (node->type == TARE_JSON_STRING) return node->text.len > 0;
    return (node->type != TARE_JSON_OBJECT && node->type != TARE_JSON_ARRAY) || node->n > 0;
}

static const tare_json_node *find(const tare_weight_settings *s, const char *path) {
    return tare_json_path(s->config, tare_str_of(path));
}

static bool is_sparse(const tare_weight_settings *s, const char *path) {
    const tare_json_node *config = find(s, path);
    if (!is_set(config)) return false;
    const tare_str format = tare_json_node_text(tare_json_member(config, TARE_STR("format")));
    return !tare_str_is(format, "dense");
}

/* Formats whose codes are in the order of a kernel, or are sparse. */
static const char *refused_format(tare_str text) {
    static const struct {
        const char *format, *refusal;
    } formats[] = {
        {"marlin-24", TARE_IS_MARLIN_24},
        {"sparse-24-bitmask", TARE_IS_SPARSE("sparse-24-bitmask")},
        {"sparse-bitmask", TARE_IS_SPARSE("sparse-bitmask")},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (is_text(text, formats[i].format)) return formats[i].refusal;
    return NULL;
}

/* Sees config_groups, too. */
static const char *refused_formats(const tare_weight_settings *s) {
    const char *why =
        refused_format(tare_json_node_text(tare_weight_setting_at(s, "format", TARE_SETTING_TEXT)));
    const tare_json_node *groups = object(find(s, "config_groups"));
    for (const tare_json_node *g = groups ? groups->child : NULL; g && !why; g = g->next)
        why = refused_format(tare_json_node_text(tare_json_member(g, TARE_STR("format"))));
    return why;
}

static const char *refused_method(const tare_weight_settings *s) {
    static const char *const places[] = {"quant_method", "quant_algo", "checkpoint_format",
                                         "format"};
    const tare_str version = tare_json_node_text(find(s, "version"));
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (tare_weight_setting_is(s, places[i], methods[k].method)) return methods[k].refusal;
        if (is_text(version, methods[k].method)) return methods[k].refusal;
    }
    return tare_weight_setting_holds(s, "is_marlin_format") ? TARE_IN_KERNEL_ORDER("marlin") : NULL;
}

#define IS_TRANSFORMED(setting)                                                                    \
    setting, "transform: the weights are rotated, and the activations when the model runs "        \
             "(" setting ")"

/* Settings of what is done to activations, too. */
static const struct {
    const char *setting, *refusal;
} transforms[] = {
    {IS_TRANSFORMED("transform_config")}, /* compressed-tensors */
    {IS_TRANSFORMED("rotation_config")},  /* AutoRound */
    {IS_TRANSFORMED("spinquant_config")},
    {IS_TRANSFORMED("rotation")}, /* GPTQModel */
};

/* Why packed weights with these settings are not what the model computes with; NULL: they are. */
static const char *obstacle(const tare_weight_settings *s) {
    const char *why = refused_method(s);
    if (!why) why = refused_formats(s);
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms && !why; i++)
        if (is_set(find(s, transforms[i].setting))) why = transforms[i].refusal;
    if (!why && is_sparse(s, "sparsity_config"))
        why = "sparsity: sparse weights are not decoded (sparsity_config)";
    return why;
}

/* Where the settings are: the first place that has some. */
static tare_status find_config(tare_weight_settings *out, const tare_model *m, tare_arena *arena,
                               tare_error *err) {
    static const char *const files[] = {"quantize_config.json", "quant_config.json"};
    const tare_json_node *file = NULL;
    out->config = in_config(out);
    if (!out->config) {
        out->place = "hf_quant_config.json: quantization";
        TARE_TRY(read_file(&file, out, m, "hf_quant_config.json", arena, err));
        out->config = object_at(out,
                                tare_json_member(object_at(out, file, "hf_quant_config.json", ""),
                                                 TARE_STR("quantization")),
                                "hf_quant_config.json: ", "quantization");
    }
    for (size_t i = 0; i < sizeof files / sizeof *files && !out->config; i++) {
        out->place = files[i];
        TARE_TRY(read_file(&file, out, m, files[i], arena, err));
        out->config = object_at(out, file, files[i], "");
    }
    if (!out->config) {
        out->place = "__metadata__: quantization_config";
        TARE_TRY(read_key(&file, out, m, "quantization_config", arena, err));
        out->config = object_at(out, file, out->place, "");
    }
    if (!out->config) out->place = "";
    return TARE_OK;
}

/* MLX's settings by module, and ComfyUI's. */
static tare_status find_modules(tare_weight_settings *out, const tare_model *m, tare_arena *arena,
                                tare_error *err) {
    static const char *const places[] = {"quantization", "text_config.quantization"};
    const tare_json_node *comfy;
    for (size_t i = 0; i < sizeof places / sizeof *places && !out->modules; i++)
        out->modules =
            object_at(out, tare_json_path(out->root, tare_str_of(places[i])), IN_CONFIG, places[i]);
    if (!out->modules) out->modules = out->config;
    TARE_TRY(read_key(&comfy, out, m, "_quantization_metadata", arena, err));
    comfy = object_at(out, comfy, "__metadata__.", "_quantization_metadata");
    out->layers = object_at(out, tare_json_member(comfy, TARE_STR("layers")),
                            "__metadata__._quantization_metadata.", "layers");
    return tare_weight_layers_index(out, arena, err);
}

tare_status tare_weight_settings_fault(const char **out, const tare_weight_settings *s,
                                       tare_model *m, tare_error *err) {
    *out = tare_arena_str(&m->arena, tare_str_of(s->fault)).ptr;
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "settings of packed weights");
}

tare_status tare_weight_settings_read(tare_weight_settings *out, tare_model *m, tare_arena *arena,
                                      tare_error *err) {
    *out = (tare_weight_settings){.place = "", .fault = tare_arena_take(arena, TARE_SETTING_FAULT)};
    if (!out->fault) return tare_fail(err, TARE_ERR_NOMEM, "settings of packed weights");
    out->fault[0] = 0;
    TARE_TRY(read_file(&out->root, out, m, "config.json", arena, err));
    TARE_TRY(find_config(out, m, arena, err));
    TARE_TRY(find_modules(out, m, arena, err));
    const tare_json_node *outer = out->config,
                         *inner = object(tare_json_member(outer, TARE_STR("quantization_config")));
    const tare_json_node *method = tare_json_member(outer, TARE_STR("quant_method"));
    out->refusal = obstacle(out);
    if (inner) out->config = inner; /* compressed-tensors', with sparsity_config beside */
    if (!method) method = tare_json_member(inner, TARE_STR("quant_method"));
    TARE_TRY(lower(&out->method, tare_json_node_text(method), arena, err));
    if (out->config && tare_str_is(out->method, "gptq")) {
        TARE_TRY(read_file(&out->beside, out, m, "quantize_config.json", arena, err));
        out->beside = object(out->beside);
    }
    if (!out->refusal && inner) out->refusal = obstacle(out);
    return TARE_OK;
}
