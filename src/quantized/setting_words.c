/* SPDX-License-Identifier: MIT
 *
 * Words of settings that decide what codes stand for. Makers give a new layout a new word, so that one
 * that is not here may mean other numbers in tensors of the same form. */
#include "base/str.h"
#include "quantized/settings.h"

static void check(const tare_weight_settings *s, const tare_json_node *object, const char *name,
                  const char *const *words) {
    const tare_json_node *node = tare_weight_setting_of(s, object, name, TARE_SETTING_TEXT);
    tare_weight_word(s, name, tare_json_node_text(node), words);
}

/* What settings say of all modules, and of each that they list under a name. */
static void
check_each(const tare_weight_settings *s, const tare_json_node *all, const char *modules,
           void (*check_one)(const tare_weight_settings *s, const tare_json_node *object)) {
    const tare_json_node *list = tare_weight_setting_at(s, modules, TARE_SETTING_OBJECT);
    const bool is_list = list && list->type == TARE_JSON_OBJECT;
    check_one(s, all);
    for (const tare_json_node *l = is_list ? list->child : NULL; l; l = l->next)
        if (l->type == TARE_JSON_OBJECT) check_one(s, l);
}

/* ---- compressed-tensors ------------------------------------------------------------------------ */

static void check_format(const tare_weight_settings *s, const tare_json_node *object) {
    static const char *const formats[] = {"dense",
                                          "fakequant",
                                          "int-quantized",
                                          "float-quantized",
                                          "naive-quantized",
                                          "pack-quantized",
                                          "mixed-precision",
                                          "nvfp4-pack-quantized",
                                          "mxfp4-pack-quantized",
                                          "mxfp6-pack-quantized",
                                          "mxfp8-quantized",
                                          "marlin-24",
                                          "sparse-bitmask",
                                          "sparse-24-bitmask",
                                          NULL};
    check(s, object, "format", formats);
}

bool tare_weight_is_ordered(const tare_weight_settings *s, const tare_json_node *weights) {
    static const char *const orders[] = {"group", "dynamic", "weight", "static", NULL};
    const tare_json_node *order = tare_json_member(weights, TARE_STR("actorder"));
    return (order && order->type == TARE_JSON_TRUE) ||
           tare_weight_word(s, "actorder", tare_json_node_text(order), orders) < 2;
}

static void check_groups(const tare_weight_settings *s) {
    static const char *const types[] = {"int", "float", NULL};
    static const char *const strategies[] = {"tensor", "channel",      "group",     "block",
                                             "token",  "tensor_group", "attn_head", NULL};
    const tare_json_node *at = NULL;
    do {
        const tare_json_node *weights = tare_weight_group_next(s, &at);
        if (at && at->type == TARE_JSON_OBJECT) check_format(s, at);
        check(s, weights, "type", types);
        check(s, weights, "strategy", strategies);
        tare_weight_is_ordered(s, weights);
    } while (at);
}

/* ---- ModelOpt ---------------------------------------------------------------------------------- */

static void check_algorithm(const tare_weight_settings *s, const tare_json_node *object) {
    static const char *const algorithms[] = {"no_quant",
                                             "mixed_precision",
                                             "fp8",
                                             "fp8_per_channel_per_token",
                                             "fp8_pc_pt",
                                             "fp8_pb_wo",
                                             "fp8_pb_real",
                                             "fp8_block_scales",
                                             "nvfp4",
                                             "nvfp4_awq",
                                             "nvfp4_svd",
                                             "w4a16_nvfp4",
                                             "w4a8_nvfp4_fp8",
                                             "mxfp4",
                                             "mxfp8",
                                             "w4a16_mxfp4",
                                             "w4a8_mxfp4_fp8",
                                             "w4a8_mxfp4_mxfp8",
                                             "int4_awq",
                                             "w4a16_awq",
                                             "w4a8_awq",
                                             "w4a16",
                                             "w4a16_gptq",
                                             "w8a16_gptq",
                                             "w8a16",
                                             "int8",
                                             "int8_wo",
                                             "int8_sq",
                                             "w8a8_sq_per_channel",
                                             "w8a8_sq_per_tensor_plugin",
                                             "w8a8_sq_per_channel_per_token_plugin",
                                             "w8a8_sq_per_channel_per_tensor_plugin",
                                             "w8a8_sq_per_tensor_per_token_plugin",
                                             NULL};
    check(s, object, "quant_algo", algorithms);
}

/* ---- Quark ------------------------------------------------------------------------------------- */

static void check_type(const tare_weight_settings *s, const tare_json_node *settings) {
    static const char *const types[] = {"int4",     "uint4",   "int8",     "fp8_e4m3",
                                        "fp8_e5m2", "fp4",     "fp6_e2m3", "bfloat16",
                                        "float16",  "float32", NULL};
    check(s, tare_weight_setting_of(s, settings, "weight", TARE_SETTING_OBJECT), "dtype", types);
}

/* ---- all --------------------------------------------------------------------------------------- */

tare_status tare_weight_settings_check(tare_weight_settings *s, tare_model *m, tare_error *err) {
    static const char *const compressed[] = {"compressed-tensors", "compressed_tensors", NULL};
    static const char *const meanings[] = {"inverse", NULL};
    bool is_compressed = false;
    for (size_t i = 0; compressed[i]; i++) is_compressed |= tare_str_is(s->method, compressed[i]);
    if (is_compressed) check_format(s, s->config);
    check_groups(s);
    check_each(s, s->config, "quantized_layers", check_algorithm);
    if (tare_str_is(s->method, "quark"))
        check_each(s, tare_weight_setting_at(s, "global_quant_config", TARE_SETTING_OBJECT),
                   "layer_quant_config", check_type);
    check(s, s->config, "weight_scale_semantics", meanings); /* GPTQModel's FP8 */
    if (s->refusal || !s->fault[0]) return TARE_OK;
    return tare_weight_settings_fault(&s->refusal, s, m, err);
}
