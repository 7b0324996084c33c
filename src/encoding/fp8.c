/* SPDX-License-Identifier: MIT
 *
 * Floats of 8 and 4 bits. E4M3 is the "fn" form (no infinity, 0x7F and 0xFF are NaN), E5M2 is
 * IEEE-like; the FNUZ forms have one more step of bias, one NaN (0x80) and neither infinity nor
 * -0; E8M0 is 2^(x - 127), 255 is NaN (OCP 8-bit Floating Point 1.0, Microscaling Formats 1.0;
 * FNUZ: arXiv 2206.02915). Encoding rounds to nearest even and treats overflow as PyTorch's
 * conversions do: E5M2 becomes infinity, the others NaN. E2M1 (F4) has neither: overflow becomes
 * the largest value and NaN becomes 0 of its sign. E8M0 holds scales, not weights, and is not
 * encoded. */
#include "encoding/float16.h"
#include "encoding/scalar.h"

typedef struct small_float {
    uint8_t mantissa_bits;
    uint8_t bias;
    uint8_t sign;     /* its bit */
    uint8_t largest;  /* code of the largest finite value */
    uint8_t overflow; /* what larger ones become, including infinity */
    uint8_t nan;
    bool has_one_zero; /* 0 has no sign, and with the sign it is the only NaN */
} small_float;

static const small_float e4m3 = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
static const small_float e5m2 = {2, 15, 0x80, 0x7b, 0x7c, 0x7f, false};
static const small_float e4m3fnuz = {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
static const small_float e5m2fnuz = {2, 16, 0x80, 0x7f, 0x80, 0x80, true};
static const small_float e2m1 = {1, 1, 0x08, 0x07, 0x07, 0x00, false};

/* ---- decode ---------------------------------------------------------------------------------- */

/* A finite code. Its value is a small integer times a power of two, which f32 represents exactly.
 */
static inline float finite_value(const small_float *f, uint32_t code) {
    uint32_t size = code & (f->sign - 1u);
    uint32_t exponent = size >> f->mantissa_bits, mantissa = size & ((1u << f->mantissa_bits) - 1);
    if (exponent > 0)
        mantissa |= 1u << f->mantissa_bits;
    else
        exponent = 1;
    float step = tare_f32_of_bits((127 + exponent - f->bias - f->mantissa_bits) << 23);
    return code & f->sign ? -((float)mantissa * step) : (float)mantissa * step;
}

static inline uint32_t e4m3_bits(uint8_t code) {
    if ((code & 0x7f) == 0x7f) return (uint32_t)(code & 0x80) << 24 | TARE_F32_NAN;
    return tare_f32_bits(finite_value(&e4m3, code));
}
/* E5M2 is the upper half of an f16. */
static inline uint32_t e5m2_bits(uint8_t code) {
    return tare_f32_bits_of_f16((uint16_t)(code << 8));
}
static inline uint32_t e4m3fnuz_bits(uint8_t code) {
    return code == 0x80 ? TARE_F32_NAN : tare_f32_bits(finite_value(&e4m3fnuz, code));
}
static inline uint32_t e5m2fnuz_bits(uint8_t code) {
    return code == 0x80 ? TARE_F32_NAN : tare_f32_bits(finite_value(&e5m2fnuz, code));
}
static inline uint32_t e8m0_bits(uint8_t code) {
    if (code == 255) return TARE_F32_NAN;
    return code == 0 ? UINT32_C(0x00400000) : (uint32_t)code << 23; /* 2^-127 is subnormal */
}

#define DEFINE_DECODE_BYTE(name)                                                                   \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        size_t n = tare_rows_count(src);                                                           \
        for (size_t i = 0; i < n; i++) tare_put_f32_bits(dst, i, name##_bits(src->planes[0][i]));  \
    }
DEFINE_DECODE_BYTE(e4m3)
DEFINE_DECODE_BYTE(e5m2)
DEFINE_DECODE_BYTE(e4m3fnuz)
DEFINE_DECODE_BYTE(e5m2fnuz)
DEFINE_DECODE_BYTE(e8m0)
#undef DEFINE_DECODE_BYTE

/* Two elements a byte, the first in the low nibble; the rows begin at a byte. */
static void decode_f4(float *dst, const tare_rows *src) {
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i++) {
        uint32_t code = (uint32_t)src->planes[0][i / 2] >> i % 2 * 4 & 15;
        tare_put_f32(dst, i, finite_value(&e2m1, code));
    }
}

/* ---- encode ---------------------------------------------------------------------------------- */

static inline uint8_t small_of_f32(const small_float *f, uint32_t bits) {
    uint32_t size = bits & ~TARE_F32_SIGN, sign = bits & TARE_F32_SIGN ? f->sign : 0u;
    uint32_t shift = 23u - f->mantissa_bits, code;
    if (size > TARE_F32_INF) {
        code = f->nan;
    } else if (size >= (128u - f->bias) << 23) { /* 2^(1 - bias) and up: normal */
        uint32_t is_odd = size >> shift & 1;
        code = (size - ((127u - f->bias) << 23) + (1u << (shift - 1)) - 1 + is_odd) >> shift;
        if (code > f->largest) code = f->overflow;
    } else {
        /* A unit in the last place of `one` is the step of the subnormals, so the sum is rounded
         * to a whole number of steps. */
        uint32_t one = (128u - f->bias + shift) << 23;
        code = tare_f32_bits(tare_f32_of_bits(size) + tare_f32_of_bits(one)) - one;
    }
    if (f->has_one_zero && (code == 0 || code == f->nan)) return (uint8_t)code;
    return (uint8_t)(sign | code);
}

#define DEFINE_ENCODE_BYTE(name)                                                                   \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *p) {                                       \
        (void)p;                                                                                   \
        size_t n = tare_rows_mut_count(dst);                                                       \
        for (size_t i = 0; i < n; i++)                                                             \
            dst->planes[0][i] = small_of_f32(&name, tare_get_f32_bits(src, i));                    \
    }
DEFINE_ENCODE_BYTE(e4m3)
DEFINE_ENCODE_BYTE(e5m2)
DEFINE_ENCODE_BYTE(e4m3fnuz)
DEFINE_ENCODE_BYTE(e5m2fnuz)
#undef DEFINE_ENCODE_BYTE

static void encode_f4(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i += 2) {
        uint32_t low = small_of_f32(&e2m1, tare_get_f32_bits(src, i));
        uint32_t high = i + 1 < n ? small_of_f32(&e2m1, tare_get_f32_bits(src, i + 1)) : 0;
        dst->planes[0][i / 2] = (uint8_t)(low | high << 4);
    }
}

void tare_kernels_init_fp8(tare_kernels *k) {
    k->decode[TARE_ENCODING_F8_E4M3] = decode_e4m3;
    k->decode[TARE_ENCODING_F8_E5M2] = decode_e5m2;
    k->decode[TARE_ENCODING_F8_E4M3FNUZ] = decode_e4m3fnuz;
    k->decode[TARE_ENCODING_F8_E5M2FNUZ] = decode_e5m2fnuz;
    k->decode[TARE_ENCODING_F8_E8M0] = decode_e8m0;
    k->decode[TARE_ENCODING_F4] = decode_f4;
    k->encode[TARE_ENCODING_F8_E4M3] = encode_e4m3;
    k->encode[TARE_ENCODING_F8_E5M2] = encode_e5m2;
    k->encode[TARE_ENCODING_F8_E4M3FNUZ] = encode_e4m3fnuz;
    k->encode[TARE_ENCODING_F8_E5M2FNUZ] = encode_e5m2fnuz;
    k->encode[TARE_ENCODING_F4] = encode_f4;
}
