/* SPDX-License-Identifier: MIT
 *
 * What ComfyUI's files say of a module: a tensor beside the weight whose bytes are JSON, or an entry
 * of the metadata. */
#include "base/str.h"
#include "quantized/scheme.h"

#define MOST_STATE 4096

static tare_status read_state(const tare_json_node **out, const tare_weight_search *s,
                              tare_str module, tare_error *err) {
    const int64_t i = tare_weight_find(s, module, ".comfy_quant");
    const tare_tensor *t = i < 0 ? NULL : &s->m->catalog.tensors[i];
    tare_status status = TARE_ERR_CORRUPT;
    *out = NULL;
    if (!t) return TARE_OK;
    if (t->encoding->id == TARE_ENCODING_U8 && t->n_elements <= MOST_STATE) {
        const size_t n = (size_t)t->n_elements;
        char *text = tare_arena_take(s->arena, n + 1);
        if (!text) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
        TARE_TRY(tare_tensor_read(text, s->m, (size_t)i, 0, 0, n, err));
        status = tare_json_tree(out, (tare_str){text, n}, s->arena, NULL);
    }
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "packed weights");
    if (status != TARE_OK)
        tare_weight_setting_wrong(&s->settings, "comfy_quant", "bytes of a JSON text expected");
    return TARE_OK;
}

static bool holds(const tare_weight_search *s, const tare_json_node *object, const char *name) {
    const tare_json_node *node =
        tare_weight_setting_of(&s->settings, object, name, TARE_SETTING_TRUTH);
    return node && node->type == TARE_JSON_TRUE;
}

tare_status tare_weight_comfy(tare_comfy_note *out, const tare_weight_search *s, tare_str module,
                              tare_error *err) {
    const tare_weight_settings *settings = &s->settings;
    const tare_json_node *note;
    *out = (tare_comfy_note){.format = TARE_STR("")};
    TARE_TRY(read_state(&note, s, module, err));
    if (!note) note = tare_weight_comfy_layer(settings, module);
    if (!note) return TARE_OK;
    if (note->type != TARE_JSON_OBJECT && note->type != TARE_JSON_STRING)
        tare_weight_setting_wrong(settings, "comfy_quant", "an object or a text expected");
    out->format = tare_json_node_text(note);
    if (note->type != TARE_JSON_OBJECT) return TARE_OK;
    out->format =
        tare_json_node_text(tare_weight_setting_of(settings, note, "format", TARE_SETTING_TEXT));
    const tare_json_node *params =
        tare_weight_setting_of(settings, note, "params", TARE_SETTING_OBJECT);
    const bool is_rotated = holds(s, note, "convrot");
    out->is_rotated = holds(s, params, "convrot") || is_rotated;
    return TARE_OK;
}

const char *tare_comfy_obstacle(const tare_comfy_note *note) {
    static const char *const known[] = {"float8_e4m3fn",
                                        "float8_e5m2",
                                        "float8_e4m3fn_rowwise",
                                        "float8_e4m3fn_blockwise",
                                        "int8_blockwise",
                                        "int8_tensorwise",
                                        "awq_w4a16",
                                        "mxfp8",
                                        "nvfp4"};
    if (note->is_rotated || tare_str_starts(note->format, TARE_STR("convrot")))
        return TARE_IS_ROTATED("convrot");
    if (tare_str_starts(note->format, TARE_STR("svdquant"))) return TARE_HAS_LOW_RANK("svdquant");
    if (note->format.len == 0) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tare_str_is(note->format, known[i])) return NULL;
    return "a format of comfy_quant that is not decoded";
}
