/* SPDX-License-Identifier: MIT
 *
 * The searches of many blocks at once for AVX2. */
#include "encoding/x86/lanes_avx2.h"
#include "encoding/x86/levels_avx2.h"

#include "encoding/kquant_encode.h"
#include "encoding/simd/search_affine.h"
#include "encoding/simd/search_levels.h"
#include "encoding/simd/search_rows.h"
#include "encoding/simd/search_signed.h"
#include "encoding/simd/search_unsigned.h"
#include "encoding/x86/x86.h"

const tare_searches tare_searches_avx2 = {
    search_affine, search_signed, search_moves, search_unsigned, search_levels,
    squares,       peaks,         recode,       level_codes,
};

TARE_DEFINE_K_ENCODERS(&tare_searches_avx2)
TARE_DEFINE_IQ4_ENCODERS(&tare_searches_avx2)
TARE_DEFINE_WEIGHTED_ENCODERS(&tare_searches_avx2)

void tare_kernels_use_searches_avx2(tare_kernels *k) {
    use_k_encoders(k);
    use_iq4_encoders(k);
    use_weighted_encoders(k);
}
