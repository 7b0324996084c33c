/* SPDX-License-Identifier: MIT
 *
 * Guards against typed metadata that does not survive its way through a container of text: a type,
 * a bit of a number, a byte of a string, a nested array; and against texts that are almost of the
 * form and are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/value.h"

static tare_value float_bits(uint32_t bits) {
    return (tare_value){.type = TARE_VALUE_F32, .as.f = tare_value_f32_widen(bits)};
}

static tare_value number(tare_value_type type, uint64_t bits) {
    tare_value v;
    uint8_t bytes[8];
    tare_store_le64(bytes, bits);
    tare_value_load(&v, type, bytes, false);
    return v;
}

static void check_round_trip(const tare_metadata *entries, size_t n) {
    tare_buffer text;
    tare_arena arena;
    tare_limits limits = tare_limits_default();
    tare_error err;
    tare_buffer_init(&text, NULL);
    tare_arena_init(&arena, NULL);
    tare_metadata_to_json(&text, entries, n, TARE_KEYS_MODEL);
    tare_metadata *back = NULL;
    size_t n_back = 0;
    tare_str json = {(const char *)text.data, text.size};
    tare_status s = tare_metadata_from_json(&back, &n_back, json, &arena, &limits, &err);
    if (s != TARE_OK) fail_msg("%s: %.*s", err.what, (int)text.size, (const char *)text.data);
    assert_int_equal(n_back, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(tare_str_equal(back[i].key, entries[i].key));
        if (!tare_value_equal(&back[i].value, &entries[i].value))
            fail_msg("entry %zu of %.*s", i, (int)text.size, (const char *)text.data);
    }
    /* Any cut of the text is refused. */
    for (size_t cut = 0; cut < text.size; cut++) {
        char *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, text.data, cut);
        s = tare_metadata_from_json(&back, &n_back, (tare_str){copy, cut}, &arena, &limits, &err);
        assert_int_not_equal(s, TARE_OK);
        free(copy);
    }
    tare_arena_free(&arena);
    tare_buffer_free(&text);
}

static void test_scalars(void **state) {
    (void)state;
    const tare_value values[] = {
        number(TARE_VALUE_U8, 255),
        number(TARE_VALUE_I8, 0x80),
        number(TARE_VALUE_U16, 65535),
        number(TARE_VALUE_I16, 0x8000),
        number(TARE_VALUE_U32, UINT32_MAX),
        number(TARE_VALUE_I32, 0x80000000),
        number(TARE_VALUE_U64, UINT64_MAX),
        number(TARE_VALUE_I64, UINT64_C(1) << 63),
        number(TARE_VALUE_BOOL, 1),
        number(TARE_VALUE_BOOL, 7),
        float_bits(0x3dcccccd), /* 0.1 */
        float_bits(0x00000001), /* the smallest */
        float_bits(0x7f7fffff), /* the largest */
        float_bits(0x80000000), /* -0 */
        float_bits(0x7f800000), /* infinity */
        float_bits(0xffa00001), /* a signalling NaN with a payload */
        number(TARE_VALUE_F64, UINT64_C(0x3fb999999999999a)),
        number(TARE_VALUE_F64, UINT64_C(0x0000000000000001)),
        number(TARE_VALUE_F64, UINT64_C(0xfff0000000000000)),
        number(TARE_VALUE_F64, UINT64_C(0x7ff8000000000123)),
        {.type = TARE_VALUE_STRING, .as.s = TARE_STR("quote \" and \\ and \n and \xc3\xa9")},
        {.type = TARE_VALUE_STRING, .as.s = TARE_STR("no UTF-8: \xff\xfe")},
        {.type = TARE_VALUE_STRING, .as.s = TARE_STR("a\0b")},
        {.type = TARE_VALUE_STRING, .as.s = TARE_STR("")},
    };
    enum { N = sizeof values / sizeof *values };
    tare_metadata entries[N];
    for (size_t i = 0; i < N; i++)
        entries[i] = (tare_metadata){.key = TARE_STR("some.key"), .value = values[i]};
    entries[3].key = TARE_STR("bad \xff key");
    check_round_trip(entries, N);
    check_round_trip(entries, 0);
}

static void test_arrays(void **state) {
    (void)state;
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    /* [[1, 2], ["x", bad], []] in big-endian form, as a file may have it */
    tare_buffer_put_u32(&b, TARE_VALUE_I32, true), tare_buffer_put_u64(&b, 2, true);
    tare_buffer_put_u32(&b, 1, true), tare_buffer_put_u32(&b, UINT32_MAX, true);
    tare_buffer_put_u32(&b, TARE_VALUE_STRING, true), tare_buffer_put_u64(&b, 2, true);
    tare_buffer_put_u64(&b, 1, true), tare_buffer_put_text(&b, "x");
    tare_buffer_put_u64(&b, 1, true), tare_buffer_put_text(&b, "\xff");
    tare_buffer_put_u32(&b, TARE_VALUE_F64, true), tare_buffer_put_u64(&b, 0, true);
    tare_metadata e = {.key = TARE_STR("nested"), .value.type = TARE_VALUE_ARRAY};
    e.value.as.a = (tare_array){.type = TARE_VALUE_ARRAY,
                                .count = 3,
                                .bytes = b.data,
                                .size_bytes = b.size,
                                .is_big_endian = true};
    check_round_trip(&e, 1);
    tare_buffer_free(&b);
}

/* Entries are appended; those of other spaces are left out. */
static void test_spaces(void **state) {
    (void)state;
    tare_metadata entries[2] = {{.key = TARE_STR("a"), .value = number(TARE_VALUE_U8, 1)},
                                {.key = TARE_STR("b"), .value = number(TARE_VALUE_U8, 2)}};
    entries[0].space = TARE_KEYS_SAFETENSORS;
    tare_buffer text;
    tare_arena arena;
    tare_limits limits = tare_limits_default();
    tare_buffer_init(&text, NULL);
    tare_arena_init(&arena, NULL);
    tare_metadata_to_json(&text, entries, 2, TARE_KEYS_MODEL);
    tare_metadata *list = &entries[0];
    size_t n = 1;
    tare_str json = {(const char *)text.data, text.size};
    assert_int_equal(tare_metadata_from_json(&list, &n, json, &arena, &limits, NULL), TARE_OK);
    assert_int_equal(n, 2);
    assert_true(tare_str_is(list[0].key, "a"));
    assert_true(tare_str_is(list[1].key, "b"));
    assert_int_equal(entries[1].value.as.u, 2);
    limits.keys = 1;
    assert_int_equal(tare_metadata_from_json(&list, &n, json, &arena, &limits, NULL),
                     TARE_ERR_LIMIT);
    tare_arena_free(&arena);
    tare_buffer_free(&text);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "7",
        "[7]",
        "[{}]",
        "[[]]",
        "[{\"key\":\"a\"}]",
        "[{\"key\":7,\"type\":\"u8\",\"value\":1}]",
        "[{\"key\":\"a\",\"type\":\"u9\",\"value\":1}]",
        "[{\"key\":\"a\",\"type\":8,\"value\":1}]",
        "[{\"key\":\"a\",\"type\":\"u8\",\"value\":256}]",
        "[{\"key\":\"a\",\"type\":\"u8\",\"value\":-1}]",
        "[{\"key\":\"a\",\"type\":\"i8\",\"value\":128}]",
        "[{\"key\":\"a\",\"type\":\"i8\",\"value\":-129}]",
        "[{\"key\":\"a\",\"type\":\"u32\",\"value\":1.5}]",
        "[{\"key\":\"a\",\"type\":\"u32\",\"value\":true}]",
        "[{\"key\":\"a\",\"type\":\"string\",\"value\":1}]",
        "[{\"key\":\"a\",\"type\":\"string\",\"value\":[]}]",
        "[{\"key\":\"a\",\"type\":\"string\",\"value\":{\"hex\":\"abc\"}}]",
        "[{\"key\":\"a\",\"type\":\"string\",\"value\":{\"hex\":\"zz\"}}]",
        "[{\"key\":\"a\",\"type\":\"string\",\"value\":{\"hex\":\"00\",\"more\":1}}]",
        "[{\"key\":\"a\",\"type\":\"f32\",\"value\":1e39}]",
        "[{\"key\":\"a\",\"type\":\"f32\",\"value\":{\"hex\":\"7f80\"}}]",
        "[{\"key\":\"a\",\"type\":\"f32\",\"value\":\"x\"}]",
        "[{\"key\":\"a\",\"type\":\"array\",\"value\":[1]}]",
        "[{\"key\":\"a\",\"type\":\"array\",\"value\":{\"of\":\"u8\",\"items\":7}}]",
        "[{\"key\":\"a\",\"type\":\"array\",\"value\":{\"of\":\"u8\",\"items\":[256]}}]",
        "[{\"key\":\"a\",\"type\":\"u8\",\"value\":1,\"more\":2}]",
        "[{\"type\":\"u8\",\"key\":\"a\",\"value\":1}]",
        "[{\"key\":\"a\",\"type\":\"u8\",\"value\":1}] x",
    };
    tare_limits limits = tare_limits_default();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tare_arena arena;
        tare_metadata *list = NULL;
        size_t n = 0;
        tare_arena_init(&arena, NULL);
        tare_error err = TARE_ERROR_NONE;
        tare_status s =
            tare_metadata_from_json(&list, &n, tare_str_of(texts[i]), &arena, &limits, &err);
        if (s != TARE_ERR_CORRUPT || err.what[0] == 0) fail_msg("%s", texts[i]);
        assert_int_equal(n, 0);
        tare_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
