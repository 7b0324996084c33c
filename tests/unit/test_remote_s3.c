/* SPDX-License-Identifier: MIT
 *
 * What object stores are asked, and what they answer. Guards against: a signature that a store refuses,
 * a key whose characters change on the way, a list from a stranger that is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "remote/s3.h"
#include "remote/s3_sign.h"
#include "remote/upload_list.h"

static tare_remote_options example(void) {
    tare_remote_options o = tare_remote_options_default();
    o.s3_access_key = "AKIAIOSFODNN7EXAMPLE";
    o.s3_secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    return o;
}

/* Whether a line of a signed header ends so. */
static bool has_end(const tare_buffer *lines, const char *end) {
    const char *text = (const char *)lines->data;
    for (size_t at = 0; at < lines->size; at += strlen(text + at) + 1)
        if (tare_str_ends(tare_str_of(text + at), tare_str_of(end))) return true;
    return false;
}

/* The examples of "Authenticating Requests: Using the Authorization Header". */
static void signatures_are_those_of_the_manual(void **state) {
    static const struct {
        const char *query, *signature;
    } cases[] = {
        {"max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
        {"lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tare_remote_options o = example();
        char url[128];
        snprintf(url, sizeof url, "https://examplebucket.s3.amazonaws.com:443/?%s", cases[i].query);
        const tare_s3_request r = {.method = "GET", .url = url, .now = 1369353600};
        tare_buffer lines;
        tare_buffer_init(&lines, NULL);
        tare_s3_sign(&lines, &o, &r);
        assert_true(!lines.failed && has_end(&lines, cases[i].signature));
        assert_true(has_end(&lines, "x-amz-date: 20130524T000000Z"));
        tare_buffer_free(&lines);
    }
}

static void without_keys_nothing_is_signed(void **state) {
    const tare_remote_options o = tare_remote_options_default();
    const tare_s3_request r = {.method = "GET", .url = "https://a/b", .now = 1369353600};
    tare_buffer lines;
    (void)state;
    tare_buffer_init(&lines, NULL);
    tare_s3_sign(&lines, &o, &r);
    assert_int_equal(lines.size, 0);
    tare_buffer_free(&lines);
}

static void dates_are_those_of_the_calendar(void **state) {
    static const struct {
        int64_t now;
        const char *text;
    } cases[] = {{951782400, "20000229T000000Z"},  {951868800, "20000301T000000Z"},
                 {1735689599, "20241231T235959Z"}, {1735689600, "20250101T000000Z"},
                 {4107542399, "21000228T235959Z"}, {4107542400, "21000301T000000Z"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tare_remote_options o = example();
        const tare_s3_request r = {.method = "GET", .url = "https://a/b", .now = cases[i].now};
        tare_buffer lines;
        tare_buffer_init(&lines, NULL);
        tare_s3_sign(&lines, &o, &r);
        assert_true(has_end(&lines, cases[i].text));
        tare_buffer_free(&lines);
    }
}

static void addresses_are_escaped(void **state) {
    static const struct {
        const char *endpoint, *region, *bucket, *key, *address;
    } cases[] = {
        {NULL, NULL, "models", "a b+c%20/\xc3\xa9~.gguf",
         "https://models.s3.us-east-1.amazonaws.com/a%20b%2Bc%2520/%C3%A9~.gguf"},
        {NULL, "cn-north-1", "models", "k", "https://models.s3.cn-north-1.amazonaws.com.cn/k"},
        {NULL, "eu-west-1", "a.b.c", "k", "https://s3.eu-west-1.amazonaws.com/a.b.c/k"},
        {"http://h:9/", NULL, "models", "k", "http://h:9/models/k"},
        {"http://h:9/x", NULL, "models", "", "http://h:9/x/models/"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_remote_options o = tare_remote_options_default();
        tare_buffer out;
        o.s3_endpoint = cases[i].endpoint;
        o.s3_region = cases[i].region;
        tare_buffer_init(&out, NULL);
        tare_s3_put_address(&out, &o, tare_str_of(cases[i].bucket), tare_str_of(cases[i].key));
        tare_buffer_put_u8(&out, 0);
        assert_string_equal((const char *)out.data, cases[i].address);
        tare_buffer_free(&out);
    }
}

static const char page[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- x --><ListBucketResult xmlns=\"a>b\">"
    "<Name>models</Name><IsTruncated>true</IsTruncated><Prefix>f/</Prefix>"
    "<Contents><Key>f/b "
    "&amp;&#x20ac;&#38;.x</Key><Size>12</Size><Owner><ID>1</ID></Owner></Contents>"
    "<Contents><Key>f/</Key><Size>0</Size></Contents>"
    "<Contents><Size>9223</Size><Empty/><Key>f/a/c</Key></Contents>"
    "<NextContinuationToken>t/+=</NextContinuationToken></ListBucketResult>\n";

static tare_status parse(tare_str xml, tare_listing *list, tare_str *token, tare_arena *arena,
                         tare_error *err) {
    const tare_limits limits = tare_limits_default();
    *list = (tare_listing){.n = 0};
    const tare_status s = tare_s3_list_parse(list, token, xml, TARE_STR("f/"), arena, &limits, err);
    return s == TARE_OK ? tare_listing_seal(list, arena, err) : s;
}

static void a_list_is_read(void **state) {
    tare_arena arena;
    tare_listing list;
    tare_str token;
    tare_error err = {0};
    (void)state;
    tare_arena_init(&arena, NULL);
    assert_int_equal(parse(tare_str_of(page), &list, &token, &arena, &err), TARE_OK);
    assert_int_equal(list.n, 2);
    assert_true(tare_str_is(token, "t/+="));
    assert_true(tare_str_is(list.files[0].path, "a/c") && list.files[0].size == 9223);
    assert_true(tare_str_is(list.files[1].path, "b &\xe2\x82\xac&.x") && list.files[1].size == 12);
    tare_arena_free(&arena);
}

static void a_list_that_is_cut_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n + 2 < sizeof page; n++) {
        tare_arena arena;
        tare_listing list;
        tare_str token;
        tare_error err = {0};
        tare_arena_init(&arena, NULL);
        assert_int_not_equal(parse((tare_str){page, n}, &list, &token, &arena, &err), TARE_OK);
        assert_true(err.what && err.offset <= n);
        tare_listing_drop(&list);
        tare_arena_free(&arena);
    }
}

static void what_is_no_answer_is_refused(void **state) {
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"{}", "XML: an element expected"},
        {"<a/>", "ListBucketResult expected"},
        {"<ListBucketResult/><b/>", "XML: one element expected"},
        {"<!DOCTYPE a [<!ENTITY x \"y\">]>", "XML: the name of an element expected"},
        {"<ListBucketResult><a></b></ListBucketResult>",
         "XML: the end of the open element expected"},
        {"<ListBucketResult><a><a><a><a><a><a><a><a>", "XML: deeper than an answer of a store"},
        {"<ListBucketResult><Contents><Key>f/&x;</Key>", "Key: text expected"},
        {"<ListBucketResult><Contents><Key>f/&#xd800;</Key>", "Key: text expected"},
        {"<ListBucketResult><Contents><Key>f/&#x110000;</Key>", "Key: text expected"},
        {"<ListBucketResult><Contents><Size>9999999999999999999</Size>",
         "Size: a number of bytes expected"},
        {"<ListBucketResult><Contents><Key>f//a</Key><Size>1</Size></Contents>",
         "Key: a path expected, as of a file in a folder"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_arena arena;
        tare_listing list;
        tare_str token;
        tare_error err = {0};
        tare_arena_init(&arena, NULL);
        assert_int_not_equal(parse(tare_str_of(cases[i].text), &list, &token, &arena, &err),
                             TARE_OK);
        assert_string_equal(err.what, cases[i].what);
        tare_listing_drop(&list);
        tare_arena_free(&arena);
    }
}

static const char uploads_page[] =
    "<ListMultipartUploadsResult><Bucket>b</Bucket><Upload><Key>a&amp;b</Key><UploadId>u/1</"
    "UploadId>"
    "<Owner><ID>9</ID></Owner><Initiated>2026-11-29</Initiated></Upload><Upload><UploadId>2"
    "</UploadId><Key>c</Key></Upload><IsTruncated>true</IsTruncated><NextKeyMarker>c</"
    "NextKeyMarker>"
    "<NextUploadIdMarker>2</NextUploadIdMarker></ListMultipartUploadsResult>";
static const char parts_page[] = "<ListPartsResult><Part><PartNumber>3</PartNumber><Size>16</"
                                 "Size></Part><Part><Size>5</Size></Part>"
                                 "<IsTruncated>true</IsTruncated><NextPartNumberMarker>4</"
                                 "NextPartNumberMarker></ListPartsResult>";

static void uploads_are_read(void **state) {
    tare_arena arena;
    tare_upload_page list;
    tare_upload_parts sum = {.n = 2, .n_bytes = 32, .next = 2};
    (void)state;
    tare_arena_init(&arena, NULL);
    assert_int_equal(tare_upload_page_parse(&list, tare_str_of(uploads_page), &arena, NULL),
                     TARE_OK);
    assert_int_equal(list.n, 2);
    assert_true(tare_str_is(list.entries[0].key, "a&b") && tare_str_is(list.entries[0].id, "u/1"));
    assert_true(tare_str_is(list.entries[0].begun, "2026-11-29") && !list.entries[1].begun.len);
    assert_true(tare_str_is(list.next_key, "c") && tare_str_is(list.next_id, "2"));
    tare_upload_page_drop(&list, &arena);
    tare_arena_free(&arena);
    assert_int_equal(tare_upload_parts_parse(&sum, tare_str_of(parts_page), NULL), TARE_OK);
    assert_true(sum.n == 4 && sum.n_bytes == 53 && sum.next == 4);
    /* the page that was just read, again */
    assert_int_equal(tare_upload_parts_parse(&sum, tare_str_of(parts_page), NULL),
                     TARE_ERR_CORRUPT);
}

static tare_status parse_uploads(tare_str text, bool of_parts, tare_error *err) {
    tare_arena arena;
    tare_upload_page list = {.n = 0};
    tare_upload_parts sum = {.n = 0};
    tare_arena_init(&arena, NULL);
    const tare_status status = of_parts ? tare_upload_parts_parse(&sum, text, err)
                                        : tare_upload_page_parse(&list, text, &arena, err);
    tare_upload_page_drop(&list, &arena);
    tare_arena_free(&arena);
    return status;
}

static void uploads_that_are_no_list_are_refused(void **state) {
    static const struct {
        bool of_parts;
        const char *text, *what;
    } cases[] = {
        {false, "<ListPartsResult/>", "the answer is not the list that was asked for"},
        {false, "<ListMultipartUploadsResult><Upload><Key>a</Key></Upload>",
         "Upload: Key and UploadId expected"},
        {false, "<ListMultipartUploadsResult><Upload><Key>&x;</Key>", "text expected"},
        {false,
         "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>",
         "NextKeyMarker: missing"},
        {true, "<ListPartsResult><Part><Size>1 </Size></Part>", "a number expected"},
        {true, "<ListPartsResult><Part><Size/></Part>", "a number expected"},
        {true, "<ListPartsResult><NextPartNumberMarker>x</NextPartNumberMarker>",
         "a number expected"},
    };
    tare_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse_uploads(tare_str_of(cases[i].text), cases[i].of_parts, &err),
                         TARE_ERR_CORRUPT);
        assert_string_equal(err.what, cases[i].what);
    }
    for (size_t n = 0; n + 1 < sizeof uploads_page; n++) {
        assert_int_equal(parse_uploads((tare_str){uploads_page, n}, false, &err), TARE_ERR_CORRUPT);
        assert_true(err.offset <= n);
    }
    for (size_t n = 0; n + 1 < sizeof parts_page; n++)
        assert_int_equal(parse_uploads((tare_str){parts_page, n}, true, &err), TARE_ERR_CORRUPT);
}

static void names_are_taken_apart(void **state) {
    tare_s3_name name;
    tare_error err = {0};
    static const char *const wrong[] = {"s3://",
                                        "s3://ab",
                                        "s3:///k",
                                        "s3://models//k",
                                        "s3://mod els/k",
                                        "s3://models/a/../b",
                                        "s3://models/\xff",
                                        "s3://models/./k"};
    (void)state;
    assert_int_equal(tare_s3_name_parse(&name, "s3://models/a b/c?d#e", &err), TARE_OK);
    assert_true(tare_str_is(name.bucket, "models") && tare_str_is(name.key, "a b/c?d#e"));
    assert_true(!name.is_folder && tare_str_is(name.root, "s3://models"));
    assert_int_equal(tare_s3_name_parse(&name, "s3://models", &err), TARE_OK);
    assert_true(name.is_folder && name.key.len == 0);
    assert_int_equal(tare_s3_name_parse(&name, "s3://models/f/g/", &err), TARE_OK);
    assert_true(name.is_folder && tare_str_is(name.key, "f/g"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tare_s3_name_parse(&name, wrong[i], &err), TARE_ERR_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_the_manual),
        cmocka_unit_test(without_keys_nothing_is_signed),
        cmocka_unit_test(dates_are_those_of_the_calendar),
        cmocka_unit_test(addresses_are_escaped),
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(a_list_that_is_cut_is_refused),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(uploads_are_read),
        cmocka_unit_test(uploads_that_are_no_list_are_refused),
        cmocka_unit_test(names_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
