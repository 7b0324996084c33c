/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments for AVX2: the 64 lanes of one segment at a time, which fill the registers. As
 * with AVX-512 a state is two vectors of 16 bits and the bytes of lanes A and B are interleaved;
 * words are expanded by shuffles. */
#include "wcodec/x86/wc_emit_avx2.h"
#include "wcodec/x86/wc_x86.h"

#define AT_ONCE 1
enum { ODD = 1 };
enum { THR, ALIAS, FREQ_LOW, FREQ_HIGH, ADJ_LOW, ADJ_HIGH, ROWS };

typedef struct lanes {
    __m256i high[2][2], low[2][2]; /* of a stream: lanes 0 to 15, 16 to 31 */
    const uint8_t *words[2];
} lanes;

typedef struct rows {
    row row[ROWS];
} rows;

static inline void load_halves(lanes *l, uint16_t halves[4][TARE_WC_LANES / 2]) {
    for (unsigned i = 0; i < 4; i++) {
        l->high[i / 2][i % 2] = load_256((const uint8_t *)(halves[i / 2] + 16 * (i % 2)));
        l->low[i / 2][i % 2] = load_256((const uint8_t *)(halves[2 + i / 2] + 16 * (i % 2)));
    }
}

static inline void store_halves(uint16_t halves[4][TARE_WC_LANES / 2], const lanes *l) {
    for (unsigned i = 0; i < 4; i++) {
        store_256((uint8_t *)(halves[i / 2] + 16 * (i % 2)), l->high[i / 2][i % 2]);
        store_256((uint8_t *)(halves[2 + i / 2] + 16 * (i % 2)), l->low[i / 2][i % 2]);
    }
}

static inline void load_rows(rows *r, const tare_wc_table *t) {
    const uint8_t *const from[ROWS] = {t->thr,       t->alias,   t->freq_low,
                                       t->freq_high, t->adj_low, t->adj_high};
    for (unsigned i = 0; i < ROWS; i++) r->row[i] = load_row(from[i]);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Bytes of even places from a, those of odd places from b. */
static ALWAYS_INLINE __m256i interleave(__m256i a, __m256i b) {
    return _mm256_blendv_epi8(a, b, _mm256_set1_epi16((short)0xff00));
}

/* Eight words in their order to the lanes whose byte of `is_short` is 255; to others, anything. */
static ALWAYS_INLINE __m128i expand(const uint8_t **words, uint64_t is_short) {
    __m128i w = _mm_loadu_si128((const __m128i *)(const void *)*words);
    uint64_t ranks = _pdep_u64(UINT64_C(0x0706050403020100), is_short);
    __m128i rank = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)ranks));
    /* Bytes 2 * rank and 2 * rank + 1. */
    rank = _mm_add_epi16(_mm_mullo_epi16(rank, _mm_set1_epi16(0x202)), _mm_set1_epi16(0x100));
    *words += (unsigned)__builtin_popcountll(is_short) / 4;
    return _mm_shuffle_epi8(w, rank);
}

/* x = freq * high + r; where the result is below 65536, the next word comes in. */
static ALWAYS_INLINE void renew(lanes *l, unsigned stream, unsigned h, __m256i freq, __m256i r) {
    __m256i low = _mm256_add_epi16(_mm256_mullo_epi16(l->high[stream][h], freq), r);
    __m256i high = _mm256_mulhi_epu16(l->high[stream][h], freq);
    __m256i no_carry = _mm256_cmpeq_epi16(_mm256_max_epu16(low, r), low);
    high = _mm256_add_epi16(_mm256_add_epi16(high, _mm256_set1_epi16(1)), no_carry);
    __m256i is_short = _mm256_cmpeq_epi16(high, _mm256_setzero_si256());
    __m256i bytes = _mm256_packs_epi16(is_short, is_short);
    __m128i first = expand(&l->words[stream], (uint64_t)_mm256_extract_epi64(bytes, 0));
    __m128i second = expand(&l->words[stream], (uint64_t)_mm256_extract_epi64(bytes, 2));
    __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    l->high[stream][h] = _mm256_blendv_epi8(high, low, is_short);
    l->low[stream][h] = _mm256_blendv_epi8(low, words, is_short);
}

/* Lanes 16h to 16h + 15 of both streams. */
static ALWAYS_INLINE __m256i half_step(lanes *l, const rows *t, unsigned h, const int log2) {
    const __m256i in_alphabet = _mm256_set1_epi8((char)((1 << log2) - 1));
    __m256i a = l->low[0][h], b = l->low[ODD][h];
    __m256i lower = interleave(a, _mm256_slli_epi16(b, 8));
    __m256i upper = interleave(_mm256_srli_epi16(a, 8), b);
    __m256i bucket = _mm256_and_si256(lower, in_alphabet);
    lut_index at = lut_index_of(bucket);
    __m256i thr = look_up(&t->row[THR], &at);
    __m256i is_alias = _mm256_cmpeq_epi8(_mm256_max_epu8(upper, thr), upper);
    __m256i symbol = _mm256_blendv_epi8(bucket, look_up(&t->row[ALIAS], &at), is_alias);
    __m256i adj0 = _mm256_and_si256(is_alias, look_up(&t->row[ADJ_LOW], &at));
    __m256i adj1 = _mm256_and_si256(is_alias, look_up(&t->row[ADJ_HIGH], &at));
    at = lut_index_of(symbol);
    __m256i f0 = look_up(&t->row[FREQ_LOW], &at), f1 = look_up(&t->row[FREQ_HIGH], &at);
    __m256i adj = interleave(adj0, _mm256_slli_epi16(adj1, 8));
    renew(l, 0, h, interleave(f0, _mm256_slli_epi16(f1, 8)),
          _mm256_add_epi16(_mm256_srli_epi16(a, log2), adj));
    adj = interleave(_mm256_srli_epi16(adj0, 8), adj1);
    renew(l, ODD, h, interleave(_mm256_srli_epi16(f0, 8), f1),
          _mm256_add_epi16(_mm256_srli_epi16(b, log2), adj));
    return symbol;
}

static ALWAYS_INLINE symbols step(lanes *l, const rows *t, const int log2) {
    symbols s;
    for (unsigned h = 0; h < 2; h++) s.v[h] = half_step(l, t, h, log2);
    return s;
}

#include "wcodec/simd/wc_interleaved.h"

void tare_wc_kernels_use_decode_avx2(tare_wc_kernels *k) {
    k->decode = decode_jobs;
}
