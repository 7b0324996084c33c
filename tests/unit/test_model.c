/* SPDX-License-Identifier: MIT
 *
 * Guards against a catalog that finds the wrong name, hyperparameters read from the wrong key,
 * packed codes that are taken for numbers, and FP8 weights decoded without their scales or with
 * the scales of another block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/str.h"
#include "model/catalog.h"
#include "quantized/quantized.h"

/* ---- models made by hand --------------------------------------------------------------------- */

typedef struct made {
    tare_model *m;
    tare_tensor tensors[16];
    tare_metadata metadata[16];
    tare_resource_entry resources[2];
    uint8_t data[4096];
    uint64_t used;
} made;

static void begin(made *k) {
    *k = (made){.m = NULL};
    assert_int_equal(tare_model_new(&k->m, NULL, NULL), TARE_OK);
    tare_reader r;
    uint32_t file;
    tare_reader_memory(&r, k->data, sizeof k->data, "made");
    assert_int_equal(tare_model_add_file(k->m, &r, "made", &file, NULL), TARE_OK);
    k->m->catalog.tensors = k->tensors;
    k->m->catalog.metadata = k->metadata;
    k->m->catalog.resources = k->resources;
}

static uint8_t *add(made *k, const char *name, tare_encoding_id id, uint32_t n_dims,
                    const uint64_t *dims) {
    tare_tensor *t = &k->tensors[k->m->catalog.n_tensors++];
    t->name = tare_str_of(name);
    t->offset = k->m->catalog.n_tensors;
    uint8_t *at = k->data + k->used;
    assert_int_equal(
        tare_tensor_set(k->m, t, tare_encoding_get(id), dims, n_dims, 0, k->used, NULL), TARE_OK);
    k->used += t->size_bytes;
    assert_true(k->used <= sizeof k->data);
    return at;
}

static void add_key(made *k, const char *key, tare_value value) {
    k->metadata[k->m->catalog.n_metadata++] =
        (tare_metadata){.key = tare_str_of(key), .value = value, .offset = TARE_NO_OFFSET};
}

static void add_config(made *k, const char *json) {
    k->resources[k->m->catalog.n_resources++] = (tare_resource_entry){
        .info = {TARE_STR("config.json"), strlen(json)}, .bytes = (const uint8_t *)json};
}

static void finish(made *k) {
    assert_int_equal(tare_model_finish(k->m, NULL, NULL), TARE_OK);
}

static tare_value text(const char *s) {
    return (tare_value){.type = TARE_VALUE_STRING, .as.s = tare_str_of(s)};
}

static tare_value u32(uint32_t n) {
    return (tare_value){.type = TARE_VALUE_U32, .as.u = n};
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_names(void **state) {
    (void)state;
    enum { N = 3000 };
    static char names[N][16];
    static tare_resource list[N];
    tare_arena arena;
    tare_name_index index;
    tare_error err;
    tare_arena_init(&arena, NULL);
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        list[i].name = tare_str_of(names[i]);
    }
    list[7].name = (tare_str){"a\0b", 3};
    list[8].name = (tare_str){"a\0c", 3};
    assert_int_equal(tare_name_index_build(&index, &arena, list, N, sizeof *list, "twice", &err),
                     TARE_OK);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(tare_name_index_find(&index, list, sizeof *list, list[i].name), i);
    assert_int_equal(tare_name_index_find(&index, list, sizeof *list, TARE_STR("n3000")), -1);
    assert_int_equal(tare_name_index_find(&index, list, sizeof *list, TARE_STR("")), -1);
    list[2000].name = TARE_STR("n5");
    assert_int_equal(tare_name_index_build(&index, &arena, list, N, sizeof *list, "twice", &err),
                     TARE_ERR_CORRUPT);
    assert_int_equal(err.item, 2000);
    assert_string_equal(err.what, "twice");
    assert_int_equal(tare_name_index_build(&index, &arena, NULL, 0, sizeof *list, "twice", &err),
                     TARE_OK);
    assert_int_equal(tare_name_index_find(&index, NULL, sizeof *list, TARE_STR("n")), -1);
    tare_arena_free(&arena);
}

/* ---- hyperparameters ------------------------------------------------------------------------- */

static void expect_param(const made *k, tare_param param, int64_t expected) {
    uint64_t n;
    bool known = tare_model_param(&n, k->m, param);
    if (known != (expected >= 0) || (known && n != (uint64_t)expected))
        fail_msg("parameter %d", param);
}

static void test_arch_keys(void **state) {
    (void)state;
    made k;
    uint8_t heads[12];
    for (uint32_t i = 0; i < 3; i++) tare_store_le32(heads + 4 * i, i == 1 ? 8 : 2);
    begin(&k);
    add_key(&k, "general.architecture", text("llama"));
    add_key(&k, "llama.context_length", u32(2048));
    add_key(&k, "llama.embedding_length", u32(512));
    add_key(&k, "llama.block_count", u32(4));
    add_key(&k, "llama.feed_forward_length", u32(1376));
    add_key(&k, "llama.attention.head_count", u32(16));
    add_key(&k, "llama.attention.head_count_kv",
            (tare_value){
                .type = TARE_VALUE_ARRAY,
                .as.a = {.type = TARE_VALUE_I32, .count = 3, .bytes = heads, .size_bytes = 12}});
    add_key(
        &k, "tokenizer.ggml.tokens",
        (tare_value){.type = TARE_VALUE_ARRAY, .as.a = {.type = TARE_VALUE_STRING, .count = 0}});
    add_key(&k, "llm.context_length", u32(1)); /* the architecture's own key counts first */
    finish(&k);
    expect_param(&k, TARE_PARAM_CONTEXT_LENGTH, 2048);
    expect_param(&k, TARE_PARAM_EMBEDDING_LENGTH, 512);
    expect_param(&k, TARE_PARAM_LAYER_COUNT, 4);
    expect_param(&k, TARE_PARAM_FEED_FORWARD_LENGTH, 1376);
    expect_param(&k, TARE_PARAM_HEAD_COUNT, 16);
    expect_param(&k, TARE_PARAM_HEAD_COUNT_KV, 8); /* the largest of the layers' */
    expect_param(&k, TARE_PARAM_VOCAB_SIZE, 0);    /* a length */
    tare_model_free(k.m);
}

static void test_llm_keys(void **state) {
    (void)state;
    made k;
    begin(&k);
    add_key(&k, "llm.vocab_size", u32(32000));
    add_key(&k, "llm.context_length", u32(2048));
    add_key(&k, "llm.embedding_length", u32(384));
    add_key(&k, "llm.head_count", u32(6));
    add_key(&k, "llm.layer_count", u32(7));
    add_key(&k, "llm.feed_forward_length", text("no number"));
    finish(&k);
    expect_param(&k, TARE_PARAM_VOCAB_SIZE, 32000);
    expect_param(&k, TARE_PARAM_CONTEXT_LENGTH, 2048);
    expect_param(&k, TARE_PARAM_EMBEDDING_LENGTH, 384);
    expect_param(&k, TARE_PARAM_HEAD_COUNT, 6);
    expect_param(&k, TARE_PARAM_HEAD_COUNT_KV, 6);
    expect_param(&k, TARE_PARAM_LAYER_COUNT, 7);
    expect_param(&k, TARE_PARAM_FEED_FORWARD_LENGTH, -1);
    assert_int_equal(tare_model_architecture(k.m).len, 0);
    tare_model_free(k.m);
}

static void test_config(void **state) {
    (void)state;
    made k;
    begin(&k);
    add_config(&k, "{\"text_config\": {\"hidden_size\": 64, \"model_type\": \"inner\","
                   " \"num_hidden_layers\": 3, \"deeper\": {\"vocab_size\": 5}},"
                   " \"model_type\": \"outer\", \"hidden_size\": 128, \"n_embd\": 7,"
                   " \"num_attention_heads\": 4, \"vocab_size\": null, \"rope\": [1, {\"a\": 2}]}");
    finish(&k);
    expect_param(&k, TARE_PARAM_EMBEDDING_LENGTH, 128);
    expect_param(&k, TARE_PARAM_LAYER_COUNT, 3);
    expect_param(&k, TARE_PARAM_HEAD_COUNT_KV, 4);
    expect_param(&k, TARE_PARAM_VOCAB_SIZE, -1);
    assert_true(tare_str_is(tare_model_architecture(k.m), "outer"));
    tare_model_free(k.m);

    begin(&k);
    add_config(&k, "{\"hidden_size\": 64,");
    tare_report *report = tare_report_new();
    assert_int_equal(tare_model_finish(k.m, report, NULL), TARE_OK);
    assert_int_equal(tare_report_count_level(report, TARE_LEVEL_WARNING), 1);
    tare_report_free(report);
    tare_model_free(k.m);
}

/* ---- schemes --------------------------------------------------------------------------------- */

static void expect_scheme(const made *k, const char *name, const char *scheme, bool can_decode) {
    int64_t i = tare_model_find_tensor(k->m, tare_str_of(name));
    assert_true(i >= 0);
    const char *got = tare_tensor_scheme(k->m, (size_t)i);
    if (!scheme ? got != NULL : !got || strcmp(got, scheme) != 0)
        fail_msg("%s: %s", name, got ? got : "none");
    assert_int_equal(tare_tensor_can_decode(k->m, (size_t)i), can_decode);
}

#define DIMS(...)                                                                                  \
    sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]) {                                          \
        __VA_ARGS__                                                                                \
    }

static void test_schemes(void **state) {
    (void)state;
    made k;
    begin(&k);
    add(&k, "a.qweight", TARE_ENCODING_I32, DIMS(2, 16));
    add(&k, "a.qzeros", TARE_ENCODING_I32, DIMS(1, 2));
    add(&k, "a.scales", TARE_ENCODING_F16, DIMS(1, 16));
    add(&k, "b.qweight", TARE_ENCODING_I32, DIMS(16, 2));
    add(&k, "b.qzeros", TARE_ENCODING_I32, DIMS(1, 2));
    add(&k, "b.scales", TARE_ENCODING_F16, DIMS(1, 16));
    add(&k, "c.weight", TARE_ENCODING_U8, DIMS(4, 8));
    add(&k, "c.weight_scale", TARE_ENCODING_F8_E4M3, DIMS(4, 1));
    add(&k, "c.weight_scale_2", TARE_ENCODING_F32, 0, NULL);
    add(&k, "d.weight", TARE_ENCODING_U8, DIMS(16, 1));
    add(&k, "d.weight.absmax", TARE_ENCODING_U8, DIMS(4));
    add(&k, "d.weight.quant_map", TARE_ENCODING_F32, DIMS(16));
    add(&k, "e.weight", TARE_ENCODING_U8, DIMS(4));
    add(&k, "f.scales", TARE_ENCODING_F16, DIMS(4));
    finish(&k);
    assert_int_equal(tare_quantized_open(k.m, true, NULL), TARE_OK);
    expect_scheme(&k, "a.qweight", "gptq codes", false);
    expect_scheme(&k, "a.qzeros", "gptq zero points", false);
    expect_scheme(&k, "a.scales", "gptq scales", true);
    expect_scheme(&k, "b.qweight", "awq codes", false);
    expect_scheme(&k, "c.weight", "nvfp4 codes", false);
    expect_scheme(&k, "c.weight_scale", "nvfp4 block scales", true);
    expect_scheme(&k, "d.weight", "bitsandbytes codes", false);
    expect_scheme(&k, "d.weight.absmax", "bitsandbytes scales", false);
    expect_scheme(&k, "d.weight.quant_map", "bitsandbytes code table", true);
    expect_scheme(&k, "e.weight", NULL, true);
    expect_scheme(&k, "f.scales", NULL, true);
    float row[16];
    tare_error err;
    assert_int_equal(tare_tensor_rows_f32(row, k.m, 0, 0, 1, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.item_name, "a.qweight");
    tare_model_free(k.m);
}

/* A 6 x 5 weight of ones with the factors of a 2 x 2 grid of blocks of 4 x 4, and one a row. */
static void test_block_scales(void **state) {
    (void)state;
    made k;
    begin(&k);
    uint8_t *w = add(&k, "w", TARE_ENCODING_F8_E4M3, DIMS(6, 5));
    memset(w, 0x38, 30); /* 1.0 */
    uint8_t *s = add(&k, "w_scale_inv", TARE_ENCODING_F32, DIMS(2, 2));
    for (uint32_t i = 0; i < 4; i++) tare_store_le32(s + 4 * i, tare_f32_bits((float)(i + 1)));
    memset(add(&k, "v", TARE_ENCODING_F8_E5M2, DIMS(3, 2)), 0x3c, 6);
    s = add(&k, "v_scale", TARE_ENCODING_BF16, DIMS(3, 1));
    for (uint32_t i = 0; i < 3; i++)
        tare_store_le16(s + 2 * i, (uint16_t)(tare_f32_bits((float)(i + 1)) >> 16));
    memset(add(&k, "x", TARE_ENCODING_F8_E4M3, DIMS(2, 2)), 0x38, 4);
    add(&k, "x_scale_inv", TARE_ENCODING_F32, DIMS(3, 2)); /* does not fit */
    finish(&k);
    assert_int_equal(tare_quantized_open(k.m, false, NULL), TARE_OK);
    expect_scheme(&k, "w", "fp8", true);
    expect_scheme(&k, "x", NULL, true);
    assert_int_equal(tare_model_find_tensor(k.m, TARE_STR("w_scale_inv")), -1);
    const made stored = {.m = (tare_model *)(uintptr_t)tare_model_as_stored(k.m)};
    expect_scheme(&stored, "w", "fp8 with block scales", false);
    expect_scheme(&stored, "w_scale_inv", "fp8 block scales", true);
    float rows[30];
    assert_int_equal(tare_tensor_rows_f32(rows, k.m, 0, 0, 6, NULL), TARE_OK);
    for (size_t i = 0; i < 30; i++) assert_true(rows[i] == (float)(i / 5 / 4 * 2 + i % 5 / 4 + 1));
    assert_int_equal(tare_tensor_rows_f32(rows, k.m, 0, 3, 2, NULL), TARE_OK);
    assert_true(rows[0] == 1 && rows[4] == 2 && rows[5] == 3 && rows[9] == 4);
    static const uint16_t bf16[] = {0x3f80, 0x4000, 0x4040, 0x4080}; /* 1 to 4 */
    uint16_t halves[30];
    assert_int_equal(tare_tensor_rows_as(halves, TARE_ENCODING_BF16, k.m, 0, 0, 6, NULL), TARE_OK);
    for (size_t i = 0; i < 30; i++) assert_int_equal(halves[i], bf16[i / 5 / 4 * 2 + i % 5 / 4]);
    assert_int_equal(tare_tensor_rows_as(halves, TARE_ENCODING_U8, k.m, 0, 0, 6, NULL),
                     TARE_ERR_ARG);
    assert_int_equal(tare_tensor_rows_f32(rows, k.m, 1, 0, 3, NULL), TARE_OK);
    for (size_t i = 0; i < 6; i++) assert_true(rows[i] == (float)(i / 2 + 1));
    /* ranges that begin and end anywhere in a row */
    assert_int_equal(tare_tensor_values_f32(rows, k.m, 0, 3, 20, NULL), TARE_OK);
    for (size_t i = 3; i < 23; i++)
        assert_true(rows[i - 3] == (float)(i / 5 / 4 * 2 + i % 5 / 4 + 1));
    /* codes beside a scale that was not used */
    tare_error err;
    assert_int_equal(tare_tensor_rows_f32(rows, k.m, 2, 0, 2, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.item_name, "x");
    char line[512];
    tare_error_format(line, sizeof line, &err, NULL);
    assert_non_null(strstr(line, "x_scale_inv"));
    tare_model_free(k.m);
}

/* Names of scales: which are multiplied, which scale activations, and which nothing is known of. */
static void test_names_of_scales(void **state) {
    (void)state;
    static const char *const known[] = {"w.scale_weight", "w.scale", "w.qscale_weight",
                                        "w.weight_scale", "w.weight_scale_inv"};
    static const char *const unknown[] = {"w.scales", "w.weight_scales", "w.act_scale",
                                          "w.weight.scale_2", "w.weight_quantizer._scale"};
    float row[4];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        made k;
        begin(&k);
        memset(add(&k, "w.weight", TARE_ENCODING_F8_E4M3, DIMS(2, 4)), 0x38, 8);
        tare_store_le32(add(&k, known[i], TARE_ENCODING_F32, DIMS(1)), tare_f32_bits(3));
        add(&k, "w.input_scale", TARE_ENCODING_F32, DIMS(1));
        add(&k, "scaled_fp8", TARE_ENCODING_F8_E4M3, DIMS(2));
        finish(&k);
        assert_int_equal(tare_quantized_open(k.m, false, NULL), TARE_OK);
        const made stored = {.m = (tare_model *)(uintptr_t)tare_model_as_stored(k.m)};
        expect_scheme(&stored, known[i], "fp8 block scales", true);
        expect_scheme(&stored, "scaled_fp8", "fp8 marker", true);
        assert_int_equal(k.m->catalog.n_tensors, 1);
        assert_int_equal(tare_tensor_rows_f32(row, k.m, 0, 0, 1, NULL), TARE_OK);
        assert_true(row[3] == 3);
        tare_model_free(k.m);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        made k;
        begin(&k);
        add(&k, "w.weight", TARE_ENCODING_F8_E4M3, DIMS(2, 4));
        add(&k, unknown[i], TARE_ENCODING_F32, DIMS(1));
        add(&k, "logit_scale", TARE_ENCODING_F32, DIMS(1));
        finish(&k);
        assert_int_equal(tare_quantized_open(k.m, false, NULL), TARE_OK);
        assert_int_equal(tare_tensor_rows_f32(row, k.m, 0, 0, 1, NULL), TARE_ERR_UNSUPPORTED);
        tare_model_free(k.m);
    }
}

/* Shapes whose counts multiply beyond 64 bits, also where a 0 would hide it. */
static void test_shapes(void **state) {
    (void)state;
    made k;
    begin(&k);
    tare_tensor t = {.n_dims = 0};
    const tare_encoding *f32 = tare_encoding_get(TARE_ENCODING_F32);
    const uint64_t large = UINT64_C(1) << 32;
    const uint64_t dims[] = {large, large, 0}, fine[] = {4, 0, 3};
    tare_status s = tare_tensor_set(k.m, &t, f32, dims, 2, 0, 0, NULL);
    assert_int_equal(s, TARE_ERR_LIMIT);
    s = tare_tensor_set(k.m, &t, f32, dims, 3, 0, 0, NULL);
    assert_int_equal(s, TARE_ERR_LIMIT);
    s = tare_tensor_set(k.m, &t, f32, fine, 3, 0, UINT64_MAX, NULL);
    assert_int_equal(s, TARE_OK);
    assert_int_equal(t.n_elements, 0);
    assert_int_equal(t.n_rows, 0);
    assert_int_equal(t.cols, 3);
    s = tare_tensor_set(k.m, &t, f32, NULL, 0, 0, UINT64_MAX - 3, NULL);
    assert_int_equal(s, TARE_ERR_CORRUPT);
    s = tare_tensor_set(k.m, &t, f32, NULL, 0, 0, 16, NULL);
    assert_int_equal(s, TARE_OK);
    assert_int_equal(t.size_bytes, 4);
    assert_int_equal(t.n_rows, 1);
    tare_model_free(k.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_arch_keys),
        cmocka_unit_test(test_llm_keys),        cmocka_unit_test(test_config),
        cmocka_unit_test(test_schemes),         cmocka_unit_test(test_block_scales),
        cmocka_unit_test(test_names_of_scales), cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
