/* SPDX-License-Identifier: MIT
 *
 * PEFT's LoRA: names of tensors (base_model.model.MODULE.lora_A.weight, with the adapter's name
 * before "weight" or without it; MODULE.lora_embedding_A for embeddings) and adapter_config.json.
 * Its lora_A is the right factor, its lora_B the left one; embeddings, and matrices stored as
 * Conv1D does (fan_in_fan_out), are the transposes of what these make. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tare/experimental/pattern.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "model/foreign.h"
#include "model/names.h"
#include "model/peft.h"
#include "ops/adapters/adapter_open.h"

/* ---- the configuration ----------------------------------------------------------------------- */

/* A number that applies to the modules an expression matches. */
typedef struct pattern {
    tare_pattern *expression;
    double value;
} pattern;

typedef struct patterns {
    pattern *list;
    size_t n, capacity;
} patterns;

typedef struct config {
    tare_json j;
    tare_arena *arena;
    const tare_allocator *allocator;
    double rank, alpha;
    bool has_rank, has_alpha, is_lora;
    bool is_rslora, is_transposed;
    patterns ranks, alphas;
} config;

static void patterns_free(const config *c, patterns *p) {
    for (size_t i = 0; i < p->n; i++) tare_pattern_free(p->list[i].expression);
    tare_free(c->allocator, p->list, p->capacity * sizeof *p->list);
}

/* The expression of an entry, which has to match the end of a module's name at a dot. */
static bool write_pattern(tare_buffer *out, tare_str text) {
    tare_buffer_put_text(out, "^(?:.*[.])?(?:");
    tare_buffer_put_str(out, text);
    tare_buffer_put_text(out, ")$");
    return tare_buffer_status(out, NULL) == TARE_OK;
}

static bool add_pattern(config *c, patterns *p, const tare_json_value *key, double value) {
    const tare_str text = tare_json_text(key, c->arena);
    tare_buffer whole;
    tare_buffer_init(&whole, c->allocator);
    tare_pattern *made = NULL;
    tare_error err = TARE_ERROR_NONE;
    tare_status status = TARE_ERR_NOMEM;
    if (text.ptr && write_pattern(&whole, text) &&
        tare_grow(c->allocator, (void **)&p->list, &p->capacity, p->n + 1, sizeof *p->list))
        status = tare_pattern_new(&made, (char *)whole.data, whole.size, c->allocator, &err);
    tare_buffer_free(&whole);
    if (status == TARE_ERR_NOMEM)
        return tare_json_fail(&c->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "pattern of modules");
    if (status != TARE_OK) {
        tare_json_fail(&c->j, TARE_ERR_UNSUPPORTED, key->offset, err.what);
        memcpy(c->j.err.field, err.field, sizeof err.field);
        return false;
    }
    p->list[p->n++] = (pattern){made, value};
    return true;
}

static bool read_number(config *c, const tare_json_value *v, double *out, const char *what) {
    if (v->type == TARE_JSON_NUMBER && tare_json_f64(v, out) && *out > 0) return true;
    return tare_json_fail(&c->j, TARE_ERR_CORRUPT, v->offset, what);
}

static bool read_patterns(config *c, const tare_json_value *v, patterns *p, const char *what) {
    tare_json_value key, value;
    double number;
    if (v->type == TARE_JSON_NULL) return true;
    if (v->type != TARE_JSON_OBJECT)
        return tare_json_fail(&c->j, TARE_ERR_CORRUPT, v->offset, what);
    while (tare_json_key(&c->j, &key) != TARE_JSON_END) {
        tare_json_next(&c->j, &value);
        if (!read_number(c, &value, &number, what) || !add_pattern(c, p, &key, number))
            return false;
    }
    return c->j.err.status == TARE_OK;
}

/* Whether a value means "not set": null, false, an empty list, object or text. */
static bool is_nothing(const tare_json_value *v, tare_str raw) {
    if (v->type == TARE_JSON_NULL || v->type == TARE_JSON_FALSE) return true;
    for (size_t i = 1; i + 1 < raw.len; i++)
        if (raw.ptr[i] != ' ' && raw.ptr[i] != '\n') return false;
    return v->type == TARE_JSON_ARRAY || v->type == TARE_JSON_OBJECT || v->type == TARE_JSON_STRING;
}

/* Members that change the meaning of the factors in ways not supported here. */
static bool check_refused(config *c, const tare_json_value *key, const tare_json_value *v,
                          tare_str raw) {
    const tare_str name = tare_json_text(key, c->arena);
    const tare_str text = v->type == TARE_JSON_STRING ? tare_json_text(v, c->arena) : TARE_STR("");
    if (!name.ptr || !text.ptr)
        return tare_json_fail(&c->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
    const char *what = tare_peft_obstacle(name, !is_nothing(v, raw), text);
    return !what || tare_json_fail(&c->j, TARE_ERR_UNSUPPORTED, v->offset, what);
}

static bool read_member(config *c, const tare_json_value *key) {
    tare_json_value v;
    tare_str raw;
    tare_json_next(&c->j, &v);
    if (tare_json_is(key, "rank_pattern"))
        return read_patterns(c, &v, &c->ranks, "rank_pattern: expected an object of numbers");
    if (tare_json_is(key, "alpha_pattern"))
        return read_patterns(c, &v, &c->alphas, "alpha_pattern: expected an object of numbers");
    if (tare_json_is(key, "r"))
        return c->has_rank = read_number(c, &v, &c->rank, "r: expected a number above 0");
    if (tare_json_is(key, "lora_alpha"))
        return c->has_alpha =
                   read_number(c, &v, &c->alpha, "lora_alpha: expected a number above 0");
    if (tare_json_is(key, "peft_type")) {
        c->is_lora = tare_json_is(&v, "LORA");
        if (!c->is_lora)
            return tare_json_fail(&c->j, TARE_ERR_UNSUPPORTED, v.offset,
                                  "peft_type: expected \"LORA\"");
    }
    if (tare_json_is(key, "use_rslora")) c->is_rslora = v.type == TARE_JSON_TRUE;
    if (tare_json_is(key, "fan_in_fan_out")) c->is_transposed = v.type == TARE_JSON_TRUE;
    return tare_json_skip(&c->j, &v, &raw) && check_refused(c, key, &v, raw);
}

static tare_status parse_config(config *c, tare_str text, tare_error *err) {
    tare_json_value whole, key;
    tare_json_init_python(&c->j, text, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&c->j, &whole) != TARE_JSON_OBJECT)
        tare_json_fail(&c->j, TARE_ERR_CORRUPT, 0, "expected an object");
    while (c->j.err.status == TARE_OK && tare_json_key(&c->j, &key) != TARE_JSON_END)
        read_member(c, &key);
    if (c->j.err.status == TARE_OK) tare_json_finish(&c->j);
    if (c->j.err.status == TARE_OK && !(c->is_lora && c->has_rank && c->has_alpha))
        tare_json_fail(&c->j, TARE_ERR_CORRUPT, 0,
                       !c->is_lora    ? "peft_type: missing"
                       : !c->has_rank ? "r: missing"
                                      : "lora_alpha: missing");
    return tare_json_status(&c->j, err);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* That of the first expression that matches a module; *out stays if none does. */
static tare_status find_number(double *out, const patterns *p, tare_str module, tare_error *err) {
    bool is_match = false;
    for (size_t i = 0; !is_match && i < p->n; i++) {
        TARE_TRY(tare_pattern_matches(&is_match, p->list[i].expression, module, err));
        if (is_match) *out = p->list[i].value;
    }
    return TARE_OK;
}

static tare_status finish_pair(const config *c, tare_adapter *a, tare_error *err) {
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
    double rank = c->rank, alpha = c->alpha;
    TARE_TRY(find_number(&rank, &c->ranks, a->name, err));
    TARE_TRY(find_number(&alpha, &c->alphas, a->name, err));
    if (rank != (double)a->rank)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "its factors have a rank other than its configuration says");
    a->scale = alpha / (c->is_rslora ? sqrt(rank) : rank);
    return TARE_OK;
}

/* The pair of a module, created if it does not exist yet. */
static tare_adapter *pair_of(tare_adapter_set *set, tare_name_index *index, tare_str module) {
    tare_adapter *next = &set->adapters[set->n];
    *next = (tare_adapter){.name = module};
    int64_t at = tare_name_index_add(index, set->adapters, sizeof *next, set->n, NULL);
    if (at >= 0) return &set->adapters[at];
    set->n++;
    return next;
}

static tare_status collect(const config *c, tare_adapter_set *set, const tare_model *m,
                           tare_error *err) {
    tare_name_index index;
    const size_t n = m->catalog.n_tensors;
    set->adapters = TARE_NEW_ARRAY(c->arena, tare_adapter, n + 1);
    if (!set->adapters) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    TARE_TRY(tare_name_index_init(&index, c->arena, n + 1, err));
    for (size_t i = 0; i < n; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        tare_peft_name name;
        const char *fault = NULL;
        tare_adapter *pair =
            tare_peft_name_parse(&name, t->name) ? pair_of(set, &index, name.module) : NULL;
        const tare_tensor **factor = !pair ? NULL : name.is_left ? &pair->a : &pair->b;
        if (!pair)
            fault = "no factor of a pair: only those are merged";
        else if (*factor)
            fault = "a second factor of its kind for one module";
        if (fault) {
            tare_fail(err, TARE_ERR_UNSUPPORTED, fault);
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
            return TARE_ERR_UNSUPPORTED;
        }
        *factor = t;
        pair->is_transposed = name.is_embedding || c->is_transposed;
    }
    return TARE_OK;
}

tare_status tare_adapters_of_peft(tare_adapter_set *set, tare_model *m, tare_str text,
                                  tare_error *err) {
    config c = {.arena = &m->arena, .allocator = m->allocator};
    tare_status status = tare_name_foreign(parse_config(&c, text, err), text, text.len, true, err);
    if (status == TARE_OK) status = collect(&c, set, m, err);
    for (size_t i = 0; status == TARE_OK && i < set->n; i++) {
        status = finish_pair(&c, &set->adapters[i], err);
        if (status != TARE_OK) tare_adapter_fault(set, &set->adapters[i], status, err);
    }
    patterns_free(&c, &c.ranks);
    patterns_free(&c, &c.alphas);
    return status;
}
