/* SPDX-License-Identifier: MIT
 *
 * What the index of a .wcodec says of heads and segments (docs/wcodec.md, 4.1): their CRCs, so that
 * each is known to be where it belongs. */
#ifndef TARE_FORMAT_WCODEC_CRCS_H
#define TARE_FORMAT_WCODEC_CRCS_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "wcodec/layer/wc_stream.h"

/* Appended to a layer's record, whose CRCs are known. */
void tare_wcodec_crcs_put(tare_buffer *out, const tare_wc_layer *layer);
/* At the end of the record that begins at byte `record`. `minor`: the version that the file has;
 * where they must be there, their lack is an error. */
tare_status tare_wcodec_crcs_read(tare_wc_layer *layer, tare_cursor *c, uint64_t record,
                                  uint16_t minor, tare_arena *arena, tare_error *err);

#endif
