/* SPDX-License-Identifier: MIT
 *
 * The records of layers in the index of a .wcodec as one frame of zstd (docs/wcodec.md, 4): those of
 * a ladder differ in little but their numbers. */
#ifndef TARE_FORMAT_WCODEC_RECORDS_H
#define TARE_FORMAT_WCODEC_RECORDS_H

#include "base/buffer.h"

/* Replaces what the buffer has from `at` on, so many records, by a frame, and returns how many bytes
 * that was. 0: it stays, as it would not be smaller, or more would come of it than a reader takes. */
size_t tare_wcodec_records_pack(tare_buffer *out, size_t at, uint32_t n_records);
/* The `size` bytes (not 0), so many records, that a frame of n bytes is said to be of; for tare_free.
 * `at`: where the frame stands in the file. */
tare_status tare_wcodec_records_unpack(uint8_t **out, uint64_t size, uint32_t n_records,
                                       const uint8_t *frame, size_t n, uint64_t at,
                                       const tare_limits *limits, const tare_allocator *allocator,
                                       tare_error *err);

#endif
