/* SPDX-License-Identifier: MIT
 *
 * What the benchmarks of decoders and encoders share: contenders measured in turns, memory, and the
 * functions of ggml's library to compare with. */
#ifndef TARE_BENCH_CONTEST_H
#define TARE_BENCH_CONTEST_H

#include <tare/tare.h>

#include "judge/ggml_library.h"

typedef struct bench_ggml {
    ggml_traits_fn traits; /* NULL: no library was named */
    ggml_quantize_fn quantize;
} bench_ggml;

_Noreturn void bench_die(const char *what);
void bench_load_ggml(bench_ggml *ggml, const char *path);
/* Reads "[-l GGML_LIBRARY] [-m]"; the number of the first argument after them. */
int bench_options(int argc, char **argv, const char *usage, bench_ggml *ggml, bool *with_memory);
/* ggml's number for a type; -1: it has none, or there is no library. */
int bench_ggml_type(const bench_ggml *ggml, const tare_encoding *e);

/* n bytes that have been written, at a page. */
void *bench_room(size_t n);
/* n numbers, about normal: sums of two even ones. */
void bench_fill(float *values, size_t n);
/* Whether a type is among the names; no names: all are. */
bool bench_is_wanted(const tare_encoding *e, char **names, int n);

enum { BENCH_MOST_CONTENDERS = 4, BENCH_MOST_RUNS = 15 };

/* Contenders over one piece of work of n elements. */
typedef struct bench_contest {
    void (*prepare)(int who); /* outside of what is measured */
    void (*work)(const void *subject, int who, size_t n);
    const void *subject;
    size_t n;
    int n_contenders, n_runs;
    bool takes_part[BENCH_MOST_CONTENDERS];
} bench_contest;

/* How fast the core runs, and how much of it there is: on a shared one the clock may be that of an
 * idle machine while half of the work gets done. */
typedef struct bench_pace {
    double ghz;  /* a multiplication that waits for the one before takes 3 cycles */
    double adds; /* a cycle, that wait for nothing; 4 to 6 where nothing else uses the core */
} bench_pace;
bench_pace bench_take_pace(void); /* takes about a millisecond */

/* Elements a second: the median of runs, each of at least a millisecond, that alternate; 0 for
 * those that take no part. */
void bench_measure(double *median, const bench_contest *c);

#endif
