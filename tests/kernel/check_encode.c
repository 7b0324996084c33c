/* SPDX-License-Identifier: MIT
 *
 * Encoders: the bytes are the reference's, for any floats. */
#include <string.h>

#include "kernel/check.h"

typedef struct encode_call {
    tare_encode_fn encode;
    tare_rows_mut rows;
    const float *src;
} encode_call;

static void call_encode(void *arg) {
    encode_call *c = arg;
    c->encode(&c->rows, c->src, NULL);
}

static void compare(check *s, const tare_encoding *e, size_t n, int fill, int offset) {
    size_t size = n / e->planes[0].unit * e->planes[0].unit_bytes;
    float *src = (void *)check_place(&s->in, n * sizeof(float), offset);
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0xaa);
    uint8_t *dst = check_place_output(&s->out, size, offset, 0x55);
    check_fill_floats(s, src, n, fill);
    encode_call reference = {s->c.encode[e->id], {{expected}, 1, n}, src};
    encode_call kernel = {s->level.encode[e->id], {{dst}, 1, n}, src};
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

static void sweep(check *s, const tare_encoding *e) {
    size_t block = e->block;
    for (int fill = 0; check_float_fill_name(fill); fill++) {
        for (size_t n = 0; n <= 300; n++) {
            if (block > 1 && n > 40) break;
            compare(s, e, n * block, fill, CHECK_AT_PAGE_END);
            compare(s, e, n * block, fill, (int)(n * 5 % 64));
        }
        for (int offset = 0; offset < 64; offset++) compare(s, e, 17 * block, fill, offset);
    }
}

static void bench(check *s, const tare_encoding *e) {
    float *src = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
    check_fill_floats(s, src, CHECK_BENCH_COUNT, 6);
    tare_rows_mut rows = {{check_place(&s->out, 0, 0)}, 1, CHECK_BENCH_COUNT};
    encode_call reference = {s->c.encode[e->id], rows, src};
    encode_call kernel = {s->level.encode[e->id], rows, src};
    check_bench(s, call_encode, &reference, &kernel);
}

void check_encode(check *s) {
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        if (!check_begin(s, "encode", e->name, s->level.encode[id] != s->below.encode[id]))
            continue;
        sweep(s, e);
        if (s->is_bench) bench(s, e);
        check_end(s);
    }
}
