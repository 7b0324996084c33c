/* SPDX-License-Identifier: MIT
 *
 * Whether the slow modes look promising, judged from samples of a segment. */
#ifndef TARE_WCODEC_SCREEN_H
#define TARE_WCODEC_SCREEN_H

#include "wcodec/wc_format.h"

/* Whether neighbours help to predict a value: a whole segment's bytes, rows of `width` values. */
bool tare_wc_may_have_tiles(uint8_t value_bits, bool is_signed, uint32_t width,
                            const uint8_t *bytes, uint32_t n_bytes);
/* Whether zstd may need less than the `stored` bytes of another mode (0: there is none). `room` is
 * for what a sample compresses to. */
bool tare_wc_may_repeat(const uint8_t *bytes, uint32_t n_bytes, uint32_t stored, uint8_t *room,
                        size_t room_size);

/* Whether some of the bytes are runs of the same 64 bytes, as in the rows of zeros in the moments of an
 * embedding: DIRECT would pay the bypass bits for each of their values. Takes no longer than a look at the
 * bytes. */
bool tare_wc_has_runs(const uint8_t *bytes, uint32_t n_bytes);

#endif
