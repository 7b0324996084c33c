/* SPDX-License-Identifier: MIT
 *
 * Decodes a segment, one per warp, page by page: a page is filled according to the mode, the CRC is
 * updated, and the page is stored to its region. Handles every mode and width; of segments that are
 * predicted the differences, to which wg_reference.h adds the base. */
#ifndef TARE_CUDA_WG_SEGMENT_H
#define TARE_CUDA_WG_SEGMENT_H

#include "wg_crc.h"
#include "wg_places.h"
#include "wg_values.h"

/* Memory of a warp: a page as the stream's bytes, of items of 6 bits as values, too; the classes of
 * all runs. */
struct wg_pages {
    wg_memory bytes, values, classes;
};

struct wg_segment {
    const wg_call *call;
    const wg_image *parts;
    const wg_job *job;
    const wg_stream *stream;
    const uint8_t *stored;
    wg_pages *pages;
    wg_direct direct;
    u32v remainder;
};

/* ---- filling a page -------------------------------------------------------------------------- */

WG_FN void wg_fill_raw(wg_memory &page, const uint8_t *from, uint32_t n) {
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n; i += WG_LANES) wg_put(page, lane, i, from[i]);
    });
}

WG_FN void wg_fill_constant(wg_memory &page, const wg_segment &g, uint32_t n) {
    uint32_t value_bits = g.stream->value_bits, width = value_bits == 16  ? 2
                                                        : value_bits == 6 ? 3
                                                                          : 1;
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n; i += WG_LANES)
            wg_put(page, lane, i, g.job->pattern[i % width]);
    });
}

/* The CRC of predicted segments is that of the sums. */
WG_FN bool wg_is_checked(const wg_segment &g) {
    return g.call->with_crc && g.job->has_crc && !g.job->predictor;
}

/* The n bytes of a page; of joined streams the values. */
WG_FN void wg_fill_page(wg_segment &g, uint32_t page, uint32_t n) {
    const wg_job &job = *g.job;
    const wg_stream &s = *g.stream;
    if (job.mode == TARE_CODED_DIRECT) {
        uint32_t a_page = s.value_bits == 4    ? 2 * WG_PAGE
                          : s.value_bits == 16 ? WG_PAGE / 2
                                               : +WG_PAGE;
        bool is_six = s.value_bits == 6;
        uint32_t first = page * a_page, end = first + a_page;
        end = end < job.n_positions ? end : job.n_positions;
        if (!is_six)
            wg_fill_direct(g.pages->bytes, g.direct, g.pages->classes, s, job, first, end);
        else
            wg_fill_direct(g.pages->values, g.direct, g.pages->classes, s, job, first, end);
        if (is_six && (!s.high_bits || wg_is_checked(g)))
            wg_pack_sixes(g.pages->bytes, g.pages->values, s, n);
        return;
    }
    if (job.mode == TARE_CODED_CONSTANT)
        wg_fill_constant(g.pages->bytes, g, n);
    else
        wg_fill_raw(g.pages->bytes,
                    g.stored + wg_page_at(s, page) + (job.mode == WG_HOST ? 0u : +WG_HEADER), n);
    if (s.high_bits) wg_unpack_sixes(g.pages->values, g.pages->bytes, s, n);
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* A page: made, checked and stored. */
WG_FN void wg_do_page(wg_segment &g, uint32_t page) {
    const wg_stream &s = *g.stream;
    const uint32_t n = wg_page_bytes(s, *g.job, page);
    const uint64_t first = g.job->first + wg_page_at(s, page);
    wg_renew(g.pages->bytes);
    wg_renew(g.pages->values);
    wg_fill_page(g, page, n);
    wg_sync(g.pages->bytes);
    if (wg_is_checked(g)) wg_add_page(g.remainder, g.pages->bytes, n, g.parts->words);
    uint8_t *region = (uint8_t *)g.call->buffers[s.layer].regions[s.region];
    if (s.high_bits)
        wg_separate(region, g.pages->values, s, first / 3 * 4, n / 3 * 4);
    else
        wg_scatter(region, g.pages->bytes, s, first, n);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The stored bytes after the body, but for those of bypass bits, are 0. */
WG_FN bool wg_padding_is_zero(const wg_segment &g) {
    const wg_job &job = *g.job;
    uint32_t end = WG_HEADER;
    if (job.mode == WG_HOST) return true;
    if (job.mode == TARE_CODED_RAW) end += job.n_bytes;
    if (job.mode == TARE_CODED_DIRECT) end = job.patches + job.patches_bytes;
    return wg_is_zero(g.stored, end, (end + 63) / 64 * 64);
}

/* What is wrong with a segment whose pages are made. */
WG_FN uint32_t wg_faults_of(const wg_segment &g) {
    uint32_t bad = g.direct.states.bad;
    if (g.job->mode == TARE_CODED_DIRECT) bad |= wg_end_direct(g.direct, *g.stream, *g.job);
    if (!wg_padding_is_zero(g)) bad |= WG_BAD_PADDING;
    if (wg_is_checked(g) && wg_join_lanes(g.remainder, g.parts->words) != g.job->remainder)
        bad |= WG_BAD_CRC;
    return bad;
}

/* Decodes job number i. */
WG_FN void wg_decode(const wg_call &call, uint32_t i, wg_pages &pages) {
    wg_segment g;
    g.call = &call;
    g.parts = wg_part<wg_image>(call.image, 0);
    g.job = wg_job_of(call.image, i);
    g.stream = wg_part<wg_stream>(call.image, g.parts->streams) + g.job->stream;
    const tare_cuda_buffers &buffers = call.buffers[g.stream->layer];
    g.stored = g.job->mode == WG_HOST ? call.host : (const uint8_t *)buffers.stored;
    g.stored += g.job->at;
    g.pages = &pages;
    g.remainder = 0;
    g.direct.states.bad = 0; /* of other modes, too */
    if (g.job->mode == TARE_CODED_DIRECT)
        wg_begin_direct(g.direct, call.image, g.stored, pages.classes, *g.stream, *g.job);
    WG_ROLL
    for (uint32_t page = 0; wg_page_at(*g.stream, page) < g.job->n_bytes; page++)
        wg_do_page(g, page);
    const uint32_t bad = wg_faults_of(g);
    if (bad) wg_report(&call.faults->first, &call.faults->n, g.job->number << 8 | bad);
}

#endif
