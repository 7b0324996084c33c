/* SPDX-License-Identifier: MIT
 *
 * The CRC-32 of segments that are in their regions: by a warp each, without tables. This costs a
 * read of the decoded data, 7 instructions and a load per 32 words; computed during decoding it
 * would cost 12 instructions and 4 lookups, and registers that the decoder does not have. */
#ifndef TARE_CUDA_WG_REREAD_H
#define TARE_CUDA_WG_REREAD_H

#include "wg_crc.h"
#include "wg_parts.h"

/* A segment's bytes in its region, once they are there. */
struct wg_reread {
    const uint8_t *from;
    u32v at, lane; /* where a lane's word of a row is */
    uint32_t n_bytes, row_bytes,
        n_empty;   /* rows of nothing in front, so that all are whole turns */
    bool is_whole; /* words lie at multiples of 4 */
};

/* A row of 32 words of the stream as they stand in the region, `row` rows after the segment's
 * first byte; CAREFUL: only `n` bytes from there on are the segment's. */
template <bool CAREFUL>
WG_FN u32v wg_read_row(const uint8_t *row, u32v at, u32v lane, bool is_whole, uint32_t n) {
    if (CAREFUL) return wg_read_some(row, at, lane * 4u, n);
    if (is_whole) return wg_read_word(row, at);
    return wg_read_half(row, at) | wg_read_half(row + 2, at) << 16u;
}

/* The remainder of wg_crc.h again, from memory and without tables: x^1024 is also a root of the
 * polynomial, so rows are divided by it as words, each of which is added to those 6, 9, 10, ...
 * rows after it. 32 rows are in registers. The remainder is the one with 32 more rows of zeros. */
WG_FN u32v wg_divide(const u32v ring[32], uint32_t j, u32v word) {
#define WG_BACK(n) ring[(j + 32 - n) % 32]
    return word ^ WG_BACK(6) ^ WG_BACK(9) ^ WG_BACK(10) ^ WG_BACK(16) ^ WG_BACK(20) ^ WG_BACK(21) ^
           WG_BACK(22) ^ WG_BACK(24) ^ WG_BACK(25) ^ WG_BACK(27) ^ WG_BACK(28) ^ WG_BACK(30) ^
           WG_BACK(31) ^ WG_BACK(32);
#undef WG_BACK
}

template <bool CAREFUL>
WG_FN void wg_divide_turn(u32v ring[32], const wg_reread &r, uint32_t first) {
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) {
        uint32_t row = first + j - r.n_empty; /* the empty ones come first */
        u32v word = 0;
        if (!CAREFUL || (first + j >= r.n_empty))
            word = wg_read_row<CAREFUL>(r.from + (uint64_t)row * r.row_bytes, r.at, r.lane,
                                        r.is_whole, r.n_bytes - 128 * row);
        ring[j] = wg_divide(ring, j, word);
    }
}

WG_FN u32v wg_reread_all(const wg_reread &r, const wg_image *parts) {
    u32v ring[32], sum = 0;
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) ring[j] = 0;
    uint32_t n_rows = r.n_empty + (r.n_bytes + 127) / 128;
    for (uint32_t first = 0; first < n_rows; first += 32)
        if (first == 0 || first + 32 == n_rows)
            wg_divide_turn<true>(ring, r, first);
        else
            wg_divide_turn<false>(ring, r, first);
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) { /* rows of zeros, and what is added to them alone */
        u32v rest = wg_divide(ring, j, 0);
        sum = wg_next_row(sum, parts) ^ rest;
        ring[j] = 0;
    }
    return sum;
}

WG_FN uint32_t wg_reread_segment(uint8_t *region, const wg_stream &s, const wg_job &job,
                                 const wg_image *parts) {
    enum : uint32_t { ROW = 4 * WG_LANES, TURN = 32 };
    wg_reread r;
    bool is_contiguous = s.width == s.stride;
    uint32_t width = is_contiguous ? ROW : s.width, stride = is_contiguous ? ROW : s.stride;
    r.from = region + job.first;
    if (!is_contiguous) r.from = region + job.first / width * stride + s.offset;
    r.lane = wg_lane();
    wg_each(
        [&](uint32_t lane) { wg_of(r.at, lane) = 4 * lane / width * stride + 4 * lane % width; });
    r.n_bytes = job.n_bytes;
    r.row_bytes = ROW / width * stride;
    r.n_empty = (TURN - (job.n_bytes + ROW - 1) / ROW % TURN) % TURN;
    r.is_whole = is_contiguous;
    return wg_join_lanes(wg_reread_all(r, parts), parts);
}

/* Checks job number i, which a fast kernel has decoded. */
WG_FN void wg_check_segment(const wg_call &call, uint32_t i) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_job &job = *wg_job_of(call, i);
    const wg_stream &s = wg_part<wg_stream>(call.image, parts->streams)[job.stream];
    uint8_t *region = (uint8_t *)call.buffers[s.layer].regions[s.region];
    if (wg_reread_segment(region, s, job, parts) != job.remainder)
        wg_report(&call.faults->first, &call.faults->n, job.number << 8 | WG_BAD_CRC);
}

#endif
