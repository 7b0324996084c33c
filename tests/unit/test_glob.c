/* SPDX-License-Identifier: MIT
 *
 * Guards against: patterns of file names that mean something else than in a shell, and stars that take
 * a time with the power of their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/glob.h"
#include "base/str.h"

static void patterns_mean_what_they_do_in_a_shell(void **state) {
    static const struct {
        const char *pattern, *name;
        bool is_match, is_match_in_path;
    } cases[] = {
        {"", "", true, true},
        {"", "a", false, false},
        {"*", "", true, true},
        {"*.bin", "a.bin", true, true},
        {"*.bin", "x/a.bin", true, false},
        {"x/*", "x/a.bin", true, true},
        {"x/*", "x/y/a.bin", true, false},
        {"*/*/a*", "x/y/abc", true, true},
        {"?", "/", true, false},
        {"[/]", "/", true, false},
        {"?", "\xc3\xa9", true, true},
        {"[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", true, true},
        {"?", "\xff", true, true},
        {"[a-c]x", "bx", true, true},
        {"[!a-c]x", "bx", false, false},
        {"[^a-c]x", "dx", true, true},
        {"[]a]", "]", true, true},
        {"[a-]", "-", true, true},
        {"[\\]]", "]", true, true},
        {"[a", "[a", true, true},
        {"\\*", "*", true, true},
        {"\\*", "a", false, false},
        {"a*b*c", "aXbXbXc", true, true},
        {"a*b*c", "aXbXbX", false, false},
        {"**a", "bba", true, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tare_str pattern = tare_str_of(cases[i].pattern), name = tare_str_of(cases[i].name);
        if (tare_glob_matches(pattern, name, false) == cases[i].is_match &&
            tare_glob_matches(pattern, name, true) == cases[i].is_match_in_path)
            continue;
        print_error("%s: %s\n", cases[i].pattern, cases[i].name);
        fail();
    }
}

/* Would not end, were every star tried at every place. */
static void stars_take_no_longer_than_the_lengths(void **state) {
    char pattern[201], name[2001];
    (void)state;
    for (size_t i = 0; i < 100; i++) memcpy(pattern + 2 * i, "*a", 2);
    pattern[199] = 'b';
    pattern[200] = '\0';
    memset(name, 'a', 2000);
    name[2000] = '\0';
    assert_false(tare_glob_matches(tare_str_of(pattern), tare_str_of(name), false));
    assert_false(tare_glob_matches(tare_str_of(pattern), tare_str_of(name), true));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_mean_what_they_do_in_a_shell),
        cmocka_unit_test(stars_take_no_longer_than_the_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
