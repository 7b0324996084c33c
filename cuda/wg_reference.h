/* SPDX-License-Identifier: MIT
 *
 * Prediction from a base model (docs/wcodec.md, 6): what its bytes add to a page of differences. */
#ifndef TARE_CUDA_WG_REFERENCE_H
#define TARE_CUDA_WG_REFERENCE_H

#include <string.h>

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

/* Scale number i of a stream, in a region. */
WG_FN double wg_scale(const uint8_t *region, const wg_stream &scales, uint64_t i, uint32_t form) {
    uint32_t a = region[wg_place(scales, 2 * i)], b = region[wg_place(scales, 2 * i + 1)];
    return wg_scale_value(scales.is_big_endian ? a << 8 | b : b << 8 | a, form);
}

/* What a segment is predicted from. */
struct wg_base {
    const uint8_t *region, *scales, *own_scales; /* regions: the base's, the layer's own */
    const wg_stream *scale_stream;               /* NULL: they are not asked for */
};

WG_FN uint32_t wg_reference(const wg_base &b, const wg_stream &s, uint64_t i) {
    uint32_t q = b.region[wg_place(s, i)];
    if (!b.scale_stream) return q;
    uint64_t scale = i / s.values_per_scale;
    return wg_rescale(q, wg_scale(b.scales, *b.scale_stream, scale, s.scale_form),
                      wg_scale(b.own_scales, *b.scale_stream, scale, s.scale_form));
}

/* Values of 6 bits of a page of n bytes that begins at byte `first` of the stream. */
WG_FN void wg_add_sixes(wg_memory &values, const wg_base &b, const wg_stream &s, uint64_t first,
                        uint32_t n) {
    wg_sync(values);
    wg_each([&](uint32_t lane) {
        for (uint32_t i = lane; i < n / 3 * 4; i += WG_LANES)
            wg_put(values, lane, i,
                   (wg_get(values, lane, i) + wg_six(b.region, s, first, n, i)) & 63);
    });
}

/* Items of 4 and 8 bits. */
WG_FN void wg_add_bytes(wg_memory &page, const wg_base &b, const wg_stream &s, uint64_t first,
                        uint32_t n) {
    uint32_t low = s.value_bits == 4 ? 15 : 255, high = 255 - low;
    wg_sync(page);
    wg_each([&](uint32_t lane) {
        for (uint32_t i = lane; i < n; i += WG_LANES) {
            uint32_t d = wg_get(page, lane, i), r = wg_reference(b, s, first + i);
            wg_put(page, lane, i, ((d + r) & low) | (((d & high) + (r & high)) & high));
        }
    });
}

WG_FN void wg_add_words(wg_memory &page, const wg_base &b, const wg_stream &s, uint64_t first,
                        uint32_t n) {
    uint32_t low = s.is_big_endian, high = !low; /* which byte is which */
    wg_sync(page);
    wg_each([&](uint32_t lane) {
        for (uint32_t i = 2 * lane; i < n; i += 2 * WG_LANES) {
            uint32_t d = wg_get(page, lane, i + low) | wg_get(page, lane, i + high) << 8;
            d += wg_reference(b, s, first + i + low) | wg_reference(b, s, first + i + high) << 8;
            wg_put(page, lane, i + low, d & 255);
            wg_put(page, lane, i + high, d >> 8 & 255);
        }
    });
}

#endif
