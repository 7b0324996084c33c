/* SPDX-License-Identifier: MIT
 *
 * Guards against a .npy file that NumPy reads as something else, rows that are not those asked for,
 * padding or the other byte order in a .bin, and an output that takes the input's place. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "made_model.h"
#include "support/scratch_name.h"

static char directory[SCRATCH_NAME_SIZE];
static char path[SCRATCH_PATH_SIZE];

static int make_directory(void **state) {
    (void)state;
    if (!mkdtemp(scratch_name(directory))) return -1;
    snprintf(path, sizeof path, "%s/out", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    remove(path);
    return rmdir(directory);
}

/* What was written, and how much of it. */
static uint8_t got[1 << 20];

static size_t read_back(const char *name) {
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    size_t n = fread(got, 1, sizeof got, f);
    fclose(f);
    assert_true(n < sizeof got);
    return n;
}

static size_t extract(const tare_model *m, size_t tensor, tare_extract_form form, uint64_t first,
                      uint64_t n) {
    tare_extract_options o = tare_extract_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    o.first_row = first;
    o.n_rows = n;
    output.force = output.no_sync = true;
    tare_error err = {.what = ""};
    if (tare_extract(path, m, tensor, form, &o, &err) != TARE_OK) fail_msg("%s", err.what);
    return read_back(path);
}

static tare_status refuse(const tare_model *m, tare_extract_form form, uint64_t first, uint64_t n) {
    tare_extract_options o = tare_extract_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    o.first_row = first;
    o.n_rows = n;
    output.force = true;
    remove(path);
    tare_status s = tare_extract(path, m, 0, form, &o, &err);
    assert_int_not_equal(s, TARE_OK);
    assert_non_null(err.what);
    assert_int_not_equal(access(path, F_OK), 0);
    return s;
}

/* The header as it must be, to the byte: 128 in all for these short shapes. */
static void expect_header(const char *descr, const char *shape) {
    char text[129];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     descr, shape);
    size_t total = n + 1 + 10 <= 64 ? 64 : 128;
    assert_memory_equal(got, "\x93NUMPY\x01\x00", 8);
    assert_int_equal(tare_load_le16(got + 8), total - 10);
    assert_memory_equal(got + 10, text, (size_t)n);
    for (size_t i = 10 + (size_t)n; i + 1 < total; i++) assert_int_equal(got[i], ' ');
    assert_int_equal(got[total - 1], '\n');
    memmove(got, got + total, sizeof got - total);
}

static void expect_f32(size_t i, float value) {
    assert_int_equal(tare_load_le32(got + 4 * i), tare_f32_bits(value));
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

static void plain_types_have_numpys_names(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        const char *descr;
        size_t bytes;
    } types[] = {
        {TARE_ENCODING_BOOL, "|b1", 1}, {TARE_ENCODING_I8, "|i1", 1},
        {TARE_ENCODING_U8, "|u1", 1},   {TARE_ENCODING_I16, "<i2", 2},
        {TARE_ENCODING_U16, "<u2", 2},  {TARE_ENCODING_I32, "<i4", 4},
        {TARE_ENCODING_U32, "<u4", 4},  {TARE_ENCODING_I64, "<i8", 8},
        {TARE_ENCODING_U64, "<u8", 8},  {TARE_ENCODING_C64, "<c8", 8},
        {TARE_ENCODING_F32, "<f4", 4},
    };
    const uint64_t dims[3] = {2, 3, 5};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (int big = 0; big < 2; big++) {
            made_model made;
            made_begin(&made, 30 * 8 + 3, 1, 3);
            uint8_t *bytes = made_add(&made, TARE_STR("t"), types[i].id, dims, 3), copy[240];
            for (size_t k = 0; k < 30 * types[i].bytes; k++) copy[k] = bytes[k] = (uint8_t)(k * 5);
            tare_rows_mut rows = {.planes = {bytes}, .n_rows = 6, .cols = 5};
            if (big) tare_swap_rows(&rows, tare_encoding_get(types[i].id));
            size_t n = extract(made_finish(&made, big, NULL, 0), 0, TARE_EXTRACT_NPY, 0, 0);
            expect_header(types[i].descr, "(2, 3, 5)");
            assert_int_equal(n, 128 + 30 * types[i].bytes);
            assert_memory_equal(got, copy, 30 * types[i].bytes);
            made_free(&made);
        }
    }
}

static void other_types_are_decoded(void **state) {
    (void)state;
    const uint64_t dims[1] = {64};
    made_model made;
    made_begin(&made, 4096, 4, 0);
    uint8_t *f16 = made_add(&made, TARE_STR("f16"), TARE_ENCODING_F16, dims, 1);
    uint8_t *f64 = made_add(&made, TARE_STR("f64"), TARE_ENCODING_F64, dims, 1);
    uint8_t *q8 = made_add(&made, TARE_STR("q8"), TARE_ENCODING_Q8_0, dims, 1);
    uint8_t *f4 = made_add(&made, TARE_STR("f4"), TARE_ENCODING_F4, dims, 1);
    tare_store_le16(f16 + 2 * 63, 0xc100);
    tare_store_le64(f64 + 8 * 1, tare_f64_bits(1.0 / 3));
    tare_store_le16(q8 + 34, 0x4000); /* 2 */
    q8[34 + 2 + 31] = (uint8_t)-3;
    f4[0] = 0x72; /* codes 2 and 7: 1 and 6 */
    tare_model *m = made_finish(&made, false, NULL, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(extract(m, i, TARE_EXTRACT_NPY, 0, 0), 128 + 64 * 4);
        expect_header("<f4", "(64,)");
        if (i == 0) expect_f32(63, -2.5f);
        if (i == 1) expect_f32(1, (float)(1.0 / 3));
        if (i == 2) expect_f32(63, -6);
        if (i == 3) expect_f32(0, 1), expect_f32(1, 6);
    }
    made_free(&made);
}

static void shapes_of_few_dimensions_are_tuples(void **state) {
    (void)state;
    static const struct {
        uint32_t n_dims;
        uint64_t dims[4];
        const char *shape;
        size_t count;
    } cases[] = {{0, {0}, "()", 1},        {1, {7}, "(7,)", 7},
                 {1, {0}, "(0,)", 0},      {2, {0, 5}, "(0, 5)", 0},
                 {2, {5, 0}, "(5, 0)", 0}, {4, {1, 2, 3, 1}, "(1, 2, 3, 1)", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_model made;
        made_begin(&made, 64, 1, 0);
        made_add(&made, TARE_STR("t"), TARE_ENCODING_F16, cases[i].dims, cases[i].n_dims);
        size_t n = extract(made_finish(&made, false, NULL, 0), 0, TARE_EXTRACT_NPY, 0, 0);
        expect_header("<f4", cases[i].shape);
        assert_int_equal(n % 64, cases[i].count * 4 % 64);
        made_free(&made);
    }
}

/* Rows of a tensor of three dimensions run over the first two. */
static void some_rows_are_a_matrix(void **state) {
    (void)state;
    const uint64_t dims[3] = {3, 4, 6};
    made_model made;
    made_begin(&made, 1024, 1, 0);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_F16, dims, 3);
    for (size_t i = 0; i < 72; i++) /* 1024 + i in f16 */
        tare_store_le16(bytes + 2 * i, (uint16_t)(0x6400 + i));
    tare_model *m = made_finish(&made, false, NULL, 0);
    for (uint64_t first = 0; first < 12; first++) {
        for (uint64_t n = 0; n <= 12 - first; n++) {
            char shape[40];
            uint64_t rows = n ? n : 12 - first;
            snprintf(shape, sizeof shape, "(%d, 6)", (int)rows);
            extract(m, 0, TARE_EXTRACT_NPY, first, n);
            expect_header("<f4", rows == 12 ? "(3, 4, 6)" : shape);
            for (size_t i = 0; i < rows * 6; i++) expect_f32(i, 1024 + (float)(first * 6 + i));
            assert_int_equal(extract(m, 0, TARE_EXTRACT_BIN, first, n), (size_t)rows * 12);
            assert_memory_equal(got, bytes + first * 12, (size_t)rows * 12);
        }
    }
    made_free(&made);
}

/* F4 of rows of three: two numbers share a byte, so rows begin within bytes. */
static void rows_within_bytes_are_decoded_and_not_cut(void **state) {
    (void)state;
    const uint64_t dims[2] = {4, 3};
    static const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    made_model made;
    made_begin(&made, 6, 1, 0);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_F4, dims, 2);
    for (int i = 0; i < 12; i++) bytes[i / 2] |= (uint8_t)(i % 8 << (i % 2 ? 4 : 0));
    tare_model *m = made_finish(&made, false, NULL, 0);
    for (uint64_t first = 0; first < 4; first++) {
        for (uint64_t n = 1; n <= 4 - first; n++) {
            extract(m, 0, TARE_EXTRACT_NPY, first, n);
            char shape[40];
            snprintf(shape, sizeof shape, "(%d, 3)", (int)n);
            expect_header("<f4", shape);
            for (size_t i = 0; i < n * 3; i++) expect_f32(i, values[(first * 3 + i) % 8]);
        }
    }
    assert_int_equal(refuse(m, TARE_EXTRACT_BIN, 1, 1), TARE_ERR_ARG);
    assert_int_equal(refuse(m, TARE_EXTRACT_BIN, 0, 1), TARE_ERR_ARG);
    assert_int_equal(extract(m, 0, TARE_EXTRACT_BIN, 2, 2), 3);
    assert_memory_equal(got, bytes + 3, 3);
    made_free(&made);
}

/* A row longer than a piece, and more rows than one piece holds. */
static void long_tensors_come_in_pieces(void **state) {
    (void)state;
    static const uint64_t shapes[2][2] = {{1, 200000}, {2000, 100}};
    for (int k = 0; k < 2; k++) {
        made_model made;
        made_begin(&made, 400000, 1, 0);
        uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_BF16, shapes[k], 2);
        for (size_t i = 0; i < 400000; i++) bytes[i] = (uint8_t)(i % 127);
        size_t n = extract(made_finish(&made, false, NULL, 0), 0, TARE_EXTRACT_NPY, 0, 0);
        expect_header("<f4", k ? "(2000, 100)" : "(1, 200000)");
        assert_int_equal(n, 128 + 800000);
        for (size_t i = 0; i < 200000; i++)
            assert_int_equal(tare_load_le32(got + 4 * i), (uint32_t)tare_load_le16(bytes + 2 * i)
                                                              << 16);
        made_free(&made);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void rows_beyond_the_end_are_refused(void **state) {
    (void)state;
    const uint64_t dims[2] = {4, 32};
    made_model made;
    made_begin(&made, 4 * 34, 1, 0);
    made_add(&made, TARE_STR("t"), TARE_ENCODING_Q8_0, dims, 2);
    tare_model *m = made_finish(&made, false, NULL, 0);
    for (int form = 0; form < 2; form++) {
        assert_int_equal(refuse(m, (tare_extract_form)form, 4, 0), TARE_ERR_ARG);
        assert_int_equal(refuse(m, (tare_extract_form)form, 0, 5), TARE_ERR_ARG);
        assert_int_equal(refuse(m, (tare_extract_form)form, 3, UINT64_MAX), TARE_ERR_ARG);
        assert_int_equal(refuse(m, (tare_extract_form)form, UINT64_MAX, 2), TARE_ERR_ARG);
    }
    made_free(&made);
}

static void what_cannot_be_decoded_is_extracted_as_bytes_only(void **state) {
    (void)state;
    static const uint64_t dims[1] = {4};
    tare_plane plane = {0, 8, 11};
    made_model made;
    made_begin(&made, 32, 1, 0);
    made_add(&made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
    tare_tensor *t = &made.model->catalog.tensors[0];
    t->encoding = tare_encoding_get(TARE_ENCODING_UNKNOWN);
    t->planes = &plane;
    t->size_bytes = plane.size;
    for (int i = 0; i < 32; i++) made.bytes[i] = (uint8_t)i;
    tare_model *m = made_finish(&made, true, NULL, 0);
    assert_int_equal(refuse(m, TARE_EXTRACT_NPY, 0, 0), TARE_ERR_UNSUPPORTED);
    assert_int_equal(extract(m, 0, TARE_EXTRACT_BIN, 0, 0), 11);
    assert_memory_equal(got, made.bytes + 8, 11);
    made_free(&made);
}

static void an_existing_file_is_kept_unless_forced(void **state) {
    (void)state;
    tare_extract_options o = tare_extract_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_model *m;
    assert_int_equal(tare_synth_open(&m, "llama-tiny", NULL, NULL), TARE_OK);
    FILE *f = fopen(path, "wb");
    fputs("precious", f);
    fclose(f);
    assert_int_equal(tare_extract(path, m, 8, TARE_EXTRACT_NPY, &o, NULL), TARE_ERR_ARG);
    assert_int_equal(read_back(path), 8);
    assert_memory_equal(got, "precious", 8);
    output.force = true;
    assert_int_equal(tare_extract(path, m, 8, TARE_EXTRACT_NPY, &o, NULL), TARE_OK);
    assert_int_equal(read_back(path), 128 + 256 * 4);
    tare_model_free(m);
}

static void the_input_is_never_replaced(void **state) {
    (void)state;
    const uint64_t dims[1] = {4};
    tare_extract_options o = tare_extract_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    made_model made;
    tare_reader reader;
    FILE *f = fopen(path, "wb");
    fputs("0123456789abcdef", f);
    fclose(f);
    made_begin(&made, 16, 1, 0);
    made_add(&made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
    assert_int_equal(tare_reader_open(&reader, path, false, NULL), TARE_OK);
    made.model->files[0].reader = reader;
    tare_model *m = made_finish(&made, false, NULL, 0);
    output.force = true;
    assert_int_equal(tare_extract(path, m, 0, TARE_EXTRACT_BIN, &o, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_manifest_write(path, m, &output, NULL, NULL), TARE_ERR_ARG);
    assert_int_equal(read_back(path), 16);
    assert_memory_equal(got, "0123456789abcdef", 16);
    made_free(&made);
}

static void a_dash_writes_to_the_descriptor(void **state) {
    (void)state;
    tare_model *m;
    int ends[2];
    assert_int_equal(tare_synth_open(&m, "llama-tiny:bf16", NULL, NULL), TARE_OK);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(tare_extract_fd(ends[1], m, 8, TARE_EXTRACT_BIN, NULL, NULL), TARE_OK);
    close(ends[1]);
    assert_int_equal(read(ends[0], got, sizeof got), 512);
    uint8_t stored[512];
    assert_int_equal(tare_tensor_read(stored, m, 8, 0, 0, 512, NULL), TARE_OK);
    assert_memory_equal(got, stored, 512);
    close(ends[0]);
    assert_int_equal(tare_extract_fd(-1, m, 8, TARE_EXTRACT_BIN, NULL, NULL), TARE_ERR_IO);
    tare_model_free(m);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    assert_true(done <= total);
    return true;
}

static void it_can_be_stopped_and_leaves_nothing(void **state) {
    (void)state;
    tare_extract_options o = tare_extract_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_model *m;
    remove(path);
    assert_int_equal(tare_synth_open(&m, "llama-tiny", NULL, NULL), TARE_OK);
    context.progress = stop_at_once;
    assert_int_equal(tare_extract(path, m, 0, TARE_EXTRACT_NPY, &o, NULL), TARE_ERR_CANCELLED);
    assert_int_not_equal(access(path, F_OK), 0);
    tare_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_types_have_numpys_names),
        cmocka_unit_test(other_types_are_decoded),
        cmocka_unit_test(shapes_of_few_dimensions_are_tuples),
        cmocka_unit_test(some_rows_are_a_matrix),
        cmocka_unit_test(rows_within_bytes_are_decoded_and_not_cut),
        cmocka_unit_test(long_tensors_come_in_pieces),
        cmocka_unit_test(rows_beyond_the_end_are_refused),
        cmocka_unit_test(what_cannot_be_decoded_is_extracted_as_bytes_only),
        cmocka_unit_test(an_existing_file_is_kept_unless_forced),
        cmocka_unit_test(the_input_is_never_replaced),
        cmocka_unit_test(a_dash_writes_to_the_descriptor),
        cmocka_unit_test(it_can_be_stopped_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
