/* SPDX-License-Identifier: MIT
 *
 * Patches (docs/wcodec.md, 8): all lanes read the same string of bits. */
#ifndef TARE_CUDA_WG_PATCHES_H
#define TARE_CUDA_WG_PATCHES_H

#include "wg_image.h"
#include "wg_lanes.h"

enum : uint32_t { WG_NO_POSITION = 0xffffffff, WG_DAMAGED = 0xffffffff };

/* Where they stand: what does not change while they are read. */
struct wg_string {
    const uint8_t *stored;
    const wg_job &job;
    uint32_t value_bits, k;
};

struct wg_patches {
    uint32_t at;            /* in bits */
    uint32_t left;          /* after the next one; WG_DAMAGED: it was bad, there are no more */
    uint32_t position, top; /* of the next one; WG_NO_POSITION: there is none */
};

/* The next bits, at least 57; zeros follow the end. */
WG_FN uint64_t wg_peek(const wg_patches &p, const wg_string &s) {
    uint64_t bits = 0;
    uint32_t at = p.at / 8;
    for (uint32_t i = 0; i < 8; i++)
        if (at + i < s.job.patches_bytes)
            bits |= (uint64_t)s.stored[s.job.patches + at + i] << 8 * i;
    return bits >> p.at % 8;
}

/* Whether there is a value at a position, which is below n_positions. */
WG_FN bool wg_has_value(uint32_t value_bits, uint32_t position, uint32_t n_bytes) {
    if (value_bits == 4) return position / 128 * 64 + position % 64 < n_bytes;
    if (value_bits == 6) return position / 4 * 3 < n_bytes;
    return position < n_bytes / (value_bits / 8);
}

/* Reads the patch after position `before`. It is bad if the string ends inside it, or if it is beyond
 * the values. */
WG_FN void wg_next_patch(wg_patches &p, const wg_string &s, uint32_t before) {
    enum { SURE = 57 };
    uint32_t end = 8 * s.job.patches_bytes, beyond = 0;
    p.position = WG_NO_POSITION;
    if (!p.left) return;
    uint64_t next = wg_peek(p, s);
    p.left--;
    while (!(next << (64 - SURE)) && p.at < end) {
        beyond += SURE;
        p.at += SURE;
        next = wg_peek(p, s);
    }
    uint32_t zeros = next ? wg_trailing_zeros(next) : 0, rice = s.job.rice;
    p.at += zeros + 1;
    next = wg_peek(p, s);
    p.at += rice + s.value_bits - s.k;
    uint64_t position = ((uint64_t)(beyond + zeros) << rice) + (next & ((1u << rice) - 1));
    position += (uint32_t)(before + 1);
    bool is_good = p.at <= end && position < s.job.n_positions &&
                   wg_has_value(s.value_bits, (uint32_t)position, s.job.n_bytes);
    p.top = (uint32_t)(next >> rice) & ((1u << (s.value_bits - s.k)) - 1);
    if (is_good) p.position = (uint32_t)position;
    if (!is_good) p.left = WG_DAMAGED;
}

WG_FN void wg_begin_patches(wg_patches &p, const wg_string &s) {
    p.at = 0;
    p.left = s.job.n_patches;
    wg_next_patch(p, s, WG_NO_POSITION);
}

/* Whether all were good, and what is left is less than a byte, and 0. */
WG_FN bool wg_patches_end(const wg_patches &p, const wg_string &s) {
    uint32_t end = 8 * s.job.patches_bytes;
    if (p.left == WG_DAMAGED) return false;
    return !end || (p.at + 8 > end && !wg_peek(p, s));
}

/* Puts tops in the place of those of 64 positions from `first` on, as place() has them. */
template <class F>
WG_FN void wg_patch(u32v tops[2], wg_patches &p, const wg_string &s, uint32_t first, F place) {
    while (p.position - first < 64) {
        uint32_t at = p.position - first;
        WG_UNROLL
        for (uint32_t i = 0; i < 2; i++)
            tops[i] = wg_pick(wg_lane() * 2u + i == at, place(p.top), tops[i]);
        wg_next_patch(p, s, p.position);
    }
}

#endif
