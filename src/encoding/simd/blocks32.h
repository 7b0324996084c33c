/* SPDX-License-Identifier: MIT
 *
 * Encoders of Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 in vectors, written on the names of lanes_avx2.h or
 * lanes_avx512.h, which the including file chooses.
 *
 * What is done to an element is what the scalar reference does, in its order. Three things need
 * care to give its bytes:
 *   - A NaN is passed over by the reference: such a group is handed to it.
 *   - Of two extremes of the same size and other sign (also of -0 and 0) the first one counts:
 * where both occur, the block is searched for it.
 *   - The reference takes the low byte of what x86 converts to int, which is 0 for what does not
 * fit. Truncating packs do the same. */
#ifndef TARE_ENCODING_SIMD_BLOCKS32_H
#define TARE_ENCODING_SIMD_BLOCKS32_H

#include <float.h>
#include <string.h>

#include "encoding/simd/encode_groups.h"

enum { BLOCK = 32 };

INLINE vec max_as_unsigned(vec a, vec b) {
    return of_bits(max_unsigned(bits_of(a), bits_of(b)));
}

DEFINE_ACROSS(across_max_unsigned, max_as_unsigned)
DEFINE_ACROSS(across_min, min_of)
DEFINE_ACROSS(across_max, max_of)

/* The bits of the first element of a block whose magnitude has these bits; there is one. */
INLINE uint32_t first_of_size(const float *src, uint32_t size) {
    uint64_t found = 0;
    for (int i = 0; i < VECTORS; i++) {
        ivec sizes = and_i(bits_of(load(src + i * LANES)), all_i(~TARE_F32_SIGN));
        found |= (uint64_t)equal_mask(sizes, all_i(size)) << i * LANES;
    }
    return tare_get_f32_bits(src, (size_t)__builtin_ctzll(found));
}

/* Lane b: the value of largest magnitude in block b. False: there is a NaN. As bits, the largest
 * positive float is the largest signed integer, and the largest negative one the largest unsigned
 * integer; NaN lies beyond infinity in both. */
INLINE bool extremes_of_group(vec *extremes, const float *src) {
    vec above[LANES], below[LANES];
    for (int b = 0; b < LANES; b++) {
        block32 x = load_block(src + b * BLOCK);
        above[b] = below[b] = x.v[0];
        for (int i = 1; i < VECTORS; i++) {
            above[b] = max_as_signed(above[b], x.v[i]);
            below[b] = max_as_unsigned(below[b], x.v[i]);
        }
    }
    ivec positive = max_signed(bits_of(across_max_signed(above)), all_i(0));
    ivec negative = bits_of(across_max_unsigned(below));
    negative = and_i(and_i(negative, all_i(~TARE_F32_SIGN)), sign_fill(negative));
    if (greater_mask(max_signed(positive, negative), all_i(TARE_F32_INF))) return false;
    ivec with_sign = or_i(negative, all_i(TARE_F32_SIGN));
    *extremes = of_bits(if_greater(negative, positive, with_sign, positive));
    uint32_t ties = equal_mask(positive, negative) & ~equal_mask(positive, all_i(0));
    if (__builtin_expect(ties != 0, 0)) {
        uint32_t bits[LANES];
        store_i(bits, bits_of(*extremes));
        for (; ties; ties &= ties - 1) {
            int b = __builtin_ctz(ties);
            bits[b] = first_of_size(src + b * BLOCK, bits[b]);
        }
        float first[LANES];
        memcpy(first, bits, sizeof first);
        *extremes = load(first);
    }
    return true;
}

/* Lane b: smallest and largest value of block b. False: there is a NaN. A smallest value that is
 * zero has the sign of the block's first zero; the sign of a largest one that is zero is open. */
INLINE bool ranges_of_group(vec *min, vec *max, const float *src) {
    vec low[LANES], high[LANES];
    uint32_t nan = 0;
    for (int b = 0; b < LANES; b++) {
        block32 x = load_block(src + b * BLOCK);
        low[b] = high[b] = x.v[0];
        for (int i = 1; i < VECTORS; i++) {
            low[b] = min_of(low[b], x.v[i]);
            high[b] = max_of(high[b], x.v[i]);
        }
        for (int i = 0; i < VECTORS; i += 2) nan |= unordered_mask(x.v[i], x.v[i + 1]);
    }
    if (nan) return false;
    *min = min_of(across_min(low), all(FLT_MAX));
    *max = max_of(across_max(high), all(-FLT_MAX));
    uint32_t zeros = equal_mask_f(*min, all(0));
    if (__builtin_expect(zeros != 0, 0)) {
        float first[LANES];
        store(first, *min);
        for (; zeros; zeros &= zeros - 1) {
            int b = __builtin_ctz(zeros);
            first[b] = tare_f32_of_bits(first_of_size(src + b * BLOCK, 0));
        }
        *min = load(first);
    }
    return true;
}

/* (x - min) * id + bias */
INLINE block32 scaled_above(const float *src, float min, float id, float bias) {
    block32 t = load_block(src);
    for (int i = 0; i < VECTORS; i++) t.v[i] = add(mul(sub(t.v[i], all(min)), all(id)), all(bias));
    return t;
}
/* x * id + bias */
INLINE block32 scaled(const float *src, float id, float bias) {
    block32 t = load_block(src);
    for (int i = 0; i < VECTORS; i++) t.v[i] = add(mul(t.v[i], all(id)), all(bias));
    return t;
}

/* scan_FORMAT: what must be known about a group; false: it holds a NaN. write_FORMAT: its blocks.
 */

INLINE bool scan_q4_0(group *g, const float *src) {
    vec extremes;
    if (!extremes_of_group(&extremes, src)) return false;
    set_factors(g, divide(extremes, all(-8)));
    return true;
}
INLINE void write_q4_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 18, src += BLOCK) {
        memcpy(dst, &g->d[b], 2);
        block32 t = scaled(src, g->id[b], 8.5f);
        store_16(dst + 2, nibbles(&t));
    }
}

INLINE bool scan_q5_0(group *g, const float *src) {
    vec extremes;
    if (!extremes_of_group(&extremes, src)) return false;
    set_factors(g, divide(extremes, all(-16)));
    return true;
}
INLINE void write_q5_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 22, src += BLOCK) {
        block32 t = scaled(src, g->id[b], 16.5f);
        bytes32 codes = min_bytes_unsigned(low_bytes(&t), all_bytes(31));
        uint32_t high = bit_of_bytes(codes, 4);
        memcpy(dst, &g->d[b], 2);
        memcpy(dst + 2, &high, 4);
        store_nibbles(dst + 6, codes);
    }
}

/* A difference of zeros is +0 in the reference, which subtracts one zero from itself; here they
 * may have two signs, which adding 0 settles. */
INLINE bool scan_range(group *g, const float *src, float steps) {
    vec min, max;
    if (!ranges_of_group(&min, &max, src)) return false;
    set_factors(g, divide(add(sub(max, min), all(0)), all(steps)));
    set_mins(g, min);
    return true;
}

INLINE bool scan_q4_1(group *g, const float *src) {
    return scan_range(g, src, 15);
}
INLINE void write_q4_1(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 20, src += BLOCK) {
        memcpy(dst, &g->d[b], 2);
        memcpy(dst + 2, &g->m[b], 2);
        block32 t = scaled_above(src, g->min[b], g->id[b], 0.5f);
        store_16(dst + 4, nibbles(&t));
    }
}

INLINE bool scan_q5_1(group *g, const float *src) {
    return scan_range(g, src, 31);
}
INLINE void write_q5_1(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 24, src += BLOCK) {
        block32 t = scaled_above(src, g->min[b], g->id[b], 0.5f);
        bytes32 codes = low_bytes(&t);
        uint32_t high = bit_of_bytes(codes, 4);
        memcpy(dst, &g->d[b], 2);
        memcpy(dst + 2, &g->m[b], 2);
        memcpy(dst + 4, &high, 4);
        store_nibbles(dst + 8, codes);
    }
}

INLINE bool scan_q8_0(group *g, const float *src) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, BLOCK)) return false;
    set_factors(g, divide(sizes, all(127)));
    return true;
}
INLINE void write_q8_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 34, src += BLOCK) {
        block32 t = load_block(src);
        for (int i = 0; i < VECTORS; i++) t.v[i] = half_away(mul(t.v[i], all(g->id[b])));
        memcpy(dst, &g->d[b], 2);
        store_32(dst + 2, low_bytes(&t));
    }
}

static void encode_q4_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, BLOCK, 18, scan_q4_0, write_q4_0, tare_encode_q4_0_c);
}
static void encode_q4_1(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, BLOCK, 20, scan_q4_1, write_q4_1, tare_encode_q4_1_c);
}
static void encode_q5_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, BLOCK, 22, scan_q5_0, write_q5_0, tare_encode_q5_0_c);
}
static void encode_q5_1(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, BLOCK, 24, scan_q5_1, write_q5_1, tare_encode_q5_1_c);
}
static void encode_q8_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, BLOCK, 34, scan_q8_0, write_q8_0, tare_encode_q8_0_c);
}

INLINE void use_blocks32(tare_kernels *k) {
    k->encode[TARE_ENCODING_Q4_0] = encode_q4_0;
    k->encode[TARE_ENCODING_Q4_1] = encode_q4_1;
    k->encode[TARE_ENCODING_Q5_0] = encode_q5_0;
    k->encode[TARE_ENCODING_Q5_1] = encode_q5_1;
    k->encode[TARE_ENCODING_Q8_0] = encode_q8_0;
}

#endif
