/* SPDX-License-Identifier: MIT
 *
 * What each file of kernels puts into the table. */
#ifndef TARE_ENCODING_X86_X86_H
#define TARE_ENCODING_X86_X86_H

#include "encoding/kernels.h"
#include "encoding/searches.h"

void tare_kernels_use_blocks32_avx2(tare_kernels *k);
void tare_kernels_use_decoders_avx2(tare_kernels *k);
void tare_kernels_use_deviation_avx2(tare_kernels *k);
void tare_kernels_use_fits_avx2(tare_kernels *k);
void tare_kernels_use_fp4_encode_avx2(tare_kernels *k);
void tare_kernels_use_halves_avx2(tare_kernels *k);
void tare_kernels_use_low_rank_avx2(tare_kernels *k);
void tare_kernels_use_lowbit_encode_avx2(tare_kernels *k);
void tare_kernels_use_mcf_avx2(tare_kernels *k);
void tare_kernels_use_points_avx2(tare_kernels *k);
void tare_kernels_use_rowwise_avx2(tare_kernels *k);
void tare_kernels_use_searches_avx2(tare_kernels *k);
void tare_kernels_use_words_avx2(tare_kernels *k);
void tare_kernels_use_blocks32_avx512(tare_kernels *k);
void tare_kernels_use_decoders_avx512(tare_kernels *k);
void tare_kernels_use_fp4_encode_avx512(tare_kernels *k);
void tare_kernels_use_halves_avx512(tare_kernels *k);
void tare_kernels_use_low_rank_avx512(tare_kernels *k);
void tare_kernels_use_lowbit_encode_avx512(tare_kernels *k);
void tare_kernels_use_mcf_avx512(tare_kernels *k);
void tare_kernels_use_points_avx512(tare_kernels *k);
void tare_kernels_use_rowwise_avx512(tare_kernels *k);
void tare_kernels_use_searches_avx512(tare_kernels *k);

/* What other kernels of the level search with. */
extern const tare_searches tare_searches_avx2;
extern const tare_searches tare_searches_avx512;

#endif
