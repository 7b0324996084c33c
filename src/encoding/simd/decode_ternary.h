/* SPDX-License-Identifier: MIT
 *
 * Decoders of the formats of one or two bits an element (Q1_0, Q2_0, TQ1_0, TQ2_0) on the names of
 * decode_lanes.h. */
#ifndef TARE_ENCODING_SIMD_DECODE_TERNARY_H
#define TARE_ENCODING_SIMD_DECODE_TERNARY_H

#include "encoding/simd/decode_lanes.h"

INLINE void block_q1_0(float *dst, const uint8_t *block) {
    vec d = load_half(block);
    for (int g = 0; g < 4; g++) {
        bytes32 twos = where_set(tare_load_le32(block + 2 + 4 * g), 2);
        store_scaled(dst + 32 * g, sub_bytes(twos, all_bytes(1)), d);
    }
}

INLINE void block_q2_0(float *dst, const uint8_t *block) {
    vec d = load_half(block);
    for (int g = 0; g < 2; g++) {
        bytes32 codes = load_pairs(block + 2 + 8 * g);
        store_scaled(dst + 32 * g, sub_bytes(codes, all_bytes(1)), d);
    }
}

INLINE void block_tq2_0(float *dst, const uint8_t *block) {
    vec d = load_half(block + 64);
    for (int g = 0; g < 8; g++) {
        bytes32 codes = field(load_32(block + g / 4 * 32), g % 4 * 2, 2, 0);
        store_scaled(dst + 32 * g, sub_bytes(codes, all_bytes(1)), d);
    }
}

/* A byte is a fraction of 256 in base 3. Its first digit, minus 1: whether three times the byte
 * reaches 256 and 512. */
INLINE bytes32 first_trits(bytes32 bytes) {
    bytes32 has_one = at_least_bytes_unsigned(bytes, all_bytes(86));
    bytes32 has_two = at_least_bytes_unsigned(bytes, all_bytes(171));
    return sub_bytes(all_bytes(-1), add_bytes(has_one, has_two));
}
/* The digits one place up; what overflows is the first. */
INLINE bytes32 next_trits(bytes32 bytes) {
    return add_bytes(add_bytes(bytes, bytes), bytes);
}

/* Digit by digit: of 32 bytes, of 16 bytes, of 4 bytes. The fifth digits of the 16 and the four of
 * the 4 make the last 32 elements. */
INLINE void block_tq1_0(float *dst, const uint8_t *block) {
    vec d = load_half(block + 52);
    bytes32 bytes = load_32(block);
    for (int i = 0; i < 5; i++, bytes = next_trits(bytes), dst += 32)
        store_scaled(dst, first_trits(bytes), d);
    bytes32 sixteen = twice(load_16(block + 32)), next = next_trits(sixteen);
    for (int i = 0; i < 2; i++, dst += 32) {
        store_scaled(dst, first_trits(blend_words(sixteen, next, 0xf0)), d);
        sixteen = next_trits(next);
        next = next_trits(sixteen);
    }
    bytes32 four = all_words(tare_load_le32(block + 48));
    four = blend_words(four, next_trits(four), 0xee);
    four = blend_words(four, next_trits(four), 0xcc);
    four = blend_words(four, next_trits(four), 0x88);
    store_scaled(dst, first_trits(join_halves(low_half(sixteen), low_half(four))), d);
}

DEFINE_DECODE(q1_0, 128, 18)
DEFINE_DECODE(q2_0, 64, 18)
DEFINE_DECODE(tq1_0, 256, 54)
DEFINE_DECODE(tq2_0, 256, 66)

INLINE void use_decode_ternary(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q1_0] = decode_q1_0;
    k->decode[TARE_ENCODING_Q2_0] = decode_q2_0;
    k->decode[TARE_ENCODING_TQ1_0] = decode_tq1_0;
    k->decode[TARE_ENCODING_TQ2_0] = decode_tq2_0;
}

#endif
