/* SPDX-License-Identifier: MIT
 *
 * See contest.h. */
#include "contest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void bench_die(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

void bench_load_ggml(bench_ggml *ggml, const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) bench_die(dlerror());
    void *traits = dlsym(library, "ggml_get_type_traits");
    void *quantize = dlsym(library, "ggml_quantize_chunk");
    if (!traits || !quantize) bench_die("the library is not ggml's");
    memcpy(&ggml->traits, &traits, sizeof traits);
    memcpy(&ggml->quantize, &quantize, sizeof quantize);
}

int bench_options(int argc, char **argv, const char *usage, bench_ggml *ggml, bool *with_memory) {
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-l") == 0 && first + 1 < argc)
            bench_load_ggml(ggml, argv[++first]);
        else if (strcmp(argv[first], "-m") == 0)
            *with_memory = true;
        else
            bench_die(usage);
    }
    return first;
}

int bench_ggml_type(const bench_ggml *ggml, const tare_encoding *e) {
    for (int i = 0; ggml->traits && i < GGML_TYPES; i++) {
        const char *name = ggml->traits(i)->type_name;
        if (name && strcasecmp(name, e->name) == 0) return i;
    }
    return -1;
}

void *bench_room(size_t n) {
    void *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    if (!p) bench_die("no memory");
    memset(p, 1, n);
    return p;
}

void bench_fill(float *values, size_t n) {
    uint64_t random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int32_t sum = (int32_t)(random >> 48) + (int32_t)(random >> 32 & 0xffff) - 65535;
        values[i] = (float)sum * 0x1p-20f;
    }
}

bool bench_is_wanted(const tare_encoding *e, char **names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], e->name) == 0) return true;
    return n == 0;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The compiler may know nothing of x: what is counted has to be done. */
#define HIDE(x) __asm__ volatile("" : "+r"(x))

bench_pace bench_take_pace(void) {
    enum { ROUNDS = 40000, UNROLLED = 10, MULTIPLY_CYCLES = 3, CHAINS = 8 };
    uint64_t x = 3, sums[CHAINS] = {0}, one = 1;
    double start = now();
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < UNROLLED; j++) {
            HIDE(x);
            x *= x;
        }
    }
    HIDE(x);
    double cycles = ROUNDS * UNROLLED * MULTIPLY_CYCLES, ghz = cycles / (now() - start) * 1e-9;
    HIDE(one); /* a number known beforehand costs some processors nothing to add */
    start = now();
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < UNROLLED; j++) {
            for (unsigned k = 0; k < CHAINS; k++) {
                sums[k] += one;
                HIDE(sums[k]);
            }
        }
    }
    double adds = (double)ROUNDS * UNROLLED * CHAINS;
    return (bench_pace){ghz, adds / (now() - start) / (ghz * 1e9)};
}

static double speed(const bench_contest *c, int who) {
    unsigned count = 0;
    double start = now(), time;
    do {
        c->work(c->subject, who, c->n);
        count++;
        time = now() - start;
    } while (time < 1e-3);
    return (double)c->n * count / time;
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void bench_measure(double *median, const bench_contest *c) {
    double speeds[BENCH_MOST_CONTENDERS][BENCH_MOST_RUNS];
    for (int run = 0; run < c->n_runs; run++)
        for (int who = 0; who < c->n_contenders; who++)
            if (c->takes_part[who]) {
                c->prepare(who);
                speeds[who][run] = speed(c, who);
            }
    for (int who = 0; who < c->n_contenders; who++) {
        median[who] = 0;
        if (!c->takes_part[who]) continue;
        qsort(speeds[who], (size_t)c->n_runs, sizeof(double), by_value);
        median[who] = speeds[who][c->n_runs / 2];
    }
}
