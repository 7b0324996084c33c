/* SPDX-License-Identifier: MIT
 *
 * Tensors of a single number each, which the converter makes elements of keys: a tensor for each
 * block, or one outside of all. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/str.h"
#include "llama/restore/restore.h"
#include "model/tensor_name_table.h"

static bool is_collected(const tare_llama_rule *rule) {
    return rule->to && rule->program && strcmp(rule->program, "value") == 0;
}

bool tare_llama_is_of_numbers(const tare_llama_restoring *r, tare_str key) {
    for (const tare_llama_rule *rule = r->arch->rules; rule && rule->match; rule++) {
        if (!is_collected(rule) || !tare_str_ends(key, tare_str_of(rule->to))) continue;
        size_t before = key.len - strlen(rule->to);
        if (before == 0 || key.ptr[before - 1] == '.') return true;
    }
    return false;
}

static const char *block_prefix(const tare_llama_restoring *r) {
    for (const tare_tensor_prefix *p = tare_tensor_prefixes; p->text; p++)
        if (p->side[0] == '\0' && tare_llama_is_one_of(tare_str_of(p->text), r->arch->back->names))
            return p->text;
    return NULL;
}

/* A row of shapes without dimensions says that it is a scalar. */
static bool is_scalar(const tare_llama_restoring *r, const tare_llama_rule *rule) {
    for (const tare_llama_shape_row *s = r->arch->back->shapes; s && s->match; s++)
        if (strcmp(s->match, rule->match) == 0) return s->was[0] == '\0';
    return false;
}

/* "*.act_fn.beta" of a block; a pattern without '*' is the name. layer < 0: of none. */
static tare_status want(tare_llama_restoring *r, const tare_llama_rule *rule, int64_t layer,
                        double number, tare_error *err) {
    char buf[192];
    const char *prefix = block_prefix(r);
    tare_llama_expected w = {
        .n_dims = !is_scalar(r, rule), .dims = {1}, .is_number = true, .number = (float)number};
    int n = layer < 0 || !prefix
                ? snprintf(buf, sizeof buf, "%s", rule->match)
                : snprintf(buf, sizeof buf, "%s%lld%s", prefix, (long long)layer, rule->match + 1);
    w.name = tare_arena_str(&r->out->arena, (tare_str){buf, (size_t)n});
    if (!w.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return tare_llama_expect(r, &w, err);
}

/* The key's name in the file: those of some spaces stand without the architecture's. */
static const tare_value *key_of(const tare_llama_restoring *r, const char *name) {
    char whole[160];
    const tare_value *v = tare_llama_key_of(r->gguf, name);
    snprintf(whole, sizeof whole, "%s.%s", r->arch->name, name);
    return v ? v : tare_llama_key_of(r->gguf, whole);
}

tare_status tare_llama_expect_numbers(tare_llama_restoring *r, tare_error *err) {
    const uint64_t n_layers = (uint64_t)r->facts[0].number;
    for (const tare_llama_rule *rule = r->arch->rules; rule && rule->match; rule++) {
        const tare_value *v = is_collected(rule) ? key_of(r, rule->to) : NULL;
        double number;
        if (!v) continue;
        if (tare_value_f64(&number, v)) {
            TARE_TRY(want(r, rule, -1, number, err));
            continue;
        }
        if (v->type != TARE_VALUE_ARRAY || v->as.a.type != TARE_VALUE_F32 ||
            v->as.a.count < n_layers) {
            tare_fail(err, TARE_ERR_CORRUPT, "a number for each layer was expected");
            tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(rule->to));
            return TARE_ERR_CORRUPT;
        }
        for (uint64_t i = 0; i < n_layers; i++) {
            float element = tare_f32_of_bits(tare_load_le32(v->as.a.bytes + i * sizeof(float)));
            TARE_TRY(want(r, rule, (int64_t)i, (double)element, err));
        }
    }
    return TARE_OK;
}
