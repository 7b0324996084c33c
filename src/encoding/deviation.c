/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of deviations, and their lanes added up; see deviation.h. */
#include "encoding/deviation.h"

#include "encoding/float16.h"
#include "encoding/scalar.h"

void tare_add_deviation_c(tare_deviation *sum, const float *reference, const float *values,
                          size_t n) {
    for (size_t i = 0; i < n; i++)
        tare_deviation_add_pair(sum, i % TARE_DEVIATION_LANES, (double)tare_get_f32(reference, i),
                                (double)tare_get_f32(values, i));
}

void tare_deviation_add(tare_deviation *sum, const float *reference, const float *values,
                        size_t n) {
    tare_kernels_get()->add_deviation(sum, reference, values, n);
}

tare_deviation_sums tare_deviation_sum(const tare_deviation *sum) {
    tare_deviation s = *sum;
    for (size_t step = TARE_DEVIATION_LANES / 2; step > 0; step /= 2)
        for (size_t i = 0; i < step; i++) {
            s.difference[i] += s.difference[i + step];
            s.reference[i] += s.reference[i + step];
            if (s.max_abs[i + step] > s.max_abs[i]) s.max_abs[i] = s.max_abs[i + step];
        }
    return (tare_deviation_sums){s.difference[0], s.reference[0], s.max_abs[0], s.n_different};
}
