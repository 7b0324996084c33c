/* SPDX-License-Identifier: MIT
 *
 * INFQ's formats for AVX2. */
#include "encoding/x86/lanes_avx2.h"

#include "encoding/simd/rowwise_lanes.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_rowwise_avx2(tare_kernels *k) {
    use_rowwise(k);
}
