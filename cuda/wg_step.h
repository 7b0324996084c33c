/* SPDX-License-Identifier: MIT
 *
 * The entropy decoder (docs/wcodec.md, 7). Lane i has the states A(i) and B(i), hence the positions
 * 2i and 2i + 1 of each step of 64, and both streams are read in order. No word after the end of a
 * stream is read, whatever the states are. */
#ifndef TARE_CUDA_WG_STEP_H
#define TARE_CUDA_WG_STEP_H

#include "wg_image.h"
#include "wg_lanes.h"

struct wg_states {
    u32v x[2], below;
    const uint16_t *words;     /* of both streams */
    uint32_t next[2], left[2]; /* of each: number of its next word, how many there are */
    uint32_t bad;              /* what is wrong with the segment */
};

WG_FN void wg_begin(wg_states &s, const uint8_t *stored, const wg_job &job) {
    const uint32_t *states = (const uint32_t *)(const void *)(stored + WG_HEADER);
    s.below = wg_below();
    s.words = (const uint16_t *)(const void *)(stored + WG_HEADER + WG_STATES);
    s.next[0] = 0;
    s.next[1] = job.n_words[0];
    s.bad = 0;
    WG_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        s.x[i] = wg_load(states, wg_lane() * 2u + i);
        s.left[i] = job.n_words[i];
        /* No encoder leaves such a state. */
        if (wg_ballot(s.x[i] < 0x10000u)) s.bad = WG_BAD_STATES;
    }
}

WG_FN bool wg_has_ended(const wg_states &s) {
    uint32_t differs = wg_ballot(s.x[0] != 0x10000u) | wg_ballot(s.x[1] != 0x10000u);
    return !(differs | s.left[0] | s.left[1]);
}

/* The next symbol of each lane of a stream; log2: of the table's symbols. */
WG_FN u32v wg_symbol(u32v &x, const wg_table *t, uint32_t log2) {
    u32v bucket = x & ((1u << log2) - 1);
    u32v half = bucket * 2u + (((x & 0xffffu) + wg_load(t->cut, bucket)) >> 16u);
    u32v f = wg_load(&t->half[0][0], half * 2u), adj = wg_load(&t->half[0][0], half * 2u + 1u);
    x = f * (x >> 16u) + (x >> log2) + adj;
    return wg_load(t->symbol, half);
}

/* Words for the lanes that are short of bits. */
WG_FN void wg_refill(wg_states &s, uint32_t i) {
    boolv is_short = s.x[i] < 0x10000u;
    uint32_t all = wg_ballot(is_short), n = wg_popc(all);
    u32v place = wg_popc(s.below & all);
    u32v word = wg_load_if(place < s.left[i], s.words, s.next[i] + place);
    if (n > s.left[i]) s.bad |= WG_BAD_STATES;
    n = n < s.left[i] ? n : s.left[i];
    s.next[i] += n;
    s.left[i] -= n;
    s.x[i] = wg_pick(is_short, s.x[i] << 16u | word, s.x[i]);
}

/* The symbols of 64 positions: those of streams A and B. */
WG_FN void wg_take(u32v symbols[2], wg_states &s, const wg_table *t, uint32_t log2) {
    WG_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        symbols[i] = wg_symbol(s.x[i], t, log2);
        wg_refill(s, i);
    }
}

#endif
