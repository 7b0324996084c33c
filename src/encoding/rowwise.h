/* SPDX-License-Identifier: MIT
 *
 * INFQ's int8_rowwise and int4_rowwise, what the scalar reference, the better encoder and the
 * kernels share: codes of a row one after the other, those of 4 bits two a byte, the first in the
 * low half, in two's complement, the most negative one not used; and one f16 scale a row. INFQ
 * specification version 1, "Quantisation (Rowwise INT8)". */
#ifndef TARE_ENCODING_ROWWISE_H
#define TARE_ENCODING_ROWWISE_H

#include "encoding/float16.h"
#include "encoding/scalar.h"

/* Largest code of so many bits. */
static inline int tare_rowwise_top(int bits) {
    return (1 << (bits - 1)) - 1;
}
static inline size_t tare_rowwise_bytes(uint64_t cols, int bits) {
    return (size_t)(bits == 8 ? cols : cols / 2 + cols % 2);
}

typedef struct tare_rowwise_scale {
    uint16_t stored; /* f16; infinite where it does not fit */
    float used;      /* the divisor of the numbers: not rounded to f16 */
} tare_rowwise_scale;

/* The scale of a row from its largest magnitude, as the public converter computes it: in doubles,
 * rounded to f16. Rounding to f32 first changes nothing: a value half way between two f16, times
 * 127 or 7, is a float, so that scales of other floats are at least 64/127 of a unit in the last
 * place of f32 away from it. */
static inline tare_rowwise_scale tare_rowwise_scale_of(float largest, int top) {
    double most = (double)largest < 1e-8 ? 1e-8 : (double)largest;
    double scale = most / (double)top;
    return (tare_rowwise_scale){tare_f16_of_f32((float)scale), (float)scale};
}

/* Half to even, clamped to [-top, top]; NaN gives 0. Adding and taking away 1.5 * 2^23 rounds. */
static inline int tare_rowwise_code(float x, float scale, float top) {
    float t = x / scale;
    if (!(t == t)) return 0;
    t = t < top ? t : top;
    t = t > -top ? t : -top;
    return (int)((t + 12582912.0f) - 12582912.0f);
}

/* The largest magnitude of n numbers; NaN is passed over. */
float tare_rowwise_largest(const float *src, size_t from, size_t n);
/* n codes of numbers from src[from] on. */
void tare_rowwise_put(uint8_t *codes, const float *src, size_t from, size_t n, float scale,
                      int bits);

/* X(name, ID, bits) */
#define TARE_ROWWISE_TYPES(X)                                                                      \
    X(int8_rowwise, INT8_ROWWISE, 8)                                                               \
    X(int4_rowwise, INT4_ROWWISE, 4)

#endif
