/* SPDX-License-Identifier: MIT
 *
 * What the predictors REF and REF_SCALED add to differences, and take from values
 * (docs/wcodec.md, 6). */
#ifndef TARE_WCODEC_REFERENCE_H
#define TARE_WCODEC_REFERENCE_H

#include "wcodec/wc_segment.h"

/* values[i] = values[i] + r[i], or - r[i], modulo 2^value_bits; both as bytes of the stream. */
void tare_wc_reference_add(uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                           const tare_wc_reference *reference, tare_coded_predictor predictor);
void tare_wc_reference_subtract(uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                                const tare_wc_reference *reference, tare_coded_predictor predictor);

#endif
