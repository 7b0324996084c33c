/* SPDX-License-Identifier: MIT
 *
 * Guards against: what a server says that is believed without being checked: lists of files that
 * lead out of a model or are cut, header lines with numbers that overflow, parts of two states of a
 * file taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "remote/hub.h"
#include "remote/response.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static const char list_text[] =
    "{\"id\":\"o/n\",\"sha\":\"" COMMIT "\",\"tags\":[\"a\",{\"b\":[1]}],\"siblings\":["
    "{\"rfilename\":\"model.safetensors\",\"size\":12,\"lfs\":{\"size\":99}},"
    "{\"rfilename\":\"a\\u002fb.json\",\"size\":null},{\"rfilename\":\"README.md\"}],\"x\":1}";

static tare_status parse(tare_str text, tare_listing *list, tare_arena *arena, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    return tare_hub_list_parse(list, text, arena, &limits, err);
}

static void a_list_is_read_sorted(void **state) {
    (void)state;
    tare_arena arena;
    tare_listing list;
    tare_arena_init(&arena, NULL);
    assert_int_equal(parse(tare_str_of(list_text), &list, &arena, NULL), TARE_OK);
    assert_true(tare_str_is(list.commit, COMMIT));
    assert_int_equal(list.n, 3);
    assert_true(tare_str_is(list.files[0].path, "README.md"));
    assert_true(tare_str_is(list.files[1].path, "a/b.json"));
    assert_true(list.files[1].size == TARE_LISTED_NO_SIZE);
    assert_true(tare_str_is(list.files[2].path, "model.safetensors"));
    assert_int_equal(list.files[2].size, 12);
    tare_arena_free(&arena);
}

static void a_list_that_is_cut_is_refused_at_its_end(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof list_text - 1; n++) {
        tare_arena arena;
        tare_listing list;
        tare_error err = {0};
        tare_arena_init(&arena, NULL);
        assert_int_equal(parse((tare_str){list_text, n}, &list, &arena, &err), TARE_ERR_CORRUPT);
        assert_true(err.offset <= n && err.what && list.n == 0);
        tare_arena_free(&arena);
    }
}

static void a_list_that_lies_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t offset;
        const char *what;
    } cases[] = {
        {"[]", 0, "an object expected"},
        {"{\"sha\":\"x\"}", 7, "sha: 40 hexadecimal digits expected"},
        {"{\"siblings\":{}}", 12, "siblings: an array expected"},
        {"{\"siblings\":[],\"siblings\":[]}", 15, "siblings: given twice"},
        {"{\"siblings\":[1]}", 13, "an object expected"},
        {"{\"siblings\":[{}]}", 13, "rfilename: missing"},
        {"{\"siblings\":[{\"rfilename\":1}]}", 26, "a string expected"},
        {"{\"siblings\":[{\"rfilename\":\"/a\"}]}", 26, "rfilename: a path in the model expected"},
        {"{\"siblings\":[{\"rfilename\":\"a/../b\"}]}", 26,
         "rfilename: a path in the model expected"},
        {"{\"siblings\":[{\"rfilename\":\"a\\u0000\"}]}", 26,
         "rfilename: a path in the model expected"},
        {"{\"siblings\":[{\"rfilename\":\"\"}]}", 26, "rfilename: a path in the model expected"},
        {"{\"siblings\":[{\"rfilename\":\"a\",\"size\":-1}]}", 37,
         "size: a number of bytes expected"},
        {"{\"siblings\":[{\"rfilename\":\"a\",\"size\":9223372036854775808}]}", 37,
         "size: a number of bytes expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_arena arena;
        tare_listing list;
        tare_error err = {0};
        tare_arena_init(&arena, NULL);
        assert_int_equal(parse(tare_str_of(cases[i].text), &list, &arena, &err), TARE_ERR_CORRUPT);
        assert_string_equal(err.what, cases[i].what);
        assert_int_equal(err.offset, cases[i].offset);
        tare_arena_free(&arena);
    }
}

/* ---- headers --------------------------------------------------------------------------------- */

static void put(tare_response *r, const char *line) {
    tare_response_line(r, line, strlen(line));
}

static tare_response with(const char *line) {
    tare_response r = {.status = 0};
    put(&r, "HTTP/1.1 206 Partial Content\r\n");
    put(&r, line);
    return r;
}

static void header_lines_are_read(void **state) {
    (void)state;
    tare_response r = with("content-RANGE:  bytes 5-9/100 \r\n");
    assert_true(r.status == 206 && r.has_range && r.has_total && !r.fault);
    assert_true(r.first == 5 && r.last == 9 && r.total == 100);
    put(&r, "Content-Length: 5\r\n");
    put(&r, "ETag: \"x\"\r\n");
    put(&r, "X-Repo-Commit: " COMMIT "\r\n");
    assert_true(r.has_length && r.length == 5);
    assert_string_equal(r.etag, "\"x\"");
    assert_string_equal(r.commit, COMMIT);
    put(&r, "HTTP/2 404\r\n"); /* begins another */
    assert_true(r.status == 404 && !r.has_range && !r.etag[0]);
    r = with("Content-Range: bytes */7\r\n");
    assert_true(r.is_unsatisfied && !r.has_range && r.has_total && r.total == 7);
    r = with("Content-Range: bytes 0-1/*\r\n");
    assert_true(r.has_range && !r.has_total && !r.fault);
    assert_int_equal(with("Retry-After: 7\r\n").retry_seconds, 7);
    assert_int_equal(with("Retry-After: 86400\r\n").retry_seconds, UINT32_MAX);
    static const struct {
        const char *lines;
        int64_t now;
        uint32_t wait;
    } waits[] = {
        {"", 0, 0},
        {"Retry-After: 7\r\n", 0, 7},
        {"Retry-After: 86400\r\n", 0, UINT32_MAX},
        {"Retry-After: 99999999999999999999999\r\n", 0, UINT32_MAX},
        {"Retry-After: 1.5\r\n", 0, 2},
        {"Retry-After: 3.0\r\n", 0, 3},
        {"Retry-After: soon\r\n", 0, 0},
        {"Retry-After: -1\r\n", 0, 0},
        {"Retry-After: 5 or so\r\n", 0, 0},
        {"Retry-After:\r\n", 0, 0},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 -0000\r\n", 784111770, 7},
        {"Retry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\n", 784111770, 7},
        {"Retry-After: Sun Nov  6 08:49:37 1994\r\n", 784111770, 7},
        {"Retry-After: Sun Nov\r\n", 784111770, 0},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 784111770, 7},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 784111778, 0},
        {"Retry-After: Thu, 29 Feb 2024 00:00:05 GMT\r\n"
         "Date: Wed, 28 Feb 2024 23:59:59 GMT\r\n",
         0, 6},
        {"Date: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
         "Retry-After: Sat, 01 Jan 2000 00:00:01 GMT\r\n",
         0, 2},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 CET\r\n", 784111770, 0},
        {"Retry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\n", 784111770, UINT32_MAX},
        {"RateLimit: \"resolvers\";r=0;t=20\r\n", 0, 20},
        {"RateLimit: \"resolvers\";r=1;t=20\r\n", 0, 0},
        {"RateLimit: \"a\";r=3;t=200, \"b\";r=0;t=9 , \"c\";t=5\r\n", 0, 9},
        {"RateLimit: \"a\";r=0;t=86400\r\n", 0, UINT32_MAX},
        {"RateLimit: ;;r=0;t=;,\r\n", 0, 0},
        {"RateLimit: r=0;t=4\r\n", 0, 4},
        {"RateLimit: limit=100, remaining=0, reset=6\r\n", 0, 6},
        {"RateLimit: limit=100, remaining=1, reset=6\r\n", 0, 0},
        {"RateLimit-Reset: 8\r\nRateLimit-Remaining: 0\r\n", 0, 8},
        {"X-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 8\r\n", 0, 0},
        {"X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1795905878\r\n", 0, 0},
        {"RateLimit: \"a\";r=0;t=3\r\nRetry-After: 5\r\n", 0, 5},
    };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        tare_response w = {.status = 0};
        for (const char *line = waits[i].lines; *line; line = strstr(line, "\r\n") + 2)
            tare_response_line(&w, line, (size_t)(strstr(line, "\r\n") - line));
        assert_int_equal(tare_response_wait(&w, waits[i].now), waits[i].wait);
    }
    assert_true(with("Content-Encoding: gzip\r\n").is_encoded);
    assert_false(with("Content-Encoding: identity\r\n").is_encoded);
}

static void header_lines_that_lie_are_faults(void **state) {
    (void)state;
    static const char *const bad[] = {
        "Content-Range: bytes 9-5/100\r\n",
        "Content-Range: bytes 0-100/100\r\n",
        "Content-Range: bytes 0-9/18446744073709551616\r\n",
        "Content-Range: bytes 0-9/9223372036854775808\r\n",
        "Content-Range: bytes 0-9/100x\r\n",
        "Content-Range: items 0-9/100\r\n",
        "Content-Range: bytes -9/100\r\n",
        "Content-Range: \r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 1, 1\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_non_null(with(bad[i]).fault);
    char line[600] = "ETag: \"";
    memset(line + 7, 'x', 400);
    assert_string_equal(with(line).etag, "");
    assert_string_equal(with("ETag: \"a\x01\"\r\n").etag, "");
    assert_string_equal(with("X-Repo-Commit: ../../x\r\n").commit, "");
}

static void validators_tell_states_apart(void **state) {
    (void)state;
    tare_response r = with("ETag: \"x\"\r\n");
    put(&r, "Last-Modified: Sun\r\n");
    assert_true(tare_response_matches(&r, "\"x\"", "Mon"));
    assert_true(tare_response_matches(&r, "W/\"x\"", ""));
    assert_false(tare_response_matches(&r, "\"y\"", "Sun"));
    assert_false(tare_response_matches(&r, "", "Mon"));
    assert_true(tare_response_matches(&r, "", ""));
    assert_string_equal(tare_response_validator("\"x\"", "Sun"), "\"x\"");
    assert_string_equal(tare_response_validator("", "Sun"), "Sun");
    assert_null(tare_response_validator("W/\"x\"", "Sun"));
    assert_null(tare_response_validator("", ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_sorted),
        cmocka_unit_test(a_list_that_is_cut_is_refused_at_its_end),
        cmocka_unit_test(a_list_that_lies_is_refused),
        cmocka_unit_test(header_lines_are_read),
        cmocka_unit_test(header_lines_that_lie_are_faults),
        cmocka_unit_test(validators_tell_states_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
