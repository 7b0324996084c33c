/* SPDX-License-Identifier: MIT
 *
 * Runs of words: byte order in place, and the count of NaN and Inf. */
#include <string.h>

#include "kernel/check.h"

/* ---- byte order ------------------------------------------------------------------------------ */

typedef void (*swap_fn)(uint8_t *bytes, uint64_t n);

typedef struct swap_call {
    swap_fn swap;
    uint8_t *bytes;
    uint64_t n;
} swap_call;

static void call_swap(void *arg) {
    swap_call *c = arg;
    c->swap(c->bytes, c->n);
}

static void compare_swap(check *s, swap_fn reference, swap_fn swap, size_t width, size_t n,
                         int offset) {
    size_t size = n * width;
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0);
    uint8_t *bytes = check_place_output(&s->out, size, offset, 0);
    check_random_bytes(s, bytes, size);
    memcpy(expected, bytes, size);
    swap_call kernel = {swap, bytes, n};
    reference(expected, n);
    if (!check_call(s, call_swap, &kernel)) {
        check_fail(s, "n=%zu offset=%d", n, offset);
        return;
    }
    if (!check_canaries(s, bytes, size, offset)) return;
    if (memcmp(bytes, expected, size) != 0) check_fail(s, "n=%zu offset=%d differs", n, offset);
}

static void check_swap(check *s, const char *type, size_t width, swap_fn reference, swap_fn below,
                       swap_fn swap) {
    if (!check_begin(s, "swap", type, swap != below)) return;
    for (size_t n = 0; n <= 300; n++) {
        compare_swap(s, reference, swap, width, n, CHECK_AT_PAGE_END);
        compare_swap(s, reference, swap, width, n, (int)(n % 64));
    }
    for (int offset = 0; offset < 64; offset++) compare_swap(s, reference, swap, width, 77, offset);
    if (s->is_bench) {
        uint8_t *bytes = check_place(&s->out, 0, 0);
        swap_call c = {reference, bytes, CHECK_BENCH_COUNT}, k = {swap, bytes, CHECK_BENCH_COUNT};
        check_bench(s, call_swap, &c, &k);
    }
    check_end(s);
}

/* ---- NaN and Inf --------------------------------------------------------------------------------
 */

typedef struct count_call {
    const tare_kernels *kernels;
    const float *src;
    uint64_t n;
    tare_nonfinite_counts sum;
} count_call;

static void call_count(void *arg) {
    count_call *c = arg;
    c->kernels->count_nonfinite(&c->sum, c->src, c->n, 1000);
}

static void compare_count(check *s, size_t n, int fill, int offset) {
    float *src = (void *)check_place(&s->in, n * sizeof(float), offset);
    check_fill_floats(s, src, n, fill);
    count_call reference = {&s->c, src, n, tare_nonfinite_counts_default()};
    count_call kernel = {&s->level, src, n, tare_nonfinite_counts_default()};
    call_count(&reference);
    if (!check_call(s, call_count, &kernel)) {
        check_fail(s, "n=%zu fill=%s offset=%d", n, check_float_fill_name(fill), offset);
        return;
    }
    if (memcmp(&reference.sum, &kernel.sum, sizeof reference.sum) != 0)
        check_fail(s, "n=%zu fill=%s offset=%d counts otherwise", n, check_float_fill_name(fill),
                   offset);
}

static void check_nonfinite(check *s) {
    bool is_new = s->level.count_nonfinite != s->below.count_nonfinite;
    if (!check_begin(s, "count", "oddities", is_new)) return;
    for (int fill = 0; check_float_fill_name(fill); fill++) {
        for (size_t n = 0; n <= 300; n++) {
            compare_count(s, n, fill, CHECK_AT_PAGE_END);
            compare_count(s, n, fill, (int)(n * 5 % 64));
        }
    }
    if (s->is_bench) {
        float *src = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
        check_fill_floats(s, src, CHECK_BENCH_COUNT, 6);
        count_call c = {&s->c, src, CHECK_BENCH_COUNT, tare_nonfinite_counts_default()};
        count_call k = {&s->level, src, CHECK_BENCH_COUNT, tare_nonfinite_counts_default()};
        check_bench(s, call_count, &c, &k);
    }
    check_end(s);
}

void check_words(check *s) {
    check_swap(s, "u16", 2, s->c.swap_u16, s->below.swap_u16, s->level.swap_u16);
    check_swap(s, "u32", 4, s->c.swap_u32, s->below.swap_u32, s->level.swap_u32);
    check_swap(s, "u64", 8, s->c.swap_u64, s->below.swap_u64, s->level.swap_u64);
    check_nonfinite(s);
}
