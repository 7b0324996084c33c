/* SPDX-License-Identifier: MIT
 *
 * Whether a layer that is decoded piece by piece is the one that its CRC is of. Each segment has
 * its own CRC, so two that changed places decode; the layer's CRC, over those of the segments, tells
 * when the last of them is decoded. Nothing is read twice. */
#ifndef TARE_WCODEC_LAYER_WC_WHOLE_H
#define TARE_WCODEC_LAYER_WC_WHOLE_H

#include "wcodec/layer/wc_stream.h"

typedef struct tare_wc_whole tare_wc_whole;

/* Of a layer whose heads have the given CRCs, none of whose segments is decoded yet; NULL: no
 * memory. The layer must outlive it. */
tare_wc_whole *tare_wc_whole_new(const tare_wc_layer *layer, const uint32_t *head_crcs,
                                 const tare_allocator *allocator);
void tare_wc_whole_free(tare_wc_whole *whole); /* may be NULL */
/* A segment was decoded, and states this CRC. Once all were, and the layer's CRC is not theirs, this
 * call and all later ones fail. Any thread may call it. */
tare_status tare_wc_whole_note(tare_wc_whole *whole, unsigned stream, uint64_t segment,
                               uint32_t crc, tare_error *err);

#endif
