/* SPDX-License-Identifier: MIT
 *
 * The JSON pull reader (RFC 8259). Callers walk a text in one pass without a tree: every value
 * comes with its raw span and its offset, so that a header can be checked, kept and spliced. The
 * reader is a small state machine over one open container at a time; one bit for each enclosing
 * container says whether it is an object, so there is neither recursion nor allocation. */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum json_state {
    STATE_BEGIN, /* before the document's value */
    STATE_FIRST, /* a container was just opened */
    STATE_VALUE, /* a key and its colon are read: the value must follow */
    STATE_AFTER, /* a member or element is complete */
    STATE_DONE,  /* the document's value is complete */
};

/* ---- text ------------------------------------------------------------------------------------ */

void tare_json_init(tare_json *j, tare_str text, uint64_t base_offset, uint32_t max_depth) {
    *j = (tare_json){
        .base = text.ptr,
        .pos = text.ptr,
        .end = text.ptr + text.len,
        .base_offset = base_offset,
        .max_depth = max_depth < TARE_JSON_MAX_DEPTH ? max_depth : TARE_JSON_MAX_DEPTH,
        .state = STATE_BEGIN,
        .err = TARE_ERROR_NONE,
    };
}

void tare_json_init_python(tare_json *j, tare_str text, uint64_t base_offset, uint32_t max_depth) {
    tare_json_init(j, text, base_offset, max_depth);
    j->is_python = true;
    if (tare_str_starts(text, TARE_STR(TARE_UTF8_MARK))) j->pos += sizeof TARE_UTF8_MARK - 1;
}

bool tare_json_fail(tare_json *j, tare_status status, uint64_t offset, const char *what) {
    if (j->err.status == TARE_OK) tare_fail_at(&j->err, status, offset, what);
    j->pos = j->end;
    return false;
}

tare_status tare_json_status(const tare_json *j, tare_error *err) {
    if (j->err.status != TARE_OK && err) *err = j->err;
    return j->err.status;
}

static uint64_t offset_of(const tare_json *j, const char *p) {
    return j->base_offset + (uint64_t)(p - j->base);
}

static bool fail_here(tare_json *j, const char *p, const char *what) {
    return tare_json_fail(j, TARE_ERR_CORRUPT, offset_of(j, p),
                          p == j->end ? "JSON text ends too early" : what);
}

/* Moves to the next non-white-space character; 0 at the end (a NUL in the text is not valid JSON
 * either, and the callers' messages tell the two apart by position). */
static char skip_space(tare_json *j) {
    const char *p = j->pos;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    j->pos = p;
    return p < j->end ? *p : 0;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits of \uXXXX at p; -1 if they are not hexadecimal digits. */
static int32_t hex_unit(const char *p, const char *end) {
    if (end - p < 4) return -1;
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The code point of the \u escape whose backslash is at p, a surrogate pair taken together; *n is
 * its length in characters. -1: no hexadecimal digits, -2: half of a pair. */
static int32_t unicode_escape(const char *p, const char *end, size_t *n) {
    *n = 6;
    int32_t unit = end - p < 2 ? -1 : hex_unit(p + 2, end);
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    if (unit > 0xDBFF || end - p < 12 || p[6] != '\\' || p[7] != 'u') return -2;
    int32_t low = hex_unit(p + 8, end);
    if (low < 0xDC00 || low > 0xDFFF) return -2;
    *n = 12;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

/* The character a two-character escape stands for; 0 if there is no such escape. */
static char short_escape(char c) {
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? meanings[at - letters] : 0;
}

/* Checks the escape whose backslash is at p; its length, 0 after a failure. */
static size_t scan_escape(tare_json *j, const char *p) {
    if (p + 1 == j->end) return fail_here(j, j->end, "");
    if (p[1] != 'u') {
        if (short_escape(p[1])) return 2;
        return fail_here(j, p, "unknown escape in a string");
    }
    size_t n;
    int32_t point = unicode_escape(p, j->end, &n);
    if (point == -1) return fail_here(j, p, "\\u needs four hexadecimal digits");
    if (point == -2) return fail_here(j, p, "escape is half of a surrogate pair");
    return n;
}

/* Skips whole words of characters that need no inspection: ASCII except controls, quote, backslash.
 * Each test sets the high bit of a byte that is special; a borrow can set others too, but only in a
 * word that has one. */
static const char *skip_plain_words(const char *p, const char *end) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    for (; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        uint64_t special = word | (word - ones * 0x20) | (quote - ones) | (backslash - ones);
        if (special & ones * 0x80) break;
    }
    return p;
}

/* Moves over the string at j->pos, which is at its opening quote. */
static bool scan_string(tare_json *j) {
    const char *p = skip_plain_words(j->pos + 1, j->end);
    while (p < j->end && *p != '"') {
        uint8_t c = (uint8_t)*p;
        size_t n = 1;
        if (c == '\\') {
            n = scan_escape(j, p);
            if (n == 0) return false;
        } else if (c < 0x20) {
            return fail_here(j, p, "control character in a string");
        } else if (c >= 0x80) {
            n = tare_utf8_sequence(p, (size_t)(j->end - p));
            if (n == 0) return fail_here(j, p, "string is not valid UTF-8");
        }
        p += n;
    }
    if (p == j->end) return fail_here(j, p, "");
    j->pos = p + 1;
    return true;
}

/* ---- numbers and words ----------------------------------------------------------------------- */

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* Skips digits; there must be at least one. */
static bool take_digits(tare_json *j, const char **p) {
    const char *first = *p;
    *p = skip_digits(first, j->end);
    return *p > first || fail_here(j, first, "digit expected in a number");
}

static bool scan_word(tare_json *j, const char *word, const char *what) {
    size_t n = strlen(word), i = 0;
    while (i < n && j->pos + i < j->end && j->pos[i] == word[i]) i++;
    if (i < n) return fail_here(j, j->pos + i, what);
    j->pos += n;
    return true;
}

/* Infinity and NaN, behind the sign if there is one. */
static bool scan_not_finite(tare_json *j, const char *first) {
    j->pos = first;
    return scan_word(j, *first == 'N' ? "NaN" : "Infinity",
                     "value expected: Infinity or NaN is misspelt");
}

static bool scan_number(tare_json *j) {
    const char *p = j->pos;
    if (*p == '-') p++;
    if (j->is_python && p < j->end && (*p == 'I' || (*p == 'N' && p == j->pos)))
        return scan_not_finite(j, p);
    if (p < j->end && *p == '0') {
        p++;
        if (p < j->end && *p >= '0' && *p <= '9') {
            return fail_here(j, p, "number with a leading zero");
        }
    } else if (!take_digits(j, &p)) {
        return false;
    }
    if (p < j->end && *p == '.') {
        p++;
        if (!take_digits(j, &p)) return false;
    }
    if (p < j->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < j->end && (*p == '+' || *p == '-')) p++;
        if (!take_digits(j, &p)) return false;
    }
    j->pos = p;
    return true;
}

/* ---- walking --------------------------------------------------------------------------------- */

static bool in_object(const tare_json *j) {
    return j->depth > 0 && (j->objects >> (j->depth - 1) & 1);
}

static void value_done(tare_json *j) {
    j->state = j->depth ? STATE_AFTER : STATE_DONE;
}

static bool open_container(tare_json *j, bool is_object) {
    if (j->depth == j->max_depth) {
        return tare_json_fail(j, TARE_ERR_LIMIT, offset_of(j, j->pos), "JSON is nested too deeply");
    }
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->objects = is_object ? j->objects | bit : j->objects & ~bit;
    j->state = STATE_FIRST;
    j->pos++;
    return true;
}

static tare_json_type close_container(tare_json *j) {
    j->depth--;
    j->pos++;
    value_done(j);
    return TARE_JSON_END;
}

static tare_json_type value_type(const tare_json *j, char c) {
    switch (c) {
    case '{':
        return TARE_JSON_OBJECT;
    case '[':
        return TARE_JSON_ARRAY;
    case '"':
        return TARE_JSON_STRING;
    case 't':
        return TARE_JSON_TRUE;
    case 'f':
        return TARE_JSON_FALSE;
    case 'n':
        return TARE_JSON_NULL;
    case 'I':
    case 'N':
        return j->is_python ? TARE_JSON_NUMBER : TARE_JSON_END;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? TARE_JSON_NUMBER : TARE_JSON_END;
    }
}

static bool scan_value(tare_json *j, tare_json_type type) {
    static const char misspelt[] = "value expected: true, false or null is misspelt";
    switch (type) {
    case TARE_JSON_OBJECT:
        return open_container(j, true);
    case TARE_JSON_ARRAY:
        return open_container(j, false);
    case TARE_JSON_STRING:
        return scan_string(j);
    case TARE_JSON_NUMBER:
        return scan_number(j);
    case TARE_JSON_TRUE:
        return scan_word(j, "true", misspelt);
    case TARE_JSON_FALSE:
        return scan_word(j, "false", misspelt);
    case TARE_JSON_NULL:
        return scan_word(j, "null", misspelt);
    default:
        return fail_here(j, j->pos, "JSON value expected");
    }
}

static tare_json_type take_value(tare_json *j, tare_json_value *v) {
    tare_json_type type = value_type(j, skip_space(j));
    const char *first = j->pos;
    *v = (tare_json_value){TARE_JSON_END, {first, 0}, offset_of(j, first)};
    if (!scan_value(j, type)) return TARE_JSON_END;
    if (type != TARE_JSON_OBJECT && type != TARE_JSON_ARRAY) value_done(j);
    v->type = type;
    v->raw.len = (size_t)(j->pos - first);
    return type;
}

/* Moves to the next member or element; false at the container's end, or if a failure is latched. */
static bool next_item(tare_json *j, char closing, const char *what) {
    char c = skip_space(j);
    if (j->pos < j->end && c == closing) {
        close_container(j);
        return false;
    }
    if (j->state == STATE_FIRST) return true;
    if (c != ',') return fail_here(j, j->pos, what);
    j->pos++;
    return true;
}

tare_json_type tare_json_begin(tare_json *j, tare_json_value *v) {
    assert(j->state == STATE_BEGIN);
    return take_value(j, v);
}

tare_json_type tare_json_key(tare_json *j, tare_json_value *key) {
    *key = (tare_json_value){TARE_JSON_END, {j->pos, 0}, offset_of(j, j->pos)};
    if (j->err.status != TARE_OK) return TARE_JSON_END;
    assert(in_object(j) && j->state != STATE_VALUE);
    if (!next_item(j, '}', "comma or closing brace expected")) return TARE_JSON_END;
    if (skip_space(j) != '"') {
        fail_here(j, j->pos, "key expected: a string in quotes");
        return TARE_JSON_END;
    }
    take_value(j, key);
    if (j->err.status == TARE_OK && skip_space(j) != ':') {
        fail_here(j, j->pos, "colon expected after a key");
    }
    if (j->err.status != TARE_OK) return key->type = TARE_JSON_END;
    j->pos++;
    j->state = STATE_VALUE;
    return TARE_JSON_STRING;
}

tare_json_type tare_json_next(tare_json *j, tare_json_value *v) {
    *v = (tare_json_value){TARE_JSON_END, {j->pos, 0}, offset_of(j, j->pos)};
    if (j->err.status != TARE_OK) return TARE_JSON_END;
    assert(j->depth > 0 && in_object(j) == (j->state == STATE_VALUE));
    if (j->state != STATE_VALUE && !next_item(j, ']', "comma or closing bracket expected")) {
        return TARE_JSON_END;
    }
    return take_value(j, v);
}

bool tare_json_skip(tare_json *j, const tare_json_value *v, tare_str *raw) {
    if (raw) *raw = v->raw;
    if (v->type != TARE_JSON_OBJECT && v->type != TARE_JSON_ARRAY) return true;
    uint32_t outside = j->depth - 1;
    tare_json_value inner;
    while (j->err.status == TARE_OK && j->depth > outside) {
        if (in_object(j) && j->state != STATE_VALUE) {
            tare_json_key(j, &inner);
        } else {
            tare_json_next(j, &inner);
        }
    }
    if (j->err.status != TARE_OK) return false;
    if (raw) raw->len = (size_t)(j->pos - raw->ptr);
    return true;
}

bool tare_json_finish(tare_json *j) {
    if (j->err.status != TARE_OK) return false;
    assert(j->state == STATE_DONE);
    skip_space(j);
    return j->pos == j->end || fail_here(j, j->pos, "something follows the JSON value");
}

/* ---- values ---------------------------------------------------------------------------------- */

static char *put_utf8(char *out, uint32_t point) {
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    unsigned n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    unsigned lead = n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0;
    *out++ = (char)(lead | point >> 6 * (n - 1));
    for (unsigned i = n - 1; i-- > 0;) *out++ = (char)(0x80 | (point >> 6 * i & 0x3F));
    return out;
}

/* The next character of a string's contents at *p, unescaped; its bytes go to out. */
static size_t take_character(const char **p, const char *end, char out[4]) {
    size_t n = 2;
    if (**p != '\\') {
        out[0] = *(*p)++;
        return 1;
    }
    char *last = out + 1;
    if ((*p)[1] == 'u') {
        last = put_utf8(out, (uint32_t)unicode_escape(*p, end, &n));
    } else {
        out[0] = short_escape((*p)[1]);
    }
    *p += n;
    return (size_t)(last - out);
}

tare_str tare_json_text(const tare_json_value *v, tare_arena *arena) {
    assert(v->type == TARE_JSON_STRING);
    const char *p = v->raw.ptr + 1, *end = v->raw.ptr + v->raw.len - 1;
    size_t size = (size_t)(end - p), n = 0;
    if (!memchr(p, '\\', size)) return (tare_str){p, size};
    char *text = tare_arena_take(arena, size); /* no escape is shorter than what it stands for */
    if (!text) return (tare_str){NULL, 0};
    while (p < end) n += take_character(&p, end, text + n);
    return (tare_str){text, n};
}

bool tare_json_is(const tare_json_value *v, const char *text) {
    if (v->type != TARE_JSON_STRING) return false;
    const char *p = v->raw.ptr + 1, *end = v->raw.ptr + v->raw.len - 1;
    size_t left = strlen(text), size = (size_t)(end - p);
    if (size < left) return false; /* escapes only make it longer */
    if (!memchr(p, '\\', size)) return size == left && memcmp(p, text, size) == 0;
    while (p < end) {
        char character[4];
        size_t n = take_character(&p, end, character);
        if (n > left || memcmp(character, text, n) != 0) return false;
        text += n;
        left -= n;
    }
    return left == 0;
}

bool tare_json_u64(const tare_json_value *v, uint64_t *out) {
    *out = 0;
    if (v->type != TARE_JSON_NUMBER) return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < v->raw.len; i++) {
        char c = v->raw.ptr[i];
        if (c < '0' || c > '9') return false;
        uint64_t digit = (uint64_t)(c - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *out = sum;
    return true;
}

bool tare_json_i64(const tare_json_value *v, int64_t *out) {
    *out = 0;
    if (v->type != TARE_JSON_NUMBER) return false;
    bool is_negative = v->raw.ptr[0] == '-';
    tare_json_value digits = *v;
    digits.raw.ptr += is_negative;
    digits.raw.len -= is_negative;
    uint64_t size;
    if (!tare_json_u64(&digits, &size) || size > (uint64_t)INT64_MAX + is_negative) return false;
    *out = is_negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

/* The exponent part "e-12" at p, clamped to +-100,000: a mantissa of 1,024 digits cannot bring a
 * number beyond that back into range. */
static long exponent_of(const char *p, const char *end) {
    if (p == end) return 0;
    bool is_negative = p[1] == '-';
    p += p[1] == '-' || p[1] == '+' ? 2 : 1;
    long sum = 0;
    for (; p < end && sum < 10000; p++) sum = sum * 10 + (*p - '0');
    return is_negative ? -sum : sum;
}

bool tare_json_f64(const tare_json_value *v, double *out) {
    *out = 0;
    if (v->type != TARE_JSON_NUMBER || tare_str_ends(v->raw, TARE_STR("N")) ||
        tare_str_ends(v->raw, TARE_STR("y")))
        return false;
    /* strtod reads the decimal point of the caller's locale, so it is given whole digits and a
     * shifted exponent: the same number, rounded the same way */
    char text[1024 + 32];
    const char *p = v->raw.ptr, *end = p + v->raw.len;
    size_t n = 0;
    long shift = 0;
    for (bool is_fraction = false; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            is_fraction = true;
            continue;
        }
        if (n == 1024) return false;
        text[n++] = *p;
        shift -= is_fraction;
    }
    snprintf(text + n, sizeof text - n, "e%ld", shift + exponent_of(p, end));
    *out = strtod(text, NULL);
    return isfinite(*out);
}

tare_status tare_json_whole(tare_json_value *out, tare_str text, tare_error *err) {
    tare_json j;
    tare_json_value v;
    tare_json_init_python(&j, text, 0, TARE_JSON_MAX_DEPTH);
    tare_json_begin(&j, &v);
    tare_json_skip(&j, &v, &v.raw);
    tare_json_finish(&j);
    if (out) *out = v;
    return tare_json_status(&j, err);
}

bool tare_json_has_member(tare_str text, const char *name) {
    tare_json j;
    tare_json_value key, value;
    tare_str raw;
    bool has = false;
    tare_json_init_python(&j, text, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&j, &value) != TARE_JSON_OBJECT) return false;
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        has = has || tare_json_is(&key, name);
        tare_json_next(&j, &value);
        if (!tare_json_skip(&j, &value, &raw)) return false;
    }
    return tare_json_finish(&j) && has;
}
