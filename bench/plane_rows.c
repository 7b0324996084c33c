/* SPDX-License-Identifier: MIT
 *
 * Question: how near to a copy of the same bytes do the number formats of MCF and INFQ, whose
 * planes lie apart, decode and encode? One core, 2^24 values from memory; processor's time, best of
 * seven; for each CPU level. After a type, "mantle" asks for that program's bytes, "clip" for
 * values held to bounds.
 *
 *     build/release/bench/bench_plane_rows [TYPE[:mantle|:clip|:best]...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tare/tare.h>

enum { COLS = 4096, ROWS = 4096, RUNS = 7 };
#define COUNT ((size_t)COLS * ROWS)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sums of four even numbers, nearly normal. */
static void fill(float *x) {
    uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < COUNT; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        int sum = (int)(s & 0xffff) + (int)(s >> 16 & 0xffff) + (int)(s >> 32 & 0xffff) +
                  (int)(s >> 48) - 131070;
        x[i] = (float)sum * 1e-6f;
    }
}

static void keep_less(double *best, double value) {
    if (value < *best) *best = value;
}

/* A type as it is asked for: name, or name:way. */
typedef struct subject {
    const tare_encoding *e;
    tare_encode_params params;
} subject;

static subject subject_of(const char *name) {
    const char *way = strchr(name, ':');
    subject s = {.params = {.clip_min = -0.1f, .clip_max = 0.1f}};
    s.e = tare_encoding_find((tare_str){name, way ? (size_t)(way - name) : strlen(name)});
    if (way && strcmp(way, ":mantle") == 0) s.params.compat = TARE_COMPAT_MANTLE;
    if (way && strcmp(way, ":best") == 0) s.params.quality = TARE_QUALITY_BEST;
    if (way && strcmp(way, ":clip") == 0) s.params.has_clip = true;
    if (!s.e) {
        fprintf(stderr, "no type %s\n", name);
        exit(1);
    }
    return s;
}

static void measure(const char *name, float *x, float *y, uint8_t *bytes, uint8_t *copy) {
    const subject s = subject_of(name);
    const tare_encoding *e = s.e;
    const uint64_t dims[2] = {ROWS, COLS};
    uint64_t sizes[TARE_MAX_PLANES], total = COUNT * sizeof *x;
    tare_rows_mut rows = {.n_rows = ROWS, .cols = COLS};
    tare_rows stored = {.n_rows = ROWS, .cols = COLS};
    tare_encoding_sizes(sizes, e, dims, 2, NULL);
    for (uint32_t p = 0; p < e->n_planes; p++) {
        rows.planes[p] = bytes;
        stored.planes[p] = bytes;
        bytes += (sizes[p] + 63) / 64 * 64;
        total += sizes[p];
    }
    double copied = 1e9, encoded = 1e9, decoded = 1e9;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        memcpy(copy, copy + total / 2, total / 2);
        double after_copy = now();
        tare_encode_rows(&rows, e, x, &s.params, NULL);
        double after_encode = now();
        tare_decode_rows(y, e, &stored, NULL);
        keep_less(&decoded, now() - after_encode);
        keep_less(&encoded, after_encode - after_copy);
        keep_less(&copied, after_copy - start);
    }
    printf("  %-18s decode %.2f (%.0f Melem/s)  encode %.2f (%.0f Melem/s)\n", name,
           copied / decoded, (double)COUNT / decoded * 1e-6, copied / encoded,
           (double)COUNT / encoded * 1e-6);
}

int main(int argc, char **argv) {
    static const char *const all[] = {"q8",
                                      "q4",
                                      "k6",
                                      "k4",
                                      "k3",
                                      "k2",
                                      "mcf_int8",
                                      "mcf_int4",
                                      "q4:mantle",
                                      "k4:mantle",
                                      "k4:clip",
                                      "mcf_int8:clip",
                                      "mcf_int8_zero",
                                      "int8_rowwise",
                                      "int4_rowwise"};
    const char *const *names = argc > 1 ? (const char *const *)argv + 1 : all;
    size_t n_names = argc > 1 ? (size_t)argc - 1 : sizeof all / sizeof *all;
    static const char *const levels[] = {"avx2", "avx512"};
    float *x = aligned_alloc(64, COUNT * sizeof *x), *y = aligned_alloc(64, COUNT * sizeof *y);
    uint8_t *bytes = aligned_alloc(64, COUNT * 2), *copy = aligned_alloc(64, COUNT * 6);
    if (!x || !y || !bytes || !copy) return 1;
    fill(x);
    memset(y, 1, COUNT * sizeof *y);
    memset(bytes, 1, COUNT * 2);
    memset(copy, 1, COUNT * 6);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        if (tare_cpu_limit(levels[l], NULL) != TARE_OK) continue;
        printf("level %s, over memcpy of the bytes read and written:\n", levels[l]);
        for (size_t i = 0; i < n_names; i++) measure(names[i], x, y, bytes, copy);
    }
    free(x);
    free(y);
    free(bytes);
    free(copy);
    return 0;
}
