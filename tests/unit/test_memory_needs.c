/* SPDX-License-Identifier: MIT
 *
 * Guards against memory needs that count layers without attention, take the width of a head for
 * granted, or forget the compressed rows of latent attention and the states of recurrent layers.
 * What is expected was computed by hand from llama.cpp's caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <tare/inspect.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "made_model.h"

#define MOST_KEYS 16

typedef struct keyed {
    made_model made;
    tare_metadata entries[MOST_KEYS];
} keyed;

static void begin(keyed *k, const char *architecture) {
    made_begin(&k->made, 256, 1, 0);
    tare_catalog *c = &k->made.model->catalog;
    c->metadata = k->entries;
    k->entries[0] =
        (tare_metadata){.key = TARE_STR("general.architecture"),
                        .value = {.type = TARE_VALUE_STRING, .as.s = tare_str_of(architecture)}};
    c->n_metadata = 1;
}

static tare_metadata *add(keyed *k, const char *key) {
    tare_catalog *c = &k->made.model->catalog;
    assert_true(c->n_metadata < MOST_KEYS);
    k->entries[c->n_metadata].key = tare_str_of(key);
    return &k->entries[c->n_metadata++];
}

static void add_number(keyed *k, const char *key, uint64_t n) {
    add(k, key)->value = (tare_value){.type = TARE_VALUE_U32, .as.u = n};
}

static const tare_model *finish(keyed *k) {
    const uint64_t dims[] = {32};
    made_add(&k->made, TARE_STR("t"), TARE_ENCODING_F32, dims, 1);
    return made_finish(&k->made, false, NULL, 0);
}

static void test_grouped_heads(void **state) {
    (void)state;
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "llama");
    add_number(&k, "llama.block_count", 30);
    add_number(&k, "llama.embedding_length", 576);
    add_number(&k, "llama.attention.head_count", 9);
    add_number(&k, "llama.attention.head_count_kv", 3);
    add_number(&k, "llama.context_length", 8192);
    const tare_model *m = finish(&k);
    assert_true(tare_model_memory(&needs, m, 0));
    assert_int_equal(needs.weights, 128);
    assert_int_equal(needs.context, 8192);
    assert_int_equal(needs.cache, UINT64_C(8192) * 30 * 3 * (64 + 64) * 2);
    assert_int_equal(needs.state, 0);
    assert_true(tare_model_memory(&needs, m, 100));
    assert_int_equal(needs.cache, UINT64_C(100) * 30 * 3 * (64 + 64) * 2);
    made_free(&k.made);
}

static void test_stated_head_widths(void **state) {
    (void)state;
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "gemma3");
    add_number(&k, "gemma3.block_count", 2);
    add_number(&k, "gemma3.embedding_length", 640);
    add_number(&k, "gemma3.attention.head_count", 4);
    add_number(&k, "gemma3.attention.head_count_kv", 1);
    add_number(&k, "gemma3.attention.key_length", 256);
    add_number(&k, "gemma3.attention.value_length", 128);
    add_number(&k, "gemma3.context_length", 10);
    assert_true(tare_model_memory(&needs, finish(&k), 0));
    assert_int_equal(needs.cache, 10 * 2 * 1 * (256 + 128) * 2);
    made_free(&k.made);
}

/* The cache of a BERT; `causal`: what it says of its attention, NULL: nothing. */
static uint64_t cache_of_bert(const bool *causal) {
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "bert");
    add_number(&k, "bert.block_count", 6);
    add_number(&k, "bert.embedding_length", 384);
    add_number(&k, "bert.attention.head_count", 12);
    add_number(&k, "bert.attention.head_count_kv", 12);
    add_number(&k, "bert.context_length", 512);
    if (causal)
        add(&k, "bert.attention.causal")->value =
            (tare_value){.type = TARE_VALUE_BOOL, .as.u = *causal};
    assert_true(tare_model_memory(&needs, finish(&k), 0));
    assert_int_equal(needs.weights, 128);
    made_free(&k.made);
    return needs.cache;
}

static void test_encoders(void **state) {
    (void)state;
    const bool yes = true, no = false;
    assert_int_equal(cache_of_bert(NULL), 0);
    assert_int_equal(cache_of_bert(&yes), 512 * 6 * 2 * 384 * 2);
    assert_int_equal(cache_of_bert(&no), 0);
}

static void test_latent_attention(void **state) {
    (void)state;
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "deepseek2");
    add_number(&k, "deepseek2.block_count", 27);
    add_number(&k, "deepseek2.embedding_length", 2048);
    add_number(&k, "deepseek2.attention.head_count", 16);
    add_number(&k, "deepseek2.attention.kv_lora_rank", 512);
    add_number(&k, "deepseek2.rope.dimension_count", 64);
    add_number(&k, "deepseek2.context_length", 4096);
    assert_true(tare_model_memory(&needs, finish(&k), 0));
    assert_true(needs.is_latent_cache);
    assert_int_equal(needs.cache, UINT64_C(4096) * 27 * (512 + 64) * 2);
    made_free(&k.made);
}

static void test_layers_without_attention(void **state) {
    (void)state;
    static const uint8_t heads[] = {0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "jamba");
    add_number(&k, "jamba.block_count", 3);
    add_number(&k, "jamba.embedding_length", 64);
    add_number(&k, "jamba.attention.head_count", 4);
    add(&k, "jamba.attention.head_count_kv")->value = (tare_value){
        .type = TARE_VALUE_ARRAY,
        .as.a = {.type = TARE_VALUE_U32, .count = 3, .bytes = heads, .size_bytes = 12}};
    add_number(&k, "jamba.context_length", 100);
    add_number(&k, "jamba.ssm.conv_kernel", 4);
    add_number(&k, "jamba.ssm.inner_size", 128);
    add_number(&k, "jamba.ssm.state_size", 16);
    assert_true(tare_model_memory(&needs, finish(&k), 0));
    assert_int_equal(needs.cache, 100 * 2 * (16 + 16) * 2);
    assert_int_equal(needs.state, 2 * (3 * 128 + 128 * 16) * 4);
    made_free(&k.made);
}

static void test_what_is_not_known(void **state) {
    (void)state;
    keyed k = {.entries = {{.offset = 0}}};
    tare_memory_needs needs = tare_memory_needs_default();
    begin(&k, "llama");
    add_number(&k, "llama.block_count", UINT32_MAX);
    const tare_model *m = finish(&k);
    assert_false(tare_model_memory(&needs, m, 0)); /* no context */
    assert_int_equal(needs.weights, 128);
    assert_false(tare_model_memory(&needs, m, UINT64_MAX)); /* no heads */
    made_free(&k.made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouped_heads),
        cmocka_unit_test(test_stated_head_widths),
        cmocka_unit_test(test_encoders),
        cmocka_unit_test(test_latent_attention),
        cmocka_unit_test(test_layers_without_attention),
        cmocka_unit_test(test_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
