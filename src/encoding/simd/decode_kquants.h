/* SPDX-License-Identifier: MIT
 *
 * Decoders of the K formats on the names of decode_lanes.h. The integer factors of a super-block
 * are scaled by its f16 factors first, all at once, as the reference does one by one. */
#ifndef TARE_ENCODING_SIMD_DECODE_KQUANTS_H
#define TARE_ENCODING_SIMD_DECODE_KQUANTS_H

#include "encoding/kquant.h"
#include "encoding/simd/decode_lanes.h"

/* Run g of 32 codes of two bits, four runs to 32 bytes. */
INLINE bytes32 load_two_bits(const uint8_t *qs, int g) {
    return field(load_32(qs + g / 4 * 32), g % 4 * 2, 2, 0);
}
/* Run g of 32 codes of four bits, two runs to 32 bytes. */
INLINE bytes32 load_four_bits(const uint8_t *qs, int g) {
    return field(load_32(qs + g / 2 * 32), g % 2 * 4, 4, 0);
}

INLINE void block_q2_k(float *dst, const uint8_t *block) {
    float factors[32]; /* 16 scales, 16 offsets */
    store_scaled_halves(factors, load_nibbles(block + Q2_K_SCALES), load_half(block + Q2_K_D),
                        negative(load_half(block + Q2_K_DMIN)));
    for (int g = 0; g < 8; g++) {
        const float *f = factors + 2 * g;
        store_moved_halves(dst + 32 * g, load_two_bits(block + Q2_K_QS, g), all(f[0]), all(f[1]),
                           all(f[16]), all(f[17]));
    }
}

INLINE void block_q3_k(float *dst, const uint8_t *block) {
    float factors[32]; /* 16 of them count */
    bytes16 scales = load_q3_k_scales(block + Q3_K_SCALES);
    store_scaled(factors, join_halves(scales, scales), load_half(block + Q3_K_D));
    bytes32 high = load_32(block + Q3_K_HMASK);
    for (int g = 0; g < 8; g++) {
        bytes32 codes = or_bytes(load_two_bits(block + Q3_K_QS, g), field(high, g, 1, 2));
        store_scaled_halves(dst + 32 * g, sub_bytes(codes, all_bytes(4)), all(factors[2 * g]),
                            all(factors[2 * g + 1]));
    }
}

/* Scales of Q4_K and Q5_K, and from factors[16] on their offsets. */
INLINE void load_q4_k_factors(float factors[32], const uint8_t *block) {
    const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
    const uint8_t *p = block + Q4_K_SCALES;
    uint32_t a = tare_load_le32(p), b = tare_load_le32(p + 4), c = tare_load_le32(p + 8);
    uint64_t scales = (uint64_t)((c & four) | (a >> 2 & two)) << 32 | (a & six);
    uint64_t mins = (uint64_t)((c >> 4 & four) | (b >> 2 & two)) << 32 | (b & six);
    bytes32 both = join_quarters(scales, 0, mins, 0);
    store_scaled_halves(factors, both, load_half(block + Q4_K_D),
                        negative(load_half(block + Q4_K_DMIN)));
}

INLINE void block_q4_k(float *dst, const uint8_t *block) {
    float factors[32];
    load_q4_k_factors(factors, block);
    for (int g = 0; g < 8; g++)
        store_moved(dst + 32 * g, load_four_bits(block + Q4_K_QS, g), all(factors[g]),
                    all(factors[16 + g]));
}

INLINE void block_q5_k(float *dst, const uint8_t *block) {
    float factors[32];
    load_q4_k_factors(factors, block);
    bytes32 high = load_32(block + Q5_K_QH);
    for (int g = 0; g < 8; g++) {
        bytes32 codes = or_bytes(load_four_bits(block + Q5_K_QS, g), field(high, g, 1, 4));
        store_moved(dst + 32 * g, codes, all(factors[g]), all(factors[16 + g]));
    }
}

/* Of each half of 128, elements 0..63 have low nibbles and 64..127 the high ones of 64 bytes. */
INLINE void block_q6_k(float *dst, const uint8_t *block) {
    float factors[32]; /* 16 of them count */
    bytes16 scales = load_16(block + Q6_K_SCALES);
    store_scaled(factors, join_halves(scales, scales), load_half(block + Q6_K_D));
    for (int g = 0; g < 8; g++) {
        bytes32 low = load_32(block + Q6_K_QL + g / 4 * 64 + g % 2 * 32);
        bytes32 high = load_32(block + Q6_K_QH + g / 4 * 32);
        bytes32 codes = or_bytes(field(low, g % 4 / 2 * 4, 4, 0), field(high, g % 4 * 2, 2, 4));
        store_scaled_halves(dst + 32 * g, sub_bytes(codes, all_bytes(32)), all(factors[2 * g]),
                            all(factors[2 * g + 1]));
    }
}

INLINE void block_q8_k(float *dst, const uint8_t *block) {
    vec d = all(tare_f32_of_bits(tare_load_le32(block + Q8_K_D)));
    for (int g = 0; g < 8; g++) store_scaled(dst + 32 * g, load_32(block + Q8_K_QS + 32 * g), d);
}

DEFINE_DECODE(q2_k, 256, Q2_K_BYTES)
DEFINE_DECODE(q3_k, 256, Q3_K_BYTES)
DEFINE_DECODE(q4_k, 256, Q4_K_BYTES)
DEFINE_DECODE(q5_k, 256, Q5_K_BYTES)
DEFINE_DECODE(q6_k, 256, Q6_K_BYTES)
DEFINE_DECODE(q8_k, 256, Q8_K_BYTES)

INLINE void use_decode_kquants(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q2_K] = decode_q2_k;
    k->decode[TARE_ENCODING_Q3_K] = decode_q3_k;
    k->decode[TARE_ENCODING_Q4_K] = decode_q4_k;
    k->decode[TARE_ENCODING_Q5_K] = decode_q5_k;
    k->decode[TARE_ENCODING_Q6_K] = decode_q6_k;
    k->decode[TARE_ENCODING_Q8_K] = decode_q8_k;
}

#endif
