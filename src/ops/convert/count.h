/* SPDX-License-Identifier: MIT
 *
 * Counting the numbers that a conversion did not carry over. */
#ifndef TARE_OPS_CONVERT_COUNT_H
#define TARE_OPS_CONVERT_COUNT_H

#include <tare/encoding.h>

/* Adds NaN and Inf among the values of some rows, and what overflowed in their encoded form: values
 * or scales that are Inf or NaN there though their source was finite. */
void tare_count_recoded(tare_nonfinite_counts *sum, const tare_encoding *to, const float *values,
                        const tare_rows_mut *rows, uint64_t position);

#endif
