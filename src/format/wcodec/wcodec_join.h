/* SPDX-License-Identifier: MIT
 *
 * Joined planes between region and plane (docs/wcodec.md, 4.2). Segments are whole units, so that
 * all plane bytes that are asked for here are. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_JOIN_H
#define TARE_FORMAT_WCODEC_WCODEC_JOIN_H

#include "format/wcodec/wcodec_layer.h"

/* Whether the plane's join is one that a plane can have; its places are known to lie in the
 * record, whose offset `at` is. */
tare_status tare_wcodec_check_join(const tare_wcodec_plane *plane, uint64_t at, tare_error *err);
/* Bytes first .. first + n - 1 of a joined plane, whole units, from its region. */
tare_status tare_wcodec_join_units(uint8_t *dst, const tare_wcodec_plane *plane,
                                   const tare_wcodec_source *source, uint64_t first, uint64_t n,
                                   tare_error *err);
/* The plane's bytes first .. end - 1, whole units, to where the window shows them. */
void tare_wcodec_separate_units(const tare_wcodec_window *window, const tare_wcodec_plane *plane,
                                const uint8_t *bytes, uint64_t first, uint64_t end);

#endif
