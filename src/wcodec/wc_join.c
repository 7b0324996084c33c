/* SPDX-License-Identifier: MIT
 *
 * Joined streams: the scalar reference. Eight values are taken at once, a byte each in one number;
 * their high bits lie in an array, where each is found by number. */
#include "wcodec/wc_join.h"

#include <string.h>

#include "base/bytes.h"

bool tare_wc_join_is_good(const tare_coded_join *w) {
    unsigned seen = 0;
    if (w->high_bits < 1 || w->high_bits > 2 || w->log2_values < TARE_WC_MIN_JOIN ||
        w->log2_values > TARE_WC_MAX_JOIN)
        return false;
    for (unsigned i = 0; i < w->log2_values; i++) {
        if (w->place[i] >= w->log2_values) return false;
        seen |= 1u << w->place[i];
    }
    return seen == (1u << w->log2_values) - 1;
}

/* Each bit doubles the list: what it adds is the same for all numbers below it. */
void tare_wc_join_places(uint16_t places[TARE_WC_JOIN_VALUES], const tare_coded_join *w) {
    places[0] = 0;
    for (unsigned i = 0; i < w->log2_values; i++)
        for (unsigned v = 0; v < 1u << i; v++)
            places[(1u << i) + v] = (uint16_t)(places[v] | 1u << w->place[i]);
}

/* ---- eight values, a byte each --------------------------------------------------------------- */

/* Halves of a run of bits move apart, then halves of these. */
static uint64_t spread_nibbles(uint32_t bytes) {
    uint64_t x = bytes;
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

static uint32_t pack_nibbles(uint64_t x) {
    x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(x | x >> 16);
}

static uint64_t load_sixes(const uint8_t *bytes) {
    uint64_t x = tare_load_le32(bytes) | (uint64_t)tare_load_le16(bytes + 4) << 32;
    x = (x & 0xffffff) | (x & UINT64_C(0xffffff000000)) << 8;
    x = (x & UINT64_C(0x00000fff00000fff)) | (x & UINT64_C(0x00fff00000fff000)) << 4;
    return (x & UINT64_C(0x003f003f003f003f)) | (x & UINT64_C(0x0fc00fc00fc00fc0)) << 2;
}

static void store_sixes(uint8_t *bytes, uint64_t x) {
    x = (x & UINT64_C(0x003f003f003f003f)) | (x & UINT64_C(0x3f003f003f003f00)) >> 2;
    x = (x & UINT64_C(0x00000fff00000fff)) | (x & UINT64_C(0x0fff00000fff0000)) >> 4;
    x = (x & 0xffffff) | (x & UINT64_C(0x00ffffff00000000)) >> 8;
    tare_store_le32(bytes, (uint32_t)x);
    tare_store_le16(bytes + 4, (uint16_t)(x >> 32));
}

/* ---- units ----------------------------------------------------------------------------------- */

/* High bits, a byte each: `bits` is a constant at each call. */
static inline void spread_high(uint8_t *tops, const uint8_t *high, uint32_t n_bytes,
                               const unsigned bits) {
    for (uint32_t i = 0; i < n_bytes; i++) {
        uint64_t x = high[i];
        if (bits == 2) {
            x = (x | x << 12) & 0x000f000f;
            tare_store_le32(tops + 4 * i, (uint32_t)((x | x << 6) & 0x03030303));
        } else {
            x = (x | x << 28) & UINT64_C(0x0000000f0000000f);
            x = (x | x << 14) & UINT64_C(0x0003000300030003);
            tare_store_le64(tops + 8 * i, (x | x << 7) & UINT64_C(0x0101010101010101));
        }
    }
}

/* values: those that a byte's high bits are of, in their order. */
static inline void pack_high(uint8_t *high, const uint8_t *tops, const uint16_t *values,
                             uint32_t n_bytes, const unsigned bits) {
    for (uint32_t i = 0; i < n_bytes; i++, values += 8 / bits) {
        unsigned byte = 0;
        for (unsigned j = 0; j < 8 / bits; j++) byte |= (unsigned)tops[values[j]] << j * bits;
        high[i] = (uint8_t)byte;
    }
}

void tare_wc_join_c(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                    size_t stride, const tare_coded_join *w) {
    const uint32_t n = 1u << w->log2_values, n_high = tare_wc_join_high_bytes(w);
    uint16_t places[TARE_WC_JOIN_VALUES];
    uint8_t tops[TARE_WC_JOIN_VALUES];
    tare_wc_join_places(places, w);
    for (; n_units; n_units--, low += stride, high += stride) {
        if (w->high_bits == 2)
            spread_high(tops, high, n_high, 2);
        else
            spread_high(tops, high, n_high, 1);
        for (uint32_t v = 0; v < n; v += 8, plane += 6) {
            uint64_t top = 0;
            for (unsigned j = 0; j < 8; j++) top |= (uint64_t)tops[places[v + j]] << 8 * j;
            store_sixes(plane, spread_nibbles(tare_load_le32(low + v / 2)) | top << 4);
        }
    }
}

_Static_assert(sizeof(uint16_t[TARE_WC_JOIN_VALUES]) <= sizeof((tare_wc_separator *)0)->room,
               "the values in the order of their high bits");

void tare_wc_prepare_c(tare_wc_separator *out, const tare_coded_join *join) {
    const uint32_t n = 1u << join->log2_values;
    uint16_t places[TARE_WC_JOIN_VALUES], values[TARE_WC_JOIN_VALUES];
    out->join = *join;
    tare_wc_join_places(places, join);
    for (uint16_t v = 0; v < n; v++) values[places[v]] = v;
    memcpy(out->room, values, n * sizeof *values);
}

void tare_wc_separate_c(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                        size_t stride, const tare_wc_separator *separator) {
    const tare_coded_join *w = &separator->join;
    const uint32_t n = 1u << w->log2_values, n_high = tare_wc_join_high_bytes(w);
    const uint64_t mask = ((1u << w->high_bits) - 1) * UINT64_C(0x0101010101010101);
    uint16_t values[TARE_WC_JOIN_VALUES];
    uint8_t tops[TARE_WC_JOIN_VALUES];
    memcpy(values, separator->room, n * sizeof *values);
    for (; n_units; n_units--, low += stride, high += stride) {
        for (uint32_t v = 0; v < n; v += 8, plane += 6) {
            uint64_t x = load_sixes(plane);
            tare_store_le32(low + v / 2, pack_nibbles(x & UINT64_C(0x0f0f0f0f0f0f0f0f)));
            tare_store_le64(tops + v, x >> 4 & mask);
        }
        if (w->high_bits == 2)
            pack_high(high, tops, values, n_high, 2);
        else
            pack_high(high, tops, values, n_high, 1);
    }
}
