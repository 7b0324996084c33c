/* SPDX-License-Identifier: MIT
 *
 * Symbols of a block of 256 positions to values, with the bits that bypass the entropy coder: what
 * tare_wc_emit_c does step by step, for AVX2, 32 positions at a time. All values are written. */
#ifndef TARE_WCODEC_EMIT_AVX2_H
#define TARE_WCODEC_EMIT_AVX2_H

#include "wcodec/x86/wc_edge_avx2.h"
#include "wcodec/x86/wc_lookup_avx2.h"

enum { AT_ONCE = 32 };

static inline void emit_nibbles(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    uint8_t *dst = job->dst + p / 2;
    for (unsigned i = 0; i < WC_BLOCK / 2; i += AT_ONCE) {
        unsigned at = i / TARE_WC_LANES * 2 * TARE_WC_LANES + i % TARE_WC_LANES;
        __m256i upper = _mm256_slli_epi16(load_256(symbols + at + TARE_WC_LANES), 4);
        store_256(dst + i, _mm256_or_si256(load_256(symbols + at), upper));
    }
}

/* Four symbols make three bytes: pairs to 12 bits, pairs of these to 24, then without gaps. */
static inline void emit_sixes(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    uint8_t *dst = job->dst + p / 4 * 3;
    const __m256i close = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
                                           0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    const __m256i first_six = _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0);
    for (unsigned i = 0; i < WC_BLOCK; i += AT_ONCE) {
        __m256i v = load_256(symbols + i);
        v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(64 << 8 | 1));
        v = _mm256_madd_epi16(v, _mm256_set1_epi32(4096 << 16 | 1));
        v = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, close), order);
        _mm256_maskstore_epi32((int *)(void *)(dst + i / 4 * 3), first_six, v);
    }
}

/* ---- bypass bits ----------------------------------------------------------------------------- */

/* Bits of positions p .. p + 31, in the low bits of bytes; above them stands anything. */
static inline __m256i group_raw(const uint8_t *group, uint32_t p, unsigned width) {
    unsigned shift;
    uint32_t in_step = p % TARE_WC_LANES;
    const uint8_t *bytes = group + tare_wc_group_at(width, p - in_step, &shift) + in_step;
    return _mm256_srl_epi16(load_256(bytes), _mm_cvtsi32_si128((int)shift));
}

static inline __m256i group_bits(const uint8_t *group, uint32_t p, unsigned width) {
    switch (width) { /* constants: no division */
    case 4:
        return _mm256_and_si256(group_raw(group, p, 4), _mm256_set1_epi8(15));
    case 2:
        return _mm256_and_si256(group_raw(group, p, 2), _mm256_set1_epi8(3));
    default:
        return _mm256_and_si256(group_raw(group, p, 1), _mm256_set1_epi8(1));
    }
}

/* keep and sign repeated to fill their vectors; shifts of 16 bits move no bit of a byte into its
 * neighbour that stays. */
static inline __m256i put_together(const layout *l, __m256i top, __m256i low, __m256i keep,
                                   __m256i sign) {
    __m256i v = _mm256_sll_epi16(top, l->shift);
    v = _mm256_or_si256(v, _mm256_and_si256(low, keep));
    return _mm256_or_si256(v, _mm256_and_si256(_mm256_sll_epi16(low, l->to_sign), sign));
}

/* Both bytes of the map's entries. */
static inline void load_map(row map[2], const tare_wc_rule *rule) {
    uint8_t bytes[2][64];
    for (unsigned i = 0; i < 64; i++) {
        bytes[0][i] = (uint8_t)rule->map[i];
        bytes[1][i] = (uint8_t)(rule->map[i] >> 8);
    }
    for (unsigned i = 0; i < 2; i++) map[i] = load_row(bytes[i]);
}

/* ---- values of 8 bits ------------------------------------------------------------------------ */

/* One group has all bits, and the symbol is the top. */
static inline void emit_plain(const tare_wc_job *job, uint32_t p, const uint8_t *symbols,
                              unsigned width, tare_wc_form form) {
    const __m256i keep = _mm256_set1_epi8((char)((1 << width) - 1));
    const __m128i up = _mm_cvtsi32_si128((int)width);
    for (unsigned i = 0; i < WC_BLOCK; i += AT_ONCE) {
        __m256i low = _mm256_and_si256(keep, group_raw(job->groups[0], p + i, width));
        __m256i top = _mm256_sll_epi16(load_256(symbols + i), up);
        __m256i v = _mm256_or_si256(_mm256_andnot_si256(keep, top), low);
        store_256(job->dst + p + i, form == TARE_WC_EDGE ? edge_values(v) : v);
    }
}

static inline __m256i low_bytes(const tare_wc_job *job, uint32_t p) {
    int place = job->rule->k;
    __m256i low = _mm256_set1_epi8((char)job->fill);
    for (unsigned g = 0; g < job->n_groups; g++) {
        place -= job->widths[g];
        __m256i bits = group_bits(job->groups[g], p, job->widths[g]);
        low = _mm256_or_si256(low, _mm256_sll_epi16(bits, _mm_cvtsi32_si128(place)));
    }
    return low;
}

static inline void emit_bytes(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    const layout l = layout_of(job);
    const __m256i keep = _mm256_set1_epi8((char)l.keep), sign = _mm256_set1_epi8((char)l.sign);
    row map[2];
    load_map(map, job->rule);
    for (unsigned i = 0; i < WC_BLOCK; i += AT_ONCE) {
        spots at = spots_of(load_256(symbols + i));
        __m256i low = low_bytes(job, p + i);
        store_256(job->dst + p + i, put_together(&l, look_up(&map[0], &at), low, keep, sign));
    }
}

/* ---- values of 16 bits ----------------------------------------------------------------------- */

/* Half h of 32 bytes, as words. */
static inline __m256i widen(__m256i v, unsigned h) {
    return _mm256_cvtepu8_epi16(h ? _mm256_extracti128_si256(v, 1) : _mm256_castsi256_si128(v));
}

static inline void low_words(__m256i low[2], const tare_wc_job *job, uint32_t p) {
    int place = job->rule->k;
    low[0] = low[1] = _mm256_set1_epi16((short)job->fill);
    for (unsigned g = 0; g < job->n_groups; g++) {
        place -= job->widths[g];
        const __m128i up = _mm_cvtsi32_si128(place);
        __m256i bits = group_bits(job->groups[g], p, job->widths[g]);
        for (unsigned h = 0; h < 2; h++)
            low[h] = _mm256_or_si256(low[h], _mm256_sll_epi16(widen(bits, h), up));
    }
}

static inline void emit_words(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    const layout l = layout_of(job);
    const __m256i keep = _mm256_set1_epi16((short)l.keep), sign = _mm256_set1_epi16((short)l.sign);
    row map[2];
    load_map(map, job->rule);
    for (unsigned i = 0; i < WC_BLOCK; i += AT_ONCE) {
        spots at = spots_of(load_256(symbols + i));
        __m256i low[2], top0 = look_up(&map[0], &at), top1 = look_up(&map[1], &at);
        low_words(low, job, p + i);
        for (unsigned h = 0; h < 2; h++) {
            __m256i top = _mm256_or_si256(widen(top0, h), _mm256_slli_epi16(widen(top1, h), 8));
            __m256i v = put_together(&l, top, low[h], keep, sign);
            store_256(job->dst + 2 * (size_t)(p + i) + 32 * h, v);
        }
    }
}

#endif
