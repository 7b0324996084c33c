/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments for AVX2: the 64 lanes of one segment at a time, which fill the registers. As
 * with AVX-512 a state is two vectors of 16 bits and the bytes of lanes A and B are interleaved;
 * words are expanded by shuffles. (Two segments side by side are slower: 0.8 to 0.95.)
 *
 * Masks choose by "and" and "or": a blend by a vector is three operations on many processors that have
 * no AVX-512. */
#include "wcodec/x86/wc_emit_avx2.h"
#include "wcodec/x86/wc_x86.h"

#define AT_ONCE         1
#define NIBBLES_AT_ONCE 1
enum { ODD = 1 };
/* TO_ALIAS: the bits in which an alias differs from its bucket. */
enum { THR, TO_ALIAS, FREQ_LOW, FREQ_HIGH, ADJ_LOW, ADJ_HIGH, ROWS };

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
    uint8_t to_alias[64];
    const uint8_t *const from[ROWS] = {t->thr,       to_alias,   t->freq_low,
                                       t->freq_high, t->adj_low, t->adj_high};
    for (uint8_t i = 0; i < 64; i++) to_alias[i] = t->alias[i] ^ i;
    for (unsigned i = 0; i < ROWS; i++) r->row[i] = load_row(from[i]);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Lower bytes of words: those of a at even places, those of b at odd ones. */
static ALWAYS_INLINE __m256i interleave_lower(__m256i a, __m256i b) {
    return _mm256_or_si256(_mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_slli_epi16(b, 8));
}
static ALWAYS_INLINE __m256i interleave_upper(__m256i a, __m256i b) {
    return _mm256_or_si256(_mm256_srli_epi16(a, 8),
                           _mm256_andnot_si256(_mm256_set1_epi16(0xff), b));
}

/* Which of eight words go to which of eight lanes, by bits of lanes that take one: lane i takes the
 * word whose number is that of set bits below bit i. Others become 0. */
#define BIT(SET, I)     ((SET) >> (I)&1)
#define BELOW_2(SET)    (BIT(SET, 0) + BIT(SET, 1))
#define BELOW_3(SET)    (BELOW_2(SET) + BIT(SET, 2))
#define BELOW_4(SET)    (BELOW_3(SET) + BIT(SET, 3))
#define BELOW_5(SET)    (BELOW_4(SET) + BIT(SET, 4))
#define BELOW_6(SET)    (BELOW_5(SET) + BIT(SET, 5))
#define BELOW_7(SET)    (BELOW_6(SET) + BIT(SET, 6))
#define WORD(SET, I, N) BIT(SET, I) ? 2 * (N) : 128, BIT(SET, I) ? 2 * (N) + 1 : 128
#define LANES(SET)                                                                                 \
    {                                                                                              \
        WORD(SET, 0, 0), WORD(SET, 1, BIT(SET, 0)), WORD(SET, 2, BELOW_2(SET)),                    \
            WORD(SET, 3, BELOW_3(SET)), WORD(SET, 4, BELOW_4(SET)), WORD(SET, 5, BELOW_5(SET)),    \
            WORD(SET, 6, BELOW_6(SET)), WORD(SET, 7, BELOW_7(SET))                                 \
    }
#define LANES_4(SET)  LANES(SET), LANES((SET) + 1), LANES((SET) + 2), LANES((SET) + 3)
#define LANES_16(SET) LANES_4(SET), LANES_4((SET) + 4), LANES_4((SET) + 8), LANES_4((SET) + 12)
#define LANES_64(SET)                                                                              \
    LANES_16(SET), LANES_16((SET) + 16), LANES_16((SET) + 32), LANES_16((SET) + 48)
static const _Alignas(64) uint8_t expansions[256][16] = {LANES_64(0), LANES_64(64), LANES_64(128),
                                                         LANES_64(192)};

/* Eight words in their order to the lanes in `set`; to others, 0. */
static ALWAYS_INLINE __m128i expand(const uint8_t **words, unsigned set) {
    __m128i w = _mm_loadu_si128((const __m128i *)(const void *)*words);
    *words += 2 * (unsigned)__builtin_popcount(set);
    return _mm_shuffle_epi8(w, _mm_load_si128((const __m128i *)(const void *)expansions[set]));
}

/* x = freq * high + r; where the result is below 65536, the next word comes in. */
static ALWAYS_INLINE void renew(lanes *l, unsigned stream, unsigned h, __m256i freq, __m256i r) {
    __m256i low = _mm256_add_epi16(_mm256_mullo_epi16(l->high[stream][h], freq), r);
    __m256i high = _mm256_mulhi_epu16(l->high[stream][h], freq);
    __m256i no_carry = _mm256_cmpeq_epi16(_mm256_max_epu16(low, r), low);
    high = _mm256_add_epi16(_mm256_add_epi16(high, _mm256_set1_epi16(1)), no_carry);
    __m256i is_short = _mm256_cmpeq_epi16(high, _mm256_setzero_si256());
    unsigned set = (unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(is_short, is_short));
    __m128i first = expand(&l->words[stream], set & 255);
    __m128i second = expand(&l->words[stream], set >> 16 & 255);
    __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    l->high[stream][h] = _mm256_or_si256(high, _mm256_and_si256(is_short, low)); /* high is 0 */
    l->low[stream][h] = _mm256_or_si256(words, _mm256_andnot_si256(is_short, low));
}

/* Bytes of a row; an alphabet of 16 needs a quarter of it. */
static ALWAYS_INLINE __m256i look_up_in_row(const row *r, const lut_index *at, const int log2) {
    return log2 == 4 ? _mm256_shuffle_epi8(r->quarter[0], at->in[0]) : look_up(r, at);
}

/* Lanes 16h to 16h + 15 of both streams. */
static ALWAYS_INLINE __m256i half_step(lanes *l, const rows *t, unsigned h, const int log2) {
    const __m256i in_alphabet = _mm256_set1_epi8((char)((1 << log2) - 1));
    __m256i a = l->low[0][h], b = l->low[ODD][h];
    __m256i bucket = _mm256_and_si256(interleave_lower(a, b), in_alphabet);
    __m256i upper = interleave_upper(a, b);
    lut_index at = lut_index_of(bucket);
    __m256i thr = look_up_in_row(&t->row[THR], &at, log2);
    __m256i is_alias = _mm256_cmpeq_epi8(_mm256_max_epu8(upper, thr), upper);
    __m256i to_alias = _mm256_and_si256(is_alias, look_up_in_row(&t->row[TO_ALIAS], &at, log2));
    __m256i symbol = _mm256_xor_si256(bucket, to_alias);
    __m256i adj0 = _mm256_and_si256(is_alias, look_up_in_row(&t->row[ADJ_LOW], &at, log2));
    __m256i adj1 = _mm256_and_si256(is_alias, look_up_in_row(&t->row[ADJ_HIGH], &at, log2));
    at = lut_index_of(symbol);
    __m256i f0 = look_up_in_row(&t->row[FREQ_LOW], &at, log2);
    __m256i f1 = look_up_in_row(&t->row[FREQ_HIGH], &at, log2);
    renew(l, 0, h, interleave_lower(f0, f1),
          _mm256_add_epi16(_mm256_srli_epi16(a, log2), interleave_lower(adj0, adj1)));
    renew(l, ODD, h, interleave_upper(f0, f1),
          _mm256_add_epi16(_mm256_srli_epi16(b, log2), interleave_upper(adj0, adj1)));
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
