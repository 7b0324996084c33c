/* SPDX-License-Identifier: MIT
 *
 * Which part of a tensor a benchmark measures: pieces that fit into memory, each made of runs of
 * whole units. */
#ifndef TARE_OPS_BENCH_BENCH_SAMPLE_H
#define TARE_OPS_BENCH_BENCH_SAMPLE_H

#include <tare/model.h>

#include "base/status.h"

/* Pieces per sample, and runs per piece. The pieces of a tensor are independent of each other, so
 * that their variation shows how far the sample may be from the whole. */
enum { TARE_SAMPLE_PIECES = 4, TARE_SAMPLE_RUNS = 16 };

/* A tensor as units that take the same bytes of each of its planes: runs of elements, or rows. */
typedef struct tare_sampling {
    const tare_model *model;
    const tare_tensor *t;
    size_t tensor;
    uint64_t n_units;
    uint64_t unit_bytes[TARE_MAX_PLANES]; /* of each plane; 0: all of it goes into each piece */
    uint64_t unit_sum;
} tare_sampling;

typedef struct tare_sample_piece {
    unsigned n_runs;
    uint64_t first[TARE_SAMPLE_RUNS], n_units; /* of each run */
    uint64_t plane_bytes[TARE_MAX_PLANES], bytes;
} tare_sample_piece;

void tare_sampling_init(tare_sampling *s, const tare_model *model, size_t tensor);
/* Whether a sample of `most` bytes would be less than the whole tensor. */
bool tare_sampling_is_partial(const tare_sampling *s, uint64_t most);
/* Piece 0 .. TARE_SAMPLE_PIECES - 1 of a sample of about `most` bytes in all. The tensor is cut
 * into equal parts, one a run, dealt out to the pieces in turn; where in its part a run begins is
 * random, but always the same. */
void tare_sampling_spread(tare_sample_piece *piece, const tare_sampling *s, unsigned which,
                          uint64_t most);
/* The units from `first` on, at most `most` bytes; returns the unit that follows. */
uint64_t tare_sampling_next(tare_sample_piece *piece, const tare_sampling *s, uint64_t first,
                            uint64_t most);
/* Reads the piece, plane after plane. */
tare_status tare_sampling_read(uint8_t *dst, const tare_sampling *s, const tare_sample_piece *piece,
                               tare_error *err);

#endif
