/* SPDX-License-Identifier: MIT
 *
 * Guards against: a plane that does not come back as it was, in some width, length, mode or with
 * some predictor; sizes far from the entropy; modes that are not chosen where they should be. */
#include "wc_plane.h"
#include "wc_random.h"

enum { N = 150000 };

static uint8_t values[2 * N + 64], base[2 * N + 64], got[2 * N + 64];

typedef struct source {
    const char *name;
    int kind, scale;
} source;

enum { NORMAL, CONSTANT, UNIFORM, SPARSE, SMOOTH, TEXT, ROWS };
static const source sources[] = {
    {"normal", NORMAL, 8},     {"narrow", NORMAL, 60},  {"wide", NORMAL, 2},
    {"constant", CONSTANT, 0}, {"uniform", UNIFORM, 0}, {"sparse", SPARSE, 0},
    {"smooth", SMOOTH, 0},     {"text", TEXT, 0},       {"rows", ROWS, 0}};
enum { N_SOURCES = sizeof sources / sizeof sources[0] };

/* Bytes that look like codes of that width. */
static void make(uint8_t *dst, uint32_t n_bytes, const source *s, uint8_t value_bits,
                 uint64_t seed) {
    for (uint32_t i = 0; i < n_bytes; i++) {
        int v = wc_normal(&seed);
        switch (s->kind) {
        case NORMAL:
            v /= s->scale;
            break;
        case CONSTANT:
            v = 0x55;
            break;
        case UNIFORM:
            v = (int)wc_random(&seed);
            break;
        case SPARSE:
            v = v > 700 ? v : 0;
            break;
        case SMOOTH:
            v = (int)(i % 128 * (i % 128) / 100 + i / 128 % 64 * 2 + (unsigned)(v & 255) / 128);
            break;
        case TEXT:
            v = "the quick brown fox jumps over the lazy dog"[(i + i / 1000) % 43];
            break;
        default:
            v = v / (4 + (int)(i / 1024 % 7) * 7);
            break;
        }
        dst[i] = (uint8_t)v;
        if (value_bits == 4) dst[i] = (uint8_t)((v / 16 & 15) + wc_normal(&seed) / 128 * 16);
        if (value_bits == 16 && s->kind == NORMAL) { /* bfloat16 */
            float f = (float)v / 1000;
            if (i % 2) dst[i - 1] = (uint8_t)(tare_f32_bits(f) >> 16);
            if (i % 2) dst[i] = (uint8_t)(tare_f32_bits(f) >> 24);
        }
    }
}

static void check(const tare_wc_shape *shape, const tare_wc_options *options, uint32_t n_bytes,
                  const char *name) {
    wc_plane p;
    tare_error err = TARE_ERROR_NONE;
    wc_encode(&p, shape, options, values, n_bytes, NULL);
    memset(got, 0xa5, n_bytes + 64);
    tare_status status = wc_decode(got, &p, NULL, TARE_WC_ALL_GROUPS, &err);
    if (status != TARE_OK || memcmp(got, values, n_bytes))
        fail_msg("%s: value_bits %u, %u bytes, forced %d: %s", name, shape->value_bits, n_bytes,
                 options->mode, err.what);
    for (unsigned i = 0; i < 64; i++) assert_int_equal(got[n_bytes + i], 0xa5);
    assert_true(p.segments.size <= n_bytes + 96u * p.n_segments + 64);
    wc_free(&p);
}

static void all_planes_come_back(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 6, 8, 16};
    static const uint32_t lengths[] = {1, 2, 63, 64, 65, 129, 257, 1000, 20011};
    for (unsigned s = 0; s < N_SOURCES; s++) {
        for (unsigned i = 0; i < sizeof items; i++) {
            make(values, 60060, &sources[s], items[i], 7 + s);
            for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                tare_wc_shape shape = {.value_bits = items[i], .log2_segment = 14};
                shape.is_big_endian = items[i] == 16 && l % 2;
                uint32_t unit = items[i] == 16 ? 2 : items[i] == 6 ? 3 : 1, n = lengths[l] * unit;
                bool is_long = n > 2000, is_tried = l % 2 && !is_long;
                if (n > 20000 && (s + i) % 3) continue; /* several segments: a few of each */
                for (int forced = TARE_CODED_SMALLEST; forced <= TARE_CODED_STRUCTURED; forced++) {
                    /* Full effort changes what is chosen, and the classes of DIRECT. */
                    bool is_choice = forced == TARE_CODED_SMALLEST || forced == TARE_CODED_DIRECT;
                    tare_wc_options options = {.mode = (tare_coded_mode)forced,
                                               .is_full = is_choice && is_tried,
                                               .is_signed = l % 3 == 0,
                                               .width = l % 4 ? 32 + l : 128};
                    if (options.width > lengths[l]) options.width = lengths[l];
                    /* What is searched slowly: half of the lengths of each source. */
                    bool is_slow = forced == TARE_CODED_STRUCTURED || options.is_full;
                    if (is_slow && (s + i + l) % 2 && sources[s].kind != SMOOTH) continue;
                    if (forced == TARE_CODED_STRUCTURED && is_long && sources[s].kind != SMOOTH)
                        continue;
                    check(&shape, &options, n, sources[s].name);
                }
            }
        }
    }
}

/* What a plane costs, in bits a value. */
static double bits(const tare_wc_shape *shape, const tare_wc_options *options, uint32_t n_bytes,
                   tare_coded_mode *mode) {
    wc_plane p;
    tare_error err;
    wc_encode(&p, shape, options, values, n_bytes, NULL);
    assert_int_equal(wc_decode(got, &p, NULL, TARE_WC_ALL_GROUPS, &err), TARE_OK);
    assert_memory_equal(got, values, n_bytes);
    *mode = wc_mode(&p, 0);
    double size = (double)(p.head.size + p.segments.size - TARE_WC_READ_AHEAD) * 8;
    wc_free(&p);
    return size / (double)tare_wc_values_of(shape->value_bits, n_bytes);
}

static void modes_are_chosen_by_size(void **state) {
    (void)state;
    const tare_wc_options full = {.mode = TARE_CODED_SMALLEST, .is_full = true, .width = 128};
    const tare_wc_shape shape = {.value_bits = 8, .log2_segment = 17};
    uint64_t counts[256] = {0};
    tare_coded_mode mode;
    make(values, 1 << 17, &sources[0], 8, 1);
    for (uint32_t i = 0; i < 1 << 17; i++) counts[values[i]]++;
    double entropy = (double)tare_wc_entropy(counts, 256) / 65536 / (1 << 17);
    assert_true(bits(&shape, &full, 1 << 17, &mode) < entropy * 1.006);
    assert_int_equal(mode, TARE_CODED_DIRECT);
    make(values, 1 << 17, &sources[3], 8, 1);
    assert_true(bits(&shape, &full, 1 << 17, &mode) < 0.01);
    assert_int_equal(mode, TARE_CODED_CONSTANT);
    make(values, 1 << 17, &sources[4], 8, 1);
    assert_true(bits(&shape, &full, 1 << 17, &mode) < 8.01);
    assert_int_equal(mode, TARE_CODED_RAW);
    make(values, 1 << 17, &sources[6], 8, 1);
    assert_true(bits(&shape, &full, 1 << 17, &mode) < 3);
    assert_int_equal(mode, TARE_CODED_STRUCTURED);
    make(values, 1 << 17, &sources[7], 8, 1);
    assert_true(bits(&shape, &full, 1 << 17, &mode) < 0.2);
    assert_int_equal(mode, TARE_CODED_ZSTD);
    make(values, 1 << 17, &sources[8], 8, 1); /* rows of different scale: classes */
    double classes = bits(&shape, &full, 1 << 17, &mode);
    tare_wc_options fast = full;
    fast.is_full = false;
    assert_true(classes < 0.99 * bits(&shape, &fast, 1 << 17, &mode));
}

/* Edges of blocks are coded as what they are, and stay it where fewer bits are read. */
static void edges_of_blocks_cost_little(void **state) {
    (void)state;
    const tare_wc_shape shape = {.value_bits = 8, .log2_segment = 17};
    const tare_wc_options options = {.mode = TARE_CODED_DIRECT};
    uint64_t counts[256] = {0}, seed = 31;
    tare_error err;
    wc_plane p;
    wc_blocks(values, 1 << 17, &seed);
    values[0] = 0x80; /* beyond the edge */
    for (uint32_t i = 0; i < 1 << 17; i++) counts[values[i]]++;
    uint64_t entropy = tare_wc_entropy(counts, 256) >> 19;
    wc_encode(&p, &shape, &options, values, 1 << 17, NULL);
    assert_int_equal(p.head.data[8], TARE_CODED_EDGE);
    assert_true(p.segments.size < entropy + entropy / 200); /* else 0.9 % */
    for (unsigned groups = 0; groups < 2; groups++) {
        memset(got, 0, sizeof got);
        assert_int_equal(wc_decode(got, &p, NULL, groups, &err), TARE_OK);
        assert_memory_equal(got, values, 1 << 17);
    }
    wc_free(&p);
}

/* A plane of one segment, and head and segment as they are for that. `counts`: of rules, tables of
 * 64 symbols and of 16. */
static tare_coded_mode alone(uint8_t counts[3], size_t *size, const tare_wc_options *options,
                             uint32_t n_bytes) {
    const tare_wc_shape shape = {.value_bits = 8, .log2_segment = 18};
    tare_wc_scratch scratch;
    tare_wc_scheme *scheme;
    tare_error err;
    uint32_t head_bytes;
    wc_plane p = {.shape = shape, .n_bytes = n_bytes, .n_segments = 1, .segment_bytes = 1 << 18};
    tare_wc_scratch_init(&scratch, NULL);
    tare_buffer_init(&p.head, NULL);
    tare_buffer_init(&p.segments, NULL);
    tare_wc_tally *tally = tare_wc_tally_new(&shape, options, false, NULL);
    assert_int_equal(tare_wc_tally_add(tally, values, n_bytes, NULL, &scratch, &err), TARE_OK);
    assert_int_equal(tare_wc_scheme_new(&scheme, tally, &err), TARE_OK);
    assert_int_equal(tare_wc_encode_alone(&p.segments, &head_bytes, scheme, values, n_bytes, NULL,
                                          &scratch, &err),
                     TARE_OK);
    *size = p.segments.size;
    tare_buffer_put(&p.head, p.segments.data, head_bytes);
    memset(counts, 0, 3);
    if (head_bytes) memcpy(counts, p.head.data, 3);
    tare_buffer_put_zeros(&p.segments, TARE_WC_READ_AHEAD);
    p.offsets[0] = head_bytes;
    p.offsets[1] = (uint32_t)*size;
    assert_int_equal(wc_decode(got, &p, NULL, TARE_WC_ALL_GROUPS, &err), TARE_OK);
    assert_memory_equal(got, values, n_bytes);
    tare_coded_mode mode = wc_mode(&p, 0);
    wc_free(&p);
    tare_wc_scheme_free(scheme);
    tare_wc_tally_free(tally);
    tare_wc_scratch_free(&scratch);
    return mode;
}

/* Tables that the only segment does not use are not written. */
static void a_head_is_to_the_measure_of_its_segment(void **state) {
    (void)state;
    const tare_wc_options full = {
        .mode = TARE_CODED_SMALLEST, .is_full = true, .is_signed = true, .width = 128};
    static const uint8_t nothing[3], one_of_each[3] = {1, 1, 0};
    uint8_t counts[3];
    size_t size;
    uint64_t seed = 41;
    make(values, 1 << 15, &sources[7], 8, 1); /* text */
    assert_int_equal(alone(counts, &size, &full, 1 << 15), TARE_CODED_ZSTD);
    assert_memory_equal(counts, nothing, 3);
    make(values, 1 << 17, &sources[0], 8, 1);
    assert_int_equal(alone(counts, &size, &full, 1 << 17), TARE_CODED_DIRECT);
    assert_memory_equal(counts, one_of_each, 3);
    make(values, 1 << 15, &sources[6], 8, 1); /* smooth */
    assert_int_equal(alone(counts, &size, &full, 1 << 15), TARE_CODED_STRUCTURED);
    assert_true(!counts[0] && !counts[1] && counts[2]);
    tare_wc_options forced = full;
    forced.mode = TARE_CODED_DIRECT;
    assert_int_equal(alone(counts, &size, &forced, 1 << 15), TARE_CODED_DIRECT);
    assert_true(counts[0] == 1 && counts[1] && counts[2] <= 2); /* of ranks, not of contexts */
    /* What comes again lies further away than a look at 64 KiB sees. */
    for (uint32_t i = 0; i < 100000; i++)
        values[i] = values[i + 100000] = (uint8_t)(wc_random(&seed) >> 40);
    assert_int_equal(alone(counts, &size, &full, 200000), TARE_CODED_ZSTD);
    assert_true(size < 101000);
}

/* Of the segments of a long plane some are counted; here those are of one value, the others not. */
static void a_surprise_is_not_stored_raw(void **state) {
    (void)state;
    const tare_wc_shape shape = {.value_bits = 8, .log2_segment = 14};
    const tare_wc_options fast = TARE_WC_OPTIONS_DEFAULT;
    enum { SEGMENT = 1 << 14, N_SEGMENTS = 8 };
    uint64_t seed = 5;
    tare_coded_mode mode;
    bool is_any = false;
    for (unsigned i = 0; i < N_SEGMENTS; i++) {
        bool is_counted = tare_wc_tally_wants(&fast, i, N_SEGMENTS);
        is_any |= is_counted;
        for (unsigned j = 0; j < SEGMENT; j++)
            values[i * SEGMENT + j] = is_counted ? 0 : (uint8_t)(wc_random(&seed) >> 60);
    }
    assert_true(is_any);
    assert_true(bits(&shape, &fast, SEGMENT * N_SEGMENTS, &mode) < 4.5);
}

/* Rows of zeros among others, as in an optimizer's moments of an embedding. */
static void rows_of_zeros_cost_little(void **state) {
    (void)state;
    enum { ROW = 1 << 10, N_ROWS = 1 << 7, OTHERS = 8 /* one in so many is not zeros */ };
    const tare_wc_options fast = TARE_WC_OPTIONS_DEFAULT;
    uint64_t seed = 5;
    tare_coded_mode mode;
    for (uint8_t value_bits = 8; value_bits <= 16; value_bits += 8) {
        const tare_wc_shape shape = {.value_bits = value_bits, .log2_segment = 17};
        for (unsigned i = 0; i < ROW * N_ROWS; i++)
            values[i] = i / ROW % OTHERS ? 0 : (uint8_t)(wc_random(&seed) >> 40);
        /* of noise, which takes what it is */
        const double least = (double)value_bits / OTHERS;
        assert_true(bits(&shape, &fast, ROW * N_ROWS, &mode) < 1.03 * least);
        assert_int_equal(mode, TARE_CODED_ZSTD);
        /* not tried on noise alone */
        for (unsigned i = 0; i < ROW * N_ROWS; i++) values[i] = (uint8_t)(wc_random(&seed) >> 40);
        assert_true(bits(&shape, &fast, ROW * N_ROWS, &mode) < 1.01 * value_bits);
        assert_int_equal(mode, TARE_CODED_RAW);
    }
}

/* Small changes of a base, and a base whose rows have other scales. */
static void a_base_predicts(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 6, 8, 16};
    static uint8_t own[2 * 300], other[2 * 300];
    uint64_t seed = 5;
    tare_error err;
    for (unsigned i = 0; i < 5; i++) {
        uint8_t value_bits = items[i < 4 ? i : 2];
        tare_wc_shape shape = {
            .value_bits = value_bits, .log2_segment = 15, .is_big_endian = value_bits == 16};
        tare_wc_options options = {.mode = i == 3 ? TARE_CODED_SMALLEST : TARE_CODED_DIRECT};
        tare_wc_reference reference = {.bytes = base, .values_per_scale = 500, .scale_form = 1};
        make(base, N / 6 * 6, &sources[0], value_bits, 3);
        memcpy(values, base, N);
        for (uint32_t j = 0; j < N; j += 11) values[j] = (uint8_t)(values[j] + 1);
        for (uint32_t j = 0; i == 4 && j < N; j++) { /* scales 2 to 1 */
            values[j] = (uint8_t)((int8_t)base[j] * 2 + (int)(wc_random(&seed) & 1));
            tare_store_le16(own + j / 500 * 2, 0x2c00);
            tare_store_le16(other + j / 500 * 2, 0x3000);
        }
        if (i == 4) {
            reference.own_scales = own;
            reference.base_scales = other;
        }
        wc_plane p, alone;
        wc_encode(&p, &shape, &options, values, N, &reference);
        wc_encode(&alone, &shape, &options, values, N, NULL);
        assert_true(p.segments.size < alone.segments.size / 2);
        assert_int_equal(wc_predictor(&p, 0), i == 4 ? TARE_CODED_REF_SCALED : TARE_CODED_REF);
        assert_int_equal(wc_decode(got, &p, &reference, TARE_WC_ALL_GROUPS, &err), TARE_OK);
        assert_memory_equal(got, values, N);
        assert_int_equal(wc_decode(got, &p, NULL, TARE_WC_ALL_GROUPS, &err), TARE_ERR_ARG);
        wc_free(&p);
        wc_free(&alone);
    }
}

/* A plane that is all steps of a trellis, and one with values that no step reaches. */
static void trellis_values_come_back(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (unsigned states = 8; states <= 32; states += 24) {
        const tare_wc_shape shape = {.value_bits = 8, .log2_segment = 15};
        tare_wc_options options = {.mode = TARE_CODED_SMALLEST, .trellis = (uint8_t)states};
        uint8_t t[64] = {0};
        unsigned f = states == 8 ? 5 : 18, e = states == 8 ? 2 : 4;
        for (uint32_t i = 0; i < N; i++) { /* the rule as the specification words it */
            uint8_t *at = &t[i % 32768 % 64];
            int c = wc_normal(&seed) / 64, v = 4 * c + 1;
            if (i % 32768 == 0) memset(t, 0, sizeof t);
            if (*at % 2) v = -v;
            values[i] = (uint8_t)v;
            unsigned a = *at % 2, p = (unsigned)c % 2;
            *at = (uint8_t)(*at / 2 ^ (a ? f : 0) ^ (p ^ a ? e : 0));
        }
        wc_plane p;
        tare_error err;
        wc_encode(&p, &shape, &options, values, N, NULL);
        assert_int_equal(wc_mode(&p, 0), TARE_CODED_DIRECT);
        assert_int_equal(tare_load_le32(p.segments.data + 16), 0); /* no patches */
        assert_true(p.segments.size < N * 5 / 8);
        assert_int_equal(wc_decode(got, &p, NULL, TARE_WC_ALL_GROUPS, &err), TARE_OK);
        assert_memory_equal(got, values, N);
        wc_free(&p);
        for (uint32_t i = 1000; i < N; i += 5000) values[i]++;
        check(&shape, &options, N, "trellis");
    }
}

/* Eight scales and eight minima a unit, as docs/wcodec.md words it. */
static void pack_unit(uint8_t b[12], const unsigned scales[8], const unsigned minima[8]) {
    for (unsigned j = 0; j < 4; j++) {
        b[j] = (uint8_t)(scales[j] + scales[4 + j] / 16 * 64);
        b[4 + j] = (uint8_t)(minima[j] + minima[4 + j] / 16 * 64);
        b[8 + j] = (uint8_t)(scales[4 + j] % 16 + minima[4 + j] % 16 * 16);
    }
}

static void packed_scales_cost_what_they_say(void **state) {
    (void)state;
    const tare_wc_shape shape = {.value_bits = 6, .log2_segment = 14, .is_scales = true};
    uint64_t seed = 6, counts[2][64] = {{0}};
    for (unsigned n_units = 1; n_units < 5000; n_units = n_units * 7 + 5) {
        for (unsigned u = 0; u < n_units; u++) {
            unsigned v[16];
            for (unsigned j = 0; j < 16; j++)
                v[j] = 20 + (unsigned)(wc_random(&seed) % (j < 8 ? 10 : 40));
            pack_unit(values + 12 * u, v, v + 8);
        }
        for (int forced = TARE_CODED_SMALLEST; forced < TARE_CODED_STRUCTURED; forced++) {
            if (forced == TARE_CODED_CONSTANT) continue;
            const tare_wc_options options = {.mode = (tare_coded_mode)forced};
            check(&shape, &options, 12 * n_units, "packed scales");
        }
    }
    uint32_t n = 12 * 4800;
    const tare_wc_options fast = {.mode = TARE_CODED_SMALLEST};
    tare_coded_mode mode;
    for (uint32_t u = 0; u < n; u += 12) {
        unsigned v[2][8];
        for (unsigned j = 0; j < 16; j++) {
            v[j / 8][j % 8] = (unsigned)(wc_random(&seed) % (j < 8 ? 5 : 50));
            counts[j / 8][v[j / 8][j % 8]]++;
        }
        pack_unit(values + u, v[0], v[1]);
    }
    double least = (double)(tare_wc_entropy(counts[0], 64) + tare_wc_entropy(counts[1], 64));
    assert_true(bits(&shape, &fast, n, &mode) * n / 3 * 4 < least / 65536 * 1.04);
    assert_int_equal(mode, TARE_CODED_DIRECT);
}

/* Differences of packed scales are those of their values. */
static void a_base_predicts_packed_scales(void **state) {
    (void)state;
    const tare_wc_shape shape = {.value_bits = 6, .log2_segment = 14, .is_scales = true};
    const tare_wc_options options = {.mode = TARE_CODED_SMALLEST};
    const tare_wc_reference reference = {.bytes = base};
    enum { UNITS = 3000 };
    uint64_t seed = 7;
    for (unsigned u = 0; u < UNITS; u++) {
        unsigned own[16], other[16];
        for (unsigned j = 0; j < 16; j++) {
            other[j] = (unsigned)(wc_random(&seed) % 64);
            own[j] = (other[j] + 63 + (unsigned)(wc_random(&seed) % 2)) % 64;
        }
        pack_unit(values + 12 * u, own, own + 8);
        pack_unit(base + 12 * u, other, other + 8);
    }
    wc_plane p;
    tare_error err;
    wc_encode(&p, &shape, &options, values, 12 * UNITS, &reference);
    assert_true(p.segments.size < UNITS * 16 / 8 + UNITS);
    assert_int_equal(wc_decode(got, &p, &reference, TARE_WC_ALL_GROUPS, &err), TARE_OK);
    assert_memory_equal(got, values, 12 * UNITS);
    wc_free(&p);
}

/* Values of a few bits that are too rare for their table. */
static void rare_values_are_patches(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (uint8_t value_bits = 4; value_bits <= 6; value_bits += 2) {
        const tare_wc_shape shape = {.value_bits = value_bits, .log2_segment = 18};
        const tare_wc_options options = {.mode = TARE_CODED_SMALLEST};
        uint32_t n = (1u << 18) * value_bits / 8, rare = 0;
        memset(values, 0, n);
        for (uint32_t i = 0; i < 1u << 18; i++) {
            bool is_rare = i % 30011 == 7;
            unsigned v = is_rare ? 3 + i % 11 : wc_random(&seed) % 4 == 0;
            for (unsigned j = 0, bit = i * value_bits; j < value_bits; j++, bit++)
                values[bit / 8] = (uint8_t)(values[bit / 8] | (v >> j & 1) << bit % 8);
            rare += is_rare;
        }
        wc_plane p;
        wc_encode(&p, &shape, &options, values, n, NULL);
        assert_int_equal(wc_mode(&p, 0), TARE_CODED_DIRECT);
        assert_int_equal(tare_load_le32(p.segments.data + 16), rare);
        wc_free(&p);
        check(&shape, &options, n, "rare values");
    }
}

/* With fewer bypass groups: the top bits are right, the rest is in the middle. */
static void coarse_values_are_near(void **state) {
    (void)state;
    const tare_wc_shape shape = {.value_bits = 16, .log2_segment = 15};
    const tare_wc_options options = {.mode = TARE_CODED_DIRECT};
    wc_plane p;
    tare_error err;
    make(values, N, &sources[0], 16, 1);
    wc_encode(&p, &shape, &options, values, N, NULL);
    for (unsigned groups = 0; groups < 3; groups++) {
        assert_int_equal(wc_decode(got, &p, NULL, groups, &err), TARE_OK);
        float worst = 0;
        for (uint32_t i = 0; i < N; i += 2) {
            float a = tare_f32_of_bits((uint32_t)tare_load_le16(values + i) << 16);
            float b = tare_f32_of_bits((uint32_t)tare_load_le16(got + i) << 16);
            float d = a == 0 ? 0 : (b - a) / a;
            if (d < 0) d = -d;
            if (d > worst) worst = d;
        }
        assert_true(worst < (groups < 2 ? 0.1f : 0.02f));
    }
    wc_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_planes_come_back),
        cmocka_unit_test(modes_are_chosen_by_size),
        cmocka_unit_test(a_surprise_is_not_stored_raw),
        cmocka_unit_test(rows_of_zeros_cost_little),
        cmocka_unit_test(a_base_predicts),
        cmocka_unit_test(trellis_values_come_back),
        cmocka_unit_test(packed_scales_cost_what_they_say),
        cmocka_unit_test(a_base_predicts_packed_scales),
        cmocka_unit_test(rare_values_are_patches),
        cmocka_unit_test(coarse_values_are_near),
        cmocka_unit_test(edges_of_blocks_cost_little),
        cmocka_unit_test(a_head_is_to_the_measure_of_its_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
