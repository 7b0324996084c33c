/* SPDX-License-Identifier: MIT
 *
 * Products of low rank for AVX-512. */
#include "encoding/x86/lanes_avx512.h"

#include "encoding/simd/low_rank_tiles.h"
#include "encoding/x86/x86.h"

void tare_kernels_use_low_rank_avx512(tare_kernels *k) {
    k->add_low_rank = add_low_rank;
}
