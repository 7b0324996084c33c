/* SPDX-License-Identifier: MIT
 *
 * Guards against: expressions that take more time or memory than their length and that of a name
 * say, and expressions that mean something else than in POSIX, ECMAScript and Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pattern_steps.h"

static bool matches(const char *text, const char *name) {
    tare_pattern *p;
    tare_error err = TARE_ERROR_NONE;
    if (tare_pattern_new(&p, text, strlen(text), NULL, &err) != TARE_OK) {
        print_error("%s: %s\n", text, err.what);
        fail();
    }
    bool is_match = tare_pattern_matches(p, (tare_str){name, strlen(name)});
    tare_pattern_free(p);
    return is_match;
}

static void expressions_mean_what_they_do_elsewhere(void **state) {
    static const struct {
        const char *text, *name;
        bool is_match;
    } cases[] = {
        {"", "x", true},
        {"ffn_down", "blk.0.ffn_down.weight", true},
        {"^ffn_down", "blk.0.ffn_down.weight", false},
        {"blk\\.([0-9]|1[0-9])\\.ffn_(up|gate)\\.weight$", "blk.12.ffn_up.weight", true},
        {"blk\\.([0-9]|1[0-9])\\.ffn_(up|gate)\\.weight$", "blk.21.ffn_up.weight", false},
        {"blk\\.(?:0|1)\\.", "blk.1.x", true},
        {"^blk\\.\\d+\\.attn_[kqv]\\.weight$", "blk.10.attn_q.weight", true},
        {"^blk\\.\\d+\\.attn_[kqv]\\.weight$", "blk.x.attn_q.weight", false},
        {"^a.*?b$", "aab", true},
        {"^a+?$", "", false},
        {"^(a|b|cd)*$", "abcdcdab", true},
        {"^(a|b|cd)*$", "abcdcab", false},
        {"^(|a)b$", "b", true},
        {"^a{2}$", "aa", true},
        {"^a{2}$", "aaa", false},
        {"^a{2,}$", "aaaa", true},
        {"^a{2,}$", "a", false},
        {"^a{0,2}$", "", true},
        {"^a{,2}$", "aa", true},
        {"^a{0,2}$", "aaa", false},
        {"^(ab){1,3}$", "ababab", true},
        {"^(ab){1,3}$", "abababab", false},
        {"^a{0}b$", "b", true},
        {"^a{0}b$", "ab", false},
        {"^(a*)*$", "aaa", true},
        {"^(a*)+b$", "aaab", true},
        {"^(){32767}a$", "a", true},
        {"^[^.]+$", "a.b", false},
        {"^[]a]+$", "]a", true},
        {"^[^]a]$", "b", true},
        {"^[a-c-]+$", "a-c", true},
        {"^[\\d.]+$", "1.5", true},
        {"^[\\.]$", "\\", false},
        {"^[[:alpha:]_]+$", "a_B", true},
        {"^[[:alpha:]_]+$", "a1", false},
        {"^\\w+\\W\\S\\s\\D$", "ab_1.x y", true},
        {"\\bup\\b", "ffn.up.weight", true},
        {"\\bup\\b", "ffn_up.weight", false},
        {"\\Bup\\b", "ffn_up.weight", true},
        {"a)", "a)", true},
        {"{", "a{", true},
        {"x.y", "x\ny", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (matches(cases[i].text, cases[i].name) != cases[i].is_match) {
            print_error("%s: %s\n", cases[i].text, cases[i].name);
            fail();
        }
}

static void check_refused(const char *text, tare_status status) {
    tare_pattern *p;
    tare_error err;
    assert_int_equal(tare_pattern_new(&p, text, strlen(text), NULL, &err), status);
    assert_null(p);
}

static void what_is_no_expression_is_refused(void **state) {
    static const char *const texts[] = {
        "(",   "a(b",    "[",        "[a",      "*a",    "a|*",     "a{",
        "a{2", "a{3,2}", "a{40000}", "\\",      "(?=a)", "(?<n>a)", "\\1",
        "\\k", "[b-a]",  "[[:x:]]",  "[[.a.]]", "[\\",   "(?",      "a{2}{"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_refused(texts[i], TARE_ERR_ARG);
}

static void large_and_deep_ones_are_refused(void **state) {
    (void)state;
    check_refused("((((a{1,99}){1,99}){1,99}){1,99}){1,99}", TARE_ERR_LIMIT);
    check_refused("(.{1,30000}){1,30000}", TARE_ERR_LIMIT);
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 1);
    assert_non_null(text);
    memset(text, '(', DEEP);
    memset(text + DEEP, ')', DEEP);
    text[2 * DEEP] = '\0';
    check_refused(text, TARE_ERR_LIMIT);
    free(text);
}

static uint64_t cost(const char *text, size_t n) {
    tare_pattern *p;
    char *name = malloc(n);
    assert_non_null(name);
    memset(name, 'a', n);
    assert_int_equal(tare_pattern_new(&p, text, strlen(text), NULL, NULL), TARE_OK);
    assert_false(tare_pattern_matches(p, (tare_str){name, n}));
    uint64_t done = p->n_done;
    tare_pattern_free(p);
    free(name);
    return done;
}

/* Twice the name, twice the steps. */
static void no_name_takes_longer_than_its_length(void **state) {
    static const char *const texts[] = {"a.*b",       "(a*)*b",    "(a|a)*b",          "(a+)+b",
                                        "a.*a.*a.*b", "(a?){50}b", "^(.*[.])?(.*b.*)$"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(cost(texts[i], 8000) < 21 * cost(texts[i], 4000) / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_mean_what_they_do_elsewhere),
        cmocka_unit_test(what_is_no_expression_is_refused),
        cmocka_unit_test(large_and_deep_ones_are_refused),
        cmocka_unit_test(no_name_takes_longer_than_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
