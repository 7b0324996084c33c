/* SPDX-License-Identifier: MIT
 *
 * Guards against verbs that ask more of a driver than format.h does: the least one, which only reads
 * and fills nothing that it need not, goes through all of them. Its files are "NUM1" and then numbers:
 * one tensor of four columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/str.h"
#include "format/format.h"
#include "unit/temp_folder.h"

#define ROWS 100
#define HEAD 4

/* ---- the driver ------------------------------------------------------------------------------ */

static bool has_encoding(const tare_encoding *encoding) {
    return encoding->id == TARE_ENCODING_F32;
}

static const tare_format_caps caps = {.has_encoding = has_encoding, .max_dims = 2, .max_name = 255};

static bool probe(const tare_probe *p) {
    return p->head_size >= HEAD && memcmp(p->head, "NUM1", HEAD) == 0;
}

static bool fills_layout; /* with nothing in it */

static tare_status open_numbers(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    const uint64_t dims[2] = {ctx->first->size / 16, 4};
    uint32_t file;
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, 1);
    if (!m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_add_file(m, ctx->first, ctx->first->name, &file, err));
    m->catalog.tensors[0].name = TARE_STR("numbers");
    TARE_TRY(tare_tensor_set(m, &m->catalog.tensors[0], tare_encoding_get(TARE_ENCODING_F32), dims,
                             2, file, HEAD, err));
    m->catalog.n_tensors = 1;
    m->catalog.layout = fills_layout ? TARE_NEW(&m->arena, tare_layout) : NULL;
    return tare_model_finish(m, ctx->options->report, err);
}

static const tare_format numbers = {.name = "numbers",
                                    .description = "numbers behind a magic",
                                    .suffix = ".num",
                                    .caps = &caps,
                                    .probe = probe,
                                    .open = open_numbers};

/* In place of the library's list. */
const tare_format *const tare_formats[] = {&tare_format_gguf, &tare_format_safetensors,
                                           &tare_format_wcodec, &numbers, NULL};

/* ---- files ----------------------------------------------------------------------------------- */

static void write_numbers(const char *name) {
    float values[4 * ROWS];
    FILE *f = fopen(temp_path(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < 4 * ROWS; i++) values[i] = (float)(i % 17) / 8;
    assert_int_equal(fwrite("NUM1", 1, HEAD, f), HEAD);
    assert_int_equal(fwrite(values, sizeof *values, 4 * ROWS, f), 4 * ROWS);
    assert_int_equal(fclose(f), 0);
}

static tare_model *opened(const char *name) {
    tare_error err;
    tare_model *m;
    if (tare_open_path(&m, temp_path(name), NULL, &err)) fail_msg("%s: %s", name, err.what);
    return m;
}

static int set_up(void **state) {
    if (make_temp_folder(state)) return -1;
    write_numbers("a.num");
    return 0;
}

static void assert_same(const tare_model *a, const tare_model *b) {
    tare_digest x, y;
    assert_int_equal(tare_model_digest(NULL, &x, a, NULL, NULL), TARE_OK);
    assert_int_equal(tare_model_digest(NULL, &y, b, NULL, NULL), TARE_OK);
    assert_memory_equal(&x, &y, sizeof x);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static void is_read_and_verified(void **state) {
    (void)state;
    tare_model *m = opened("a.num");
    float row[4];
    assert_string_equal(tare_model_summarize(m)->format, "numbers");
    assert_int_equal(tare_tensor_rows_f32(row, m, 0, 1, 1, NULL), TARE_OK);
    assert_true(row[0] == 0.5F);
    assert_int_equal(tare_verify_data(m, NULL, NULL), TARE_OK);
    assert_int_equal(tare_verify_resources(m, NULL, NULL), TARE_OK);
    tare_model_free(m);
}

static void is_converted(void **state) {
    (void)state;
    tare_model *m = opened("a.num");
    tare_convert_options o = TARE_CONVERT_OPTIONS_INIT;
    tare_error err;
    o.no_sync = true;
    assert_int_equal(tare_convert(temp_path("a.gguf"), m, &o, NULL), TARE_OK);
    assert_int_equal(tare_convert(temp_path("a.safetensors"), m, &o, NULL), TARE_OK);
    tare_model *other = opened("a.gguf");
    assert_same(m, other);
    /* it cannot be written */
    assert_int_equal(tare_convert(temp_path("b.num"), other, &o, &err), TARE_ERR_UNSUPPORTED);
    tare_model_free(other);
    tare_model_free(m);
}

static void is_compared(void **state) {
    (void)state;
    tare_model *m = opened("a.num"), *other = opened("a.num");
    tare_diff *diff;
    assert_int_equal(tare_diff_new(&diff, m, other, NULL, NULL), TARE_OK);
    assert_true(tare_diff_is_same(diff));
    tare_diff_free(diff);
    tare_model_free(other);
    tare_model_free(m);
}

static void check_packing(void) {
    char before[16 * ROWS + HEAD], after[sizeof before];
    tare_model *m = opened("a.num");
    tare_pack_options o = TARE_PACK_OPTIONS_INIT;
    tare_unpack_options u = TARE_UNPACK_OPTIONS_INIT;
    tare_source source = TARE_SOURCE_INIT;
    o.no_sync = u.no_sync = true;
    assert_int_equal(tare_pack(NULL, temp_path("a.wcodec"), m, &o, NULL), TARE_OK);
    tare_model *packed = opened("a.wcodec");
    assert_same(m, packed);
    tare_model_free(packed);
    tare_model_free(m);
    source.name = temp_path("a.wcodec");
    assert_int_equal(tare_unpack(NULL, temp_path("b.num"), &source, &u, NULL), TARE_OK);
    FILE *a = fopen(temp_path("a.num"), "rb"), *b = fopen(temp_path("b.num"), "rb");
    assert_int_equal(fread(before, 1, sizeof before, a), sizeof before);
    assert_int_equal(fread(after, 1, sizeof after, b), sizeof after);
    assert_memory_equal(before, after, sizeof before);
    fclose(a), fclose(b);
}

static void is_packed_and_unpacked(void **state) {
    (void)state;
    check_packing();
    unlink(temp_path("a.wcodec")), unlink(temp_path("b.num"));
    fills_layout = true;
    check_packing();
    fills_layout = false;
}

static void is_extracted(void **state) {
    (void)state;
    tare_model *m = opened("a.num");
    assert_int_equal(tare_extract(temp_path("a.npy"), -1, m, 0, TARE_EXTRACT_NPY, NULL, NULL),
                     TARE_OK);
    tare_model_free(m);
}

static void is_not_edited(void **state) {
    (void)state;
    const tare_edit_step step = {
        .kind = TARE_EDIT_RENAME_TENSORS, .name = TARE_STR("numbers"), .text = TARE_STR("x")};
    tare_edit *edit;
    tare_error err;
    assert_int_equal(tare_edit_new(&edit, temp_path("a.num"), &step, 1, NULL, &err),
                     TARE_ERR_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_and_verified), cmocka_unit_test(is_converted),
        cmocka_unit_test(is_compared),          cmocka_unit_test(is_packed_and_unpacked),
        cmocka_unit_test(is_extracted),         cmocka_unit_test(is_not_edited),
    };
    return cmocka_run_group_tests(tests, set_up, remove_temp_folder);
}
