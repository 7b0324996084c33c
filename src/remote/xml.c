/* SPDX-License-Identifier: MIT
 *
 * A reader of the part of XML 1.0 that answers of object stores are made of. */
#include "remote/xml.h"

void tare_xml_init(tare_xml *x, tare_str text) {
    *x = (tare_xml){.all = text};
}

static tare_xml_event fault(tare_xml *x, const char *what) {
    x->what = what;
    return TARE_XML_FAULT;
}

static tare_str rest_of(const tare_xml *x) {
    return tare_str_cut(x->all, x->pos);
}

/* Moves behind the next `mark`; false: there is none. */
static bool pass(tare_xml *x, tare_str mark) {
    for (tare_str rest = rest_of(x); rest.len >= mark.len; rest = rest_of(x)) {
        if (tare_str_starts(rest, mark)) {
            x->pos += mark.len;
            return true;
        }
        x->pos++;
    }
    return false;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-.:", c)) || (unsigned char)c >= 0x80;
}

static tare_str take_name(tare_xml *x) {
    const size_t from = x->pos;
    while (x->pos < x->all.len && is_of_name(x->all.ptr[x->pos])) x->pos++;
    return (tare_str){x->all.ptr + from, x->pos - from};
}

/* Moves behind the '>' of a tag, past its attributes; false: there is none. */
static bool pass_attributes(tare_xml *x) {
    char quote = 0;
    for (; x->pos < x->all.len; x->pos++) {
        const char c = x->all.ptr[x->pos];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '<') {
            return false;
        } else if (c == '>') {
            x->is_empty = x->all.ptr[x->pos - 1] == '/';
            x->pos++;
            return true;
        }
    }
    return false;
}

static tare_xml_event begin_element(tare_xml *x) {
    if (x->depth == 0 && x->has_root) return fault(x, "XML: one element expected");
    x->pos++;
    x->name = take_name(x);
    if (x->name.len == 0) return fault(x, "XML: the name of an element expected");
    if (x->depth == TARE_XML_DEPTH) return fault(x, "XML: deeper than an answer of a store");
    if (!pass_attributes(x)) return fault(x, "XML: the end of a tag expected");
    x->open[x->depth++] = x->name;
    x->has_root = true;
    return TARE_XML_BEGIN;
}

static tare_xml_event end_element(tare_xml *x) {
    x->pos += 2;
    x->name = take_name(x);
    while (x->pos < x->all.len && is_space(x->all.ptr[x->pos])) x->pos++;
    if (x->pos == x->all.len || x->all.ptr[x->pos] != '>')
        return fault(x, "XML: the end of a tag expected");
    x->pos++;
    if (x->depth == 0 || !tare_str_equal(x->name, x->open[x->depth - 1]))
        return fault(x, "XML: the end of the open element expected");
    x->depth--;
    return TARE_XML_END;
}

tare_xml_event tare_xml_next(tare_xml *x) {
    if (x->what) return TARE_XML_FAULT;
    x->text = (tare_str){x->all.ptr + x->pos, 0};
    if (x->is_empty) {
        x->is_empty = false;
        x->name = x->open[--x->depth];
        return TARE_XML_END;
    }
    for (;;) {
        const size_t from = x->pos;
        while (x->pos < x->all.len && x->all.ptr[x->pos] != '<') x->pos++;
        x->text = (tare_str){x->all.ptr + from, x->pos - from};
        if (x->depth == 0)
            for (size_t i = 0; i < x->text.len; i++)
                if (!is_space(x->text.ptr[i])) return fault(x, "XML: an element expected");
        const tare_str rest = rest_of(x);
        if (rest.len == 0)
            return x->depth || !x->has_root ? fault(x, "XML: incomplete") : TARE_XML_DONE;
        if (tare_str_starts(rest, TARE_STR("</"))) return end_element(x);
        const bool is_comment = tare_str_starts(rest, TARE_STR("<!--"));
        if (!is_comment && !tare_str_starts(rest, TARE_STR("<?"))) return begin_element(x);
        if (!pass(x, is_comment ? TARE_STR("-->") : TARE_STR("?>")))
            return fault(x, "XML: incomplete");
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The character that "&NAME;" at the beginning of a text stands for, and how long that is; 0: none. */
static uint32_t entity(tare_str text, size_t *length) {
    static const struct {
        const char *name;
        uint32_t c;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        *length = strlen(named[i].name);
        if (tare_str_starts(text, tare_str_of(named[i].name))) return named[i].c;
    }
    if (!tare_str_starts(text, TARE_STR("&#"))) return 0;
    const bool is_hex = text.len > 2 && text.ptr[2] == 'x';
    uint32_t c = 0;
    for (*length = is_hex ? 3 : 2; *length < text.len && *length < 12; ++*length) {
        const char d = text.ptr[*length];
        if (d == ';') {
            ++*length;
            return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? c : 0;
        }
        const bool is_letter = (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
        if (!(d >= '0' && d <= '9') && !(is_hex && is_letter)) return 0;
        c = c * (is_hex ? 16 : 10) + (uint32_t)(is_letter ? (d | 32) - 'a' + 10 : d - '0');
        if (c > 0x10ffff) return 0;
    }
    return 0;
}

bool tare_xml_unescape(tare_buffer *out, tare_str text) {
    while (text.len) {
        size_t n = 1;
        if (text.ptr[0] == '&') {
            const uint32_t c = entity(text, &n);
            char bytes[4];
            if (c == 0) return false;
            tare_buffer_put(out, bytes, tare_utf8_put(bytes, c));
        } else {
            tare_buffer_put_u8(out, (uint8_t)text.ptr[0]);
        }
        text = tare_str_cut(text, n);
    }
    return true;
}

bool tare_xml_text(tare_str *out, tare_str text, tare_arena *arena) {
    tare_buffer plain;
    tare_buffer_init(&plain, NULL);
    const bool is_good = tare_xml_unescape(&plain, text);
    *out = plain.failed ? (tare_str){NULL, 0}
                        : tare_arena_str(arena, (tare_str){(const char *)plain.data, plain.size});
    tare_buffer_free(&plain);
    return is_good;
}

bool tare_xml_number(uint64_t *out, tare_str text) {
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || i == 18) return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

tare_str tare_xml_find(tare_str all, const char *name) {
    tare_xml x;
    tare_xml_init(&x, all);
    for (tare_xml_event e; (e = tare_xml_next(&x)) != TARE_XML_DONE && e != TARE_XML_FAULT;)
        if (e == TARE_XML_END && tare_str_is(x.name, name)) return x.text;
    return TARE_STR("");
}
