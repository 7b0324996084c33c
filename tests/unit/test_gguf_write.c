/* SPDX-License-Identifier: MIT
 *
 * Guards against a GGUF writer that does not give back what was read: other bytes for an unchanged
 * file of either byte order, lost gaps, tails, resources or trailing 1s; an alignment that key and
 * layout do not agree on; shards that are too large or that their reader does not put together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/format.h"
#include "support/memory_source.h"
#include "unit/gguf_build.h"
#include "unit/plan_bytes.h"

/* A plan and everything it stands on. */
typedef struct written {
    tare_arena arena;
    tare_write_plan plan;
    uint8_t **files;
} written;

static tare_write_options options_of(const tare_model *m) {
    return (tare_write_options){.source = m, .limits = &m->limits, .stem = "m"};
}

static tare_status write_catalog(written *w, const tare_model *m, const tare_catalog *c,
                                 const tare_write_options *options, tare_error *err) {
    *w = (written){.files = NULL};
    tare_arena_init(&w->arena, NULL);
    w->plan.arena = &w->arena;
    tare_status s = tare_format_gguf.write.plan(&w->plan, c, options, err);
    if (s != TARE_OK) return s;
    w->files = calloc(w->plan.n_files, sizeof *w->files);
    for (uint32_t i = 0; i < w->plan.n_files; i++) {
        w->files[i] = plan_bytes(&w->plan, m, i);
        assert_non_null(w->files[i]);
    }
    return TARE_OK;
}

static void free_written(written *w) {
    for (size_t i = 0; w->files && i < w->plan.n_files; i++) free(w->files[i]);
    free(w->files);
    tare_arena_free(&w->arena);
}

static tare_model *open_bytes(const void *bytes, uint64_t size) {
    tare_source source = memory_source(bytes, size);
    tare_model *m;
    tare_error err;
    if (tare_model_open(&m, &source, NULL, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

static void check_same(const written *w, const uint8_t *bytes, size_t size) {
    assert_int_equal(w->plan.n_files, 1);
    assert_int_equal(w->plan.files[0].size, size);
    for (size_t i = 0; i < size; i++)
        if (w->files[0][i] != bytes[i]) fail_msg("byte %zu differs", i);
}

static void check_identity(const uint8_t *bytes, size_t size) {
    tare_model *m = open_bytes(bytes, size);
    tare_write_options options = options_of(m);
    options.is_identity = true;
    written w;
    /* A key is renamed and renamed back, so that the header is made anew. */
    tare_catalog c = m->catalog;
    c.metadata = malloc((c.n_metadata + 1) * sizeof *c.metadata);
    assert_non_null(c.metadata);
    if (c.n_metadata) memcpy(c.metadata, m->catalog.metadata, c.n_metadata * sizeof *c.metadata);
    tare_str key = c.n_metadata ? c.metadata[0].key : (tare_str){"", 0};
    if (c.n_metadata) {
        c.metadata[0].key = TARE_STR("another.name.of.some.length");
        assert_int_equal(write_catalog(&w, m, &c, &options, NULL), TARE_OK);
        tare_model *renamed = open_bytes(w.files[0], w.plan.files[0].size);
        assert_true(tare_model_find_key(renamed, c.metadata[0].key) >= 0);
        assert_int_equal(renamed->catalog.n_tensors, m->catalog.n_tensors);
        tare_model_free(renamed);
        free_written(&w);
        c.metadata[0].key = key;
    }
    assert_int_equal(write_catalog(&w, m, &c, &options, NULL), TARE_OK);
    check_same(&w, bytes, size);
    free_written(&w);
    free(c.metadata);
    tare_model_free(m);
}

/* Everything a layout can have: a gap, tensors out of order, trailing 1s, bytes in padding and at
 * the end, an unknown type, keys of all kinds with a resource among them. */
static void build_odd(gguf_build *g, bool is_big_endian) {
    build_begin(g, 3, is_big_endian);
    build_key_str(g, "general.architecture", "llama");
    build_key(g, "tare.resource.notes", 9), build_array(g, 0, 5);
    tare_buffer_put_text(&g->b, "hello");
    build_key_u32(g, "general.alignment", 64);
    build_key(g, "a.nested", 9), build_array(g, 9, 2);
    build_array(g, 8, 2), build_str(g, "x"), build_str(g, "");
    build_array(g, 2, 1), tare_store_u16(tare_buffer_extend(&g->b, 2), 77, is_big_endian);
    build_key_str(g, "tare.safetensors.format", "pt");
    build_tensor(g, "ones", 4, (uint64_t[]){8, 1, 1, 1}, 0, 32);
    g->running += 128;
    build_tensor(g, "q", 2, (uint64_t[]){32, 3}, 2, 54);
    build_tensor(g, "unknown", 1, (uint64_t[]){5}, 139, 64);
    build_tensor(g, "last", 1, (uint64_t[]){3}, 1, 6);
    build_end(g);
}

static void test_identity(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        gguf_build g;
        build_odd(&g, k & 1);
        size_t data = g.b.size - (size_t)g.running;
        assert_int_equal(g.b.data[data - 1],
                         0); /* padding before the data: not zero from here on */
        g.b.data[data - 1] = 0xaa;
        if (k & 2) tare_buffer_put_text(&g.b, "and a tail");
        if (k & 4) g.b.size -= 58; /* the last tensor is not padded */
        check_identity(g.b.data, g.b.size);
        tare_buffer_free(&g.b);
    }
}

/* Files that end with their directory, padded or not, and nothing at all. */
static void test_identity_without_tensors(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_end(&g);
    check_identity(g.b.data, g.b.size);
    check_identity(g.b.data, 24);
    tare_buffer_free(&g.b);
    build_begin(&g, 3, true);
    build_key_str(&g, "general.name", "abc");
    size_t end = g.b.size;
    build_end(&g);
    check_identity(g.b.data, g.b.size);
    check_identity(g.b.data, end);
    check_identity(g.b.data, end + 1);
    tare_buffer_free(&g.b);
}

static void test_identity_of_real_files(void **state) {
    (void)state;
    static const char *const names[] = {"ggml-types.gguf", "ggml-vocab-llama-spm.gguf",
                                        "ggml-vocab-bert-bge.gguf"};
    const char *folder = getenv("TARE_TEST_DATA");
    for (size_t i = 0; i < 3; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder ? folder : "", names[i]);
        tare_reader r;
        if (!folder || tare_reader_open(&r, path, true, NULL) != TARE_OK) {
            print_message("SKIP: 3 sample files, TARE_TEST_DATA does not name their folder\n");
            skip();
        }
        check_identity(r.map, (size_t)r.size);
        tare_reader_close(&r);
    }
}

/* From one byte order to the other and back: the same content on the way, the same bytes at the
 * end. An unknown type cannot go. */
static void test_byte_order(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "a", 9), build_array(&g, 6, 2), build_u64(&g, UINT64_C(0x3f8000017fa00001));
    build_key(&g, "b", 11), build_u64(&g, 0x0123456789abcdef);
    build_tensor(&g, "w", 1, (uint64_t[]){8}, 0, 32);
    build_tensor(&g, "k", 1, (uint64_t[]){256}, 11, 110);
    build_end(&g);
    for (size_t i = 0; i < 18; i++) g.b.data[g.b.size - 1 - i] = 0; /* padding as ours */
    tare_model *m = open_bytes(g.b.data, g.b.size);
    tare_write_options options = options_of(m);
    options.order = TARE_ORDER_BIG;
    written w, back;
    assert_int_equal(write_catalog(&w, m, &m->catalog, &options, NULL), TARE_OK);
    assert_true(w.plan.is_big_endian);
    tare_model *big = open_bytes(w.files[0], w.plan.files[0].size);
    for (size_t i = 0; i < 2; i++)
        assert_true(
            tare_value_equal(&m->catalog.metadata[i].value, &big->catalog.metadata[i].value));
    uint8_t a[110], b[110];
    assert_int_equal(tare_tensor_read(a, m, 1, 0, 0, 110, NULL), TARE_OK);
    assert_int_equal(tare_tensor_read(b, big, 1, 0, 0, 110, NULL), TARE_OK);
    assert_memory_equal(a, b, 110);
    options = options_of(big);
    options.order = TARE_ORDER_LITTLE;
    assert_int_equal(write_catalog(&back, big, &big->catalog, &options, NULL), TARE_OK);
    check_same(&back, g.b.data, g.b.size);
    free_written(&back);
    free_written(&w);
    tare_model_free(big);
    tare_model_free(m);
    tare_buffer_free(&g.b);

    build_odd(&g, false);
    m = open_bytes(g.b.data, g.b.size);
    options = options_of(m);
    options.order = TARE_ORDER_BIG;
    tare_error err;
    assert_int_equal(write_catalog(&w, m, &m->catalog, &options, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.item_name, "unknown");
    free_written(&w);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

static void check_alignment(uint32_t from, uint32_t asked, uint32_t expected) {
    gguf_build g;
    build_begin(&g, 3, false);
    if (from) build_key_u32(&g, "general.alignment", from);
    build_tensor(&g, "a", 1, (uint64_t[]){3}, 0, 12);
    build_tensor(&g, "b", 1, (uint64_t[]){3}, 0, 12);
    build_end(&g);
    tare_model *m = open_bytes(g.b.data, g.b.size);
    tare_write_options options = options_of(m);
    options.alignment = asked;
    written w;
    assert_int_equal(write_catalog(&w, m, &m->catalog, &options, NULL), TARE_OK);
    tare_model *out = open_bytes(w.files[0], w.plan.files[0].size);
    const tare_model_summary *s = tare_model_summarize(out);
    assert_int_equal(s->alignment, expected);
    assert_int_equal(out->catalog.tensors[1].planes[0].offset % expected, 0);
    assert_int_equal(w.plan.files[0].size % expected, 0);
    bool has_key = tare_model_find_key(out, TARE_STR("general.alignment")) >= 0;
    assert_int_equal(has_key, from != 0 || expected != 32);
    tare_model_free(out);
    free_written(&w);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

static void test_alignment(void **state) {
    (void)state;
    check_alignment(0, 0, 32);
    check_alignment(64, 0, 64);
    check_alignment(0, 256, 256);
    check_alignment(64, 32, 32);
    check_alignment(64, 4096, 4096);
}

/* Version 1, with NULs at the end of its strings, becomes version 3 without them. */
static void test_old_version(void **state) {
    (void)state;
    gguf_build g;
    build_begin(&g, 1, false);
    build_length(&g, 2), tare_buffer_put(&g.b, "a", 2), build_u32(&g, 9), g.n_keys++;
    build_array(&g, 8, 2);
    build_length(&g, 3), tare_buffer_put(&g.b, "xy", 3);
    build_length(&g, 1), tare_buffer_put(&g.b, "z", 1);
    build_tensor(&g, "t", 2, (uint64_t[]){4, 2}, 0, 32);
    build_end(&g);
    tare_model *m = open_bytes(g.b.data, g.b.size);
    tare_write_options options = options_of(m);
    written w;
    assert_int_equal(write_catalog(&w, m, &m->catalog, &options, NULL), TARE_OK);
    tare_model *out = open_bytes(w.files[0], w.plan.files[0].size);
    assert_int_equal(out->catalog.layout->version, 3);
    assert_int_equal(out->catalog.metadata[0].key.len, 1);
    const tare_array *a = &out->catalog.metadata[0].value.as.a;
    assert_int_equal(a->size_bytes, 8 + 2 + 8 + 1);
    assert_true(tare_value_equal(&m->catalog.metadata[0].value, &out->catalog.metadata[0].value));
    assert_int_equal(out->catalog.tensors[0].dims[0], 2);
    tare_model_free(out);
    free_written(&w);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static tare_model *open_shards(const written *w) {
    size_t n = w->plan.n_files;
    tare_source *shards = calloc(n, sizeof *shards);
    assert_non_null(shards);
    for (size_t i = 0; i < n; i++)
        shards[i] = (tare_source){.size = sizeof(tare_source),
                                  .kind = TARE_SOURCE_MEMORY,
                                  .name = w->plan.files[i].name,
                                  .memory = w->files[i],
                                  .n_bytes = w->plan.files[i].size};
    tare_source all = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_SHARDS, .shards = shards, .n_shards = n};
    tare_model *m;
    tare_error err;
    if (tare_model_open(&m, &all, NULL, &err) != TARE_OK) fail_msg("%s: %s", err.file, err.what);
    free(shards);
    return m;
}

/* Splits a model of tensors of `sizes` floats; each shard but that of a large tensor within the
 * size, and the set the same model as before. */
static void check_shards(const uint64_t *sizes, size_t n, uint64_t shard_size, uint32_t alignment,
                         size_t expected) {
    gguf_build g;
    build_begin(&g, 3, false);
    build_key_str(&g, "general.name", "a model with a name of some length");
    if (alignment) build_key_u32(&g, "general.alignment", alignment);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "t%zu", i);
        build_tensor(&g, name, 1, &sizes[i], 0, sizes[i] * 4);
    }
    build_end(&g);
    tare_model *m = open_bytes(g.b.data, g.b.size);
    tare_write_options options = options_of(m);
    options.shard_size = shard_size;
    written w, whole;
    assert_int_equal(write_catalog(&w, m, &m->catalog, &options, NULL), TARE_OK);
    assert_true(w.plan.is_directory);
    assert_int_equal(w.plan.n_files, expected);
    for (size_t i = 0; i < w.plan.n_files; i++) {
        size_t n_tensors = 0;
        for (size_t k = 0; k < w.plan.n_extents; k++)
            n_tensors +=
                w.plan.extents[k].file == i && w.plan.extents[k].kind == TARE_EXTENT_TENSOR;
        assert_true(w.plan.files[i].size <= shard_size || n_tensors == 1);
    }
    char name[40];
    snprintf(name, sizeof name, "m-00001-of-%05zu.gguf", expected);
    assert_string_equal(w.plan.files[0].name, expected > 1 ? name : "m.gguf");
    tare_model *set = expected > 1 ? open_shards(&w) : open_bytes(w.files[0], w.plan.files[0].size);
    assert_int_equal(set->n_files, expected);
    assert_int_equal(set->catalog.n_metadata, m->catalog.n_metadata);
    options = options_of(set);
    assert_int_equal(write_catalog(&whole, set, &set->catalog, &options, NULL), TARE_OK);
    check_same(&whole, g.b.data, g.b.size);
    free_written(&whole);
    free_written(&w);
    tare_model_free(set);
    tare_model_free(m);
    tare_buffer_free(&g.b);
}

static void test_shards(void **state) {
    (void)state;
    check_shards((uint64_t[]){64, 64, 64, 64, 64}, 5, 1024, 0, 2);
    check_shards((uint64_t[]){64, 4096, 64}, 3, 1024, 0, 3);     /* one too large for any */
    check_shards((uint64_t[]){64, 64, 64, 64}, 4, 1280, 256, 2); /* alignment in each shard */
    check_shards((uint64_t[]){64, 64}, 2, 4096, 0, 1);           /* all fits: no split keys */
    check_shards((uint64_t[]){208, 208}, 2, 1000, 0, 3); /* none beside the keys of the first */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_identity_without_tensors),
        cmocka_unit_test(test_identity_of_real_files),
        cmocka_unit_test(test_byte_order),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_old_version),
        cmocka_unit_test(test_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
