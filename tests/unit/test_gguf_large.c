/* SPDX-License-Identifier: MIT
 *
 * Guards against directories that are read in pieces going wrong at the borders, being read over
 * and over, or taking memory that has nothing to do with them: files of many tensors, many keys,
 * one long array, a large resource. Nothing here looks at a clock; reads and bytes are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/gguf_build.h"

#define MANY 100000

typedef struct counted {
    const tare_buffer *file;
    size_t n_reads;
    uint64_t n_bytes;
    size_t now, peak; /* of memory */
} counted;

static tare_status read_counted(void *ctx, uint64_t offset, void *buf, size_t n) {
    counted *c = ctx;
    if (offset > c->file->size || n > c->file->size - offset) return TARE_ERR_IO;
    memcpy(buf, c->file->data + offset, n);
    c->n_reads++;
    c->n_bytes += n;
    return TARE_OK;
}

static void count(counted *c, size_t more, size_t less) {
    c->now += more - less;
    if (c->now > c->peak) c->peak = c->now;
}

static void *count_alloc(void *ctx, size_t size) {
    count(ctx, size, 0);
    return malloc(size);
}

static void *count_resize(void *ctx, void *p, size_t old_size, size_t size) {
    count(ctx, size, old_size);
    return realloc(p, size);
}

static void count_free(void *ctx, void *p, size_t size) {
    count(ctx, 0, size);
    free(p);
}

/* Opens through a callback and holds reads and memory to their bounds. */
static tare_model *open_counted(counted *c, const gguf_build *g, size_t most_reads) {
    static tare_allocator allocator;
    *c = (counted){.file = &g->b};
    allocator = (tare_allocator){c, count_alloc, count_resize, count_free};
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_CALLBACK,
                          .read = read_counted,
                          .read_ctx = c,
                          .n_bytes = g->b.size};
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.allocator = &allocator;
    tare_model *m;
    tare_error err;
    if (tare_model_open(&m, &source, &options, &err) != TARE_OK) fail_msg("%s", err.what);
    const tare_model_summary *s = tare_model_summarize(m);
    print_message("directory %zu bytes: %zu reads of %zu bytes, %zu bytes of memory\n",
                  (size_t)s->directory_bytes, c->n_reads, (size_t)c->n_bytes, c->peak);
    assert_true(c->n_reads <= most_reads);
    assert_true(c->peak <= (4u << 20) + 4 * s->directory_bytes);
    return m;
}

static void close_counted(counted *c, tare_model *m, gguf_build *g) {
    tare_model_free(m);
    assert_int_equal(c->now, 0);
    tare_buffer_free(&g->b);
}

static void test_many_tensors(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    char name[64];
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "blk.%u.ffn_down.weight", i);
        build_tensor(&g, name, 2, (uint64_t[]){4, 2}, 0, 32);
    }
    build_end(&g);
    counted c;
    tare_model *m = open_counted(&c, &g, 8);
    for (uint32_t i = 0; i < MANY; i += 997) {
        snprintf(name, sizeof name, "blk.%u.ffn_down.weight", i);
        assert_int_equal(tare_model_find_tensor(m, tare_str_of(name)), i);
        assert_true(tare_str_is(tare_model_tensor(m, i)->name, name));
    }
    assert_int_equal(tare_model_find_tensor(m, TARE_STR("blk.100000.ffn_down.weight")), -1);
    close_counted(&c, m, &g);
}

static void test_many_keys(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    char key[64];
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "test.key_number_%u.value", i);
        build_key_u32(&g, key, i);
    }
    build_end(&g);
    counted c;
    tare_model *m = open_counted(&c, &g, 8);
    for (uint32_t i = 0; i < MANY; i += 991) {
        snprintf(key, sizeof key, "test.key_number_%u.value", i);
        int64_t k = tare_model_find_key(m, tare_str_of(key));
        assert_int_equal(k, i);
        assert_int_equal(tare_model_metadata(m, (size_t)k)->value.as.u, i);
    }
    close_counted(&c, m, &g);
}

/* A vocabulary that is longer than the first windows, with keys and tensors after it. */
static void test_long_array(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key_str(&g, "general.architecture", "llama");
    build_key(&g, "tokenizer.ggml.tokens", 9);
    build_array(&g, 8, 2 * MANY);
    char token[64];
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        snprintf(token, sizeof token, "a token with the number %u", i);
        build_str(&g, token);
    }
    build_key_str(&g, "general.name", "behind");
    build_tensor(&g, "t", 1, (uint64_t[]){1u << 20}, 0, 4u << 20);
    build_end(&g);
    counted c;
    tare_model *m = open_counted(&c, &g, 3);
    uint64_t n, directory = tare_model_summarize(m)->directory_bytes;
    assert_true(c.n_bytes <=
                directory + directory / 16 + (1u << 19)); /* it is seen where it ends */
    assert_true(tare_model_param(&n, m, TARE_PARAM_VOCAB_SIZE));
    assert_int_equal(n, 2 * MANY);
    tare_array_walk walk;
    tare_value v = {.type = TARE_VALUE_U8};
    int64_t k = tare_model_find_key(m, TARE_STR("tokenizer.ggml.tokens"));
    tare_array_begin(&walk, &tare_model_metadata(m, (size_t)k)->value.as.a);
    for (n = 0; tare_array_next(&v, &walk); n++) continue;
    assert_int_equal(n, 2 * MANY);
    assert_true(tare_str_is(v.as.s, token));
    assert_true(tare_str_is(tare_model_metadata(m, 2)->value.as.s, "behind"));
    close_counted(&c, m, &g);
}

/* Strings of which the first do not tell how long the others are: windows grow all the same, and
 * each element is the one that was written. */
static void test_uneven_strings(void **state) {
    (void)state;
    enum { N_SHORT = 200000, N_LONG = 600, LENGTH = 16384 };
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "a", 9);
    build_array(&g, 8, N_SHORT + N_LONG);
    for (int i = 0; i < N_SHORT; i++) build_str(&g, "");
    for (int i = 0; i < N_LONG; i++) {
        build_u64(&g, LENGTH);
        memset(tare_buffer_extend(&g.b, LENGTH), 'x', LENGTH);
    }
    build_key_str(&g, "general.name", "behind");
    build_end(&g);
    counted c;
    tare_model *m = open_counted(&c, &g, 8);
    const tare_array *a = &tare_model_metadata(m, 0)->value.as.a;
    assert_int_equal(a->size_bytes, 8 * (N_SHORT + N_LONG) + LENGTH * N_LONG);
    assert_int_equal(a->bytes[a->size_bytes - 1], 'x');
    assert_true(tare_str_is(tare_model_metadata(m, 1)->value.as.s, "behind"));
    close_counted(&c, m, &g);
}

/* One record that is longer than the size up to which windows double: they go on doubling. */
static void test_huge_record(void **state) {
    (void)state;
    const uint64_t size = 40u << 20;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "a", 9);
    build_array(&g, 0, size);
    memset(tare_buffer_extend(&g.b, size), 'x', size);
    build_key_str(&g, "general.name", "behind");
    build_end(&g);
    counted c;
    tare_model *m = open_counted(&c, &g, 8);
    assert_int_equal(tare_model_metadata(m, 0)->value.as.a.bytes[size - 1], 'x');
    assert_true(tare_str_is(tare_model_metadata(m, 1)->value.as.s, "behind"));
    close_counted(&c, m, &g);
}

/* A resource is not read while opening, however large it is. */
static void test_large_resource(void **state) {
    (void)state;
    const uint64_t size = 20u << 20;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "tare.resource.tokenizer.json", 9);
    build_array(&g, 0, size);
    size_t at = g.b.size;
    memset(tare_buffer_extend(&g.b, size), 'x', size);
    build_key_str(&g, "general.name", "behind");
    build_end(&g);
    g.b.data[at + size - 1] = 'y';
    counted c;
    tare_model *m = open_counted(&c, &g, 3);
    assert_true(c.n_bytes <= 3u << 20);
    char last[2];
    assert_int_equal(tare_resource_read(last, m, 0, size - 2, 2, NULL), TARE_OK);
    assert_memory_equal(last, "xy", 2);
    assert_true(tare_str_is(tare_model_metadata(m, 0)->value.as.s, "behind"));
    close_counted(&c, m, &g);
}

/* A header that promises more than there is costs neither memory nor reads. */
static void test_lies(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "a", 9);
    build_array(&g, 8, 1000000);
    tare_buffer_put_zeros(&g.b, 7000000);
    g.n_tensors = 250000;
    g.n_keys = 500000;
    g.alignment = 1;
    build_end(&g);
    counted c = {.file = &g.b};
    tare_allocator allocator = {&c, count_alloc, count_resize, count_free};
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_CALLBACK,
                          .read = read_counted,
                          .read_ctx = &c,
                          .n_bytes = g.b.size};
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.allocator = &allocator;
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_model_open(&m, &source, &options, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(err.offset, 24 + 9 + 4 + 4);
    assert_true(c.peak < 2u << 20);
    assert_int_equal(c.now, 0);
    tare_buffer_free(&g.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_tensors), cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_long_array),   cmocka_unit_test(test_uneven_strings),
        cmocka_unit_test(test_huge_record),  cmocka_unit_test(test_large_resource),
        cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
