/* SPDX-License-Identifier: MIT
 *
 * Question: what does merging an adapter cost, compared with the conversion it is part of? A model
 * of one matrix in memory is converted into nothing (/dev/null), with an adapter of rank 32 and
 * without, by turns; one core, best of seven, for each CPU level. The least that a merge can take
 * is 64 operations an element: one multiplication and one addition an element and rank, which are
 * not fused.
 *
 *     build/release/bench/bench_adapter [RANK]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tare/tare.h>

enum { ROWS = 2048, COLS = 4096, RUNS = 7 };
#define COUNT ((size_t)ROWS * COLS)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn static void die(const char *what) {
    fprintf(stderr, "bench_adapter: %s\n", what);
    exit(1);
}

/* A safetensors file of F32 matrices in memory. */
typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

static file make_file(const char *header, size_t n_floats) {
    const size_t length = (strlen(header) + 7) / 8 * 8;
    file f = {.size = 8 + length + n_floats * sizeof(float)};
    uint64_t state = 88172645463325252u;
    f.bytes = aligned_alloc(64, (f.size + 63) / 64 * 64);
    if (!f.bytes) die("no memory");
    memset(f.bytes, 0, 8);
    for (int i = 0; i < 8; i++) f.bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memset(f.bytes + 8, ' ', length);
    memcpy(f.bytes + 8, header, strlen(header));
    for (size_t i = 0; i < n_floats; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const float x = (float)(int32_t)(state >> 32) * 0x1p-36f;
        memcpy(f.bytes + 8 + length + i * sizeof x, &x, sizeof x);
    }
    return f;
}

/* The adapter lies in a file: sets are opened by path. */
static tare_adapter_set *open_adapter(size_t rank) {
    char header[256], path[] = "/tmp/bench_adapter-XXXXXX";
    const size_t a = ROWS * rank * 4, b = COLS * rank * 4;
    tare_adapter_set *set;
    snprintf(header, sizeof header,
             "{\"A\":{\"dtype\":\"F32\",\"shape\":[%d,%zu],\"data_offsets\":[0,%zu]},"
             "\"B\":{\"dtype\":\"F32\",\"shape\":[%zu,%d],\"data_offsets\":[%zu,%zu]}}",
             ROWS, rank, a, rank, COLS, a, a + b);
    const file f = make_file(header, (a + b) / 4);
    const int fd = mkstemp(path);
    if (fd < 0 || write(fd, f.bytes, f.size) != (ssize_t)f.size) die("no temporary file");
    close(fd);
    if (tare_adapters_open_path(&set, path, NULL, NULL) != TARE_OK) die("no adapter");
    unlink(path);
    free(f.bytes);
    return set;
}

static double convert(const tare_model *m, const tare_encoding *type, const tare_adapter_use *use,
                      int fd) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_plan *plan;
    o.to = "gguf";
    o.type = type;
    context.threads = 1;
    o.merges = use;
    o.n_merges = use ? 1 : 0;
    if (tare_plan_new(&plan, NULL, m, &o, NULL) != TARE_OK) die("no plan");
    const double start = now();
    if (tare_plan_run_fd(NULL, plan, fd, NULL) != TARE_OK) die("no conversion");
    const double time = now() - start;
    tare_plan_free(plan);
    return time;
}

static void measure(const tare_model *m, const char *type, const tare_adapter_use *use, int fd) {
    const tare_encoding *e = tare_encoding_find((tare_str){type, strlen(type)});
    double plain = 1e9, merged = 1e9;
    for (int run = 0; run < RUNS; run++) {
        const double without = convert(m, e, NULL, fd), with = convert(m, e, use, fd);
        if (without < plain) plain = without;
        if (with < merged) merged = with;
    }
    printf("  f32 -> %-5s plain %5.0f Melem/s, merged %5.0f Melem/s: %.2f of plain; merging alone "
           "%5.0f Melem/s\n",
           type, (double)COUNT / plain * 1e-6, (double)COUNT / merged * 1e-6, plain / merged,
           (double)COUNT / (merged - plain) * 1e-6);
}

int main(int argc, char **argv) {
    static const char *const types[] = {"f16", "bf16", "q8_0", "q4_k"};
    static const char *const levels[] = {"c", "avx2", "avx512"};
    const size_t rank = argc > 1 ? strtoul(argv[1], NULL, 10) : 32;
    char header[160];
    tare_model *m;
    if (rank == 0 || rank > 4096) die("rank: from 1 to 4096");
    snprintf(header, sizeof header,
             "{\"w.weight\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,%zu]}}", ROWS,
             COLS, COUNT * 4);
    const file f = make_file(header, COUNT);
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_MEMORY,
                                .memory = f.bytes,
                                .n_bytes = f.size,
                                .fd = -1};
    tare_adapter_set *set = open_adapter(rank);
    const tare_adapter_use use = {.set = set, .target = {"w", 1}, .scale = 1};
    const int fd = open("/dev/null", O_WRONLY);
    if (fd < 0 || tare_model_open(&m, &source, NULL, NULL) != TARE_OK) die("no model");
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        if (tare_cpu_limit(levels[l], NULL) != TARE_OK) continue;
        printf("level %s, rank %zu:\n", levels[l], rank);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) measure(m, types[i], &use, fd);
    }
    close(fd);
    tare_model_free(m);
    tare_adapters_free(set);
    free(f.bytes);
    return 0;
}
