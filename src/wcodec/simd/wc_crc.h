/* SPDX-License-Identifier: MIT
 *
 * CRC-32 by carry-less products: runs of bytes are each folded into the next such run, FOLD_STEP
 * bytes on, and what is left of them has the remainder of all. A file of one instruction set defines
 * first
 *
 *     run           a vector of bytes
 *     RUN_BYTES     in it
 *     load_run, store_run
 *     flip_first    the lowest 32 bits changed by a number
 *     fold_run      a run and the bytes FOLD_STEP further on
 *
 * (As fast as the newest libdeflate, ISA-L and zlib-ng, which all reach what the multiplier can do;
 * the libdeflate of today's distributions is a quarter as fast.) */
#ifndef TARE_WCODEC_SIMD_WC_CRC_H
#define TARE_WCODEC_SIMD_WC_CRC_H

#include "base/hash.h"

enum { FOLD_RUNS = FOLD_STEP / RUN_BYTES };

static uint32_t crc32_folded(uint32_t crc, const uint8_t *bytes, size_t n) {
    const uint32_t of_nothing = 0xffffffff; /* the state is 0 then */
    if (n < 2 * (size_t)FOLD_STEP) return tare_crc32(crc, bytes, n);
    run runs[FOLD_RUNS];
    for (unsigned i = 0; i < FOLD_RUNS; i++) runs[i] = load_run(bytes + RUN_BYTES * i);
    runs[0] = flip_first(runs[0], ~crc);
    for (bytes += FOLD_STEP, n -= FOLD_STEP; n >= FOLD_STEP; bytes += FOLD_STEP, n -= FOLD_STEP)
        for (unsigned i = 0; i < FOLD_RUNS; i++) runs[i] = fold_run(runs[i], bytes + RUN_BYTES * i);
    uint8_t rest[FOLD_STEP];
    for (unsigned i = 0; i < FOLD_RUNS; i++) store_run(rest + RUN_BYTES * i, runs[i]);
    return tare_crc32(tare_crc32(of_nothing, rest, FOLD_STEP), bytes, n);
}

#endif
