/* SPDX-License-Identifier: MIT
 *
 * The form EDGE of rules (docs/wcodec.md, 8): bytes, two's complement. 127 and -127, which blocks
 * are scaled to and which are far more frequent than the codes next to them, move next to the most
 * frequent ones, so that the values of a top are about equally frequent again. */
#ifndef TARE_WCODEC_EDGE_H
#define TARE_WCODEC_EDGE_H

#include <stdint.h>

enum {
    TARE_WC_EDGE_K = 2, /* bypass bits: tops of four values, of which there are 64 */
    TARE_WC_UPPER_EDGE = 127,
    TARE_WC_LOWER_EDGE = -127,
    TARE_WC_UPPER_SLOT = 3,  /* of the upper edge: the last of the top of 0, 1, 2 */
    TARE_WC_LOWER_SLOT = -4, /* of the lower one: the first of the top of -3, -2, -1 */
};

/* The value of a slot: the values in between shift. -128 stays. No branches: codes are random. */
static inline uint8_t tare_wc_edge_value(uint8_t slot) {
    int8_t s = (int8_t)slot;
    int8_t v =
        (int8_t)(s - (s > TARE_WC_UPPER_SLOT) + ((s < TARE_WC_LOWER_SLOT) & (s != INT8_MIN)));
    v = s == TARE_WC_UPPER_SLOT ? TARE_WC_UPPER_EDGE : v;
    return (uint8_t)(s == TARE_WC_LOWER_SLOT ? TARE_WC_LOWER_EDGE : v);
}

static inline uint8_t tare_wc_edge_slot(uint8_t value) {
    int8_t v = (int8_t)value;
    int8_t s =
        (int8_t)(v + (v >= TARE_WC_UPPER_SLOT) - ((v <= TARE_WC_LOWER_SLOT) & (v != INT8_MIN)));
    s = v == TARE_WC_UPPER_EDGE ? TARE_WC_UPPER_SLOT : s;
    return (uint8_t)(v == TARE_WC_LOWER_EDGE ? TARE_WC_LOWER_SLOT : s);
}

#endif
