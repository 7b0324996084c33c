/* SPDX-License-Identifier: MIT
 *
 * Guards against a GGUF reader that takes a value for another: a type, a byte order, a version, a
 * nested or lazy array; and against one that crashes, hangs or reads beyond its input where a file
 * ends early or holds any other byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/memory_source.h"
#include "support/visit.h"
#include "unit/gguf_build.h"
#include "unit/scarce_memory.h"

static tare_model *open_built(const gguf_build *g) {
    tare_model *m;
    tare_error err;
    if (build_open(&m, g, NULL, &err) != TARE_OK) {
        char line[256];
        tare_error_format(line, sizeof line, &err, "built");
        fail_msg("%s", line);
    }
    return m;
}

static const tare_value *value_of(const tare_model *m, const char *key) {
    int64_t i = tare_model_find_key(m, tare_str_of(key));
    assert_true(i >= 0);
    return &tare_model_metadata(m, (size_t)i)->value;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_scalars(gguf_build *g) {
    bool big = g->is_big_endian;
    build_key(g, "v.u8", 0), tare_buffer_put_u8(&g->b, 200);
    build_key(g, "v.i8", 1), tare_buffer_put_u8(&g->b, 0x80);
    build_key(g, "v.u16", 2), tare_store_u16(tare_buffer_extend(&g->b, 2), 0xfedc, big);
    build_key(g, "v.i16", 3), tare_store_u16(tare_buffer_extend(&g->b, 2), 0x8001, big);
    build_key(g, "v.u32", 4), build_u32(g, 0xfedcba98);
    build_key(g, "v.i32", 5), build_u32(g, 0x80000002);
    build_key(g, "v.f32", 6), build_u32(g, tare_f32_bits(-0.15625f));
    build_key(g, "v.bool", 7), tare_buffer_put_u8(&g->b, 1);
    build_key_str(g, "v.string", "text");
    build_key(g, "v.u64", 10), build_u64(g, UINT64_C(0xfedcba9876543210));
    build_key(g, "v.i64", 11), build_u64(g, UINT64_C(0x8000000000000003));
    build_key(g, "v.f64", 12), build_u64(g, tare_f64_bits(1e300));
    build_key(g, "v.nan", 6), build_u32(g, 0xffa00001); /* signalling, with a payload */
}

static void check_scalars(const tare_model *m) {
    assert_int_equal(value_of(m, "v.u8")->as.u, 200);
    assert_int_equal(value_of(m, "v.i8")->as.i, -128);
    assert_int_equal(value_of(m, "v.u16")->as.u, 0xfedc);
    assert_int_equal(value_of(m, "v.i16")->as.i, -32767);
    assert_int_equal(value_of(m, "v.u32")->as.u, 0xfedcba98);
    assert_int_equal(value_of(m, "v.i32")->as.i, -2147483646);
    assert_true(value_of(m, "v.f32")->as.f == -0.15625);
    assert_int_equal(value_of(m, "v.bool")->as.u, 1);
    assert_true(tare_str_is(value_of(m, "v.string")->as.s, "text"));
    assert_true(value_of(m, "v.u64")->as.u == UINT64_C(0xfedcba9876543210));
    assert_true(value_of(m, "v.i64")->as.i == INT64_MIN + 3);
    assert_true(value_of(m, "v.f64")->as.f == 1e300);
    double f = value_of(m, "v.nan")->as.f;
    assert_true(f != f);
    static const tare_value_type types[] = {
        TARE_VALUE_U8,  TARE_VALUE_I8,  TARE_VALUE_U16,  TARE_VALUE_I16,    TARE_VALUE_U32,
        TARE_VALUE_I32, TARE_VALUE_F32, TARE_VALUE_BOOL, TARE_VALUE_STRING, TARE_VALUE_U64,
        TARE_VALUE_I64, TARE_VALUE_F64, TARE_VALUE_F32};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(tare_model_metadata(m, i)->value.type, types[i]);
}

static void put_arrays(gguf_build *g) {
    build_key(g, "a.i16", 9), build_array(g, 3, 3);
    for (uint16_t i = 0; i < 3; i++)
        tare_store_u16(tare_buffer_extend(&g->b, 2), (uint16_t)(0xfff0 + i), g->is_big_endian);
    build_key(g, "a.empty", 9), build_array(g, 8, 0);
    build_key(g, "a.strings", 9), build_array(g, 8, 3);
    build_str(g, "one"), build_str(g, ""), build_str(g, "three");
    build_key(g, "a.nested", 9), build_array(g, 9, 3);
    build_array(g, 0, 2), tare_buffer_put_u8(&g->b, 7), tare_buffer_put_u8(&g->b, 8);
    build_array(g, 9, 1), build_array(g, 8, 1), build_str(g, "deep");
    build_array(g, 12, 0);
}

static tare_value element(const tare_array *a, uint64_t i) {
    tare_array_walk walk;
    tare_value v;
    tare_array_begin(&walk, a);
    for (uint64_t k = 0; k <= i; k++) assert_true(tare_array_next(&v, &walk));
    return v;
}

static void check_arrays(const tare_model *m) {
    tare_array a = value_of(m, "a.i16")->as.a, inner;
    assert_int_equal(a.count, 3);
    assert_int_equal(element(&a, 2).as.i, -14);
    a = value_of(m, "a.empty")->as.a;
    tare_array_walk walk;
    tare_value v;
    tare_array_begin(&walk, &a);
    assert_false(tare_array_next(&v, &walk));
    a = value_of(m, "a.strings")->as.a;
    assert_true(tare_str_is(element(&a, 0).as.s, "one"));
    assert_int_equal(element(&a, 1).as.s.len, 0);
    assert_true(tare_str_is(element(&a, 2).as.s, "three"));
    a = value_of(m, "a.nested")->as.a;
    inner = element(&a, 0).as.a;
    assert_int_equal(inner.type, TARE_VALUE_U8);
    assert_int_equal(element(&inner, 1).as.u, 8);
    inner = element(&a, 1).as.a;
    inner = element(&inner, 0).as.a;
    assert_true(tare_str_is(element(&inner, 0).as.s, "deep"));
    assert_int_equal(element(&a, 2).as.a.count, 0);
}

static void put_tensors(gguf_build *g) {
    build_tensor(g, "w", 2, (uint64_t[]){4, 3}, 0, 48);
    build_tensor(g, "q", 1, (uint64_t[]){64}, 8, 68);
    build_tensor(g, "t", 3, (uint64_t[]){8, 1, 1}, 1, 16);
}

static void build_sample(gguf_build *g, uint32_t version, bool is_big_endian) {
    build_begin(g, version, is_big_endian);
    put_scalars(g);
    put_arrays(g);
    put_tensors(g);
    build_end(g);
}

static void test_versions_and_orders(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        gguf_build g;
        build_sample(&g, k < 3 ? (uint32_t)k + 1 : 3, k == 3);
        tare_model *m = open_built(&g);
        const tare_model_summary *s = tare_model_summarize(m);
        assert_int_equal(s->version, g.version);
        assert_int_equal(s->is_big_endian, g.is_big_endian);
        assert_int_equal(s->n_tensors, 3);
        assert_int_equal(s->n_parameters, 12 + 64 + 8);
        assert_int_equal(s->tensor_bytes, 48 + 68 + 16);
        assert_string_equal(s->format, "gguf");
        check_scalars(m);
        check_arrays(m);
        const tare_tensor *t = tare_model_tensor(m, 0);
        assert_int_equal(t->n_dims, 2);
        assert_int_equal(t->dims[0], 3); /* outermost first */
        assert_int_equal(t->cols, 4);
        t = tare_model_tensor(m, 2);
        assert_int_equal(t->n_dims, 3);
        assert_int_equal(t->cols, 8);
        assert_int_equal(visit_model(m), TARE_OK);
        tare_model_free(m);
        tare_buffer_free(&g.b);
    }
}

/* Data reads the same in little-endian order from files of both orders, field by field. */
static void test_data_order(void **state) {
    (void)state;
    gguf_build g;
    build_sample(&g, 3, true);
    tare_model *m = open_built(&g);
    uint8_t got[68], *data = g.b.data + g.b.size - g.running;
    assert_int_equal(tare_tensor_read(got, m, 0, 0, 8, 8, NULL), TARE_OK);
    for (size_t i = 0; i < 8; i++) assert_int_equal(got[i], data[8 + (i / 4 * 4 + 3 - i % 4)]);
    /* Q8_0: a half and 32 codes; only the half turns. */
    assert_int_equal(tare_tensor_read(got, m, 1, 0, 34, 34, NULL), TARE_OK);
    uint8_t *block = data + 64 + 34;
    assert_int_equal(got[0], block[1]);
    assert_int_equal(got[1], block[0]);
    assert_memory_equal(got + 2, block + 2, 32);
    tare_error err;
    assert_int_equal(tare_tensor_read(got, m, 0, 0, 2, 4, &err), TARE_ERR_ARG);
    const uint8_t *p;
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 1, &err), TARE_ERR_UNSUPPORTED);
    tare_model_free(m);
    tare_buffer_free(&g.b);
    build_sample(&g, 3, false);
    m = open_built(&g);
    assert_int_equal(tare_tensor_borrow(&p, m, 1, 0, 1, &err), TARE_OK);
    assert_memory_equal(p, g.b.data + g.b.size - g.running + 64, 68);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

/* Keys of ours come back as what they stand for; resources stay in the file. */
static void test_resources_and_pairs(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key_str(&g, "general.name", "x");
    build_key(&g, "tare.resource.config.json", 9), build_array(&g, 0, 22);
    tare_buffer_put_text(&g.b, "{\"model_type\":\"llama\"}");
    build_key_str(&g, "tare.safetensors.format", "pt");
    build_key_str(&g, "tare.safetensors.general.name", "y");
    build_key(&g, "tare.resource.other", 9), build_array(&g, 5, 1), build_u32(&g, 1);
    build_tensor(&g, "t", 1, (uint64_t[]){8}, 0, 32);
    build_end(&g);
    tare_model *m = open_built(&g);
    assert_int_equal(tare_model_find_resource(m, TARE_STR("config.json")), 0);
    char text[23] = {0};
    assert_int_equal(tare_resource_read(text, m, 0, 0, 22, NULL), TARE_OK);
    assert_string_equal(text, "{\"model_type\":\"llama\"}");
    assert_true(tare_str_is(tare_model_architecture(m), "llama"));
    int64_t i = tare_model_find_key(m, TARE_STR("format"));
    assert_int_equal(tare_model_metadata(m, (size_t)i)->space, TARE_KEYS_SAFETENSORS);
    i = tare_model_find_key(m, TARE_STR("general.name")); /* both spaces: the model's first */
    assert_int_equal(tare_model_metadata(m, (size_t)i)->space, TARE_KEYS_MODEL);
    assert_true(tare_model_find_key(m, TARE_STR("tare.resource.other")) >= 0);
    const tare_model_summary *s = tare_model_summarize(m);
    assert_int_equal(s->n_metadata, 4);
    assert_int_equal(s->n_resources, 1);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

/* ---- input that is not what it should be ----------------------------------------------------- */

/* Whatever the bytes are: a refusal has a status of the file's fault and an offset inside it, and
 * what opens can be walked to its end. */
static void open_anything(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1); /* exactly sized, for the sanitizer */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    tare_source source = memory_source(copy, size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_report *report = tare_report_new();
    context.report = report;
    tare_model *m;
    tare_error err;
    tare_status s = tare_model_open(&m, &source, &options, &err);
    if (s == TARE_OK) {
        visit_model(m);
        tare_model_free(m);
    } else {
        assert_null(m);
        assert_int_equal(s, err.status);
        assert_true(s == TARE_ERR_TRUNCATED || s == TARE_ERR_CORRUPT || s == TARE_ERR_LIMIT ||
                    s == TARE_ERR_UNSUPPORTED || s == TARE_ERR_ARG);
        assert_true(s == TARE_ERR_UNSUPPORTED || err.offset <= size);
        assert_true(err.what[0] != 0);
    }
    tare_report_free(report);
    free(copy);
}

static void test_truncation(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        gguf_build g;
        build_sample(&g, k < 3 ? (uint32_t)k + 1 : 3, k == 3);
        for (size_t n = 0; n < g.b.size; n++) open_anything(g.b.data, n);
        tare_buffer_free(&g.b);
    }
}

static void test_any_byte(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        gguf_build g;
        build_sample(&g, k < 3 ? (uint32_t)k + 1 : 3, k == 3);
        size_t directory = g.b.size - (size_t)g.running;
        for (size_t i = 0; i < directory; i++) {
            uint8_t old = g.b.data[i];
            static const uint8_t masks[] = {0x01, 0x80, 0xff};
            for (size_t f = 0; f < sizeof masks; f++) {
                g.b.data[i] = old ^ masks[f];
                open_anything(g.b.data, g.b.size);
            }
            g.b.data[i] = old;
        }
        tare_buffer_free(&g.b);
    }
}

static void check_refusal(gguf_build *g, tare_status status, uint64_t offset, const char *item,
                          const char *what) {
    tare_model *m;
    tare_error err;
    build_end(g);
    assert_int_equal(build_open(&m, g, NULL, &err), status);
    assert_int_equal(err.offset, offset);
    assert_string_equal(err.item_name, item);
    assert_non_null(strstr(err.what, what));
    tare_buffer_free(&g->b);
}

static void test_refusals(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key_u32(&g, "a", 1), build_key_u32(&g, "a", 2);
    check_refusal(&g, TARE_ERR_CORRUPT, 24 + 17, "a", "duplicate key");
    build_begin(&g, 3, false);
    build_key(&g, "s", 8), build_u64(&g, 1000);
    check_refusal(&g, TARE_ERR_TRUNCATED, 24 + 13, "s", "string");
    build_begin(&g, 3, false);
    build_tensor(&g, "w", 2, (uint64_t[]){33, 2}, 2, 64);
    check_refusal(&g, TARE_ERR_CORRUPT, 24 + 13, "w", "block");
    build_begin(&g, 3, false);
    build_tensor(&g, "w", 1, (uint64_t[]){16}, 0, 64);
    g.running = 32;
    build_tensor(&g, "x", 1, (uint64_t[]){8}, 0, 32);
    check_refusal(&g, TARE_ERR_CORRUPT, 24 + 33 + 25, "x", "overlaps");
    build_begin(&g, 3, false);
    g.running = 4;
    build_tensor(&g, "w", 1, (uint64_t[]){8}, 0, 32);
    check_refusal(&g, TARE_ERR_CORRUPT, 24 + 25, "w", "alignment");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static tare_status open_limited(const gguf_build *g, const tare_limits *limits, tare_error *err) {
    tare_source source = memory_source(g->b.data, g->b.size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.limits = limits;
    tare_model *m;
    tare_status s = tare_model_open(&m, &source, &options, err);
    tare_model_free(m);
    return s;
}

static void test_limits(void **state) {
    (void)state;
    gguf_build g;
    tare_error err;
    build_sample(&g, 3, false);
    tare_limits limits = tare_limits_default();
    assert_int_equal(open_limited(&g, &limits, &err), TARE_OK);
    limits.keys = g.n_keys - 1;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    assert_int_equal(err.offset, 16);
    limits.keys = g.n_keys;
    limits.tensors = 2;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    assert_int_equal(err.offset, 8);
    limits.tensors = 3;
    limits.nesting = 2;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    limits.nesting = 3;
    limits.dims = 2;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    limits.dims = 3;
    limits.metadata_bytes = 100;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    limits.metadata_bytes = g.b.size - g.running;
    limits.array_elements = 3;
    limits.name_bytes = 9;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_OK);
    limits.name_bytes = 8;
    assert_int_equal(open_limited(&g, &limits, &err), TARE_ERR_LIMIT);
    tare_buffer_free(&g.b);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static tare_status read_buffer(void *ctx, uint64_t offset, void *buf, size_t n) {
    const tare_buffer *file = ctx;
    memcpy(buf, file->data + offset, n);
    return TARE_OK;
}

/* Whichever allocation fails, the opening ends in NOMEM and gives everything back. */
static void test_out_of_memory(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    put_scalars(&g);
    build_key(&g, "tare.resource.config.json", 9), build_array(&g, 0, 2);
    tare_buffer_put_text(&g.b, "{}");
    put_arrays(&g);
    put_tensors(&g);
    build_tensor(&g, "x", 1, (uint64_t[]){64}, 99, 1);
    build_tensor(&g, "y.qweight", 2, (uint64_t[]){4, 1}, 26, 16);
    build_tensor(&g, "y.qzeros", 2, (uint64_t[]){4, 1}, 26, 16);
    build_tensor(&g, "y.scales", 2, (uint64_t[]){4, 1}, 1, 8);
    build_end(&g);
    tare_status status = TARE_ERR_NOMEM;
    for (size_t k = 0; status != TARE_OK; k++) {
        scarce_memory s = {.left = (long)k, .is_out_for_good = true};
        tare_allocator allocator = scarce_allocator(&s);
        tare_source source = {.size = sizeof(tare_source),
                              .kind = TARE_SOURCE_CALLBACK,
                              .read = read_buffer,
                              .read_ctx = &g.b,
                              .n_bytes = g.b.size};
        tare_open_options options = tare_open_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        context.allocator = &allocator;
        tare_model *m;
        tare_error err;
        status = tare_model_open(&m, &source, &options, &err);
        assert_true(status == TARE_OK || (status == TARE_ERR_NOMEM && err.status == status));
        tare_model_free(m);
        assert_int_equal(s.in_use, 0);
        assert_true(k < 100);
    }
    tare_buffer_free(&g.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_and_orders),
        cmocka_unit_test(test_data_order),
        cmocka_unit_test(test_resources_and_pairs),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_any_byte),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
