/* SPDX-License-Identifier: MIT
 *
 * The text of trees of JSON. Depth is that of our own documents, or of trees that were read, which the
 * reader bounds. */
#include <stdio.h>
#include <string.h>

#include "base/json_node.h"
#include "base/str.h"

typedef struct writer {
    const tare_json_style *style;
    tare_json_put put;
    void *ctx;
} writer;

static void put_str(const writer *w, tare_str text) {
    w->put(text.ptr, text.len, w->ctx);
}

static void put_text(const writer *w, const char *text) {
    w->put(text, strlen(text), w->ctx);
}

static void put_unit(const writer *w, unsigned unit) {
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", unit & 0xffff);
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

/* Characters that are to be ASCII are read of texts that are UTF-8, where there are such. */
static void put_string(const writer *w, tare_str text) {
    const bool is_utf8 = tare_str_is_utf8(text);
    size_t run = 0, used = 1; /* run: start of what is copied as it is */
    put_text(w, "\"");
    for (size_t i = 0; i < text.len; i += used) {
        const uint8_t *at = (const uint8_t *)text.ptr + i;
        const uint32_t c = is_utf8 ? read_character(at, &used) : *at < 0x80 ? *at : 0xfffd;
        const bool is_bad = !is_utf8 && *at >= 0x80;
        if (c >= 0x20 && c != '"' && c != '\\' && !is_bad && (c < 0x80 || !w->style->is_ascii))
            continue;
        put_str(w, (tare_str){text.ptr + run, i - run});
        if (is_bad && !w->style->is_ascii)
            put_text(w, "\xef\xbf\xbd");
        else
            put_escape(w, c);
        run = i + used;
    }
    put_str(w, (tare_str){text.ptr + run, text.len - run});
    put_text(w, "\"");
}

/* As C prints it, always with a point or an exponent; an exponent has no + and no zeros in front. */
static void put_real(const writer *w, double x) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", (int)w->style->max_digits, x);
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

static void put_number(const writer *w, tare_str text) {
    const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = text};
    double x;
    bool is_whole = true;
    for (size_t i = 0; i < text.len; i++)
        is_whole = is_whole && text.ptr[i] != '.' && text.ptr[i] != 'e' && text.ptr[i] != 'E';
    if (is_whole || !w->style->max_digits || !tare_json_f64(&v, &x))
        put_str(w, text);
    else
        put_real(w, x);
}

static void put_line(const writer *w, unsigned depth) {
    if (!w->style->indent) return;
    put_text(w, "\n");
    for (unsigned i = 0; i < depth * w->style->indent; i++) put_text(w, " ");
}

static void put_value(const writer *w, const tare_json_node *value, unsigned depth);

static void put_list(const writer *w, const tare_json_node *list, unsigned depth) {
    const bool is_object = list->type == TARE_JSON_OBJECT;
    put_text(w, is_object ? "{" : "[");
    for (const tare_json_node *c = list->child; c; c = c->next) {
        if (c != list->child) put_text(w, ",");
        put_line(w, depth + 1);
        if (is_object) {
            put_string(w, c->key);
            put_text(w, w->style->indent ? ": " : ":");
        }
        put_value(w, c, depth + 1);
    }
    if (list->n) put_line(w, depth);
    put_text(w, is_object ? "}" : "]");
}

static void put_value(const writer *w, const tare_json_node *value, unsigned depth) {
    switch (value->type) {
    case TARE_JSON_OBJECT:
    case TARE_JSON_ARRAY:
        put_list(w, value, depth);
        break;
    case TARE_JSON_STRING:
        put_string(w, value->text);
        break;
    case TARE_JSON_NUMBER:
        put_number(w, value->text);
        break;
    case TARE_JSON_TRUE:
        put_text(w, "true");
        break;
    case TARE_JSON_FALSE:
        put_text(w, "false");
        break;
    case TARE_JSON_END:
    case TARE_JSON_NULL:
        put_text(w, "null");
        break;
    }
}

void tare_json_write(const tare_json_node *value, const tare_json_style *style, tare_json_put put,
                     void *ctx) {
    const writer w = {style, put, ctx};
    put_value(&w, value, 0);
}

static void put_in_buffer(const char *bytes, size_t n, void *ctx) {
    tare_buffer_put(ctx, bytes, n);
}

void tare_json_put_tree(tare_buffer *b, const tare_json_node *node, const tare_json_style *style) {
    tare_json_write(node, style, put_in_buffer, b);
}

void tare_buffer_put_json(tare_buffer *b, tare_str text) {
    static const tare_json_style style = {.indent = 0};
    const writer w = {&style, put_in_buffer, b};
    put_string(&w, text);
}

/* ---- for programs ---------------------------------------------------------------------------- */

struct tare_json_document {
    tare_arena arena;
};

tare_json_document *tare_json_document_new(void) {
    tare_json_document *document = tare_alloc(NULL, sizeof *document);
    if (document) tare_arena_init(&document->arena, &tare_malloc_allocator);
    return document;
}

void tare_json_document_free(tare_json_document *document) {
    if (!document) return;
    tare_arena_free(&document->arena);
    tare_free(NULL, document, sizeof *document);
}

tare_json_node *tare_json_document_value(tare_json_document *document, tare_json_type type,
                                         tare_str text) {
    if (type == TARE_JSON_STRING || type == TARE_JSON_NUMBER) {
        text = tare_arena_str(&document->arena, text);
        if (!text.ptr) return NULL;
    }
    return tare_json_new(&document->arena, type, text);
}

bool tare_json_document_add(tare_json_document *document, tare_json_node *to, const char *key,
                            tare_json_node *value) {
    tare_str kept = {NULL, 0};
    if (key) {
        kept = tare_arena_str(&document->arena, tare_str_of(key));
        if (!kept.ptr) return false;
    }
    tare_json_add(to, kept, value);
    return true;
}
