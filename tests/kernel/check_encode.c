/* SPDX-License-Identifier: MIT
 *
 * Encoders: the bytes are the reference's, for any floats, with and without importance. */
#include <string.h>

#include "kernel/check.h"

typedef struct encode_call {
    tare_encode_fn encode;
    tare_rows_mut rows;
    const float *src;
    const float *importance;
} encode_call;

static void call_encode(void *arg) {
    encode_call *c = arg;
    tare_encode_params params = {.importance = c->importance};
    c->encode(&c->rows, c->src, c->importance ? &params : NULL);
}

/* What is swept: one encoder, with importance or without. */
typedef struct subject {
    const tare_encoding *e;
    tare_encode_fn reference, kernel;
    bool is_weighted;
} subject;

static void compare_rows(check *s, const subject *of, size_t n_rows, size_t cols, int fill,
                         int offset) {
    tare_rows_mut rows = {.n_rows = n_rows, .cols = cols}, expected_rows = rows;
    size_t n = n_rows * cols, size = check_planes(&rows, of->e, NULL);
    float *src = (void *)check_place(&s->in, n * sizeof(float), offset);
    float *importance = (void *)check_place(&s->importance, cols * sizeof(float), offset);
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0xaa);
    uint8_t *dst = check_place_output(&s->out, size, offset, 0x55);
    check_fill_floats(s, src, n, fill);
    if (of->is_weighted)
        check_fill_floats(s, importance, cols, fill % 3 ? CHECK_POSITIVE : CHECK_ORDINARY);
    const float *weights = of->is_weighted ? importance : NULL;
    check_planes(&rows, of->e, dst);
    check_planes(&expected_rows, of->e, expected);
    encode_call reference = {of->reference, expected_rows, src, weights};
    encode_call kernel = {of->kernel, rows, src, weights};
    call_encode(&reference);
    if (!check_call(s, call_encode, &kernel)) {
        check_fail(s, "n=%zu fill=%s offset=%d", n, check_float_fill_name(fill), offset);
        return;
    }
    if (!check_canaries(s, dst, size, offset)) return;
    for (size_t i = 0; i < size; i++) {
        if (dst[i] == expected[i]) continue;
        check_fail(s, "n=%zu fill=%s offset=%d byte %zu is %02x, expected %02x", n,
                   check_float_fill_name(fill), offset, i, dst[i], expected[i]);
        return;
    }
}

/* n elements in one row, or with importance in rows of a block, which then share it. */
static void compare(check *s, const subject *of, size_t n, int fill, int offset) {
    size_t cols = of->is_weighted && offset % 2 && n > 0 ? of->e->block : n;
    compare_rows(s, of, n > 0 ? n / cols : 1, cols, fill, offset);
}

/* Super-blocks are searched slowly by the reference, and are taken in batches of 16: less of them.
 */
static void sweep(check *s, const subject *of) {
    size_t block = of->e->block, most = block == 1 ? 300 : block < 256 ? 40 : 18;
    int step = block < 256 ? 1 : 9;
    for (int fill = 0; check_float_fill_name(fill); fill++) {
        for (size_t n = 0; n <= most; n += n < 8 || block < 256 ? 1 : 2) {
            compare(s, of, n * block, fill, CHECK_AT_PAGE_END);
            compare(s, of, n * block, fill, (int)(n * 5 % 64));
        }
        for (int offset = 0; offset < 64; offset += step) compare(s, of, 17 * block, fill, offset);
        if (block == 1 || !of->e->is_edge_padded) continue;
        for (size_t cols = 1; cols < 5 * block; cols += cols < 70 ? 1 : 29)
            compare_rows(s, of, 3, cols, fill, cols % 2 ? CHECK_AT_PAGE_END : (int)(cols % 64));
    }
}

static void bench(check *s, const subject *of) {
    float *src = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
    float *importance = (void *)check_place(&s->importance, CHECK_BENCH_COUNT * sizeof(float), 0);
    check_fill_floats(s, src, CHECK_BENCH_COUNT, CHECK_ORDINARY);
    check_fill_floats(s, importance, CHECK_BENCH_COUNT, CHECK_POSITIVE);
    const float *weights = of->is_weighted ? importance : NULL;
    tare_rows_mut rows = {.n_rows = 1, .cols = CHECK_BENCH_COUNT};
    check_planes(&rows, of->e, check_place(&s->out, 0, 0));
    encode_call reference = {of->reference, rows, src, weights};
    encode_call kernel = {of->kernel, rows, src, weights};
    check_bench(s, call_encode, &reference, &kernel);
}

static void check_one(check *s, const char *op, const subject *of, bool is_new) {
    if (!check_begin(s, op, of->e->name, is_new)) return;
    sweep(s, of);
    if (s->is_bench) bench(s, of);
    check_end(s);
}

void check_encode(check *s) {
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        subject plain = {e, s->c.encode[id], s->level.encode[id], false};
        subject weighted = {e, s->c.encode_weighted[id], s->level.encode_weighted[id], true};
        check_one(s, "encode", &plain, plain.kernel != s->below.encode[id]);
        check_one(s, "encode_weighted", &weighted, weighted.kernel != s->below.encode_weighted[id]);
    }
}
