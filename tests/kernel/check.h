/* SPDX-License-Identifier: MIT
 *
 * Every kernel against the scalar reference. A family (check_OP.c) says how its functions are
 * called and compared; check.c sweeps the CPU levels and owns memory, random numbers, crashes and
 * the words that come out. */
#ifndef TARE_KERNEL_CHECK_H
#define TARE_KERNEL_CHECK_H

#include "encoding/kernels.h"

enum {
    CHECK_REGION = 1 << 18,    /* bytes a test may use of a region */
    CHECK_CANARY = 64,         /* watched bytes before and behind an output */
    CHECK_AT_PAGE_END = -1,    /* in place of an offset: the byte behind is not mapped */
    CHECK_BENCH_COUNT = 32768, /* elements: 128 KiB of f32 stay in the second level cache */
};

/* Memory with an unmapped page after it. */
typedef struct check_region {
    uint8_t *base;
} check_region;

typedef struct check {
    tare_kernels c;     /* the reference */
    tare_kernels below; /* the next lower level */
    tare_kernels level;
    const char *level_name;
    const char *pattern; /* NULL: all */
    uint64_t seed, random;
    bool is_bench;
    bool is_short; /* blocks, which are searched slowly, in fewer lengths */
    char name[64]; /* of the function under test: encode_q4_0_avx2 */
    bool has_failed;
    const char *crash; /* what the last call died of */
    unsigned n_checked, n_failed;
    unsigned n_expected; /* functions to be checked at least; 0: not said */
    check_region in, importance, out, expected;
} check;

/* Begins a function, if the level has one of its own (is_new) and the pattern wants it: sets the
 * name and the seed. False: go on to the next. */
bool check_begin(check *s, const char *op, const char *type, bool is_new);
/* Ends it: counts and prints. */
void check_end(check *s);
/* Says what went wrong; only the first failure of a function is printed. */
void check_fail(check *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t check_random(check *s);
void check_random_bytes(check *s, uint8_t *p, size_t n);

/* size bytes at an offset from a line of 64, or at the end of the mapped memory. */
uint8_t *check_place(const check_region *r, size_t size, int offset);
/* The same for an output: filled with `fill`, and with canaries around it. */
uint8_t *check_place_output(const check_region *r, size_t size, int offset, uint8_t fill);
/* Whether the canaries are intact; reports the failure. */
bool check_canaries(check *s, const uint8_t *p, size_t size, int offset);
/* Bytes that rows take, planes one after the other; *rows, with sizes set, gets them at `base`. */
size_t check_planes(tare_rows_mut *rows, const tare_encoding *e, uint8_t *base);
/* Whether several rows of any length are to be tried, and up to which length. */
bool check_takes_odd_rows(const tare_encoding *e);
size_t check_odd_cols(const tare_encoding *e);
/* Calls; false: it crashed, which check_fail is yet to tell. */
bool check_call(check *s, void (*call)(void *arg), void *arg);
/* Prints how fast the reference and the kernel are. */
void check_bench(check *s, void (*call)(void *arg), void *reference, void *kernel);

/* Inputs for encoders. */
enum { CHECK_ORDINARY = 6, CHECK_POSITIVE = 10 }; /* fills */
const char *check_float_fill_name(int fill);      /* NULL: no such fill */
void check_fill_floats(check *s, float *p, size_t n, int fill);

void check_decode(check *s);
void check_deviation(check *s);
void check_encode(check *s);
void check_fit(check *s);
void check_groups(check *s);
void check_low_rank(check *s);
void check_words(check *s);

#endif
