/* SPDX-License-Identifier: MIT
 *
 * Guards against a tokenizer_config.json that `--compat mantle` writes otherwise than the public
 * packer, which reads it into a map and writes it with Go's encoding/json: the order of keys, equal
 * keys, numbers, escapes, and when the template of chats is added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

static tare_status merge(tare_buffer *out, tare_str config, tare_str chat, tare_error *err) {
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(out, NULL);
    tare_status s = tare_mcf_merge_template(out, config, chat, &arena, err);
    tare_arena_free(&arena);
    return s;
}

static void check(tare_str config, tare_str chat, const char *expected) {
    tare_buffer out;
    tare_error err = TARE_ERROR_NONE;
    if (merge(&out, config, chat, &err) != TARE_OK)
        fail_msg("%.*s: byte %d: %s", (int)config.len, config.ptr, (int)err.offset, err.what);
    if (!tare_str_is((tare_str){(const char *)out.data, out.size}, expected))
        fail_msg("%.*s: %.*s, expected %s", (int)config.len, config.ptr, (int)out.size,
                 (const char *)out.data, expected);
    tare_buffer_free(&out);
}

static void check_value(const char *value, const char *expected) {
    char config[256], whole[256];
    snprintf(config, sizeof config, "{\"a\" : %s}", value);
    snprintf(whole, sizeof whole, "{\"a\":%s}", expected);
    check(tare_str_of(config), TARE_STR(""), whole);
}

static void numbers_go_through_f64(void **state) {
    static const char *const pairs[][2] = {
        {"1", "1"},
        {"0", "0"},
        {"-0", "-0"},
        {"-0.0e9", "-0"},
        {"1.50", "1.5"},
        {"12.5e1", "125"},
        {"1E+5", "100000"},
        {"0.1", "0.1"},
        {"-0.001", "-0.001"},
        {"1e20", "100000000000000000000"},
        {"123456789012345680000", "123456789012345680000"},
        {"999999999999999868928", "999999999999999900000"},
        {"1e21", "1e+21"},
        {"-1.25e22", "-1.25e+22"},
        {"1e-6", "0.000001"},
        {"1.5e-6", "0.0000015"},
        {"9.99e-7", "9.99e-7"},
        {"1e-7", "1e-7"},
        {"1e-10", "1e-10"},
        {"1e-400", "0"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"9007199254740993", "9007199254740992"},
        {"18446744073709551615", "18446744073709552000"},
        {"123456789012345678901234567890", "1.2345678901234568e+29"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"5.6843418860808015e-14", "5.684341886080802e-14"}, /* 2^-44: above it is more room */
        {"true", "true"},
        {"null", "null"},
        {"[ ]", "[]"},
        {"[1 , [ 2.0]\n]", "[1,[2]]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) check_value(pairs[i][0], pairs[i][1]);
}

static void keys_are_sorted_everywhere(void **state) {
    (void)state;
    check(TARE_STR(" { \"b\" : 1, \"B\":{\"z\":0,\"y\":{ },\"\":2},\"a\":[{\"d\":1,\"c\":2}] } \n"),
          TARE_STR(""), "{\"B\":{\"\":2,\"y\":{},\"z\":0},\"a\":[{\"c\":2,\"d\":1}],\"b\":1}");
    check(TARE_STR("{\"\xc3\xa9\":1,\"\\u007a\":2}"), TARE_STR(""), "{\"z\":2,\"\xc3\xa9\":1}");
    /* of equal keys the last counts, and nothing of the others */
    check(TARE_STR("{\"k\":{\"x\":1},\"a\":0,\"\\u006b\":{\"y\":2},\"k\":[3]}"), TARE_STR(""),
          "{\"a\":0,\"k\":[3]}");
}

static void strings_have_gos_escapes(void **state) {
    (void)state;
    check_value("\"\\/<>&'\\u007f\"", "\"/\\u003c\\u003e\\u0026'\x7f\"");
    check_value("\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F\"",
                "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\"");
    check_value("\"\xe2\x80\xa8\\u2029\xe2\x80\xaa\"", "\"\\u2028\\u2029\xe2\x80\xaa\"");
    check_value("\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    /* no character: a half of a pair, a byte that is not UTF-8 */
    check_value("\"\\ud800x\\udc00\\ud800\\ud83d\\ude00\"",
                "\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\"");
    check_value("\"\xff\xed\xa0\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check(TARE_STR("{\"<\":1}"), TARE_STR(""), "{\"\\u003c\":1}");
}

static void a_template_is_added_where_none_is(void **state) {
    const tare_str chat = TARE_STR("\n {% if a < b %}\xff \xc2\xa0\xe3\x80\x80\n");
    static const char added[] = "{\"a\":1,\"chat_template\":\"{% if a \\u003c b %}\\ufffd\"}";
    (void)state;
    check(TARE_STR("{\"a\":1}"), chat, added);
    check(TARE_STR("{\"chat_template\":null,\"a\":1}"), chat, added);
    check(TARE_STR("{\"chat_template\":[{\"name\":\"x\"}],\"a\":1}"), chat, added);
    check(TARE_STR("{\"chat_template\":\" \\u0085\\n\",\"a\":1}"), chat, added);
    check(TARE_STR("{\"chat_template\":\"y\",\"a\":1,\"chat_template\":2}"), chat, added);
    check(TARE_STR("{\"chat\\u005ftemplate\":\" y\",\"a\":1}"), chat,
          "{\"a\":1,\"chat_template\":\" y\"}");
    /* only the outermost object's counts */
    check(TARE_STR("{\"a\":{\"chat_template\":\"y\"}}"), TARE_STR("z"),
          "{\"a\":{\"chat_template\":\"y\"},\"chat_template\":\"z\"}");
    check(TARE_STR("{\"a\":1}"), TARE_STR(" \n"), "{\"a\":1}");
    check(TARE_STR("{}"), TARE_STR("z"), "{\"chat_template\":\"z\"}");
    check(TARE_STR(""), TARE_STR("z"), "{\"chat_template\":\"z\"}");
}

/* Nothing is put out: it stays as it is. */
static void an_empty_config_stays(void **state) {
    (void)state;
    check(TARE_STR(""), TARE_STR(""), "");
    check(TARE_STR(" { } \n"), TARE_STR("\t"), "");
    check(TARE_STR("null"), TARE_STR(""), "");
}

static void what_go_refuses_is_refused(void **state) {
    static const struct {
        const char *config, *chat;
        uint64_t offset;
    } cases[] = {
        {"[]", "", 0},
        {" \"x\"", "", 1},
        {"null", "z", 0},
        {" ", "", 1},
        {"{\"a\":01}", "", 6},
        {"{\"a\":1,}", "", 7},
        {"{\"a\":1}x", "", 7},
        {"{\"a\":1e400}", "", 5},
        {"{\"a\":\"\\x\"}", "", 6},
        {"{\"a\":{\"b\":[1}}", "", 12},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_buffer out;
        tare_error err = TARE_ERROR_NONE;
        tare_status s = merge(&out, tare_str_of(cases[i].config), tare_str_of(cases[i].chat), &err);
        tare_buffer_free(&out);
        if (s != TARE_ERR_CORRUPT || err.offset != cases[i].offset)
            fail_msg("%s: %d at %d: %s", cases[i].config, (int)s, (int)err.offset, err.what);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_through_f64),
        cmocka_unit_test(keys_are_sorted_everywhere),
        cmocka_unit_test(strings_have_gos_escapes),
        cmocka_unit_test(a_template_is_added_where_none_is),
        cmocka_unit_test(an_empty_config_stays),
        cmocka_unit_test(what_go_refuses_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
