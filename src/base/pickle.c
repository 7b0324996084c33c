/* SPDX-License-Identifier: MIT
 *
 * The pickle machine: a stack of values, marks in it, a memo, and a function for each opcode. An
 * opcode makes at most one value, so that what a pickle makes is bounded by its bytes; what is found
 * again by the memo is the same object, not a copy. */
#include "base/pickle.h"

#include <math.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"

/* 256 MiB of stack at most; the directory of 300,000 tensors is smaller. */
#define VALUES_MOST (UINT64_C(1) << 23)
#define MEMO_SPARE  65536 /* numbers that nothing was put under: 2 MiB */

typedef struct machine {
    tare_cursor c;
    tare_arena *arena;
    tare_pickle *out;
    tare_pickle_list stack, globals, persistents, calls; /* of the allocator */
    size_t *marks;                                       /* positions in the stack */
    size_t n_marks, marks_capacity;
    tare_pickle_value *memo;
    bool *is_set;
    size_t n_memo, memo_capacity, set_capacity;
    uint64_t at; /* of the opcode */
    bool is_over;
} machine;

static void fail(machine *p, tare_status status, const char *what) {
    tare_cursor_fail(&p->c, status, p->at, what);
}

static void no_memory(machine *p) {
    fail(p, TARE_ERR_NOMEM, "pickle");
}

/* ---- the stack ------------------------------------------------------------------------------- */

/* Values above the last mark, which is as far down as opcodes but those that take it may reach. */
static size_t height(const machine *p) {
    return p->stack.n - (p->n_marks ? p->marks[p->n_marks - 1] : 0);
}

static void grow(machine *p, tare_pickle_list *list, tare_pickle_value v) {
    void *items = list->items;
    if (!tare_cursor_ok(&p->c)) return;
    if (!tare_grow(p->arena->allocator, &items, &list->capacity, list->n + 1, sizeof v)) {
        no_memory(p);
        return;
    }
    list->items = items;
    list->items[list->n++] = v;
}

static bool count_value(machine *p) {
    if (tare_cursor_ok(&p->c) && ++p->out->n_values > VALUES_MOST)
        fail(p, TARE_ERR_LIMIT, "pickle: more than 8,388,608 values");
    return tare_cursor_ok(&p->c);
}

static void push(machine *p, tare_pickle_value v) {
    if (count_value(p)) grow(p, &p->stack, v);
}

static tare_pickle_value pop(machine *p) {
    if (height(p) > 0) return p->stack.items[--p->stack.n];
    fail(p, TARE_ERR_CORRUPT, "pickle: the stack is empty");
    return (tare_pickle_value){.kind = TARE_PICKLE_NONE};
}

/* The object on top, which stays there; NULL, with a failure: there is none. */
static tare_pickle_value *top(machine *p) {
    if (height(p) > 0) return &p->stack.items[p->stack.n - 1];
    fail(p, TARE_ERR_CORRUPT, "pickle: the stack is empty");
    return NULL;
}

static void push_mark(machine *p, int arg) {
    void *marks = p->marks;
    (void)arg;
    if (!count_value(p)) return;
    if (!tare_grow(p->arena->allocator, &marks, &p->marks_capacity, p->n_marks + 1,
                   sizeof *p->marks)) {
        no_memory(p);
        return;
    }
    p->marks = marks;
    p->marks[p->n_marks++] = p->stack.n;
}

/* Takes the last mark and what is above it, which stays in the stack's memory until the next push.
 */
static tare_pickle_list pop_mark(machine *p) {
    if (p->n_marks == 0) {
        fail(p, TARE_ERR_CORRUPT, "pickle: no mark is set");
        return (tare_pickle_list){NULL, 0, 0};
    }
    const size_t from = p->marks[--p->n_marks];
    const tare_pickle_list above = {p->stack.items ? p->stack.items + from : NULL,
                                    p->stack.n - from, 0};
    p->stack.n = from;
    return above;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool append(machine *p, tare_pickle_list *list, const tare_pickle_value *values, size_t n) {
    if (!tare_cursor_ok(&p->c)) return false;
    if (list->n + n > list->capacity) {
        const size_t least = list->n + n, twice = 2 * list->capacity;
        const size_t capacity = least > twice ? least : twice;
        tare_pickle_value *items = TARE_NEW_ARRAY(p->arena, tare_pickle_value, capacity);
        if (!items) no_memory(p);
        if (!items) return false;
        if (list->n) memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    if (n) memcpy(list->items + list->n, values, n * sizeof *values);
    list->n += n;
    return true;
}

static tare_pickle_value make(machine *p, tare_pickle_kind kind, const tare_pickle_value *items,
                              size_t n) {
    tare_pickle_value v = {.kind = kind, .offset = p->at};
    v.as.object = TARE_NEW(p->arena, tare_pickle_object);
    if (!v.as.object)
        no_memory(p);
    else
        append(p, &v.as.object->items, items, n);
    return v;
}

static void push_object(machine *p, tare_pickle_kind kind, const tare_pickle_value *items,
                        size_t n) {
    push(p, make(p, kind, items, n));
}

/* What a CALL, or a GLOBAL, got after it was made; NULL: v is neither, or memory is out. */
static tare_pickle_more *more_of(machine *p, const tare_pickle_value *v) {
    if (v->kind != TARE_PICKLE_CALL && v->kind != TARE_PICKLE_GLOBAL) {
        fail(p, TARE_ERR_CORRUPT, "pickle: items are given to a value that holds none");
        return NULL;
    }
    tare_pickle_object *o = v->as.object;
    o->is_called = true;
    if (!o->more) o->more = TARE_NEW(p->arena, tare_pickle_more);
    if (!o->more) no_memory(p);
    return o->more;
}

static void make_empty(machine *p, int kind) {
    push_object(p, (tare_pickle_kind)kind, NULL, 0);
}

/* Of what is above the mark. */
static void make_marked(machine *p, int kind) {
    const tare_pickle_list items = pop_mark(p);
    if (kind == TARE_PICKLE_DICT && items.n % 2)
        fail(p, TARE_ERR_CORRUPT, "pickle: a key without a value");
    push_object(p, (tare_pickle_kind)kind, items.items, items.n);
}

static void make_tuple(machine *p, int n) {
    tare_pickle_value items[3];
    for (int i = n; i-- > 0;) items[i] = pop(p);
    push_object(p, TARE_PICKLE_TUPLE, items, (size_t)n);
}

static void add_items(machine *p, const tare_pickle_value *items, size_t n) {
    tare_pickle_value *to = top(p);
    if (!to || !tare_cursor_ok(&p->c)) return;
    if (to->kind == TARE_PICKLE_LIST || to->kind == TARE_PICKLE_SET) {
        append(p, &to->as.object->items, items, n);
        return;
    }
    tare_pickle_more *more = more_of(p, to);
    if (more) append(p, &more->added, items, n);
}

static void append_one(machine *p, int arg) {
    (void)arg;
    const tare_pickle_value v = pop(p);
    add_items(p, &v, 1);
}

static void append_marked(machine *p, int arg) {
    (void)arg;
    const tare_pickle_list items = pop_mark(p);
    add_items(p, items.items, items.n);
}

static void set_pairs(machine *p, const tare_pickle_value *pairs, size_t n) {
    tare_pickle_value *to = top(p);
    if (!to || !tare_cursor_ok(&p->c)) return;
    if (n % 2) {
        fail(p, TARE_ERR_CORRUPT, "pickle: a key without a value");
    } else if (to->kind == TARE_PICKLE_DICT) {
        append(p, &to->as.object->items, pairs, n);
    } else {
        tare_pickle_more *more = more_of(p, to);
        if (more) append(p, &more->pairs, pairs, n);
    }
}

static void set_one(machine *p, int arg) {
    tare_pickle_value pair[2];
    (void)arg;
    pair[1] = pop(p);
    pair[0] = pop(p);
    set_pairs(p, pair, 2);
}

static void set_marked(machine *p, int arg) {
    (void)arg;
    const tare_pickle_list pairs = pop_mark(p);
    set_pairs(p, pairs.items, pairs.n);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* items: what is called, then its arguments. */
static void push_call(machine *p, const tare_pickle_value *items, size_t n) {
    const bool is_known = tare_cursor_ok(&p->c) && items[0].kind == TARE_PICKLE_GLOBAL;
    const tare_pickle_value v = make(p, TARE_PICKLE_CALL, items, n);
    if (is_known) {
        items[0].as.object->is_called = true;
        grow(p, &p->calls, v);
    }
    push(p, v);
}

static void push_global(machine *p, tare_pickle_value module, tare_pickle_value name) {
    const tare_pickle_value items[2] = {module, name};
    const tare_pickle_value v = make(p, TARE_PICKLE_GLOBAL, items, 2);
    grow(p, &p->globals, v);
    push(p, v);
}

/* getattr(CLASS, "NAME"), which some versions of Python make of the members of enumerations, is what newer
 * protocols call CLASS.NAME. False: it is something else. */
static bool push_attribute(machine *p, const tare_pickle_value *items) {
    const tare_pickle_value *of = tare_pickle_item(&items[1], 0);
    const tare_pickle_value *what = tare_pickle_item(&items[1], 1);
    if ((!tare_pickle_is_global(&items[0], "builtins", "getattr") &&
         !tare_pickle_is_global(&items[0], "__builtin__", "getattr")) ||
        !what || what->kind != TARE_PICKLE_TEXT || of->kind != TARE_PICKLE_GLOBAL ||
        tare_pickle_item(&items[1], 2))
        return false;
    const tare_str first = tare_pickle_name(of->as.object), second = what->as.s;
    char *text = tare_arena_take(p->arena, first.len + second.len + 1);
    if (!text) {
        no_memory(p);
        return true;
    }
    memcpy(text, first.ptr, first.len);
    text[first.len] = '.';
    memcpy(text + first.len + 1, second.ptr, second.len);
    items[0].as.object->is_getattr = true;
    tare_pickle_value name = *what;
    name.as.s = (tare_str){text, first.len + second.len + 1};
    push_global(p, of->as.object->items.items[0], name);
    return true;
}

/* REDUCE, NEWOBJ, NEWOBJ_EX: n values. */
static void call(machine *p, int n) {
    tare_pickle_value items[3];
    for (int i = n; i-- > 0;) items[i] = pop(p);
    if (n == 2 && tare_cursor_ok(&p->c) && push_attribute(p, items)) return;
    push_call(p, items, (size_t)n);
}

static void build(machine *p, int arg) {
    (void)arg;
    const tare_pickle_value state = pop(p);
    tare_pickle_value *to = top(p);
    tare_pickle_more *more = to && tare_cursor_ok(&p->c) ? more_of(p, to) : NULL;
    if (!more) return;
    more->state = state;
    more->has_state = true;
}

/* ---- numbers and texts ----------------------------------------------------------------------- */

/* Up to the end of the line, which is taken too. */
static tare_str take_line(machine *p) {
    const char *from = (const char *)p->c.pos;
    const char *end = memchr(from, '\n', (size_t)tare_cursor_left(&p->c));
    if (!end) {
        tare_cursor_take(&p->c, tare_cursor_left(&p->c) + 1, "pickle: a line without an end");
        return (tare_str){"", 0};
    }
    tare_cursor_take(&p->c, (uint64_t)(end - from) + 1, "pickle: line");
    return (tare_str){from, (size_t)(end - from)};
}

static tare_pickle_value text_value(machine *p, tare_pickle_kind kind, tare_str text) {
    return (tare_pickle_value){.kind = kind, .offset = p->at, .as.s = text};
}

static void push_int(machine *p, int64_t i) {
    push(p, (tare_pickle_value){.kind = TARE_PICKLE_INT, .offset = p->at, .as.i = i});
}

/* A little-endian number of n bytes, which are there. */
static uint64_t load(const uint8_t *bytes, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | bytes[i];
    return v;
}

static uint64_t take_number(machine *p, size_t n) {
    const uint8_t *bytes = tare_cursor_take(&p->c, n, "pickle: number");
    return bytes ? load(bytes, n) : 0;
}

static void push_unsigned(machine *p, int n) {
    push_int(p, (int64_t)take_number(p, (size_t)n));
}

static void push_int32(machine *p, int arg) {
    (void)arg;
    push_int(p, (int32_t)(uint32_t)take_number(p, 4));
}

/* Bytes whose number comes before them, in `width` bytes. */
static tare_str take_counted(machine *p, int width) {
    const uint64_t n = take_number(p, (size_t)width);
    const uint8_t *bytes = tare_cursor_take(&p->c, n, "pickle: bytes");
    return bytes ? (tare_str){(const char *)bytes, (size_t)n} : (tare_str){"", 0};
}

static void push_long(machine *p, int width) {
    const tare_str bytes = take_counted(p, width);
    if (bytes.len > 8) {
        push(p, text_value(p, TARE_PICKLE_LONG, bytes));
        return;
    }
    uint64_t v = load((const uint8_t *)bytes.ptr, bytes.len);
    const bool is_negative = bytes.len && (bytes.ptr[bytes.len - 1] & 0x80);
    if (is_negative && bytes.len < 8) v |= UINT64_MAX << (8 * bytes.len);
    push_int(p, (int64_t)v);
}

static void push_text(machine *p, int width) {
    push(p, text_value(p, TARE_PICKLE_TEXT, take_counted(p, width)));
}

static void push_bytes(machine *p, int width) {
    push(p, text_value(p, TARE_PICKLE_BYTES, take_counted(p, width)));
}

static void push_bool(machine *p, int value) {
    push(p, (tare_pickle_value){.kind = TARE_PICKLE_BOOL, .offset = p->at, .as.i = value});
}

static void push_none(machine *p, int arg) {
    (void)arg;
    push(p, (tare_pickle_value){.kind = TARE_PICKLE_NONE, .offset = p->at});
}

static void push_float(machine *p, int arg) {
    (void)arg;
    const uint8_t *bytes = tare_cursor_take(&p->c, 8, "pickle: number");
    tare_pickle_value v = {.kind = TARE_PICKLE_FLOAT, .offset = p->at};
    const uint64_t bits = bytes ? tare_load_u64(bytes, true) : 0;
    memcpy(&v.as.f, &bits, sizeof bits);
    push(p, v);
}

/* ---- protocol 0 ------------------------------------------------------------------------------ */

/* A number as JSON has it; false: the line is something else. */
static bool is_number(tare_json_value *out, tare_str line) {
    tare_json j;
    tare_json_init(&j, line, 0, 1);
    return tare_json_begin(&j, out) == TARE_JSON_NUMBER && tare_json_finish(&j) &&
           out->raw.len == line.len;
}

/* "12", "-12L"; "00" and "01" are False and True. */
static void push_decimal(machine *p, int arg) {
    (void)arg;
    tare_str line = take_line(p);
    if (tare_str_is(line, "00") || tare_str_is(line, "01")) {
        push_bool(p, line.ptr[1] == '1');
        return;
    }
    if (line.len && line.ptr[line.len - 1] == 'L') line.len--;
    tare_json_value number;
    int64_t i;
    if (is_number(&number, line) && tare_json_i64(&number, &i)) {
        push_int(p, i);
        return;
    }
    size_t k = line.len && line.ptr[0] == '-';
    const size_t first = k;
    while (k < line.len && line.ptr[k] >= '0' && line.ptr[k] <= '9') k++;
    if (k != line.len || k == first) fail(p, TARE_ERR_CORRUPT, "pickle: a number expected");
    push(p, text_value(p, TARE_PICKLE_LONG, line));
}

static void push_float_text(machine *p, int arg) {
    (void)arg;
    const tare_str line = take_line(p);
    tare_json_value number;
    tare_pickle_value v = {.kind = TARE_PICKLE_FLOAT, .offset = p->at};
    if (tare_str_is(line, "inf"))
        v.as.f = (double)INFINITY;
    else if (tare_str_is(line, "-inf"))
        v.as.f = -(double)INFINITY;
    else if (tare_str_is(line, "nan"))
        v.as.f = (double)NAN;
    else if (!is_number(&number, line) || !tare_json_f64(&number, &v.as.f))
        fail(p, TARE_ERR_CORRUPT, "pickle: a number expected");
    push(p, v);
}

/* Of n hexadecimal digits; false: they are not there. */
static bool hex(tare_str text, size_t n, uint32_t *out) {
    if (text.len < n) return false;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = text.ptr[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* What follows a backslash: how many characters were used, and the bytes that it stands for. */
static size_t unescape(tare_str rest, char *out, size_t *n, bool is_unicode) {
    uint32_t point = 0;
    const char kind = rest.len ? rest.ptr[0] : '\0';
    *n = 1;
    if (is_unicode) {
        const size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        out[0] = '\\';
        if (!digits || !hex(tare_str_cut(rest, 1), digits, &point) || point > 0x10ffff) return 0;
        *n = tare_utf8_put(out, point);
        return digits + 1;
    }
    static const char letters[] = "nrt\\'\"", values[] = "\n\r\t\\'\"";
    const char *letter = kind ? strchr(letters, kind) : NULL;
    if (letter) out[0] = values[letter - letters];
    if (letter) return 1;
    if (kind == 'x' && hex(tare_str_cut(rest, 1), 2, &point)) {
        out[0] = (char)point;
        return 3;
    }
    out[0] = '\\';
    return 0;
}

/* is_unicode: bytes are code points, \u and \U escape others; else Python's repr of a str. */
static tare_str unescaped(machine *p, tare_str text, bool is_unicode) {
    char *out = tare_arena_take(p->arena, 2 * text.len);
    size_t n = 0, put;
    if (!out) no_memory(p);
    if (!out) return (tare_str){"", 0};
    while (text.len) {
        const char c = text.ptr[0];
        text = tare_str_cut(text, 1);
        if (c == '\\') {
            text = tare_str_cut(text, unescape(text, out + n, &put, is_unicode));
            n += put;
        } else if (is_unicode) {
            n += tare_utf8_put(out + n, (uint8_t)c);
        } else {
            out[n++] = c;
        }
    }
    return (tare_str){out, n};
}

static void push_quoted(machine *p, int arg) {
    (void)arg;
    const tare_str line = take_line(p);
    if (line.len < 2 || line.ptr[0] != line.ptr[line.len - 1] || !strchr("'\"", line.ptr[0])) {
        fail(p, TARE_ERR_CORRUPT, "pickle: a text in quotes expected");
        return;
    }
    const tare_str inner = {line.ptr + 1, line.len - 2};
    push(p, text_value(p, TARE_PICKLE_BYTES, unescaped(p, inner, false)));
}

static void push_unicode(machine *p, int arg) {
    (void)arg;
    push(p, text_value(p, TARE_PICKLE_TEXT, unescaped(p, take_line(p), true)));
}

/* ---- what would be imported ------------------------------------------------------------------ */

static void global_lines(machine *p, int arg) {
    (void)arg;
    const tare_pickle_value module = text_value(p, TARE_PICKLE_TEXT, take_line(p));
    push_global(p, module, text_value(p, TARE_PICKLE_TEXT, take_line(p)));
}

static void global_stack(machine *p, int arg) {
    (void)arg;
    const tare_pickle_value name = pop(p), module = pop(p);
    if (name.kind != TARE_PICKLE_TEXT || module.kind != TARE_PICKLE_TEXT)
        fail(p, TARE_ERR_CORRUPT, "pickle: the name of an import is not a text");
    else
        push_global(p, module, name);
}

/* INST: names, then arguments above the mark. */
static void inst(machine *p, int arg) {
    (void)arg;
    const tare_pickle_list args = pop_mark(p);
    tare_pickle_value items[2] = {{.kind = TARE_PICKLE_NONE},
                                  make(p, TARE_PICKLE_TUPLE, args.items, args.n)};
    global_lines(p, 0);
    if (!tare_cursor_ok(&p->c)) return;
    items[0] = pop(p);
    push_call(p, items, 2);
}

/* OBJ: a class, then arguments, above the mark. */
static void obj(machine *p, int arg) {
    (void)arg;
    const tare_pickle_list all = pop_mark(p);
    if (!all.n) {
        fail(p, TARE_ERR_CORRUPT, "pickle: an object without a class");
        return;
    }
    const tare_pickle_value items[2] = {all.items[0],
                                        make(p, TARE_PICKLE_TUPLE, all.items + 1, all.n - 1)};
    push_call(p, items, 2);
}

static void extension(machine *p, int arg) {
    (void)arg;
    fail(p, TARE_ERR_UNSUPPORTED, "pickle: a number for something registered in another program");
}

static void persistent(machine *p, int is_line) {
    const tare_pickle_value id = is_line ? text_value(p, TARE_PICKLE_TEXT, take_line(p)) : pop(p);
    const tare_pickle_value v = make(p, TARE_PICKLE_PERSISTENT, &id, 1);
    grow(p, &p->persistents, v);
    push(p, v);
}

/* ---- the memo -------------------------------------------------------------------------------- */

static void put(machine *p, uint64_t i) {
    void *memo = p->memo, *is_set = p->is_set;
    const tare_pickle_value *v = top(p);
    const size_t known = p->n_memo, needed = (size_t)i + 1;
    if (!v || !tare_cursor_ok(&p->c)) return;
    if (i > MEMO_SPARE + 2 * p->out->n_values) { /* picklers count */
        fail(p, TARE_ERR_LIMIT, "pickle: number in the memo");
        return;
    }
    if (i >= known) {
        const tare_allocator *a = p->arena->allocator;
        if (!tare_grow(a, &memo, &p->memo_capacity, needed, sizeof *p->memo)) no_memory(p);
        p->memo = memo;
        if (!tare_grow(a, &is_set, &p->set_capacity, needed, sizeof *p->is_set)) no_memory(p);
        p->is_set = is_set;
        if (!tare_cursor_ok(&p->c)) return;
        memset(p->is_set + known, 0, needed - known);
        p->n_memo = needed;
    }
    p->memo[i] = *v;
    p->is_set[i] = true;
}

static void get(machine *p, uint64_t i) {
    if (i < p->n_memo && p->is_set[i])
        push(p, p->memo[i]);
    else
        fail(p, TARE_ERR_CORRUPT, "pickle: the memo has nothing under this number");
}

static uint64_t memo_number(machine *p, int width) {
    if (width) return take_number(p, (size_t)width);
    tare_json_value number;
    uint64_t i = 0;
    if (!is_number(&number, take_line(p)) || !tare_json_u64(&number, &i))
        fail(p, TARE_ERR_CORRUPT, "pickle: a number expected");
    return i;
}

static void memo_put(machine *p, int width) {
    put(p, memo_number(p, width));
}

static void memo_get(machine *p, int width) {
    const uint64_t i = memo_number(p, width);
    if (tare_cursor_ok(&p->c)) get(p, i);
}

static void memoize(machine *p, int arg) {
    (void)arg;
    put(p, p->n_memo);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void protocol(machine *p, int arg) {
    (void)arg;
    if (take_number(p, 1) > 5)
        fail(p, TARE_ERR_UNSUPPORTED, "pickle: its protocol is newer than 5");
}

/* A hint: the opcodes in it are read as any others. */
static void frame(machine *p, int arg) {
    (void)arg;
    const uint64_t n = take_number(p, 8);
    tare_cursor_fits(&p->c, n, 1, p->at, "pickle: bytes of a frame");
}

static void pop_one(machine *p, int arg) {
    (void)arg;
    if (height(p) == 0 && p->n_marks)
        p->n_marks--;
    else
        pop(p);
}

static void drop_marked(machine *p, int arg) {
    (void)arg;
    pop_mark(p);
}

static void dup(machine *p, int arg) {
    const tare_pickle_value *v = top(p);
    (void)arg;
    if (v) push(p, *v);
}

static void buffer(machine *p, int arg) {
    (void)arg;
    fail(p, TARE_ERR_UNSUPPORTED, "pickle: data that were stored outside of it");
}

static void stop(machine *p, int arg) {
    (void)arg;
    p->out->root = pop(p);
    p->is_over = true;
}

/* READONLY_BUFFER says something of the value on top, and changes none of it. */
static void nothing(machine *p, int arg) {
    (void)p, (void)arg;
}

typedef struct opcode {
    void (*run)(machine *p, int arg);
    int arg;
} opcode;

static const opcode opcodes[256] = {
    ['('] = {push_mark, 0},
    ['.'] = {stop, 0},
    ['0'] = {pop_one, 0},
    ['1'] = {drop_marked, 0},
    ['2'] = {dup, 0},
    ['F'] = {push_float_text, 0},
    ['I'] = {push_decimal, 0},
    ['J'] = {push_int32, 0},
    ['K'] = {push_unsigned, 1},
    ['L'] = {push_decimal, 0},
    ['M'] = {push_unsigned, 2},
    ['N'] = {push_none, 0},
    ['P'] = {persistent, true},
    ['Q'] = {persistent, false},
    ['R'] = {call, 2},
    ['S'] = {push_quoted, 0},
    ['T'] = {push_bytes, 4},
    ['U'] = {push_bytes, 1},
    ['V'] = {push_unicode, 0},
    ['X'] = {push_text, 4},
    ['a'] = {append_one, 0},
    ['b'] = {build, 0},
    ['c'] = {global_lines, 0},
    ['d'] = {make_marked, TARE_PICKLE_DICT},
    ['}'] = {make_empty, TARE_PICKLE_DICT},
    ['e'] = {append_marked, 0},
    ['g'] = {memo_get, 0},
    ['h'] = {memo_get, 1},
    ['i'] = {inst, 0},
    ['j'] = {memo_get, 4},
    ['l'] = {make_marked, TARE_PICKLE_LIST},
    [']'] = {make_empty, TARE_PICKLE_LIST},
    ['o'] = {obj, 0},
    ['p'] = {memo_put, 0},
    ['q'] = {memo_put, 1},
    ['r'] = {memo_put, 4},
    ['s'] = {set_one, 0},
    ['t'] = {make_marked, TARE_PICKLE_TUPLE},
    [')'] = {make_empty, TARE_PICKLE_TUPLE},
    ['u'] = {set_marked, 0},
    ['G'] = {push_float, 0},
    ['B'] = {push_bytes, 4},
    ['C'] = {push_bytes, 1},
    [0x80] = {protocol, 0},
    [0x81] = {call, 2},
    [0x82] = {extension, 0},
    [0x83] = {extension, 0},
    [0x84] = {extension, 0},
    [0x85] = {make_tuple, 1},
    [0x86] = {make_tuple, 2},
    [0x87] = {make_tuple, 3},
    [0x88] = {push_bool, true},
    [0x89] = {push_bool, false},
    [0x8a] = {push_long, 1},
    [0x8b] = {push_long, 4},
    [0x8c] = {push_text, 1},
    [0x8d] = {push_text, 8},
    [0x8e] = {push_bytes, 8},
    [0x8f] = {make_empty, TARE_PICKLE_SET},
    [0x90] = {append_marked, 0},
    [0x91] = {make_marked, TARE_PICKLE_SET},
    [0x92] = {call, 3},
    [0x93] = {global_stack, 0},
    [0x94] = {memoize, 0},
    [0x95] = {frame, 0},
    [0x96] = {push_bytes, 8},
    [0x97] = {buffer, 0},
    [0x98] = {nothing, 0},
};

static void step(machine *p) {
    p->at = tare_cursor_offset(&p->c);
    const uint8_t code = tare_cursor_u8(&p->c, "pickle: the end is missing");
    if (!tare_cursor_ok(&p->c)) return;
    if (opcodes[code].run)
        opcodes[code].run(p, opcodes[code].arg);
    else
        fail(p, TARE_ERR_CORRUPT, "pickle: not the number of an opcode");
}

/* A list moves to the arena, in which everything else is. */
static tare_pickle_value *keep(machine *p, tare_pickle_list *list, size_t *n) {
    tare_pickle_value *kept = TARE_NEW_ARRAY(p->arena, tare_pickle_value, list->n);
    if (!kept) no_memory(p);
    if (kept && list->n) memcpy(kept, list->items, list->n * sizeof *kept);
    *n = kept ? list->n : 0;
    tare_free(p->arena->allocator, list->items, list->capacity * sizeof *kept);
    return kept;
}

tare_status tare_pickle_read(tare_pickle *out, tare_str text, uint64_t offset, tare_arena *arena,
                             tare_error *err) {
    const tare_allocator *a = arena->allocator;
    machine p = {.arena = arena, .out = out};
    *out = (tare_pickle){.text = text, .start = offset};
    tare_cursor_init(&p.c, text.ptr, text.len, offset);
    while (!p.is_over && tare_cursor_ok(&p.c)) step(&p);
    out->end = tare_cursor_offset(&p.c);
    out->globals = keep(&p, &p.globals, &out->n_globals);
    out->persistents = keep(&p, &p.persistents, &out->n_persistents);
    out->calls = keep(&p, &p.calls, &out->n_calls);
    tare_free(a, p.stack.items, p.stack.capacity * sizeof *p.stack.items);
    tare_free(a, p.marks, p.marks_capacity * sizeof *p.marks);
    tare_free(a, p.memo, p.memo_capacity * sizeof *p.memo);
    tare_free(a, p.is_set, p.set_capacity * sizeof *p.is_set);
    return tare_cursor_status(&p.c, err);
}

/* ---- looking at values ----------------------------------------------------------------------- */

bool tare_pickle_is_global(const tare_pickle_value *v, const char *module, const char *name) {
    return v && v->kind == TARE_PICKLE_GLOBAL &&
           tare_str_is(tare_pickle_module(v->as.object), module) &&
           tare_str_is(tare_pickle_name(v->as.object), name);
}

const tare_pickle_object *tare_pickle_callee(const tare_pickle_value *v) {
    if (!v || v->kind != TARE_PICKLE_CALL) return NULL;
    const tare_pickle_value *callee = &v->as.object->items.items[0];
    return callee->kind == TARE_PICKLE_GLOBAL ? callee->as.object : NULL;
}

const tare_pickle_value *tare_pickle_item(const tare_pickle_value *v, size_t i) {
    if (!v || (v->kind != TARE_PICKLE_TUPLE && v->kind != TARE_PICKLE_LIST)) return NULL;
    const tare_pickle_list *items = &v->as.object->items;
    return i < items->n ? &items->items[i] : NULL;
}

const tare_pickle_value *tare_pickle_argument(const tare_pickle_value *v, size_t i) {
    if (!v || v->kind != TARE_PICKLE_CALL || v->as.object->items.n < 2) return NULL;
    return tare_pickle_item(&v->as.object->items.items[1], i);
}

const tare_pickle_value *tare_pickle_find(const tare_pickle_value *v, const char *key) {
    if (!v || v->kind != TARE_PICKLE_DICT) return NULL;
    const tare_pickle_list *pairs = &v->as.object->items;
    for (size_t i = 0; i + 1 < pairs->n; i += 2) {
        const tare_pickle_value *k = &pairs->items[i];
        if ((k->kind == TARE_PICKLE_TEXT || k->kind == TARE_PICKLE_BYTES) &&
            tare_str_is(k->as.s, key))
            return &pairs->items[i + 1];
    }
    return NULL;
}
