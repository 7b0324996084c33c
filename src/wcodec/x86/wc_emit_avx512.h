/* SPDX-License-Identifier: MIT
 *
 * Vectors of AVX-512 with VBMI for wc_emit.h. */
#ifndef TARE_WCODEC_EMIT_AVX512_H
#define TARE_WCODEC_EMIT_AVX512_H

#include "wcodec/x86/wc_edge_avx512.h"
#include "wcodec/x86/wc_sixes_avx512.h"

typedef __m512i vec, table;
typedef uint16_t u16_lanes __attribute__((vector_size(64), may_alias));
enum { VEC_BYTES = 64 };

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
static ALWAYS_INLINE vec v_xor(vec a, vec b) {
    return _mm512_xor_si512(a, b);
}
static ALWAYS_INLINE vec v_sub_bytes(vec a, vec b) {
    return _mm512_sub_epi8(a, b);
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

#include "wcodec/simd/wc_emit.h"

#endif
