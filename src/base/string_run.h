/* SPDX-License-Identifier: MIT
 *
 * Consecutive strings, each a u64 length and its bytes: a vocabulary is hundreds of thousands. */
#ifndef TARE_BASE_STRING_RUN_H
#define TARE_BASE_STRING_RUN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tare_string_run {
    const uint8_t *pos, *end;
    bool is_big_endian;
    uint64_t longest; /* 2^n - 1: what comes before a string with more bytes is skipped */
    uint64_t lengths; /* of those skipped, or-ed */
} tare_string_run;

/* Moves pos over at most n strings that are complete; returns how many. */
uint64_t tare_string_run_skip(tare_string_run *run, uint64_t n);

#endif
