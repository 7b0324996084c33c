/* SPDX-License-Identifier: MIT
 *
 * Words of DIRECT segments for AVX2: eight states of 32 bits to a register, all of whose numbers
 * are gathered; divided by 32-bit products as the scalar reference divides. */
#include <immintrin.h>

#include "wcodec/simd/wc_block.h"
#include "wcodec/x86/wc_x86.h"

enum { AT_ONCE = 8, VECTORS = TARE_WC_LANES / 2 / AT_ONCE };

typedef struct lanes {
    __m256i x[2][VECTORS];
    uint8_t *words[2];
} lanes;

/* A symbol's units of frequency, their log2, the start of its slots: 14, 4 and 14 bits. */
typedef struct rows {
    _Alignas(32) uint32_t packed[64];
    const uint32_t *reciprocal;
    const uint16_t *slot;
} rows;

static void load_rows(rows *r, const tare_wc_inverse *v) {
    unsigned g = 8u - v->table->log2_alphabet;
    for (unsigned s = 0; s < 64; s++)
        r->packed[s] = (uint32_t)v->table->freq[s] >> g | (v->start[s] & 0x3fff) << 14 |
                       (uint32_t)v->log2[s] << 28;
    r->reciprocal = v->reciprocal;
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

/* The lower halves of x where `is_due` is all ones go in front of the words, in their order. They
 * end where the words begin; anything may precede them. */
static ALWAYS_INLINE void put_words(uint8_t **words, __m256i x, __m256i is_due) {
    const __m256i lower =
        _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9,
                         12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i low = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, lower), 8);
    __m128i due =
        _mm_packs_epi32(_mm256_castsi256_si128(is_due), _mm256_extracti128_si256(is_due, 1));
    uint64_t mask = (uint64_t)_mm_cvtsi128_si64(_mm_packs_epi16(due, due));
    unsigned bits = (unsigned)__builtin_popcountll(mask);
    uint64_t ranks = _pext_u64(UINT64_C(0x0706050403020100), mask) << ((64 - bits) & 63);
    __m128i rank = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)ranks));
    /* Bytes 2 * rank and 2 * rank + 1. */
    rank = _mm_add_epi16(_mm_mullo_epi16(rank, _mm_set1_epi16(0x202)), _mm_set1_epi16(0x100));
    _mm_storeu_si128((__m128i *)(void *)(*words - 2 * AT_ONCE),
                     _mm_shuffle_epi8(_mm256_castsi256_si128(low), rank));
    *words -= bits / 4;
}

/* floor(y / units), as wc_table.h says. */
static ALWAYS_INLINE __m256i divide(__m256i y, __m256i reciprocal, __m256i log2) {
    const __m256i base = _mm256_set1_epi64x(31), lower = _mm256_set1_epi64x(0xffffffff);
    __m256i even = _mm256_mul_epu32(y, reciprocal);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(y, 32), _mm256_srli_epi64(reciprocal, 32));
    even = _mm256_srlv_epi64(even, _mm256_add_epi64(_mm256_and_si256(log2, lower), base));
    odd = _mm256_srlv_epi64(odd, _mm256_add_epi64(_mm256_srli_epi64(log2, 32), base));
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

static ALWAYS_INLINE __m256i put(__m256i x, uint8_t **words, __m256i symbols, const rows *r,
                                 const int log2) {
    const int g = 8 - log2;
    const __m256i fourteen = _mm256_set1_epi32(0x3fff), sixteen = _mm256_set1_epi32(0xffff);
    __m256i packed = _mm256_i32gather_epi32((const int *)(const void *)r->packed, symbols, 4);
    __m256i reciprocal =
        _mm256_i32gather_epi32((const int *)(const void *)r->reciprocal, symbols, 4);
    __m256i units = _mm256_and_si256(packed, fourteen);
    __m256i start = _mm256_and_si256(_mm256_srli_epi32(packed, 14), fourteen);
    __m256i is_fine = _mm256_cmpgt_epi32(units, _mm256_srli_epi32(x, 16 + g));
    __m256i is_due = _mm256_xor_si256(is_fine, _mm256_set1_epi32(-1));
    put_words(words, x, is_due);
    x = _mm256_blendv_epi8(_mm256_srli_epi32(x, 16), x, is_fine);
    __m256i y = _mm256_srli_epi32(x, g);
    __m256i q = divide(y, reciprocal, _mm256_srli_epi32(packed, 28));
    __m256i rank = _mm256_sub_epi32(y, _mm256_mullo_epi16(q, units));
    __m256i at = _mm256_add_epi32(start, _mm256_and_si256(rank, sixteen));
    __m256i slot = _mm256_i32gather_epi32((const int *)(const void *)r->slot, at, 2);
    __m256i below = _mm256_and_si256(x, _mm256_set1_epi32((1 << g) - 1));
    slot = _mm256_or_si256(_mm256_and_si256(slot, sixteen), _mm256_slli_epi32(below, log2));
    return _mm256_or_si256(_mm256_slli_epi32(q, 16), slot);
}

static ALWAYS_INLINE void step(lanes *l, const uint8_t *symbols, const rows *r, const int log2) {
    for (unsigned i = VECTORS; i-- > 0;) {
        __m128i both = _mm_loadu_si128((const __m128i *)(const void *)(symbols + 16 * i));
        __m256i a = _mm256_cvtepu16_epi32(_mm_and_si128(both, _mm_set1_epi16(0xff)));
        __m256i b = _mm256_cvtepu16_epi32(_mm_srli_epi16(both, 8));
        l->x[0][i] = put(l->x[0][i], &l->words[0], a, r, log2);
        l->x[1][i] = put(l->x[1][i], &l->words[1], b, r, log2);
    }
}

#include "wcodec/simd/wc_put_jobs.h"

void tare_wc_encode_avx2(tare_wc_put_job *jobs, unsigned n_jobs) {
    for (unsigned i = 0; i < n_jobs; i++) encode_job(&jobs[i]);
}

void tare_wc_kernels_use_encode_avx2(tare_wc_kernels *k) {
    k->encode = tare_wc_encode_avx2;
}
