/* SPDX-License-Identifier: MIT
 *
 * Guards against an operation that crashes, leaks or returns something wrong when memory runs out:
 * each allocation fails once, and the outcome is NOMEM or the right result. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>

#include "base/bytes.h"
#include "gguf_build.h"
#include "made_model.h"
#include "scarce_memory.h"
#include "support/memory_source.h"
#include "support/scratch_name.h"

static char directory[SCRATCH_NAME_SIZE];
static char path[SCRATCH_PATH_SIZE], manifest[SCRATCH_PATH_SIZE];

static int make_directory(void **state) {
    (void)state;
    if (!mkdtemp(scratch_name(directory))) return -1;
    snprintf(path, sizeof path, "%s/out", directory);
    snprintf(manifest, sizeof manifest, "%s/manifest", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    remove(path);
    remove(manifest);
    return rmdir(directory);
}

/* Two small models: B has another value, another type and another key. */
static void make(made_model *made, bool is_b) {
    const uint64_t dims[2] = {3, 64};
    made_begin(made, 4096, 3, 0);
    uint8_t *a = made_add(made, TARE_STR("a\\"), TARE_ENCODING_F32, dims, 2);
    uint8_t *b =
        made_add(made, TARE_STR("b"), is_b ? TARE_ENCODING_F16 : TARE_ENCODING_F32, dims, 2);
    tare_store_le32(a, is_b ? 0x7fc00000 : 0x3f800000);
    b[1] = 0x3c;
    tare_metadata *key = TARE_NEW(&made->model->arena, tare_metadata);
    key->key = is_b ? TARE_STR("key b") : TARE_STR("key a");
    made->model->catalog.metadata = key;
    made->model->catalog.n_metadata = 1;
    made_finish(made, false, NULL, 0);
}

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct bench {
    made_model a, b;
    tare_allocator allocator;
    tare_context run;
} bench;

static tare_status run_digest(bench *x) {
    tare_digest whole;
    return tare_model_digest(NULL, &whole, x->a.model, &x->run, NULL);
}

static tare_status run_verify(bench *x) {
    x->run.report = tare_report_new();
    tare_status s = tare_verify_data(x->b.model, &x->run, NULL);
    if (s == TARE_OK) assert_int_equal(tare_report_count(x->run.report), 1);
    tare_report_free(x->run.report);
    x->run.report = NULL;
    return s;
}

static tare_status run_manifest_write(bench *x) {
    const tare_output_options output = {.size = sizeof output, .force = true, .no_sync = true};
    return tare_manifest_write(manifest, x->a.model, &output, &x->run, NULL);
}

static tare_status run_manifest_check(bench *x) {
    return tare_manifest_check(manifest, x->a.model, &x->run, NULL);
}

static tare_status run_diff(bench *x) {
    tare_diff_options o = tare_diff_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_diff *d;
    context.allocator = &x->allocator;
    context.threads = 1;
    tare_status s = tare_diff_new(&d, x->a.model, x->b.model, &o, NULL);
    if (s == TARE_OK) {
        size_t n = 0;
        while (tare_diff_at(d, n)) n++;
        assert_int_equal(n, 4);
    } else {
        assert_null(d);
    }
    tare_diff_free(d);
    return s;
}

static tare_status run_extract(bench *x) {
    tare_extract_options o = tare_extract_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    output.force = output.no_sync = true;
    return tare_extract(path, x->b.model, 1, TARE_EXTRACT_NPY, &o, NULL);
}

static void ignore_error(void *ctx, size_t i, const tare_tensor_error *error) {
    (void)ctx, (void)i, (void)error;
}

/* A mix, a rule, a key and what is measured: all that planning and running allocates. */
static tare_status run_quantize(bench *x) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    const tare_type_rule rule = {"^b", tare_encoding_get(TARE_ENCODING_Q8_0)};
    const tare_metadata key = {.key = TARE_STR("k"),
                               .value = {.type = TARE_VALUE_STRING, .as.s = TARE_STR("v")}};
    context.allocator = &x->allocator;
    context.threads = 1;
    output.force = output.no_sync = true;
    o.to = "gguf";
    o.rules = &rule;
    o.n_rules = 1;
    o.overrides = &key;
    o.n_overrides = 1;
    o.measured = ignore_error;
    return tare_quantize(path, x->a.model, TARE_STR("Q4_K_M"), &o, NULL);
}

static tare_status open_importance(bench *x, const void *bytes, size_t size) {
    tare_source source = memory_source(bytes, size);
    tare_open_options o = tare_open_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_importance *m;
    context.allocator = &x->allocator;
    tare_status s = tare_importance_open(&m, &source, &o, NULL);
    if (s == TARE_OK)
        assert_int_equal(tare_importance_at(m, 0)->n_values, 2);
    else
        assert_null(m);
    tare_importance_free(m);
    return s;
}

/* One entry of two values, seven chunks of "x". */
static tare_status run_importance_dat(bench *x) {
    static const uint8_t bytes[] = {1, 0, 0, 0, 1,    0,    0, 0, 'a', 2, 0, 0, 0, 2, 0, 0, 0,
                                    0, 0, 0, 0, 0x3f, 0x80, 0, 0, 7,   0, 0, 0, 1, 0, 0, 0, 'x'};
    return open_importance(x, bytes, sizeof bytes);
}

static tare_status run_importance_gguf(bench *x) {
    static const uint64_t one[] = {1}, two[] = {2};
    gguf_build g;
    build_begin(&g, 3, false);
    build_key(&g, "imatrix.datasets", 9);
    build_array(&g, 8, 1);
    build_str(&g, "x");
    build_tensor(&g, "a.in_sum2", 1, two, 0, 8);
    build_tensor(&g, "a.counts", 1, one, 0, 4);
    build_end(&g);
    tare_status s = open_importance(x, g.b.data, g.b.size);
    tare_buffer_free(&g.b);
    return s;
}

/* Runs it with the first allocation failing, then the second, ... until none does. */
static void run_out(tare_status (*operation)(bench *)) {
    bench x;
    scarce_memory f = {.left = LONG_MAX};
    x.allocator = scarce_allocator(&f);
    x.run = tare_context_default();
    x.run.threads = 1;
    x.run.allocator = &x.allocator;
    make(&x.a, false);
    make(&x.b, true);
    const tare_allocator *own = x.a.model->allocator;
    tare_status s = TARE_ERR_NOMEM;
    size_t k = 0;
    for (; s != TARE_OK; k++) {
        assert_true(k < 200);
        f.left = (long)k;
        /* what an operation allocates for itself from the model's allocator fails too */
        x.a.model->allocator = x.b.model->allocator = &x.allocator;
        s = operation(&x);
        x.a.model->allocator = x.b.model->allocator = own;
        assert_true(s == TARE_OK || s == TARE_ERR_NOMEM);
        assert_int_equal(f.in_use, 0);
    }
    assert_true(k > 1); /* it did allocate */
    made_free(&x.a);
    made_free(&x.b);
}

static void digest(void **state) {
    (void)state;
    run_out(run_digest);
}
static void verify(void **state) {
    (void)state;
    run_out(run_verify);
}
static void manifest_write(void **state) {
    (void)state;
    run_out(run_manifest_write);
}
static void manifest_check(void **state) {
    (void)state;
    run_out(run_manifest_check);
}
static void diff(void **state) {
    (void)state;
    run_out(run_diff);
}
static void extract(void **state) {
    (void)state;
    run_out(run_extract);
}

static void quantize(void **state) {
    (void)state;
    run_out(run_quantize);
}

static void importance(void **state) {
    (void)state;
    run_out(run_importance_dat);
    run_out(run_importance_gguf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest),         cmocka_unit_test(verify),
        cmocka_unit_test(manifest_write), cmocka_unit_test(manifest_check),
        cmocka_unit_test(diff),           cmocka_unit_test(extract),
        cmocka_unit_test(importance),     cmocka_unit_test(quantize),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
