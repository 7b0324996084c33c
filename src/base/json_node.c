/* SPDX-License-Identifier: MIT
 *
 * Trees of JSON in an arena: members are found by name or by a path, texts are unescaped. What is
 * built of a program's values is the same tree. */
#include "base/json_node.h"

#include <stdlib.h>

#include "base/str.h"

typedef struct builder {
    tare_json json;
    tare_arena *arena;
    bool is_out_of_memory;
} builder;

static tare_json_node *make_node(builder *b, const tare_json_value *v) {
    const tare_str text = v->type == TARE_JSON_STRING ? tare_json_text(v, b->arena) : v->raw;
    tare_json_node *node = text.ptr ? tare_json_new(b->arena, v->type, text) : NULL;
    if (!node)
        b->is_out_of_memory = true;
    else
        node->offset = v->offset;
    return node;
}

/* A number that JSON has no word for, as transformers writes it: {"__float__": "Infinity"}. */
static void untag_number(tare_json_node *object) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    const tare_json_node *only = object->child;
    if (object->n != 1 || !tare_str_is(only->key, "__float__")) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tare_json_node_is(only, words[i]))
            *object = (tare_json_node){.type = TARE_JSON_NUMBER,
                                       .key = object->key,
                                       .text = only->text,
                                       .offset = object->offset};
}

static bool is_container(const tare_json_node *node) {
    return node->type == TARE_JSON_OBJECT || node->type == TARE_JSON_ARRAY;
}

#define FEW_MEMBERS 16 /* so many are looked at one by one */

static int by_key(const void *a, const void *b) {
    const tare_json_node *x = *(const tare_json_node *const *)a;
    const tare_json_node *y = *(const tare_json_node *const *)b;
    const int order = tare_str_compare(x->key, y->key);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Of an object that was read to its end. */
static void sort_members(builder *b, tare_json_node *object) {
    size_t n = 0;
    if (object->n <= FEW_MEMBERS) return;
    object->sorted = TARE_NEW_ARRAY(b->arena, const tare_json_node *, object->n);
    if (!object->sorted) {
        b->is_out_of_memory = true;
        return;
    }
    for (const tare_json_node *c = object->child; c; c = c->next) object->sorted[n++] = c;
    qsort(object->sorted, n, sizeof *object->sorted, by_key);
}

static tare_json_node *build(builder *b, const tare_json_value *first) {
    tare_json_node *open[TARE_JSON_MAX_DEPTH + 1]; /* innermost last; as deep as the reader goes */
    size_t depth = 0;
    tare_json_node *root = make_node(b, first);
    if (root && is_container(root)) open[depth++] = root;
    while (depth && !b->is_out_of_memory) {
        tare_json_node *in = open[depth - 1];
        tare_json_value key, v;
        tare_str name = {NULL, 0};
        if (in->type == TARE_JSON_OBJECT) {
            if (tare_json_key(&b->json, &key) == TARE_JSON_END) {
                untag_number(in);
                sort_members(b, in);
                depth--;
                continue;
            }
            name = tare_json_text(&key, b->arena);
            if (!name.ptr) b->is_out_of_memory = true;
        }
        if (tare_json_next(&b->json, &v) == TARE_JSON_END) {
            depth--;
            continue;
        }
        tare_json_node *node = make_node(b, &v);
        if (!node) break;
        tare_json_add(in, name, node);
        if (is_container(node)) open[depth++] = node;
    }
    return root;
}

tare_status tare_json_tree(const tare_json_node **out, tare_str text, tare_arena *arena,
                           tare_error *err) {
    builder b = {.arena = arena};
    tare_json_value first;
    *out = NULL;
    tare_json_init_python(&b.json, text, 0, TARE_JSON_MAX_DEPTH);
    tare_json_begin(&b.json, &first);
    TARE_TRY(tare_json_status(&b.json, err));
    const tare_json_node *root = build(&b, &first);
    if (b.is_out_of_memory || !root) return tare_fail(err, TARE_ERR_NOMEM, "JSON document");
    tare_json_finish(&b.json);
    TARE_TRY(tare_json_status(&b.json, err));
    *out = root;
    return TARE_OK;
}

/* How many of the sorted members have no later key. */
static size_t count_up_to(const tare_json_node *object, tare_str name) {
    size_t first = 0, n = object->n;
    while (n) {
        const size_t half = n / 2;
        if (tare_str_compare(object->sorted[first + half]->key, name) <= 0) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

/* The last member of that name. */
static const tare_json_node *last_member(const tare_json_node *object, tare_str name) {
    const tare_json_node *found = NULL;
    if (!object || object->type != TARE_JSON_OBJECT) return NULL;
    if (object->sorted) {
        const size_t n = count_up_to(object, name);
        return n && tare_str_equal(object->sorted[n - 1]->key, name) ? object->sorted[n - 1] : NULL;
    }
    for (const tare_json_node *c = object->child; c; c = c->next)
        if (tare_str_equal(c->key, name)) found = c;
    return found;
}

const tare_json_node *tare_json_member(const tare_json_node *object, tare_str name) {
    const tare_json_node *found = last_member(object, name);
    return found && found->type != TARE_JSON_NULL ? found : NULL;
}

const tare_json_node *tare_json_path(const tare_json_node *object, tare_str path) {
    while (object && path.len) {
        const char *dot = memchr(path.ptr, '.', path.len);
        size_t n = dot ? (size_t)(dot - path.ptr) : path.len;
        object = tare_json_member(object, (tare_str){path.ptr, n});
        path = tare_str_cut(path, dot ? n + 1 : n);
    }
    return object;
}

bool tare_json_names(const tare_json_node *object, tare_str name) {
    return last_member(object, name) != NULL;
}

bool tare_json_node_is(const tare_json_node *node, const char *text) {
    return node && node->type == TARE_JSON_STRING && tare_str_is(node->text, text);
}

tare_str tare_json_node_text(const tare_json_node *node) {
    return node && node->type == TARE_JSON_STRING ? node->text : TARE_STR("");
}

bool tare_json_node_u64(const tare_json_node *node, uint64_t *out) {
    if (!node || node->type != TARE_JSON_NUMBER) return false;
    const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = node->text};
    return tare_json_u64(&v, out);
}

/* ---- building -------------------------------------------------------------------------------- */

tare_json_node *tare_json_new(tare_arena *arena, tare_json_type type, tare_str text) {
    tare_json_node *node = TARE_NEW(arena, tare_json_node);
    if (node) *node = (tare_json_node){.type = type, .text = text};
    return node;
}

void tare_json_add(tare_json_node *to, tare_str key, tare_json_node *value) {
    value->key = key;
    if (to->last)
        to->last->next = value;
    else
        to->child = value;
    to->last = value;
    to->n++;
    to->sorted = NULL;
}

void tare_json_add_first(tare_json_node *to, tare_str key, tare_json_node *value) {
    value->key = key;
    value->next = to->child;
    to->child = value;
    if (!to->last) to->last = value;
    to->n++;
    to->sorted = NULL;
}

tare_json_node *tare_json_copy(tare_arena *arena, const tare_json_node *node) {
    tare_json_node *copy = TARE_NEW(arena, tare_json_node);
    if (!copy) return NULL;
    *copy = *node;
    copy->next = NULL;
    return copy;
}
