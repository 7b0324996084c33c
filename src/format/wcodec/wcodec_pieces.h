/* SPDX-License-Identifier: MIT
 *
 * Numbers of a derivation that are pieces of several layers' (docs/wcodec.md, 4.6). */
#ifndef TARE_FORMAT_WCODEC_WCODEC_PIECES_H
#define TARE_FORMAT_WCODEC_WCODEC_PIECES_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "model/pieces.h"

struct tare_wcodec_index;

/* Appends them; sources are numbers of layers. */
void tare_wcodec_pieces_put(tare_buffer *out, const tare_composition *of);
tare_status tare_wcodec_pieces_read(const tare_composition **out, tare_cursor *c, tare_arena *arena,
                                    tare_error *err);
/* Whether they are n_elements numbers, and each lies in its source; that sources come before is for the
 * caller to check. */
tare_status tare_wcodec_pieces_check(const struct tare_wcodec_index *index,
                                     const tare_composition *of, uint64_t n_elements, uint64_t at,
                                     tare_error *err);
#endif
