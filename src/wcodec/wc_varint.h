/* SPDX-License-Identifier: MIT
 *
 * Numbers in as few bytes as they need (docs/wcodec.md, "varint"), and their signed form. */
#ifndef TARE_WCODEC_VARINT_H
#define TARE_WCODEC_VARINT_H

#include "base/buffer.h"
#include "base/cursor.h"

/* 0 after a failure; more bytes than needed, or than 64 bits fill, are CORRUPT. */
uint64_t tare_wc_varint(tare_cursor *c, const char *what);
void tare_wc_put_varint(tare_buffer *out, uint64_t v);

static inline uint64_t tare_wc_zigzag(int64_t d) {
    return d < 0 ? ~((uint64_t)d << 1) : (uint64_t)d << 1;
}
static inline int64_t tare_wc_unzigzag(uint64_t z) {
    return (int64_t)(z >> 1 ^ (0 - (z & 1)));
}

#endif
