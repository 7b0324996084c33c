/* SPDX-License-Identifier: MIT
 *
 * PEFT's LoRA as pairs of factors. Its lora_A is the right factor, its lora_B the left one;
 * embeddings, and matrices stored as Conv1D does (fan_in_fan_out), are the transposes of what these
 * make. Beside the pairs there may be DoRA's magnitudes, biases, and modules that were trained and saved
 * whole. */
#include "base/str.h"
#include "model/names.h"
#include "model/peft.h"
#include "ops/adapters/adapter_open.h"

typedef struct reading {
    tare_peft_config config;
    tare_adapter_set *set;
    const tare_model *m;
    const tare_stack_note *notes; /* of its tensors; NULL: it has no stacks */
    tare_str *keys;               /* of each adapter: by which the configuration has its numbers */
    tare_name_index index;
} reading;

static tare_status finish_pair(const reading *r, tare_adapter *a, tare_error *err) {
    if (!a->a || !a->b)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         a->a ? "its other factor is missing: lora_A"
                              : "its other factor is missing: lora_B");
    if (a->a->n_dims != 2 || a->b->n_dims != 2)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a factor is not a matrix");
    if (a->is_transposed) { /* the transpose of B A is that of A times that of B */
        const tare_tensor *left = a->a;
        a->a = a->b;
        a->b = left;
    }
    TARE_TRY(tare_adapter_measure(a, err));
    double rank, alpha;
    TARE_TRY(tare_peft_numbers(&rank, &alpha, &r->config, r->keys[a - r->set->adapters], err));
    if (rank != (double)a->rank)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "its factors have a rank other than its configuration says");
    a->scale = tare_peft_scale(&r->config, rank, alpha);
    const uint64_t n = a->is_transposed ? a->cols : a->rows;
    if (!a->magnitude == r->config.is_dora)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         a->magnitude ? "it has magnitudes of DoRA, which the configuration does "
                                        "not name: use_dora"
                                      : "use_dora: its magnitudes are missing");
    if (a->magnitude && a->magnitude->n_elements != n)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "DoRA's magnitudes are not as many as its product has rows");
    return TARE_OK;
}

/* A bias, or a whole tensor. */
static tare_status finish(const reading *r, tare_adapter *a, tare_error *err) {
    double rank, alpha;
    if (a->kind == TARE_ADAPTER_PAIR) return finish_pair(r, a, err);
    a->rows = a->a->n_rows;
    a->cols = a->a->cols;
    a->scale = 1;
    if (a->kind == TARE_ADAPTER_WHOLE) return TARE_OK;
    const tare_str module = {a->name.ptr, a->name.len - TARE_STR(".bias").len};
    TARE_TRY(tare_peft_numbers(&rank, &alpha, &r->config, module, err));
    a->scale = tare_peft_scale(&r->config, rank, alpha);
    return TARE_OK;
}

/* The adapter of a name, created if it does not exist yet. */
static tare_adapter *adapter_of(reading *r, tare_str name, tare_adapter_kind kind) {
    tare_adapter_set *set = r->set;
    tare_adapter *next = &set->adapters[set->n];
    *next = (tare_adapter){.name = name, .kind = kind};
    int64_t at = tare_name_index_add(&r->index, set->adapters, sizeof *next, set->n, NULL);
    if (at >= 0) return &set->adapters[at];
    r->keys[set->n++] = name;
    return next;
}

static const tare_tensor **place_of(tare_adapter *a, tare_peft_part part) {
    if (part == TARE_PEFT_MAGNITUDE) return &a->magnitude;
    return part == TARE_PEFT_RIGHT ? &a->b : &a->a;
}

/* MODULE -> MODULE.bias */
static tare_status name_bias(tare_str *module, tare_arena *arena, tare_error *err) {
    const tare_str end = TARE_STR(".bias");
    char *text = tare_arena_take(arena, module->len + end.len);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    memcpy(text, module->ptr, module->len);
    memcpy(text + module->len, end.ptr, end.len);
    *module = (tare_str){text, module->len + end.len};
    return TARE_OK;
}

/* Whether PEFT takes a factor of a module; of those that it leaves out the first is remembered. */
static tare_status check_target(bool *is_taken, const reading *r, const tare_peft_name *name,
                                size_t i, tare_error *err) {
    const bool is_expert = r->notes && r->notes[i].key.len;
    *is_taken = true;
    if (name->part == TARE_PEFT_BASE || name->part == TARE_PEFT_WHOLE || is_expert) return TARE_OK;
    TARE_TRY(
        tare_peft_is_target(is_taken, &r->config.targets, name->module, name->is_embedding, err));
    if (!*is_taken && name->part == TARE_PEFT_LEFT && r->set->left.n++ == 0)
        r->set->left.first = name->module;
    return TARE_OK;
}

/* What is to be done with a tensor; *is_taken false: nothing. Trained biases of the base come under names
 * of their own where their module has factors, and take the place of the base's. */
static tare_status kind_of(tare_adapter_kind *kind, bool *is_taken, const reading *r,
                           tare_peft_name *name, size_t i, tare_arena *arena, tare_error *err) {
    *kind = TARE_ADAPTER_PAIR;
    *is_taken = !(r->notes && r->notes[i].is_stack);
    if (*is_taken) TARE_TRY(check_target(is_taken, r, name, i, err));
    if (!*is_taken) return TARE_OK;
    if (name->part == TARE_PEFT_WHOLE) *kind = TARE_ADAPTER_WHOLE;
    if (name->part == TARE_PEFT_BASE) {
        const tare_str bias = TARE_STR(TARE_PEFT_BASE_BIAS);
        *is_taken = r->config.has_base_biases && tare_str_ends(name->module, bias);
        if (!*is_taken) return TARE_OK; /* the base has it */
        *kind = TARE_ADAPTER_WHOLE;
        name->module.len -= bias.len;
        return name_bias(&name->module, arena, err);
    }
    if (name->part != TARE_PEFT_BIAS) return TARE_OK;
    *kind = TARE_ADAPTER_SUM;
    return name_bias(&name->module, arena, err);
}

static tare_status add_tensor(reading *r, size_t i, tare_arena *arena, tare_error *err) {
    const tare_tensor *t = &r->m->catalog.tensors[i];
    tare_peft_name name;
    tare_adapter_kind kind;
    bool is_taken;
    tare_peft_name_parse(&name, t->name);
    TARE_TRY(kind_of(&kind, &is_taken, r, &name, i, arena, err));
    if (!is_taken) return TARE_OK;
    tare_adapter *a = adapter_of(r, name.module, kind);
    const tare_tensor **place = place_of(a, name.part);
    if (*place || a->kind != kind)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a second factor of its kind for one module");
    *place = t;
    if (r->notes && r->notes[i].key.len) r->keys[a - r->set->adapters] = r->notes[i].key;
    if (tare_peft_is_factor(&name)) a->is_transposed = name.is_embedding || r->config.is_transposed;
    return TARE_OK;
}

/* Of which modules there are factors, before any is left out. */
static tare_status see_modules(reading *r, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    tare_peft_name name;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (r->notes && (r->notes[i].is_stack || r->notes[i].key.len)) continue;
        tare_peft_name_parse(&name, c->tensors[i].name);
        if (name.part == TARE_PEFT_LEFT)
            TARE_TRY(
                tare_peft_targets_see(&r->config.targets, name.module, name.is_embedding, err));
    }
    tare_peft_targets_settle(&r->config.targets, r->config.parameters != NULL);
    r->set->left.is_stale = r->config.targets.is_stale;
    return TARE_OK;
}

static tare_status collect(reading *r, tare_arena *arena, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    r->set->adapters = TARE_NEW_ARRAY(arena, tare_adapter, c->n_tensors + 1);
    r->keys = TARE_NEW_ARRAY(arena, tare_str, c->n_tensors + 1);
    if (!r->set->adapters || !r->keys) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    TARE_TRY(tare_name_index_init(&r->index, arena, c->n_tensors + 1, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_status status = add_tensor(r, i, arena, err);
        if (status != TARE_OK) {
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
            return status;
        }
    }
    return TARE_OK;
}

/* Kinds of tensors that the configuration tells of, and the file has none of. */
static tare_status check_kinds(const reading *r, tare_error *err) {
    bool has[TARE_ADAPTER_WHOLE + 1] = {false}, has_base_bias = false;
    for (size_t i = 0; i < r->set->n; i++) {
        const tare_adapter *a = &r->set->adapters[i];
        has[a->kind] = true;
        has_base_bias |= a->kind == TARE_ADAPTER_WHOLE && tare_str_ends(a->name, TARE_STR(".bias"));
    }
    if (r->config.targets.whole.n && !has[TARE_ADAPTER_WHOLE])
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "modules_to_save: the file has none of these modules");
    if (r->set->left.n && !has[TARE_ADAPTER_PAIR])
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "nothing is left of the adapter: " TARE_PEFT_NO_TARGET);
    if (r->config.has_base_biases && !has_base_bias)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "bias: biases of the base were trained, and the file has none");
    if (r->config.has_biases && !has[TARE_ADAPTER_SUM])
        return tare_fail(err, TARE_ERR_CORRUPT, "lora_bias: the file has no biases");
    return TARE_OK;
}

/* Parameters with factors: each expert's of a stack become a pair. */
static tare_status take_apart(reading *r, tare_model *m, tare_error *err) {
    tare_model *whole;
    if (!r->config.parameters) return TARE_OK;
    if (r->config.is_transposed || r->config.is_dora || r->config.has_biases)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "target_parameters: PEFT has none with fan_in_fan_out, use_dora or "
                         "lora_bias");
    TARE_TRY(tare_peft_take_apart(&whole, &r->notes, m, &r->config, err));
    r->m = r->set->factors = r->set->owned = whole;
    r->set->has_stacks = whole->catalog.n_tensors > m->catalog.n_tensors;
    return TARE_OK;
}

tare_status tare_adapters_of_peft(tare_adapter_set *set, tare_model *m, tare_str text,
                                  tare_error *err) {
    reading r = {.set = set, .m = m};
    set->is_peft = true;
    tare_status status = tare_peft_config_read(&r.config, text, &m->arena, m->allocator, err);
    if (status == TARE_OK) status = take_apart(&r, m, err);
    if (status == TARE_OK) status = see_modules(&r, err);
    if (status == TARE_OK) status = collect(&r, &m->arena, err);
    if (status == TARE_OK) status = check_kinds(&r, err);
    for (size_t i = 0; status == TARE_OK && i < set->n; i++) {
        status = finish(&r, &set->adapters[i], err);
        if (status != TARE_OK) tare_adapter_fault(set, &set->adapters[i], status, err);
    }
    tare_peft_config_free(&r.config);
    return status;
}
