/* SPDX-License-Identifier: MIT
 *
 * Fields of units: the scalar reference. */
#include <string.h>

#include "wcodec/wc_kernels.h"

#define copy_field memcpy
#include "wcodec/simd/wc_copy_units.h"

void tare_wc_copy_units_c(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,
                          size_t n, size_t width) {
    copy_units(dst, dst_stride, src, src_stride, n, width);
}
