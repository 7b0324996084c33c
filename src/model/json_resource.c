/* SPDX-License-Identifier: MIT
 *
 * Side files of a model as texts and as trees of JSON. */
#include "model/json_resource.h"

#include "base/arith.h"
#include "base/str.h"
#include "model/foreign.h"

tare_status tare_model_find_file(int64_t *out, const tare_model *model, const char *name,
                                 tare_error *err) {
    *out = tare_model_find_resource(model, tare_str_of(name));
    for (size_t i = 0; *out < 0 && i < model->n_left_out; i++) {
        const tare_left_out *lost = &model->left_out[i];
        if (!tare_str_is(lost->name, name)) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, lost->why);
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, lost->name);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

tare_status tare_model_text(tare_str *out, const tare_model *model, const char *name,
                            tare_arena *arena, tare_error *err) {
    int64_t i;
    size_t n;
    *out = (tare_str){NULL, 0};
    TARE_TRY(tare_model_find_file(&i, model, name, err));
    if (i < 0) return TARE_OK;
    const tare_resource *r = tare_model_resource(model, (size_t)i);
    if (!tare_size_of_u64(r->size, &n)) return tare_fail(err, TARE_ERR_LIMIT, "side file");
    char *bytes = tare_arena_take(arena, n);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "side file");
    TARE_TRY(tare_resource_read(bytes, model, (size_t)i, 0, n, err));
    *out = (tare_str){bytes, n};
    return TARE_OK;
}

tare_status tare_model_json(const tare_json_node **out, const tare_model *model, const char *name,
                            tare_arena *arena, tare_error *err) {
    tare_str text;
    *out = NULL;
    TARE_TRY(tare_model_text(&text, model, name, arena, err));
    if (!text.ptr) return TARE_OK;
    const char *foreign = tare_not_the_file(text, text.len);
    tare_status status = foreign ? tare_fail(err, TARE_ERR_UNSUPPORTED, foreign)
                                 : tare_json_tree(out, text, arena, err);
    status = tare_name_foreign(status, text, text.len, true, err);
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_RESOURCE, tare_model_find_resource(model, tare_str_of(name)),
                        tare_str_of(name));
    return status;
}
