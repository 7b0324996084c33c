/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of the encodings that also have faster kernels. Those kernels hand it the
 * remainders that do not fill a vector and the rare blocks they cannot handle identically. */
#ifndef TARE_ENCODING_SCALAR_H
#define TARE_ENCODING_SCALAR_H

#include "encoding/kernels.h"

void tare_decode_f16_c(float *dst, const tare_rows *src);
void tare_decode_bf16_c(float *dst, const tare_rows *src);

void tare_encode_f16_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_bf16_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q4_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q4_1_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q5_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q5_1_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q8_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_mxfp4_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_nvfp4_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q1_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_q2_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_tq1_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);
void tare_encode_tq2_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p);

void tare_count_nonfinite_c(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                            uint64_t position);
void tare_add_deviation_c(tare_deviation *sum, const float *reference, const float *values,
                          size_t n);
void tare_add_low_rank_c(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                         size_t n_cols);
void tare_swap_u16_c(uint8_t *bytes, uint64_t n);
void tare_swap_u32_c(uint8_t *bytes, uint64_t n);
void tare_swap_u64_c(uint8_t *bytes, uint64_t n);

/* Elements of some rows. Callers of kernels have checked that they fit in memory. */
static inline size_t tare_rows_count(const tare_rows *rows) {
    return (size_t)(rows->n_rows * rows->cols);
}
static inline size_t tare_rows_mut_count(const tare_rows_mut *rows) {
    return (size_t)(rows->n_rows * rows->cols);
}

/* One run of n elements through a function that takes rows. */
static inline void tare_decode_run(tare_decode_fn decode, float *dst, const uint8_t *src,
                                   size_t n) {
    tare_rows rows = {{src}, 1, n};
    decode(dst, &rows);
}
static inline void tare_encode_run(tare_encode_fn encode, uint8_t *dst, const float *src,
                                   size_t n) {
    tare_rows_mut rows = {{dst}, 1, n};
    encode(&rows, src, NULL);
}

#endif
