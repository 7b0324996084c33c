/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments for AVX-512 with VBMI and VBMI2: 64 lanes at a time, 2 segments side by side,
 * 4 of nibbles, whose chains of operations hide each other's latency. (With more the states do not
 * all stay in registers: of BF16 3 and 4 are decoded at 0.90 and 0.66 of the speed.)
 *
 * A state is held as two vectors of 16 bits, its upper and its lower half: the lower half is the
 * slot, the upper the quotient, so nothing is shifted or narrowed. One vector of each holds the
 * lanes A, one the lanes B. Tables are held as words, so that a look-up gives whole frequencies, and
 * an alphabet of 16 needs half of a table. */
#include "wcodec/x86/wc_emit_avx512.h"
#include "wcodec/x86/wc_x86.h"

#define AT_ONCE         2
#define NIBBLES_AT_ONCE 4
enum { ODD = 1 };
enum { BUCKET, FREQ, ADJ, ROWS };

typedef struct lanes {
    __m512i high[2], low[2];
    const uint8_t *words[2];
} lanes;

typedef struct rows {
    __m512i row[ROWS][2]; /* words of entries 0 to 31, 32 to 63 */
} rows;

static inline void load_halves(lanes *l, uint16_t halves[4][TARE_WC_LANES / 2]) {
    for (unsigned i = 0; i < 2; i++) {
        l->high[i] = _mm512_loadu_si512(halves[i]);
        l->low[i] = _mm512_loadu_si512(halves[2 + i]);
    }
}

static inline void store_halves(uint16_t halves[4][TARE_WC_LANES / 2], const lanes *l) {
    for (unsigned i = 0; i < 2; i++) {
        _mm512_storeu_si512(halves[i], l->high[i]);
        _mm512_storeu_si512(halves[2 + i], l->low[i]);
    }
}

static inline __m512i load_words(const uint8_t *bytes) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)bytes));
}

static inline __m512i pair_words(const uint8_t *low, const uint8_t *high) {
    return _mm512_or_si512(load_words(low), _mm512_slli_epi16(load_words(high), 8));
}

/* Threshold and alias of a bucket, the frequency of a symbol, what is added to an alias' rank. */
static inline void load_rows(rows *r, const tare_wc_table *t) {
    for (unsigned h = 0, at = 0; h < 2; h++, at += 32) {
        r->row[BUCKET][h] = pair_words(t->alias + at, t->thr + at);
        r->row[FREQ][h] = pair_words(t->freq_low + at, t->freq_high + at);
        r->row[ADJ][h] = pair_words(t->adj_low + at, t->adj_high + at);
    }
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Words of a row, by the lowest bits of words. */
static ALWAYS_INLINE __m512i look_up(const __m512i row[2], __m512i index, const unsigned log2) {
    if (log2 == 4) return _mm512_permutexvar_epi16(index, row[0]); /* twice in 32 words */
    return _mm512_permutex2var_epi16(row[0], index, row[1]);
}

/* Adds what is carried from the lower half of states to the upper one; which are below 65536. Two
 * segments side by side wait for the result: it does not wait for the sum, at the price of an
 * operation. Four do not. */
static ALWAYS_INLINE __mmask32 carry_over(__m512i *high, __m512i low, __m512i r,
                                          const unsigned log2) {
    const __m512i minus_one = _mm512_set1_epi16(-1);
    if (log2 == 4) {
        *high = _mm512_mask_sub_epi16(*high, _mm512_cmplt_epu16_mask(low, r), *high, minus_one);
        return _mm512_testn_epi16_mask(*high, *high);
    }
    const __mmask32 no_carry = _mm512_cmpge_epu16_mask(low, r);
    const __mmask32 is_short = _mm512_mask_testn_epi16_mask(no_carry, *high, *high);
    *high = _mm512_mask_sub_epi16(*high, ~no_carry, *high, minus_one);
    return is_short;
}

/* x = freq * high + r; where the result is below 65536, the next word comes in. */
static ALWAYS_INLINE void renew(lanes *l, unsigned stream, __m512i freq, __m512i r,
                                const unsigned log2) {
    __m512i low = _mm512_add_epi16(_mm512_mullo_epi16(l->high[stream], freq), r);
    __m512i high = _mm512_mulhi_epu16(l->high[stream], freq);
    __mmask32 is_short = carry_over(&high, low, r, log2);
    __m512i words = _mm512_loadu_si512(l->words[stream]);
    l->high[stream] = _mm512_mask_mov_epi16(high, is_short, low);
    l->low[stream] = _mm512_mask_expand_epi16(low, is_short, words);
    l->words[stream] += 2 * (size_t)_mm_popcnt_u32(is_short);
}

/* Both streams read the tables from memory: without this compilers keep them in registers from one
 * to the other, and states go to memory instead. */
static ALWAYS_INLINE const rows *in_memory(const rows *t) {
    __asm__("" : "+r"(t));
    return t;
}

/* Symbols of the lanes of a stream, in the lowest bits of words. (Frequencies of both symbols of a
 * bucket, to be chosen from, would not have to wait for the choice; but a look-up more takes longer
 * than the wait, which other segments fill.) */
static ALWAYS_INLINE __m512i stream_step(lanes *l, const rows *t, unsigned stream,
                                         const unsigned log2) {
    const __m512i slot = l->low[stream], rank = v_down(slot, log2);
    t = in_memory(t);
    __m512i bucket = look_up(t->row[BUCKET], slot, log2);
    __mmask32 is_alias =
        _mm512_cmpge_epu16_mask(_mm512_or_si512(slot, _mm512_set1_epi16(255)), bucket);
    __m512i symbol = _mm512_mask_blend_epi16(is_alias, slot, bucket);
    __m512i adj = look_up(t->row[ADJ], slot, log2);
    renew(l, stream, look_up(t->row[FREQ], symbol, log2),
          _mm512_mask_add_epi16(rank, is_alias, rank, adj), log2);
    return symbol;
}

static ALWAYS_INLINE symbols step(lanes *l, const rows *t, const unsigned log2) {
    __m512i a = stream_step(l, t, 0, log2), b = stream_step(l, t, ODD, log2);
    const __mmask64 odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
    return (symbols){{_mm512_mask_blend_epi8(odd, a, _mm512_slli_epi16(b, 8))}};
}

#include "wcodec/simd/wc_interleaved.h"

void tare_wc_kernels_use_decode_vbmi2(tare_wc_kernels *k) {
    k->decode = decode_jobs;
}
