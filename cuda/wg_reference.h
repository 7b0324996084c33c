/* SPDX-License-Identifier: MIT
 *
 * Prediction from a base model (docs/wcodec.md, 6), when the differences stand in their regions:
 * what the base has is added to them, the CRC compared, the sums stored. By a warp a segment. */
#ifndef TARE_CUDA_WG_REFERENCE_H
#define TARE_CUDA_WG_REFERENCE_H

#include <string.h>

#include "wg_crc.h"
#include "wg_parts.h"
#include "wg_places.h"

/* 16 bits as IEEE binary16 or as bfloat16, exactly; the numbers are put together by their bits. */
WG_FN double wg_scale_value(uint32_t bits, uint32_t form) {
    uint32_t is_half = form == 1, n_mantissa = is_half ? 10 : 7, top = is_half ? 31 : 255;
    uint32_t exponent = bits >> n_mantissa & top, mantissa = bits & ((1u << n_mantissa) - 1);
    uint64_t sign = (uint64_t)(bits >> 15) << 63, wide;
    if (exponent == top)
        wide = (uint64_t)0x7ff << 52 | (mantissa ? (uint64_t)1 << 51 : 0);
    else if (!exponent && !mantissa)
        wide = 0;
    else {
        uint32_t one = 1u << n_mantissa;
        if (!exponent) /* subnormal: shifted until it has its leading bit */
            for (exponent = 1; !(mantissa & one); exponent--) mantissa <<= 1;
        uint64_t biased = (uint64_t)(int64_t)((int32_t)exponent - (int32_t)(top >> 1) + 1023);
        wide = biased << 52 | (uint64_t)(mantissa & (one - 1)) << (52 - n_mantissa);
    }
    wide |= sign;
    double value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* round(q * base / own), ties to even; NaN gives 0. */
WG_FN uint32_t wg_rescale(uint32_t q, double base, double own) {
    double v = wg_quotient(wg_product((double)((int32_t)(q ^ 128) - 128), base), own);
    if (!(v == v)) return 0;
    if (v <= -128) return 128;
    if (v >= 127) return 127;
    int32_t whole = (int32_t)v; /* towards 0 */
    whole -= v < (double)whole;
    double rest = v - (double)whole; /* exact */
    whole += rest > 0.5 || (rest == 0.5 && whole % 2 != 0);
    return (uint32_t)whole & 255;
}

/* ---- what is added --------------------------------------------------------------------------- */

/* A segment; what is said of its page. */
struct wg_predicted {
    const wg_job *job;
    const wg_stream *stream, *scales; /* NULL: these are not asked for */
    uint8_t *region;
    const uint8_t *base;
    const uint8_t *base_scales, *own_scales; /* regions */
    wg_piece piece, scale;                   /* of the scales the first one's bytes */
    uint32_t first_value;                    /* of the page, counted from where that scale begins */
};

/* Scale number i of a page, in a region. */
WG_FN double wg_scale(const uint8_t *region, const wg_predicted &g, uint32_t i) {
    uint32_t a = region[wg_place(*g.scales, g.scale, 2 * i)],
             b = region[wg_place(*g.scales, g.scale, 2 * i + 1)];
    return wg_scale_value(g.scales->is_big_endian ? a << 8 | b : b << 8 | a, g.stream->scale_form);
}

/* Byte i of a page of the base. */
WG_FN uint32_t wg_reference(const wg_predicted &g, uint32_t i) {
    uint32_t q = g.base[wg_place(*g.stream, g.piece, i)];
    if (!g.scales) return q;
    uint32_t scale = (g.first_value + i) / g.stream->values_per_scale;
    return wg_rescale(q, wg_scale(g.base_scales, g, scale), wg_scale(g.own_scales, g, scale));
}

/* ---- sums of a page -------------------------------------------------------------------------- */

/* Values of 6 bits; `first`: byte of the stream that the page begins with. */
WG_FN void wg_sum_sixes(wg_memory &values, const wg_predicted &g, uint64_t first, uint32_t n) {
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n / 3 * 4; i += WG_LANES)
            wg_put(values, lane, i,
                   (wg_six(g.region, *g.stream, first, g.piece, n, i) +
                    wg_six(g.base, *g.stream, first, g.piece, n, i)) &
                       63);
    });
}

/* Items of 4 and 8 bits. */
WG_FN void wg_sum_bytes(wg_memory &page, const wg_predicted &g, uint32_t n) {
    uint32_t low = g.stream->value_bits == 4 ? 15 : 255, high = 255 - low;
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = lane; i < n; i += WG_LANES) {
            uint32_t d = g.region[wg_place(*g.stream, g.piece, i)], r = wg_reference(g, i);
            wg_put(page, lane, i, ((d + r) & low) | (((d & high) + (r & high)) & high));
        }
    });
}

WG_FN void wg_sum_words(wg_memory &page, const wg_predicted &g, uint32_t n) {
    uint32_t is_big = g.stream->is_big_endian;
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = 2 * lane; i < n; i += 2 * WG_LANES) {
            uint32_t low = i + is_big, high = i + !is_big; /* which byte is which */
            uint64_t at_low = wg_place(*g.stream, g.piece, low),
                     at_high = wg_place(*g.stream, g.piece, high);
            uint32_t sum = g.region[at_low] + g.base[at_low];
            sum += (uint32_t)(g.region[at_high] + g.base[at_high]) << 8;
            wg_put(page, lane, low, sum & 255);
            wg_put(page, lane, high, sum >> 8 & 255);
        }
    });
}

/* ---- all of it ------------------------------------------------------------------------------- */

WG_FN void wg_predict_page(u32v &remainder, wg_predicted &g, wg_memory &bytes, wg_memory &values,
                           uint32_t page, const wg_row_factors &factors) {
    const wg_stream &s = *g.stream;
    const uint32_t n = wg_page_bytes(s, *g.job, page);
    const uint64_t first = g.job->first + wg_page_at(s, page);
    g.piece = wg_find_piece(s, first);
    if (g.scales) {
        g.scale = wg_find_piece(*g.scales, first / s.values_per_scale * 2);
        g.first_value = (uint32_t)(first % s.values_per_scale);
    }
    wg_renew(bytes);
    wg_renew(values);
    if (s.value_bits == 6) {
        wg_sum_sixes(values, g, first, n);
        wg_pack_sixes(bytes, values, s, n);
    } else if (s.value_bits == 16) {
        wg_sum_words(bytes, g, n);
    } else {
        wg_sum_bytes(bytes, g, n);
    }
    wg_sync(bytes); /* all lanes have read the region */
    wg_add_page(remainder, bytes, n, factors);
    if (s.high_bits)
        wg_separate(g.region, values, s, first / 3 * 4, n / 3 * 4);
    else
        wg_scatter(g.region, bytes, s, first, n);
}

/* Job number i, whose differences are decoded. */
WG_FN void wg_predict_segment(const wg_call &call, uint32_t i, wg_memory &bytes,
                              wg_memory &values) {
    const wg_image *parts = wg_part<wg_image>(call.image, 0);
    const wg_stream *streams = wg_part<wg_stream>(call.image, parts->streams);
    wg_predicted g = {};
    g.job = wg_job_of(call.image, i);
    const wg_stream &s = streams[g.job->stream];
    const tare_cuda_buffers &buffers = call.buffers[s.layer];
    g.stream = &s;
    g.region = (uint8_t *)buffers.regions[s.region];
    g.base = (const uint8_t *)buffers.bases[s.region];
    if (g.job->predictor == TARE_CODED_REF_SCALED) {
        g.scales = streams + s.scales;
        g.base_scales = (const uint8_t *)buffers.bases[g.scales->region];
        g.own_scales = (const uint8_t *)buffers.regions[g.scales->region];
    }
    u32v remainder = 0;
    WG_ROLL
    for (uint32_t page = 0; wg_page_at(s, page) < g.job->n_bytes; page++)
        wg_predict_page(remainder, g, bytes, values, page, parts->words);
    if (call.with_crc && wg_join_lanes(remainder, parts->words) != g.job->remainder)
        wg_report(&call.faults->first, &call.faults->n, g.job->number << 8 | WG_BAD_CRC);
}

#endif
