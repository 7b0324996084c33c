/* SPDX-License-Identifier: MIT
 *
 * MCF's q8, q4, k6, k4, k3 and k2 in vectors: all decoders, and the encoders of q8 and q4; written
 * on the names of lanes_avx2.h or lanes_avx512.h, which the including file chooses.
 *
 * Rows are taken as one where their length is a whole number of blocks; what does not fill a block
 * or a group, and groups with a number that is not finite, are the scalar reference's. */
#ifndef TARE_ENCODING_X86_MCF_LANES_H
#define TARE_ENCODING_X86_MCF_LANES_H

#include <string.h>

#include "encoding/mcf_blocks.h"
#include "encoding/x86/groups.h"
#include "encoding/x86/past.h"
#include "encoding/x86/signed_codes.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows whose length is a whole number of `step` elements follow each other without padding. */
INLINE void join_rows(uint64_t *n_rows, uint64_t *cols, uint64_t step) {
    if (*cols % step) return;
    *cols *= *n_rows;
    *n_rows = 1;
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

/* ---- decode ---------------------------------------------------------------------------------- */

INLINE void decode_block(float *dst, const uint8_t *codes, float scale, int bits, bool is_past) {
    block32 x = floats_of(with_sign(load_codes(codes, bits), bits));
    for (int i = 0; i < VECTORS; i++) put_vector(dst + i * LANES, mul(all(scale), x.v[i]), is_past);
}

INLINE float half_at(const uint8_t *p) {
    uint16_t half;
    memcpy(&half, p, 2);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

/* The scales of eight blocks: what is no block's is not used. */
INLINE void scales_of_super(float scales[TARE_MCF_BLOCKS], float super, const uint8_t *subs,
                            size_t n) {
    uint8_t six[TARE_MCF_BLOCKS] = {0};
    memcpy(six, subs, n);
    __m256i bits = _mm256_and_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)six)),
                                    _mm256_set1_epi32(63));
    __m256 parts = _mm256_div_ps(_mm256_cvtepi32_ps(bits), _mm256_set1_ps(32));
    _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_set1_ps(super), parts));
}

INLINE void decode_scaled_row(float *dst, const tare_mcf_row *at, size_t n_blocks, int bits,
                              bool is_past) {
    for (size_t b = 0; b < n_blocks; b++)
        decode_block(dst + b * TARE_MCF_BLOCK, at->codes + b * 4 * (size_t)bits,
                     half_at(at->scales + b * 2), bits, is_past);
}

INLINE void decode_super_row(float *dst, const tare_mcf_row *at, size_t n_blocks, int bits,
                             bool is_past) {
    for (size_t first = 0; first < n_blocks; first += TARE_MCF_BLOCKS) {
        float scales[TARE_MCF_BLOCKS];
        size_t left = n_blocks - first, n = left < TARE_MCF_BLOCKS ? left : TARE_MCF_BLOCKS;
        scales_of_super(scales, half_at(at->supers + first / TARE_MCF_BLOCKS * 2),
                        at->scales + first, n);
        for (size_t b = 0; b < n; b++)
            decode_block(dst + (first + b) * TARE_MCF_BLOCK,
                         at->codes + (first + b) * 4 * (size_t)bits, scales[b], bits, is_past);
    }
}

/* The partly filled last block, decoded aside. */
INLINE void decode_last(float *dst, const tare_mcf_row *at, size_t b, size_t n, int bits) {
    float x[TARE_MCF_BLOCK];
    float scale = at->supers
                      ? tare_mcf_scale(half_at(at->supers + b / TARE_MCF_BLOCKS * 2), at->scales[b])
                      : half_at(at->scales + b * 2);
    decode_block(x, at->codes + b * 4 * (size_t)bits, scale, bits, false);
    memcpy(dst + b * TARE_MCF_BLOCK, x, n * sizeof *x);
}

INLINE void decode_rows(float *dst, const tare_rows_mut *rows, int bits, bool has_supers,
                        bool is_past) {
    for (uint64_t r = 0; r < rows->n_rows; r++, dst += rows->cols) {
        tare_mcf_row at = tare_mcf_row_at(rows, r, bits, has_supers);
        size_t n_blocks = (size_t)(rows->cols / TARE_MCF_BLOCK);
        size_t n_last = (size_t)(rows->cols % TARE_MCF_BLOCK);
        if (has_supers)
            decode_super_row(dst, &at, n_blocks, bits, is_past);
        else
            decode_scaled_row(dst, &at, n_blocks, bits, is_past);
        if (n_last) decode_last(dst, &at, n_blocks, n_last, bits);
    }
}

INLINE void decode_mcf(float *dst, const tare_rows *src, int bits, bool has_supers) {
    tare_rows_mut rows = {.n_rows = src->n_rows, .cols = src->cols};
    for (int p = 0; p < 3; p++) rows.planes[p] = (uint8_t *)(uintptr_t)src->planes[p];
    join_rows(&rows.n_rows, &rows.cols, has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK);
    if (goes_past(dst, rows.n_rows * rows.cols, rows.cols)) {
        decode_rows(dst, &rows, bits, has_supers, true);
        _mm_sfence();
    } else {
        decode_rows(dst, &rows, bits, has_supers, false);
    }
}

/* ---- encode ---------------------------------------------------------------------------------- */

INLINE vec held(vec t, int bits) {
    const float top = (float)tare_mcf_top(bits);
    return min_of(max_of(t, all(-top)), all(top));
}

/* By division, as the reference has them. */
static __attribute__((noinline)) __m256i divided_codes(const float *src, float divisor, int bits) {
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        codes[i] = and_i(rounded_away(held(divide(load(src + i * LANES), all(divisor)), bits)),
                         all_i(0xff));
    return bytes_of(codes);
}

/* The codes of x / scale. A product with the inverse is within 2^-22 of the quotient, relatively,
 * so 2^-15 of it as quotients are at most 127.5: only near a half can they round apart, and there
 * the block is divided. */
INLINE __m256i codes_of(const float *src, float scale, int bits) {
    if (!(scale > 0)) return _mm256_setzero_si256();
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

/* Lane b: the scale of block b, as stored; as a divisor. False: a number is not finite. */
INLINE bool scales_of_group(vec *scales, const float *src, int bits) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, TARE_MCF_BLOCK)) return false;
    *scales = divide(sizes, all((float)tare_mcf_top(bits)));
    return greater_mask(bits_of(sizes), all_i(TARE_F32_INF - 1)) == 0;
}

/* Brings a block near that will be read two groups later, while this one's codes are written: what
 * the processor fetches by itself comes late, all of a group at once is too much. */
INLINE void fetch_block(const float *src) {
    const char *later = (const char *)(src + 2 * LANES * TARE_MCF_BLOCK);
    _mm_prefetch(later, _MM_HINT_T0);
    _mm_prefetch(later + 64, _MM_HINT_T0);
}

INLINE bool encode_scaled_group(const tare_mcf_row *at, size_t b, const float *src, int bits) {
    uint16_t halves[LANES];
    vec scales;
    if (!scales_of_group(&scales, src, bits)) return false;
    store_halves(halves, scales);
    memcpy(at->scales + b * 2, halves, sizeof halves);
    for (int i = 0; i < LANES; i++) {
        float d = half_at((const uint8_t *)&halves[i]);
        fetch_block(src + i * TARE_MCF_BLOCK);
        __m256i codes = codes_of(src + i * TARE_MCF_BLOCK, d, bits);
        store_codes(at->codes + (b + (size_t)i) * 4 * (size_t)bits, codes, bits);
    }
    return true;
}

typedef bool (*encode_group_fn)(const tare_mcf_row *at, size_t b, const float *src, int bits);

/* Rows in groups of LANES blocks; the rest is the reference's. */
INLINE void encode_mcf(const tare_rows_mut *dst, const float *src, int bits, bool has_supers,
                       encode_group_fn encode_group, tare_encode_fn scalar) {
    tare_rows_mut rows = *dst;
    join_rows(&rows.n_rows, &rows.cols, has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK);
    for (uint64_t r = 0; r < rows.n_rows; r++, src += rows.cols) {
        tare_mcf_row at = tare_mcf_row_at(&rows, r, bits, has_supers);
        size_t n_blocks = (size_t)(rows.cols / TARE_MCF_BLOCK), b = 0;
        for (; n_blocks - b >= LANES; b += LANES) {
            const float *x = src + b * TARE_MCF_BLOCK;
            if (encode_group(&at, b, x, bits)) continue;
            tare_rows_mut odd = rest_of(&at, b, (b + LANES) * TARE_MCF_BLOCK, bits);
            scalar(&odd, x, NULL);
        }
        tare_rows_mut rest = rest_of(&at, b, rows.cols, bits);
        if (rest.cols) scalar(&rest, src + b * TARE_MCF_BLOCK, NULL);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_DECODER(name, ID, bits, has_supers)                                                 \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_mcf(dst, src, bits, has_supers);                                                    \
    }
TARE_MCF_TYPES(DEFINE_DECODER)

static void encode_q8(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_mcf(dst, src, 8, false, encode_scaled_group, tare_encode_q8_c);
}
static void encode_q4(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_mcf(dst, src, 4, false, encode_scaled_group, tare_encode_q4_c);
}

#define USE_DECODER(name, ID, bits, has_supers) k->decode[TARE_ENCODING_##ID] = decode_##name;
INLINE void use_mcf_lanes(tare_kernels *k) {
    TARE_MCF_TYPES(USE_DECODER)
    k->encode[TARE_ENCODING_Q8] = encode_q8;
    k->encode[TARE_ENCODING_Q4] = encode_q4;
}

#endif
