/* SPDX-License-Identifier: MIT
 *
 * Symbols of a block of 256 positions to values, with the bits that bypass the entropy coder: what
 * tare_wc_emit_c does step by step, for AVX-512 with VBMI. All values of the block are written. */
#ifndef TARE_WCODEC_EMIT_AVX512_H
#define TARE_WCODEC_EMIT_AVX512_H

#include <immintrin.h>

#include "wcodec/x86/wc_edge_avx512.h"

/* Those of step i. */
static inline __m512i symbols_at(const uint8_t *symbols, unsigned i) {
    return _mm512_loadu_si512(symbols + i * TARE_WC_LANES);
}

static inline void emit_nibbles(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    uint8_t *dst = job->dst + p / 2;
    for (unsigned i = 0; i < WC_BLOCK_STEPS; i += 2) {
        __m512i upper = _mm512_slli_epi16(symbols_at(symbols, i + 1), 4);
        _mm512_storeu_si512(dst + 32 * i, _mm512_or_si512(symbols_at(symbols, i), upper));
    }
}

/* Four symbols make three bytes: pairs to 12 bits, pairs of these to 24, then without gaps. */
static inline void emit_sixes(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    uint8_t *dst = job->dst + p / 4 * 3, order[64] = {0};
    for (unsigned i = 0; i < 48; i++) order[i] = (uint8_t)(i / 3 * 4 + i % 3);
    const __m512i to = _mm512_loadu_si512(order);
    for (unsigned i = 0; i < WC_BLOCK_STEPS; i++) {
        __m512i v = _mm512_maddubs_epi16(symbols_at(symbols, i), _mm512_set1_epi16(64 << 8 | 1));
        v = _mm512_madd_epi16(v, _mm512_set1_epi32(4096 << 16 | 1));
        v = _mm512_permutexvar_epi8(to, v);
        _mm512_mask_storeu_epi8(dst + 48 * i, (UINT64_C(1) << 48) - 1, v);
    }
}

/* ---- bypass bits ----------------------------------------------------------------------------- */

/* Bits of positions p .. p + 63, in the low bits of bytes; above them stands anything. */
static inline __m512i group_raw(const uint8_t *group, uint32_t p, unsigned width) {
    unsigned shift;
    const uint8_t *bytes = group + tare_wc_group_at(width, p, &shift);
    return _mm512_srl_epi16(_mm512_loadu_si512(bytes), _mm_cvtsi32_si128((int)shift));
}

static inline __m512i group_bits(const uint8_t *group, uint32_t p, unsigned width) {
    switch (width) { /* constants: no division */
    case 4:
        return _mm512_and_si512(group_raw(group, p, 4), _mm512_set1_epi8(15));
    case 2:
        return _mm512_and_si512(group_raw(group, p, 2), _mm512_set1_epi8(3));
    default:
        return _mm512_and_si512(group_raw(group, p, 1), _mm512_set1_epi8(1));
    }
}

/* keep and sign repeated to fill their vectors; shifts of 16 bits move no bit of a byte into its
 * neighbour that stays. */
static inline __m512i put_together(const layout *l, __m512i top, __m512i low, __m512i keep,
                                   __m512i sign) {
    __m512i v = _mm512_sll_epi16(top, l->shift);
    v = _mm512_or_si512(v, _mm512_and_si512(low, keep));
    return _mm512_or_si512(v, _mm512_and_si512(_mm512_sll_epi16(low, l->to_sign), sign));
}

/* ---- values of 8 bits ------------------------------------------------------------------------ */

/* One group has all bits, and the symbol is the top. */
static inline void emit_plain(const tare_wc_job *job, uint32_t p, const uint8_t *symbols,
                              unsigned width, tare_wc_form form) {
    const __m512i keep = _mm512_set1_epi8((char)((1 << width) - 1));
    const __m512i up = _mm512_set1_epi16((short)width);
    for (unsigned i = 0; i < WC_BLOCK_STEPS; i++) {
        uint32_t at = p + i * TARE_WC_LANES;
        __m512i low = group_raw(job->groups[0], at, width);
        __m512i top = _mm512_sllv_epi16(symbols_at(symbols, i), up);
        __m512i v = _mm512_ternarylogic_epi32(keep, low, top, 0xca); /* keep ? low : top */
        _mm512_storeu_si512(job->dst + at, form == TARE_WC_EDGE ? edge_values(v) : v);
    }
}

static inline __m512i low_bytes(const tare_wc_job *job, uint32_t p) {
    int place = job->rule->k;
    __m512i low = _mm512_set1_epi8((char)job->fill);
    for (unsigned g = 0; g < job->n_groups; g++) {
        place -= job->widths[g];
        __m512i bits = group_bits(job->groups[g], p, job->widths[g]);
        low = _mm512_or_si512(low, _mm512_sll_epi16(bits, _mm_cvtsi32_si128(place)));
    }
    return low;
}

static inline void emit_bytes(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    const layout l = layout_of(job);
    const __m512i keep = _mm512_set1_epi8((char)l.keep), sign = _mm512_set1_epi8((char)l.sign);
    __m256i map_low = _mm512_cvtepi16_epi8(_mm512_loadu_si512(job->rule->map));
    __m256i map_high = _mm512_cvtepi16_epi8(_mm512_loadu_si512(job->rule->map + 32));
    const __m512i map = _mm512_inserti64x4(_mm512_castsi256_si512(map_low), map_high, 1);
    for (unsigned i = 0; i < WC_BLOCK_STEPS; i++) {
        uint32_t at = p + i * TARE_WC_LANES;
        __m512i top = _mm512_permutexvar_epi8(symbols_at(symbols, i), map);
        __m512i v = put_together(&l, top, low_bytes(job, at), keep, sign);
        _mm512_storeu_si512(job->dst + at, v);
    }
}

/* ---- values of 16 bits ----------------------------------------------------------------------- */

/* Both bytes of the values, 64 at a time: their tops in place, by symbol; which of the bypass bits
 * stay where they are; by how many bits the first one moves to become the sign. */
typedef struct word_maker {
    __m512i top[2], keep[2], sign;
    __m128i to_sign;
} word_maker;

/* Bytes i of 64 words. */
static inline __m512i bytes_of(const __m512i words[2], unsigned i) {
    const __m128i down = _mm_cvtsi32_si128((int)(8 * i));
    __m256i first = _mm512_cvtepi16_epi8(_mm512_srl_epi16(words[0], down));
    __m256i second = _mm512_cvtepi16_epi8(_mm512_srl_epi16(words[1], down));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

static inline word_maker word_maker_of(const tare_wc_job *job) {
    const layout l = layout_of(job);
    const unsigned k = job->rule->k;
    const __m512i tops[2] = {_mm512_sll_epi16(_mm512_loadu_si512(job->rule->map), l.shift),
                             _mm512_sll_epi16(_mm512_loadu_si512(job->rule->map + 32), l.shift)};
    word_maker m;
    for (unsigned i = 0; i < 2; i++) {
        m.top[i] = bytes_of(tops, i);
        m.keep[i] = _mm512_set1_epi8((char)(l.keep >> 8 * i));
    }
    m.sign = _mm512_set1_epi8((char)(l.sign >> 8));
    m.to_sign = _mm_cvtsi32_si128((int)(k > 8 ? 16 - k : 8 - k));
    return m;
}

/* Both bytes of the k bypass bits of positions p .. p + 63, of which n groups are read. */
static ALWAYS_INLINE void low_words(__m512i low[2], const tare_wc_job *job, uint32_t p, unsigned k,
                                    unsigned n) {
    low[0] = _mm512_set1_epi8((char)job->fill);
    low[1] = _mm512_set1_epi8((char)(job->fill >> 8));
    for (unsigned g = 0, place = k; g < n; g++) {
        unsigned width = place >= 4 ? 4 : place >= 2 ? 2 : 1, end = place;
        place -= width;
        __m512i bits = group_bits(job->groups[g], p, width);
        if (end > 8) { /* shifts of 16 bits bring nothing in: above the bits stands 0 */
            __m512i upper = place > 8 ? _mm512_sll_epi16(bits, _mm_cvtsi32_si128((int)place - 8))
                                      : _mm512_srl_epi16(bits, _mm_cvtsi32_si128(8 - (int)place));
            if (place < 8)
                upper = _mm512_and_si512(upper, _mm512_set1_epi8((char)((1 << (end - 8)) - 1)));
            low[1] = _mm512_or_si512(low[1], upper);
        }
        if (place >= 8) continue;
        if (end > 8) bits = _mm512_and_si512(bits, _mm512_set1_epi8((char)(255 >> place)));
        low[0] = _mm512_or_si512(low[0], _mm512_sll_epi16(bits, _mm_cvtsi32_si128((int)place)));
    }
}

static ALWAYS_INLINE void emit_words_of(const tare_wc_job *job, uint32_t p, const uint8_t *symbols,
                                        unsigned k, unsigned n) {
    const word_maker m = word_maker_of(job);
    const __m512i first_half = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second_half = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (unsigned i = 0; i < WC_BLOCK_STEPS; i++) {
        uint32_t at = p + i * TARE_WC_LANES;
        uint8_t *dst = job->dst + 2 * (size_t)at;
        __m512i low[2], bytes[2];
        low_words(low, job, at, k, n);
        for (unsigned h = 0; h < 2; h++) /* top | low & keep */
            bytes[h] = _mm512_ternarylogic_epi32(
                _mm512_permutexvar_epi8(symbols_at(symbols, i), m.top[h]), low[h], m.keep[h], 0xf8);
        __m512i sign = _mm512_sll_epi16(low[k > 8], m.to_sign);
        bytes[1] = _mm512_ternarylogic_epi32(bytes[1], sign, m.sign, 0xf8);
        __m512i even = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
        __m512i odd = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
        _mm512_storeu_si512(dst, _mm512_permutex2var_epi64(even, first_half, odd));
        _mm512_storeu_si512(dst + 64, _mm512_permutex2var_epi64(even, second_half, odd));
    }
}

/* The usual numbers of bypass bits, all of them read, have code of their own: constant shifts. */
static inline void emit_words(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    const unsigned k = job->rule->k, n = job->n_groups;
    if (k == 6 && n == 2)
        emit_words_of(job, p, symbols, 6, 2);
    else if (k == 7 && n == 3)
        emit_words_of(job, p, symbols, 7, 3);
    else if (k == 8 && n == 2)
        emit_words_of(job, p, symbols, 8, 2);
    else if (k == 9 && n == 3)
        emit_words_of(job, p, symbols, 9, 3);
    else
        emit_words_of(job, p, symbols, k, n);
}

#endif
