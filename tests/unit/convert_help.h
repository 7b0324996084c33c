/* SPDX-License-Identifier: MIT
 *
 * What the tests of conversion share: a model that has everything, conversion in a directory of
 * its own, and comparison of content. For cmocka tests, which include cmocka.h before this. */
#ifndef TESTS_UNIT_CONVERT_HELP_H
#define TESTS_UNIT_CONVERT_HELP_H

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/llama.h>
#include <tare/model.h>
#include <tare/output.h>

#include "format/format.h"
#include "made_model.h"
#include "support/scratch_name.h"

/* ---- files ----------------------------------------------------------------------------------- */

static char help_dir[SCRATCH_NAME_SIZE];

static inline int help_set_up(void **state) {
    (void)state;
    return mkdtemp(scratch_name(help_dir)) ? 0 : -1;
}

static inline int help_remove_entry(const char *path, const struct stat *st, int kind,
                                    struct FTW *walk) {
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

/* A file, or a directory with all that is in it. */
static inline void help_remove(const char *path) {
    nftw(path, help_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int help_tear_down(void **state) {
    (void)state;
    help_remove(help_dir);
    return 0;
}

/* "DIR/name"; a few at a time. */
static inline const char *help_path(const char *name) {
    static char paths[8][SCRATCH_PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", help_dir, name);
    return path;
}

static inline size_t help_count_entries(const char *path) {
    DIR *d = opendir(path);
    size_t n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

/* A whole file; free it. */
static inline uint8_t *help_read(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static inline void help_check_same_file(const char *a, const char *b) {
    size_t n_a, n_b;
    uint8_t *bytes_a = help_read(a, &n_a), *bytes_b = help_read(b, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(bytes_a, bytes_b, n_a);
    free(bytes_a);
    free(bytes_b);
}

/* ---- converting ------------------------------------------------------------------------------ */

static inline tare_model *help_open(const char *path) {
    tare_model *m;
    tare_error err = {0};
    if (tare_open_path(&m, path, NULL, &err) != TARE_OK) {
        char line[512];
        tare_error_format(line, sizeof line, &err, path);
        fail_msg("%s", line);
    }
    return m;
}

static inline tare_status help_try(const char *path, const tare_model *in,
                                   const tare_convert_options *options, tare_error *err) {
    tare_convert_options o = *options;
    tare_output_options output = o.output ? *o.output : tare_output_options_default();
    tare_llama_translate_options names = tare_llama_translate_options_default();
    names.keep_names = true; /* containers are what these tests are about */
    output.no_sync = true;
    o.output = &output;
    o.names = &names;
    return tare_convert(path, in, &o, err);
}

static inline void help_convert(const char *path, const tare_model *in,
                                const tare_convert_options *options) {
    tare_error err = {0};
    if (help_try(path, in, options, &err) != TARE_OK) {
        char line[512];
        tare_error_format(line, sizeof line, &err, path);
        fail_msg("%s", line);
    }
}

/* Whether a format holds models of any program: others hold tensors under names of their own. */
static inline bool help_holds_any(const tare_format_info *format) {
    return format->can_write && !tare_format_find(format->name)->caps->fixed_type;
}

/* How many findings have this code. */
static inline size_t help_findings(const tare_report *report, const char *code) {
    size_t n = 0;
    for (size_t i = 0; i < tare_report_count(report); i++)
        n += strcmp(tare_report_at(report, i)->code, code) == 0;
    return n;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static inline void help_check_tensor(const tare_model *a, const tare_model *b, size_t i,
                                     bool keeps_order) {
    const tare_tensor *x = tare_model_tensor(a, i);
    int64_t at = tare_model_find_tensor(b, x->name);
    if (at < 0) fail_msg("tensor %.*s is missing", (int)x->name.len, x->name.ptr);
    if (keeps_order) assert_int_equal(at, i);
    const tare_tensor *y = tare_model_tensor(b, (size_t)at);
    assert_ptr_equal(x->encoding, y->encoding);
    assert_int_equal(x->n_dims, y->n_dims);
    for (uint32_t d = 0; d < x->n_dims; d++) assert_int_equal(x->dims[d], y->dims[d]);
    if (x->encoding->kind == TARE_KIND_UNKNOWN) assert_int_equal(x->native_type, y->native_type);
    for (uint32_t p = 0; p < x->encoding->n_planes; p++) {
        size_t n = (size_t)x->planes[p].size;
        assert_int_equal(n, y->planes[p].size);
        uint8_t *bytes = malloc(2 * n + 1);
        assert_int_equal(tare_tensor_read(bytes, a, i, p, 0, n, NULL), TARE_OK);
        assert_int_equal(tare_tensor_read(bytes + n, b, (size_t)at, p, 0, n, NULL), TARE_OK);
        assert_memory_equal(bytes, bytes + n, n);
        free(bytes);
    }
}

/* Whether some container has brought the tensors into the order of their names. */
static inline bool help_is_sorted(const tare_model *m) {
    const tare_catalog *c = &m->catalog;
    for (size_t i = 1; i < c->n_tensors; i++)
        if (tare_str_compare(c->tensors[i - 1].name, c->tensors[i].name) > 0) return false;
    return true;
}

static inline void help_check_resource(const tare_model *a, const tare_model *b, size_t i) {
    const tare_resource *r = tare_model_resource(a, i);
    int64_t at = tare_model_find_resource(b, r->name);
    assert_true(at >= 0);
    assert_int_equal(tare_model_resource(b, (size_t)at)->size, r->size);
    size_t n = (size_t)r->size;
    uint8_t *bytes = malloc(2 * n + 1);
    assert_int_equal(tare_resource_read(bytes, a, i, 0, n, NULL), TARE_OK);
    assert_int_equal(tare_resource_read(bytes + n, b, (size_t)at, 0, n, NULL), TARE_OK);
    assert_memory_equal(bytes, bytes + n, n);
    free(bytes);
}

/* Tensors in their order, or in that of their names, with their bytes, metadata of each space,
 * resources. */
static inline void help_check_same(const tare_model *a, const tare_model *b) {
    tare_model_summary x, y;
    x = *tare_model_summarize(a);
    y = *tare_model_summarize(b);
    assert_int_equal(x.n_tensors, y.n_tensors);
    bool keeps_order = !help_is_sorted(b);
    for (size_t i = 0; i < x.n_tensors; i++) help_check_tensor(a, b, i, keeps_order);
    for (size_t i = 0; i < x.n_metadata; i++) {
        const tare_metadata *e = tare_model_metadata(a, i), *found = NULL;
        for (size_t k = 0; !found && k < y.n_metadata; k++) {
            const tare_metadata *other = tare_model_metadata(b, k);
            if (other->space == e->space && tare_str_equal(other->key, e->key)) found = other;
        }
        if (!found) fail_msg("key %.*s is missing", (int)e->key.len, e->key.ptr);
        assert_true(tare_value_equal(&e->value, &found->value));
    }
    assert_int_equal(x.n_metadata, y.n_metadata);
    assert_int_equal(x.n_resources, y.n_resources);
    for (size_t i = 0; i < x.n_resources; i++) help_check_resource(a, b, i);
}

/* ---- a model that has everything ------------------------------------------------------------- */

/* What is in it: types that every container has, types that some stand-in carries, block types that
 * decode, and all the others. */
typedef enum help_content {
    HELP_COMMON = 1,
    HELP_CARRIED = 2,
    HELP_BLOCKS = 4,
    HELP_ALL_BLOCKS = 8,
    HELP_METADATA = 16,
} help_content;

static inline bool help_is_common(const tare_encoding *e) {
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
        return false;
    }
}

static inline bool help_is_wanted(const tare_encoding *e, unsigned content) {
    if (e->kind == TARE_KIND_UNKNOWN) return false;
    if (help_is_common(e)) return content & HELP_COMMON;
    if (e->kind != TARE_KIND_BLOCK) return content & HELP_CARRIED;
    if (e->n_planes > 1) return content & HELP_ALL_BLOCKS; /* no format of this test has them */
    return tare_encoding_can_decode(e) ? content & (HELP_BLOCKS | HELP_ALL_BLOCKS)
                                       : content & HELP_ALL_BLOCKS;
}

/* Any bits but NaN and Inf in the high byte of a float: conversions that decode keep quiet. */
static inline void help_fill(uint8_t *bytes, uint64_t n) {
    static uint32_t seed = 1;
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24) & 0x3F;
    }
}

static inline void help_add(made_model *made, const char *name, tare_encoding_id id,
                            const uint64_t *dims, uint32_t n_dims) {
    size_t i = made->model->catalog.n_tensors;
    uint8_t *bytes = made_add(made, tare_str_of(name), id, dims, n_dims);
    help_fill(bytes, made->model->catalog.tensors[i].size_bytes);
}

static inline void help_add_metadata(made_model *made) {
    tare_catalog *c = &made->model->catalog;
    static const uint8_t nested[] = {8, 0, 0, 0, 2, 0,   0, 0, 0, 0, 0, 0, 1, 0, 0,
                                     0, 0, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t numbers[] = {1, 0, 2, 0, 0xFF, 0xFF};
#define KEY(name, kind, ...)                                                                       \
    { TARE_STR(name), {.type = TARE_VALUE_##kind, __VA_ARGS__}, 0, TARE_NO_OFFSET }
    const tare_metadata all[] = {
        KEY("general.name", STRING, .as.s = TARE_STR("a \"name\" \xC3\xA9")),
        KEY("k.bytes", STRING, .as.s = TARE_STR("not \xFF UTF-8 \x01")),
        KEY("k.empty", STRING, .as.s = TARE_STR("")),
        KEY("k.u8", U8, .as.u = 255),
        KEY("k.i8", I8, .as.i = -128),
        KEY("k.u16", U16, .as.u = 65535),
        KEY("k.i16", I16, .as.i = -32768),
        KEY("k.u32", U32, .as.u = UINT32_MAX),
        KEY("k.i32", I32, .as.i = INT32_MIN),
        KEY("k.f32", F32, .as.f = 0.1f),
        KEY("k.bool", BOOL, .as.u = 1),
        KEY("k.u64", U64, .as.u = UINT64_MAX),
        KEY("k.i64", I64, .as.i = INT64_MIN),
        KEY("k.f64", F64, .as.f = 0.1),
        KEY("k.numbers", ARRAY,
            .as.a = {.type = TARE_VALUE_I16, .count = 3, .bytes = numbers, .size_bytes = 6}),
        KEY("k.nested", ARRAY,
            .as.a = {.type = TARE_VALUE_ARRAY, .count = 1, .bytes = nested, .size_bytes = 29}),
        {TARE_STR("format"),
         {.type = TARE_VALUE_STRING, .as.s = TARE_STR("pt")},
         TARE_KEYS_SAFETENSORS,
         TARE_NO_OFFSET},
        {TARE_STR("general.name"),
         {.type = TARE_VALUE_STRING, .as.s = TARE_STR("pair")},
         TARE_KEYS_SAFETENSORS,
         TARE_NO_OFFSET},
    };
#undef KEY
    c->n_metadata = sizeof all / sizeof *all;
    c->metadata = TARE_NEW_ARRAY(&made->model->arena, tare_metadata, c->n_metadata + 1);
    memcpy(c->metadata, all, sizeof all);
    static const char config[] = "{\"model_type\":\"none\"}\n", binary[] = "\x00\xFF\r\n\x80";
    static const char *const names[] = {"config.json", "tokenizer.model", "empty.txt"};
    c->n_resources = 3;
    c->resources = TARE_NEW_ARRAY(&made->model->arena, tare_resource_entry, 3);
    for (size_t i = 0; i < 3; i++) {
        const char *text = i == 0 ? config : binary;
        size_t size = i == 0 ? sizeof config - 1 : i == 1 ? sizeof binary - 1 : 0;
        c->resources[i] = (tare_resource_entry){.info = {tare_str_of(names[i]), size},
                                                .bytes = (const uint8_t *)text};
    }
}

static inline tare_model *help_make(made_model *made, unsigned content) {
    static const uint64_t matrix[] = {3, 256}, deep[] = {2, 1, 2, 3, 1, 32}, none[] = {4, 0},
                          vector[] = {40};
    made_begin(made, 1 << 20, 200, 8);
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        char name[80];
        if (!help_is_wanted(e, content)) continue;
        snprintf(name, sizeof name, "matrix.%s.weight", e->name);
        help_add(made, name, e->id, matrix, 2);
        if (e->block > 32 || (e->kind == TARE_KIND_BLOCK && !(content & HELP_CARRIED))) continue;
        if (content & HELP_CARRIED) {
            snprintf(name, sizeof name, "deep.%s.weight", e->name);
            help_add(made, name, e->id, deep, 6);
            snprintf(name, sizeof name,
                     "a.name.of.more.than.63.bytes.%s.and.it.goes.on.and.on.and.on.weight",
                     e->name);
            help_add(made, name, e->id, matrix, 2);
        }
    }
    help_add(made, "empty", TARE_ENCODING_F32, none, 2);
    help_add(made, "scalar", TARE_ENCODING_F32, NULL, 0);
    help_add(made, "odd", TARE_ENCODING_I16, vector, 1);
    if (content & HELP_METADATA) help_add_metadata(made);
    tare_model *m = made_finish(made, false, NULL, 0);
    m->catalog.layout = NULL; /* made by nobody's format */
    return m;
}

#endif
