/* SPDX-License-Identifier: MIT
 *
 * Guards against verbs that ask more of a driver than format.h does: the least one, which only reads
 * and fills nothing that it need not, goes through all of them, and so does the least one that writes.
 * Its files are a magic and then numbers: one tensor of four columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/tare.h>

#include "base/bytes.h"
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
static uint64_t n_rows;   /* as a header would say it; 0: as many as there are */

static tare_status open_numbers(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    const uint64_t dims[2] = {n_rows ? n_rows : ctx->first->size / 16, 4};
    uint32_t file;
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, 1);
    if (!m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_add_file(m, ctx->first, ctx->first->name, &file, err));
    m->catalog.tensors[0].name = TARE_STR("numbers");
    TARE_TRY(tare_tensor_set(m, &m->catalog.tensors[0], tare_encoding_get(TARE_ENCODING_F32), dims,
                             2, file, HEAD, err));
    m->catalog.n_tensors = 1;
    m->catalog.layout = fills_layout ? TARE_NEW(&m->arena, tare_layout) : NULL;
    return tare_model_finish(m, ctx->options->context->report, err);
}

static const tare_format numbers = {.name = "numbers",
                                    .description = "numbers behind a magic",
                                    .suffix = ".num",
                                    .caps = &caps,
                                    .read = {.probe = probe, .open = open_numbers}};

/* ---- one that writes, too -------------------------------------------------------------------- */

static bool probe_written(const tare_probe *p) {
    return p->head_size >= HEAD && memcmp(p->head, "NUM2", HEAD) == 0;
}

static tare_status plan_numbers(tare_write_plan *out, const tare_catalog *c,
                                const tare_write_options *options, tare_error *err) {
    const tare_tensor *t = c->tensors;
    uint32_t file;
    (void)options;
    if (c->n_metadata) return tare_fail(err, TARE_ERR_UNSUPPORTED, "it has no keys");
    if (c->n_tensors != 1 || t->n_dims != 2 || t->cols != 4)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "one tensor of four columns is all it can have");
    TARE_TRY(tare_write_plan_add_file(out, NULL, &file, err));
    out->files[file].size = HEAD + t->size_bytes;
    const tare_extent magic = {.file = file, .size = HEAD, .bytes = (const uint8_t *)"NUM2"};
    const tare_extent data = {
        .kind = TARE_EXTENT_TENSOR, .file = file, .offset = HEAD, .size = t->size_bytes};
    TARE_TRY(tare_write_plan_add(out, &magic, err));
    return tare_write_plan_add(out, &data, err);
}

static const tare_format written = {.name = "written",
                                    .description = "the same, written, too",
                                    .suffix = ".num2",
                                    .caps = &caps,
                                    .read = {.probe = probe_written, .open = open_numbers},
                                    .write = {.plan = plan_numbers}};

/* In place of the library's list. */
const tare_format *const tare_formats[] = {&tare_format_gguf,
                                           &tare_format_mcf,
                                           &tare_format_safetensors,
                                           &tare_format_infq,
                                           &tare_format_wcodec,
                                           &tare_format_hf,
                                           &numbers,
                                           &written,
                                           NULL};

/* ---- files ----------------------------------------------------------------------------------- */

static void write_numbers(const char *name) {
    float values[4 * ROWS];
    FILE *f = fopen(temp_path(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < 4 * ROWS; i++)
        tare_store_le32(values + i, tare_f32_bits((float)(i % 17) / 8));
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

/* A driver that does not compare its header with the file's size opens no file that is cut short. */
static void is_refused_where_cut(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    n_rows = ROWS;
    tare_model_free(opened("a.num"));
    for (n_rows = ROWS + 1; n_rows; n_rows = n_rows == ROWS + 1 ? UINT64_C(1) << 40 : 0) {
        assert_int_equal(tare_open_path(&m, temp_path("a.num"), NULL, &err), TARE_ERR_TRUNCATED);
        assert_int_equal(err.offset, HEAD + 16 * ROWS);
        assert_int_equal(err.item_kind, TARE_ITEM_TENSOR);
    }
}

static void is_converted(void **state) {
    static const char *const names[] = {"c.gguf", "c.safetensors", "c.mcf", "c.wcodec", "c.num2"};
    (void)state;
    tare_model *m = opened("a.num");
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    output.no_sync = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tare_convert(temp_path(names[i]), m, &o, &err)) fail_msg("%s: %s", names[i], err.what);
        tare_model *other = opened(names[i]);
        if (i < 4) assert_same(m, other);
        /* a format that only reads cannot be written */
        assert_int_equal(tare_convert(temp_path("b.num"), other, &o, &err), TARE_ERR_UNSUPPORTED);
        tare_model_free(other);
    }
    o.to = "infq";
    o.opaque = true; /* else it would be quantized */
    assert_int_equal(tare_convert(temp_path("c.infq"), m, &o, NULL), TARE_OK);
    o.opaque = false;
    o.to = "hf";
    assert_int_equal(tare_convert(temp_path("hf"), m, &o, NULL), TARE_OK);
    tare_model_free(m);
}

static void is_written(void **state) {
    (void)state;
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    output.no_sync = o.verify = true;
    tare_model *m = opened("a.num");
    assert_int_equal(tare_convert(temp_path("w.num2"), m, &o, NULL), TARE_OK);
    tare_model_free(m);
    m = opened("w.num2");
    float row[4];
    assert_int_equal(tare_tensor_rows_f32(row, m, 0, 1, 1, NULL), TARE_OK);
    assert_true(row[0] == 0.5F);
    assert_int_equal(tare_convert(temp_path("again.num2"), m, &o, NULL), TARE_OK);
    /* what it cannot hold is refused, or stands in */
    o.type = tare_encoding_get(TARE_ENCODING_F16);
    assert_int_equal(tare_convert(temp_path("x.num2"), m, &o, &err), TARE_ERR_UNSUPPORTED);
    assert_int_equal(err.status, TARE_ERR_UNSUPPORTED);
    tare_model_free(m);
    const tare_edit_step step = {
        .kind = TARE_EDIT_SET_KEY, .name = TARE_STR("a"), .text = TARE_STR("b")};
    tare_edit *edit;
    assert_int_equal(tare_edit_new(&edit, temp_path("w.num2"), &step, 1, NULL, &err),
                     TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.what, "it has no keys");
}

static void is_quantized(void **state) {
    (void)state;
    tare_model *m = opened("a.num");
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    output.no_sync = true;
    assert_int_equal(tare_quantize(temp_path("q.gguf"), m, TARE_STR("Q4_0"), &o, NULL), TARE_OK);
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

static void check_packing(const char *name) {
    char before[16 * ROWS + HEAD], after[sizeof before];
    tare_model *m = opened(name);
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_unpack_options u = tare_unpack_options_default();
    tare_output_options u_output = tare_output_options_default();
    u.output = &u_output;
    tare_source source = tare_source_default();
    output.no_sync = u_output.no_sync = true;
    assert_int_equal(tare_pack(NULL, temp_path("a.wcodec"), m, &o, NULL), TARE_OK);
    tare_model *packed = opened("a.wcodec");
    assert_same(m, packed);
    tare_model_free(packed);
    tare_model_free(m);
    source.name = temp_path("a.wcodec");
    assert_int_equal(tare_unpack(NULL, temp_path("b.num"), &source, &u, NULL), TARE_OK);
    FILE *a = fopen(temp_path(name), "rb"), *b = fopen(temp_path("b.num"), "rb");
    assert_int_equal(fread(before, 1, sizeof before, a), sizeof before);
    assert_int_equal(fread(after, 1, sizeof after, b), sizeof after);
    assert_memory_equal(before, after, sizeof before);
    fclose(a), fclose(b);
    unlink(temp_path("a.wcodec")), unlink(temp_path("b.num"));
}

static void is_packed_and_unpacked(void **state) {
    (void)state;
    check_packing("a.num");
    fills_layout = true;
    check_packing("a.num");
    fills_layout = false;
    check_packing("w.num2");
}

static void is_extracted(void **state) {
    (void)state;
    tare_model *m = opened("a.num");
    assert_int_equal(tare_extract(temp_path("a.npy"), m, 0, TARE_EXTRACT_NPY, NULL, NULL), TARE_OK);
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
    assert_string_equal(err.what, "files of this format are only read: convert it, and edit that");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_and_verified),   cmocka_unit_test(is_refused_where_cut),
        cmocka_unit_test(is_converted),           cmocka_unit_test(is_written),
        cmocka_unit_test(is_quantized),           cmocka_unit_test(is_compared),
        cmocka_unit_test(is_packed_and_unpacked), cmocka_unit_test(is_extracted),
        cmocka_unit_test(is_not_edited),
    };
    return cmocka_run_group_tests(tests, set_up, remove_temp_folder);
}
