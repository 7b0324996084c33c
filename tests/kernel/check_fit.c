/* SPDX-License-Identifier: MIT
 *
 * Fits: every bit of the three sums is the reference's, for whole numbers and uneven levels, for
 * any scale, zero and odd ones too; any NaN equals any NaN. */
#include <string.h>

#include "base/bytes.h"
#include "kernel/check.h"

typedef struct fit_call {
    const tare_kernels *kernels;
    const float *x, *weights;
    size_t n;
    const tare_levels *levels;
    float scale;
    tare_fit fit;
} fit_call;

static void call_fit(void *arg) {
    fit_call *c = arg;
    c->fit = c->kernels->fit_levels(c->x, c->weights, c->n, c->levels, c->scale);
}

static const tare_levels forms[] = {
    {.low = -127, .high = 127},
    {.low = -8, .high = 7},
    {.low = -1, .high = 1, .n_limits = 1, .limits = {0}, .gaps = {2}},
    {.low = -12,
     .high = 12,
     .n_limits = 4,
     .limits = {-10, -0.5f, 0.5f, 7},
     .gaps = {10, 2, 2, 10}},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static bool is_same(float a, float b) {
    return tare_f32_bits(a) == tare_f32_bits(b) || (a != a && b != b);
}

static void compare(check *s, size_t n, int fill, const tare_levels *levels, float scale) {
    fit_call expected = {.kernels = &s->c, .n = n, .levels = levels, .scale = scale};
    float *x = (void *)check_place(&s->in, n * sizeof(float), CHECK_AT_PAGE_END);
    float *weights = (void *)check_place(&s->importance, n * sizeof(float), CHECK_AT_PAGE_END);
    check_fill_floats(s, x, n, fill);
    check_fill_floats(s, weights, n, CHECK_POSITIVE);
    expected.x = x;
    expected.weights = weights;
    fit_call kernel = expected;
    kernel.kernels = &s->level;
    call_fit(&expected);
    if (!check_call(s, call_fit, &kernel)) {
        check_fail(s, "n=%zu fill=%s", n, check_float_fill_name(fill));
        return;
    }
    if (!is_same(expected.fit.error, kernel.fit.error) ||
        !is_same(expected.fit.rq, kernel.fit.rq) || !is_same(expected.fit.qq, kernel.fit.qq))
        check_fail(s, "n=%zu fill=%s scale=%a fits otherwise", n, check_float_fill_name(fill),
                   (double)scale);
}

typedef struct e4m3_call {
    const tare_kernels *kernels;
    const float *x, *weights;
    size_t n;
    float scale, error;
} e4m3_call;

static void call_e4m3(void *arg) {
    e4m3_call *c = arg;
    c->error = c->kernels->fit_e4m3(c->x, c->weights, c->n, c->scale);
}

static void compare_e4m3(check *s, size_t n, int fill, float scale) {
    float *x = (void *)check_place(&s->in, n * sizeof(float), CHECK_AT_PAGE_END);
    float *weights = (void *)check_place(&s->importance, n * sizeof(float), CHECK_AT_PAGE_END);
    check_fill_floats(s, x, n, fill);
    check_fill_floats(s, weights, n, CHECK_POSITIVE);
    e4m3_call expected = {&s->c, x, weights, n, scale, 0}, kernel = expected;
    kernel.kernels = &s->level;
    call_e4m3(&expected);
    if (!check_call(s, call_e4m3, &kernel))
        check_fail(s, "n=%zu fill=%s", n, check_float_fill_name(fill));
    else if (!is_same(expected.error, kernel.error))
        check_fail(s, "n=%zu fill=%s scale=%a fits otherwise", n, check_float_fill_name(fill),
                   (double)scale);
}

typedef struct line_call {
    const tare_kernels *kernels;
    const float *x, *weights;
    size_t n;
    float top, scale, offset;
    tare_line_fit fit;
} line_call;

static void call_line(void *arg) {
    line_call *c = arg;
    c->kernels->fit_line(&c->fit, c->x, c->weights, c->n, c->top, c->scale, c->offset);
}

static void compare_line(check *s, size_t n, int fill, float scale, float offset) {
    float *x = (void *)check_place(&s->in, n * sizeof(float), CHECK_AT_PAGE_END);
    float *weights = (void *)check_place(&s->importance, n * sizeof(float), CHECK_AT_PAGE_END);
    check_fill_floats(s, x, n, fill);
    check_fill_floats(s, weights, n, CHECK_POSITIVE);
    line_call expected = {.kernels = &s->c,
                          .x = x,
                          .weights = weights,
                          .n = n,
                          .top = n % 3 ? 15 : 255,
                          .scale = scale,
                          .offset = offset};
    line_call kernel = expected;
    kernel.kernels = &s->level;
    call_line(&expected);
    const tare_line_fit *a = &expected.fit, *b = &kernel.fit;
    if (!check_call(s, call_line, &kernel))
        check_fail(s, "n=%zu fill=%s", n, check_float_fill_name(fill));
    else if (!is_same(a->error, b->error) || !is_same(a->rq, b->rq) || !is_same(a->r1, b->r1) ||
             !is_same(a->qq, b->qq) || !is_same(a->q1, b->q1))
        check_fail(s, "n=%zu fill=%s scale=%a fits otherwise", n, check_float_fill_name(fill),
                   (double)scale);
}

static void check_line(check *s) {
    if (!check_begin(s, "fit", "line", s->level.fit_line != s->below.fit_line)) return;
    static const float scales[] = {0x1p-5f, -0.01f, 0, 0x1p-140f, 3e38f};
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 0; n <= 300; n += TARE_FIT_LANES)
            for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
                compare_line(s, n, fill, scales[i], (float)i / 8 - 0.25f);
    check_end(s);
}

static void check_e4m3(check *s) {
    if (!check_begin(s, "fit", "e4m3", s->level.fit_e4m3 != s->below.fit_e4m3)) return;
    static const float scales[] = {0x1p-5f, 0.01f, 0x1p-140f, 3e38f};
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 0; n <= 300; n += TARE_FIT_LANES)
            for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
                compare_e4m3(s, n, fill, scales[i]);
    check_end(s);
}

void check_fit(check *s) {
    check_line(s);
    check_e4m3(s);
    if (!check_begin(s, "fit", "levels", s->level.fit_levels != s->below.fit_levels)) return;
    static const float scales[] = {0x1p-5f, -0.01f, 0, 0x1p-140f, 3e38f};
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 0; n <= 300; n += TARE_FIT_LANES)
            for (size_t i = 0; i < N_FORMS * sizeof scales / sizeof *scales; i++)
                compare(s, n, fill, &forms[i % N_FORMS], scales[i / N_FORMS]);
    if (s->is_bench) {
        float *x = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
        float *weights = (void *)check_place(&s->importance, CHECK_BENCH_COUNT * sizeof(float), 0);
        check_fill_floats(s, x, CHECK_BENCH_COUNT, CHECK_ORDINARY);
        check_fill_floats(s, weights, CHECK_BENCH_COUNT, CHECK_POSITIVE);
        fit_call c = {.kernels = &s->c,
                      .x = x,
                      .weights = weights,
                      .n = CHECK_BENCH_COUNT,
                      .levels = &forms[0],
                      .scale = 0x1p-8f};
        fit_call k = c;
        k.kernels = &s->level;
        check_bench(s, call_fit, &c, &k);
    }
    check_end(s);
}
