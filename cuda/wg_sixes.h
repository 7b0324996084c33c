/* SPDX-License-Identifier: MIT
 *
 * Items of 6 bits: a page of them as values, a byte each, and as the stream's bytes, four values in
 * three of them or as packed scales (docs/wcodec.md, 4.2). */
#ifndef TARE_CUDA_WG_SIXES_H
#define TARE_CUDA_WG_SIXES_H

#include "wg_image.h"
#include "wg_lanes.h"

enum { WG_SCALES_UNIT = 12, WG_SCALES_VALUES = 16, WG_SCALES_GROUP = 384, WG_GROUP_VALUES = 512 };

/* A unit of packed scales: where its group begins, how many units that has, which one it is. */
struct wg_scales_unit {
    uint32_t values, n, in_group;
};
WG_FN wg_scales_unit wg_find_unit(uint32_t unit, uint32_t n_bytes) {
    uint32_t group = unit / 32, left = n_bytes / WG_SCALES_UNIT - group * 32;
    wg_scales_unit u = {group * WG_GROUP_VALUES, left < 32 ? left : 32, unit % 32};
    return u;
}
/* Where scale or minimum i of a unit is among the values. */
WG_FN uint32_t wg_scale_at(const wg_scales_unit &u, uint32_t i) {
    return u.values + (i < 8 ? 0 : 8 * u.n) + 8 * u.in_group + i % 8;
}

/* Scale or minimum i of the 12 bytes of a unit. */
template <class F> WG_FN uint32_t wg_scale_of(F byte, uint32_t i) {
    uint32_t j = i % 4, side = i / 8; /* 0: a scale, 1: a minimum */
    if (i % 8 < 4) return byte(4 * side + j) & 63;
    return (byte(8 + j) >> 4 * side & 15) | byte(4 * side + j) >> 6 << 4;
}
/* Byte i of a unit. */
template <class F> WG_FN uint32_t wg_scales_byte(F value, uint32_t i) {
    uint32_t j = i % 4;
    if (i < 8) return value(i / 4 * 8 + j) | value(i / 4 * 8 + 4 + j) >> 4 << 6;
    return (value(4 + j) & 15) | (value(12 + j) & 15) << 4;
}

WG_FN void wg_pack_scales(wg_memory &bytes, wg_memory &values, uint32_t n) {
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n; i += WG_LANES) {
            wg_scales_unit u = wg_find_unit(i / WG_SCALES_UNIT, n);
            auto value = [&](uint32_t j) { return wg_get(values, lane, wg_scale_at(u, j)); };
            wg_put(bytes, lane, i, wg_scales_byte(value, i % WG_SCALES_UNIT));
        }
    });
}

WG_FN void wg_unpack_scales(wg_memory &values, wg_memory &bytes, uint32_t n) {
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n / 3 * 4; i += WG_LANES) {
            uint32_t unit = i / WG_SCALES_VALUES, first = unit * WG_SCALES_UNIT;
            auto byte = [&](uint32_t j) { return wg_get(bytes, lane, first + j); };
            wg_put(values, lane, wg_scale_at(wg_find_unit(unit, n), i % WG_SCALES_VALUES),
                   wg_scale_of(byte, i % WG_SCALES_VALUES));
        }
    });
}

/* From values to the stream's n bytes. */
WG_FN void wg_pack_sixes(wg_memory &bytes, wg_memory &values, const wg_stream &s, uint32_t n) {
    wg_sync(values);
    if (s.is_scales) {
        wg_pack_scales(bytes, values, n);
        return;
    }
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n / 3; i += WG_LANES) {
            uint32_t four = 0;
            for (uint32_t j = 0; j < 4; j++) four |= wg_get(values, lane, 4 * i + j) << 6 * j;
            for (uint32_t j = 0; j < 3; j++) wg_put(bytes, lane, 3 * i + j, four >> 8 * j & 255);
        }
    });
}

/* The reverse. */
WG_FN void wg_unpack_sixes(wg_memory &values, wg_memory &bytes, const wg_stream &s, uint32_t n) {
    wg_sync(bytes);
    if (s.is_scales) {
        wg_unpack_scales(values, bytes, n);
        return;
    }
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n / 3; i += WG_LANES) {
            uint32_t four = 0;
            for (uint32_t j = 0; j < 3; j++) four |= wg_get(bytes, lane, 3 * i + j) << 8 * j;
            for (uint32_t j = 0; j < 4; j++) wg_put(values, lane, 4 * i + j, four >> 6 * j & 63);
        }
    });
}

#endif
