/* SPDX-License-Identifier: MIT
 *
 * What every byte of UTF-8 must be after the three before it: conditions without a way out, so that
 * compilers use the vectors that the file which includes this is compiled for. */
#ifndef TARE_BASE_UTF8_SCAN_H
#define TARE_BASE_UTF8_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* 0: bytes 0 .. n - 1 are right after those before them, of which p[-3] is the first. Each form
 * that is not valid has a byte that is wrong: one that continues nothing, or does not continue what
 * needs it, one that never occurs, or a second byte of a form that is too long, a surrogate or beyond
 * the last character. */
static inline uint8_t tare_utf8_faults(const uint8_t *p, size_t n) {
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = p + i;
        const uint8_t c = at[0], b = at[-1], a = at[-2], z = at[-3];
        const uint8_t is_needed = (b >= 0xc0) | (a >= 0xe0) | (z >= 0xf0);
        bad |= is_needed ^ ((c & 0xc0) == 0x80);
        bad |= ((c & 0xfe) == 0xc0) | (c > 0xf4);
        bad |= ((b == 0xe0) & (c < 0xa0)) | ((b == 0xed) & (c > 0x9f));
        bad |= ((b == 0xf0) & (c < 0x90)) | ((b == 0xf4) & (c > 0x8f));
    }
    return bad;
}

#endif
