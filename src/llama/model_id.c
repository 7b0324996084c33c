/* SPDX-License-Identifier: MIT
 *
 * Parts of a model's name, distinguished by their form. */
#include "llama/model_id.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"

#define MOST_PARTS 32 /* of a name; longer ones are no names of models */

enum { BASE = 1, SIZE = 2, FINE = 4, VERSION = 8, TYPE = 16 };

typedef struct part {
    tare_str text;
    unsigned is; /* what it looks like */
} part;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static char upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}
static bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/* The rest of a text while it is matched. */
static bool skip_text(tare_str *t, const char *word) {
    size_t n = strlen(word);
    if (t->len < n) return false;
    for (size_t i = 0; i < n; i++)
        if (lower(t->ptr[i]) != word[i]) return false;
    *t = tare_str_cut(*t, n);
    return true;
}
static bool skip_digits(tare_str *t) {
    size_t n = 0;
    while (n < t->len && is_digit(t->ptr[n])) n++;
    *t = tare_str_cut(*t, n);
    return n > 0;
}

/* "v1.0", "iter2", "3.1" */
static bool is_version(tare_str t) {
    if (!skip_text(&t, "iter")) skip_text(&t, "v");
    if (!skip_digits(&t)) return false;
    while (t.len)
        if (!skip_text(&t, ".") || !skip_digits(&t)) return false;
    return true;
}

/* "Q4_K_M", "fp16", "bf32" */
static bool is_type(tare_str t) {
    tare_str f = t;
    skip_text(&f, "b");
    if (skip_text(&f, "f")) {
        skip_text(&f, "p");
        if (f.len == 2 && (skip_text(&f, "16") || skip_text(&f, "32"))) return true;
    }
    skip_text(&t, "i");
    if (!skip_text(&t, "q") || t.len == 0 || !is_digit(t.ptr[0])) return false;
    t = tare_str_cut(t, 1);
    for (; t.len >= 2 && t.ptr[0] == '_'; t = tare_str_cut(t, 2))
        if (!is_letter(t.ptr[1]) && !is_digit(t.ptr[1]) && t.ptr[1] != '_') return false;
    return t.len == 0;
}

static bool is_size_word(tare_str t) {
    static const char *const words[] = {"small", "mini", "medium", "large", "xl", "xxl"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        tare_str rest = t;
        if (skip_text(&rest, words[i]) && rest.len == 0) return true;
    }
    return false;
}

/* "8B", "8x7B", "1.5b", "7b1", "A22B" */
static bool is_size(tare_str t) {
    if (is_size_word(t)) return true;
    if (!skip_text(&t, "a")) {
        tare_str times = t;
        if (skip_digits(&times) && skip_text(&times, "x")) t = times;
    }
    if (!skip_digits(&t)) return false;
    if (t.len && (t.ptr[0] == '.' || t.ptr[0] == '_')) {
        t = tare_str_cut(t, 1);
        if (!skip_digits(&t)) return false;
    }
    if (t.len == 0 || !strchr("kmbt", lower(t.ptr[0]))) return false;
    t = tare_str_cut(t, 1);
    return t.len == 0 || (t.len == 1 && is_digit(t.ptr[0]));
}

static bool is_fine_tune(tare_str t) {
    static const char *const words[] = {"chat", "instruct", "vision", "lora"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        tare_str rest = t;
        if (skip_text(&rest, words[i]) && rest.len == 0) return true;
    }
    return false;
}

/* Whether a size is far from the number of weights: then it is the length of a context. `text` is
 * in upper case; what is not a plain number says nothing. */
static bool is_context(tare_str text, uint64_t n_weights) {
    static const char suffixes[] = " KMBT";
    char buf[32], *end;
    if (n_weights == 0 || text.len < 2 || text.len >= sizeof buf) return false;
    memcpy(buf, text.ptr, text.len - 1);
    buf[text.len - 1] = '\0';
    if (!is_digit(buf[0])) return false;
    const char *suffix = strchr(suffixes, text.ptr[text.len - 1]);
    double size = strtod(buf, &end);
    if (*end) return false;
    size *= suffix ? pow(1000, (double)(suffix - suffixes)) : 1e-3;
    return fabs(size - (double)n_weights) > (double)(7 * n_weights / 8);
}

/* "7b1" is 7.1B, "1_5b" is 1.5B; a size that is none is a fine-tune in lower case. */
static bool classify_size(part *p, uint64_t n_weights, tare_arena *arena) {
    tare_str t = tare_arena_str(arena, p->text);
    char *s = (char *)(uintptr_t)t.ptr;
    if (!s) return false;
    for (size_t i = 0; i < t.len; i++)
        if (s[i] == '_') s[i] = '.';
    char *last = s + t.len - 1;
    if (is_digit(*last) && t.len >= 2) {
        char *longer = tare_arena_take(arena, t.len + 2);
        if (!longer) return false;
        memcpy(longer, s, t.len - 2);
        longer[t.len - 2] = '.';
        longer[t.len - 1] = *last;
        longer[t.len] = s[t.len - 2];
        t = (tare_str){longer, t.len + 1};
        s = longer;
        last = s + t.len - 1;
    }
    if (t.len > 1 && is_digit(last[-1])) *last = upper(*last);
    p->is = SIZE;
    if (is_context(t, n_weights)) {
        p->is = FINE;
        *last = lower(*last);
    }
    p->text = t;
    return true;
}

static bool classify(part *p, bool is_first, uint64_t n_weights, tare_arena *arena) {
    if (is_version(p->text)) {
        p->is = VERSION;
    } else if (is_type(p->text)) {
        p->is = TYPE;
    } else if (!is_first && is_size(p->text)) {
        return classify_size(p, n_weights, arena);
    } else if (!is_first && is_fine_tune(p->text)) {
        p->is = FINE;
    }
    return true;
}

static bool has_digit(tare_str t) {
    for (size_t i = 0; i < t.len; i++)
        if (is_digit(t.ptr[i])) return true;
    return false;
}

/* What looks like nothing is the base name as long as only versions stand between, then a
 * fine-tune; versions at the end of the base name are no part of it. */
static void find_base(part *parts, size_t n) {
    bool has_number = false, is_start = true;
    for (size_t i = 0; i < n; i++) has_number |= (parts[i].is & SIZE) && has_digit(parts[i].text);
    for (size_t i = 0; i < n; i++)
        if (has_number && (parts[i].is & SIZE) && is_size_word(parts[i].text)) parts[i].is = 0;
    for (size_t i = 0; i < n; i++) {
        part *p = &parts[i];
        if (is_start && ((p->is == 0 && is_letter(p->text.ptr[0])) || (p->is & VERSION))) {
            p->is |= BASE;
        } else {
            is_start = false;
            if (p->is == 0) p->is = FINE;
        }
    }
    for (size_t i = n; i-- > 0 && (parts[i].is & BASE) && parts[i].is != BASE;)
        parts[i].is &= ~(unsigned)BASE;
}

/* The parts of a kind, joined; sizes that are the same count once. */
static tare_str join_parts(const part *parts, size_t n, unsigned kind, unsigned but,
                           tare_arena *arena) {
    size_t size = 0, at = 0;
    for (size_t i = 0; i < n; i++) size += parts[i].text.len + 1;
    char *out = tare_arena_take(arena, size + 1);
    if (!out) return (tare_str){NULL, 0};
    for (size_t i = 0; i < n; i++) {
        bool is_again = false;
        for (size_t k = 0; k < i && kind == SIZE; k++)
            is_again |= (parts[k].is & SIZE) && tare_str_equal(parts[k].text, parts[i].text);
        if (!(parts[i].is & kind) || (parts[i].is & but) || is_again) continue;
        if (at) out[at++] = '-';
        memcpy(out + at, parts[i].text.ptr, parts[i].text.len);
        at += parts[i].text.len;
    }
    return (tare_str){out, at};
}

tare_status tare_llama_model_id_parse(tare_llama_model_id *out, tare_str id, uint64_t n_weights,
                                      tare_arena *arena, tare_error *err) {
    part parts[MOST_PARTS];
    size_t n = 0;
    *out = (tare_llama_model_id){.name = id};
    if (id.len == 0 || memchr(id.ptr, ' ', id.len)) return TARE_OK;
    const char *slash = memchr(id.ptr, '/', id.len);
    if (slash) {
        size_t at = (size_t)(slash - id.ptr);
        if (id.ptr[0] != '.') out->organization = (tare_str){id.ptr, at};
        out->name = tare_str_cut(id, at + 1);
    }
    for (size_t i = 0; i < out->name.len;) {
        size_t from = i;
        while (i < out->name.len && out->name.ptr[i] != '-') i++;
        if (i > from) {
            if (n == MOST_PARTS) return TARE_OK;
            parts[n] = (part){{out->name.ptr + from, i - from}, 0};
            if (!classify(&parts[n], n == 0, n_weights, arena))
                return tare_fail(err, TARE_ERR_NOMEM, "name");
            n++;
        }
        i++;
    }
    find_base(parts, n);
    out->base_name = join_parts(parts, n, BASE, 0, arena);
    out->fine_tune = join_parts(parts, n, FINE, 0, arena);
    out->version = join_parts(parts, n, VERSION, BASE, arena);
    out->size_label = join_parts(parts, n, SIZE, 0, arena);
    if (!out->base_name.ptr || !out->fine_tune.ptr || !out->version.ptr || !out->size_label.ptr)
        return tare_fail(err, TARE_ERR_NOMEM, "name");
    if (!out->fine_tune.len && !out->version.len && !out->size_label.len) out->base_name.len = 0;
    return TARE_OK;
}

/* ---- caches of the hub ----------------------------------------------------------------------- */

/* The part of a path that begins at `at`, without the slash after it. */
static tare_str path_part(tare_str path, size_t at) {
    const tare_str rest = tare_str_cut(path, at);
    const char *slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
    return (tare_str){rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len};
}

bool tare_llama_cached_id(tare_str *id, tare_str path, tare_arena *arena) {
    const tare_str begin = TARE_STR("models--");
    for (size_t at = 0; at < path.len;) {
        const tare_str folder = path_part(path, at), next = path_part(path, at + folder.len + 1);
        at += folder.len + 1;
        if (folder.len == begin.len || !tare_str_starts(folder, begin) ||
            (next.len && !tare_str_is(next, "snapshots") && !tare_str_is(next, "blobs")))
            continue;
        const tare_str name = tare_str_cut(folder, begin.len);
        char *out = tare_arena_take(arena, name.len);
        size_t n = 0;
        bool has_slash = false;
        for (size_t i = 0; out && i < name.len; i++) {
            const bool is_slash =
                !has_slash && tare_str_starts(tare_str_cut(name, i), TARE_STR("--"));
            out[n++] = is_slash ? '/' : name.ptr[i];
            i += is_slash;
            has_slash |= is_slash;
        }
        *id = (tare_str){out, n};
        return true;
    }
    return false;
}

/* ---- titles ---------------------------------------------------------------------------------- */

/* Whether a word stays as it is: it has an upper-case letter or none at all, begins with a digit,
 * or is a version. */
static bool stays(tare_str word) {
    bool has_lower = false;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] >= 'A' && word.ptr[i] <= 'Z') return true;
        has_lower |= is_letter(word.ptr[i]);
    }
    tare_str rest = word;
    return !has_lower || is_digit(word.ptr[0]) || (skip_text(&rest, "v") && is_version(rest));
}

tare_str tare_llama_title(tare_str id, tare_arena *arena) {
    char *out = tare_arena_take(arena, id.len + 1);
    size_t at = 0;
    if (!out) return (tare_str){NULL, 0};
    for (size_t i = 0; i < id.len;) {
        size_t from = i;
        while (i < id.len && !strchr("- \t\n\r", id.ptr[i])) i++;
        tare_str word = {id.ptr + from, i - from};
        i++;
        if (word.len == 0) continue;
        if (at) out[at++] = ' ';
        bool keeps = stays(word);
        for (size_t k = 0; k < word.len; k++) {
            bool begins = k == 0 || !is_letter(word.ptr[k - 1]);
            out[at++] = !keeps && begins ? upper(word.ptr[k]) : word.ptr[k];
        }
    }
    return (tare_str){out, at};
}
