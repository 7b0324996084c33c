/* SPDX-License-Identifier: MIT
 *
 * Guards against a driver that crashes, leaks, frees wrong sizes or lies when memory runs out while
 * it opens or plans: each allocation fails once, and what comes back is NOMEM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "format/format.h"
#include "unit/safetensors_sample.h"
#include "unit/scarce_memory.h"
#include "unit/temp_folder.h"

static void write_shard(const char *name, const char *tensor, const char *escaped) {
    /* long texts, so that what holds them needs allocations of its own */
    static char header[60000];
    size_t n = (size_t)snprintf(
        header, sizeof header,
        "{\"__metadata__\":{\"format\":\"pt\",\"%s\":\"\\u0061\",\"tare.metadata\":\"[{\\\"key\\\":"
        "\\\"k\\\",\\\"type\\\":\\\"array\\\",\\\"value\\\":{\\\"of\\\":\\\"u8\\\",\\\"items\\\":["
        "1",
        escaped);
    for (int i = 0; i < 9000; i++) n += (size_t)snprintf(header + n, sizeof header - n, ",7");
    n += (size_t)snprintf(header + n, sizeof header - n,
                          "]}}]\",\"tare.resources\":\"{\\\"r\\\":{\\\"text\\\":\\\"");
    memset(header + n, 'x', 20000);
    n += 20000;
    snprintf(header + n, sizeof header - n,
             "\\\"}}\"},\"%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", tensor);
    sample s = sample_of(header, 2);
    write_temp(name, s.bytes, s.size);
    free(s.bytes);
}

static int make_set(void **state) {
    if (make_temp_folder(state)) return -1;
    write_shard("model-00001-of-00002.safetensors", "a", "x");
    write_shard("model-00002-of-00002.safetensors", "b\\n", "\\u0079");
    write_temp_text("model.safetensors.index.json",
                    "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
                    "\"b\\n\":\"model-00002-of-00002.safetensors\"}}");
    write_temp_text("config.json", "{}");
    return 0;
}

/* Plans the model in one way; everything planned goes again. */
static tare_status plan(const tare_model *m, const tare_format *format, bool is_identity,
                        uint64_t shard_size, const tare_allocator *allocator) {
    const tare_limits limits = tare_limits_default();
    tare_write_options options = {
        .source = m, .is_identity = is_identity, .shard_size = shard_size, .limits = &limits};
    tare_arena arena;
    tare_arena_init(&arena, allocator);
    tare_write_plan out = {.arena = &arena};
    tare_status status = format->write.plan(&out, &m->catalog, &options, NULL);
    tare_arena_free(&arena);
    return status;
}

static tare_status open_and_plan(const char *path, const tare_allocator *allocator,
                                 tare_report *report) {
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.allocator = allocator;
    context.report = report;
    tare_model *m;
    tare_status status = tare_open_path(&m, path, &options, NULL);
    if (status != TARE_OK) {
        assert_null(m);
        return status;
    }
    assert_int_equal(m->catalog.n_tensors, 2);
    status = plan(m, &tare_format_hf, m->catalog.layout->format == &tare_format_hf, 0, allocator);
    if (!status) status = plan(m, &tare_format_safetensors, false, 0, allocator);
    if (!status) status = plan(m, &tare_format_hf, false, 30000, allocator);
    tare_model_free(m);
    return status;
}

static void run_out(const char *path) {
    tare_status status = TARE_ERR_NOMEM;
    size_t k = 0;
    for (; status != TARE_OK; k++) {
        scarce_memory s = {.left = (long)k};
        const tare_allocator allocator = scarce_allocator(&s);
        tare_report *report = tare_report_new();
        status = open_and_plan(path, &allocator, report);
        if (status != TARE_OK) assert_int_equal(status, TARE_ERR_NOMEM);
        assert_int_equal(s.in_use, 0);
        /* the second shard's records repeat the first one's */
        assert_int_equal(tare_report_count_level(report, TARE_LEVEL_WARNING), 0);
        tare_report_free(report);
    }
    assert_true(k > 30);
}

static void a_directory_runs_out_of_memory(void **state) {
    (void)state;
    run_out(temp_folder);
}

static void a_set_runs_out_of_memory(void **state) {
    (void)state;
    run_out(temp_path("model-00002-of-00002.safetensors"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_directory_runs_out_of_memory, make_set,
                                        remove_temp_folder),
        cmocka_unit_test_setup_teardown(a_set_runs_out_of_memory, make_set, remove_temp_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
