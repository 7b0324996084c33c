/* SPDX-License-Identifier: MIT
 *
 * Guards against several walks through a vocabulary skipping what one walk would not, or stopping
 * elsewhere: strings with NULs, strings that look like lengths, long ones, none, cut anywhere, in the
 * other byte order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/string_run.h"

enum { MANY = 12000 };

typedef enum text_kind { TOKENS, EMPTY, NULS, DECOYS, SOME_LONG, LONG_AT_LAST, N_KINDS } text_kind;

static uint32_t next(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

static size_t length_of(text_kind kind, size_t i, uint32_t *seed) {
    if (kind == EMPTY) return 0;
    if (kind == SOME_LONG && i % 997 == 996) return 5000 + next(seed) % 3000;
    if (kind == LONG_AT_LAST && i == MANY - 10) return 200;
    return next(seed) % 24;
}

/* Decoys are whole strings in the text of others, of a length that leads elsewhere. */
static uint8_t byte_of(text_kind kind, size_t i, uint32_t *seed) {
    if (kind == DECOYS) return i % 8 == 1 ? 5 : 0;
    return kind == NULS ? (uint8_t)(next(seed) % 2) : (uint8_t)('a' + next(seed) % 26);
}

static void write_strings(tare_buffer *b, text_kind kind, bool is_big_endian) {
    uint32_t seed = 1;
    tare_buffer_init(b, NULL);
    for (size_t i = 0; i < MANY; i++) {
        size_t n = length_of(kind, i, &seed);
        tare_buffer_put_u64(b, n, is_big_endian);
        for (size_t k = 0; k < n; k++) tare_buffer_put_u8(b, byte_of(kind, k, &seed));
    }
}

/* What one walk does, in the plainest way. */
static uint64_t walk(tare_string_run *run, uint64_t n) {
    uint64_t i = 0;
    for (; i < n && run->end - run->pos >= 8; i++) {
        uint64_t length = tare_load_u64(run->pos, run->is_big_endian);
        if (length > (uint64_t)(run->end - run->pos - 8) || length > run->longest) break;
        run->lengths |= length;
        run->pos += 8 + length;
    }
    return i;
}

static void compare(const uint8_t *bytes, size_t size, bool is_big_endian, uint64_t longest,
                    uint64_t n) {
    uint8_t *copy = malloc(size ? size : 1); /* so that sanitizers see its end */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    tare_string_run one = {copy, copy + size, is_big_endian, longest, 0}, many = one;
    assert_int_equal(tare_string_run_skip(&many, n), walk(&one, n));
    assert_ptr_equal(many.pos, one.pos);
    assert_int_equal(many.lengths, one.lengths);
    free(copy);
}

static void many_walks_do_what_one_does(void **state) {
    (void)state;
    static const uint64_t longest[] = {UINT64_MAX, 4095, 127, 7};
    for (int of = 0; of < N_KINDS * 2; of++) {
        tare_buffer b;
        const bool is_big_endian = of % 2;
        write_strings(&b, (text_kind)(of / 2), is_big_endian);
        for (size_t k = 0; k < sizeof longest / sizeof *longest; k++) {
            compare(b.data, b.size, !is_big_endian, longest[k], MANY);
            compare(b.data, b.size, is_big_endian, longest[k], MANY);
            compare(b.data, b.size, is_big_endian, longest[k], UINT64_MAX);
            compare(b.data, b.size, is_big_endian, longest[k], MANY / 2 + k);
        }
        for (size_t cut = 1; cut < b.size; cut += cut < 64 ? 1 : 4099)
            compare(b.data, b.size - cut, is_big_endian, UINT64_MAX, MANY);
        tare_buffer_free(&b);
    }
}

/* A string that is longer than what is left stops it, wherever it is. */
static void a_false_length_stops_it(void **state) {
    (void)state;
    tare_buffer b;
    write_strings(&b, TOKENS, false);
    tare_string_run run = {b.data, b.data + b.size, false, UINT64_MAX, 0};
    for (uint64_t n = 0; n < MANY; n += walk(&run, 97)) {
        uint64_t was = tare_load_u64(run.pos, false);
        tare_store_u64((uint8_t *)run.pos, UINT64_MAX - n, false);
        compare(b.data, b.size, false, UINT64_MAX, MANY);
        tare_store_u64((uint8_t *)run.pos, was, false);
    }
    tare_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_walks_do_what_one_does),
        cmocka_unit_test(a_false_length_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
