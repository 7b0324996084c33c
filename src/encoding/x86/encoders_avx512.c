/* SPDX-License-Identifier: MIT
 *
 * Kernels over lanes alone, but decoders of blocks, for AVX-512. */
#include "encoding/x86/lanes_avx512.h"

#include "encoding/simd/blocks32.h"
#include "encoding/simd/fp4_encode.h"
#include "encoding/simd/low_rank_tiles.h"
#include "encoding/simd/lowbit_encode.h"
#include "encoding/simd/mcf_encode.h"
#include "encoding/simd/mcf_ints.h"
#include "encoding/simd/rowwise_lanes.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_encoders_avx512(tare_kernels *k) {
    use_blocks32(k);
    use_fp4_encode(k);
    use_lowbit_encode(k);
    k->add_low_rank = add_low_rank;
    use_mcf_decoders(k);
    use_mcf_encoders(k);
    use_mcf_ints(k);
    use_rowwise(k);
}
