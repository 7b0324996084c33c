/* SPDX-License-Identifier: MIT
 *
 * Rules with a trellis (docs/wcodec.md, 8): a symbol is a step, whose value depends on the state
 * reached by the preceding steps of its lane. */
#ifndef TARE_WCODEC_TRELLIS_H
#define TARE_WCODEC_TRELLIS_H

#include <stdint.h>

/* The state that follows state t after a step with an odd (or even) symbol. No branch: both are
 * practically random. */
static inline uint8_t tare_wc_trellis_next(unsigned states, uint8_t t, unsigned symbol_is_odd) {
    unsigned f = states == 8 ? 5 : 18, e = states == 8 ? 2 : 4;
    unsigned is_odd = t & 1u, differs = (symbol_is_odd ^ t) & 1;
    return (uint8_t)((t >> 1) ^ (f & (0 - is_odd)) ^ (e & (0 - differs)));
}
/* The value of a symbol in a state: 4c + 1, which is 4c ^ 1, or its negative, 4c ^ -1. */
static inline uint8_t tare_wc_trellis_value(uint8_t t, uint8_t symbol) {
    return (uint8_t)((unsigned)symbol << 2 ^ (1 - 2 * (t & 1u)));
}

#endif
