/* SPDX-License-Identifier: MIT
 *
 * The values of options: from text into the structs of the verbs. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <tare/experimental/schemes.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/str.h"
#include "ops/options/option_table.h"

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_number(uint64_t *out, const char *text, size_t n) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || !tare_mul_u64(*out, 10, out) ||
            !tare_add_u64(*out, (uint64_t)(text[i] - '0'), out))
            return false;
    }
    return n > 0;
}

/* The factor of a suffix: "", "K", "Ki", "GB", "GiB", ...; 0: none of them. */
static uint64_t suffix_factor(const char *suffix) {
    static const char letters[] = "KMGT";
    const char *letter = *suffix ? strchr(letters, toupper((unsigned char)*suffix)) : NULL;
    uint64_t base = 1000, factor = 1;
    if (letter) suffix++;
    if (letter && *suffix == 'i') {
        base = 1024;
        suffix++;
    }
    if (*suffix == 'B') suffix++;
    if (*suffix) return 0;
    for (ptrdiff_t power = letter ? letter - letters + 1 : 0; power > 0; power--) factor *= base;
    return factor;
}

/* Up to six digits after the point: 999,999 * 1024^4 fits 64 bits. */
bool tare_size_parse(uint64_t *out, const char *text) {
    uint64_t whole, fraction = 0, divisor = 1, n;
    if (!text) return false;
    const size_t n_digits = strspn(text, "0123456789");
    if (!parse_number(&whole, text, n_digits)) return false;
    text += n_digits;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9' && divisor < 1000000; text++, divisor *= 10)
            fraction = fraction * 10 + (uint64_t)(*text - '0');
        if (divisor == 1) return false;
    }
    const uint64_t factor = suffix_factor(text);
    if (!factor || (factor == 1 && divisor > 1) || !tare_mul_u64(whole, factor, &n)) return false;
    return tare_add_u64(n, fraction * factor / divisor, out);
}

/* As in JSON: the decimal point of the locale has no say. */
static bool parse_real(double *out, tare_str text) {
    tare_json j;
    tare_json_value value;
    tare_json_init(&j, text, 0, 1);
    return tare_json_begin(&j, &value) == TARE_JSON_NUMBER && tare_json_finish(&j) &&
           value.raw.len == text.len && tare_json_f64(&value, out);
}

/* The number of a word in a list of words with blanks between them; -1: it is not in it. */
static int find_word(const char *words, tare_str word) {
    for (int i = 0; *words; i++) {
        const size_t n = strcspn(words, " ");
        if (tare_str_equal((tare_str){words, n}, word)) return i;
        words += n + (words[n] == ' ');
    }
    return -1;
}

static const tare_encoding *find_type(tare_str name) {
    const tare_encoding *e = tare_encoding_find(name);
    return e && e->id != TARE_ENCODING_UNKNOWN ? e : NULL;
}

/* ---- by kind --------------------------------------------------------------------------------- */

static tare_status wrong(tare_error *err, const char *what) {
    return tare_fail(err, TARE_ERR_ARG, what);
}

static tare_status keep_text(const char **out, tare_options *o, const char *text, size_t n,
                             tare_error *err) {
    *out = tare_arena_str(&o->arena, (tare_str){text, n}).ptr;
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "options");
}

static tare_status set_real(double *at, const char *value, tare_error *err) {
    double x;
    if (!parse_real(&x, tare_str_of(value)) || x < 0) return wrong(err, "a number, 0 or more");
    *at = x;
    return TARE_OK;
}

static tare_status set_integer(void *at, size_t width, uint64_t value) {
    const uint32_t narrow = (uint32_t)value;
    memcpy(at, width == sizeof narrow ? (const void *)&narrow : (const void *)&value, width);
    return TARE_OK;
}

static tare_status set_flag(void *at, const char *value, tare_error *err) {
    static const char words[] = "false true";
    const int i = find_word(words, tare_str_of(value));
    if (i < 0) return wrong(err, "true or false");
    *(bool *)at = i == 1;
    return TARE_OK;
}

tare_status tare_option_set_by_kind(tare_options *o, const tare_option_row *row, const char *value,
                                    tare_error *err) {
    void *at = (uint8_t *)o + row->at;
    const tare_str text = tare_str_of(value);
    uint64_t number;
    int choice;
    switch (row->info.kind) {
    case TARE_OPTION_BOOL:
        return set_flag(at, value, err);
    case TARE_OPTION_NUMBER:
        if (!parse_number(&number, value, text.len) || number > UINT32_MAX)
            return wrong(err, "a whole number below 2^32");
        return set_integer(at, sizeof(uint32_t), number);
    case TARE_OPTION_SIZE:
        if (!tare_size_parse(&number, value)) return wrong(err, "a size (2G, 500M, 64Ki, ...)");
        return set_integer(at, sizeof(uint64_t), number);
    case TARE_OPTION_REAL:
        return set_real(at, value, err);
    case TARE_OPTION_CHOICE:
        choice = find_word(row->info.choices, text);
        if (choice < 0) return wrong(err, row->expected);
        return set_integer(at, sizeof(uint32_t), (uint64_t)choice);
    case TARE_OPTION_TYPE:
        if (text.len && !find_type(text)) return wrong(err, "the name of a number format");
        *(const tare_encoding **)at = text.len ? find_type(text) : NULL;
        return TARE_OK;
    default:
        if (text.len) return keep_text(at, o, value, text.len, err);
        *(const char **)at = NULL;
        return TARE_OK;
    }
}

/* ---- options with a function ----------------------------------------------------------------- */

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "options");
}

tare_status tare_option_add_rule(tare_options *o, const char *value, tare_error *err) {
    const char *equals = strrchr(value, '='); /* the expression may hold others */
    tare_type_rule rule = {.encoding = equals ? find_type(tare_str_of(equals + 1)) : NULL};
    void *list = o->rules;
    if (!equals || equals == value) return wrong(err, "REGEX=TYPE");
    if (!rule.encoding) return wrong(err, "REGEX=TYPE with the name of a number format");
    TARE_TRY(keep_text(&rule.pattern, o, value, (size_t)(equals - value), err));
    if (!tare_grow(o->allocator, &list, &o->rules_capacity, o->n_rules + 1, sizeof rule))
        return no_memory(err);
    o->convert.rules = o->rules = list;
    o->rules[o->n_rules++] = rule;
    o->convert.n_rules = o->n_rules;
    return TARE_OK;
}

tare_status tare_option_add_exclude(tare_options *o, const char *value, tare_error *err) {
    void *list = o->exclude;
    const char *text;
    TARE_TRY(keep_text(&text, o, value, strlen(value), err));
    if (!tare_grow(o->allocator, &list, &o->exclude_capacity, o->n_exclude + 1, sizeof text))
        return no_memory(err);
    o->pack.exclude = o->exclude = list;
    o->exclude[o->n_exclude++] = text;
    o->pack.n_exclude = o->n_exclude;
    return TARE_OK;
}

tare_status tare_option_set_mix(tare_options *o, const char *value, tare_error *err) {
    const tare_mix *mix = tare_mix_find(tare_str_of(value));
    if (!mix && *value) return wrong(err, "the name or number of a mix");
    o->mix.mix = mix;
    return TARE_OK;
}

static bool is_scheme(const char *text, size_t len) {
    char name[64];
    if (len >= sizeof name) return false;
    memcpy(name, text, len);
    name[len] = 0;
    return tare_scheme_is_named(name);
}

tare_status tare_option_set_fit_types(tare_options *o, const char *value, tare_error *err) {
    const tare_encoding *types[TARE_OPTIONS_MOST_TYPES];
    size_t n = 0;
    for (const char *from = *value ? value : NULL, *comma; from; from = comma ? comma + 1 : NULL) {
        comma = strchr(from, ',');
        const size_t len = comma ? (size_t)(comma - from) : strlen(from);
        const tare_encoding *type = find_type((tare_str){from, len});
        if (!type && is_scheme(from, len))
            return wrong(err, "names of number formats, but one is a scheme of packed weights: "
                              "among schemes the command tare quantize chooses");
        if (!type || n == TARE_OPTIONS_MOST_TYPES)
            return wrong(err, "names of at most 32 number formats, with commas");
        types[n++] = type;
    }
    memcpy(o->fit_types, types, n * sizeof *types);
    o->fit.types = n ? o->fit_types : NULL;
    o->fit.n_types = n;
    return TARE_OK;
}

tare_status tare_option_set_sensitivities(tare_options *o, const char *value, tare_error *err) {
    tare_str text = {NULL, strlen(value)};
    if (text.len) TARE_TRY(keep_text(&text.ptr, o, value, text.len, err));
    o->fit.sensitivities = o->lossy.sensitivities = text;
    return TARE_OK;
}

/* 0 switches outliers off, which in the struct is a threshold that nothing exceeds. */
tare_status tare_option_set_outlier_threshold(tare_options *o, const char *value, tare_error *err) {
    double x = 0;
    TARE_TRY(set_real(&x, value, err));
    if (!isfinite((float)x)) return wrong(err, "a number that fits 32 bits");
    o->infq.outlier_threshold = (float)x == 0 ? INFINITY : (float)x;
    return TARE_OK;
}

tare_status tare_option_set_outliers(tare_options *o, const char *value, tare_error *err) {
    const tare_str text = tare_str_of(value);
    const bool is_percent = text.len && text.ptr[text.len - 1] == '%';
    double x = 0;
    if (text.len && (!parse_real(&x, (tare_str){text.ptr, text.len - is_percent}) || x <= 0 ||
                     x > (is_percent ? 100 : 1)))
        return wrong(err, "a share, above 0 and at most 1: 0.001, or 0.1%");
    o->infq.outlier_share = is_percent ? x / 100 : x;
    return TARE_OK;
}

tare_status tare_option_set_clip(tare_options *o, const char *value, tare_error *err) {
    const char *colon = strchr(value, ':');
    double low, high;
    if (!*value) {
        o->mcf.has_clip = false;
        return TARE_OK;
    }
    if (!colon || !parse_real(&low, (tare_str){value, (size_t)(colon - value)}) ||
        !parse_real(&high, tare_str_of(colon + 1)) || !isfinite((float)low) ||
        !isfinite((float)high))
        return wrong(err, "two numbers that fit 32 bits: MIN:MAX");
    o->mcf.has_clip = true;
    o->mcf.clip_min = (float)low;
    o->mcf.clip_max = (float)high;
    return TARE_OK;
}

tare_status tare_option_set_segment(tare_options *o, const char *value, tare_error *err) {
    enum { LEAST = 14, MOST = 26 };
    uint64_t n = 0;
    unsigned log2 = LEAST;
    const bool is_size = tare_size_parse(&n, value);
    while (log2 < MOST && UINT64_C(1) << log2 < n) log2++;
    if (*value && (!is_size || UINT64_C(1) << log2 != n))
        return wrong(err, "a power of two from 16Ki to 64Mi");
    o->pack.log2_segment = *value ? log2 : 0;
    return TARE_OK;
}

tare_status tare_option_set_planes(tare_options *o, const char *value, tare_error *err) {
    uint64_t n = 0;
    if (*value && (!parse_number(&n, value, strlen(value)) || n > UINT_MAX))
        return wrong(err, "a whole number below 2^32");
    o->unpack.is_coarse = *value != 0;
    o->unpack.groups = (unsigned)n;
    return TARE_OK;
}
