/* SPDX-License-Identifier: MIT
 *
 * MCF's int8 and int4, with a zero point or without, in vectors: one run of codes under one scale.
 */
#ifndef TARE_ENCODING_SIMD_MCF_INTS_H
#define TARE_ENCODING_SIMD_MCF_INTS_H

#include "encoding/mcf_blocks.h"
#include "encoding/simd/flat_codes.h"

enum { BOUNDS_PIECE = 4096 };

INLINE void decode_mcf_ints(float *dst, const tare_rows *src, int bits, bool has_zero) {
    const size_t n = tare_rows_count(src);
    const uint8_t *codes = src->planes[has_zero ? 2 : 1];
    flat_values f = {.bits = bits, .has_zero = has_zero};
    memcpy(&f.scale, src->planes[0], sizeof f.scale);
    if (has_zero) memcpy(&f.zero, src->planes[1], sizeof f.zero);
    if (goes_past(dst, n, n)) {
        decode_flat(dst, codes, n, &f, true);
        end_stores_past();
    } else {
        decode_flat(dst, codes, n, &f, false);
    }
}

/* Both bounds of a piece while it is in the cache. */
INLINE tare_mcf_bounds bounds_of(const float *src, size_t n) {
    tare_mcf_bounds b = {0, 0};
    for (size_t piece; n > 0; n -= piece, src += piece) {
        piece = n < BOUNDS_PIECE ? n : BOUNDS_PIECE;
        float min = extreme_of(src, piece, smaller), max = extreme_of(src, piece, larger);
        b.min = min < b.min ? min : b.min;
        b.max = max > b.max ? max : b.max;
    }
    return b;
}

INLINE void encode_mcf_ints(const tare_rows_mut *dst, const float *src,
                            const tare_encode_params *params, int bits, bool has_zero) {
    const size_t n = tare_rows_mut_count(dst);
    const bool has_clip = params && params->has_clip;
    const tare_mcf_bounds clip = {has_clip ? params->clip_min : 0, has_clip ? params->clip_max : 0};
    tare_mcf_grid grid = tare_mcf_int_grid_of(has_clip ? clip : bounds_of(src, n), bits, has_zero);
    uint8_t *codes = tare_mcf_int_begin(dst, &grid, has_zero);
    flat_grid g = {grid.scale,      grid.zero,       grid.min, grid.max,
                   (float)grid.low, (float)grid.top, bits};
    if (grid.scale > 0)
        encode_flat(codes, src, n, &g, away_codes);
    else
        memset(codes, 0, flat_bytes(n, bits));
}

#define DEFINE_INT(name, ID, bits, has_zero)                                                       \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_mcf_ints(dst, src, bits, has_zero);                                                 \
    }                                                                                              \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        encode_mcf_ints(dst, src, params, bits, has_zero);                                         \
    }
TARE_MCF_INTS(DEFINE_INT)

#define USE_INT(name, ID, bits, has_zero)                                                          \
    k->decode[TARE_ENCODING_##ID] = decode_##name;                                                 \
    k->encode[TARE_ENCODING_##ID] = encode_##name;                                                 \
    k->encode_clipped[TARE_ENCODING_##ID] = encode_##name;

INLINE void use_mcf_ints(tare_kernels *k) {
    TARE_MCF_INTS(USE_INT)
}

#endif
