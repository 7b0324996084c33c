/* SPDX-License-Identifier: MIT
 *
 * Guards against: constants of a FlatBuffer that come out as other numbers, models of any bytes that
 * crash, or that let a reader go round in circles. tests/judge/judge_tflite.py has larger ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/buffer.h"
#include "base/str.h"
#include "support/broken.h"

enum { N = 6 };

static tare_buffer sample;

/* ---- the sample ------------------------------------------------------------------------------ */

static void put32(uint32_t v) {
    tare_buffer_put_u32(&sample, v, false);
}

static void put16(uint16_t v) {
    tare_buffer_put_u8(&sample, (uint8_t)v);
    tare_buffer_put_u8(&sample, (uint8_t)(v >> 8));
}

static void link_to(size_t place) {
    const uint32_t distance = (uint32_t)(sample.size - place);
    for (unsigned i = 0; i < 4; i++) sample.data[place + i] = (uint8_t)(distance >> 8 * i);
}

/* A table of n fields of 4 bytes, which are there where `fields` has their bit; its place. Fields
 * follow one another from byte 4 on. */
static size_t put_table(unsigned n, unsigned fields) {
    const size_t vtable = sample.size;
    uint16_t at = 4;
    put16((uint16_t)(4 + 2 * n));
    put16((uint16_t)(4 + 4 * n));
    for (unsigned i = 0; i < n; i++) {
        const bool is_there = (fields >> i & 1) != 0;
        put16(is_there ? at : 0);
        if (is_there) at = (uint16_t)(at + 4);
    }
    const size_t table = sample.size;
    put32((uint32_t)(table - vtable));
    tare_buffer_put_zeros(&sample, at - 4u);
    return table;
}

static void set(size_t place, uint8_t v) {
    sample.data[place] = v;
}

/* One graph with one tensor of int32, 1 to N, with a scale. */
static int begin(void **state) {
    (void)state;
    tare_buffer_init(&sample, NULL);
    put32(0);
    tare_buffer_put_text(&sample, "TFL3");
    const size_t model = put_table(5, 1 << 0 | 1 << 2 | 1 << 4);
    sample.data[0] = (uint8_t)model;
    set(model + 4, 3);
    link_to(model + 12); /* buffers */
    put32(2);
    const size_t buffers = sample.size;
    put32(0);
    put32(0);
    const size_t none = put_table(1, 0);
    sample.data[buffers] = (uint8_t)(none - buffers);
    const size_t one = put_table(1, 1);
    sample.data[buffers + 4] = (uint8_t)(one - buffers - 4);
    link_to(one + 4);
    put32(4 * N);
    for (uint32_t i = 0; i < N; i++) put32(i + 1);
    link_to(model + 8); /* graphs */
    put32(1);
    const size_t graphs = sample.size;
    put32(0);
    const size_t graph = put_table(1, 1);
    sample.data[graphs] = (uint8_t)(graph - graphs);
    link_to(graph + 4);
    put32(1);
    const size_t tensors = sample.size;
    put32(0);
    const size_t t = put_table(5, 31);
    sample.data[tensors] = (uint8_t)(t - tensors);
    link_to(t + 4);
    put32(2);
    put32(2);
    put32(3);
    set(t + 8, 2);  /* int32 */
    set(t + 12, 1); /* buffer */
    link_to(t + 16);
    put32(1);
    tare_buffer_put_text(&sample, "w");
    tare_buffer_put_zeros(&sample, 3);
    const size_t q = put_table(3, 1 << 2);
    sample.data[t + 20] = (uint8_t)(q - t - 20);
    link_to(q + 4);
    put32(1);
    put32(0x3f800000);
    return 0;
}

static int end(void **state) {
    (void)state;
    tare_buffer_free(&sample);
    return 0;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void constants_have_their_numbers(void **state) {
    uint8_t bytes[4 * N];
    (void)state;
    tare_model *m = open_whole("tflite", sample.data, sample.size);
    assert_int_equal(tare_model_summarize(m)->n_tensors, 2);
    assert_true(tare_str_is(tare_model_tensor(m, 0)->name, "w"));
    assert_true(tare_str_is(tare_model_tensor(m, 1)->name, "w.quantization.scale"));
    assert_int_equal(tare_model_tensor(m, 0)->dims[1], 3);
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, sizeof bytes, NULL), TARE_OK);
    for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], i % 4 ? 0 : i / 4 + 1);
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    check_cuts("tflite", sample.data, sample.size);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("tflite", sample.data, sample.size, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_have_their_numbers),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
