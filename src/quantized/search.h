/* SPDX-License-Identifier: MIT
 *
 * Finding the packed weights of a model. */
#ifndef TARE_QUANTIZED_SEARCH_H
#define TARE_QUANTIZED_SEARCH_H

#include "quantized/scheme.h"

/* Finds all; `m`, `arena` and the wishes are set. Notes go to m; `weights` are freed by the caller,
 * whatever comes back. */
tare_status tare_weight_search_run(tare_weight_search *s, tare_error *err);

#endif
