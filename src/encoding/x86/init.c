/* SPDX-License-Identifier: MIT
 *
 * Overrides by CPU level, lowest first. */
#include "encoding/x86/x86.h"

void tare_kernels_init_x86(tare_kernels *k, unsigned cpu) {
    if (!(cpu & TARE_CPU_AVX2)) return;
    tare_kernels_use_blocks32_avx2(k);
    tare_kernels_use_decoders_avx2(k);
    tare_kernels_use_deviation_avx2(k);
    tare_kernels_use_fits_avx2(k);
    tare_kernels_use_fp4_encode_avx2(k);
    tare_kernels_use_halves_avx2(k);
    tare_kernels_use_low_rank_avx2(k);
    tare_kernels_use_lowbit_encode_avx2(k);
    tare_kernels_use_mcf_avx2(k);
    tare_kernels_use_points_avx2(k);
    tare_kernels_use_rowwise_avx2(k);
    tare_kernels_use_searches_avx2(k);
    tare_kernels_use_words_avx2(k);
    if (!(cpu & TARE_CPU_AVX512)) return;
    tare_kernels_use_blocks32_avx512(k);
    tare_kernels_use_decoders_avx512(k);
    tare_kernels_use_fp4_encode_avx512(k);
    tare_kernels_use_halves_avx512(k);
    tare_kernels_use_low_rank_avx512(k);
    tare_kernels_use_lowbit_encode_avx512(k);
    tare_kernels_use_mcf_avx512(k);
    tare_kernels_use_points_avx512(k);
    tare_kernels_use_rowwise_avx512(k);
    tare_kernels_use_searches_avx512(k);
}
