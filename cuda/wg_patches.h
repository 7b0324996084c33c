/* SPDX-License-Identifier: MIT
 *
 * Patches (docs/wcodec.md, 8): all lanes read the same string of bits. */
#ifndef TARE_CUDA_WG_PATCHES_H
#define TARE_CUDA_WG_PATCHES_H

#include "wg_image.h"
#include "wg_lanes.h"

enum : uint32_t { WG_NO_POSITION = 0xffffffff };

struct wg_patches {
    const uint8_t *bytes;
    uint64_t at, end;       /* in bits */
    uint32_t left;          /* behind the next one */
    uint32_t position, top; /* of the next one; WG_NO_POSITION: there is none */
    uint32_t rice, top_bits;
};

/* The next bits, 57 at least; behind the end stand zeros. */
WG_FN uint64_t wg_peek(const wg_patches &p) {
    uint64_t bits = 0, at = p.at / 8;
    for (uint32_t i = 0; i < 8; i++)
        if (at + i < p.end / 8) bits |= (uint64_t)p.bytes[at + i] << 8 * i;
    return bits >> p.at % 8;
}

/* Whether a value stands at a position, which is below n_positions. */
WG_FN bool wg_has_value(uint32_t item, uint32_t position, uint32_t n_bytes) {
    if (item == 4) return position / 128 * 64 + position % 64 < n_bytes;
    if (item == 6) return position / 4 * 3 < n_bytes;
    return position < n_bytes / (item / 8);
}

/* Reads the patch behind position `before`. False: the string ends inside it, or it is beyond the
 * values; then there are no more. */
WG_FN bool wg_next_patch(wg_patches &p, uint32_t before, uint32_t item, const wg_job &job) {
    enum { SURE = 57 };
    p.position = WG_NO_POSITION;
    if (!p.left) return true;
    uint64_t beyond = 0, next = wg_peek(p);
    p.left--;
    while (!(next << (64 - SURE)) && p.at < p.end) {
        beyond += SURE;
        p.at += SURE;
        next = wg_peek(p);
    }
    uint32_t zeros = next ? wg_trailing_zeros(next) : 0;
    p.at += zeros + 1;
    next = wg_peek(p);
    p.at += p.rice + p.top_bits;
    uint64_t position = ((beyond + zeros) << p.rice) + (next & ((1u << p.rice) - 1));
    position += (uint32_t)(before + 1);
    bool is_good = p.at <= p.end && position < job.n_positions &&
                   wg_has_value(item, (uint32_t)position, job.n_bytes);
    p.top = (uint32_t)(next >> p.rice) & ((1u << p.top_bits) - 1);
    if (is_good) p.position = (uint32_t)position;
    if (!is_good) p.left = 0;
    return is_good;
}

/* False: the first one is bad. */
WG_FN bool wg_begin_patches(wg_patches &p, const uint8_t *stored, uint32_t item, uint32_t k,
                            const wg_job &job) {
    p.bytes = stored + job.patches;
    p.at = 0;
    p.end = 8 * (uint64_t)job.patches_bytes;
    p.left = job.n_patches;
    p.rice = job.rice;
    p.top_bits = item - k;
    return wg_next_patch(p, WG_NO_POSITION, item, job);
}

/* Whether what is left is less than a byte, and 0. */
WG_FN bool wg_patches_end(const wg_patches &p) {
    return !p.end || (p.at + 8 > p.end && !wg_peek(p));
}

/* Puts tops in the place of those of 64 positions from `first` on. False: one that follows is bad.
 */
WG_FN bool wg_patch(u32v tops[2], wg_patches &p, uint32_t first, uint32_t item, const wg_job &job) {
    bool is_good = true;
    while (p.position - first < 64) {
        uint32_t place = p.position - first;
        WG_UNROLL
        for (uint32_t i = 0; i < 2; i++)
            tops[i] = wg_pick(wg_lane() * 2u + i == place, p.top, tops[i]);
        is_good &= wg_next_patch(p, p.position, item, job);
    }
    return is_good;
}

#endif
