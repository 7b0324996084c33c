/* SPDX-License-Identifier: MIT
 *
 * Decoders of Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q8_1 on the names of decode_lanes.h. */
#ifndef TARE_ENCODING_SIMD_DECODE_BLOCKS32_H
#define TARE_ENCODING_SIMD_DECODE_BLOCKS32_H

#include "encoding/simd/decode_lanes.h"

/* Codes of five bits: nibbles, and the fifth bits in a word. */
INLINE bytes32 load_five_bits(const uint8_t *nibbles, const uint8_t *fifth) {
    return or_bytes(load_nibbles(nibbles), where_set(tare_load_le32(fifth), 16));
}

INLINE void block_q4_0(float *dst, const uint8_t *block) {
    bytes32 codes = sub_bytes(load_nibbles(block + 2), all_bytes(8));
    store_scaled(dst, codes, load_half(block));
}
INLINE void block_q4_1(float *dst, const uint8_t *block) {
    store_moved(dst, load_nibbles(block + 4), load_half(block), load_half(block + 2));
}
INLINE void block_q5_0(float *dst, const uint8_t *block) {
    bytes32 codes = sub_bytes(load_five_bits(block + 6, block + 2), all_bytes(16));
    store_scaled(dst, codes, load_half(block));
}
INLINE void block_q5_1(float *dst, const uint8_t *block) {
    bytes32 codes = load_five_bits(block + 8, block + 4);
    store_moved(dst, codes, load_half(block), load_half(block + 2));
}
INLINE void block_q8_0(float *dst, const uint8_t *block) {
    store_scaled(dst, load_32(block + 2), load_half(block));
}
INLINE void block_q8_1(float *dst, const uint8_t *block) {
    store_scaled(dst, load_32(block + 4), load_half(block));
}

DEFINE_DECODE(q4_0, 32, 18)
DEFINE_DECODE(q4_1, 32, 20)
DEFINE_DECODE(q5_0, 32, 22)
DEFINE_DECODE(q5_1, 32, 24)
DEFINE_DECODE(q8_0, 32, 34)
DEFINE_DECODE(q8_1, 32, 36)

INLINE void use_decode_blocks32(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q4_0] = decode_q4_0;
    k->decode[TARE_ENCODING_Q4_1] = decode_q4_1;
    k->decode[TARE_ENCODING_Q5_0] = decode_q5_0;
    k->decode[TARE_ENCODING_Q5_1] = decode_q5_1;
    k->decode[TARE_ENCODING_Q8_0] = decode_q8_0;
    k->decode[TARE_ENCODING_Q8_1] = decode_q8_1;
}

#endif
