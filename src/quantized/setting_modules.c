/* SPDX-License-Identifier: MIT
 *
 * Settings of some modules of a model. Groups of compressed-tensors name modules, patterns of names, or
 * classes; those of AutoRound, GPTQModel and Gemma are looked through for what decides how codes lie. */
#include "quantized/setting_modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"

static const tare_json_node *children_of(const tare_json_node *node) {
    return node ? node->child : NULL;
}

/* ---- groups ------------------------------------------------------------------------------------ */

/* The bits that a group states, itself or by the name of a preset ("W4A16"). */
static bool stated_bits(uint64_t *bits, const tare_weight_settings *s, const tare_json_node *group,
                        const tare_json_node *weights) {
    if (tare_json_node_u64(tare_weight_setting_of(s, weights, "num_bits", TARE_SETTING_WHOLE),
                           bits))
        return true;
    const tare_str key = group->key;
    if (group->type != TARE_JSON_ARRAY || key.len < 3 || (key.ptr[0] | 32) != 'w' ||
        (key.ptr[2] | 32) != 'a')
        return false;
    *bits = (uint64_t)(key.ptr[1] - '0');
    return true;
}

static tare_weight_group read_group(const tare_weight_settings *s, const tare_json_node *node,
                                    const tare_json_node *weights) {
    tare_weight_group g = {0};
    const tare_json_node *symmetric =
        tare_weight_setting_of(s, weights, "symmetric", TARE_SETTING_TRUTH);
    g.has_bits = stated_bits(&g.bits, s, node, weights);
    g.has_block = tare_weight_setting_pair(g.block, s, weights, "block_structure");
    tare_json_node_u64(tare_json_member(weights, TARE_STR("group_size")), &g.group);
    g.has_zeros = symmetric && symmetric->type == TARE_JSON_FALSE;
    g.is_ordered = tare_weight_is_ordered(s, weights);
    return g;
}

static bool is_same_group(const tare_weight_group *a, const tare_weight_group *b) {
    return a->has_bits == b->has_bits && a->bits == b->bits && a->has_block == b->has_block &&
           a->block[0] == b->block[0] && a->block[1] == b->block[1] && a->group == b->group &&
           a->has_zeros == b->has_zeros && a->is_ordered == b->is_ordered;
}

/* The group among those that there are, as a new one if need be; NULL, which is a fault: they are too
 * many. */
static const tare_weight_group *keep_group(tare_weight_modules *m, const tare_weight_settings *s,
                                           const tare_weight_group *g) {
    for (size_t i = 0; i < m->n_groups; i++)
        if (is_same_group(&m->groups[i], g)) return &m->groups[i];
    if (m->n_groups == TARE_SETTING_GROUPS) {
        tare_weight_setting_wrong(s, "config_groups", "too many groups that differ");
        return NULL;
    }
    m->groups[m->n_groups] = *g;
    return &m->groups[m->n_groups++];
}

/* ---- their targets ----------------------------------------------------------------------------- */

/* Whether a weight is of a module of this name; else it is a class, which the files do not tell. */
static bool is_module(const tare_model *m, tare_str name) {
    static const char *const ends[] = {".weight", ".weight_packed"};
    char weight[1024];
    if (memchr(name.ptr, '.', name.len) || name.len > 1000) return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const int n = snprintf(weight, sizeof weight, "%.*s%s", (int)name.len, name.ptr, ends[i]);
        if (tare_model_find_tensor(m, (tare_str){weight, (size_t)n}) >= 0) return true;
    }
    return false;
}

/* Patterns match from a name's begin on. One that is none, or longer than any published one, matches
 * nothing. */
static tare_status add_pattern(tare_weight_targets *to, tare_str text, const void *of,
                               const tare_model *m, tare_error *err) {
    char anchored[1024];
    tare_pattern *pattern;
    if (text.len > 1000) return TARE_OK;
    const int n = snprintf(anchored, sizeof anchored, "^(?:%.*s)", (int)text.len, text.ptr);
    const tare_status status = tare_pattern_new(&pattern, anchored, (size_t)n, m->allocator, NULL);
    if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "packed weights");
    if (status == TARE_OK) to->list[to->n++] = (tare_weight_target){.pattern = pattern, .of = of};
    return TARE_OK;
}

static tare_status add_target(tare_weight_modules *out, const tare_json_node *target,
                              const tare_weight_group *group, const tare_model *m,
                              tare_error *err) {
    const tare_str text = tare_json_node_text(target), mark = TARE_STR("re:");
    if (text.len == 0) return TARE_OK;
    if (tare_str_starts(text, mark))
        return add_pattern(&out->patterns, tare_str_cut(text, mark.len), group, m, err);
    if (is_module(m, text)) {
        out->names.list[out->names.n++] = (tare_weight_target){.module = text, .of = group};
    } else {
        const bool is_other = out->classes.module.len && out->classes.of != group;
        out->classes = (tare_weight_target){.module = text, .of = is_other ? NULL : group};
    }
    return TARE_OK;
}

/* A list of targets, or an object with one. */
static const tare_json_node *targets_of(const tare_json_node *group) {
    return group->type == TARE_JSON_ARRAY ? group : tare_json_member(group, TARE_STR("targets"));
}

static int by_module(const void *a, const void *b) {
    const tare_weight_target *x = a, *y = b;
    return tare_str_compare(x->module, y->module);
}

/* Sorts by name; of one name that several groups have none is the group. */
static void sort_names(tare_weight_targets *names) {
    size_t n = 0;
    if (names->n) qsort(names->list, names->n, sizeof *names->list, by_module);
    for (size_t i = 0; i < names->n; i++) {
        const tare_weight_target *t = &names->list[i];
        if (n == 0 || !tare_str_equal(names->list[n - 1].module, t->module))
            names->list[n++] = *t;
        else if (names->list[n - 1].of != t->of)
            names->list[n - 1].of = NULL;
    }
    names->n = n;
}

static tare_status read_groups(tare_weight_modules *out, const tare_weight_settings *s,
                               const tare_model *m, tare_arena *arena, tare_error *err) {
    const tare_json_node *at = NULL;
    size_t n = 0;
    for (tare_weight_group_next(s, &at); at; tare_weight_group_next(s, &at)) {
        const tare_json_node *targets = targets_of(at);
        n += targets ? targets->n : 0;
    }
    out->names.list = TARE_NEW_ARRAY(arena, tare_weight_target, n);
    out->patterns.list = TARE_NEW_ARRAY(arena, tare_weight_target, n);
    if (!out->names.list || !out->patterns.list)
        return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    for (;;) {
        const tare_json_node *weights = tare_weight_group_next(s, &at);
        if (!at) break;
        const tare_weight_group g = read_group(s, at, weights), *kept = keep_group(out, s, &g);
        if (!kept) return TARE_OK;
        for (const tare_json_node *t = children_of(targets_of(at)); t; t = t->next)
            TARE_TRY(add_target(out, t, kept, m, err));
    }
    sort_names(&out->names);
    return TARE_OK;
}

/* The target of this name; NULL: there is none. */
static const tare_weight_target *find_name(const tare_weight_targets *names, tare_str module) {
    const tare_weight_target key = {.module = module};
    return names->n ? bsearch(&key, names->list, names->n, sizeof key, by_module) : NULL;
}

tare_status tare_weight_group_of(const tare_weight_group **out, const tare_weight_modules *modules,
                                 tare_str stem, tare_error *err) {
    const tare_str weight = TARE_STR(".weight");
    const bool is_weight = tare_str_ends(stem, weight);
    const tare_str module = {stem.ptr, stem.len - (is_weight ? weight.len : 0)};
    const tare_weight_target *named = find_name(&modules->names, module);
    bool is_found = named != NULL;
    *out = named ? named->of : NULL;
    for (size_t i = 0; i < modules->patterns.n && !named; i++) {
        const tare_weight_target *t = &modules->patterns.list[i];
        bool is_it;
        TARE_TRY(tare_pattern_matches(&is_it, t->pattern, module, err));
        if (!is_it) continue;
        *out = is_found && *out != t->of ? NULL : t->of;
        if (is_found && !*out) return TARE_OK;
        is_found = true;
    }
    if (!is_found) *out = modules->classes.of;
    return TARE_OK;
}

/* ---- Gemma ------------------------------------------------------------------------------------- */

static tare_status read_gemma(tare_weight_modules *out, const tare_weight_settings *s,
                              const tare_model *m, tare_arena *arena, tare_error *err) {
    const tare_json_node *modules =
        tare_weight_setting_at(s, "module_quant_configs", TARE_SETTING_OBJECT);
    out->gemma.list = TARE_NEW_ARRAY(arena, tare_weight_target, modules ? modules->n : 0);
    if (!out->gemma.list) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    for (const tare_json_node *own = children_of(modules); own; own = own->next) {
        tare_pattern *pattern;
        const tare_status status =
            tare_pattern_new(&pattern, own->key.ptr, own->key.len, m->allocator, NULL);
        if (status == TARE_ERR_NOMEM) return tare_fail(err, status, "packed weights");
        if (status == TARE_OK)
            out->gemma.list[out->gemma.n++] = (tare_weight_target){.pattern = pattern, .of = own};
        else
            tare_weight_setting_wrong(s, "module_quant_configs", "a name in it is not a pattern");
    }
    return TARE_OK;
}

tare_status tare_weight_gemma_of(const tare_json_node **out, const tare_weight_modules *modules,
                                 tare_str module, tare_error *err) {
    *out = NULL;
    for (size_t i = 0; i < modules->gemma.n; i++) {
        bool is_it;
        TARE_TRY(tare_pattern_matches(&is_it, modules->gemma.list[i].pattern, module, err));
        if (!is_it) continue;
        *out = modules->gemma.list[i].of;
        return TARE_OK;
    }
    return TARE_OK;
}

/* ---- AutoRound, GPTQModel ---------------------------------------------------------------------- */

/* Of another kind they are a fault where a weight asks for them: other schemes have these names, too. */

static void add_size(tare_weight_modules *out, const tare_weight_settings *s, const char *place,
                     uint64_t size) {
    for (size_t i = 0; i < out->n_sizes; i++)
        if (out->sizes[i] == size) return;
    if (out->n_sizes == TARE_SETTING_GROUPS)
        tare_weight_setting_wrong(s, place, "group_size: too many values");
    else
        out->sizes[out->n_sizes++] = size;
}

static void read_sizes(tare_weight_modules *out, const tare_weight_settings *s) {
    static const char *const places[] = {"extra_config", "dynamic"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const tare_json_node *modules = tare_json_member(s->config, tare_str_of(places[i]));
        for (const tare_json_node *m = children_of(modules); m; m = m->next) {
            uint64_t size;
            if (tare_json_node_u64(tare_json_member(m, TARE_STR("group_size")), &size))
                add_size(out, s, places[i], size);
        }
    }
}

static void read_mx_int(tare_weight_modules *out, const tare_weight_settings *s) {
    const tare_str word = TARE_STR("mx_int");
    const tare_json_node *modules = tare_json_member(s->config, TARE_STR("extra_config"));
    const tare_json_node *all = tare_json_member(s->config, TARE_STR("data_type"));
    out->is_mx_int = tare_str_starts(tare_json_node_text(all), word);
    for (const tare_json_node *m = children_of(modules); m; m = m->next) {
        const tare_str own = tare_json_node_text(tare_json_member(m, TARE_STR("data_type")));
        if (own.len && tare_str_starts(own, word) != out->is_mx_int) out->is_mixed = true;
    }
}

/* ---- all --------------------------------------------------------------------------------------- */

tare_status tare_weight_modules_read(tare_weight_modules *out, const tare_weight_settings *s,
                                     tare_model *m, tare_arena *arena, tare_error *err) {
    *out = (tare_weight_modules){.n_groups = 0};
    read_sizes(out, s);
    read_mx_int(out, s);
    TARE_TRY(read_groups(out, s, m, arena, err));
    return read_gemma(out, s, m, arena, err);
}

static void free_patterns(tare_weight_targets *targets) {
    for (size_t i = 0; i < targets->n; i++) tare_pattern_free(targets->list[i].pattern);
}

void tare_weight_modules_free(tare_weight_modules *modules) {
    free_patterns(&modules->patterns);
    free_patterns(&modules->gemma);
}
