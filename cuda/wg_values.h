/* SPDX-License-Identifier: MIT
 *
 * DIRECT (docs/wcodec.md, 8): symbols, patches and bypass bits make values, a page at a time. */
#ifndef TARE_CUDA_WG_VALUES_H
#define TARE_CUDA_WG_VALUES_H

#include "wg_forms.h"
#include "wg_parts.h"
#include "wg_patches.h"
#include "wg_step.h"

/* A DIRECT segment on its way. */
struct wg_direct {
    const uint8_t *stored;
    const wg_rule *rule;
    const wg_table *table; /* of the class in force */
    uint32_t chosen;       /* that class */
    wg_states states;
    wg_patches patches;
    u32v trellis; /* states of both positions, a byte each */
};

/* ---- classes --------------------------------------------------------------------------------- */

/* The class of a rank in the list of all of them, four bits each, where it moves to the front. */
WG_FN uint32_t wg_to_front(uint64_t &order, uint32_t rank) {
    uint32_t shift = 4 * rank, chosen = order >> shift & 15;
    uint64_t front = ((uint64_t)1 << shift) - 1;
    order = (order & ~(front << 4 | 15)) | (order & front) << 4 | chosen;
    return chosen;
}

/* The classes of all runs: their ranks are in the stream, in the list that begins as 0, 1, 2, ... */
WG_FN void wg_read_classes(wg_direct &d, wg_memory &to, const wg_table *t, const wg_job &job) {
    uint32_t n = (job.n_positions + WG_CLASS_RUN - 1) / WG_CLASS_RUN;
    WG_ROLL
    for (uint32_t first = 0; first < n; first += 64) {
        u32v ranks[2];
        wg_take(ranks, d.states, t, 4);
        wg_each([&](uint32_t lane) {
            WG_UNROLL
            for (uint32_t i = 0; i < 2; i++)
                wg_put(to, lane, first + 2 * lane + i, wg_of(ranks[i], lane));
        });
    }
    wg_sync(to);
    wg_each([&](uint32_t lane) {
        uint64_t order = 0xfedcba9876543210u;
        WG_ROLL
        for (uint32_t run = 0; lane == 0 && run < n; run++)
            wg_put(to, lane, run, wg_to_front(order, wg_get(to, lane, run)));
    });
    wg_sync(to);
}

/* The table of the run that begins. */
WG_FN void wg_choose_class(wg_direct &d, wg_memory &classes, uint32_t run, const wg_job &job) {
    uint32_t chosen = wg_get(classes, 0, run);
    if (chosen >= job.n_classes) {
        d.states.bad |= WG_BAD_CLASS;
        chosen = 0;
    }
    d.table = d.table - d.chosen + chosen;
    d.chosen = chosen;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Bypass bits of a position, where there are fewer groups than k asks for with what stands for the
 * others. */
WG_FN uint32_t wg_bypass(const wg_direct &d, const wg_job &job, uint32_t position) {
    uint32_t low = job.fill, place = d.rule->k;
    WG_ROLL
    for (uint32_t g = 0; g < job.n_groups; g++) {
        uint32_t bits = job.group_bits[g], log2_block = 9 - bits / 2; /* of 512 bits: 9, 8 or 7 */
        uint32_t at = (position >> log2_block) * 64 + position % 64;
        uint32_t shift = (position & ((1u << log2_block) - 1)) / 64 * bits;
        place -= bits;
        low |= (d.stored[job.groups[g] + at] >> shift & ((1u << bits) - 1)) << place;
    }
    return low;
}

WG_FN uint32_t wg_value(const wg_rule &r, uint32_t value_bits, uint32_t top, uint32_t low) {
    uint32_t k = r.k, w = top << k | low;
    if (r.form == TARE_CODED_SIGN)
        return low >> (k - 1) << (value_bits - 1) | top << (k - 1) | (low & ((1u << (k - 1)) - 1));
    return r.form == TARE_CODED_EDGE ? wg_edge(w) : w;
}

/* A step of the trellis: the value in state t, which moves on. */
WG_FN uint32_t wg_walk(uint32_t &t, uint32_t n_states, uint32_t symbol) {
    uint32_t f = n_states == 8 ? 5 : 18, e = n_states == 8 ? 2 : 4, is_odd = t & 1;
    uint32_t value = ((symbol << 2) ^ (1 - 2 * is_odd)) & 255;
    t = t >> 1 ^ (f & (0 - is_odd)) ^ (e & (0 - ((symbol ^ t) & 1)));
    return value;
}

/* Puts the value at a position of a page into its place. Padding goes behind the values: a page has
 * room for whole steps. */
WG_FN void wg_put_value(wg_memory &page, uint32_t lane, const wg_stream &s, uint32_t position,
                        uint32_t v) {
    uint32_t at = s.value_bits == 16 ? 2 * position : position;
    if (s.value_bits == 4) at = position / 128 * 64 + position % 64;
    if (s.value_bits == 4 && position % 128 >= 64) v = wg_get(page, lane, at) | v << 4;
    wg_put(page, lane, at + (s.value_bits == 16 && s.is_big_endian), v & 255);
    if (s.value_bits == 16) wg_put(page, lane, at + !s.is_big_endian, v >> 8);
}

/* Tops of the symbols of 64 positions; of a trellis the values. */
WG_FN void wg_tops(u32v tops[2], wg_direct &d, const wg_stream &s) {
    wg_take(tops, d.states, d.table, s.value_bits == 4 ? 4 : 6);
    WG_UNROLL
    for (uint32_t i = 0; i < 2; i++)
        if (d.rule->trellis)
            wg_each([&](uint32_t lane) {
                uint32_t &both = wg_of(d.trellis, lane), t = both >> 8 * i & 255;
                wg_of(tops[i], lane) = wg_walk(t, d.rule->trellis, wg_of(tops[i], lane));
                both = (both & 255u << 8 * (1 - i)) | t << 8 * i;
            });
        else
            tops[i] = wg_load(d.rule->map, tops[i]);
}

/* The positions first .. end - 1, which a page begins with; `classes` are those of all runs. */
WG_FN void wg_fill_direct(wg_memory &page, wg_direct &d, wg_memory &classes, const wg_stream &s,
                          const wg_job &job, uint32_t first, uint32_t end) {
    const wg_string string = {d.stored, job, s.value_bits, d.rule->k};
    WG_ROLL
    for (uint32_t p = first; p < end; p += 64) {
        u32v tops[2];
        if (job.n_classes && p % WG_CLASS_RUN == 0)
            wg_choose_class(d, classes, p / WG_CLASS_RUN, job);
        wg_tops(tops, d, s);
        wg_patch(tops, d.patches, string, p, [](uint32_t top) { return top; });
        wg_each([&](uint32_t lane) {
            WG_UNROLL
            for (uint32_t i = 0; i < 2; i++) {
                uint32_t position = p + 2 * lane + i, low = wg_bypass(d, job, position);
                wg_put_value(page, lane, s, position - first,
                             wg_value(*d.rule, s.value_bits, wg_of(tops[i], lane), low));
            }
        });
    }
}

/* ---- begin, end ------------------------------------------------------------------------------ */

WG_FN void wg_begin_direct(wg_direct &d, const uint8_t *image, const uint8_t *stored,
                           wg_memory &classes, const wg_stream &s, const wg_job &job) {
    const wg_image *parts = wg_part<wg_image>(image, 0);
    const wg_table *tables = wg_part<wg_table>(image, parts->tables);
    d.stored = stored;
    d.rule = wg_part<wg_rule>(image, parts->rules) + s.rules + job.rule;
    d.chosen = 0;
    d.table = tables + (s.value_bits == 4 ? s.tables16 : s.tables64) + job.first_table;
    d.trellis = 0;
    wg_begin(d.states, stored, job);
    wg_begin_patches(d.patches, {stored, job, s.value_bits, d.rule->k});
    if (job.n_classes) wg_read_classes(d, classes, tables + s.tables16 + job.class_table, job);
}

WG_FN uint32_t wg_end_direct(const wg_direct &d, const wg_stream &s, const wg_job &job) {
    uint32_t bad = 0;
    if (!wg_has_ended(d.states)) bad |= WG_BAD_STATES;
    if (!wg_patches_end(d.patches, {d.stored, job, s.value_bits, d.rule->k})) bad |= WG_BAD_PATCHES;
    return bad;
}

#endif
