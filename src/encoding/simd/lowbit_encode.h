/* SPDX-License-Identifier: MIT
 *
 * Encoders of Q1_0, Q2_0, TQ1_0 and TQ2_0 in vectors, written on the names of lanes_avx2.h or
 * lanes_avx512.h, which the including file chooses. Whatever the scale, elements end up near -1, 0
 * and 1, and rounding them takes two comparisons. */
#ifndef TARE_ENCODING_SIMD_LOWBIT_ENCODE_H
#define TARE_ENCODING_SIMD_LOWBIT_ENCODE_H

#include <string.h>

#include "encoding/bitpack.h"
#include "encoding/simd/encode_groups.h"

/* ---- q1_0 ------------------------------------------------------------------------------------ */

/* Lane b sums the magnitudes of unit b in order. A sum that is NaN is stored by the reference. */
INLINE bool scan_q1_0(group *g, const float *src) {
    vec sum = all(0);
    for (int part = 0; part < 128; part += LANES) {
        vec x[LANES];
        for (int b = 0; b < LANES; b++) x[b] = load(src + 128 * b + part);
        transpose(x);
        for (int i = 0; i < LANES; i++) sum = add(sum, size_of(x[i]));
    }
    store_halves(g->d, divide(sum, all(128)));
    return unordered_mask(sum, sum) == 0;
}

INLINE void write_q1_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 18) {
        memcpy(dst, &g->d[b], 2);
        for (int k = 0; k < 4; k++, src += 32) {
            block32 x = load_block(src);
            uint32_t signs = 0;
            for (int i = 0; i < VECTORS; i++)
                signs |= lanes_of(is_at_most(all(0), x.v[i])) << i * LANES;
            memcpy(dst + 2 + 4 * k, &signs, 4);
        }
    }
}

/* ---- three levels ---------------------------------------------------------------------------- */

/* False also where the inverse of a unit's largest magnitude overflows. */
INLINE bool scan_levels(group *g, const float *src, int unit) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, unit)) return false;
    uint32_t small = greater_mask(all_i(UINT32_C(0x00800000)), bits_of(sizes));
    if (small & ~equal_mask_f(sizes, all(0))) return false;
    set_factors(g, sizes);
    return true;
}

/* Rounded with halves away from zero, plus 1. 0 * infinity, as 0 or as -1. */
INLINE bytes32 level_codes(const float *src, float id, bool keeps_nan) {
    block32 x = load_block(src);
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++) {
        vec t = mul(x.v[i], all(id));
        mask is_zero_up = keeps_nan ? opposite(is_at_most(t, all(-0.5f))) : is_below(all(-0.5f), t);
        codes[i] = where(is_zero_up, all_i(1));
        codes[i] = count_where(is_at_most(all(0.5f), t), codes[i]);
    }
    return bytes_of(codes);
}

INLINE bool scan_q2_0(group *g, const float *src) {
    return scan_levels(g, src, 64);
}
INLINE void write_q2_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 18) {
        memcpy(dst, &g->d[b], 2);
        for (int k = 0; k < 2; k++, src += 32) {
            store_packed(dst + 2 + 8 * k, level_codes(src, g->id[b], false), 2);
        }
    }
}

INLINE bool scan_tq(group *g, const float *src) {
    return scan_levels(g, src, 256);
}
INLINE void ternary_codes(uint8_t *codes, const float *src, float id) {
    for (int i = 0; i < 256; i += 32) store_32(codes + i, level_codes(src + i, id, true));
}
INLINE void write_tq1_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 54, src += 256) {
        uint8_t codes[256];
        ternary_codes(codes, src, g->id[b]);
        tare_pack_tq1_0(dst, codes);
        memcpy(dst + 52, &g->d[b], 2);
    }
}
INLINE void write_tq2_0(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 66, src += 256) {
        uint8_t codes[256];
        ternary_codes(codes, src, g->id[b]);
        tare_pack_2bit(dst, codes);
        memcpy(dst + 64, &g->d[b], 2);
    }
}

static void encode_q1_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 128, 18, scan_q1_0, write_q1_0, tare_encode_q1_0_c);
}
static void encode_q2_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 64, 18, scan_q2_0, write_q2_0, tare_encode_q2_0_c);
}
static void encode_tq1_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 256, 54, scan_tq, write_tq1_0, tare_encode_tq1_0_c);
}
static void encode_tq2_0(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 256, 66, scan_tq, write_tq2_0, tare_encode_tq2_0_c);
}

INLINE void use_lowbit_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_Q1_0] = encode_q1_0;
    k->encode[TARE_ENCODING_Q2_0] = encode_q2_0;
    k->encode[TARE_ENCODING_TQ1_0] = encode_tq1_0;
    k->encode[TARE_ENCODING_TQ2_0] = encode_tq2_0;
}

#endif
