/* SPDX-License-Identifier: MIT
 *
 * Guards against: packed files that are not read as what they were, down to the last key; parts of
 * tensors that differ from the whole, by one thread or several; segments kept without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/unpack.h>
#include <tare/inspect.h>

#include "base/bytes.h"
#include "base/pool.h"
#include "convert_help.h"
#include "format/wcodec/wcodec_virtual.h"
#include "support/memory_source.h"
#include "wc_random.h"
#include "wcodec_build.h"

static void save(const char *name, const uint8_t *bytes, size_t size) {
    FILE *f = fopen(help_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Packs the model at a path. */
static void pack(const char *from, unsigned form, const char *to) {
    tare_model *m = help_open(help_path(from));
    size_t size;
    uint8_t *bytes = build_packed(m, form, &size);
    save(to, bytes, size);
    free(bytes);
    tare_model_free(m);
}

static void write_model(const char *name, const char *format, unsigned content, bool is_big) {
    made_model made;
    tare_model *m = help_make(&made, content);
    tare_convert_options o = tare_convert_options_default();
    o.to = format;
    if (is_big) o.order = TARE_ORDER_BIG;
    help_convert(help_path(name), m, &o);
    made_free(&made);
}

/* What the container says of itself, held against the files; a tensor's bytes against its layer. */
static void check_container(const tare_model *m, const tare_model *original, const char *format) {
    tare_model_summary sum;
    tare_container_info c = tare_container_info_default();
    tare_container_base base = tare_container_base_default();
    uint64_t bytes, all = 0;
    assert_false(tare_model_container(&c, original));
    assert_false(tare_tensor_packed_bytes(&bytes, original, 0));
    assert_true(tare_model_container(&c, m));
    assert_false(tare_model_container_base(&base, m, 0));
    assert_true(c.major_version == 1 && c.minor_version == 2);
    if (format) {
        sum = *tare_model_summarize(original);
        assert_string_equal(c.format, format);
        assert_int_equal(c.format_version, sum.version);
        assert_int_equal(c.unpacked_bytes, sum.file_bytes);
        assert_int_equal(c.n_files, sum.n_files);
        assert_int_equal(c.is_directory, sum.n_files > 1);
    } else {
        assert_true(!c.format && !c.n_files && !c.is_directory);
    }
    sum = *tare_model_summarize(m);
    assert_int_equal(sum.version, 1);
    for (size_t i = 0; i < sum.n_tensors; i++) {
        assert_true(tare_tensor_packed_bytes(&bytes, m, i));
        assert_true((bytes > 0) == (tare_model_stored(m, i)->size_bytes > 0) && bytes % 128 == 0);
        all += bytes;
    }
    assert_in_range(all, 1, c.packed_bytes);
    assert_false(tare_tensor_packed_bytes(&bytes, m, sum.n_tensors));
}

/* A packed file opens as the file: the same content, and converting it gives the same bytes. */
static void check_file(const char *name, const char *format, unsigned content, bool is_big) {
    tare_convert_options o = tare_convert_options_default();
    tare_model_summary sum;
    write_model(name, format, content, is_big);
    pack(name, 1, "packed.wcodec");
    tare_model *original = help_open(help_path(name)), *m = help_open(help_path("packed.wcodec"));
    sum = *tare_model_summarize(m);
    assert_string_equal(sum.format, "wcodec");
    assert_int_equal(sum.is_big_endian, is_big);
    check_container(m, original, format);
    help_check_same(original, m);
    o.to = format;
    help_convert(help_path("again"), m, &o);
    help_check_same_file(help_path(name), help_path("again"));
    tare_model_free(original);
    tare_model_free(m);
    help_remove(help_path(name));
    help_remove(help_path("again"));
}

static void packed_files_are_what_they_were(void **state) {
    (void)state;
    check_file("a.gguf", "gguf", HELP_COMMON | HELP_CARRIED | HELP_BLOCKS | HELP_METADATA, false);
    check_file("big.gguf", "gguf", HELP_COMMON | HELP_METADATA, true);
    check_file("a.safetensors", "safetensors", HELP_COMMON | HELP_CARRIED | HELP_METADATA, false);
    check_file("a.mcf", "mcf", HELP_COMMON | HELP_METADATA, false);
}

static void check_directory(const char *name, const char *format, uint64_t shard_size) {
    made_model made;
    tare_model *from = help_make(&made, HELP_COMMON | HELP_METADATA);
    tare_convert_options o = tare_convert_options_default();
    o.to = format;
    o.shard_size = shard_size;
    help_convert(help_path(name), from, &o);
    made_free(&made);
    pack(name, 2, "packed.wcodec");
    tare_model *original = help_open(help_path(name)), *m = help_open(help_path("packed.wcodec"));
    assert_int_equal(m->n_files, original->n_files);
    check_container(m, original, format);
    help_check_same(original, m);
    tare_model_free(original);
    tare_model_free(m);
    help_remove(help_path(name));
}

static void packed_directories_are_what_they_were(void **state) {
    (void)state;
    check_directory("hf", "hf", 0);
    check_directory("set", "gguf", 4000);
    check_directory("a.infq", "infq", 0);
}

/* ---- without files --------------------------------------------------------------------------- */

static const char metadata[] = "[{\"key\":\"general.name\",\"type\":\"string\",\"value\":\"made\"},"
                               "{\"key\":\"k.u8\",\"type\":\"u8\",\"value\":7}]";

static uint8_t *build_plain(const tare_model *m, size_t *size) {
    static wcodec_build b;
    build_start(&b);
    build_tensors(&b, m);
    build_bytes(&b, TARE_WCODEC_RESOURCE, "config.json", "{}\n", 3);
    build_bytes(&b, TARE_WCODEC_METADATA, "", metadata, sizeof metadata - 1);
    build_bytes(&b, TARE_WCODEC_RESOURCE, "empty.txt", "", 0);
    return build_end(&b, size);
}

static void layers_are_a_model(void **state) {
    (void)state;
    made_model made;
    size_t size;
    char text[3];
    uint64_t number = 0;
    tare_model *from = help_make(&made, HELP_COMMON | HELP_CARRIED | HELP_ALL_BLOCKS);
    uint8_t *bytes = build_plain(from, &size);
    save("plain.wcodec", bytes, size);
    tare_model *m = help_open(help_path("plain.wcodec"));
    assert_int_equal(m->catalog.n_tensors, from->catalog.n_tensors);
    check_container(m, from, NULL);
    for (size_t i = 0; i < m->catalog.n_tensors; i++) help_check_tensor(from, m, i, true);
    int64_t key = tare_model_find_key(m, TARE_STR("k.u8"));
    assert_true(key == 1 && tare_value_u64(&number, &tare_model_metadata(m, 1)->value));
    assert_int_equal(number, 7);
    assert_int_equal(m->catalog.n_resources, 2);
    assert_int_equal(tare_resource_read(text, m, 0, 0, 3, NULL), TARE_OK);
    assert_memory_equal(text, "{}\n", 3);
    assert_int_equal(tare_model_resource(m, 1)->size, 0);
    tare_model_free(m);
    made_free(&made);
    free(bytes);
}

/* ---- reading in part ------------------------------------------------------------------------- */

enum { BIG = 5000000, READERS = 4, READS = 300 };

typedef struct readers {
    tare_packed *store;
    const uint8_t *bytes;
} readers;

static tare_status read_parts(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const readers *r = ctx;
    uint64_t seed = task + 1;
    uint8_t *part = malloc(BIG);
    (void)worker;
    for (unsigned i = 0; i < READS; i++) {
        uint64_t from = wc_random(&seed) % BIG;
        size_t n = (size_t)(wc_random(&seed) % (i % 10 ? 40000 : 400000)) + 1;
        n = n < BIG - from ? n : (size_t)(BIG - from);
        tare_status status = tare_packed_read(r->store, 0, 0, from, part, n, err);
        if (status == TARE_OK && memcmp(part, r->bytes + from, n) != 0)
            status = tare_fail_at(err, TARE_ERR_CORRUPT, from, "a part differs");
        if (status != TARE_OK) {
            free(part);
            return status;
        }
    }
    free(part);
    return TARE_OK;
}

/* Sizes that are cut into one plane, two and three. */
static void parts_are_those_of_the_whole(void **state) {
    (void)state;
    static wcodec_build b;
    const tare_limits limits = tare_limits_default();
    uint8_t *bytes = malloc(BIG);
    uint64_t seed = 77;
    assert_non_null(bytes);
    for (size_t i = 0; i < BIG; i++) bytes[i] = (uint8_t)(wc_random(&seed) % 41);
    for (size_t n = BIG - 8; n <= BIG; n++) {
        tare_packed *store;
        tare_reader file;
        tare_error err;
        size_t size;
        build_start(&b);
        build_bytes(&b, TARE_WCODEC_BYTES, "", bytes, n);
        uint8_t *packed = build_end(&b, &size);
        tare_reader_memory(&file, packed, size, "packed");
        assert_int_equal(tare_packed_open(&store, &file, &limits, NULL, &err), TARE_OK);
        readers all = {store, bytes};
        tare_run run = {
            .context.threads = READERS, .n_tasks = READERS, .task = read_parts, .ctx = &all};
        if (n == BIG) assert_int_equal(tare_run_parallel(&run, &err), TARE_OK);
        uint8_t *whole = malloc(n);
        assert_int_equal(tare_packed_read(store, 0, 0, 0, whole, n, &err), TARE_OK);
        assert_memory_equal(whole, bytes, n);
        free(whole);
        tare_packed_free(store);
        free(packed);
    }
    free(bytes);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static tare_status open_memory(const uint8_t *bytes, size_t size, tare_error *err) {
    tare_source source = memory_source(bytes, size);
    tare_model *m;
    tare_status status = tare_model_open(&m, &source, NULL, err);
    tare_model_free(m);
    return status;
}

/* Cut anywhere, or with a bit of the directory turned, a container does not open. */
static void a_damaged_directory_is_refused(void **state) {
    (void)state;
    made_model made;
    size_t size;
    tare_error err;
    uint8_t *bytes = build_plain(help_make(&made, HELP_COMMON), &size);
    assert_int_equal(open_memory(bytes, size, &err), TARE_OK);
    for (size_t n = 0; n < size; n++) assert_int_not_equal(open_memory(bytes, n, &err), TARE_OK);
    uint64_t index = tare_load_le64(bytes + 51);
    for (size_t i = 0; i < size; i = i + 1 == TARE_WCODEC_HEADER ? (size_t)index : i + 1) {
        bytes[i] ^= (uint8_t)(1 << i % 8);
        assert_int_not_equal(open_memory(bytes, size, &err), TARE_OK);
        assert_true(err.what && err.what[0]);
        bytes[i] ^= (uint8_t)(1 << i % 8);
    }
    made_free(&made);
    free(bytes);
}

/* The model of a test has no digest; a segment whose CRC is changed is missed by its layer. */
static void verifying_looks_at_layers_and_digest(void **state) {
    (void)state;
    made_model made;
    size_t size;
    tare_error err;
    tare_context o = tare_context_default();
    uint8_t *bytes = build_plain(help_make(&made, HELP_COMMON), &size);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        const tare_limits limits = tare_limits_default();
        tare_packed *store;
        tare_reader file;
        tare_reader_memory(&file, bytes, size, "packed");
        assert_int_equal(tare_packed_open(&store, &file, &limits, NULL, &err), TARE_OK);
        const tare_coded_stream *p = &tare_wcodec_store_index(store)->layers[0].coded.streams[0];
        if (damaged) bytes[TARE_WCODEC_HEADER + p->position + p->head_bytes + 5] ^= 1;
        tare_packed_free(store);
        save("plain.wcodec", bytes, size);
        tare_model *m = help_open(help_path("plain.wcodec"));
        o.report = tare_report_new();
        assert_int_equal(tare_verify_data(m, &o, &err), TARE_OK);
        assert_int_equal(help_findings(o.report, "wcodec.layer"), damaged);
        assert_int_equal(help_findings(o.report, "wcodec.segment"), damaged);
        assert_int_equal(help_findings(o.report, "wcodec.digest"), !damaged);
        tare_report_free(o.report);
        tare_model_free(m);
    }
    made_free(&made);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_files_are_what_they_were),
        cmocka_unit_test(packed_directories_are_what_they_were),
        cmocka_unit_test(layers_are_a_model),
        cmocka_unit_test(parts_are_those_of_the_whole),
        cmocka_unit_test(a_damaged_directory_is_refused),
        cmocka_unit_test(verifying_looks_at_layers_and_digest),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
