/* SPDX-License-Identifier: MIT
 *
 * The bits that bypass the entropy coder: groups of 4, 2 and 1 bits, most significant first, laid
 * out so that 64 consecutive positions have their bits at one place of 64 bytes (docs/wcodec.md,
 * 8). */
#ifndef TARE_WCODEC_BYPASS_H
#define TARE_WCODEC_BYPASS_H

#include "wcodec/wc_format.h"

/* The width of the next group where k bits are still to be put into groups. */
static inline unsigned tare_wc_next_width(unsigned k) {
    return k >= 4 ? 4 : k >= 2 ? 2 : 1;
}

/* Widths of the groups that k bits are split into; returns how many. */
static inline unsigned tare_wc_group_widths(uint8_t widths[TARE_WC_BYPASS_GROUPS], unsigned k) {
    unsigned n = 0;
    for (; k; k -= widths[n++]) widths[n] = (uint8_t)tare_wc_next_width(k);
    return n;
}

/* Bytes of a group of g bits for a number of positions. */
static inline uint32_t tare_wc_group_bytes(unsigned g, uint32_t n_positions) {
    return (n_positions * g + 511) / 512 * 64;
}

/* Where the bits of positions p .. p + 63 are, p being a multiple of 64: byte i of 64, shifted. */
static inline uint32_t tare_wc_group_at(unsigned g, uint32_t p, unsigned *shift) {
    uint32_t bit = p * g; /* a block has 512, of which a step takes 64 at one shift */
    *shift = bit / 64 % 8;
    return bit / 512 * 64;
}

#endif
