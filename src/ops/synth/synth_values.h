/* SPDX-License-Identifier: MIT
 *
 * Random weights that are the same on every system: value n of a tensor is a function of the
 * tensor's key and n alone, so any part can be made at any time by any thread. */
#ifndef TARE_OPS_SYNTH_SYNTH_VALUES_H
#define TARE_OPS_SYNTH_SYNTH_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tare_synth_law {
    TARE_LAW_NORMAL = 0,
    TARE_LAW_T5 = 1, /* Student's t with 5 degrees of freedom, scaled to unit variance */
} tare_synth_law;

#define TARE_LAW_CELLS 4096

/* |value| at evenly spaced probabilities, in units of 2^-25 of the standard deviation: `body` over
 * [0, 1), and `tail` over the body's last cell, which would otherwise end at infinity. */
typedef struct tare_quantiles {
    int32_t body[TARE_LAW_CELLS];
    int32_t tail[TARE_LAW_CELLS + 1];
} tare_quantiles;

/* Computes the table; some milliseconds. */
void tare_quantiles_init(tare_quantiles *q, tare_synth_law law);

/* A 64-bit generator by counter: word n of the stream `key`. */
uint64_t tare_synth_word(uint64_t key, uint64_t n);
/* A key for a name under a seed. */
uint64_t tare_synth_key(uint64_t seed, const char *name, size_t length);

/* count values from number `first` (even) on: mean + sigma * z. */
void tare_synth_fill(float *out, const tare_quantiles *q, uint64_t key, uint64_t first,
                     size_t count, float sigma, float mean);

#endif
