/* SPDX-License-Identifier: MIT
 *
 * The searches of many blocks at once for AVX-512. */
#include "encoding/x86/lanes_avx512.h"
#include "encoding/x86/levels_avx512.h"

#include "encoding/kquant_encode.h"
#include "encoding/simd/search_affine.h"
#include "encoding/simd/search_levels.h"
#include "encoding/simd/search_rows.h"
#include "encoding/simd/search_signed.h"
#include "encoding/simd/search_unsigned.h"
#include "encoding/x86/x86.h"

const tare_searches tare_searches_avx512 = {
    search_affine, search_signed, search_moves, search_unsigned, search_levels,
    squares,       peaks,         recode,       level_codes,
};

TARE_DEFINE_K_ENCODERS(&tare_searches_avx512)
TARE_DEFINE_IQ4_ENCODERS(&tare_searches_avx512)
TARE_DEFINE_WEIGHTED_ENCODERS(&tare_searches_avx512)

void tare_kernels_use_searches_avx512(tare_kernels *k) {
    use_k_encoders(k);
    use_iq4_encoders(k);
    use_weighted_encoders(k);
}
