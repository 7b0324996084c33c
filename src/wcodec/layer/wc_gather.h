/* SPDX-License-Identifier: MIT
 *
 * What reading and writing of layers share: stream bytes from regions, references from a base. */
#ifndef TARE_WCODEC_LAYER_WC_GATHER_H
#define TARE_WCODEC_LAYER_WC_GATHER_H

#include "wcodec/layer/wc_layer.h"

/* Bytes first .. first + n - 1 of a stream, from its region; for a joined stream, whole units. */
tare_status tare_wc_gather(uint8_t *dst, const tare_coded_stream *stream,
                           const tare_wc_source *source, uint64_t first, uint64_t n,
                           tare_error *err);

/* The scales of a segment, in the layer and in its base; NULL: none. */
typedef struct tare_wc_scale_runs {
    const uint8_t *own, *base;
} tare_wc_scale_runs;

/* Which bytes of the scale stream belong to a segment; false: it has no scales. */
bool tare_wc_scale_span(uint64_t *first, uint64_t *n, const tare_wc_layer *layer, unsigned stream,
                        uint64_t segment);
/* What a segment is predicted from; the base's bytes go to `room`. */
tare_status tare_wc_load_reference(tare_wc_reference *out, uint8_t *room,
                                   const tare_wc_layer *layer, unsigned stream, uint64_t segment,
                                   const tare_wc_source *base, const tare_wc_scale_runs *scales,
                                   tare_error *err);

enum { TARE_WC_SCALES_STEP = 384 }; /* bytes of 32 units */

/* Values of packed scales, four in three bytes, of n bytes: whole units from a multiple of the step
 * on. */
void tare_wc_unpack_scales(uint8_t *dst, const uint8_t *src, uint32_t n);

#endif
