/* SPDX-License-Identifier: MIT
 *
 * Guards against: layers in memory that do not come back, or whose bytes are not those of a file;
 * bytes that depend on threads or on whose threads they are; a part that differs from the whole; a
 * stop that is ignored; descriptions that are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <tare/experimental/wcodec.h>

#include "base/bytes.h"
#include "scarce_memory.h"
#include "wc_random.h"
#include "wcodec/encode_layer.h"

enum { N = 600000 };

static uint8_t bytes[N], base[N], got[N + 1];
static uint64_t seed;

static void fill(uint8_t *dst, size_t n, int scale) {
    for (size_t i = 0; i < n; i++) dst[i] = (uint8_t)(wc_normal(&seed) / scale);
}

static tare_coded *encode(const tare_coded_region *regions, size_t n_regions,
                          const tare_coded_field *fields, size_t n_fields,
                          const tare_coded_options *options) {
    tare_coded *coded;
    tare_error err;
    if (tare_coded_encode(&coded, regions, n_regions, fields, n_fields, options, &err) != TARE_OK)
        fail_msg("%s", err.what);
    return coded;
}

static void check_region(const tare_coded *coded, unsigned region, const uint8_t *want, size_t n,
                         const tare_coded_options *options) {
    tare_error err;
    memset(got, 0, n);
    got[n] = 0xa5;
    if (tare_coded_decode_region(got, coded, region, 0, n, options, &err) != TARE_OK)
        fail_msg("%s", err.what);
    assert_memory_equal(got, want, n);
    assert_int_equal(got[n], 0xa5);
}

/* A caller's pool: one body after the other, the last first. */
static void backwards(void *ctx, unsigned n, void (*body)(void *, unsigned), void *body_ctx) {
    ++*(unsigned *)ctx;
    while (n--) body(body_ctx, n);
}

/* ---- planes ---------------------------------------------------------------------------------- */

static void every_width_mode_and_size_comes_back(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 6, 8, 16};
    static const size_t sizes[] = {0, 1, 3, 64, 777, 20000, 100001};
    for (unsigned i = 0; i < 4; i++) {
        size_t unit = items[i] == 16 ? 2 : items[i] == 6 ? 3 : 1;
        for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (uint8_t mode = 0; mode <= TARE_CODED_STRUCTURED; mode++) {
                size_t n = sizes[s] * unit;
                tare_coded_field field = {.value_bits = items[i],
                                          .mode = mode,
                                          .log2_segment = s % 2 ? 14 : 0,
                                          .is_big_endian = items[i] == 16 && s % 2,
                                          .row = n >= 100 ? 50 : 0};
                tare_coded_region region = {bytes, n, NULL};
                tare_coded_options o = tare_coded_options_default();
                tare_context context = tare_context_default();
                o.context = &context;
                if (mode == TARE_CODED_STRUCTURED && n > 5000) continue;
                fill(bytes, n, 20);
                if (mode == TARE_CODED_CONSTANT) memset(bytes, 7, n);
                context.threads = 1;
                tare_coded *coded = encode(&region, 1, &field, 1, &o);
                check_region(coded, 0, bytes, n, &o);
                tare_coded_free(coded);
            }
        }
    }
}

/* The data is what a file would hold, with any threads. */
static void bytes_are_those_of_a_file(void **state) {
    (void)state;
    tare_coded_field fields[2] = {
        {.value_bits = 16, .stride = 18, .width = 2, .log2_segment = 14},
        {.value_bits = 4, .stride = 18, .offset = 2, .width = 16, .log2_segment = 16},
    };
    tare_coded_region region = {bytes, N / 18 * 18, NULL};
    tare_coded_stream streams[2] = {{.field = fields[0]}, {.field = fields[1]}};
    tare_wc_layer layer = {1, 2, .region_bytes = {region.size}, .streams = streams};
    tare_buffer file;
    tare_reader reader;
    tare_arena arena;
    tare_error err;
    fill(bytes, N, 30);
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&file, NULL);
    tare_reader_memory(&reader, bytes, region.size, "bytes");
    const tare_wc_source own = {{&reader}, {0}};
    assert_int_equal(encode_layer(&file, &layer, &own, NULL, false, &arena, &err), TARE_OK);
    for (unsigned i = 0; i < 4; i++) {
        unsigned calls = 0;
        tare_coded_layer made;
        tare_coded_options o = tare_coded_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        context.threads = i + 1;
        if (i == 3) {
            context.parallel = backwards;
            context.parallel_ctx = &calls;
        }
        tare_coded *coded = encode(&region, 1, fields, 2, &o);
        made = *tare_coded_describe(coded);
        assert_int_equal(made.size, file.size);
        assert_memory_equal(made.data, file.data, file.size);
        assert_int_equal(made.crc, layer.crc);
        assert_int_equal(made.streams[1].position, streams[1].position);
        assert_int_equal(made.streams[1].n_segments, streams[1].n_segments);
        check_region(coded, 0, bytes, region.size, &o);
        assert_int_equal(calls, i == 3 ? 2 : 0);
        tare_coded_free(coded);
    }
    tare_buffer_free(&file);
    tare_arena_free(&arena);
}

static void parts_are_as_the_whole(void **state) {
    (void)state;
    tare_coded_field fields[3] = {
        {.value_bits = 8, .stride = 7, .width = 1, .log2_segment = 14},
        {.value_bits = 16, .stride = 7, .offset = 1, .width = 4, .is_big_endian = true},
        {.value_bits = 4, .stride = 7, .offset = 5, .log2_segment = 15},
    };
    tare_coded_region region = {bytes, N / 7 * 7, NULL};
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_coded_layer made;
    tare_error err;
    fill(bytes, N, 10);
    tare_coded *coded = encode(&region, 1, fields, 3, NULL);
    for (unsigned round = 0; round < 60; round++) {
        size_t from = (size_t)(wc_random(&seed) % region.size);
        size_t n = (size_t)(wc_random(&seed) % (round % 2 ? 50 : 300000));
        if (n > region.size - from) n = region.size - from;
        context.threads = 1 + round % 3;
        memset(got, 0, sizeof got);
        got[n] = 0xa5;
        assert_int_equal(tare_coded_decode_region(got, coded, 0, from, n, &o, &err), TARE_OK);
        assert_memory_equal(got, bytes + from, n);
        assert_int_equal(got[n], 0xa5);
    }
    made = *tare_coded_describe(coded);
    const tare_coded_stream *p = &made.streams[2];
    assert_int_equal(p->field.width, 2);
    assert_true(p->n_segments > 4);
    assert_int_equal(tare_coded_decode_segments(got, coded, 2, 1, 3, NULL, &err), TARE_OK);
    for (size_t i = 0; i < 3 * p->segment_bytes; i++) {
        size_t at = i + (size_t)p->segment_bytes;
        assert_int_equal(got[i], bytes[at / 2 * 7 + 5 + at % 2]);
    }
    assert_int_equal(tare_coded_decode_segments(got, coded, 2, 1, p->n_segments, NULL, &err),
                     TARE_ERR_ARG);
    assert_int_equal(tare_coded_decode_region(got, coded, 0, region.size, 1, NULL, &err),
                     TARE_ERR_ARG);
    tare_coded_free(coded);
}

/* Nibbles and high bits as Q6_K and Q5_0 have them, and far apart: any part is as the whole. */
static void joined_fields_come_back(void **state) {
    (void)state;
    static const tare_coded_field rows[][2] = {
        {{.value_bits = 6,
          .log2_segment = 14,
          .stride = 210,
          .join = {128, 2, 8, {1, 2, 3, 4, 5, 6, 0, 7}}},
         {.value_bits = 8, .stride = 210, .offset = 192}},
        {{.value_bits = 6, .stride = 22, .offset = 6, .join = {2, 1, 5, {4, 0, 1, 2, 3}}},
         {.value_bits = 16, .stride = 22, .width = 2}},
        {{.value_bits = 6, .stride = 50000, .offset = 49996, .join = {0, 1, 3, {2, 1, 0}}},
         {.value_bits = 8, .stride = 50000, .offset = 1, .width = 49995}},
    };
    for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        tare_coded_region region = {bytes, N / rows[r][0].stride * rows[r][0].stride, NULL};
        tare_coded_options o = tare_coded_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        tare_coded_layer made;
        tare_error err;
        fill(bytes, N, 40);
        tare_coded *coded = encode(&region, 1, rows[r], 2, &o), *again;
        check_region(coded, 0, bytes, region.size, &o);
        made = *tare_coded_describe(coded);
        assert_memory_equal(&made.streams[0].field.join, &rows[r][0].join, sizeof rows[r][0].join);
        assert_int_equal(tare_coded_open(&again, &made, NULL, NULL, &err), TARE_OK);
        for (unsigned round = 0; round < 60; round++) {
            size_t from = (size_t)(wc_random(&seed) % region.size);
            size_t n = (size_t)(wc_random(&seed) % (round % 2 ? 500 : 300000));
            if (n > region.size - from) n = region.size - from;
            context.threads = 1 + round % 3;
            memset(got, 0, sizeof got);
            got[n] = 0xa5;
            assert_int_equal(tare_coded_decode_region(got, again, 0, from, n, &o, &err), TARE_OK);
            assert_memory_equal(got, bytes + from, n);
            assert_int_equal(got[n], 0xa5);
        }
        tare_coded_free(again);
        tare_coded_free(coded);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Codes, and scales in a second region, predicted from a base that was scaled otherwise. */
static void layers_of_regions_and_bases_come_back(void **state) {
    (void)state;
    enum { CODES = 200000, SCALES = 2 * CODES / 500 };
    static uint8_t own_scales[SCALES], base_scales[SCALES], codes[CODES], scales[SCALES];
    tare_coded_field fields[2] = {
        {.region = 1, .value_bits = 16},
        {.value_bits = 8,
         .log2_segment = 15,
         .scale_stream = 1,
         .scale_form = 1,
         .values_per_scale = 500},
    };
    tare_coded_region regions[2] = {{bytes, CODES, base}, {own_scales, SCALES, base_scales}};
    tare_coded_options o = tare_coded_options_default();
    tare_coded_layer made;
    tare_error err;
    fill(base, CODES, 20);
    for (size_t i = 0; i < CODES; i++)
        bytes[i] = (uint8_t)((int8_t)base[i] * 2 + (int)(wc_random(&seed) & 1));
    for (size_t i = 0; i < SCALES; i += 2) {
        tare_store_le16(own_scales + i, (uint16_t)(0x2c00 + i % 64));
        tare_store_le16(base_scales + i, (uint16_t)(0x3000 + i % 64));
    }
    tare_coded *coded = encode(regions, 2, fields, 2, &o);
    made = *tare_coded_describe(coded);
    assert_true(made.size < CODES / 4); /* alone they need more than half */
    void *const dst[2] = {codes, scales};
    assert_int_equal(tare_coded_decode_layer(dst, coded, &o, &err), TARE_OK);
    assert_memory_equal(codes, bytes, CODES);
    assert_memory_equal(scales, own_scales, SCALES);

    const void *const bases[2] = {base, base_scales};
    tare_coded *again;
    assert_int_equal(tare_coded_open(&again, &made, bases, NULL, &err), TARE_OK);
    check_region(again, 0, bytes, CODES, &o);
    tare_coded_free(again);
    assert_int_equal(tare_coded_open(&again, &made, NULL, NULL, &err), TARE_OK);
    assert_int_equal(tare_coded_decode_region(got, again, 0, 0, 100, &o, &err), TARE_ERR_ARG);
    tare_coded_free(again);
    tare_coded_free(coded);
}

static void coarse_values_are_near(void **state) {
    (void)state;
    tare_coded_field field = {.value_bits = 8, .mode = TARE_CODED_DIRECT};
    tare_coded_region region = {bytes, 50000, NULL};
    tare_coded_options o = tare_coded_options_default();
    tare_error err;
    unsigned n_different = 0;
    fill(bytes, region.size, 4);
    tare_coded *coded = encode(&region, 1, &field, 1, NULL);
    o.is_coarse = true;
    assert_int_equal(tare_coded_decode_region(got, coded, 0, 0, region.size, &o, &err), TARE_OK);
    for (size_t i = 0; i < region.size; i++) {
        int d = abs((int8_t)got[i] - (int8_t)bytes[i]);
        n_different += d != 0;
        assert_true(d <= 4);
    }
    assert_true(n_different > 1000);
    o.n_groups = 5;
    check_region(coded, 0, bytes, region.size, &o);
    tare_coded_free(coded);
}

static void bases_that_are_missing_are_refused(void **state) {
    (void)state;
    const tare_coded_field field = {.value_bits = 8};
    const tare_coded_region region = {bytes, 4000, NULL};
    const void *const none[] = {NULL};
    tare_coded_layer made;
    tare_coded *coded = encode(&region, 1, &field, 1, NULL), *again;
    made = *tare_coded_describe(coded);
    assert_int_equal(tare_coded_open(&again, &made, none, NULL, NULL), TARE_ERR_ARG);
    assert_null(again);
    tare_coded_free(coded);
}

/* What was described can be opened; what is spoilt in any place is refused, or says the same. */
static void descriptions_are_not_believed(void **state) {
    (void)state;
    tare_coded_field field = {.value_bits = 8, .log2_segment = 14};
    tare_coded_region region = {bytes, 40000, NULL};
    tare_coded_layer made;
    tare_error err;
    uint32_t sizes[3];
    fill(bytes, region.size, 20);
    tare_coded *coded = encode(&region, 1, &field, 1, NULL), *again;
    made = *tare_coded_describe(coded);
    assert_int_equal(made.streams[0].n_segments, 3);
    uint8_t *copy = malloc((size_t)made.size);
    assert_non_null(copy);
    for (unsigned i = 0; i < 10; i++) {
        tare_coded_layer spoilt = made;
        tare_coded_stream plane = made.streams[0];
        memcpy(copy, made.data, (size_t)made.size);
        memcpy(sizes, plane.sizes, sizeof sizes);
        spoilt.data = copy;
        spoilt.streams = &plane;
        plane.sizes = sizes;
        if (i == 1) copy[plane.head_bytes / 2] ^= 1;
        if (i == 2) spoilt.crc ^= 1;
        if (i == 3) sizes[1]++;
        if (i == 4) sizes[1] = 0;
        if (i == 5) plane.n_segments = 2;
        if (i == 6) spoilt.region_bytes[0] = UINT64_MAX;
        if (i == 7) plane.field.width = 2;
        if (i == 8) spoilt.size -= 128;
        if (i == 9) plane.head_bytes += 32;
        tare_status status = tare_coded_open(&again, &spoilt, NULL, NULL, &err);
        if (i == 0) {
            assert_int_equal(status, TARE_OK);
            check_region(again, 0, bytes, region.size, NULL);
        } else {
            assert_int_equal(status, i == 1 || i == 2 ? TARE_ERR_CHECKSUM : TARE_ERR_CORRUPT);
            assert_null(again);
        }
        tare_coded_free(again);
    }
    memcpy(copy, made.data,
           (size_t)made.size); /* damage inside a segment shows when it is decoded */
    size_t second = made.streams[0].head_bytes + (size_t)made.streams[0].sizes[0] * TARE_CODED_UNIT;
    copy[second + 600] ^= 4;
    made.data = copy;
    assert_int_equal(tare_coded_open(&again, &made, NULL, NULL, &err), TARE_OK);
    assert_int_equal(tare_coded_decode_segments(got, again, 0, 0, 1, NULL, &err), TARE_OK);
    assert_int_not_equal(tare_coded_decode_segments(got, again, 0, 1, 1, NULL, &err), TARE_OK);
    assert_true(err.offset >= second && err.offset < made.size);
    tare_coded_free(again);
    tare_coded_free(coded);
    free(copy);
}

/* ---- a plane in pieces ----------------------------------------------------------------------- */

static void a_coder_makes_the_same_segments(void **state) {
    (void)state;
    static uint8_t dst[2 * N];
    static uint32_t sizes[64];
    for (unsigned round = 0; round < 3; round++) {
        tare_coded_field field = {
            .value_bits = round == 2 ? 16 : 8, .log2_segment = 15, .is_big_endian = round == 2};
        tare_coded_region region = {bytes, 500000, round == 1 ? base : NULL};
        tare_coded_options o = tare_coded_options_default();
        tare_coded_layer made;
        tare_coder *coder;
        tare_error err;
        size_t n_head, at, written;
        fill(bytes, region.size, 20);
        for (size_t i = 0; i < region.size; i++) base[i] = (uint8_t)(bytes[i] + i % 7 / 6);
        tare_coded *coded = encode(&region, 1, &field, 1, &o);
        made = *tare_coded_describe(coded);
        assert_int_equal(tare_coder_new(&coder, &field, bytes, region.size, region.base, &o, &err),
                         TARE_OK);
        const uint8_t *head = tare_coder_head(&n_head, coder);
        assert_int_equal(n_head, made.streams[0].head_bytes);
        assert_memory_equal(head, made.data, n_head);
        at = n_head;
        size_t step = 3 * tare_coder_segment_bytes(coder);
        for (size_t from = 0, s = 0; from < region.size; from += step, s += 3) {
            size_t n = region.size - from < step ? region.size - from : step;
            assert_true(tare_coder_bound(coder, n) < sizeof dst);
            assert_int_equal(tare_coder_encode(dst, &written, sizes, coder, bytes + from, n,
                                               region.base ? base + from : NULL, &o, &err),
                             TARE_OK);
            assert_memory_equal(dst, made.data + at, written);
            assert_int_equal(sizes[0], made.streams[0].sizes[s]);
            at += written;
        }
        assert_true(made.size - at < 128);
        assert_int_equal(tare_coder_encode(dst, &written, sizes, coder, bytes, 10,
                                           region.base ? NULL : base, &o, &err),
                         TARE_ERR_ARG);
        tare_coder_free(coder);
        tare_coded_free(coded);
    }
}

/* ---- what can go wrong ----------------------------------------------------------------------- */

static void fields_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const tare_coded_field bad[] = {
        {.value_bits = 5},
        {.value_bits = 8, .log2_segment = 13},
        {.value_bits = 8, .region = 1},
        {.value_bits = 8, .stride = 4, .width = 3}, /* a byte that is in no plane */
        {.value_bits = 8, .stride = 4, .offset = 4},
        {.value_bits = 16, .stride = 3},
        {.value_bits = 8, .mode = 6},
        {.value_bits = 8, .trellis = 9},
        {.value_bits = 16, .trellis = 8},
        {.value_bits = 4, .trellis = 8},
        {.value_bits = 8, .scale_stream = 1, .scale_form = 1, .values_per_scale = 1},
        {.value_bits = 16, .is_big_endian = true, .stride = 7000},
        {.value_bits = 6, .stride = 8, .join = {4, 1, 3, {0, 1, 2}}}, /* three bytes in no plane */
        {.value_bits = 6, .stride = 5, .join = {4, 1, 3, {0, 1, 1}}},
        {.value_bits = 6, .stride = 5, .join = {4, 1, 200, {0, 1, 2}}},
        {.value_bits = 6, .stride = 5, .join = {4, 255, 3, {0, 1, 2}}},
        {.value_bits = 6, .stride = 5, .join = {5, 1, 3, {0, 1, 2}}},
        {.value_bits = 8, .stride = 5, .join = {4, 1, 3, {0, 1, 2}}},
    };
    const tare_coded_region region = {bytes, 1 << 18, NULL};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tare_coded *coded = (tare_coded *)bytes;
        tare_error err = {0};
        assert_int_equal(tare_coded_encode(&coded, &region, 1, &bad[i], 1, NULL, &err),
                         TARE_ERR_ARG);
        assert_int_equal(err.status, TARE_ERR_ARG);
        assert_null(coded);
        assert_true(err.what[0]);
        /* A coder takes the whole of one plane. */
        tare_coder *coder = (tare_coder *)bytes;
        if (bad[i].region || bad[i].stride) continue;
        assert_int_equal(tare_coder_new(&coder, &bad[i], bytes, 1 << 18, NULL, NULL, &err),
                         TARE_ERR_ARG);
        assert_null(coder);
    }
}

/* Of several fields the one at fault is named; there is no file that an offset could be in. */
static void the_field_at_fault_is_named(void **state) {
    (void)state;
    static const tare_coded_field bad[] = {
        {.value_bits = 5, .stride = 4, .offset = 2},
        {.value_bits = 8, .stride = 4, .offset = 2, .region = 1},
        {.value_bits = 8, .stride = 4, .offset = 4},
        {.value_bits = 6, .stride = 4, .offset = 2, .width = 2},
        {.value_bits = 8, .stride = 4, .offset = 2, .scale_stream = 1, .values_per_scale = 1},
        {.value_bits = 6, .stride = 4, .join = {4, 1, 3, {0, 1, 2}}},
        {.value_bits = 8, .stride = 4, .offset = 2, .mode = 6},
    };
    const tare_coded_region region = {bytes, 1 << 18, NULL};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const tare_coded_field fields[2] = {{.value_bits = 8, .stride = 4, .width = 2}, bad[i]};
        tare_coded *coded;
        tare_coder *coder;
        tare_error err;
        assert_int_equal(tare_coded_encode(&coded, &region, 1, fields, 2, NULL, &err),
                         TARE_ERR_ARG);
        assert_int_equal(err.item, 1);
        assert_true(err.offset == TARE_NO_OFFSET);
        if (tare_coder_new(&coder, &bad[i], bytes, 1 << 18, NULL, NULL, &err) == TARE_OK)
            tare_coder_free(coder);
        else
            assert_true(err.offset == TARE_NO_OFFSET);
    }
}

typedef struct stopper {
    unsigned calls, allowed;
    uint64_t done, total;
} stopper;

static bool stop_later(void *ctx, uint64_t done, uint64_t total) {
    stopper *s = ctx;
    s->done = done;
    s->total = total;
    return s->calls++ >= s->allowed;
}

static bool stop_in_the_middle(void *ctx, uint64_t done, uint64_t total) {
    stopper *s = ctx;
    s->done = done;
    s->total = total;
    return done > 0;
}

/* A caller's pool that begins late, so that the first task is followed by a call of progress. */
static void forwards(void *ctx, unsigned n, void (*body)(void *, unsigned), void *body_ctx) {
    const struct timespec pause = {0, 110000000}; /* longer than progress is left alone */
    (void)ctx;
    nanosleep(&pause, NULL);
    for (unsigned i = 0; i < n; i++) body(body_ctx, i);
}

static void progress_stops_it(void **state) {
    (void)state;
    const tare_coded_field field = {.value_bits = 8, .log2_segment = 14};
    const tare_coded_region region = {bytes, N, NULL};
    tare_coded *whole = encode(&region, 1, &field, 1, NULL), *coded;
    for (unsigned is_own = 0; is_own < 2; is_own++) {
        stopper s = {0};
        tare_coded_options o = tare_coded_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        tare_error err;
        context.threads = 2;
        context.progress = stop_later;
        context.progress_ctx = &s;
        if (is_own) context.parallel = forwards;
        assert_int_equal(tare_coded_encode(&coded, &region, 1, &field, 1, &o, &err),
                         TARE_ERR_CANCELLED);
        assert_null(coded);
        assert_int_equal(s.total, N);
        assert_int_equal(tare_coded_decode_region(got, whole, 0, 0, N, &o, &err),
                         TARE_ERR_CANCELLED);
        assert_int_equal(s.total, N);
        if (is_own) { /* stopped after the first task, long before the end */
            context.progress = stop_in_the_middle;
            assert_int_equal(tare_coded_decode_region(got, whole, 0, 0, N, &o, &err),
                             TARE_ERR_CANCELLED);
            assert_true(s.done > 0 && s.done < N);
            context.progress = stop_later;
        }
        s = (stopper){.allowed = UINT32_MAX};
        assert_int_equal(tare_coded_decode_region(got, whole, 0, 0, N, &o, &err), TARE_OK);
        assert_int_equal(s.done, N);
    }
    tare_coded_free(whole);
}

/* From the k-th allocation on all fail. */
static void memory_that_is_out_is_told(void **state) {
    (void)state;
    const tare_coded_field fields[2] = {
        {.value_bits = 16, .stride = 6, .width = 2, .log2_segment = 14},
        {.value_bits = 8, .stride = 6, .offset = 2}};
    const tare_coded_region region = {bytes, 300000, base};
    unsigned n_failed = 0;
    fill(bytes, region.size, 20);
    memcpy(base, bytes, region.size);
    for (size_t i = 0; i < region.size; i += 9) base[i]++;
    for (long k = 0;; k++) {
        scarce_memory memory = {.left = k, .is_out_for_good = true};
        const tare_allocator allocator = scarce_allocator(&memory);
        tare_coded_options o = tare_coded_options_default();
        tare_context context = tare_context_default();
        o.context = &context;
        tare_coded_layer made;
        tare_coded *coded, *again = NULL;
        tare_error err;
        const void *const bases[1] = {base};
        context.allocator = &allocator;
        context.threads = 2;
        tare_status status = tare_coded_encode(&coded, &region, 1, fields, 2, &o, &err);
        if (status == TARE_OK) {
            made = *tare_coded_describe(coded);
            status = tare_coded_open(&again, &made, bases, &o, &err);
        }
        if (status == TARE_OK)
            status = tare_coded_decode_region(got, again, 0, 0, region.size, &o, &err);
        tare_coded_free(again);
        tare_coded_free(coded);
        assert_int_equal(memory.in_use, 0);
        if (status == TARE_OK) break;
        assert_int_equal(status, TARE_ERR_NOMEM);
        n_failed++;
    }
    assert_memory_equal(got, bytes, region.size);
    assert_true(n_failed > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_mode_and_size_comes_back),
        cmocka_unit_test(bytes_are_those_of_a_file),
        cmocka_unit_test(parts_are_as_the_whole),
        cmocka_unit_test(joined_fields_come_back),
        cmocka_unit_test(layers_of_regions_and_bases_come_back),
        cmocka_unit_test(coarse_values_are_near),
        cmocka_unit_test(bases_that_are_missing_are_refused),
        cmocka_unit_test(descriptions_are_not_believed),
        cmocka_unit_test(a_coder_makes_the_same_segments),
        cmocka_unit_test(fields_that_cannot_be_are_refused),
        cmocka_unit_test(the_field_at_fault_is_named),
        cmocka_unit_test(progress_stops_it),
        cmocka_unit_test(memory_that_is_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
