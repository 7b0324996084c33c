/* SPDX-License-Identifier: MIT
 *
 * Decoders of the block formats and the floats of 8 and 4 bits for AVX2. */
#include "encoding/x86/lanes_avx2.h"

#include "encoding/simd/decode_blocks32.h"
#include "encoding/simd/decode_iquants.h"
#include "encoding/simd/decode_kquants.h"
#include "encoding/simd/decode_levels.h"
#include "encoding/simd/decode_small.h"
#include "encoding/simd/decode_ternary.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_decoders_avx2(tare_kernels *k) {
    use_decode_blocks32(k);
    use_decode_iquants(k);
    use_decode_kquants(k);
    use_decode_levels(k);
    use_decode_small(k);
    use_decode_ternary(k);
}
