/* SPDX-License-Identifier: MIT
 *
 * Vectors of AVX2 for wc_emit.h. */
#ifndef TARE_WCODEC_EMIT_AVX2_H
#define TARE_WCODEC_EMIT_AVX2_H

#include "wcodec/x86/wc_edge_avx2.h"
#include "wcodec/x86/wc_lookup_avx2.h"

typedef __m256i vec;
typedef row table;
enum { VEC_BYTES = 32 };

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
static ALWAYS_INLINE vec v_sub_bytes(vec a, vec b) {
    return _mm256_sub_epi8(a, b);
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
    spots at = spots_of(index);
    return look_up(t, &at);
}

/* Four symbols make three bytes: pairs to 12 bits, pairs of these to 24, then without gaps. */
static ALWAYS_INLINE void v_store_sixes(uint8_t *p, vec v) {
    const vec close = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1,
                                       2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const vec order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    const vec first_six = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
    v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(64 << 8 | 1));
    v = _mm256_madd_epi16(v, _mm256_set1_epi32(4096 << 16 | 1));
    v = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, close), order);
    _mm256_maskstore_epi32((int *)(void *)p, first_six, v);
}

#include "wcodec/x86/wc_emit.h"

#endif
