/* SPDX-License-Identifier: MIT
 *
 * The CRC-32 of what a warp decodes. Its bytes are rows of 32 words, one word per lane; each lane
 * keeps the remainder of its own words, r = r * x^1024 + word, with four lookups per word. At the
 * end lane l's remainder has the weight x^(32 * (32 - l)); of pieces of 24 bits, in the low bits of
 * words, it is 24 instead of 32. The last row is padded with zeros, so
 * the host provides the expected result: the remainder that follows from the CRC, multiplied by the
 * factor of these zeros. */
#ifndef TARE_CUDA_WG_CRC_H
#define TARE_CUDA_WG_CRC_H

#include "wg_image.h"
#include "wg_lanes.h"

/* A row further. */
WG_FN u32v wg_next_row(const u32v &r, const wg_row_factors &f) {
    return wg_load(f.next_row[0], r & 255u) ^ wg_load(f.next_row[1], r >> 8u & 255u) ^
           wg_load(f.next_row[2], r >> 16u & 255u) ^ wg_load(f.next_row[3], r >> 24u);
}

/* The n bytes of a page; all pages but the last one are whole rows. */
WG_FN void wg_add_page(u32v &r, wg_memory &page, uint32_t n, const wg_row_factors &f) {
    WG_ROLL
    for (uint32_t row = 0; row < n; row += 4 * WG_LANES) {
        r = wg_next_row(r, f);
        wg_each([&](uint32_t lane) {
            uint32_t at = row + 4 * lane, word = 0;
            for (uint32_t i = 0; i < 4 && at + i < n; i++)
                word |= wg_get(page, lane, at + i) << 8 * i;
            wg_of(r, lane) ^= word;
        });
    }
}

/* The remainder of all lanes together. */
WG_FN uint32_t wg_join_lanes(u32v r, const wg_row_factors &f) {
    wg_each([&](uint32_t lane) {
        uint32_t a = wg_of(r, lane), b = f.lane_factor[wg_again(lane)], product = 0;
        WG_ROLL
        for (uint32_t i = 0; i < 32; i++) {
            product ^= b & (0 - (a >> 31));
            a <<= 1;
            b = b >> 1 ^ (0xedb88320u & (0 - (b & 1)));
        }
        wg_of(r, lane) = product;
    });
    return wg_xor(r);
}

#endif
