/* SPDX-License-Identifier: MIT
 *
 * A value is one of JSON's six kinds; members of an object stay in the order in which they came, and
 * who builds one gives each key once. Depth is that of our own documents. */
#include "json_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { WORD, INTEGER, REAL, STRING, ARRAY, OBJECT } kind;

typedef struct entry {
    char *key; /* of a member of an object */
    json_t *value;
} entry;

struct json_t {
    kind kind;
    union {
        json_word word;
        int64_t integer;
        double real;
        struct {
            char *bytes;
            size_t n;
        } string;
        struct {
            entry *items;
            size_t n, capacity;
        } list;
    } as;
};

/* ---- building -------------------------------------------------------------------------------- */

static json_t *make(kind k) {
    json_t *value = cli_alloc(1, sizeof *value);
    memset(value, 0, sizeof *value);
    value->kind = k;
    return value;
}

json_t *cli_json_word(json_word word) {
    json_t *value = make(WORD);
    value->as.word = word;
    return value;
}

json_t *cli_json_integer(int64_t n) {
    json_t *value = make(INTEGER);
    value->as.integer = n;
    return value;
}

json_t *cli_json_finite(double x) {
    json_t *value = make(REAL);
    value->as.real = x;
    return value;
}

json_t *cli_json_string(tare_str utf8) {
    json_t *value = make(STRING);
    value->as.string.bytes = cli_copy(utf8.ptr ? utf8.ptr : "", utf8.len);
    value->as.string.n = utf8.len;
    return value;
}

json_t *cli_json_object(void) {
    return make(OBJECT);
}

json_t *cli_json_array(void) {
    return make(ARRAY);
}

static void add(json_t *to, char *key, json_t *value) {
    if (to->as.list.n == to->as.list.capacity) {
        to->as.list.capacity = 2 * to->as.list.capacity + 8;
        to->as.list.items =
            cli_grow(to->as.list.items, to->as.list.capacity, sizeof *to->as.list.items);
    }
    to->as.list.items[to->as.list.n++] = (entry){key, value};
}

void cli_json_add(json_t *object, const char *key, json_t *value) {
    add(object, cli_copy(key, strlen(key)), value);
}

void cli_json_append(json_t *array, json_t *value) {
    add(array, NULL, value);
}

void cli_json_free(json_t *value) {
    if (!value) return;
    if (value->kind == STRING) free(value->as.string.bytes);
    if (value->kind >= ARRAY) {
        for (size_t i = 0; i < value->as.list.n; i++) {
            free(value->as.list.items[i].key);
            cli_json_free(value->as.list.items[i].value);
        }
        free(value->as.list.items);
    }
    free(value);
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct writer {
    const json_style *style;
    json_put put;
    void *ctx;
} writer;

static void put_text(const writer *w, const char *text) {
    w->put(text, strlen(text), w->ctx);
}

static void put_unit(const writer *w, unsigned unit) {
    char text[8];
    snprintf(text, sizeof text, "\\u%04X", unit & 0xffff);
    put_text(w, text);
}

/* The character at p, of UTF-8 that is right, and its bytes. */
static uint32_t read_character(const uint8_t *p, size_t *n) {
    *n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = *n == 1 ? p[0] : p[0] & (0x7fu >> *n);
    for (size_t i = 1; i < *n; i++) c = c << 6 | (p[i] & 0x3fu);
    return c;
}

static void put_escape(const writer *w, uint32_t c) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;
    if (at) {
        const char escape[] = {'\\', to[at - from]};
        w->put(escape, sizeof escape, w->ctx);
    } else if (c < 0x10000) {
        put_unit(w, c);
    } else {
        put_unit(w, 0xd800 + ((c - 0x10000) >> 10));
        put_unit(w, 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
}

static void put_string(const writer *w, const char *bytes, size_t n) {
    size_t run = 0, used; /* run: start of what is copied as it is */
    put_text(w, "\"");
    for (size_t i = 0; i < n; i += used) {
        const uint32_t c = read_character((const uint8_t *)bytes + i, &used);
        if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x80 || !w->style->is_ascii)) continue;
        w->put(bytes + run, i - run, w->ctx);
        put_escape(w, c);
        run = i + used;
    }
    w->put(bytes + run, n - run, w->ctx);
    put_text(w, "\"");
}

/* As C prints it, always with a point or an exponent; an exponent has no + and no zeros in front. */
static void put_real(const writer *w, double x) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", w->style->digits, x);
    char *e = strchr(text, 'e');
    if (!e) {
        put_text(w, text);
        if (!strchr(text, '.')) put_text(w, ".0");
        return;
    }
    char *digits = e + 1 + (e[1] == '-' || e[1] == '+'), *to = e + 1 + (e[1] == '-');
    digits += strspn(digits, "0");
    memmove(to, digits, strlen(digits) + 1);
    put_text(w, text);
}

static void put_line(const writer *w, unsigned depth) {
    if (!w->style->indent) return;
    put_text(w, "\n");
    for (unsigned i = 0; i < depth * w->style->indent; i++) put_text(w, " ");
}

static void put_value(const writer *w, const json_t *value, unsigned depth);

static void put_list(const writer *w, const json_t *list, unsigned depth) {
    const bool is_object = list->kind == OBJECT;
    const size_t n = list->as.list.n;
    put_text(w, is_object ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        const entry *e = &list->as.list.items[i];
        if (i) put_text(w, ",");
        put_line(w, depth + 1);
        if (is_object) {
            put_string(w, e->key, strlen(e->key));
            put_text(w, w->style->indent ? ": " : ":");
        }
        put_value(w, e->value, depth + 1);
    }
    if (n) put_line(w, depth);
    put_text(w, is_object ? "}" : "]");
}

static void put_value(const writer *w, const json_t *value, unsigned depth) {
    static const char *const words[] = {"null", "false", "true"};
    char number[24];
    switch (value->kind) {
    case WORD:
        put_text(w, words[value->as.word]);
        break;
    case INTEGER:
        snprintf(number, sizeof number, "%" PRId64, value->as.integer);
        put_text(w, number);
        break;
    case REAL:
        put_real(w, value->as.real);
        break;
    case STRING:
        put_string(w, value->as.string.bytes, value->as.string.n);
        break;
    case ARRAY:
    case OBJECT:
        put_list(w, value, depth);
        break;
    }
}

void cli_json_write(const json_t *value, const json_style *style, json_put put, void *ctx) {
    const writer w = {style, put, ctx};
    put_value(&w, value, 0);
}
