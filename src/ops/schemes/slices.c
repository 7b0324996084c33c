/* SPDX-License-Identifier: MIT
 *
 * Experts of a layer in one tensor, as transformers has them since version 5: servers want a matrix of
 * each, "experts.gate_up_proj" [experts, 2 * rows, columns] is "experts.0.gate_proj",
 * "experts.0.up_proj" and so on. Rows are outputs, but for a few models that have them the other way
 * round, which stay as they are. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/json_resource.h"
#include "ops/convert/type_rules.h"
#include "ops/mix/roles.h"
#include "ops/schemes/scheme_model.h"

#define BOTH ".experts.gate_up_proj"
#define DOWN ".experts.down_proj"

static const tare_json_node *first_of(const tare_json_node *config, const char *a, const char *b) {
    const tare_json_node *found = config ? tare_json_path(config, tare_str_of(a)) : NULL;
    return found || !config ? found : tare_json_path(config, tare_str_of(b));
}

tare_status tare_scheme_find_hidden(tare_scheme_search *s, tare_error *err) {
    static const char *const turned[] = {"gpt_oss", "llama4", "llama4_text"};
    const tare_json_node *config;
    TARE_TRY(tare_model_json(&config, s->in, "config.json", s->arena, err));
    s->hidden = 0;
    tare_json_node_u64(first_of(config, "text_config.hidden_size", "hidden_size"), &s->hidden);
    const tare_str kind =
        tare_json_node_text(first_of(config, "text_config.model_type", "model_type"));
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++)
        if (tare_str_is(kind, turned[i])) s->hidden = 0;
    return TARE_OK;
}

size_t tare_scheme_slices(const tare_scheme_search *s, size_t tensor) {
    const tare_tensor *t = &s->in->catalog.tensors[tensor];
    if (!s->hidden || t->n_dims != 3 || !tare_tensor_is_real(t) || t->n_elements == 0) return 0;
    if (tare_str_ends(t->name, TARE_STR(BOTH)) && t->dims[2] == s->hidden && t->dims[1] % 2 == 0)
        return 2 * (size_t)t->dims[0];
    return tare_str_ends(t->name, TARE_STR(DOWN)) && t->dims[1] == s->hidden ? (size_t)t->dims[0]
                                                                             : 0;
}

tare_status tare_scheme_cut(tare_packed_weight *w, const tare_scheme_search *s, size_t i,
                            tare_error *err) {
    const tare_tensor *t = &s->in->catalog.tensors[w->tensor];
    const bool is_both = tare_str_ends(t->name, TARE_STR(BOTH));
    const char *part = !is_both ? "down_proj" : i % 2 ? "up_proj" : "gate_proj";
    const size_t before = t->name.len - strlen(is_both ? "gate_up_proj" : "down_proj");
    char end[48];
    const int n = snprintf(end, sizeof end, "%zu.%s", is_both ? i / 2 : i, part);
    char *text = tare_arena_take(s->arena, before + (size_t)n);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "names of experts");
    memcpy(text, t->name.ptr, before);
    memcpy(text + before, end, (size_t)n);
    w->module = (tare_str){text, before + (size_t)n};
    w->is_slice = true;
    w->n_rows = is_both ? t->dims[1] / 2 : t->dims[1];
    w->first_row = i * w->n_rows;
    return TARE_OK;
}
