/* SPDX-License-Identifier: MIT
 *
 * Guards against: members that are read from another place than they lie at, archives that are
 * refused for a comment. What must be refused is in tests/golden/torch_cases.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/zip.h"
#include "unit/torch_sample.h"

static zip_sample sample;
static tare_arena arena;

static tare_status read_sample(tare_zip *out, size_t size, tare_error *err) {
    tare_reader r;
    tare_reader_memory(&r, sample.file.data, size, "sample");
    return tare_zip_read(out, &r, 1000, &arena, err);
}

static void members_are_found(void **state) {
    tare_zip zip;
    (void)state;
    assert_int_equal(read_sample(&zip, sample.file.size, NULL), TARE_OK);
    assert_int_equal(zip.n, 2);
    assert_true(tare_str_is(zip.members[1].name, "b/c"));
    assert_int_equal(zip.members[1].size, 5);
    assert_memory_equal(sample.file.data + zip.members[1].offset, "other", 5);
    assert_int_equal(tare_zip_check_stored(&zip.members[0], NULL), TARE_OK);
}

static void a_comment_may_follow(void **state) {
    tare_zip zip;
    const size_t size = sample.file.size;
    (void)state;
    sample.file.data[size - 2] = 9;
    tare_buffer_put_text(&sample.file, "PK\5\6 note!");
    sample.file.size = size + 9;
    assert_int_equal(read_sample(&zip, sample.file.size, NULL), TARE_OK);
    assert_int_equal(zip.n, 2);
    sample.file.size = size;
    sample.file.data[size - 2] = 0;
}

static void a_large_directory_is_refused(void **state) {
    tare_zip zip;
    tare_reader r;
    tare_error err;
    (void)state;
    tare_reader_memory(&r, sample.file.data, sample.file.size, "sample");
    assert_int_equal(tare_zip_read(&zip, &r, 95, &arena, &err), TARE_ERR_LIMIT);
    assert_int_equal(err.offset, sample.file.size - 22 - sample.directory.size);
}

/* A name has no checksum, but stands in two places. */
static void names_are_compared(void **state) {
    tare_zip zip;
    tare_error err;
    (void)state;
    assert_int_equal(read_sample(&zip, sample.file.size, NULL), TARE_OK);
    const uint64_t header = zip.members[1].header, in_directory = sample.file.size - 22 - 3;
    const uint64_t at[] = {header + 30 + 1, header + 26, in_directory + 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        sample.file.data[at[i]] ^= 1;
        assert_int_equal(read_sample(&zip, sample.file.size, &err), TARE_ERR_CORRUPT);
        assert_int_equal(err.offset, header + 30);
        sample.file.data[at[i]] ^= 1;
    }
}

/* Without its last byte an archive has no end; no other cut is read as one. */
static void cut_archives_are_refused(void **state) {
    tare_zip zip;
    (void)state;
    for (size_t n = 0; n < sample.file.size; n++)
        assert_int_equal(read_sample(&zip, n, NULL), TARE_ERR_TRUNCATED);
}

static int begin(void **state) {
    (void)state;
    tare_arena_init(&arena, NULL);
    zip_begin(&sample);
    zip_add(&sample, "a", "content", 7);
    zip_add(&sample, "b/c", "other", 5);
    zip_end(&sample);
    return 0;
}

static int end(void **state) {
    (void)state;
    tare_arena_free(&arena);
    zip_free(&sample);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(a_comment_may_follow),
        cmocka_unit_test(a_large_directory_is_refused),
        cmocka_unit_test(names_are_compared),
        cmocka_unit_test(cut_archives_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
