/* SPDX-License-Identifier: MIT
 *
 * Question: how fast do floats become block types? For every type that can be encoded, without and
 * with importance: million elements a second where source and result stay in the second-level cache
 * (65,536 elements), at each CPU level; with GGML_LIBRARY (libggml-base.so) the ratio over ggml's
 * encoder, once it is seen to give the same bytes. And from memory (256 MiB of floats): the speed
 * over that of a memcpy of the floats.
 *
 *   bench_encode [-l GGML_LIBRARY] [-m] [TYPE...]      a Markdown table; -m: memory too
 *
 * Each figure is the median of runs that alternate with those of the others in its row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"

enum { COUNT = 1 << 16, IN_MEMORY = 1 << 26, COLS = 4096, RUNS = 7, MEMORY_RUNS = 3 };

/* Who encodes: tare at a CPU level, or ggml, or memcpy in place of an encoder. */
enum { AVX2, AVX512, GGML, MEMCPY, CONTENDERS };
static const char *const levels[] = {"avx2", "avx512"};

static void prepare(int who) {
    if (who <= AVX512) tare_cpu_limit(levels[who], NULL);
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
    tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = s->importance};
    if (who == GGML) {
        s->ggml->quantize(s->type, s->values, s->bytes, 0, (int64_t)(n / COLS), COLS,
                          s->importance);
        return;
    }
    if (who == MEMCPY) {
        memcpy(s->bytes, s->values, n * sizeof *s->values);
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

/* Searches take so long that memory makes no difference. */
static void report_memory(const subject *s, double in_cache) {
    double m[CONTENDERS];
    const bench_contest contest = {
        prepare, encode, s, IN_MEMORY, CONTENDERS, MEMORY_RUNS, {true, true, false, true}};
    if (in_cache < 7e8) {
        printf(" |");
        return;
    }
    bench_measure(m, &contest);
    printf(" %.2f, %.2f |", m[AVX2] / m[MEMCPY], m[AVX512] / m[MEMCPY]);
}

static void report(const subject *s, bool with_memory) {
    double m[CONTENDERS];
    const bench_contest contest = {
        prepare, encode, s, COUNT, CONTENDERS, RUNS, {true, true, s->type >= 0, false}};
    printf("| %s%s | ", s->encoding->name, s->importance ? " with importance" : "");
    if (s->type >= 0) check_bytes(s);
    bench_measure(m, &contest);
    if (s->type >= 0)
        printf("%.3g | %.3g | %.3g | %.1f, %.1f |", m[GGML] * 1e-6, m[AVX2] * 1e-6,
               m[AVX512] * 1e-6, m[AVX2] / m[GGML], m[AVX512] / m[GGML]);
    else
        printf("| %.3g | %.3g | |", m[AVX2] * 1e-6, m[AVX512] * 1e-6);
    if (with_memory) report_memory(s, m[AVX2]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    bench_ggml ggml = {NULL, NULL};
    bool with_memory = false;
    int first = bench_options(argc, argv, "usage: bench_encode [-l GGML_LIBRARY] [-m] [TYPE...]",
                              &ggml, &with_memory);
    size_t n = with_memory ? IN_MEMORY : COUNT;
    float *values = bench_room(n * sizeof *values);
    float *importance = bench_room(COLS * sizeof *importance);
    subject s = {.ggml = &ggml, .values = values, .bytes = bench_room(n * sizeof(float))};
    bench_fill(values, n);
    for (size_t i = 0; i < COLS; i++) importance[i] = expf(values[i] * 32);
    printf("| encode | ggml, Melem/s | AVX2 | AVX-512 | over ggml |%s\n|---|---|---|---|---|%s\n",
           with_memory ? " memory: of memcpy |" : "", with_memory ? "---|" : "");
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        s.encoding = tare_encoding_get((tare_encoding_id)id);
        if (s.encoding->kind != TARE_KIND_BLOCK || s.encoding->n_planes != 1 ||
            !tare_encoding_can_encode(s.encoding) ||
            !bench_is_wanted(s.encoding, argv + first, argc - first))
            continue;
        s.type = bench_ggml_type(&ggml, s.encoding);
        for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
            s.importance = is_weighted ? importance : NULL;
            if (is_weighted || !tare_encoding_needs_importance(s.encoding)) report(&s, with_memory);
        }
    }
    free(values);
    free(importance);
    free(s.bytes);
    return 0;
}
