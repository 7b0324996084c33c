/* SPDX-License-Identifier: MIT
 *
 * Guards against a search for scales that passes by a better one: what it finds for small sets of
 * numbers is compared with thousands of scales tried one after the other, and with every scale that
 * can be stored where these are few. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encoding/best.h"

enum { N = 16, SETS = 40 };

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static float next_float(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float)(int32_t)(random_state >> 32) * 0x1p-31f;
}

static const tare_levels four = {.low = -1, .high = 2};
static const tare_levels sixteen = {.low = -8, .high = 7};
/* 0, 1, 2, 3, 4, 6, 8, 12 and their negatives. */
static const tare_levels uneven = {
    .low = -12,
    .high = 12,
    14,
    {-10, -7, -5, -3.5f, -2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10},
    {4, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4}};

typedef struct numbers {
    float x[N], weights[N];
} numbers;

static tare_part next_part(numbers *s, const tare_levels *levels) {
    for (int i = 0; i < N; i++) {
        float v = next_float(), w = next_float();
        s->x[i] = v * v * v + 0.1f * next_float();
        s->weights[i] = w * w;
    }
    return (tare_part){.x = s->x,
                       .weights = s->weights,
                       .n = N,
                       .fit = tare_fit_levels,
                       .form = levels,
                       .walk = {fmaxf(-levels->low, levels->high), 1.5f, 1.03f, INFINITY, 128},
                       .has_sign = -levels->low != levels->high};
}

static void test_fit_is_the_error_of_its_codes(void **state) {
    (void)state;
    numbers s;
    for (int set = 0; set < SETS; set++) {
        tare_part p = next_part(&s, set % 2 ? &uneven : &sixteen);
        const tare_levels *levels = p.form;
        uint8_t codes[N];
        float scale = 0.02f + 0.1f * fabsf(next_float());
        double error = 0;
        tare_levels_codes(codes, p.x, N, scale, levels);
        for (int i = 0; i < N; i++) {
            float q = levels->low + (float)(levels->n_limits ? 0 : codes[i]);
            for (int m = 0; m < levels->n_limits && m < codes[i]; m++) q += levels->gaps[m];
            double r = (double)p.x[i] - (double)scale * (double)q;
            error += (double)p.weights[i] * r * r;
        }
        assert_true(fabs(tare_fit_levels(&p, scale).error - error) <= 1e-5 * error);
    }
}

/* A narrow valley may be missed by chance, but not often. */
static void test_ideal_scale(void **state) {
    (void)state;
    numbers s;
    const tare_levels *const all[] = {&four, &sixteen, &uneven};
    for (int k = 0; k < 3; k++) {
        float possible = 0, found = 0;
        for (int set = 0; set < SETS; set++) {
            tare_part p = next_part(&s, all[k]);
            float least = INFINITY;
            for (int i = 1; i < 4000; i++)
                for (int sign = -1; sign <= 1; sign += 2)
                    least = fminf(least, tare_fit_levels(&p, (float)(sign * i) * 3e-4f).error);
            possible += least;
            found += tare_search_ideal(&p).error;
        }
        if (found > 1.02f * possible)
            fail_msg("levels %d: error %g, possible %g", k, (double)found, (double)possible);
    }
}

static void check_kind(const tare_scale_kind *kind) {
    numbers s;
    float possible = 0, error = 0;
    for (int set = 0; set < SETS; set++) {
        tare_part p = next_part(&s, &uneven);
        float least = INFINITY;
        for (uint32_t code = 0; code <= kind->last; code++)
            least = fminf(least, tare_fit_levels(&p, kind->value(code)).error);
        tare_stored found = tare_search_stored(&p, kind);
        assert_true(found.scale == kind->value(found.code));
        assert_true(found.error == tare_fit_levels(&p, found.scale).error);
        possible += least;
        error += found.error;
    }
    if (error > 1.02f * possible)
        fail_msg("error %g, possible %g", (double)error, (double)possible);
}

static void test_stored_scales(void **state) {
    (void)state;
    check_kind(&tare_scale_half_e8m0);
    check_kind(&tare_scale_half_ue4m3);
    check_kind(&tare_scale_f16);
}

static void test_lowest_minima(void **state) {
    (void)state;
    const float values[] = {5, 4, 6, 2, 3, 1, 7, 7, 0.5f};
    int at[3];
    assert_int_equal(tare_lowest_minima(at, 3, values, 9), 3);
    assert_int_equal(at[0], 8);
    assert_int_equal(at[1], 5);
    assert_int_equal(at[2], 3);
    assert_int_equal(tare_lowest_minima(at, 3, values, 2), 1);
    assert_int_equal(at[0], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_is_the_error_of_its_codes),
        cmocka_unit_test(test_ideal_scale),
        cmocka_unit_test(test_stored_scales),
        cmocka_unit_test(test_lowest_minima),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
