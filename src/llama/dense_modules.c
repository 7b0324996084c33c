/* SPDX-License-Identifier: MIT
 *
 * Linear layers behind the pooling of an embedding model, which sentence-transformers keeps in folders of
 * their own ("2_Dense/model.safetensors") and llama.cpp in the model's file: dense_2, dense_3. */
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"

static tare_status fail_module(const char *file, tare_status status, const char *what,
                               tare_error *err) {
    tare_fail(err, status, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, tare_str_of(file));
    return status;
}

/* The numbers of a file's only tensor, "linear.weight", become those of the matrix `name`. */
static tare_status take_weight(tare_llama_mapping *m, const tare_model *module, const char *file,
                               const char *name, double *width, tare_error *err) {
    const tare_tensor *t = &module->catalog.tensors[0];
    size_t n;
    if (module->catalog.n_tensors != 1 || t->n_dims != 2 || !tare_str_is(t->name, "linear.weight"))
        return fail_module(
            file, TARE_ERR_UNSUPPORTED,
            "expected linear.weight alone: llama.cpp has a Dense module without bias", err);
    if ((double)t->dims[1] != *width)
        return fail_module(file, TARE_ERR_CORRUPT,
                           "linear.weight: its columns are not what comes before the module", err);
    *width = (double)t->dims[0];
    if (!tare_size_of_u64(t->n_elements, &n))
        return fail_module(file, TARE_ERR_LIMIT, "size of the matrix", err);
    float *values = TARE_NEW_ARRAY(&m->out->arena, float, n);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "Dense module");
    TARE_TRY(tare_tensor_values_f32(values, module, 0, 0, n, err));
    char whole[64], key[64];
    snprintf(whole, sizeof whole, "%s.weight", name);
    const tare_str kept = tare_arena_str(&m->out->arena, tare_str_of(whole));
    if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "Dense module");
    TARE_TRY(tare_llama_generate_shaped(m, kept.ptr, values, t->dims, 2, err));
    snprintf(key, sizeof key, "%s_feat_in", name);
    TARE_TRY(tare_llama_set_number(m, key, TARE_VALUE_U32, (double)t->dims[1], err));
    snprintf(key, sizeof key, "%s_feat_out", name);
    return tare_llama_set_number(m, key, TARE_VALUE_U32, (double)t->dims[0], err);
}

/* llama.cpp computes the product alone. */
static tare_status check_settings(const tare_llama_mapping *m, const char *file, tare_error *err) {
    const tare_json_node *config;
    TARE_TRY(tare_model_json(&config, m->hf, file, &m->out->arena, err));
    const tare_str act =
        tare_json_node_text(tare_json_member(config, TARE_STR("activation_function")));
    if (!tare_str_ends(act, TARE_STR("Identity")))
        return fail_module(file, TARE_ERR_UNSUPPORTED,
                           act.len
                               ? "llama.cpp has no activation_function behind a Dense module"
                               : "no activation_function, which then is Tanh: llama.cpp has none "
                                 "behind a Dense module",
                           err);
    return TARE_OK;
}

static tare_status add_module(tare_llama_mapping *m, tare_str folder, const char *name,
                              double *width, tare_error *err) {
    char file[160];
    tare_str bytes;
    tare_model *module;
    snprintf(file, sizeof file, "%.*s/config.json", (int)folder.len, folder.ptr);
    TARE_TRY(check_settings(m, file, err));
    snprintf(file, sizeof file, "%.*s/model.safetensors", (int)folder.len, folder.ptr);
    TARE_TRY(tare_model_text(&bytes, m->hf, file, &m->out->arena, err));
    if (!bytes.ptr)
        return fail_module(file, TARE_ERR_UNSUPPORTED,
                           "modules.json names a Dense module without this file", err);
    tare_source source = tare_source_default();
    source.kind = TARE_SOURCE_MEMORY;
    source.name = file;
    source.memory = bytes.ptr;
    source.n_bytes = bytes.len;
    tare_open_options open = tare_open_options_default();
    const tare_context context = {
        .size = sizeof context, .allocator = m->out->allocator, .limits = &m->hf->limits};
    open.context = &context;
    tare_status status = tare_model_open(&module, &source, &open, err);
    if (status == TARE_OK) status = take_weight(m, module, file, name, width, err);
    tare_model_free(module);
    if (status != TARE_OK) tare_error_item(err, TARE_ITEM_RESOURCE, -1, tare_str_of(file));
    return status;
}

static void note_module(tare_llama_mapping *m, tare_str type) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.not-applied");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("modules.json");
    tare_report_addf(m->options->context->report, &f,
                     "%.*s: llama.cpp does not have this module in this architecture, and gives "
                     "other embeddings",
                     (int)tare_min_u64(type.len, 80), type.ptr);
    f.text = TARE_STR("a module that llama.cpp does not have in this architecture");
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
}

/* What the model itself is, pooling.c, llama.cpp's caller, and what does nothing once trained. */
static bool is_elsewhere(tare_str type) {
    return tare_str_ends(type, TARE_STR("Transformer")) ||
           tare_str_ends(type, TARE_STR("Pooling")) || tare_str_ends(type, TARE_STR("Normalize")) ||
           tare_str_ends(type, TARE_STR("Dropout"));
}

tare_status tare_llama_add_dense_modules(tare_llama_mapping *m, tare_error *err) {
    static const char *const names[] = {"dense_2", "dense_3"};
    const tare_json_node *modules;
    size_t n = 0;
    double width;
    TARE_TRY(tare_llama_number(&width, m, "hidden_size", 0, err));
    TARE_TRY(tare_model_json(&modules, m->hf, "modules.json", &m->out->arena, err));
    if (!modules || modules->type != TARE_JSON_ARRAY) return TARE_OK;
    for (const tare_json_node *c = modules->child; c; c = c->next) {
        const tare_str type = tare_json_node_text(tare_json_member(c, TARE_STR("type")));
        tare_str folder = tare_json_node_text(tare_json_member(c, TARE_STR("path")));
        if (is_elsewhere(type)) continue;
        while (folder.len && folder.ptr[folder.len - 1] == '/') folder.len--;
        if (!tare_str_ends(type, TARE_STR("Dense")) || folder.len == 0 || folder.len > 100 ||
            n == 2 || !tare_llama_is_one_of(tare_str_of(names[n]), m->arch->tensors)) {
            note_module(m, type);
            return TARE_OK;
        }
        TARE_TRY(add_module(m, folder, names[n++], &width, err));
    }
    return TARE_OK;
}
