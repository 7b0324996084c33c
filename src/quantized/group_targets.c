/* SPDX-License-Identifier: MIT
 *
 * Which group of compressed-tensors' settings a module is of: groups name modules, patterns of names, or
 * classes. */
#include <tare/experimental/pattern.h>

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "quantized/scheme.h"

/* What a target says of a module. Classes are of many, and a model's files do not tell them. */
typedef enum fit { FIT_NONE, FIT_CLASS, FIT_PATTERN, FIT_NAME } fit;

/* Whether a weight is of a module of this name. */
static bool is_module(const tare_weight_search *s, tare_str name) {
    return memchr(name.ptr, '.', name.len) || tare_weight_find(s, name, ".weight") >= 0 ||
           tare_weight_find(s, name, ".weight_packed") >= 0;
}

/* Patterns match from a name's begin on. One that is none matches nothing. */
static tare_status fit_of(fit *out, const tare_json_node *target, tare_str module,
                          const tare_weight_search *s, tare_error *err) {
    const tare_str text = tare_json_node_text(target), mark = TARE_STR("re:");
    char anchored[1024];
    tare_pattern *pattern;
    bool is_it;
    *out = tare_str_equal(text, module) ? FIT_NAME : FIT_NONE;
    if (text.len == 0 || text.len > 1000) return TARE_OK; /* published ones are far shorter */
    if (!tare_str_starts(text, mark)) {
        if (!*out && !is_module(s, text)) *out = FIT_CLASS;
        return TARE_OK;
    }
    const int n = snprintf(anchored, sizeof anchored, "^(?:%.*s)", (int)(text.len - mark.len),
                           text.ptr + mark.len);
    const tare_status status =
        tare_pattern_new(&pattern, anchored, (size_t)n, s->m->allocator, NULL);
    if (status != TARE_OK)
        return status == TARE_ERR_NOMEM ? tare_fail(err, status, "packed weights") : TARE_OK;
    const tare_status matched = tare_pattern_matches(&is_it, pattern, module, err);
    tare_pattern_free(pattern);
    TARE_TRY(matched);
    if (is_it) *out = FIT_PATTERN;
    return TARE_OK;
}

/* The best fit of a group: a list of targets, or an object with one. */
static tare_status fit_of_group(fit *out, const tare_json_node *group, tare_str module,
                                const tare_weight_search *s, tare_error *err) {
    const tare_json_node *targets =
        group->type == TARE_JSON_ARRAY ? group : tare_json_member(group, TARE_STR("targets"));
    *out = FIT_NONE;
    for (const tare_json_node *t = targets ? targets->child : NULL; t; t = t->next) {
        fit own;
        TARE_TRY(fit_of(&own, t, module, s, err));
        if (own > *out) *out = own;
    }
    return TARE_OK;
}

tare_status tare_weight_own_group(const tare_json_node **out, const tare_weight *w,
                                  const tare_weight_search *s, tare_error *err) {
    const tare_json_node *at = NULL;
    fit best = FIT_NONE;
    *out = NULL;
    for (tare_weight_group(&s->settings, &at); at; tare_weight_group(&s->settings, &at)) {
        fit own;
        TARE_TRY(fit_of_group(&own, at, w->stem, s, err));
        if (own == FIT_NONE || own < best) continue;
        *out = own > best ? at : NULL; /* of several that fit alike none is it */
        best = own;
    }
    return TARE_OK;
}
