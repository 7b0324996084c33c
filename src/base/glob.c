/* SPDX-License-Identifier: MIT
 *
 * Only the last * has to be taken back: what an earlier one could take instead, the last one can take,
 * too. In a path that holds from one / to the next. */
#include "base/glob.h"

#include "base/str.h"

/* The character at `at`, and its bytes; a byte that is no UTF-8 is one of its own. */
static uint32_t character(tare_str s, size_t at, size_t *n) {
    const uint8_t *p = (const uint8_t *)s.ptr + at;
    size_t size = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (size > s.len - at || !tare_str_is_utf8((tare_str){s.ptr + at, size})) size = 1;
    uint32_t c = p[0];
    for (size_t i = 1; i < size; i++) c = c << 8 | p[i]; /* in the order of code points */
    *n = size;
    return c;
}

/* An end of a range within brackets; false: the pattern ends. */
static bool take_end(tare_str p, size_t *at, uint32_t *out) {
    size_t n;
    if (*at < p.len && p.ptr[*at] == '\\') ++*at;
    if (*at >= p.len) return false;
    *out = character(p, *at, &n);
    *at += n;
    return true;
}

/* Whether brackets, whose [ is at *at, hold c; *at goes behind them, and stays if nothing closes them. */
static bool in_brackets(tare_str p, size_t *at, uint32_t c, bool *is_closed) {
    size_t i = *at + 1;
    const bool is_inverted = i < p.len && (p.ptr[i] == '!' || p.ptr[i] == '^');
    bool is_in = false;
    uint32_t first, last;
    i += is_inverted;
    for (const size_t start = i; i < p.len && (p.ptr[i] != ']' || i == start);) {
        if (!take_end(p, &i, &first)) break;
        last = first;
        if (i + 1 < p.len && p.ptr[i] == '-' && p.ptr[i + 1] != ']' &&
            (++i, !take_end(p, &i, &last)))
            break;
        is_in = is_in || (first <= c && c <= last);
    }
    *is_closed = i < p.len;
    if (*is_closed) *at = i + 1;
    return is_in != is_inverted;
}

/* Whether what is at *at, no *, matches the character c; *at goes behind it. */
static bool takes(tare_str p, size_t *at, uint32_t c, bool in_path) {
    const bool is_slash = in_path && c == '/';
    bool is_closed = false;
    size_t n;
    if (p.ptr[*at] == '?') {
        ++*at;
        return !is_slash;
    }
    if (p.ptr[*at] == '[') {
        const bool is_in = in_brackets(p, at, c, &is_closed);
        if (is_closed) return is_in && !is_slash;
    }
    if (p.ptr[*at] == '\\' && *at + 1 < p.len) ++*at;
    const bool is_same = character(p, *at, &n) == c;
    *at += n;
    return is_same;
}

bool tare_glob_matches(tare_str p, tare_str name, bool in_path) {
    size_t at = 0, i = 0, n, behind_star = SIZE_MAX, from = 0; /* of the last star */
    while (i < name.len || at < p.len) {
        if (at < p.len && p.ptr[at] == '*') {
            behind_star = ++at;
            from = i;
            continue;
        }
        if (at < p.len && i < name.len) {
            size_t next = at;
            const uint32_t c = character(name, i, &n);
            if (takes(p, &next, c, in_path)) {
                at = next;
                i += n;
                continue;
            }
        }
        if (behind_star == SIZE_MAX || from == name.len) return false;
        const uint32_t skipped = character(name, from, &n);
        if (in_path && skipped == '/') return false;
        from += n;
        i = from;
        at = behind_star;
    }
    return true;
}

/* ---- names that change ----------------------------------------------------------------------- */

static const char *star_in(tare_str s) {
    return s.len ? memchr(s.ptr, '*', s.len) : NULL;
}

static bool has_two(tare_str s) {
    const char *star = star_in(s);
    return star && star_in(tare_str_cut(s, (size_t)(star - s.ptr) + 1));
}

bool tare_glob_is_renaming(tare_str from, tare_str to) {
    return !has_two(from) && !has_two(to) && !star_in(from) == !star_in(to);
}

/* What is before the star, and what is after it; of a text without one, all, and nothing. */
static void split(tare_str *head, tare_str *tail, tare_str s) {
    const char *star = star_in(s);
    *head = (tare_str){s.ptr, star ? (size_t)(star - s.ptr) : s.len};
    *tail = star ? tare_str_cut(s, head->len + 1) : (tare_str){"", 0};
}

bool tare_glob_rename(tare_str *out, tare_str from, tare_str to, tare_str name, tare_arena *arena) {
    tare_str head, tail, parts[3];
    size_t n = 0;
    *out = (tare_str){NULL, 0};
    split(&head, &tail, from);
    if (name.len < head.len + tail.len || !tare_str_starts(name, head) ||
        !tare_str_ends(name, tail) || (!star_in(from) && name.len != head.len))
        return true;
    split(&parts[0], &parts[2], to);
    parts[1] = (tare_str){name.ptr + head.len, name.len - head.len - tail.len};
    char *text = tare_arena_take(arena, parts[0].len + parts[1].len + parts[2].len + 1);
    if (!text) return false;
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].len) memcpy(text + n, parts[i].ptr, parts[i].len);
        n += parts[i].len;
    }
    *out = (tare_str){text, n};
    return true;
}
