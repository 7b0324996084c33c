/* SPDX-License-Identifier: MIT
 *
 * What the benchmarks of the codec of .wcodec share: planes like those of models, and a plane with
 * what it is encoded to. */
#ifndef TARE_BENCH_WC_SUBJECT_H
#define TARE_BENCH_WC_SUBJECT_H

#include "wcodec/wc_encode.h"

enum { BENCH_WC_COLS = 4096, BENCH_WC_MOST_SEGMENTS = 1 << 16 };

/* Values of a distribution in a number format. */
typedef struct bench_wc_kind {
    const char *name;
    uint8_t value_bits;
    bool is_heavy;
    size_t run; /* of values that share a scale; 0: a float */
    int top;
    unsigned exponent, mantissa;
    float scale;
    uint8_t states; /* of a trellis: bytes that its steps give */
} bench_wc_kind;

extern const bench_wc_kind bench_wc_kinds[];
extern const size_t bench_wc_n_kinds;

/* n numbers, normal. */
void bench_wc_normal(float *x, size_t n);
/* Whether a kind is among the names; no names: all are. */
bool bench_wc_is_wanted(const char *name, char **names);
/* Fills `plane`, which has two bytes for each of n values; returns how many bytes it has. */
uint32_t bench_wc_make(uint8_t *plane, const bench_wc_kind *k, size_t n);

typedef struct bench_wc_subject {
    tare_wc_shape shape;
    tare_wc_options options;
    uint8_t *plane;
    uint32_t n_bytes, segment_bytes, n_segments;
    double entropy;  /* bits */
    tare_buffer out; /* head, segments */
    size_t head_bytes, ends[BENCH_WC_MOST_SEGMENTS];
    tare_wc_scratch scratch;
} bench_wc_subject;

void bench_wc_init(bench_wc_subject *s);
void bench_wc_free(bench_wc_subject *s);
/* Takes n_bytes of `plane`, values of `value_bits` bits (or bytes of the options' trellis),
 * in segments of 2^log2 values; 0: what suits them. */
void bench_wc_take(bench_wc_subject *s, uint8_t *plane, uint32_t n_bytes, uint8_t value_bits,
                   uint8_t log2);
uint32_t bench_wc_piece_bytes(const bench_wc_subject *s, uint32_t i);
/* All that lies between a plane and its segments; returns the bytes that are stored. */
size_t bench_wc_encode(bench_wc_subject *s);
/* As tare_wc_decode, but for patches and the CRC; what is not DIRECT is left out. */
void bench_wc_decode_bare(const tare_wc_piece *pieces, unsigned n);
/* Four segments side by side, to n_bytes at `back`; bare: without CRC, and only what is DIRECT. */
void bench_wc_decode(bench_wc_subject *s, uint8_t *back, bool is_bare);

#endif
