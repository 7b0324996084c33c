/* SPDX-License-Identifier: MIT
 *
 * Deviations for AVX2, sixteen values at a time, one of each lane. Infinity and NaN are rare: if
 * there is one, the reference handles all sixteen. Reading the values takes most of the time, so
 * wider vectors would not be faster. */
#include <immintrin.h>

#include "encoding/deviation.h"
#include "encoding/scalar.h"
#include "encoding/x86/x86.h"

enum { LANES = TARE_DEVIATION_LANES, VECTORS = LANES / 4 };

typedef struct lanes {
    __m256d v[VECTORS];
} lanes;

static inline lanes load_lanes(const double *p) {
    lanes l;
    for (int i = 0; i < VECTORS; i++) l.v[i] = _mm256_loadu_pd(p + 4 * i);
    return l;
}
static inline void store_lanes(double *p, const lanes *l) {
    for (int i = 0; i < VECTORS; i++) _mm256_storeu_pd(p + 4 * i, l->v[i]);
}

/* -1 in lanes of infinity and NaN. */
static inline __m256i is_odd(const float *p) {
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    __m256i bits = _mm256_loadu_si256((const void *)p);
    return _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent);
}
static inline bool has_odd(const float *x, const float *y) {
    __m256i odd = _mm256_or_si256(_mm256_or_si256(is_odd(x), is_odd(x + 8)),
                                  _mm256_or_si256(is_odd(y), is_odd(y + 8)));
    return !_mm256_testz_si256(odd, odd);
}

static inline unsigned count_different(const float *x, const float *y) {
    __m256 differs = _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y), _CMP_NEQ_UQ);
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(differs));
}

static void add_deviation(tare_deviation *sum, const float *reference, const float *values,
                          size_t n) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    size_t i = 0;
    while (n - i >= LANES) {
        lanes difference = load_lanes(sum->difference), squares = load_lanes(sum->reference);
        lanes most = load_lanes(sum->max_abs);
        for (; n - i >= LANES && !has_odd(reference + i, values + i); i += LANES) {
            for (int k = 0; k < VECTORS; k++) {
                __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(reference + i + 4 * k));
                __m256d y = _mm256_cvtps_pd(_mm_loadu_ps(values + i + 4 * k));
                __m256d d = _mm256_andnot_pd(sign, _mm256_sub_pd(x, y));
                squares.v[k] = _mm256_add_pd(squares.v[k], _mm256_mul_pd(x, x));
                difference.v[k] = _mm256_add_pd(difference.v[k], _mm256_mul_pd(d, d));
                most.v[k] = _mm256_max_pd(d, most.v[k]);
            }
            sum->n_different += count_different(reference + i, values + i);
            sum->n_different += count_different(reference + i + 8, values + i + 8);
        }
        store_lanes(sum->difference, &difference);
        store_lanes(sum->reference, &squares);
        store_lanes(sum->max_abs, &most);
        if (n - i >= LANES) {
            tare_add_deviation_c(sum, reference + i, values + i, LANES);
            i += LANES;
        }
    }
    tare_add_deviation_c(sum, reference + i, values + i, n - i);
}

void tare_kernels_use_deviation_avx2(tare_kernels *k) {
    k->add_deviation = add_deviation;
}
