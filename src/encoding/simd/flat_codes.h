/* SPDX-License-Identifier: MIT
 *
 * Contiguous signed codes under one scale, of a whole row or tensor: the fast paths of INFQ's rows
 * and of MCF's int8 and int4. Written on the names of lanes_avx2.h or lanes_avx512.h, which the
 * including file chooses.
 *
 * Codes are quotients by real division: this is as fast as memory, and gives the reference's bits.
 * Minima and maxima of two vectors give the second where one is NaN, so the order of their
 * arguments says whether a NaN is passed over or passed on; passed on, it becomes the smallest
 * integer, whose low byte is the code 0 that the references give it. */
#ifndef TARE_ENCODING_SIMD_FLAT_CODES_H
#define TARE_ENCODING_SIMD_FLAT_CODES_H

#include <string.h>

#include "encoding/simd/stream_store.h"

enum { FLAT_BLOCK = 32 };

INLINE size_t flat_bytes(size_t n, int bits) {
    return bits == 8 ? n : n / 2 + n % 2;
}

/* x = scale * (code - zero) */
typedef struct flat_values {
    float scale, zero;
    int bits;
    bool has_zero;
} flat_values;

INLINE void decode_flat_block(float *dst, const uint8_t *codes, const flat_values *f,
                              bool is_past) {
    block32 x = floats_of(sign_extend(load_packed(codes, f->bits), f->bits));
    for (int i = 0; i < VECTORS; i++) {
        vec level = f->has_zero ? sub(x.v[i], all(f->zero)) : x.v[i];
        put_vector(dst + i * LANES, mul(all(f->scale), level), is_past);
    }
}

/* n numbers; a partial block is decoded into a temporary. */
INLINE void decode_flat(float *dst, const uint8_t *codes, size_t n, const flat_values *f,
                        bool is_past) {
    for (; n >= FLAT_BLOCK; n -= FLAT_BLOCK, dst += FLAT_BLOCK, codes += 4 * f->bits)
        decode_flat_block(dst, codes, f, is_past);
    if (n == 0) return;
    uint8_t last[FLAT_BLOCK] = {0};
    float x[FLAT_BLOCK];
    memcpy(last, codes, flat_bytes(n, f->bits));
    decode_flat_block(x, last, f, false);
    memcpy((uint8_t *)dst, x, n * sizeof *x);
}

/* ---- encode ---------------------------------------------------------------------------------- */

/* The divisor of the numbers, and the range of codes. */
typedef struct flat_grid {
    float scale, zero; /* zero: added to quotients that are rounded away from it */
    float min, max;    /* numbers are held to these first, likewise */
    float low, high;
    int bits;
} flat_grid;

/* The integers of a vector of numbers, of which the low byte counts. */
typedef ivec (*flat_codes_fn)(vec x, const flat_grid *g);

/* Half to even. */
INLINE ivec even_codes(vec x, const flat_grid *g) {
    vec t = divide(x, all(g->scale));
    return nearest_of(max_of(all(g->low), min_of(all(g->high), t)));
}

/* Half away from zero. */
INLINE ivec away_codes(vec x, const flat_grid *g) {
    x = min_of(all(g->max), max_of(all(g->min), x));
    vec t = add(divide(x, all(g->scale)), all(g->zero));
    return rounded_away(max_of(all(g->low), min_of(all(g->high), t)));
}

INLINE bytes32 flat_block(const float *src, const flat_grid *g, flat_codes_fn code) {
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++) codes[i] = and_i(code(load(src + i * LANES), g), all_i(0xff));
    return bytes_of(codes);
}

/* n codes; a partial block is made in a temporary. */
INLINE void encode_flat(uint8_t *codes, const float *src, size_t n, const flat_grid *g,
                        flat_codes_fn code) {
    for (; n >= FLAT_BLOCK; n -= FLAT_BLOCK, src += FLAT_BLOCK, codes += 4 * g->bits)
        store_packed(codes, flat_block(src, g, code), g->bits);
    if (n == 0) return;
    float x[FLAT_BLOCK] = {0};
    uint8_t last[FLAT_BLOCK];
    memcpy(x, (const uint8_t *)src, n * sizeof *x);
    store_packed(last, flat_block(x, g, code), g->bits);
    if (g->bits == 4 && n % 2) last[n / 2] &= 15;
    memcpy(codes, last, flat_bytes(n, g->bits));
}

/* ---- extremes -------------------------------------------------------------------------------- */

enum { EXTREMES = 4 }; /* side by side: a maximum waits for the one before it */

typedef vec (*extreme_fn)(vec a, vec b);

INLINE vec larger_size(vec x, vec most) {
    return max_of(size_of(x), most);
}
INLINE vec larger(vec x, vec most) {
    return max_of(x, most);
}
INLINE vec smaller(vec x, vec least) {
    return min_of(x, least);
}

/* The most extreme of 0 and n numbers; NaN is skipped. */
INLINE float extreme_of(const float *src, size_t n, extreme_fn more) {
    vec found[EXTREMES];
    float lanes[LANES] = {0};
    for (int k = 0; k < EXTREMES; k++) found[k] = all(0);
    for (; n >= EXTREMES * LANES; n -= EXTREMES * LANES, src += EXTREMES * LANES)
        for (int k = 0; k < EXTREMES; k++) found[k] = more(load(src + k * LANES), found[k]);
    for (; n >= LANES; n -= LANES, src += LANES) found[0] = more(load(src), found[0]);
    memcpy(lanes, (const uint8_t *)src, n * sizeof *lanes);
    found[0] = more(load(lanes), found[0]);
    for (int k = 1; k < EXTREMES; k++) found[0] = more(found[k], found[0]);
    store(lanes, found[0]);
    for (int i = 1; i < LANES; i++) found[0] = more(all(lanes[i]), found[0]);
    return first_of(found[0]);
}

#endif
