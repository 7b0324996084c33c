/* SPDX-License-Identifier: MIT
 *
 * Which modules PEFT puts factors into when it loads an adapter: target_modules less exclude_modules and what
 * modules_to_save holds, of some layers only (layers_to_transform, layers_pattern). Factors of any other
 * module it leaves out. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "model/names.h"
#include "model/peft.h"

enum {
    DEEPEST = 64,      /* names of a module: each end of one is looked up */
    MOST_PATTERNS = 16 /* of layers: each is looked for in all of a name */
};

/* ---- reading --------------------------------------------------------------------------------- */

tare_pattern *tare_peft_pattern_new(tare_json *j, const tare_json_value *v, const char *before,
                                    tare_arena *arena, const tare_allocator *allocator) {
    const tare_str text = tare_json_text(v, arena);
    tare_error err = TARE_ERROR_NONE;
    tare_pattern *made = NULL;
    tare_buffer whole;
    tare_buffer_init(&whole, allocator);
    tare_buffer_put_text(&whole, before);
    tare_buffer_put_str(&whole, text);
    tare_buffer_put_text(&whole, ")$");
    tare_status status = text.ptr ? tare_buffer_status(&whole, NULL) : TARE_ERR_NOMEM;
    if (status == TARE_OK)
        status = tare_pattern_new(&made, (char *)whole.data, whole.size, allocator, &err);
    tare_buffer_free(&whole);
    if (status == TARE_ERR_NOMEM) {
        tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "pattern of modules");
    } else if (status != TARE_OK) {
        tare_json_fail(j, TARE_ERR_UNSUPPORTED, v->offset, err.what);
        memcpy(j->err.field, err.field, sizeof err.field);
    }
    return made;
}

/* A text of a list that is being read. */
typedef struct listed {
    tare_str name;
    const struct listed *next;
} listed;

static bool fail_list(tare_json *j, const tare_json_value *v, const char *setting) {
    tare_json_fail(j, TARE_ERR_CORRUPT, v->offset, "expected names of modules");
    tare_error_detail(&j->err, "%s", setting);
    return false;
}

/* ["q_proj", ...], or "q_proj" alone. */
static bool read_names(tare_peft_names *out, tare_json *j, const tare_json_value *v,
                       const char *setting, tare_arena *arena) {
    const listed *last = NULL;
    tare_json_value item = *v;
    const bool is_alone = v->type == TARE_JSON_STRING;
    *out = (tare_peft_names){.is_stated = v->type != TARE_JSON_NULL};
    if (!out->is_stated) return true;
    if (!is_alone && v->type != TARE_JSON_ARRAY) return fail_list(j, v, setting);
    while (is_alone ? !last : tare_json_next(j, &item) != TARE_JSON_END) {
        if (item.type != TARE_JSON_STRING) return fail_list(j, &item, setting);
        listed *one = TARE_NEW(arena, listed);
        if (one) *one = (listed){tare_json_text(&item, arena), last};
        if (!one || !one->name.ptr)
            return tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
        last = one;
        out->n++;
    }
    if (j->err.status != TARE_OK) return false;
    out->list = TARE_NEW_ARRAY(arena, tare_str, out->n);
    tare_error err = TARE_ERROR_NONE;
    if ((out->n && !out->list) || tare_name_index_init(&out->index, arena, out->n, &err) != TARE_OK)
        return tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
    for (size_t i = out->n; last; last = last->next) out->list[--i] = last->name;
    for (size_t i = 0; i < out->n; i++)
        tare_name_index_add(&out->index, out->list, sizeof *out->list, i, NULL);
    return true;
}

/* A text is one expression there, of all of a module's name. */
static bool read_choice(tare_peft_names *out, tare_json *j, const tare_json_value *v,
                        const char *setting, tare_arena *arena, const tare_allocator *allocator) {
    tare_pattern_free(out->expression);
    if (v->type != TARE_JSON_STRING) return read_names(out, j, v, setting, arena);
    *out = (tare_peft_names){.is_stated = true,
                             .expression = tare_peft_pattern_new(j, v, "^(?:", arena, allocator)};
    return out->expression != NULL;
}

static int by_number(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool fail_layers(tare_json *j, const tare_json_value *v) {
    return tare_json_fail(j, TARE_ERR_CORRUPT, v->offset,
                          "layers_to_transform: expected whole numbers");
}

/* [0, 1, ...], or 0 alone. An empty list is of all layers. */
static bool read_layers(tare_peft_targets *t, tare_json *j, const tare_json_value *v,
                        tare_arena *arena) {
    tare_buffer numbers;
    tare_json_value item = *v;
    uint64_t number;
    t->n_layers = 0;
    if (v->type == TARE_JSON_NULL) return true;
    if (v->type != TARE_JSON_ARRAY) {
        t->layers = TARE_NEW(arena, uint64_t);
        if (!t->layers)
            return tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
        t->n_layers = 1;
        return tare_json_u64(v, t->layers) || fail_layers(j, v);
    }
    tare_buffer_init(&numbers, arena->allocator);
    while (j->err.status == TARE_OK && tare_json_next(j, &item) != TARE_JSON_END) {
        if (tare_json_u64(&item, &number))
            tare_buffer_put(&numbers, &number, sizeof number);
        else
            fail_layers(j, &item);
    }
    t->n_layers = numbers.size / sizeof number;
    t->layers = TARE_NEW_ARRAY(arena, uint64_t, t->n_layers);
    if (tare_buffer_status(&numbers, NULL) != TARE_OK || !t->layers)
        tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
    else if (numbers.size)
        memcpy(t->layers, numbers.data, numbers.size);
    tare_buffer_free(&numbers);
    if (t->layers) qsort(t->layers, t->n_layers, sizeof number, by_number);
    return j->err.status == TARE_OK;
}

/* PEFT takes them for expressions, which nobody writes for the name of a list of layers. */
static bool check_patterns(const tare_peft_names *names, tare_json *j, const tare_json_value *v) {
    if (names->n > MOST_PATTERNS)
        return tare_json_fail(j, TARE_ERR_LIMIT, v->offset, "layers_pattern: too many");
    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; k < names->list[i].len; k++)
            if (memchr("\\^$*+?{}[]()|", names->list[i].ptr[k], 13))
                return tare_json_fail(j, TARE_ERR_UNSUPPORTED, v->offset,
                                      "layers_pattern: expected names, not expressions");
    return true;
}

bool tare_peft_targets_read(bool *is_one, tare_peft_targets *t, tare_json *j,
                            const tare_json_value *key, const tare_json_value *v, tare_arena *arena,
                            const tare_allocator *allocator) {
    *is_one = true;
    if (tare_json_is(key, "target_modules")) {
        const tare_str all = TARE_STR("all-linear");
        const tare_str text = v->type == TARE_JSON_STRING ? tare_json_text(v, arena) : TARE_STR("");
        t->is_all_linear = text.len == all.len && tare_same_letters(text.ptr, all.ptr, all.len);
        return read_choice(&t->named, j, v, "target_modules", arena, allocator);
    }
    if (tare_json_is(key, "exclude_modules"))
        return read_choice(&t->excluded, j, v, "exclude_modules", arena, allocator);
    if (tare_json_is(key, "modules_to_save"))
        return read_names(&t->whole, j, v, "modules_to_save", arena);
    if (tare_json_is(key, "layers_to_transform")) return read_layers(t, j, v, arena);
    if (tare_json_is(key, "layers_pattern"))
        return read_names(&t->lists, j, v, "layers_pattern", arena) &&
               check_patterns(&t->lists, j, v);
    *is_one = false;
    return true;
}

const char *tare_peft_targets_fault(const tare_peft_targets *t) {
    const bool is_text = t->named.expression || t->is_all_linear;
    if (is_text && (t->n_layers || t->lists.n))
        return "layers_to_transform and layers_pattern: PEFT refuses them where target_modules is "
               "a text";
    return t->lists.n && !t->n_layers ? "layers_pattern without layers_to_transform" : NULL;
}

void tare_peft_targets_free(tare_peft_targets *t) {
    tare_pattern_free(t->named.expression);
    tare_pattern_free(t->excluded.expression);
    t->named.expression = t->excluded.expression = NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool has(const tare_peft_names *names, tare_str name) {
    return names->n &&
           tare_name_index_find(&names->index, names->list, sizeof *names->list, name) >= 0;
}

/* The place behind the first dot; name.len: it has none. */
static size_t behind_dot(tare_str name) {
    const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
    return dot ? (size_t)(dot + 1 - name.ptr) : name.len;
}

/* Whether a listed name is the module's, or its end behind a dot. */
static bool ends_with_one(const tare_peft_names *names, tare_str module) {
    for (size_t next; module.len; module = tare_str_cut(module, next)) {
        if (has(names, module)) return true;
        next = behind_dot(module);
    }
    return false;
}

/* Without its last part and the dot before it. */
static tare_str parent_of(tare_str module) {
    while (module.len && module.ptr[module.len - 1] != '.') module.len--;
    if (module.len) module.len--;
    return module;
}

/* Whether the module is one that is listed, or in one. */
static bool is_inside_one(const tare_peft_names *names, tare_str module) {
    for (; names->n && module.len; module = parent_of(module))
        if (ends_with_one(names, module)) return true;
    return false;
}

/* The number that a name begins with, if a dot follows; UINT64_MAX for larger ones. */
static bool read_number(uint64_t *out, tare_str name) {
    size_t n = 0;
    for (*out = 0; n < name.len && name.ptr[n] >= '0' && name.ptr[n] <= '9'; n++)
        if (!tare_mul_u64(*out, 10, out) || !tare_add_u64(*out, (uint64_t)(name.ptr[n] - '0'), out))
            *out = UINT64_MAX;
    return n > 0 && n < name.len && name.ptr[n] == '.';
}

/* The layer that a module is in: the first number behind the name of a list of layers; where none are
 * named, the first that is behind two names. */
static bool find_layer(uint64_t *out, const tare_peft_names *lists, tare_str module) {
    for (size_t i = 0; i < lists->n; i++) {
        const tare_str name = lists->list[i];
        for (tare_str rest = module; rest.len; rest = tare_str_cut(rest, behind_dot(rest)))
            if (tare_str_starts(rest, name) && rest.len > name.len && rest.ptr[name.len] == '.' &&
                read_number(out, tare_str_cut(rest, name.len + 1)))
                return true;
    }
    if (lists->n) return false;
    module = tare_str_cut(module, behind_dot(module));
    for (module = tare_str_cut(module, behind_dot(module)); module.len;
         module = tare_str_cut(module, behind_dot(module)))
        if (read_number(out, module)) return true;
    return false;
}

static bool is_of_layers(const tare_peft_targets *t, tare_str module) {
    uint64_t layer;
    if (t->n_layers == 0) return true;
    if (!find_layer(&layer, &t->lists, module)) return false;
    const size_t below = tare_count_below(t->layers, t->n_layers, sizeof layer, layer);
    return below < t->n_layers && t->layers[below] == layer;
}

static bool is_head(tare_str module) {
    static const char *const heads[] = {"lm_head", "embed_out", "output_layer"};
    const tare_str last =
        tare_str_cut(module, parent_of(module).len ? parent_of(module).len + 1 : 0);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (tare_str_is(last, heads[i])) return true;
    return false;
}

/* Whether a list or an expression is of a module. */
static tare_status is_chosen(bool *out, const tare_peft_names *names, tare_str module,
                             tare_error *err) {
    if (names->expression) return tare_pattern_matches(out, names->expression, module, err);
    *out = ends_with_one(names, module);
    return TARE_OK;
}

/* Whether target_modules is of a module. */
static tare_status is_named(bool *out, const tare_peft_targets *t, tare_str module,
                            bool is_embedding, tare_error *err) {
    size_t depth = 0;
    for (size_t i = 0; i < module.len; i++) depth += module.ptr[i] == '.';
    if (depth > DEEPEST) return tare_fail(err, TARE_ERR_LIMIT, "parts of a module's name");
    *out = !t->named.is_stated;
    if (t->is_all_linear)
        *out = !is_embedding && !is_head(module); /* PEFT writes the names of what it has found */
    else if (t->named.is_stated)
        TARE_TRY(is_chosen(out, &t->named, module, err));
    *out |= t->is_tied && is_head(module);
    return TARE_OK;
}

tare_status tare_peft_targets_see(tare_peft_targets *t, tare_str module, bool is_embedding,
                                  tare_error *err) {
    bool is_one;
    TARE_TRY(is_named(&is_one, t, module, is_embedding, err));
    if (is_one)
        t->n_named++;
    else
        t->n_others++;
    return TARE_OK;
}

void tare_peft_targets_settle(tare_peft_targets *t, bool has_parameters) {
    t->is_stale = !has_parameters && t->n_others && !t->n_named;
    t->named.is_stated |= has_parameters; /* without names these are all there are */
    if (t->is_stale) t->named.is_stated = t->is_all_linear = false;
}

tare_status tare_peft_is_target(bool *out, const tare_peft_targets *t, tare_str module,
                                bool is_embedding, tare_error *err) {
    bool is_excluded;
    TARE_TRY(is_named(out, t, module, is_embedding, err));
    TARE_TRY(is_chosen(&is_excluded, &t->excluded, module, err));
    const bool is_by_text = t->is_all_linear || (t->named.is_stated && t->named.expression);
    if (!is_by_text && !has(&t->named, module)) *out &= is_of_layers(t, module);
    *out &= !is_excluded && !is_inside_one(&t->whole, module);
    return TARE_OK;
}

/* ---- saying ---------------------------------------------------------------------------------- */

tare_finding tare_peft_loss(const tare_peft_left *left) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, NULL);
    f.item_kind = TARE_ITEM_ADAPTER;
    f.item_name = left->first;
    f.text = left->n
                 ? TARE_STR(TARE_PEFT_NO_TARGET)
                 : TARE_STR("target_modules of its configuration names none of its modules, and "
                            "PEFT would load nothing");
    if (left->n || left->is_stale) f.code = "adapter.not-targeted";
    return f;
}

void tare_peft_tell(const tare_peft_left *left, size_t n_taken, const char *path,
                    tare_report *report) {
    const tare_finding f = tare_peft_loss(left);
    if (left->n)
        tare_report_addf(report, &f, "%s: left out: %s (%zu of %zu pairs of factors)", path,
                         f.text.ptr, left->n, left->n + n_taken);
    else if (f.code)
        tare_report_addf(report, &f, "%s: %s: its factors are taken all the same", path,
                         f.text.ptr);
}
