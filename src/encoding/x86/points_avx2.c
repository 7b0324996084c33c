/* SPDX-License-Identifier: MIT
 *
 * The searches of the IQ1, IQ2 and IQ3 encoders for AVX2. */
#include "encoding/x86/lanes_avx2.h"
#include "encoding/x86/split_eight.h"

#include "encoding/simd/search_points.h"
#include "encoding/simd/search_splits.h"
#include "encoding/x86/x86.h"

static const tare_iq_searches searches = {&tare_searches_avx2, split_points, search_points,
                                          &tare_iq_searches_c};

static const tare_iq1_searches iq1_searches = {sort_elements,  split_32,    split_16,
                                               split_16_older, place_eight, &tare_iq1_searches_c};

TARE_DEFINE_IQ_ENCODERS(&searches)
TARE_DEFINE_IQ1_ENCODERS(&iq1_searches)

void tare_kernels_use_points_avx2(tare_kernels *k) {
    use_iq_encoders(k);
    use_iq1_encoders(k);
}
