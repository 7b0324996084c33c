/* SPDX-License-Identifier: MIT
 *
 * Guards against: arrays in columns or in the other order of bytes that come out with other numbers,
 * deflated ones that are read from where they do not lie, files of any bytes that crash. NumPy itself
 * judges in tests/judge/judge_numpy.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "support/broken.h"
#include "unit/torch_sample.h"

enum { ROWS = 3, COLS = 4, N = ROWS * COLS };

static void put_array(tare_buffer *b, const char *descr, const char *order) {
    const bool is_big = descr[0] == '>';
    char text[119];
    const int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }",
                 descr, order, ROWS, COLS);
    memset(text + n, ' ', sizeof text - (size_t)n);
    text[sizeof text - 1] = '\n';
    tare_buffer_put_text(b, "\x93NUMPY\x01");
    tare_buffer_put_u8(b, 0);
    put_u16(b, sizeof text);
    tare_buffer_put(b, text, sizeof text);
    for (uint32_t i = 0; i < N; i++)
        tare_buffer_put_u32(b, strcmp(order, "True") == 0 ? i % ROWS * COLS + i / ROWS : i, is_big);
}

static const char *const arrays[][3] = {
    {"rows.npy", "<i4", "False"},
    {"big.npy", ">i4", "False"},
    {"columns.npy", "<i4", "True"},
    {"both.npy", ">u4", "True"},
};

enum { N_ARRAYS = sizeof arrays / sizeof *arrays };

static zip_sample sample;

static void check_numbers(const tare_model *m, size_t i) {
    uint8_t bytes[N * 4];
    assert_int_equal(tare_tensor_read(bytes, m, i, 0, 0, sizeof bytes, NULL), TARE_OK);
    for (uint8_t k = 0; k < N; k++) {
        const uint8_t expected[4] = {k, 0, 0, 0};
        assert_memory_equal(bytes + 4 * k, expected, 4);
    }
}

static void arrays_have_their_numbers(void **state) {
    (void)state;
    tare_model *m = open_whole("numpy", sample.file.data, sample.file.size);
    assert_int_equal(tare_model_summarize(m)->n_tensors, N_ARRAYS);
    for (size_t i = 0; i < N_ARRAYS; i++) {
        const tare_str name = tare_model_tensor(m, i)->name;
        assert_int_equal(name.len + strlen(".npy"), strlen(arrays[i][0]));
        assert_memory_equal(name.ptr, arrays[i][0], name.len);
        check_numbers(m, i);
    }
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    tare_buffer one;
    (void)state;
    tare_buffer_init(&one, NULL);
    put_array(&one, "<i4", "False");
    check_cuts("numpy", sample.file.data, sample.file.size);
    check_cuts("numpy", one.data, one.size);
    tare_buffer_free(&one);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("numpy", sample.file.data, sample.file.size, false);
}

static int begin(void **state) {
    (void)state;
    zip_begin(&sample);
    for (size_t i = 0; i < N_ARRAYS; i++) {
        tare_buffer array;
        tare_buffer_init(&array, NULL);
        put_array(&array, arrays[i][1], arrays[i][2]);
        zip_add(&sample, arrays[i][0], array.data, array.size);
        tare_buffer_free(&array);
    }
    zip_end(&sample);
    return 0;
}

static int end(void **state) {
    (void)state;
    zip_free(&sample);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_have_their_numbers),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
