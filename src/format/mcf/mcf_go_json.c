/* SPDX-License-Identifier: MIT
 *
 * tokenizer_config.json as the public packer of MCF writes it: read into a map and written again by
 * Go's encoding/json, with the text of chat_template.jinja where it has no template (docs/mcf.md,
 * "Packing as the public packer"). The effects on a text: no white space; keys sorted by their
 * bytes, of equal ones the last; numbers through f64, in their shortest form; `<`, `>`, `&` and two
 * line ends of Unicode escaped; invalid UTF-8 replaced. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

#define KEY "chat_template"

/* ---- strings --------------------------------------------------------------------------------- */

static void put_escape(tare_buffer *out, uint8_t c) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        tare_buffer_printf(out, "\\%c", to[at - from]);
    else
        tare_buffer_printf(out, "\\u%04x", c);
}

static bool is_line_end(const char *p, size_t n) {
    return n == 3 && memcmp(p, "\xe2\x80", 2) == 0 && (p[2] == '\xa8' || p[2] == '\xa9');
}

/* Each byte that is not UTF-8 becomes an escape. */
static void put_string(tare_buffer *out, tare_str text) {
    size_t run = 0, n;
    tare_buffer_put_u8(out, '"');
    for (size_t i = 0; i < text.len; i += n) {
        const char *p = text.ptr + i;
        uint8_t c = (uint8_t)*p;
        bool is_plain = c >= 0x20 && !strchr("\"\\<>&", c);
        n = c < 0x80 ? 1 : tare_utf8_sequence(p, text.len - i);
        if (n > 0 && is_plain && !is_line_end(p, n)) continue;
        tare_buffer_put(out, text.ptr + run, i - run);
        if (n == 0)
            tare_buffer_put_text(out, "\\ufffd");
        else if (n == 3)
            tare_buffer_put_text(out, p[2] == '\xa8' ? "\\u2028" : "\\u2029");
        else
            put_escape(out, c);
        n = n ? n : 1;
        run = i + n;
    }
    tare_buffer_put(out, text.ptr + run, text.len - run);
    tare_buffer_put_u8(out, '"');
}

/* White space as Unicode has it, of n bytes. */
static bool is_space(const char *p, size_t n) {
    static const char *const wide[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                       "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                       "\xe2\x81\x9f", "\xe3\x80\x80"};
    if (n == 1) return *p == ' ' || (*p >= '\t' && *p <= '\r');
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strlen(wide[i]) == n && memcmp(p, wide[i], n) == 0) return true;
    return n == 3 && memcmp(p, "\xe2\x80", 2) == 0 && (uint8_t)p[2] >= 0x80 &&
           (uint8_t)p[2] <= 0x8a;
}

static tare_str trimmed(tare_str s) {
    for (size_t n; s.len > 0; s = tare_str_cut(s, n)) {
        n = tare_utf8_sequence(s.ptr, s.len);
        if (!is_space(s.ptr, n)) break;
    }
    for (size_t n = 1; n <= s.len && n <= 4; n++) {
        const char *p = s.ptr + s.len - n;
        if (tare_utf8_sequence(p, n) != n || !is_space(p, n)) continue;
        s.len -= n;
        n = 0;
    }
    return s;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* 0.DIGITS * 10^point. */
typedef struct decimal {
    char digits[24];
    int n, point;
} decimal;

static double value_of(const decimal *d) {
    char text[48]; /* whole digits: a locale's decimal point does not matter */
    snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->point - d->n);
    return strtod(text, NULL);
}

/* x > 0 rounded to n digits. */
static decimal rounded(double x, int n) {
    char text[48];
    decimal d = {.n = 0};
    snprintf(text, sizeof text, "%.*e", n - 1, x);
    const char *p = text;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') d.digits[d.n++] = *p;
    d.point = atoi(p + 1) + 1;
    return d;
}

/* The next number of as many digits. */
static void step_up(decimal *d) {
    int i = d->n - 1;
    while (i >= 0 && d->digits[i] == '9') d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1';
    d->point++;
}

/* The fewest digits that read back as x. Above a power of two there is more room than below it:
 * there the nearest number of n digits may fail while the next one works. */
static decimal shortest(double x) {
    for (int n = 1; n < 17; n++) {
        decimal d = rounded(x, n);
        if (value_of(&d) == x) return d;
        step_up(&d);
        if (value_of(&d) == x) return d;
    }
    return rounded(x, 17);
}

/* With an exponent below 10^-6 and from 10^21 on. */
static void put_number(tare_buffer *out, double x) {
    if (signbit(x)) tare_buffer_put_u8(out, '-');
    x = fabs(x);
    if (x == 0) {
        tare_buffer_put_u8(out, '0');
        return;
    }
    decimal d = shortest(x);
    while (d.n > 1 && d.digits[d.n - 1] == '0') d.n--;
    if (x < 1e-6 || x >= 1e21) {
        tare_buffer_printf(out, "%c%s%.*se%+d", d.digits[0], d.n > 1 ? "." : "", d.n - 1,
                           d.digits + 1, d.point - 1);
        return;
    }
    if (d.point <= 0) tare_buffer_put_text(out, "0.");
    for (int i = d.point; i < 0; i++) tare_buffer_put_u8(out, '0');
    for (int i = 0; i < d.n || i < d.point; i++) {
        if (i == d.point && i > 0) tare_buffer_put_u8(out, '.');
        tare_buffer_put_u8(out, i < d.n ? (uint8_t)d.digits[i] : '0');
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A member of an open object: its value is written already. */
typedef struct member {
    tare_str key;
    size_t at, size; /* of the value, in the output */
} member;

typedef struct rewriter {
    tare_json j;
    tare_arena *arena; /* keys and texts */
    tare_buffer *out;
    tare_buffer members; /* of all open objects */
    tare_buffer sorted;  /* an object on its way into the order of its keys */
    tare_str chat;       /* the template; empty: there is none */
    bool has_template;   /* the outermost object has one that is no blank text */
    size_t n_members;    /* of the object closed last */
} rewriter;

static bool no_memory(rewriter *w) {
    return tare_json_fail(&w->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "JSON");
}

static bool put_value(rewriter *w, const tare_json_value *v);

static int by_key(const void *a, const void *b) {
    const member *x = a, *y = b;
    int order = tare_str_compare(x->key, y->key);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void push(rewriter *w, tare_str key, size_t at) {
    const member m = {key, at, w->out->size - at};
    tare_buffer_put(&w->members, &m, sizeof m);
}

/* Sorts the members from byte `first` of the list on; of equal keys the last one counts. Their
 * values are all that was written from `at` on. */
static bool close_object(rewriter *w, size_t first, size_t at) {
    if (w->members.failed || w->out->failed) return no_memory(w);
    size_t n = (w->members.size - first) / sizeof(member), n_put = 0;
    member *m = n ? (member *)(void *)(w->members.data + first) : NULL;
    if (n) qsort(m, n, sizeof *m, by_key);
    w->sorted.size = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && tare_str_equal(m[i].key, m[i + 1].key)) continue;
        tare_buffer_put_u8(&w->sorted, n_put++ ? ',' : '{');
        put_string(&w->sorted, m[i].key);
        tare_buffer_put_u8(&w->sorted, ':');
        tare_buffer_put(&w->sorted, w->out->data + m[i].at, m[i].size);
    }
    tare_buffer_put_text(&w->sorted, n_put ? "}" : "{}");
    w->members.size = first;
    w->n_members = n_put;
    w->out->size = at;
    tare_buffer_put(w->out, w->sorted.data, w->sorted.size);
    return !(w->sorted.failed || w->out->failed) || no_memory(w);
}

static bool is_blank(rewriter *w, const tare_json_value *v) {
    return v->type != TARE_JSON_STRING || trimmed(tare_json_text(v, w->arena)).len == 0;
}

static bool put_object(rewriter *w) {
    bool is_outermost = w->j.depth == 1;
    size_t first = w->members.size, at = w->out->size;
    tare_json_value key, v;
    while (tare_json_key(&w->j, &key) == TARE_JSON_STRING) {
        tare_str text = tare_json_text(&key, w->arena);
        size_t from = w->out->size;
        if (!text.ptr) return no_memory(w);
        tare_json_next(&w->j, &v);
        if (is_outermost && tare_str_is(text, KEY)) w->has_template = !is_blank(w, &v);
        if (!put_value(w, &v)) return false;
        push(w, text, from);
    }
    if (tare_json_status(&w->j, NULL) != TARE_OK) return false;
    if (is_outermost && w->chat.len && !w->has_template) {
        size_t from = w->out->size;
        put_string(w->out, w->chat);
        push(w, TARE_STR(KEY), from);
    }
    return close_object(w, first, at);
}

static bool put_array(rewriter *w) {
    tare_json_value v;
    char before = '[';
    while (tare_json_next(&w->j, &v) != TARE_JSON_END) {
        tare_buffer_put_u8(w->out, (uint8_t)before);
        before = ',';
        if (!put_value(w, &v)) return false;
    }
    tare_buffer_put_text(w->out, before == '[' ? "[]" : "]");
    return tare_json_status(&w->j, NULL) == TARE_OK;
}

static bool put_value(rewriter *w, const tare_json_value *v) {
    tare_str text;
    double number;
    switch (v->type) {
    case TARE_JSON_OBJECT:
        return put_object(w);
    case TARE_JSON_ARRAY:
        return put_array(w);
    case TARE_JSON_STRING:
        text = tare_json_text(v, w->arena);
        if (!text.ptr) return no_memory(w);
        put_string(w->out, text);
        return true;
    case TARE_JSON_NUMBER:
        if (!tare_json_f64(v, &number))
            return tare_json_fail(&w->j, TARE_ERR_CORRUPT, v->offset,
                                  "a number out of range for f64");
        put_number(w->out, number);
        return true;
    case TARE_JSON_END:
        return false;
    default:
        tare_buffer_put_str(w->out, v->raw);
        return true;
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

/* The unit of an escape whose backslash is at p; 0: it is none. */
static unsigned unit_of(const char *p, const char *end) {
    uint8_t unit[2];
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !tare_unhex(unit, p + 2, 2)) return 0;
    return (unsigned)unit[0] << 8 | unit[1];
}

/* Go accepts what base/json.h rejects: bytes that are not UTF-8 and halves of surrogate pairs. Each
 * is replaced by the character that Go substitutes. */
static void repair(tare_buffer *out, tare_str text) {
    const char *end = text.ptr + text.len;
    size_t n;
    for (const char *p = text.ptr; p < end; p += n) {
        unsigned unit = unit_of(p, end), next = unit_of(end - p < 6 ? end : p + 6, end);
        bool is_pair = unit >> 10 == 0xD800 >> 10 && next >> 10 == 0xDC00 >> 10;
        n = is_pair ? 12 : unit ? 6 : *p == '\\' ? 2 : tare_utf8_sequence(p, (size_t)(end - p));
        if (n > (size_t)(end - p)) n = 1;
        if (n == 0) {
            tare_buffer_put_text(out, "\xef\xbf\xbd");
            n = 1;
        } else if (unit >> 11 == 0xD800 >> 11 && !is_pair) {
            tare_buffer_put_text(out, "\\ufffd");
        } else {
            tare_buffer_put(out, p, n);
        }
    }
}

/* null stays what it is; the public packer, too, cannot add a template to it. */
static void rewrite(rewriter *w) {
    tare_json_value root;
    tare_json_type type = tare_json_begin(&w->j, &root);
    if (type == TARE_JSON_OBJECT)
        put_object(w);
    else if (type != TARE_JSON_END && (type != TARE_JSON_NULL || w->chat.len))
        tare_json_fail(&w->j, TARE_ERR_CORRUPT, root.offset, "an object was expected");
    if (w->j.err.status == TARE_OK) tare_json_finish(&w->j);
    if (w->n_members == 0) w->out->size = 0;
}

tare_status tare_mcf_merge_template(tare_buffer *out, tare_str config, tare_str chat,
                                    tare_arena *arena, tare_error *err) {
    rewriter w = {.arena = arena, .out = out, .chat = trimmed(chat)};
    tare_buffer text;
    if (config.len == 0 && w.chat.len == 0) return TARE_OK;
    tare_buffer_init(&text, out->allocator);
    tare_buffer_init(&w.members, out->allocator);
    tare_buffer_init(&w.sorted, out->allocator);
    repair(&text, config.len ? config : TARE_STR("{}"));
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK) {
        tare_json_init(&w.j, (tare_str){(const char *)text.data, text.size}, 0,
                       TARE_JSON_MAX_DEPTH);
        rewrite(&w);
        status = tare_json_status(&w.j, err);
    }
    tare_buffer_free(&text);
    tare_buffer_free(&w.members);
    tare_buffer_free(&w.sorted);
    return status;
}
