/* SPDX-License-Identifier: MIT
 *
 * Adapters as files of their own: the factors are renamed into a model which is then converted, so
 * that everything that holds for the output of a conversion holds here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/str.h"
#include "ops/adapters/adapter_open.h"
#include "ops/convert/plan.h"
#include "ops/steps.h"

/* What is written. */
typedef struct writing {
    const tare_adapter_use *use;
    tare_model *m; /* the renamed factors, over the files of the set's model */
    const tare_adapter **pairs;
    size_t n;
} writing;

/* The name of a pair without that of its adapter. */
static tare_str module_of(const tare_adapter_use *use, const tare_adapter *a) {
    const size_t n = use->name.len;
    return n && a->name.len > n ? tare_str_cut(a->name, n + 1) : a->name;
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* The fewest digits that round-trip. */
static void put_real(tare_buffer *b, double x) {
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    tare_buffer_put_text(b, text);
}

static double alpha_of(const tare_adapter *a) {
    return a->scale * (double)a->rank;
}

/* Numbers of the pairs that differ from the first one's. */
static void put_patterns(tare_buffer *b, const writing *w, const char *key,
                         double (*value)(const tare_adapter *)) {
    const char *before = "";
    tare_buffer_printf(b, ",\n  \"%s\": {", key);
    for (size_t i = 1; i < w->n; i++) {
        if (value(w->pairs[i]) == value(w->pairs[0])) continue;
        tare_buffer_put_text(b, before);
        tare_buffer_put_json(b, module_of(w->use, w->pairs[i]));
        tare_buffer_put_text(b, ": ");
        put_real(b, value(w->pairs[i]));
        before = ", ";
    }
    tare_buffer_put_text(b, "}");
}

static double rank_of(const tare_adapter *a) {
    return (double)a->rank;
}

static void put_config(tare_buffer *b, const writing *w) {
    tare_buffer_printf(b, "{\n  \"peft_type\": \"LORA\",\n  \"r\": %" PRIu64, w->pairs[0]->rank);
    tare_buffer_put_text(b, ",\n  \"lora_alpha\": ");
    put_real(b, alpha_of(w->pairs[0]));
    put_patterns(b, w, "rank_pattern", rank_of);
    put_patterns(b, w, "alpha_pattern", alpha_of);
    tare_buffer_put_text(b, ",\n  \"target_modules\": [");
    for (size_t i = 0; i < w->n; i++) {
        if (i) tare_buffer_put_text(b, ", ");
        tare_buffer_put_json(b, module_of(w->use, w->pairs[i]));
    }
    tare_buffer_put_text(b, "],\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n"
                            "  \"inference_mode\": true,\n  \"lora_dropout\": 0.0,\n"
                            "  \"modules_to_save\": null,\n  \"task_type\": null,\n"
                            "  \"base_model_name_or_path\": null,\n  \"use_dora\": false,\n"
                            "  \"use_rslora\": false\n}\n");
}

/* ---- the model of factors -------------------------------------------------------------------- */

static tare_status add_tensor(writing *w, const tare_tensor *factor, tare_str head, tare_str module,
                              tare_str tail, tare_error *err) {
    tare_tensor *t = &w->m->catalog.tensors[w->m->catalog.n_tensors++];
    char *name = tare_arena_take(&w->m->arena, head.len + module.len + tail.len);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "name");
    *t = *factor;
    t->name = (tare_str){name, head.len + module.len + tail.len};
    memcpy(name, head.ptr, head.len);
    memcpy(name + head.len, module.ptr, module.len);
    memcpy(name + head.len + module.len, tail.ptr, tail.len);
    return TARE_OK;
}

static tare_status add_peft(writing *w, tare_error *err) {
    const tare_str head = TARE_STR("base_model.model.");
    tare_buffer b;
    for (size_t i = 0; i < w->n; i++) {
        const tare_adapter *a = w->pairs[i];
        const tare_str module = module_of(w->use, a);
        TARE_TRY(add_tensor(w, a->b, head, module, TARE_STR(".lora_A.weight"), err));
        TARE_TRY(add_tensor(w, a->a, head, module, TARE_STR(".lora_B.weight"), err));
    }
    w->m->catalog.resources = TARE_NEW(&w->m->arena, tare_resource_entry);
    if (!w->m->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "configuration");
    tare_buffer_init(&b, w->m->allocator);
    put_config(&b, w);
    tare_str text = {NULL, 0};
    const tare_status status = tare_buffer_text(&text, &b, &w->m->arena, err);
    w->m->catalog.resources[0] = (tare_resource_entry){
        .info = {TARE_STR(TARE_PEFT_CONFIG), text.len}, .bytes = (const uint8_t *)text.ptr};
    w->m->catalog.n_resources = 1;
    tare_buffer_free(&b);
    return status;
}

static tare_status add_pair(writing *w, tare_error *err) {
    char text[40];
    const tare_str none = {"", 0};
    if (w->n != 1)
        return tare_fail(err, TARE_ERR_ARG,
                         "a file takes one pair of factors, and the adapter has more: name a "
                         "directory");
    TARE_TRY(add_tensor(w, w->pairs[0]->a, none, none, TARE_STR("A"), err));
    TARE_TRY(add_tensor(w, w->pairs[0]->b, none, none, TARE_STR("B"), err));
    tare_metadata *scale = TARE_NEW(&w->m->arena, tare_metadata);
    snprintf(text, sizeof text, "%.17g", w->pairs[0]->scale);
    const tare_str value = tare_arena_str(&w->m->arena, tare_str_of(text));
    if (!scale || !value.ptr) return tare_fail(err, TARE_ERR_NOMEM, "scale");
    *scale = (tare_metadata){.key = TARE_STR(TARE_ADAPTER_SCALE),
                             .value = {.type = TARE_VALUE_STRING, .as.s = value},
                             .space = TARE_KEYS_SAFETENSORS,
                             .offset = TARE_NO_OFFSET};
    w->m->catalog.metadata = scale;
    w->m->catalog.n_metadata = 1;
    return TARE_OK;
}

static tare_status collect(writing *w, tare_error *err) {
    const tare_adapter_set *set = w->use->set;
    w->pairs = TARE_NEW_ARRAY(&w->m->arena, const tare_adapter *, set->n);
    w->m->catalog.tensors = TARE_NEW_ARRAY(&w->m->arena, tare_tensor, 2 * (uint64_t)set->n);
    if (!w->pairs || !w->m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    for (size_t i = 0; i < set->n; i++) {
        const tare_adapter *a = &set->adapters[i];
        if (!tare_adapter_is_used(w->use, a)) continue;
        if (a->is_transposed || a->kind != TARE_ADAPTER_PAIR || a->magnitude) {
            tare_fail(err, TARE_ERR_UNSUPPORTED,
                      a->is_transposed ? "its factors are stored as their transposes"
                                       : "it is more than a pair of factors");
            return tare_adapter_fault(set, a, TARE_ERR_UNSUPPORTED, err);
        }
        w->pairs[w->n++] = a;
    }
    if (w->n > 0) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG, "the model has no adapter of that name");
    tare_error_item(err, TARE_ITEM_ADAPTER, -1, w->use->name);
    return TARE_ERR_ARG;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status run(const writing *w, const char *path, bool is_file,
                       const tare_output_options *output, const tare_context *context,
                       tare_error *err) {
    const tare_type_rule rule = {".", tare_encoding_get(TARE_ENCODING_F32)};
    tare_convert_options o = tare_convert_options_default();
    tare_plan *plan;
    o.to = is_file ? "safetensors" : "hf";
    o.rules = &rule;
    o.n_rules = 1;
    o.context = context;
    o.output = output;
    TARE_TRY(tare_plan_new(&plan, path, w->m, &o, err));
    for (size_t i = 0; i < plan->files.n_files; i++) {
        tare_write_file *file = &plan->files.files[i];
        if (file->name && strcmp(file->name, "model.safetensors") == 0)
            file->name = TARE_PEFT_WEIGHTS;
    }
    tare_status status = tare_plan_run(NULL, plan, err);
    tare_plan_free(plan);
    return status;
}

tare_status tare_adapters_write(const char *path, const tare_adapter_use *use,
                                const tare_output_options *output, const tare_context *context,
                                tare_error *err) {
    TARE_REQUIRE(path && use && use->set, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    tare_context own = tare_context_default();
    const bool is_file = tare_str_ends(tare_str_of(path), TARE_STR(".safetensors"));
    writing w = {.use = use};
    own.allocator = o.allocator;
    TARE_TRY(tare_model_new(&w.m, &own, err));
    w.m->format = "adapter";
    tare_status status = collect(&w, err);
    if (status == TARE_OK) status = is_file ? add_pair(&w, err) : add_peft(&w, err);
    if (status == TARE_OK) status = tare_model_finish(w.m, o.report, err);
    /* Borrowed while it is being read. */
    w.m->files = use->set->factors->files;
    w.m->n_files = use->set->factors->n_files;
    if (status == TARE_OK) status = run(&w, path, is_file, output, &o, err);
    w.m->files = NULL;
    w.m->n_files = 0;
    tare_model_free(w.m);
    return status;
}
