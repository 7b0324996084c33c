/* SPDX-License-Identifier: MIT
 *
 * Question: how fast does the codec of .wcodec turn planes into segments and back on one core, and
 * how near to the entropy of their values does it come? For planes like those of models, at each
 * CPU level: GB/s of the plane's bytes, from memory into memory that has been written, and bytes a
 * cycle. The last column tells how fast and how idle the core was (contest.h), before encoding,
 * before and after decoding: on a busy machine even bytes a cycle are up to half of what they are.
 *
 *   bench_wc_planes [-f] [-s] [PLANE...]      a Markdown table; -f: full effort; -s: sizes only
 *
 * Encoding is all that lies between a plane and its segments: counting, tables, CRC. Decoding is
 * measured with the CRC and (kernel) without. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "wcodec/wc_direct.h"
#include "wcodec/wc_direct_encode.h"
#include "wcodec/wc_encode.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_trellis.h"

enum { N_VALUES = 1 << 24, COLS = 4096, RUNS = 5, MOST_SEGMENTS = 1024, KERNEL = 3 };
enum { TRELLIS_LOG2 = 19, TRELLIS_SEGMENT = 1 << TRELLIS_LOG2 };

static const unsigned masks[] = {TARE_CPU_NONE, TARE_CPU_AVX2,
                                 TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2,
                                 TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2};

static void prepare(int who) {
    tare_cpu_limit(masks[who]);
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static double uniform(void) {
    uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

static float normal(void) {
    return (float)(sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

/* Student's t with five degrees of freedom: heavy tails. */
static float heavy(void) {
    double sum = 0;
    for (int i = 0; i < 5; i++) sum += pow((double)normal(), 2);
    return normal() / (float)sqrt(sum / 5);
}

/* Codes of 2 * top + 1 levels of runs of values, scaled by each run's largest. */
static void quantize(int8_t *codes, const float *x, size_t n, size_t run, int top) {
    for (size_t at = 0; at < n; at += run) {
        float most = 0;
        for (size_t i = at; i < at + run; i++) most = fmaxf(most, fabsf(x[i]));
        for (size_t i = at; i < at + run; i++) codes[i] = (int8_t)lrintf(x[i] / most * (float)top);
    }
}

static float f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounded to a float of `exponent` and `mantissa` bits; what would be subnormal is 0. */
static uint16_t narrow(float x, unsigned exponent, unsigned mantissa) {
    uint32_t bits, drop = 23 - mantissa, bias = (1u << (exponent - 1)) - 1;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 31, size = (bits & 0x7fffffff) + (1u << (drop - 1));
    if (fabsf(x) < f32_of((128 - bias) << 23)) size = (127 - bias) << 23;
    size = (size >> drop) - ((127 - bias) << mantissa);
    return (uint16_t)(sign << (exponent + mantissa) | size);
}

/* ---- planes ---------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    uint8_t item;
    bool is_heavy;
    size_t run; /* of values that share a scale; 0: a float */
    int top;
    unsigned exponent, mantissa;
    float scale;
    uint8_t states; /* of a trellis: bytes that its steps give */
} kind;

static const kind kinds[] = {
    {"int8_row", 8, false, COLS, 127, 0, 0, 0, 0},
    {"int8_row_heavy", 8, true, COLS, 127, 0, 0, 0, 0},
    {"int8_tensor", 8, false, N_VALUES, 127, 0, 0, 0, 0},
    {"int8_tensor_heavy", 8, true, N_VALUES, 127, 0, 0, 0, 0},
    {"q8_0", 8, false, 32, 127, 0, 0, 0, 0},
    {"q8_0_heavy", 8, true, 32, 127, 0, 0, 0, 0},
    {"int4_row", 4, false, COLS, 7, 0, 0, 0, 0},
    {"int4_row_heavy", 4, true, COLS, 7, 0, 0, 0, 0},
    {"int4_g128", 4, false, 128, 7, 0, 0, 0, 0},
    {"int4_g128_heavy", 4, true, 128, 7, 0, 0, 0, 0},
    {"k3", 6, false, 32, 3, 0, 0, 0, 0},
    {"k3_heavy", 6, true, 32, 3, 0, 0, 0, 0},
    {"bf16", 16, false, 0, 0, 8, 7, 0.02f, 0},
    {"bf16_heavy", 16, true, 0, 0, 8, 7, 0.02f, 0},
    {"f16", 16, false, 0, 0, 5, 10, 0.02f, 0},
    {"f16_heavy", 16, true, 0, 0, 5, 10, 0.02f, 0},
    {"f8_e4m3", 8, false, 0, 0, 4, 3, 0.5f, 0},
    {"f8_e5m2", 8, false, 0, 0, 5, 2, 0.5f, 0},
    {"trellis_8", 8, false, 0, 0, 0, 0, 3, 8},
    {"trellis_32", 8, false, 0, 0, 0, 0, 3, 32},
};

/* Two codes of 3 bits make a value of 6; two of 4 bits a byte. */
static uint32_t pack(uint8_t *plane, const int8_t *codes, uint8_t item) {
    uint32_t n = 0;
    if (item == 4) {
        for (; n < N_VALUES / 2; n++)
            plane[n] = (uint8_t)((codes[2 * n] & 15) | codes[2 * n + 1] << 4);
        return n;
    }
    for (size_t i = 0; i < N_VALUES; i += 8) {
        uint32_t all = 0;
        for (unsigned j = 0; j < 8; j++) all |= (uint32_t)(codes[i + j] & 7) << 3 * j;
        for (unsigned j = 0; j < 3; j++) plane[n++] = (uint8_t)(all >> 8 * j);
    }
    return n;
}

/* The bytes of steps of about x; every segment begins in states 0. */
static void walk(uint8_t *plane, const float *x, const kind *k) {
    uint8_t states[TARE_WC_LANES];
    for (size_t i = 0; i < N_VALUES; i++) {
        if (i % TRELLIS_SEGMENT == 0) memset(states, 0, sizeof states);
        uint8_t *state = &states[i % TARE_WC_LANES];
        float step = fminf(fmaxf(x[i] * k->scale, -14), 13); /* what any sample has */
        uint8_t symbol = (uint8_t)(lrintf(step) & 63);
        plane[i] = tare_wc_trellis_value(*state, symbol);
        *state = tare_wc_trellis_next(k->states, *state, symbol);
    }
}

/* Fills `plane`, which has two bytes for each value; returns how many bytes it has. */
static uint32_t make_plane(uint8_t *plane, const kind *k) {
    float *x = bench_room(N_VALUES * sizeof *x);
    int8_t *codes = bench_room(N_VALUES);
    uint32_t n = N_VALUES * (k->item / 8u);
    for (size_t i = 0; i < N_VALUES; i++) x[i] = k->is_heavy ? heavy() : normal();
    if (k->run) quantize(codes, x, N_VALUES, k->run, k->top);
    if (k->states) walk(plane, x, k);
    for (size_t i = 0; !k->run && !k->states && i < N_VALUES; i++) {
        uint16_t bits = narrow(x[i] * k->scale, k->exponent, k->mantissa);
        memcpy(plane + i * (k->item / 8u), &bits, k->item / 8u);
    }
    if (k->run && k->item == 8) memcpy(plane, codes, N_VALUES);
    if (k->item < 8) n = pack(plane, codes, k->item);
    free(x);
    free(codes);
    return n;
}

/* Of values, or of the steps of a trellis. */
static double entropy_bits(const uint8_t *plane, uint32_t n_bytes, uint8_t item, uint8_t states) {
    static uint64_t counts[1 << 16];
    uint64_t n = tare_wc_values_of(item, n_bytes);
    double bits = 0;
    memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; states && i < n_bytes; i += TRELLIS_SEGMENT)
        tare_wc_trellis_count(counts, states, plane + i, TRELLIS_SEGMENT);
    for (uint64_t i = 0; !states && i < n; i++) {
        uint64_t bit = i * item, word = 0;
        memcpy(&word, plane + bit / 8, item > 8 ? 2 : item == 6 && bit % 8 > 2 ? 2 : 1);
        counts[word >> bit % 8 & ((1u << item) - 1)]++;
    }
    for (size_t v = 0; v < (size_t)1 << item; v++)
        if (counts[v]) bits -= (double)counts[v] * log2((double)counts[v] / (double)n);
    return bits;
}

/* ---- the codec ------------------------------------------------------------------------------- */

typedef struct subject {
    tare_wc_shape shape;
    tare_wc_options options;
    uint8_t *plane, *back;
    uint32_t n_bytes, segment_bytes, n_segments;
    uint64_t entropy; /* bits */
    tare_buffer *out; /* head, segments */
    size_t head_bytes, ends[MOST_SEGMENTS];
    tare_wc_scratch *scratch;
} subject;

static uint32_t piece_bytes(const subject *s, uint32_t i) {
    uint32_t at = i * s->segment_bytes;
    return s->n_bytes - at < s->segment_bytes ? s->n_bytes - at : s->segment_bytes;
}

static tare_wc_plan *make_plan(const subject *s) {
    tare_wc_plan *plan;
    tare_wc_tally *tally = tare_wc_tally_new(&s->shape, &s->options, false, NULL);
    for (uint32_t i = 0; tally && i < s->n_segments; i++)
        if (tare_wc_tally_wants(&s->options, i, s->n_segments))
            tare_wc_tally_add(tally, s->plane + (size_t)i * s->segment_bytes, piece_bytes(s, i),
                              NULL, s->scratch, NULL);
    if (!tally || tare_wc_plan_new(&plan, tally, NULL) != TARE_OK) bench_die("no plan");
    tare_wc_tally_free(tally);
    return plan;
}

static void encode(const void *subject_at, int who, size_t n) {
    subject *s = (subject *)(uintptr_t)subject_at;
    (void)who;
    (void)n;
    tare_wc_plan *plan = make_plan(s);
    s->out->size = 0;
    tare_wc_head_write(s->out, tare_wc_plan_head(plan));
    s->head_bytes = s->out->size;
    for (uint32_t i = 0; i < s->n_segments; i++) {
        if (tare_wc_encode_segment(s->out, plan, s->plane + (size_t)i * s->segment_bytes,
                                   piece_bytes(s, i), NULL, s->scratch, NULL) != TARE_OK)
            bench_die("no segment");
        s->ends[i] = s->out->size;
    }
    tare_wc_plan_free(plan);
}

static tare_wc_piece piece_at(const subject *s, const tare_wc_head *head, uint32_t i) {
    size_t from = i ? s->ends[i - 1] : s->head_bytes;
    uint32_t stored = (uint32_t)(s->ends[i] - from);
    return (tare_wc_piece){.head = head,
                           .bytes = s->out->data + from,
                           .stored = stored,
                           .present = stored,
                           .dst = s->back + (size_t)i * s->segment_bytes,
                           .n_bytes = piece_bytes(s, i)};
}

/* Without CRC, and only what is DIRECT. */
static void decode_bare(const tare_wc_piece *pieces, unsigned n) {
    tare_wc_job jobs[4];
    unsigned n_jobs = 0;
    for (unsigned i = 0; i < n; i++) {
        tare_wc_segment segment;
        tare_wc_direct parts;
        tare_cursor c;
        static uint8_t classes[4][TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN];
        tare_cursor_init(&c, pieces[i].bytes, pieces[i].stored, 0);
        if (tare_wc_segment_read(&segment, &c, NULL) != TARE_OK) bench_die("segment");
        if (segment.mode != TARE_WC_DIRECT) continue;
        if (tare_wc_direct_parts(&parts, &segment, &pieces[i], TARE_WC_ALL_GROUPS, NULL) ||
            tare_wc_direct_begin(&jobs[n_jobs], &parts, &segment, &pieces[i], classes[i], NULL))
            bench_die("segment");
        n_jobs++;
    }
    if (n_jobs) tare_wc_kernels_get()->decode(jobs, n_jobs);
}

static void decode(const void *subject_at, int who, size_t n) {
    const subject *s = subject_at;
    tare_arena arena;
    tare_wc_head *head;
    tare_cursor c;
    unsigned failed;
    (void)n;
    tare_arena_init(&arena, NULL);
    tare_cursor_init(&c, s->out->data, s->head_bytes, 0);
    if (tare_wc_head_read(&head, &s->shape, &c, &arena, NULL) != TARE_OK) bench_die("head");
    for (uint32_t i = 0; i < s->n_segments; i += 4) {
        tare_wc_piece pieces[4];
        unsigned m = 0;
        for (; m < 4 && i + m < s->n_segments; m++) pieces[m] = piece_at(s, head, i + m);
        if (who == KERNEL)
            decode_bare(pieces, m);
        else if (tare_wc_decode(pieces, m, TARE_WC_ALL_GROUPS, s->scratch, &failed, NULL))
            bench_die("does not decode");
    }
    tare_arena_free(&arena);
}

/* ---- report ---------------------------------------------------------------------------------- */

static void report_sizes(const subject *s, const char *name) {
    prepare(KERNEL);
    encode(s, KERNEL, s->n_bytes);
    memset(s->back, 0xa5, s->n_bytes);
    tare_buffer_put_zeros(s->out, TARE_WC_READ_AHEAD);
    decode(s, 0, s->n_bytes);
    if (memcmp(s->plane, s->back, s->n_bytes) != 0) bench_die("comes back otherwise");
    double stored = (double)s->ends[s->n_segments - 1], bits = (double)s->entropy;
    printf("| %s | %.3f | %+.3f %% | %.4f |", name,
           bits / (double)tare_wc_values_of(s->shape.item, s->n_bytes),
           (stored * 8 / bits - 1) * 100, stored / s->n_bytes);
}

static void report_contest(const bench_contest *c, bench_pace before, bench_pace *after) {
    double m[BENCH_MOST_CONTENDERS];
    bench_measure(m, c);
    *after = bench_take_pace();
    double cycles = (before.ghz + after->ghz) / 2; /* a nanosecond */
    for (int who = 0; who < c->n_contenders; who++)
        printf(" %.2f, %.3f |", m[who] * 1e-9, m[who] * 1e-9 / cycles);
}

static void report_speeds(const subject *s) {
    bench_pace pace[3];
    pace[0] = bench_take_pace();
    report_contest(&(bench_contest){prepare, encode, s, s->n_bytes, KERNEL, RUNS, {1, 1, 1}},
                   pace[0], pace + 1);
    report_contest(&(bench_contest){prepare, decode, s, s->n_bytes, KERNEL + 1, RUNS, {1, 1, 1, 1}},
                   pace[1], pace + 2);
    for (int i = 0; i < 3; i++)
        printf("%s %.2f GHz, %.1f adds", i ? ";" : "", pace[i].ghz, pace[i].adds);
    printf(" |");
}

static bool is_wanted(const char *name, char **names) {
    if (!*names) return true;
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    tare_buffer out;
    tare_wc_scratch scratch;
    subject s = {.options = TARE_WC_OPTIONS_DEFAULT, .out = &out, .scratch = &scratch};
    bool has_speeds = true;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        s.options.is_full |= strcmp(argv[1], "-f") == 0;
        has_speeds &= strcmp(argv[1], "-s") != 0;
    }
    tare_buffer_init(&out, NULL);
    tare_wc_scratch_init(&scratch, NULL);
    s.options.width = COLS;
    s.options.is_signed = true;
    s.plane = bench_room(2 * (size_t)N_VALUES);
    s.back = bench_room(2 * (size_t)N_VALUES);
    printf(
        "| plane | entropy, bits | stored | of original | encode, GB/s, bytes a cycle: C | AVX2 | "
        "AVX-512 | decode: C | AVX2 | AVX-512 | kernel | pace |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!is_wanted(kinds[i].name, argv + 1)) continue;
        s.n_bytes = make_plane(s.plane, &kinds[i]);
        s.entropy = (uint64_t)entropy_bits(s.plane, s.n_bytes, kinds[i].item, kinds[i].states);
        uint64_t n = tare_wc_values_of(kinds[i].item, s.n_bytes);
        s.shape =
            (tare_wc_shape){.item = kinds[i].item,
                            .log2_segment = tare_wc_suggest_log2(n, (double)s.entropy / (double)n)};
        s.options.trellis = kinds[i].states;
        if (kinds[i].states) s.shape.log2_segment = TRELLIS_LOG2;
        s.segment_bytes =
            (uint32_t)tare_wc_bytes_of(s.shape.item, UINT64_C(1) << s.shape.log2_segment);
        s.n_segments = (s.n_bytes + s.segment_bytes - 1) / s.segment_bytes;
        report_sizes(&s, kinds[i].name);
        if (has_speeds) report_speeds(&s);
        printf("\n");
        fflush(stdout);
    }
    free(s.plane);
    free(s.back);
    tare_buffer_free(&out);
    tare_wc_scratch_free(&scratch);
    return 0;
}
