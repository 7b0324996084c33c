/* SPDX-License-Identifier: MIT
 *
 * Guards against: reads past the end, counts that are believed without bytes behind them, a first
 * failure that a later one overwrites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cursor.h"

static const uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static void numbers_follow_the_byte_order(void **state) {
    (void)state;
    tare_cursor c;
    tare_cursor_init(&c, bytes, sizeof bytes, 100);
    assert_int_equal(tare_cursor_u16(&c, "a"), 0x0201);
    c.is_big_endian = true;
    assert_int_equal(tare_cursor_u32(&c, "b"), 0x03040506);
    assert_int_equal(tare_cursor_offset(&c), 106);
    assert_true(tare_cursor_u64(&c, "c") == UINT64_C(0x0708090a0b0c0d0e));
    assert_int_equal(tare_cursor_u8(&c, "d"), 15);
    assert_true(tare_cursor_ok(&c));
}

static void first_failure_latches(void **state) {
    (void)state;
    tare_cursor c;
    tare_cursor_init(&c, bytes, sizeof bytes, 100);
    tare_cursor_take(&c, 14, "body");
    assert_int_equal(tare_cursor_u32(&c, "field"), 0);
    assert_int_equal(tare_cursor_u8(&c, "next"), 0);
    tare_error err;
    assert_int_equal(tare_cursor_status(&c, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(err.offset, 114);
    assert_string_equal(err.what, "field");
    assert_true(c.ran_out);
    tare_cursor_fail(&c, TARE_ERR_CORRUPT, 3, "later");
    assert_int_equal(tare_cursor_status(&c, NULL), TARE_ERR_TRUNCATED);
}

static void counts_need_their_bytes(void **state) {
    (void)state;
    static const uint8_t two[] = {2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    tare_cursor c;
    tare_cursor_init(&c, two, sizeof two, 0);
    assert_int_equal(tare_cursor_count(&c, 2, "n"), 2);
    tare_cursor_init(&c, two, sizeof two, 0);
    assert_int_equal(tare_cursor_count(&c, 3, "n"), 0);
    tare_error err;
    assert_int_equal(tare_cursor_status(&c, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(err.offset, 0);
    static const uint8_t huge[] = {255, 255, 255, 255, 255, 255, 255, 255, 0};
    tare_cursor_init(&c, huge, sizeof huge, 0);
    assert_int_equal(tare_cursor_count(&c, 1, "n"), 0);
    assert_false(tare_cursor_ok(&c));
}

static void section_cannot_see_its_neighbour(void **state) {
    (void)state;
    tare_cursor c;
    tare_cursor_init(&c, bytes, sizeof bytes, 0);
    tare_cursor_take(&c, 4, "head");
    tare_cursor sub = tare_cursor_sub(&c, 4, "section");
    assert_int_equal(tare_cursor_u32(&sub, "x"), 0x08070605);
    assert_int_equal(tare_cursor_offset(&sub), 8);
    tare_cursor_u8(&sub, "beyond");
    assert_false(tare_cursor_ok(&sub));
    assert_true(tare_cursor_ok(&c));
    assert_int_equal(tare_cursor_u8(&c, "after"), 9);
    sub = tare_cursor_sub(&c, 100, "too long");
    assert_false(tare_cursor_ok(&sub));
    assert_false(tare_cursor_ok(&c));
}

static void strings_go_by_while_they_are_whole(void **state) {
    (void)state;
    static const uint8_t three[] = {1, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 0, 0,   0,   0,
                                    0, 0, 0, 3, 0, 0, 0, 0, 0,   0, 0, 'x', 'y', 'z'};
    tare_cursor c;
    uint64_t lengths = 0;
    tare_cursor_init(&c, three, sizeof three, 0);
    assert_int_equal(tare_cursor_skip_strings(&c, 2, UINT64_MAX, &lengths), 2);
    assert_int_equal(tare_cursor_offset(&c), 17);
    assert_int_equal(tare_cursor_skip_strings(&c, 9, UINT64_MAX, &lengths), 1);
    assert_int_equal(tare_cursor_left(&c), 0);
    assert_int_equal(lengths, 1 | 3);
    tare_cursor_init(&c, three, sizeof three, 0);
    assert_int_equal(tare_cursor_skip_strings(&c, 3, 1, &lengths), 2); /* the third is longer */
    assert_int_equal(tare_cursor_offset(&c), 17);
    /* Cut at every byte, it stops before the string that is cut. */
    for (size_t n = 0; n < sizeof three; n++) {
        tare_cursor_init(&c, three, n, 0);
        assert_int_equal(tare_cursor_skip_strings(&c, 3, UINT64_MAX, &lengths), n < 9    ? 0
                                                                                : n < 17 ? 1
                                                                                         : 2);
        assert_int_equal(tare_cursor_offset(&c), n < 9 ? 0 : n < 17 ? 9 : 17);
        assert_true(tare_cursor_ok(&c));
    }
    static const uint8_t huge[] = {255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0};
    tare_cursor_init(&c, huge, sizeof huge, 0);
    assert_int_equal(tare_cursor_skip_strings(&c, 3, UINT64_MAX, &lengths), 0);
    tare_cursor_fail(&c, TARE_ERR_CORRUPT, 0, "before");
    assert_int_equal(tare_cursor_skip_strings(&c, 3, UINT64_MAX, &lengths), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_the_byte_order),
        cmocka_unit_test(first_failure_latches),
        cmocka_unit_test(counts_need_their_bytes),
        cmocka_unit_test(strings_go_by_while_they_are_whole),
        cmocka_unit_test(section_cannot_see_its_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
