/* SPDX-License-Identifier: MIT
 *
 * Trees of JSON in an arena: members are found by name or by a path, texts are unescaped. */
#include "base/json_node.h"

#include "base/str.h"

typedef struct builder {
    tare_json json;
    tare_arena *arena;
    bool is_out_of_memory;
} builder;

static tare_json_node *make_node(builder *b, const tare_json_value *v) {
    tare_json_node *node = TARE_NEW(b->arena, tare_json_node);
    if (!node) {
        b->is_out_of_memory = true;
        return NULL;
    }
    *node = (tare_json_node){.type = v->type, .text = v->raw, .offset = v->offset};
    if (v->type == TARE_JSON_STRING) node->text = tare_json_text(v, b->arena);
    if (!node->text.ptr) b->is_out_of_memory = true;
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
                                       .offset = object->offset,
                                       .next = object->next};
}

/* The containers that are open, innermost last; as deep as the reader lets them be. */
typedef struct open_container {
    tare_json_node *node;
    const tare_json_node **tail;
} open_container;

static tare_json_node *build(builder *b, const tare_json_value *first) {
    open_container open[TARE_JSON_MAX_DEPTH + 1];
    size_t depth = 0;
    tare_json_node *root = make_node(b, first);
    if (root && (first->type == TARE_JSON_OBJECT || first->type == TARE_JSON_ARRAY))
        open[depth++] = (open_container){root, &root->child};
    while (depth && !b->is_out_of_memory) {
        open_container *in = &open[depth - 1];
        tare_json_value key, v;
        tare_str name = {NULL, 0};
        if (in->node->type == TARE_JSON_OBJECT) {
            if (tare_json_key(&b->json, &key) == TARE_JSON_END) {
                untag_number(in->node);
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
        node->key = name;
        *in->tail = node;
        in->tail = &node->next;
        in->node->n++;
        if (v.type == TARE_JSON_OBJECT || v.type == TARE_JSON_ARRAY)
            open[depth++] = (open_container){node, &node->child};
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

/* The last member of that name. */
static const tare_json_node *last_member(const tare_json_node *object, tare_str name) {
    const tare_json_node *found = NULL;
    if (!object || object->type != TARE_JSON_OBJECT) return NULL;
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
