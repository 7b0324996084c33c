/* SPDX-License-Identifier: MIT
 *
 * GGUF file names: the naming convention of the GGUF specification,
 *
 *     [SIDECAR-]BASE-SIZE[-ATTRIBUTES][-FINETUNE]-VERSION[-ENCODING][-TYPE][-SHARD-of-SHARDS].gguf
 *
 * read and written by hand. The specification states it as one regular expression; cut at its
 * dashes the name needs no backtracking: a size is the first part after the base that begins with
 * a digit and holds a letter, which no part of a base may be, and the version is the last part of
 * its form that leaves a lawful tail. Two slips of the expression are not followed: an empty base,
 * and a missing size written as two dashes. A missing version, which the specification's text
 * allows and its expression does not, is taken as v1.0 and flagged. */
#include <string.h>

#include <tare/experimental/gguf_name.h>

#include "base/status.h"
#include "base/str.h"

/* A name of the convention has a handful of parts; a longer one is none. */
#define MAX_PARTS 64

typedef struct parts {
    tare_str at[MAX_PARTS];
    size_t n;
} parts;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t count_while(tare_str s, size_t from, bool (*test)(char)) {
    size_t i = from;
    while (i < s.len && test(s.ptr[i])) i++;
    return i - from;
}

static bool split(parts *out, tare_str name) {
    out->n = 0;
    for (size_t from = 0, i = 0; i <= name.len; i++) {
        if (i < name.len && name.ptr[i] != '-') continue;
        if (out->n == MAX_PARTS) return false;
        out->at[out->n++] = (tare_str){name.ptr + from, i - from};
        from = i + 1;
    }
    return true;
}

/* Parts [first, end) with the dashes between them; they lie side by side in the name. */
static tare_str join(const parts *p, size_t first, size_t end) {
    if (first == end) return (tare_str){"", 0};
    const char *from = p->at[first].ptr;
    return (tare_str){from, (size_t)(p->at[end - 1].ptr + p->at[end - 1].len - from)};
}

/* ---- the parts ------------------------------------------------------------------------------- */

static bool is_words(tare_str s) {
    for (size_t i = 0; i < s.len; i++)
        if (!is_letter(s.ptr[i]) && !is_digit(s.ptr[i]) && !is_space(s.ptr[i])) return false;
    return true;
}

/* A part of the base after its first: words, or a number; not a number that runs into a word. */
static bool is_base_part(tare_str s) {
    if (!is_words(s)) return false;
    if (s.len == 0 || is_letter(s.ptr[0]) || is_space(s.ptr[0])) return true;
    for (size_t i = 0; i < s.len; i++)
        if (is_letter(s.ptr[i])) return false;
    return true;
}

/* Digits, or digits.digits, from byte `from`: how many bytes, 0 if there is no number. */
static size_t number_length(tare_str s, size_t from) {
    size_t whole = count_while(s, from, is_digit);
    if (whole == 0 || from + whole >= s.len || s.ptr[from + whole] != '.') return whole;
    size_t fraction = count_while(s, from + whole + 1, is_digit);
    return fraction ? whole + 1 + fraction : 0;
}

/* "8x7B", "3.8B": experts x number, and one letter for the scale. */
static bool is_size(tare_str s) {
    size_t experts = count_while(s, 0, is_digit);
    size_t from = experts && experts < s.len && s.ptr[experts] == 'x' ? experts + 1 : 0;
    size_t number = number_length(s, from);
    if (from && number == 0) { /* "8x": a number whose letter is x */
        from = 0;
        number = experts;
    }
    return number && from + number + 1 == s.len && is_letter(s.ptr[s.len - 1]);
}

/* "ContextLength4k": a word, a number, letters. */
static bool is_size_attribute(tare_str s) {
    size_t word = count_while(s, 0, is_letter);
    size_t number = word ? number_length(s, word) : 0;
    size_t unit = number ? count_while(s, word + number, is_letter) : 0;
    return unit && word + number + unit == s.len;
}

/* "v1", "v0.1", "v1.2.3" */
static bool is_version(tare_str s) {
    if (s.len < 2 || s.ptr[0] != 'v') return false;
    for (size_t i = 1; i < s.len; i++) {
        size_t digits = count_while(s, i, is_digit);
        if (digits == 0) return false;
        i += digits;
        if (i < s.len && (s.ptr[i] != '.' || i + 1 == s.len)) return false;
    }
    return true;
}

static bool is_type(tare_str s) {
    return tare_str_is(s, "LoRA") || tare_str_is(s, "vocab");
}

static bool is_encoding(tare_str s) {
    if (tare_str_starts(s, TARE_STR("LoRA")) || tare_str_starts(s, TARE_STR("vocab"))) return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_letter(s.ptr[i]) && !is_digit(s.ptr[i]) && s.ptr[i] != '_') return false;
    return s.len > 0;
}

/* Whether a part is surely an encoding, for names whose version does not mark the place: letters
 * that number formats begin with, and a digit. */
static bool is_known_encoding(tare_str s) {
    static const char *const families[] = {"f", "bf", "fp", "q", "iq", "tq", "kq", "mxfp", "nvfp"};
    size_t word = count_while(s, 0, is_letter);
    if (!is_encoding(s) || word == s.len || !is_digit(s.ptr[word])) return false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t k = 0;
        if (strlen(families[i]) != word) continue;
        while (k < word && (s.ptr[k] | 0x20) == families[i][k]) k++;
        if (k == word) return true;
    }
    return false;
}

static bool five_digits(tare_str s, uint32_t *out) {
    if (s.len != 5 || count_while(s, 0, is_digit) != 5) return false;
    *out = 0;
    for (size_t i = 0; i < 5; i++) *out = *out * 10 + (uint32_t)(s.ptr[i] - '0');
    return true;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Takes "-00001-of-00003" off the end: the number of parts before it. */
static bool take_shard(tare_gguf_name *out, const parts *p, size_t *end) {
    uint32_t shard, n_shards;
    if (*end < 3 || !tare_str_is(p->at[*end - 2], "of")) return true;
    if (!five_digits(p->at[*end - 3], &shard) || !five_digits(p->at[*end - 1], &n_shards))
        return true;
    out->shard = shard;
    out->n_shards = n_shards;
    *end -= 3;
    return shard >= 1 && shard <= n_shards;
}

static void take_type(tare_gguf_name *out, const parts *p, size_t *end) {
    if (*end && is_type(p->at[*end - 1])) out->type = p->at[--*end];
}

/* Parts [from, end) as fine tuning: absent, or words. */
static bool take_fine_tune(tare_gguf_name *out, const parts *p, size_t from, size_t end) {
    for (size_t i = from; i < end; i++)
        if (!is_words(p->at[i])) return false;
    out->fine_tune = join(p, from, end);
    return from == end || out->fine_tune.len > 0;
}

/* Fine tuning, version, encoding in parts [from, end). Of two parts that look like a version the
 * later one is it, unless the earlier one ("v1.0") cannot be part of the fine tuning. */
static bool take_versioned(tare_gguf_name *out, const parts *p, size_t from, size_t end) {
    if (end > from && is_version(p->at[end - 1]) && take_fine_tune(out, p, from, end - 1)) {
        out->version = p->at[end - 1];
        return true;
    }
    if (end < from + 2 || !is_version(p->at[end - 2]) || !is_encoding(p->at[end - 1])) return false;
    out->version = p->at[end - 2];
    out->encoding = p->at[end - 1];
    return take_fine_tune(out, p, from, end - 2);
}

static bool take_unversioned(tare_gguf_name *out, const parts *p, size_t from, size_t end) {
    if (p->n == MAX_PARTS) return false; /* no room for the version it will be written with */
    for (size_t i = from; i < end; i++)
        if (is_version(p->at[i])) return false;
    if (end > from && is_known_encoding(p->at[end - 1])) out->encoding = p->at[--end];
    out->version = TARE_STR("v1.0");
    out->is_version_assumed = true;
    return take_fine_tune(out, p, from, end);
}

/* The name without its suffix and side car. */
static bool parse_stem(tare_gguf_name *out, tare_str stem) {
    parts p;
    size_t size = 1;
    if (!split(&p, stem) || p.at[0].len == 0 || !is_words(p.at[0])) return false;
    while (size < p.n && is_base_part(p.at[size])) size++;
    if (size == p.n || !is_size(p.at[size])) return false;
    out->base_name = join(&p, 0, size);

    size_t end = p.n;
    if (!take_shard(out, &p, &end)) return false;
    take_type(out, &p, &end);
    if (end <= size) return false;

    bool has_attribute = size + 1 < end && is_size_attribute(p.at[size + 1]);
    size_t from = size + (has_attribute ? 2 : 1);
    out->size_label = join(&p, size, from);
    if (take_versioned(out, &p, from, end)) return true;

    out->version = out->encoding = (tare_str){"", 0};
    if (has_attribute && from == end && is_known_encoding(p.at[size + 1])) from--; /* "7B-Q4K" */
    out->size_label = join(&p, size, from);
    return take_unversioned(out, &p, from, end);
}

/* The parts of a name; none of them where it is not one. */
static bool parse(tare_gguf_name *out, tare_str name) {
    const tare_gguf_name none = tare_gguf_name_default();
    static const tare_str sidecars[] = {{"mmproj", 6}, {"mtp", 3}};
    const tare_str suffix = TARE_STR(".gguf");
    *out = none;
    if (!tare_str_ends(name, suffix)) return false;
    tare_str stem = {name.ptr, name.len - suffix.len};
    for (size_t i = 0; i < sizeof sidecars / sizeof *sidecars; i++) {
        tare_str s = sidecars[i];
        if (!tare_str_starts(stem, s) || stem.len == s.len || stem.ptr[s.len] != '-') continue;
        out->sidecar = (tare_str){stem.ptr, s.len};
        if (parse_stem(out, tare_str_cut(stem, s.len + 1))) return true;
        *out = none; /* "mtp-7B-v1.0.gguf": then it is the base */
    }
    if (parse_stem(out, stem)) return true;
    *out = none;
    return false;
}

bool tare_gguf_name_parse(tare_gguf_name *out, tare_str name) {
    tare_gguf_name found;
    if (tare_result_check(out, NULL) != TARE_OK) return false;
    const bool is_good = parse(&found, name);
    tare_result_write(out, &found, sizeof found);
    return is_good;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct text {
    char *buf;
    size_t size, length;
} text;

static void put(text *t, char c) {
    if (t->length + 1 < t->size) t->buf[t->length] = c;
    t->length++;
}

/* One part. Spaces become dashes, as the convention says; so does what no file name should hold. */
static void put_part(text *t, tare_str s) {
    if (s.len == 0) return;
    if (t->length) put(t, '-');
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_plain = (unsigned char)c > ' ' && c != 0x7f && c != '/' && c != '\\' && c != ':';
        put(t, is_plain ? c : '-');
    }
}

static void put_five_digits(text *t, uint32_t n) {
    for (uint32_t unit = 10000; unit; unit /= 10) put(t, (char)('0' + n / unit % 10));
}

size_t tare_gguf_name_format(char *buf, size_t size, const tare_gguf_name *theirs) {
    tare_gguf_name own = tare_gguf_name_default();
    const tare_gguf_name *name = &own;
    text t = {buf, size, 0};
    tare_options_read(&own, sizeof own, theirs, NULL);
    put_part(&t, name->sidecar);
    put_part(&t, name->base_name);
    put_part(&t, name->size_label);
    put_part(&t, name->fine_tune);
    put_part(&t, name->version.len ? name->version : TARE_STR("v1.0"));
    put_part(&t, name->encoding);
    put_part(&t, name->type);
    if (name->shard) {
        put(&t, '-');
        put_five_digits(&t, name->shard);
        put_part(&t, TARE_STR("of"));
        put(&t, '-');
        put_five_digits(&t, name->n_shards);
    }
    for (const char *s = ".gguf"; *s; s++) put(&t, *s);
    if (size) buf[t.length < size ? t.length : size - 1] = '\0';
    return t.length;
}
