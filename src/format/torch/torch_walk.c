/* SPDX-License-Identifier: MIT
 *
 * Walks what a pickle contains: tensors get the names of the keys that lead to them, everything else
 * becomes metadata under such names. Objects are what they would set in themselves; those of modules
 * get the names that their state_dict() has. */
#include <inttypes.h>
#include <stdio.h>

#include "base/report.h"
#include "base/str.h"
#include "format/torch/torch.h"

/* A module in a module is three levels. */
enum { DEPTH_MOST = 256, KEYS_DEPTH = 4 };

typedef struct walk {
    tare_torch_file *f;
    tare_buffer path;
    uint64_t visits, most; /* of values, which may be in one another more than once */
    unsigned depth;
    unsigned n_keys; /* that the path is of, some of them perhaps empty */
    uint64_t copied; /* bytes of paths, texts and arrays */
    bool may_wrap;   /* only wrappers lead here */
    size_t wrapped;  /* the path's length as far as they do */
    tare_status status;
    tare_error *err;
} walk;

static void visit(walk *w, const tare_pickle_value *v);

static bool fail_at(walk *w, const tare_pickle_value *v, tare_status status, const char *what) {
    if (w->status == TARE_OK) w->status = tare_fail_at(w->err, status, v->offset, what);
    return false;
}

static bool no_memory(walk *w) {
    if (w->status == TARE_OK) w->status = tare_fail(w->err, TARE_ERR_NOMEM, "tensor names");
    return false;
}

/* Whether something was added to a list. */
static bool added(walk *w, tare_status status) {
    if (w->status == TARE_OK) w->status = status;
    return status == TARE_OK;
}

static bool is_text(const tare_pickle_value *v) {
    return v->kind == TARE_PICKLE_TEXT || v->kind == TARE_PICKLE_BYTES;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void put_key(walk *w, const tare_pickle_value *v, unsigned depth);

/* "(0, a)". */
static void put_key_tuple(walk *w, const tare_pickle_list *items, unsigned depth) {
    tare_buffer_put_u8(&w->path, '(');
    for (size_t i = 0; i < items->n && w->path.size <= w->f->m->limits.name_bytes; i++) {
        if (i) tare_buffer_put_text(&w->path, ", ");
        put_key(w, &items->items[i], depth + 1);
    }
    tare_buffer_put_u8(&w->path, ')');
}

/* What a value is called as a part of a name. */
static void put_key(walk *w, const tare_pickle_value *v, unsigned depth) {
    if (is_text(v))
        tare_buffer_put_str(&w->path, v->as.s);
    else if (v->kind == TARE_PICKLE_INT)
        tare_buffer_printf(&w->path, "%" PRId64, v->as.i);
    else if (v->kind == TARE_PICKLE_FLOAT)
        tare_buffer_printf(&w->path, "%.17g", v->as.f);
    else if (v->kind == TARE_PICKLE_BOOL)
        tare_buffer_put_text(&w->path, v->as.i ? "True" : "False");
    else if (v->kind == TARE_PICKLE_NONE)
        tare_buffer_put_text(&w->path, "None");
    else if (v->kind == TARE_PICKLE_GLOBAL)
        tare_buffer_put_str(&w->path, tare_pickle_name(v->as.object));
    else if (v->kind == TARE_PICKLE_TUPLE && depth < KEYS_DEPTH)
        put_key_tuple(w, &v->as.object->items, depth);
    else
        tare_buffer_put_text(&w->path, "?");
}

/* What has been put behind `length` bytes of the path is the name of v below it. */
static void visit_named(walk *w, size_t length, const tare_pickle_value *v) {
    if (w->path.size > w->f->m->limits.name_bytes)
        fail_at(w, v, TARE_ERR_LIMIT, "length of a name");
    w->n_keys++;
    visit(w, v);
    w->n_keys--;
    w->path.size = length;
}

static size_t begin_name(walk *w) {
    const size_t length = w->path.size;
    if (w->n_keys) tare_buffer_put_u8(&w->path, '.');
    return length;
}

static void visit_under(walk *w, tare_str word, const tare_pickle_value *v) {
    const size_t length = begin_name(w);
    tare_buffer_put_str(&w->path, word);
    visit_named(w, length, v);
}

static void visit_number(walk *w, size_t i, const tare_pickle_value *v) {
    const size_t length = begin_name(w);
    tare_buffer_printf(&w->path, "%zu", i);
    visit_named(w, length, v);
}

/* What no key leads to, as a tensor that was saved by itself, has a name nevertheless. */
static tare_str path_of(walk *w) {
    const tare_str path = {(const char *)w->path.data, w->path.size};
    const tare_str kept = tare_arena_str(&w->f->m->arena, w->n_keys ? path : TARE_STR("value"));
    if (!kept.ptr || w->path.failed) no_memory(w);
    return kept;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* What is found again by the memo is copied again. */
static bool count_copied(walk *w, const tare_pickle_value *at, uint64_t n) {
    w->copied += n;
    return w->copied <= w->f->m->limits.metadata_bytes ||
           fail_at(w, at, TARE_ERR_LIMIT, "bytes of keys and texts");
}

static void add_key(walk *w, const tare_pickle_value *at, tare_value value) {
    if (!count_copied(w, at, w->path.size)) return;
    const tare_metadata entry = {.key = path_of(w), .value = value, .offset = at->offset};
    if (w->status == TARE_OK) added(w, tare_gather_key(&w->f->lists, &entry, w->err));
}

static void add_text(walk *w, const tare_pickle_value *at, tare_str text) {
    if (!count_copied(w, at, text.len)) return;
    text = tare_arena_str(&w->f->m->arena, text);
    if (!text.ptr) no_memory(w);
    add_key(w, at, (tare_value){.type = TARE_VALUE_STRING, .as.s = text});
}

/* "<module.name>" of what is not read. */
static void add_name(walk *w, const tare_pickle_value *at, const tare_pickle_object *global,
                     const char *open, const char *close) {
    tare_buffer text;
    tare_buffer_init(&text, w->f->m->allocator);
    tare_buffer_put_text(&text, open);
    tare_buffer_put_str(&text, tare_pickle_module(global));
    tare_buffer_put_u8(&text, '.');
    tare_buffer_put_str(&text, tare_pickle_name(global));
    tare_buffer_put_text(&text, close);
    if (text.failed)
        no_memory(w);
    else
        add_text(w, at, (tare_str){(const char *)text.data, text.size});
    tare_buffer_free(&text);
}

/* A number of more than 64 bits, in hexadecimal digits where the pickle has bytes. */
static void add_long(walk *w, const tare_pickle_value *v) {
    tare_buffer text;
    const tare_str s = v->as.s;
    const bool is_decimal = s.len && (s.ptr[0] == '-' || (s.ptr[0] >= '0' && s.ptr[0] <= '9')) &&
                            tare_is_ascii(s.ptr, s.len) && strspn(s.ptr, "-0123456789") >= s.len;
    if (is_decimal || s.len > 4096) {
        add_text(w, v, is_decimal ? s : TARE_STR("<a long number>"));
        return;
    }
    tare_buffer_init(&text, w->f->m->allocator);
    tare_buffer_put_text(&text, "0x");
    for (size_t i = s.len; i-- > 0;) tare_buffer_printf(&text, "%02x", (unsigned char)s.ptr[i]);
    if (text.failed)
        no_memory(w);
    else
        add_text(w, v, (tare_str){(const char *)text.data, text.size});
    tare_buffer_free(&text);
}

static bool plain_value(tare_value *out, const tare_pickle_value *v) {
    switch (v->kind) {
    case TARE_PICKLE_BOOL:
        *out = (tare_value){.type = TARE_VALUE_BOOL, .as.u = v->as.i != 0};
        return true;
    case TARE_PICKLE_INT:
        *out = (tare_value){.type = TARE_VALUE_I64, .as.i = v->as.i};
        return true;
    case TARE_PICKLE_FLOAT:
        *out = (tare_value){.type = TARE_VALUE_F64, .as.f = v->as.f};
        return true;
    case TARE_PICKLE_TEXT:
        *out = (tare_value){.type = TARE_VALUE_STRING, .as.s = v->as.s};
        return true;
    default:
        return false;
    }
}

/* A list of plain values of one type becomes an array. */
static bool add_array(walk *w, const tare_pickle_value *v, const tare_pickle_list *items) {
    tare_value first, value;
    tare_buffer packed;
    if (items->n == 0 || !plain_value(&first, &items->items[0])) return false;
    for (size_t i = 1; i < items->n; i++)
        if (!plain_value(&value, &items->items[i]) || value.type != first.type) return false;
    tare_buffer_init(&packed, w->f->m->allocator);
    for (size_t i = 0; i < items->n; i++) {
        plain_value(&value, &items->items[i]);
        tare_value_pack(&packed, &value, false);
    }
    const tare_str bytes =
        packed.failed
            ? (tare_str){NULL, 0}
            : tare_arena_str(&w->f->m->arena, (tare_str){(const char *)packed.data, packed.size});
    tare_buffer_free(&packed);
    if (!bytes.ptr) return no_memory(w) || true;
    value = (tare_value){.type = TARE_VALUE_ARRAY,
                         .as.a = {.type = first.type,
                                  .count = items->n,
                                  .bytes = (const uint8_t *)bytes.ptr,
                                  .size_bytes = bytes.len}};
    add_key(w, v, value);
    return true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void add_tensor(walk *w, const tare_pickle_value *v, tare_strided_tensor *t) {
    tare_gathered *lists = &w->f->lists;
    t->name = path_of(w);
    if (w->status != TARE_OK || !added(w, tare_gather_tensor(lists, v->offset, w->err))) return;
    t->wrapped = w->wrapped;
    lists->tensors[lists->n_tensors++] = *t;
}

static void note_unread(walk *w, const tare_pickle_value *v, const char *why) {
    const tare_str name = path_of(w);
    const uint64_t offset = w->f->base + v->offset;
    if (w->status == TARE_OK)
        added(w, tare_gather_left_out(&w->f->lists, name, why, offset, w->err));
}

/* ---- containers ------------------------------------------------------------------------------ */

static void visit_list(walk *w, const tare_pickle_value *v, const tare_pickle_list *items) {
    if (add_array(w, v, items)) return;
    for (size_t i = 0; i < items->n && w->status == TARE_OK; i++)
        visit_number(w, i, &items->items[i]);
}

static bool is_wrapper(tare_str word) {
    static const char *const words[] = {"state_dict", "model", "module"};
    for (size_t i = 0; i < 3; i++)
        if (tare_str_is(word, words[i])) return true;
    return false;
}

/* A key of a dict; one that wraps is no part of the name if it leads to all tensors. */
static void visit_key(walk *w, const tare_pickle_value *key, const tare_pickle_value *v) {
    const bool may_wrap = w->may_wrap;
    const size_t wrapped = w->wrapped, length = begin_name(w), from = w->path.size;
    put_key(w, key, 0);
    count_copied(w, key, w->path.size - from);
    w->may_wrap = may_wrap && is_text(key) && is_wrapper(key->as.s);
    if (w->may_wrap) w->wrapped = w->path.size;
    visit_named(w, length, v);
    w->may_wrap = may_wrap;
    w->wrapped = wrapped;
}

static void visit_pairs(walk *w, const tare_pickle_list *pairs) {
    for (size_t i = 0; i + 1 < pairs->n && w->status == TARE_OK; i += 2)
        visit_key(w, &pairs->items[i], &pairs->items[i + 1]);
}

/* What a class of dicts is made of: a dict, or, as Python 2 gives an OrderedDict, [[key, value], ...]. */
static void visit_mapping(walk *w, const tare_pickle_value *of) {
    const tare_pickle_value *pair;
    if (of && of->kind == TARE_PICKLE_DICT) visit_pairs(w, &of->as.object->items);
    for (size_t i = 0; (pair = tare_pickle_item(of, i)) != NULL && w->status == TARE_OK; i++) {
        const tare_pickle_value *key = tare_pickle_item(pair, 0),
                                *value = tare_pickle_item(pair, 1);
        if (key && value) visit_key(w, key, value);
    }
}

/* What a module has its tensors and modules in: a state_dict() does not name it. */
static bool is_of_module(tare_str key) {
    static const char *const words[] = {"_parameters", "_buffers", "_modules"};
    for (size_t i = 0; i < 3; i++)
        if (tare_str_is(key, words[i])) return true;
    return false;
}

/* What an object sets in itself; of a dict, without the versions of modules that a state_dict() has. */
static void visit_members(walk *w, const tare_pickle_list *pairs, bool is_of_dict) {
    for (size_t i = 0; i + 1 < pairs->n && w->status == TARE_OK; i += 2) {
        const tare_pickle_value *key = &pairs->items[i];
        const tare_str word = is_text(key) ? key->as.s : TARE_STR("");
        if (is_of_dict && tare_str_is(word, "_metadata")) continue;
        if (is_of_module(word))
            visit(w, &pairs->items[i + 1]);
        else
            visit_key(w, key, &pairs->items[i + 1]);
    }
}

static bool is_dict_or_none(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_DICT || v->kind == TARE_PICKLE_NONE);
}

/* A dict, or (__dict__, slots); else whatever the class makes of it. */
static void visit_state(walk *w, const tare_pickle_value *state, bool is_of_dict) {
    const tare_pickle_value *parts[2] = {state, NULL};
    const bool may_wrap = w->may_wrap;
    if (state->kind == TARE_PICKLE_TUPLE && state->as.object->items.n == 2)
        for (size_t i = 0; i < 2; i++) parts[i] = tare_pickle_item(state, i);
    w->may_wrap = false;
    if (!is_dict_or_none(parts[0]) || (parts[1] && !is_dict_or_none(parts[1])))
        visit_under(w, TARE_STR("state"), state);
    else
        for (size_t i = 0; i < 2; i++)
            if (parts[i] && parts[i]->kind == TARE_PICKLE_DICT)
                visit_members(w, &parts[i]->as.object->items, is_of_dict);
    w->may_wrap = may_wrap;
}

/* ---- objects --------------------------------------------------------------------------------- */

typedef enum shape { OPAQUE = 0, MAPPING = 1, SEQUENCE = 2, WORD = 3 } shape;

/* Classes whose objects are as good as their contents. */
static shape shape_of(const tare_pickle_object *callee) {
    static const struct {
        const char *module, *name;
        shape shape;
    } known[] = {{"collections", "OrderedDict", MAPPING},
                 {"collections", "defaultdict", MAPPING},
                 {"collections", "Counter", MAPPING},
                 {"builtins", "dict", MAPPING},
                 {"collections", "deque", SEQUENCE},
                 {"builtins", "set", SEQUENCE},
                 {"builtins", "frozenset", SEQUENCE},
                 {"builtins", "list", SEQUENCE},
                 {"builtins", "tuple", SEQUENCE},
                 {"__builtin__", "set", SEQUENCE},
                 {"__builtin__", "frozenset", SEQUENCE},
                 {"__builtin__", "list", SEQUENCE},
                 {"torch", "Size", SEQUENCE},
                 {"torch", "device", WORD},
                 {"pathlib", "PosixPath", WORD},
                 {"pathlib", "Path", WORD}};
    for (size_t i = 0; callee && i < sizeof known / sizeof *known; i++)
        if (tare_str_is(tare_pickle_module(callee), known[i].module) &&
            tare_str_is(tare_pickle_name(callee), known[i].name))
            return known[i].shape;
    return OPAQUE;
}

/* The class of an object, which its first argument is where Python rebuilds it. */
static const tare_pickle_object *class_of(const tare_pickle_value *v) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    const tare_pickle_value *first = tare_pickle_argument(v, 0);
    const bool is_rebuilt = callee && (tare_str_is(tare_pickle_module(callee), "copyreg") ||
                                       tare_str_is(tare_pickle_module(callee), "copy_reg"));
    return is_rebuilt && first && first->kind == TARE_PICKLE_GLOBAL ? first->as.object : callee;
}

static void visit_opaque(walk *w, const tare_pickle_value *v) {
    const tare_pickle_list *items = &v->as.object->items;
    const tare_pickle_object *class = class_of(v);
    if (class)
        add_name(w, v, class, "<", ">");
    else
        add_text(w, v, TARE_STR("<object>"));
    if (class != tare_pickle_callee(v)) return; /* which is all that they say */
    for (size_t i = 1; i < items->n && w->status == TARE_OK; i++) {
        const tare_pickle_value *args = &items->items[i];
        if (args->kind >= TARE_PICKLE_LIST) visit_under(w, TARE_STR("args"), args);
    }
}

static void visit_call(walk *w, const tare_pickle_value *v) {
    const tare_pickle_more *more = v->as.object->more;
    const tare_pickle_value *first = tare_pickle_argument(v, 0);
    const shape as = shape_of(tare_pickle_callee(v));
    if (as == WORD && first && is_text(first)) {
        add_text(w, v, first->as.s);
    } else if (as == MAPPING) {
        visit_mapping(w, first);
    } else if (as == SEQUENCE && first && first->kind >= TARE_PICKLE_LIST) {
        visit(w, first);
    } else if (as == OPAQUE || as == WORD) {
        visit_opaque(w, v);
    }
    if (!more) return;
    visit_pairs(w, &more->pairs);
    visit_list(w, v, &more->added);
    if (more->has_state) visit_state(w, &more->state, as != OPAQUE);
}

static void visit_object(walk *w, const tare_pickle_value *v) {
    tare_pickle_object *o = v->as.object;
    switch (v->kind) {
    case TARE_PICKLE_LIST:
    case TARE_PICKLE_TUPLE:
    case TARE_PICKLE_SET:
        visit_list(w, v, &o->items);
        return;
    case TARE_PICKLE_DICT:
        visit_pairs(w, &o->items);
        return;
    case TARE_PICKLE_GLOBAL:
        add_name(w, v, o, "", "");
        return;
    case TARE_PICKLE_CALL:
        visit_call(w, v);
        return;
    default:
        add_text(w, v, TARE_STR("<persistent>"));
    }
}

static void visit_value(walk *w, const tare_pickle_value *v) {
    tare_value value;
    if (is_text(v)) /* the pickle's memory is gone when the model is read */
        add_text(w, v, v->as.s);
    else if (plain_value(&value, v))
        add_key(w, v, value);
    else if (v->kind == TARE_PICKLE_LONG)
        add_long(w, v);
    else
        add_text(w, v, TARE_STR("None"));
}

/* What a tensor sets in itself: the last of the arguments by which a class of its own is rebuilt, or
 * set afterwards. */
static void visit_attributes(walk *w, const tare_pickle_value *v) {
    static const char *const with_state[] = {"_rebuild_parameter_with_state",
                                             "_rebuild_from_type_v2"};
    const tare_pickle_object *callee = tare_pickle_callee(v);
    const tare_pickle_value *state = tare_pickle_argument(v, 3);
    for (size_t i = 0; callee && state && i < 2; i++)
        if (tare_str_is(tare_pickle_name(callee), with_state[i])) visit_state(w, state, true);
    if (callee && v->as.object->more && v->as.object->more->has_state &&
        !tare_str_is(tare_pickle_name(callee), "_reconstruct"))
        visit_state(w, &v->as.object->more->state, true);
}

/* Whether v is a tensor, which has been added then, or an array that is none; a tensor whose parts
 * alone are read is no more. */
static bool visit_tensor(walk *w, const tare_pickle_value *v) {
    tare_strided_tensor t;
    const char *why;
    const tare_torch_kind kind = tare_torch_classify(&t, &why, w->f, v, w->err);
    if (kind == TARE_TORCH_OTHER) return false;
    if (kind == TARE_TORCH_TENSOR && count_copied(w, v, t.made ? t.span : 0)) add_tensor(w, v, &t);
    if (kind == TARE_TORCH_BROKEN) w->status = w->err ? w->err->status : TARE_ERR_CORRUPT;
    if (kind == TARE_TORCH_UNREAD || kind == TARE_TORCH_UNREAD_ARRAY) note_unread(w, v, why);
    if (kind == TARE_TORCH_UNREAD_ARRAY) add_name(w, v, tare_pickle_callee(v), "<", ">");
    return kind != TARE_TORCH_UNREAD;
}

/* What is in an object besides: items of an array of objects, attributes of a tensor. */
static void visit_inside(walk *w, const tare_pickle_value *v) {
    const tare_pickle_value *items = tare_torch_numpy_items(v);
    if (items) visit_list(w, items, &items->as.object->items);
    visit_attributes(w, v);
}

/* A scalar of NumPy, or the name of a type. */
static bool visit_scalar(walk *w, const tare_pickle_value *v) {
    tare_value value;
    if (!tare_torch_numpy_value(&value, w->f, v)) {
        if (w->f->lacks_memory) no_memory(w);
        return w->f->lacks_memory;
    }
    if (value.type == TARE_VALUE_STRING)
        add_text(w, v, value.as.s);
    else
        add_key(w, v, value);
    return true;
}

static void visit(walk *w, const tare_pickle_value *v) {
    if (w->status != TARE_OK) return;
    if (w->path.failed) no_memory(w);
    if (++w->visits > w->most)
        fail_at(w, v, TARE_ERR_LIMIT, "pickle: its values contain one another too often");
    if (w->depth == DEPTH_MOST) fail_at(w, v, TARE_ERR_LIMIT, "pickle: depth of its values");
    if (w->status != TARE_OK) return;
    if (v->kind < TARE_PICKLE_LIST) {
        visit_value(w, v);
        return;
    }
    if (v->as.object->is_open) return; /* it contains itself */
    v->as.object->is_open = true;
    w->depth++;
    if (visit_tensor(w, v))
        visit_inside(w, v);
    else if (!visit_scalar(w, v))
        visit_object(w, v);
    w->depth--;
    v->as.object->is_open = false;
}

/* ---- the whole ------------------------------------------------------------------------------- */

tare_status tare_torch_walk(tare_torch_file *f, const char *within, tare_error *err) {
    walk w = {.f = f,
              .n_keys = within != NULL,
              .may_wrap = !within,
              .most = 8 * f->pickle.n_values + 65536,
              .err = err};
    tare_buffer_init(&w.path, f->m->allocator);
    if (within) tare_buffer_put_text(&w.path, within);
    visit(&w, &f->pickle.root);
    tare_buffer_free(&w.path);
    return w.status;
}
