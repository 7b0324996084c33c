/* SPDX-License-Identifier: MIT
 *
 * Records of parts as files from a stranger. Faults guarded against: a record that is cut off and
 * taken for whole, a byte of it that leads out of the output, and words that are read as others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/parts.h>

#include "base/files.h"
#include "ops/parts/part_record.h"
#include "unit/temp_folder.h"

#define RECORD "out.part-00001-of-00001.json"

static const char record_text[] =
    "{\"schema\":\"tare.part/1\",\"output\":\"out\","
    "\"plan\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\","
    "\"part\":1,\"part_count\":1,\"begin\":0,\"end\":3,\"total_bytes\":3,"
    "\"is_directory\":true,\"is_shared\":false,\"withheld\":18,\"files\":["
    "{\"name\":\"a/b\",\"size_bytes\":3,\"offset\":0,\"part_bytes\":3,\"crc32\":891568578,"
    "\"mode\":420,\"seconds\":-1,\"nanoseconds\":5},"
    "{\"name\":\"c\",\"link_to\":\"a/b\",\"size_bytes\":0,\"offset\":0,\"part_bytes\":0},"
    "{\"name\":\"d\",\"is_folder\":true,\"size_bytes\":0,\"offset\":0,\"part_bytes\":0}]}";

static tare_status read_bytes(tare_part_record *r, tare_arena *arena, const char *text, size_t size,
                              tare_error *err) {
    write_temp(RECORD, text, size);
    return tare_part_record_read(r, temp_path(RECORD), arena, err);
}

/* What is accepted stays in the output. */
static void check_inside(const tare_part_record *r) {
    uint64_t sum = 0;
    assert_true(r->begin <= r->end && r->end <= r->total && r->index >= 1 && r->index <= r->count);
    for (size_t i = 0; i < r->n_pieces; i++) {
        const tare_part_piece *p = &r->pieces[i];
        assert_true(tare_is_inner_path(p->file.name));
        assert_true(p->offset <= p->file.n_bytes && p->n_bytes <= p->file.n_bytes - p->offset);
        sum += p->n_bytes;
    }
    assert_int_equal(sum, r->end - r->begin);
}

static void whole_record_is_read(void **state) {
    (void)state;
    tare_arena arena;
    tare_part_record r;
    tare_arena_init(&arena, NULL);
    assert_int_equal(read_bytes(&r, &arena, record_text, sizeof record_text - 1, NULL), TARE_OK);
    check_inside(&r);
    assert_int_equal(r.n_pieces, 3);
    assert_int_equal(r.pieces[0].file.kind, TARE_VIEW_FILE);
    assert_int_equal(r.pieces[0].file.seconds, -1);
    assert_int_equal(r.pieces[1].file.kind, TARE_VIEW_LINK);
    assert_true(tare_str_is(r.pieces[1].file.target, "a/b"));
    assert_int_equal(r.pieces[2].file.kind, TARE_VIEW_FOLDER);
    tare_arena_free(&arena);
}

static void cut_record_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof record_text - 1; n++) {
        tare_arena arena;
        tare_part_record r;
        tare_error err = {0};
        tare_arena_init(&arena, NULL);
        assert_int_equal(read_bytes(&r, &arena, record_text, n, &err), TARE_ERR_CORRUPT);
        assert_non_null(err.what);
        assert_string_equal(err.file, temp_path(RECORD));
        tare_arena_free(&arena);
    }
}

/* A join of one that is read either is refused or makes the output, of which the bytes have the CRC. */
static void changed_record_does_no_harm(void **state) {
    (void)state;
    static const unsigned char masks[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    char text[sizeof record_text];
    tare_output_options output = tare_output_options_default();
    output.dry_run = true;
    write_temp_text("out.part-00001-of-00001", "abc");
    for (size_t i = 0; i < 9 * (sizeof text - 1); i++) {
        tare_arena arena;
        tare_part_record r;
        tare_parts *parts;
        tare_arena_init(&arena, NULL);
        memcpy(text, record_text, sizeof text);
        text[i / 9] = (char)(text[i / 9] ^ (char)masks[i % 9]);
        const tare_status status = read_bytes(&r, &arena, text, sizeof text - 1, NULL);
        if (status == TARE_OK) check_inside(&r);
        assert_int_equal(tare_parts_open(&parts, temp_path("out"), NULL, NULL), TARE_OK);
        if (status != TARE_OK)
            assert_int_equal(tare_parts_join(NULL, parts, NULL, true, &output, NULL), TARE_ERR_ARG);
        tare_parts_free(parts);
        tare_arena_free(&arena);
    }
}

/* One word in the place of another, which the record has once. */
static void check_word(const char *from, const char *to) {
    char text[2 * sizeof record_text];
    const char *at = strstr(record_text, from);
    tare_arena arena;
    tare_part_record r;
    tare_error err = {0};
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - record_text), record_text, to,
             at + strlen(from));
    tare_arena_init(&arena, NULL);
    assert_int_equal(read_bytes(&r, &arena, text, strlen(text), &err), TARE_ERR_CORRUPT);
    assert_true(err.offset > 0 && err.offset < strlen(text));
    tare_arena_free(&arena);
}

/* The piece of a packed part is a file of any size; begin and end are the input's. */
static void packed_part_is_one_file(void **state) {
    (void)state;
    static const char packed[] =
        "{\"schema\":\"tare.part/1\",\"output\":\"out\","
        "\"plan\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\","
        "\"part\":1,\"part_count\":1,\"begin\":0,\"end\":3,\"total_bytes\":3,"
        "\"is_directory\":false,\"is_shared\":false,\"is_packed\":true,\"withheld\":0,\"files\":["
        "{\"name\":\"\",\"size_bytes\":9,\"offset\":0,\"part_bytes\":%d,\"crc32\":891568578}]}";
    for (int n = 8; n <= 9; n++) {
        char text[2 * sizeof packed];
        tare_arena arena;
        tare_part_record r;
        snprintf(text, sizeof text, packed, n);
        tare_arena_init(&arena, NULL);
        assert_int_equal(read_bytes(&r, &arena, text, strlen(text), NULL),
                         n == 9 ? TARE_OK : TARE_ERR_CORRUPT);
        if (n == 9) assert_int_equal(tare_part_bytes(&r), 9);
        tare_arena_free(&arena);
    }
}

static void kinds_are_what_they_say(void **state) {
    (void)state;
    check_word("\"is_folder\":true", "\"is_folder\":false");
    check_word("\"is_folder\":true", "\"is_folder\":1");
    check_word("\"is_folder\":true", "\"is_folder\":true,\"link_to\":\"x\"");
    check_word("\"link_to\":\"a/b\"", "\"link_to\":\"\"");
    check_word("\"link_to\":\"a/b\"", "\"link_to\":7");
    check_word("\"link_to\":\"a/b\"", "\"link_to\":\"a\\u0000b\"");
    check_word("\"name\":\"c\"", "\"name\":\"../c\"");
    check_word("\"name\":\"c\"", "\"name\":\"/c\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_record_is_read),        cmocka_unit_test(cut_record_is_refused),
        cmocka_unit_test(changed_record_does_no_harm), cmocka_unit_test(packed_part_is_one_file),
        cmocka_unit_test(kinds_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, make_temp_folder, remove_temp_folder);
}
