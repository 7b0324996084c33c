/* SPDX-License-Identifier: MIT
 *
 * Prediction from a base model. Adding and subtracting are one walk with two signs. */
#include "wcodec/wc_reference.h"

#include <math.h>
#include <string.h>

#include "wcodec/wc_scales.h"

static void shift_nibbles(uint8_t *bytes, uint32_t n, const uint8_t *ref, unsigned sign) {
    for (uint32_t i = 0; i < n; i++) {
        unsigned low = bytes[i] + sign * ref[i], high = (bytes[i] >> 4) + sign * (ref[i] >> 4);
        bytes[i] = (uint8_t)((low & 15) | high << 4);
    }
}

static uint32_t load_three(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

static void shift_sixes(uint8_t *bytes, uint32_t n, const uint8_t *ref, unsigned sign) {
    for (uint32_t i = 0; i < n; i += 3) {
        uint32_t a = load_three(bytes + i), b = load_three(ref + i), sum = 0;
        for (unsigned s = 0; s < 24; s += 6) sum |= (((a >> s) + sign * (b >> s)) & 63) << s;
        for (unsigned j = 0; j < 3; j++) bytes[i + j] = (uint8_t)(sum >> 8 * j);
    }
}

/* Of packed scales, a group at a time. */
static void shift_scales(uint8_t *bytes, uint32_t n, const uint8_t *ref, unsigned sign) {
    enum { GROUP = TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP };
    uint8_t own[GROUP], other[GROUP];
    for (uint32_t at = 0; at < n; at += GROUP) {
        uint32_t size = n - at < GROUP ? n - at : GROUP;
        tare_wc_scales_unpack(own, bytes + at, size);
        tare_wc_scales_unpack(other, ref + at, size);
        shift_sixes(own, size, other, sign);
        tare_wc_kernels_get()->pack_scales(own, size);
        memcpy(bytes + at, own, size);
    }
}

static void shift_words(uint8_t *bytes, uint32_t n, const uint8_t *ref, bool is_big_endian,
                        unsigned sign) {
    for (uint32_t i = 0; i < n; i += 2) {
        unsigned a = tare_load_u16(bytes + i, is_big_endian);
        unsigned b = tare_load_u16(ref + i, is_big_endian);
        tare_store_u16(bytes + i, (uint16_t)(a + sign * b), is_big_endian);
    }
}

/* Scale number i of a stream of 16-bit floats. binary16 and bfloat16 are exact as doubles. */
static double scale_at(const uint8_t *scales, uint64_t i, const tare_wc_reference *r) {
    uint16_t bits = tare_load_u16(scales + 2 * (size_t)i, r->scales_are_big_endian);
    if (r->scale_form == 2) return (double)tare_f32_of_bits((uint32_t)bits << 16);
    unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double size = exponent ? ldexp(1024 + (double)mantissa, (int)exponent - 25)
                           : ldexp((double)mantissa, -24);
    if (exponent == 31) size = mantissa ? (double)NAN : (double)INFINITY;
    return bits >> 15 ? -size : size;
}

/* round(q * base / own), as REF_SCALED defines it. */
static int8_t rescale(int8_t q, double base, double own) {
    double product = (double)q * base, v = product / own;
    if (isnan(v)) return 0;
    if (v <= -128) return -128;
    if (v >= 127) return 127;
    double whole = floor(v), rest = v - whole; /* exact, v being small */
    int result = (int)whole;
    if (rest > 0.5 || (rest == 0.5 && result % 2 != 0)) result++;
    return (int8_t)result;
}

static void shift_scaled(uint8_t *bytes, uint32_t n, const tare_wc_reference *r, unsigned sign) {
    uint64_t place = r->first_value % r->values_per_scale, scale = 0;
    for (uint32_t i = 0; i < n;) {
        double base = scale_at(r->base_scales, scale, r), own = scale_at(r->own_scales, scale, r);
        for (; i < n && place < r->values_per_scale; i++, place++)
            bytes[i] =
                (uint8_t)(bytes[i] + sign * (unsigned)rescale((int8_t)r->bytes[i], base, own));
        place = 0;
        scale++;
    }
}

static void shift(uint8_t *bytes, uint32_t n, const tare_wc_shape *shape,
                  const tare_wc_reference *r, tare_coded_predictor predictor, unsigned sign) {
    if (predictor == TARE_CODED_REF_SCALED)
        shift_scaled(bytes, n, r, sign);
    else if (shape->value_bits == 4)
        shift_nibbles(bytes, n, r->bytes, sign);
    else if (shape->is_scales)
        shift_scales(bytes, n, r->bytes, sign);
    else if (shape->value_bits == 6)
        shift_sixes(bytes, n, r->bytes, sign);
    else if (shape->value_bits == 16)
        shift_words(bytes, n, r->bytes, shape->is_big_endian, sign);
    else
        for (uint32_t i = 0; i < n; i++) bytes[i] = (uint8_t)(bytes[i] + sign * r->bytes[i]);
}

void tare_wc_reference_add(uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                           const tare_wc_reference *reference, tare_coded_predictor predictor) {
    shift(bytes, n_bytes, shape, reference, predictor, 1);
}

void tare_wc_reference_subtract(uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                                const tare_wc_reference *reference,
                                tare_coded_predictor predictor) {
    shift(bytes, n_bytes, shape, reference, predictor, 0 - 1u);
}
