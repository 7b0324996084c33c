/* SPDX-License-Identifier: MIT
 *
 * Guards against scalars of YAML that grow when their escapes are read: the line separator takes three
 * bytes in place of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "llama/yaml_text.h"

static void assert_reads(const char *scalar, const char *text) {
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    const tare_str is = tare_llama_yaml_text(tare_str_of(scalar), &arena);
    if (!tare_str_is(is, text)) fail_msg("%s: %.*s", scalar, (int)is.len, is.ptr);
    tare_arena_free(&arena);
}

static void escapes_are_read(void **state) {
    (void)state;
    assert_reads("\"a\\tb\\x41\\u00e9\\U0001F600\\\"\"", "a\tbA\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_reads("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
    assert_reads("\"\\N\\_\\L\\P\"", "\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9");
    assert_reads("'it''s' # a comment", "it's");
    assert_reads("\"\\q \\x4\"", "\\q \\x4");
    assert_reads("\"open", "\"open");
}

/* Each n repeated escapes in a memory of their own, whose end a sanitizer watches. */
static void escapes_that_grow_have_room(void **state) {
    (void)state;
    static const char *const escapes[] = {"\\L", "\\P", "\\N", "\\_", "\\xff", "\\uffff", "''"};
    enum { TIMES = 100000 };
    for (size_t e = 0; e < sizeof escapes / sizeof *escapes; e++) {
        const size_t size = strlen(escapes[e]);
        const char quote = escapes[e][0] == '\'' ? '\'' : '"';
        char *text = malloc(TIMES * size + 2);
        tare_arena arena;
        assert_non_null(text);
        tare_arena_init(&arena, NULL);
        text[0] = text[TIMES * size + 1] = quote;
        for (size_t i = 0; i < TIMES; i++) memcpy(text + 1 + i * size, escapes[e], size);
        const tare_str is = tare_llama_yaml_text((tare_str){text, TIMES * size + 2}, &arena);
        assert_non_null(is.ptr);
        assert_int_equal(is.len % TIMES, 0);
        assert_memory_equal(is.ptr, is.ptr + is.len - is.len / TIMES, is.len / TIMES);
        tare_arena_free(&arena);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_read),
        cmocka_unit_test(escapes_that_grow_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
