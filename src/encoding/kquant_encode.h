/* SPDX-License-Identifier: MIT
 *
 * Encoders of the K formats: super-blocks of 256 in sub-blocks of 16 or 32, whose scales (and
 * minimums) are integers times one f16 of the super-block. Byte for byte what ggml's encoders
 * write, with and without an importance vector. Layouts: kquant.h. Written once, on a table of
 * searches: each includer compiles the code around the searches for its own instruction set. */
#ifndef TARE_ENCODING_KQUANT_ENCODE_H
#define TARE_ENCODING_KQUANT_ENCODE_H

#include <math.h>
#include <string.h>

#include "encoding/batches.h"
#include "encoding/bitpack.h"
#include "encoding/block_searches.h"
#include "encoding/blocks.h"
#include "encoding/float16.h"
#include "encoding/kquant.h"

/* A batch of super-blocks: enough of them that each has its own lane in a vector. One scale,
 * minimum and sum of weights a sub-block, one code an element. */
enum { BATCH = TARE_SEARCH_ROOM };
typedef struct batch {
    const tare_searches *by;
    bool is_weighted;
    size_t n;
    const float *x; /* the caller's, or a copy */
    float room[BATCH * 256], importance[BATCH * 256];
    float sigma2[BATCH * 16], scales[BATCH * 16], minus_mins[BATCH * 16], sums[BATCH * 16];
    uint8_t codes[BATCH * 256];
} batch;

/* How an affine format (q2_K, q4_K, q5_K) differs from its siblings. */
typedef struct affine_form {
    int sub;                /* elements in a sub-block */
    int top;                /* of the integers that stand for scales and minimums */
    float sigma_factor;     /* of the mean square, in the weights with importance */
    tare_weighing weighing; /* without importance */
    bool clamps_weighted;   /* integers of the weighted search are held to top */
    tare_affine_walk plain, weighted;
} affine_form;

static const affine_form form_q2 = {
    16, 15, 1, TARE_WEIGH_MAGNITUDE, false, {-0.5f, 0.1f, 15, 3, 1}, {-0.9f, 0.05f, 36, 3, 0}};
static const affine_form form_q4 = {
    32, 63, 2, TARE_WEIGH_MEAN, false, {-1.0f, 0.1f, 20, 15, 0}, {-0.9f, 0.05f, 36, 15, 0}};
static const affine_form form_q5 = {
    32, 63, 2, TARE_WEIGH_MEAN, true, {-0.5f, 0.1f, 15, 31, 0}, {-0.9f, 0.05f, 36, 31, 0}};

/* The sub-blocks of a batch, to be searched. */
static inline tare_blocks sub_blocks(batch *b, int size, tare_weighing weighing) {
    return (tare_blocks){.n = b->n * 256 / (size_t)size,
                         .size = size,
                         .weighing = weighing,
                         .x = b->x,
                         .importance = b->importance,
                         .sigma2 = b->sigma2,
                         .codes = b->codes,
                         .scales = b->scales,
                         .minus_mins = b->minus_mins,
                         .sums = b->sums};
}

/* sigma2 of every sub-block: its super-block's mean square times `factor`. */
static inline void set_sigma2(batch *b, int size, float factor) {
    float squares[BATCH];
    size_t n_sub = 256 / (size_t)size;
    b->by->squares(squares, b->x, b->n, 256);
    for (size_t k = 0; k < b->n; k++)
        for (size_t j = 0; j < n_sub; j++) b->sigma2[k * n_sub + j] = factor * squares[k] / 256;
}

static inline float largest(const float *v, int n) {
    float max = 0;
    for (int i = 0; i < n; i++)
        if (v[i] > max) max = v[i];
    return max;
}

/* Integers up to `top` for positive values under one factor, which is returned. */
static inline float quantize_sub_scales(uint8_t *out, const float *values, int n, int top) {
    float max = largest(values, n);
    float inverse = max > 0 ? (float)top / max : 0;
    for (int j = 0; j < n; j++) out[j] = (uint8_t)tare_round_even(inverse * values[j]);
    return max / (float)top;
}

/* The integers that represent the scales and minimums of the sub-blocks, and their factors. */
typedef struct integers {
    float d[BATCH], dmin[BATCH];
    uint8_t scales[BATCH * 16], mins[BATCH * 16];
} integers;

static inline void search_integers(float *factors, uint8_t *out, batch *b, const float *values,
                                   int n, int top) {
    b->by->without_sign(&(tare_blocks){.n = b->n,
                                       .size = n,
                                       .weighing = TARE_WEIGH_GIVEN,
                                       .x = values,
                                       .importance = b->sums,
                                       .codes = out,
                                       .scales = factors},
                        top);
}

/* Searches every sub-block, then for the integers that represent the result. */
static inline void search_with_mins(integers *found, batch *b, const affine_form *form) {
    int n = 256 / form->sub;
    if (b->is_weighted) {
        set_sigma2(b, form->sub, form->sigma_factor);
        tare_blocks blocks = sub_blocks(b, form->sub, TARE_WEIGH_SPREAD);
        b->by->affine(&blocks, &form->weighted);
        search_integers(found->d, found->scales, b, b->scales, n, form->top);
        search_integers(found->dmin, found->mins, b, b->minus_mins, n, form->top);
        return;
    }
    tare_blocks blocks = sub_blocks(b, form->sub, form->weighing);
    b->by->affine(&blocks, &form->plain);
    for (size_t k = 0; k < b->n; k++) {
        size_t at = k * (size_t)n;
        found->d[k] = quantize_sub_scales(found->scales + at, b->scales + at, n, form->top);
        found->dmin[k] = quantize_sub_scales(found->mins + at, b->minus_mins + at, n, form->top);
    }
}

/* Stores a factor; returns the value it will be read back as. */
static inline float store_factor(uint8_t *y, float factor) {
    tare_store_le16(y, tare_f16_of_f32(factor));
    return tare_load_f16(y);
}

static const float no_mins[16] = {0};

/* ---- q2_K ------------------------------------------------------------------------------------ */

static inline void encode_block_q2_k(uint8_t *y, batch *b, size_t k, integers *found) {
    const uint8_t *ls = found->scales + 16 * k, *lm = found->mins + 16 * k;
    float scales[16], mins[16];
    float d = store_factor(y + Q2_K_D, found->d[k]);
    float dmin = store_factor(y + Q2_K_DMIN, found->dmin[k]);
    for (int j = 0; j < 16; j++) {
        uint8_t s = y[Q2_K_SCALES + j] = (uint8_t)(ls[j] | lm[j] << 4);
        scales[j] = d * (float)(s & 15);
        mins[j] = dmin * (float)(s >> 4);
    }
    b->by->recode(b->codes + 256 * k, b->x + 256 * k, scales, mins, 16, 0, 3);
    tare_pack_2bit(y + Q2_K_QS, b->codes + 256 * k);
}

static inline void encode_batch_q2_k(uint8_t *y, batch *b) {
    integers found;
    search_with_mins(&found, b, &form_q2);
    for (size_t k = 0; k < b->n; k++, y += Q2_K_BYTES) {
        /* Not 0 * value here: the two differ for NaN. */
        if (!b->is_weighted && !(largest(b->scales + 16 * k, 16) > 0))
            memset(found.scales + 16 * k, 0, 16);
        if (!b->is_weighted && !(largest(b->minus_mins + 16 * k, 16) > 0))
            memset(found.mins + 16 * k, 0, 16);
        encode_block_q2_k(y, b, k, &found);
    }
}

/* ---- q3_K ------------------------------------------------------------------------------------ */

/* How the signed scales of a batch become integers: `steps` times -1 / peak of their super-block,
 * which is 0 where all scales are. Loops over all of them, which compilers turn into vectors. */
typedef struct signed_integers {
    float peaks[BATCH], inverses[BATCH];
    int32_t rounded[BATCH * 16];
} signed_integers;

static inline void round_scales(signed_integers *found, batch *b, float steps) {
    float inverses[BATCH * 16];
    b->by->peaks(found->peaks, b->scales, b->n);
    for (size_t k = 0; k < b->n; k++) {
        found->inverses[k] = found->peaks[k] != 0 ? -steps / found->peaks[k] : 0;
        for (size_t j = 0; j < 16; j++) inverses[16 * k + j] = found->inverses[k];
    }
    for (size_t i = 0; i < 16 * b->n; i++)
        found->rounded[i] = tare_round_even(inverses[i] * b->scales[i]);
}

/* Integers for the scales of the plain search, and their factors. Without any scale the integers
 * are 0, which stands for -32. */
static inline void integers_q3(float *factors, uint8_t *ls, batch *b) {
    signed_integers found;
    round_scales(&found, b, 32);
    /* Through a byte, as in the reference, before the clamp. */
    for (size_t i = 0; i < 16 * b->n; i++)
        ls[i] = (uint8_t)(tare_clamp_i32((int8_t)found.rounded[i], -32, 31) + 32);
    for (size_t k = 0; k < b->n; k++) {
        factors[k] = found.peaks[k] != 0 ? 1 / found.inverses[k] : 0;
        if (found.peaks[k] == 0) memset(ls + 16 * k, 0, 16);
    }
}

static inline void search_q3(float *factors, uint8_t *ls, batch *b) {
    if (!b->is_weighted) {
        tare_blocks blocks = sub_blocks(b, 16, TARE_WEIGH_SQUARE);
        b->by->moves(&blocks, 4);
        integers_q3(factors, ls, b);
        return;
    }
    set_sigma2(b, 16, 2);
    tare_blocks blocks = sub_blocks(b, 16, TARE_WEIGH_SPREAD);
    b->by->with_sign(&blocks, 4);
    b->by->with_sign(&(tare_blocks){.n = b->n,
                                    .size = 16,
                                    .weighing = TARE_WEIGH_GIVEN,
                                    .x = b->scales,
                                    .importance = b->sums,
                                    .codes = ls,
                                    .scales = factors},
                     32);
}

static inline void encode_block_q3_k(uint8_t *y, batch *b, size_t k, float factor,
                                     const uint8_t *ls) {
    uint8_t *codes = b->codes + 256 * k;
    float scales[16];
    tare_pack_q3_scales(y + Q3_K_SCALES, ls);
    float d = store_factor(y + Q3_K_D, factor);
    for (int j = 0; j < 16; j++) scales[j] = d * (float)(ls[j] - 32);
    b->by->recode(codes, b->x + 256 * k, scales, no_mins, 16, -4, 3);
    tare_pack_bits(y + Q3_K_HMASK, codes, 2);
    for (int i = 0; i < 256; i++) codes[i] &= 3;
    tare_pack_2bit(y + Q3_K_QS, codes);
}

static inline void encode_batch_q3_k(uint8_t *y, batch *b) {
    float factors[BATCH];
    uint8_t ls[BATCH * 16];
    search_q3(factors, ls, b);
    for (size_t k = 0; k < b->n; k++, y += Q3_K_BYTES)
        encode_block_q3_k(y, b, k, factors[k], ls + 16 * k);
}

/* ---- q4_K and q5_K --------------------------------------------------------------------------- */

static inline void clamp_63(uint8_t *v) {
    for (int j = 0; j < 8; j++)
        if (v[j] > 63) v[j] = 63;
}

/* Scales, minimums and codes of a block: d, dmin and the 12 scale bytes go to y. */
static inline void encode_affine_8(uint8_t *y, batch *b, size_t k, integers *found,
                                   const affine_form *form) {
    uint8_t *ls = found->scales + 8 * k, *lm = found->mins + 8 * k;
    float scales[8], mins[8];
    if (!b->is_weighted || form->clamps_weighted) {
        clamp_63(ls);
        clamp_63(lm);
    }
    tare_pack_k4_scales(y + Q4_K_SCALES, ls, lm);
    float d = store_factor(y + Q4_K_D, found->d[k]);
    float dmin = store_factor(y + Q4_K_DMIN, found->dmin[k]);
    for (int j = 0; j < 8; j++) {
        uint8_t scale, min;
        tare_k4_scale_min(y + Q4_K_SCALES, j, &scale, &min);
        scales[j] = d * (float)scale;
        mins[j] = dmin * (float)min;
    }
    b->by->recode(b->codes + 256 * k, b->x + 256 * k, scales, mins, 32, 0, form->plain.top);
}

static inline void encode_batch_q4_k(uint8_t *y, batch *b) {
    integers found;
    search_with_mins(&found, b, &form_q4);
    for (size_t k = 0; k < b->n; k++, y += Q4_K_BYTES) {
        encode_affine_8(y, b, k, &found, &form_q4);
        tare_pack_quarters(y + Q4_K_QS, b->codes + 256 * k);
    }
}

static inline void encode_batch_q5_k(uint8_t *y, batch *b) {
    integers found;
    search_with_mins(&found, b, &form_q5);
    for (size_t k = 0; k < b->n; k++, y += Q5_K_BYTES) {
        const uint8_t *codes = b->codes + 256 * k;
        encode_affine_8(y, b, k, &found, &form_q5);
        tare_pack_bits(y + Q5_K_QH, codes, 4);
        tare_pack_quarters(y + Q5_K_QS, codes);
    }
}

/* ---- q6_K ------------------------------------------------------------------------------------ */

/* Super-blocks k to k + n. Their codes follow from the scales as stored; those of the search are
 * needed only where a scale is stored as 0. */
static inline void search_q6(batch *b, size_t k, size_t n, uint8_t *codes) {
    b->by->with_sign(
        &(tare_blocks){.n = 16 * n,
                       .size = 16,
                       .weighing = b->is_weighted ? TARE_WEIGH_GIVEN : TARE_WEIGH_SQUARE,
                       .x = b->x + 256 * k,
                       .importance = b->importance + 256 * k,
                       .codes = codes,
                       .scales = b->scales + 16 * k},
        32);
}

/* `scales`, of the super-block as stored, and their bytes. */
static inline void encode_block_q6_k(uint8_t *y, batch *b, size_t k, const float *scales,
                                     const uint8_t *bytes) {
    bool has_zero = false;
    for (int j = 0; j < 16; j++) has_zero |= scales[j] == 0;
    if (has_zero) search_q6(b, k, 1, b->codes + 256 * k);
    b->by->recode(b->codes + 256 * k, b->x + 256 * k, scales, no_mins, 16, -32, 31);
    tare_pack_q6_k(y + Q6_K_QL, y + Q6_K_QH, b->codes + 256 * k);
    memcpy(y + Q6_K_SCALES, bytes, 16);
}

static inline void encode_batch_q6_k(uint8_t *y, batch *b) {
    signed_integers found;
    float d[BATCH * 16], scales[BATCH * 16];
    uint8_t bytes[BATCH * 16];
    search_q6(b, 0, b->n, NULL);
    round_scales(&found, b, 128);
    for (size_t k = 0; k < b->n; k++) {
        float stored = store_factor(y + k * Q6_K_BYTES + Q6_K_D, 1 / found.inverses[k]);
        for (size_t j = 0; j < 16; j++) d[16 * k + j] = stored;
    }
    for (size_t i = 0; i < 16 * b->n; i++)
        found.rounded[i] = found.rounded[i] < 127 ? found.rounded[i] : 127;
    for (size_t i = 0; i < 16 * b->n; i++) bytes[i] = (uint8_t)found.rounded[i];
    for (size_t i = 0; i < 16 * b->n; i++) scales[i] = d[i] * (float)(int8_t)found.rounded[i];
    for (size_t k = 0; k < b->n; k++, y += Q6_K_BYTES)
        if (fabsf(found.peaks[k]) < TARE_SEARCH_ZERO)
            memset(y, 0, Q6_K_BYTES);
        else
            encode_block_q6_k(y, b, k, scales + 16 * k, bytes + 16 * k);
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef void (*encode_batch_fn)(uint8_t *y, batch *b);

/* Takes the next super-blocks. The space after the last one is searched too, so it must hold
 * numbers. */
static inline void fill_batch(batch *b, size_t n, const float *src, size_t at, size_t row,
                              const float *importance) {
    b->n = n;
    b->x = tare_take_blocks(b->room, src, 256, at, n, BATCH);
    if (n < BATCH) {
        memset(b->importance, 0, sizeof b->importance);
        memset(b->sigma2, 0, sizeof b->sigma2);
        memset(b->scales, 0, sizeof b->scales);
        memset(b->minus_mins, 0, sizeof b->minus_mins);
        memset(b->sums, 0, sizeof b->sums);
    }
    if (importance) tare_take_importance(b->importance, importance, 256, at, n, row);
}

static inline void encode_rows(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params, const tare_searches *by,
                               size_t block_bytes, encode_batch_fn encode) {
    const float *importance = params ? params->importance : NULL;
    size_t n = tare_rows_mut_count(dst) / 256, row = (size_t)(dst->cols / 256);
    batch b;
    b.by = by;
    b.is_weighted = importance != NULL;
    for (size_t at = 0; at < n; at += b.n) {
        fill_batch(&b, n - at < BATCH ? n - at : BATCH, src, at, row, importance);
        encode(dst->planes[0] + at * block_bytes, &b);
    }
}

/* encode_NAME and use_NAME for the table of kernels, on one table of searches. */
#define TARE_DEFINE_K_ENCODER(name, NAME, by)                                                      \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        encode_rows(dst, src, params, by, NAME##_BYTES, encode_batch_##name);                      \
    }                                                                                              \
    static void use_##name(tare_kernels *k) {                                                      \
        k->encode[TARE_ENCODING_##NAME] = k->encode_weighted[TARE_ENCODING_##NAME] =               \
            encode_##name;                                                                         \
    }
#define TARE_DEFINE_K_ENCODERS(by)                                                                 \
    TARE_DEFINE_K_ENCODER(q2_k, Q2_K, by)                                                          \
    TARE_DEFINE_K_ENCODER(q3_k, Q3_K, by)                                                          \
    TARE_DEFINE_K_ENCODER(q4_k, Q4_K, by)                                                          \
    TARE_DEFINE_K_ENCODER(q5_k, Q5_K, by)                                                          \
    TARE_DEFINE_K_ENCODER(q6_k, Q6_K, by)                                                          \
    static void use_k_encoders(tare_kernels *k) {                                                  \
        use_q2_k(k);                                                                               \
        use_q3_k(k);                                                                               \
        use_q4_k(k);                                                                               \
        use_q5_k(k);                                                                               \
        use_q6_k(k);                                                                               \
    }

#endif
