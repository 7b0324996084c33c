/* SPDX-License-Identifier: MIT
 *
 * Guards against: an index that is believed against its shards or leads out of its folder, a set
 * that opens with a member missing, sets whose order depends on the index, written sets that are
 * too large or that do not open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "format/format.h"
#include "unit/plan_bytes.h"
#include "unit/safetensors_sample.h"
#include "unit/temp_folder.h"

#define FIRST  "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"
#define INDEX  "model.safetensors.index.json"

#define TENSOR(name, begin, end)                                                                   \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

static const char good_index[] = "{\"metadata\":{\"total_size\":6},\"weight_map\":{\"c\":\"" SECOND
                                 "\",\"b\":\"" FIRST "\",\"a\":\"" FIRST "\"}}";

static void write_shard(const char *name, const char *header, size_t n_data) {
    sample s = sample_of(header, n_data);
    write_temp(name, s.bytes, s.size);
    free(s.bytes);
}

static int make_set(void **state) {
    if (make_temp_folder(state)) return -1;
    write_shard(FIRST,
                "{\"__metadata__\":{\"format\":\"pt\"}," TENSOR("b", "0", "2") "," TENSOR("a", "2",
                                                                                          "4") "}",
                4);
    write_shard(SECOND, "{\"__metadata__\":{\"format\":\"pt\"}," TENSOR("c", "0", "2") "}", 2);
    write_temp_text(INDEX, good_index);
    return 0;
}

static tare_status open_temp(tare_model **m, const char *name, bool one_shard, tare_report *report,
                             tare_error *err) {
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    options.one_shard = one_shard;
    context.report = report;
    return tare_open_path(m, temp_path(name), &options, err);
}

static void assert_whole_set(const tare_model *m) {
    assert_int_equal(m->n_files, 2);
    assert_int_equal(m->catalog.n_tensors, 3);
    assert_true(tare_str_is(m->catalog.tensors[0].name, "b"));
    assert_true(tare_str_is(m->catalog.tensors[1].name, "a"));
    assert_true(tare_str_is(m->catalog.tensors[2].name, "c"));
    assert_int_equal(m->catalog.tensors[2].planes[0].file, 1);
    assert_int_equal(m->catalog.n_metadata, 1);
    uint8_t bytes[2];
    assert_int_equal(tare_tensor_read(bytes, m, 1, 0, 0, 2, NULL), TARE_OK);
    assert_int_equal(bytes[0], 2);
    assert_int_equal(tare_tensor_read(bytes, m, 2, 0, 0, 2, NULL), TARE_OK);
    assert_int_equal(bytes[0], 0);
}

static void any_member_opens_the_set(void **state) {
    (void)state;
    static const char *const names[] = {INDEX, FIRST, SECOND};
    for (int with_index = 1; with_index >= 0; with_index--) {
        for (size_t i = with_index ? 0 : 1; i < 3; i++) {
            tare_report *report = tare_report_new();
            tare_error err;
            tare_model *m;
            if (open_temp(&m, names[i], false, report, &err)) fail_msg("%s", err.what);
            assert_int_equal(tare_report_count(report), 0);
            assert_whole_set(m);
            tare_model_free(m);
            tare_report_free(report);
        }
        unlink(temp_path(INDEX));
    }
}

static void one_shard_opens_alone(void **state) {
    (void)state;
    tare_model *m;
    tare_error err;
    assert_int_equal(open_temp(&m, SECOND, true, NULL, &err), TARE_OK);
    assert_int_equal(m->catalog.n_tensors, 1);
    tare_model_free(m);
}

static void sources_make_a_set(void **state) {
    (void)state;
    sample a = sample_of("{" TENSOR("x", "0", "2") "}", 2);
    tare_source shards[] = {
        {.size = sizeof(tare_source),
         .kind = TARE_SOURCE_MEMORY,
         .memory = a.bytes,
         .n_bytes = a.size,
         .fd = -1},
        {.size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = temp_path(FIRST), .fd = -1},
    };
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_SHARDS,
                          .shards = shards,
                          .n_shards = 2,
                          .fd = -1};
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_model_open(&m, &source, NULL, &err), TARE_OK);
    assert_int_equal(m->catalog.n_tensors, 3);
    tare_model_free(m);

    shards[1] = shards[0]; /* the same tensor in two files */
    assert_int_equal(tare_model_open(&m, &source, NULL, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, 9);
    assert_string_equal(err.item_name, "x");
    free(a.bytes);
}

/* The first string, in the index, of what the error is about; its byte is checked. */
typedef struct index_case {
    const char *index;
    tare_status status;
    const char *at; /* NULL: no byte of the index */
    const char *tensor;
} index_case;

#define MAP(members) "{\"weight_map\":{" members "}}"

static const index_case cases[] = {
    {"{\"weight_map\":[]}", TARE_ERR_CORRUPT, "[]", ""},
    {"{\"weight_map\":{}}", TARE_ERR_CORRUPT, "{}", ""},
    {"{\"x\":{\"weight_map\":{}}}", TARE_ERR_CORRUPT, "{\"x", ""},
    {"{\"weight_map\":{},\"metadata\":{}", TARE_ERR_CORRUPT, "", ""},
    {MAP("\"a\":1"), TARE_ERR_CORRUPT, "1}", ""},
    {MAP("\"a\":\"" FIRST "\"},\"weight_map\":{"), TARE_ERR_CORRUPT, "\"weight_map\":{}", ""},
    {MAP("\"a\":\"../" FIRST "\""), TARE_ERR_CORRUPT, "\"../", ""},
    {MAP("\"a\":\"/" FIRST "\""), TARE_ERR_CORRUPT, "\"/", ""},
    {MAP("\"a\":\"..\""), TARE_ERR_CORRUPT, "\"..\"", ""},
    {MAP("\"a\":\"\""), TARE_ERR_CORRUPT, "\"\"", ""},
    {MAP("\"a\":\"x\\u0000y\""), TARE_ERR_CORRUPT, "\"x", ""},
    {MAP("\"a\":\"sub/../" FIRST "\""), TARE_ERR_CORRUPT, "\"sub", ""},
    {MAP("\"a\":\"sub/" FIRST "\""), TARE_ERR_IO, NULL, ""},
    {MAP("\"a\":\"nowhere.safetensors\""), TARE_ERR_IO, NULL, ""},
};

static void index_rules_name_byte_and_tensor(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const index_case *c = &cases[i];
        write_temp_text(INDEX, c->index);
        tare_error err;
        tare_model *m;
        tare_status status = open_temp(&m, INDEX, false, NULL, &err);
        uint64_t at = TARE_NO_OFFSET;
        if (c->at) {
            const char *found = c->at[0] ? strstr(c->index, c->at) : c->index + strlen(c->index);
            at = (uint64_t)(found - c->index);
        }
        if (status != c->status || err.offset != at || strcmp(err.item_name, c->tensor) != 0) {
            fail_msg("%s: %s at %d, \"%s\": %s", c->index, tare_status_text(status),
                     (int)err.offset, err.item_name, err.what ? err.what : "");
        }
        if (c->at) assert_string_equal(err.file, temp_path(INDEX));
        assert_null(m);
    }
}

static void a_missing_shard_is_named(void **state) {
    (void)state;
    static const char *const names[] = {INDEX, FIRST};
    unlink(temp_path(SECOND));
    for (int with_index = 1; with_index >= 0; with_index--) {
        for (size_t i = with_index ? 0 : 1; i < 2; i++) {
            tare_error err;
            tare_model *m;
            assert_int_equal(open_temp(&m, names[i], false, NULL, &err), TARE_ERR_IO);
            assert_non_null(strstr(err.file, SECOND));
            assert_string_equal(err.what, "a shard of the set is missing");
        }
        unlink(temp_path(INDEX));
    }
}

static void a_fault_in_a_shard_names_its_file(void **state) {
    (void)state;
    tare_error err;
    tare_model *m;
    write_shard(SECOND, "{" TENSOR("c", "1", "3") "}", 3);
    assert_int_equal(open_temp(&m, INDEX, false, NULL, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, 9);
    assert_non_null(strstr(err.file, SECOND));
    assert_string_equal(err.item_name, "c");
}

static void an_index_without_this_shard_is_refused(void **state) {
    (void)state;
    tare_error err;
    tare_model *m;
    write_temp_text(INDEX, MAP("\"a\":\"" FIRST "\""));
    assert_int_equal(open_temp(&m, SECOND, false, NULL, &err), TARE_ERR_CORRUPT);
    assert_int_equal(open_temp(&m, SECOND, true, NULL, &err), TARE_OK);
    tare_model_free(m);
}

static void oddities_of_an_index_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *index, *code;
        size_t n;
    } odd[] = {
        {MAP("\"a\":\"" FIRST "\",\"c\":\"" SECOND "\""), "safetensors.not-in-index", 1},
        {MAP("\"a\":\"" FIRST "\",\"b\":\"" SECOND "\",\"c\":\"./" FIRST "\""),
         "safetensors.other-shard", 2},
        {MAP("\"a\":\"" FIRST "\",\"b\":\"" FIRST "\",\"c\":\"" SECOND "\",\"z\":\"" FIRST "\""),
         "safetensors.not-in-shards", 1},
        {MAP("\"a\":\"" FIRST "\",\"b\":\"" FIRST "\",\"c\":\"" SECOND "\",\"\\u0061\":\"" FIRST
             "\""),
         "safetensors.twice-in-index", 1},
        {"{\"metadata\":{\"total_size\":7},\"weight_map\":{\"c\":\"" SECOND "\",\"b\":\"" FIRST
         "\",\"a\":\"" FIRST "\"}}",
         "safetensors.total-size", 1},
        {"{\"metadata\":{\"total_size\":6.0,\"x\":1},\"weight_map\":{\"c\":\"" SECOND
         "\",\"b\":\"" FIRST "\",\"a\":\"" FIRST "\"},\"y\":[]}",
         NULL, 0},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        write_temp_text(INDEX, odd[i].index);
        tare_report *report = tare_report_new();
        tare_error err;
        tare_model *m;
        if (open_temp(&m, INDEX, false, report, &err)) fail_msg("%s", err.what);
        assert_int_equal(tare_report_count(report), odd[i].n);
        if (odd[i].code) assert_string_equal(tare_report_at(report, 0)->code, odd[i].code);
        tare_model_free(m);
        tare_report_free(report);
    }
}

static void shards_that_disagree_are_reported(void **state) {
    (void)state;
    write_shard(SECOND,
                "{\"__metadata__\":{\"format\":\"tf\",\"more\":\"1\"}," TENSOR("c", "0", "2") "}",
                2);
    tare_report *report = tare_report_new();
    tare_error err;
    tare_model *m;
    assert_int_equal(open_temp(&m, INDEX, false, report, &err), TARE_OK);
    assert_int_equal(m->catalog.n_metadata, 2);
    assert_true(tare_str_is(m->catalog.metadata[0].value.as.s, "pt"));
    assert_int_equal(tare_report_count(report), 1);
    assert_string_equal(tare_report_at(report, 0)->code, "safetensors.metadata-differs");
    tare_model_free(m);
    tare_report_free(report);
}

static void every_cut_and_flip_of_an_index_is_survived(void **state) {
    (void)state;
    char index[sizeof good_index];
    tare_error err;
    tare_model *m;
    for (size_t n = 0; n + 1 < sizeof good_index; n++) {
        write_temp(INDEX, good_index, n);
        tare_status status = open_temp(&m, FIRST, false, NULL, &err);
        assert_int_equal(status, n ? TARE_ERR_CORRUPT : TARE_ERR_TRUNCATED);
        assert_true(err.offset <= n);
    }
    for (size_t i = 0; i + 1 < sizeof good_index; i++) {
        memcpy(index, good_index, sizeof index);
        index[i] ^= 4;
        write_temp(INDEX, index, sizeof index - 1);
        open_temp(&m, FIRST, false, NULL, &err);
        tare_model_free(m);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_set(const tare_model *source, uint64_t shard_size, size_t *n_files,
                      uint64_t *largest) {
    const tare_limits limits = tare_limits_default();
    tare_write_options options = {.source = source, .shard_size = shard_size, .limits = &limits};
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    tare_write_plan plan = {.arena = &arena};
    tare_error err;
    if (tare_format_safetensors.write.plan(&plan, &source->catalog, &options, &err)) {
        fail_msg("%s", err.what);
    }
    assert_true(plan.is_directory);
    *n_files = plan.n_files;
    *largest = 0;
    for (uint32_t i = 0; i < plan.n_files; i++) {
        uint8_t *bytes = plan_bytes(&plan, source, i);
        write_temp(plan.files[i].name, bytes, (size_t)plan.files[i].size);
        free(bytes);
        bool is_index = tare_str_ends(tare_str_of(plan.files[i].name), TARE_STR(".json"));
        if (!is_index && plan.files[i].size > *largest) *largest = plan.files[i].size;
    }
    tare_arena_free(&arena);
}

/* Twenty tensors of 100 bytes and one of 5,000, and metadata that each shard repeats. */
static sample wide_sample(void) {
    char header[4096];
    size_t n =
        (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"%0600d\"}", 0);
    unsigned at = 0;
    for (unsigned i = 0; i < 21; i++) {
        unsigned size = i == 7 ? 5000 : 100;
        n += (size_t)snprintf(header + n, sizeof header - n,
                              ",\"t%u\":{\"dtype\":\"I8\",\"shape\":[%u],\"data_offsets\":[%u,%u]}",
                              i, size, at, at + size);
        at += size;
    }
    snprintf(header + n, sizeof header - n, "}");
    return sample_of(header, at);
}

static void written_sets_keep_to_the_size(void **state) {
    (void)state;
    sample s = wide_sample();
    tare_model *source, *m;
    tare_error err;
    assert_int_equal(open_bytes(&source, s.bytes, s.size, NULL, &err), TARE_OK);
    size_t n_files;
    uint64_t largest;
    write_set(source, 1000, &n_files, &largest);
    assert_true(n_files > 5);
    assert_true(largest > 5000 && largest < 5800); /* the tensor that is larger, alone */
    assert_int_equal(open_temp(&m, INDEX, false, NULL, &err), TARE_OK);
    assert_int_equal(m->catalog.n_tensors, 21);
    assert_int_equal(m->n_files, n_files - 1);
    for (size_t i = 0; i < m->n_files; i++) {
        if (m->files[i].reader.size > 1000) assert_int_equal(m->files[i].reader.size, largest);
    }
    for (size_t i = 0; i < 21; i++) {
        uint8_t a[100], b[100];
        assert_true(tare_str_equal(m->catalog.tensors[i].name, source->catalog.tensors[i].name));
        assert_int_equal(tare_tensor_read(a, source, i, 0, 0, 100, NULL), TARE_OK);
        assert_int_equal(tare_tensor_read(b, m, i, 0, 0, 100, NULL), TARE_OK);
        assert_memory_equal(a, b, 100);
    }
    assert_int_equal(m->catalog.n_metadata, 1);
    tare_model_free(m);

    write_set(source, 1000000, &n_files, &largest);
    assert_int_equal(n_files, 1);
    assert_int_equal(open_temp(&m, "model.safetensors", false, NULL, &err), TARE_OK);
    assert_int_equal(m->catalog.n_tensors, 21);
    tare_model_free(m);
    tare_model_free(source);
    free(s.bytes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_set, remove_temp_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(any_member_opens_the_set),
        TEST(one_shard_opens_alone),
        TEST(sources_make_a_set),
        TEST(index_rules_name_byte_and_tensor),
        TEST(a_missing_shard_is_named),
        TEST(a_fault_in_a_shard_names_its_file),
        TEST(an_index_without_this_shard_is_refused),
        TEST(oddities_of_an_index_are_reported),
        TEST(shards_that_disagree_are_reported),
        TEST(every_cut_and_flip_of_an_index_is_survived),
        TEST(written_sets_keep_to_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
