/* SPDX-License-Identifier: MIT
 *
 * Guards against a comparison that misses a difference, invents one, counts wrongly what is within
 * the tolerance, or whose order depends on threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "made_model.h"

/* ---- what is compared ------------------------------------------------------------------------ */

typedef struct entry {
    const char *key;
    tare_key_space space;
    int64_t number; /* I32; a string key has none */
    const char *text;
} entry;

static void add_metadata(made_model *made, const entry *entries, size_t n) {
    tare_catalog *c = &made->model->catalog;
    c->metadata = TARE_NEW_ARRAY(&made->model->arena, tare_metadata, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        tare_metadata *m = &c->metadata[c->n_metadata++];
        m->key = tare_str_of(entries[i].key);
        m->space = entries[i].space;
        m->offset = TARE_NO_OFFSET;
        m->value.type = entries[i].text ? TARE_VALUE_STRING : TARE_VALUE_I32;
        if (entries[i].text)
            m->value.as.s = tare_str_of(entries[i].text);
        else
            m->value.as.i = entries[i].number;
    }
}

static void add_resource(made_model *made, const char *name, const char *content) {
    tare_catalog *c = &made->model->catalog;
    if (!c->resources) c->resources = TARE_NEW_ARRAY(&made->model->arena, tare_resource_entry, 4);
    c->resources[c->n_resources++] = (tare_resource_entry){
        .info = {tare_str_of(name), strlen(content)}, .bytes = (const uint8_t *)content};
}

static void put_f32(uint8_t *at, const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) tare_store_le32(at + 4 * i, tare_f32_bits(values[i]));
}

static tare_diff *diff_with(const made_model *a, const made_model *b, double tolerance, bool brief,
                            unsigned threads) {
    tare_diff_options o = tare_diff_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_diff *d;
    o.tolerance = tolerance;
    o.brief = brief;
    context.threads = threads;
    assert_int_equal(tare_diff_new(&d, a->model, b->model, &o, NULL), TARE_OK);
    return d;
}

static tare_diff *diff(const made_model *a, const made_model *b) {
    return diff_with(a, b, 0, false, 2);
}

static const tare_diff_item *expect(const tare_diff *d, size_t i, tare_diff_kind kind,
                                    const char *name, int64_t a, int64_t b) {
    const tare_diff_item *item = tare_diff_at(d, i);
    assert_non_null(item);
    assert_int_equal(item->kind, kind);
    assert_true(tare_str_is(item->name, name));
    assert_int_equal(item->a, a);
    assert_int_equal(item->b, b);
    return item;
}

static void assert_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* ---- metadata and resources ------------------------------------------------------------------ */

static void keys_are_compared_by_space_and_value(void **state) {
    (void)state;
    static const entry in_a[] = {
        {"same", TARE_KEYS_MODEL, 1, NULL},   {"x", TARE_KEYS_MODEL, 1, NULL},
        {"x", TARE_KEYS_SAFETENSORS, 0, "1"}, {"only a", TARE_KEYS_MODEL, 1, NULL},
        {"type", TARE_KEYS_MODEL, 1, NULL},   {"moved", TARE_KEYS_MODEL, 0, "v"}};
    static const entry in_b[] = {{"moved", TARE_KEYS_SAFETENSORS, 0, "v"},
                                 {"x", TARE_KEYS_SAFETENSORS, 0, "1"},
                                 {"type", TARE_KEYS_MODEL, 0, "1"},
                                 {"x", TARE_KEYS_MODEL, 2, NULL},
                                 {"same", TARE_KEYS_MODEL, 1, NULL}};
    made_model a, b;
    made_begin(&a, 0, 0, 0);
    made_begin(&b, 0, 0, 0);
    add_metadata(&a, in_a, 6);
    add_metadata(&b, in_b, 5);
    made_finish(&a, false, NULL, 0);
    made_finish(&b, false, NULL, 0);
    tare_diff *d = diff(&a, &b);
    assert_false(tare_diff_is_same(d));
    expect(d, 0, TARE_DIFF_KEY_ONLY_A, "moved", 5, -1);
    expect(d, 1, TARE_DIFF_KEY_ONLY_A, "only a", 3, -1);
    expect(d, 2, TARE_DIFF_KEY_VALUE, "type", 4, 2);
    expect(d, 3, TARE_DIFF_KEY_VALUE, "x", 1, 3);
    expect(d, 4, TARE_DIFF_KEY_ONLY_B, "moved", -1, 0);
    assert_null(tare_diff_at(d, 5));
    tare_diff_free(d);
    d = diff_with(&a, &b, 0, true, 1);
    assert_false(tare_diff_is_same(d));
    assert_null(tare_diff_at(d, 1));
    tare_diff_free(d);
    made_free(&a);
    made_free(&b);
}

static void resources_are_compared_by_bytes(void **state) {
    (void)state;
    made_model a, b;
    made_begin(&a, 0, 0, 0);
    made_begin(&b, 0, 0, 0);
    add_resource(&a, "same", "text");
    add_resource(&a, "other", "text");
    add_resource(&a, "longer", "text");
    add_resource(&a, "only a", "");
    add_resource(&b, "longer", "text.");
    add_resource(&b, "only b", "");
    add_resource(&b, "other", "tex.");
    add_resource(&b, "same", "text");
    made_finish(&a, false, NULL, 0);
    made_finish(&b, false, NULL, 0);
    tare_diff *d = diff(&a, &b);
    expect(d, 0, TARE_DIFF_RESOURCE, "other", 1, 2);
    expect(d, 1, TARE_DIFF_RESOURCE, "longer", 2, 0);
    expect(d, 2, TARE_DIFF_RESOURCE_ONLY_A, "only a", 3, -1);
    expect(d, 3, TARE_DIFF_RESOURCE_ONLY_B, "only b", -1, 1);
    assert_null(tare_diff_at(d, 4));
    tare_diff_free(d);
    made_free(&a);
    made_free(&b);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void a_model_is_the_same_as_itself(void **state) {
    (void)state;
    static const char *const specs[] = {"llama-tiny", "llama-tiny:bf16:9"};
    for (size_t i = 0; i < 2; i++) {
        made_model a = {0}, b = {0};
        assert_int_equal(tare_synth_open(&a.model, specs[i], NULL, NULL), TARE_OK);
        assert_int_equal(tare_synth_open(&b.model, specs[i], NULL, NULL), TARE_OK);
        tare_diff *d = diff(&a, &b);
        assert_true(tare_diff_is_same(d));
        assert_null(tare_diff_at(d, 0));
        tare_diff_free(d);
        made_free(&a);
        made_free(&b);
    }
}

/* Big-endian on one side, other places and another order: nothing of it counts. */
static void byte_order_and_place_do_not_count(void **state) {
    (void)state;
    const uint64_t dims[2] = {4, 64};
    made_model a, b;
    made_begin(&a, 4096, 2, 0);
    made_begin(&b, 4096, 2, 16);
    uint8_t *a0 = made_add(&a, TARE_STR("q"), TARE_ENCODING_Q5_1, dims, 2);
    uint8_t *a1 = made_add(&a, TARE_STR("f"), TARE_ENCODING_F32, dims, 2);
    uint8_t *b1 = made_add(&b, TARE_STR("f"), TARE_ENCODING_F32, dims, 2);
    uint8_t *b0 = made_add(&b, TARE_STR("q"), TARE_ENCODING_Q5_1, dims, 2);
    for (size_t i = 0; i < 8 * 24; i++) a0[i] = b0[i] = (uint8_t)(i * 5);
    for (size_t i = 0; i < 1024; i++) a1[i] = b1[i] = (uint8_t)(i * 3);
    tare_rows_mut q = {.planes = {b0}, .n_rows = 4, .cols = 64};
    tare_rows_mut f = {.planes = {b1}, .n_rows = 4, .cols = 64};
    tare_swap_rows(&q, tare_encoding_get(TARE_ENCODING_Q5_1));
    tare_swap_rows(&f, tare_encoding_get(TARE_ENCODING_F32));
    made_finish(&a, false, NULL, 0);
    made_finish(&b, true, NULL, 0);
    tare_diff *d = diff(&a, &b);
    assert_true(tare_diff_is_same(d));
    assert_null(tare_diff_at(d, 0));
    tare_diff_free(d);
    made_free(&a);
    made_free(&b);
}

static void numbers_are_those_of_the_definition(void **state) {
    (void)state;
    static const float va[4] = {3, 4, 0, 0}, vb[4] = {3, 4.5f, 0, -0.25f};
    const uint64_t dims[1] = {4};
    made_model a, b;
    made_begin(&a, 64, 3, 0);
    made_begin(&b, 64, 3, 0);
    put_f32(made_add(&a, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), va, 4);
    put_f32(made_add(&b, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), vb, 4);
    /* wider than a float: 2^53 and 2^53 - 1 */
    tare_store_le64(made_add(&a, TARE_STR("i"), TARE_ENCODING_I64, dims, 1), UINT64_C(1) << 53);
    tare_store_le64(made_add(&b, TARE_STR("i"), TARE_ENCODING_I64, dims, 1),
                    (UINT64_C(1) << 53) - 1);
    made_add(&a, TARE_STR("z"), TARE_ENCODING_F32, dims, 1);
    made_add(&b, TARE_STR("z"), TARE_ENCODING_F32, dims, 1)[3] = 0x80; /* -0 */
    made_finish(&a, false, NULL, 0);
    made_finish(&b, false, NULL, 0);
    tare_diff *d = diff(&a, &b);
    const tare_diff_item *item = expect(d, 0, TARE_DIFF_VALUE, "v", 0, 0);
    assert_true(item->is_decoded);
    assert_false(item->is_tolerated);
    assert_near(item->relative_rmse, sqrt(0.25 + 0.0625) / 5);
    assert_near(item->max_abs, 0.5);
    assert_near(item->norm_a, 5);
    assert_int_equal(item->n_different, 2);
    item = expect(d, 1, TARE_DIFF_VALUE, "i", 1, 1);
    assert_near(item->max_abs, 1);
    assert_int_equal(item->n_different, 1);
    item = expect(d, 2, TARE_DIFF_VALUE, "z", 2, 2);
    assert_true(item->relative_rmse == 0);
    assert_int_equal(item->n_different, 1); /* the bits are others */
    tare_diff_free(d);
    made_free(&a);
    made_free(&b);
}

static void not_numbers_are_infinitely_wrong_unless_both_are(void **state) {
    (void)state;
    static const float va[3] = {1, NAN, INFINITY};
    static const struct {
        float v[3];
        bool is_finite;
        uint64_t n_different;
    } cases[] = {{{1, 2, INFINITY}, false, 1},
                 {{NAN, NAN, INFINITY}, false, 1},
                 {{1, NAN, -INFINITY}, false, 1},
                 {{1.5f, NAN, INFINITY}, true, 1}};
    const uint64_t dims[1] = {3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_model a, b;
        made_begin(&a, 12, 1, 0);
        made_begin(&b, 12, 1, 0);
        put_f32(made_add(&a, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), va, 3);
        put_f32(made_add(&b, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), cases[i].v, 3);
        made_finish(&a, false, NULL, 0);
        made_finish(&b, false, NULL, 0);
        tare_diff *d = diff_with(&a, &b, 1, false, 1);
        const tare_diff_item *item = expect(d, 0, TARE_DIFF_VALUE, "v", 0, 0);
        assert_int_equal(item->is_tolerated, cases[i].is_finite);
        assert_int_equal(tare_diff_is_same(d), cases[i].is_finite);
        if (cases[i].is_finite)
            assert_near(item->relative_rmse, 0.5);
        else
            assert_true(isinf(item->relative_rmse));
        assert_int_equal(item->n_different, cases[i].n_different);
        tare_diff_free(d);
        made_free(&a);
        made_free(&b);
    }
}

/* One tensor of each kind of difference, in an order that must be turned round. */
static void make_kinds(made_model *made, bool is_b) {
    const uint64_t dims[1] = {32}, others[2] = {1, 32};
    float v[32];
    made_begin(made, 8192, 12, 0);
    made_add(made, is_b ? TARE_STR("only b") : TARE_STR("only a"), TARE_ENCODING_F32, dims, 1);
    made_add(made, TARE_STR("same"), TARE_ENCODING_Q8_0, dims, 1);
    for (int k = 1; k <= 3; k++) { /* wrong by k thousandths */
        char name[16];
        for (int i = 0; i < 32; i++) v[i] = is_b ? 1 + (float)k / 1000 : 1;
        snprintf(name, sizeof name, "by %d", k);
        put_f32(made_add(made, tare_str_of(name), TARE_ENCODING_F32, dims, 1), v, 32);
    }
    for (int i = 0; i < 32; i++) v[i] = 0.5f;
    uint8_t *at =
        made_add(made, TARE_STR("type"), is_b ? TARE_ENCODING_F16 : TARE_ENCODING_F32, dims, 1);
    for (int i = 0; is_b && i < 32; i++) tare_store_le16(at + 2 * i, 0x3800);
    if (!is_b) put_f32(at, v, 32);
    made_add(made, TARE_STR("shape"), TARE_ENCODING_F32, is_b ? others : dims, is_b ? 2 : 1);
    /* codes of two types, one of which has no floats: no numbers to be had */
    made_add(made, TARE_STR("codes"), is_b ? TARE_ENCODING_C64 : TARE_ENCODING_F64, dims, 1);
    made_finish(made, false, NULL, 0);
}

static void items_come_worst_first(void **state) {
    (void)state;
    made_model a, b;
    make_kinds(&a, false);
    make_kinds(&b, true);
    for (unsigned threads = 1; threads <= 4; threads++) {
        tare_diff *d = diff_with(&a, &b, 0, false, threads);
        assert_false(tare_diff_is_same(d));
        expect(d, 0, TARE_DIFF_TENSOR_ONLY_A, "only a", 0, -1);
        expect(d, 1, TARE_DIFF_TENSOR_ONLY_B, "only b", -1, 0);
        expect(d, 2, TARE_DIFF_SHAPE, "shape", 6, 6);
        assert_false(expect(d, 3, TARE_DIFF_ENCODING, "codes", 7, 7)->is_decoded);
        assert_int_equal(expect(d, 4, TARE_DIFF_VALUE, "by 3", 4, 4)->n_different, 32);
        expect(d, 5, TARE_DIFF_VALUE, "by 2", 3, 3);
        expect(d, 6, TARE_DIFF_VALUE, "by 1", 2, 2);
        /* the same numbers in another type still are another model */
        const tare_diff_item *item = expect(d, 7, TARE_DIFF_ENCODING, "type", 5, 5);
        assert_true(item->is_decoded && item->relative_rmse == 0 && !item->is_tolerated);
        assert_null(tare_diff_at(d, 8));
        tare_diff_free(d);
    }
    made_free(&a);
    made_free(&b);
}

static void tolerance_forgives_values_and_types(void **state) {
    (void)state;
    made_model a, b;
    make_kinds(&a, false);
    make_kinds(&b, true);
    tare_diff *d = diff_with(&a, &b, 0.0025, false, 2);
    assert_false(tare_diff_is_same(d));
    assert_false(expect(d, 4, TARE_DIFF_VALUE, "by 3", 4, 4)->is_tolerated);
    assert_true(expect(d, 5, TARE_DIFF_VALUE, "by 2", 3, 3)->is_tolerated);
    assert_true(expect(d, 7, TARE_DIFF_ENCODING, "type", 5, 5)->is_tolerated);
    assert_false(expect(d, 3, TARE_DIFF_ENCODING, "codes", 7, 7)->is_tolerated);
    tare_diff_free(d);
    made_free(&a);
    made_free(&b);
}

/* With nothing but tolerated items two models are the same. */
static void tolerated_items_leave_models_the_same(void **state) {
    (void)state;
    const uint64_t dims[1] = {32};
    made_model a, b;
    float v[32];
    made_begin(&a, 128, 1, 0);
    made_begin(&b, 128, 1, 0);
    for (int i = 0; i < 32; i++) v[i] = (float)(i + 1);
    put_f32(made_add(&a, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), v, 32);
    v[31] *= 1.0001f;
    put_f32(made_add(&b, TARE_STR("v"), TARE_ENCODING_F32, dims, 1), v, 32);
    made_finish(&a, false, NULL, 0);
    made_finish(&b, false, NULL, 0);
    for (int brief = 0; brief < 2; brief++) {
        tare_diff *d = diff_with(&a, &b, 0.001, brief, 1);
        assert_true(tare_diff_is_same(d));
        assert_true(expect(d, 0, TARE_DIFF_VALUE, "v", 0, 0)->is_tolerated);
        tare_diff_free(d);
        d = diff_with(&a, &b, 1e-6, brief, 1);
        assert_false(tare_diff_is_same(d));
        tare_diff_free(d);
        d = diff_with(&a, &b, 0, brief, 1);
        assert_false(tare_diff_is_same(d));
        tare_diff_free(d);
    }
    made_free(&a);
    made_free(&b);
}

/* A quantized copy has other types, and the keys that say so; without a tolerance both count. */
static void keys_about_types_are_tolerated_with_them(void **state) {
    (void)state;
    static const entry in_a[] = {{"general.file_type", TARE_KEYS_MODEL, 0, NULL},
                                 {"general.file_type", TARE_KEYS_SAFETENSORS, 0, "0"}};
    static const entry in_b[] = {{"general.file_type", TARE_KEYS_MODEL, 7, NULL},
                                 {"general.quantization_version", TARE_KEYS_MODEL, 2, NULL},
                                 {"general.file_type", TARE_KEYS_SAFETENSORS, 0, "7"}};
    made_model a, b;
    for (size_t pairs = 1; pairs <= 2; pairs++) { /* a pair that is no key of ours counts */
        made_begin(&a, 0, 0, 0);
        made_begin(&b, 0, 0, 0);
        add_metadata(&a, in_a, pairs);
        add_metadata(&b, in_b, pairs + 1);
        made_finish(&a, false, NULL, 0);
        made_finish(&b, false, NULL, 0);
        tare_diff *d = diff_with(&a, &b, 0.1, false, 1);
        assert_true(expect(d, 0, TARE_DIFF_KEY_VALUE, "general.file_type", 0, 0)->is_tolerated);
        assert_true(expect(d, 1, TARE_DIFF_KEY_ONLY_B, "general.quantization_version", -1, 1)
                        ->is_tolerated);
        assert_int_equal(tare_diff_is_same(d), pairs == 1);
        tare_diff_free(d);
        d = diff_with(&a, &b, 0, false, 1);
        assert_false(tare_diff_is_same(d));
        assert_false(tare_diff_at(d, 0)->is_tolerated);
        tare_diff_free(d);
        made_free(&a);
        made_free(&b);
    }
}

/* A quantized tensor against its source: the error that Q8_0 has, pieces beyond one. */
static void encoded_values_are_compared_as_decoded(void **state) {
    (void)state;
    made_model a = {0}, b;
    assert_int_equal(tare_synth_open(&a.model, "llama-tiny", NULL, NULL), TARE_OK);
    const tare_tensor *t = tare_model_tensor(a.model, 5);
    assert_true(t->n_elements > 2 * 65536);
    made_begin(&b, (size_t)t->n_elements * 2, 1, 0);
    uint8_t *at = made_add(&b, t->name, TARE_ENCODING_Q8_0, t->dims, 2);
    float *v = malloc((size_t)t->n_elements * sizeof *v);
    assert_int_equal(tare_tensor_rows_f32(v, a.model, 5, 0, t->n_rows, NULL), TARE_OK);
    tare_rows_mut rows = {.planes = {at}, .n_rows = t->n_rows, .cols = t->cols};
    assert_int_equal(tare_encode_rows(&rows, tare_encoding_get(TARE_ENCODING_Q8_0), v, NULL, NULL),
                     TARE_OK);
    made_finish(&b, false, NULL, 0);
    tare_diff *d = diff_with(&a, &b, 0.01, false, 2);
    const tare_diff_item *item = NULL;
    for (size_t i = 0; (item = tare_diff_at(d, i)) != NULL; i++)
        if (item->kind == TARE_DIFF_ENCODING) break;
    assert_non_null(item);
    assert_true(item->is_tolerated);
    assert_true(item->relative_rmse > 0.004 && item->relative_rmse < 0.007);
    assert_true(item->n_different > t->n_elements * 9 / 10);
    tare_diff_free(d);
    free(v);
    made_free(&a);
    made_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_compared_by_space_and_value),
        cmocka_unit_test(resources_are_compared_by_bytes),
        cmocka_unit_test(a_model_is_the_same_as_itself),
        cmocka_unit_test(byte_order_and_place_do_not_count),
        cmocka_unit_test(numbers_are_those_of_the_definition),
        cmocka_unit_test(not_numbers_are_infinitely_wrong_unless_both_are),
        cmocka_unit_test(items_come_worst_first),
        cmocka_unit_test(tolerance_forgives_values_and_types),
        cmocka_unit_test(keys_about_types_are_tolerated_with_them),
        cmocka_unit_test(tolerated_items_leave_models_the_same),
        cmocka_unit_test(encoded_values_are_compared_as_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
