/* SPDX-License-Identifier: MIT
 *
 * The values that 4-bit codes and 8-bit scales stand for, as the formats define them. */
#ifndef TARE_ENCODING_LEVELS_H
#define TARE_ENCODING_LEVELS_H

#include "base/bytes.h"

/* iq4_nl, iq4_xs: ascending. */
static const int8_t tare_levels_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
/* mxfp4, nvfp4: E2M1 times two; bit 3 is the sign. */
static const int8_t tare_levels_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The same, ascending, with what lies between them: a tare_levels. */
#define TARE_LEVELS_FP4                                                                            \
    {                                                                                              \
        .low = -12, .high = 12, .n_limits = 14,                                                    \
        .limits = {-10, -7, -5, -3.5f, -2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10},     \
        .gaps = {                                                                                  \
            4,                                                                                     \
            2,                                                                                     \
            2,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            1,                                                                                     \
            2,                                                                                     \
            2,                                                                                     \
            4                                                                                      \
        }                                                                                          \
    }

/* 2^(code - 128): half of what the code says, because the levels are doubled. 255 is NaN in E8M0,
 * but ggml reads it like the others. */
static inline float tare_half_of_e8m0(uint8_t code) {
    return tare_f32_of_bits(code < 2 ? UINT32_C(0x00200000) << code : (uint32_t)(code - 1) << 23);
}

/* Half of an unsigned E4M3, whose bit 7 ggml ignores: 0x7F counts as 0, but 0xFF as 480. */
static inline float tare_half_of_ue4m3(uint8_t code) {
    uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f) return 0;
    if (exponent == 0) return (float)mantissa * 0x1p-10f;
    return tare_f32_of_bits((exponent + 127 - 7 - 1) << 23 | mantissa << 20);
}

#endif
