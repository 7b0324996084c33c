/* SPDX-License-Identifier: MIT
 *
 * config.json out of the keys: what the architecture states outright, then its rows of keys read
 * backwards. A row whose formula is a name, or names one of which counts, gives that member the
 * key's value; what other formulas come to is found out by mapping the result. */
#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore.h"
#include "llama/size_rules.h"

#define MOST_MEMBERS 160
#define MOST_DEPTH   8

typedef struct member {
    tare_str path; /* names with dots between them */
    tare_str text; /* JSON */
} member;

typedef struct writer {
    tare_llama_restoring *r;
    member members[MOST_MEMBERS];
    size_t n;
} writer;

/* ---- members --------------------------------------------------------------------------------- */

/* Sets a member, unless it or one that it lies in is set. text.ptr NULL: it is to stay absent. */
static tare_status set(writer *w, tare_str path, tare_str text, tare_error *err) {
    for (size_t i = 0; i < w->n; i++) {
        tare_str p = w->members[i].path;
        if (tare_str_equal(p, path) ||
            (tare_str_starts(path, p) && path.len > p.len && path.ptr[p.len] == '.'))
            return TARE_OK;
    }
    if (w->n == MOST_MEMBERS) return tare_fail(err, TARE_ERR_LIMIT, "members of config.json");
    if (text.ptr) {
        text = tare_arena_str(&w->r->out->arena, text);
        if (!text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "config.json");
    }
    w->members[w->n++] = (member){path, text};
    return TARE_OK;
}

static void put_value(tare_buffer *b, const tare_llama_value *v) {
    char text[48];
    const tare_json_node *c;
    switch (v->kind) {
    case TARE_LLAMA_ABSENT:
        tare_buffer_put_text(b, "null");
        break;
    case TARE_LLAMA_BOOL:
        tare_buffer_put_text(b, v->number != 0 ? "true" : "false");
        break;
    case TARE_LLAMA_NUMBER:
        if (v->is_whole && fabs(v->number) < 0x1p53)
            tare_buffer_printf(b, "%.0f", v->number);
        else
            tare_buffer_put_str(
                b, (tare_str){text, tare_llama_f32_text(text, sizeof text, v->number)});
        break;
    case TARE_LLAMA_TEXT:
        tare_buffer_put_json(b, v->text);
        break;
    case TARE_LLAMA_TREE:
        tare_buffer_put_u8(b, '[');
        for (c = v->tree->child; c; c = c->next) {
            tare_llama_value inner = tare_llama_value_of(c);
            if (c != v->tree->child) tare_buffer_put_text(b, ", ");
            if (inner.kind == TARE_LLAMA_TREE) inner.kind = TARE_LLAMA_ABSENT; /* JSON still */
            put_value(b, &inner);
        }
        tare_buffer_put_u8(b, ']');
        break;
    }
}

static tare_status set_text(writer *w, tare_str path, tare_buffer *b, tare_error *err) {
    tare_status status = tare_buffer_status(b, err);
    if (status == TARE_OK) status = set(w, path, (tare_str){(const char *)b->data, b->size}, err);
    tare_buffer_free(b);
    return status;
}

static tare_status set_value(writer *w, tare_str path, const tare_llama_value *v, tare_error *err) {
    tare_buffer b;
    if (v->kind == TARE_LLAMA_ABSENT) return set(w, path, (tare_str){NULL, 0}, err);
    tare_buffer_init(&b, w->r->out->allocator);
    put_value(&b, v);
    return set_text(w, path, &b, err);
}

/* ---- what is stated -------------------------------------------------------------------------- */

/* "NAME[]": a list with what the formula says of each layer that it has a value for; absent where
 * there is none. "NAME[3]": of so many numbers instead. "NAME{}": the same as a text, with commas. */
static tare_status set_list(writer *w, tare_str path, tare_str formula, tare_error *err) {
    tare_buffer b;
    const char *bracket = path.ptr;
    while (*bracket != '[' && *bracket != '{') bracket++;
    const bool is_text = *bracket == '{', is_counted = bracket[1] >= '0' && bracket[1] <= '9';
    const double n = is_counted ? bracket[1] - '0' : w->r->facts[0].number;
    tare_status status = TARE_OK;
    size_t n_values = 0;
    path.len = (size_t)(bracket - path.ptr);
    tare_buffer_init(&b, w->r->out->allocator);
    tare_buffer_put_u8(&b, is_text ? '"' : '[');
    for (double layer = 0; layer < n && status == TARE_OK; layer++) {
        const tare_llama_binding bindings[] = {{"layer", layer}, {NULL, 0}};
        tare_llama_value v;
        status = tare_llama_formula(&v, formula, &w->r->by_keys, bindings, err);
        if (status != TARE_OK || v.kind == TARE_LLAMA_ABSENT) continue;
        if (n_values++) tare_buffer_put_text(&b, is_text ? "," : ", ");
        put_value(&b, &v);
    }
    tare_buffer_put_u8(&b, is_text ? '"' : ']');
    if (status == TARE_OK && n_values) return set_text(w, path, &b, err);
    tare_buffer_free(&b);
    return status == TARE_OK ? set(w, path, (tare_str){NULL, 0}, err) : status;
}

/* "NAME[].inner.member = formula" */
static bool is_of_list(const char *row, tare_str name) {
    return strncmp(row, name.ptr, name.len) == 0 && strncmp(row + name.len, "[].", 3) == 0;
}

/* The members of an element that the same objects of it have, `depth` bytes of their paths. */
static tare_status put_element(tare_buffer *b, writer *w, const char *const *rows, size_t n,
                               size_t depth, double layer, tare_error *err) {
    const tare_llama_binding bindings[] = {{"layer", layer}, {NULL, 0}};
    tare_buffer_put_u8(b, '{');
    for (size_t i = 0, k; i < n; i = k) {
        const tare_str path = {rows[i] + depth, strcspn(rows[i] + depth, " .")};
        const bool is_object = path.ptr[path.len] == '.';
        tare_llama_value v;
        if (i) tare_buffer_put_text(b, ", ");
        tare_buffer_put_json(b, path);
        tare_buffer_put_text(b, ": ");
        for (k = i + 1; is_object && k < n; k++)
            if (strncmp(rows[k] + depth, path.ptr, path.len + 1) != 0) break;
        if (is_object) {
            TARE_TRY(put_element(b, w, rows + i, k - i, depth + path.len + 1, layer, err));
            continue;
        }
        const char *formula = strstr(rows[i], " = ") + 3;
        TARE_TRY(tare_llama_formula(&v, tare_str_of(formula), &w->r->by_keys, bindings, err));
        put_value(b, &v);
    }
    tare_buffer_put_u8(b, '}');
    return TARE_OK;
}

/* "NAME[].x.y = formula": a list of an object for each layer; its n rows stand one after the other.
 */
static tare_status set_objects(writer *w, const char *const *rows, size_t n, tare_error *err) {
    const tare_str path = {rows[0], strcspn(rows[0], "[")};
    tare_buffer b;
    tare_status status = TARE_OK;
    const double n_layers = w->r->facts[0].number;
    tare_buffer_init(&b, w->r->out->allocator);
    tare_buffer_put_u8(&b, '[');
    for (double layer = 0; layer < n_layers && status == TARE_OK; layer++) {
        if (layer > 0) tare_buffer_put_text(&b, ", ");
        status = put_element(&b, w, rows, n, path.len + 3, layer, err);
    }
    tare_buffer_put_u8(&b, ']');
    if (status == TARE_OK) return set_text(w, path, &b, err);
    tare_buffer_free(&b);
    return status;
}

/* How many of the rows tell of one list of objects; 0: the first tells of none. */
static size_t count_of_list(const char *const *rows) {
    const tare_str name = {rows[0], strcspn(rows[0], "[ ")};
    size_t n = 0;
    while (rows[n] && is_of_list(rows[n], name)) n++;
    return n;
}

/* Rows "member = formula" over the keys. */
static tare_status set_stated(writer *w, const char *const *rows, tare_error *err) {
    for (; rows && *rows; rows++) {
        const char *equals = strstr(*rows, " = ");
        tare_str path = {*rows, (size_t)(equals - *rows)}, formula = tare_str_of(equals + 3);
        const size_t n = count_of_list(rows);
        tare_llama_value v;
        if (n) {
            TARE_TRY(set_objects(w, rows, n, err));
            rows += n - 1;
            continue;
        }
        if (tare_str_ends(path, TARE_STR("]")) || tare_str_ends(path, TARE_STR("}"))) {
            TARE_TRY(set_list(w, path, formula, err));
            continue;
        }
        TARE_TRY(tare_llama_formula(&v, formula, &w->r->by_keys, NULL, err));
        TARE_TRY(v.kind == TARE_LLAMA_ABSENT && tare_str_ends(formula, TARE_STR("| null"))
                     ? set(w, path, TARE_STR("null"), err)
                     : set_value(w, path, &v, err));
    }
    return TARE_OK;
}

/* ---- rows of keys, backwards ----------------------------------------------------------------- */

/* Whether a default is that of a name which rows gave to a formula: "tower.scale", but not
 * "vision_config.depth", a member. */
static bool is_short(tare_str name) {
    const char *dot = memchr(name.ptr, '.', name.len);
    return dot &&
           !tare_str_ends((tare_str){name.ptr, (size_t)(dot - name.ptr)}, TARE_STR("_config"));
}

/* The formula of a name that is no member but stands for others: "rope.theta". ptr NULL: it is a
 * member. */
static tare_str stands_for(const tare_llama_restoring *r, tare_str name) {
    const char *const *lists[] = {tare_llama_common_defaults, r->arch->defaults};
    for (size_t i = 0; i < 2; i++)
        for (const char *const *d = lists[i]; d && *d; d++) {
            const char *equals = strstr(*d, " = ");
            bool is_it = tare_str_equal(name, (tare_str){*d, (size_t)(equals - *d)});
            if (is_it && (i == 0 || is_short(name))) return tare_str_of(equals + 3);
        }
    return (tare_str){NULL, 0};
}

static bool is_name(tare_str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && !(i && (c == '.' || (c >= '0' && c <= '9')))) return false;
    }
    return text.len > 0 && !tare_llama_is_one_of(text, "true false");
}

/* The alternative at *rest, which moves after it and its '|'. */
static tare_str next_alternative(tare_str *rest) {
    size_t depth = 0, i = 0;
    for (; i < rest->len && (depth || rest->ptr[i] != '|'); i++) {
        depth += rest->ptr[i] == '(';
        depth -= rest->ptr[i] == ')';
    }
    tare_str one = {rest->ptr, i};
    *rest = tare_str_cut(*rest, i + 1 < rest->len ? i + 1 : rest->len);
    while (one.len && one.ptr[0] == ' ') one = tare_str_cut(one, 1);
    while (one.len && one.ptr[one.len - 1] == ' ') one.len--;
    return one;
}

/* The member that a formula's value comes from: the one that the architecture spells, else the
 * first without a dot. */
static void find_member(tare_str *spelled, tare_str *first, const tare_llama_restoring *r,
                        tare_str formula, unsigned depth) {
    while (formula.len && depth && !spelled->len) {
        tare_str one = next_alternative(&formula);
        if (!is_name(one)) continue;
        tare_str inner = stands_for(r, one);
        if (inner.ptr)
            find_member(spelled, first, r, inner, depth - 1);
        else if (tare_llama_is_one_of(one, r->arch->back->names))
            *spelled = one;
        else if (!first->len && (r->arch->tower || !memchr(one.ptr, '.', one.len)))
            *first = one;
    }
}

static bool is_fact(const tare_llama_restoring *r, tare_str name) {
    for (const tare_llama_binding *b = r->facts; b->name; b++)
        if (tare_str_is(name, b->name)) return true;
    return false;
}

static tare_status set_rows(writer *w, const tare_llama_key *rows, tare_error *err) {
    for (; rows->name; rows++) {
        tare_str spelled = {NULL, 0}, first = {NULL, 0};
        const tare_json_node *key = tare_json_path(w->r->keys, tare_str_of(rows->name));
        if (!key || key->type == TARE_JSON_OBJECT || !rows->formula) continue;
        find_member(&spelled, &first, w->r, tare_str_of(rows->formula), MOST_DEPTH);
        tare_str path = spelled.len ? spelled : first;
        const tare_llama_value v = tare_llama_value_of(key);
        if (path.len && !is_fact(w->r, path)) TARE_TRY(set_value(w, path, &v, err));
    }
    return TARE_OK;
}

/* ---- what the keys must be ------------------------------------------------------------------- */

static tare_status fail_key(const tare_llama_restoring *r, const char *name, const char *what,
                            tare_error *err) {
    char key[160];
    int n = snprintf(key, sizeof key, "%s.%s", r->arch->name, name);
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_KEY, -1, (tare_str){key, (size_t)n});
    return TARE_ERR_CORRUPT;
}

static tare_status check_rows(writer *w, const tare_llama_key *rows, tare_error *err) {
    for (; rows->name; rows++) {
        const tare_json_node *key = tare_json_path(w->r->keys, tare_str_of(rows->name));
        if (!key || key->type == TARE_JSON_OBJECT) continue;
        bool is_text = key->type == TARE_JSON_STRING;
        if (is_text != (rows->type == TARE_VALUE_STRING))
            return fail_key(w->r, rows->name,
                            is_text ? "is a text, a number was expected"
                                    : "is not the text that was expected",
                            err);
    }
    return TARE_OK;
}

/* Calls `act` with each list of rows that the architecture has. */
static tare_status each_row(writer *w,
                            tare_status (*act)(writer *, const tare_llama_key *, tare_error *),
                            tare_error *err) {
    const tare_llama_arch *a = w->r->arch;
    const tare_llama_key *const turning = a->tower ? NULL : tare_llama_scaling_keys;
    const tare_llama_key *const lists[] = {a->first,
                                           a->early,
                                           a->own ? a->own : tare_llama_common_keys,
                                           turning,
                                           a->own ? (a->tower ? NULL : tare_llama_base_keys)
                                                  : tare_llama_common_rest_keys,
                                           a->keys};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i]) TARE_TRY(act(w, lists[i], err));
    return TARE_OK;
}

/* One more than the number of the last block that a tensor is of. */
static uint64_t count_blocks(const tare_model *gguf) {
    uint64_t n = 0;
    for (size_t i = 0; i < gguf->catalog.n_tensors; i++) {
        char stem[160];
        uint64_t number;
        bool is_in_block;
        tare_llama_stem(stem, sizeof stem, &number, &is_in_block, gguf->catalog.tensors[i].name);
        if (is_in_block && number >= n) n = number + 1;
    }
    return n;
}

/* Lists of layers are as long as it says: no layer is believed that no tensor is of, but those that predict more tokens,
 * which may be left out. */
static tare_status read_layers(tare_llama_restoring *r, tare_error *err) {
    const char *name = "block_count";
    tare_llama_value v;
    if (r->arch->tower)
        name =
            tare_json_path(r->keys, TARE_STR("audio")) ? "audio.block_count" : "vision.block_count";
    TARE_TRY(tare_llama_formula(&v, tare_str_of(name), &r->by_keys, NULL, err));
    if (v.kind == TARE_LLAMA_ABSENT) return fail_key(r, name, "the key is missing", err);
    if (v.kind != TARE_LLAMA_NUMBER || !v.is_whole || v.number < 0)
        return fail_key(r, name, "is not a whole number", err);
    uint64_t extra = 0;
    bool is_there;
    if (!r->arch->tower)
        TARE_TRY(tare_llama_formula_u64(&extra, &is_there, TARE_STR("nextn_predict_layers | 0"),
                                        &r->by_keys, NULL, err));
    if (v.number >
        (double)(r->arch->tower ? r->gguf->catalog.n_tensors : count_blocks(r->gguf) + extra))
        return fail_key(r, name, "more layers than the file has tensors", err);
    r->facts[0].number = v.number;
    return TARE_OK;
}

/* Rows of queries and keys are sorted by heads. */
static tare_status check_heads(const tare_llama_restoring *r, tare_error *err) {
    static const char name[] = "attention.head_count";
    tare_llama_value v;
    if (!tare_json_path(r->keys, TARE_STR("tensors.attn_q.weight"))) return TARE_OK;
    TARE_TRY(tare_llama_formula(&v, tare_str_of(name), &r->by_keys, NULL, err));
    if (v.kind == TARE_LLAMA_ABSENT) return fail_key(r, name, "the key is missing", err);
    if (v.kind == TARE_LLAMA_NUMBER && v.number < 1)
        return fail_key(r, name, "at least one head was expected", err);
    return TARE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What formulas call the members of a file of its own, preprocessor_config.json. */
static const tare_str of_processor = {"processor.", 10};

/* Members of the object that `depth` bytes of their paths name, each name once. */
static void put_object(tare_buffer *b, const writer *w, size_t from, size_t depth,
                       unsigned indent) {
    const tare_str inside = {w->members[from].path.ptr, depth};
    bool is_first = true;
    tare_buffer_put_u8(b, '{');
    for (size_t i = from; i < w->n; i++) {
        tare_str path = w->members[i].path;
        if (!tare_str_starts(path, inside) || !w->members[i].text.ptr) continue;
        if (depth == 0 && tare_str_starts(path, of_processor)) continue;
        const char *dot = memchr(path.ptr + depth, '.', path.len - depth);
        size_t end = dot ? (size_t)(dot - path.ptr) : path.len;
        bool is_seen = false;
        for (size_t k = from; dot && k < i && !is_seen; k++)
            is_seen = w->members[k].text.ptr &&
                      tare_str_starts(w->members[k].path, (tare_str){path.ptr, end + 1});
        if (is_seen) continue;
        tare_buffer_printf(b, "%s\n%*s", is_first ? "" : ",", (int)indent, "");
        is_first = false;
        tare_buffer_put_json(b, (tare_str){path.ptr + depth, end - depth});
        tare_buffer_put_text(b, ": ");
        if (dot)
            put_object(b, w, i, end + 1, indent + 2);
        else
            tare_buffer_put_str(b, w->members[i].text);
    }
    tare_buffer_printf(b, "\n%*s}", (int)indent - 2, "");
}

static const char *type_text(const tare_encoding *e) {
    return e->id == TARE_ENCODING_F32    ? "\"float32\""
           : e->id == TARE_ENCODING_BF16 ? "\"bfloat16\""
                                         : "\"float16\"";
}

/* What a text model has beside what its architecture states. */
static tare_status set_common(writer *w, tare_error *err) {
    tare_str rope;
    TARE_TRY(tare_llama_restore_rope(&rope, w->r, err));
    if (rope.ptr) TARE_TRY(set(w, TARE_STR("rope_scaling"), rope, err));
    return set_stated(w, tare_llama_back_common, err);
}

/* id2label: the names of a classifier's classes. */
static tare_status set_labels(writer *w, tare_error *err) {
    char key[160];
    tare_buffer b;
    tare_array_walk walk;
    tare_value v;
    snprintf(key, sizeof key, "%s.classifier.output_labels", w->r->arch->name);
    const tare_value *labels = tare_llama_key_of(w->r->gguf, key);
    if (!labels || labels->type != TARE_VALUE_ARRAY || labels->as.a.type != TARE_VALUE_STRING ||
        labels->as.a.count == 0)
        return TARE_OK;
    tare_buffer_init(&b, w->r->out->allocator);
    tare_array_begin(&walk, &labels->as.a);
    for (unsigned i = 0; tare_array_next(&v, &walk); i++) {
        tare_buffer_printf(&b, "%s\"%u\": ", i ? ", " : "{", i);
        tare_buffer_put_json(&b, v.as.s);
    }
    tare_buffer_put_u8(&b, '}');
    return set_text(w, TARE_STR("id2label"), &b, err);
}

/* Whether what stands on the model is a classifier, rather than the part of a head that guesses masked words. */
static bool is_classifier(const tare_llama_restoring *r) {
    const char *const formula = "if(has(tensors.cls.output.weight), 1, "
                                "if(tensors.cls.weight.rows == embedding_length, 0, 1))";
    tare_llama_value v;
    return tare_llama_formula(&v, tare_str_of(formula), &r->by_keys, NULL, NULL) != TARE_OK ||
           v.kind != TARE_LLAMA_NUMBER || v.number > 0;
}

/* The first class of the row, or the one that has a head as the file has it. */
static tare_str class_of(const tare_llama_restoring *r) {
    const char *classes = r->arch->classes;
    const tare_str first = {classes, strcspn(classes, " ")};
    if (!tare_json_path(r->keys, TARE_STR("tensors.cls")) || r->arch->tower) return first;
    const tare_str end =
        tare_str_of(is_classifier(r) ? "ForSequenceClassification" : "ForMaskedLM");
    for (tare_str word; (word = tare_llama_next_word(&classes)).len;)
        if (tare_str_ends(word, end)) return word;
    return first;
}

static tare_status set_all(writer *w, tare_error *err) {
    const tare_llama_arch *a = w->r->arch;
    tare_llama_restoring *r = w->r;
    tare_buffer b;
    const tare_str class = class_of(r);
    tare_buffer_init(&b, r->out->allocator);
    tare_buffer_printf(&b, "[\"%.*s\"]", (int)class.len, class.ptr);
    TARE_TRY(set_text(w, TARE_STR("architectures"), &b, err));
    TARE_TRY(set_stated(w, a->back->config, err));
    TARE_TRY(a->tower ? set_stated(w, tare_llama_back_towers, err) : set_common(w, err));
    TARE_TRY(each_row(w, set_rows, err));
    TARE_TRY(set_labels(w, err));
    return set(w, TARE_STR("torch_dtype"), tare_str_of(type_text(r->usual)), err);
}

/* A file of the members from `from` on that `depth` bytes of its path name, and the same as a tree. */
static tare_status add_object(const tare_json_node **out, writer *w, const char *name, size_t from,
                              size_t depth, tare_error *err) {
    tare_llama_restoring *r = w->r;
    tare_buffer b;
    tare_buffer_init(&b, r->out->allocator);
    put_object(&b, w, from, depth, 2);
    tare_buffer_put_u8(&b, '\n');
    TARE_TRY(tare_llama_add_file(r, name, &b, err));
    const tare_resource_entry *file = &r->files[r->n_files - 1];
    return tare_json_tree(out, (tare_str){(const char *)file->bytes, (size_t)file->info.size},
                          &r->out->arena, err);
}

/* What a tower's config.json says of the text model, and the file of the processor. */
static tare_status add_processor(writer *w, tare_error *err) {
    tare_llama_config *config = &w->r->config;
    size_t i = 0;
    config->text = tare_json_member(config->root, TARE_STR("text_config"));
    while (i < w->n &&
           (!w->members[i].text.ptr || !tare_str_starts(w->members[i].path, of_processor)))
        i++;
    if (i == w->n) return TARE_OK;
    return add_object(&config->processor[1], w, "preprocessor_config.json", i, of_processor.len,
                      err);
}

tare_status tare_llama_restore_config(tare_llama_restoring *r, tare_error *err) {
    writer w = {.r = r};
    r->facts[0] = (tare_llama_binding){"layers", 0};
    r->facts[1] = (tare_llama_binding){"tokens", 0};
    r->facts[2] = (tare_llama_binding){"file_type", 0};
    r->facts[3] = (tare_llama_binding){"embedding_rows", 0};
    TARE_TRY(read_layers(r, err));
    TARE_TRY(tare_llama_count_turning(r, err));
    TARE_TRY(check_heads(r, err));
    TARE_TRY(each_row(&w, check_rows, err));
    TARE_TRY(set_all(&w, err));
    r->config = (tare_llama_config){
        .defaults = r->arch->defaults, .facts = r->facts, .arena = &r->out->arena};
    TARE_TRY(add_object(&r->config.root, &w, "config.json", 0, 0, err));
    if (r->arch->tower) return add_processor(&w, err);
    r->config.common = tare_llama_common_defaults;
    tare_llama_config_set_class(&r->config);
    return TARE_OK;
}
