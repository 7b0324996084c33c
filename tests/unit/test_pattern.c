/* SPDX-License-Identifier: MIT
 *
 * Guards against: expressions that take more time or memory than their limits, and are answered all
 * the same, and expressions that mean something else than in POSIX, ECMAScript and Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pattern_cost.h"
#include "base/status.h"

static bool matches(const char *text, const char *name) {
    tare_pattern *p;
    tare_error err = TARE_ERROR_NONE;
    if (tare_pattern_new(&p, text, strlen(text), NULL, &err) != TARE_OK) {
        print_error("%s: %s\n", text, err.what);
        fail();
    }
    bool is_match;
    assert_int_equal(tare_pattern_matches(&is_match, p, (tare_str){name, strlen(name)}, &err),
                     TARE_OK);
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
        {"^a{0,2}$", "aaa", false},
        {"^(ab){1,3}$", "ababab", true},
        {"^(ab){1,3}$", "abababab", false},
        {"^a{0}b$", "b", true},
        {"^a{0}b$", "ab", false},
        {"^(a*)*$", "aaa", true},
        {"^(a*)+b$", "aaab", true},
        {"^(){99}a$", "a", true},
        {"^.$", "\xc3\xa9", true},
        {"^.$", "\xc3", false},
        {"b$",
         "\xff"
         "ab",
         true},
        {"^(a+)_\\1$", "aa_aa", true},
        {"^(?!lm_)(?<part>[a-z]+)", "lm_head", false},
        {"^x{,y}$", "x{,y}", true},
        {"^a$", "a\n", false},
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
        {"a\\{,2}", "a{,2}", true},
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
        "(",        "a)",    "a(b",      "[",   "[a",       "*a",      "a|*",     "a{3,2}",
        "a{70000}", "\\",    "\\1",      "\\k", "[b-a]",    "[[:x:]]", "[[.a.]]", "[\\",
        "(?",       "a{,2}", "\\\\{,2}", "\\C", "(?<=a*)b", "\xff",    "(*NO)",   "[a-\\d]"};
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

/* Whether an expression that matches nothing in n times 'a' says so; *cost: steps that it took. */
static bool answers(const char *text, size_t n, uint64_t *cost) {
    tare_pattern *p;
    tare_error err;
    bool is_match = true;
    char *name = malloc(n), escaped[48], wanted[64];
    assert_non_null(name);
    memset(name, 'a', n);
    assert_int_equal(tare_pattern_new(&p, text, strlen(text), NULL, NULL), TARE_OK);
    tare_status status = tare_pattern_matches(&is_match, p, (tare_str){name, n}, &err);
    assert_false(is_match);
    *cost = tare_pattern_cost(p);
    if (status != TARE_OK) {
        assert_int_equal(status, TARE_ERR_LIMIT);
        tare_str_escape(escaped, sizeof escaped, (tare_str){text, strlen(text)}, true);
        snprintf(wanted, sizeof wanted, "expression \"%s\"", escaped);
        assert_string_equal(err.field, wanted);
        assert_non_null(strstr(err.what, "more than"));
    }
    tare_pattern_free(p);
    free(name);
    return status == TARE_OK;
}

/* Twice the name, twice the steps. */
static void plain_ones_take_as_long_as_a_name(void **state) {
    static const char *const texts[] = {"^blk\\.\\d+\\.", "(b|c|d)", "aaab", "^a+[bc]",
                                        "\\bffn_(up|down)"};
    uint64_t once, twice;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(answers(texts[i], 8000, &once) && answers(texts[i], 16000, &twice));
        assert_true(twice <= 21 * once / 10);
    }
}

/* Any name: at most the limit, whatever the expression. */
static void no_expression_takes_more_than_its_limit(void **state) {
    static const char *const texts[] = {"(a*)*[bc]",         "(a|a)*[bc]",    "(a+)+[bc]",
                                        "a.*a.*a.*[bc]",     "(a?){50}[bc]",  "a[^b]*+[bc]",
                                        "(?=(a+))a*\\1[bc]", "((?R)?a)+[bc]", "(a(?1)?)[bc]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool did_answer = true;
        for (size_t n = 1000; n <= 8000; n *= 2) {
            uint64_t cost;
            did_answer = answers(texts[i], n, &cost);
            assert_true(cost <=
                        TARE_PATTERN_STEPS + (uint64_t)TARE_PATTERN_STEPS_PER_BYTE * n + n + 1);
        }
        if (did_answer) print_error("%s\n", texts[i]);
        assert_false(did_answer);
    }
}

/* Names share a limit: many of them take no longer than their bytes. */
static void names_share_a_limit(void **state) {
    static const char text[] = "(a|a)*[bc]";
    tare_pattern *p;
    tare_status status = TARE_OK;
    bool is_match;
    char name[16];
    size_t n = 0;
    (void)state;
    memset(name, 'a', sizeof name);
    assert_int_equal(tare_pattern_new(&p, text, sizeof text - 1, NULL, NULL), TARE_OK);
    for (; status == TARE_OK && n < 1000; n++)
        status = tare_pattern_matches(&is_match, p, (tare_str){name, sizeof name}, NULL);
    assert_int_equal(status, TARE_ERR_LIMIT);
    assert_true(n > 1);
    tare_pattern_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_mean_what_they_do_elsewhere),
        cmocka_unit_test(what_is_no_expression_is_refused),
        cmocka_unit_test(large_and_deep_ones_are_refused),
        cmocka_unit_test(plain_ones_take_as_long_as_a_name),
        cmocka_unit_test(no_expression_takes_more_than_its_limit),
        cmocka_unit_test(names_share_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
