/* SPDX-License-Identifier: MIT
 *
 * Guards against: stand-ins whose size differs from that of the tensor they replace, names that
 * collide, records that do not restore the tensor, and untrusted records that give a tensor more
 * bytes, another tensor's name, or a shape beyond the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/report.h"
#include "base/str.h"
#include "model/stand_in.h"

/* ---- two containers -------------------------------------------------------------------------- */

/* Like GGUF: no unsigned types, four dimensions, names of 63 bytes. */
static bool narrow_has(const tare_encoding *e) {
    switch (e->id) {
    case TARE_ENCODING_F64:
    case TARE_ENCODING_F32:
    case TARE_ENCODING_F16:
    case TARE_ENCODING_BF16:
    case TARE_ENCODING_I8:
    case TARE_ENCODING_I16:
    case TARE_ENCODING_I32:
    case TARE_ENCODING_I64:
        return true;
    default:
        return e->kind == TARE_KIND_BLOCK;
    }
}

/* Like safetensors: plain types only, names in ASCII here. */
static bool plain_has(const tare_encoding *e) {
    return e->kind != TARE_KIND_BLOCK && e->kind != TARE_KIND_UNKNOWN;
}
static bool is_ascii(tare_str name) {
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] > 0x7E) return false;
    return true;
}

static tare_format_caps narrow, plain;
static tare_arena arena;

static int set_up(void **state) {
    (void)state;
    narrow = (tare_format_caps){.has_encoding = narrow_has,
                                .max_dims = 4,
                                .max_name = 63,
                                .bytes_type = tare_encoding_get(TARE_ENCODING_I8)};
    plain = (tare_format_caps){.has_encoding = plain_has,
                               .max_dims = 8,
                               .max_name = 65535,
                               .has_name = is_ascii,
                               .bytes_type = tare_encoding_get(TARE_ENCODING_U8)};
    tare_arena_init(&arena, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tare_arena_free(&arena);
    return 0;
}

static tare_tensor make(const char *name, tare_encoding_id id, const uint64_t *dims, uint32_t n) {
    tare_tensor t = {.name = tare_str_of(name), .offset = TARE_NO_OFFSET};
    assert_int_equal(tare_tensor_derive(&t, tare_encoding_get(id), dims, n, &arena, NULL), TARE_OK);
    return t;
}

/* A model with these stored tensors, one after the other in one file, and one record. */
static tare_model *model_of(const tare_tensor *stored, size_t n, const tare_metadata *record) {
    tare_model *m;
    uint64_t at = 100;
    assert_int_equal(tare_model_new(&m, NULL, NULL), TARE_OK);
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    m->catalog.n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        tare_tensor *t = &m->catalog.tensors[i];
        t->name = stored[i].name;
        assert_int_equal(tare_tensor_set(m, t, stored[i].encoding, stored[i].dims, stored[i].n_dims,
                                         0, at, NULL),
                         TARE_OK);
        at += t->size_bytes;
    }
    m->catalog.metadata = TARE_NEW_ARRAY(&m->arena, tare_metadata, 3);
    m->catalog.n_metadata = 3;
    m->catalog.metadata[0] = (tare_metadata){.key = TARE_STR("first")};
    m->catalog.metadata[1] = *record;
    m->catalog.metadata[2] = (tare_metadata){.key = TARE_STR("last")};
    return m;
}

static void check_same(const tare_tensor *a, const tare_tensor *b) {
    assert_true(tare_str_equal(a->name, b->name));
    assert_ptr_equal(a->encoding, b->encoding);
    assert_int_equal(a->n_dims, b->n_dims);
    for (uint32_t d = 0; d < a->n_dims; d++) assert_int_equal(a->dims[d], b->dims[d]);
    assert_int_equal(a->size_bytes, b->size_bytes);
    assert_int_equal(a->n_elements, b->n_elements);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->cols, b->cols);
}

/* Carries one tensor there and back. */
static void there_and_back(const tare_tensor *t, const tare_format_caps *h,
                           const tare_encoding *stand_in) {
    tare_tensor stored;
    tare_metadata record;
    const tare_tensor *true_one = t, *stored_one = &stored;
    assert_int_equal(tare_stand_in_tensor(&stored, t, h, stand_in, 7, &arena, NULL), TARE_OK);
    assert_true(h->has_encoding(stored.encoding));
    assert_true(tare_format_caps_has_shape(h, &stored));
    assert_int_equal(stored.size_bytes, h->lacks_empty && !t->n_elements ? 1 : t->size_bytes);
    assert_int_equal(tare_stand_in_record(&record, &true_one, &stored_one, 1, &arena, NULL),
                     TARE_OK);
    tare_model *m = model_of(&stored, 1, &record);
    tare_report *report = tare_report_new();
    assert_int_equal(tare_stand_in_restore(m, report, NULL), TARE_OK);
    assert_int_equal(tare_report_count(report), 0);
    check_same(&m->catalog.tensors[0], t);
    uint64_t at = 100;
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        assert_int_equal(m->catalog.tensors[0].planes[p].offset, at);
        at += t->planes[p].size;
    }
    assert_int_equal(m->catalog.n_metadata, 2); /* the record is not shown */
    assert_true(tare_str_is(m->catalog.metadata[1].key, "last"));
    assert_int_equal(m->n_stand_ins, 1);
    check_same(&m->stand_ins[0].stored, &stored);
    tare_report_free(report);
    tare_model_free(m);
}

/* ---- both ways ------------------------------------------------------------------------------- */

static void every_type_comes_back(void **state) {
    (void)state;
    static const uint64_t dims[] = {2, 3, 256};
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        tare_tensor t = make("t", e->id, dims, 3);
        const tare_format_caps *both[] = {&narrow, &plain};
        for (int h = 0; h < 2; h++) {
            const tare_encoding *stand_in = tare_stand_in_encoding(both[h], e, false);
            if (e->kind != TARE_KIND_BLOCK) {
                assert_non_null(stand_in);
                there_and_back(&t, both[h], stand_in);
            } else {
                assert_null(stand_in);
            }
            stand_in = tare_stand_in_encoding(both[h], e, true);
            assert_ptr_equal(stand_in, both[h]->bytes_type);
            there_and_back(&t, both[h], stand_in);
        }
    }
}

static void plain_types_keep_their_width_and_shape(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id from, to;
        uint32_t n_dims;
    } cases[] = {
        {TARE_ENCODING_U8, TARE_ENCODING_I8, 2},      {TARE_ENCODING_BOOL, TARE_ENCODING_I8, 2},
        {TARE_ENCODING_F8_E4M3, TARE_ENCODING_I8, 2}, {TARE_ENCODING_U16, TARE_ENCODING_I16, 2},
        {TARE_ENCODING_U32, TARE_ENCODING_I32, 2},    {TARE_ENCODING_U64, TARE_ENCODING_I64, 2},
        {TARE_ENCODING_C64, TARE_ENCODING_I64, 2},    {TARE_ENCODING_F4, TARE_ENCODING_I8, 1},
        {TARE_ENCODING_F6_E2M3, TARE_ENCODING_I8, 1},
    };
    static const uint64_t dims[] = {3, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_tensor t = make("t", cases[i].from, dims, 2), out;
        const tare_encoding *e = tare_stand_in_encoding(&narrow, t.encoding, false);
        assert_ptr_equal(e, tare_encoding_get(cases[i].to));
        assert_int_equal(tare_stand_in_tensor(&out, &t, &narrow, e, 0, &arena, NULL), TARE_OK);
        assert_int_equal(out.n_dims, cases[i].n_dims);
        assert_int_equal(out.size_bytes, t.size_bytes);
    }
}

static void nothing_comes_back_where_something_must_be(void **state) {
    (void)state;
    static const uint64_t empty[] = {3, 0, 32};
    const tare_encoding_id types[] = {TARE_ENCODING_U8, TARE_ENCODING_F32, TARE_ENCODING_Q4_0};
    tare_format_caps h = plain;
    h.lacks_empty = true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint32_t n_dims = 2; n_dims <= 3; n_dims++) {
            tare_tensor t = make("t", types[i], empty, n_dims);
            const tare_encoding *stand_in = tare_stand_in_encoding(&h, t.encoding, false);
            there_and_back(&t, &h, stand_in ? stand_in : h.bytes_type);
        }
}

static void many_dimensions_are_flattened_outside(void **state) {
    (void)state;
    static const uint64_t dims[] = {2, 3, 4, 5, 6, 32}, empty[] = {2, 3, 0, 5, 6, 32};
    tare_tensor t = make("t", TARE_ENCODING_Q4_0, dims, 6), out;
    assert_int_equal(tare_stand_in_tensor(&out, &t, &narrow, t.encoding, 0, &arena, NULL), TARE_OK);
    assert_int_equal(out.n_dims, 4);
    assert_int_equal(out.dims[0], 24);
    assert_int_equal(out.cols, 32);
    there_and_back(&t, &narrow, t.encoding);
    t = make("t", TARE_ENCODING_F32, empty, 6);
    there_and_back(&t, &narrow, t.encoding);
    t = make("scalar", TARE_ENCODING_U8, NULL, 0);
    there_and_back(&t, &narrow, tare_encoding_get(TARE_ENCODING_I8));
}

static void names_are_cut_and_numbered(void **state) {
    (void)state;
    static const uint64_t dims[] = {4};
    char name[102], expected[64];
    tare_tensor out, t;
    memset(name, 'n', 100);
    name[100] = '\0';
    memset(expected, 'n', 61);
    strcpy(expected + 61, "~7");
    t = make(name, TARE_ENCODING_F32, dims, 1);
    assert_int_equal(tare_stand_in_tensor(&out, &t, &narrow, t.encoding, 7, &arena, NULL), TARE_OK);
    assert_true(tare_str_is(out.name, expected));
    there_and_back(&t, &narrow, t.encoding);
    /* Never half a character: e-acute over the cut goes as a whole. */
    memcpy(name + 60, "\xC3\xA9", 2);
    assert_int_equal(tare_stand_in_tensor(&out, &t, &narrow, t.encoding, 7, &arena, NULL), TARE_OK);
    assert_int_equal(out.name.len, 62);
    there_and_back(&t, &narrow, t.encoding);
    /* What the container refuses, bad UTF-8 among it, comes back byte for byte. */
    t = make("a\xFF\x80z", TARE_ENCODING_F32, dims, 1);
    assert_int_equal(tare_stand_in_tensor(&out, &t, &plain, t.encoding, 7, &arena, NULL), TARE_OK);
    assert_true(tare_str_is(out.name, "a__z~7"));
    there_and_back(&t, &plain, t.encoding);
    t = make("quote\" back\\ \x01", TARE_ENCODING_U8, dims, 1);
    there_and_back(&t, &narrow, tare_encoding_get(TARE_ENCODING_I8));
}

static void unknown_types_come_back(void **state) {
    (void)state;
    static const uint64_t dims[] = {2, 64};
    tare_tensor t = {.name = TARE_STR("t"), .native_type = 1234, .size_bytes = 77}, stored;
    const tare_encoding *unknown = tare_encoding_get(TARE_ENCODING_UNKNOWN);
    tare_metadata record;
    const tare_tensor *true_one = &t, *stored_one = &stored;
    assert_int_equal(tare_tensor_derive(&t, unknown, dims, 2, &arena, NULL), TARE_OK);
    assert_null(tare_stand_in_encoding(&plain, unknown, false));
    assert_int_equal(tare_stand_in_tensor(&stored, &t, &plain, plain.bytes_type, 0, &arena, NULL),
                     TARE_OK);
    assert_int_equal(stored.size_bytes, 77);
    assert_int_equal(tare_stand_in_record(&record, &true_one, &stored_one, 1, &arena, NULL),
                     TARE_OK);
    tare_model *m = model_of(&stored, 1, &record);
    assert_int_equal(tare_stand_in_restore(m, NULL, NULL), TARE_OK);
    const tare_tensor *back = &m->catalog.tensors[0];
    check_same(back, &t);
    assert_int_equal(back->native_type, 1234);
    assert_int_equal(back->planes[0].size, 77);
    assert_int_equal(back->planes[0].offset, 100);
    tare_model_free(m);
}

/* ---- untrusted records ----------------------------------------------------------------------- */

static const char good[] =
    "{\"version\":1,\"tensors\":["
    "{\"stored\":\"a\",\"name\":\"x\",\"type\":\"u8\",\"shape\":[2,3],\"more\":[{}]},"
    "{\"stored\":\"b\",\"name\":{\"hex\":\"ff00\"},\"type\":\"q8_0\",\"shape\":[32]}]}";

/* Restores `text` over a: I8 [6], b: I8 [34], c: F32 [4], d: I16 [9]. Memory is exactly the text,
 * so that reading on shows under the sanitizer. */
static tare_model *restore_text(const char *text, size_t n, tare_report *report) {
    static const uint64_t six[] = {6}, block[] = {34}, four[] = {4}, nine[] = {9};
    tare_tensor stored[] = {
        make("a", TARE_ENCODING_I8, six, 1), make("b", TARE_ENCODING_I8, block, 1),
        make("c", TARE_ENCODING_F32, four, 1), make("d", TARE_ENCODING_I16, nine, 1)};
    char *exact = malloc(n + 1);
    if (n) memcpy(exact, text, n);
    tare_metadata record = {.key = TARE_STR(TARE_STAND_IN_KEY),
                            .value = {.type = TARE_VALUE_STRING, .as.s = {exact, n}}};
    tare_model *m = model_of(stored, 4, &record);
    assert_int_equal(tare_stand_in_restore(m, report, NULL), TARE_OK);
    free(exact);
    return m;
}

static void a_good_record_restores(void **state) {
    (void)state;
    tare_report *report = tare_report_new();
    tare_model *m = restore_text(good, sizeof good - 1, report);
    assert_int_equal(tare_report_count(report), 0);
    assert_true(tare_str_is(m->catalog.tensors[0].name, "x"));
    assert_int_equal(m->catalog.tensors[0].encoding->id, TARE_ENCODING_U8);
    assert_int_equal(m->catalog.tensors[1].name.len, 2);
    assert_int_equal(m->catalog.tensors[1].encoding->id, TARE_ENCODING_Q8_0);
    assert_int_equal(m->n_stand_ins, 2);
    tare_model_free(m);
    tare_report_free(report);
}

/* Cut anywhere, the text is no record: said once, nothing restored, the key stays visible. */
static void a_truncated_record_is_left_alone(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof good - 1; n++) {
        tare_report *report = tare_report_new();
        tare_model *m = restore_text(good, n, report);
        assert_int_equal(tare_report_count(report), 1);
        assert_string_equal(tare_report_at(report, 0)->code, "carry.record-unreadable");
        assert_int_equal(m->n_stand_ins, 0);
        assert_int_equal(m->catalog.n_metadata, 3);
        assert_true(tare_str_is(m->catalog.tensors[0].name, "a"));
        tare_model_free(m);
        tare_report_free(report);
    }
}

/* Whatever a flipped byte says, the bytes of a tensor stay the ones that are stored. */
static void flipped_bytes_never_move_data(void **state) {
    (void)state;
    char text[sizeof good];
    for (size_t i = 0; i < (sizeof good - 1) * 8; i++) {
        memcpy(text, good, sizeof good);
        text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
        tare_model *m = restore_text(text, sizeof good - 1, NULL);
        static const uint64_t sizes[] = {6, 34, 16};
        uint64_t at = 100;
        for (size_t t = 0; t < 3; t++) {
            assert_int_equal(m->catalog.tensors[t].size_bytes, sizes[t]);
            assert_int_equal(m->catalog.tensors[t].planes[0].offset, at);
            at += sizes[t];
        }
        tare_model_free(m);
    }
}

#define ENTRY(stored, name, type, shape)                                                           \
    "{\"version\":1,\"tensors\":[{\"stored\":\"" stored "\",\"name\":\"" name                      \
    "\",\"type\":\"" type "\",\"shape\":" shape "}]}"

static void entries_that_ask_for_more_are_ignored(void **state) {
    (void)state;
    static const char *const hostile[] = {
        ENTRY("a", "x", "u8", "[7]"),                      /* more bytes */
        ENTRY("a", "x", "f32", "[6]"),                     /* wider */
        ENTRY("a", "x", "u8", "[4294967296,4294967296]"),  /* a product that wraps */
        ENTRY("a", "x", "u8", "[18446744073709551615,6]"), /* likewise */
        ENTRY("a", "b", "u8", "[6]"),                      /* another's name */
        ENTRY("z", "x", "u8", "[6]"),                      /* no such tensor */
        ENTRY("a", "x", "u9", "[6]"),                      /* no such type */
        ENTRY("c", "x", "q8_0", "[4]"),                    /* not over floats */
        ENTRY("c", "x", "i32", "[4]"),                     /* likewise */
        ENTRY("c", "x", "unknown", "[4]"),                 /* likewise */
        ENTRY("d", "x", "q4_0", "[32]"),                   /* its units cross those of i16 */
        ENTRY("b", "x", "q8_0", "[17]"),                   /* half a block */
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        tare_report *report = tare_report_new();
        tare_model *m = restore_text(hostile[i], strlen(hostile[i]), report);
        assert_int_equal(m->n_stand_ins, 0);
        assert_int_equal(tare_report_count(report), 1);
        assert_string_equal(tare_report_at(report, 0)->code, "carry.entry-ignored");
        tare_model_free(m);
        tare_report_free(report);
    }
}

/* The reason is told as it is, and not as its opposite. */
static void the_reason_is_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {ENTRY("z", "x", "u8", "[6]"), "no tensor is stored under its name"},
        {ENTRY("a", "b", "u8", "[6]"), "another tensor has its name already"},
        {ENTRY("a", "x", "u9", "[6]"), "its type or shape is not possible"},
        {ENTRY("a", "x", "u8", "[7]"), "its size is not that of the stored tensor"},
        {ENTRY("c", "x", "i32", "[4]"), "the stored type cannot stand for its type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_report *report = tare_report_new();
        tare_model *m = restore_text(cases[i].text, strlen(cases[i].text), report);
        char line[128];
        snprintf(line, sizeof line, "an entry of " TARE_STAND_IN_KEY " is ignored: %s",
                 cases[i].reason);
        assert_true(tare_str_is(tare_report_at(report, 0)->text, line));
        tare_model_free(m);
        tare_report_free(report);
    }
}

static void records_that_contradict_themselves_are_ignored(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *code;
        size_t n_restored;
    } cases[] = {
        {"{\"version\":1,\"tensors\":["
         "{\"stored\":\"a\",\"name\":\"x\",\"type\":\"u8\",\"shape\":[6]},"
         "{\"stored\":\"b\",\"name\":\"x\",\"type\":\"u8\",\"shape\":[34]}]}",
         "carry.record-unreadable", 0}, /* one name twice */
        {"{\"version\":1,\"tensors\":["
         "{\"stored\":\"a\",\"name\":\"x\",\"type\":\"u8\",\"shape\":[6]},"
         "{\"stored\":\"a\",\"name\":\"y\",\"type\":\"bool\",\"shape\":[6]}]}",
         "carry.entry-ignored", 1}, /* one tensor twice */
        {"{\"version\":2,\"tensors\":[]}", "carry.record-unreadable", 0},
        {"{\"version\":1,\"tensors\":{}}", "carry.record-unreadable", 0},
        {"{\"version\":1,\"tensors\":[1]}", "carry.record-unreadable", 0},
        {"[]", "carry.record-unreadable", 0},
        {ENTRY("a", "x", "u8", "[1,1,1,1,1,1,1,1,6]"), "carry.record-unreadable", 0},
        {ENTRY("a", "x", "u8", "[-6]"), "carry.record-unreadable", 0},
        {ENTRY("a", "x", "u8", "6"), "carry.record-unreadable", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_report *report = tare_report_new();
        tare_model *m = restore_text(cases[i].text, strlen(cases[i].text), report);
        assert_int_equal(tare_report_count(report), 1);
        assert_string_equal(tare_report_at(report, 0)->code, cases[i].code);
        assert_int_equal(m->n_stand_ins, cases[i].n_restored);
        tare_model_free(m);
        tare_report_free(report);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(every_type_comes_back),
        T(plain_types_keep_their_width_and_shape),
        T(nothing_comes_back_where_something_must_be),
        T(many_dimensions_are_flattened_outside),
        T(names_are_cut_and_numbered),
        T(unknown_types_come_back),
        T(a_good_record_restores),
        T(a_truncated_record_is_left_alone),
        T(flipped_bytes_never_move_data),
        T(entries_that_ask_for_more_are_ignored),
        T(the_reason_is_told),
        T(records_that_contradict_themselves_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
