/* SPDX-License-Identifier: MIT
 *
 * Decoders of the floats of 8 and 4 bits on the names of decode_lanes.h; see fp8.c for the formats.
 */
#ifndef TARE_ENCODING_SIMD_DECODE_SMALL_H
#define TARE_ENCODING_SIMD_DECODE_SMALL_H

#include "encoding/float16.h"
#include "encoding/simd/decode_lanes.h"

/* Bits of the floats of codes that are finite numbers. */
INLINE ivec finite_bits(ivec codes, uint32_t mantissa_bits, uint32_t bias, uint32_t sign) {
    ivec size = and_i(codes, all_i(sign - 1));
    ivec normal = shift_left(size, (int)(23 - mantissa_bits));
    normal = add_i(normal, all_i((127 - bias) << 23));
    float step = tare_f32_of_bits((128 - bias - mantissa_bits) << 23);
    ivec subnormal = bits_of(mul(to_floats(size), all(step)));
    ivec bits = if_greater(all_i(1u << mantissa_bits), size, subnormal, normal);
    int to_top = __builtin_clz(sign);
    return or_i(bits, and_i(shift_left(codes, to_top), all_i(TARE_F32_SIGN)));
}

INLINE ivec e4m3_bits(ivec codes) {
    ivec size = and_i(codes, all_i(0x7f));
    return if_equal(size, all_i(0x7f), all_i(TARE_F32_NAN), finite_bits(codes, 3, 7, 0x80));
}
/* The largest exponent is that of infinity and NaN: it is moved up to that of f32. */
INLINE ivec e5m2_bits(ivec codes) {
    ivec bits = finite_bits(codes, 2, 15, 0x80), size = and_i(codes, all_i(0x7f));
    return if_greater(size, all_i(0x7b), or_i(bits, all_i(TARE_F32_INF)), bits);
}
INLINE ivec e4m3fnuz_bits(ivec codes) {
    return if_equal(codes, all_i(0x80), all_i(TARE_F32_NAN), finite_bits(codes, 3, 8, 0x80));
}
INLINE ivec e5m2fnuz_bits(ivec codes) {
    return if_equal(codes, all_i(0x80), all_i(TARE_F32_NAN), finite_bits(codes, 2, 16, 0x80));
}
/* 0 stands for a subnormal and 255 for NaN: both have the upper bit of the mantissa set. */
INLINE ivec e8m0_bits(ivec codes) {
    ivec is_inner = and_i(add_i(codes, all_i(1)), all_i(0xfe));
    ivec mantissa = if_equal(is_inner, all_i(0), all_i(UINT32_C(0x00400000)), all_i(0));
    return or_i(shift_left(codes, 23), mantissa);
}
INLINE ivec f4_bits(ivec codes) {
    return finite_bits(codes, 1, 1, 0x08);
}

#define DEFINE_BLOCK(name, load)                                                                   \
    INLINE void block_##name(float *dst, const uint8_t *block) {                                   \
        ints32 codes = ints_of(load(block));                                                       \
        for (int i = 0; i < VECTORS; i++) put(dst, i, of_bits(name##_bits(codes.v[i])));           \
    }

DEFINE_BLOCK(e4m3, load_32)
DEFINE_BLOCK(e5m2, load_32)
DEFINE_BLOCK(e4m3fnuz, load_32)
DEFINE_BLOCK(e5m2fnuz, load_32)
DEFINE_BLOCK(e8m0, load_32)
DEFINE_BLOCK(f4, load_nibble_pairs)
#undef DEFINE_BLOCK

/* Any number of elements: the last ones go through a buffer where 32 may be read and written. */
INLINE void decode_elements(float *dst, const tare_rows *src, size_t bytes_of_32,
                            decode_block_fn decode) {
    const uint8_t *p = src->planes[0];
    size_t n = tare_rows_count(src);
    for (; n >= 32; n -= 32, p += bytes_of_32, dst += 32) decode(dst, p);
    if (n > 0) {
        uint8_t bytes[32] = {0};
        float floats[32];
        memcpy(bytes, p, (n * bytes_of_32 + 31) / 32);
        decode(floats, bytes);
        memcpy(dst, floats, n * sizeof *dst);
    }
}

#define DEFINE_DECODE_ELEMENTS(name, bytes_of_32)                                                  \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_elements(dst, src, bytes_of_32, block_##name);                                      \
    }
DEFINE_DECODE_ELEMENTS(e4m3, 32)
DEFINE_DECODE_ELEMENTS(e5m2, 32)
DEFINE_DECODE_ELEMENTS(e4m3fnuz, 32)
DEFINE_DECODE_ELEMENTS(e5m2fnuz, 32)
DEFINE_DECODE_ELEMENTS(e8m0, 32)
DEFINE_DECODE_ELEMENTS(f4, 16)
#undef DEFINE_DECODE_ELEMENTS

INLINE void use_decode_small(tare_kernels *k) {
    k->decode[TARE_ENCODING_F8_E4M3] = decode_e4m3;
    k->decode[TARE_ENCODING_F8_E5M2] = decode_e5m2;
    k->decode[TARE_ENCODING_F8_E4M3FNUZ] = decode_e4m3fnuz;
    k->decode[TARE_ENCODING_F8_E5M2FNUZ] = decode_e5m2fnuz;
    k->decode[TARE_ENCODING_F8_E8M0] = decode_e8m0;
    k->decode[TARE_ENCODING_F4] = decode_f4;
}

#endif
