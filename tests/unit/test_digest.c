/* SPDX-License-Identifier: MIT
 *
 * Guards against a digest that is not what docs/behaviour.md says, that forgets the type or the
 * shape, or that depends on byte order, place, neighbours or threads; and against manifests that
 * lose a name with a newline, or call a changed model unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "made_model.h"
#include "support/scratch_name.h"

static char directory[SCRATCH_NAME_SIZE];
static char path[SCRATCH_PATH_SIZE];

static int make_directory(void **state) {
    (void)state;
    if (!mkdtemp(scratch_name(directory))) return -1;
    snprintf(path, sizeof path, "%s/manifest", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    remove(path);
    return rmdir(directory);
}

static tare_digest digest_of(const tare_model *m, size_t tensor) {
    tare_digest d;
    assert_int_equal(tare_tensor_digest(&d, m, tensor, NULL, NULL), TARE_OK);
    return d;
}

static tare_digest whole_of(const tare_model *m, unsigned threads) {
    tare_context o = tare_context_default();
    tare_digest d;
    o.threads = threads;
    assert_int_equal(tare_model_digest(NULL, &d, m, &o, NULL), TARE_OK);
    return d;
}

static bool same(tare_digest a, tare_digest b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void put(uint8_t **at, const void *bytes, size_t n) {
    memcpy(*at, bytes, n);
    *at += n;
}

static void put_u64(uint8_t **at, uint64_t v) {
    for (int i = 0; i < 8; i++) *(*at)++ = (uint8_t)(v >> 8 * i);
}

/* "q8_0", NUL, rank 3, dimensions outermost first, the blocks. */
static void digest_is_what_the_definition_says(void **state) {
    (void)state;
    const uint64_t dims[3] = {2, 3, 64};
    const size_t n = 2 * 3 * 2 * 34;
    uint8_t text[5 + 32 + 2 * 3 * 2 * 34], *at = text;
    made_model made;
    made_begin(&made, n + 5, 1, 5);
    uint8_t *bytes = made_add(&made, TARE_STR("t"), TARE_ENCODING_Q8_0, dims, 3);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
    put(&at, "q8_0", 5);
    put_u64(&at, 3);
    put_u64(&at, 2);
    put_u64(&at, 3);
    put_u64(&at, 64);
    put(&at, bytes, n);
    assert_int_equal(at - text, sizeof text);
    tare_sha256 h;
    tare_digest expected;
    tare_sha256_init(&h);
    tare_sha256_update(&h, text, sizeof text);
    tare_sha256_final(&h, expected.bytes);
    assert_true(same(digest_of(made_finish(&made, false, NULL, 0), 0), expected));
    made_free(&made);
}

/* More than is read at a time, in units that do not divide it. */
static void long_tensors_are_hashed_whole(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        uint64_t dims[2];
    } tensors[] = {{TARE_ENCODING_U8, {3, (1 << 20) + 1}}, {TARE_ENCODING_Q8_0, {1 << 10, 3200}}};
    for (size_t i = 0; i < 2; i++) {
        made_model made;
        tare_sha256 h;
        tare_digest expected;
        made_begin(&made, 4 << 20, 1, 0);
        uint8_t *bytes = made_add(&made, TARE_STR("t"), tensors[i].id, tensors[i].dims, 2);
        const tare_tensor *t = &made.model->catalog.tensors[0];
        uint8_t head[32], *at = head;
        for (size_t k = 0; k < t->size_bytes; k++) bytes[k] = (uint8_t)(k * k >> 7);
        put(&at, t->encoding->name, strlen(t->encoding->name) + 1);
        put_u64(&at, 2);
        put_u64(&at, t->dims[0]);
        put_u64(&at, t->dims[1]);
        tare_sha256_init(&h);
        tare_sha256_update(&h, head, (size_t)(at - head));
        tare_sha256_update(&h, bytes, (size_t)t->size_bytes);
        tare_sha256_final(&h, expected.bytes);
        assert_true(same(digest_of(made_finish(&made, false, NULL, 0), 0), expected));
        made_free(&made);
    }
}

static tare_digest digest_of_shape(tare_encoding_id id, const uint64_t *dims, uint32_t n_dims) {
    made_model made;
    made_begin(&made, 64, 1, 0);
    made_add(&made, TARE_STR("t"), id, dims, n_dims);
    tare_digest d = digest_of(made_finish(&made, false, NULL, 0), 0);
    made_free(&made);
    return d;
}

/* The same 16 zero bytes under other types and shapes. */
static void type_and_shape_are_hashed(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        uint32_t n_dims;
        uint64_t dims[4];
    } shapes[] = {
        {TARE_ENCODING_F32, 1, {4}},          {TARE_ENCODING_I32, 1, {4}},
        {TARE_ENCODING_F16, 1, {8}},          {TARE_ENCODING_BF16, 1, {8}},
        {TARE_ENCODING_F32, 2, {4, 1}},       {TARE_ENCODING_F32, 2, {1, 4}},
        {TARE_ENCODING_F32, 2, {2, 2}},       {TARE_ENCODING_F32, 3, {1, 4, 1}},
        {TARE_ENCODING_F32, 4, {1, 1, 4, 1}}, {TARE_ENCODING_F4, 1, {32}},
        {TARE_ENCODING_U8, 1, {16}},          {TARE_ENCODING_C64, 1, {2}},
        {TARE_ENCODING_F32, 1, {0}},          {TARE_ENCODING_F32, 2, {0, 4}},
        {TARE_ENCODING_F32, 0, {0}},
    };
    tare_digest d[sizeof shapes / sizeof *shapes];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        d[i] = digest_of_shape(shapes[i].id, shapes[i].dims, shapes[i].n_dims);
        for (size_t k = 0; k < i; k++) assert_false(same(d[i], d[k]));
    }
}

/* The same numbers in a big-endian file: fields are written in the other order, hashed in one. */
static void byte_order_does_not_matter(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {
        TARE_ENCODING_F32,  TARE_ENCODING_F16,  TARE_ENCODING_F64,  TARE_ENCODING_U8,
        TARE_ENCODING_Q4_1, TARE_ENCODING_Q5_0, TARE_ENCODING_Q4_K, TARE_ENCODING_IQ3_XXS};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const tare_encoding *e = tare_encoding_get(ids[i]);
        const uint64_t dims[2] = {3, e->block * UINT64_C(5)};
        const size_t n = 15 * (size_t)e->planes[0].unit_bytes;
        made_model little, big;
        made_begin(&little, n, 1, 0);
        made_begin(&big, n + 3, 1, 3);
        uint8_t *a = made_add(&little, TARE_STR("a"), ids[i], dims, 2);
        uint8_t *b = made_add(&big, TARE_STR("b"), ids[i], dims, 2);
        for (size_t k = 0; k < n; k++) a[k] = b[k] = (uint8_t)(k * k + 3 * k);
        tare_rows_mut rows = {.planes = {b}, .n_rows = 3, .cols = dims[1]};
        tare_swap_rows(&rows, e);
        tare_digest x = digest_of(made_finish(&little, false, NULL, 0), 0);
        assert_true(same(x, digest_of(made_finish(&big, true, NULL, 0), 0)));
        made_free(&little);
        made_free(&big);
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

static const char *const hard_names[] = {
    "plain", "with space", "back\\slash", "new\nline", "\\n", "carriage\r",
    "\n",    "\\",         "\xff\x01",    "a",         "aa",  "B",
};
#define N_HARD (sizeof hard_names / sizeof *hard_names)

/* Tensors with hard names in the order given by `step`, which has no factor in common with their
 * number; each with its own content. */
static tare_model *make_hard(made_model *made, size_t step) {
    const uint64_t dims[1] = {3};
    made_begin(made, N_HARD * 12, N_HARD, 0);
    for (size_t i = 0; i < N_HARD; i++) {
        size_t k = i * step % N_HARD;
        uint8_t *bytes = made_add(made, tare_str_of(hard_names[k]), TARE_ENCODING_I32, dims, 1);
        bytes[0] = (uint8_t)k;
    }
    return made_finish(made, false, NULL, 0);
}

static void order_and_threads_do_not_matter(void **state) {
    (void)state;
    made_model made, other;
    tare_digest first = whole_of(make_hard(&made, 1), 1);
    assert_true(same(first, whole_of(make_hard(&other, 5), 4)));
    assert_true(same(first, whole_of(made.model, 7)));
    tare_digest each[N_HARD];
    tare_context o = tare_context_default();
    for (o.threads = 1; o.threads < 4; o.threads += 2) {
        assert_int_equal(tare_model_digest(each, NULL, made.model, &o, NULL), TARE_OK);
        for (size_t i = 0; i < N_HARD; i++) assert_true(same(each[i], digest_of(made.model, i)));
    }
    other.bytes[5] ^= 1;
    assert_false(same(first, whole_of(other.model, 1)));
    made_free(&made);
    made_free(&other);
}

static void an_empty_model_has_the_digest_of_nothing(void **state) {
    (void)state;
    char hex[65];
    made_model made;
    made_begin(&made, 0, 0, 0);
    tare_digest d = whole_of(made_finish(&made, false, NULL, 0), 2);
    tare_hex(hex, d.bytes, 32);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    made_free(&made);
}

/* Written to containers by convert and read again: the same digest in each. */
static void every_container_gives_the_same_digest(void **state) {
    (void)state;
    static const struct {
        const char *to;
        tare_byte_order order;
    } targets[] = {
        {"gguf", TARE_ORDER_LITTLE}, {"gguf", TARE_ORDER_BIG}, {"safetensors", TARE_ORDER_KEEP}};
    static const struct {
        const char *name;
        tare_encoding_id id;
        uint32_t n_dims;
        uint64_t dims[5];
    } tensors[] = {
        {"f32", TARE_ENCODING_F32, 2, {3, 256}},
        {"f16", TARE_ENCODING_F16, 3, {2, 3, 32}},
        {"f64", TARE_ENCODING_F64, 1, {9}},
        {"i64", TARE_ENCODING_I64, 2, {2, 7}},
        {"bf16", TARE_ENCODING_BF16, 1, {10}},
        {"i8", TARE_ENCODING_I8, 2, {5, 1}},
        {"bool", TARE_ENCODING_BOOL, 2, {3, 3}},
        {"u64", TARE_ENCODING_U64, 2, {3, 2}},
        {"f8", TARE_ENCODING_F8_E4M3, 1, {7}},
        {"f4", TARE_ENCODING_F4, 2, {3, 4}},
        {"deep", TARE_ENCODING_F32, 5, {1, 2, 1, 3, 2}},
    };
    const size_t n = sizeof tensors / sizeof *tensors;
    made_model made;
    made_begin(&made, 16384, n, 1);
    for (size_t i = 0; i < n; i++) {
        uint8_t *bytes = made_add(&made, tare_str_of(tensors[i].name), tensors[i].id,
                                  tensors[i].dims, tensors[i].n_dims);
        for (size_t k = 0; k < made.model->catalog.tensors[i].size_bytes; k++)
            bytes[k] = tensors[i].id == TARE_ENCODING_BOOL ? k % 2 : (uint8_t)(k * 11 + i);
    }
    made.layout.format = NULL;
    tare_model *source = made_finish(&made, false, NULL, 0);
    made.model->catalog.layout = NULL; /* as a computed model: there is nothing to keep */
    tare_digest expected = whole_of(source, 1);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        tare_convert_options o = tare_convert_options_default();
        tare_output_options output = tare_output_options_default();
        o.output = &output;
        tare_model *m;
        tare_error err = {.what = ""};
        o.to = targets[i].to;
        o.order = targets[i].order;
        output.force = output.no_sync = true;
        if (tare_convert(path, source, &o, &err) != TARE_OK) fail_msg("%s", err.what);
        if (tare_open_path(&m, path, NULL, &err) != TARE_OK) fail_msg("%s", err.what);
        const tare_model_summary *summary = tare_model_summarize(m);
        assert_int_equal(summary->is_big_endian, targets[i].order == TARE_ORDER_BIG);
        assert_true(same(whole_of(m, 2), expected));
        tare_model_free(m);
    }
    made_free(&made);
}

/* ---- manifests ------------------------------------------------------------------------------- */

static tare_str read_file(void) {
    static char text[16384];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    assert_true(n < sizeof text);
    fclose(f);
    return (tare_str){text, n};
}

static void write_file(tare_str text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    fclose(f);
}

static tare_status check(const tare_model *m, tare_report **report, tare_error *err) {
    tare_context o = tare_context_default();
    o.report = *report = tare_report_new();
    return tare_manifest_check(path, m, &o, err);
}

static void write_manifest(const tare_model *m) {
    const tare_output_options o = {.size = sizeof o, .force = true, .no_sync = true};
    assert_int_equal(tare_manifest_write(path, m, &o, NULL, NULL), TARE_OK);
}

static void manifest_has_the_form_of_sha256sum(void **state) {
    (void)state;
    static const char *const lines[] = {
        "\\HEX  \\n",
        "HEX  B",
        "\\HEX  \\\\",
        "\\HEX  \\\\n",
        "HEX  a",
        "HEX  aa",
        "\\HEX  back\\\\slash",
        "\\HEX  carriage\\r",
        "\\HEX  new\\nline",
        "HEX  plain",
        "HEX  with space",
        "HEX  \xff\x01",
    };
    made_model made;
    tare_report *r;
    tare_digest d;
    tare_sha256 h;
    tare_model *m = make_hard(&made, 1);
    write_manifest(m);
    tare_str text = read_file(), rest = text;
    for (size_t i = 0; i < N_HARD; i++) {
        const char *form = lines[i];
        if (*form == '\\') {
            assert_int_equal(*rest.ptr, '\\');
            rest = tare_str_cut(rest, 1);
            form++;
        }
        for (size_t k = 0; k < 64; k++)
            assert_non_null(memchr("0123456789abcdef", rest.ptr[k], 16));
        rest = tare_str_cut(rest, 64);
        form += 3;
        assert_true(tare_str_starts(rest, tare_str_of(form)));
        rest = tare_str_cut(rest, strlen(form));
        assert_int_equal(*rest.ptr, '\n');
        rest = tare_str_cut(rest, 1);
    }
    assert_int_equal(rest.len, 0);

    /* the model's digest is that of this file */
    tare_sha256_init(&h);
    tare_sha256_update(&h, text.ptr, text.len);
    tare_sha256_final(&h, d.bytes);
    assert_true(same(d, whole_of(m, 1)));

    assert_int_equal(check(m, &r, NULL), TARE_OK);
    assert_int_equal(tare_report_count(r), 0);
    tare_report_free(r);
    made_free(&made);
}

static void an_existing_manifest_is_kept_unless_forced(void **state) {
    (void)state;
    made_model made;
    tare_output_options o = tare_output_options_default();
    tare_error err;
    tare_model *m = make_hard(&made, 1);
    write_file(TARE_STR("precious"));
    assert_int_equal(tare_manifest_write(path, m, &o, NULL, &err), TARE_ERR_ARG);
    assert_true(tare_str_is(read_file(), "precious"));
    o.force = true;
    assert_int_equal(tare_manifest_write(path, m, &o, NULL, &err), TARE_OK);
    assert_true(read_file().len > 64 * N_HARD);
    made_free(&made);
}

static const tare_finding *find(const tare_report *r, const char *code, const char *name) {
    for (size_t i = 0; i < tare_report_count(r); i++) {
        const tare_finding *f = tare_report_at(r, i);
        if (strcmp(f->code, code) == 0 && tare_str_is(f->item_name, name)) return f;
    }
    return NULL;
}

static void differences_are_found(void **state) {
    (void)state;
    made_model made;
    tare_report *r;
    tare_error err;
    tare_model *m = make_hard(&made, 1);
    write_manifest(m);
    /* another byte in "back\slash", "B" gone from the manifest, "b" in it and not in the model */
    made.bytes[2 * 12 + 7] = 9;
    tare_str text = read_file();
    char *line = strstr((char *)(uintptr_t)text.ptr, "  B\n");
    assert_non_null(line);
    line[2] = 'b';
    write_file(text);
    assert_int_equal(check(m, &r, &err), TARE_ERR_CHECKSUM);
    assert_int_equal(tare_report_count(r), 3);
    assert_int_equal(tare_report_count_level(r, TARE_LEVEL_ERROR), 3);
    assert_non_null(find(r, "manifest.digest", "back\\slash"));
    assert_int_equal(find(r, "manifest.digest", "back\\slash")->item, 2);
    assert_int_equal(find(r, "manifest.extra", "B")->item, 11);
    assert_int_equal(find(r, "manifest.missing", "b")->item, -1);
    assert_int_equal(find(r, "manifest.missing", "b")->offset, line - text.ptr - 64);
    tare_report_free(r);
    made_free(&made);
}

/* sha256sum's other forms: the mark of binary mode, capitals, no newline at the end. */
static void forms_of_other_writers_are_read(void **state) {
    (void)state;
    const uint64_t dims[1] = {3};
    char line[100], hex[65];
    made_model made;
    tare_report *r;
    made_begin(&made, 12, 1, 0);
    made_add(&made, TARE_STR("t"), TARE_ENCODING_I32, dims, 1);
    tare_model *m = made_finish(&made, false, NULL, 0);
    tare_digest d = digest_of(m, 0);
    tare_hex(hex, d.bytes, 32);
    for (char *c = hex; *c; c++) *c = (char)(*c >= 'a' ? *c - 'a' + 'A' : *c);
    snprintf(line, sizeof line, "%s *t", hex);
    write_file(tare_str_of(line));
    assert_int_equal(check(m, &r, NULL), TARE_OK);
    tare_report_free(r);
    made_free(&made);
}

/* Cut and changed at every byte: never a crash; a refusal has its place within the file. */
static void broken_manifests_are_refused_with_their_place(void **state) {
    (void)state;
    made_model made;
    tare_report *r;
    tare_error err;
    char copy[16384];
    tare_model *m = make_hard(&made, 1);
    write_manifest(m);
    tare_str text = read_file();
    memcpy(copy, text.ptr, text.len);
    for (size_t i = 0; i < text.len; i++) {
        for (int change = 0; change < 2; change++) {
            char changed[16384];
            memcpy(changed, copy, text.len);
            if (change) changed[i] = (char)(changed[i] ^ 0x5a);
            write_file((tare_str){changed, change ? text.len : i});
            tare_status s = check(m, &r, &err);
            assert_true(s == TARE_ERR_CHECKSUM || s == TARE_ERR_CORRUPT ||
                        (s == TARE_OK && !change && i + 1 == text.len));
            if (s == TARE_ERR_CORRUPT) {
                /* the second of two backslashes stands alone when the first is changed */
                assert_true(err.offset <= i + 1);
                assert_string_equal(err.file, path);
            } else {
                assert_int_equal(tare_report_count(r) > 0, s == TARE_ERR_CHECKSUM);
            }
            tare_report_free(r);
        }
    }
    made_free(&made);
}

static void a_second_line_for_a_tensor_is_refused(void **state) {
    (void)state;
    made_model made;
    tare_report *r;
    tare_error err;
    char twice[8192];
    tare_model *m = make_hard(&made, 1);
    write_manifest(m);
    tare_str text = read_file();
    memcpy(twice, text.ptr, text.len);
    memcpy(twice + text.len, text.ptr, text.len);
    write_file((tare_str){twice, 2 * text.len});
    assert_int_equal(check(m, &r, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, text.len);
    tare_report_free(r);
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_is_what_the_definition_says),
        cmocka_unit_test(long_tensors_are_hashed_whole),
        cmocka_unit_test(type_and_shape_are_hashed),
        cmocka_unit_test(byte_order_does_not_matter),
        cmocka_unit_test(order_and_threads_do_not_matter),
        cmocka_unit_test(an_empty_model_has_the_digest_of_nothing),
        cmocka_unit_test(every_container_gives_the_same_digest),
        cmocka_unit_test(manifest_has_the_form_of_sha256sum),
        cmocka_unit_test(an_existing_manifest_is_kept_unless_forced),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(forms_of_other_writers_are_read),
        cmocka_unit_test(broken_manifests_are_refused_with_their_place),
        cmocka_unit_test(a_second_line_for_a_tensor_is_refused),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
