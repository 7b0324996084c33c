/* SPDX-License-Identifier: MIT
 *
 * Guards against hyperparameters that MCF's ModelInfo loses on the way: from keys under GGUF's
 * names and back, from config.json, from a file of another writer through a rewrite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/mcf_output.h"

/* The fixed fields from byte 8 on. */
static void check_info(const output *o, const uint32_t numbers[10], float base, float scale,
                       const char *name, const char *base_model) {
    section s = find_section(o, TARE_MCF_MODEL_INFO);
    const uint8_t *p = o->bytes + s.offset;
    const char *const texts[2] = {name, base_model};
    assert_true(s.at && s.size >= 88);
    assert_int_equal(tare_load_le32(p), 1);
    assert_int_equal(tare_load_le32(p + 4), 0);
    for (size_t i = 0; i < 10; i++)
        if (tare_load_le32(p + 8 + 4 * i) != numbers[i])
            fail_msg("field %zu: %u, expected %u", i, tare_load_le32(p + 8 + 4 * i), numbers[i]);
    assert_true(tare_f32_of_bits(tare_load_le32(p + 48)) == base);
    assert_true(tare_f32_of_bits(tare_load_le32(p + 52)) == scale);
    for (size_t i = 0; i < 2; i++) {
        uint64_t at = tare_load_le64(p + 56 + 8 * i);
        assert_int_equal(at != 0, texts[i] != NULL);
        if (!texts[i]) continue;
        assert_int_equal(at % 8, 0);
        assert_int_equal(tare_load_le32(p + at), strlen(texts[i]));
        assert_memory_equal(p + at + 4, texts[i], strlen(texts[i]));
    }
}

/* Opens it as a file of another writer: what says in full what the metadata is goes. */
static tare_model *open_without_metadata(const output *o) {
    section s = find_section(o, TARE_MCF_METADATA);
    assert_true(s.at != 0);
    tare_store_le32(o->bytes + s.at, 0x9000);
    return open_output(o, NULL);
}

static void check_number(const tare_model *m, const char *key, double expected) {
    int64_t i = tare_model_find_key(m, tare_str_of(key));
    double v;
    if (i < 0) fail_msg("%s is missing", key);
    assert_true(tare_value_f64(&v, &m->catalog.metadata[i].value));
    if (v != expected) fail_msg("%s: %g", key, v);
}

static void check_text(const tare_model *m, const char *key, const char *expected) {
    assert_true(tare_str_is(tare_catalog_get_str(&m->catalog, key), expected));
}

/* Every field, and back under the same keys. */
static void hyperparameters_come_from_keys(void **state) {
#define U32(name, n)                                                                               \
    {TARE_STR(name), {.type = TARE_VALUE_U32, .as.u = n}, TARE_KEYS_MODEL, TARE_NO_OFFSET}
#define F32(name, x)                                                                               \
    { TARE_STR(name), {.type = TARE_VALUE_F32, .as.f = x}, TARE_KEYS_MODEL, TARE_NO_OFFSET }
#define STRING(name, text)                                                                         \
    {                                                                                              \
        TARE_STR(name), {.type = TARE_VALUE_STRING, .as.s = TARE_STR(text)}, TARE_KEYS_MODEL,      \
            TARE_NO_OFFSET                                                                         \
    }
    tare_metadata keys[] = {
        STRING("general.architecture", "qwen2"),
        STRING("general.name", "A name"),
        STRING("general.base_model.0.name", "Base"),
        U32("qwen2.vocab_size", 1000),
        U32("qwen2.embedding_length", 64),
        U32("qwen2.block_count", 3),
        U32("qwen2.attention.head_count", 8),
        U32("qwen2.attention.head_count_kv", 2),
        U32("qwen2.context_length", 4096),
        U32("qwen2.rope.scaling.original_context_length", 1024),
        STRING("qwen2.rope.scaling.type", "yarn"),
        F32("qwen2.rope.freq_base", 1000000),
        F32("qwen2.rope.scaling.factor", 4),
    };
    static const uint32_t numbers[] = {3, 0, 1000, 64, 3, 8, 2, 4096, 1024, 3};
    (void)state;
    made_model made;
    made_begin(&made, 64, 0, 0);
    made.model->catalog.metadata = keys;
    made.model->catalog.n_metadata = sizeof keys / sizeof *keys;
    tare_model *m = made_finish(&made, false, NULL, 0);
    output o = write_model(m, 0);
    check_info(&o, numbers, 1000000, 4, "A name", "Base");
    assert_int_equal(find_section(&o, TARE_MCF_TENSOR_INDEX).at, 0); /* without tensors neither */
    assert_int_equal(find_section(&o, TARE_MCF_TENSOR_DATA).at, 0);
    assert_int_equal(tare_load_le64(o.bytes + 32), 0);
    tare_model *back = open_output(&o, NULL);
    help_check_same(m, back); /* from our own section */
    tare_model_free(back);
    back = open_without_metadata(&o);
    check_text(back, "general.architecture", "qwen"); /* the number says no more */
    check_text(back, "general.name", "A name");
    check_text(back, "general.base_model.0.name", "Base");
    check_text(back, "qwen.rope.scaling.type", "yarn");
    check_number(back, "qwen.vocab_size", 1000);
    check_number(back, "qwen.embedding_length", 64);
    check_number(back, "qwen.block_count", 3);
    check_number(back, "qwen.attention.head_count", 8);
    check_number(back, "qwen.attention.head_count_kv", 2);
    check_number(back, "qwen.context_length", 4096);
    check_number(back, "qwen.rope.scaling.original_context_length", 1024);
    check_number(back, "qwen.rope.freq_base", 1000000);
    check_number(back, "qwen.rope.scaling.factor", 4);
    tare_model_free(back);
    free_output(&o);
    made_free(&made);
}

static tare_model *make_with_config(made_model *made, tare_resource_entry *config) {
    made_begin(made, 64, 0, 0);
    made->model->catalog.resources = config;
    made->model->catalog.n_resources = 1;
    return made_finish(made, false, NULL, 0);
}

static void hyperparameters_come_from_a_config(void **state) {
    static const uint32_t llama[] = {1, 0, 32000, 2048, 22, 32, 4, 2048, 0, 1};
    static const uint32_t unknown[] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0};
    (void)state;
    made_model made;
    tare_resource_entry config = resource(
        "config.json", "{\"model_type\": \"llama\", \"vocab_size\": 32000, \"hidden_size\": 2048,"
                       "\"num_hidden_layers\": 22, \"num_attention_heads\": 32,"
                       "\"num_key_value_heads\": 4, \"max_position_embeddings\": 2048,"
                       "\"rope_theta\": 10000.0}");
    output o = write_model(make_with_config(&made, &config), 0);
    check_info(&o, llama, 10000, 0, NULL, NULL);
    free_output(&o);
    made_free(&made);
    config = resource("config.json", "{\"model_type\": \"bert\", \"hidden_size\": 7}");
    o = write_model(make_with_config(&made, &config), 0);
    check_info(&o, unknown, 0, 0, NULL, NULL);
    free_output(&o);
    made_free(&made);
    config = resource("config.json", "{}"); /* nothing is known: no section */
    o = write_model(make_with_config(&made, &config), 0);
    assert_int_equal(find_section(&o, TARE_MCF_MODEL_INFO).at, 0);
    free_output(&o);
    made_free(&made);
}

/* A file's own ModelInfo crosses a rewrite with pairs that nobody asked about. */
static void a_foreign_description_is_kept(void **state) {
    enum { INFO = 88 + 24 + 8 + 8, AT = 40, FILE_SIZE = AT + INFO + 24 };
    static uint8_t file[FILE_SIZE];
    uint8_t *info = file + AT, *pair = info + 88, *directory = info + INFO;
    (void)state;
    memcpy(file, "MCF\0\1\0\7\0\x28\0\0\0\1\0\0\0", 16); /* a later minor version */
    tare_store_le64(file + 16, AT + INFO);
    tare_store_le64(file + 24, FILE_SIZE);
    tare_store_le32(info, 1);
    tare_store_le32(info + 72, 1); /* kv_count */
    tare_store_le64(info + 80, 88);
    tare_store_le64(pair, 112);
    tare_store_le32(pair + 8, 2);
    tare_store_le64(pair + 16, 120);
    memcpy(info + 112, "\3\0\0\0hf.", 7);
    tare_store_le32(info + 120, tare_f32_bits(0.5f));
    tare_store_le32(directory, TARE_MCF_MODEL_INFO);
    tare_store_le32(directory + 4, 1);
    tare_store_le64(directory + 8, AT);
    tare_store_le64(directory + 16, INFO);
    output in = {.bytes = file, .size = FILE_SIZE};
    tare_report *report = tare_report_new();
    tare_model *m = open_output(&in, report);
    assert_int_equal(help_findings(report, "mcf.minor-version"), 1);
    check_number(m, "hf.", 0.5);
    output o = write_model(m, 0);
    section s = find_section(&o, TARE_MCF_MODEL_INFO);
    assert_int_equal(s.size, INFO);
    assert_memory_equal(o.bytes + s.offset, info, INFO);
    assert_memory_equal(o.bytes, "MCF\0\1\0\1\0", 8);
    tare_model *back = open_output(&o, NULL), *again;
    help_check_same(m, back);
    output twice = write_model(back, 0); /* the form is canonical */
    assert_int_equal(twice.size, o.size);
    assert_memory_equal(twice.bytes, o.bytes, o.size);
    again = open_output(&twice, NULL);
    help_check_same(m, again);
    tare_model_free(again);
    tare_model_free(back);
    tare_model_free(m);
    free_output(&twice);
    free_output(&o);
    tare_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyperparameters_come_from_keys),
        cmocka_unit_test(hyperparameters_come_from_a_config),
        cmocka_unit_test(a_foreign_description_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
