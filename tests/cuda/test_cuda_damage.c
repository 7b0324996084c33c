/* SPDX-License-Identifier: MIT
 *
 * Guards against: damage that a kernel takes for good where the library does not, or the reverse;
 * streams of every kind, encoded here, that decode to other bytes; what only crafted segments show:
 * a first state that no encoder leaves, words that run out where they were 0, words too many, ranks
 * of classes that there are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/wg_image.h"
#include "cuda_coverage.h"
#include "cuda_runner.h"
#include "cuda_samples.h"
#include "unit/coded_reader.h"

static uint64_t seed = 7;
static uint32_t draw(void) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}
/* About normal, standard deviation 100. */
static int normal(void) {
    int sum = 0;
    for (unsigned i = 0; i < 12; i++) sum += (int)(draw() % 346);
    return sum - 2070;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Numbers of `width` bytes; those of two have their sign among the low bits. Above these are too
 * many values for one bit less, and their lowest bit is too seldom 1 for one bit more. */
static void fill_tops(uint8_t *bytes, size_t n, unsigned width, unsigned k) {
    for (size_t i = 0; i + width <= n; i += width) {
        unsigned low = draw() & ((1u << k) - 1), a = draw() % 31, b = draw() % 31;
        unsigned top = (a < b ? a : b) << 1 | (draw() % 64 == 0), v = top << k | low;
        if (width == 2) v = top << (k - 1) | low >> 1 | low << 15;
        memcpy(bytes + i, &(uint16_t){(uint16_t)v}, width);
    }
}

static void fill_bytes(uint8_t *bytes, size_t n, unsigned how) {
    for (size_t i = 0; i < n; i++) {
        int loud = how == LOUD ? (int)(1 + i / 600 % 7) : 2, v = normal() * loud / 16;
        if (how == EDGES) v = draw() % 24 == 0 ? (draw() % 2 ? 127 : -127) : v / 2;
        if (how == SMALL) v = (normal() / 60 & 15) | (normal() / 60 & 15) << 4;
        if (how == ALIKE) v = -1;
        if (how == ANY) v = (int)draw();
        if (how == SPARSE)
            v = (draw() % 16 ? 0 : (int)(draw() % 16)) |
                (draw() % 16 ? 0 : (int)(draw() % 16) << 4);
        if (how == FLOATS && i % 2)
            v = (int)(0x3c - (draw() % 512 == 0 ? 30 : draw() % 3) + 128 * (draw() % 2));
        bytes[i] = (uint8_t)v;
    }
}

/* A layer that was encoded, with memory that its base stays in. */
typedef struct layer {
    tare_coded *coded;
    uint8_t *region, *base;
    size_t size;
} layer;

static layer make(const sample *s, uint8_t log2_segment, uint8_t mode) {
    layer l = {.size = (size_t)s->stride * s->units};
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_coded_field fields[MAX_FIELDS];
    tare_error err;
    l.region = malloc(l.size);
    l.base = malloc(l.size);
    assert_true(l.region && l.base);
    if (s->fill >= TOPS)
        fill_tops(l.region, l.size, s->stride, s->fill - TOPS);
    else
        fill_bytes(l.region, l.size, s->fill);
    for (size_t i = 0; i < l.size; i++)
        l.base[i] = (uint8_t)(l.region[i] + (draw() % 16 == 0 ? normal() / 60 : 0));
    memcpy(fields, s->fields, sizeof fields);
    for (unsigned i = 0; i < s->n_fields; i++) {
        fields[i].log2_segment = log2_segment;
        fields[i].mode = mode;
    }
    o.is_full = s->is_full;
    context.threads = 1;
    const tare_coded_region r = {l.region, l.size, s->has_base ? l.base : NULL};
    tare_status status = tare_coded_encode(&l.coded, &r, 1, fields, s->n_fields, &o, &err);
    if (status != TARE_OK) fail_msg("%s: %s", s->name, err.what);
    return l;
}

static void drop(layer *l) {
    tare_coded_free(l->coded);
    free(l->region);
    free(l->base);
}

/* ---- whole ----------------------------------------------------------------------------------- */

/* Which kernels were launched. */
static uint32_t check_whole(const layer *l, const char *name, bool is_general) {
    const void *bases[1] = {l->base};
    const cuda_how how = {.is_general = is_general};
    cuda_counts counts;
    tare_error err = {0};
    uint8_t *made = calloc(1, l->size);
    assert_non_null(made);
    if (cuda_decode(&made, l->coded, bases, &how, &counts, NULL, &err) != TARE_OK)
        fail_msg("%s: %s", name, err.what);
    if (memcmp(made, l->region, l->size) != 0) fail_msg("%s: other bytes", name);
    free(made);
    return counts.kernels;
}

static void what_is_encoded_comes_back(void **state) {
    (void)state;
    static const uint8_t modes[] = {TARE_CODED_SMALLEST, TARE_CODED_RAW, TARE_CODED_DIRECT};
    unsigned n_predictors[3] = {0}, n_classes = 0, n_patches = 0;
    cuda_coverage coverage = {{0}};
    uint32_t kernels = 0;
    for (unsigned i = 0; i < 3 * N_SAMPLES; i++) {
        const sample *s = &samples[i / 3];
        layer l = make(s, 14 + i % 2, modes[i % 3]);
        const tare_coded_layer *d = tare_coded_describe(l.coded);
        kernels |= check_whole(&l, s->name, false);
        check_whole(&l, s->name, true);
        cuda_cover(&coverage, l.coded);
        for (unsigned j = 0; j < d->n_streams; j++)
            for (uint64_t n = 0; n < d->streams[j].n_segments; n++) {
                tare_coded_segment of = tare_coded_segment_default();
                assert_int_equal(tare_coded_parse_segment(&of, l.coded, j, n, NULL), TARE_OK);
                n_predictors[of.predictor]++;
                n_classes += of.n_classes > 0;
                n_patches += of.n_patches > 0;
            }
        drop(&l);
    }
    printf("predictors %u, %u, %u; %u with classes, %u with patches; kernels %#x\n",
           n_predictors[0], n_predictors[1], n_predictors[2], n_classes, n_patches, kernels);
    assert_true(n_predictors[1] && n_predictors[2] && n_classes && n_patches);
    assert_int_equal(kernels, (1u << WG_KERNELS) - 1);
    assert_int_equal(cuda_uncovered(&coverage, IN_SAMPLES), 0);
}

/* ---- damaged --------------------------------------------------------------------------------- */

typedef struct verdicts {
    unsigned n, by_status[16];
} verdicts;

/* One that the library gave `meant` for, by the fast kernels or by the general one. */
static void check_verdict(const sample *s, const layer *l, const tare_coded *coded,
                          tare_status meant, const tare_error *cpu, const uint8_t *theirs,
                          bool is_general) {
    const void *bases[1] = {l->base};
    const cuda_how how = {.is_general = is_general};
    tare_cuda_fault fault = tare_cuda_fault_default();
    cuda_counts counts;
    tare_error gpu = {0};
    uint8_t *ours = calloc(1, l->size);
    assert_non_null(ours);
    tare_status found = cuda_decode(&ours, coded, bases, &how, &counts, &fault, &gpu);
    if (meant != found)
        fail_msg("%s: %s (%s), but the device says %s (%s)", s->name, tare_status_text(meant),
                 cpu->what, tare_status_text(found), gpu.what);
    if (meant == TARE_OK) assert_memory_equal(theirs, ours, l->size);
    if (meant == TARE_ERR_CHECKSUM && counts.n_host == 0)
        assert_int_equal(cpu->offset, fault.position);
    if (fault.n_faults) {
        tare_coded_segment of = tare_coded_segment_default();
        assert_int_equal(fault.layer, 0);
        assert_int_equal(tare_coded_parse_segment(&of, coded, fault.stream, fault.segment, NULL),
                         TARE_OK);
        assert_int_equal(of.position, fault.position);
        assert_int_equal(gpu.offset, fault.position);
    }
    free(ours);
}

/* What the library and the device say of other stored bytes. */
static void compare(const sample *s, const layer *l, const uint8_t *data, verdicts *v) {
    tare_coded_layer other = *tare_coded_describe(l->coded);
    const void *bases[1] = {l->base};
    tare_coded *coded;
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_error cpu = {0};
    context.threads = 1;
    other.data = data;
    other.offset = 0;
    if (tare_coded_open(&coded, &other, bases, NULL, NULL) != TARE_OK) return;
    uint8_t *theirs = calloc(1, l->size);
    void *to = theirs;
    assert_non_null(theirs);
    tare_status meant = tare_coded_decode_layer(&to, coded, &o, &cpu);
    check_verdict(s, l, coded, meant, &cpu, theirs, false);
    check_verdict(s, l, coded, meant, &cpu, theirs, true);
    v->n++;
    v->by_status[meant]++;
    free(theirs);
    tare_coded_free(coded);
}

/* Where to damage: in the header of a segment, its states, words, patches, or anywhere. */
static size_t choose_place(const layer *l, unsigned turn) {
    const tare_coded_layer *d = tare_coded_describe(l->coded);
    unsigned stream = draw() % d->n_streams;
    tare_coded_segment s = tare_coded_segment_default();
    uint64_t n = draw() % d->streams[stream].n_segments;
    assert_int_equal(tare_coded_parse_segment(&s, l->coded, stream, n, NULL), TARE_OK);
    uint32_t first = 0, size = s.stored_bytes;
    if (turn % 8 == 0) size = 32;
    if (turn % 8 == 1 && s.mode == TARE_CODED_DIRECT) first = s.states, size = 256;
    if (turn % 8 == 2 && s.n_patches) first = s.patches, size = s.patches_bytes;
    if (turn % 8 == 3 && s.mode == TARE_CODED_DIRECT) first = s.patches - 8, size = 72;
    if (turn % 8 == 4) first = size - 64, size = 64;
    size_t at = s.position + first + draw() % size;
    return at < d->size ? at : d->size - 1;
}

static void damage_has_the_same_verdict(void **state) {
    (void)state;
    enum { TURNS = 5 };
    verdicts v = {0};
    for (unsigned i = 0; i < N_SAMPLES; i++) {
        layer l = make(&samples[i], 14, TARE_CODED_SMALLEST);
        const tare_coded_layer *d = tare_coded_describe(l.coded);
        for (unsigned turn = 0; turn < TURNS; turn++) {
            uint8_t *copy = malloc((size_t)d->size);
            assert_non_null(copy);
            memcpy(copy, d->data, (size_t)d->size);
            copy[choose_place(&l, TURNS * i + turn)] ^= (uint8_t)(1u << draw() % 8);
            compare(&samples[i], &l, copy, &v);
            free(copy);
        }
        drop(&l);
    }
    printf("%u damaged layers: %u good all the same, %u corrupt, %u by their CRC\n", v.n,
           v.by_status[TARE_OK], v.by_status[TARE_ERR_CORRUPT], v.by_status[TARE_ERR_CHECKSUM]);
    assert_true(v.by_status[TARE_ERR_CORRUPT] > 50 && v.by_status[TARE_ERR_CHECKSUM] > 20);
}

/* ---- crafted --------------------------------------------------------------------------------- */

/* 33 bytes of 0 a lane, but for one. Two symbols have half of the slots each, so that one costs a bit: with ranks
 * of 0 a state doubles with each symbol that an encoder puts, gives off a word of 0 at 2^31 and is
 * 65536 again after 16 of them. Every first state is 131072, each lane reads two words of 0. */
enum {
    VALUES = 33 * 64 - 1,
    TABLES = 16,
    HEAD = 2112,
    SEGMENT = 576,
    CRAFTED = 3200,
    PATCHES = 544
};

typedef struct crafted {
    uint8_t data[CRAFTED];
    uint8_t *segment;
    uint32_t stored; /* bytes of the segment */
} crafted;

static void put32(uint8_t *to, uint32_t v) {
    for (unsigned i = 0; i < 4; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* A table where the first half of the buckets stand for symbol 0, the others for the middle one. */
static uint8_t *put_table(uint8_t *to, unsigned n) {
    for (unsigned b = 0; b < n; b++) {
        to[b] = 0;
        to[n + b] = (uint8_t)(b < n / 2 ? 0 : n / 2);
    }
    return to + 2 * n;
}

static void craft(crafted *c) {
    static const uint8_t zeros[VALUES];
    uint8_t *to = c->data;
    memset(c, 0, sizeof *c);
    to[0] = 1, to[1] = TABLES, to[2] = 1;
    to += 12; /* the rule: PLAIN, no bypass bits, no map */
    for (unsigned i = 0; i < TABLES; i++) to = put_table(to, 64);
    put_table(to, 16);
    c->segment = c->data + HEAD;
    c->stored = SEGMENT;
    c->segment[0] = 3;
    put32(c->segment + 4, coded_crc32(zeros, VALUES));
    put32(c->segment + 8, 64);
    put32(c->segment + 12, 64);
    for (unsigned i = 0; i < 64; i++) put32(c->segment + 32 + 4 * i, 131072);
}

/* With n classes; each run has the class of rank 8, so 9 are too few. */
static void add_classes(crafted *c, uint8_t n) {
    c->segment[24] = n;
    for (unsigned i = 0; i < 64; i++) /* one symbol more: the middle one for the 9 runs */
        put32(c->segment + 32 + 4 * i, 262144 + (i <= VALUES / 256 ? 8 : 0));
}

/* No padding: words of 0 up to the end of the segment and of the data, too few of them for a stream
 * whose lanes read three each, or, from a first state of 0, one for every value. */
static void fill_with_words(crafted *c, unsigned stream, uint32_t first_state) {
    enum { WORDS = (SEGMENT - 288) / 2, OTHER = 64 };
    put32(c->segment + 8 + 4 * stream, WORDS - OTHER);
    for (unsigned lane = stream; lane < 64; lane += 2)
        put32(c->segment + 32 + 4 * lane, first_state);
}

static tare_status library_says(const tare_coded *coded) {
    uint8_t bytes[VALUES];
    void *to = bytes;
    return tare_coded_decode_layer(&to, coded, NULL, NULL);
}

static void check_crafted(const crafted *c, tare_status meant, const char *name) {
    const uint32_t sizes[1] = {c->stored / 64};
    uint8_t checked[HEAD + 4], bytes[VALUES], *to = bytes;
    tare_coded_stream stream = {
        .field = {.value_bits = 8, .log2_segment = 14, .stride = 1, .width = 1},
        .n_segments = 1,
        .sizes = sizes,
        .head_bytes = HEAD,
    };
    tare_coded_layer l = {.data = c->data,
                          .size = (HEAD + c->stored + 127) / 128 * 128,
                          .n_regions = 1,
                          .n_streams = 1,
                          .region_bytes = {VALUES},
                          .streams = &stream};
    tare_coded *coded;
    cuda_counts counts;
    tare_error err = {0};
    memcpy(checked, c->data, HEAD);
    memcpy(checked + HEAD, c->segment + 4, 4);
    l.crc = coded_crc32(checked, sizeof checked);
    if (tare_coded_open(&coded, &l, NULL, NULL, &err) != TARE_OK)
        fail_msg("%s: %s", name, err.what);
    if (library_says(coded) != meant) fail_msg("%s: the library says otherwise", name);
    for (unsigned i = 0; i < 4; i++) {
        const cuda_how how = {.without_crc = i % 2, .is_general = i / 2};
        if (cuda_decode(&to, coded, NULL, &how, &counts, NULL, &err) != meant)
            fail_msg("%s: the device says otherwise", name);
    }
    tare_coded_free(coded);
}

/* All of these but the first few decode to the right bytes with the right CRC. */
static void crafted_segments_are_refused(void **state) {
    (void)state;
    crafted c;
    craft(&c);
    check_crafted(&c, TARE_OK, "zeros");
    put32(c.segment + 8, 63);
    check_crafted(&c, TARE_ERR_CORRUPT, "a word of 0 that is not there, stream A");
    craft(&c);
    put32(c.segment + 12, 63);
    check_crafted(&c, TARE_ERR_CORRUPT, "a word of 0 that is not there, stream B");
    craft(&c);
    put32(c.segment + 12, 65);
    check_crafted(&c, TARE_ERR_CORRUPT, "a word too many");
    craft(&c);
    put32(c.segment + 8, 0);
    put32(c.segment + 12, 0);
    c.stored = 320;
    check_crafted(&c, TARE_ERR_CORRUPT, "no words at all");
    for (unsigned i = 0; i < 4; i++) { /* a word more would not be the segment's */
        craft(&c);
        fill_with_words(&c, i % 2, i / 2 * 65536);
        check_crafted(&c, TARE_ERR_CORRUPT, "words that run out where the data ends");
    }
    for (unsigned lane = 0; lane < 64; lane += 63) {
        craft(&c); /* rank 1, then a word of 0: where the first symbol leads in any case */
        put32(c.segment + 32 + 4 * lane, 1 << 6);
        put32(c.segment + (lane % 2 ? 12 : 8), 65);
        check_crafted(&c, TARE_ERR_CORRUPT, "a first state below 65536");
    }
    craft(&c);
    add_classes(&c, 16);
    check_crafted(&c, TARE_OK, "classes");
    add_classes(&c, 9);
    check_crafted(&c, TARE_OK, "as many classes as there have to be");
    add_classes(&c, 8);
    check_crafted(&c, TARE_ERR_CORRUPT, "a rank that there is not");
    craft(&c);
    c.segment[PATCHES + 30] = 1;
    check_crafted(&c, TARE_ERR_CORRUPT, "padding");
}

static void crafted_patches_are_refused(void **state) {
    (void)state;
    crafted c;
    craft(&c); /* a patch that puts 0 where 0 is: a one, then a top of 8 bits */
    put32(c.segment + 16, 1);
    put32(c.segment + 20, 2);
    c.segment[PATCHES] = 1;
    check_crafted(&c, TARE_OK, "a patch");
    c.segment[PATCHES + 1] = 2;
    check_crafted(&c, TARE_ERR_CORRUPT, "a bit behind the last patch");
    c.segment[PATCHES + 1] = 0;
    put32(c.segment + 20, 3);
    check_crafted(&c, TARE_ERR_CORRUPT, "a byte behind the last patch");
    put32(c.segment + 20, 1);
    check_crafted(&c, TARE_ERR_CORRUPT, "a patch that its bytes end in");
    c.segment[26] = 12;
    put32(c.segment + 20, 3);
    for (unsigned at = VALUES - 1; at <= VALUES + 1; at++) { /* a value, padding, nothing */
        put32(c.segment + PATCHES, 1 | at << 1);
        check_crafted(&c, at < VALUES ? TARE_OK : TARE_ERR_CORRUPT, "a patch near the end");
    }
    craft(&c); /* 4096 zeros, a one, 20 bits of a distance, a top */
    put32(c.segment + 16, 1);
    put32(c.segment + 20, 516);
    c.segment[26] = 20;
    c.segment[PATCHES + 512] = 1;
    c.stored = 1088;
    check_crafted(&c, TARE_ERR_CORRUPT, "a patch at position 2^32");
}

/* An empty stream is planned if its segments have the bytes of 2^14 values, no more and no fewer. */
static void segments_of_other_sizes_are_refused(void **state) {
    (void)state;
    static const uint8_t bits[] = {4, 6, 8, 16};
    for (unsigned i = 0; i < sizeof bits; i++) {
        const uint64_t right = (uint64_t)bits[i] << 14 >> 3;
        for (uint64_t n = right - 3; n <= right + 3; n++) {
            const tare_coded_stream stream = {
                .field = {.value_bits = bits[i], .log2_segment = 14, .stride = 6, .width = 6},
                .segment_bytes = n};
            const tare_coded_layer l = {.n_regions = 1, .n_streams = 1, .streams = &stream};
            const tare_coded_head head = {0}, *heads = &head;
            const tare_coded_segment *segments = NULL;
            const tare_cuda_layer planned = {&l, &heads, &segments, 0};
            tare_cuda_plan *plan;
            tare_status status = tare_cuda_plan_new(&plan, &planned, 1, NULL, NULL);
            assert_int_equal(status, n == right ? TARE_OK : TARE_ERR_ARG);
            tare_cuda_plan_free(plan);
        }
    }
}

/* A layer is decoded after an allocation that failed: no launch is blamed for it, as one on a GPU is
 * where nobody has asked the runtime for that error. */
static void failures_of_before_are_forgotten(void **state) {
    (void)state;
    layer l = make(&samples[0], 14, TARE_CODED_SMALLEST);
    tare_cuda *cuda;
    void *memory;
    assert_int_equal(tare_cuda_open(&cuda, 0, NULL), TARE_OK);
    assert_int_equal(tare_cuda_alloc(&memory, cuda, (size_t)1 << 46, NULL), TARE_ERR_NOMEM);
    check_whole(&l, samples[0].name, false);
    tare_cuda_close(cuda);
    drop(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_comes_back),
        cmocka_unit_test(damage_has_the_same_verdict),
        cmocka_unit_test(crafted_segments_are_refused),
        cmocka_unit_test(crafted_patches_are_refused),
        cmocka_unit_test(segments_of_other_sizes_are_refused),
        cmocka_unit_test(failures_of_before_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
