/* SPDX-License-Identifier: MIT
 *
 * The codebooks of the IQ formats with a byte an element; see spread_points.h. */
#include "encoding/simd/spread_points.h"

#include "encoding/codebook_points.h"

#define BYTE_OF_2(point, i) (uint64_t)((point) >> 2 * (i)&3) << 8 * (i)
#define BYTE_OF_3(point, i) (uint32_t)((point) >> 3 * (i)&7) << 8 * (i)

#define EIGHT(point)                                                                               \
    BYTE_OF_2(point, 0) | BYTE_OF_2(point, 1) | BYTE_OF_2(point, 2) | BYTE_OF_2(point, 3) |        \
        BYTE_OF_2(point, 4) | BYTE_OF_2(point, 5) | BYTE_OF_2(point, 6) | BYTE_OF_2(point, 7),
#define FOUR(point)                                                                                \
    BYTE_OF_3(point, 0) | BYTE_OF_3(point, 1) | BYTE_OF_3(point, 2) | BYTE_OF_3(point, 3),

const uint64_t tare_iq2_xxs_spread[256] = {TARE_IQ2_XXS_POINTS(EIGHT)};
const uint64_t tare_iq2_xs_spread[512] = {TARE_IQ2_XS_POINTS(EIGHT)};
const uint64_t tare_iq2_s_spread[1024] = {TARE_IQ2_S_POINTS(EIGHT)};
const uint64_t tare_iq1_spread[2048] = {TARE_IQ1_POINTS(EIGHT)};
const uint32_t tare_iq3_xxs_spread[256] = {TARE_IQ3_XXS_POINTS(FOUR)};
const uint32_t tare_iq3_s_spread[512] = {TARE_IQ3_S_POINTS(FOUR)};
