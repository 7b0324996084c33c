/* SPDX-License-Identifier: MIT
 *
 * Guards against tensors that overlap, are outside their section, misaligned or beyond the end of
 * their file without this being noticed; and against bytes between them that get lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "format/format.h"

/* A file of 1000 bytes whose data section is [100, 1000), and tensors at given ranges. */
typedef struct laid {
    tare_model *m;
    tare_tensor tensors[6];
    tare_layout_rules rules;
    tare_filler *fillers;
    size_t n_fillers;
    tare_report *report;
    tare_error err;
} laid;

static tare_status check(laid *l, const uint64_t *ranges, size_t n) {
    tare_reader r;
    uint32_t file;
    static const uint8_t bytes[1000];
    assert_int_equal(tare_model_new(&l->m, NULL, NULL), TARE_OK);
    tare_reader_memory(&r, bytes, sizeof bytes, "laid");
    assert_int_equal(tare_model_add_file(l->m, &r, "laid", &file, NULL), TARE_OK);
    l->m->catalog.tensors = l->tensors;
    l->m->catalog.n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        uint64_t size = ranges[2 * i + 1] - ranges[2 * i];
        l->tensors[i] = (tare_tensor){.name = TARE_STR("t"), .offset = 10 * i};
        assert_int_equal(tare_tensor_set(l->m, &l->tensors[i], tare_encoding_get(TARE_ENCODING_U8),
                                         &size, 1, 0, ranges[2 * i], NULL),
                         TARE_OK);
    }
    l->report = tare_report_new();
    return tare_layout_check(l->m, &l->rules, &l->fillers, &l->n_fillers, l->report, &l->err);
}

static void done(laid *l) {
    tare_report_free(l->report);
    tare_model_free(l->m);
}

#define RANGES(...) (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 16

static const tare_layout_rules strict = {.base = 100, .end = 1000, .alignment = 1};
static const tare_layout_rules loose = {.padding_from = 90,
                                        .base = 100,
                                        .end = 1000,
                                        .alignment = 8,
                                        .allows_gaps = true,
                                        .may_be_truncated = true,
                                        .truncated_code = "test.truncated"};

static void refuse(const tare_layout_rules *rules, const uint64_t *ranges, size_t n,
                   tare_status status, int64_t item, const char *what) {
    laid l = {.rules = *rules};
    assert_int_equal(check(&l, ranges, n), status);
    assert_int_equal(l.err.item, item);
    if (item >= 0) assert_int_equal(l.err.offset, 10 * item);
    assert_non_null(strstr(l.err.what, what));
    done(&l);
}

static void test_refusals(void **state) {
    (void)state;
    refuse(&strict, RANGES(100, 500, 499, 1000), TARE_ERR_CORRUPT, 1, "overlaps");
    refuse(&strict, RANGES(499, 1000, 100, 500), TARE_ERR_CORRUPT, 0, "overlaps");
    refuse(&strict, RANGES(100, 1000, 100, 1000), TARE_ERR_CORRUPT, 1, "overlaps");
    refuse(&strict, RANGES(100, 1000, 200, 300), TARE_ERR_CORRUPT, 1, "overlaps");
    refuse(&strict, RANGES(100, 500, 501, 1000), TARE_ERR_CORRUPT, 1, "hole");
    refuse(&strict, RANGES(101, 1000), TARE_ERR_CORRUPT, 0, "hole");
    refuse(&strict, RANGES(100, 999), TARE_ERR_CORRUPT, -1, "no tensor");
    refuse(&strict, RANGES(100, 1001), TARE_ERR_TRUNCATED, 0, "end of the file");
    refuse(&strict, RANGES(100, 1000, 1001, 1001), TARE_ERR_TRUNCATED, 1, "end of the file");
    refuse(&strict, RANGES(99, 1000), TARE_ERR_CORRUPT, 0, "outside");
    refuse(&loose, RANGES(100, 200, 202, 300), TARE_ERR_CORRUPT, 1, "misaligned");
    refuse(&loose, RANGES(100, 200, 196, 300), TARE_ERR_CORRUPT, 1, "overlaps");
}

static void test_fillers(void **state) {
    (void)state;
    laid l = {.rules = strict};
    assert_int_equal(check(&l, RANGES(500, 1000, 100, 100, 100, 500, 500, 500)), TARE_OK);
    assert_int_equal(l.n_fillers, 0);
    done(&l);
    l = (laid){.rules = loose};
    assert_int_equal(check(&l, RANGES(500, 600, 108, 200, 300, 300)), TARE_OK);
    static const uint64_t expected[][2] = {{90, 10}, {100, 8}, {200, 300}, {600, 400}};
    assert_int_equal(l.n_fillers, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(l.fillers[i].offset, expected[i][0]);
        assert_int_equal(l.fillers[i].size, expected[i][1]);
    }
    done(&l);
    l = (laid){.rules = strict};
    l.rules.allows_aliases = true;
    assert_int_equal(check(&l, RANGES(100, 600, 600, 1000, 100, 600)), TARE_OK);
    done(&l);
}

static void test_truncated(void **state) {
    (void)state;
    laid l = {.rules = loose};
    assert_int_equal(check(&l, RANGES(100, 900, 908, 1008, 2004, 3000, 5004, 5004)), TARE_OK);
    assert_true(l.m->files[0].is_truncated);
    assert_int_equal(tare_report_count_level(l.report, TARE_LEVEL_ERROR), 3);
    const tare_finding *f = tare_report_at(l.report, 0);
    assert_int_equal(f->item_kind, TARE_ITEM_NONE);
    assert_int_equal(f->offset, 1000);
    assert_non_null(strstr(f->text.ptr, "2000 bytes too early, at 1000 of 3000"));
    assert_non_null(strstr(f->text.ptr, "2 of 4 tensors"));
    f = tare_report_at(l.report, 2);
    assert_int_equal(f->item, 2);
    assert_int_equal(f->status, TARE_ERR_TRUNCATED);
    assert_string_equal(f->code, "test.truncated");
    assert_int_equal(l.n_fillers, 2);
    done(&l);
}

static void test_no_more_than_four_examples(void **state) {
    (void)state;
    laid l = {.rules = loose};
    assert_int_equal(
        check(&l, RANGES(1004, 1012, 1012, 1020, 1020, 1028, 1028, 1036, 1036, 1044, 1044, 1052)),
        TARE_OK);
    assert_int_equal(tare_report_count_level(l.report, TARE_LEVEL_ERROR), 5);
    assert_int_equal(tare_report_at(l.report, 4)->item, 3);
    assert_non_null(strstr(tare_report_at(l.report, 0)->text.ptr, "6 of 6 tensors"));
    done(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fillers),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_no_more_than_four_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
