/* SPDX-License-Identifier: MIT
 *
 * The values that 4-bit codes stand for. Figures of the formats. */
#ifndef TARE_ENCODING_LEVELS_H
#define TARE_ENCODING_LEVELS_H

#include <stdint.h>

/* iq4_nl, iq4_xs: ascending. */
static const int8_t tare_levels_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
/* mxfp4, nvfp4: E2M1 times two; bit 3 is the sign. */
static const int8_t tare_levels_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#endif
