/* SPDX-License-Identifier: MIT
 *
 * How work is cut among machines that know nothing of each other: a row of `total` bytes, or of whatever is
 * counted, into shares of the same size. What cannot be cut is of the share that has its middle. */
#ifndef TARE_BASE_SHARE_H
#define TARE_BASE_SHARE_H

#include <stdint.h>

typedef struct tare_share {
    uint32_t index, count; /* index from 1; count 0: the whole */
} tare_share;

/* Where share number `index` of `count` ends; 0: where the first one begins. */
static inline uint64_t tare_share_end(uint64_t total, uint32_t index, uint32_t count) {
    return total / count * index + total % count * index / count;
}

/* Whose a place in the row is: < 0 of an earlier share, 0 of this one, > 0 of a later one. The last one has
 * what lies at the end, too. */
static inline int tare_share_side(tare_share s, uint64_t total, uint64_t place) {
    if (s.count == 0) return 0;
    if (place < tare_share_end(total, s.index - 1, s.count)) return -1;
    return s.index < s.count && place >= tare_share_end(total, s.index, s.count);
}

#endif
