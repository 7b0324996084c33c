/* SPDX-License-Identifier: MIT
 *
 * What torchao's metadata say of a weight: under its name, the class of the tensor and its attributes. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "quantized/scheme.h"

static tare_status read_note(const tare_json_node **out, const tare_weight_search *s, tare_str stem,
                             tare_error *err) {
    char name[1024];
    *out = NULL;
    const int n =
        snprintf(name, sizeof name, "%.*s.weight", (int)tare_min_u64(stem.len, 1000), stem.ptr);
    const int64_t i = tare_model_find_key(s->m, (tare_str){name, (size_t)n});
    if (i < 0 || s->m->catalog.metadata[i].value.type != TARE_VALUE_STRING) return TARE_OK;
    const tare_status status =
        tare_json_tree(out, s->m->catalog.metadata[i].value.as.s, s->arena, NULL);
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "packed weights");
    if (status != TARE_OK) *out = NULL;
    return TARE_OK;
}

tare_status tare_weight_torchao(tare_torchao_note *out, const tare_weight_search *s, tare_str stem,
                                tare_error *err) {
    const tare_json_node *note;
    *out = (tare_torchao_note){.type = TARE_STR("")};
    TARE_TRY(read_note(&note, s, stem, err));
    out->type = tare_json_node_text(tare_json_member(note, TARE_STR("_type")));
    const tare_json_node *is_tiled = tare_json_path(note, TARE_STR("_data.is_swizzled_scales"));
    out->is_tiled = is_tiled && is_tiled->type == TARE_JSON_TRUE;
    return TARE_OK;
}

tare_status tare_torchao_obstacle(const char **out, const tare_torchao_note *note,
                                  const tare_weight_search *s, tare_error *err) {
    static const char *const known[] = {"Float8Tensor", "Int8Tensor", "IntxUnpackedToInt8Tensor",
                                        "Int4Tensor",   "MXTensor",   "NVFP4Tensor"};
    char text[120];
    *out = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (note->type.len == 0 || tare_str_is(note->type, known[i])) return TARE_OK;
    const int n = snprintf(text, sizeof text, "torchao: a %.*s is not decoded",
                           (int)tare_min_u64(note->type.len, 60), note->type.ptr);
    *out = tare_arena_str(&s->m->arena, (tare_str){text, (size_t)n}).ptr;
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "packed weights");
}
