/* SPDX-License-Identifier: MIT
 *
 * Words of DIRECT segments for AVX-512 with VBMI and VBMI2: 64 lanes at a time, from the last
 * position to the first. As in the decoder a state is two vectors of 16 bits; it is divided by
 * 16-bit products (wc_table.h says why that is exact), and its slot is gathered.
 *
 * One chain of steps is bound by the latency of what a state passes through, mostly the gather;
 * alternatives with 32-bit lanes need twice the lookups. */
#include <immintrin.h>

#include "wcodec/x86/wc_block.h"
#include "wcodec/x86/wc_x86.h"

enum { FREQ_LOW, FREQ_HIGH, RECIP_LOW, RECIP_HIGH, START_LOW, START_HIGH, SHIFT, ROWS };

typedef struct lanes {
    __m512i high[2], low[2];
    uint8_t *words[2];
} lanes;

typedef struct rows {
    __m512i row[ROWS];
    const uint16_t *slot;
} rows;

static inline void load_rows(rows *r, const tare_wc_inverse *v) {
    const uint8_t *const from[ROWS] = {
        v->table->freq_low, v->table->freq_high, v->recip_low, v->recip_high,
        v->start_low,       v->start_high,       v->shift};
    for (unsigned i = 0; i < ROWS; i++) r->row[i] = _mm512_loadu_si512(from[i]);
    r->slot = v->slot + TARE_WC_INVERSE_PAD;
}

static inline void load_lanes(lanes *l, const tare_wc_put *p) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        halves[i % 2][i / 2] = (uint16_t)(p->x[i] >> 16);
        halves[2 + i % 2][i / 2] = (uint16_t)p->x[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        l->high[i] = _mm512_loadu_si512(halves[i]);
        l->low[i] = _mm512_loadu_si512(halves[2 + i]);
        l->words[i] = p->words[i];
    }
}

static inline void store_lanes(tare_wc_put *p, const lanes *l) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    for (unsigned i = 0; i < 2; i++) {
        _mm512_storeu_si512(halves[i], l->high[i]);
        _mm512_storeu_si512(halves[2 + i], l->low[i]);
        p->words[i] = l->words[i];
    }
    for (unsigned i = 0; i < TARE_WC_LANES; i++)
        p->x[i] = (uint32_t)halves[i % 2][i / 2] << 16 | halves[2 + i % 2][i / 2];
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Words of a stream's lanes from bytes of all lanes: those of even places, or of odd ones. */
static ALWAYS_INLINE __m512i words_of(__m512i low, __m512i high, unsigned stream) {
    const __mmask64 odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
    return stream ? _mm512_mask_blend_epi8(odd, _mm512_srli_epi16(low, 8), high)
                  : _mm512_mask_blend_epi8(odd, low, _mm512_slli_epi16(high, 8));
}

/* 32 slots by their numbers; entries before and behind those asked for are read, too. */
static ALWAYS_INLINE __m512i gather(const uint16_t *slot, __m512i at) {
    __m512i even = _mm512_and_si512(at, _mm512_set1_epi32(0xffff));
    __m512i odd = _mm512_srli_epi32(at, 16);
    even = _mm512_i32gather_epi32(even, slot, 2);
    odd = _mm512_i32gather_epi32(odd, slot - 1, 2);
    return _mm512_mask_blend_epi16(0xaaaaaaaa, even, odd);
}

/* Lanes whose state is too large for a frequency give their lower half away. */
static ALWAYS_INLINE void shrink(lanes *l, unsigned stream, __m512i freq) {
    __mmask32 is_due = _mm512_cmpge_epu16_mask(l->high[stream], freq);
    unsigned n = (unsigned)_mm_popcnt_u32(is_due);
    __m512i words = _mm512_maskz_compress_epi16(is_due, l->low[stream]);
    l->words[stream] -= 2 * (size_t)n;
    _mm512_mask_storeu_epi16(l->words[stream], _bzhi_u32(~UINT32_C(0), n), words);
    l->low[stream] = _mm512_mask_mov_epi16(l->low[stream], is_due, l->high[stream]);
    l->high[stream] = _mm512_maskz_mov_epi16(_knot_mask32(is_due), l->high[stream]);
}

/* x = x / freq * 65536 + the slot of what remains. Quotient and remainder are found for x and freq
 * shifted left until freq has 16 bits, then right by 2: differences of remainders fit 16 bits. */
static ALWAYS_INLINE void grow(lanes *l, unsigned stream, __m512i freq, __m512i recip,
                               __m512i start, __m512i shift, const uint16_t *slot, const int log2) {
    __m512i high = _mm512_shldv_epi16(l->high[stream], l->low[stream], shift);
    __m512i low = _mm512_sllv_epi16(l->low[stream], shift);
    __m512i divisor = _mm512_srli_epi16(_mm512_sllv_epi16(freq, shift), 2);
    __m512i twice = _mm512_add_epi16(divisor, divisor);
    __m512i q = _mm512_add_epi16(high, _mm512_mulhi_epu16(high, recip));
    __m512i rest = _mm512_shrdi_epi16(low, high, 2);
    rest = _mm512_sub_epi16(rest, _mm512_mullo_epi16(q, divisor));
    __mmask32 by_two = _mm512_cmpge_epu16_mask(rest, twice);
    rest = _mm512_min_epu16(rest, _mm512_sub_epi16(rest, twice));
    __mmask32 by_one = _mm512_cmpge_epu16_mask(rest, divisor);
    rest = _mm512_min_epu16(rest, _mm512_sub_epi16(rest, divisor));
    q = _mm512_mask_add_epi16(q, by_two, q, _mm512_set1_epi16(2));
    q = _mm512_mask_sub_epi16(q, by_one, q, _mm512_set1_epi16(-1));
    /* The rank in units of 2^(8 - log2), of which 2 bits are gone. */
    __m512i down = _mm512_add_epi16(shift, _mm512_set1_epi16((short)(6 - log2)));
    __m512i rank = _mm512_srlv_epi16(rest, down);
    const __m512i in_unit = _mm512_set1_epi16((short)(((1 << (8 - log2)) - 1) << log2));
    __m512i below =
        _mm512_and_si512(_mm512_sll_epi16(l->low[stream], _mm_cvtsi32_si128(log2)), in_unit);
    l->low[stream] = _mm512_or_si512(gather(slot, _mm512_add_epi16(start, rank)), below);
    l->high[stream] = q;
}

static ALWAYS_INLINE void step(lanes *l, const uint8_t *symbols, const rows *r, const int log2) {
    __m512i s = _mm512_loadu_si512(symbols), at[ROWS];
    for (unsigned i = 0; i < ROWS; i++) at[i] = _mm512_permutexvar_epi8(s, r->row[i]);
    for (unsigned i = 0; i < 2; i++) {
        __m512i freq = words_of(at[FREQ_LOW], at[FREQ_HIGH], i);
        __m512i recip = words_of(at[RECIP_LOW], at[RECIP_HIGH], i);
        __m512i start = words_of(at[START_LOW], at[START_HIGH], i);
        __m512i shift = words_of(at[SHIFT], _mm512_setzero_si512(), i);
        shrink(l, i, freq);
        grow(l, i, freq, recip, start, shift, r->slot, log2);
    }
}

#include "wcodec/x86/wc_put_jobs.h"

void tare_wc_kernels_use_encode_vbmi2(tare_wc_kernels *k) {
    k->encode = encode;
}
