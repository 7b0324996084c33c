/* SPDX-License-Identifier: MIT
 *
 * Guards against sets of shards that are taken for less or more than they are: opened from any
 * member, as sources, from their directory; a member that is missing, misnumbered or alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/scratch_name.h"
#include "unit/gguf_build.h"

static char folder[SCRATCH_NAME_SIZE];

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(scratch_name(folder)) ? 0 : -1;
}

static const char *path_of(const char *name) {
    static char path[SCRATCH_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf",
                                        "m-00001-of-00003.gguf", "renamed.gguf",
                                        "single.gguf",           "notes.txt",
                                        "x.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(path_of(names[i]));
    return rmdir(folder);
}

static void put_file(const char *name, const tare_buffer *b) {
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->size, f), b->size);
    assert_int_equal(fclose(f), 0);
}

static void put_u16(gguf_build *g, const char *key, uint16_t v) {
    build_key(g, key, 2);
    tare_store_u16(tare_buffer_extend(&g->b, 2), v, g->is_big_endian);
}

static const char *own_architecture; /* of the second shard; NULL: no shard says one */

static void build_shard(gguf_build *g, uint16_t no, uint16_t n, uint32_t total, const char *tensor,
                        bool is_big_endian) {
    build_begin(g, 3, is_big_endian);
    if (no == 0) build_key_str(g, "general.name", "set");
    if (own_architecture) build_key_str(g, "general.architecture", no ? own_architecture : "llama");
    put_u16(g, "split.no", no);
    put_u16(g, "split.count", n);
    build_key(g, "split.tensors.count", 5), build_u32(g, total);
    if (no == 0) build_key_str(g, "general.type", "model");
    build_tensor(g, tensor, 1, (uint64_t[]){4u + no}, 0, 16u + 4u * no);
    build_end(g);
}

static void put_shard(const char *name, uint16_t no, uint16_t n, uint32_t total,
                      const char *tensor) {
    gguf_build g;
    build_shard(&g, no, n, total, tensor, false);
    put_file(name, &g.b);
    tare_buffer_free(&g.b);
}

static void put_set(void) {
    put_shard("m-00001-of-00002.gguf", 0, 2, 2, "a");
    put_shard("m-00002-of-00002.gguf", 1, 2, 2, "b");
}

static void check_set(tare_model *m) {
    const tare_model_summary *s = tare_model_summarize(m);
    assert_int_equal(s->n_files, 2);
    assert_int_equal(s->n_tensors, 2);
    assert_int_equal(s->n_metadata, 2); /* those about the split are left out */
    assert_int_equal(tare_model_find_key(m, TARE_STR("general.type")), 1);
    assert_int_equal(tare_model_find_tensor(m, TARE_STR("b")), 1);
    assert_int_equal(tare_model_tensor(m, 1)->planes[0].file, 1);
    uint8_t bytes[20];
    assert_int_equal(tare_tensor_read(bytes, m, 1, 0, 0, 20, NULL), TARE_OK);
    assert_int_equal(bytes[1], 8);
    tare_model_free(m);
}

static void test_any_member(void **state) {
    (void)state;
    tare_model *m;
    put_set();
    for (int map = 0; map < 2; map++) {
        tare_open_options options = tare_open_options_default();
        options.map = map ? TARE_MAP_READ : TARE_MAP_NONE;
        const char *path = path_of("m-00001-of-00002.gguf");
        assert_int_equal(tare_open_path(&m, path, &options, NULL), TARE_OK);
        check_set(m);
        path = path_of("m-00002-of-00002.gguf");
        assert_int_equal(tare_open_path(&m, path, &options, NULL), TARE_OK);
        check_set(m);
    }
}

static void test_sources(void **state) {
    (void)state;
    gguf_build g[2];
    tare_model *m;
    tare_error err;
    for (uint16_t i = 0; i < 2; i++) build_shard(&g[i], i, 2, 2, i ? "b" : "a", false);
    tare_source shards[2] = {
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_MEMORY, .name = "one"},
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_MEMORY, .name = "two"}};
    for (size_t i = 0; i < 2; i++) {
        shards[i].memory = g[i].b.data;
        shards[i].n_bytes = g[i].b.size;
    }
    tare_source all = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_SHARDS, .shards = shards, .n_shards = 2};
    assert_int_equal(tare_model_open(&m, &all, NULL, NULL), TARE_OK);
    check_set(m);
    tare_source swapped[2] = {shards[1], shards[0]};
    all.shards = swapped;
    assert_int_equal(tare_model_open(&m, &all, NULL, &err), TARE_ERR_CORRUPT);
    assert_string_equal(err.item_name, "split.no");
    assert_string_equal(err.file, "two");
    all.shards = shards;
    all.n_shards = 1;
    assert_int_equal(tare_model_open(&m, &all, NULL, &err), TARE_ERR_CORRUPT);
    assert_string_equal(err.item_name, "split.count");
    all.n_shards = 0;
    assert_int_equal(tare_model_open(&m, &all, NULL, &err), TARE_ERR_ARG);
    /* A single one whose siblings cannot be told, and the same asked for alone. */
    assert_int_equal(tare_model_open(&m, &shards[1], NULL, &err), TARE_ERR_ARG);
    tare_open_options options = tare_open_options_default();
    options.one_shard = true;
    assert_int_equal(tare_model_open(&m, &shards[1], &options, &err), TARE_OK);
    assert_int_equal(tare_model_find_key(m, TARE_STR("split.no")), 0);
    tare_model_free(m);
    for (size_t i = 0; i < 2; i++) tare_buffer_free(&g[i].b);
}

static void test_mixed_byte_order(void **state) {
    (void)state;
    gguf_build g;
    tare_model *m;
    tare_error err;
    put_set();
    build_shard(&g, 1, 2, 2, "b", true);
    put_file("m-00002-of-00002.gguf", &g.b);
    tare_buffer_free(&g.b);
    tare_status s = tare_open_path(&m, path_of("m-00001-of-00002.gguf"), NULL, &err);
    assert_int_equal(s, TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, 4);
    assert_non_null(strstr(err.file, "m-00002-of"));
}

static void test_missing(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    put_set();
    unlink(path_of("m-00002-of-00002.gguf"));
    tare_status s = tare_open_path(&m, path_of("m-00001-of-00002.gguf"), NULL, &err);
    assert_int_equal(s, TARE_ERR_IO);
    assert_int_equal(err.os_error, ENOENT);
    assert_non_null(strstr(err.file, "m-00002-of-00002.gguf"));
    tare_open_options options = tare_open_options_default();
    options.one_shard = true;
    s = tare_open_path(&m, path_of("m-00001-of-00002.gguf"), &options, &err);
    assert_int_equal(s, TARE_OK);
    tare_model_free(m);
}

static void test_totals(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    put_shard("m-00001-of-00002.gguf", 0, 2, 3, "a");
    put_shard("m-00002-of-00002.gguf", 1, 2, 3, "b");
    tare_status s = tare_open_path(&m, path_of("m-00002-of-00002.gguf"), NULL, &err);
    assert_int_equal(s, TARE_ERR_CORRUPT);
    assert_string_equal(err.item_name, "split.tensors.count");
    put_shard("m-00001-of-00002.gguf", 0, 2, 2, "a");
    put_shard("m-00002-of-00002.gguf", 1, 2, 2, "a");
    s = tare_open_path(&m, path_of("m-00001-of-00002.gguf"), NULL, &err);
    assert_int_equal(s, TARE_ERR_CORRUPT);
    assert_int_equal(err.item, 1);
    assert_non_null(strstr(err.file, "m-00002-of"));
}

/* A file that only has the name of a shard is opened as what it is. */
static void test_name_only(void **state) {
    (void)state;
    gguf_build g;
    tare_model *m;
    build_begin(&g, 3, false);
    build_tensor(&g, "t", 1, (uint64_t[]){8}, 0, 32);
    build_end(&g);
    put_file("m-00001-of-00003.gguf", &g.b);
    tare_buffer_free(&g.b);
    assert_int_equal(tare_open_path(&m, path_of("m-00001-of-00003.gguf"), NULL, NULL), TARE_OK);
    tare_model_free(m);
    unlink(path_of("m-00001-of-00003.gguf"));
}

static void test_directory(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    gguf_build g;
    put_set();
    tare_buffer text = {.data = (uint8_t *)(uintptr_t) "notes", .size = 5};
    put_file("notes.txt", &text);
    assert_int_equal(tare_open_path(&m, folder, NULL, NULL), TARE_OK);
    check_set(m);
    build_begin(&g, 3, false);
    build_end(&g);
    put_file("single.gguf", &g.b);
    assert_int_equal(tare_open_path(&m, folder, NULL, &err), TARE_ERR_UNSUPPORTED);
    unlink(path_of("m-00001-of-00002.gguf"));
    unlink(path_of("m-00002-of-00002.gguf"));
    assert_int_equal(tare_open_path(&m, folder, NULL, NULL), TARE_OK);
    const tare_file_info *file;
    assert_true((file = tare_model_file(m, 0)) != NULL);
    assert_string_equal(file->name, path_of("single.gguf"));
    tare_model_free(m);
    unlink(path_of("single.gguf"));
    tare_buffer_free(&g.b);
    assert_int_equal(tare_open_path(&m, folder, NULL, &err), TARE_ERR_UNSUPPORTED);
}

/* A shard that names another architecture is of another model; one that repeats it is not. */
static void test_other_model(void **state) {
    (void)state;
    tare_model *m;
    tare_error err = TARE_ERROR_NONE;
    const char *path = path_of("m-00001-of-00002.gguf");
    own_architecture = "llama";
    put_set();
    assert_int_equal(tare_open_path(&m, path, NULL, NULL), TARE_OK);
    tare_model_free(m);
    own_architecture = "qwen2";
    put_set();
    own_architecture = NULL;
    assert_int_equal(tare_open_path(&m, path, NULL, &err), TARE_ERR_CORRUPT);
    assert_string_equal(err.what, "not that of the first shard: this one is of another model");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_model), cmocka_unit_test(test_any_member),
        cmocka_unit_test(test_sources),     cmocka_unit_test(test_mixed_byte_order),
        cmocka_unit_test(test_missing),     cmocka_unit_test(test_totals),
        cmocka_unit_test(test_name_only),   cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
