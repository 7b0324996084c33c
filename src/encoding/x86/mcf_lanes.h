/* SPDX-License-Identifier: MIT
 *
 * MCF's q8, q4, k6, k4, k3 and k2 in vectors: all decoders, and the encoders of q8 and q4; written
 * on the names of lanes_avx2.h or lanes_avx512.h, which the including file chooses.
 *
 * Codes are packed from the lowest bit up, so a block is eight runs of four codes each: the bits of
 * a run are brought into an integer of 32 bits and spread over its bytes, or the other way round.
 * Rows are taken as one where their length is a whole number of blocks; what does not fill a block
 * or a group, and groups with a number that is not finite, are the scalar reference's. */
#ifndef TARE_ENCODING_X86_MCF_LANES_H
#define TARE_ENCODING_X86_MCF_LANES_H

#include <string.h>

#include "encoding/mcf_blocks.h"
#include "encoding/x86/groups.h"

/* ---- codes ----------------------------------------------------------------------------------- */

/* Four codes of `bits` bits in each integer, lowest first, to one in each byte. */
INLINE __m256i spread(__m256i runs, int bits) {
    const int ones = (1 << bits) - 1;
    __m256i out = _mm256_and_si256(runs, _mm256_set1_epi32(ones));
    for (int i = 1; i < 4; i++) {
        __m256i moved = _mm256_slli_epi32(runs, i * (8 - bits));
        out = _mm256_or_si256(
            out, _mm256_and_si256(moved, _mm256_set1_epi32((int)((unsigned)ones << 8 * i))));
    }
    return out;
}
/* One code in each byte to four codes in each integer: `bits` bits are set in each byte at most. */
INLINE __m256i gather(__m256i codes, int bits) {
    const __m256i pair = _mm256_set1_epi16((short)(1 | 1 << (8 + bits)));
    const __m256i four = _mm256_set1_epi32(1 | 1 << (16 + 2 * bits));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(codes, pair), four);
}

/* Runs of 24 bits (6-bit codes): three bytes each. No more than the block's 24 bytes are read. */
INLINE __m256i load_runs24(const uint8_t *p) {
    const __m256i at = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 4, 5,
                                        6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    __m128i low = _mm_loadu_si128((const void *)p);
    __m128i high = _mm_loadu_si128((const void *)(p + 8));
    return _mm256_shuffle_epi8(_mm256_set_m128i(high, low), at);
}
/* Runs of 12 bits (3-bit codes): of two neighbours in three bytes the second begins in the middle.
 */
INLINE __m256i load_runs12(const uint8_t *p) {
    const __m256i at = _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1, 6,
                                        7, -1, -1, 7, 8, -1, -1, 9, 10, -1, -1, 10, 11, -1, -1);
    const __m256i shifts = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);
    uint64_t low;
    uint32_t high;
    memcpy(&low, p, 8);
    memcpy(&high, p + 8, 4);
    __m128i bytes = _mm_set_epi64x((int64_t)high, (int64_t)low);
    return _mm256_srlv_epi32(_mm256_shuffle_epi8(_mm256_set_m128i(bytes, bytes), at), shifts);
}

/* The 32 codes of a block, still without sign. */
INLINE __m256i load_codes(const uint8_t *p, int bits) {
    switch (bits) {
    case 8:
        return _mm256_loadu_si256((const void *)p);
    case 6:
        return spread(load_runs24(p), 6);
    case 4:
        return spread(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 4);
    case 3:
        return spread(load_runs12(p), 3);
    default:
        return spread(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)), 2);
    }
}
INLINE __m256i with_sign(__m256i codes, int bits) {
    if (bits == 8) return codes;
    const __m256i sign = _mm256_set1_epi8((char)(1 << (bits - 1)));
    return _mm256_sub_epi8(_mm256_xor_si256(codes, sign), sign);
}

INLINE void store_runs24(uint8_t *p, __m256i runs) {
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0,
                                        1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    uint8_t bytes[32];
    _mm256_storeu_si256((void *)bytes, _mm256_shuffle_epi8(runs, at));
    memcpy(p, bytes, 12);
    memcpy(p + 12, bytes + 16, 12);
}
INLINE void store_runs12(uint8_t *p, __m256i runs) {
    /* Two runs in the low 24 bits of each 64. */
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                        0, 1, 2, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    uint8_t bytes[32];
    __m256i joined = _mm256_or_si256(runs, _mm256_srli_epi64(runs, 20));
    _mm256_storeu_si256((void *)bytes, _mm256_shuffle_epi8(joined, at));
    memcpy(p, bytes, 6);
    memcpy(p + 6, bytes + 16, 6);
}
/* The low half or byte of each integer, one behind the other. */
INLINE void store_lows(uint8_t *p, __m256i runs, int n_bytes) {
    const __m256i halves =
        _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9,
                         12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                         -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i low = _mm256_shuffle_epi8(runs, n_bytes == 2 ? halves : bytes);
    uint64_t first = (uint64_t)_mm256_extract_epi64(low, 0);
    uint64_t second = (uint64_t)_mm256_extract_epi64(low, 2);
    memcpy(p, &first, (size_t)(4 * n_bytes));
    memcpy(p + 4 * n_bytes, &second, (size_t)(4 * n_bytes));
}

/* The reverse of load_codes; codes have their sign. */
INLINE void store_codes(uint8_t *p, __m256i codes, int bits) {
    if (bits == 8) {
        _mm256_storeu_si256((void *)p, codes);
        return;
    }
    codes = _mm256_and_si256(codes, _mm256_set1_epi8((char)((1 << bits) - 1)));
    __m256i runs = gather(codes, bits);
    if (bits == 6)
        store_runs24(p, runs);
    else if (bits == 3)
        store_runs12(p, runs);
    else
        store_lows(p, runs, bits / 2);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows whose length is a whole number of `step` elements follow each other without padding. */
INLINE void join_rows(uint64_t *n_rows, uint64_t *cols, uint64_t step) {
    if (*cols % step) return;
    *cols *= *n_rows;
    *n_rows = 1;
}

/* A row from block b on, which begins a super. */
INLINE tare_rows_mut rest_of(const tare_mcf_row *at, size_t b, uint64_t cols, int bits) {
    tare_rows_mut rest = {.n_rows = 1, .cols = cols - b * TARE_MCF_BLOCK};
    uint8_t *codes = at->codes + b * 4 * (size_t)bits;
    if (at->supers) {
        rest.planes[0] = at->supers + b / TARE_MCF_BLOCKS * 2;
        rest.planes[1] = at->scales + b;
        rest.planes[2] = codes;
    } else {
        rest.planes[0] = at->scales + b * 2;
        rest.planes[1] = codes;
    }
    return rest;
}

/* ---- decode ---------------------------------------------------------------------------------- */

/* Whoever decodes more than this at once will not find its beginning in the caches: stores past
 * them save reading every line that is written. */
#define PAST_CACHES ((uint64_t)1 << 25)

INLINE bool goes_past(const float *dst, uint64_t n, uint64_t cols) {
    return n * sizeof *dst >= PAST_CACHES && (uintptr_t)dst % 64 == 0 &&
           (cols == n || cols % 16 == 0);
}

INLINE void decode_block(float *dst, const uint8_t *codes, float scale, int bits, bool is_past) {
    block32 x = floats_of(with_sign(load_codes(codes, bits), bits));
    for (int i = 0; i < VECTORS; i++) {
        vec y = mul(all(scale), x.v[i]);
        if (is_past)
            store_past(dst + i * LANES, y);
        else
            store(dst + i * LANES, y);
    }
}

INLINE float half_at(const uint8_t *p) {
    uint16_t half;
    memcpy(&half, p, 2);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

/* The scales of eight blocks: what is no block's is not used. */
INLINE void scales_of_super(float scales[TARE_MCF_BLOCKS], float super, const uint8_t *subs,
                            size_t n) {
    uint8_t six[TARE_MCF_BLOCKS] = {0};
    memcpy(six, subs, n);
    __m256i bits = _mm256_and_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)six)),
                                    _mm256_set1_epi32(63));
    __m256 parts = _mm256_div_ps(_mm256_cvtepi32_ps(bits), _mm256_set1_ps(32));
    _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_set1_ps(super), parts));
}

INLINE void decode_scaled_row(float *dst, const tare_mcf_row *at, size_t n_blocks, int bits,
                              bool is_past) {
    for (size_t b = 0; b < n_blocks; b++)
        decode_block(dst + b * TARE_MCF_BLOCK, at->codes + b * 4 * (size_t)bits,
                     half_at(at->scales + b * 2), bits, is_past);
}

INLINE void decode_super_row(float *dst, const tare_mcf_row *at, size_t n_blocks, int bits,
                             bool is_past) {
    for (size_t first = 0; first < n_blocks; first += TARE_MCF_BLOCKS) {
        float scales[TARE_MCF_BLOCKS];
        size_t left = n_blocks - first, n = left < TARE_MCF_BLOCKS ? left : TARE_MCF_BLOCKS;
        scales_of_super(scales, half_at(at->supers + first / TARE_MCF_BLOCKS * 2),
                        at->scales + first, n);
        for (size_t b = 0; b < n; b++)
            decode_block(dst + (first + b) * TARE_MCF_BLOCK,
                         at->codes + (first + b) * 4 * (size_t)bits, scales[b], bits, is_past);
    }
}

/* The partly filled last block, decoded aside. */
INLINE void decode_last(float *dst, const tare_mcf_row *at, size_t b, size_t n, int bits) {
    float x[TARE_MCF_BLOCK];
    float scale = at->supers
                      ? tare_mcf_scale(half_at(at->supers + b / TARE_MCF_BLOCKS * 2), at->scales[b])
                      : half_at(at->scales + b * 2);
    decode_block(x, at->codes + b * 4 * (size_t)bits, scale, bits, false);
    memcpy(dst + b * TARE_MCF_BLOCK, x, n * sizeof *x);
}

INLINE void decode_rows(float *dst, const tare_rows_mut *rows, int bits, bool has_supers,
                        bool is_past) {
    for (uint64_t r = 0; r < rows->n_rows; r++, dst += rows->cols) {
        tare_mcf_row at = tare_mcf_row_at(rows, r, bits, has_supers);
        size_t n_blocks = (size_t)(rows->cols / TARE_MCF_BLOCK);
        size_t n_last = (size_t)(rows->cols % TARE_MCF_BLOCK);
        if (has_supers)
            decode_super_row(dst, &at, n_blocks, bits, is_past);
        else
            decode_scaled_row(dst, &at, n_blocks, bits, is_past);
        if (n_last) decode_last(dst, &at, n_blocks, n_last, bits);
    }
}

INLINE void decode_mcf(float *dst, const tare_rows *src, int bits, bool has_supers) {
    tare_rows_mut rows = {.n_rows = src->n_rows, .cols = src->cols};
    for (int p = 0; p < 3; p++) rows.planes[p] = (uint8_t *)(uintptr_t)src->planes[p];
    join_rows(&rows.n_rows, &rows.cols, has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK);
    if (goes_past(dst, rows.n_rows * rows.cols, rows.cols)) {
        decode_rows(dst, &rows, bits, has_supers, true);
        _mm_sfence();
    } else {
        decode_rows(dst, &rows, bits, has_supers, false);
    }
}

/* One scale for all: codes follow each other, and whole blocks of them are done here. */
INLINE void decode_ints(float *dst, const tare_rows *src, int bits, bool has_zero, bool is_past) {
    const size_t n = tare_rows_count(src), n_blocks = n / TARE_MCF_BLOCK;
    const uint8_t *codes = src->planes[has_zero ? 2 : 1];
    float scale, zero = 0;
    memcpy(&scale, src->planes[0], sizeof scale);
    if (has_zero) memcpy(&zero, src->planes[1], sizeof zero);
    for (size_t b = 0; b < n_blocks; b++, codes += 4 * bits, dst += TARE_MCF_BLOCK) {
        block32 x = floats_of(with_sign(load_codes(codes, bits), bits));
        for (int i = 0; i < VECTORS; i++) {
            vec y = mul(all(scale), has_zero ? sub(x.v[i], all(zero)) : x.v[i]);
            if (is_past)
                store_past(dst + i * LANES, y);
            else
                store(dst + i * LANES, y);
        }
    }
    tare_rows rest = {.planes = {src->planes[0], src->planes[1]}, .n_rows = 1};
    rest.planes[has_zero ? 2 : 1] = codes;
    rest.cols = n - n_blocks * TARE_MCF_BLOCK;
    if (rest.cols) tare_mcf_decode_ints(dst, &rest, bits, has_zero);
}

INLINE void decode_mcf_ints(float *dst, const tare_rows *src, int bits, bool has_zero) {
    uint64_t n = src->n_rows * src->cols;
    if (goes_past(dst, n, n)) {
        decode_ints(dst, src, bits, has_zero, true);
        _mm_sfence();
    } else {
        decode_ints(dst, src, bits, has_zero, false);
    }
}

/* ---- encode ---------------------------------------------------------------------------------- */

/* Whole numbers, half away from zero: the float below one half, with the sign of the quotient, is
 * added and the sum cut off. */
INLINE ivec rounded(vec t) {
    const ivec sign = all_i(TARE_F32_SIGN), below_half = all_i(UINT32_C(0x3effffff));
    return whole_of(add(t, of_bits(or_i(and_i(bits_of(t), sign), below_half))));
}
INLINE vec held(vec t, int bits) {
    const float top = (float)tare_mcf_top(bits);
    return min_of(max_of(t, all(-top)), all(top));
}

/* By division, as the reference has them. */
static __attribute__((noinline)) __m256i divided_codes(const float *src, float divisor, int bits) {
    ivec codes[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        codes[i] =
            and_i(rounded(held(divide(load(src + i * LANES), all(divisor)), bits)), all_i(0xff));
    return bytes_of(codes);
}

/* The codes of x / scale. A product with the inverse is within 2^-22 of the quotient, relatively,
 * so 2^-15 of it as quotients are at most 127.5: only near a half can they round apart, and there
 * the block is divided. */
INLINE __m256i codes_of(const float *src, float scale, int bits) {
    if (!(scale > 0)) return _mm256_setzero_si256();
    const vec inverse_scale = all(1.0f / scale);
    ivec codes[VECTORS];
    vec furthest = all(0);
    for (int i = 0; i < VECTORS; i++) {
        vec t = held(mul(load(src + i * LANES), inverse_scale), bits);
        ivec whole = rounded(t);
        furthest = max_of(furthest, size_of(sub(t, to_floats(whole))));
        codes[i] = and_i(whole, all_i(0xff));
    }
    if (__builtin_expect(lanes_of(is_below(all(0.4999f), furthest)) != 0, 0))
        return divided_codes(src, scale, bits);
    return bytes_of(codes);
}

/* Lane b: the scale of block b, as stored; as a divisor. False: a number is not finite. */
INLINE bool scales_of_group(vec *scales, const float *src, int bits) {
    vec sizes;
    if (!sizes_of_group(&sizes, src, TARE_MCF_BLOCK)) return false;
    *scales = divide(sizes, all((float)tare_mcf_top(bits)));
    return greater_mask(bits_of(sizes), all_i(TARE_F32_INF - 1)) == 0;
}

/* Brings a block near that will be read two groups later, while this one's codes are written: what
 * the processor fetches by itself comes late, all of a group at once is too much. */
INLINE void fetch_block(const float *src) {
    const char *later = (const char *)(src + 2 * LANES * TARE_MCF_BLOCK);
    _mm_prefetch(later, _MM_HINT_T0);
    _mm_prefetch(later + 64, _MM_HINT_T0);
}

INLINE bool encode_scaled_group(const tare_mcf_row *at, size_t b, const float *src, int bits) {
    uint16_t halves[LANES];
    vec scales;
    if (!scales_of_group(&scales, src, bits)) return false;
    store_halves(halves, scales);
    memcpy(at->scales + b * 2, halves, sizeof halves);
    for (int i = 0; i < LANES; i++) {
        float d = half_at((const uint8_t *)&halves[i]);
        fetch_block(src + i * TARE_MCF_BLOCK);
        __m256i codes = codes_of(src + i * TARE_MCF_BLOCK, d, bits);
        store_codes(at->codes + (b + (size_t)i) * 4 * (size_t)bits, codes, bits);
    }
    return true;
}

typedef bool (*encode_group_fn)(const tare_mcf_row *at, size_t b, const float *src, int bits);

/* Rows in groups of LANES blocks; the rest is the reference's. */
INLINE void encode_mcf(const tare_rows_mut *dst, const float *src, int bits, bool has_supers,
                       encode_group_fn encode_group, tare_encode_fn scalar) {
    tare_rows_mut rows = *dst;
    join_rows(&rows.n_rows, &rows.cols, has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK);
    for (uint64_t r = 0; r < rows.n_rows; r++, src += rows.cols) {
        tare_mcf_row at = tare_mcf_row_at(&rows, r, bits, has_supers);
        size_t n_blocks = (size_t)(rows.cols / TARE_MCF_BLOCK), b = 0;
        for (; n_blocks - b >= LANES; b += LANES) {
            const float *x = src + b * TARE_MCF_BLOCK;
            if (encode_group(&at, b, x, bits)) continue;
            tare_rows_mut odd = rest_of(&at, b, (b + LANES) * TARE_MCF_BLOCK, bits);
            scalar(&odd, x, NULL);
        }
        tare_rows_mut rest = rest_of(&at, b, rows.cols, bits);
        if (rest.cols) scalar(&rest, src + b * TARE_MCF_BLOCK, NULL);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_DECODER(name, ID, bits, has_supers)                                                 \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_mcf(dst, src, bits, has_supers);                                                    \
    }
TARE_MCF_TYPES(DEFINE_DECODER)

#define DEFINE_INT_DECODER(name, ID, bits, has_zero)                                               \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_mcf_ints(dst, src, bits, has_zero);                                                 \
    }
TARE_MCF_INTS(DEFINE_INT_DECODER)

static void encode_q8(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_mcf(dst, src, 8, false, encode_scaled_group, tare_encode_q8_c);
}
static void encode_q4(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    encode_mcf(dst, src, 4, false, encode_scaled_group, tare_encode_q4_c);
}

#define USE_DECODER(name, ID, bits, has_supers) k->decode[TARE_ENCODING_##ID] = decode_##name;
INLINE void use_mcf_lanes(tare_kernels *k) {
    TARE_MCF_TYPES(USE_DECODER)
    TARE_MCF_INTS(USE_DECODER)
    k->encode[TARE_ENCODING_Q8] = encode_q8;
    k->encode[TARE_ENCODING_Q4] = encode_q4;
}

#endif
