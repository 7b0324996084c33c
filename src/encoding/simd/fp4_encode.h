/* SPDX-License-Identifier: MIT
 *
 * Encoders of MXFP4 and NVFP4 in vectors, written on the names of lanes_avx2.h or lanes_avx512.h,
 * which the including file chooses.
 *
 * The reference takes the level of least distance |level * d - x|, the first of equals. Levels and
 * d have few bits, so that level * d is exact; no level but 1 is more than twice the one below it,
 * so that the distances of the two levels around |x| are exact too (and above 0.5 that of level 1
 * is). Hence the code is the number of midpoints, exact likewise, that |x| exceeds. This fails if
 * |x| is far beyond the largest level: distances then round to the same number, and the reference
 * takes the first level of all. Such groups are left to it. */
#ifndef TARE_ENCODING_SIMD_FP4_ENCODE_H
#define TARE_ENCODING_SIMD_FP4_ENCODE_H

#include <string.h>

#include "encoding/simd/encode_groups.h"

/* ---- mxfp4 ----------------------------------------------------------------------------------- */

/* The scale is floor(log2(size)) - 2, but the reference's log2 rounds up where at most 88 floats
 * are between size and a power of two: such a group is left to it, and so are scales so small that
 * they wrap around or are subnormal. */
INLINE bool scan_mxfp4(group *g, const float *src) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, 32)) return false;
    ivec bits = bits_of(sizes), exponents = shift_right(bits, 23);
    ivec mantissas = and_i(bits, all_i(UINT32_C(0x007fffff)));
    uint32_t zeros = equal_mask(bits, all_i(0));
    uint32_t odd = greater_mask(bits, all_i(TARE_F32_INF - 1));
    odd |= greater_mask(mantissas, all_i(UINT32_C(0x007fffff) - 128));
    odd |= greater_mask(all_i(4), exponents) & ~zeros;
    if (odd) return false;
    /* Level 1 is half of the scale's value; id counts halves of it. */
    store(g->id, of_bits(shift_left(sub_i(all_i(258), max_signed(exponents, all_i(4))), 23)));
    store_i(g->scales, max_signed(sub_i(exponents, all_i(2)), all_i(0)));
    return true;
}

/* 32 codes. With a power of two for d, id * x is exact and all midpoints are whole. The float next
 * to it on the side of 0, cut off, says how many whole numbers its magnitude exceeds, and a table
 * how many midpoints these are. Next to 0 there is NaN, which is cut off to 0. */
INLINE bytes32 mxfp4_codes(const float *src, float id) {
    static const int8_t midpoints[16] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6};
    block32 t = load_block(src);
    for (int i = 0; i < VECTORS; i++)
        t.v[i] = of_bits(sub_i(bits_of(mul(t.v[i], all(id))), all_i(1)));
    bytes32 whole = low_bytes(&t), size = size_of_bytes(whole);
    bytes32 codes = levels_at(sixteen_levels(midpoints), min_bytes_unsigned(size, all_bytes(15)));
    codes = sub_bytes(codes, greater_bytes(size, all_bytes(19)));
    return or_bytes(codes, field(whole, 7, 1, 3));
}

INLINE void write_mxfp4(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b++, dst += 17, src += 32) {
        dst[0] = (uint8_t)g->scales[b];
        store_nibbles(dst + 1, mxfp4_codes(src, g->id[b]));
    }
}

/* ---- nvfp4 ----------------------------------------------------------------------------------- */

/* x >= 0 to unsigned E4M3, halves up; never its NaN: at most 448. */
INLINE ivec ue4m3_of(vec x) {
    x = min_of(x, all(448));
    ivec bits = bits_of(x);
    ivec code = sub_i(shift_right(bits, 20), all_i(120 << 3));
    code = add_i(code, and_i(shift_right(bits, 19), all_i(1)));
    code = if_greater(code, all_i((15 << 3) - 1), all_i(0x7e), code);
    ivec small = min_signed(whole_of(add(mul(x, all(512)), all(0.5f))), all_i(7));
    return if_greater(all_i(UINT32_C(121) << 23), bits, small, code);
}

/* Half its value. */
INLINE vec half_of_ue4m3(ivec code) {
    vec small = mul(to_floats(code), all(0x1p-10f));
    ivec normal = shift_left(add_i(code, all_i(119 << 3)), 20);
    return of_bits(if_greater(code, all_i(7), normal, bits_of(small)));
}

/* d, or 0 where all codes are to be 0. */
INLINE void set_reach(group *g, vec d, ivec scales) {
    static const float midpoints[LEVEL_STEPS] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};
    d = choose(differs(d, all(0)), d, of_bits(all_i(TARE_F32_INF)));
    for (int i = 0; i < LEVEL_STEPS; i++) store(g->reach[i], mul(d, all(midpoints[i])));
    store_i(g->scales, scales);
}

/* 32 codes, of the units b and b + 1. Only a code above 0 has a sign. */
INLINE bytes32 nvfp4_codes(const float *src, const group *g, int b) {
    block32 x = load_block(src);
    ivec codes[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        int at = b + v * LANES / 16;
        vec size = size_of(x.v[v]);
        ivec sign = and_i(shift_right(bits_of(x.v[v]), 28), all_i(8));
        codes[v] = where(is_below(all(g->reach[0][at]), size), or_i(sign, all_i(1)));
        for (int i = 1; i < LEVEL_STEPS; i++)
            codes[v] = count_where(is_below(all(g->reach[i][at]), size), codes[v]);
    }
    return bytes_of(codes);
}

/* The largest level is at most 12 * 224. */
INLINE bool scan_nvfp4(group *g, const float *src) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, 16)) return false;
    if (lanes_of(is_below(all(8192), sizes))) return false;
    ivec scales = ue4m3_of(divide(sizes, all(6)));
    set_reach(g, half_of_ue4m3(scales), scales);
    return true;
}

INLINE void write_nvfp4(uint8_t *dst, const float *src, const group *g) {
    for (int b = 0; b < LANES; b += 4, dst += 36) {
        for (int s = 0; s < 4; s++) dst[s] = (uint8_t)g->scales[b + s];
        for (int s = 0; s < 4; s += 2, src += 32) {
            store_nibbles_of_16(dst + 4 + 8 * s, nvfp4_codes(src, g, b + s));
        }
    }
}

static void encode_mxfp4(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 32, 17, scan_mxfp4, write_mxfp4, tare_encode_mxfp4_c);
}
static void encode_nvfp4(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_groups(dst, src, 16, 9, scan_nvfp4, write_nvfp4, tare_encode_nvfp4_c);
}

INLINE void use_fp4_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_MXFP4] = encode_mxfp4;
    k->encode[TARE_ENCODING_NVFP4] = encode_nvfp4;
}

#endif
