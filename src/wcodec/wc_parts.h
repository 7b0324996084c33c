/* SPDX-License-Identifier: MIT
 *
 * Where the parts of a segment are, without decoding it, from its header, its head and its stored
 * size. */
#ifndef TARE_WCODEC_PARTS_H
#define TARE_WCODEC_PARTS_H

#include "wcodec/wc_direct.h"
#include "wcodec/wc_structured.h"

typedef struct tare_wc_parts {
    tare_wc_direct direct;         /* mode DIRECT */
    tare_wc_structured structured; /* mode STRUCTURED */
} tare_wc_parts;

/* For a piece whose header was read. CORRUPT: the parts do not fill the segment, or refer to a rule
 * or table that the head lacks. */
tare_status tare_wc_find_parts(tare_wc_parts *out, const tare_wc_piece *piece, tare_error *err);

#endif
