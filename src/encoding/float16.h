/* SPDX-License-Identifier: MIT
 *
 * One number at a time: the 16 bit floats to and from f32, and the conversions to integers that
 * encoders rely on. IEEE 754 binary16 and bfloat16, round to nearest even. Kernels of every
 * instruction set must match these functions bit for bit. */
#ifndef TARE_ENCODING_FLOAT_PARTS_H
#define TARE_ENCODING_FLOAT_PARTS_H

#include <math.h>

#include "base/bytes.h"

#define TARE_F32_SIGN UINT32_C(0x80000000)
#define TARE_F32_INF  UINT32_C(0x7f800000)
#define TARE_F32_NAN  UINT32_C(0x7fc00000)

/* Callers' floats may be at any address. */
static inline float tare_get_f32(const float *p, size_t i) {
    float v;
    memcpy(&v, (const uint8_t *)p + i * sizeof v, sizeof v);
    return v;
}
static inline uint32_t tare_get_f32_bits(const float *p, size_t i) {
    uint32_t v;
    memcpy(&v, (const uint8_t *)p + i * sizeof v, sizeof v);
    return v;
}
static inline void tare_put_f32(float *p, size_t i, float v) {
    memcpy((uint8_t *)p + i * sizeof v, &v, sizeof v);
}
static inline void tare_put_f32_bits(float *p, size_t i, uint32_t v) {
    memcpy((uint8_t *)p + i * sizeof v, &v, sizeof v);
}

/* NaN becomes quiet and keeps its payload, as in the processor's own conversion. */
static inline uint32_t tare_f32_bits_of_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 31) return sign | (mantissa ? TARE_F32_NAN | mantissa << 13 : TARE_F32_INF);
    if (exponent == 0) return sign | tare_f32_bits((float)mantissa * 0x1p-24f);
    return sign | (exponent + 127 - 15) << 23 | mantissa << 13;
}
static inline float tare_f32_of_f16(uint16_t h) {
    return tare_f32_of_bits(tare_f32_bits_of_f16(h));
}

/* Every NaN becomes the quiet one without a payload, of the same sign, as ggml writes it. */
static inline uint16_t tare_f16_of_f32_bits(uint32_t bits) {
    uint32_t sign = bits >> 16 & 0x8000, size = bits & ~TARE_F32_SIGN;
    if (size > TARE_F32_INF) return (uint16_t)(sign | 0x7e00);
    if (size >= UINT32_C(0x47800000)) return (uint16_t)(sign | 0x7c00); /* 2^16 and up */
    if (size >= UINT32_C(0x38800000)) {                                 /* 2^-14 and up: normal */
        uint32_t is_odd = size >> 13 & 1;
        size = size - ((127 - 15) << 23) + 0xfff + is_odd;
        return (uint16_t)(sign | size >> 13); /* 65520 and up carries into infinity */
    }
    /* A unit in the last place of 0.5 is 2^-24, the step of f16's subnormals. */
    size = tare_f32_bits(tare_f32_of_bits(size) + 0.5f) - tare_f32_bits(0.5f);
    return (uint16_t)(sign | size);
}
static inline uint16_t tare_f16_of_f32(float f) {
    return tare_f16_of_f32_bits(tare_f32_bits(f));
}

/* NaN keeps the upper part of its payload and becomes quiet, as ggml writes it. */
static inline uint16_t tare_bf16_of_f32_bits(uint32_t bits) {
    if ((bits & ~TARE_F32_SIGN) > TARE_F32_INF) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The low byte of what x86 makes of (int)f: a number outside the range of int, and NaN, give
 * INT_MIN, whose low byte is 0. ggml's encoders convert straight to 8 bits, which C leaves
 * undefined outside their range; this is what its builds on x86-64 do. */
static inline uint8_t tare_low_byte_of_f32(float f) {
    return f >= -2147483648.0f && f < 2147483648.0f ? (uint8_t)((uint32_t)(int32_t)f & 0xff) : 0;
}

/* ---- signed codes ---------------------------------------------------------------------------- */

/* Code i of a run of codes in two's complement: of 8 bits, or of 4, two a byte, the first in the
 * low half. */
static inline int tare_code_at(const uint8_t *codes, size_t i, int bits) {
    if (bits == 8) return (int8_t)codes[i];
    int nibble = codes[i / 2] >> (i % 2 * 4) & 15;
    return (nibble ^ 8) - 8;
}

/* Puts it. Codes are put in their order, as the first one of a byte clears the second. */
static inline void tare_put_code(uint8_t *codes, size_t i, int code, int bits) {
    if (bits == 8)
        codes[i] = (uint8_t)code;
    else if (i % 2 == 0)
        codes[i / 2] = (uint8_t)(code & 15);
    else
        codes[i / 2] |= (uint8_t)((code & 15) << 4);
}

#endif
