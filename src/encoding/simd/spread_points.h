/* SPDX-License-Identifier: MIT
 *
 * The codebooks of the IQ formats with a byte an element, the first element lowest: codes as they
 * are packed in codebooks.h. */
#ifndef TARE_ENCODING_SIMD_SPREAD_POINTS_H
#define TARE_ENCODING_SIMD_SPREAD_POINTS_H

#include <stdint.h>

extern const uint64_t tare_iq2_xxs_spread[256];
extern const uint64_t tare_iq2_xs_spread[512];
extern const uint64_t tare_iq2_s_spread[1024];
extern const uint64_t tare_iq1_spread[2048];
extern const uint32_t tare_iq3_xxs_spread[256];
extern const uint32_t tare_iq3_s_spread[512];

#endif
