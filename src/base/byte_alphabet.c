/* SPDX-License-Identifier: MIT
 *
 * Printable bytes of Latin-1 are themselves, the others characters from U+0100 on, in order. */
#include "base/byte_alphabet.h"

#include <stdint.h>

static unsigned code_point_of(uint8_t byte) {
    if ((byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173)) return byte;
    if (byte <= 32) return 256U + byte;
    if (byte <= 160) return 256U + 33 + (byte - 127U);
    return 256U + 67; /* 173 */
}

size_t tare_byte_alphabet_text(char *out, tare_str bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned point = code_point_of((uint8_t)bytes.ptr[i]);
        if (point >= 0x80) out[n++] = (char)(0xc0 | point >> 6);
        out[n++] = (char)(point >= 0x80 ? 0x80 | (point & 0x3f) : point);
    }
    return n;
}

/* -1: no byte has this character. */
static int byte_of(unsigned point) {
    for (int byte = 0; byte < 256; byte++)
        if (code_point_of((uint8_t)byte) == point) return byte;
    return -1;
}

bool tare_byte_alphabet_bytes(char *out, size_t *n, tare_str text) {
    *n = 0;
    for (size_t i = 0; i < text.len; i++) {
        const uint8_t first = (uint8_t)text.ptr[i];
        unsigned point = first;
        if (first >= 0x80) { /* two bytes are the most that the alphabet has */
            if (first < 0xc2 || first >> 5 != 6 || ++i == text.len) return false;
            if ((uint8_t)text.ptr[i] >> 6 != 2) return false;
            point = (first & 0x1fU) << 6 | ((uint8_t)text.ptr[i] & 0x3fU);
        }
        const int byte = byte_of(point);
        if (byte < 0) return false;
        out[(*n)++] = (char)byte;
    }
    return true;
}
