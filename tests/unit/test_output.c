/* SPDX-License-Identifier: MIT
 *
 * Guards against: outputs of a caller's that get other bytes than a file, a byte twice or not at
 * all, bytes out of order where order was asked for; failures of the caller that are lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>
#include <tare/output.h>

#include "convert_help.h"
#include "support/memory_source.h"

/* An output in memory, and how often each byte was written. */
typedef struct kept {
    uint8_t *bytes;
    _Atomic uint8_t *times;
    _Atomic uint64_t end, next;
    size_t size;
    bool in_order, is_broken;
} kept;

static kept make_kept(size_t size, bool in_order) {
    kept k = {.size = size, .in_order = in_order};
    k.bytes = calloc(size, 1);
    k.times = calloc(size, sizeof *k.times);
    assert_true(k.bytes && k.times);
    return k;
}

static void free_kept(kept *k) {
    free(k->bytes);
    free((void *)(uintptr_t)k->times);
}

static tare_status keep(void *ctx, uint64_t offset, const void *bytes, size_t n) {
    kept *k = ctx;
    if (k->is_broken || offset > k->size || n > k->size - offset) return TARE_ERR_NOSPACE;
    if (k->in_order && atomic_load(&k->next) != offset) return TARE_ERR_ARG;
    atomic_store(&k->next, offset + n);
    memcpy(k->bytes + offset, bytes, n);
    for (size_t i = 0; i < n; i++) atomic_fetch_add(&k->times[offset + i], 1);
    uint64_t end = atomic_load(&k->end);
    while (end < offset + n && !atomic_compare_exchange_weak(&k->end, &end, offset + n)) continue;
    return TARE_OK;
}

static tare_output output_of(kept *k) {
    tare_output o = tare_output_default();
    o.write = keep;
    o.ctx = k;
    o.in_order = k->in_order;
    return o;
}

static uint8_t *load(const char *name, size_t *size) {
    FILE *f = fopen(help_path(name), "rb");
    struct stat st;
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

/* As the file has it; every byte once, but for gaps and the first `often` bytes. */
static void check(const kept *k, const char *name, size_t often) {
    size_t size;
    uint8_t *bytes = load(name, &size);
    assert_in_range(k->end, 1, size);
    assert_memory_equal(k->bytes, bytes, size);
    for (size_t i = often; i < size; i++) {
        const unsigned times = k->times[i];
        if (times > 1 || (times == 0 && (bytes[i] || k->in_order)))
            fail_msg("byte %zu of %s: %u times", i, name, times);
    }
    free(bytes);
}

static void test_plans(void **state) {
    (void)state;
    static const char *const formats[] = {"gguf", "safetensors", "mcf"};
    made_model made;
    tare_model *m = help_make(&made, HELP_COMMON | HELP_CARRIED);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        tare_convert_options o = tare_convert_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        tare_plan *plan;
        tare_error err;
        o.to = formats[f];
        context.threads = 3;
        help_convert(help_path(formats[f]), m, &o);
        for (int in_order = 0; in_order < 2; in_order++) {
            tare_convert_result r = tare_convert_result_default();
            assert_int_equal(tare_plan_new(&plan, NULL, m, &o, &err), TARE_OK);
            const uint64_t size = tare_plan_file_at(plan, 0)->size;
            kept k = make_kept((size_t)size, in_order);
            tare_output output = output_of(&k);
            assert_int_equal(tare_plan_run_to(&r, plan, &output, &err), TARE_OK);
            assert_int_equal(r.written_bytes, size);
            check(&k, formats[f], 0);
            k.is_broken = true;
            assert_int_equal(tare_plan_run_to(&r, plan, &output, &err), TARE_ERR_NOSPACE);
            assert_string_equal(err.code, TARE_CODE_OUTPUT_WRITE);
            tare_plan_free(plan);
            free_kept(&k);
        }
    }
    made_free(&made);
}

static void test_packing(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_convert_options o = tare_convert_options_default();
    tare_pack_options pack = tare_pack_options_default();
    tare_context context = tare_context_default();
    pack.context = &context;
    tare_pack_summary sum = tare_pack_summary_default();
    size_t size;
    tare_model *m = help_make(&made, HELP_COMMON);
    o.to = "gguf";
    help_convert(help_path("plain"), m, &o);
    made_free(&made);
    m = help_open(help_path("plain"));
    context.threads = 3;
    assert_int_equal(tare_pack(&sum, help_path("packed"), m, &pack, &err), TARE_OK);
    kept k = make_kept((size_t)sum.to_bytes, false);
    tare_output output = output_of(&k);
    assert_int_equal(tare_pack_to(&sum, &output, m, &pack, &err), TARE_OK);
    assert_int_equal(sum.to_bytes, k.size);
    check(&k, "packed", 128);
    output.in_order = true;
    assert_int_equal(tare_pack_to(&sum, &output, m, &pack, &err), TARE_ERR_ARG);
    tare_model_free(m);

    free(load("plain", &size));
    const tare_source source = memory_source(k.bytes, k.size);
    for (int in_order = 0; in_order < 2; in_order++) {
        tare_unpack_options u = tare_unpack_options_default();
        tare_context u_context = tare_context_default();
        u.context = &u_context;
        tare_unpack_result r = tare_unpack_result_default();
        kept back = make_kept(size, in_order);
        u_context.threads = 3;
        output = output_of(&back);
        assert_int_equal(tare_unpack_to(&r, &output, &source, &u, &err), TARE_OK);
        assert_int_equal(r.n_bytes, size);
        check(&back, "plain", 0);
        back.is_broken = true;
        assert_int_equal(tare_unpack_to(&r, &output, &source, &u, &err), TARE_ERR_NOSPACE);
        free_kept(&back);
    }
    free_kept(&k);
}

static void test_refused(void **state) {
    (void)state;
    made_model made;
    tare_error err;
    tare_plan *plan;
    tare_model *m = help_make(&made, HELP_COMMON);
    tare_convert_options o = tare_convert_options_default();
    kept k = make_kept(64, false);
    tare_output output = output_of(&k), none = tare_output_default();
    static const char *const formats[] = {"hf", "wcodec", "infq"};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        o.to = formats[f];
        assert_int_equal(tare_plan_new(&plan, NULL, m, &o, &err), TARE_OK);
        assert_int_equal(tare_plan_run_to(NULL, plan, &output, &err), TARE_ERR_ARG);
        tare_plan_free(plan);
    }
    o.to = "gguf";
    assert_int_equal(tare_plan_new(&plan, NULL, m, &o, &err), TARE_OK);
    assert_int_equal(tare_plan_run_to(NULL, plan, &none, &err), TARE_ERR_ARG);
    tare_plan_free(plan);
    free_kept(&k);
    made_free(&made);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
