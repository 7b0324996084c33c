/* SPDX-License-Identifier: MIT
 *
 * Encoders of the formats of one and two bits for AVX-512. */
#include "encoding/x86/lanes_avx512.h"

#include "encoding/simd/lowbit_encode.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_lowbit_encode_avx512(tare_kernels *k) {
    use_lowbit_encode(k);
}
