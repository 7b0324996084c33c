/* SPDX-License-Identifier: MIT
 *
 * Decoders: the floats are the reference's bit by bit, for any bytes; any NaN equals any NaN. */
#include <string.h>

#include "base/bytes.h"
#include "kernel/check.h"

typedef struct decode_call {
    tare_decode_fn decode;
    tare_rows rows;
    float *dst;
} decode_call;

static void call_decode(void *arg) {
    decode_call *c = arg;
    c->decode(c->dst, &c->rows);
}

static const char *const fills[] = {"0x00", "0xff", "random", "ascending"};
enum { N_FILLS = sizeof fills / sizeof fills[0] };

static void fill_bytes(check *s, uint8_t *p, size_t size, int fill) {
    if (fill < 2)
        memset(p, fill == 0 ? 0x00 : 0xff, size);
    else if (fill == 2)
        check_random_bytes(s, p, size);
    else
        for (size_t i = 0; i < size; i++) p[i] = (uint8_t)i;
}

static bool is_same(uint32_t a, uint32_t b) {
    return a == b || ((a & 0x7fffffff) > 0x7f800000 && (b & 0x7fffffff) > 0x7f800000);
}

static tare_rows rows_at(const tare_encoding *e, uint64_t n_rows, uint64_t cols, uint8_t *src) {
    tare_rows_mut rows = {.n_rows = n_rows, .cols = cols};
    tare_rows made = {.n_rows = n_rows, .cols = cols};
    check_planes(&rows, e, src);
    for (uint32_t p = 0; p < e->n_planes; p++) made.planes[p] = rows.planes[p];
    return made;
}

static void compare(check *s, const tare_encoding *e, size_t n_rows, size_t cols, int fill,
                    int offset) {
    tare_rows_mut shape = {.n_rows = n_rows, .cols = cols};
    size_t n = n_rows * cols, in_size = check_planes(&shape, e, NULL), size = n * sizeof(float);
    uint8_t *src = check_place(&s->in, in_size, offset);
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0xaa);
    uint8_t *dst = check_place_output(&s->out, size, offset, 0x55);
    fill_bytes(s, src, in_size, fill);
    const tare_rows rows = rows_at(e, n_rows, cols, src);
    decode_call reference = {s->c.decode[e->id], rows, (void *)expected};
    decode_call kernel = {s->level.decode[e->id], rows, (void *)dst};
    call_decode(&reference);
    if (!check_call(s, call_decode, &kernel)) {
        check_fail(s, "n=%zu fill=%s offset=%d", n, fills[fill], offset);
        return;
    }
    if (!check_canaries(s, dst, size, offset)) return;
    for (size_t i = 0; i < n; i++) {
        uint32_t is = tare_load_le32(dst + 4 * i), should = tare_load_le32(expected + 4 * i);
        if (is_same(is, should)) continue;
        check_fail(s, "n=%zu fill=%s offset=%d element %zu is %08x, expected %08x", n, fills[fill],
                   offset, i, is, should);
        return;
    }
}

static void sweep(check *s, const tare_encoding *e) {
    size_t block = e->planes[0].unit; /* two where elements share a byte */
    for (int fill = 0; fill < N_FILLS; fill++) {
        for (size_t n = 0; n <= 300; n++) {
            if (n > 40 && n * block > 300) break;
            compare(s, e, 1, n * block, fill, CHECK_AT_PAGE_END);
            compare(s, e, 1, n * block, fill, (int)(n * 5 % 64));
        }
        for (int offset = 0; offset < 64; offset++) compare(s, e, 1, 17 * block, fill, offset);
        if (!check_takes_odd_rows(e)) continue;
        for (size_t cols = 1; cols < check_odd_cols(e); cols += cols < 70 ? 1 : 29)
            compare(s, e, 3, cols, fill, cols % 2 ? CHECK_AT_PAGE_END : (int)(cols % 64));
    }
}

static void bench(check *s, const tare_encoding *e) {
    tare_rows_mut shape = {.n_rows = 1, .cols = CHECK_BENCH_COUNT};
    size_t size = check_planes(&shape, e, NULL);
    uint8_t *src = check_place(&s->in, size, 0);
    for (size_t i = 0; i < size; i++) src[i] = (uint8_t)(i % 128 % 61); /* no NaN, no subnormals */
    const tare_rows rows = rows_at(e, 1, CHECK_BENCH_COUNT, src);
    float *dst = (void *)check_place(&s->out, 0, 0);
    decode_call reference = {s->c.decode[e->id], rows, dst};
    decode_call kernel = {s->level.decode[e->id], rows, dst};
    check_bench(s, call_decode, &reference, &kernel);
}

void check_decode(check *s) {
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        if (!check_begin(s, "decode", e->name, s->level.decode[id] != s->below.decode[id]))
            continue;
        sweep(s, e);
        if (s->is_bench) bench(s, e);
        check_end(s);
    }
}
