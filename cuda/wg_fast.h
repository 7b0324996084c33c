/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments of the common forms, one a warp, without pages: a lane's values go from registers
 * to their region. A block is four steps, 256 positions. As long as both streams have the 128 words
 * that a block can need, words are read without bounds checks; the last blocks, and those with
 * patches, check every read. The CRC is computed by another kernel: wg_reread.h. */
#ifndef TARE_CUDA_WG_FAST_H
#define TARE_CUDA_WG_FAST_H

#include <stddef.h>

#include "wg_forms.h"
#include "wg_parts.h"
#include "wg_patches.h"
#include "wg_step.h"

/* A table of the warps of a block, in shared memory. Each half is stored 16 times: lanes l and l +
 * 16 have a pair of banks to themselves and never wait for others. */
enum : uint32_t { WG_COPIES = 16, WG_BLOCK = 256 };
template <class F> struct alignas(128) wg_fast_table {
    uint16_t cut[64];
    typename F::top_type top[128];
    alignas(128) uint32_t half[128 * WG_COPIES][2];
    uint8_t edge[F::is_edge ? 256 : 4];
};

/* Thread i of n fills it; all must meet before it is used. */
template <class F>
WG_FN void wg_fill_table(wg_fast_table<F> &t, const wg_table *from, const wg_rule *rule, uint32_t i,
                         uint32_t n) {
    for (uint32_t e = i; e < 256 * WG_COPIES; e += n)
        t.half[e / 2][e % 2] = from->half[e / 2 / WG_COPIES][e % 2];
    for (uint32_t e = i; e < 64; e += n) t.cut[e] = from->cut[e];
    for (uint32_t e = i; e < 128; e += n)
        t.top[e] = (typename F::top_type)F::place(rule->map[from->symbol[e]]);
    for (uint32_t e = i; F::is_edge && e < 256; e += n) t.edge[e] = (uint8_t)wg_edge(e);
}

/* What a warp keeps in registers. */
struct wg_fast {
    u32v below;
    u32v half, at; /* what turns a half's number into its address; where the lane's bytes go */
    u32v x[2];
    const uint16_t *next[2];
    uint32_t end[2];    /* low bits of the address after the stream */
    uint32_t base, top; /* address of the table; as half, for tops */
    uint32_t bad, p;
    uint32_t step_bytes, block_bytes; /* of the region */
    uint8_t *out;
};

/* Words of a stream that are left. */
WG_FN uint32_t wg_left(const wg_fast &w, uint32_t i) {
    return (w.end[i] - (uint32_t)(uintptr_t)w.next[i]) / 2;
}

/* The next state of a lane, before it takes a word, and the top of its symbol. Halves are numbered
 * from the address of the table on. */
template <class F>
WG_FN void wg_fast_symbol(u32v &x, u32v &top, const wg_fast_table<F> &t, const wg_fast &w) {
    typedef wg_fast_table<F> T;
    u32v high = x >> 16u, f, adj, bucket, half;
    if (F::log2 == 6)
        bucket = (x << 1u & 126u) | w.base;
    else
        bucket = (x << 1u & 30u) | w.base;
    half = bucket + (wg_low_add(x, wg_shared_16<offsetof(T, cut)>(&t, bucket)) >> 16u);
    wg_shared_pair<offsetof(T, half)>(f, adj, &t, half * (8u * WG_COPIES) + w.half);
    if (sizeof t.top[0] == 1)
        top = wg_shared_8<offsetof(T, top)>(&t, half);
    else
        top = wg_shared_16<offsetof(T, top)>(&t, half * 2u + w.top);
    x = f * high + ((x >> (uint32_t)F::log2) + adj);
}

/* Words for the lanes that are short of bits. */
template <bool CAREFUL> WG_FN void wg_fast_refill(wg_fast &w, uint32_t i) {
    boolv is_short = w.x[i] < 0x10000u;
    uint32_t all = wg_ballot(is_short), n = wg_popc(all);
    u32v place = wg_popc(w.below & all), word;
    if (CAREFUL) {
        uint32_t left = wg_left(w, i);
        word = wg_load_if(place < left, w.next[i], place);
        if (n > left) w.bad |= WG_BAD_STATES;
        n = n < left ? n : left;
    } else {
        word = wg_load(w.next[i], place);
    }
    w.next[i] += n;
    w.x[i] = wg_pick(is_short, w.x[i] << 16u | word, w.x[i]);
}

/* Four steps; of a segment's last ones the first n. */
template <class F, bool CAREFUL>
WG_FN void wg_fast_block(wg_fast &w, F &f, wg_patches &patches, const wg_fast_table<F> &t,
                         const uint8_t *stored, const wg_job &job) {
    const wg_string string = {stored, job, F::value_bits, F::k};
    uint32_t n = CAREFUL && job.n_positions - w.p < WG_BLOCK ? (job.n_positions - w.p) / 64 : 4;
    u32v v[4], tops[2];
    F::begin(f, stored, w.p / WG_BLOCK, n);
    WG_UNROLL
    for (uint32_t j = 0; j < 4; j++) {
        v[j] = 0;
        if (CAREFUL && j >= n) continue;
        wg_fast_symbol<F>(w.x[0], tops[0], t, w);
        wg_fast_symbol<F>(w.x[1], tops[1], t, w);
        wg_fast_refill<CAREFUL>(w, 0);
        wg_fast_refill<CAREFUL>(w, 1);
        if (CAREFUL) wg_patch(tops, patches, string, w.p + 64 * j, F::place);
        v[j] = F::value(f, tops[0], tops[1], j);
    }
    if (F::is_edge) {
        typedef wg_fast_table<F> T;
        WG_UNROLL
        for (uint32_t j = 0; j < 4; j++)
            v[j] = wg_shared_8<offsetof(T, edge)>(&t, (v[j] & 255u) + w.base) |
                   wg_shared_8<offsetof(T, edge)>(&t, (v[j] >> 8u) + w.base) << 8u;
    }
    F::finish(v);
    uint32_t left = job.n_bytes - w.p / 8 * F::value_bits;
    const u32v at = CAREFUL ? wg_again(w.at) : w.at; /* else all sums of it are kept */
    WG_UNROLL
    for (uint32_t j = 0; j < 4; j += F::steps) {
        uint8_t *out = w.out + j / F::steps * w.step_bytes;
        uint32_t done = j * 8 * F::value_bits;
        if (CAREFUL)
            wg_store_some<F::lane_bytes>(out, at, v[j], wg_lane() * (uint32_t)F::lane_bytes,
                                         left > done ? left - done : 0);
        else
            wg_store<F::lane_bytes>(out, at, v[j]);
    }
    F::put_high(f, w.out, w.at, v);
    w.p += WG_BLOCK;
    w.out += w.block_bytes;
}

/* Where a lane's bytes go, and how far apart those of steps and blocks are: wg_is_fast_place has
 * ensured that these are constants. */
template <class F>
WG_FN void wg_fast_places(wg_fast &w, uint8_t *region, const wg_stream &s, const wg_job &job) {
    const uint32_t step = 32 * F::lane_bytes, block = 32 * F::value_bits;
    bool is_joined = F::value_bits == 6, is_run = s.width == s.stride && !is_joined;
    uint32_t width = is_run ? step : is_joined ? block : s.width, stride = is_run ? step : s.stride;
    u32v at = wg_lane() * (uint32_t)F::lane_bytes;
    w.at = at;
    w.step_bytes = step;
    w.block_bytes = block / width * stride;
    w.out = region + job.first;
    if (is_run) return;
    w.out = region + job.first / width * stride + s.offset;
    if (width > step) return; /* a unit is a block */
    wg_each([&](uint32_t lane) {
        uint32_t i = wg_of(at, lane);
        wg_of(w.at, lane) = i / width * stride + i % width;
    });
    w.step_bytes = step / width * stride;
}

template <class F>
WG_FN void wg_fast_begin(wg_fast &w, const wg_fast_table<F> &t, const uint8_t *stored,
                         uint8_t *region, const wg_stream &s, const wg_job &job) {
    wg_states states;
    wg_begin(states, stored, job);
    w.bad = states.bad;
    w.below = states.below;
    WG_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        w.x[i] = states.x[i];
        w.next[i] = states.words + states.next[i];
        w.end[i] = (uint32_t)(uintptr_t)(w.next[i] + states.left[i]);
    }
    w.base = wg_address(&t);
    w.half = (wg_lane() & (WG_COPIES - 1)) * 8u + (w.base - w.base * (8 * WG_COPIES));
    w.top = 0u - w.base;
    w.p = 0;
    wg_fast_places<F>(w, region, s, job);
}

WG_FN bool wg_fast_has_ended(const wg_fast &w) {
    uint32_t differs = wg_ballot(w.x[0] != 0x10000u) | wg_ballot(w.x[1] != 0x10000u);
    return !(differs | wg_left(w, 0) | wg_left(w, 1));
}

/* All but padding. Returns what is wrong. */
template <class F>
WG_FN uint32_t wg_fast_decode(const wg_fast_table<F> &t, const uint8_t *stored, uint8_t *region,
                              const wg_stream &s, const wg_job &job) {
    wg_fast w;
    wg_patches patches;
    F f;
    F::open(f, s, job);
    wg_fast_begin<F>(w, t, stored, region, s, job);
    const wg_string string = {stored, job, F::value_bits, F::k};
    wg_begin_patches(patches, string);
    while (w.p < job.n_positions) {
        uint32_t a = wg_left(w, 0), b = wg_left(w, 1), sure = (a < b ? a : b) / 128;
        uint32_t whole = job.n_bytes / (32 * F::value_bits), patched = patches.position / WG_BLOCK;
        whole = (whole < patched ? whole : patched) - w.p / WG_BLOCK;
        sure = sure < whole ? sure : whole;
        if (!sure) {
            wg_fast_block<F, true>(w, f, patches, t, stored, job);
            continue;
        }
        for (; sure; sure--) wg_fast_block<F, false>(w, f, patches, t, stored, job);
    }
    if (!wg_fast_has_ended(w)) w.bad |= WG_BAD_STATES;
    if (!wg_patches_end(patches, string)) w.bad |= WG_BAD_PATCHES;
    return w.bad;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Decodes a job, whose table is `t`. `number` gives its number, twice, so that it need not be kept. */
template <class F, class N>
WG_FN void wg_decode_fast(const wg_call &call, N number, const wg_fast_table<F> &t) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_job &job = *wg_job_of(call.image, number());
    const wg_stream &s = wg_part<wg_stream>(call.image, parts->streams)[job.stream];
    const tare_cuda_buffers &buffers = call.buffers[s.layer];
    const uint8_t *stored = (const uint8_t *)buffers.stored + job.at;
    uint8_t *region = (uint8_t *)buffers.regions[s.region];
    uint32_t bad = wg_fast_decode<F>(t, stored, region, s, job);
    const wg_job &same = *wg_job_of(wg_again(call.image), number());
    uint32_t end = same.patches + same.patches_bytes;
    if (!wg_is_zero(stored, end, (end + 63) / 64 * 64)) bad |= WG_BAD_PADDING;
    if (bad) wg_report(&call.faults->first, &call.faults->n, same.number << 8 | bad);
}

/* Fills the table of a block of jobs; thread i of n. */
template <class F>
WG_FN void wg_begin_block(wg_fast_table<F> &t, const wg_call &call, const wg_block &block,
                          uint32_t i, uint32_t n) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_job &job = *wg_job_of(call.image, block.first);
    const wg_stream &s = wg_part<wg_stream>(call.image, parts->streams)[job.stream];
    const wg_table *tables = wg_part<wg_table>(call.image, parts->tables);
    wg_fill_table<F>(t, tables + (F::value_bits == 4 ? s.tables16 : s.tables64) + job.first_table,
                     wg_part<wg_rule>(call.image, parts->rules) + s.rules + job.rule, i, n);
}
WG_FN const wg_block &wg_block_of(const wg_call &call, uint32_t i) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    return wg_part<wg_block>(call.image, parts->blocks)[call.first_block + i];
}

#endif
