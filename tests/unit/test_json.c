/* SPDX-License-Identifier: MIT
 *
 * Guards against: texts RFC 8259 forbids that are taken, legal ones that are refused, faults that
 * are told at the wrong byte, numbers that come out changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "base/json_node.h"
#include "base/str.h"

/* Walks a whole text; the offset of its first fault, -1: there is none. */
static int64_t fault_of(tare_str text, uint32_t max_depth, tare_error *err) {
    tare_json j;
    tare_json_value v;
    tare_json_init(&j, text, 0, max_depth);
    tare_json_begin(&j, &v);
    if (j.err.status == TARE_OK) tare_json_skip(&j, &v, NULL);
    tare_json_finish(&j);
    *err = TARE_ERROR_NONE;
    return tare_json_status(&j, err) == TARE_OK ? -1 : (int64_t)err->offset;
}

#define BAD(literal, at)                                                                           \
    { {literal, sizeof(literal) - 1}, at }

static void legal_texts_are_taken(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{}",
        "[]",
        " [ ] ",
        "null",
        "\t\r\n true \n",
        "false",
        "\"\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uD834\\uDD1E\"",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"",
        "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\"",
        "0",
        "-0",
        "-1.5e+10",
        "0.0E-0",
        "123456789012345678901234567890",
        "[1,-2 , 3.25,\"x\",null,[],{}]",
        "{\"a\":{\"b\":[{\"c\":1}]},\"a\" : 2}",
    };
    tare_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (fault_of(tare_str_of(texts[i]), 8, &err) >= 0) {
            fail_msg("%s: byte %d: %s", texts[i], (int)err.offset, err.what);
        }
    }
}

/* What json.dump writes and an editor puts before it; a header of safetensors has none of it. */
static void python_writes_more(void **state) {
    (void)state;
    static const char *const texts[] = {
        "[Infinity,-Infinity,NaN]", "{\"a\":Infinity}", "NaN",      "-Infinity",
        "\xEF\xBB\xBF{\"a\": 1}",   "\xEF\xBB\xBF\n[]", " [ NaN ]",
    };
    static const struct {
        const char *text;
        int64_t at;
    } faults[] = {
        {"-NaN", 1},       {"[Infinit]", 8},
        {"[infinity]", 1}, {"[+Infinity]", 1},
        {"[Nan]", 3},      {" \xEF\xBB\xBF{}", 1},
        {"[--NaN]", 2},    {"\xEF\xBB\xBF", 3},
        {"{NaN:1}", 1},    {"\xEF\xBB\xBF\xEF\xBB\xBF[]", 3},
        {"[NaN", 4},       {"[-I", 3},
    };
    tare_error err;
    tare_json_value v;
    double x;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(tare_json_whole(&v, tare_str_of(texts[i]), &err), TARE_OK);
        assert_int_not_equal(fault_of(tare_str_of(texts[i]), 8, &err), -1);
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        err = (tare_error){.status = TARE_OK};
        assert_int_equal(tare_json_whole(&v, tare_str_of(faults[i].text), &err), TARE_ERR_CORRUPT);
        assert_int_equal(err.offset, faults[i].at);
    }
    for (size_t i = 2; i < 4; i++) {
        int64_t n;
        uint64_t u;
        assert_int_equal(tare_json_whole(&v, tare_str_of(texts[i]), &err), TARE_OK);
        assert_int_equal(v.type, TARE_JSON_NUMBER);
        assert_false(tare_json_f64(&v, &x) || tare_json_i64(&v, &n) || tare_json_u64(&v, &u));
    }
}

static void faults_have_their_byte(void **state) {
    (void)state;
    static const struct {
        tare_str text;
        int64_t at;
    } cases[] = {
        BAD("", 0),
        BAD("  ", 2),
        BAD("{", 1),
        BAD("[1", 2),
        BAD("\"abc", 4),
        BAD("\"abc\\", 5),
        BAD("{\"a\"", 4),
        BAD("{\"a\":", 5),
        BAD("{\"a\" 1}", 5),
        BAD("{\"a\":1,}", 7),
        BAD("{,}", 1),
        BAD("{1:2}", 1),
        BAD("{\"a\":1 \"b\":2}", 7),
        BAD("{\"a\":1]", 6),
        BAD("[1,]", 3),
        BAD("[,1]", 1),
        BAD("[1 2]", 3),
        BAD("[1}", 2),
        BAD("[]]", 2),
        BAD("1 2", 2),
        BAD("{} x", 3),
        BAD("'a'", 0),
        BAD("nul", 3),
        BAD("trux", 3),
        BAD("True", 0),
        BAD("NaN", 0),
        BAD("-Infinity", 1),
        BAD("+1", 0),
        BAD(".5", 0),
        BAD("01", 1),
        BAD("-", 1),
        BAD("-01", 2),
        BAD("1.", 2),
        BAD("1.e3", 2),
        BAD("1e", 2),
        BAD("1e+", 3),
        BAD("0x10", 1),
        BAD("1a", 1),
        BAD("\"a\nb\"", 2),
        BAD("\"a\tb\"", 2),
        BAD("\"a\0b\"", 2),
        BAD("\0", 0),
        BAD("[\0]", 1),
        BAD("\"\\x41\"", 1),
        BAD("\"\\u12G4\"", 1),
        BAD("\"\\u123", 1),
        BAD("\"ab\\uD800\"", 3),
        BAD("\"ab\\uDC00\"", 3),
        BAD("\"\\uD800\\u0041\"", 1),
        BAD("\"\\uD800x\"", 1),
        BAD("\"\\uDC00\\uDC00\"", 1),
        BAD("\"\\uD800\\n\\uDC00\"", 1),
        BAD("\"\xFF\"", 1),
        BAD("\"a\xC0\x80\"", 2),
        BAD("\"\xC3\"", 1),
        BAD("\"\xE0\x80\x80\"", 1),
        BAD("\"\xED\xA0\x80\"", 1),
        BAD("\"\xF5\x80\x80\x80\"", 1),
        BAD("\"\xF4\x90\x80\x80\"", 1),
        BAD("\xEF\xBB\xBF{}", 0), /* a byte order mark is no white space */
        BAD("/* */ 1", 0),
    };
    tare_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t at = fault_of(cases[i].text, 8, &err);
        if (at != cases[i].at || err.status != TARE_ERR_CORRUPT || !err.what) {
            fail_msg("case %d, %s: fault at %d, expected at %d", (int)i, cases[i].text.ptr, (int)at,
                     (int)cases[i].at);
        }
    }
}

/* Plain characters are skipped in words of eight: what is special is found at each place of one. */
static void every_byte_of_a_string_is_seen(void **state) {
    (void)state;
    tare_error err;
    for (size_t at = 1; at < 23; at++) {
        for (int c = 0; c < 256; c++) {
            char text[25];
            memset(text, at % 2 ? '!' : '~', sizeof text);
            text[0] = text[23] = '"';
            text[at] = (char)c;
            int64_t fault = fault_of((tare_str){text, 24}, 8, &err);
            if (c < 0x20 || c >= 0x80 || (c == '\\' && at < 22)) {
                assert_int_equal(fault, at);
            } else if (c == '"') {
                assert_int_equal(fault, at + 1);
            } else {
                assert_int_equal(fault, c == '\\' ? 24 : -1);
            }
        }
    }
}

/* Any cut of a text whose last byte closes it is a fault at its end or at a broken escape. */
static void every_cut_is_told(void **state) {
    (void)state;
    tare_str whole =
        TARE_STR(" {\"k\\u00e9y\": [1.5e-3, -0, true, false, null, \"\\uD834\\uDD1E \xE2"
                 "\x82\xAC\"], \"m\": {\"a\": {}, \"b\": []}}");
    tare_error err;
    assert_int_equal(fault_of(whole, 8, &err), -1);
    for (size_t n = 0; n < whole.len; n++) {
        char *copy = test_malloc(n + 1); /* its end is what the sanitizer watches */
        memcpy(copy, whole.ptr, n);
        int64_t at = fault_of((tare_str){copy, n}, 8, &err);
        assert_true(at >= 0 && at <= (int64_t)n);
        assert_int_equal(err.status, TARE_ERR_CORRUPT);
        test_free(copy);
    }
}

static void every_flip_is_survived(void **state) {
    (void)state;
    char text[] = "{\"k\\u00e9\":[1.5e-3,true,null,\"\\uD834\\uDD1E\"],\"m\":{\"a\":{},\"b\":[]}}";
    tare_error err;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            int64_t at = fault_of((tare_str){text, sizeof text - 1}, 8, &err);
            assert_true(at <= (int64_t)sizeof text - 1);
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    }
}

static void depth_is_bounded(void **state) {
    (void)state;
    tare_error err;
    assert_int_equal(fault_of(TARE_STR("[[{\"a\":[]}]]"), 4, &err), -1);
    assert_int_equal(fault_of(TARE_STR("[[{\"a\":[]}]]"), 3, &err), 7);
    assert_int_equal(err.status, TARE_ERR_LIMIT);
    assert_int_equal(fault_of(TARE_STR("[]"), 0, &err), 0);

    char deep[100];
    memset(deep, '[', sizeof deep);
    assert_int_equal(fault_of((tare_str){deep, sizeof deep}, UINT32_MAX, &err),
                     TARE_JSON_MAX_DEPTH);
    assert_int_equal(err.status, TARE_ERR_LIMIT);
}

static void members_come_in_order_with_spans(void **state) {
    (void)state;
    tare_str text = TARE_STR(" {\"one\": [1, {\"x\":[2]}, 3], \"two\" :-7 ,\"\":{}} ");
    tare_json j;
    tare_json_value v, key;
    tare_str raw;
    tare_json_init(&j, text, 1000, 8);
    assert_int_equal(tare_json_begin(&j, &v), TARE_JSON_OBJECT);
    assert_int_equal(v.offset, 1001);
    assert_int_equal(v.raw.len, 1);

    assert_int_equal(tare_json_key(&j, &key), TARE_JSON_STRING);
    assert_true(tare_str_is(key.raw, "\"one\""));
    assert_int_equal(key.offset, 1002);
    assert_int_equal(tare_json_next(&j, &v), TARE_JSON_ARRAY);
    tare_json_value element;
    assert_int_equal(tare_json_next(&j, &element), TARE_JSON_NUMBER);
    assert_int_equal(element.offset, 1010);
    assert_int_equal(tare_json_next(&j, &element), TARE_JSON_OBJECT);
    assert_true(tare_json_skip(&j, &element, &raw));
    assert_true(tare_str_is(raw, "{\"x\":[2]}"));
    assert_true(tare_json_skip(&j, &v, &raw));
    assert_true(tare_str_is(raw, "[1, {\"x\":[2]}, 3]"));

    assert_int_equal(tare_json_key(&j, &key), TARE_JSON_STRING);
    assert_int_equal(tare_json_next(&j, &v), TARE_JSON_NUMBER);
    assert_true(tare_str_is(v.raw, "-7"));
    assert_true(tare_json_skip(&j, &v, &raw));
    assert_true(tare_str_is(raw, "-7"));

    assert_int_equal(tare_json_key(&j, &key), TARE_JSON_STRING);
    assert_int_equal(tare_json_next(&j, &v), TARE_JSON_OBJECT);
    assert_int_equal(tare_json_key(&j, &key), TARE_JSON_END);
    assert_int_equal(tare_json_key(&j, &key), TARE_JSON_END);
    assert_true(tare_json_finish(&j));
    assert_int_equal(tare_json_status(&j, NULL), TARE_OK);
}

static void a_failure_latches(void **state) {
    (void)state;
    tare_json j;
    tare_json_value v;
    tare_error err = TARE_ERROR_NONE;
    tare_json_init(&j, TARE_STR("[1,2,3]"), 0, 8);
    tare_json_begin(&j, &v);
    tare_json_next(&j, &v);
    assert_false(tare_json_fail(&j, TARE_ERR_UNSUPPORTED, 42, "first"));
    tare_json_fail(&j, TARE_ERR_CORRUPT, 43, "second");
    assert_int_equal(tare_json_next(&j, &v), TARE_JSON_END);
    assert_int_equal(tare_json_key(&j, &v), TARE_JSON_END);
    assert_false(tare_json_finish(&j));
    assert_int_equal(tare_json_status(&j, &err), TARE_ERR_UNSUPPORTED);
    assert_int_equal(err.offset, 42);
    assert_string_equal(err.what, "first");
}

static tare_json_value value_of(const char *text) {
    tare_json j;
    tare_json_value v;
    tare_json_init(&j, tare_str_of(text), 0, 8);
    tare_json_begin(&j, &v);
    assert_int_equal(tare_json_status(&j, NULL), TARE_OK);
    return v;
}

static void texts_lose_their_escapes(void **state) {
    (void)state;
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    tare_json_value v = value_of("\"plain \xE2\x82\xAC\"");
    tare_str text = tare_json_text(&v, &arena);
    assert_true(tare_str_is(text, "plain \xE2\x82\xAC"));
    assert_ptr_equal(text.ptr, v.raw.ptr + 1); /* borrowed */

    v = value_of("\"\\\"\\\\\\/\\b\\f\\n\\r\\t|\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\\u0000\"");
    text = tare_json_text(&v, &arena);
    tare_str expected = TARE_STR("\"\\/\b\f\n\r\t|A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0");
    assert_true(tare_str_equal(text, expected));
    v = value_of("\"\"");
    text = tare_json_text(&v, &arena);
    assert_non_null(text.ptr);
    assert_int_equal(text.len, 0);
    tare_arena_free(&arena);

    v = value_of("\"d\\u0074y\\u20ac\"");
    assert_true(tare_json_is(&v, "dty\xE2\x82\xAC"));
    assert_false(tare_json_is(&v, "dty"));
    assert_false(tare_json_is(&v, "dty\xE2\x82\xAC."));
    assert_false(tare_json_is(&v, ""));
    v = value_of("\"a\\u0000b\""); /* no C string is this one */
    assert_false(tare_json_is(&v, "a"));
    v = value_of("1");
    assert_false(tare_json_is(&v, "1"));
}

static void whole_numbers_keep_64_bits(void **state) {
    (void)state;
    uint64_t u;
    int64_t i;
    tare_json_value v = value_of("18446744073709551615");
    assert_true(tare_json_u64(&v, &u) && u == UINT64_MAX);
    assert_false(tare_json_i64(&v, &i));
    static const char *const not_u64[] = {
        "18446744073709551616", "99999999999999999999", "-1", "-0", "1.0", "1e2", "\"1\"", "null"};
    for (size_t k = 0; k < sizeof not_u64 / sizeof *not_u64; k++) {
        v = value_of(not_u64[k]);
        assert_false(tare_json_u64(&v, &u));
        assert_int_equal(u, 0);
    }
    v = value_of("0");
    assert_true(tare_json_u64(&v, &u) && u == 0);
    v = value_of("-9223372036854775808");
    assert_true(tare_json_i64(&v, &i) && i == INT64_MIN);
    v = value_of("9223372036854775807");
    assert_true(tare_json_i64(&v, &i) && i == INT64_MAX);
    v = value_of("9223372036854775808");
    assert_false(tare_json_i64(&v, &i));
    v = value_of("-9223372036854775809");
    assert_false(tare_json_i64(&v, &i));
    v = value_of("-1.5");
    assert_false(tare_json_i64(&v, &i));
}

static void doubles_are_rounded_right(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"-0.0", -0.0},
        {"0.1", 0.1},
        {"123.456e-7", 123.456e-7},
        {"1E+2", 100},
        {"2.2250738585072014e-308", 2.2250738585072014e-308},
        {"4.9406564584124654e-324", 4.9406564584124654e-324},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"0.000000000000000000000000000001e30", 1},
        {"1e-999999999999", 0},
        {"9007199254740993", 9007199254740992.0},
    };
    double d;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tare_json_value v = value_of(cases[k].text);
        assert_true(tare_json_f64(&v, &d));
        assert_memory_equal(&d, &cases[k].value, sizeof d);
    }
    tare_json_value v = value_of("1e999");
    assert_false(tare_json_f64(&v, &d));
    v = value_of("true");
    assert_false(tare_json_f64(&v, &d));

    char digits[1030];
    memset(digits, '9', sizeof digits);
    v = (tare_json_value){TARE_JSON_NUMBER, {digits, 300}, 0};
    assert_true(tare_json_f64(&v, &d));
    assert_true(fabs(d / 1e300 - 1) < 1e-15);
    v.raw.len = 1025;
    assert_false(tare_json_f64(&v, &d));
}

/* What is read is written: nothing lost, however it is laid out, and texts that are no UTF-8 become
 * some. */
static void trees_are_written(void **state) {
    (void)state;
    static const tare_json_style plain = {0}, lines = {.indent = 1},
                                 short_ascii = {.is_ascii = true, .max_digits = 4};
    static const struct {
        const char *text;
        const tare_json_style *style;
        const char *written;
    } cases[] = {
        {"{\"a\": [1, true, null], \"b\": {}}", &plain, "{\"a\":[1,true,null],\"b\":{}}"},
        {"{\"a\": [], \"b\": [1.50, -2]}", &lines,
         "{\n \"a\": [],\n \"b\": [\n  1.50,\n  -2\n ]\n}"},
        {"[1.234567, 1e-9, 12345, 5.0, \"\u00e9\\u0007\\ud83d\\ude00\"]", &short_ascii,
         "[1.235,1e-9,12345,5.0,\"\\u00e9\\u0007\\ud83d\\ude00\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tare_json_node *root;
        tare_arena arena;
        tare_buffer b;
        tare_arena_init(&arena, &tare_malloc_allocator);
        tare_buffer_init(&b, &tare_malloc_allocator);
        assert_int_equal(tare_json_tree(&root, tare_str_of(cases[i].text), &arena, NULL), TARE_OK);
        tare_json_put_tree(&b, root, cases[i].style);
        tare_buffer_put_u8(&b, 0);
        assert_string_equal((const char *)b.data, cases[i].written);
        tare_buffer_free(&b);
        tare_arena_free(&arena);
    }
}

static void put_in_text(const char *bytes, size_t n, void *ctx) {
    strncat(ctx, bytes, n);
}

/* A program's document: members stay in the order in which they came. */
static void documents_are_built(void **state) {
    (void)state;
    static const tare_json_style plain = {0}, ascii = {.is_ascii = true};
    char text[128] = "";
    tare_json_document *d = tare_json_document_new();
    tare_json_node *root = tare_json_document_value(d, TARE_JSON_OBJECT, TARE_STR(""));
    tare_json_node *list = tare_json_document_value(d, TARE_JSON_ARRAY, TARE_STR(""));
    assert_true(tare_json_document_add(d, root, "list", list));
    assert_true(tare_json_document_add(
        d, list, NULL, tare_json_document_value(d, TARE_JSON_STRING, TARE_STR("a\xff\"z"))));
    assert_true(tare_json_document_add(
        d, root, "n", tare_json_document_value(d, TARE_JSON_NUMBER, TARE_STR("0.5"))));
    tare_json_write(root, &plain, put_in_text, text);
    assert_string_equal(text, "{\"list\":[\"a\xef\xbf\xbd\\\"z\"],\"n\":0.5}");
    text[0] = '\0';
    tare_json_write(list, &ascii, put_in_text, text);
    assert_string_equal(text, "[\"a\\ufffd\\\"z\"]");
    tare_json_document_free(d);
    tare_json_document_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_texts_are_taken),
        cmocka_unit_test(python_writes_more),
        cmocka_unit_test(faults_have_their_byte),
        cmocka_unit_test(every_byte_of_a_string_is_seen),
        cmocka_unit_test(every_cut_is_told),
        cmocka_unit_test(every_flip_is_survived),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(members_come_in_order_with_spans),
        cmocka_unit_test(a_failure_latches),
        cmocka_unit_test(texts_lose_their_escapes),
        cmocka_unit_test(whole_numbers_keep_64_bits),
        cmocka_unit_test(doubles_are_rounded_right),
        cmocka_unit_test(trees_are_written),
        cmocka_unit_test(documents_are_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
