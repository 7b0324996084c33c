/* SPDX-License-Identifier: MIT
 *
 * Guards against: a container that lost its header, its footer or its end, of which less is salvaged
 * than can be; wrong bytes, or a model that is not whole, passed off as right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/unpack.h>

#include "base/bytes.h"
#include "convert_help.h"
#include "wcodec_build.h"

enum { N_FILES = 4 };
static const char text[] = "0123456789";
static uint8_t *packed;
static size_t packed_size;
static uint64_t index_offset, files_offset; /* of the index, of the records of files in it */

/* A directory of files that hold their number. */
static int make(void **state) {
    static wcodec_build b;
    static tare_packed_file files[N_FILES];
    static tare_packed_range ranges[N_FILES];
    static const char *const names[N_FILES] = {"0", "1", "2", "3"};
    if (help_set_up(state) != 0) return -1;
    build_start(&b);
    build_bytes(&b, TARE_WCODEC_BYTES, "text", text, sizeof text - 1);
    for (uint32_t i = 0; i < N_FILES; i++) {
        ranges[i] = (tare_packed_range){0, 0, i, 1};
        files[i] = (tare_packed_file){
            .name = TARE_STR("0"), .size = 1, .n_ranges = 1, .ranges = &ranges[i]};
        files[i].name.ptr = names[i];
    }
    b.index.files_form = 2;
    b.index.n_files = N_FILES;
    b.index.files = files;
    packed = build_end(&b, &packed_size);
    index_offset = tare_load_le64(packed + 51);
    const uint8_t *counts = packed + index_offset;
    files_offset = index_offset + 64 + tare_load_le64(counts + 16) + tare_load_le64(counts + 24);
    return 0;
}

static int drop(void **state) {
    free(packed);
    return help_tear_down(state);
}

static tare_status salvage(const uint8_t *bytes, size_t n, tare_unpack_result *r,
                           tare_report *report, tare_error *err) {
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_MEMORY,
                          .name = "packed",
                          .memory = bytes,
                          .n_bytes = n,
                          .fd = -1};
    *r = tare_unpack_result_default();
    o.salvage = true;
    output.no_sync = true;
    context.threads = 1;
    context.report = report;
    return tare_unpack(r, help_path("out"), &source, &o, err);
}

/* What was written is right, but for zeros that are owned up to. False: refused, with words. */
static bool check_salvaged(const uint8_t *bytes, size_t n, tare_unpack_result *r) {
    tare_report *report = tare_report_new();
    tare_error err;
    size_t n_zeros = 0;
    const tare_status status = salvage(bytes, n, r, report, &err);
    if (status != TARE_OK) {
        assert_true(tare_status_is_loss(status) && err.what[0]);
        assert_int_not_equal(access(help_path("out"), F_OK), 0);
        tare_report_free(report);
        return false;
    }
    assert_int_equal(r->n_files + r->n_files_lost, N_FILES);
    assert_int_equal(help_count_entries(help_path("out")), r->n_files);
    for (unsigned i = 0; i < r->n_files; i++) {
        char name[16];
        size_t size;
        snprintf(name, sizeof name, "out/%u", i);
        uint8_t *content = help_read(help_path(name), &size);
        assert_int_equal(size, 1);
        n_zeros += content[0] == 0;
        assert_true(content[0] == 0 || content[0] == '0' + i);
        free(content);
    }
    assert_int_equal(n_zeros > 0, r->n_lost > 0);
    assert_int_equal(help_findings(report, "unpack.not-whole"), r->n_lost || r->n_files_lost);
    assert_int_equal(help_findings(report, "unpack.directory"), r->is_unchecked);
    tare_report_free(report);
    help_remove(help_path("out"));
    return true;
}

static void a_sound_container_is_whole(void **state) {
    tare_unpack_result r;
    (void)state;
    assert_true(check_salvaged(packed, packed_size, &r));
    assert_false(r.is_unchecked);
    assert_int_equal(r.n_lost + r.n_files_lost, 0);
}

static void ends_are_cut_at_every_byte(void **state) {
    (void)state;
    for (size_t n = 0; n < packed_size; n++) {
        tare_unpack_result r;
        const bool is_read = check_salvaged(packed, n, &r);
        if (n <= files_offset) assert_false(is_read);
        if (!is_read) {
            assert_true(n < packed_size - TARE_WCODEC_FOOTER);
            continue;
        }
        assert_true(r.is_unchecked);
        assert_int_equal(r.n_lost, 0);
        if (n >= packed_size - TARE_WCODEC_FOOTER) assert_int_equal(r.n_files_lost, 0);
    }
    tare_unpack_result r; /* all records but the last */
    const size_t last = packed_size - TARE_WCODEC_FOOTER - 1;
    assert_true(check_salvaged(packed, last, &r));
    assert_int_equal(r.n_files_lost, 1);
}

static void beginnings_are_cut_at_every_byte(void **state) {
    (void)state;
    for (size_t n = 1; n < packed_size; n++) {
        tare_unpack_result r;
        const bool is_read = check_salvaged(packed + n, packed_size - n, &r);
        assert_int_equal(is_read, n <= index_offset && packed_size - n >= TARE_WCODEC_HEADER);
        if (is_read) assert_int_equal(r.n_lost > 0, n > TARE_WCODEC_HEADER);
    }
}

static void header_and_footer_do_without_each_other(void **state) {
    (void)state;
    uint8_t *bytes = malloc(packed_size);
    tare_unpack_result r;
    assert_non_null(bytes);
    for (size_t at = 0; at < packed_size; at++) {
        if (at == TARE_WCODEC_HEADER) at = packed_size - TARE_WCODEC_FOOTER;
        memcpy(bytes, packed, packed_size);
        bytes[at] ^= 0x11;
        assert_true(check_salvaged(bytes, packed_size, &r));
        assert_true(r.is_unchecked);
        assert_int_equal(r.n_lost + r.n_files_lost, 0);
    }
    memset(bytes, 0, TARE_WCODEC_HEADER);
    assert_false(check_salvaged(bytes, packed_size, &r)); /* its last byte is not the footer's */
    bytes[packed_size - 1] ^= 0x11;
    assert_true(check_salvaged(bytes, packed_size, &r));
    free(bytes);
}

/* What is read of an index without its CRC may be wrong, but is never said to be checked. */
static void damaged_indexes_are_never_vouched_for(void **state) {
    (void)state;
    uint8_t *bytes = malloc(packed_size);
    assert_non_null(bytes);
    for (size_t at = (size_t)index_offset; at < packed_size - TARE_WCODEC_FOOTER; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            tare_unpack_result r;
            tare_error err;
            memcpy(bytes, packed, packed_size);
            bytes[at] ^= (uint8_t)(1u << bit);
            const tare_status status = salvage(bytes, packed_size, &r, NULL, &err);
            assert_true(status == TARE_OK ? r.is_unchecked : err.what[0] != 0);
            help_remove(help_path("out"));
        }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_container_is_whole),
        cmocka_unit_test(ends_are_cut_at_every_byte),
        cmocka_unit_test(beginnings_are_cut_at_every_byte),
        cmocka_unit_test(header_and_footer_do_without_each_other),
        cmocka_unit_test(damaged_indexes_are_never_vouched_for),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
