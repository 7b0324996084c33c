/* SPDX-License-Identifier: MIT
 *
 * Small streams of a layer in memory. Streams of a region share its units: reading each by itself
 * reads the region as often as it has streams, and twice, for counting and for encoding. */
#ifndef TARE_WCODEC_LAYER_WC_RETAIN_H
#define TARE_WCODEC_LAYER_WC_RETAIN_H

#include "wcodec/layer/wc_layer_write.h"

/* Which streams of a layer are retained, a bit each: small parts of the units of a region that is not in
 * memory. Together they have a few MiB. */
uint32_t tare_wc_streams_to_retain(const tare_wc_layer_job *job);
/* Reads these streams, each into its dst, in one pass over each region. */
tare_status tare_wc_retain_streams(uint8_t *const dst[TARE_CODED_MAX_STREAMS], uint32_t streams,
                                   const tare_wc_layer_job *job, tare_error *err);

#endif
