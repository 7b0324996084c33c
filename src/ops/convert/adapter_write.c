/* SPDX-License-Identifier: MIT
 *
 * Adapters as files of their own: the factors are renamed into a model which is then converted, so
 * that everything that holds for the output of a conversion holds here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/strided.h"
#include "ops/adapters/adapter_open.h"
#include "ops/convert/plan.h"
#include "ops/steps.h"

/* A form of adapters: what the tensor names begin and end in, and where they lie. */
typedef struct form {
    const char *name; /* NULL: the tensors A and B of one pair */
    const char *head, *right, *left;
    const char *weights; /* the file in a directory; NULL: it is a file */
    bool is_turned;      /* both factors are stored as their transposes */
    bool is_flat;        /* names are kohya's */
} form;

static const form forms[] = {
    {"peft", "base_model.model.", ".lora_A.weight", ".lora_B.weight", TARE_PEFT_WEIGHTS, false,
     false},
    {"diffusers", "", ".lora_A.weight", ".lora_B.weight", NULL, false, false},
    {"kohya", "", ".lora_down.weight", ".lora_up.weight", NULL, false, true},
    {"mlx", "", ".lora_a", ".lora_b", "adapters.safetensors", true, false},
};
static const form one_pair = {NULL, "", "B", "A", NULL, false, false};

/* What is written. */
typedef struct writing {
    const tare_adapter_use *use;
    const form *form;
    tare_model *m; /* the renamed factors, over the files of the set's model */
    const tare_adapter **pairs;
    tare_str *modules; /* what they are called */
    size_t n;
    tare_strided_tensor *made; /* those that do not lie in a file as they are to be */
    size_t n_made;
} writing;

/* The name of a pair without that of its adapter. */
static tare_str module_of(const tare_adapter_use *use, const tare_adapter *a) {
    const size_t n = use->name.len;
    return n && a->name.len > n ? tare_str_cut(a->name, n + 1) : a->name;
}

/* ---- what modules are called ----------------------------------------------------------------- */

/* The models of a pipeline, as diffusers calls them and as kohya's scripts do. */
static const struct {
    const char *name, *flat;
} components[] = {{"unet", "lora_unet"},          {"transformer", "lora_transformer"},
                  {"text_encoder", "lora_te"},    {"text_encoder_2", "lora_te2"},
                  {"text_encoder_3", "lora_te3"}, {"prior", "lora_prior_unet"}};

/* What stands before the first dot. */
static tare_str component_of(tare_str module) {
    size_t n = 0;
    while (n < module.len && module.ptr[n] != '.') n++;
    return (tare_str){module.ptr, n < module.len ? n : 0};
}

static const char *flat_component(tare_str component) {
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        if (tare_str_is(component, components[i].name)) return components[i].flat;
    return NULL;
}

static tare_status fail_pair(const writing *w, const tare_adapter *a, tare_status status,
                             const char *what, tare_error *err) {
    tare_fail(err, status, what);
    return tare_adapter_fault(w->use->set, a, status, err);
}

/* "lora_unet_down_blocks_0_...": a name with dots behind its component, or one that was flat before. */
static tare_status flat_name(tare_str *out, writing *w, const tare_adapter *a, tare_error *err) {
    const tare_str module = module_of(w->use, a), component = component_of(module);
    const bool was_flat = w->use->set->has_flat_names;
    const char *head = was_flat ? NULL : flat_component(component);
    if (!was_flat && !head)
        return fail_pair(
            w, a, TARE_ERR_UNSUPPORTED,
            "kohya's names begin with the model of a pipeline that they are for (unet, "
            "transformer, text_encoder), and this one does not say it",
            err);
    const tare_str front = head ? tare_str_of(head) : component;
    const tare_str rest = tare_str_cut(module, component.len);
    char *text = tare_arena_array(&w->m->arena, (uint64_t)front.len + rest.len + 1, 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "name");
    memcpy(text, front.ptr, front.len);
    for (size_t i = 0; i < rest.len; i++)
        text[front.len + i] = rest.ptr[i] == '.' ? '_' : rest.ptr[i];
    *out = (tare_str){text, front.len + rest.len};
    return TARE_OK;
}

/* Names with dots. Diffusers' begin with a component, those of the others are one model's. */
static tare_status dotted_name(tare_str *out, const writing *w, const tare_adapter *a,
                               tare_error *err) {
    const tare_str component = component_of(module_of(w->use, a));
    const bool has_one = flat_component(component) != NULL;
    *out = module_of(w->use, a);
    if (!w->form->name) return TARE_OK;
    if (w->use->set->has_flat_names && component.len)
        return fail_pair(
            w, a, TARE_ERR_UNSUPPORTED,
            "kohya's names have _ for dots, and which of these are dots only the model "
            "tells: merge it into that instead",
            err);
    if (strcmp(w->form->name, "diffusers") == 0)
        return has_one
                   ? TARE_OK
                   : fail_pair(w, a, TARE_ERR_UNSUPPORTED,
                               "names of diffusers begin with the model of a pipeline that they "
                               "are for (unet, transformer, text_encoder), and this one does not "
                               "say it",
                               err);
    if (!has_one) return TARE_OK;
    for (size_t i = 0; i < w->n; i++)
        if (!tare_str_equal(component_of(module_of(w->use, w->pairs[i])), component))
            return fail_pair(
                w, w->pairs[i], TARE_ERR_UNSUPPORTED,
                "the adapter is for several models of a pipeline, and this form for one", err);
    *out = tare_str_cut(*out, component.len + 1);
    return TARE_OK;
}

static tare_status name_modules(writing *w, tare_error *err) {
    w->modules = TARE_NEW_ARRAY(&w->m->arena, tare_str, w->n);
    if (!w->modules) return tare_fail(err, TARE_ERR_NOMEM, "name");
    for (size_t i = 0; i < w->n; i++)
        TARE_TRY(w->form->is_flat ? flat_name(&w->modules[i], w, w->pairs[i], err)
                                  : dotted_name(&w->modules[i], w, w->pairs[i], err));
    return TARE_OK;
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
        tare_buffer_put_json(b, w->modules[i]);
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
        tare_buffer_put_json(b, w->modules[i]);
    }
    tare_buffer_put_text(b, "],\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n"
                            "  \"inference_mode\": true,\n  \"lora_dropout\": 0.0,\n"
                            "  \"modules_to_save\": null,\n  \"task_type\": null,\n"
                            "  \"base_model_name_or_path\": null,\n  \"use_dora\": false,\n"
                            "  \"use_rslora\": false\n}\n");
}

/* MLX's configuration has one rank and one scale; layers that the adapter lacks stay as they are. */
static tare_status put_mlx(tare_buffer *b, const writing *w, tare_error *err) {
    for (size_t i = 1; i < w->n; i++)
        if (w->pairs[i]->scale != w->pairs[0]->scale || w->pairs[i]->rank != w->pairs[0]->rank)
            return fail_pair(w, w->pairs[i], TARE_ERR_UNSUPPORTED,
                             "its rank or its scale is another than that of the first pair, and "
                             "MLX's form has one of each",
                             err);
    tare_buffer_printf(b,
                       "{\n  \"fine_tune_type\": \"lora\",\n  \"num_layers\": -1,\n  "
                       "\"lora_parameters\": {\"rank\": %" PRIu64 ", \"scale\": ",
                       w->pairs[0]->rank);
    put_real(b, w->pairs[0]->scale);
    tare_buffer_put_text(b, ", \"dropout\": 0.0}\n}\n");
    return TARE_OK;
}

static bool is_of(const writing *w, size_t i, tare_str component) {
    return tare_str_equal(component_of(w->modules[i]), component);
}

/* The numbers of a component's pairs that differ from its first one's. */
static void put_header_patterns(tare_buffer *b, const writing *w, tare_str component,
                                const tare_adapter *first, const char *key,
                                double (*value)(const tare_adapter *)) {
    const char *before = "";
    tare_buffer_printf(b, ", \"%.*s.%s\": {", (int)component.len, component.ptr, key);
    for (size_t i = 0; i < w->n; i++) {
        if (!is_of(w, i, component) || value(w->pairs[i]) == value(first)) continue;
        tare_buffer_put_text(b, before);
        tare_buffer_put_json(b, tare_str_cut(w->modules[i], component.len + 1));
        tare_buffer_put_text(b, ": ");
        put_real(b, value(w->pairs[i]));
        before = ", ";
    }
    tare_buffer_put_text(b, "}");
}

static void put_component(tare_buffer *b, const writing *w, tare_str component,
                          const tare_adapter *first) {
    const char *const name = component.ptr, *before = "";
    tare_buffer_printf(b, "\"%s.peft_type\": \"LORA\", \"%s.r\": %" PRIu64, name, name,
                       first->rank);
    tare_buffer_printf(b, ", \"%s.bias\": \"none\", \"%s.lora_alpha\": ", name, name);
    put_real(b, alpha_of(first));
    put_header_patterns(b, w, component, first, "rank_pattern", rank_of);
    put_header_patterns(b, w, component, first, "alpha_pattern", alpha_of);
    tare_buffer_printf(b, ", \"%s.target_modules\": [", name);
    for (size_t i = 0; i < w->n; i++) {
        if (!is_of(w, i, component)) continue;
        tare_buffer_put_text(b, before);
        tare_buffer_put_json(b, tare_str_cut(w->modules[i], component.len + 1));
        before = ", ";
    }
    tare_buffer_put_text(b, "]");
}

/* What diffusers keeps of PEFT's configuration in the header: of each component. */
static void put_header(tare_buffer *b, const writing *w) {
    const char *before = "{";
    for (size_t c = 0; c < sizeof components / sizeof *components; c++) {
        const tare_str component = tare_str_of(components[c].name);
        size_t i = 0;
        while (i < w->n && !is_of(w, i, component)) i++;
        if (i == w->n) continue;
        tare_buffer_put_text(b, before);
        put_component(b, w, component, w->pairs[i]);
        before = ", ";
    }
    tare_buffer_put_text(b, "}");
}

/* ---- the model of factors -------------------------------------------------------------------- */

static tare_status join_name(tare_str *out, const writing *w, tare_str module, const char *tail,
                             tare_error *err) {
    const size_t n_head = strlen(w->form->head), n_tail = strlen(tail);
    char *name = tare_arena_array(&w->m->arena, (uint64_t)n_head + module.len + n_tail + 1, 1);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "name");
    memcpy(name, w->form->head, n_head);
    if (module.len) memcpy(name + n_head, module.ptr, module.len);
    memcpy(name + n_head + module.len, tail, n_tail);
    *out = (tare_str){name, n_head + module.len + n_tail};
    return TARE_OK;
}

/* The transpose of what is stored. */
static tare_status add_turned(writing *w, const tare_adapter *a, const tare_tensor *factor,
                              tare_str name, tare_error *err) {
    const tare_encoding *e = factor->encoding;
    if (factor->n_dims != 2 || e->n_planes != 1 || e->planes[0].unit != 1)
        return fail_pair(w, a, TARE_ERR_UNSUPPORTED,
                         "a factor that is no matrix of plain numbers has no transpose", err);
    tare_strided_tensor *t = &w->made[w->n_made++];
    *t = (tare_strided_tensor){.name = name,
                               .encoding = e,
                               .bytes = e->planes[0].unit_bytes,
                               .record = factor->offset,
                               .offset = factor->planes[0].offset,
                               .file = factor->planes[0].file,
                               .n_dims = 2,
                               .dims = {factor->dims[1], factor->dims[0]},
                               .strides = {1, factor->dims[1]}};
    return tare_strided_measure(t)
               ? TARE_OK
               : fail_pair(w, a, TARE_ERR_LIMIT, "a factor whose size overflows", err);
}

static tare_status add_factor(writing *w, size_t i, const tare_tensor *factor, const char *tail,
                              tare_error *err) {
    const tare_str module = w->form->name ? w->modules[i] : (tare_str){"", 0};
    tare_str name;
    TARE_TRY(join_name(&name, w, module, tail, err));
    if (w->pairs[i]->is_transposed != w->form->is_turned)
        return add_turned(w, w->pairs[i], factor, name, err);
    tare_tensor *t = &w->m->catalog.tensors[w->m->catalog.n_tensors++];
    *t = *factor;
    t->name = name;
    return TARE_OK;
}

/* A tensor of one number, beside the factors. */
static tare_status add_alpha(writing *w, size_t i, tare_error *err) {
    const float alpha = (float)alpha_of(w->pairs[i]);
    uint32_t bits;
    tare_strided_tensor *t = &w->made[w->n_made++];
    uint8_t *bytes = tare_arena_take(&w->m->arena, sizeof alpha);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "alpha");
    if ((double)alpha != alpha_of(w->pairs[i]))
        return fail_pair(w, w->pairs[i], TARE_ERR_UNSUPPORTED,
                         "its scale times its rank is no number of 32 bits, as this form has it",
                         err);
    memcpy(&bits, &alpha, sizeof bits);
    tare_store_u32(bytes, bits, tare_model_is_big_endian(w->m));
    *t = (tare_strided_tensor){.encoding = tare_encoding_get(TARE_ENCODING_F32),
                               .bytes = sizeof alpha,
                               .record = TARE_NO_OFFSET,
                               .made = bytes};
    TARE_TRY(join_name(&t->name, w, w->modules[i], ".alpha", err));
    return tare_strided_measure(t) ? TARE_OK : tare_fail(err, TARE_ERR_LIMIT, "alpha");
}

static tare_status add_tensors(writing *w, tare_error *err) {
    tare_strided_set set = {.m = w->m};
    w->made = TARE_NEW_ARRAY(&w->m->arena, tare_strided_tensor, 3 * (uint64_t)w->n);
    if (!w->made) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < w->n; i++) {
        if (!w->form->name) TARE_TRY(add_factor(w, i, w->pairs[i]->a, w->form->left, err));
        TARE_TRY(add_factor(w, i, w->pairs[i]->b, w->form->right, err));
        if (w->form->name) TARE_TRY(add_factor(w, i, w->pairs[i]->a, w->form->left, err));
        if (w->form->is_flat) TARE_TRY(add_alpha(w, i, err));
    }
    if (!w->n_made) return TARE_OK;
    TARE_TRY(tare_strided_add(&set, w->made, w->n_made, 0, err));
    return tare_strided_end(&set, err);
}

/* ---- what lies beside the factors ------------------------------------------------------------ */

static tare_status add_config(writing *w, tare_error *err) {
    tare_buffer b;
    tare_str text = {NULL, 0};
    tare_status status = TARE_OK;
    w->m->catalog.resources = TARE_NEW(&w->m->arena, tare_resource_entry);
    if (!w->m->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "configuration");
    tare_buffer_init(&b, w->m->allocator);
    if (w->form->is_turned)
        status = put_mlx(&b, w, err);
    else
        put_config(&b, w);
    if (status == TARE_OK) status = tare_buffer_text(&text, &b, &w->m->arena, err);
    w->m->catalog.resources[0] = (tare_resource_entry){
        .info = {TARE_STR(TARE_PEFT_CONFIG), text.len}, .bytes = (const uint8_t *)text.ptr};
    w->m->catalog.n_resources = 1;
    tare_buffer_free(&b);
    return status;
}

static tare_status add_pair_of_header(writing *w, const char *key, const tare_buffer *text,
                                      tare_error *err) {
    tare_metadata *pair = TARE_NEW(&w->m->arena, tare_metadata);
    const tare_str value =
        tare_arena_str(&w->m->arena, (tare_str){(const char *)text->data, text->size});
    if (!pair || !value.ptr) return tare_fail(err, TARE_ERR_NOMEM, "header");
    *pair = (tare_metadata){.key = tare_str_of(key),
                            .value = {.type = TARE_VALUE_STRING, .as.s = value},
                            .space = TARE_KEYS_SAFETENSORS,
                            .offset = TARE_NO_OFFSET};
    w->m->catalog.metadata = pair;
    w->m->catalog.n_metadata = 1;
    return TARE_OK;
}

static tare_status add_header(writing *w, tare_error *err) {
    tare_buffer b;
    const char *key = w->form->name ? "lora_adapter_metadata" : TARE_ADAPTER_SCALE;
    if (!w->form->name && w->n != 1)
        return tare_fail(err, TARE_ERR_ARG,
                         "a file takes one pair of factors, and the adapter has more: name a "
                         "directory");
    tare_buffer_init(&b, w->m->allocator);
    if (w->form->name)
        put_header(&b, w);
    else
        tare_buffer_printf(&b, "%.17g", w->pairs[0]->scale);
    tare_status status = tare_buffer_status(&b, err);
    if (status == TARE_OK) status = add_pair_of_header(w, key, &b, err);
    tare_buffer_free(&b);
    return status;
}

static tare_status add_rest(writing *w, tare_error *err) {
    if (w->form->weights) return add_config(w, err);
    return w->form->is_flat ? TARE_OK : add_header(w, err);
}

static tare_status collect(writing *w, tare_error *err) {
    const tare_adapter_set *set = w->use->set;
    w->pairs = TARE_NEW_ARRAY(&w->m->arena, const tare_adapter *, set->n);
    w->m->catalog.tensors = TARE_NEW_ARRAY(&w->m->arena, tare_tensor, 2 * (uint64_t)set->n);
    if (!w->pairs || !w->m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    for (size_t i = 0; i < set->n; i++) {
        const tare_adapter *a = &set->adapters[i];
        if (!tare_adapter_is_used(w->use, a)) continue;
        if (a->kind != TARE_ADAPTER_PAIR || a->magnitude)
            return fail_pair(w, a, TARE_ERR_UNSUPPORTED, "it is more than a pair of factors", err);
        if (set->has_stacks)
            return fail_pair(w, a, TARE_ERR_UNSUPPORTED,
                             "the adapter has factors of stacks of experts (target_parameters), "
                             "which this form does not have: merge it into its base",
                             err);
        w->pairs[w->n++] = a;
    }
    if (w->n > 0) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG, "the model has no adapter of that name");
    tare_error_item(err, TARE_ITEM_ADAPTER, -1, w->use->name);
    return TARE_ERR_ARG;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status run(const writing *w, const char *path, const tare_output_options *output,
                       const tare_context *context, tare_error *err) {
    const tare_type_rule rule = {".", tare_encoding_get(TARE_ENCODING_F32)};
    tare_convert_options o = tare_convert_options_default();
    tare_plan *plan;
    o.to = w->form->weights ? "hf" : "safetensors";
    o.rules = &rule;
    o.n_rules = 1;
    o.context = context;
    o.output = output;
    TARE_TRY(tare_plan_new(&plan, path, w->m, &o, err));
    for (size_t i = 0; i < plan->files.n_files; i++) {
        tare_write_file *file = &plan->files.files[i];
        if (file->name && strcmp(file->name, "model.safetensors") == 0)
            file->name = w->form->weights;
    }
    tare_status status = tare_plan_run(NULL, plan, err);
    tare_plan_free(plan);
    return status;
}

static tare_status fill(writing *w, const tare_context *context, tare_error *err) {
    tare_layout *layout = TARE_NEW(&w->m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){.is_big_endian = tare_model_is_big_endian(w->use->set->factors)};
    w->m->catalog.layout = layout;
    w->m->format = "adapter";
    w->m->loss = tare_peft_loss(&w->use->set->left);
    tare_peft_tell(&w->use->set->left, w->use->set->n, w->use->set->path, context->report);
    TARE_TRY(tare_model_share_files(w->m, w->use->set->factors, err));
    TARE_TRY(collect(w, err));
    TARE_TRY(name_modules(w, err));
    TARE_TRY(add_rest(w, err));
    TARE_TRY(add_tensors(w, err));
    return tare_model_finish(w->m, context->report, err);
}

static tare_status write(const char *path, const form *as, const tare_adapter_use *use,
                         const tare_output_options *output, const tare_context *context,
                         tare_error *err) {
    tare_context o = tare_context_default(), own = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    writing w = {.use = use, .form = as};
    own.allocator = o.allocator;
    TARE_TRY(tare_model_new(&w.m, &own, err));
    tare_status status = fill(&w, &o, err);
    if (status == TARE_OK) status = run(&w, path, output, &o, err);
    tare_model_free(w.m);
    return status;
}

tare_status tare_adapters_write(const char *path, const tare_adapter_use *use,
                                const tare_output_options *output, const tare_context *context,
                                tare_error *err) {
    TARE_REQUIRE(path && use && use->set, err);
    const bool is_file = tare_str_ends(tare_str_of(path), TARE_STR(".safetensors"));
    return write(path, is_file ? &one_pair : &forms[0], use, output, context, err);
}

tare_status tare_adapters_write_as(const char *path, const char *dialect,
                                   const tare_adapter_use *use, const tare_output_options *output,
                                   const tare_context *context, tare_error *err) {
    TARE_REQUIRE(path && dialect && use && use->set, err);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, dialect) == 0)
            return write(path, &forms[i], use, output, context, err);
    return tare_fail(err, TARE_ERR_ARG, "dialect: peft, diffusers, kohya or mlx expected");
}
