/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of rounding to codes; see group_codes.h. */
#include "encoding/group_codes.h"

#include <math.h>

#include "encoding/fit.h"
#include "encoding/float16.h"

static float rounded(float v, tare_encoding_id type) {
    return type == TARE_ENCODING_F16 ? tare_f32_of_f16(tare_f16_of_f32(v))
           : type == TARE_ENCODING_BF16
               ? tare_f32_of_bits((uint32_t)tare_bf16_of_f32_bits(tare_f32_bits(v)) << 16)
               : v;
}

static float scaled(float x, const tare_rounding *r) {
    const float v = x - r->offset, t = r->multiplies ? v * r->scale : v / r->scale;
    return rounded(rounded(t, r->numbers) + r->zero, r->numbers);
}

void tare_group_reach_c(tare_reach *out, const float *x, size_t n) {
    *out = (tare_reach){x[0], x[0], 0};
    for (size_t i = 0; i < n; i++) {
        const uint32_t size = tare_f32_bits(x[i]) & ~TARE_F32_SIGN;
        out->low = x[i] < out->low ? x[i] : out->low;
        out->high = x[i] > out->high ? x[i] : out->high;
        out->largest = size > out->largest ? size : out->largest;
    }
}

void tare_group_whole_c(uint8_t *codes, const float *x, size_t n, const tare_rounding *r) {
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint8_t)(int)(tare_round_clamped(scaled(x[i], r), r->low, r->high) - r->low);
}

static uint8_t e4m3_code(float t) {
    const uint32_t size = tare_f32_bits(t) & ~TARE_F32_SIGN, sign = tare_f32_bits(t) >> 24 & 0x80;
    const uint32_t normal = (size + 0x7ffff + (size >> 20 & 1)) >> 20;
    const uint32_t small = tare_f32_bits(tare_f32_of_bits(size) + TARE_E4M3_SMALL_STEPS) -
                           tare_f32_bits(TARE_E4M3_SMALL_STEPS);
    return (uint8_t)(sign | (size < TARE_E4M3_NORMAL_BITS ? small : normal - ((127 - 7) << 3)));
}

void tare_group_e4m3_c(uint8_t *codes, const float *x, size_t n, const tare_rounding *r) {
    for (size_t i = 0; i < n; i++) {
        float t = scaled(x[i], r);
        t = t > r->low ? t : r->low;
        codes[i] = e4m3_code(t < r->high ? t : r->high);
    }
}

void tare_group_e2m1_c(uint8_t *codes, const float *x, size_t n, const tare_e2m1_rounding *r) {
    static const float limits[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
    for (size_t i = 0; i < n; i++) {
        const float t = r->scale != 0 ? x[i] / r->scale : 0, size = fabsf(t);
        uint8_t code = 0;
        /* halfway lies the code with an even mantissa, or the smaller one */
        for (uint32_t m = 0; m < 7; m++)
            code = (uint8_t)(code +
                             (m % 2 && !r->ties_to_zero ? size >= limits[m] : size > limits[m]));
        const bool has_sign = t < 0 && (code || !r->has_one_zero);
        codes[i] = (uint8_t)(code | (has_sign ? 8 : 0));
    }
}
