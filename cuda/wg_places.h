/* SPDX-License-Identifier: MIT
 *
 * Where a stream's bytes are in their region (docs/wcodec.md, 4.2), for writing them and for
 * reading those of a base. */
#ifndef TARE_CUDA_WG_PLACES_H
#define TARE_CUDA_WG_PLACES_H

#include "wg_image.h"
#include "wg_lanes.h"
#include "wg_sixes.h"

/* Where a piece of a stream begins in its region: in which unit, and how far into its bytes there. */
struct wg_piece {
    uint64_t at;
    uint32_t rest;
};
WG_FN wg_piece wg_find_piece(const wg_stream &s, uint64_t first) {
    if (s.width == s.stride) return {first, 0};
    return {first / s.width * s.stride + s.offset, (uint32_t)(first % s.width)};
}
/* Byte i of it. */
WG_FN uint64_t wg_place(const wg_stream &s, const wg_piece &p, uint32_t i) {
    if (s.width == s.stride) return p.at + i;
    uint32_t left = s.width - p.rest; /* of the first unit */
    if (i < left) return p.at + p.rest + i;
    return p.at + s.stride + (uint64_t)((i - left) / s.width) * s.stride + (i - left) % s.width;
}

/* Bit i of the number of a value is bit place[i] of that of its high bits. */
WG_FN uint32_t wg_high_of(const wg_stream &s, uint32_t value) {
    uint32_t high = 0;
    WG_ROLL
    for (uint32_t i = 0; i < s.log2_values; i++)
        high |= (value >> i & 1) << (s.places >> 4 * i & 15);
    return high;
}
WG_FN uint32_t wg_value_of_high(const wg_stream &s, uint32_t high) {
    uint32_t value = 0;
    WG_ROLL
    for (uint32_t i = 0; i < s.log2_values; i++)
        value |= (high >> (s.places >> 4 * i & 15) & 1) << i;
    return value;
}

/* ---- from a region --------------------------------------------------------------------------- */

/* A value of a joined stream. */
WG_FN uint32_t wg_joined_value(const uint8_t *region, const wg_stream &s, uint64_t i) {
    const uint8_t *unit = region + (i >> s.log2_values) * s.stride;
    uint32_t v = (uint32_t)i & ((1u << s.log2_values) - 1), high = wg_high_of(s, v) * s.high_bits;
    uint32_t low = unit[s.offset + v / 2] >> 4 * (v % 2) & 15;
    return low | (unit[s.high_offset + high / 8] >> high % 8 & ((1u << s.high_bits) - 1)) << 4;
}

/* Value i of a page of a stream of items of 6 bits; the page begins at byte `first` of the stream,
 * `piece` in its region, and has n bytes. */
WG_FN uint32_t wg_six(const uint8_t *region, const wg_stream &s, uint64_t first,
                      const wg_piece &piece, uint32_t n, uint32_t i) {
    if (s.high_bits) return wg_joined_value(region, s, first / 3 * 4 + i);
    auto byte = [&](uint32_t at) -> uint32_t { return region[wg_place(s, piece, at)]; };
    if (!s.is_scales) {
        uint32_t at = i / 4 * 3, shift = i % 4 * 6, next = shift % 8 > 2 ? 1 : 0;
        uint32_t two = byte(at + shift / 8) | byte(at + shift / 8 + next) << 8;
        return two >> shift % 8 & 63;
    }
    wg_scales_unit u = wg_find_unit(i / WG_SCALES_VALUES, n);
    uint32_t rest = i - u.values, side = rest / (8 * u.n);
    uint32_t unit = u.values / WG_SCALES_VALUES + (rest - side * 8 * u.n) / 8;
    auto of_unit = [&](uint32_t j) { return byte(unit * WG_SCALES_UNIT + j); };
    return wg_scale_of(of_unit, 8 * side + rest % 8);
}

/* ---- to a region ----------------------------------------------------------------------------- */

/* The n bytes of a page; words where they stand side by side. */
WG_FN void wg_scatter(uint8_t *region, wg_memory &page, const wg_stream &s, uint64_t first,
                      uint32_t n) {
    const wg_piece piece = wg_find_piece(s, first);
    uint8_t *to = region + first;
    bool is_whole = s.width == s.stride && ((uintptr_t)to & 3) == 0;
    wg_sync(page);
    wg_each([&](uint32_t lane) {
        uint32_t words = is_whole ? n / 4 : 0;
        WG_ROLL
        for (uint32_t i = lane; i < words; i += WG_LANES) {
            uint32_t word = 0;
            for (uint32_t j = 0; j < 4; j++) word |= wg_get(page, lane, 4 * i + j) << 8 * j;
            ((uint32_t *)(void *)to)[i] = word;
        }
        WG_ROLL
        for (uint32_t i = 4 * words + lane; i < n; i += WG_LANES)
            region[wg_place(s, piece, i)] = (uint8_t)wg_get(page, lane, i);
    });
}

/* n values of a joined stream, whole units. */
WG_FN void wg_separate(uint8_t *region, wg_memory &values, const wg_stream &s, uint64_t first,
                       uint32_t n) {
    uint32_t log2 = s.log2_values, log2_high = log2 - 3 + (s.high_bits - 1),
             a_byte = 8 / s.high_bits;
    uint8_t *units = region + (first >> log2) * s.stride;
    wg_sync(values);
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n / 2; i += WG_LANES) {
            uint32_t low = wg_get(values, lane, 2 * i) & 15;
            uint32_t byte = low | (wg_get(values, lane, 2 * i + 1) & 15) << 4;
            uint32_t unit = i >> (log2 - 1), rest = i & ((1u << (log2 - 1)) - 1);
            units[(uint64_t)unit * s.stride + s.offset + rest] = (uint8_t)byte;
        }
        WG_ROLL
        for (uint32_t i = lane; i < n >> log2 << log2_high; i += WG_LANES) {
            uint32_t unit = i >> log2_high, rest = i & ((1u << log2_high) - 1), byte = 0;
            WG_ROLL
            for (uint32_t j = 0; j < a_byte; j++) {
                uint32_t v = (unit << log2) + wg_value_of_high(s, rest * a_byte + j);
                byte |= (wg_get(values, lane, v) >> 4 & ((1u << s.high_bits) - 1))
                        << j * s.high_bits;
            }
            units[(uint64_t)unit * s.stride + s.high_offset + rest] = (uint8_t)byte;
        }
    });
}

#endif
