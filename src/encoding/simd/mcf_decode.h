/* SPDX-License-Identifier: MIT
 *
 * The decoders of MCF's q8, q4, k6, k4, k3 and k2 in vectors, written on the names of lanes_avx2.h
 * or lanes_avx512.h, which the including file chooses. Rows are treated as one if their length is a
 * whole number of blocks. */
#ifndef TARE_ENCODING_SIMD_MCF_DECODE_H
#define TARE_ENCODING_SIMD_MCF_DECODE_H

#include <string.h>

#include "encoding/mcf_blocks.h"
#include "encoding/simd/encode_groups.h"
#include "encoding/simd/stream_store.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows whose length is a whole number of `step` elements follow each other without padding. */
INLINE void join_rows(uint64_t *n_rows, uint64_t *cols, uint64_t step) {
    if (*cols % step) return;
    *cols *= *n_rows;
    *n_rows = 1;
}

/* ---- decode ---------------------------------------------------------------------------------- */

INLINE void decode_block(float *dst, const uint8_t *codes, float scale, int bits, bool is_past) {
    block32 x = floats_of(sign_extend(load_packed(codes, bits), bits));
    for (int i = 0; i < VECTORS; i++) put_vector(dst + i * LANES, mul(all(scale), x.v[i]), is_past);
}

INLINE float half_at(const uint8_t *p) {
    uint16_t half;
    memcpy(&half, p, 2);
    return float_of_half(half);
}

/* The scales of eight blocks: those without a block are not used. */
INLINE void scales_of_super(float scales[TARE_MCF_BLOCKS], float super, const uint8_t *subs,
                            size_t n) {
    uint8_t six[TARE_MCF_BLOCKS] = {0};
    memcpy(six, subs, n);
    words8 bits = and_bytes(words_of_bytes(six), all_words(63));
    floats8 parts = divide_8(floats_of_words(bits), all_8(32));
    store_8(scales, mul_8(all_8(super), parts));
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

/* The partly filled last block, decoded into a temporary. */
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
        end_stores_past();
    } else {
        decode_rows(dst, &rows, bits, has_supers, false);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_DECODER(name, ID, bits, has_supers)                                                 \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_mcf(dst, src, bits, has_supers);                                                    \
    }
TARE_MCF_TYPES(DEFINE_DECODER)

#define USE_DECODER(name, ID, bits, has_supers) k->decode[TARE_ENCODING_##ID] = decode_##name;
INLINE void use_mcf_decoders(tare_kernels *k) {
    TARE_MCF_TYPES(USE_DECODER)
}

#endif
