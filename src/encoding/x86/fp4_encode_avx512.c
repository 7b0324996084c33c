/* SPDX-License-Identifier: MIT
 *
 * Encoders of the formats with E2M1 codes for AVX-512. */
#include "encoding/x86/lanes_avx512.h"

#include "encoding/simd/fp4_encode.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_fp4_encode_avx512(tare_kernels *k) {
    use_fp4_encode(k);
}
