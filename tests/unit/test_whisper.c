/* SPDX-License-Identifier: MIT
 *
 * Guards against: models of whisper.cpp of any bytes that crash, or that open although they were cut
 * inside a tensor. tests/golden has the faults by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/buffer.h"
#include "base/str.h"
#include "support/broken.h"

enum { ROWS = 2, COLS = 3 };

static tare_buffer sample;
static size_t ends[3]; /* where a file may end: behind the tokens, and behind each tensor */

static void put32(uint32_t v) {
    tare_buffer_put_u32(&sample, v, false);
}

static void put_tensor(const char *name, uint32_t first) {
    put32(2);
    put32((uint32_t)strlen(name));
    put32(0);
    put32(COLS);
    put32(ROWS);
    tare_buffer_put_text(&sample, name);
    for (uint32_t i = 0; i < ROWS * COLS; i++) put32(first + i);
}

static int begin(void **state) {
    static const uint32_t numbers[] = {0x67676d6c, 51864, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1};
    (void)state;
    tare_buffer_init(&sample, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put32(numbers[i]);
    put32(1);
    put32(2);
    put32(0x3f800000);
    put32(0x40000000);
    put32(2);
    put32(1);
    tare_buffer_put_u8(&sample, 0);
    put32(2);
    tare_buffer_put_text(&sample, "ab");
    ends[0] = sample.size;
    put_tensor("a", 10);
    ends[1] = sample.size;
    put_tensor("b.c", 20);
    ends[2] = sample.size;
    return 0;
}

static int end(void **state) {
    (void)state;
    tare_buffer_free(&sample);
    return 0;
}

static void numbers_and_tokens_are_there(void **state) {
    uint8_t bytes[4 * ROWS * COLS];
    tare_array_walk walk;
    tare_value token;
    (void)state;
    tare_model *m = open_whole("whisper", sample.data, sample.size);
    assert_int_equal(tare_model_summarize(m)->n_tensors, 3);
    assert_true(tare_str_is(tare_model_tensor(m, 2)->name, "b.c"));
    assert_int_equal(tare_model_tensor(m, 2)->dims[0], ROWS);
    assert_int_equal(tare_tensor_read(bytes, m, 2, 0, 0, sizeof bytes, NULL), TARE_OK);
    assert_int_equal(bytes[4], 21);
    const int64_t key = tare_model_find_key(m, TARE_STR("whisper.tokens"));
    assert_true(key >= 0);
    tare_array_begin(&walk, &tare_model_metadata(m, (size_t)key)->value.as.a);
    assert_true(tare_array_next(&token, &walk));
    assert_true(tare_str_is(token.as.s, "\xc4\x80")); /* a token of one zero, as GPT-2 spells it */
    assert_true(tare_array_next(&token, &walk));
    assert_true(tare_str_is(token.as.s, "ab"));
    assert_false(tare_array_next(&token, &walk));
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < sample.size; n++)
        assert_int_equal(try_bytes("whisper", sample.data, n), n == ends[0] || n == ends[1]);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("whisper", sample.data, sample.size, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_tokens_are_there),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
