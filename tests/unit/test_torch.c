/* SPDX-License-Identifier: MIT
 *
 * Guards against: views that come out with other numbers than PyTorch reads, names that keys do not
 * lead to, files of any bytes that crash. PyTorch itself judges in tests/judge/judge_torch.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "support/broken.h"
#include "unit/torch_sample.h"

static tare_buffer pickle;

static void put_text(const char *text) {
    tare_buffer_put_u8(&pickle, 'X');
    tare_buffer_put_u32(&pickle, (uint32_t)strlen(text), false);
    tare_buffer_put_text(&pickle, text);
}

static void put_numbers(const uint16_t *values, unsigned n) {
    tare_buffer_put_u8(&pickle, '(');
    for (unsigned i = 0; i < n; i++) {
        tare_buffer_put_u8(&pickle, 'M');
        put_u16(&pickle, values[i]);
    }
    tare_buffer_put_u8(&pickle, 't');
}

typedef struct shape {
    const char *name;
    unsigned n;
    uint16_t offset, dims[4], strides[4];
} shape;

/* A key, and a tensor of the storage "0", of 60 halves. */
static void put_tensor(const shape *s) {
    put_text(s->name);
    tare_buffer_put_text(&pickle, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text("storage");
    tare_buffer_put_text(&pickle, "ctorch\nHalfStorage\n");
    put_text("0");
    put_text("cpu");
    tare_buffer_put_text(&pickle, "K\x3ctQ");
    tare_buffer_put_u8(&pickle, 'M');
    put_u16(&pickle, s->offset);
    put_numbers(s->dims, s->n);
    put_numbers(s->strides, s->n);
    tare_buffer_put_text(&pickle, "\x89}tR");
}

static const shape shapes[] = {
    {"whole", 2, 0, {6, 10}, {10, 1}},
    {"transposed", 2, 0, {10, 6}, {1, 10}},
    {"permuted", 3, 0, {5, 4, 3}, {1, 15, 5}},
    {"columns", 2, 3, {6, 4}, {10, 2}},
    {"expanded", 3, 7, {2, 3, 4}, {0, 1, 0}},
    {"overlapping", 2, 1, {8, 5}, {3, 1}},
    {"part", 1, 31, {20}, {1}},
    {"diagonal", 1, 0, {6}, {11}},
    {"four", 4, 0, {2, 3, 2, 5}, {5, 20, 10, 1}},
    {"scalar", 0, 59, {0}, {0}},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static zip_sample sample;

static void make_sample(void) {
    uint8_t halves[120];
    tare_buffer_init(&pickle, NULL);
    for (unsigned i = 0; i < sizeof halves; i++) halves[i] = (uint8_t)(i * 7);
    tare_buffer_put_text(&pickle, "\x80\x02}(");
    put_text("epoch");
    tare_buffer_put_text(&pickle, "K\x05");
    put_text("model");
    tare_buffer_put_text(&pickle, "}(");
    for (size_t i = 0; i < N_SHAPES; i++) put_tensor(&shapes[i]);
    tare_buffer_put_text(&pickle, "uu.");
    zip_begin(&sample);
    zip_add(&sample, "m/data.pkl", pickle.data, pickle.size);
    zip_add(&sample, "m/data/0", halves, sizeof halves);
    zip_end(&sample);
    tare_buffer_free(&pickle);
}

/* Element i of the storage is the bytes 2i * 7 and (2i + 1) * 7. */
static void check_values(const tare_model *m, size_t tensor, const shape *s) {
    const tare_tensor *t = tare_model_tensor(m, tensor);
    uint8_t bytes[200];
    unsigned index[4] = {0};
    assert_true(tare_str_is(t->name, s->name));
    assert_int_equal(t->n_dims, s->n);
    assert_int_equal(tare_tensor_read(bytes, m, tensor, 0, 0, (size_t)t->size_bytes, NULL),
                     TARE_OK);
    for (uint64_t i = 0; i < t->n_elements; i++) {
        unsigned at = s->offset;
        for (unsigned d = 0; d < s->n; d++) at += index[d] * s->strides[d];
        assert_int_equal(bytes[2 * i], (uint8_t)(2 * at * 7));
        assert_int_equal(bytes[2 * i + 1], (uint8_t)((2 * at + 1) * 7));
        for (unsigned d = s->n; d-- > 0 && ++index[d] == s->dims[d];) index[d] = 0;
    }
}

static void views_have_their_values(void **state) {
    (void)state;
    tare_model *m = open_whole("torch", sample.file.data, sample.file.size);
    assert_int_equal(tare_model_summarize(m)->n_tensors, N_SHAPES);
    assert_int_equal(tare_model_summarize(m)->n_files, 1);
    for (size_t i = 0; i < N_SHAPES; i++) check_values(m, i, &shapes[i]);
    assert_true(tare_str_is(tare_model_metadata(m, 0)->key, "epoch"));
    tare_model_free(m);
}

/* Any range of a view, from any byte on. */
static void views_are_read_from_any_byte(void **state) {
    tare_model *m;
    uint8_t all[200], some[200];
    (void)state;
    assert_int_equal(open_bytes(&m, "torch", sample.file.data, sample.file.size, NULL), TARE_OK);
    for (size_t i = 0; i < N_SHAPES; i++) {
        const size_t size = (size_t)tare_model_tensor(m, i)->size_bytes;
        assert_int_equal(tare_tensor_read(all, m, i, 0, 0, size, NULL), TARE_OK);
        for (size_t from = 0; from < size; from++)
            for (size_t n = 1; n <= size - from; n += 3) {
                assert_int_equal(tare_tensor_read(some, m, i, 0, from, n, NULL), TARE_OK);
                assert_memory_equal(some, all + from, n);
            }
    }
    tare_model_free(m);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    check_cuts("torch", sample.file.data, sample.file.size);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    check_changes("torch", sample.file.data, sample.file.size, false);
}

/* Several bytes at once; tests/fuzz has more of this. */
static void mutations_do_no_harm(void **state) {
    uint8_t *copy = malloc(sample.file.size);
    uint64_t random = 1;
    (void)state;
    for (int round = 0; round < 500; round++) {
        memcpy(copy, sample.file.data, sample.file.size);
        for (int k = 0; k < 4; k++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            copy[(random >> 33) % 900] = (uint8_t)(random >> 25);
        }
        try_bytes("torch", copy, sample.file.size);
    }
    free(copy);
}

static int begin(void **state) {
    (void)state;
    make_sample();
    return 0;
}

static int end(void **state) {
    (void)state;
    zip_free(&sample);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_have_their_values), cmocka_unit_test(views_are_read_from_any_byte),
        cmocka_unit_test(cut_files_are_refused),   cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(mutations_do_no_harm),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
