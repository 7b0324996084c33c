/* SPDX-License-Identifier: MIT
 *
 * Words of DIRECT segments for AVX-512 with VBMI and VBMI2: 64 lanes at a time, from the last
 * position to the first. As in the decoder a state is two vectors of 16 bits; it is divided by
 * 16-bit products, and its slot is found by the pieces of the symbol (wc_table.h says why and how):
 * gathering 64 slots would take as long as everything else. */
#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

/* Rows by symbol, by chunk, by piece. */
enum { FREQ_LOW, FREQ_HIGH, WHOLE_LOW, WHOLE_HIGH, PART_LOW, PART_HIGH };
enum { LAST_LOW = PART_HIGH + 1, LAST_HIGH, LOG2, END, BY_SYMBOL };
enum { PIECE = BY_SYMBOL, BOUND = PIECE + 2, SECOND = BOUND + 2, BUCKET = SECOND + 2, BASE, ROWS };

typedef struct lanes {
    __m512i high[2], low[2];
    uint8_t *words[2];
} lanes;

typedef struct rows {
    __m512i row[ROWS];
    bool has_second; /* a second piece may begin in a chunk */
} rows;

static inline void load_rows(rows *r, const tare_wc_inverse *v) {
    const tare_wc_pieces *p = &v->pieces;
    const uint8_t *const from[ROWS] = {
        v->table->freq_low, v->table->freq_high, v->whole_low, v->whole_high,    v->part_low,
        v->part_high,       p->last_low,         p->last_high, p->log2,          p->end,
        p->piece,           p->piece + 64,       p->bound[0],  p->bound[0] + 64, p->bound[1],
        p->bound[1] + 64,   p->bucket,           p->base};
    for (unsigned i = 0; i < ROWS; i++) r->row[i] = _mm512_loadu_si512(from[i]);
    r->has_second = p->n_bounds == 2;
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

/* The reverse: lower bytes of the words of both streams. */
static ALWAYS_INLINE __m512i bytes_of(const __m512i words[2]) {
    return _mm512_mask_blend_epi8(UINT64_C(0xaaaaaaaaaaaaaaaa), words[0],
                                  _mm512_slli_epi16(words[1], 8));
}

/* Lanes whose state is too large for a frequency emit their lower half. */
static ALWAYS_INLINE void shrink(lanes *l, unsigned stream, __m512i freq) {
    __mmask32 is_due = _mm512_cmpge_epu16_mask(l->high[stream], freq);
    unsigned n = (unsigned)_mm_popcnt_u32(is_due);
    __m512i words = _mm512_maskz_compress_epi16(is_due, l->low[stream]);
    l->words[stream] -= 2 * (size_t)n;
    _mm512_mask_storeu_epi16(l->words[stream], _bzhi_u32(~UINT32_C(0), n), words);
    l->low[stream] = _mm512_mask_mov_epi16(l->low[stream], is_due, l->high[stream]);
    l->high[stream] = _mm512_mask_mov_epi16(l->high[stream], is_due, _mm512_setzero_si512());
}

/* The upper half of a state becomes its quotient; returns the rank, in units. */
static ALWAYS_INLINE __m512i divide(lanes *l, unsigned stream, const __m512i *at, __m512i freq,
                                    const int log2) {
    __m512i whole = words_of(at[WHOLE_LOW], at[WHOLE_HIGH], stream);
    __m512i part = words_of(at[PART_LOW], at[PART_HIGH], stream);
    __m512i unit = _mm512_srl_epi16(freq, _mm_cvtsi32_si128(8 - log2));
    __m512i twice = _mm512_add_epi16(unit, unit), high = l->high[stream], low = l->low[stream];
    __m512i q = _mm512_add_epi16(_mm512_mulhi_epu16(high, part), _mm512_mulhi_epu16(low, whole));
    q = _mm512_add_epi16(_mm512_mullo_epi16(high, whole), q);
    __m512i rest = _mm512_shrdv_epi16(low, high, _mm512_set1_epi16((short)(8 - log2)));
    rest = _mm512_sub_epi16(rest, _mm512_mullo_epi16(q, unit)); /* below 4 * unit <= 65532 */
    __mmask32 by_two = _mm512_cmpge_epu16_mask(rest, twice);
    rest = _mm512_min_epu16(rest, _mm512_sub_epi16(rest, twice));
    __mmask32 by_one = _mm512_cmpge_epu16_mask(rest, unit);
    rest = _mm512_min_epu16(rest, _mm512_sub_epi16(rest, unit));
    q = _mm512_mask_add_epi16(q, by_two, q, _mm512_set1_epi16(2));
    l->high[stream] = _mm512_mask_sub_epi16(q, by_one, q, _mm512_set1_epi16(-1));
    return rest;
}

/* Of a table of 128 bytes. */
static ALWAYS_INLINE __m512i look_up_128(__m512i index, __mmask64 is_upper, const __m512i *row) {
    __m512i v = _mm512_permutexvar_epi8(index, row[0]);
    return _mm512_mask_permutexvar_epi8(v, is_upper, index, row[1]);
}

/* Chunks of ranks in others' buckets are counted from -1 downwards. */
static ALWAYS_INLINE void place(__m512i *bucket, __m512i *offset, __m512i symbols, __m512i chunk,
                                __m512i rank, const __m512i *at, const rows *r) {
    const __m512i minus_one = _mm512_set1_epi8(-1);
    __mmask64 is_alias = _mm512_movepi8_mask(chunk);
    chunk = _mm512_add_epi8(chunk, at[END]);
    __mmask64 is_upper = _mm512_test_epi8_mask(chunk, _mm512_set1_epi8(64));
    __m512i piece = look_up_128(chunk, is_upper, r->row + PIECE);
    __m512i from_last = _mm512_sub_epi8(at[LAST_LOW], rank);
    __m512i bound = look_up_128(chunk, is_upper, r->row + BOUND);
    piece = _mm512_mask_sub_epi8(piece, _mm512_cmple_epu8_mask(from_last, bound), piece, minus_one);
    if (r->has_second) {
        bound = look_up_128(chunk, is_upper, r->row + SECOND);
        piece =
            _mm512_mask_sub_epi8(piece, _mm512_cmple_epu8_mask(from_last, bound), piece, minus_one);
    }
    *bucket = _mm512_mask_permutexvar_epi8(symbols, is_alias, piece, r->row[BUCKET]);
    __m512i base = _mm512_maskz_permutexvar_epi8(is_alias, piece, r->row[BASE]);
    *offset = _mm512_add_epi8(rank, base);
}

static ALWAYS_INLINE void step(lanes *l, const uint8_t *symbols, const rows *r, const int log2) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i in_unit = _mm512_set1_epi16((short)(((1 << (8 - log2)) - 1) << log2));
    __m512i s = _mm512_loadu_si512(symbols), at[BY_SYMBOL], rank[2], chunk[2], bucket, offset;
    for (unsigned i = 0; i < BY_SYMBOL; i++) at[i] = _mm512_permutexvar_epi8(s, r->row[i]);
    for (unsigned i = 0; i < 2; i++) {
        __m512i freq = words_of(at[FREQ_LOW], at[FREQ_HIGH], i);
        __m512i last = words_of(at[LAST_LOW], at[LAST_HIGH], i);
        shrink(l, i, freq);
        rank[i] = divide(l, i, at, freq, log2);
        chunk[i] = _mm512_srav_epi16(_mm512_sub_epi16(last, rank[i]), words_of(at[LOG2], zero, i));
    }
    place(&bucket, &offset, s, bytes_of(chunk), bytes_of(rank), at, r);
    for (unsigned i = 0; i < 2; i++) { /* offset, what is below a unit, bucket */
        __m512i below = _mm512_sll_epi16(l->low[i], _mm_cvtsi32_si128(log2));
        l->low[i] = _mm512_ternarylogic_epi32(words_of(bucket, offset, i), below, in_unit, 0xf8);
    }
}

#include "wcodec/simd/wc_put_jobs.h"

static bool has_pieces(const tare_wc_put_job *job) {
    uint32_t n = (job->n_positions + WC_BLOCK - 1) / WC_BLOCK;
    for (uint32_t i = 0; job->classes && i < n; i++)
        if (!job->inverses[job->classes[i]].pieces.n_bounds) return false;
    return job->classes || job->inverses->pieces.n_bounds;
}

static void encode(tare_wc_put_job *jobs, unsigned n_jobs) {
    for (unsigned i = 0; i < n_jobs; i++) {
        if (has_pieces(&jobs[i]))
            encode_job(&jobs[i]);
        else
            tare_wc_encode_avx2(&jobs[i], 1);
    }
}

void tare_wc_kernels_use_encode_vbmi2(tare_wc_kernels *k) {
    k->encode = encode;
}
