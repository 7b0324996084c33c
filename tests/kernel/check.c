/* SPDX-License-Identifier: MIT
 *
 * Compares all kernels with the scalar reference, level by level.
 *
 *     check [-f PATTERN] [--seed N] [--short] [--bench] [--at-least N]
 *
 * A level that this CPU lacks is reported as skipped; one that it has for which nothing was checked
 * is a failure, and so is a crash, under the name of the function that crashed. Fewer functions than
 * asked for are a failure, too; a CPU without any level is skipped (77) unless a number is asked for. */
#include "kernel/check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cpu.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Room before the usable part, for canaries and offsets. */
enum { MARGIN = 4096, CANARY = 0xc5 };

static void region_open(check_region *r) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, MARGIN + CHECK_REGION + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + MARGIN + CHECK_REGION, page, PROT_NONE) != 0) {
        perror("check: mmap");
        exit(2);
    }
    r->base = p;
}

uint8_t *check_place(const check_region *r, size_t size, int offset) {
    if (offset == CHECK_AT_PAGE_END) return r->base + MARGIN + CHECK_REGION - size;
    return r->base + MARGIN + offset;
}

uint8_t *check_place_output(const check_region *r, size_t size, int offset, uint8_t fill) {
    uint8_t *p = check_place(r, size, offset);
    memset(p - CHECK_CANARY, CANARY, CHECK_CANARY);
    memset(p, fill, size);
    if (offset != CHECK_AT_PAGE_END) memset(p + size, CANARY, CHECK_CANARY);
    return p;
}

static bool is_alive(const uint8_t *p) {
    for (size_t i = 0; i < CHECK_CANARY; i++)
        if (p[i] != CANARY) return false;
    return true;
}

bool check_canaries(check *s, const uint8_t *p, size_t size, int offset) {
    if (!is_alive(p - CHECK_CANARY)) {
        check_fail(s, "wrote before its output of %zu bytes, offset=%d", size, offset);
        return false;
    }
    if (offset != CHECK_AT_PAGE_END && !is_alive(p + size)) {
        check_fail(s, "wrote behind its output of %zu bytes, offset=%d", size, offset);
        return false;
    }
    return true;
}

/* ---- random numbers -------------------------------------------------------------------------- */

uint64_t check_random(check *s) {
    s->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = s->random;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void check_random_bytes(check *s, uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        uint64_t r = check_random(s);
        memcpy(p + i, &r, n - i < 8 ? n - i : 8);
    }
}

static const char *const float_fills[] = {"0x00",     "0xff",      "extremes", "nan",   "denormals",
                                          "random",   "ordinary",  "ties",     "zeros", "inf",
                                          "positive", "below 2^k", "levels"};

const char *check_float_fill_name(int fill) {
    return (size_t)fill < sizeof float_fills / sizeof float_fills[0] ? float_fills[fill] : NULL;
}

/* About normal, from sums of integers. */
static uint32_t ordinary(uint64_t r) {
    int32_t sum = (int32_t)(r & 0xffff) + (int32_t)(r >> 16 & 0xffff) +
                  (int32_t)(r >> 32 & 0xffff) + (int32_t)(r >> 48) - 131070;
    return tare_f32_bits((float)sum * 0x1p-18f);
}

/* The levels of E2M1 and what lies half way between two of them. */
static uint32_t level_bits(uint64_t r) {
    static const float steps[] = {0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 5, 6, 7, 8, 10, 12, 12, 12};
    return tare_f32_bits(steps[r % 16] * 0x1p-6f);
}

static uint32_t float_bits(check *s, int fill) {
    static const uint32_t extremes[] = {0x7f7fffff, 0xff7fffff, 0x00800000,
                                        0x80800000, 0x00000001, 0x3f800000};
    uint64_t r = check_random(s);
    uint32_t sign = (uint32_t)(r >> 63) << 31;
    switch (fill) {
    case 0:
        return 0;
    case 1:
        return UINT32_MAX;
    case 2:
        return extremes[r % 6];
    case 3:
        return r % 37 ? ordinary(check_random(s)) : sign | 0x7f800001 | (uint32_t)(r >> 42);
    case 4:
        return sign | (uint32_t)(r >> 41 & 0x7fffff);
    case 5:
        return (uint32_t)(r >> 32);
    case 6:
        return ordinary(r);
    case 7:
        return tare_f32_bits((float)((int)(r % 17) - 8) * 0.125f);
    case 8:
        return r % 5 ? sign : ordinary(check_random(s));
    case 9:
        return r % 41 ? ordinary(check_random(s)) : sign | 0x7f800000;
    case 11:
        return sign | (((uint32_t)(110 + r % 32) << 23) - (uint32_t)(r >> 8) % 201);
    case 12:
        return sign | (level_bits(r) + (uint32_t)(r >> 32) % 3 - 1);
    default:
        return r % 3 ? ordinary(r) & 0x7fffffff : sign;
    }
}

void check_fill_floats(check *s, float *p, size_t n, int fill) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = float_bits(s, fill);
        memcpy((uint8_t *)p + 4 * i, &bits, 4);
    }
}

/* ---- functions under test -------------------------------------------------------------------- */

bool check_begin(check *s, const char *op, const char *type, bool is_new) {
    if (!is_new) return false;
    snprintf(s->name, sizeof s->name, "%s_%s_%s", op, type, s->level_name);
    if (s->pattern && !strstr(s->name, s->pattern)) return false;
    s->random = s->seed;
    s->has_failed = false;
    s->crash = NULL;
    return true;
}

void check_end(check *s) {
    s->n_checked++;
    s->n_failed += s->has_failed;
    if (!s->has_failed && !s->is_bench) printf("ok   %s\n", s->name);
}

void check_fail(check *s, const char *format, ...) {
    if (!s->has_failed) {
        va_list args;
        printf("FAIL %s ", s->name);
        if (s->crash) printf("crashed (%s) ", s->crash);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        printf(" seed=%llu\n", (unsigned long long)s->seed);
    }
    s->has_failed = true;
}

size_t check_planes(tare_rows_mut *rows, const tare_encoding *e, uint8_t *base) {
    uint64_t sizes[TARE_MAX_PLANES] = {0};
    const uint64_t dims[2] = {rows->n_rows, rows->cols};
    size_t total = 0;
    tare_encoding_sizes(sizes, e, dims, 2, NULL);
    for (uint32_t p = 0; p < e->n_planes; p++) {
        if (base) rows->planes[p] = base + total;
        total += (size_t)sizes[p];
    }
    return total;
}

/* Elements that know nothing of rows are tried in one. */
bool check_takes_odd_rows(const tare_encoding *e) {
    bool has_rows = e->block > 1;
    for (uint32_t p = 0; p < e->n_planes; p++) has_rows |= e->planes[p].scope == TARE_PLANE_ROW;
    return e->is_edge_padded && has_rows;
}

size_t check_odd_cols(const tare_encoding *e) {
    size_t unit = e->block == 1 ? 64 : e->block;
    return 5 * unit;
}

static sigjmp_buf after_crash;
static volatile sig_atomic_t is_calling;

static void on_crash(int signal) {
    if (is_calling) siglongjmp(after_crash, signal);
    _exit(3);
}

static void catch_crashes(void) {
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_NODEFER};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
}

bool check_call(check *s, void (*call)(void *arg), void *arg) {
    int signal = sigsetjmp(after_crash, 1);
    if (signal != 0) {
        is_calling = 0;
        s->crash = strsignal(signal);
        return false;
    }
    is_calling = 1;
    call(arg);
    is_calling = 0;
    return true;
}

/* ---- speed ----------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Elements a second: the best of a few runs of at least a millisecond. */
static double speed(void (*call)(void *arg), void *arg) {
    double best = 0;
    for (int run = 0; run < 7; run++) {
        unsigned n = 0;
        double start = now(), time;
        do {
            call(arg);
            n++;
            time = now() - start;
        } while (time < 1e-3);
        if (n * (double)CHECK_BENCH_COUNT / time > best)
            best = n * (double)CHECK_BENCH_COUNT / time;
    }
    return best;
}

void check_bench(check *s, void (*call)(void *arg), void *reference, void *kernel) {
    double c = speed(call, reference), k = speed(call, kernel);
    printf("%-28s %8.0f Melem/s, C %7.0f, ratio %5.1f\n", s->name, k * 1e-6, c * 1e-6, k / c);
}

/* ---- levels ---------------------------------------------------------------------------------- */

typedef struct level {
    const char *name;
    unsigned mask;
} level;

/* The levels that have kernels, each with all below it. */
static const level levels[] = {
    {"avx2", TARE_CPU_AVX2},
    {"avx512", TARE_CPU_AVX2 | TARE_CPU_AVX512},
};

static bool check_level(check *s, const level *l) {
    unsigned before = s->n_checked;
    s->level_name = l->name;
    tare_kernels_init(&s->level, l->mask);
    check_decode(s);
    check_deviation(s);
    check_encode(s);
    check_fit(s);
    check_groups(s);
    check_low_rank(s);
    check_words(s);
    s->below = s->level;
    if (s->n_checked > before || s->pattern) return true;
    printf("FAIL %s: this CPU has it, and nothing was checked for it\n", l->name);
    return false;
}

static bool parse(check *s, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0)
            s->is_bench = true;
        else if (strcmp(argv[i], "--short") == 0)
            s->is_short = true;
        else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc)
            s->pattern = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            s->seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--at-least") == 0 && i + 1 < argc)
            s->n_expected = (unsigned)strtoul(argv[++i], NULL, 0);
        else
            return false;
    }
    return true;
}

/* The exit code. Without a level there is nothing to check, which is a failure if some functions were
 * to be checked. */
static int verdict(const check *s, unsigned n_levels, bool is_good) {
    printf("%u functions checked, %u failed\n", s->n_checked, s->n_failed);
    if (n_levels == 0 && s->n_expected == 0) {
        printf("SKIP: this CPU has none of the instruction sets of kernels\n");
        return 77;
    }
    if (s->n_checked < s->n_expected || s->n_checked == 0) {
        printf("FAIL not as many functions as asked for\n");
        return 1;
    }
    return is_good && s->n_failed == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    static check s;
    bool is_good = true;
    unsigned n_levels = 0;
    s.seed = 1;
    if (!parse(&s, argc, argv)) {
        fprintf(stderr,
                "usage: check [-f PATTERN] [--seed N] [--short] [--bench] [--at-least N]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed %llu\n", (unsigned long long)s.seed);
    catch_crashes();
    region_open(&s.in);
    region_open(&s.importance);
    region_open(&s.out);
    region_open(&s.expected);
    tare_kernels_init(&s.c, TARE_CPU_NONE);
    s.below = s.c;
    unsigned host = tare_cpu_mask_detect();
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if ((host & levels[i].mask) != levels[i].mask) {
            printf("skip %s (not on this CPU)\n", levels[i].name);
        } else {
            is_good &= check_level(&s, &levels[i]);
            n_levels++;
        }
    }
    return verdict(&s, n_levels, is_good);
}
