/* SPDX-License-Identifier: MIT
 *
 * Guards against: an error line that loses the place, terminal escapes that get through, names
 * that overflow their field, options of other versions that are misread. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/status.h"
#include "base/str.h"
#include "base/utf8.h"

static void line_says_file_offset_item_and_field(void **state) {
    (void)state;
    tare_error err;
    char line[256];
    tare_fail_at(&err, TARE_ERR_CORRUPT, 1832, "dimensions overflow");
    tare_error_item(&err, TARE_ITEM_TENSOR, 7, TARE_STR("blk.0.attn_q.weight"));
    tare_error_format(line, sizeof line, &err, "model.gguf");
    assert_string_equal(
        line, "model.gguf: byte 1832: tensor 7 \"blk.0.attn_q.weight\": dimensions overflow");
    tare_error_file(&err, "shard-2.gguf");
    tare_error_format(line, sizeof line, &err, "model.gguf");
    assert_non_null(strstr(line, "shard-2.gguf: byte 1832"));
    char cut[6];
    assert_int_equal(tare_error_format(cut, sizeof cut, &err, NULL), strlen(line));
    assert_string_equal(cut, "shard");
}

static void long_names_are_cut_between_characters(void **state) {
    (void)state;
    char name[300];
    for (size_t i = 0; i + 2 <= sizeof name; i += 2) memcpy(name + i, "\xc3\xa9", 2);
    for (size_t len = 80; len < 200; len++) {
        tare_error err;
        tare_fail(&err, TARE_ERR_CORRUPT, "x");
        tare_error_item(&err, TARE_ITEM_KEY, 0, (tare_str){name, len & ~(size_t)1});
        size_t n = strlen(err.item_name);
        assert_true(n < sizeof err.item_name);
        if ((len & ~(size_t)1) < sizeof err.item_name) {
            assert_int_equal(n, len & ~(size_t)1);
            continue;
        }
        assert_string_equal(err.item_name + n - 3, "...");
        assert_true(tare_str_is_utf8(tare_str_of(err.item_name)));
    }
}

static void long_paths_keep_their_end(void **state) {
    (void)state;
    char path[4096];
    for (size_t i = 0; i + 2 <= sizeof path; i += 2) memcpy(path + i, "\xc3\xa9", 2);
    for (size_t len = 21; len < sizeof path - 1; len += len < 300 ? 2 : 500) {
        tare_error err;
        tare_fail(&err, TARE_ERR_CORRUPT, "x");
        char saved[20];
        memcpy(saved, path + len - 19, sizeof saved);
        memcpy(path + len - 19, "/\n2-of-2.safetensor", 20);
        tare_error_file(&err, path);
        memcpy(path + len - 19, saved, sizeof saved);
        size_t n = strlen(err.file);
        assert_true(n < sizeof err.file && n > 19);
        assert_string_equal(err.file + n - 20, "/\\n2-of-2.safetensor");
        bool is_whole = len + 1 < sizeof err.file;
        assert_int_equal(strncmp(err.file, "...", 3) == 0, !is_whole);
        assert_true(tare_str_is_utf8(tare_str_of(err.file)));
    }
}

static void fields_of_a_manifest_are_named(void **state) {
    (void)state;
    char line[256];
    tare_error err;
    tare_fail_at(&err, TARE_ERR_CORRUPT, 7, "missing");
    tare_error_field(&err, "adapters", 3, "A", "rows");
    tare_error_field(&err, "tensors", 0, NULL, NULL); /* the first one stays */
    tare_error_item(&err, TARE_ITEM_TENSOR, 2, TARE_STR("x"));
    tare_error_format(line, sizeof line, &err, "m");
    assert_string_equal(line, "m: byte 7: tensor 2 \"x\": adapters[3].A.rows: missing");
}

/* "m: buffer" says of what and not what happened. */
static void what_ran_out_is_told_first(void **state) {
    (void)state;
    char line[256];
    tare_error err;
    tare_fail(&err, TARE_ERR_NOMEM, "buffer");
    tare_error_format(line, sizeof line, &err, "m");
    assert_string_equal(line, "m: out of memory: buffer");
    tare_fail(&err, TARE_ERR_LIMIT, "number of tensors");
    tare_error_format(line, sizeof line, &err, "m");
    assert_string_equal(line, "m: limit exceeded: number of tensors");
    tare_fail_errno(&err, ENOMEM, "cannot be read"); /* the system says it */
    tare_error_format(line, sizeof line, &err, "m");
    assert_null(strstr(line, "out of memory"));
}

static void control_characters_are_escaped(void **state) {
    (void)state;
    char out[64];
    tare_str_escape(out, sizeof out, TARE_STR("a\x1b]8;;x\x07\n\t\"\\\x7f\xc2\x9b\xff\xc3\xa9"),
                    true);
    assert_string_equal(out, "a\\x1b]8;;x\\x07\\n\\t\\\"\\\\\\x7f\\xc2\\x9b\\xff\xc3\xa9");
    tare_str_escape(out, sizeof out, TARE_STR("\xe2\x80\xae|\xe2\x81\xa6|\xd8\x9c|\xe2\x80\xa6"),
                    true);
    assert_string_equal(out, "\\xe2\\x80\\xae|\\xe2\\x81\\xa6|\\xd8\\x9c|\xe2\x80\xa6");
    assert_int_equal(tare_str_escape(out, 4, TARE_STR("ab\x01zz"), false), 8);
    assert_string_equal(out, "ab");
}

static void utf8_is_judged_to_the_letter(void **state) {
    (void)state;
    assert_true(tare_str_is_utf8(TARE_STR("abcdefghij \xc2\x80 \xe0\xa0\x80 \xf4\x8f\xbf\xbf")));
    static const char *const bad[] = {
        "\x80",     "\xc1\x81",         "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xe2\x82", "\xf5\x80\x80\x80", "abcdefgh\xc3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tare_str_is_utf8(tare_str_of(bad[i])));
}

/* Of much text what of a string: all sequences of four bytes that matter, alone and among others that
 * a vector looks at, and some at the beginning, around the end of a block, and at the end. */
static void much_text_is_judged_as_a_string(void **state) {
    (void)state;
    static const uint8_t kinds[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                    0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                    0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    enum { N = sizeof kinds, SIZE = (1 << 14) + 40 };
    static uint8_t text[SIZE], line[80];
    static const size_t places[] = {0, (1 << 14) - 2, (1 << 14) + 1, SIZE - 4};
    for (unsigned mask = 0; mask < 2; mask++) {
        tare_cpu_mask_limit(mask ? tare_cpu_mask_detect() : 0);
        for (unsigned i = 0; i < N * N * N * N; i++) {
            const uint8_t four[4] = {kinds[i % N], kinds[i / N % N], kinds[i / N / N % N],
                                     kinds[i / N / N / N]};
            const bool is_valid = tare_str_is_utf8((tare_str){(const char *)four, 4});
            assert_int_equal(tare_is_utf8(four, 4), is_valid);
            memset(line, 'a', sizeof line);
            memcpy(line + 32 + i % 7, four, 4);
            assert_int_equal(tare_is_utf8(line, sizeof line), is_valid);
            if (i % 499) continue;
            for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
                memset(text, 'a', SIZE);
                memcpy(text + places[k], four, 4);
                assert_int_equal(tare_is_utf8(text, SIZE), is_valid);
            }
        }
    }
    for (size_t n = 0; n < 4; n++) {
        assert_int_equal(tare_is_utf8("\xe2\x82\xac", n), n == 0 || n == 3);
        assert_int_equal(tare_is_utf8("\xf0\x9f\x98\x80", n), n == 0);
    }
}

static void one_byte_is_enough_not_to_be_ascii(void **state) {
    (void)state;
    static char text[10000];
    memset(text, 0x7f, sizeof text);
    assert_true(tare_is_ascii(text, sizeof text) && tare_is_ascii(NULL, 0));
    for (size_t i = 0; i < sizeof text; i += 61) {
        text[i] = (char)0x80;
        assert_false(tare_is_ascii(text, sizeof text));
        assert_true(tare_is_ascii(text, i));
        text[i] = 0;
    }
}

static void system_errors_find_their_status(void **state) {
    (void)state;
    assert_int_equal(tare_fail_errno(NULL, ENOSPC, "x"), TARE_ERR_NOSPACE);
    assert_int_equal(tare_fail_errno(NULL, ENOMEM, "x"), TARE_ERR_NOMEM);
    assert_int_equal(tare_fail_errno(NULL, EACCES, "x"), TARE_ERR_IO);
}

typedef struct options {
    size_t size;
    int a, b;
} options;

static void options_of_other_versions(void **state) {
    (void)state;
    struct {
        options known;
        uint64_t unknown; /* as wide as the struct is aligned: no padding in the tail */
    } newer = {{sizeof newer, 1, 2}, 0};
    options mine = {sizeof mine, 7, 8};
    tare_error err;
    assert_int_equal(tare_options_read(&mine, sizeof mine, &newer, &err), TARE_OK);
    assert_int_equal(mine.b, 2);
    assert_int_equal(mine.size, sizeof mine);
    newer.unknown = 1;
    assert_int_equal(tare_options_read(&mine, sizeof mine, &newer, &err), TARE_ERR_ARG);
    struct {
        size_t size;
        int a;
    } older = {offsetof(options, b), 5};
    mine.b = 8;
    assert_int_equal(tare_options_read(&mine, sizeof mine, &older, &err), TARE_OK);
    assert_int_equal(mine.a, 5);
    assert_int_equal(mine.b, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_says_file_offset_item_and_field),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(long_paths_keep_their_end),
        cmocka_unit_test(fields_of_a_manifest_are_named),
        cmocka_unit_test(what_ran_out_is_told_first),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(utf8_is_judged_to_the_letter),
        cmocka_unit_test(much_text_is_judged_as_a_string),
        cmocka_unit_test(one_byte_is_enough_not_to_be_ascii),
        cmocka_unit_test(system_errors_find_their_status),
        cmocka_unit_test(options_of_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
