/* SPDX-License-Identifier: MIT
 *
 * Guards against: an array of Flax whose numbers are others; a cut file that opens; a changed byte that makes
 * the reader go beyond the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/str.h"
#include "support/broken.h"

/* {"params": {"w": [[2, 3], "float32", 24 bytes], "n": 7}} */
static uint8_t sample[] = "\x81\xa6params\x82\xa1w\xc7\x26\x01\x93\x92\x02\x03\xa7"
                          "float32\xc4\x18"
                          "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0"
                          "\xa1n\x07";

enum { SIZE = sizeof sample - 1 };

static void an_array_has_its_numbers(void **state) {
    uint8_t bytes[24];
    (void)state;
    tare_model *m = open_whole("flax", sample, SIZE);
    assert_int_equal(tare_model_summarize(m)->n_tensors, 1);
    const tare_tensor *t = tare_model_tensor(m, 0);
    assert_true(tare_str_is(t->name, "params.w"));
    assert_int_equal(t->dims[0], 2);
    assert_int_equal(t->dims[1], 3);
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, sizeof bytes, NULL), TARE_OK);
    for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], i % 4 ? 0 : i / 4 + 1);
    assert_true(tare_model_find_key(m, TARE_STR("params.n")) >= 0);
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    check_cuts("flax", sample, SIZE);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("flax", sample, SIZE, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_has_its_numbers),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
