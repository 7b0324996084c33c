/* SPDX-License-Identifier: MIT
 *
 * An open model under other names: its tensors are read from the files of the first one. Packed weights
 * are found anew, by the names that their parts have then. */
#include "base/glob.h"
#include "base/str.h"
#include "ops/edit/edit_state.h"
#include "quantized/quantized.h"

static tare_status wrong_name(tare_error *err, tare_str name, const char *what) {
    tare_fail(err, TARE_ERR_ARG, what);
    tare_error_item(err, TARE_ITEM_TENSOR, -1, name);
    return TARE_ERR_ARG;
}

tare_status tare_edit_check_renaming(const tare_edit_step *s, tare_error *err) {
    if (tare_glob_is_renaming(s->name, s->text)) return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG,
                     "renaming: expected one * in both the old and the new name, or in neither");
}

static tare_status rename_all(tare_model *m, const tare_edit_step *s, tare_error *err) {
    size_t n = 0;
    if (s->kind != TARE_EDIT_RENAME_TENSORS)
        return tare_fail(err, TARE_ERR_ARG, "step: not one that renames tensors");
    TARE_TRY(tare_edit_check_renaming(s, err));
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        tare_str name;
        if (!tare_glob_rename(&name, s->name, s->text, m->catalog.tensors[i].name, &m->arena))
            return tare_fail(err, TARE_ERR_NOMEM, "names");
        if (!name.ptr) continue;
        if (!name.len) return wrong_name(err, m->catalog.tensors[i].name, "it would have no name");
        if (name.len > m->limits.name_bytes)
            return wrong_name(err, m->catalog.tensors[i].name, "its new name is too long");
        m->catalog.tensors[i].name = name;
        n++;
    }
    return n ? TARE_OK : wrong_name(err, s->name, "nothing in the model has this name");
}

static tare_status check_twice(tare_model *m, tare_error *err) {
    tare_name_index index;
    tare_error fault = TARE_ERROR_NONE;
    const tare_status status = tare_name_index_build(
        &index, &m->arena, m->catalog.tensors, m->catalog.n_tensors, sizeof *m->catalog.tensors,
        "two tensors would have this name", &fault);
    if (status == TARE_ERR_CORRUPT)
        return wrong_name(err, m->catalog.tensors[(size_t)fault.item].name, fault.what);
    if (status != TARE_OK && err) *err = fault;
    return status;
}

/* Its bytes lie as they did, but no writer makes the same file of it. */
static tare_status copy_layout(tare_model *m, const tare_model *from, tare_error *err) {
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){.is_big_endian = tare_model_is_big_endian(from)};
    m->catalog.layout = layout;
    return TARE_OK;
}

static tare_status fill(tare_model *m, const tare_model *in, const tare_edit_step *steps, size_t n,
                        const tare_context *context, tare_error *err) {
    const tare_model *from = in->packed ? in->stored : in;
    m->format = in->format;
    m->held_format = in->held_format;
    m->named_as = in;
    m->left_out = in->left_out;
    m->n_left_out = in->n_left_out;
    m->loss = in->loss;
    m->catalog = from->catalog;
    m->catalog.digests = NULL; /* they are checked where they are stated */
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, from->catalog.n_tensors);
    if (!m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (from->catalog.n_tensors)
        memcpy(m->catalog.tensors, from->catalog.tensors,
               from->catalog.n_tensors * sizeof *m->catalog.tensors);
    TARE_TRY(copy_layout(m, from, err));
    TARE_TRY(tare_model_share_files(m, from, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(rename_all(m, &steps[i], err));
    TARE_TRY(check_twice(m, err));
    TARE_TRY(tare_model_finish(m, context->report, err));
    return tare_quantized_open(m, false, err);
}

tare_status tare_tensors_rename(tare_model **out, const tare_model *in, const tare_edit_step *steps,
                                size_t n_steps, const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in && (steps || !n_steps), err);
    tare_open_options o = tare_open_options_default();
    tare_context context;
    tare_model *m;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    if (!context.limits) context.limits = &in->limits;
    TARE_TRY(tare_model_new(&m, &context, err));
    const tare_status status = fill(m, in, steps, n_steps, &context, err);
    if (status == TARE_OK)
        *out = m;
    else
        tare_model_free(m);
    return status;
}
