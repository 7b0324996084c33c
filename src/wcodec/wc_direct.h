/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments (docs/wcodec.md, 8). */
#ifndef TARE_WCODEC_DIRECT_H
#define TARE_WCODEC_DIRECT_H

#include "wcodec/wc_segment.h"

/* Where the parts of a DIRECT segment begin, from its header. */
typedef struct tare_wc_direct {
    uint32_t n_positions, n_class_symbols;
    uint32_t patches, groups[TARE_WC_BYPASS_GROUPS], end;
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    unsigned n_groups; /* all of them */
    unsigned n_read;   /* those that are to be read */
} tare_wc_direct;

/* Checks the header against the head and the size of the segment. */
tare_status tare_wc_direct_parts(tare_wc_direct *d, const tare_wc_segment *s,
                                 const tare_wc_piece *piece, unsigned groups, tare_error *err);
/* Makes the kernel's job; classes, if any, go to `classes` (one byte for 256 positions). */
tare_status tare_wc_direct_begin(tare_wc_job *job, const tare_wc_direct *d,
                                 const tare_wc_segment *s, const tare_wc_piece *piece,
                                 uint8_t *classes, tare_error *err);
/* Checks how the lanes ended, and the padding. */
tare_status tare_wc_direct_end(const tare_wc_job *job, const tare_wc_direct *d,
                               const tare_wc_piece *piece, tare_error *err);

/* The class behind a rank: move to front. */
static inline uint8_t tare_wc_front(uint8_t list[TARE_WC_MAX_CLASSES], unsigned rank) {
    uint8_t class = list[rank];
    for (; rank; rank--) list[rank] = list[rank - 1];
    return list[0] = class;
}

#endif
