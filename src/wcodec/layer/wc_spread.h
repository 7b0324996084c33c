/* SPDX-License-Identifier: MIT
 *
 * Moves bytes between a stream, where they are contiguous, and the units of its region. */
#ifndef TARE_WCODEC_LAYER_WC_SPREAD_H
#define TARE_WCODEC_LAYER_WC_SPREAD_H

#include "wcodec/layer/wc_layer.h"

/* The stream's bytes first .. end - 1, which `bytes` begins with, to where they belong, as far as
 * the window shows them. Of a joined stream whole units; `separator`: see wc_join_units.h. */
void tare_wc_scatter(const tare_wc_window *window, const tare_coded_stream *stream,
                     const tare_wc_separator *separator, const uint8_t *bytes, uint64_t first,
                     uint64_t end);

#endif
