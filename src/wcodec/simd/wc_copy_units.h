/* SPDX-License-Identifier: MIT
 *
 * Fields of units, from one stride to another. A file defines first
 *
 *     copy_field   bytes of one field; their number is a constant where it is common
 */
#ifndef TARE_WCODEC_SIMD_WC_COPY_UNITS_H
#define TARE_WCODEC_SIMD_WC_COPY_UNITS_H

#include "wcodec/simd/wc_block.h"

static ALWAYS_INLINE void copy_fields(uint8_t *dst, size_t dst_stride, const uint8_t *src,
                                      size_t src_stride, size_t n, const size_t width) {
    for (; n > 0; n--, dst += dst_stride, src += src_stride) copy_field(dst, src, width);
}

static void copy_units(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,
                       size_t n, size_t width) {
    switch (width) { /* the widths of fields of block types; others are rarer than long */
#define CASE(WIDTH)                                                                                \
    case WIDTH:                                                                                    \
        copy_fields(dst, dst_stride, src, src_stride, n, WIDTH);                                   \
        break;
        CASE(1)
        CASE(2)
        CASE(4)
        CASE(8)
        CASE(12)
        CASE(16)
        CASE(32)
        CASE(64)
        CASE(128)
#undef CASE
    default:
        for (; n > 0; n--, dst += dst_stride, src += src_stride) memcpy(dst, src, width);
        break;
    }
}

#endif
