/* SPDX-License-Identifier: MIT
 *
 * Scalars of YAML in one line. What has no closing quote, or an escape that YAML lacks, is taken as
 * it stands: a model card is no reason to fail. */
#include "llama/yaml_text.h"

#include "base/str.h"

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static tare_str trim(tare_str t) {
    while (t.len && is_blank(t.ptr[0])) t = tare_str_cut(t, 1);
    while (t.len && is_blank(t.ptr[t.len - 1])) t.len--;
    return t;
}

/* Bytes of a quoted text, both quotes included; 0: it has no end. */
static size_t quoted_length(tare_str t) {
    const char quote = t.ptr[0];
    for (size_t i = 1; i < t.len; i++) {
        if (quote == '"' && t.ptr[i] == '\\') {
            i++;
        } else if (t.ptr[i] == quote) {
            if (quote == '"' || i + 1 == t.len || t.ptr[i + 1] != quote) return i + 1;
            i++; /* '' is a quote in single quotes */
        }
    }
    return 0;
}

static bool is_quote(char c) {
    return c == '"' || c == '\'';
}

size_t tare_llama_yaml_item(tare_str items) {
    size_t i = 0;
    while (i < items.len && is_blank(items.ptr[i])) i++;
    if (i < items.len && is_quote(items.ptr[i])) i += quoted_length(tare_str_cut(items, i));
    while (i < items.len && items.ptr[i] != ',') i++;
    return i;
}

/* ---- escapes --------------------------------------------------------------------------------- */

/* The code point that n digits spell; false: they are others. */
static bool read_hex(uint32_t *point, tare_str digits, size_t n) {
    *point = 0;
    if (digits.len < n) return false;
    for (size_t i = 0; i < n; i++) {
        const char c = digits.ptr[i];
        const bool is_digit = c >= '0' && c <= '9', is_upper = c >= 'A' && c <= 'F';
        if (!is_digit && !is_upper && !(c >= 'a' && c <= 'f')) return false;
        *point = *point << 4 | (uint32_t)(is_digit ? c - '0' : (c & 0x1f) + 9);
    }
    return true;
}

static bool is_surrogate(uint32_t point, uint32_t kind) {
    return point >> 10 == kind >> 10;
}

/* What an escape stands for, which begins after the backslash; bytes of it, 0: YAML has none like
 * it. */
static size_t read_escape(uint32_t *point, tare_str t) {
    static const char letters[] = "0abt\tnvfre \"/\\N_LP";
    static const uint16_t meanings[] = {0,   '\a', '\b', '\t', '\t', '\n', '\v', '\f',   '\r',
                                        033, ' ',  '"',  '/',  '\\', 0x85, 0xa0, 0x2028, 0x2029};
    if (!t.len) return 0;
    const char *at = memchr(letters, t.ptr[0], sizeof letters - 1);
    if (at) return (void)(*point = meanings[at - letters]), (size_t)1;
    const size_t n = t.ptr[0] == 'x' ? 2 : t.ptr[0] == 'u' ? 4 : t.ptr[0] == 'U' ? 8 : 0;
    if (!n || !read_hex(point, tare_str_cut(t, 1), n)) return 0;
    const tare_str rest = tare_str_cut(t, 1 + n);
    uint32_t low;
    if (n == 4 && is_surrogate(*point, 0xd800) && tare_str_starts(rest, TARE_STR("\\u")) &&
        read_hex(&low, tare_str_cut(rest, 2), 4) && is_surrogate(low, 0xdc00)) {
        *point = 0x10000 + ((*point & 0x3ff) << 10 | (low & 0x3ff));
        return 11;
    }
    return *point <= 0x10ffff && *point >> 11 != 0xd800 >> 11 ? 1 + n : 0;
}

/* The text between two quotes. */
static tare_str unquoted(tare_str t, char quote, tare_arena *arena) {
    const char special = quote == '"' ? '\\' : '\'';
    if (!t.len || !memchr(t.ptr, special, t.len)) return t;
    /* two bytes, \L or \P, become three; no other escape grows */
    char *out = t.len <= SIZE_MAX / 2 ? tare_arena_take(arena, t.len + t.len / 2) : NULL;
    size_t n = 0;
    for (size_t i = 0; out && i < t.len;) {
        uint32_t point = '\'';
        size_t taken = 0;
        if (t.ptr[i] == special)
            taken = quote == '"' ? read_escape(&point, tare_str_cut(t, i + 1)) : 1;
        if (taken)
            n += tare_utf8_put(out + n, point);
        else
            out[n++] = t.ptr[i];
        i += 1 + taken;
    }
    return (tare_str){out, n};
}

tare_str tare_llama_yaml_text(tare_str scalar, tare_arena *arena) {
    tare_str t = trim(scalar);
    if (t.len >= 2 && is_quote(t.ptr[0])) {
        const size_t n = quoted_length(t);
        if (n) return unquoted((tare_str){t.ptr + 1, n - 2}, t.ptr[0], arena);
    }
    for (size_t i = 1; i < t.len; i++)
        if (t.ptr[i] == '#' && is_blank(t.ptr[i - 1])) t.len = i;
    return trim(t);
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

tare_str tare_llama_valid_text(tare_str text, tare_arena *arena) {
    if (tare_str_is_utf8(text)) return text;
    char *out = text.len <= SIZE_MAX / 3 ? tare_arena_take(arena, 3 * text.len) : NULL;
    size_t n = 0;
    for (size_t i = 0; out && i < text.len;) {
        const size_t length = tare_utf8_sequence(text.ptr + i, text.len - i);
        if (length) memcpy(out + n, text.ptr + i, length);
        n += length ? length : tare_utf8_put(out + n, 0xfffd);
        i += length ? length : 1;
    }
    return (tare_str){out, n};
}
