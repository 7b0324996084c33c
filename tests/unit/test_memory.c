/* SPDX-License-Identifier: MIT
 *
 * Guards against: arenas that overlap or misalign, sizes that wrap, memory that is not given back,
 * a buffer that goes on after a failed allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/str.h"

typedef struct counter {
    size_t live;
    long left; /* allocations until one fails; negative: never */
} counter;

static void *count_alloc(void *ctx, size_t size) {
    counter *c = ctx;
    if (c->left == 0) return NULL;
    c->left--;
    c->live += size;
    return malloc(size);
}

static void *count_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    counter *c = ctx;
    if (c->left == 0) return NULL;
    c->left--;
    c->live += new_size - old_size;
    return realloc(ptr, new_size);
}

static void count_free(void *ctx, void *ptr, size_t size) {
    counter *c = ctx;
    c->live -= size;
    free(ptr);
}

static void arena_pieces_are_apart_and_cleared(void **state) {
    (void)state;
    counter count = {0, -1};
    tare_allocator a = {&count, count_alloc, count_resize, count_free};
    tare_arena arena;
    tare_arena_init(&arena, &a);
    uint8_t *pieces[400];
    for (size_t i = 0; i < 400; i++) {
        size_t size = i % 50 == 49 ? 5000 * i : i;
        pieces[i] = tare_arena_take(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 255 + 1), size);
    }
    for (size_t i = 0; i < 400; i++) {
        size_t size = i % 50 == 49 ? 5000 * i : i;
        for (size_t k = 0; k < size; k++) assert_int_equal(pieces[i][k], i % 255 + 1);
    }
    assert_null(tare_arena_array(&arena, UINT64_MAX / 2, 4));
    assert_null(tare_arena_take(&arena, SIZE_MAX - 8));
    tare_arena_free(&arena);
    assert_int_equal(count.live, 0);
}

static void buffer_failure_latches(void **state) {
    (void)state;
    counter count = {0, 1};
    tare_allocator a = {&count, count_alloc, count_resize, count_free};
    tare_buffer b;
    tare_buffer_init(&b, &a);
    tare_buffer_put_text(&b, "abc");
    assert_int_equal(tare_buffer_status(&b, NULL), TARE_OK);
    tare_buffer_put_zeros(&b, 1000);
    tare_buffer_put_u8(&b, 1);
    assert_int_equal(tare_buffer_status(&b, NULL), TARE_ERR_NOMEM);
    assert_int_equal(b.size, 3);
    tare_buffer_free(&b);
    assert_int_equal(count.live, 0);
}

static void buffers_stay_in_what_was_reserved(void **state) {
    (void)state;
    enum { ROOM = 1000 };
    counter count = {0, 1}; /* one allocation is all there is */
    tare_allocator a = {&count, count_alloc, count_resize, count_free};
    tare_buffer b;
    tare_buffer_init(&b, &a);
    tare_buffer_reserve(&b, ROOM);
    tare_buffer_reserve(&b, ROOM / 2);
    for (unsigned i = 0; i < ROOM; i++) tare_buffer_put_u8(&b, 1);
    assert_int_equal(tare_buffer_status(&b, NULL), TARE_OK);
    assert_int_equal(b.capacity, ROOM);
    tare_buffer_reserve(&b, ROOM + 1);
    assert_int_equal(tare_buffer_status(&b, NULL), TARE_ERR_NOMEM);
    tare_buffer_free(&b);
    assert_int_equal(count.live, 0);
}

static void json_strings_escape_what_json_demands(void **state) {
    (void)state;
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    tare_buffer_put_json(&b, (tare_str){"a\"\\/\n\0\x1f\xc3\xa9", 9});
    tare_buffer_put_json(&b, TARE_STR("x\xffy"));
    tare_buffer_printf(&b, "%d", 42);
    tare_buffer_put_u8(&b, 0);
    assert_string_equal((char *)b.data,
                        "\"a\\\"\\\\/\\n\\u0000\\u001f\xc3\xa9\"\"x\xef\xbf\xbdy\"42");
    tare_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_pieces_are_apart_and_cleared),
        cmocka_unit_test(buffer_failure_latches),
        cmocka_unit_test(buffers_stay_in_what_was_reserved),
        cmocka_unit_test(json_strings_escape_what_json_demands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
