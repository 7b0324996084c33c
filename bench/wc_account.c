/* SPDX-License-Identifier: MIT
 *
 * Question: where does the time of a call go that decodes or encodes a tensor? One thread, tensors
 * of normal values from memory into memory; every part of the work is also done by itself:
 *
 *     loop      the kernel alone, four segments again and again in the core's own cache
 *     CRC       CRC-32 alone, of one segment again and again
 *     memory    what decoding all planes, each to a run of bytes, takes beyond these two
 *     placing   what a whole call takes beyond that: planes are put together to blocks
 *     fresh     what it takes more into memory that the system has just given
 *
 *   bench_wc_account [-m MIB] [-s SECONDS] [TYPE...]
 *
 * Each figure is the least of many short runs, all parts in turns: other work on the machine can
 * only make a run longer, and most runs of a few milliseconds have a core for themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu.h"
#include "contest.h"
#include "wc_subject.h"
#include "wcodec/layer/coded.h"
#include "wcodec/layer/wc_cut.h"

enum { COLS = 4096, ALL_LEVELS = TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a tensor -------------------------------------------------------------------------------- */

typedef struct subject {
    const tare_encoding *encoding;
    tare_wc_cut cut;
    tare_coded_field fields[TARE_CODED_MAX_STREAMS];
    tare_coded_region regions[TARE_CODED_MAX_REGIONS];
    tare_coded *coded;
    const tare_coded_layer *layer;
    uint8_t *back[TARE_CODED_MAX_REGIONS];   /* regions */
    uint8_t *planes[TARE_CODED_MAX_STREAMS]; /* streams, decoded */
    size_t n_bytes;                          /* of all regions */
} subject;

static tare_coded_options one_thread(void) {
    tare_coded_options o = tare_coded_options_default();
    static const tare_context context = {.size = sizeof context, .threads = 1};
    o.context = &context;
    return o;
}

/* `bytes`: about how many the regions have. */
static void make(subject *s, const tare_encoding *e, size_t bytes) {
    const tare_wc_effort effort = {.mode = TARE_CODED_SMALLEST};
    const tare_coded_options o = one_thread();
    uint64_t sizes[TARE_MAX_PLANES], dims[] = {16, COLS}, sum = 0;
    *s = (subject){.encoding = e};
    if (tare_encoding_sizes(sizes, e, dims, 2, NULL)) bench_die("sizes");
    for (unsigned p = 0; p < e->n_planes; p++) sum += sizes[p];
    dims[0] = 16 * (bytes / sum ? bytes / sum : 1);
    if (tare_encoding_sizes(sizes, e, dims, 2, NULL)) bench_die("sizes");
    float *values = bench_room(dims[0] * COLS * sizeof *values);
    bench_wc_normal(values, dims[0] * COLS);
    tare_rows_mut rows = {.n_rows = dims[0], .cols = COLS};
    for (unsigned p = 0; p < e->n_planes; p++) {
        rows.planes[p] = bench_room(sizes[p]);
        s->back[p] = bench_room(sizes[p]);
        s->regions[p] = (tare_coded_region){rows.planes[p], sizes[p], NULL};
        s->n_bytes += sizes[p];
    }
    if (tare_encode_rows(&rows, e, values, NULL, NULL)) bench_die("rows");
    free(values);
    tare_wc_cut_tensor(&s->cut, e, sizes, dims, 2, false, &effort);
    for (unsigned i = 0; i < s->cut.n_streams; i++) s->fields[i] = s->cut.streams[i].field;
    if (tare_coded_encode(&s->coded, s->regions, s->cut.n_regions, s->fields, s->cut.n_streams, &o,
                          NULL))
        bench_die("encoding");
    s->layer = tare_coded_describe(s->coded);
    for (unsigned i = 0; i < s->layer->n_streams; i++) {
        const tare_coded_stream *p = &s->layer->streams[i];
        s->planes[i] = bench_room(p->n_bytes);
        if (tare_coded_decode_segments(s->planes[i], s->coded, i, 0, p->n_segments, &o, NULL))
            bench_die("decoding");
    }
}

static void drop(subject *s) {
    for (unsigned i = 0; i < s->layer->n_streams; i++) free(s->planes[i]);
    for (unsigned r = 0; r < s->encoding->n_planes; r++) {
        free((void *)(uintptr_t)s->regions[r].bytes);
        free(s->back[r]);
    }
    tare_coded_free(s->coded);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Seconds for the whole tensor. */
typedef enum part { LOOP, CRC, PLANES, WHOLE, FRESH, COPY, LEARN, PUT, ENCODE, PARTS } part;

/* Up to four segments of a stream from the cache, over and over; by what share of the stream they
 * are, seconds for all of it. */
static double loop_of(const subject *s, unsigned stream, uint8_t *room) {
    const tare_coded_stream *p = &s->layer->streams[stream];
    tare_wc_piece pieces[TARE_WC_SIDE_BY_SIDE];
    unsigned n = 0;
    size_t n_bytes = 0;
    for (; n < TARE_WC_SIDE_BY_SIDE && n < p->n_segments; n++) {
        tare_coded_segment segment = tare_coded_segment_default();
        if (tare_coded_parse_segment(&segment, s->coded, stream, n, NULL)) bench_die("segment");
        pieces[n] = (tare_wc_piece){.head = s->coded->opened.heads[stream],
                                    .bytes = s->layer->data + segment.position,
                                    .stored = segment.stored_bytes,
                                    .present = segment.stored_bytes,
                                    .dst = room + n_bytes,
                                    .n_bytes = segment.n_bytes};
        n_bytes += segment.n_bytes;
    }
    bench_wc_decode_bare(pieces, n);
    double start = now();
    bench_wc_decode_bare(pieces, n);
    return (now() - start) * (double)p->n_bytes / (double)n_bytes;
}

static double crc_of(const subject *s, unsigned stream) {
    const tare_coded_stream *p = &s->layer->streams[stream];
    const size_t n = p->segment_bytes < p->n_bytes ? p->segment_bytes : p->n_bytes;
    uint32_t crc = tare_wc_kernels_get()->crc32(0, s->planes[stream], n);
    double start = now();
    crc ^= tare_wc_kernels_get()->crc32(0, s->planes[stream], n);
    double time = now() - start;
    if (crc) bench_die("CRC");
    return time * (double)p->n_bytes / (double)n;
}

static double planes_of(const subject *s, unsigned stream) {
    const tare_coded_options o = one_thread();
    double start = now();
    if (tare_coded_decode_segments(s->planes[stream], s->coded, stream, 0,
                                   s->layer->streams[stream].n_segments, &o, NULL))
        bench_die("decoding");
    return now() - start;
}

static double whole_into(const subject *s, uint8_t *const *to) {
    void *dst[TARE_CODED_MAX_REGIONS];
    const tare_coded_options o = one_thread();
    for (unsigned r = 0; r < s->encoding->n_planes; r++) dst[r] = to[r];
    double start = now();
    if (tare_coded_decode_layer(dst, s->coded, &o, NULL)) bench_die("decoding");
    return now() - start;
}

static double fresh(const subject *s) {
    uint8_t *to[TARE_CODED_MAX_REGIONS];
    size_t at = 0, room = s->n_bytes + 4096 * TARE_CODED_MAX_REGIONS;
    uint8_t *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) bench_die("no memory");
    for (unsigned r = 0; r < s->encoding->n_planes; r++) {
        to[r] = memory + at;
        at += (s->regions[r].size + 4095) / 4096 * 4096;
    }
    double time = whole_into(s, to);
    munmap(memory, room);
    return time;
}

static double copy(const subject *s) {
    double start = now();
    for (unsigned r = 0; r < s->encoding->n_planes; r++)
        memcpy(s->back[r], s->regions[r].bytes, s->regions[r].size);
    return now() - start;
}

/* Counting, tables; then all else. */
static void encode_plane(const subject *s, unsigned stream, double *learn, double *put) {
    static uint32_t sizes[1 << 16];
    const tare_coded_options o = one_thread();
    const tare_coded_stream *p = &s->layer->streams[stream];
    tare_coded_field field = s->fields[stream];
    tare_coder *coder;
    size_t written;
    field.stride = field.offset = field.width = field.region = 0;
    field.join = (tare_coded_join){0};
    field.scale_stream = field.scale_form = 0;
    field.values_per_scale = 0;
    field.log2_segment = p->field.log2_segment;
    if (field.is_packed_scales) field.stride = field.width = 12;
    double start = now();
    if (tare_coder_new(&coder, &field, s->planes[stream], p->n_bytes, NULL, &o, NULL))
        bench_die("coder");
    *learn = now() - start;
    uint8_t *to = malloc(tare_coder_bound(coder, p->n_bytes));
    start = now();
    if (!to || tare_coder_encode(to, &written, sizes, coder, s->planes[stream], p->n_bytes, NULL,
                                 &o, NULL))
        bench_die("encoding");
    *put = now() - start;
    free(to);
    tare_coder_free(coder);
}

static double encode(const subject *s) {
    const tare_coded_options o = one_thread();
    tare_coded *coded;
    double start = now();
    if (tare_coded_encode(&coded, s->regions, s->cut.n_regions, s->fields, s->cut.n_streams, &o,
                          NULL))
        bench_die("encoding");
    double time = now() - start;
    tare_coded_free(coded);
    return time;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void keep_least(double *least, double time) {
    if (time < *least) *least = time;
}

/* The least times of streams' parts, added up, and of whole calls. */
static void measure(double out[PARTS], const subject *s, double seconds) {
    double least[PARTS][TARE_CODED_MAX_STREAMS], learn, put, start = now();
    const unsigned n = s->layer->n_streams;
    uint8_t *room = bench_room(s->n_bytes * 2 + (1 << 16));
    for (unsigned p = 0; p < PARTS; p++)
        for (unsigned i = 0; i < n; i++) least[p][i] = INFINITY;
    for (unsigned turn = 0; turn < 5 || now() - start < seconds; turn++) {
        for (unsigned i = 0; i < n; i++) {
            keep_least(&least[LOOP][i], loop_of(s, i, room));
            keep_least(&least[CRC][i], crc_of(s, i));
            keep_least(&least[PLANES][i], planes_of(s, i));
        }
        keep_least(&least[WHOLE][0], whole_into(s, s->back));
        keep_least(&least[FRESH][0], fresh(s));
        keep_least(&least[COPY][0], copy(s));
        if (turn % 4) continue; /* these take longest */
        for (unsigned i = 0; i < n; i++) {
            encode_plane(s, i, &learn, &put);
            keep_least(&least[LEARN][i], learn);
            keep_least(&least[PUT][i], put);
        }
        keep_least(&least[ENCODE][0], encode(s));
    }
    for (unsigned p = 0; p < PARTS; p++) {
        out[p] = least[p][0];
        for (unsigned i = 1; i < n && (p <= PLANES || p == LEARN || p == PUT); i++)
            out[p] += least[p][i];
    }
    free(room);
}

static void report(const subject *s, const char *level, double seconds) {
    double t[PARTS], gb = (double)s->n_bytes * 1e-9;
    measure(t, s, seconds);
    printf(
        "| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f | %.0f | %.0f | %.0f | %.2f | %.0f | "
        "%.0f |\n",
        s->encoding->name, level, gb / t[LOOP], gb / t[PLANES], gb / t[WHOLE], gb / t[FRESH],
        t[LOOP] / t[WHOLE], 100 * t[CRC] / t[WHOLE],
        100 * (t[PLANES] - t[LOOP] - t[CRC]) / t[WHOLE], 100 * (t[WHOLE] - t[PLANES]) / t[WHOLE],
        100 * (t[FRESH] - t[WHOLE]) / t[WHOLE], gb / t[ENCODE], 100 * t[LEARN] / t[ENCODE],
        100 * (t[ENCODE] - t[LEARN] - t[PUT]) / t[ENCODE]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"int8_rowwise", "int4_rowwise", "bf16", "f16", "q8_0",
                                        "q4_k",         "q5_k",         "q6_k", "q4",  "k4"};
    static const struct {
        const char *name;
        unsigned mask;
    } levels[] = {{"AVX-512", ALL_LEVELS}, {"AVX2", TARE_CPU_AVX2}};
    double seconds = 1;
    size_t mib = 16;
    for (; argc > 2 && argv[1][0] == '-'; argc -= 2, argv += 2) {
        if (strcmp(argv[1], "-m") == 0) mib = (size_t)atoi(argv[2]);
        if (strcmp(argv[1], "-s") == 0) seconds = atof(argv[2]);
    }
    const char *const *names = argc > 1 ? (const char *const *)argv + 1 : usual;
    size_t n = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof *usual;
    printf("%zu MiB a tensor\n\n"
           "| type | level | loop, GB/s | planes | whole call | fresh memory | loop / whole | CRC, "
           "%% of "
           "whole | memory, %% | placing, %% | fresh, %% more | encode, GB/s | counting, %% | "
           "gathering, "
           "%% |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
           mib);
    for (size_t i = 0; i < n; i++) {
        const tare_encoding *e = tare_encoding_find((tare_str){names[i], strlen(names[i])});
        subject s;
        if (!e) bench_die(names[i]);
        tare_cpu_mask_limit(ALL_LEVELS);
        make(&s, e, mib << 20);
        for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
            tare_cpu_mask_limit(levels[k].mask);
            report(&s, levels[k].name, seconds);
        }
        drop(&s);
    }
    return 0;
}
