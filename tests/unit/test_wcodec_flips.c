/* SPDX-License-Identifier: MIT
 *
 * Guards against damage that goes unnoticed: in small files, one for each way a segment can be
 * stored, every single bit is flipped, and the file is refused or decodes to the same bytes. And
 * against coarse readings that predict from what is coarse, and faults of a base that are taken for
 * damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "format/wcodec/wcodec_index.h"
#include "wc_random.h"
#include "wcodec/encode_layer.h"

enum { MOST = 16384, MOST_FILE = 4200, SECOND = MOST / 2, MANY = 32 };

/* ---- one small file -------------------------------------------------------------------------- */

typedef struct file {
    tare_buffer bytes;
    uint8_t own[MOST], base[MOST]; /* of region 0; region 1: from SECOND on */
    uint32_t n;
    bool has_base;
    tare_wcodec_layer layer;
    tare_coded_stream streams[2];
    uint64_t seed;
} file;

static void add_stream(file *f, uint8_t region, uint8_t value_bits) {
    uint32_t width = value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
    f->streams[f->layer.coded.n_streams++].field = (tare_coded_field){.region = region,
                                                                      .value_bits = value_bits,
                                                                      .log2_segment = 14,
                                                                      .stride = width,
                                                                      .width = width,
                                                                      .mode = TARE_CODED_DIRECT};
}

static void begin(file *f, uint32_t n, uint8_t value_bits) {
    *f = (file){.n = n, .seed = n};
    f->layer = (tare_wcodec_layer){.n_dims = 1,
                                   .dims = {n},
                                   .coded.n_regions = 1,
                                   .coded.region_bytes = {n},
                                   .name = {"weight", 6},
                                   .encoding = {"i8", 2},
                                   .coded.streams = f->streams};
    if (value_bits) add_stream(f, 0, value_bits);
}

static tare_wc_source source_of(const tare_reader *reader) {
    return (tare_wc_source){{reader, reader}, {0, SECOND}};
}

/* Writes the file, whose name says how its last plane is to be stored. */
static void finish(file *f, tare_coded_mode mode, tare_coded_predictor predictor) {
    tare_packed_base base = {.hint = {"base", 4}};
    tare_packed_range range = {0, 0, 0, f->n};
    tare_packed_file whole = {.name = {"a.bin", 5}, .size = f->n, .n_ranges = 1, .ranges = &range};
    tare_wcodec_index index = {.n_layers = 1,
                               .layers = &f->layer,
                               .n_bases = f->has_base,
                               .bases = &base,
                               .files_form = 1,
                               .n_files = 1,
                               .files = &whole};
    uint8_t header[TARE_WCODEC_HEADER];
    tare_reader own, other;
    tare_arena arena;
    tare_error err;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&f->bytes, NULL);
    tare_buffer_put_zeros(&f->bytes, TARE_WCODEC_HEADER);
    tare_reader_memory(&own, f->own, MOST, "own");
    tare_reader_memory(&other, f->base, MOST, "base");
    const tare_wc_source from = source_of(&own), base_from = source_of(&other);
    f->layer.coded.offset = TARE_WCODEC_HEADER;
    f->layer.base = f->has_base;
    assert_int_equal(encode_layer(&f->bytes, &f->layer.coded, &from,
                                  f->has_base ? &base_from : NULL, true, &arena, &err),
                     TARE_OK);
    tare_wcodec_index_write(&f->bytes, header, &index, f->bytes.size);
    assert_int_equal(tare_buffer_status(&f->bytes, &err), TARE_OK);
    memcpy(f->bytes.data, header, sizeof header);
    const tare_coded_stream *last = &f->streams[f->layer.coded.n_streams - 1];
    const uint8_t *segment =
        f->bytes.data + f->layer.coded.offset + last->position + last->head_bytes;
    assert_int_equal(segment[0] + 1, mode);
    assert_int_equal(segment[1], predictor);
    assert_true(f->bytes.size < MOST_FILE);
    tare_arena_free(&arena);
}

static const uint8_t *last_segment(const file *f) {
    const tare_coded_stream *last = &f->streams[f->layer.coded.n_streams - 1];
    return f->bytes.data + f->layer.coded.offset + last->position + last->head_bytes;
}

/* ---- reading it ------------------------------------------------------------------------------ */

/* The index that the bytes of a file have. */
static tare_status read_index(tare_wcodec_index *index, const uint8_t *bytes, size_t n,
                              tare_arena *arena, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    uint64_t offset, size;
    TARE_TRY(tare_wcodec_find_index(&offset, &size, bytes, n, &limits, err));
    return tare_wcodec_index_read(index, bytes, bytes + offset, offset, size, &limits, arena, err);
}

static tare_status read_layer(uint8_t *dst, const tare_reader *reader, const tare_wcodec_layer *l,
                              const file *f, tare_arena *arena, tare_wc_scratch *scratch) {
    tare_wc_opened opened;
    tare_reader base;
    tare_error err;
    tare_reader_memory(&base, f->base, MOST, "base");
    const tare_wc_source source = source_of(&base);
    TARE_TRY(tare_wc_open_layer(&opened, reader, &l->coded, arena, &err));
    opened.base = f->has_base ? &source : NULL;
    for (unsigned r = 0; r < l->coded.n_regions; r++)
        TARE_TRY(tare_wc_read_region(dst + (r ? SECOND : 0), &opened, r, 0,
                                     (size_t)l->coded.region_bytes[r], scratch, &err));
    return tare_wc_check_layer(&opened, &err);
}

/* Whether the bytes are refused, or say what they did. */
static bool is_refused_or_same(const uint8_t *bytes, const file *f, tare_wc_scratch *scratch,
                               bool *is_refused) {
    uint8_t got[MOST];
    tare_wcodec_index index;
    tare_reader reader;
    tare_arena arena;
    tare_error err;
    tare_arena_init(&arena, NULL);
    tare_reader_memory(&reader, bytes, f->bytes.size, "file");
    memset(got, 0, sizeof got);
    tare_status s = read_index(&index, bytes, f->bytes.size, &arena, &err);
    if (s == TARE_OK) s = read_layer(got, &reader, &index.layers[0], f, &arena, scratch);
    tare_arena_free(&arena);
    *is_refused = s != TARE_OK;
    return s != TARE_OK || memcmp(got, f->own, MOST) == 0;
}

/* Flips each bit, at the best CPU level; some of them also without vectors. */
static void flip_all(file *f) {
    tare_wc_scratch scratch;
    bool is_refused;
    unsigned n_harmless = 0;
    const unsigned all = tare_cpu_mask_detect();
    tare_wc_scratch_init(&scratch, NULL);
    assert_true(is_refused_or_same(f->bytes.data, f, &scratch, &is_refused));
    assert_false(is_refused);
    for (size_t bit = 0; bit < 8 * f->bytes.size; bit++) {
        uint8_t *at = f->bytes.data + bit / 8;
        *at ^= (uint8_t)(1u << bit % 8);
        const bool is_plain = bit % 13 == 0;
        if (is_plain) tare_cpu_mask_limit(TARE_CPU_NONE);
        bool is_good = is_refused_or_same(f->bytes.data, f, &scratch, &is_refused);
        if (is_plain) tare_cpu_mask_limit(all); /* slow where CPUID is emulated */
        *at ^= (uint8_t)(1u << bit % 8);
        if (!is_good)
            fail_msg("bit %u of byte %zu changes what is decoded", (unsigned)bit % 8, bit / 8);
        n_harmless += !is_refused;
    }
    /* Nearly all is checked; what is not has no influence. */
    assert_true(n_harmless <= MANY);
    tare_wc_scratch_free(&scratch);
    tare_buffer_free(&f->bytes);
}

/* ---- ways to store --------------------------------------------------------------------------- */

static file f;

static void fill_normal(int scale) {
    for (uint32_t i = 0; i < f.n; i++) f.own[i] = (uint8_t)(wc_normal(&f.seed) / scale);
}

static void raw(void **state) {
    (void)state;
    begin(&f, 1500, 8);
    fill_normal(1);
    f.streams[0].field.mode = TARE_CODED_RAW;
    finish(&f, TARE_CODED_RAW, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

static void constant(void **state) {
    (void)state;
    begin(&f, 999, 6);
    for (uint32_t i = 0; i < f.n; i += 3) memcpy(f.own + i, "abc", 3);
    f.streams[0].field.mode = TARE_CODED_CONSTANT;
    finish(&f, TARE_CODED_CONSTANT, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

static void zstd(void **state) {
    (void)state;
    begin(&f, 4000, 8);
    for (uint32_t i = 0; i < f.n; i++)
        f.own[i] = (uint8_t)("a model's metadata is text"[i % 26] + (i % 131 == 0));
    f.streams[0].field.mode = TARE_CODED_ZSTD;
    finish(&f, TARE_CODED_ZSTD, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

/* Value i of a plane of small values. */
static void put_value(uint8_t value_bits, uint32_t i, int v) {
    for (uint32_t b = 0; b < value_bits; b++) {
        uint32_t at = i * value_bits + b;
        f.own[at / 8] = (uint8_t)(f.own[at / 8] | ((unsigned)v >> b & 1) << at % 8);
    }
}

static void direct(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 6, 8};
    for (unsigned i = 0; i < sizeof items; i++) {
        begin(&f, 1200, items[i]);
        for (uint32_t j = 0; j < f.n * 8 / items[i]; j++)
            put_value(items[i], j, wc_normal(&f.seed) / 150);
        finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
        flip_all(&f);
    }
}

/* Values of 16 bits with any sign: more sizes than there are symbols, so that some are patches. */
static void direct_with_sign_and_patches(void **state) {
    (void)state;
    begin(&f, 3072, 16);
    for (uint32_t i = 0; i < f.n / 2; i++) {
        uint64_t x = wc_random(&f.seed);
        unsigned size = i % 300 == 7 ? 0x5000 + i : 0x3000 + 37 * (unsigned)(x % 62);
        tare_store_le16(f.own + 2 * i, (uint16_t)(size | (x >> 40 & 1) << 15));
    }
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
    const uint8_t *rule = f.bytes.data + f.layer.coded.offset + f.streams[0].position + 8;
    assert_int_equal(rule[0], TARE_CODED_SIGN);
    assert_true(tare_load_le32(last_segment(&f) + 16) > 0);
    flip_all(&f);
}

static void direct_with_packed_scales(void **state) {
    (void)state;
    begin(&f, 12 * 80, 6);
    f.layer.coded.streams[0].field.stride = f.layer.coded.streams[0].field.width = 12;
    f.streams[0].field.is_packed_scales = true;
    for (uint32_t i = 0; i < f.n; i++)
        f.own[i] = (uint8_t)(i % 12 < 4 ? 0x3a : wc_random(&f.seed) % 64);
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

/* Nibbles that are not worth a place in the table. */
static void direct_with_patches_of_four_bits(void **state) {
    (void)state;
    begin(&f, 14000, 4);
    for (uint32_t j = 0; j < 2 * f.n; j++)
        put_value(4, j, j == 7777 ? 13 : j == 20202 ? 9 : wc_random(&f.seed) % 64 == 0);
    f.streams[0].field.log2_segment = 15;
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
    assert_int_equal(tare_load_le32(last_segment(&f) + 16), 2);
    flip_all(&f);
}

static void direct_with_edges(void **state) {
    (void)state;
    begin(&f, 3072, 8);
    wc_blocks(f.own, f.n, &f.seed);
    for (uint32_t i = 0; i < f.n; i++) { /* fewer bits than edges alone leave */
        int v = (int8_t)f.own[i];
        if (v != 127 && v != -127) f.own[i] = (uint8_t)(v / 2);
    }
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
    assert_int_equal(f.bytes.data[f.layer.coded.offset + f.streams[0].position + 8],
                     TARE_CODED_EDGE);
    flip_all(&f);
}

static void direct_with_classes(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 8};
    for (unsigned i = 0; i < 2; i++) {
        begin(&f, items[i] == 4 ? 4000 : 4096, items[i]);
        for (uint32_t j = 0, n = f.n * 8 / items[i]; j < n; j++)
            put_value(items[i], j, wc_normal(&f.seed) / (j / (n / 4) % 2 ? 60 : 480));
        finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
        assert_true(last_segment(&f)[24] >= 2);
        flip_all(&f);
    }
}

static void trellis(void **state) {
    (void)state;
    for (unsigned states = 8; states <= 32; states += 24) {
        uint8_t t[64] = {0};
        begin(&f, 1100, 8);
        for (uint32_t i = 0; i < f.n; i++) {
            int c = wc_normal(&f.seed) / 100, v = 4 * c + 1;
            uint8_t *s = &t[i % 64];
            unsigned first = states == 8 ? 5 : 18, second = states == 8 ? 2 : 4;
            unsigned odd = (unsigned)c & 1, a = *s & 1;
            f.own[i] = (uint8_t)(a ? -v : v);
            *s = (uint8_t)(*s >> 1 ^ (a ? first : 0) ^ (odd ^ a ? second : 0));
        }
        f.own[1050] = 2; /* where no step leads: a patch */
        f.streams[0].field.trellis = (uint8_t)states;
        finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
        assert_int_equal(tare_load_le32(last_segment(&f) + 16), 1);
        flip_all(&f);
    }
}

static void structured(void **state) {
    (void)state;
    begin(&f, 1024, 8);
    for (uint32_t i = 0; i < f.n; i++)
        f.own[i] = (uint8_t)((int)(i % 32 * 5 + i / 32 * 3) - 120 + wc_normal(&f.seed) / 300);
    f.streams[0].field.mode = TARE_CODED_STRUCTURED;
    f.streams[0].field.row = 32;
    f.streams[0].field.is_signed = true;
    finish(&f, TARE_CODED_STRUCTURED, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

/* Blocks of a scale, high bits and nibbles, as Q5_0 has them. */
static void make_joined(void) {
    enum { BLOCK = 22, BLOCKS = 120 };
    begin(&f, BLOCK * BLOCKS, 16);
    add_stream(&f, 0, 6);
    f.streams[0].field.stride = f.streams[1].field.stride = BLOCK;
    f.streams[1].field.offset = 6;
    f.streams[1].field.width = 16;
    f.streams[1].field.join = (tare_coded_join){2, 1, 5, {4, 0, 1, 2, 3}};
    for (uint32_t u = 0; u < BLOCKS; u++) {
        uint8_t *block = f.own + u * BLOCK;
        tare_store_le16(block, (uint16_t)(0x2c00 + 64 * (wc_random(&f.seed) % 5)));
        for (uint32_t i = 0; i < 32; i++) {
            unsigned code = (unsigned)(16 + wc_normal(&f.seed) / 120) & 31;
            block[6 + i % 16] = (uint8_t)(block[6 + i % 16] | (code & 15) << i / 16 * 4);
            block[2 + i / 8] = (uint8_t)(block[2 + i / 8] | code >> 4 << i % 8);
        }
    }
}

static void joined(void **state) {
    (void)state;
    make_joined();
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_NO_PREDICTOR);
    flip_all(&f);
}

static void joined_from_a_base(void **state) {
    (void)state;
    make_joined();
    f.has_base = true;
    memcpy(f.base, f.own, f.n);
    for (uint32_t i = 6; i < f.n; i += 22) f.base[i] ^= (uint8_t)(wc_random(&f.seed) & 1);
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_REF);
    flip_all(&f);
}

static void make_from_base(void) {
    begin(&f, 1500, 8);
    fill_normal(3);
    f.has_base = true;
    for (uint32_t i = 0; i < f.n; i++)
        f.base[i] = (uint8_t)(f.own[i] + (unsigned)(wc_random(&f.seed) % 3));
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_REF);
}

static void from_a_base(void **state) {
    (void)state;
    make_from_base();
    flip_all(&f);
}

/* Codes with a scale for each run of some, in a region of their own; the base has other scales. */
static void make_by_scale(tare_coded_mode of_scales, uint32_t n_scales) {
    begin(&f, 2000, 0);
    f.has_base = true;
    f.layer.coded.n_regions = 2;
    f.layer.coded.region_bytes[1] = 2 * (uint64_t)n_scales;
    add_stream(&f, 1, 16);
    add_stream(&f, 0, 8);
    f.streams[0].field.mode = (uint8_t)of_scales;
    f.streams[1].field.scale_stream = 1;
    f.streams[1].field.scale_form = 1;
    f.streams[1].field.values_per_scale = f.n / n_scales;
    for (uint32_t i = 0; i < n_scales; i++) {
        bool is_odd = of_scales != TARE_CODED_RAW; /* DIRECT, and not by what they differ in */
        uint64_t own = is_odd ? wc_random(&f.seed) % 512 : i;
        uint64_t other = is_odd ? wc_random(&f.seed) % 1024 : i;
        tare_store_le16(f.own + SECOND + 2 * i, (uint16_t)(0x2c00 + own));
        tare_store_le16(f.base + SECOND + 2 * i, (uint16_t)(0x3000 + other));
    }
    for (uint32_t i = 0; i < f.n; i++) {
        int v = wc_normal(&f.seed) / 12;
        f.base[i] = (uint8_t)(v / 2);
        f.own[i] = (uint8_t)(v / 2 * 2 + (int)(wc_random(&f.seed) & 1));
    }
    finish(&f, TARE_CODED_DIRECT, TARE_CODED_REF_SCALED);
}

static void from_a_base_by_scale(void **state) {
    (void)state;
    make_by_scale(TARE_CODED_RAW, 40);
    flip_all(&f);
}

/* ---- other ways to read it ------------------------------------------------------------------- */

static void count_lost(void *ctx, uint64_t layer, unsigned plane, uint64_t segment,
                       const tare_error *fault) {
    (void)layer, (void)plane, (void)segment, (void)fault;
    ++*(unsigned *)ctx;
}

/* A region, from few bits, or from a base of which only `there` bytes can be read. */
static tare_status read_otherwise(uint8_t *dst, unsigned region, unsigned groups, size_t there,
                                  unsigned *n_lost) {
    const tare_wc_watch watch = {.lost = count_lost, .ctx = n_lost};
    tare_wcodec_index index;
    tare_wc_opened opened;
    tare_reader base, reader;
    tare_arena arena;
    tare_wc_scratch scratch;
    tare_error err;
    tare_arena_init(&arena, NULL);
    tare_wc_scratch_init(&scratch, NULL);
    tare_reader_memory(&base, f.base, there, "base");
    tare_reader_memory(&reader, f.bytes.data, f.bytes.size, "file");
    const tare_wc_source source = source_of(&base);
    assert_int_equal(read_index(&index, f.bytes.data, f.bytes.size, &arena, &err), TARE_OK);
    assert_int_equal(
        tare_wc_open_watched(&opened, &reader, &index.layers->coded, 0, &watch, &arena, &err),
        TARE_OK);
    opened.base = &source;
    opened.groups = groups;
    tare_status status = tare_wc_read_region(
        dst, &opened, region, 0, (size_t)f.layer.coded.region_bytes[region], &scratch, &err);
    tare_wc_scratch_free(&scratch);
    tare_arena_free(&arena);
    return status;
}

/* What is predicted is read whole, with scales that are whole, though these can be coarse, too. */
static void coarse_readings_of_a_fine_tune(void **state) {
    (void)state;
    uint8_t got[MOST];
    unsigned n_lost = 0;
    make_from_base();
    assert_int_equal(read_otherwise(got, 0, 0, MOST, &n_lost), TARE_OK);
    assert_memory_equal(got, f.own, f.n);
    tare_buffer_free(&f.bytes);
    make_by_scale(TARE_CODED_DIRECT, 1000);
    assert_int_equal(read_otherwise(got, 0, 0, MOST, &n_lost), TARE_OK);
    assert_memory_equal(got, f.own, f.n);
    assert_int_equal(read_otherwise(got, 1, 0, MOST, &n_lost), TARE_OK);
    assert_memory_not_equal(got, f.own + SECOND, 2000);
    assert_int_equal(n_lost, 0);
    tare_buffer_free(&f.bytes);
}

/* A base that cannot be read is no damage of the container: nothing becomes zeros. */
static void a_base_that_fails_loses_nothing(void **state) {
    (void)state;
    uint8_t got[MOST];
    unsigned n_lost = 0;
    make_from_base();
    assert_int_equal(read_otherwise(got, 0, TARE_WC_ALL_GROUPS, 1000, &n_lost), TARE_ERR_TRUNCATED);
    tare_buffer_free(&f.bytes);
    make_by_scale(TARE_CODED_RAW, 40);
    assert_int_equal(read_otherwise(got, 0, TARE_WC_ALL_GROUPS, SECOND + 40, &n_lost),
                     TARE_ERR_TRUNCATED);
    assert_int_equal(n_lost, 0);
    tare_buffer_free(&f.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw),
        cmocka_unit_test(constant),
        cmocka_unit_test(zstd),
        cmocka_unit_test(direct),
        cmocka_unit_test(direct_with_sign_and_patches),
        cmocka_unit_test(direct_with_packed_scales),
        cmocka_unit_test(direct_with_patches_of_four_bits),
        cmocka_unit_test(direct_with_edges),
        cmocka_unit_test(direct_with_classes),
        cmocka_unit_test(trellis),
        cmocka_unit_test(structured),
        cmocka_unit_test(joined),
        cmocka_unit_test(joined_from_a_base),
        cmocka_unit_test(from_a_base),
        cmocka_unit_test(from_a_base_by_scale),
        cmocka_unit_test(coarse_readings_of_a_fine_tune),
        cmocka_unit_test(a_base_that_fails_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
