/* SPDX-License-Identifier: MIT
 *
 * The encoders of MCF's q8, q4, k6, k4, k3 and k2 in vectors, the default's and the public
 * implementation's, with bounds or without; written on the names of lanes_avx2.h or lanes_avx512.h,
 * which the including file chooses.
 *
 * LANES blocks are a group: one or two supers. Rows are treated as one if their length is a whole
 * number of blocks (supers); a partial group is padded with zeros and encoded separately. Groups
 * with a number that is not finite, or with scales that are not normal floats, are left to the
 * scalar reference. */
#ifndef TARE_ENCODING_SIMD_MCF_ENCODE_H
#define TARE_ENCODING_SIMD_MCF_ENCODE_H

#include "encoding/simd/mcf_decode.h"

enum { GROUP = LANES * TARE_MCF_BLOCK, GROUP_SUPERS = LANES / TARE_MCF_BLOCKS };

/* What is encoded and how: constants after inlining. */
typedef struct mcf_way {
    int bits;
    bool has_supers, is_mantle;
    tare_encode_fn scalar;
} mcf_way;

/* ---- codes ----------------------------------------------------------------------------------- */

INLINE vec held(vec t, int bits) {
    const float top = (float)tare_mcf_top(bits);
    return min_of(max_of(t, all(-top)), all(top));
}

/* By division, as in the reference. */
static __attribute__((noinline)) bytes32 divided_codes(const float *src, float divisor, int bits) {
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        codes[i] = and_i(rounded_away(held(divide(load(src + i * LANES), all(divisor)), bits)),
                         all_i(0xff));
    return bytes_of(codes);
}

/* The codes of x / scale. A product with the inverse is within 2^-22 of the quotient, relatively,
 * so 2^-15 of it as quotients are at most 127.5: only near a half can they round apart, and there
 * the block is divided. */
INLINE bytes32 codes_of(const float *src, float scale, int bits) {
    if (!(scale > 0)) return all_bytes(0);
    const vec inverse_scale = all(1.0f / scale);
    ivec codes[VECTORS];
    vec furthest = all(0);
    for (int i = 0; i < VECTORS; i++) {
        vec t = held(mul(load(src + i * LANES), inverse_scale), bits);
        ivec whole = rounded_away(t);
        furthest = max_of(furthest, size_of(sub(t, to_floats(whole))));
        codes[i] = and_i(whole, all_i(0xff));
    }
    if (__builtin_expect(lanes_of(is_below(all(0.4999f), furthest)) != 0, 0))
        return divided_codes(src, scale, bits);
    return bytes_of(codes);
}

/* By multiplication with the inverse of the scale, which is 0 or an ordinary float. */
INLINE bytes32 multiplied_codes(const float *src, float scale, int bits) {
    const vec inverse_scale = all(scale > 0 ? 1.0f / scale : 0);
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        codes[i] =
            and_i(rounded_away(held(mul(load(src + i * LANES), inverse_scale), bits)), all_i(0xff));
    return bytes_of(codes);
}

/* Lane b: the scale of block b, as stored; as a divisor. False: a number is not finite. */
INLINE bool scales_of_group(vec *scales, const float *src, int bits) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, TARE_MCF_BLOCK)) return false;
    *scales = divide(sizes, all((float)tare_mcf_top(bits)));
    return greater_mask(bits_of(sizes), all_i(TARE_F32_INF - 1)) == 0;
}

/* Brings a block near that will be read two groups later, while this one's codes are written: the
 * processor's own prefetching comes too late, and a whole group at once is too much. */
INLINE void fetch_block(const float *src) {
    const char *later = (const char *)(src + 2 * LANES * TARE_MCF_BLOCK);
    __builtin_prefetch(later);
    __builtin_prefetch(later + 64);
}

INLINE void put_block(const tare_mcf_row *at, size_t b, const float *src, float scale,
                      const mcf_way *way) {
    fetch_block(src);
    bytes32 codes =
        way->is_mantle ? multiplied_codes(src, scale, way->bits) : codes_of(src, scale, way->bits);
    store_packed(at->codes + b * 4 * (size_t)way->bits, codes, way->bits);
}

/* ---- groups ---------------------------------------------------------------------------------- */

#define LEAST_NORMAL UINT32_C(0x00800000)

/* Every block has its own scale. */
INLINE bool encode_scaled_group(const tare_mcf_row *at, size_t b, const float *src,
                                const mcf_way *way) {
    uint16_t halves[LANES];
    float divisors[LANES];
    vec scales;
    if (!scales_of_group(&scales, src, way->bits)) return false;
    if (way->is_mantle) {
        ivec bits = bits_of(scales);
        if (greater_mask(bits, all_i(0)) != greater_mask(bits, all_i(LEAST_NORMAL - 1)))
            return false;
        store(divisors, scales);
        for (int i = 0; i < LANES; i++) halves[i] = tare_mcf_cut_f16(divisors[i]);
    } else {
        store_halves(halves, scales);
        for (int i = 0; i < LANES; i++) divisors[i] = half_at((const uint8_t *)&halves[i]);
    }
    memcpy(at->scales + b * 2, halves, sizeof halves);
    for (int i = 0; i < LANES; i++)
        put_block(at, b + (size_t)i, src + i * TARE_MCF_BLOCK, divisors[i], way);
    return true;
}

/* The supers of a group as numbers, one in each lane; what is stored goes to *halves. */
INLINE vec supers_of(uint16_t halves[GROUP_SUPERS], vec scales, const mcf_way *way) {
    float each[LANES];
    store(each, scales);
    for (int s = 0; s < GROUP_SUPERS; s++) {
        float *of = each + s * TARE_MCF_BLOCKS, super = 0;
        for (int i = 0; i < TARE_MCF_BLOCKS; i++) super = of[i] > super ? of[i] : super;
        halves[s] = way->is_mantle ? tare_mcf_cut_f16(super) : tare_f16_of_f32(super);
        if (!way->is_mantle) super = tare_f32_of_f16(halves[s]);
        for (int i = 0; i < TARE_MCF_BLOCKS; i++) of[i] = super;
    }
    return load(each);
}

/* Eight blocks share a super. */
INLINE bool encode_super_group(const tare_mcf_row *at, size_t b, const float *src,
                               const mcf_way *way) {
    uint16_t halves[GROUP_SUPERS];
    uint32_t subs[LANES];
    float divisors[LANES];
    vec scales;
    if (!scales_of_group(&scales, src, way->bits)) return false;
    vec supers = supers_of(halves, scales, way);
    ivec bits = bits_of(supers); /* the least divisor is a 32nd of one */
    if (way->is_mantle &&
        greater_mask(bits, all_i(0)) != greater_mask(bits, all_i(6 * LEAST_NORMAL)))
        return false;
    vec parts = way->is_mantle ? mul(divide(scales, supers), all(32))
                               : divide(mul(all(32), scales), supers);
    parts = max_of(min_of(all(TARE_MCF_MAX_SUB), parts), all(1)); /* NaN becomes 1 */
    ivec sub = where(is_below(all(0), scales), rounded_away(parts));
    store_i(subs, sub);
    store(divisors, mul(supers, mul(to_floats(sub), all(1.0f / 32))));
    memcpy(at->supers + b / TARE_MCF_BLOCKS * 2, halves, sizeof halves);
    for (int i = 0; i < LANES; i++) {
        at->scales[b + (size_t)i] = (uint8_t)subs[i];
        put_block(at, b + (size_t)i, src + i * TARE_MCF_BLOCK, divisors[i], way);
    }
    return true;
}

INLINE bool encode_group(const tare_mcf_row *at, size_t b, const float *src, const mcf_way *way) {
    return way->has_supers ? encode_super_group(at, b, src, way)
                           : encode_scaled_group(at, b, src, way);
}

/* ---- rows ------------------------------------------------------------------------------------ */

INLINE void hold(float *x, const float *src, const tare_encode_params *params) {
    const vec min = all(params->clip_min), max = all(params->clip_max);
    for (int i = 0; i < GROUP; i += LANES) store(x + i, min_of(max, max_of(min, load(src + i))));
}

/* A row from block b on, which begins a super. */
INLINE tare_rows_mut rest_of(const tare_mcf_row *at, size_t b, uint64_t cols, int bits) {
    tare_rows_mut rest = {.n_rows = 1, .cols = cols - b * TARE_MCF_BLOCK};
    uint8_t *codes = at->codes + b * 4 * (size_t)bits;
    if (at->supers) {
        rest.planes[0] = at->supers + b / TARE_MCF_BLOCKS * 2;
        rest.planes[1] = at->scales + b;
        rest.planes[2] = codes;
    } else {
        rest.planes[0] = at->scales + b * 2;
        rest.planes[1] = codes;
    }
    return rest;
}

/* A group with only n numbers present. */
INLINE bool encode_part(const tare_mcf_row *at, size_t b, const float *src, size_t n,
                        const tare_encode_params *params, const mcf_way *way) {
    uint8_t supers[GROUP_SUPERS * 2], scales[LANES * 2], codes[GROUP];
    const tare_mcf_row aside = {way->has_supers ? supers : NULL, scales, codes};
    float x[GROUP] = {0};
    memcpy(x, (const uint8_t *)src, n * sizeof *x);
    if (params) hold(x, x, params);
    memset(x + n, 0, (GROUP - n) * sizeof *x); /* bounds need not hold 0 */
    if (!encode_group(&aside, 0, x, way)) return false;
    tare_rows_mut to = rest_of(at, b, b * TARE_MCF_BLOCK + n, way->bits);
    size_t n_blocks = (size_t)tare_mcf_n_blocks(n);
    if (way->has_supers) memcpy(to.planes[0], supers, (size_t)tare_mcf_n_supers(n) * 2);
    memcpy(to.planes[way->has_supers], scales, way->has_supers ? n_blocks : n_blocks * 2);
    memcpy(to.planes[way->has_supers + 1], codes, n_blocks * 4 * (size_t)way->bits);
    return true;
}

INLINE bool encode_whole(const tare_mcf_row *at, size_t b, const float *src,
                         const tare_encode_params *params, const mcf_way *way) {
    if (!params) return encode_group(at, b, src, way);
    float x[GROUP];
    hold(x, src, params);
    return encode_group(at, b, x, way);
}

INLINE void encode_row(const tare_mcf_row *at, const float *src, size_t cols,
                       const tare_encode_params *params, const mcf_way *way) {
    const tare_encode_params *bounds = params && params->has_clip ? params : NULL;
    for (size_t i = 0; i < cols; i += GROUP) {
        size_t b = i / TARE_MCF_BLOCK, n = cols - i < GROUP ? cols - i : GROUP;
        bool is_done = n == GROUP ? encode_whole(at, b, src + i, bounds, way)
                                  : encode_part(at, b, src + i, n, bounds, way);
        if (is_done) continue;
        tare_rows_mut odd = rest_of(at, b, i + n, way->bits);
        way->scalar(&odd, src + i, params);
    }
}

INLINE void encode_mcf(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const mcf_way *way) {
    tare_rows_mut rows = *dst;
    join_rows(&rows.n_rows, &rows.cols, way->has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK);
    for (uint64_t r = 0; r < rows.n_rows; r++, src += rows.cols) {
        tare_mcf_row at = tare_mcf_row_at(&rows, r, way->bits, way->has_supers);
        encode_row(&at, src, (size_t)rows.cols, params, way);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_ENCODERS(name, ID, bits, has_supers)                                                \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        static const mcf_way way = {bits, has_supers, false, tare_encode_##name##_c};              \
        encode_mcf(dst, src, params, &way);                                                        \
    }                                                                                              \
    static void mantle_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        static const mcf_way way = {bits, has_supers, true, tare_mantle_##name##_c};               \
        encode_mcf(dst, src, params, &way);                                                        \
    }
TARE_MCF_TYPES(DEFINE_ENCODERS)

#define USE_ENCODERS(name, ID, bits, has_supers)                                                   \
    k->encode[TARE_ENCODING_##ID] = encode_##name;                                                 \
    k->encode_clipped[TARE_ENCODING_##ID] = encode_##name;                                         \
    k->encode_mantle[TARE_ENCODING_##ID] = mantle_##name;
INLINE void use_mcf_encoders(tare_kernels *k) {
    TARE_MCF_TYPES(USE_ENCODERS)
}

#endif
