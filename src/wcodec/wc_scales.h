/* SPDX-License-Identifier: MIT
 *
 * Packed scales (docs/wcodec.md, 4.2): the twelve bytes of Q4_K and Q5_K that hold eight scales and
 * eight minima of 6 bits, of which four have their bits in two places. */
#ifndef TARE_WCODEC_SCALES_H
#define TARE_WCODEC_SCALES_H

#include <stdint.h>

enum {
    TARE_WC_SCALES_UNIT = 12,  /* bytes */
    TARE_WC_SCALES_GROUP = 32, /* units: 256 scales, then 256 minima, a run of a class each */
    TARE_WC_SCALES_EIGHT = 6,  /* bytes of eight values */
};

/* The values of n bytes, whole units, four in three bytes; dst is not src. */
void tare_wc_scales_unpack(uint8_t *dst, const uint8_t *src, uint32_t n);
/* The scalar reference of a kernel: the reverse, in place. */
void tare_wc_scales_pack_c(uint8_t *bytes, uint32_t n);
/* Units of a group from their values. */
void tare_wc_scales_pack_units(uint8_t *units, const uint8_t *scales, const uint8_t *minima,
                               uint32_t n);

static inline uint32_t tare_wc_scales_group_units(uint32_t n_bytes) {
    const uint32_t n = n_bytes / TARE_WC_SCALES_UNIT;
    return n < TARE_WC_SCALES_GROUP ? n : TARE_WC_SCALES_GROUP;
}

#endif
