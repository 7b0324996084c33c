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

static void compare(check *s, const tare_encoding *e, size_t n, int fill, int offset) {
    size_t in_size = n / e->planes[0].unit * e->planes[0].unit_bytes, size = n * sizeof(float);
    uint8_t *src = check_place(&s->in, in_size, offset);
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0xaa);
    uint8_t *dst = check_place_output(&s->out, size, offset, 0x55);
    fill_bytes(s, src, in_size, fill);
    decode_call reference = {s->c.decode[e->id], {{src}, 1, n}, (void *)expected};
    decode_call kernel = {s->level.decode[e->id], {{src}, 1, n}, (void *)dst};
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
            compare(s, e, n * block, fill, CHECK_AT_PAGE_END);
            compare(s, e, n * block, fill, (int)(n * 5 % 64));
        }
        for (int offset = 0; offset < 64; offset++) compare(s, e, 17 * block, fill, offset);
    }
}

static void bench(check *s, const tare_encoding *e) {
    size_t size = CHECK_BENCH_COUNT / e->planes[0].unit * e->planes[0].unit_bytes;
    uint8_t *src = check_place(&s->in, size, 0);
    for (size_t i = 0; i < size; i++) src[i] = (uint8_t)(i % 128 % 61); /* no NaN, no subnormals */
    tare_rows rows = {{src}, 1, CHECK_BENCH_COUNT};
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
