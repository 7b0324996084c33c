/* SPDX-License-Identifier: MIT
 *
 * Where makers of packed models leave their settings: the first place that has some counts. */
#include "quantized/settings.h"

#include "base/arith.h"
#include "base/str.h"
#include "quantized/quantized.h"

/* A side file as a tree; one that is no JSON is as good as none here. */
static tare_status read_file(const tare_json_node **out, const tare_model *m, const char *name,
                             tare_arena *arena, tare_error *err) {
    tare_error own = TARE_ERROR_NONE;
    const tare_status status = tare_model_json(out, m, name, arena, &own);
    if (status == TARE_OK || status == TARE_ERR_CORRUPT || status == TARE_ERR_UNSUPPORTED ||
        status == TARE_ERR_LIMIT)
        return TARE_OK;
    if (err) *err = own;
    return status;
}

/* The JSON text of a key of __metadata__. */
static tare_status read_key(const tare_json_node **out, const tare_model *m, const char *key,
                            tare_arena *arena, tare_error *err) {
    const int64_t i = tare_model_find_key(m, tare_str_of(key));
    *out = NULL;
    if (i < 0 || m->catalog.metadata[i].value.type != TARE_VALUE_STRING) return TARE_OK;
    const tare_status status = tare_json_tree(out, m->catalog.metadata[i].value.as.s, arena, NULL);
    return status == TARE_ERR_NOMEM ? tare_fail(err, status, "settings of packed weights")
                                    : TARE_OK;
}

static const tare_json_node *object(const tare_json_node *node) {
    return node && node->type == TARE_JSON_OBJECT ? node : NULL;
}

static const tare_json_node *in_config(const tare_json_node *root) {
    static const char *const places[] = {"quantization_config", "text_config.quantization_config",
                                         "compression_config",  "text_config.compression_config",
                                         "quantization",        "text_config.quantization"};
    const tare_json_node *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        found = object(tare_json_path(root, tare_str_of(places[i])));
    return found;
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

static const tare_json_node *find(const tare_weight_settings *s, const char *path) {
    return tare_json_path(s->config, tare_str_of(path));
}

uint64_t tare_weight_setting(const tare_weight_settings *s, const char *path, uint64_t otherwise) {
    uint64_t n;
    return tare_json_node_u64(find(s, path), &n) ? n : otherwise;
}

uint64_t tare_weight_stated_group(const tare_weight_settings *s) {
    static const char *const names[] = {"group_size", "q_group_size"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && n == 0; i++) {
        const tare_json_node *node = find(s, names[i]);
        const bool is_row = node && node->type == TARE_JSON_NUMBER && tare_str_is(node->text, "-1");
        if (is_row) n = UINT64_MAX;
        if (!is_row && !tare_json_node_u64(node, &n)) n = 0;
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
    return is_text(tare_json_node_text(find(s, path)), text);
}

bool tare_weight_setting_holds(const tare_weight_settings *s, const char *path) {
    const tare_json_node *node = find(s, path);
    return node && node->type == TARE_JSON_TRUE;
}

const tare_json_node *tare_weight_group(const tare_weight_settings *s, const tare_json_node **at) {
    const tare_json_node *groups = object(find(s, "config_groups"));
    *at = *at ? (*at)->next : groups ? groups->child : NULL;
    return tare_json_member(*at, TARE_STR("weights"));
}

uint64_t tare_weight_mlx_setting(const tare_weight_settings *s, tare_str module, const char *name) {
    uint64_t n;
    const tare_str key = tare_str_of(name);
    if (tare_json_node_u64(tare_json_member(tare_json_member(s->modules, module), key), &n) ||
        tare_json_node_u64(tare_json_member(s->modules, key), &n))
        return n;
    return 0;
}

const tare_json_node *tare_weight_comfy_layer(const tare_weight_settings *s, tare_str module) {
    const tare_str prefix = TARE_STR("model.diffusion_model.");
    const tare_json_node *found = tare_json_member(s->layers, module);
    if (!found && tare_str_starts(module, prefix))
        found = tare_json_member(s->layers, tare_str_cut(module, prefix.len));
    return found;
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
    {"eetq", TARE_IN_KERNEL_ORDER("eetq")},
};

/* Those that are decoded, and other names for how they or those above run, of transformers 5.24 and vLLM. */
static const char *const read_methods[] = {"auto-round",
                                           "autoround",
                                           "awq",
                                           "awq_marlin",
                                           "bitnet",
                                           "bitsandbytes",
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
                                           "torchao"};

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
    const char *why = refused_format(tare_json_node_text(find(s, "format")));
    const tare_json_node *groups = object(find(s, "config_groups"));
    for (const tare_json_node *g = groups ? groups->child : NULL; g && !why; g = g->next)
        why = refused_format(tare_json_node_text(tare_json_member(g, TARE_STR("format"))));
    return why;
}

static const char *refused_method(const tare_weight_settings *s) {
    static const char *const places[] = {"quant_method", "quant_algo", "checkpoint_format",
                                         "format", "version"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (tare_weight_setting_is(s, places[i], methods[k].method)) return methods[k].refusal;
    return tare_weight_setting_holds(s, "is_marlin_format") ? TARE_IN_KERNEL_ORDER("marlin") : NULL;
}

/* Why packed weights with these settings are not what the model computes with; NULL: they are. */
static const char *obstacle(const tare_weight_settings *s) {
    const char *why = refused_method(s);
    if (!why) why = refused_formats(s);
    if (!why && is_set(find(s, "transform_config")))
        why = "transform: the weights are rotated, and the activations when the model runs "
              "(transform_config)";
    if (!why && is_set(find(s, "rotation_config")))
        why = "transform: the weights are rotated, and the activations when the model runs "
              "(rotation_config)";
    if (!why && is_sparse(s, "sparsity_config"))
        why = "sparsity: sparse weights are not decoded (sparsity_config)";
    return why;
}

tare_status tare_weight_settings_read(tare_weight_settings *out, const tare_model *m,
                                      tare_arena *arena, tare_error *err) {
    const tare_json_node *file = NULL;
    *out = (tare_weight_settings){.root = NULL};
    TARE_TRY(read_file(&out->root, m, "config.json", arena, err));
    out->config = in_config(out->root);
    out->modules = object(tare_json_member(out->root, TARE_STR("quantization")));
    if (!out->modules)
        out->modules = object(tare_json_path(out->root, TARE_STR("text_config.quantization")));
    if (!out->modules) out->modules = out->config;
    if (!out->config) {
        TARE_TRY(read_file(&file, m, "hf_quant_config.json", arena, err));
        out->config = object(tare_json_member(file, TARE_STR("quantization")));
    }
    if (!out->config) TARE_TRY(read_file(&out->config, m, "quantize_config.json", arena, err));
    if (!out->config) TARE_TRY(read_file(&out->config, m, "quant_config.json", arena, err));
    if (!out->config) TARE_TRY(read_key(&out->config, m, "quantization_config", arena, err));
    if (!out->modules) out->modules = out->config;
    TARE_TRY(read_key(&file, m, "_quantization_metadata", arena, err));
    out->layers = object(tare_json_member(file, TARE_STR("layers")));
    TARE_TRY(lower(&out->method,
                   tare_json_node_text(tare_json_member(out->config, TARE_STR("quant_method"))),
                   arena, err));
    out->refusal = obstacle(out);
    return TARE_OK;
}
