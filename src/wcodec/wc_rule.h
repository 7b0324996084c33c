/* SPDX-License-Identifier: MIT
 *
 * What a rule says (docs/wcodec.md, 8): which bits of a value are its top, represented by symbols
 * and patches, and which bypass the entropy coder. */
#ifndef TARE_WCODEC_RULE_H
#define TARE_WCODEC_RULE_H

#include "wcodec/wc_edge.h"
#include "wcodec/wc_format.h"

/* For a stream of nibbles or sixes: the byte in which the value at a position begins, and
 * its place there. */
static inline uint32_t tare_wc_small_at(uint8_t value_bits, uint32_t p, unsigned *shift) {
    *shift = value_bits == 4 ? p % 128 / 64 * 4 : p % 4 * 6;
    return value_bits == 4 ? p / 128 * 64 + p % 64 : p / 4 * 3;
}

/* That value; false: padding. */
static inline bool tare_wc_small_value(const uint8_t *values, uint32_t n_bytes, uint8_t value_bits,
                                       uint32_t p, uint32_t *v) {
    unsigned shift;
    uint32_t at = tare_wc_small_at(value_bits, p, &shift);
    if (at >= n_bytes) return false;
    values += at;
    uint32_t all = values[0];
    if (value_bits == 6) all |= (uint32_t)values[1] << 8 | (uint32_t)values[2] << 16;
    *v = all >> shift & ((1u << value_bits) - 1);
    return true;
}

/* Top and low bits of a value. */
static inline uint32_t tare_wc_split(const tare_wc_rule *rule, uint8_t value_bits, uint32_t v,
                                     uint32_t *low) {
    uint32_t k = rule->k;
    if (rule->form == TARE_CODED_EDGE) v = tare_wc_edge_slot((uint8_t)v);
    if (rule->form != TARE_CODED_SIGN) {
        *low = v & ((1u << k) - 1);
        return v >> k;
    }
    uint32_t size = v & ((1u << (value_bits - 1)) - 1);
    *low = v >> (value_bits - 1) << (k - 1) | (size & ((1u << (k - 1)) - 1));
    return size >> (k - 1);
}

/* The reverse. */
static inline uint32_t tare_wc_value_of(const tare_wc_rule *rule, uint8_t value_bits, uint32_t top,
                                        uint32_t low) {
    uint32_t k = rule->k;
    if (rule->form == TARE_CODED_SIGN)
        return low >> (k - 1) << (value_bits - 1) | top << (k - 1) | (low & ((1u << (k - 1)) - 1));
    uint32_t v = top << k | low;
    return rule->form == TARE_CODED_EDGE ? tare_wc_edge_value((uint8_t)v) : v;
}

#endif
