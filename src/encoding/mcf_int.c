/* SPDX-License-Identifier: MIT
 *
 * MCF's int8 and int4: one scale for the whole tensor, and for activations a zero point. Codes are
 * consecutive regardless of rows, those of 4 bits two a byte, the first in the low half (MCF
 * specification, "Family int*"). Symmetric: x = scale * code, the most negative code unused. With a
 * zero point: x = scale * (code - zero), the whole range of codes. */
#include "encoding/mcf_blocks.h"

static size_t codes_plane(bool has_zero) {
    return has_zero ? 2 : 1;
}

/* ---- decode ---------------------------------------------------------------------------------- */

static void decode(float *dst, const tare_rows *src, int bits, bool has_zero) {
    const uint8_t *codes = src->planes[codes_plane(has_zero)];
    float scale = tare_f32_of_bits(tare_load_le32(src->planes[0]));
    float zero = has_zero ? tare_f32_of_bits(tare_load_le32(src->planes[1])) : 0;
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i++) {
        float code = (float)tare_code_at(codes, i, bits);
        tare_put_f32(dst, i, scale * (has_zero ? code - zero : code));
    }
}

/* ---- encode ---------------------------------------------------------------------------------- */

/* NaN is passed over. */
static tare_mcf_bounds bounds_of(const float *src, size_t n) {
    tare_mcf_bounds b = {0, 0};
    for (size_t i = 0; i < n; i++) {
        float v = tare_get_f32(src, i);
        if (v < b.min) b.min = v;
        if (v > b.max) b.max = v;
    }
    return b;
}

/* Half away from zero, clamped to [low, high]; NaN gives 0. */
static int rounded(float t, int low, int high) {
    t = roundf(t);
    if (!(t == t)) return 0;
    return t < (float)low ? low : t > (float)high ? high : (int)t;
}

/* With a zero point, 0 has its own code: bounds that exclude 0 are extended to it. */
tare_mcf_grid tare_mcf_int_grid_of(tare_mcf_bounds b, int bits, bool has_zero) {
    int top = tare_mcf_top(bits), low = has_zero ? -top - 1 : -top;
    float largest = -b.min > b.max ? -b.min : b.max; /* of two zeros the one without a sign */
    tare_mcf_grid g = {largest / (float)top, 0, b.min, b.max, low, top};
    if (has_zero) {
        float min = b.min < 0 ? b.min : 0, max = b.max > 0 ? b.max : 0;
        g.scale = (max - min) / (float)(top - low);
        g.zero = g.scale > 0 ? (float)rounded((float)low - min / g.scale, low, top) : 0;
    }
    return g;
}

tare_mcf_grid tare_mcf_int_grid(const float *src, size_t n, const tare_encode_params *params,
                                int bits, bool has_zero) {
    bool has_clip = params && params->has_clip;
    tare_mcf_bounds clip = {has_clip ? params->clip_min : 0, has_clip ? params->clip_max : 0};
    return tare_mcf_int_grid_of(has_clip ? clip : bounds_of(src, n), bits, has_zero);
}

int tare_mcf_int_code(const tare_mcf_grid *g, float v) {
    v = v < g->min ? g->min : v > g->max ? g->max : v;
    return g->scale > 0 ? rounded(v / g->scale + g->zero, g->low, g->top) : 0;
}

uint8_t *tare_mcf_int_begin(const tare_rows_mut *dst, const tare_mcf_grid *g, bool has_zero) {
    tare_store_le32(dst->planes[0], tare_f32_bits(g->scale));
    if (has_zero) tare_store_le32(dst->planes[1], tare_f32_bits(g->zero));
    return dst->planes[codes_plane(has_zero)];
}

void tare_mcf_int_put(const tare_rows_mut *dst, const float *src, const tare_mcf_grid *g, int bits,
                      bool has_zero) {
    size_t n = tare_rows_mut_count(dst);
    uint8_t *codes = tare_mcf_int_begin(dst, g, has_zero);
    for (size_t i = 0; i < n; i++)
        tare_put_code(codes, i, tare_mcf_int_code(g, tare_get_f32(src, i)), bits);
}

static void encode(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                   int bits, bool has_zero) {
    tare_mcf_grid g = tare_mcf_int_grid(src, tare_rows_mut_count(dst), params, bits, has_zero);
    tare_mcf_int_put(dst, src, &g, bits, has_zero);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_TYPE(name, ID, bits, has_zero)                                                      \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode(dst, src, bits, has_zero);                                                          \
    }                                                                                              \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        encode(dst, src, params, bits, has_zero);                                                  \
    }
TARE_MCF_INTS(DEFINE_TYPE)

#define SET_TYPE(name, ID, bits, has_zero)                                                         \
    k->decode[TARE_ENCODING_##ID] = decode_##name;                                                 \
    k->encode[TARE_ENCODING_##ID] = encode_##name;                                                 \
    k->encode_clipped[TARE_ENCODING_##ID] = encode_##name;

void tare_kernels_init_mcf_int(tare_kernels *k) {
    TARE_MCF_INTS(SET_TYPE)
}
