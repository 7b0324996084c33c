/* SPDX-License-Identifier: MIT
 *
 * Guards against: instruction sets that are not found, or found where the machine lacks one of those
 * that belong to them. What the compiler's own functions find is the measure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cpu.h"

static void is_what_the_compiler_finds(void **state) {
    (void)state;
#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
    unsigned expected = TARE_CPU_NONE;
    __builtin_cpu_init();
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    bool has_wide = __builtin_cpu_supports("vpclmulqdq");
    bool has_vbmi2 =
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") && has_wide;
    if (has_avx2) expected |= TARE_CPU_AVX2;
    if (has_avx2 && has_avx512) expected |= TARE_CPU_AVX512;
    if (has_avx2 && has_avx512 && has_vbmi2) expected |= TARE_CPU_VBMI2;
    assert_int_equal(tare_cpu_mask_detect(), expected);
    assert_int_equal(tare_cpu_has_wide_products(), has_wide);
#else
    assert_int_equal(tare_cpu_mask_detect(), TARE_CPU_NONE);
#endif
}

static void levels_are_set_by_name(void **state) {
    (void)state;
    const char *const all = tare_cpu_detect(), *level;
    bool is_there = true;
    for (size_t i = 0; (level = tare_cpu_level(i)) != NULL; i++) {
        assert_int_equal(tare_cpu_limit("c", NULL), TARE_OK);
        assert_int_equal(tare_cpu_limit(level, NULL), is_there ? TARE_OK : TARE_ERR_UNSUPPORTED);
        assert_string_equal(tare_cpu_active(), is_there ? level : "c");
        if (level == all) is_there = false;
    }
    assert_false(is_there);
    assert_int_equal(tare_cpu_limit("mmx", NULL), TARE_ERR_ARG);
    assert_int_equal(tare_cpu_limit(all, NULL), TARE_OK);
    assert_int_equal(tare_cpu_mask_active(), tare_cpu_mask_detect());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_what_the_compiler_finds),
                                       cmocka_unit_test(levels_are_set_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
