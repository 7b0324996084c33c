/* SPDX-License-Identifier: MIT
 *
 * Numbers to codes as the libraries of packed weights round them: in the type of the numbers, after each
 * step. All numbers are finite, and so is what they are divided by. */
#ifndef TARE_ENCODING_GROUP_CODES_H
#define TARE_ENCODING_GROUP_CODES_H

#include <tare/encoding.h>

/* The ends of some numbers, and the bits of the largest magnitude: those of infinity or more if one of
 * them is not finite, and `low` and `high` say nothing then. */
typedef struct tare_reach {
    float low, high;
    uint32_t largest;
} tare_reach;

typedef struct tare_rounding {
    tare_encoding_id numbers; /* F32, F16 or BF16 */
    float offset, scale, zero;
    bool multiplies; /* by scale, instead of dividing by it */
    float low, high; /* (x - offset) / scale + zero, within these */
} tare_rounding;

/* What E4M3's smallest normal number is, and where floats have the steps of the smaller ones. */
#define TARE_E4M3_NORMAL_BITS UINT32_C(0x3c800000)
#define TARE_E4M3_SMALL_STEPS 16384.0f

typedef struct tare_e2m1_rounding {
    float scale; /* 0: all codes are 0 */
    bool has_one_zero, ties_to_zero;
} tare_e2m1_rounding;

void tare_group_reach_c(tare_reach *out, const float *x, size_t n);
/* The nearest whole numbers, halves to even, less `low`. */
void tare_group_whole_c(uint8_t *codes, const float *x, size_t n, const tare_rounding *r);
/* The nearest E4M3; low and high are its ends, or within them. */
void tare_group_e4m3_c(uint8_t *codes, const float *x, size_t n, const tare_rounding *r);
void tare_group_e2m1_c(uint8_t *codes, const float *x, size_t n, const tare_e2m1_rounding *r);

#endif
