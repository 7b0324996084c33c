/* SPDX-License-Identifier: MIT
 *
 * Words of DIRECT segments for AVX2: eight states of 32 bits to a register, divided as floats. What
 * depends on a symbol is loaded by itself: gathers take twice as long. */
#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

enum { AT_ONCE = 8, VECTORS = TARE_WC_LANES / 2 / AT_ONCE };

typedef struct lanes {
    __m256i x[2][VECTORS];
    uint8_t *words[2];
} lanes;

typedef struct rows {
    const tare_wc_divisor *divisor;
    const uint16_t *slot;
} rows;

static void load_rows(rows *r, const tare_wc_inverse *v) {
    r->divisor = v->divisor;
    r->slot = v->slot + TARE_WC_INVERSE_PAD;
}

static void load_lanes(lanes *l, const tare_wc_put *p) {
    for (unsigned s = 0; s < 2; s++) {
        uint32_t x[TARE_WC_LANES / 2];
        for (unsigned i = 0; i < TARE_WC_LANES / 2; i++) x[i] = p->x[2 * i + s];
        memcpy(l->x[s], x, sizeof x);
        l->words[s] = p->words[s];
    }
}

static void store_lanes(tare_wc_put *p, const lanes *l) {
    for (unsigned s = 0; s < 2; s++) {
        uint32_t x[TARE_WC_LANES / 2];
        memcpy(x, l->x[s], sizeof x);
        for (unsigned i = 0; i < TARE_WC_LANES / 2; i++) p->x[2 * i + s] = x[i];
        p->words[s] = l->words[s];
    }
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The lower halves of those of four states that are `due`, a bit each, go in front of the words, in
 * their order. They end where the words begin; anything may precede them. */
static ALWAYS_INLINE void put_words(uint8_t **words, __m128i x, unsigned due) {
    enum { NONE = 0x0100, A = 0x0100, B = 0x0504, C = 0x0908, D = 0x0d0c };
    static const uint16_t order[16][4] = {
        {NONE, NONE, NONE, NONE}, {NONE, NONE, NONE, A}, {NONE, NONE, NONE, B}, {NONE, NONE, A, B},
        {NONE, NONE, NONE, C},    {NONE, NONE, A, C},    {NONE, NONE, B, C},    {NONE, A, B, C},
        {NONE, NONE, NONE, D},    {NONE, NONE, A, D},    {NONE, NONE, B, D},    {NONE, A, B, D},
        {NONE, NONE, C, D},       {NONE, A, C, D},       {NONE, B, C, D},       {A, B, C, D}};
    __m128i at = _mm_loadl_epi64((const __m128i *)(const void *)order[due]);
    _mm_storel_epi64((__m128i *)(void *)(*words - sizeof order[0]), _mm_shuffle_epi8(x, at));
    *words -= 2 * (unsigned)_mm_popcnt_u32(due);
}

/* What two symbols are divided by. */
static ALWAYS_INLINE __m128 divisors_of(const tare_wc_divisor *of, uint8_t a, uint8_t b) {
    const __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)&of[a]);
    const double *second = (const double *)(const void *)&of[b];
    return _mm_castpd_ps(_mm_loadh_pd(_mm_castsi128_pd(first), second));
}

/* Four entries of the list of slots, each in the lower half of 32 bits; `at` holds their numbers.
 * Gathering them takes longer. */
static ALWAYS_INLINE __m128i slots_at(const uint16_t *slot, __m128i at) {
    const uint64_t first = (uint64_t)_mm_cvtsi128_si64(at);
    const uint64_t second = (uint64_t)_mm_extract_epi64(at, 1);
    __m128i slots = _mm_cvtsi32_si128(slot[(uint32_t)first]);
    slots = _mm_insert_epi16(slots, slot[first >> 32], 2);
    slots = _mm_insert_epi16(slots, slot[(uint32_t)second], 4);
    return _mm_insert_epi16(slots, slot[second >> 32], 6);
}

static ALWAYS_INLINE __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Every other one of `symbols`, from the first on, into states x. */
static ALWAYS_INLINE __m256i put(__m256i x, uint8_t **words, const uint8_t *symbols, const rows *r,
                                 const int log2) {
    const int g = 8 - log2;
    const tare_wc_divisor *of = r->divisor;
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    /* Numbers 0, 1 and 4, 5; 2, 3 and 6, 7. */
    __m256 a = _mm256_set_m128(divisors_of(of, symbols[8], symbols[10]),
                               divisors_of(of, symbols[0], symbols[2]));
    __m256 b = _mm256_set_m128(divisors_of(of, symbols[12], symbols[14]),
                               divisors_of(of, symbols[4], symbols[6]));
    __m256 inverse = _mm256_shuffle_ps(a, b, 0x88);
    __m256i both = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    __m256i units = _mm256_blend_epi16(both, zero, 0xaa), start = _mm256_srli_epi32(both, 16);
    __m256i is_fine = _mm256_cmpgt_epi32(units, _mm256_srli_epi32(x, 16 + g));
    unsigned due = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_fine)) ^ 0xff;
    put_words(words, _mm256_extracti128_si256(x, 1), due >> 4);
    put_words(words, _mm256_castsi256_si128(x), due & 15);
    x = _mm256_blendv_epi8(_mm256_srli_epi32(x, 16), x, is_fine);
    __m256i y = _mm256_srli_epi32(x, g); /* from here on, upper halves mean nothing */
    __m256i q = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(y), inverse));
    __m256i rest = _mm256_sub_epi16(y, _mm256_mullo_epi16(q, units)); /* below 2 * units */
    __m256i rank = _mm256_min_epu16(rest, _mm256_sub_epi16(rest, units));
    q = _mm256_add_epi16(q, _mm256_add_epi16(one, _mm256_cmpeq_epi16(rank, rest)));
    __m256i at = _mm256_add_epi32(start, _mm256_blend_epi16(rank, zero, 0xaa));
    __m256i slot = join(slots_at(r->slot, _mm256_castsi256_si128(at)),
                        slots_at(r->slot, _mm256_extracti128_si256(at, 1)));
    __m256i below = _mm256_and_si256(x, _mm256_set1_epi32((1 << g) - 1));
    slot = _mm256_or_si256(slot, _mm256_slli_epi32(below, log2));
    return _mm256_blend_epi16(slot, _mm256_slli_epi32(q, 16), 0xaa);
}

static ALWAYS_INLINE void step(lanes *l, const uint8_t *symbols, const rows *r, const int log2) {
    for (unsigned i = VECTORS; i-- > 0;) {
        l->x[0][i] = put(l->x[0][i], &l->words[0], symbols + 16 * i, r, log2);
        l->x[1][i] = put(l->x[1][i], &l->words[1], symbols + 16 * i + 1, r, log2);
    }
}

#include "wcodec/simd/wc_put_jobs.h"

void tare_wc_encode_avx2(tare_wc_put_job *jobs, unsigned n_jobs) {
    for (unsigned i = 0; i < n_jobs; i++) encode_job(&jobs[i]);
}

void tare_wc_kernels_use_encode_avx2(tare_wc_kernels *k) {
    k->encode = tare_wc_encode_avx2;
}
