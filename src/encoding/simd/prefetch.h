/* SPDX-License-Identifier: MIT
 *
 * Decoders write far more than they read, in order. A store to a line that is not in a nearby cache
 * has to wait for it, so lines are prefetched: into the second-level cache early, into the first
 * shortly before. From memory to memory this saves a third of the time; where the result stays in
 * the second-level cache it costs a few percent, of some up to 15. Non-temporal stores are not an
 * alternative: they would be even faster into memory that was written before, but take twice the
 * time into memory fresh from the system, whose lines the system has just cleared, and this code
 * cannot tell the two apart. */
#ifndef TARE_ENCODING_SIMD_PREFETCH_H
#define TARE_ENCODING_SIMD_PREFETCH_H

#include <stdint.h>

/* Bytes; an unaligned place costs little, one past the result nothing. */
enum { AHEAD_FIRST_LEVEL = 512, AHEAD_SECOND_LEVEL = 2048 };

/* Called once for each 64 bytes of the result. Always inline: to gcc a function that does nothing
 * but this has no effect, and it would drop the calls. */
static inline __attribute__((always_inline)) void fetch_ahead(const void *result) {
    uintptr_t at = (uintptr_t)result;
    __builtin_prefetch((const void *)(at + AHEAD_FIRST_LEVEL));
    __builtin_prefetch((const void *)(at + AHEAD_SECOND_LEVEL), 0, 2);
}

#endif
