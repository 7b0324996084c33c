/* SPDX-License-Identifier: MIT
 *
 * The keys of a GGUF file as a tree that formulas are asked of, as config.json is on the way there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/restore/restore.h"

#define MOST_ELEMENTS 4096 /* of an array that formulas may ask for: a number for each layer */

#define MOST_NAMES                                                                                 \
    8192 /* of keys and tensors, blocks counted as one: they are looked up one by one */

typedef struct builder {
    tare_arena *arena;
    size_t n_names;
    bool is_out_of_memory, is_too_long;
} builder;

static tare_json_node *add_child(builder *b, tare_json_node *parent, tare_str key) {
    if (b->n_names++ == MOST_NAMES) {
        b->is_too_long = true;
        return NULL;
    }
    tare_json_node *node = tare_json_new(b->arena, TARE_JSON_END, TARE_STR(""));
    if (node)
        tare_json_add(parent, key, node);
    else
        b->is_out_of_memory = true;
    return node;
}

/* The node at a path of names with dots between them; its parents are made. NULL: memory is out, or
 * there are too many. */
static tare_json_node *place(builder *b, tare_json_node *root, tare_str path) {
    tare_json_node *at = root;
    while (at && path.len) {
        const char *dot = memchr(path.ptr, '.', path.len);
        tare_str name = {path.ptr, dot ? (size_t)(dot - path.ptr) : path.len};
        tare_json_node *child = (tare_json_node *)(uintptr_t)tare_json_member(at, name);
        if (!child) child = add_child(b, at, name);
        if (child && dot) child->type = TARE_JSON_OBJECT;
        path = tare_str_cut(path, name.len + (dot != NULL));
        at = child;
    }
    return at;
}

static bool set_scalar(builder *b, tare_json_node *node, const tare_value *v) {
    char text[48];
    double number;
    uint64_t whole;
    size_t n = 0;
    if (v->type == TARE_VALUE_STRING) {
        node->type = TARE_JSON_STRING;
        node->text = v->as.s;
        return true;
    }
    if (v->type == TARE_VALUE_BOOL) {
        node->type = v->as.u ? TARE_JSON_TRUE : TARE_JSON_FALSE;
        return true;
    }
    if (tare_value_f64(&number, v) && !isfinite(number)) { /* JSON has no such numbers */
        node->type = TARE_JSON_NULL;
        return true;
    }
    if (v->type == TARE_VALUE_F32 || v->type == TARE_VALUE_F64)
        n = tare_value_f64(&number, v) ? tare_llama_f32_text(text, sizeof text, number) : 0;
    else if (tare_value_u64(&whole, v))
        n = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)whole);
    else if (tare_value_f64(&number, v))
        n = (size_t)snprintf(text, sizeof text, "%.0f", number);
    node->type = TARE_JSON_NUMBER;
    node->text = tare_arena_str(b->arena, (tare_str){text, n});
    b->is_out_of_memory |= !node->text.ptr;
    return n > 0;
}

static void set_array(builder *b, tare_json_node *node, const tare_array *a) {
    tare_array_walk walk;
    tare_value v;
    node->type = TARE_JSON_ARRAY;
    tare_array_begin(&walk, a);
    while (tare_array_next(&v, &walk)) {
        tare_json_node *element = tare_json_new(b->arena, TARE_JSON_END, TARE_STR(""));
        if (!element) {
            b->is_out_of_memory = true;
            return;
        }
        set_scalar(b, element, &v);
        tare_json_add(node, TARE_STR(""), element);
    }
}

/* Whether formulas may ask for it: no texts of the tokenizer, no long lists. */
static bool is_for_formulas(const tare_value *v) {
    return v->type != TARE_VALUE_ARRAY ||
           (v->as.a.type != TARE_VALUE_ARRAY && v->as.a.type != TARE_VALUE_STRING &&
            v->as.a.count <= MOST_ELEMENTS);
}

static bool has_list(const tare_llama_key *rows, tare_str path) {
    for (; rows && rows->name; rows++) {
        const tare_str name = {rows->name, strcspn(rows->name, "[")};
        if (rows->name[name.len] == '[' && tare_str_equal(name, path)) return true;
    }
    return false;
}

/* Whether a row of the way back takes elements of a key: "at(KEY, layer)". */
static bool takes_elements(const char *const *rows, tare_str path) {
    char text[128];
    snprintf(text, sizeof text, "(%.*s", (int)tare_min_u64(path.len, 120), path.ptr);
    for (; rows && *rows; rows++)
        if (strstr(*rows, text)) return true;
    return false;
}

/* Whether the key has a number for each layer where it comes from Hugging Face. */
static bool is_by_layer(tare_str architecture, tare_str path) {
    /* Which their formulas take whole. */
    static const char own_lists[] = "clip deci gemma3n openelm";
    const tare_llama_arch *a;
    if (tare_llama_is_one_of(architecture, own_lists)) return true;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        if (tare_str_is(architecture, a->name) &&
            (has_list(a->first, path) || has_list(a->early, path) || has_list(a->own, path) ||
             has_list(a->keys, path) || (a->back && takes_elements(a->back->config, path))))
            return true;
    return false;
}

/* Whether all elements are the same number, which is then the number of all layers. */
static bool is_uniform(tare_value *out, const tare_array *a) {
    tare_array_walk walk;
    tare_value v;
    double first = 0, number;
    size_t n = 0;
    tare_array_begin(&walk, a);
    for (; tare_array_next(&v, &walk); n++) {
        if (!tare_value_f64(&number, &v)) return false;
        if (n == 0) {
            first = number;
            *out = v;
        } else if (number != first) {
            return false;
        }
    }
    return n > 0;
}

bool tare_llama_is_uniform(tare_value *number, const tare_value *value) {
    *number = *value;
    return value->type != TARE_VALUE_ARRAY || is_uniform(number, &value->as.a);
}

static void add_keys(builder *b, tare_json_node *root, const tare_model *gguf,
                     tare_str architecture) {
    for (size_t i = 0; i < gguf->catalog.n_metadata && !b->is_out_of_memory; i++) {
        const tare_metadata *m = &gguf->catalog.metadata[i];
        tare_str path = m->key;
        bool is_own = tare_str_starts(path, architecture) && path.len > architecture.len + 1 &&
                      path.ptr[architecture.len] == '.';
        if (is_own) path = tare_str_cut(path, architecture.len + 1);
        if ((!is_own && !tare_str_starts(path, TARE_STR("tokenizer.ggml."))) ||
            !is_for_formulas(&m->value))
            continue;
        tare_json_node *node = place(b, root, path);
        if (!node) return;
        tare_value v = m->value;
        if (v.type == TARE_VALUE_ARRAY && is_own && !is_by_layer(architecture, path))
            is_uniform(&v, &m->value.as.a);
        if (v.type == TARE_VALUE_ARRAY)
            set_array(b, node, &v.as.a);
        else
            set_scalar(b, node, &v);
    }
}

static void add_count(builder *b, tare_json_node *parent, const char *name, uint64_t n) {
    const tare_value v = {.type = TARE_VALUE_U64, .as.u = n};
    tare_json_node *node = add_child(b, parent, tare_str_of(name));
    if (node) set_scalar(b, node, &v);
}

/* "enc.blk.3.attn_q.weight" -> "enc.attn_q.weight", "v.blk.3.ln1.weight" -> "v.ln1.weight"; *block: "3",
 * or empty. */
static tare_str without_block(tare_str *block, tare_str name, tare_arena *arena) {
    char buf[160];
    *block = (tare_str){NULL, 0};
    for (size_t at = 0; at <= 4 && name.len > at && name.len < sizeof buf; at += 2) {
        tare_str rest = tare_str_cut(name, at);
        if (!tare_str_starts(rest, TARE_STR("blk."))) continue;
        const char *dot = memchr(rest.ptr + 4, '.', rest.len - 4);
        if (!dot) continue;
        *block = (tare_str){rest.ptr + 4, (size_t)(dot - rest.ptr) - 4};
        rest = tare_str_cut(rest, (size_t)(dot - rest.ptr) + 1);
        memcpy(buf, name.ptr, at);
        memcpy(buf + at, rest.ptr, rest.len);
        return tare_arena_str(arena, (tare_str){buf, at + rest.len});
    }
    return name;
}

/* One more block that has a tensor. */
static void count_block(builder *b, const tare_json_node *node) {
    const tare_json_node *count = tare_json_member(node, TARE_STR("blocks"));
    uint64_t n = 0;
    const tare_json_value v = {.type = TARE_JSON_NUMBER,
                               .raw = count ? count->text : TARE_STR("0")};
    if (!count || !tare_json_u64(&v, &n)) return;
    const tare_value more = {.type = TARE_VALUE_U64, .as.u = n + 1};
    set_scalar(b, (tare_json_node *)(uintptr_t)count, &more);
}

/* The number of a block, in the list of those that have a tensor. */
static void list_block(builder *b, tare_json_node *node, tare_str block) {
    const tare_str name = TARE_STR("in_blocks");
    tare_json_node *list = (tare_json_node *)(uintptr_t)tare_json_member(node, name);
    uint64_t n;
    if (!tare_json_u64(&(tare_json_value){.type = TARE_JSON_NUMBER, .raw = block}, &n)) return;
    if (!list) list = add_child(b, node, name);
    if (!list) return;
    list->type = TARE_JSON_ARRAY;
    tare_json_node *element = tare_json_new(b->arena, TARE_JSON_NUMBER, block);
    if (element)
        tare_json_add(list, TARE_STR(""), element);
    else
        b->is_out_of_memory = true;
}

static void add_tensors(builder *b, tare_json_node *root, const tare_model *gguf) {
    tare_json_node *all = add_child(b, root, TARE_STR("tensors"));
    if (!all) return;
    all->type = TARE_JSON_OBJECT;
    for (size_t i = 0; i < gguf->catalog.n_tensors && !b->is_out_of_memory; i++) {
        const tare_tensor *t = &gguf->catalog.tensors[i];
        tare_str block, path = without_block(&block, t->name, b->arena);
        b->is_out_of_memory |= !path.ptr;
        tare_json_node *node =
            path.ptr ? (tare_json_node *)(uintptr_t)tare_json_path(all, path) : NULL;
        if (node) {
            count_block(b, node);
            list_block(b, node, block);
        }
        if (!path.ptr || node) continue;
        node = place(b, all, path);
        if (!node) return;
        node->type = TARE_JSON_OBJECT;
        add_count(b, node, "cols", t->cols);
        add_count(b, node, "rows", t->n_rows);
        add_count(b, node, "blocks", 1);
        list_block(b, node, block);
    }
}

tare_status tare_llama_keys_tree(tare_json_node **out, const tare_model *gguf,
                                 tare_str architecture, tare_arena *arena, tare_error *err) {
    builder b = {.arena = arena};
    tare_json_node *root = tare_json_new(arena, TARE_JSON_OBJECT, TARE_STR(""));
    if (!root) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    add_keys(&b, root, gguf, architecture);
    add_tensors(&b, root, gguf);
    *out = root;
    if (b.is_too_long) return tare_fail(err, TARE_ERR_LIMIT, "names of keys and tensors");
    return b.is_out_of_memory ? tare_fail(err, TARE_ERR_NOMEM, "keys") : TARE_OK;
}
