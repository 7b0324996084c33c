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
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <tare/tare.h>

enum {
    IN_CACHE = 1 << 16,
    IN_MEMORY = 1 << 26,
    COLS = 4096,
    RUNS = 15,
    MEMORY_RUNS = 5,
    GGML_TYPES = 43, /* numbers that ggml gives to types */
};

/* Who decodes: tare at a CPU level, or ggml, or memset in place of a decoder. */
enum { AVX2, AVX512, GGML, MEMSET, CONTENDERS };
static const unsigned masks[] = {TARE_CPU_AVX2, TARE_CPU_AVX2 | TARE_CPU_AVX512};

/* What ggml's header declares, as far as it is used here. */
struct ggml_type_traits {
    const char *type_name;
    int64_t block, block_interleave;
    size_t block_bytes;
    bool is_quantized;
    void (*to_float)(const void *src, float *dst, int64_t n);
};
static const struct ggml_type_traits *(*ggml_traits)(int type);

typedef struct subject {
    const tare_encoding *encoding;
    void (*peer)(const void *src, float *dst, int64_t n); /* NULL: none */
    uint8_t *bytes;
    float *floats;
} subject;

static void die(const char *what) {
    fprintf(stderr, "bench_decode: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *room(size_t n) {
    void *p = aligned_alloc(4096, n);
    if (!p) die("no memory");
    memset(p, 1, n);
    return p;
}

static void load_ggml(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) die(dlerror());
    void *traits = dlsym(library, "ggml_get_type_traits");
    if (!traits) die("GGML_LIBRARY has no ggml_get_type_traits");
    memcpy(&ggml_traits, &traits, sizeof traits);
}

static void find_peer(subject *s) {
    s->peer = NULL;
    for (int i = 0; ggml_traits && i < GGML_TYPES; i++) {
        const struct ggml_type_traits *t = ggml_traits(i);
        if (t->type_name && strcasecmp(t->type_name, s->encoding->name) == 0) s->peer = t->to_float;
    }
}

/* ---- what is decoded ------------------------------------------------------------------------- */

static size_t bytes_of(const tare_encoding *e, size_t n) {
    uint64_t sizes[TARE_MAX_PLANES], dims[] = {n / COLS, COLS};
    if (tare_encoding_sizes(sizes, e, dims, 2, NULL) != TARE_OK) die("no sizes");
    return (size_t)sizes[0];
}

/* Sums of random numbers, about normal, encoded and then repeated; where there is no encoder,
 * bytes that as floats of any kind are ordinary numbers. */
static void fill(const subject *s, size_t n) {
    static uint64_t random = 1;
    static float values[IN_CACHE], importance[COLS];
    size_t piece = bytes_of(s->encoding, IN_CACHE), size = bytes_of(s->encoding, n);
    for (size_t i = 0; i < IN_CACHE; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int32_t sum = (int32_t)(random >> 48) + (int32_t)(random >> 32 & 0xffff) - 65535;
        values[i] = (float)sum * 0x1p-20f;
        importance[i % COLS] = 1;
    }
    tare_rows_mut rows = {.planes = {s->bytes}, .n_rows = IN_CACHE / COLS, .cols = COLS};
    tare_encode_params params = {.importance = importance};
    if (!tare_encoding_can_encode(s->encoding))
        for (size_t i = 0; i < piece; i++) s->bytes[i] = (uint8_t)(0x30 + i % 13);
    else if (tare_encode_rows(&rows, s->encoding, values, &params, NULL) != TARE_OK)
        die(s->encoding->name);
    for (size_t at = piece; at < size; at += piece) memcpy(s->bytes + at, s->bytes, piece);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void decode(const subject *s, int who, size_t n) {
    tare_rows rows = {.planes = {s->bytes}, .n_rows = n / COLS, .cols = COLS};
    if (who == GGML)
        s->peer(s->bytes, s->floats, (int64_t)n);
    else if (who == MEMSET)
        memset(s->floats, 1, n * sizeof *s->floats);
    else if (tare_decode_rows(s->floats, s->encoding, &rows, NULL) != TARE_OK)
        die(s->encoding->name);
}

/* Elements a second, over at least a millisecond. */
static double speed(const subject *s, int who, size_t n) {
    unsigned count = 0;
    double start = now(), time;
    do {
        decode(s, who, n);
        count++;
        time = now() - start;
    } while (time < 1e-3);
    return (double)n * count / time;
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(double median[CONTENDERS], const subject *s, size_t n, int runs,
                    const bool takes_part[CONTENDERS]) {
    double speeds[CONTENDERS][RUNS];
    for (int run = 0; run < runs; run++)
        for (int who = 0; who < CONTENDERS; who++) {
            if (!takes_part[who]) continue;
            if (who <= AVX512) tare_cpu_limit(masks[who]);
            speeds[who][run] = speed(s, who, n);
        }
    for (int who = 0; who < CONTENDERS; who++) {
        median[who] = 0;
        if (!takes_part[who]) continue;
        qsort(speeds[who], (size_t)runs, sizeof(double), by_value);
        median[who] = speeds[who][runs / 2];
    }
}

static void report(const subject *s, bool with_memory) {
    double m[CONTENDERS];
    bool cached[CONTENDERS] = {true, true, s->peer != NULL, false};
    bool stored[CONTENDERS] = {true, true, false, true};
    fill(s, with_memory ? IN_MEMORY : IN_CACHE);
    measure(m, s, IN_CACHE, RUNS, cached);
    printf("| %s | %.0f | %.0f | ", s->encoding->name, m[AVX2] * 1e-6, m[AVX512] * 1e-6);
    if (s->peer)
        printf("%.0f | %.1f, %.1f |", m[GGML] * 1e-6, m[AVX2] / m[GGML], m[AVX512] / m[GGML]);
    else
        printf("| |");
    if (with_memory) {
        measure(m, s, IN_MEMORY, MEMORY_RUNS, stored);
        printf(" %.2f, %.2f |", m[AVX2] / m[MEMSET], m[AVX512] / m[MEMSET]);
    }
    printf("\n");
    fflush(stdout);
}

static bool is_wanted(const tare_encoding *e, char **names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], e->name) == 0) return true;
    return n == 0;
}

int main(int argc, char **argv) {
    bool with_memory = false;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-l") == 0 && first + 1 < argc)
            load_ggml(argv[++first]);
        else if (strcmp(argv[first], "-m") == 0)
            with_memory = true;
        else
            die("usage: bench_decode [-l GGML_LIBRARY] [-m] [TYPE...]");
    }
    size_t n = with_memory ? IN_MEMORY : IN_CACHE;
    subject s = {.bytes = room(n * sizeof(float)), .floats = room(n * sizeof(float))};
    printf("| decode | AVX2, Melem/s | AVX-512 | ggml | ratios |%s\n",
           with_memory ? " memory: of memset |" : "");
    printf("|---|---|---|---|---|%s\n", with_memory ? "---|" : "");
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        s.encoding = tare_encoding_get((tare_encoding_id)id);
        bool is_plane = s.encoding->n_planes == 1 && s.encoding->kind != TARE_KIND_INTEGER &&
                        id != TARE_ENCODING_F64 && id != TARE_ENCODING_F32;
        if (!is_plane || !tare_encoding_can_decode(s.encoding) ||
            !is_wanted(s.encoding, argv + first, argc - first))
            continue;
        find_peer(&s);
        report(&s, with_memory);
    }
    free(s.bytes);
    free(s.floats);
    return 0;
}
