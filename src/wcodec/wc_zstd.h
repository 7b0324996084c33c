/* SPDX-License-Identifier: MIT
 *
 * A frame of zstd: made in pieces, and taken from strangers. */
#ifndef TARE_WCODEC_WC_ZSTD_H
#define TARE_WCODEC_WC_ZSTD_H

#include "base/status.h"

/* Writes the bytes that ZSTD_compress gives; between two blocks of a frame it looks whether the run
 * is to stop (CANCELLED). *size is 0 where the frame needs more than `room` bytes. */
tare_status tare_wc_zstd_pack(size_t *size, uint8_t *dst, size_t room, const uint8_t *bytes,
                              size_t n, int level, tare_error *err);
/* Whether the bytes are exactly one frame of RFC 8878, which may be damaged inside. */
bool tare_wc_zstd_is_frame(const uint8_t *bytes, size_t n);
/* What such a frame is of; false unless it is exactly n_out bytes. */
bool tare_wc_zstd_unpack(uint8_t *out, size_t n_out, const uint8_t *frame, size_t n);

#endif
