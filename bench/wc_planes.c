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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "contest.h"
#include "wc_subject.h"

enum { N_VALUES = 1 << 24, RUNS = 5, KERNEL = 3 };

static const unsigned masks[] = {TARE_CPU_NONE, TARE_CPU_AVX2,
                                 TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2,
                                 TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2};

static void prepare(int who) {
    tare_cpu_mask_limit(masks[who]);
}

/* ---- the codec ------------------------------------------------------------------------------- */

/* A plane, and room for it to come back to. */
typedef struct trip {
    bench_wc_subject *of;
    uint8_t *back;
} trip;

static void encode(const void *subject_at, int who, size_t n) {
    const trip *t = subject_at;
    (void)who;
    (void)n;
    bench_wc_encode(t->of);
}

static void decode(const void *subject_at, int who, size_t n) {
    const trip *t = subject_at;
    (void)n;
    bench_wc_decode(t->of, t->back, who == KERNEL);
}

/* ---- report ---------------------------------------------------------------------------------- */

static void report_sizes(const trip *t, const char *name) {
    bench_wc_subject *s = t->of;
    prepare(KERNEL);
    double stored = (double)bench_wc_encode(s);
    memset(t->back, 0xa5, s->n_bytes);
    decode(t, 0, s->n_bytes);
    if (memcmp(s->plane, t->back, s->n_bytes) != 0) bench_die("comes back otherwise");
    printf("| %s | %.3f | %+.3f %% | %.4f |", name,
           s->entropy / (double)tare_wc_values_of(s->shape.value_bits, s->n_bytes),
           (stored * 8 / s->entropy - 1) * 100, stored / s->n_bytes);
}

static void report_contest(const bench_contest *c, bench_pace before, bench_pace *after) {
    double m[BENCH_MOST_CONTENDERS];
    bench_measure(m, c);
    *after = bench_take_pace();
    double cycles = (before.ghz + after->ghz) / 2; /* a nanosecond */
    for (int who = 0; who < c->n_contenders; who++)
        printf(" %.2f, %.3f |", m[who] * 1e-9, m[who] * 1e-9 / cycles);
}

static void report_speeds(const trip *t) {
    const size_t n = t->of->n_bytes;
    bench_pace pace[3];
    pace[0] = bench_take_pace();
    report_contest(&(bench_contest){prepare, encode, t, n, KERNEL, RUNS, {1, 1, 1}}, pace[0],
                   pace + 1);
    report_contest(&(bench_contest){prepare, decode, t, n, KERNEL + 1, RUNS, {1, 1, 1, 1}}, pace[1],
                   pace + 2);
    for (int i = 0; i < 3; i++)
        printf("%s %.2f GHz, %.1f adds", i ? ";" : "", pace[i].ghz, pace[i].adds);
    printf(" |");
}

int main(int argc, char **argv) {
    static bench_wc_subject of;
    uint8_t *plane = bench_room(2 * (size_t)N_VALUES);
    const trip t = {&of, bench_room(2 * (size_t)N_VALUES)};
    bool has_speeds = true;
    bench_wc_init(&of);
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        of.options.is_full |= strcmp(argv[1], "-f") == 0;
        has_speeds &= strcmp(argv[1], "-s") != 0;
    }
    printf(
        "| plane | entropy, bits | stored | of original | encode, GB/s, bytes a cycle: C | AVX2 | "
        "AVX-512 | decode: C | AVX2 | AVX-512 | kernel | pace |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < bench_wc_n_kinds; i++) {
        const bench_wc_kind *k = &bench_wc_kinds[i];
        if (!bench_wc_is_wanted(k->name, argv + 1)) continue;
        of.options.trellis = k->states;
        bench_wc_take(&of, plane, bench_wc_make(plane, k, N_VALUES), k->value_bits, 0);
        report_sizes(&t, k->name);
        if (has_speeds) report_speeds(&t);
        printf("\n");
        fflush(stdout);
    }
    free(plane);
    free(t.back);
    bench_wc_free(&of);
    return 0;
}
