/* SPDX-License-Identifier: MIT
 *
 * Setting keys of the output, and numbers that formulas give. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "model/value.h"

static bool is_complete_name(const char *name) {
    static const char *const spaces[] = {"general.", "tokenizer.", "diffusion.", "xielu.",
                                         "adapter."};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0) return true;
    return false;
}

tare_status tare_llama_set(tare_llama_mapping *m, const char *name, const tare_value *value,
                           tare_error *err) {
    char whole[160];
    if (value->type == TARE_VALUE_STRING && value->as.s.len == 0) return TARE_OK;
    if (value->type == TARE_VALUE_ARRAY && value->as.a.count == 0) return TARE_OK;
    if (name[0] == '=')
        snprintf(whole, sizeof whole, "%s", name + 1);
    else
        snprintf(whole, sizeof whole, "%s%s%s", is_complete_name(name) ? "" : m->arch->name,
                 is_complete_name(name) ? "" : ".", name);
    for (size_t i = 0; i < m->n_keys; i++)
        if (tare_str_is(m->keys[i].key, whole)) {
            m->keys[i].value = *value;
            return TARE_OK;
        }
    if (!tare_grow(m->out->allocator, (void **)&m->keys, &m->keys_capacity, m->n_keys + 1,
                   sizeof *m->keys))
        return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    tare_str key = tare_arena_str(&m->out->arena, tare_str_of(whole));
    if (!key.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    m->keys[m->n_keys++] = (tare_metadata){
        .key = key, .value = *value, .space = TARE_KEYS_MODEL, .offset = TARE_NO_OFFSET};
    return TARE_OK;
}

bool tare_llama_has_key(const tare_llama_mapping *m, const char *name) {
    char whole[160];
    snprintf(whole, sizeof whole, "%s.%s", m->arch->name, name);
    for (size_t i = 0; i < m->n_keys; i++)
        if (tare_str_is(m->keys[i].key, whole)) return true;
    return false;
}

static tare_status out_of_range(const char *name, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, "config.json: the number for the key is out of range");
    tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(name));
    return TARE_ERR_CORRUPT;
}

static bool is_i32(double number) {
    return number >= INT32_MIN && number <= INT32_MAX;
}

tare_status tare_llama_set_number(tare_llama_mapping *m, const char *name, tare_value_type type,
                                  double number, tare_error *err) {
    tare_value v = {.type = type};
    switch (type) {
    case TARE_VALUE_F32:
        v.as.f = (double)(float)number;
        break;
    case TARE_VALUE_I32:
        if (!is_i32(number)) return out_of_range(name, err);
        v.as.i = (int64_t)number;
        break;
    case TARE_VALUE_BOOL:
        v.as.u = number != 0;
        break;
    default:
        if (!(number >= 0 && number <= UINT32_MAX)) return out_of_range(name, err);
        v.as.u = (uint64_t)number;
    }
    return tare_llama_set(m, name, &v, err);
}

tare_status tare_llama_set_text(tare_llama_mapping *m, const char *name, tare_str text,
                                tare_error *err) {
    const tare_value v = {.type = TARE_VALUE_STRING, .as.s = tare_arena_str(&m->out->arena, text)};
    if (!v.as.s.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    return tare_llama_set(m, name, &v, err);
}

/* Sets a key to an array whose elements are packed in `b`, which is freed. */
static tare_status set_packed(tare_llama_mapping *m, const char *name, tare_value_type type,
                              size_t n, tare_buffer *b, tare_error *err) {
    tare_value v = {.type = TARE_VALUE_ARRAY, .as.a = {.type = type, .count = n}};
    tare_status status = tare_buffer_status(b, err);
    if (status == TARE_OK) {
        tare_str kept = tare_arena_str(&m->out->arena, (tare_str){(const char *)b->data, b->size});
        v.as.a.bytes = (const uint8_t *)kept.ptr;
        v.as.a.size_bytes = kept.len;
        status = kept.ptr ? tare_llama_set(m, name, &v, err)
                          : tare_fail(err, TARE_ERR_NOMEM, "metadata");
    }
    tare_buffer_free(b);
    return status;
}

tare_status tare_llama_set_numbers(tare_llama_mapping *m, const char *name, tare_value_type type,
                                   const double *numbers, size_t n, tare_error *err) {
    tare_buffer b;
    for (size_t i = 0; i < n && type == TARE_VALUE_I32; i++)
        if (!is_i32(numbers[i])) return out_of_range(name, err);
    tare_buffer_init(&b, m->out->allocator);
    for (size_t i = 0; i < n; i++) {
        if (type == TARE_VALUE_BOOL)
            tare_buffer_put_u8(&b, numbers[i] != 0);
        else
            tare_buffer_put_u32(&b,
                                type == TARE_VALUE_F32 ? tare_value_f32_narrow(numbers[i])
                                                       : (uint32_t)(int32_t)numbers[i],
                                false);
    }
    return set_packed(m, name, type, n, &b, err);
}

tare_status tare_llama_set_texts(tare_llama_mapping *m, const char *name, const tare_str *texts,
                                 size_t n, tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, m->out->allocator);
    for (size_t i = 0; i < n; i++) {
        tare_buffer_put_u64(&b, texts[i].len, false);
        tare_buffer_put_str(&b, texts[i]);
    }
    return set_packed(m, name, TARE_VALUE_STRING, n, &b, err);
}

tare_status tare_llama_number(double *out, const tare_llama_mapping *m, const char *formula,
                              double otherwise, tare_error *err) {
    tare_llama_value v;
    TARE_TRY(tare_llama_formula(&v, tare_str_of(formula), &m->config, NULL, err));
    if (v.kind == TARE_LLAMA_TEXT)
        return tare_llama_wrong_kind("config.json: a text where a number is meant", &v, err);
    *out = v.kind == TARE_LLAMA_NUMBER || v.kind == TARE_LLAMA_BOOL ? v.number : otherwise;
    return TARE_OK;
}

/* Whether a formula asks for the number of the layer. */
static bool is_of_layer(const char *formula) {
    static const char word[] = "layer", part_of_name[] = "abcdefghijklmnopqrstuvwxyz_.0123456789";
    for (const char *at = formula; (at = strstr(at, word)) != NULL; at += sizeof word - 1) {
        const char before = at > formula ? at[-1] : ' ', after = at[sizeof word - 1];
        if (!strchr(part_of_name, before) && (!after || !strchr(part_of_name, after))) return true;
    }
    return false;
}

tare_status tare_llama_holds(bool *out, const tare_llama_mapping *m, const char *formula,
                             bool in_all, tare_error *err) {
    const bool is_by_layer = is_of_layer(formula);
    *out = in_all;
    for (uint64_t i = 0; (i < m->n_layers || i == 0) && *out == in_all; i++) {
        const tare_llama_binding layer[] = {{"layer", (double)i}, {NULL, 0}};
        tare_llama_value v;
        TARE_TRY(tare_llama_formula(&v, tare_str_of(formula), &m->config, layer, err));
        if (v.kind == TARE_LLAMA_TEXT)
            return tare_llama_wrong_kind("config.json: expected true or false", &v, err);
        *out = v.number > 0;
        if (!is_by_layer) break;
    }
    return TARE_OK;
}
