/* SPDX-License-Identifier: MIT
 *
 * What reading and writing of layers share: plane bytes from regions, references from a base. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_PLANES_H
#define TARE_FORMAT_WCODEC_WCODEC_PLANES_H

#include "format/wcodec/wcodec_layer.h"

/* Bytes first .. first + n - 1 of a plane, from its region; of a joined one whole units. */
tare_status tare_wcodec_gather(uint8_t *dst, const tare_wcodec_plane *plane,
                               const tare_wcodec_source *source, uint64_t first, uint64_t n,
                               tare_error *err);

/* The scales of a segment, in the layer and in its base; NULL: none. */
typedef struct tare_wcodec_scales {
    const uint8_t *own, *base;
} tare_wcodec_scales;

/* Which bytes of the scale plane belong to a segment; false: it has no scales. */
bool tare_wcodec_scale_span(uint64_t *first, uint64_t *n, const tare_wcodec_layer *layer,
                            unsigned plane, uint64_t segment);
/* What a segment is predicted from; the base's bytes go to `room`. */
tare_status tare_wcodec_reference(tare_wc_reference *out, uint8_t *room,
                                  const tare_wcodec_layer *layer, unsigned plane, uint64_t segment,
                                  const tare_wcodec_source *base, const tare_wcodec_scales *scales,
                                  tare_error *err);

enum { TARE_WCODEC_SCALES_STEP = 384 }; /* bytes of 32 units */

/* Values of packed scales, four in three bytes, of n bytes: whole units from a multiple of the step
 * on. */
void tare_wcodec_unpack_scales(uint8_t *dst, const uint8_t *src, uint32_t n);

#endif
