/* SPDX-License-Identifier: MIT
 *
 * One form for the patterns of pre_tokenizers. The same splitting is written in several ways: with
 * raw line ends or escapes, with the members of a character class in any order, with contractions
 * under (?i:...) or letter by letter, with possessive quantifiers. */
#include <stdlib.h>

#include "base/str.h"
#include "llama/tokenizer/pre.h"

typedef struct scan {
    const char *p, *end;
    char *out;
    size_t n;
} scan;

static void put(scan *s, const char *text, size_t n) {
    memcpy(s->out + s->n, text, n);
    s->n += n;
}

/* Bytes of the unit at p: an escape with its argument, or one character. */
static size_t unit_size(const char *p, const char *end) {
    size_t left = (size_t)(end - p), n;
    if (*p == '\\' && left > 1) {
        if ((p[1] == 'p' || p[1] == 'P' || p[1] == 'x' || p[1] == 'u') && left > 2 && p[2] == '{') {
            const char *brace = memchr(p, '}', left);
            return brace ? (size_t)(brace - p) + 1 : left;
        }
        n = tare_utf8_sequence(p + 1, left - 1);
        return 1 + (n ? n : 1);
    }
    n = tare_utf8_sequence(p, left);
    return n ? n : 1;
}

/* A unit with white space as an escape, and without a needless one. */
static void put_unit(scan *s, const char *p, size_t n) {
    static const char raw[] = "\r\n\t", escaped[] = "rnt";
    const char *at = n == 1 && *p ? strchr(raw, *p) : NULL;
    if (at) {
        const char text[2] = {'\\', escaped[at - raw]};
        put(s, text, 2);
    } else if (n == 2 && *p == '\\' && strchr("!\"#%&',/:;=@_`~ ", p[1])) {
        put(s, p + 1, 1);
    } else {
        put(s, p, n);
    }
}

/* ---- character classes ----------------------------------------------------------------------- */

#define MOST_MEMBERS 256

static int by_text(const void *a, const void *b) {
    return tare_str_compare(*(const tare_str *)a, *(const tare_str *)b);
}

/* Moves over one member of a class, a unit or a range of two; it goes to the output. */
static tare_str take_member(scan *s) {
    size_t from = s->n, n = unit_size(s->p, s->end);
    put_unit(s, s->p, n);
    s->p += n;
    if (s->end - s->p > 1 && s->p[0] == '-' && s->p[1] != ']') {
        put(s, s->p++, 1);
        n = unit_size(s->p, s->end);
        put_unit(s, s->p, n);
        s->p += n;
    }
    return (tare_str){s->out + from, s->n - from};
}

/* The class at p, its members sorted. Sorting happens in the output, through a copy. */
static void take_class(scan *s, char *copy) {
    tare_str members[MOST_MEMBERS];
    size_t n_members = 0;
    put(s, s->p++, 1);
    if (s->p < s->end && *s->p == '^') put(s, s->p++, 1);
    size_t from = s->n;
    while (s->p < s->end && *s->p != ']' && *s->p != '[' && n_members < MOST_MEMBERS)
        members[n_members++] = take_member(s);
    if (s->p == s->end || *s->p != ']') return; /* nested, long or open: as it stands */
    size_t size = s->n - from;
    memcpy(copy, s->out + from, size);
    for (size_t i = 0; i < n_members; i++)
        members[i].ptr = copy + (members[i].ptr - (s->out + from));
    if (n_members) qsort(members, n_members, sizeof *members, by_text);
    s->n = from;
    for (size_t i = 0; i < n_members; i++) put(s, members[i].ptr, members[i].len);
    put(s, s->p++, 1);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* English contractions in any case, as they are written in the wild. */
static const char *const contractions[] = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "'(?i:[sdmt]|ll|ve|re)",
    "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])",
    "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]",
    "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])",
};

static size_t contraction_size(const scan *s) {
    const tare_str rest = {s->p, (size_t)(s->end - s->p)};
    for (size_t i = 0; i < sizeof contractions / sizeof *contractions; i++)
        if (tare_str_starts(rest, tare_str_of(contractions[i]))) return strlen(contractions[i]);
    return 0;
}

/* The quantifier after a unit: "{1}" says nothing, and where nothing that follows could match what
 * was taken, possessive is greedy. */
static void take_quantifier(scan *s) {
    const tare_str rest = {s->p, (size_t)(s->end - s->p)};
    if (tare_str_starts(rest, TARE_STR("{1}"))) {
        s->p += 3;
    } else if (rest.len && strchr("?*+", *s->p) && *s->p) {
        put(s, s->p++, 1);
        if (s->p < s->end && *s->p == '+') s->p++;
    }
}

tare_str tare_llama_normal_pattern(tare_str pattern, tare_arena *arena) {
    /* Nothing grows but raw white space, to two characters, and "'(?i:[sdmt]|ll|ve|re)". */
    size_t longest = 2 * pattern.len + 64;
    scan s = {pattern.ptr, pattern.ptr + pattern.len, tare_arena_take(arena, longest), 0};
    char *copy = tare_arena_take(arena, longest);
    if (!s.out || !copy) return (tare_str){NULL, 0};
    while (s.p < s.end) {
        size_t n = contraction_size(&s);
        if (n) {
            put(&s, contractions[0], strlen(contractions[0]));
            s.p += n;
        } else if (*s.p == '[') {
            take_class(&s, copy);
        } else {
            n = unit_size(s.p, s.end);
            put_unit(&s, s.p, n);
            s.p += n;
        }
        take_quantifier(&s);
    }
    return (tare_str){s.out, s.n};
}
