/* SPDX-License-Identifier: MIT
 *
 * Adapters in the dialects of kohya, diffusers and MLX as pairs of factors. Their scale is alpha /
 * rank: alpha is a tensor of the module, or in what diffusers writes of PEFT's configuration into the
 * header; where it is nowhere, it is the rank, as for the programs that write such files. MLX has the
 * scale itself in its adapter_config.json. */
#include <math.h>

#include "base/json_node.h"
#include "base/str.h"
#include "model/lora_dialect.h"
#include "model/names.h"
#include "ops/adapters/adapter_open.h"

#define METADATA "lora_adapter_metadata"

typedef struct reading {
    const tare_lora_dialect *dialect;
    tare_adapter_set *set;
    tare_model *m;
    tare_name_index index;
    const tare_tensor **alphas;         /* of each adapter; NULL: it has none */
    const tare_json_node *of_diffusers; /* NULL: there is nothing */
    double scale;                       /* MLX */
} reading;

/* ---- tensors --------------------------------------------------------------------------------- */

/* COMPONENT.MODULE, so that what is of one component can be told. */
static tare_status name_module(tare_str *out, reading *r, tare_str module, tare_error *err) {
    const tare_str component = tare_lora_component(module);
    *out = module;
    if (!component.len) return TARE_OK;
    *out = tare_arena_str(&r->m->arena, module);
    if (!out->ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    ((char *)(uintptr_t)out->ptr)[component.len] = '.';
    r->set->has_flat_names = true;
    return TARE_OK;
}

static tare_status add_tensor(reading *r, const tare_tensor *t, tare_error *err) {
    tare_lora_name name;
    tare_adapter_set *set = r->set;
    const char *obstacle = tare_lora_obstacle(t->name);
    if (obstacle) return tare_fail(err, TARE_ERR_UNSUPPORTED, obstacle);
    if (!tare_lora_name_parse(&name, r->dialect, t->name))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "an adapter with a tensor that is not a factor of its dialect");
    tare_adapter *a = &set->adapters[set->n];
    *a = (tare_adapter){.scale = 1, .is_transposed = r->dialect->is_turned};
    TARE_TRY(name_module(&a->name, r, name.module, err));
    const int64_t at = tare_name_index_add(&r->index, set->adapters, sizeof *a, set->n, NULL);
    const size_t i = at >= 0 ? (size_t)at : set->n++;
    a = &set->adapters[i];
    const tare_tensor **place = name.part == TARE_LORA_ALPHA   ? &r->alphas[i]
                                : name.part == TARE_LORA_RIGHT ? &a->b
                                                               : &a->a;
    if (*place)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a second factor of its kind for one module");
    *place = t;
    return TARE_OK;
}

static tare_status collect(reading *r, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    tare_arena *arena = &r->m->arena;
    r->set->adapters = TARE_NEW_ARRAY(arena, tare_adapter, c->n_tensors + 1);
    r->alphas = TARE_NEW_ARRAY(arena, const tare_tensor *, c->n_tensors + 1);
    if (!r->set->adapters || !r->alphas) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    memset(r->alphas, 0, (c->n_tensors + 1) * sizeof *r->alphas);
    TARE_TRY(tare_name_index_init(&r->index, arena, c->n_tensors + 1, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_status status = add_tensor(r, &c->tensors[i], err);
        if (status != TARE_OK)
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
        TARE_TRY(status);
    }
    return TARE_OK;
}

/* ---- scales ---------------------------------------------------------------------------------- */

static bool read_double(double *out, const tare_json_node *node) {
    if (!node || node->type != TARE_JSON_NUMBER) return false;
    const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = node->text};
    return tare_json_f64(&v, out);
}

/* {"lora_parameters": {"rank": 8, "scale": 20.0}, "fine_tune_type": "lora", ...} */
static tare_status read_mlx(reading *r, tare_str config, tare_error *err) {
    const tare_json_node *root;
    TARE_TRY(tare_json_tree(&root, config, &r->m->arena, err));
    const tare_json_node *kind = tare_json_member(root, TARE_STR("fine_tune_type"));
    if (kind && !tare_json_node_is(kind, "lora"))
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, kind->offset,
                            "fine_tune_type: expected \"lora\"; other kinds are not merged");
    if (read_double(&r->scale, tare_json_path(root, TARE_STR("lora_parameters.scale"))))
        return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, 0,
                        "lora_parameters.scale: expected a number, as MLX's configuration has it");
}

static tare_status find_metadata(reading *r, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *e = &c->metadata[i];
        if (e->value.type != TARE_VALUE_STRING || !tare_str_is(e->key, METADATA)) continue;
        const tare_status status =
            tare_json_tree(&r->of_diffusers, e->value.as.s, &r->m->arena, err);
        if (status != TARE_OK) tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, e->key);
        return status;
    }
    return TARE_OK;
}

/* The members "COMPONENT.x" as PEFT's configuration, whose module names lack the component. */
static tare_status config_text(tare_str *out, const reading *r, tare_str component,
                               tare_error *err) {
    static const tare_json_style plain = {.indent = 0};
    tare_arena *arena = &r->m->arena;
    tare_json_node *root = tare_json_new(arena, TARE_JSON_OBJECT, TARE_STR(""));
    tare_buffer b;
    *out = (tare_str){NULL, 0};
    for (const tare_json_node *n = r->of_diffusers->child; n; n = n->next) {
        if (!tare_str_starts(n->key, component) || n->key.len <= component.len ||
            n->key.ptr[component.len] != '.')
            continue;
        tare_json_node *copy = tare_json_copy(arena, n);
        if (!root || !copy) return tare_fail(err, TARE_ERR_NOMEM, "adapter's configuration");
        tare_json_add(root, tare_str_cut(n->key, component.len + 1), copy);
    }
    if (!root) return tare_fail(err, TARE_ERR_NOMEM, "adapter's configuration");
    if (!root->n) return TARE_OK;
    tare_buffer_init(&b, r->m->allocator);
    tare_json_put_tree(&b, root, &plain);
    const tare_status status = tare_buffer_status(&b, err);
    if (status == TARE_OK) *out = tare_arena_str(arena, (tare_str){(const char *)b.data, b.size});
    tare_buffer_free(&b);
    if (status == TARE_OK && !out->ptr)
        return tare_fail(err, TARE_ERR_NOMEM, "adapter's configuration");
    return status;
}

/* What diffusers has written of PEFT's configuration; *is_stated: it is about this one. */
static tare_status scale_of_header(bool *is_stated, reading *r, tare_adapter *a, tare_error *err) {
    tare_str component = {a->name.ptr, 0}, text;
    tare_peft_config config;
    double rank = 0, alpha = 0;
    *is_stated = false;
    if (!r->of_diffusers) return TARE_OK;
    while (component.len < a->name.len && a->name.ptr[component.len] != '.') component.len++;
    TARE_TRY(config_text(&text, r, component, err));
    if (!text.len) return TARE_OK;
    *is_stated = true;
    tare_status status = tare_peft_config_read(&config, text, &r->m->arena, r->m->allocator, err);
    if (err && status != TARE_OK) err->offset = TARE_NO_OFFSET; /* of a text that is in no file */
    if (status == TARE_OK)
        status = tare_peft_numbers(&rank, &alpha, &config, tare_str_cut(a->name, component.len + 1),
                                   err);
    if (status == TARE_OK && (config.is_dora || config.has_biases || config.targets.whole.n ||
                              config.parameters || config.is_transposed || rank != (double)a->rank))
        status = tare_fail(err, TARE_ERR_UNSUPPORTED,
                           METADATA ": the file does not have what it says, or in another form");
    if (status == TARE_OK) a->scale = tare_peft_scale(&config, rank, alpha);
    tare_peft_config_free(&config);
    return status;
}

static tare_status set_scale(reading *r, size_t i, tare_error *err) {
    tare_adapter *a = &r->set->adapters[i];
    const tare_tensor *t = r->alphas[i];
    float alpha;
    bool is_stated;
    if (r->dialect->is_turned) {
        a->scale = r->scale;
        return TARE_OK;
    }
    TARE_TRY(scale_of_header(&is_stated, r, a, err));
    if (!t) return TARE_OK;
    if (is_stated)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "its alpha is stated twice: by a tensor, and by " METADATA);
    if (t->n_elements != 1) return tare_fail(err, TARE_ERR_CORRUPT, "alpha: expected one number");
    TARE_TRY(tare_tensor_values_f32(&alpha, r->m, tare_adapter_factor(r->set, t), 0, 1, err));
    if (!isfinite(alpha))
        return tare_fail(err, TARE_ERR_CORRUPT, "alpha: expected a finite number");
    a->scale = (double)alpha / (double)a->rank;
    return TARE_OK;
}

/* Factors of a convolution: the right one has its kernel, the left one is one number wide and high. */
static tare_status measure_kernel(tare_adapter *a, tare_error *err) {
    const tare_tensor *left = a->a, *right = a->b;
    bool is_matrix = left->n_dims >= 2 && right->n_dims >= 2 && !a->is_transposed;
    for (uint32_t d = 2; d < left->n_dims; d++) is_matrix &= left->dims[d] == 1;
    if (!is_matrix)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a factor is not a matrix: of a convolution, lora_up is expected to be 1 "
                         "wide and 1 high");
    a->rows = left->dims[0];
    a->rank = left->dims[1];
    if (right->dims[0] != a->rank)
        return tare_fail(err, TARE_ERR_CORRUPT, "the factors have different ranks");
    if (!left->n_elements || !right->n_elements)
        return tare_fail(err, TARE_ERR_CORRUPT, "a factor without elements");
    a->cols = right->n_elements / a->rank;
    return TARE_OK;
}

static tare_status finish(reading *r, size_t i, tare_error *err) {
    tare_adapter *a = &r->set->adapters[i];
    if (!a->a || !a->b)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         !a->a && !a->b ? "alpha without factors" : "its other factor is missing");
    const bool are_matrices = a->a->n_dims == 2 && a->b->n_dims == 2;
    TARE_TRY(are_matrices ? tare_adapter_measure(a, err) : measure_kernel(a, err));
    return set_scale(r, i, err);
}

tare_status tare_adapters_of_dialect(tare_adapter_set *set, tare_model *m,
                                     const tare_lora_dialect *dialect, tare_str config,
                                     tare_error *err) {
    reading r = {.set = set, .m = m, .dialect = dialect};
    tare_status status = dialect->is_turned ? read_mlx(&r, config, err) : find_metadata(&r, err);
    if (status == TARE_OK) status = collect(&r, err);
    for (size_t i = 0; status == TARE_OK && i < set->n; i++) {
        status = finish(&r, i, err);
        if (status != TARE_OK) tare_adapter_fault(set, &set->adapters[i], status, err);
    }
    return status;
}
