/* SPDX-License-Identifier: MIT
 *
 * The CRC-32 of segments that are in their regions: by a warp each, without tables. This costs a
 * read of the decoded data, 7 instructions and a load per 32 words; computed during decoding it
 * would cost 12 instructions and 4 lookups, and registers that the decoder does not have. */
#ifndef TARE_CUDA_WG_REREAD_H
#define TARE_CUDA_WG_REREAD_H

#include "wg_crc.h"
#include "wg_parts.h"

/* How the words of a stream are found in its region: side by side, at multiples of 4; in two halves;
 * made of values that are joined as in Q6_K. */
enum wg_row_kind { WG_ROW_WORDS, WG_ROW_HALVES, WG_ROW_JOINED };

/* A segment's bytes in its region, once they are there, as rows of 32 words of the stream. */
struct wg_rows {
    const uint8_t *from;
    u32v at, lane;               /* where a lane's word of a row is */
    uint32_t n_bytes, row_bytes; /* of the stream; of the region */
    uint32_t n_empty;            /* rows of nothing in front, so that all are whole turns */
    uint32_t stride, high; /* of joined values: of a unit; from its nibbles to its high bits */
};

/* CAREFUL: perhaps the segment ends inside the row. */
template <wg_row_kind KIND, bool CAREFUL>
WG_FN u32v wg_read_row(const wg_rows &r, const uint8_t *from, uint32_t row) {
    if (CAREFUL) return wg_read_some(from, r.at, r.lane * 4u, r.n_bytes - 128 * row);
    if (KIND == WG_ROW_WORDS) return wg_read_word(from, r.at);
    return wg_read_half(from, r.at) | wg_read_half(from + 2, r.at) << 16u;
}

/* Four values joined as in Q6_K, number g of two units: the three bytes that they are. */
WG_FN u32v wg_read_four(const uint8_t *units, const wg_rows &r, const u32v &g) {
    u32v unit = (g >> 6u) * r.stride, i = g & 63u;
    u32v low = wg_read_half(units, unit + i * 2u);
    u32v high = wg_read_half(units + (int32_t)r.high, unit + (i >> 5u) * 32u + (i & 15u) * 2u) >>
                (i >> 3u & 2u);
    return (low & 0x000fu) | (low & 0x00f0u) << 2u | (low & 0x0f00u) << 4u | (low & 0xf000u) << 6u |
           (high & 0x0003u) << 4u | (high & 0x0030u) << 6u | (high & 0x0300u) << 8u |
           (high & 0x3000u) << 10u;
}

/* Three rows are two units. The segment has whole units, so its last word is whole, too. */
template <bool CAREFUL> WG_FN u32v wg_read_joined_row(const wg_rows &r, uint32_t row) {
    const uint8_t *units = r.from + (uint64_t)(row / 3) * 2 * r.stride;
    u32v byte = r.lane * 4u + row % 3 * 128;
    boolv is_there = r.lane * 4u < (CAREFUL ? r.n_bytes - 128 * row : 128);
    if (CAREFUL) byte = wg_pick(is_there, byte, 0);
    u32v g = byte * 171u >> 9u; /* byte / 3, below 384 */
    u32v shift = (byte + g * (0u - 3u)) * 8u;
    u32v word = wg_read_four(units, r, g) >> shift | wg_read_four(units, r, g + 1u)
                                                         << (shift ^ 24u);
    return wg_pick(is_there, word, 0);
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

template <wg_row_kind KIND, bool CAREFUL>
WG_FN void wg_divide_turn(u32v ring[32], const wg_rows &r, uint32_t first) {
    const int64_t row_bytes = KIND == WG_ROW_WORDS ? 4 * WG_LANES : r.row_bytes;
    const int32_t before = (int32_t)(first - r.n_empty); /* the empty rows come first */
    WG_UNROLL
    for (int32_t j = 0; j < 32; j++) {
        uint32_t row = (uint32_t)(before + j);
        u32v word = 0;
        if (!CAREFUL || before + j >= 0)
            word = KIND == WG_ROW_JOINED ? wg_read_joined_row<CAREFUL>(r, row)
                                         : wg_read_row<KIND, CAREFUL>(
                                               r, r.from + before * row_bytes + j * row_bytes, row);
        ring[j] = wg_divide(ring, (uint32_t)j, word);
    }
}

template <wg_row_kind KIND> WG_FN uint32_t wg_reread_all(const wg_rows &r, const wg_image *parts) {
    u32v ring[32], sum = 0;
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) ring[j] = 0;
    uint32_t n_rows = r.n_empty + (r.n_bytes + 127) / 128;
    for (uint32_t first = 0; first < n_rows; first += 32) { /* the first turn and the last */
        wg_divide_turn<KIND, true>(ring, r, first);
        for (; first + 64 < n_rows; first += 32) wg_divide_turn<KIND, false>(ring, r, first + 32);
    }
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) { /* rows of zeros, and what is added to them alone */
        u32v rest = wg_divide(ring, j, 0);
        sum = wg_next_row(sum, parts) ^ rest;
        ring[j] = 0;
    }
    return wg_join_lanes(sum, parts);
}

WG_FN uint32_t wg_reread_segment(const uint8_t *region, const wg_stream &s, const wg_job &job,
                                 const wg_image *parts) {
    enum : uint32_t { ROW = 4 * WG_LANES, TURN = 32, UNIT = 192 };
    wg_rows r;
    bool is_joined = s.high_bits != 0, is_run = s.width == s.stride && !is_joined;
    uint32_t width = is_run ? ROW : is_joined ? +UNIT : s.width, stride = is_run ? ROW : s.stride;
    r.from = region + job.first;
    if (!is_run) r.from = region + job.first / width * stride + s.offset;
    r.lane = wg_lane();
    wg_each(
        [&](uint32_t lane) { wg_of(r.at, lane) = 4 * lane / width * stride + 4 * lane % width; });
    r.n_bytes = job.n_bytes;
    r.row_bytes = ROW / width * stride;
    r.n_empty = (TURN - (job.n_bytes + ROW - 1) / ROW % TURN) % TURN;
    r.stride = stride;
    r.high = s.high_offset - s.offset;
    if (is_joined) return wg_reread_all<WG_ROW_JOINED>(r, parts);
    return is_run ? wg_reread_all<WG_ROW_WORDS>(r, parts) : wg_reread_all<WG_ROW_HALVES>(r, parts);
}

/* Checks job number i, which a fast kernel has decoded. */
WG_FN void wg_check_segment(const wg_call &call, uint32_t i) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_job &job = *wg_job_of(call, i);
    const wg_stream &s = wg_part<wg_stream>(call.image, parts->streams)[job.stream];
    const uint8_t *region = (const uint8_t *)call.buffers[s.layer].regions[s.region];
    if (wg_reread_segment(region, s, job, parts) != job.remainder)
        wg_report(&call.faults->first, &call.faults->n, job.number << 8 | WG_BAD_CRC);
}

#endif
