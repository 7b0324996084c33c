/* SPDX-License-Identifier: MIT
 *
 * Vectors of AVX2 for wc_emit.h. */
#ifndef TARE_WCODEC_EMIT_AVX2_H
#define TARE_WCODEC_EMIT_AVX2_H

#include "wcodec/wc_trellis.h"
#include "wcodec/x86/wc_edge_avx2.h"
#include "wcodec/x86/wc_lookup_avx2.h"
#include "wcodec/x86/wc_sixes_avx2.h"

typedef __m256i vec;
typedef row table;
enum { VEC_BYTES = 32, ADDS_TO_ROWS = true };

static ALWAYS_INLINE vec v_load(const uint8_t *p) {
    return load_256(p);
}
static ALWAYS_INLINE void v_store(uint8_t *p, vec v) {
    store_256(p, v);
}
static ALWAYS_INLINE vec v_all(uint8_t byte) {
    return _mm256_set1_epi8((char)byte);
}
static ALWAYS_INLINE vec v_up(vec v, unsigned n) {
    return _mm256_slli_epi16(v, (int)n);
}
static ALWAYS_INLINE vec v_down(vec v, unsigned n) {
    return _mm256_srli_epi16(v, (int)n);
}
static ALWAYS_INLINE vec v_or(vec a, vec b) {
    return _mm256_or_si256(a, b);
}
static ALWAYS_INLINE vec v_and(vec a, vec b) {
    return _mm256_and_si256(a, b);
}
static ALWAYS_INLINE vec v_xor(vec a, vec b) {
    return _mm256_xor_si256(a, b);
}
static ALWAYS_INLINE vec v_add(vec a, vec b) {
    return _mm256_add_epi8(a, b);
}
/* One shift where both places are constants. */
static ALWAYS_INLINE vec v_place(vec v, unsigned from, unsigned n, unsigned to) {
    const vec mask = v_all((uint8_t)(((1u << n) - 1) << to));
    if (!__builtin_constant_p(from < to)) v = v_down(v, from), from = 0;
    return v_and(from < to ? v_up(v, to - from) : v_down(v, from - to), mask);
}
static ALWAYS_INLINE vec v_or_and(vec a, vec b, vec c) {
    return v_or(a, v_and(b, c));
}
static ALWAYS_INLINE vec v_choose(vec a, vec b, vec c) {
    return v_or(v_and(a, b), _mm256_andnot_si256(a, c));
}
static ALWAYS_INLINE void v_store_words(uint8_t *p, vec low, vec high) {
    vec even = _mm256_unpacklo_epi8(low, high), odd = _mm256_unpackhi_epi8(low, high);
    v_store(p, _mm256_permute2x128_si256(even, odd, 0x20));
    v_store(p + 32, _mm256_permute2x128_si256(even, odd, 0x31));
}
static ALWAYS_INLINE table load_table(const uint8_t *bytes) {
    return load_row(bytes);
}
static ALWAYS_INLINE vec look_up_in(const table *t, vec index) {
    lut_index at = lut_index_of(index);
    return look_up(t, &at);
}

static ALWAYS_INLINE void v_store_sixes(uint8_t *p, vec v) {
    store_sixes(p, v);
}

/* No tables: look-ups take longer than comparisons. */
typedef struct edge_tables {
    char none;
} edge_tables;
static ALWAYS_INLINE edge_tables load_edge_tables(void) {
    return (edge_tables){0};
}
static ALWAYS_INLINE vec v_edge(const edge_tables *t, vec symbol, vec low) {
    (void)t;
    return edge_values(v_or_and(low, v_up(symbol, 2), v_all(0xfc)));
}

/* No tables here either: the state that follows is a sum (without carry) of what the state, its
 * lowest bit and that of the symbol add. */
typedef struct trellis_tables {
    vec odd_state, odd_symbol;
    unsigned down; /* from bit 2 to that of odd_symbol */
} trellis_tables;
static inline trellis_tables load_trellis_tables(unsigned states) {
    return (trellis_tables){v_all(tare_wc_trellis_next(states, 1, 0)),
                            v_all(tare_wc_trellis_next(states, 0, 1)), states == 8};
}
static ALWAYS_INLINE vec v_trellis_in(const trellis_tables *t, vec state) {
    (void)t;
    return state;
}
static ALWAYS_INLINE vec v_trellis_out(const trellis_tables *t, vec state) {
    (void)t;
    return state;
}
static ALWAYS_INLINE vec v_trellis(const trellis_tables *t, vec *state, vec symbol) {
    const vec steps = v_and(v_up(symbol, 2), v_all(0xfc));
    const vec is_odd = _mm256_sub_epi8(v_all(0), v_and(*state, v_all(1)));
    const vec half = v_and(v_down(*state, 1), v_all(15));
    const vec of_symbol = v_and(v_down(steps, t->down), t->odd_symbol);
    *state = v_xor(v_xor(half, v_and(is_odd, t->odd_state)), of_symbol);
    return v_xor(steps, v_or(is_odd, v_all(1)));
}

#include "wcodec/simd/wc_emit.h"

#endif
