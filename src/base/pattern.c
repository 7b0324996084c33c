/* SPDX-License-Identifier: MIT
 *
 * Expressions are PCRE2's. Its own limits hold for a match from one place of a name, and names have
 * many, so what is tried is counted here: PCRE2 calls before each item of an expression. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pattern_cost.h"
#include "base/str.h"

struct tare_pattern {
    const tare_allocator *allocator;
    pcre2_general_context *general;
    pcre2_code *code;
    pcre2_match_context *context;
    pcre2_match_data *data;
    size_t at; /* in the name, where the item before was tried */
    uint64_t n_done, n_allowed;
    char text[48]; /* its beginning, for messages */
};

static tare_status name_it(const tare_pattern *p, tare_status status, tare_error *err) {
    tare_error_detail(err, "expression \"%s\"", p->text);
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Blocks begin with their size, which an allocator is told when they go. */
typedef union block {
    size_t size;
    max_align_t align;
} block;

static void *take(size_t size, void *allocator) {
    block *b = size <= SIZE_MAX - sizeof *b ? tare_alloc(allocator, sizeof *b + size) : NULL;
    if (!b) return NULL;
    b->size = sizeof *b + size;
    return b + 1;
}

static void give(void *memory, void *allocator) {
    block *b = memory;
    if (b) tare_free(allocator, b - 1, b[-1].size);
}

/* ---- reading an expression ------------------------------------------------------------------- */

/* What users meet. PCRE2's own texts are made when asked for, ours are static. */
static const struct {
    int code;
    const char *what;
} faults[] = {
    {PCRE2_ERROR_END_BACKSLASH, "it ends with a backslash"},
    {PCRE2_ERROR_UNKNOWN_ESCAPE, "a letter or digit that no backslash may precede"},
    {PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER, "expected {m}, {m,} or {m,n}, m not above n"},
    {PCRE2_ERROR_QUANTIFIER_TOO_BIG, "expected {m}, {m,} or {m,n}, at most 65535"},
    {PCRE2_ERROR_MISSING_SQUARE_BRACKET, "no ] closes what [ opens"},
    {PCRE2_ERROR_ESCAPE_INVALID_IN_CLASS, "an escape that brackets may not hold"},
    {PCRE2_ERROR_CLASS_RANGE_ORDER, "a range in [ ] whose end is before its beginning"},
    {PCRE2_ERROR_CLASS_INVALID_RANGE, "a range in [ ] that ends with a class"},
    {PCRE2_ERROR_UNKNOWN_POSIX_CLASS, "expected the name of a class, as in [:digit:]"},
    {PCRE2_ERROR_POSIX_NO_SUPPORT_COLLATING, "expected the name of a class, as in [:digit:]"},
    {PCRE2_ERROR_QUANTIFIER_INVALID, "nothing to repeat before * + ?"},
    {PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS, "no ) closes what ( opens"},
    {PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS, "no ( opens what ) closes"},
    {PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE, "it refers to a group that does not exist"},
    {PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH,
     "the text of a lookbehind (?<= ) has no fixed length"},
    {PCRE2_ERROR_BACKSLASH_C_CALLER_DISABLED, "\\C is not supported"},
    {PCRE2_ERROR_PATTERN_TOO_LARGE, "it is too large"},
    {PCRE2_ERROR_PATTERN_STRING_TOO_LONG, "it is too large"},
    {PCRE2_ERROR_PATTERN_TOO_COMPLICATED, "it is too large"},
    {PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP, "groups are nested too deeply"},
    {PCRE2_ERROR_PARENTHESES_STACK_CHECK, "groups are nested too deeply"},
};

static bool is_limit(int code) {
    return code == PCRE2_ERROR_PATTERN_TOO_LARGE || code == PCRE2_ERROR_PATTERN_STRING_TOO_LONG ||
           code == PCRE2_ERROR_PATTERN_TOO_COMPLICATED ||
           code == PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP ||
           code == PCRE2_ERROR_PARENTHESES_STACK_CHECK;
}

static tare_status refuse(int code, size_t at, tare_error *err) {
    const char *what = code < 0 ? "it is not UTF-8" : "the expression is not understood";
    if (code == PCRE2_ERROR_HEAP_FAILED) return tare_fail(err, TARE_ERR_NOMEM, "expression");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code) what = faults[i].what;
    return tare_fail_at(err, is_limit(code) ? TARE_ERR_LIMIT : TARE_ERR_ARG, at, what);
}

/* {,n} means {0,n} in Python, and these letters to PCRE2 before its version 10.43. */
static tare_status check_repeats(const char *text, size_t n, tare_error *err) {
    for (size_t i = 0; i + 1 < n; i++) {
        size_t end = i + 2;
        if (text[i] == '\\' || text[i] != '{' || text[i + 1] != ',') {
            i += text[i] == '\\';
            continue;
        }
        while (end < n && text[end] >= '0' && text[end] <= '9') end++;
        if (end > i + 2 && end < n && text[end] == '}')
            return tare_fail_at(err, TARE_ERR_ARG, i, "write {0,n} for {,n}");
    }
    return TARE_OK;
}

/* A name is one line, whatever bytes it has; those that are no UTF-8 match nothing. */
enum {
    OPTIONS = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY |
              PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
};

static tare_status compile(tare_pattern *p, const char *text, size_t n, tare_error *err) {
    int code = PCRE2_ERROR_HEAP_FAILED;
    PCRE2_SIZE at = 0;
    pcre2_compile_context *c = p->general ? pcre2_compile_context_create(p->general) : NULL;
    if (c) {
        pcre2_set_max_pattern_length(c, TARE_PATTERN_LONGEST);
        p->code = pcre2_compile((PCRE2_SPTR)text, n, OPTIONS, &code, &at, c);
    }
    pcre2_compile_context_free(c);
    return p->code ? TARE_OK : refuse(code, at < n ? at : n, err);
}

/* ---- matching -------------------------------------------------------------------------------- */

static int count(pcre2_callout_block *b, void *pattern) {
    tare_pattern *p = pattern;
    const size_t at = b->current_position;
    p->n_done += 1 + (at > p->at ? at - p->at : p->at - at);
    p->at = at;
    return p->n_done > p->n_allowed ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static bool prepare(tare_pattern *p) {
    p->context = pcre2_match_context_create(p->general);
    p->data = pcre2_match_data_create(1, p->general);
    if (!p->context || !p->data) return false;
    pcre2_set_callout(p->context, count, p);
    pcre2_set_match_limit(p->context, TARE_PATTERN_STEPS);
    pcre2_set_depth_limit(p->context, TARE_PATTERN_STEPS);
    pcre2_set_heap_limit(p->context, TARE_PATTERN_HEAP_KIB);
    return true;
}

static tare_status give_up(const tare_pattern *p, int code, tare_error *err) {
    tare_status status = TARE_ERR_LIMIT;
    if (code == PCRE2_ERROR_NOMEMORY)
        status = tare_fail(err, TARE_ERR_NOMEM, "matching an expression");
    else if (code == PCRE2_ERROR_HEAPLIMIT)
        tare_fail(err, status, "matching it takes more than 8 MiB");
    else if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT)
        tare_fail(err, status,
                  "matching it takes more than 4,194,304 steps and 1,024 for each byte of a name");
    else
        tare_fail(err, status, "matching it takes more than PCRE2 allows");
    return name_it(p, status, err);
}

tare_status tare_pattern_matches(bool *out, tare_pattern *p, tare_str name, tare_error *err) {
    TARE_REQUIRE(out && p && (name.ptr || !name.len), err);
    p->n_allowed += (uint64_t)TARE_PATTERN_STEPS_PER_BYTE * name.len;
    p->at = 0;
    const int code = pcre2_match(p->code, (PCRE2_SPTR)(name.ptr ? name.ptr : ""), name.len, 0, 0,
                                 p->data, p->context);
    *out = code >= 0;
    return *out || code == PCRE2_ERROR_NOMATCH ? TARE_OK : give_up(p, code, err);
}

uint64_t tare_pattern_cost(const tare_pattern *p) {
    return p->n_done;
}

/* ---- the whole ------------------------------------------------------------------------------- */

tare_status tare_pattern_new(tare_pattern **out, const char *text, size_t n,
                             const tare_allocator *allocator, tare_error *err) {
    TARE_REQUIRE(out && (text || !n), err);
    *out = NULL;
    if (!text) text = "";
    tare_pattern *p = tare_alloc(allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "expression");
    *p = (tare_pattern){.allocator = allocator, .n_allowed = TARE_PATTERN_STEPS};
    tare_str_escape_cut(p->text, sizeof p->text, (tare_str){text, n});
    p->general = pcre2_general_context_create(take, give, (void *)(uintptr_t)allocator);
    tare_status status = check_repeats(text, n, err);
    if (status == TARE_OK) status = compile(p, text, n, err);
    if (status == TARE_OK && !prepare(p)) status = tare_fail(err, TARE_ERR_NOMEM, "expression");
    if (status != TARE_OK) {
        name_it(p, status, err);
        tare_pattern_free(p);
        return status;
    }
    *out = p;
    return TARE_OK;
}

void tare_pattern_free(tare_pattern *p) {
    if (!p) return;
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->context);
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->general);
    tare_free(p->allocator, p, sizeof *p);
}
