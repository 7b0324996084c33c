/* SPDX-License-Identifier: MIT
 *
 * The entries that each kernel file of the codec puts into the table. */
#ifndef TARE_WCODEC_X86_H
#define TARE_WCODEC_X86_H

#include "wcodec/wc_kernels.h"

void tare_wc_kernels_use_decode_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_encode_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_split_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_join_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_units_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_search_avx2(tare_wc_kernels *k);
void tare_wc_kernels_use_crc_avx2(tare_wc_kernels *k); /* needs VPCLMULQDQ */
void tare_wc_kernels_use_crc_vbmi2(tare_wc_kernels *k);
void tare_wc_kernels_use_decode_vbmi2(tare_wc_kernels *k);
void tare_wc_kernels_use_encode_vbmi2(tare_wc_kernels *k);
void tare_wc_kernels_use_split_vbmi2(tare_wc_kernels *k);
void tare_wc_kernels_use_join_vbmi2(tare_wc_kernels *k);
void tare_wc_kernels_use_search_vbmi2(tare_wc_kernels *k);

/* For jobs that a higher level leaves to this one. */
void tare_wc_encode_avx2(tare_wc_put_job *jobs, unsigned n_jobs);

#endif
