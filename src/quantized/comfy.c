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
    *out = NULL;
    if (!t || t->encoding->id != TARE_ENCODING_U8 || t->n_elements > MOST_STATE) return TARE_OK;
    const size_t n = (size_t)t->n_elements;
    char *text = tare_arena_take(s->arena, n + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    TARE_TRY(tare_tensor_read(text, s->m, (size_t)i, 0, 0, n, err));
    const tare_status status = tare_json_tree(out, (tare_str){text, n}, s->arena, NULL);
    return status == TARE_ERR_NOMEM ? tare_fail(err, status, "packed weights") : TARE_OK;
}

static bool holds(const tare_json_node *object, const char *name) {
    const tare_json_node *node = tare_json_path(object, tare_str_of(name));
    return node && node->type == TARE_JSON_TRUE;
}

tare_status tare_weight_comfy(tare_comfy_note *out, const tare_weight_search *s, tare_str module,
                              tare_error *err) {
    const tare_json_node *note;
    TARE_TRY(read_state(&note, s, module, err));
    if (!note) note = tare_weight_comfy_layer(&s->settings, module);
    out->format = tare_json_node_text(note);
    if (out->format.len == 0)
        out->format = tare_json_node_text(tare_json_member(note, TARE_STR("format")));
    out->is_rotated = holds(note, "convrot") || holds(note, "params.convrot");
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
