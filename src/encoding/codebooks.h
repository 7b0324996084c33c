/* SPDX-License-Identifier: MIT
 *
 * The codebooks of the IQ formats: the points of 8 (iq1, iq2) or 4 (iq3) elements that an index
 * names. A point is packed: 2 bits an element for iq1 and iq2, 3 bits for iq3, the first element
 * lowest; the bits are an index into the format's levels. In this form the place of a point in the
 * lattice of all level combinations is the point itself, which is what encoders look up. */
#ifndef TARE_ENCODING_CODEBOOKS_H
#define TARE_ENCODING_CODEBOOKS_H

#include <stdint.h>

extern const uint16_t tare_iq2_xxs_points[256];
extern const uint16_t tare_iq2_xs_points[512];
extern const uint16_t tare_iq2_s_points[1024];
extern const uint16_t tare_iq1_points[2048];
extern const uint16_t tare_iq3_xxs_points[256];
extern const uint16_t tare_iq3_s_points[512];

/* What the packed bits of an element stand for. */
static const int8_t tare_levels_iq1[4] = {-1, 0, 1, 0};
static const int8_t tare_levels_iq2[4] = {8, 25, 43, 0};
static const int8_t tare_levels_iq3_xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
static const int8_t tare_levels_iq3_s[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/* Eight sign bits from the seven that are stored: the eighth makes the number of ones even. */
static inline uint8_t tare_iq_signs(uint32_t seven) {
    return (uint8_t)(seven | (uint32_t)__builtin_parity(seven) << 7);
}

#endif
