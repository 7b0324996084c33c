/* SPDX-License-Identifier: MIT
 *
 * Guards against a rule that does not match because a model spells a tensor otherwise, whose numbers
 * then come out in another order, or without a factor: rules on tensors that keep their names go by
 * llama.cpp's. Guards against rules that match none of the tensors of their architecture, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/str.h"
#include "llama/mapping.h"

/* Only the name, or whether there is a tensor at all, depends on these. */
static bool leaves_numbers(const char *program) {
    const tare_str text = tare_str_of(program ? program : "");
    return text.len == 0 || tare_str_ends(text, TARE_STR("drop")) ||
           tare_str_ends(text, TARE_STR("as_is"));
}

static void rules_that_keep_the_name_go_by_llama_cpp(void **state) {
    (void)state;
    size_t n = 0;
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        for (const tare_llama_rule *r = a->rules; r && r->match; r++) {
            if (r->to || leaves_numbers(r->program)) continue;
            if (r->match[0] != '=') fail_msg("%s: %s by %s", a->name, r->match, r->program);
            n++;
        }
    assert_true(n > 200);
}

/* "=blk.#.attn_q@" is of a tensor that the row lists. */
static bool is_listed(const tare_llama_arch *a, const char *match) {
    const char *words = a->tensors;
    for (tare_str w; (w = tare_llama_next_word(&words)).len;) {
        char stem[128], name[2][192];
        const char *suffixes[] = {"", ".weight", ".bias"};
        const tare_llama_rule rule = {.match = match};
        for (size_t i = 0; i < 3; i++) {
            size_t tail;
            tare_str suffix;
            snprintf(stem, sizeof stem, "%.*s%s", (int)w.len, w.ptr, suffixes[i]);
            snprintf(name[1], sizeof name[1], "blk.0.%s", stem);
            snprintf(name[0], sizeof name[0], "%s", stem);
            for (size_t k = 0; k < 2; k++)
                if (tare_llama_rule_matches(&rule, TARE_STR(""), tare_str_of(name[k]), &tail,
                                            &suffix))
                    return true;
        }
    }
    return false;
}

static void rules_by_llama_cpp_are_of_listed_tensors(void **state) {
    (void)state;
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        for (const tare_llama_rule *r = a->rules; r && r->match; r++)
            if (r->match[0] == '=' && !is_listed(a, r->match))
                fail_msg("%s (%s) has no tensor of %s", a->name, a->classes, r->match);
}

static void patterns_match_either_name(void **state) {
    (void)state;
    const tare_str hf = TARE_STR("model.layers.3.mixer.q_lin.weight");
    const tare_str target = TARE_STR("blk.3.attn_q.weight"), none = {NULL, 0};
    const tare_llama_rule by_name = {"*q_proj@", NULL, NULL},
                          by_target = {"=blk.#.attn_q@", NULL, NULL};
    size_t tail;
    tare_str suffix;
    assert_false(tare_llama_rule_matches(&by_name, hf, target, &tail, &suffix));
    assert_true(tare_llama_rule_matches(&by_target, hf, target, &tail, &suffix));
    assert_true(tare_str_is(suffix, ".weight"));
    assert_false(tare_llama_rule_matches(&by_target, hf, none, &tail, &suffix));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_that_keep_the_name_go_by_llama_cpp),
        cmocka_unit_test(rules_by_llama_cpp_are_of_listed_tensors),
        cmocka_unit_test(patterns_match_either_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
