/* SPDX-License-Identifier: MIT
 *
 * Rounding to codes for AVX2: eight numbers at once, the last few as the reference has them. */
#include "encoding/x86/lanes_avx2.h"

#include "encoding/group_codes.h"
#include "encoding/x86/x86.h"

static inline size_t whole_vectors(size_t n) {
    return n / LANES * LANES;
}

static void reach(tare_reach *out, const float *x, size_t n) {
    const size_t end = whole_vectors(n);
    const ivec magnitude = all_i(0x7fffffff);
    float lows[LANES], highs[LANES];
    uint32_t sizes[LANES];
    tare_group_reach_c(out, end < n ? x + end : x, end < n ? n - end : 1);
    if (end == 0) return;
    vec low = load(x), high = low;
    ivec size = and_i(bits_of(low), magnitude);
    for (size_t i = LANES; i < end; i += LANES) {
        const vec v = load(x + i);
        low = min_of(v, low);
        high = max_of(v, high);
        size = max_unsigned(size, and_i(bits_of(v), magnitude));
    }
    store(lows, low);
    store(highs, high);
    store_i(sizes, size);
    for (int k = 0; k < LANES; k++) {
        out->low = lows[k] < out->low ? lows[k] : out->low;
        out->high = highs[k] > out->high ? highs[k] : out->high;
        out->largest = sizes[k] > out->largest ? sizes[k] : out->largest;
    }
}

/* To BF16: half a unit is added to the bits that go, less one where the last of those that stay is 0. */
static inline vec rounded(vec v, tare_encoding_id type) {
    if (type == TARE_ENCODING_F16) return _mm256_cvtph_ps(_mm256_cvtps_ph(v, 0));
    if (type != TARE_ENCODING_BF16) return v;
    const ivec b = bits_of(v), last = and_i(shift_right(b, 16), all_i(1));
    return of_bits(and_i(add_i(b, add_i(all_i(0x7fff), last)), all_i(0xffff0000)));
}

static inline vec scaled(vec v, const tare_rounding *r, tare_encoding_id type) {
    v = sub(v, all(r->offset));
    v = rounded(r->multiplies ? mul(v, all(r->scale)) : divide(v, all(r->scale)), type);
    return rounded(add(v, all(r->zero)), type);
}

static inline vec within(vec v, const tare_rounding *r) {
    return min_of(max_of(v, all(r->low)), all(r->high));
}

/* Whole numbers below 256 as bytes. */
static inline void store_bytes(uint8_t *out, ivec a) {
    const __m128i halves =
        _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(halves, halves));
}

static inline void whole_as(uint8_t *codes, const float *x, size_t end, const tare_rounding *r,
                            tare_encoding_id type) {
    const vec magic = all(12582912.0f);
    for (size_t i = 0; i < end; i += LANES) {
        const vec t = sub(add(within(scaled(load(x + i), r, type), r), magic), magic);
        store_bytes(codes + i, whole_of(sub(t, all(r->low))));
    }
}

static void whole(uint8_t *codes, const float *x, size_t n, const tare_rounding *r) {
    const size_t end = whole_vectors(n);
    if (r->numbers == TARE_ENCODING_BF16)
        whole_as(codes, x, end, r, TARE_ENCODING_BF16);
    else if (r->numbers == TARE_ENCODING_F16)
        whole_as(codes, x, end, r, TARE_ENCODING_F16);
    else
        whole_as(codes, x, end, r, TARE_ENCODING_F32);
    tare_group_whole_c(codes + end, x + end, n - end, r);
}

static void e4m3(uint8_t *codes, const float *x, size_t n, const tare_rounding *r) {
    const size_t end = whole_vectors(n);
    const vec steps = all(TARE_E4M3_SMALL_STEPS);
    for (size_t i = 0; i < end; i += LANES) {
        const vec t = within(scaled(load(x + i), r, r->numbers), r);
        const ivec size = bits_of(size_of(t)), last = and_i(shift_right(size, 20), all_i(1));
        const ivec normal =
            sub_i(shift_right(add_i(add_i(size, all_i(0x7ffff)), last), 20), all_i((127 - 7) << 3));
        const ivec small = sub_i(bits_of(add(of_bits(size), steps)), bits_of(steps));
        const ivec code = if_greater(all_i(TARE_E4M3_NORMAL_BITS), size, small, normal);
        const ivec sign = and_i(shift_right(bits_of(t), 24), all_i(0x80));
        store_bytes(codes + i, or_i(code, sign));
    }
    tare_group_e4m3_c(codes + end, x + end, n - end, r);
}

/* Codes count the limits below a number; a mask is -1. */
static void e2m1(uint8_t *codes, const float *x, size_t n, const tare_e2m1_rounding *r) {
    static const float limits[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
    const size_t end = r->scale != 0 ? whole_vectors(n) : 0;
    for (size_t i = 0; i < end; i += LANES) {
        const vec t = divide(load(x + i), all(r->scale)), size = size_of(t);
        ivec code = all_i(0);
        for (uint32_t m = 0; m < 7; m++)
            code = sub_i(code, bits_of(m % 2 && !r->ties_to_zero ? is_at_most(all(limits[m]), size)
                                                                 : is_below(all(limits[m]), size)));
        ivec sign = and_i(bits_of(is_below(t, all(0))), all_i(8));
        if (r->has_one_zero) sign = if_equal(code, all_i(0), all_i(0), sign);
        store_bytes(codes + i, or_i(code, sign));
    }
    tare_group_e2m1_c(codes + end, x + end, n - end, r);
}

void tare_kernels_use_groups_avx2(tare_kernels *k) {
    k->group_reach = reach;
    k->group_whole = whole;
    k->group_e4m3 = e4m3;
    k->group_e2m1 = e2m1;
}
