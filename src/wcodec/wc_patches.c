/* SPDX-License-Identifier: MIT
 *
 * Patches as bits: a distance in Rice code, that is the multiples of 2^rice in unary, then the
 * rest; then the top. Distances between rare values are spread so that this is within 0.05 bits of
 * the best; bytes would take 5 bits more. */
#include "wcodec/wc_patches.h"

#include <string.h>

#include "base/bytes.h"

/* ---- writing --------------------------------------------------------------------------------- */

uint8_t tare_wc_patches_rice(uint32_t n, uint32_t n_positions) {
    /* A bit more pays where 2^rice is below the mean distance times the golden ratio's logarithm:
     * so the largest power of two up to twice that, 246 / 256. */
    uint64_t most = n ? (uint64_t)n_positions * 246 / n >> 8 : 0;
    uint8_t rice = 0;
    while (most >> (rice + 1) && rice < TARE_WC_MAX_RICE) rice++;
    return rice;
}

uint32_t tare_wc_patches_size(const tare_wc_patches *how, const tare_wc_patch *patches) {
    uint64_t bits = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < how->n; i++) {
        bits += ((patches[i].position - next) >> how->rice) + 1u + how->rice + how->top_bits;
        next = patches[i].position + 1;
    }
    return (uint32_t)((bits + 7) / 8);
}

static void put_bits(uint8_t *bytes, uint64_t *at, uint32_t v, unsigned n) {
    for (unsigned i = 0; i < n; i++, ++*at)
        bytes[*at / 8] = (uint8_t)(bytes[*at / 8] | (v >> i & 1) << *at % 8);
}

void tare_wc_patches_write(uint8_t *bytes, const tare_wc_patches *how,
                           const tare_wc_patch *patches) {
    uint64_t at = 0;
    uint32_t next = 0;
    memset(bytes, 0, tare_wc_patches_size(how, patches));
    for (uint32_t i = 0; i < how->n; i++) {
        uint32_t distance = patches[i].position - next;
        at += distance >> how->rice;
        put_bits(bytes, &at, 1, 1);
        put_bits(bytes, &at, distance, how->rice);
        put_bits(bytes, &at, patches[i].top, how->top_bits);
        next = patches[i].position + 1;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The next bits, 57 at least; past the end they are zeros. */
static uint64_t peek(const tare_wc_bits *b) {
    uint64_t at = b->at / 8;
    if (at + 8 <= b->n_bytes) return tare_load_le64(b->bytes + at) >> b->at % 8;
    uint8_t last[8] = {0};
    if (at < b->n_bytes) memcpy(last, b->bytes + at, (size_t)(b->n_bytes - at));
    return tare_load_le64(last) >> b->at % 8;
}

bool tare_wc_patches_next(tare_wc_bits *b, const tare_wc_patches *how, uint32_t n_positions,
                          uint32_t *position, uint16_t *top) {
    enum { SURE = 57 };
    uint64_t end = 8 * (uint64_t)b->n_bytes, beyond = 0, next = peek(b);
    while (!(next << (64 - SURE))) {
        beyond += SURE;
        b->at += SURE;
        if (b->at >= end) return false;
        next = peek(b);
    }
    unsigned zeros = (unsigned)__builtin_ctzll(next), n = how->rice + (unsigned)how->top_bits;
    b->at += zeros + 1;
    next = peek(b);
    b->at += n; /* 36 at most */
    uint64_t distance = (beyond + zeros) << how->rice | (next & ((1u << how->rice) - 1));
    if (b->at > end || distance >= n_positions - (uint64_t)(*position + 1)) return false;
    *position += 1 + (uint32_t)distance;
    *top = (uint16_t)(next >> how->rice & ((1u << how->top_bits) - 1));
    return true;
}

bool tare_wc_patches_end(const tare_wc_bits *b) {
    return b->at + 8 > 8 * (uint64_t)b->n_bytes && !peek(b);
}
