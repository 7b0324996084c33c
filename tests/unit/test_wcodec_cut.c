/* SPDX-License-Identifier: MIT
 *
 * Fault guarded against: a cut that loses bytes of a unit or has some twice, for some encoding,
 * byte order or size; planes that a reader would refuse; numbers cut at the wrong end; a header
 * that calls codebooks or codes of several parts 4-bit or 8-bit integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arith.h"
#include "encoding/table.h"
#include "format/wcodec/wcodec_draft.h"
#include "wc_random.h"
#include "wcodec/encode_layer.h"
#include "wcodec/layer/wc_join_choice.h"
#include "wcodec/layer/wc_pair_choice.h"
#include "wcodec/wc_head.h"

static const tare_wc_effort effort = TARE_WC_EFFORT_FAST;

/* The cut of a tensor of n_rows x cols elements. */
static bool cut_of(tare_wc_cut *out, const tare_encoding *e, uint64_t n_rows, uint64_t cols,
                   bool is_big_endian) {
    const uint64_t dims[] = {n_rows, cols};
    uint64_t sizes[TARE_MAX_PLANES] = {n_rows * cols};
    if (e->kind != TARE_KIND_UNKNOWN && tare_encoding_sizes(sizes, e, dims, 2, NULL) != TARE_OK)
        return false;
    tare_wc_cut_tensor(out, e, sizes, dims, 2, is_big_endian, &effort);
    return true;
}

static void check_region(const tare_wc_cut *cut, uint8_t region, const char *name) {
    uint8_t covered[4096] = {0};
    uint32_t stride = 0;
    for (uint8_t i = 0; i < cut->n_streams; i++) {
        const tare_coded_stream *p = &cut->streams[i];
        if (p->field.region != region) continue;
        assert_true(!stride || p->field.stride == stride);
        stride = p->field.stride;
        assert_in_range(stride, 1, sizeof covered);
        assert_int_equal(cut->region_bytes[region] % stride, 0);
        assert_in_range(p->field.offset + p->field.width, 1, stride);
        for (uint32_t b = 0; b < p->field.width; b++) covered[p->field.offset + b]++;
        if (!p->field.join.high_bits) continue;
        uint32_t n_high = tare_wc_join_high_bytes(&p->field.join);
        assert_in_range(p->field.join.high_offset + n_high, 1, stride);
        for (uint32_t b = 0; b < n_high; b++) covered[p->field.join.high_offset + b]++;
    }
    for (uint32_t b = 0; b < stride; b++)
        if (covered[b] != 1) fail_msg("%s: byte %u is in %u planes", name, b, covered[b]);
    assert_true(stride || !cut->region_bytes[region]);
}

static void check_plane(const tare_wc_cut *cut, uint8_t i, bool is_big_endian) {
    const tare_coded_stream *p = &cut->streams[i];
    const tare_wc_shape shape = tare_wc_shape_of(&p->field);
    uint8_t value_bits = p->field.value_bits;
    assert_int_equal(tare_wc_shape_check(&shape, NULL), TARE_OK);
    assert_true(value_bits != 16 || p->field.width % 2 == 0);
    assert_true(value_bits != 6 || p->field.join.high_bits || p->field.width % 3 == 0);
    assert_int_equal(p->field.is_big_endian, value_bits == 16 && is_big_endian);
    assert_int_equal(p->n_bytes,
                     cut->region_bytes[p->field.region] / p->field.stride * tare_wc_unit_bytes(p));
    assert_int_equal(tare_wc_used_bits(&p->field),
                     p->field.join.high_bits ? 4 + p->field.join.high_bits : 0);
    tare_wc_layer l = {.n_regions = cut->n_regions, .n_streams = cut->n_streams};
    tare_coded_stream streams[TARE_CODED_MAX_STREAMS];
    memcpy(streams, cut->streams, sizeof streams);
    memcpy(l.region_bytes, cut->region_bytes, sizeof l.region_bytes);
    l.streams = streams;
    assert_int_equal(tare_wc_check_stream(&l, i, 0, NULL), TARE_OK);
    if (!p->field.scale_stream) return;
    assert_true(p->field.scale_stream <= i);
    const tare_coded_stream *scales = &cut->streams[p->field.scale_stream - 1];
    uint64_t n = tare_wc_values_of(value_bits, p->n_bytes);
    assert_int_equal(scales->field.value_bits, 16);
    assert_int_equal(tare_ceil_div_u64(n, p->field.values_per_scale), scales->n_bytes / 2);
}

static void every_encoding_is_covered(void **state) {
    (void)state;
    static const uint64_t shapes[][2] = {{1, 1},      {7, 256}, {3, 768},
                                         {300, 2304}, {0, 256}, {65, 3}};
    unsigned n_cut = 0;
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
            tare_wc_cut cut;
            bool is_big_endian = i % 2;
            if (!cut_of(&cut, e, shapes[i / 2][0], shapes[i / 2][1], is_big_endian)) continue;
            bool has_list = e->planes[e->n_planes - 1].scope == TARE_PLANE_LIST; /* empty */
            assert_int_equal(cut.n_regions, e->n_planes - has_list);
            assert_in_range(cut.n_streams, 1, TARE_CODED_MAX_STREAMS);
            for (uint8_t r = 0; r < cut.n_regions; r++) check_region(&cut, r, e->name);
            for (uint8_t p = 0; p < cut.n_streams; p++) check_plane(&cut, p, is_big_endian);
            n_cut++;
        }
    }
    assert_true(n_cut > 400);
}

/* "bits:offset+width/stride" of each plane, joined ones with "~high offset+bytes", packed scales
 * with "s". */
static void describe(char *out, size_t size, const tare_wc_cut *cut) {
    size_t n = 0;
    out[0] = '\0';
    for (uint8_t i = 0; i < cut->n_streams; i++) {
        const tare_coded_stream *p = &cut->streams[i];
        n += (size_t)snprintf(out + n, size - n, "%s%u:%u+%u", i ? " " : "", p->field.value_bits,
                              p->field.offset, p->field.width);
        if (p->field.join.high_bits)
            n += (size_t)snprintf(out + n, size - n, "~%u+%u", p->field.join.high_offset,
                                  tare_wc_join_high_bytes(&p->field.join));
        if (p->field.is_packed_scales) n += (size_t)snprintf(out + n, size - n, "s");
        n += (size_t)snprintf(out + n, size - n, "/%u", p->field.stride);
    }
}

static void planes_are_those_of_the_fields(void **state) {
    (void)state;
    static const struct {
        const char *name, *little, *big;
    } rows[] = {
        {"bf16", "16:0+2/2", "16:0+2/2"},
        {"f32", "16:2+2/4 8:1+1/4 8:0+1/4", "16:0+2/4 8:2+1/4 8:3+1/4"},
        {"c64", "16:2+2/4 8:1+1/4 8:0+1/4", "16:0+2/4 8:2+1/4 8:3+1/4"},
        {"i16", "8:1+1/2 8:0+1/2", "8:0+1/2 8:1+1/2"},
        {"f6_e2m3", "6:0+3/3", "6:0+3/3"},
        {"q8_0", "16:0+2/34 8:2+32/34", "16:0+2/34 8:2+32/34"},
        {"q4_k", "16:0+2/144 16:2+2/144 6:4+12s/144 4:16+128/144", NULL},
        {"q6_k", "16:208+2/210 6:0+128~128+64/210 8:192+16/210",
         "16:208+2/210 6:0+128~128+64/210 8:192+16/210"},
        {"q5_k", "16:0+2/176 16:2+2/176 6:4+12s/176 6:48+128~16+32/176", NULL},
        {"q3_k", "16:108+2/110 6:32+64~0+32/110 6:96+8~104+4/110", NULL},
        {"q5_0", "16:0+2/22 6:6+16~2+4/22", "16:0+2/22 4:2+4/22 4:6+16/22"},
        {"q5_1", "16:0+2/24 16:2+2/24 6:8+16~4+4/24", "16:0+2/24 16:2+2/24 4:4+4/24 4:8+16/24"},
        {"iq4_xs", "16:0+2/136 6:4+4~2+2/136 4:8+128/136", NULL},
        {"q8_k", "16:2+2/292 8:1+1/292 8:0+1/292 8:4+256/292 8:260+32/292", NULL},
        {"k3", "16:0+2/2 8:0+1/1 6:0+12/12", NULL},
        {"int8_rowwise", "16:0+2/2 8:0+1/1", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tare_encoding *e = tare_encoding_find((tare_str){rows[i].name, strlen(rows[i].name)});
        tare_wc_cut cut;
        char text[400];
        assert_true(cut_of(&cut, e, 900, 2304, false));
        describe(text, sizeof text, &cut);
        assert_string_equal(text, rows[i].little);
        if (!rows[i].big) continue;
        assert_true(cut_of(&cut, e, 900, 2304, true));
        describe(text, sizeof text, &cut);
        assert_string_equal(text, rows[i].big);
    }
}

/* A plane has a record and a head: what is tiny is not cut. */
static void small_tensors_stay_whole(void **state) {
    (void)state;
    tare_wc_cut cut;
    assert_true(cut_of(&cut, tare_encoding_get(TARE_ENCODING_F32), 1, 16, false));
    assert_int_equal(cut.n_streams, 1);
    assert_true(cut_of(&cut, tare_encoding_get(TARE_ENCODING_Q4_K), 1, 2048, false));
    assert_int_equal(cut.n_streams, 1);
    assert_int_equal(cut.streams[0].field.scale_stream, 0);
}

/* Values of 5 bits are joined only where what that may add is not seen; those of 6 bits anywhere.
 */
static void small_tensors_of_five_bits_are_not_joined(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        uint64_t n_rows, cols;
        bool is_joined;
    } rows[] = {{TARE_ENCODING_Q5_0, 1000, 1024, false}, {TARE_ENCODING_Q5_0, 2000, 1024, true},
                {TARE_ENCODING_Q5_K, 1000, 1024, false}, {TARE_ENCODING_Q5_K, 2000, 1024, true},
                {TARE_ENCODING_Q6_K, 100, 256, true},    {TARE_ENCODING_Q3_K, 100, 256, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_wc_cut cut;
        bool is_joined = false;
        assert_true(
            cut_of(&cut, tare_encoding_get(rows[i].id), rows[i].n_rows, rows[i].cols, false));
        for (uint8_t p = 0; p < cut.n_streams; p++)
            is_joined |= cut.streams[p].field.join.high_bits != 0;
        assert_int_equal(is_joined, rows[i].is_joined);
    }
}

/* The data of 600 x 1024 elements of an encoding: noise, or normal numbers. */
static uint8_t *tensor_data(const tare_encoding *e, bool is_noise, uint64_t *size) {
    enum { ROWS = 600, COLS = 1024 };
    const uint64_t dims[] = {ROWS, COLS};
    uint64_t sizes[TARE_MAX_PLANES] = {0}, seed = 5;
    assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
    *size = sizes[0];
    float *values = malloc(sizeof(float) * ROWS * COLS);
    uint8_t *bytes = malloc((size_t)sizes[0]);
    assert_true(values && bytes);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) values[i] = (float)wc_normal(&seed);
    const tare_rows_mut rows = {.n_rows = ROWS, .cols = COLS, .planes = {bytes}};
    assert_int_equal(tare_encode_rows(&rows, e, values, NULL, NULL), TARE_OK);
    for (size_t i = 0; is_noise && i < sizes[0]; i++) bytes[i] = (uint8_t)wc_random(&seed);
    free(values);
    return bytes;
}

/* Unless their values show that it pays. */
static void small_tensors_of_five_bits_are_joined_where_that_pays(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        bool is_noise, is_big_endian, pays;
        tare_coded_mode mode;
    } rows[] = {{TARE_ENCODING_Q5_0, false, false, true, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q5_0, false, false, true, TARE_CODED_DIRECT},
                {TARE_ENCODING_Q5_0, false, false, false, TARE_CODED_RAW},
                {TARE_ENCODING_Q5_0, true, false, false, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q5_0, false, true, false, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q5_K, false, false, true, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q5_K, true, false, false, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q6_K, false, false, false, TARE_CODED_SMALLEST}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tare_encoding *e = tare_encoding_get(rows[i].id);
        const tare_wc_effort how = {.mode = rows[i].mode};
        const uint64_t dims[] = {600, 1024};
        uint64_t size;
        uint8_t *bytes = tensor_data(e, rows[i].is_noise, &size);
        tare_reader reader;
        tare_reader_memory(&reader, bytes, size, "tensor");
        const tare_wc_source source = {{&reader}, {0}};
        bool is_joined = false;
        assert_int_equal(tare_wc_joining_pays(&is_joined, e, &size, dims, 2, rows[i].is_big_endian,
                                              &how, &source, NULL),
                         TARE_OK);
        assert_int_equal(is_joined, rows[i].pays);
        tare_reader_memory(&reader, bytes, size / 2, "tensor");
        bool is_read = tare_wc_joining_pays(&is_joined, e, &size, dims, 2, false, &how, &source,
                                            NULL) != TARE_OK;
        assert_int_equal(is_read, rows[i].id != TARE_ENCODING_Q6_K && how.mode != TARE_CODED_RAW);
        free(bytes);
    }
}

/* Codes of which nearly all are 0 are values of two; those of a dense tensor are not, and those beside
 * other fields of their unit cannot be. */
static void codes_are_paired_where_that_pays(void **state) {
    (void)state;
    enum { CODES = 1 << 20, ONE_IN = 50 };
    static const struct {
        tare_encoding_id id;
        bool is_sparse, pays;
        tare_coded_mode mode;
    } rows[] = {{TARE_ENCODING_MCF_INT4, true, true, TARE_CODED_SMALLEST},
                {TARE_ENCODING_MCF_INT4, true, false, TARE_CODED_RAW},
                {TARE_ENCODING_MCF_INT4, false, false, TARE_CODED_SMALLEST},
                {TARE_ENCODING_INT4_ROWWISE, true, true, TARE_CODED_SMALLEST},
                {TARE_ENCODING_Q4_0, true, false, TARE_CODED_SMALLEST}};
    const uint64_t dims[] = {CODES / 1024, 1024};
    uint64_t seed = 5;
    uint8_t *bytes = malloc(CODES);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tare_encoding *e = tare_encoding_get(rows[i].id);
        const tare_wc_effort how = {.mode = rows[i].mode};
        uint64_t sizes[TARE_MAX_PLANES] = {0};
        tare_reader reader;
        tare_wc_source source = {{0}, {0}};
        bool is_paired;
        for (size_t b = 0; b < CODES; b++)
            bytes[b] = !rows[i].is_sparse || wc_random(&seed) % ONE_IN == 0
                           ? (uint8_t)wc_random(&seed)
                           : 0;
        tare_reader_memory(&reader, bytes, CODES, "codes");
        for (unsigned p = 0; p < TARE_CODED_MAX_REGIONS; p++) source.readers[p] = &reader;
        assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
        assert_int_equal(tare_wc_pairing_pays(&is_paired, e, sizes, dims, 2, &how, &source, NULL),
                         TARE_OK);
        assert_int_equal(is_paired, rows[i].pays);
        tare_reader_memory(&reader, bytes, 10, "codes");
        const bool is_read =
            tare_wc_pairing_pays(&is_paired, e, sizes, dims, 2, &how, &source, NULL) != TARE_OK;
        assert_int_equal(is_read, rows[i].id != TARE_ENCODING_Q4_0 && how.mode != TARE_CODED_RAW);
    }
    free(bytes);
}

typedef struct counted {
    const uint8_t *bytes;
    _Atomic uint64_t n_read;
    uint64_t end; /* reading beyond it fails */
} counted;

static tare_status read_counted(void *ctx, uint64_t offset, void *buf, size_t n) {
    counted *c = ctx;
    if (offset + n > c->end) return TARE_ERR_IO;
    atomic_fetch_add(&c->n_read, n);
    memcpy(buf, c->bytes + offset, n);
    return TARE_OK;
}

static tare_status put_at(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                          tare_error *err) {
    (void)err;
    memcpy((uint8_t *)ctx + offset, bytes, n);
    return TARE_OK;
}

/* The data of a layer that is read from `reader`. */
static tare_status run_layer(uint8_t *data, uint64_t *n, const tare_wc_cut *cut,
                             const tare_reader *reader, unsigned threads) {
    tare_arena arena;
    tare_wc_layer l = {0};
    tare_arena_init(&arena, NULL);
    assert_int_equal(tare_wc_apply_cut(&l, cut, &arena, NULL), TARE_OK);
    const tare_wc_target target = {put_at, data};
    const tare_wc_layer_job job = {&l, cut->how, {{reader}, {0}}, NULL, .may_be_whole = true};
    tare_wc_run run = {.jobs = &job, .n_jobs = 1, .how = {.threads = threads}};
    tare_status status = tare_wc_run_jobs(&run, &target, &arena, NULL);
    *n = run.offset;
    tare_arena_free(&arena);
    return status;
}

/* Small streams are read once, all together; the data is that of a tensor in memory. */
static void streams_of_a_unit_are_read_together(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {TARE_ENCODING_Q4_K, TARE_ENCODING_Q6_K,
                                           TARE_ENCODING_Q8_0};
    enum { MOST_TIMES = 3 /* once, and a large stream twice */ };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const tare_encoding *e = tare_encoding_get(ids[i]);
        tare_wc_cut cut;
        tare_reader memory, file;
        uint64_t size, n_expected, n;
        uint8_t *bytes = tensor_data(e, false, &size);
        uint8_t *expected = malloc((size_t)size), *data = malloc((size_t)size); /* it shrinks */
        assert_true(expected && data && cut_of(&cut, e, 600, 1024, false));
        counted c = {.bytes = bytes, .end = size};
        tare_reader_memory(&memory, bytes, size, "memory");
        tare_reader_callback(&file, read_counted, &c, size, "file");
        assert_int_equal(run_layer(expected, &n_expected, &cut, &memory, 1), TARE_OK);
        assert_int_equal(run_layer(data, &n, &cut, &file, 3), TARE_OK);
        assert_int_equal(n, n_expected);
        assert_memory_equal(data, expected, (size_t)n);
        assert_in_range(c.n_read, size, MOST_TIMES * size);
        c.end = size / 2; /* others wait for what will not come, and give up */
        assert_int_equal(run_layer(data, &n, &cut, &file, 3), TARE_ERR_IO);
        free(expected);
        free(data);
        free(bytes);
    }
}

/* What cannot shrink does not grow by more than 0.1 % and 256 bytes, with the records of its
 * planes: a small layer is left as it is. */
static void noise_stays_as_large_as_it_is(void **state) {
    (void)state;
    static const tare_encoding_id ids[] = {TARE_ENCODING_Q5_0, TARE_ENCODING_Q5_1,
                                           TARE_ENCODING_Q3_K, TARE_ENCODING_Q5_K,
                                           TARE_ENCODING_Q6_K, TARE_ENCODING_IQ4_XS};
    enum { COLS = 1024, SMALL = 80, LARGE = 3000, A_TENSOR = 256, A_RECORD = 30 };
    static const uint64_t n_rows[] = {SMALL, 375, 740, LARGE};
    enum { N_ROWS = sizeof n_rows / sizeof *n_rows };
    uint8_t *noise = malloc((size_t)LARGE * COLS * 7 / 8);
    uint64_t seed = 3;
    assert_non_null(noise);
    for (size_t i = 0; i + 8 <= (size_t)LARGE * COLS * 7 / 8; i += 8) {
        uint64_t x = wc_random(&seed);
        memcpy(noise + i, &x, 8);
    }
    for (size_t i = 0; i < N_ROWS * sizeof ids / sizeof *ids; i++) {
        tare_wc_cut cut;
        tare_wc_layer l = {0};
        tare_arena arena;
        tare_reader reader;
        tare_buffer data;
        tare_buffer_init(&data, NULL);
        assert_true(
            cut_of(&cut, tare_encoding_get(ids[i / N_ROWS]), n_rows[i % N_ROWS], COLS, false));
        tare_arena_init(&arena, NULL);
        assert_int_equal(tare_wc_apply_cut(&l, &cut, &arena, NULL), TARE_OK);
        tare_reader_memory(&reader, noise, l.region_bytes[0], "noise");
        const tare_wc_target target = {encode_layer_put, &data};
        const tare_wc_layer_job job = {&l, cut.how, {{&reader}, {0}}, NULL, .may_be_whole = true};
        tare_wc_run run = {.jobs = &job, .n_jobs = 1, .how = {.threads = 1}};
        assert_int_equal(tare_wc_run_jobs(&run, &target, &arena, NULL), TARE_OK);
        assert_in_range(data.size + l.n_streams * A_RECORD, 1,
                        l.region_bytes[0] + l.region_bytes[0] / 1000 + A_TENSOR);
        if (n_rows[i % N_ROWS] == SMALL) assert_int_equal(l.n_streams, 1);
        tare_buffer_free(&data);
        tare_arena_free(&arena);
    }
    free(noise);
}

/* Whatever is asked for, readers accept the segments. */
static void segments_are_never_too_large(void **state) {
    (void)state;
    const tare_wc_effort large = {.mode = TARE_CODED_SMALLEST, .log2_segment = TARE_WC_MAX_LOG2};
    const uint64_t dims[] = {1 << 14, 1 << 14};
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        uint64_t sizes[TARE_MAX_PLANES] = {0};
        tare_wc_cut cut;
        if (e->kind == TARE_KIND_UNKNOWN || tare_encoding_sizes(sizes, e, dims, 2, NULL) != TARE_OK)
            continue;
        tare_wc_cut_tensor(&cut, e, sizes, dims, 2, false, &large);
        tare_wc_layer l = {.n_regions = cut.n_regions, .streams = cut.streams};
        memcpy(l.region_bytes, cut.region_bytes, sizeof l.region_bytes);
        l.n_streams = cut.n_streams;
        for (uint8_t p = 0; p < cut.n_streams; p++) {
            uint8_t log2 = cut.streams[p].field.value_bits == 16 ? 25 : TARE_WC_MAX_LOG2;
            assert_int_equal(cut.streams[p].field.log2_segment, log2);
            assert_int_equal(tare_wc_check_stream(&l, p, 0, NULL), TARE_OK);
        }
    }
}

static void codes_know_their_scales(void **state) {
    (void)state;
    static const struct {
        tare_encoding_id id;
        uint32_t values_per_scale;
    } rows[] = {{TARE_ENCODING_Q8_0, 32},
                {TARE_ENCODING_Q8, 32},
                {TARE_ENCODING_INT8_ROWWISE, 2304},
                {TARE_ENCODING_Q6_K, 0},
                {TARE_ENCODING_MCF_INT8, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_wc_cut cut;
        uint32_t found = 0;
        assert_true(cut_of(&cut, tare_encoding_get(rows[i].id), 640, 2304, false));
        for (uint8_t p = 0; p < cut.n_streams; p++)
            if (cut.streams[p].field.scale_stream) found = cut.streams[p].field.values_per_scale;
        assert_int_equal(found, rows[i].values_per_scale);
    }
}

static bool is_among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

static void the_header_knows_integers(void **state) {
    (void)state;
    static const char *const eight[] = {"q8_0",     "q8_1",          "q8_k",         "q8",
                                        "mcf_int8", "mcf_int8_zero", "int8_rowwise", NULL};
    static const char *const four[] = {"q4_0",     "q4_1",          "q4_k",         "q4", "k4",
                                       "mcf_int4", "mcf_int4_zero", "int4_rowwise", NULL};
    tare_tensor t[3] = {0};
    t[0].encoding = t[2].encoding = tare_encoding_get(TARE_ENCODING_F32);
    for (int id = 0; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        t[1].encoding = e;
        int expected = is_among(e->name, eight) ? 1 : is_among(e->name, four) ? 2 : 0;
        assert_int_equal(tare_wcodec_base_quant(t, 3), expected);
    }
    t[0].encoding = tare_encoding_get(TARE_ENCODING_Q8_0);
    t[1].encoding = tare_encoding_get(TARE_ENCODING_Q4_0);
    assert_int_equal(tare_wcodec_base_quant(t, 3), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_is_covered),
        cmocka_unit_test(planes_are_those_of_the_fields),
        cmocka_unit_test(small_tensors_stay_whole),
        cmocka_unit_test(small_tensors_of_five_bits_are_not_joined),
        cmocka_unit_test(small_tensors_of_five_bits_are_joined_where_that_pays),
        cmocka_unit_test(codes_are_paired_where_that_pays),
        cmocka_unit_test(streams_of_a_unit_are_read_together),
        cmocka_unit_test(noise_stays_as_large_as_it_is),
        cmocka_unit_test(segments_are_never_too_large),
        cmocka_unit_test(codes_know_their_scales),
        cmocka_unit_test(the_header_knows_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
