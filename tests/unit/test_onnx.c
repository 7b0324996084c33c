/* SPDX-License-Identifier: MIT
 *
 * Guards against: numbers of ONNX in any of its forms that come out as others, models of any bytes
 * that crash, or that take far more memory than they are long. onnx itself judges in tests/judge/judge_onnx.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#include <tare/tare.h>

#include "base/buffer.h"
#include "base/str.h"
#include "support/broken.h"
#include "support/memory_source.h"

enum { N = 6 };

static tare_buffer sample;

/* ---- the sample ------------------------------------------------------------------------------ */

static void put_varint(tare_buffer *b, uint64_t n) {
    for (; n > 127; n >>= 7) tare_buffer_put_u8(b, (uint8_t)(n | 128));
    tare_buffer_put_u8(b, (uint8_t)n);
}

static void put_number(tare_buffer *b, unsigned field, uint64_t n) {
    put_varint(b, field << 3);
    put_varint(b, n);
}

static void put_bytes(tare_buffer *b, unsigned field, const void *bytes, size_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    tare_buffer_put(b, bytes, n);
}

static void put_message(tare_buffer *b, unsigned field, tare_buffer *message) {
    put_bytes(b, field, message->data, message->size);
    tare_buffer_free(message);
}

typedef struct form {
    const char *name;
    unsigned type, field; /* of the numbers 1 to N; 0: raw_data */
    bool is_packed;
    unsigned bytes; /* of a number */
} form;

static const form forms[] = {
    {"raw", 6, 0, true, 4},    {"packed", 6, 5, true, 4},     {"loose", 6, 5, false, 4},
    {"i64", 7, 7, true, 8},    {"u64", 13, 11, true, 8},      {"u32", 12, 11, false, 4},
    {"i8", 3, 5, true, 1},     {"u16", 4, 5, false, 2},       {"half", 10, 5, true, 2},
    {"codes", 21, 5, true, 1}, {"raw codes", 22, 0, true, 1},
};

enum { N_FORMS = sizeof forms / sizeof *forms };

static bool has_codes(const form *f) {
    return f->type == 21 || f->type == 22;
}

static void put_tensor(tare_buffer *graph, const form *f) {
    tare_buffer t, numbers;
    tare_buffer_init(&t, NULL);
    tare_buffer_init(&numbers, NULL);
    put_number(&t, 1, 2);
    put_number(&t, 1, 3);
    put_number(&t, 2, f->type);
    put_bytes(&t, 8, f->name, strlen(f->name));
    const unsigned n = has_codes(f) ? N / 2 : N;
    for (unsigned i = 0; i < n; i++) {
        const unsigned number = has_codes(f) ? 2 * i + 1 + (2 * i + 2) * 16 : i + 1;
        if (!f->field && has_codes(f))
            tare_buffer_put_u8(&numbers, (uint8_t)number);
        else if (!f->field)
            tare_buffer_put_u32(&numbers, number, false);
        else if (f->is_packed)
            put_varint(&numbers, number);
        else
            put_number(&t, f->field, number);
    }
    if (f->is_packed) put_bytes(&t, f->field ? f->field : 9, numbers.data, numbers.size);
    tare_buffer_free(&numbers);
    put_message(graph, 5, &t);
}

static int begin(void **state) {
    tare_buffer graph;
    (void)state;
    tare_buffer_init(&graph, NULL);
    tare_buffer_init(&sample, NULL);
    for (size_t i = 0; i < N_FORMS; i++) put_tensor(&graph, &forms[i]);
    put_number(&sample, 1, 8);
    put_bytes(&sample, 2, "test", 4);
    put_message(&sample, 7, &graph);
    return 0;
}

static int end(void **state) {
    (void)state;
    tare_buffer_free(&sample);
    return 0;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void every_form_has_its_numbers(void **state) {
    (void)state;
    tare_model *m = open_whole("onnx", sample.data, sample.size);
    assert_int_equal(tare_model_summarize(m)->n_tensors, N_FORMS);
    for (size_t i = 0; i < N_FORMS; i++) {
        uint8_t bytes[N * 8];
        const size_t n = forms[i].bytes;
        const tare_tensor *t = tare_model_tensor(m, i);
        assert_true(tare_str_is(t->name, forms[i].name));
        assert_int_equal(t->size_bytes, n * N);
        assert_int_equal(tare_tensor_read(bytes, m, i, 0, 0, n * N, NULL), TARE_OK);
        for (size_t k = 0; k < N * n; k++) {
            const int expected = k % n ? 0 : (int)(k / n) + 1;
            assert_int_equal(bytes[k], expected);
        }
    }
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    check_cuts("onnx", sample.data, sample.size);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("onnx", sample.data, sample.size, false);
}

/* ---- memory and limits ----------------------------------------------------------------------- */

static size_t taken; /* bytes asked for, given back or not */

static void *count_alloc(void *ctx, size_t size) {
    (void)ctx;
    taken += size;
    return malloc(size);
}

static void *count_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    (void)ctx, (void)old_size;
    taken += new_size;
    return realloc(ptr, new_size);
}

static void count_free(void *ctx, void *ptr, size_t size) {
    (void)ctx, (void)size;
    free(ptr);
}

static tare_status open_within(tare_buffer *graph, const tare_limits *limits, tare_error *err) {
    static const tare_allocator counting = {NULL, count_alloc, count_resize, count_free};
    tare_buffer file;
    tare_model *m;
    tare_buffer_init(&file, NULL);
    put_number(&file, 1, 8);
    put_message(&file, 7, graph);
    const tare_source source = memory_source(file.data, file.size);
    tare_context context = tare_context_default();
    tare_open_options options = tare_open_options_default();
    context.allocator = &counting;
    context.limits = limits;
    options.context = &context;
    options.format = "onnx";
    taken = 0;
    const tare_status status = tare_model_open(&m, &source, &options, err);
    tare_model_free(m);
    tare_buffer_free(&file);
    return status;
}

/* Packed numbers may come in any number of runs. */
static void short_runs_take_little_memory(void **state) {
    (void)state;
    enum { RUNS = 2000 };
    tare_buffer graph, t;
    tare_buffer_init(&graph, NULL);
    tare_buffer_init(&t, NULL);
    put_number(&t, 1, RUNS);
    put_number(&t, 2, 7);
    put_bytes(&t, 8, "w", 1);
    for (size_t i = 0; i < RUNS; i++) put_bytes(&t, 7, "\1", 1);
    put_message(&graph, 5, &t);
    assert_int_equal(open_within(&graph, NULL, NULL), TARE_OK);
    assert_true(taken < 8 << 20);
}

/* Those that cannot be read count. */
static void tensors_are_limited(void **state) {
    (void)state;
    tare_limits limits = tare_limits_default();
    limits.tensors = 100;
    for (size_t n = 100; n <= 101; n++) {
        tare_buffer graph;
        tare_error err = {0};
        tare_buffer_init(&graph, NULL);
        for (size_t i = 0; i < n; i++) put_bytes(&graph, 5, "", 0);
        assert_int_equal(open_within(&graph, &limits, &err), n == 100 ? TARE_OK : TARE_ERR_LIMIT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_its_numbers),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(short_runs_take_little_memory),
        cmocka_unit_test(tensors_are_limited),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
