/* SPDX-License-Identifier: MIT
 *
 * Guards against: a password or a signature in a name, two servers taken for one, names of the hub
 * that lead somewhere else, bytes in addresses that end a request line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/remote.h>

#include "base/str.h"
#include "remote/hub.h"
#include "remote/url.h"

static void parts_are_told_apart(void **state) {
    (void)state;
    tare_url u;
    assert_int_equal(tare_url_split(&u, "https://ann:p@ss@Host:8443/a/b?c=/d#e", NULL), TARE_OK);
    assert_true(u.is_secure && tare_str_is(u.userinfo, "ann:p@ss"));
    assert_true(tare_str_is(u.authority, "Host:8443") && tare_str_is(u.path, "/a/b"));
    assert_true(tare_str_is(u.query, "?c=/d"));
    assert_int_equal(tare_url_split(&u, "HTTP://h", NULL), TARE_OK);
    assert_true(!u.is_secure && u.path.len == 0 && u.query.len == 0);
    static const char *const bad[] = {"ftp://h/x",    "https://",        "https:///x",
                                      "https://:80",  "https://a@/x",    "https://h/a b",
                                      "https://h/\n", "https://h\\@g/x", "hf://a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tare_url_split(&u, bad[i], NULL), TARE_ERR_ARG);
}

static bool same(const char *a, const char *b) {
    tare_url x, y;
    assert_int_equal(tare_url_split(&x, a, NULL), TARE_OK);
    assert_int_equal(tare_url_split(&y, b, NULL), TARE_OK);
    assert_true(tare_url_same_origin(&x, &y) == tare_url_same_origin(&y, &x));
    return tare_url_same_origin(&x, &y);
}

static void an_origin_is_scheme_host_and_port(void **state) {
    (void)state;
    assert_true(same("https://h/x", "https://H:443/y?z"));
    assert_true(same("http://h:80/", "http://a:b@h"));
    assert_false(same("https://h", "http://h"));
    assert_false(same("https://h", "https://h:444"));
    assert_false(same("https://h", "https://h.evil"));
    assert_false(same("https://h", "https://xh"));
}

static void shown(const char *url, const char *expected) {
    char text[200];
    assert_int_equal(tare_url_public(text, sizeof text, url), strlen(expected));
    assert_string_equal(text, expected);
}

static void secrets_are_not_shown(void **state) {
    (void)state;
    shown("https://ann:p@ss@host:1/a.gguf?X-Signature=s#f", "https://host:1/a.gguf");
    shown("https://host/a.gguf", "https://host/a.gguf");
    shown("https://ann:secret@/a b", "a malformed URL");
    shown("https://?X-Signature=s", "a malformed URL");
    shown("https://", "https://");
    shown("hf://org/name@main/f", "hf://org/name@main/f");
    shown("s3://bucket/a b@c?d#e", "s3://bucket/a b@c?d#e");
    shown("s3://key:secret@bucket/a", "a malformed URL");
    shown("dir/a?b@c", "dir/a?b@c");
    char cut[6];
    assert_int_equal(tare_url_public(cut, sizeof cut, "https://h/x"), 11);
    assert_string_equal(cut, "https");
    assert_true(tare_is_url("HF://a/b") && tare_is_url("http://x") && !tare_is_url("https:/x"));
    assert_false(tare_is_url(NULL));
}

static void escaped(const char *path, bool is_segment, bool keeps, const char *expected) {
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    tare_url_put_path(&b, tare_str_of(path), is_segment, keeps);
    assert_true(tare_str_is((tare_str){(const char *)b.data, b.size}, expected));
    tare_buffer_free(&b);
}

static void paths_are_escaped(void **state) {
    (void)state;
    escaped("a b/c?d#e", false, false, "a%20b/c%3Fd%23e");
    escaped("refs/pr/1", true, false, "refs%2Fpr%2F1");
    escaped("a%20b%2", false, true, "a%20b%252");
    escaped("a%20b", false, false, "a%2520b");
    escaped("\xc3\xa9\r\n", false, false, "%C3%A9%0D%0A");
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    assert_true(tare_url_unescape(&b, TARE_STR("a%40b%2f")));
    assert_true(tare_str_is((tare_str){(const char *)b.data, b.size}, "a@b/"));
    assert_false(tare_url_unescape(&b, TARE_STR("%0a")));
    assert_false(tare_url_unescape(&b, TARE_STR("%4")));
    tare_buffer_free(&b);
}

/* ---- names of the hub ------------------------------------------------------------------------ */

static void named(const char *text, const char *root, const char *model, const char *revision,
                  const char *path, bool is_folder) {
    tare_arena arena;
    tare_hub_name n;
    tare_arena_init(&arena, NULL);
    assert_int_equal(tare_hub_name_parse(&n, text, &arena, NULL), TARE_OK);
    assert_true(tare_str_is(n.root, root) && tare_str_is(n.model, model));
    assert_true(tare_str_is(n.revision, revision) && tare_str_is(n.path, path));
    assert_int_equal(n.is_folder, is_folder);
    tare_arena_free(&arena);
}

static void names_of_the_hub(void **state) {
    (void)state;
    named("hf://o/n", "hf://o/n", "o/n", "main", "", true);
    named("hf://o/n/", "hf://o/n", "o/n", "main", "", true);
    named("hf://o/n/a/b.gguf", "hf://o/n", "o/n", "main", "a/b.gguf", false);
    named("hf://o/n@v1.0/a/", "hf://o/n@v1.0", "o/n", "v1.0", "a", true);
    named("hf://o/n@a%2Fb/f", "hf://o/n@a%2Fb", "o/n", "a/b", "f", false);
    named("hf://o/n@refs/pr/12/f", "hf://o/n@refs/pr/12", "o/n", "refs/pr/12", "f", false);
    named("hf://o/n@refs/pr/12", "hf://o/n@refs/pr/12", "o/n", "refs/pr/12", "", true);
    named("hf://o/n:Q4_K_M", "hf://o/n", "o/n", "main", "", false);
    named("hf://o/n@refs/pr/1:q8_0", "hf://o/n@refs/pr/1", "o/n", "refs/pr/1", "", false);
    named("hf://o/n/a:b.gguf", "hf://o/n", "o/n", "main", "a:b.gguf", false);
    static const char *const bad[] = {
        "hf://o/n:",  "hf://o/n:a/b",  "hf://o/n@r:",    "hf://o:T/n",   "hf://o/n: ",
        "hf://",      "hf://o",        "hf://o/",        "hf:///n",      "hf://o@r/n",
        "hf://o/n@",  "hf://o/n@/f",   "hf://o/n/../x",  "hf://../n",    "hf://o/n/a//b",
        "hf://o/n?x", "hf://o/n/\x01", "hf://o/n@%0a/f", "hf://o/n@%/f", "hf://o/n@../f"};
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tare_hub_name n;
        if (tare_hub_name_parse(&n, bad[i], &arena, NULL) != TARE_ERR_ARG) fail_msg("%s", bad[i]);
    }
    tare_arena_free(&arena);
}

static void addresses_of_the_hub(void **state) {
    (void)state;
    tare_arena arena;
    tare_hub_name n;
    tare_buffer b;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&b, NULL);
    assert_int_equal(tare_hub_name_parse(&n, "hf://o/n@a%2Fb", &arena, NULL), TARE_OK);
    tare_hub_put_list(&b, "http://hub/", &n);
    tare_buffer_put_text(&b, " ");
    tare_hub_put_file(&b, "http://hub", &n, n.revision, TARE_STR("d/x y"));
    assert_true(tare_str_is((tare_str){(const char *)b.data, b.size},
                            "http://hub/api/models/o/n/revision/a%2Fb?blobs=true "
                            "http://hub/o/n/resolve/a%2Fb/d/x%20y"));
    tare_buffer_free(&b);
    tare_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart),
        cmocka_unit_test(an_origin_is_scheme_host_and_port),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(paths_are_escaped),
        cmocka_unit_test(names_of_the_hub),
        cmocka_unit_test(addresses_of_the_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
