/* SPDX-License-Identifier: MIT
 *
 * Encoders of the formats with blocks of 32 elements for AVX2. */
#include "encoding/x86/lanes_avx2.h"

#include "encoding/simd/blocks32.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_blocks32_avx2(tare_kernels *k) {
    use_blocks32(k);
}
