/* SPDX-License-Identifier: MIT
 *
 * Products of low rank: every bit is the reference's, for all widths of a piece, whatever numbers
 * of rows and ranks, and nothing beside the piece is written. */
#include <string.h>

#include "kernel/check.h"

typedef struct low_rank_call {
    const tare_kernels *kernels;
    float *w;
    size_t stride;
    tare_low_rank product;
    size_t n_rows, n_cols;
} low_rank_call;

static void call_low_rank(void *arg) {
    low_rank_call *c = arg;
    c->kernels->add_low_rank(c->w, c->stride, &c->product, c->n_rows, c->n_cols);
}

/* A region's bytes for `n` floats; the last one of a panel is at an unmapped page. */
static float *place_floats(const check_region *r, size_t n, int offset) {
    return (float *)(void *)check_place(r, n * sizeof(float), offset);
}

static void compare(check *s, size_t n_rows, size_t n_cols, size_t rank, int offset) {
    const size_t stride = n_cols + (size_t)(check_random(s) % 3), first = TARE_PANEL - n_cols;
    const size_t size = n_rows ? (n_rows - 1) * stride + n_cols : 0;
    float *a = place_floats(&s->in, n_rows * rank, CHECK_AT_PAGE_END);
    float *b = place_floats(&s->importance, rank * TARE_PANEL, CHECK_AT_PAGE_END);
    float *w = (void *)check_place_output(&s->out, size * sizeof *w, offset, 0);
    float *expected = place_floats(&s->expected, size, 0);
    check_fill_floats(s, a, n_rows * rank, CHECK_ORDINARY);
    check_fill_floats(s, b, rank * TARE_PANEL, CHECK_ORDINARY);
    check_fill_floats(s, w, size, (int)(check_random(s) % 2 ? CHECK_ORDINARY : 3));
    memcpy(expected, w, size * sizeof *w);
    low_rank_call reference = {&s->c,  expected, stride, {a, b + first, rank, -0.37f},
                               n_rows, n_cols};
    low_rank_call kernel = reference;
    kernel.kernels = &s->level;
    kernel.w = w;
    call_low_rank(&reference);
    if (!check_call(s, call_low_rank, &kernel)) {
        check_fail(s, "rows=%zu cols=%zu rank=%zu offset=%d", n_rows, n_cols, rank, offset);
        return;
    }
    if (memcmp(w, expected, size * sizeof *w) != 0)
        check_fail(s, "rows=%zu cols=%zu rank=%zu offset=%d: other sums", n_rows, n_cols, rank,
                   offset);
    check_canaries(s, (const uint8_t *)w, size * sizeof *w, offset);
}

static void bench(check *s) {
    enum { ROWS = 512, RANK = 32 };
    float *a = place_floats(&s->in, ROWS * RANK, 0);
    float *b = place_floats(&s->importance, RANK * TARE_PANEL, 0);
    float *w = place_floats(&s->out, ROWS * TARE_PANEL, 0);
    check_fill_floats(s, a, ROWS * RANK, CHECK_ORDINARY);
    check_fill_floats(s, b, RANK * TARE_PANEL, CHECK_ORDINARY);
    memset(w, 0, ROWS * TARE_PANEL * sizeof *w);
    low_rank_call c = {&s->c, w, TARE_PANEL, {a, b, RANK, 1e-9f}, ROWS, TARE_PANEL}, k = c;
    k.kernels = &s->level;
    check_bench(s, call_low_rank, &c, &k);
}

void check_low_rank(check *s) {
    static const size_t ranks[] = {1, 2, 7, 32, 33};
    bool is_new = s->level.add_low_rank != s->below.add_low_rank;
    if (!check_begin(s, "add", "low_rank", is_new)) return;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (size_t n_cols = 1; n_cols <= TARE_PANEL; n_cols++)
            for (size_t n_rows = 0; n_rows <= 9; n_rows++)
                compare(s, n_rows, n_cols, ranks[i],
                        n_rows % 2 ? CHECK_AT_PAGE_END : (int)(n_cols * 4 % 64));
    if (s->is_bench) bench(s);
    check_end(s);
}
