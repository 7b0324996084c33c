/* SPDX-License-Identifier: MIT
 *
 * Planes like those of models, encoding and decoding them. */
#include "wc_subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "wcodec/wc_direct.h"
#include "wcodec/wc_direct_encode.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_trellis.h"

enum { TRELLIS_LOG2 = 19, TRELLIS_SEGMENT = 1 << TRELLIS_LOG2, SIDE_BY_SIDE = 4 };

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

void bench_wc_normal(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = normal();
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

/* Rounded to a float of `exponent` and `mantissa` bits, subnormal ones too. */
static uint16_t narrow(float x, unsigned exponent, unsigned mantissa) {
    uint32_t bits, drop = 23 - mantissa, bias = (1u << (exponent - 1)) - 1;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 31, size = (bits & 0x7fffffff) + (1u << (drop - 1));
    size = (size >> drop) - ((127 - bias) << mantissa);
    if (fabsf(x) < f32_of((128 - bias) << 23))
        size = (uint32_t)lrintf(ldexpf(fabsf(x), (int)(bias - 1 + mantissa)));
    return (uint16_t)(sign << (exponent + mantissa) | size);
}

/* ---- planes ---------------------------------------------------------------------------------- */

enum { WHOLE = -1 }; /* run: all values */

const bench_wc_kind bench_wc_kinds[] = {
    {"int8_row", 8, false, BENCH_WC_COLS, 127, 0, 0, 0, 0},
    {"int8_row_heavy", 8, true, BENCH_WC_COLS, 127, 0, 0, 0, 0},
    {"int8_tensor", 8, false, (size_t)WHOLE, 127, 0, 0, 0, 0},
    {"int8_tensor_heavy", 8, true, (size_t)WHOLE, 127, 0, 0, 0, 0},
    {"q8_0", 8, false, 32, 127, 0, 0, 0, 0},
    {"q8_0_heavy", 8, true, 32, 127, 0, 0, 0, 0},
    {"int4_row", 4, false, BENCH_WC_COLS, 7, 0, 0, 0, 0},
    {"int4_row_heavy", 4, true, BENCH_WC_COLS, 7, 0, 0, 0, 0},
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
const size_t bench_wc_n_kinds = sizeof bench_wc_kinds / sizeof bench_wc_kinds[0];

bool bench_wc_is_wanted(const char *name, char **names) {
    if (!*names) return true;
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* Two codes of 3 bits make a value of 6; two of 4 bits a byte. */
static uint32_t pack(uint8_t *plane, const int8_t *codes, size_t n_values, uint8_t value_bits) {
    uint32_t n = 0;
    if (value_bits == 4) {
        for (; n < n_values / 2; n++)
            plane[n] = (uint8_t)((codes[2 * n] & 15) | codes[2 * n + 1] << 4);
        return n;
    }
    for (size_t i = 0; i < n_values; i += 8) {
        uint32_t all = 0;
        for (unsigned j = 0; j < 8; j++) all |= (uint32_t)(codes[i + j] & 7) << 3 * j;
        for (unsigned j = 0; j < 3; j++) plane[n++] = (uint8_t)(all >> 8 * j);
    }
    return n;
}

/* The bytes of steps of about x; every segment begins in states 0. */
static void walk(uint8_t *plane, const float *x, size_t n, const bench_wc_kind *k) {
    uint8_t states[TARE_WC_LANES];
    for (size_t i = 0; i < n; i++) {
        if (i % TRELLIS_SEGMENT == 0) memset(states, 0, sizeof states);
        uint8_t *state = &states[i % TARE_WC_LANES];
        float step = fminf(fmaxf(x[i] * k->scale, -14), 13); /* what any sample has */
        uint8_t symbol = (uint8_t)(lrintf(step) & 63);
        plane[i] = tare_wc_trellis_value(*state, symbol);
        *state = tare_wc_trellis_next(k->states, *state, symbol);
    }
}

uint32_t bench_wc_make(uint8_t *plane, const bench_wc_kind *k, size_t n_values) {
    float *x = bench_room(n_values * sizeof *x);
    int8_t *codes = bench_room(n_values);
    uint32_t n = (uint32_t)n_values * (k->value_bits / 8u);
    for (size_t i = 0; i < n_values; i++) x[i] = k->is_heavy ? heavy() : normal();
    if (k->run) quantize(codes, x, n_values, k->run < n_values ? k->run : n_values, k->top);
    if (k->states) walk(plane, x, n_values, k);
    for (size_t i = 0; !k->run && !k->states && i < n_values; i++) {
        uint16_t bits = narrow(x[i] * k->scale, k->exponent, k->mantissa);
        memcpy(plane + i * (k->value_bits / 8u), &bits, k->value_bits / 8u);
    }
    if (k->run && k->value_bits == 8) memcpy(plane, codes, n_values);
    if (k->value_bits < 8) n = pack(plane, codes, n_values, k->value_bits);
    free(x);
    free(codes);
    return n;
}

/* Of values, or of the steps of a trellis. */
static double entropy_bits(const uint8_t *plane, uint32_t n_bytes, uint8_t value_bits,
                           uint8_t states) {
    static uint64_t counts[1 << 16];
    uint64_t n = tare_wc_values_of(value_bits, n_bytes);
    double bits = 0;
    memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; states && i < n_bytes; i += TRELLIS_SEGMENT)
        tare_wc_trellis_count(counts, NULL, states, plane + i, TRELLIS_SEGMENT);
    for (uint64_t i = 0; !states && i < n; i++) {
        uint64_t bit = i * value_bits, word = 0;
        memcpy(&word, plane + bit / 8, value_bits > 8 ? 2 : value_bits == 6 && bit % 8 > 2 ? 2 : 1);
        counts[word >> bit % 8 & ((1u << value_bits) - 1)]++;
    }
    for (size_t v = 0; v < (size_t)1 << value_bits; v++)
        if (counts[v]) bits -= (double)counts[v] * log2((double)counts[v] / (double)n);
    return bits;
}

/* ---- a plane --------------------------------------------------------------------------------- */

void bench_wc_init(bench_wc_subject *s) {
    *s = (bench_wc_subject){.options = TARE_WC_OPTIONS_DEFAULT};
    s->options.width = BENCH_WC_COLS;
    s->options.is_signed = true;
    tare_buffer_init(&s->out, NULL);
    tare_wc_scratch_init(&s->scratch, NULL);
}

void bench_wc_free(bench_wc_subject *s) {
    tare_buffer_free(&s->out);
    tare_wc_scratch_free(&s->scratch);
}

void bench_wc_take(bench_wc_subject *s, uint8_t *plane, uint32_t n_bytes, uint8_t value_bits,
                   uint8_t log2) {
    uint64_t n = tare_wc_values_of(value_bits, n_bytes);
    s->plane = plane;
    s->n_bytes = n_bytes;
    s->entropy = entropy_bits(plane, n_bytes, value_bits, s->options.trellis);
    if (s->options.trellis) log2 = TRELLIS_LOG2;
    if (!log2) log2 = tare_wc_suggest_log2(n, s->entropy / (double)n);
    s->shape = (tare_wc_shape){.value_bits = value_bits, .log2_segment = log2};
    s->segment_bytes = (uint32_t)tare_wc_bytes_of(value_bits, UINT64_C(1) << log2);
    s->n_segments = (n_bytes + s->segment_bytes - 1) / s->segment_bytes;
    if (s->n_segments > BENCH_WC_MOST_SEGMENTS) bench_die("too many segments");
}

uint32_t bench_wc_piece_bytes(const bench_wc_subject *s, uint32_t i) {
    uint32_t at = i * s->segment_bytes;
    return s->n_bytes - at < s->segment_bytes ? s->n_bytes - at : s->segment_bytes;
}

static tare_wc_scheme *make_scheme(bench_wc_subject *s) {
    tare_wc_scheme *scheme;
    if (tare_wc_is_tiny(&s->options, s->n_bytes)) {
        if (tare_wc_scheme_tiny(&scheme, &s->shape, &s->options, NULL, NULL))
            bench_die("no scheme");
        return scheme;
    }
    tare_wc_tally *tally = tare_wc_tally_new(&s->shape, &s->options, false, NULL);
    for (uint32_t i = 0; tally && i < s->n_segments; i++)
        if (tare_wc_tally_wants(&s->options, i, s->n_segments))
            tare_wc_tally_add(tally, s->plane + (size_t)i * s->segment_bytes,
                              bench_wc_piece_bytes(s, i), NULL, &s->scratch, NULL);
    if (!tally || tare_wc_scheme_new(&scheme, tally, NULL) != TARE_OK) bench_die("no scheme");
    tare_wc_tally_free(tally);
    return scheme;
}

size_t bench_wc_encode(bench_wc_subject *s) {
    tare_wc_scheme *scheme = make_scheme(s);
    uint32_t first = 0, head_bytes;
    s->out.size = 0;
    if (s->n_segments == 1) {
        if (tare_wc_encode_alone(&s->out, &head_bytes, scheme, s->plane, s->n_bytes, NULL,
                                 &s->scratch, NULL) != TARE_OK)
            bench_die("no segment");
        s->head_bytes = head_bytes;
        s->ends[first++] = s->out.size;
    } else {
        tare_wc_head_write(&s->out, tare_wc_scheme_head(scheme));
        s->head_bytes = s->out.size;
    }
    for (uint32_t i = first; i < s->n_segments; i++) {
        if (tare_wc_encode_segment(&s->out, scheme, s->plane + (size_t)i * s->segment_bytes,
                                   bench_wc_piece_bytes(s, i), NULL, &s->scratch, NULL) != TARE_OK)
            bench_die("no segment");
        s->ends[i] = s->out.size;
    }
    tare_wc_scheme_free(scheme);
    size_t size = s->out.size;
    tare_buffer_put_zeros(&s->out, TARE_WC_READ_AHEAD);
    s->out.size = size;
    return size;
}

/* ---- back ------------------------------------------------------------------------------------ */

static tare_wc_piece piece_at(const bench_wc_subject *s, uint8_t *back, const tare_wc_head *head,
                              uint32_t i) {
    size_t from = i ? s->ends[i - 1] : s->head_bytes;
    uint32_t stored = (uint32_t)(s->ends[i] - from);
    return (tare_wc_piece){.head = head,
                           .bytes = s->out.data + from,
                           .stored = stored,
                           .present = stored,
                           .dst = back + (size_t)i * s->segment_bytes,
                           .n_bytes = bench_wc_piece_bytes(s, i)};
}

void bench_wc_decode_bare(const tare_wc_piece *pieces, unsigned n) {
    tare_wc_segment segments[SIDE_BY_SIDE];
    tare_wc_direct parts[SIDE_BY_SIDE];
    tare_wc_job jobs[SIDE_BY_SIDE];
    const tare_wc_piece *of[SIDE_BY_SIDE];
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++) {
        tare_cursor c;
        static uint8_t classes[SIDE_BY_SIDE][TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN];
        tare_cursor_init(&c, pieces[i].bytes, pieces[i].stored, 0);
        if (tare_wc_segment_read(&segments[m], &c, NULL) != TARE_OK) bench_die("segment");
        if (segments[m].mode != TARE_CODED_DIRECT) continue;
        of[m] = &pieces[i];
        if (tare_wc_direct_parts(&parts[m], &segments[m], of[m], TARE_WC_ALL_GROUPS, NULL) ||
            tare_wc_direct_begin(&jobs[m], &parts[m], &segments[m], of[m], classes[i], NULL))
            bench_die("segment");
        m++;
    }
    if (m) tare_wc_kernels_get()->decode(jobs, m);
    for (unsigned i = 0; i < m; i++)
        if (tare_wc_direct_end(&jobs[i], &parts[i], of[i], NULL)) bench_die("segment");
}

void bench_wc_decode(bench_wc_subject *s, uint8_t *back, bool is_bare) {
    tare_arena arena;
    tare_wc_head *head;
    tare_cursor c;
    unsigned failed;
    tare_arena_init(&arena, NULL);
    tare_cursor_init(&c, s->out.data, s->head_bytes, 0);
    if (tare_wc_head_read(&head, &s->shape, &c, &arena, NULL) != TARE_OK) bench_die("head");
    for (uint32_t i = 0; i < s->n_segments; i += SIDE_BY_SIDE) {
        tare_wc_piece pieces[SIDE_BY_SIDE];
        unsigned n = 0;
        for (; n < SIDE_BY_SIDE && i + n < s->n_segments; n++)
            pieces[n] = piece_at(s, back, head, i + n);
        if (is_bare)
            bench_wc_decode_bare(pieces, n);
        else if (tare_wc_decode(pieces, n, TARE_WC_ALL_GROUPS, &s->scratch, &failed, NULL))
            bench_die("does not decode");
    }
    tare_arena_free(&arena);
}
