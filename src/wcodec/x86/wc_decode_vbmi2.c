/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments for AVX-512 with VBMI and VBMI2: 64 lanes at a time, up to 4 segments side by
 * side, whose chains of operations hide each other's latency.
 *
 * A state is held as two vectors of 16 bits, its upper and its lower half: the lower half is the
 * slot, the upper the quotient, so nothing is shifted or narrowed. One vector of each holds the
 * lanes A, one the lanes B; their bytes are interleaved to look up all 64 at once. */
#include "wcodec/x86/wc_emit_avx512.h"
#include "wcodec/x86/wc_x86.h"

#define AT_ONCE 4
enum { ODD = 1 };
enum { THR, ALIAS, FREQ_LOW, FREQ_HIGH, ADJ_LOW, ADJ_HIGH, ROWS };

typedef struct lanes {
    __m512i high[2], low[2];
    const uint8_t *words[2];
} lanes;

typedef struct rows {
    __m512i row[ROWS];
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

static inline void load_rows(rows *r, const tare_wc_table *t) {
    const uint8_t *const from[ROWS] = {t->thr,       t->alias,   t->freq_low,
                                       t->freq_high, t->adj_low, t->adj_high};
    for (unsigned i = 0; i < ROWS; i++) r->row[i] = _mm512_loadu_si512(from[i]);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Bytes of even places from a, those of odd places from b. */
static ALWAYS_INLINE __m512i interleave(__m512i a, __m512i b) {
    return _mm512_mask_blend_epi8(UINT64_C(0xaaaaaaaaaaaaaaaa), a, b);
}

/* x = freq * high + r; where the result is below 65536, the next word comes in. */
static ALWAYS_INLINE void renew(lanes *l, unsigned stream, __m512i freq, __m512i r) {
    __m512i low = _mm512_add_epi16(_mm512_mullo_epi16(l->high[stream], freq), r);
    __m512i high = _mm512_mulhi_epu16(l->high[stream], freq);
    __mmask32 carry = _mm512_cmplt_epu16_mask(low, r);
    high = _mm512_mask_sub_epi16(high, carry, high, _mm512_set1_epi16(-1));
    __mmask32 is_short = _mm512_testn_epi16_mask(high, high);
    __m512i words = _mm512_loadu_si512(l->words[stream]);
    l->high[stream] = _mm512_mask_mov_epi16(high, is_short, low);
    l->low[stream] = _mm512_mask_expand_epi16(low, is_short, words);
    l->words[stream] += 2 * (size_t)_mm_popcnt_u32(is_short);
}

static ALWAYS_INLINE symbols step(lanes *l, const rows *t, const unsigned log2) {
    __m512i a = l->low[0], b = l->low[ODD];
    __m512i lower = interleave(a, _mm512_slli_epi16(b, 8));
    __m512i upper = interleave(_mm512_srli_epi16(a, 8), b);
    __m512i thr = _mm512_permutexvar_epi8(lower, t->row[THR]);
    __mmask64 is_alias = _mm512_cmpge_epu8_mask(upper, thr);
    __m512i symbol = _mm512_mask_permutexvar_epi8(lower, is_alias, lower, t->row[ALIAS]);
    __m512i f0 = _mm512_permutexvar_epi8(symbol, t->row[FREQ_LOW]);
    __m512i f1 = _mm512_permutexvar_epi8(symbol, t->row[FREQ_HIGH]);
    __m512i adj0 = _mm512_maskz_permutexvar_epi8(is_alias, lower, t->row[ADJ_LOW]);
    __m512i adj1 = _mm512_maskz_permutexvar_epi8(is_alias, lower, t->row[ADJ_HIGH]);
    __m512i adj = interleave(adj0, _mm512_slli_epi16(adj1, 8));
    renew(l, 0, interleave(f0, _mm512_slli_epi16(f1, 8)), _mm512_add_epi16(v_down(a, log2), adj));
    adj = interleave(_mm512_srli_epi16(adj0, 8), adj1);
    renew(l, ODD, interleave(_mm512_srli_epi16(f0, 8), f1), _mm512_add_epi16(v_down(b, log2), adj));
    return (symbols){{symbol}};
}

#include "wcodec/simd/wc_interleaved.h"

void tare_wc_kernels_use_decode_vbmi2(tare_wc_kernels *k) {
    k->decode = decode_jobs;
}
