/* SPDX-License-Identifier: MIT
 *
 * The head of a stream and the header of a segment, read and written (docs/wcodec.md, 5.1, 6). */
#ifndef TARE_WCODEC_HEAD_H
#define TARE_WCODEC_HEAD_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "wcodec/wc_format.h"

/* Checks the part of a stream record that describes how its stream is cut. */
tare_status tare_wc_shape_check(const tare_wc_shape *shape, tare_error *err);
/* The head in all bytes that are left in the cursor (none: an empty head). Everything lies in the
 * arena. */
tare_status tare_wc_head_read(tare_wc_head **out, const tare_wc_shape *shape, tare_cursor *c,
                              tare_arena *arena, tare_error *err);
/* Appends the head's bytes, a multiple of 64; none if the head is empty. */
void tare_wc_head_write(tare_buffer *out, const tare_wc_head *head);
uint32_t tare_wc_head_bytes(const tare_wc_head *head); /* that it appends */

/* Fills the map of a rule that has none, and what follows from value_bits. */
void tare_wc_rule_complete(tare_wc_rule *rule, uint8_t value_bits);

/* The 32 bytes; every field that the mode does not use must be 0. */
tare_status tare_wc_segment_read(tare_wc_segment *s, tare_cursor *c, tare_error *err);
void tare_wc_segment_write(uint8_t bytes[TARE_WC_SEGMENT_HEADER], const tare_wc_segment *s);
/* Whether n bytes are 0. */
bool tare_wc_is_zero(const uint8_t *bytes, size_t n);

#endif
