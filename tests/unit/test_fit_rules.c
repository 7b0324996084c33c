/* SPDX-License-Identifier: MIT
 *
 * Guards against: rules of a choice whose expressions take memory that grows with the square of the
 * numbers in them, or that leave tensors out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/build.h>
#include <tare/experimental/fitting.h>

#include "convert_help.h"

enum { TENSORS = 1000, FIRST = 5 };

/* t.5.weight to t.1004.weight, all alike. */
static tare_model *numbered(void) {
    static const float values[64] = {0.5f, -1, 0.25f, 2};
    static const uint64_t dims[2] = {2, 32};
    tare_builder *builder;
    tare_model *out;
    assert_int_equal(tare_builder_new(&builder, NULL, NULL), TARE_OK);
    for (size_t i = 0; i < TENSORS; i++) {
        char name[32];
        tare_build_tensor t = tare_build_tensor_default();
        snprintf(name, sizeof name, "t.%zu.weight", i + FIRST);
        t.name = tare_str_of(name);
        t.encoding = tare_encoding_get(TARE_ENCODING_F32);
        t.dims = dims;
        t.n_dims = 2;
        t.planes[0] = values;
        assert_int_equal(tare_builder_add_tensor(builder, &t, NULL), TARE_OK);
    }
    assert_int_equal(tare_builder_finish(&out, builder, NULL), TARE_OK);
    return out;
}

static void many_numbers_make_one_expression(void **state) {
    (void)state;
    tare_convert_options o = tare_convert_options_default();
    tare_fit_target target = tare_fit_target_default();
    tare_mix_options mix;
    tare_fit *f;
    tare_plan *plan;
    tare_model *in = numbered();
    assert_int_equal(tare_fit_new(&f, "out.gguf", in, &o, NULL, NULL), TARE_OK);
    const tare_fit_summary *s = tare_fit_summarize(f);
    target.file_bytes = s->smallest_bytes; /* one type for all */
    assert_int_equal(tare_fit_choose(f, &target, NULL), TARE_OK);
    assert_memory_equal(tare_fit_rule(f, 0)->pattern, "^t\\.(1(0(0(0|1|2|3|4)?|1|2", 25);
    assert_null(tare_fit_rule(f, 1));
    assert_int_equal(tare_fit_apply(&o, &mix, f, NULL), TARE_OK);
    assert_int_equal(tare_plan_new(&plan, "out.gguf", in, &o, NULL), TARE_OK);
    for (size_t i = 0; i < TENSORS; i++)
        assert_int_equal(tare_plan_tensor_at(plan, i)->action, TARE_ACTION_ENCODE);
    assert_int_equal(tare_plan_summarize(plan)->write_bytes, s->file_bytes);
    tare_plan_free(plan);
    tare_fit_free(f);
    tare_model_free(in);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_numbers_make_one_expression)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
