/* SPDX-License-Identifier: MIT
 *
 * Question: how fast do number formats become f32? For every type: million elements a second where
 * source and result stay in the second-level cache (256 KiB of floats), and how its stores compare
 * with those of memset where both come from memory (256 MiB of floats that have been written
 * before). With GGML_LIBRARY (libggml-base.so) the ratio over ggml's decoder.
 *
 *   bench_decode [-l GGML_LIBRARY] [-m] [TYPE...]      a Markdown table; -m: memory too
 *
 * Each figure is the median of runs that alternate with those of the others in its row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"

enum {
    IN_CACHE = 1 << 16,
    IN_MEMORY = 1 << 26,
    COLS = 4096,
    RUNS = BENCH_MOST_RUNS,
    MEMORY_RUNS = 5,
};

/* Who decodes: tare at a CPU level, or ggml, or memset in place of a decoder. */
enum { AVX2, AVX512, GGML, MEMSET, CONTENDERS };
static const char *const levels[] = {"avx2", "avx512"};

static void prepare(int who) {
    if (who <= AVX512) tare_cpu_limit(levels[who], NULL);
}

typedef struct subject {
    const tare_encoding *encoding;
    void (*peer)(const void *src, float *dst, int64_t n); /* NULL: none */
    uint8_t *bytes;
    float *floats;
} subject;

/* ---- what is decoded ------------------------------------------------------------------------- */

static size_t bytes_of(const tare_encoding *e, size_t n) {
    uint64_t sizes[TARE_MAX_PLANES], dims[] = {n / COLS, COLS};
    if (tare_encoding_sizes(sizes, e, dims, 2, NULL) != TARE_OK) bench_die("no sizes");
    return (size_t)sizes[0];
}

/* Sums of random numbers, about normal, encoded and then repeated; where there is no encoder,
 * bytes that as floats of any kind are ordinary numbers. */
static void fill(const subject *s, size_t n) {
    static float values[IN_CACHE], importance[COLS];
    size_t piece = bytes_of(s->encoding, IN_CACHE), size = bytes_of(s->encoding, n);
    bench_fill(values, IN_CACHE);
    for (size_t i = 0; i < COLS; i++) importance[i] = 1;
    tare_rows_mut rows = {.planes = {s->bytes}, .n_rows = IN_CACHE / COLS, .cols = COLS};
    tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = importance};
    if (!tare_encoding_can_encode(s->encoding))
        for (size_t i = 0; i < piece; i++) s->bytes[i] = (uint8_t)(0x30 + i % 13);
    else if (tare_encode_rows(&rows, s->encoding, values, &params, NULL) != TARE_OK)
        bench_die(s->encoding->name);
    for (size_t at = piece; at < size; at += piece) memcpy(s->bytes + at, s->bytes, piece);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void decode(const void *subject_at, int who, size_t n) {
    const subject *s = subject_at;
    tare_rows rows = {.planes = {s->bytes}, .n_rows = n / COLS, .cols = COLS};
    if (who == GGML)
        s->peer(s->bytes, s->floats, (int64_t)n);
    else if (who == MEMSET)
        memset(s->floats, 1, n * sizeof *s->floats);
    else if (tare_decode_rows(s->floats, s->encoding, &rows, NULL) != TARE_OK)
        bench_die(s->encoding->name);
}

static void report(const subject *s, bool with_memory) {
    double m[CONTENDERS];
    const bench_contest cached = {
        prepare, decode, s, IN_CACHE, CONTENDERS, RUNS, {true, true, s->peer != NULL, false}};
    const bench_contest stored = {
        prepare, decode, s, IN_MEMORY, CONTENDERS, MEMORY_RUNS, {true, true, false, true}};
    fill(s, with_memory ? IN_MEMORY : IN_CACHE);
    bench_measure(m, &cached);
    printf("| %s | %.0f | %.0f | ", s->encoding->name, m[AVX2] * 1e-6, m[AVX512] * 1e-6);
    if (s->peer)
        printf("%.0f | %.1f, %.1f |", m[GGML] * 1e-6, m[AVX2] / m[GGML], m[AVX512] / m[GGML]);
    else
        printf("| |");
    if (with_memory) {
        bench_measure(m, &stored);
        printf(" %.2f, %.2f |", m[AVX2] / m[MEMSET], m[AVX512] / m[MEMSET]);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    bool with_memory = false;
    bench_ggml ggml = {NULL, NULL};
    int first = bench_options(argc, argv, "usage: bench_decode [-l GGML_LIBRARY] [-m] [TYPE...]",
                              &ggml, &with_memory);
    size_t n = with_memory ? IN_MEMORY : IN_CACHE;
    subject s = {.bytes = bench_room(n * sizeof(float)), .floats = bench_room(n * sizeof(float))};
    printf("| decode | AVX2, Melem/s | AVX-512 | ggml | ratios |%s\n",
           with_memory ? " memory: of memset |" : "");
    printf("|---|---|---|---|---|%s\n", with_memory ? "---|" : "");
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        s.encoding = tare_encoding_get((tare_encoding_id)id);
        bool is_plane = s.encoding->n_planes == 1 && s.encoding->kind != TARE_KIND_INTEGER &&
                        id != TARE_ENCODING_F64 && id != TARE_ENCODING_F32;
        if (!is_plane || !tare_encoding_can_decode(s.encoding) ||
            !bench_is_wanted(s.encoding, argv + first, argc - first))
            continue;
        int type = bench_ggml_type(&ggml, s.encoding);
        s.peer = type < 0 ? NULL : ggml.traits(type)->to_float;
        report(&s, with_memory);
    }
    free(s.bytes);
    free(s.floats);
    return 0;
}
