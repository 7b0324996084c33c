/* SPDX-License-Identifier: MIT
 *
 * Trees of JSON in an arena, and config.json with the text model's part laid over it. */
#include "llama/config.h"

#include "base/arith.h"
#include "base/str.h"
#include "llama/class_defaults.h"
#include "model/foreign.h"

/* ---- trees ----------------------------------------------------------------------------------- */

typedef struct builder {
    tare_json json;
    tare_arena *arena;
    bool is_out_of_memory;
} builder;

static tare_llama_node *make_node(builder *b, const tare_json_value *v) {
    tare_llama_node *node = TARE_NEW(b->arena, tare_llama_node);
    if (!node) {
        b->is_out_of_memory = true;
        return NULL;
    }
    *node = (tare_llama_node){.type = v->type, .text = v->raw, .offset = v->offset};
    if (v->type == TARE_JSON_STRING) node->text = tare_json_text(v, b->arena);
    if (!node->text.ptr) b->is_out_of_memory = true;
    return node;
}

/* A number that JSON has no word for, as transformers writes it: {"__float__": "Infinity"}. */
static void untag_number(tare_llama_node *object) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    const tare_llama_node *only = object->child;
    if (object->n != 1 || !tare_str_is(only->key, "__float__")) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tare_llama_node_is(only, words[i]))
            *object = (tare_llama_node){.type = TARE_JSON_NUMBER,
                                        .key = object->key,
                                        .text = only->text,
                                        .offset = object->offset,
                                        .next = object->next};
}

/* The containers that are open, innermost last; as deep as the reader lets them be. */
typedef struct open_container {
    tare_llama_node *node;
    const tare_llama_node **tail;
} open_container;

static tare_llama_node *build(builder *b, const tare_json_value *first) {
    open_container open[TARE_JSON_MAX_DEPTH + 1];
    size_t depth = 0;
    tare_llama_node *root = make_node(b, first);
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
        tare_llama_node *node = make_node(b, &v);
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

tare_status tare_llama_json_read(const tare_llama_node **out, tare_str text, tare_arena *arena,
                                 tare_error *err) {
    builder b = {.arena = arena};
    tare_json_value first;
    *out = NULL;
    tare_json_init_python(&b.json, text, 0, TARE_JSON_MAX_DEPTH);
    tare_json_begin(&b.json, &first);
    TARE_TRY(tare_json_status(&b.json, err));
    const tare_llama_node *root = build(&b, &first);
    if (b.is_out_of_memory || !root) return tare_fail(err, TARE_ERR_NOMEM, "JSON document");
    tare_json_finish(&b.json);
    TARE_TRY(tare_json_status(&b.json, err));
    *out = root;
    return TARE_OK;
}

/* The last member of that name. */
static const tare_llama_node *last_member(const tare_llama_node *object, tare_str name) {
    const tare_llama_node *found = NULL;
    if (!object || object->type != TARE_JSON_OBJECT) return NULL;
    for (const tare_llama_node *c = object->child; c; c = c->next)
        if (tare_str_equal(c->key, name)) found = c;
    return found;
}

const tare_llama_node *tare_llama_member(const tare_llama_node *object, tare_str name) {
    const tare_llama_node *found = last_member(object, name);
    return found && found->type != TARE_JSON_NULL ? found : NULL;
}

const tare_llama_node *tare_llama_path(const tare_llama_node *object, tare_str path) {
    while (object && path.len) {
        const char *dot = memchr(path.ptr, '.', path.len);
        size_t n = dot ? (size_t)(dot - path.ptr) : path.len;
        object = tare_llama_member(object, (tare_str){path.ptr, n});
        path = tare_str_cut(path, dot ? n + 1 : n);
    }
    return object;
}

bool tare_llama_node_is(const tare_llama_node *node, const char *text) {
    return node && node->type == TARE_JSON_STRING && tare_str_is(node->text, text);
}

tare_str tare_llama_node_text(const tare_llama_node *node) {
    return node && node->type == TARE_JSON_STRING ? node->text : TARE_STR("");
}

bool tare_llama_node_u64(const tare_llama_node *node, uint64_t *out) {
    if (!node || node->type != TARE_JSON_NUMBER) return false;
    const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = node->text};
    return tare_json_u64(&v, out);
}

/* ---- resources ------------------------------------------------------------------------------- */

tare_status tare_llama_find_file(int64_t *out, const tare_model *model, const char *name,
                                 tare_error *err) {
    *out = tare_model_find_resource(model, tare_str_of(name));
    for (size_t i = 0; *out < 0 && i < model->n_left_out; i++) {
        const tare_left_out *lost = &model->left_out[i];
        if (!tare_str_is(lost->name, name)) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, lost->why);
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, lost->name);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

tare_status tare_llama_resource(tare_str *out, const tare_model *model, const char *name,
                                tare_arena *arena, tare_error *err) {
    int64_t i;
    size_t n;
    *out = (tare_str){NULL, 0};
    TARE_TRY(tare_llama_find_file(&i, model, name, err));
    if (i < 0) return TARE_OK;
    const tare_resource *r = tare_model_resource(model, (size_t)i);
    if (!tare_size_of_u64(r->size, &n)) return tare_fail(err, TARE_ERR_LIMIT, "side file");
    char *bytes = tare_arena_take(arena, n);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "side file");
    TARE_TRY(tare_resource_read(model, (size_t)i, 0, bytes, n, err));
    *out = (tare_str){bytes, n};
    return TARE_OK;
}

tare_status tare_llama_json_resource(const tare_llama_node **out, const tare_model *model,
                                     const char *name, tare_arena *arena, tare_error *err) {
    tare_str text;
    *out = NULL;
    TARE_TRY(tare_llama_resource(&text, model, name, arena, err));
    if (!text.ptr) return TARE_OK;
    const char *foreign = tare_not_the_file(text, text.len);
    tare_status status = foreign ? tare_fail(err, TARE_ERR_UNSUPPORTED, foreign)
                                 : tare_llama_json_read(out, text, arena, err);
    status = tare_name_foreign(status, text, text.len, true, err);
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_RESOURCE, tare_model_find_resource(model, tare_str_of(name)),
                        tare_str_of(name));
    return status;
}

/* ---- config.json ----------------------------------------------------------------------------- */

tare_status tare_llama_config_read(tare_llama_config *out, const tare_model *model,
                                   tare_arena *arena, tare_error *err) {
    static const char *const places[] = {"text_config", "llm_config",
                                         "lm_config",   "language_config",
                                         "lfm",         "thinker_config.text_config"};
    *out = (tare_llama_config){.arena = arena};
    TARE_TRY(tare_llama_json_resource(&out->root, model, "config.json", arena, err));
    if (!out->root) return tare_fail(err, TARE_ERR_UNSUPPORTED, "the model has no config.json");
    for (size_t i = 0; i < sizeof places / sizeof *places && !out->text; i++) {
        const tare_llama_node *node = tare_llama_path(out->root, tare_str_of(places[i]));
        if (node && node->type == TARE_JSON_OBJECT) out->text = node;
    }
    tare_llama_config_set_class(out);
    return TARE_OK;
}

void tare_llama_config_set_class(tare_llama_config *config) {
    const tare_str name = TARE_STR("model_type");
    const tare_llama_node *text = tare_llama_member(config->text, name);
    config->class_members =
        tare_llama_class_members(tare_llama_node_text(tare_llama_member(config->root, name)));
    if (config->class_members && text)
        config->class_members = tare_llama_class_members(tare_llama_node_text(text));
}

bool tare_llama_config_names(const tare_llama_config *config, tare_str name) {
    return last_member(config->text, name) || last_member(config->root, name);
}

const tare_llama_node *tare_llama_config_find(const tare_llama_config *config, tare_str path) {
    const tare_str processor = TARE_STR("processor.");
    if (tare_str_starts(path, processor)) {
        const tare_llama_node *found = NULL;
        for (size_t i = 0; i < sizeof config->processor / sizeof *config->processor && !found; i++)
            found = tare_llama_path(config->processor[i], tare_str_cut(path, processor.len));
        return found;
    }
    const tare_llama_node *const places[] = {
        config->text, config->root, tare_llama_member(config->root, TARE_STR("thinker_config"))};
    const tare_llama_node *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        found = tare_llama_path(places[i], path);
    return found;
}
