/* SPDX-License-Identifier: MIT
 *
 * Fits of levels for AVX2: a vector is the eight lanes of the reference. Its minimum and maximum
 * give the second of two vectors where the first is NaN, as the reference's comparisons do. */
#include "encoding/x86/lanes_avx2.h"

#include "encoding/fit.h"
#include "encoding/x86/x86.h"

_Static_assert((int)LANES == (int)TARE_FIT_LANES, "a vector of lanes");

static inline vec whole_levels(vec t, const tare_levels *l) {
    const vec magic = all(12582912.0f);
    t = min_of(max_of(t, all(l->low)), all(l->high));
    return sub(add(t, magic), magic);
}

static inline vec uneven_levels(vec t, const tare_levels *l) {
    vec q = all(l->low);
    for (int m = 0; m < l->n_limits; m++)
        q = add(q, both(is_below(all(l->limits[m]), t), all(l->gaps[m])));
    return q;
}

typedef struct sums {
    vec error, rq, qq;
} sums;

static inline void add_products(sums *s, vec q, vec x, vec w, float scale) {
    vec r = sub(x, mul(all(scale), q));
    vec wr = mul(w, r);
    s->error = add(s->error, mul(wr, r));
    s->rq = add(s->rq, mul(wr, q));
    s->qq = add(s->qq, mul(mul(w, q), q));
}

/* In the order of tare_sum_lanes. */
static inline float sum_of(vec a) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static tare_fit fit_levels(const float *x, const float *weights, size_t n,
                           const tare_levels *levels, float scale) {
    const vec inverse = all(scale != 0 ? 1 / scale : 0);
    sums s = {all(0), all(0), all(0)};
    if (levels->n_limits == 0)
        for (size_t i = 0; i < n; i += LANES) {
            vec v = load(x + i);
            add_products(&s, whole_levels(mul(v, inverse), levels), v, load(weights + i), scale);
        }
    else
        for (size_t i = 0; i < n; i += LANES) {
            vec v = load(x + i);
            add_products(&s, uneven_levels(mul(v, inverse), levels), v, load(weights + i), scale);
        }
    return (tare_fit){sum_of(s.error), sum_of(s.rq), sum_of(s.qq)};
}

static void fit_line(tare_line_fit *out, const float *x, const float *weights, size_t n, float top,
                     float scale, float offset) {
    const vec inverse = all(scale != 0 ? 1 / scale : 0), magic = all(12582912.0f);
    vec error = all(0), rq = all(0), r1 = all(0), qq = all(0), q1 = all(0);
    for (size_t i = 0; i < n; i += LANES) {
        const vec v = load(x + i), w = load(weights + i);
        vec q = mul(sub(v, all(offset)), inverse);
        q = min_of(max_of(q, all(0)), all(top));
        q = sub(add(q, magic), magic);
        const vec r = sub(v, add(mul(all(scale), q), all(offset))), wr = mul(w, r), wq = mul(w, q);
        error = add(error, mul(wr, r));
        rq = add(rq, mul(wr, q));
        r1 = add(r1, wr);
        qq = add(qq, mul(wq, q));
        q1 = add(q1, wq);
    }
    out->error = sum_of(error);
    out->rq = sum_of(rq);
    out->r1 = sum_of(r1);
    out->qq = sum_of(qq);
    out->q1 = sum_of(q1);
}

static inline vec e4m3(vec t) {
    t = min_of(max_of(t, all(-TARE_E4M3_LAST)), all(TARE_E4M3_LAST));
    const vec power = _mm256_and_ps(t, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)));
    const vec magic = mul(max_of(power, all(TARE_E4M3_NORMAL)), all(TARE_E4M3_MAGIC));
    return sub(add(t, magic), magic);
}

static float fit_e4m3(const float *x, const float *weights, size_t n, float scale) {
    const vec inverse = all(1 / scale);
    vec error = all(0);
    for (size_t i = 0; i < n; i += LANES) {
        const vec v = load(x + i), r = sub(v, mul(all(scale), e4m3(mul(v, inverse))));
        error = add(error, mul(mul(load(weights + i), r), r));
    }
    return sum_of(error);
}

void tare_kernels_use_fits_avx2(tare_kernels *k) {
    k->fit_levels = fit_levels;
    k->fit_line = fit_line;
    k->fit_e4m3 = fit_e4m3;
}
