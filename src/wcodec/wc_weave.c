/* SPDX-License-Identifier: MIT
 *
 * Woven planes: the scalar reference. High bits are taken apart (or put together) in their own
 * order, a byte each, so that a value finds its own by number. */
#include "wcodec/wc_weave.h"

#include <string.h>

bool tare_wc_weave_is_good(const tare_wc_weave *w) {
    unsigned seen = 0;
    if (w->high_bits < 1 || w->high_bits > 2 || w->log2_values < TARE_WC_MIN_WEAVE ||
        w->log2_values > TARE_WC_MAX_WEAVE)
        return false;
    for (unsigned i = 0; i < w->log2_values; i++) {
        if (w->place[i] >= w->log2_values) return false;
        seen |= 1u << w->place[i];
    }
    return seen == (1u << w->log2_values) - 1;
}

/* Each bit doubles the list: what it adds is the same for all numbers below it. */
void tare_wc_weave_places(uint16_t places[TARE_WC_WEAVE_VALUES], const tare_wc_weave *w) {
    places[0] = 0;
    for (unsigned i = 0; i < w->log2_values; i++)
        for (unsigned v = 0; v < 1u << i; v++)
            places[(1u << i) + v] = (uint16_t)(places[v] | 1u << w->place[i]);
}

void tare_wc_weave_c(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                     size_t stride, const tare_wc_weave *w) {
    const unsigned bits = w->high_bits, per_byte = 8 / bits, mask = (1u << bits) - 1;
    const uint32_t n_low = tare_wc_weave_low_bytes(w), n_high = tare_wc_weave_high_bytes(w);
    uint16_t places[TARE_WC_WEAVE_VALUES];
    uint8_t tops[TARE_WC_WEAVE_VALUES];
    tare_wc_weave_places(places, w);
    for (; n_units; n_units--, low += stride, high += stride) {
        for (uint32_t i = 0; i < n_high; i++)
            for (unsigned j = 0; j < per_byte; j++)
                tops[i * per_byte + j] = (uint8_t)((high[i] >> j * bits & mask) << 4);
        for (uint32_t i = 0; i < n_low; i += 2, plane += 3) {
            const uint16_t *place = places + 2 * (size_t)i;
            uint32_t a = (low[i] & 15u) | tops[place[0]], b = low[i] >> 4 | tops[place[1]];
            uint32_t c = (low[i + 1] & 15u) | tops[place[2]], d = low[i + 1] >> 4 | tops[place[3]];
            uint32_t all = a | b << 6 | c << 12 | d << 18;
            plane[0] = (uint8_t)all;
            plane[1] = (uint8_t)(all >> 8);
            plane[2] = (uint8_t)(all >> 16);
        }
    }
}

void tare_wc_unweave_c(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                       size_t stride, const tare_wc_weave *w) {
    const unsigned bits = w->high_bits, per_byte = 8 / bits, mask = (1u << bits) - 1;
    const uint32_t n_low = tare_wc_weave_low_bytes(w), n_high = tare_wc_weave_high_bytes(w);
    uint16_t places[TARE_WC_WEAVE_VALUES];
    uint8_t tops[TARE_WC_WEAVE_VALUES];
    tare_wc_weave_places(places, w);
    for (; n_units; n_units--, low += stride, high += stride) {
        for (uint32_t i = 0; i < n_low; i += 2, plane += 3) {
            const uint16_t *place = places + 2 * (size_t)i;
            uint32_t all = plane[0] | (uint32_t)plane[1] << 8 | (uint32_t)plane[2] << 16;
            low[i] = (uint8_t)((all & 15) | (all >> 6 & 15) << 4);
            low[i + 1] = (uint8_t)((all >> 12 & 15) | (all >> 18 & 15) << 4);
            for (unsigned j = 0; j < 4; j++) tops[place[j]] = (uint8_t)(all >> (6 * j + 4) & mask);
        }
        for (uint32_t i = 0; i < n_high; i++) {
            unsigned byte = 0;
            for (unsigned j = 0; j < per_byte; j++)
                byte |= (unsigned)tops[i * per_byte + j] << j * bits;
            high[i] = (uint8_t)byte;
        }
    }
}
