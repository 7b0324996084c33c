/* SPDX-License-Identifier: MIT
 *
 * When decoders write past the caches. Written on the names of lanes_avx2.h or lanes_avx512.h,
 * which the including file chooses. */
#ifndef TARE_ENCODING_SIMD_STREAM_STORE_H
#define TARE_ENCODING_SIMD_STREAM_STORE_H

#include <stdbool.h>

#include "encoding/simd/encode_groups.h"

/* After decoding more than this at once, its beginning is no longer in the caches: stores past them
 * save reading every line that is written. */
#define PAST_CACHES ((uint64_t)1 << 25)

INLINE bool goes_past(const float *dst, uint64_t n, uint64_t cols) {
    return n * sizeof *dst >= PAST_CACHES && (uintptr_t)dst % 64 == 0 &&
           (cols == n || cols % 16 == 0);
}
INLINE void put_vector(float *dst, vec a, bool is_past) {
    if (is_past)
        store_past(dst, a);
    else
        store(dst, a);
}

#endif
