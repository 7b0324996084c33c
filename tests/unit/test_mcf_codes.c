/* SPDX-License-Identifier: MIT
 *
 * MCF's number formats against vectors worked out by hand from the specification's text: packing,
 * scales, edge columns, the bytes of the public implementation, bounds. Guards against: codes in
 * another order or of another sign, a scale rounded otherwise, padding that is not zero. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "encoding/repack.h"

enum { COLS = 33, ROWS = 2 };

typedef struct vector {
    tare_encoding_id id;
    float first[4], last; /* of row 0: columns 0 to 3, and 32; all else is 0 */
    const char *planes;   /* hexadecimal; '|' between planes, "*N" repeats a zero byte */
} vector;

/* Row 1 is all zero. A block of row 0 begins with what is written here, the rest is zero. */
static const vector vectors[] = {
    /* 127 / 127 = 1 = 0x3c00; 63.5 goes up. 2.54 / 127 = 0.02 = 0x251f */
    {TARE_ENCODING_Q8, {127, -127, 63.5f, 0}, -2.54f, "003c 1f25 *4 | 7f8140 *29 81 *31 *64"},
    /* 7 and -7: low nibble first; 4 (3.5 up) and -1 */
    {TARE_ENCODING_Q4, {7, -7, 3.5f, -1}, 3.5f, "003c 0038 *4 | 97f4 *14 07 *15 *32"},
    /* 31, -31, 16, -1 in 24 bits: 0xfd085f; the second block has half the super's scale */
    {TARE_ENCODING_K6, {31, -31, 15.5f, -1}, 15.5f, "003c *2 | 2010 *2 | 5f08fd *21 1f *23 *48"},
    {TARE_ENCODING_K4, {7, -7, 3.5f, -1}, 3.5f, "003c *2 | 2010 *2 | 97f4 *14 07 *15 *32"},
    /* 3, -3, 2, -1 in 12 bits: 0xeab */
    {TARE_ENCODING_K3, {3, -3, 1.5f, -1}, -1.5f, "003c *2 | 2010 *2 | ab0e *10 05 *11 *24"},
    /* 1, -1, 1, 0: 0x1d */
    {TARE_ENCODING_K2, {1, -1, 0.5f, -0.25f}, 0.5f, "003c *2 | 2010 *2 | 1d *7 01 *7 *16"},
    /* one scale for all; 66 codes without regard to rows */
    {TARE_ENCODING_MCF_INT8, {127, -127, 63.5f, -1}, 2, "0000803f | 7f8140ff *28 02 *33"},
    {TARE_ENCODING_MCF_INT4, {7, -3.5f, 1, 0}, -7, "0000803f | c701 *14 09 *16"},
    /* bounds -1 and 254: 255 steps of 1; 0 is code -127, -1 is code -128 */
    {TARE_ENCODING_MCF_INT8_ZERO,
     {-1, 254, 0, 1},
     0,
     "0000803f | 0000fec2 | 807f8182 818181818181818181818181818181818181818181818181"
     "8181818181818181818181818181818181818181818181818181818181818181818181818181"},
    /* bounds -3 and 12: 15 steps of 1; 0 is code -5 = 0xb */
    {TARE_ENCODING_MCF_INT4_ZERO,
     {-3, 12, 0, 1},
     0,
     "0000803f | 0000a0c0 | 78cb bbbbbbbbbbbbbbbbbbbbbbbbbbbb bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb bbbb"},
};

static int digit_of(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The bytes of a text; returns how many. */
static size_t parse(uint8_t *out, const char *text) {
    size_t n = 0;
    for (const char *p = text; *p;) {
        unsigned zeros;
        int used;
        if (*p == ' ' || *p == '|') {
            p++;
        } else if (sscanf(p, "*%u%n", &zeros, &used) == 1) {
            memset(out + n, 0, zeros);
            n += zeros;
            p += used;
        } else {
            out[n++] = (uint8_t)(digit_of(p[0]) << 4 | digit_of(p[1]));
            p += 2;
        }
    }
    return n;
}

/* Planes one after the other; returns their size. */
static size_t place(tare_rows_mut *rows, const tare_encoding *e, uint8_t *bytes) {
    const uint64_t dims[2] = {ROWS, COLS};
    uint64_t sizes[TARE_MAX_PLANES];
    size_t total = 0;
    *rows = (tare_rows_mut){.n_rows = ROWS, .cols = COLS};
    assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
    for (uint32_t p = 0; p < e->n_planes; p++) {
        rows->planes[p] = bytes + total;
        total += (size_t)sizes[p];
    }
    return total;
}

static void fill(float *x, const float *first, float last) {
    memset(x, 0, sizeof(float) * ROWS * COLS);
    memcpy(x, first, 4 * sizeof *x);
    x[COLS - 1] = last;
}

static size_t encode(uint8_t *bytes, tare_encoding_id id, const float *first, float last,
                     const tare_encode_params *params) {
    const tare_encoding *e = tare_encoding_get(id);
    float x[ROWS * COLS];
    tare_rows_mut rows;
    size_t size = place(&rows, e, bytes);
    memset(bytes, 0xaa, size);
    fill(x, first, last);
    assert_int_equal(tare_encode_rows(&rows, e, x, params, NULL), TARE_OK);
    return size;
}

static void default_encoder_gives_the_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const vector *v = &vectors[i];
        uint8_t bytes[512], expected[512];
        size_t n = parse(expected, v->planes);
        size_t size = encode(bytes, v->id, v->first, v->last, NULL);
        assert_int_equal(n, size);
        for (size_t k = 0; k < n; k++)
            if (bytes[k] != expected[k])
                fail_msg("%s: byte %zu is %02x, not %02x", tare_encoding_get(v->id)->name, k,
                         bytes[k], expected[k]);
    }
}

/* What the codes stand for: values that the scale divides come back, others are rounded. */
static void decoder_gives_the_values(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const vector *v = &vectors[i];
        const tare_encoding *e = tare_encoding_get(v->id);
        uint8_t bytes[512];
        float y[ROWS * COLS];
        tare_rows_mut at;
        tare_rows rows = {.n_rows = ROWS, .cols = COLS};
        parse(bytes, v->planes);
        place(&at, e, bytes);
        memcpy(rows.planes, at.planes, sizeof at.planes);
        assert_int_equal(tare_decode_rows(y, e, &rows, NULL), TARE_OK);
        assert_true(y[0] == v->first[0]);
        for (size_t k = 4; k < COLS - 1; k++) assert_true(y[k] == 0);
        for (size_t k = COLS; k < sizeof y / sizeof *y; k++) assert_true(y[k] == 0);
        float wrong = y[COLS - 1] - v->last;
        assert_true(wrong < 0.001f && wrong > -0.001f);
    }
}

/* Scales cut off, codes from the scale that is not: MCF notes, "How weights are quantized". */
static void mantle_gives_the_public_bytes(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        float first[4], last;
        const char *planes;
    } made[] = {
        /* 0.02 is 0x251e.b8 */
        {TARE_ENCODING_Q8, {127, -127, 63.5f, 0}, -2.54f, "003c 1e25 *4 | 7f8140 *29 81 *31 *64"},
        /* 0.001 / 127 lies below 2^-14: a scale of 0, and codes in spite of it */
        {TARE_ENCODING_Q8, {0.001f, 0, 0, 0}, 0, "*8 | 7f *63 *64"},
        {TARE_ENCODING_Q4, {7, -7, 3.5f, -1}, 3.5f, "003c 0038 *4 | 97f4 *14 07 *15 *32"},
        /* 2.1 / 7 = 0.3, 9.6 thirty-seconds: 10; 2.1 / 0.3125 = 6.72 */
        {TARE_ENCODING_K4, {7, -7, 3.5f, -1}, 2.1f, "003c *2 | 200a *2 | 97f4 *14 07 *15 *32"},
        {TARE_ENCODING_K3, {3, -3, 1.5f, -1}, -1.5f, "003c *2 | 2010 *2 | ab0e *10 05 *11 *24"},
        /* 31.9 / 31 = 1.029..: 0x3c1d.b9 */
        {TARE_ENCODING_K6, {31.9f, 0, 0, 0}, 0, "1d3c *2 | 20 *3 | 1f *47 *48"},
    };
    const tare_encode_params params = {.size = sizeof(tare_encode_params),
                                       .compat = TARE_COMPAT_MANTLE};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        uint8_t bytes[512], expected[512];
        size_t n = parse(expected, made[i].planes);
        assert_int_equal(encode(bytes, made[i].id, made[i].first, made[i].last, &params), n);
        for (size_t k = 0; k < n; k++)
            if (bytes[k] != expected[k])
                fail_msg("vector %zu: byte %zu is %02x, not %02x", i, k, bytes[k], expected[k]);
    }
}

static void bounds_hold(void **state) {
    (void)state;
    static const float first[4] = {7, -7, 3.5f, -1};
    tare_encode_params params = {
        .size = sizeof(tare_encode_params), .has_clip = true, .clip_min = -3.5f, .clip_max = 1.5f};
    uint8_t bytes[512];
    /* -3.5 .. 1.5: scale 0.5; 3, -7, 3, -2 */
    encode(bytes, TARE_ENCODING_Q4, first, 0, &params);
    assert_memory_equal(bytes, "\x00\x38", 2);
    assert_memory_equal(bytes + 8, "\x93\xe3", 2);
    /* one scale: 3.5 / 7, whatever the values are */
    encode(bytes, TARE_ENCODING_MCF_INT4, first, 0, &params);
    assert_memory_equal(bytes, "\x00\x00\x00\x3f\x93\xe3", 6);
    params.compat = TARE_COMPAT_MANTLE;
    encode(bytes, TARE_ENCODING_Q4, first, 0, &params);
    assert_memory_equal(bytes + 8, "\x93\xe3", 2);
    uint8_t block[18] = {0};
    float x[32] = {0};
    tare_rows_mut rows = {.planes = {block}, .n_rows = 1, .cols = 32};
    params.compat = TARE_COMPAT_NONE;
    assert_int_equal(
        tare_encode_rows(&rows, tare_encoding_get(TARE_ENCODING_Q4_0), x, &params, NULL),
        TARE_ERR_UNSUPPORTED);
    params.clip_max = -4;
    assert_int_equal(tare_encode_rows(&rows, tare_encoding_get(TARE_ENCODING_Q4), x, &params, NULL),
                     TARE_ERR_ARG);
}

/* Code j is 1 + j % 15 - 8 in ggml's order and MCF's; there and back is the same. */
static void repacking_keeps_codes(void **state) {
    (void)state;
    const tare_encoding *ggml = tare_encoding_get(TARE_ENCODING_Q4_0);
    const tare_encoding *mcf = tare_encoding_get(TARE_ENCODING_Q4);
    uint8_t block[18] = {0x34, 0x12}, scale[2], codes[16], again[18];
    for (int j = 0; j < 16; j++) block[2 + j] = (uint8_t)((1 + j % 15) | (1 + (j + 16) % 15) << 4);
    tare_rows from = {.planes = {block}, .n_rows = 1, .cols = 32};
    tare_rows_mut to = {.planes = {scale, codes}, .n_rows = 1, .cols = 32};
    assert_ptr_equal(tare_repack_of(ggml), mcf);
    assert_true(tare_repack_allows(ggml, &from));
    tare_repack_rows(&to, ggml, &from);
    assert_memory_equal(scale, block, 2);
    assert_int_equal(codes[0], 0xa9);  /* -7 and -6 */
    assert_int_equal(codes[15], 0xa9); /* elements 30 and 31: 1 + 0 and 1 + 1, below 8 */
    float x[32], y[32];
    tare_rows planes = {.planes = {scale, codes}, .n_rows = 1, .cols = 32};
    assert_int_equal(tare_decode_rows(x, ggml, &from, NULL), TARE_OK);
    assert_int_equal(tare_decode_rows(y, mcf, &planes, NULL), TARE_OK);
    assert_memory_equal(x, y, sizeof x);
    tare_rows_mut back = {.planes = {again}, .n_rows = 1, .cols = 32};
    tare_repack_rows(&back, mcf, &planes);
    assert_memory_equal(again, block, sizeof block);
    block[5] &= 0x0f; /* code -8, which MCF leaves out */
    assert_false(tare_repack_allows(ggml, &from));
}

/* Many numbers at once go past the caches: they are the same numbers. */
static void large_runs_decode_alike(void **state) {
    (void)state;
    enum { MANY_COLS = 4096 + 16, MANY_ROWS = 2048, MANY = MANY_COLS * MANY_ROWS };
    static const tare_encoding_id ids[] = {TARE_ENCODING_K3, TARE_ENCODING_MCF_INT4_ZERO};
    uint8_t *bytes = malloc(MANY);
    void *x = NULL, *y = NULL;
    assert_int_equal(posix_memalign(&x, 64, MANY * sizeof(float)), 0);
    assert_int_equal(posix_memalign(&y, 64, MANY * sizeof(float)), 0);
    assert_non_null(bytes);
    for (size_t i = 0; i < MANY; i++) bytes[i] = (uint8_t)(i * i >> 7) & 0x3f;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const tare_encoding *e = tare_encoding_get(ids[i]);
        const uint64_t dims[2] = {MANY_ROWS, MANY_COLS};
        uint64_t sizes[TARE_MAX_PLANES], at = 0;
        tare_rows rows = {.n_rows = MANY_ROWS, .cols = MANY_COLS};
        assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
        for (uint32_t p = 0; p < e->n_planes; at += sizes[p++]) rows.planes[p] = bytes + at;
        assert_true(at <= MANY);
        assert_int_equal(tare_decode_rows(x, e, &rows, NULL), TARE_OK);
        tare_cpu_mask_limit(0);
        assert_int_equal(tare_decode_rows(y, e, &rows, NULL), TARE_OK);
        tare_cpu_mask_limit(UINT32_MAX);
        assert_memory_equal(x, y, MANY * sizeof(float));
    }
    free(x);
    free(y);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_encoder_gives_the_bytes),
        cmocka_unit_test(decoder_gives_the_values),
        cmocka_unit_test(mantle_gives_the_public_bytes),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(repacking_keeps_codes),
        cmocka_unit_test(large_runs_decode_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
