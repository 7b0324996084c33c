/* SPDX-License-Identifier: MIT
 *
 * Deviations: every bit of the sums is the reference's, whatever the values, also where they are
 * added to sums that are not zero. */
#include <string.h>

#include "encoding/deviation.h"
#include "kernel/check.h"

typedef struct deviation_call {
    const tare_kernels *kernels;
    const float *reference, *values;
    size_t n;
    tare_deviation sum;
} deviation_call;

static void call_deviation(void *arg) {
    deviation_call *c = arg;
    c->kernels->add_deviation(&c->sum, c->reference, c->values, c->n);
}

/* Every third value or so is that of the reference. */
static void fill_values(check *s, float *values, const float *reference, size_t n, int fill) {
    check_fill_floats(s, values, n, fill);
    for (size_t i = 0; i < n; i++)
        if (check_random(s) % 3 == 0)
            memcpy((uint8_t *)values + 4 * i, (const uint8_t *)reference + 4 * i, 4);
}

static void compare(check *s, tare_deviation *sum, size_t n, int fill, int offset) {
    float *reference = (void *)check_place(&s->in, n * sizeof(float), offset);
    float *values = (void *)check_place(&s->importance, n * sizeof(float), offset);
    check_fill_floats(s, reference, n, fill);
    fill_values(s, values, reference, n, fill);
    deviation_call expected = {&s->c, reference, values, n, *sum};
    deviation_call kernel = {&s->level, reference, values, n, *sum};
    call_deviation(&expected);
    if (!check_call(s, call_deviation, &kernel)) {
        check_fail(s, "n=%zu fill=%s offset=%d", n, check_float_fill_name(fill), offset);
        return;
    }
    *sum = expected.sum;
    if (memcmp(&expected.sum, &kernel.sum, sizeof *sum) != 0)
        check_fail(s, "n=%zu fill=%s offset=%d sums otherwise", n, check_float_fill_name(fill),
                   offset);
}

void check_deviation(check *s) {
    bool is_new = s->level.add_deviation != s->below.add_deviation;
    if (!check_begin(s, "add", "deviation", is_new)) return;
    for (int fill = 0; check_float_fill_name(fill); fill++) {
        tare_deviation sum = {0};
        for (size_t n = 0; n <= 300; n++) {
            compare(s, &sum, n, fill, CHECK_AT_PAGE_END);
            compare(s, &sum, n, fill, (int)(n * 5 % 64));
        }
    }
    if (s->is_bench) {
        float *x = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
        float *y = (void *)check_place(&s->out, CHECK_BENCH_COUNT * sizeof(float), 0);
        check_fill_floats(s, x, CHECK_BENCH_COUNT, CHECK_ORDINARY);
        check_fill_floats(s, y, CHECK_BENCH_COUNT, CHECK_ORDINARY);
        deviation_call c = {&s->c, x, y, CHECK_BENCH_COUNT, {{0}, {0}, {0}, 0}}, k = c;
        k.kernels = &s->level;
        check_bench(s, call_deviation, &c, &k);
    }
    check_end(s);
}
