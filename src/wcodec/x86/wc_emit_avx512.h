/* SPDX-License-Identifier: MIT
 *
 * Vectors of AVX-512 with VBMI and GFNI for wc_emit.h. */
#ifndef TARE_WCODEC_EMIT_AVX512_H
#define TARE_WCODEC_EMIT_AVX512_H

#include "wcodec/wc_trellis.h"
#include "wcodec/x86/wc_edge_avx512.h"
#include "wcodec/x86/wc_sixes_avx512.h"

typedef __m512i vec, table;
typedef uint16_t u16_lanes __attribute__((vector_size(64), may_alias));
enum { VEC_BYTES = 64, ADDS_TO_ROWS = false };

static ALWAYS_INLINE vec v_load(const uint8_t *p) {
    return _mm512_loadu_si512(p);
}
static ALWAYS_INLINE void v_store(uint8_t *p, vec v) {
    _mm512_storeu_si512(p, v);
}
static ALWAYS_INLINE vec v_all(uint8_t byte) {
    return _mm512_set1_epi8((char)byte);
}
static ALWAYS_INLINE vec v_up(vec v, unsigned n) {
    return (vec)((u16_lanes)v << (uint16_t)n);
}
static ALWAYS_INLINE vec v_down(vec v, unsigned n) {
    return (vec)((u16_lanes)v >> (uint16_t)n);
}
static ALWAYS_INLINE vec v_or(vec a, vec b) {
    return _mm512_or_si512(a, b);
}
static ALWAYS_INLINE vec v_and(vec a, vec b) {
    return _mm512_and_si512(a, b);
}
static ALWAYS_INLINE vec v_add(vec a, vec b) {
    return _mm512_add_epi8(a, b);
}
/* A product of bits with a matrix, whose byte 7 - i says which bits of a byte become bit i. */
static ALWAYS_INLINE vec v_place(vec v, unsigned from, unsigned n, unsigned to) {
    const uint64_t diagonal = UINT64_C(0x2040810204081) & ((UINT64_C(1) << 7 * n) - 1);
    const uint64_t matrix = diagonal << (63 - 7 * n - 8 * to + from);
    return _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64((long long)matrix), 0);
}
static ALWAYS_INLINE vec v_or_and(vec a, vec b, vec c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0xf8);
}
static ALWAYS_INLINE vec v_choose(vec a, vec b, vec c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0xca);
}
static ALWAYS_INLINE void v_store_words(uint8_t *p, vec low, vec high) {
    const vec first_half = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const vec second_half = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    vec even = _mm512_unpacklo_epi8(low, high), odd = _mm512_unpackhi_epi8(low, high);
    v_store(p, _mm512_permutex2var_epi64(even, first_half, odd));
    v_store(p + 64, _mm512_permutex2var_epi64(even, second_half, odd));
}
static ALWAYS_INLINE table load_table(const uint8_t *bytes) {
    return v_load(bytes);
}
static ALWAYS_INLINE vec look_up_in(const table *t, vec index) {
    return _mm512_permutexvar_epi8(index, *t);
}

static ALWAYS_INLINE void v_store_sixes(uint8_t *p, vec v) {
    _mm512_mask_storeu_epi8(p, (UINT64_C(1) << SIXES_BYTES) - 1, pack_sixes(v));
}

/* By top: what its two bits are added to; those that have another value, if any; that value. */
typedef struct edge_tables {
    table first, other_bits, other;
} edge_tables;

static inline edge_tables load_edge_tables(void) {
    uint8_t first[64], other_bits[64], other[64] = {0};
    for (unsigned top = 0; top < 64; top++) {
        const unsigned slot = top << TARE_WC_EDGE_K;
        first[top] = (uint8_t)(tare_wc_edge_value((uint8_t)(slot + 1)) - 1); /* never an edge's */
        other_bits[top] = 255;
        for (unsigned low = 0; low < 1 << TARE_WC_EDGE_K; low++) {
            uint8_t value = tare_wc_edge_value((uint8_t)(slot + low));
            if (value == (uint8_t)(first[top] + low)) continue;
            other_bits[top] = (uint8_t)low;
            other[top] = value;
        }
    }
    return (edge_tables){v_load(first), v_load(other_bits), v_load(other)};
}

static ALWAYS_INLINE vec v_edge(const edge_tables *t, vec symbol, vec low) {
    __mmask64 is_other = _mm512_cmpeq_epi8_mask(low, look_up_in(&t->other_bits, symbol));
    vec value = _mm512_add_epi8(look_up_in(&t->first, symbol), low);
    return _mm512_mask_permutexvar_epi8(value, is_other, symbol, t->other);
}

/* Both what a step means and the state that follows are linear in bits, so each is a product of bits
 * with a matrix. Bit 0 of a state is held at bit 6: bits 0 to 5 have room for a symbol. */
typedef struct trellis_tables {
    vec in, out, value, next;
} trellis_tables;

/* The matrix that turns bit i of a byte into images[i], the sum of these. */
static inline vec matrix_of(const uint8_t images[8]) {
    uint64_t matrix = 0;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned bit = 0; bit < 8; bit++)
            matrix |= (uint64_t)(images[i] >> bit & 1) << (8 * (7 - bit) + i);
    return _mm512_set1_epi64((long long)matrix);
}

static inline uint8_t held_state(uint8_t t) {
    return (uint8_t)((t & 0x1e) | (t & 1) << 6);
}

static inline trellis_tables load_trellis_tables(unsigned states) {
    uint8_t in[8] = {0}, out[8] = {0}, value[8] = {0}, next[8] = {0};
    for (uint8_t i = 0; i < 6; i++) value[i] = tare_wc_trellis_value(0, (uint8_t)(1 << i)) ^ 1;
    value[6] = tare_wc_trellis_value(1, 0) ^ 1;
    next[0] = held_state(tare_wc_trellis_next(states, 0, 1));
    for (uint8_t i = 0; i < 5; i++) {
        const uint8_t t = (uint8_t)(1 << i), place = i ? i : 6;
        in[i] = held_state(t);
        out[place] = t;
        next[place] = held_state(tare_wc_trellis_next(states, t, 0));
    }
    return (trellis_tables){matrix_of(in), matrix_of(out), matrix_of(value), matrix_of(next)};
}

static ALWAYS_INLINE vec v_trellis_in(const trellis_tables *t, vec state) {
    return _mm512_gf2p8affine_epi64_epi8(state, t->in, 0);
}
static ALWAYS_INLINE vec v_trellis_out(const trellis_tables *t, vec state) {
    return _mm512_gf2p8affine_epi64_epi8(state, t->out, 0);
}
static ALWAYS_INLINE vec v_trellis(const trellis_tables *t, vec *state, vec symbol) {
    const vec all = v_choose(v_all(63), symbol, *state), last = v_choose(v_all(1), symbol, *state);
    *state = _mm512_gf2p8affine_epi64_epi8(last, t->next, 0);
    return _mm512_gf2p8affine_epi64_epi8(all, t->value, 1);
}

#include "wcodec/simd/wc_emit.h"

#endif
