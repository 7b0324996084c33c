/* SPDX-License-Identifier: MIT
 *
 * Joined streams (docs/wcodec.md, 4.2): values of 6 bits whose low and high bits are stored
 * separately in a unit of the region. */
#ifndef TARE_WCODEC_JOIN_H
#define TARE_WCODEC_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tare/experimental/wcodec.h>

enum {
    TARE_WC_JOIN_LOW_BITS = 4,
    TARE_WC_MIN_JOIN = 3,  /* below it the high bits would not fill a byte */
    TARE_WC_MAX_JOIN = 10, /* below the length of segments: these are whole units */
    TARE_WC_JOIN_VALUES = 1 << TARE_WC_MAX_JOIN,
};

/* A join as a kernel's `separate` needs it, which is made once for many units. */
typedef struct tare_wc_separator {
    tare_coded_join join;
    _Alignas(64) uint8_t room[4096]; /* the kernel's */
} tare_wc_separator;

/* Bytes of a unit: nibbles, high bits, and the stream's, four values in three. */
static inline uint32_t tare_wc_join_low_bytes(const tare_coded_join *w) {
    return 1u << w->log2_values >> 1;
}
static inline uint32_t tare_wc_join_high_bytes(const tare_coded_join *w) {
    return (uint32_t)w->high_bits << w->log2_values >> 3;
}
static inline uint32_t tare_wc_join_unit_bytes(const tare_coded_join *w) {
    return 3u << w->log2_values >> 2;
}

/* Whether a join is valid: bits, number of values, a permutation. */
bool tare_wc_join_is_good(const tare_coded_join *join);
/* The number of the high bits of each value of a unit. */
void tare_wc_join_places(uint16_t places[TARE_WC_JOIN_VALUES], const tare_coded_join *join);

/* The scalar reference of the kernels: n units, in the region `stride` bytes apart, in the stream
 * contiguous. */
void tare_wc_join_c(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                    size_t stride, const tare_coded_join *join);
/* The reverse; bits of a value beyond its 4 + high_bits are ignored. */
void tare_wc_prepare_c(tare_wc_separator *out, const tare_coded_join *join);
void tare_wc_separate_c(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                        size_t stride, const tare_wc_separator *separator);

#endif
