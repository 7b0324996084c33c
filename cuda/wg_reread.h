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
 * made of values that are joined as in Q5_K, or as in Q6_K. */
enum wg_row_kind { WG_ROW_WORDS, WG_ROW_HALVES, WG_ROW_JOINED_5, WG_ROW_JOINED_6 };
WG_FN constexpr bool wg_is_joined(wg_row_kind kind) {
    return kind >= WG_ROW_JOINED_5;
}

/* A segment's bytes in its region, once they are there, as rows of 32 words of the stream. */
struct wg_rows {
    const uint8_t *from;
    u32v at, lane;               /* where a lane's word of a row is; of joined values the nibbles */
    uint32_t n_bytes, row_bytes; /* of the stream; of the region */
    uint32_t n_empty;            /* rows of nothing in front, so that all are whole turns */
    uint32_t stride;             /* of a unit of joined values */
    const uint8_t *high;         /* the high bits of the first one */
    u32v high_at, high_shift;
};

/* CAREFUL: perhaps the segment ends inside the row. */
template <wg_row_kind KIND, bool CAREFUL>
WG_FN u32v wg_read_row(const wg_rows &r, const uint8_t *from, uint32_t row) {
    if (CAREFUL) return wg_read_some(from, r.at, r.lane * 4u, r.n_bytes - 128 * row);
    if (KIND == WG_ROW_WORDS) return wg_read_word(from, r.at);
    return wg_read_half(from, r.at) | wg_read_half(from + 2, r.at) << 16u;
}

/* Joined values: a lane has four of them, 24 bits; a unit is two rows. It has whole units, so all
 * rows are whole. Sums are of bits that do not meet: nibbles spread from each 4 bits to 6, and the
 * high bits of the four, which are in two bytes, in between. */
template <wg_row_kind KIND> WG_FN u32v wg_read_four(const wg_rows &r, int64_t unit, uint32_t half) {
    u32v low = wg_read_half(r.from + unit + half * 64, r.at), high;
    low = low + (low & 0xff00u) * 15u;
    low = low + (low & 0xf00f0u) * 3u;
    if (KIND == WG_ROW_JOINED_5) {
        high = wg_read_half(r.high + unit, r.high_at) >> r.high_shift >> 4 * half & 0x0303u;
        high = high + (high & 0x0300u) * 15u;
        high = high + (high & 0x2002u) * 31u;
    } else {
        high = wg_read_half(r.high + unit + half * 32, r.high_at) >> r.high_shift & 0x3333u;
        high = high + (high & 0x3300u) * 15u;
        high = high + (high & 0x30030u) * 3u;
    }
    return low + high * 16u;
}

/* The remainder of wg_crc.h again, from memory and without tables: x^1024 is also a root of the
 * polynomial, so rows are divided by it as words, each of which is added to those 6, 9, 10, ...
 * rows after it. x^768, for rows of 24 bits a lane, is a root of another polynomial of degree 32, that
 * of x^3. 32 rows are in registers. The remainder is the one with 32 more rows of zeros. */
template <wg_row_kind KIND> WG_FN u32v wg_divide(const u32v ring[32], uint32_t j, u32v word) {
#define WG_BACK(n) ring[(j + 32 - n) % 32]
    if (wg_is_joined(KIND))
        return word ^ WG_BACK(2) ^ WG_BACK(3) ^ WG_BACK(4) ^ WG_BACK(10) ^ WG_BACK(11) ^
               WG_BACK(13) ^ WG_BACK(16) ^ WG_BACK(17) ^ WG_BACK(18) ^ WG_BACK(20) ^ WG_BACK(21) ^
               WG_BACK(22) ^ WG_BACK(23) ^ WG_BACK(25) ^ WG_BACK(28) ^ WG_BACK(32);
    return word ^ WG_BACK(6) ^ WG_BACK(9) ^ WG_BACK(10) ^ WG_BACK(16) ^ WG_BACK(20) ^ WG_BACK(21) ^
           WG_BACK(22) ^ WG_BACK(24) ^ WG_BACK(25) ^ WG_BACK(27) ^ WG_BACK(28) ^ WG_BACK(30) ^
           WG_BACK(31) ^ WG_BACK(32);
#undef WG_BACK
}

template <wg_row_kind KIND, bool CAREFUL>
WG_FN void wg_divide_turn(u32v ring[32], const wg_rows &r, uint32_t first) {
    const int64_t row_bytes = KIND == WG_ROW_WORDS ? 4 * WG_LANES : r.row_bytes;
    const int32_t before = (int32_t)(first - r.n_empty); /* the empty rows come first */
    const int64_t unit = (int64_t)before / 2 * r.stride;
    WG_UNROLL
    for (int32_t j = 0; j < 32; j++) {
        u32v word = 0;
        if (!CAREFUL || before + j >= 0)
            word = wg_is_joined(KIND)
                       ? wg_read_four<KIND>(r, unit + j / 2 * (int64_t)r.stride, j % 2)
                       : wg_read_row<KIND, CAREFUL>(r, r.from + before * row_bytes + j * row_bytes,
                                                    (uint32_t)(before + j));
        ring[j] = wg_divide<KIND>(ring, (uint32_t)j, word);
    }
}

template <wg_row_kind KIND>
WG_FN uint32_t wg_reread_all(const wg_rows &r, const wg_row_factors &factors) {
    const uint32_t row = WG_LANES / 8 * (wg_is_joined(KIND) ? WG_FOUR_BITS : WG_WORD_BITS);
    u32v ring[32], sum = 0;
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) ring[j] = 0;
    uint32_t n_rows = r.n_empty + (r.n_bytes + row - 1) / row;
    for (uint32_t first = 0; first < n_rows; first += 32) { /* the first turn and the last */
        wg_divide_turn<KIND, true>(ring, r, first);
        for (; first + 64 < n_rows; first += 32) wg_divide_turn<KIND, false>(ring, r, first + 32);
    }
    WG_UNROLL
    for (uint32_t j = 0; j < 32; j++) { /* rows of zeros, and what is added to them alone */
        u32v rest = wg_divide<KIND>(ring, j, 0);
        sum = wg_next_row(sum, factors) ^ rest;
        ring[j] = 0;
    }
    return wg_join_lanes(sum, factors);
}

/* Rows of nothing that make n whole turns. */
WG_FN uint32_t wg_empty_rows(uint32_t n) {
    enum : uint32_t { TURN = 32 };
    return (TURN - n % TURN) % TURN;
}

/* Joined values: a row is half a unit. */
WG_FN uint32_t wg_reread_joined(const uint8_t *region, const wg_stream &s, const wg_job &job,
                                const wg_image *parts) {
    enum : uint32_t { UNIT = 192 };
    wg_rows r;
    r.from = region + job.first / UNIT * s.stride + s.offset;
    r.high = r.from + (int32_t)(s.high_offset - s.offset);
    r.lane = wg_lane();
    r.at = r.lane * 2u;
    r.high_at = (r.lane & 15u) * 2u;
    r.high_shift = r.lane >> 3u & 2u;
    r.n_bytes = job.n_bytes;
    r.row_bytes = 0; /* rows are found by units */
    r.n_empty = wg_empty_rows(job.n_bytes / UNIT * 2);
    r.stride = s.stride;
    return s.high_bits == 1 ? wg_reread_all<WG_ROW_JOINED_5>(r, parts->fours)
                            : wg_reread_all<WG_ROW_JOINED_6>(r, parts->fours);
}

WG_FN uint32_t wg_reread_segment(const uint8_t *region, const wg_stream &s, const wg_job &job,
                                 const wg_image *parts) {
    enum : uint32_t { ROW = 4 * WG_LANES };
    wg_rows r;
    bool is_run = s.width == s.stride;
    uint32_t width = is_run ? +ROW : s.width, stride = is_run ? +ROW : s.stride;
    r.from = region + job.first;
    if (!is_run) r.from = region + job.first / width * stride + s.offset;
    r.lane = wg_lane();
    wg_each(
        [&](uint32_t lane) { wg_of(r.at, lane) = 4 * lane / width * stride + 4 * lane % width; });
    r.n_bytes = job.n_bytes;
    r.row_bytes = ROW / width * stride;
    r.n_empty = wg_empty_rows((job.n_bytes + ROW - 1) / ROW);
    r.stride = 0;
    return is_run ? wg_reread_all<WG_ROW_WORDS>(r, parts->words)
                  : wg_reread_all<WG_ROW_HALVES>(r, parts->words);
}

/* Checks a job that a fast kernel has decoded. `number` gives its number, twice, so that it need not be
 * kept. */
template <class F> WG_FN void wg_check_segment(const wg_call &call, F number) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_job &job = *wg_job_of(call.image, number());
    const wg_stream &s = wg_part<wg_stream>(call.image, parts->streams)[job.stream];
    const uint8_t *region = (const uint8_t *)call.buffers[s.layer].regions[s.region];
    uint32_t found = s.high_bits ? wg_reread_joined(region, s, job, parts)
                                 : wg_reread_segment(region, s, job, parts);
    const wg_job &same = *wg_job_of(wg_again(call.image), number());
    if (found != same.remainder)
        wg_report(&call.faults->first, &call.faults->n, same.number << 8 | WG_BAD_CRC);
}

#endif
