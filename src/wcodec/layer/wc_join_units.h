/* SPDX-License-Identifier: MIT
 *
 * Joined streams between region and stream (docs/wcodec.md, 4.2). Segments are whole units, and so
 * are all stream bytes requested here. */
#ifndef TARE_WCODEC_LAYER_WC_JOIN_UNITS_H
#define TARE_WCODEC_LAYER_WC_JOIN_UNITS_H

#include "wcodec/layer/wc_layer.h"

/* Whether the stream's join is valid; its places are known to be inside the record, whose offset is
 * `at`. */
tare_status tare_wc_check_join(const tare_coded_stream *stream, uint64_t at, tare_error *err);
/* Bytes first .. first + n - 1 of a joined stream, whole units, from its region. */
tare_status tare_wc_join_units(uint8_t *dst, const tare_coded_stream *stream,
                               const tare_wc_source *source, uint64_t first, uint64_t n,
                               tare_error *err);
/* The stream's bytes first .. end - 1, whole units, to where the window shows them. `separator`: that
 * of its join, made by the kernels in force; NULL: made here. */
void tare_wc_separate_units(const tare_wc_window *window, const tare_coded_stream *stream,
                            const tare_wc_separator *separator, const uint8_t *bytes,
                            uint64_t first, uint64_t end);

#endif
