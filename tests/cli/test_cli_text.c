/* SPDX-License-Identifier: MIT
 *
 * Guards against sizes that are read or shown as another size, and against foreign text that
 * breaks columns or reaches a terminal raw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static void check_size(const char *text, uint64_t expected) {
    uint64_t size = 0;
    if (!tare_size_parse(&size, text)) fail_msg("\"%s\" refused", text);
    if (size != expected) fail_msg("\"%s\" read as %llu", text, (unsigned long long)size);
}

static void sizes_are_read(void **state) {
    (void)state;
    check_size("0", 0);
    check_size("512", 512);
    check_size("7B", 7);
    check_size("3k", 3000);
    check_size("3K", 3000);
    check_size("2M", 2000000);
    check_size("5G", UINT64_C(5000000000));
    check_size("5GB", UINT64_C(5000000000));
    check_size("1T", UINT64_C(1000000000000));
    check_size("4Ki", 4096);
    check_size("4KiB", 4096);
    check_size("1.5Ki", 1536);
    check_size("0.1M", 100000);
    check_size("1.000001M", 1000001);
    check_size("2Mi", 2097152);
    check_size("1Gi", 1073741824);
    check_size("1Ti", UINT64_C(1099511627776));
    check_size("18446744073709551614", UINT64_MAX - 1);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "G",
        "1.5",
        "1.G",
        ".5G",
        "5X",
        "5Gx",
        "5GiBB",
        "0x10",
        "1e9",
        "1,5G",
        "5 G",
        "20E",
        "18446744073709551616",
        "18446744073709551615K",
        "99999999T",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t size;
        if (tare_size_parse(&size, bad[i])) fail_msg("\"%s\" accepted", bad[i]);
    }
}

static void ranges_are_read(void **state) {
    (void)state;
    uint64_t first, end;
    assert_true(cli_range_parse(&first, &end, "2:5"));
    assert_int_equal(first, 2);
    assert_int_equal(end, 5);
    assert_true(cli_range_parse(&first, &end, ":5"));
    assert_int_equal(first, 0);
    assert_true(cli_range_parse(&first, &end, "7:"));
    assert_true(end == UINT64_MAX);
    assert_false(cli_range_parse(&first, &end, "5"));
    assert_false(cli_range_parse(&first, &end, "5:5"));
    assert_false(cli_range_parse(&first, &end, "6:5"));
    assert_false(cli_range_parse(&first, &end, "a:5"));
    assert_false(cli_range_parse(&first, &end, "1:2:3"));
}

static void numbers_are_shown_short(void **state) {
    (void)state;
    assert_string_equal(cli_size_text(0).text, "0 B");
    assert_string_equal(cli_size_text(999).text, "999 B");
    assert_string_equal(cli_size_text(1000).text, "1.00 kB");
    assert_string_equal(cli_size_text(9995).text, "10.0 kB");
    assert_string_equal(cli_size_text(99949).text, "99.9 kB");
    assert_string_equal(cli_size_text(999499).text, "999 kB");
    assert_string_equal(cli_size_text(999500).text, "1.00 MB");
    assert_string_equal(cli_size_text(UINT64_MAX).text, "18.4 EB");
    assert_string_equal(cli_count_text(8030261248).text, "8.03 B");
    assert_string_equal(cli_exact_text(0).text, "0");
    assert_string_equal(cli_exact_text(1234).text, "1,234");
    assert_string_equal(cli_exact_text(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(cli_real32_text((double)0.1f).text, "0.1");
    assert_string_equal(cli_real_text(0.1).text, "0.1");
    assert_string_equal(cli_real32_text((double)1e-5f).text, "1e-05");
}

static void check_cut(const char *text, size_t limit, const char *expected) {
    char *copy = cli_copy(text, strlen(text));
    cli_cut(copy, limit);
    assert_string_equal(copy, expected);
    assert_true(cli_width(copy) <= limit);
    free(copy);
}

static void text_is_measured_and_cut_by_columns(void **state) {
    (void)state;
    assert_int_equal(cli_width("abc"), 3);
    assert_int_equal(cli_width("\xc3\xa9"), 1);                 /* e acute */
    assert_int_equal(cli_width("\xe4\xb8\xad\xe6\x96\x87"), 4); /* two ideographs */
    assert_int_equal(cli_width("e\xcc\x81"), 1);                /* e and a combining accent */
    assert_int_equal(cli_width("\xf0\x9f\x98\x80"), 2);         /* an emoji */
    check_cut("abcdef", 6, "abcdef");
    check_cut("abcdefg", 6, "abc...");
    check_cut("\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97", 5, "\xe4\xb8\xad...");
    check_cut("abcdef", 3, "...");
    check_cut("abcdef", 1, "");
}

static void foreign_text_is_escaped(void **state) {
    (void)state;
    char *text = cli_escape((tare_str){"a\033[31m\n\xff", 8}, false, 0);
    assert_string_equal(text, "a\\x1b[31m\\n\\xff");
    free(text);
    text = cli_escape((tare_str){"a\0b", 3}, false, 0);
    assert_string_equal(text, "a\\x00b");
    free(text);
    text = cli_escape((tare_str){"0123456789", 10}, false, 8);
    assert_string_equal(text, "01234...");
    free(text);
}

static const char *word_at(void *ctx, size_t i) {
    return ((const char *const *)ctx)[i];
}

static void the_nearest_word_is_guessed(void **state) {
    (void)state;
    const char *words[] = {"info", "verify", "convert", NULL};
    assert_string_equal(cli_nearest("inof", word_at, words), "info");
    assert_string_equal(cli_nearest("verfiy", word_at, words), "verify");
    assert_string_equal(cli_nearest("covnert", word_at, words), "convert");
    assert_null(cli_nearest("explode", word_at, words));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(numbers_are_shown_short),
        cmocka_unit_test(text_is_measured_and_cut_by_columns),
        cmocka_unit_test(foreign_text_is_escaped),
        cmocka_unit_test(the_nearest_word_is_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
