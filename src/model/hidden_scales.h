/* SPDX-License-Identifier: MIT
 *
 * Scales that are no numbers and that decoding does not show. */
#ifndef TARE_MODEL_HIDDEN_SCALES_H
#define TARE_MODEL_HIDDEN_SCALES_H

#include <tare/encoding.h>

#include "model/catalog.h"

/* Counts as NaN what decoding elements [first, first + n) makes numbers of although their scale is none: as
 * ggml does in NVFP4, whose such scales are 0. */
tare_status tare_count_hidden(tare_nonfinite_counts *sum, const tare_model *m, size_t tensor,
                              uint64_t first, uint64_t n, tare_error *err);

#endif
