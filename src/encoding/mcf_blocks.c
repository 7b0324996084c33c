/* SPDX-License-Identifier: MIT
 *
 * MCF's q8, q4, k6, k4, k3 and k2: the scalar reference of decoding, of the default encoder and of
 * the one that gives the bytes of the public implementation (MCF specification, "Payload Layouts",
 * "Bit Packing", "Reconstruction Formulas"). Every operation is f32 in the order written here. */
#include "encoding/mcf_blocks.h"

/* ---- codes ----------------------------------------------------------------------------------- */

void tare_mcf_pack(uint8_t *dst, const int8_t codes[TARE_MCF_BLOCK], int bits) {
    const uint32_t mask = (1u << bits) - 1;
    uint32_t held = 0;
    int n_held = 0;
    for (int j = 0; j < TARE_MCF_BLOCK; j++) {
        held |= ((uint32_t)codes[j] & mask) << n_held;
        for (n_held += bits; n_held >= 8; n_held -= 8, held >>= 8) *dst++ = (uint8_t)held;
    }
}

void tare_mcf_unpack(int8_t codes[TARE_MCF_BLOCK], const uint8_t *src, int bits) {
    const int sign = 1 << (bits - 1), mask = (1 << bits) - 1;
    int held = 0, n_held = 0;
    for (int j = 0; j < TARE_MCF_BLOCK; j++, held >>= bits, n_held -= bits) {
        if (n_held < bits) {
            held |= *src++ << n_held;
            n_held += 8;
        }
        codes[j] = (int8_t)(((held & mask) ^ sign) - sign);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

tare_mcf_row tare_mcf_row_at(const tare_rows_mut *rows, uint64_t r, int bits, bool has_supers) {
    size_t n = (size_t)(r * tare_mcf_n_blocks(rows->cols)), code_bytes = 4 * (size_t)bits;
    if (!has_supers)
        return (tare_mcf_row){NULL, rows->planes[0] + n * 2, rows->planes[1] + n * code_bytes};
    size_t n_supers = (size_t)(r * tare_mcf_n_supers(rows->cols));
    return (tare_mcf_row){rows->planes[0] + n_supers * 2, rows->planes[1] + n,
                          rows->planes[2] + n * code_bytes};
}

static void decode_block(float *dst, const uint8_t *codes, float scale, size_t n, int bits) {
    int8_t q[TARE_MCF_BLOCK];
    tare_mcf_unpack(q, codes, bits);
    for (size_t j = 0; j < n; j++) tare_put_f32(dst, j, scale * (float)q[j]);
}

static void decode_rows(float *dst, const tare_rows *src, int bits, bool has_supers) {
    tare_rows_mut rows = {.n_rows = src->n_rows, .cols = src->cols};
    for (int p = 0; p < 3; p++) rows.planes[p] = (uint8_t *)(uintptr_t)src->planes[p];
    uint8_t *to = (uint8_t *)dst;
    for (uint64_t r = 0; r < src->n_rows; r++) {
        tare_mcf_row at = tare_mcf_row_at(&rows, r, bits, has_supers);
        float super = 0;
        for (uint64_t col = 0; col < src->cols; col += TARE_MCF_BLOCK) {
            size_t b = (size_t)(col / TARE_MCF_BLOCK), left = (size_t)(src->cols - col);
            size_t n = left < TARE_MCF_BLOCK ? left : TARE_MCF_BLOCK;
            if (has_supers && b % TARE_MCF_BLOCKS == 0)
                super = tare_f32_of_f16(tare_load_le16(at.supers + b / TARE_MCF_BLOCKS * 2));
            float scale = has_supers ? tare_mcf_scale(super, at.scales[b])
                                     : tare_f32_of_f16(tare_load_le16(at.scales + b * 2));
            decode_block((float *)(void *)to, at.codes + b * 4 * (size_t)bits, scale, n, bits);
            to += n * sizeof *dst;
        }
    }
}

static float held_to(float v, const tare_encode_params *params) {
    return v < params->clip_min ? params->clip_min : v > params->clip_max ? params->clip_max : v;
}

/* Encodes what was loaded of one super: n blocks (1 for a type without supers), padded with zeros.
 * importance: as many weights, or NULL. */
typedef void (*encode_fn)(const tare_mcf_row *at, const float *x, const float *importance,
                          int n_blocks, int bits);
/* Walks rows super by super (block by block where there are none), values clamped to the bounds. */
static void encode_rows(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, int bits, bool has_supers,
                        encode_fn encode) {
    const size_t step = has_supers ? TARE_MCF_SUPER : TARE_MCF_BLOCK;
    const float *importance = params ? params->importance : NULL;
    bool has_clip = params && params->has_clip;
    float x[TARE_MCF_SUPER], weights[TARE_MCF_SUPER];
    size_t from = 0;
    for (uint64_t r = 0; r < dst->n_rows; r++) {
        tare_mcf_row at = tare_mcf_row_at(dst, r, bits, has_supers);
        for (uint64_t col = 0; col < dst->cols; col += step, from += step) {
            size_t left = (size_t)(dst->cols - col), n = left < step ? left : step;
            int n_blocks = (int)tare_mcf_n_blocks(n);
            for (size_t j = 0; j < step; j++) {
                x[j] = j < n ? tare_get_f32(src, from + j) : 0;
                if (has_clip && j < n) x[j] = held_to(x[j], params);
                weights[j] = importance && j < n ? tare_get_f32(importance, (size_t)col + j) : 0;
            }
            encode(&at, x, importance ? weights : NULL, n_blocks, bits);
            if (has_supers) at.supers += 2;
            at.scales += has_supers ? n_blocks : 2;
            at.codes += (size_t)n_blocks * 4 * (size_t)bits;
        }
        from = (size_t)((r + 1) * dst->cols);
    }
}

/* ---- the default encoder --------------------------------------------------------------------- */

/* The largest magnitude; NaN is passed over. */
static float largest_of(const float *x) {
    float largest = 0;
    for (int j = 0; j < TARE_MCF_BLOCK; j++)
        if (fabsf(x[j]) > largest) largest = fabsf(x[j]);
    return largest;
}

/* Codes from the scale as it is stored. */
static void encode_codes(uint8_t *dst, const float *x, float scale, int bits) {
    int8_t q[TARE_MCF_BLOCK];
    int top = tare_mcf_top(bits);
    for (int j = 0; j < TARE_MCF_BLOCK; j++)
        q[j] = scale != 0 ? tare_mcf_code(x[j], scale, top) : 0;
    tare_mcf_pack(dst, q, bits);
}

static void encode_block(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    (void)importance, (void)n_blocks;
    uint16_t scale = tare_f16_of_f32(largest_of(x) / (float)tare_mcf_top(bits));
    tare_store_le16(at->scales, scale);
    encode_codes(at->codes, x, tare_f32_of_f16(scale), bits);
}

static void encode_super(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    (void)importance;
    float scales[TARE_MCF_BLOCKS], largest = 0;
    for (int b = 0; b < n_blocks; b++) {
        scales[b] = largest_of(x + b * TARE_MCF_BLOCK) / (float)tare_mcf_top(bits);
        if (scales[b] > largest) largest = scales[b];
    }
    uint16_t super = tare_f16_of_f32(largest);
    tare_store_le16(at->supers, super);
    for (int b = 0; b < n_blocks; b++) {
        at->scales[b] = tare_mcf_sub(scales[b], tare_f32_of_f16(super));
        encode_codes(at->codes + b * 4 * bits, x + b * TARE_MCF_BLOCK,
                     tare_mcf_scale(tare_f32_of_f16(super), at->scales[b]), bits);
    }
}

/* ---- the public implementation's encoder ----------------------------------------------------- */

/* Its codes come from the scale before it is stored, by multiplication. A product that does not fit
 * 32 bits, which only a subnormal scale can cause, becomes the smallest integer on x86-64. */
static void mantle_codes(uint8_t *dst, const float *x, float scale, int bits) {
    int8_t q[TARE_MCF_BLOCK];
    int top = tare_mcf_top(bits);
    float inverse = scale != 0 ? 1.0f / scale : 0;
    for (int j = 0; j < TARE_MCF_BLOCK; j++) {
        float t = roundf(x[j] * inverse);
        bool fits = t > -2147483648.0f && t < 2147483648.0f;
        q[j] = (int8_t)(!fits || t < (float)-top ? -top : t > (float)top ? top : (int)t);
        if (scale == 0) q[j] = 0;
    }
    tare_mcf_pack(dst, q, bits);
}

static void mantle_block(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    (void)importance, (void)n_blocks;
    float scale = largest_of(x) / (float)tare_mcf_top(bits);
    tare_store_le16(at->scales, tare_mcf_cut_f16(scale));
    mantle_codes(at->codes, x, scale, bits);
}

static void mantle_super(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    (void)importance;
    float scales[TARE_MCF_BLOCKS], super = 0;
    for (int b = 0; b < n_blocks; b++) {
        scales[b] = largest_of(x + b * TARE_MCF_BLOCK) / (float)tare_mcf_top(bits);
        if (scales[b] > super) super = scales[b];
    }
    tare_store_le16(at->supers, tare_mcf_cut_f16(super));
    for (int b = 0; b < n_blocks; b++) {
        uint8_t sub = 0;
        if (scales[b] > 0) {
            float t = roundf(scales[b] / super * 32.0f);
            sub = (uint8_t)(t >= 1 ? (int)t : 1); /* 32 at most */
        }
        at->scales[b] = sub;
        mantle_codes(at->codes + b * 4 * bits, x + b * TARE_MCF_BLOCK, tare_mcf_scale(super, sub),
                     bits);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE_TYPE(name, ID, bits, has_supers)                                                    \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_rows(dst, src, bits, has_supers);                                                   \
    }                                                                                              \
    void tare_encode_##name##_c(const tare_rows_mut *dst, const float *src,                        \
                                const tare_encode_params *params) {                                \
        encode_rows(dst, src, params, bits, has_supers, has_supers ? encode_super : encode_block); \
    }                                                                                              \
    void tare_mantle_##name##_c(const tare_rows_mut *dst, const float *src,                        \
                                const tare_encode_params *params) {                                \
        encode_rows(dst, src, params, bits, has_supers, has_supers ? mantle_super : mantle_block); \
    }
TARE_MCF_TYPES(DEFINE_TYPE)

#define SET_TYPE(name, ID, bits, has_supers)                                                       \
    k->decode[TARE_ENCODING_##ID] = decode_##name;                                                 \
    k->encode[TARE_ENCODING_##ID] = tare_encode_##name##_c;                                        \
    k->encode_clipped[TARE_ENCODING_##ID] = tare_encode_##name##_c;                                \
    k->encode_mantle[TARE_ENCODING_##ID] = tare_mantle_##name##_c;

void tare_kernels_init_mcf(tare_kernels *k) {
    TARE_MCF_TYPES(SET_TYPE)
}
