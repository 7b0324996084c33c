/* SPDX-License-Identifier: MIT
 *
 * Question: how fast do floats become block types? For every type that can be encoded, without and
 * with importance: million elements a second where source and result stay in the second-level cache
 * (65,536 elements), at each CPU level; with GGML_LIBRARY (libggml-base.so) the ratio over ggml's
 * encoder, once it is seen to give the same bytes.
 *
 *   bench_encode [-l GGML_LIBRARY] [TYPE...]      a Markdown table
 *
 * Each figure is the median of runs that alternate with those of the others in its row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"

enum { COUNT = 1 << 16, COLS = 4096, RUNS = 7 };

/* Who encodes: tare at a CPU level, or ggml. */
enum { AVX2, AVX512, GGML, CONTENDERS };
static const unsigned masks[] = {TARE_CPU_AVX2, TARE_CPU_AVX2 | TARE_CPU_AVX512};

static void prepare(int who) {
    if (who <= AVX512) tare_cpu_limit(masks[who]);
}

typedef struct subject {
    const tare_encoding *encoding;
    const bench_ggml *ggml;
    int type; /* ggml's; -1: none */
    const float *values, *importance;
    uint8_t *bytes;
} subject;

static void encode(const void *subject_at, int who, size_t n) {
    const subject *s = subject_at;
    tare_rows_mut rows = {.planes = {s->bytes}, .n_rows = n / COLS, .cols = COLS};
    tare_encode_params params = {.importance = s->importance};
    if (who == GGML) {
        s->ggml->quantize(s->type, s->values, s->bytes, 0, (int64_t)(n / COLS), COLS,
                          s->importance);
        return;
    }
    if (tare_encode_rows(&rows, s->encoding, s->values, &params, NULL) != TARE_OK)
        bench_die(s->encoding->name);
}

/* A faster encoder of other bytes would be no rival. */
static void check_bytes(const subject *s) {
    uint64_t size = 0, dims[] = {COUNT / COLS, COLS};
    if (tare_encoding_sizes(&size, s->encoding, dims, 2, NULL) != TARE_OK) bench_die("no sizes");
    uint8_t *expected = bench_room((size_t)size);
    encode(s, GGML, COUNT);
    memcpy(expected, s->bytes, (size_t)size);
    prepare(AVX512);
    encode(s, AVX512, COUNT);
    if (memcmp(expected, s->bytes, (size_t)size) != 0) printf("(other bytes than ggml's) ");
    free(expected);
}

static void report(const subject *s) {
    double m[CONTENDERS];
    const bench_contest contest = {
        prepare, encode, s, COUNT, CONTENDERS, RUNS, {true, true, s->type >= 0}};
    printf("| %s%s | ", s->encoding->name, s->importance ? " with importance" : "");
    if (s->type >= 0) check_bytes(s);
    bench_measure(m, &contest);
    if (s->type >= 0)
        printf("%.3g | %.3g | %.3g | %.1f, %.1f |\n", m[GGML] * 1e-6, m[AVX2] * 1e-6,
               m[AVX512] * 1e-6, m[AVX2] / m[GGML], m[AVX512] / m[GGML]);
    else
        printf("| %.3g | %.3g | |\n", m[AVX2] * 1e-6, m[AVX512] * 1e-6);
    fflush(stdout);
}

int main(int argc, char **argv) {
    bench_ggml ggml = {NULL, NULL};
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-l") == 0) {
        bench_load_ggml(&ggml, argv[2]);
        first = 3;
    }
    float *values = bench_room(COUNT * sizeof *values);
    float *importance = bench_room(COLS * sizeof *importance);
    subject s = {.ggml = &ggml, .values = values, .bytes = bench_room(COUNT * sizeof(float))};
    bench_fill(values, COUNT);
    for (size_t i = 0; i < COLS; i++) importance[i] = expf(values[i] * 32);
    printf("| encode | ggml, Melem/s | AVX2 | AVX-512 | over ggml |\n|---|---|---|---|---|\n");
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        s.encoding = tare_encoding_get((tare_encoding_id)id);
        if (s.encoding->kind != TARE_KIND_BLOCK || s.encoding->n_planes != 1 ||
            !tare_encoding_can_encode(s.encoding) ||
            !bench_is_wanted(s.encoding, argv + first, argc - first))
            continue;
        s.type = bench_ggml_type(&ggml, s.encoding);
        for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
            s.importance = is_weighted ? importance : NULL;
            if (is_weighted || !tare_encoding_needs_importance(s.encoding)) report(&s);
        }
    }
    free(values);
    free(importance);
    free(s.bytes);
    return 0;
}
