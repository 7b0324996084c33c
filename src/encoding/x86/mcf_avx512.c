/* SPDX-License-Identifier: MIT
 *
 * MCF's formats for AVX-512. */
#include "encoding/x86/lanes_avx512.h"

#include "encoding/simd/mcf_encode.h"
#include "encoding/simd/mcf_ints.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_mcf_avx512(tare_kernels *k) {
    use_mcf_decoders(k);
    use_mcf_encoders(k);
    use_mcf_ints(k);
}
