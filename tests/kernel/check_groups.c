/* SPDX-License-Identifier: MIT
 *
 * Rounding to codes: every code is the reference's, in all types of numbers, with halves and ends, and so
 * are the ends of numbers, finite or not. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "kernel/check.h"

typedef struct group_call {
    const tare_kernels *kernels;
    const float *x;
    size_t n;
    tare_rounding rounding;
    tare_e2m1_rounding e2m1;
    uint8_t *codes;
    tare_reach reach;
} group_call;

static void call_reach(void *arg) {
    group_call *c = arg;
    c->kernels->group_reach(&c->reach, c->x, c->n);
}
static void call_whole(void *arg) {
    group_call *c = arg;
    c->kernels->group_whole(c->codes, c->x, c->n, &c->rounding);
}
static void call_e4m3(void *arg) {
    group_call *c = arg;
    c->kernels->group_e4m3(c->codes, c->x, c->n, &c->rounding);
}
static void call_e2m1(void *arg) {
    group_call *c = arg;
    c->kernels->group_e2m1(c->codes, c->x, c->n, &c->e2m1);
}

/* Finite numbers, of which some lie halfway between codes. */
static float *numbers(check *s, size_t n, int fill) {
    float *x = (void *)check_place(&s->in, n * sizeof(float), CHECK_AT_PAGE_END);
    check_fill_floats(s, x, n, fill);
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = check_random(s);
        if (!(fabsf(x[i]) < INFINITY)) x[i] = 1;
        if (r % 4 == 0) x[i] = ((float)(r >> 8 & 63) - 32) / 64;
    }
    return x;
}

static void compare(check *s, void (*call)(void *), size_t n, int fill, const group_call *with) {
    group_call expected = *with, kernel;
    expected.kernels = &s->c;
    expected.n = n;
    expected.x = numbers(s, n, fill);
    expected.codes = check_place(&s->expected, n, 0);
    kernel = expected;
    kernel.kernels = &s->level;
    kernel.codes = check_place_output(&s->out, n, 0, 0xa5);
    call(&expected);
    if (!check_call(s, call, &kernel))
        check_fail(s, "n=%zu fill=%s", n, check_float_fill_name(fill));
    else if (check_canaries(s, kernel.codes, n, 0) && memcmp(expected.codes, kernel.codes, n) != 0)
        check_fail(s, "n=%zu fill=%s scale=%a other codes", n, check_float_fill_name(fill),
                   (double)with->rounding.scale);
}

static void check_rounding(check *s, void (*call)(void *), size_t first, size_t last) {
    static const tare_encoding_id types[] = {TARE_ENCODING_F32, TARE_ENCODING_F16,
                                             TARE_ENCODING_BF16};
    static const tare_rounding forms[] = {
        {.scale = 0x1p-5f, .low = -8, .high = 7},
        {.scale = 0.01f, .zero = -3, .low = -128, .high = 127},
        {.scale = -0.07f, .offset = 0.3f, .high = 255},
        {.scale = 0x1p-9f, .low = -448, .high = 448},
        {.scale = 0.3f, .low = -448, .high = 448},
        {.scale = 40, .low = -448, .high = 448},
    };
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 1; n <= 300; n += n < 40 ? 1 : 37)
            for (size_t i = 3 * first; i < 3 * last; i++) {
                group_call c = {.rounding = forms[i / 3]};
                c.rounding.numbers = types[i % 3];
                c.rounding.multiplies = n % 5 == 0;
                compare(s, call, n, fill, &c);
            }
    check_end(s);
}

static void check_e2m1(check *s) {
    static const float scales[] = {0x1p-4f, 0.03f, 0, 0x1p-140f};
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 1; n <= 300; n += n < 40 ? 1 : 37)
            for (int i = 0; i < 16; i++) {
                const group_call c = {.e2m1 = {scales[i / 4], i & 1, i & 2}};
                compare(s, call_e2m1, n, fill, &c);
            }
    check_end(s);
}

static void check_reach(check *s) {
    for (int fill = 0; check_float_fill_name(fill); fill++)
        for (size_t n = 1; n <= 300; n++) {
            group_call c = {.kernels = &s->c, .n = n}, k;
            float *x = (void *)check_place(&s->in, n * sizeof(float), CHECK_AT_PAGE_END);
            check_fill_floats(s, x, n, fill);
            c.x = x;
            k = c;
            k.kernels = &s->level;
            call_reach(&c);
            const bool is_finite = c.reach.largest < 0x7f800000u;
            if (!check_call(s, call_reach, &k) || c.reach.largest != k.reach.largest ||
                (is_finite && (c.reach.low != k.reach.low || c.reach.high != k.reach.high)))
                check_fail(s, "n=%zu fill=%s other ends", n, check_float_fill_name(fill));
        }
    check_end(s);
}

void check_groups(check *s) {
    const tare_kernels *level = &s->level, *below = &s->below;
    if (check_begin(s, "group", "reach", level->group_reach != below->group_reach)) check_reach(s);
    if (check_begin(s, "group", "whole", level->group_whole != below->group_whole))
        check_rounding(s, call_whole, 0, 3);
    if (check_begin(s, "group", "e4m3", level->group_e4m3 != below->group_e4m3))
        check_rounding(s, call_e4m3, 3, 6);
    if (check_begin(s, "group", "e2m1", level->group_e2m1 != below->group_e2m1)) check_e2m1(s);
}
