/* SPDX-License-Identifier: MIT
 *
 * Variable-length numbers. */
#include "wcodec/wc_varint.h"

uint64_t tare_wc_varint(tare_cursor *c, const char *what) {
    uint64_t at = tare_cursor_offset(c), v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = tare_cursor_u8(c, what);
        if (!tare_cursor_ok(c)) return 0;
        if ((shift == 63 && byte > 1) || (shift && byte == 0)) {
            tare_cursor_fail(c, TARE_ERR_CORRUPT, at, what);
            return 0;
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return v;
    }
}

void tare_wc_put_varint(tare_buffer *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7) tare_buffer_put_u8(out, (uint8_t)(v | 0x80));
    tare_buffer_put_u8(out, (uint8_t)v);
}
