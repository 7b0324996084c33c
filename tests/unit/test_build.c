/* SPDX-License-Identifier: MIT
 *
 * Guards against: a model from memory that has other bytes, keys or files than it was given, that a
 * verb does not take, or that leans on memory of the caller beyond its tensors; arrays that reach
 * beyond their bytes; two things of one name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/build.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>
#include <tare/read.h>

#include "base/bytes.h"
#include "convert_help.h"

enum { ROWS = 64, COLS = 96 };

static uint8_t floats[ROWS * COLS * 4], halves[ROWS * COLS * 2], blocks[ROWS * COLS / 32 * 18];
static uint8_t codes[ROWS * COLS], scales[ROWS * 2], records[8];

static void fill(uint8_t *p, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)(seed = seed * 1103515245 + 12345) & 0x3f;
}

static tare_status read_halves(void *ctx, uint32_t plane, uint64_t offset, void *buf, size_t n) {
    if (ctx != halves || plane != 0) return TARE_ERR_IO;
    memcpy(buf, halves + offset, n);
    return TARE_OK;
}

static tare_status read_nothing(void *ctx, uint32_t plane, uint64_t offset, void *buf, size_t n) {
    (void)ctx, (void)plane, (void)offset, (void)buf, (void)n;
    return TARE_ERR_IO;
}

static tare_build_tensor tensor(const char *name, tare_encoding_id id, const uint64_t *dims,
                                uint32_t n_dims, const void *plane) {
    tare_build_tensor t = tare_build_tensor_default();
    t.name = tare_str_of(name);
    t.encoding = tare_encoding_get(id);
    t.dims = dims;
    t.n_dims = n_dims;
    t.planes[0] = plane;
    return t;
}

static void must(tare_status s, const tare_error *err) {
    if (s != TARE_OK) fail_msg("%s: %s", err->item_name, err->what);
}

/* All that a builder takes; nothing but the tensors' bytes is there any more when it is done. */
static tare_model *build(bool with_rowwise) {
    tare_builder *b;
    tare_model *m;
    tare_error err;
    uint64_t dims[] = {ROWS, COLS};
    char name[16] = "f32";
    fill(floats, sizeof floats, 1);
    fill(halves, sizeof halves, 2);
    fill(blocks, sizeof blocks, 3);
    fill(codes, sizeof codes, 4);
    fill(scales, sizeof scales, 5);
    must(tare_builder_new(&b, NULL, &err), &err);
    tare_build_tensor t = tensor(name, TARE_ENCODING_F32, dims, 2, floats);
    must(tare_builder_add_tensor(b, &t, &err), &err);
    t = tensor("bf16", TARE_ENCODING_BF16, dims, 2, NULL);
    t.read = read_halves;
    t.read_ctx = halves;
    must(tare_builder_add_tensor(b, &t, &err), &err);
    t = tensor("q4", TARE_ENCODING_Q4_0, dims, 2, blocks);
    must(tare_builder_add_tensor(b, &t, &err), &err);
    t = tensor("one", TARE_ENCODING_F32, NULL, 0, floats + 1);
    must(tare_builder_add_tensor(b, &t, &err), &err);
    if (with_rowwise) {
        t = tensor("rowwise", TARE_ENCODING_INT8_ROWWISE, dims, 2, codes);
        t.planes[1] = scales;
        t.planes[2] = records;
        t.list_bytes = sizeof records;
        tare_store_le16(records + 6, 0x4000); /* row 0, column 0 is 2 */
        must(tare_builder_add_tensor(b, &t, &err), &err);
    }
    memset(dims, 0, sizeof dims);
    memset(name, 0, sizeof name);

    char text[] = "llama";
    tare_value v = {.type = TARE_VALUE_STRING, .as.s = tare_str_of(text)};
    must(tare_builder_add_key(b, TARE_KEYS_MODEL, tare_str_of("general.architecture"), &v, &err),
         &err);
    must(tare_builder_add_key(b, TARE_KEYS_SAFETENSORS, tare_str_of("format"), &v, &err), &err);
    v = (tare_value){.type = TARE_VALUE_I32, .as.i = -7};
    must(tare_builder_add_key(b, TARE_KEYS_MODEL, tare_str_of("number"), &v, &err), &err);
    uint8_t numbers[6] = {1, 0, 2, 0, 3, 0};
    v = (tare_value){.type = TARE_VALUE_ARRAY,
                     .as.a = {TARE_VALUE_U16, 3, numbers, sizeof numbers, false, false}};
    must(tare_builder_add_key(b, TARE_KEYS_MODEL, tare_str_of("numbers"), &v, &err), &err);
    tare_str words[] = {tare_str_of("a"), tare_str_of(""), tare_str_of("word")};
    must(tare_builder_add_strings(b, tare_str_of("words"), words, 3, &err), &err);
    must(tare_builder_add_strings(b, tare_str_of("none"), NULL, 0, &err), &err);
    char config[] = "{\"model_type\": \"llama\"}";
    must(tare_builder_add_resource(b, tare_str_of("config.json"), config, strlen(config), &err),
         &err);
    memset(text, 'x', sizeof text);
    memset(numbers, 9, sizeof numbers);
    memset(words, 0, sizeof words);
    memset(config, 'x', sizeof config);
    must(tare_builder_finish(&m, b, &err), &err);
    return m;
}

static void test_content(void **state) {
    (void)state;
    tare_model *m = build(true);
    const tare_model_summary *sum = tare_model_summarize(m);
    assert_string_equal(sum->format, "memory");
    assert_int_equal(sum->n_tensors, 5);
    assert_int_equal(tare_model_find_tensor(m, tare_str_of("q4")), 2);
    uint8_t bytes[sizeof floats];
    const uint8_t *p;
    float row[COLS];
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, sizeof floats, NULL), TARE_OK);
    assert_memory_equal(bytes, floats, sizeof floats);
    assert_int_equal(tare_tensor_read(bytes, m, 1, 0, 10, 100, NULL), TARE_OK);
    assert_memory_equal(bytes, halves + 10, 100);
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 1, NULL), TARE_OK);
    assert_ptr_equal(p, floats);
    assert_int_equal(tare_tensor_borrow(&p, m, 1, 0, 1, NULL), TARE_ERR_UNSUPPORTED);
    assert_int_equal(tare_tensor_rows_f32(row, m, 4, 0, 1, NULL), TARE_OK);
    assert_true(row[0] == 2); /* its record */
    tare_str words[3];
    tare_array_walk walk;
    tare_value v;
    const int64_t key = tare_model_find_key(m, tare_str_of("words"));
    tare_array_begin(&walk, &tare_model_metadata(m, (size_t)key)->value.as.a);
    for (size_t i = 0; tare_array_next(&v, &walk); i++) words[i] = v.as.s;
    assert_true(tare_str_is(words[0], "a") && words[1].len == 0 && tare_str_is(words[2], "word"));
    assert_true(tare_str_is(tare_model_architecture(m), "llama"));
    tare_model_free(m);
}

/* Written by every driver, opened again, the same. */
static void test_every_format(void **state) {
    (void)state;
    tare_model *m = build(false);
    tare_format_info f = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&f, i); i++) {
        tare_convert_options o = tare_convert_options_default();
        tare_model *again;
        char name[64];
        tare_error err;
        if (!help_holds_any(&f)) continue;
        snprintf(name, sizeof name, "out-%s%s", f.name, f.suffix);
        o.to = f.name;
        const tare_status s = help_try(help_path(name), m, &o, &err);
        if (s != TARE_OK) fail_msg("%s: %s %s", f.name, err.item_name, err.what);
        must(tare_open_path(&again, help_path(name), NULL, &err), &err);
        const int64_t at = tare_model_find_tensor(again, tare_str_of("f32"));
        assert_true(at >= 0);
        if (tare_model_tensor(again, (size_t)at)->encoding->id == TARE_ENCODING_F32) {
            uint8_t bytes[sizeof floats];
            assert_int_equal(tare_tensor_read(bytes, again, (size_t)at, 0, 0, sizeof floats, NULL),
                             TARE_OK);
            assert_memory_equal(bytes, floats, sizeof floats);
        }
        tare_model_free(again);
    }
    tare_model *again;
    tare_error err;
    must(tare_pack(NULL, help_path("packed.wcodec"), m, NULL, &err), &err);
    again = help_open(help_path("packed.wcodec"));
    help_check_same(m, again);
    tare_model_free(again);
    tare_convert_options o = tare_convert_options_default();
    o.to = "gguf";
    help_convert(help_path("same.gguf"), m, &o);
    again = help_open(help_path("same.gguf"));
    tare_diff *diff;
    assert_int_equal(tare_diff_new(&diff, m, again, NULL, &err), TARE_OK);
    for (size_t i = 0; tare_diff_at(diff, i); i++)
        assert_true(tare_diff_at(diff, i)->kind < TARE_DIFF_TENSOR_ONLY_A);
    tare_diff_free(diff);
    tare_model_free(again);
    tare_model_free(m);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static tare_builder *fresh(void) {
    tare_builder *b;
    assert_int_equal(tare_builder_new(&b, NULL, NULL), TARE_OK);
    return b;
}

static void refuse(const tare_build_tensor *t, tare_status status) {
    tare_builder *b = fresh();
    tare_error err;
    assert_int_equal(tare_builder_add_tensor(b, t, &err), status);
    assert_int_equal(err.status, status);
    tare_builder_free(b);
}

static void refuse_value(tare_value v, tare_key_space space) {
    tare_builder *b = fresh();
    tare_error err;
    assert_int_equal(tare_builder_add_key(b, space, tare_str_of("k"), &v, &err), TARE_ERR_ARG);
    tare_builder_free(b);
}

static void test_refused(void **state) {
    (void)state;
    const uint64_t dims[] = {ROWS, COLS}, odd[] = {2, 33}, huge[] = {UINT64_MAX, 2};
    tare_error err;
    tare_build_tensor t = tensor("t", TARE_ENCODING_F32, dims, 2, NULL);
    refuse(&t, TARE_ERR_ARG); /* no bytes */
    t = tensor("t", TARE_ENCODING_Q4_0, odd, 2, blocks);
    refuse(&t, TARE_ERR_ARG);
    t = tensor("t", TARE_ENCODING_F32, huge, 2, floats);
    refuse(&t, TARE_ERR_LIMIT);
    t = tensor("t", TARE_ENCODING_F32, dims, 2, floats);
    t.name.ptr = NULL;
    refuse(&t, TARE_ERR_ARG);
    t = tensor("t", TARE_ENCODING_UNKNOWN, dims, 2, floats);
    refuse(&t, TARE_ERR_ARG);
    t = tensor("t", TARE_ENCODING_F32, dims, 2, floats);
    t.list_bytes = 8;
    refuse(&t, TARE_ERR_ARG);

    uint8_t bytes[16] = {2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 0};
    const tare_array arrays[] = {
        {TARE_VALUE_U32, 3, bytes, 16, false, false},
        {TARE_VALUE_U32, 4, bytes, 16, true, false},
        {TARE_VALUE_STRING, 1, bytes, 9, false, false},
        {TARE_VALUE_STRING, 1, bytes, 11, false, false},
        {TARE_VALUE_STRING, 2, bytes, 10, false, false},
        {TARE_VALUE_ARRAY, 1, bytes, 10, false, false},
        {(tare_value_type)77, 1, bytes, 1, false, false},
        {TARE_VALUE_U32, 4, NULL, 16, false, false},
        {TARE_VALUE_U64, UINT64_MAX / 8 + 1, bytes, 0, false, false},
    };
    for (size_t i = 0; i + 1 < sizeof arrays / sizeof arrays[0]; i++)
        refuse_value((tare_value){.type = TARE_VALUE_ARRAY, .as.a = arrays[i]}, TARE_KEYS_MODEL);
    refuse_value((tare_value){.type = TARE_VALUE_U32}, TARE_KEYS_SAFETENSORS);
    refuse_value((tare_value){.type = (tare_value_type)13}, TARE_KEYS_MODEL);

    tare_model *m = (tare_model *)(void *)bytes;
    tare_builder *b = fresh();
    t = tensor("same", TARE_ENCODING_F32, NULL, 0, floats);
    must(tare_builder_add_tensor(b, &t, &err), &err);
    must(tare_builder_add_tensor(b, &t, &err), &err);
    assert_int_equal(tare_builder_finish(&m, b, &err), TARE_ERR_ARG);
    assert_string_equal(err.item_name, "same");
    assert_int_equal(err.status, TARE_ERR_ARG);
    assert_null(m);

    /* a pull function that fails is told by whoever reads */
    b = fresh();
    t = tensor("pulled", TARE_ENCODING_F32, dims, 2, NULL);
    t.read = read_nothing;
    must(tare_builder_add_tensor(b, &t, &err), &err);
    must(tare_builder_finish(&m, b, &err), &err);
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, 4, &err), TARE_ERR_IO);
    assert_string_equal(err.item_name, "pulled");
    tare_model_free(m);
    tare_builder_free(NULL);
    must(tare_builder_finish(&m, fresh(), &err), &err); /* nothing is a model, too */
    assert_int_equal(tare_model_summarize(m)->n_tensors, 0);
    tare_model_free(m);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
