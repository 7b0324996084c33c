/* SPDX-License-Identifier: MIT
 *
 * Lossless 8x8 transforms of integers (docs/wcodec.md, 9). */
#ifndef TARE_WCODEC_TRANSFORM_H
#define TARE_WCODEC_TRANSFORM_H

#include <stdint.h>

enum { TARE_WC_IDENTITY = 0, TARE_WC_DCT = 1, TARE_WC_ADST = 2, TARE_WC_TRANSFORMS = 3 };

/* In place, row-major; `kind` is one of the above. Inputs of at most 2^12 in size stay below 2^16
 * all the way: rotations keep lengths. */
void tare_wc_transform(int32_t block[64], unsigned kind);
void tare_wc_transform_inverse(int32_t block[64], unsigned kind);

#endif
