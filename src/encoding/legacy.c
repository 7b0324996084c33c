/* SPDX-License-Identifier: MIT
 *
 * ggml's block formats of 32 elements with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q8_1 (an
 * intermediate of its matrix products, which is decoded only). Element j and element j + 16 share a
 * byte of codes, the first in the low nibble; bit j of `qh` is the fifth bit of element j. Every
 * operation of the encoders has the order and precision of ggml's quantize_row_*_ref, so the bytes
 * are the same. */
#include <float.h>

#include "encoding/float16.h"
#include "encoding/scalar.h"

#define BLOCK 32
#define HALF  16

/* ---- decode ---------------------------------------------------------------------------------- */

static void decode_q4_0(float *dst, const tare_rows *src) {
    size_t n_blocks = tare_rows_count(src) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = src->planes[0] + b * 18;
        float d = tare_f32_of_f16(tare_load_le16(block));
        for (size_t j = 0; j < HALF; j++) {
            uint8_t codes = block[2 + j];
            tare_put_f32(dst, b * BLOCK + j, (float)((codes & 15) - 8) * d);
            tare_put_f32(dst, b * BLOCK + HALF + j, (float)((codes >> 4) - 8) * d);
        }
    }
}

static void decode_q4_1(float *dst, const tare_rows *src) {
    size_t n_blocks = tare_rows_count(src) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = src->planes[0] + b * 20;
        float d = tare_f32_of_f16(tare_load_le16(block));
        float m = tare_f32_of_f16(tare_load_le16(block + 2));
        for (size_t j = 0; j < HALF; j++) {
            uint8_t codes = block[4 + j];
            tare_put_f32(dst, b * BLOCK + j, (float)(codes & 15) * d + m);
            tare_put_f32(dst, b * BLOCK + HALF + j, (float)(codes >> 4) * d + m);
        }
    }
}

/* Code j of 32 whose low four bits lie in nibbles and whose fifth bit is bit j of qh. */
static inline int five_bits(const uint8_t *qs, uint32_t qh, size_t j) {
    uint32_t nibble = j < HALF ? qs[j] & 15u : (uint32_t)qs[j - HALF] >> 4;
    return (int)(nibble | (qh >> j & 1) << 4);
}

static void decode_q5_0(float *dst, const tare_rows *src) {
    size_t n_blocks = tare_rows_count(src) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = src->planes[0] + b * 22;
        float d = tare_f32_of_f16(tare_load_le16(block));
        uint32_t qh = tare_load_le32(block + 2);
        for (size_t j = 0; j < BLOCK; j++)
            tare_put_f32(dst, b * BLOCK + j, (float)(five_bits(block + 6, qh, j) - 16) * d);
    }
}

static void decode_q5_1(float *dst, const tare_rows *src) {
    size_t n_blocks = tare_rows_count(src) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = src->planes[0] + b * 24;
        float d = tare_f32_of_f16(tare_load_le16(block));
        float m = tare_f32_of_f16(tare_load_le16(block + 2));
        uint32_t qh = tare_load_le32(block + 4);
        for (size_t j = 0; j < BLOCK; j++)
            tare_put_f32(dst, b * BLOCK + j, (float)five_bits(block + 8, qh, j) * d + m);
    }
}

/* Q8_0 and Q8_1: signed bytes after a header of 2 or 4 bytes that begins with the scale. */
static void decode_bytes(float *dst, const tare_rows *src, size_t header) {
    size_t n_blocks = tare_rows_count(src) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *block = src->planes[0] + b * (header + BLOCK);
        float d = tare_f32_of_f16(tare_load_le16(block));
        for (size_t j = 0; j < BLOCK; j++)
            tare_put_f32(dst, b * BLOCK + j, (float)(int8_t)block[header + j] * d);
    }
}

static void decode_q8_0(float *dst, const tare_rows *src) {
    decode_bytes(dst, src, 2);
}

static void decode_q8_1(float *dst, const tare_rows *src) {
    decode_bytes(dst, src, 4);
}

/* ---- encode ---------------------------------------------------------------------------------- */

static void get_block(float x[BLOCK], const float *src, size_t b) {
    memcpy(x, (const uint8_t *)src + b * BLOCK * sizeof(float), BLOCK * sizeof(float));
}

/* The value of largest magnitude with its sign, the first one of equals; NaN is passed over. */
static float extreme_of(const float x[BLOCK]) {
    float size = 0, extreme = 0;
    for (size_t j = 0; j < BLOCK; j++) {
        if (size < fabsf(x[j])) {
            size = fabsf(x[j]);
            extreme = x[j];
        }
    }
    return extreme;
}

/* Smallest and largest value, the first of equals (-0 and 0 are); NaN is passed over. */
static void range_of(float *min, float *max, const float x[BLOCK]) {
    *min = FLT_MAX;
    *max = -FLT_MAX;
    for (size_t j = 0; j < BLOCK; j++) {
        if (x[j] < *min) *min = x[j];
        if (x[j] > *max) *max = x[j];
    }
}

static inline float inverse_of(float d) {
    return d != 0 ? 1.0f / d : 0.0f;
}
static inline uint8_t at_most(uint8_t limit, uint8_t code) {
    return code < limit ? code : limit;
}

/* Two codes of up to five bits for one byte, their fifth bits into *qh. */
static inline uint8_t join(uint32_t *qh, size_t j, uint8_t first, uint8_t second) {
    *qh |= (uint32_t)(first >> 4 & 1) << j | (uint32_t)(second >> 4 & 1) << (j + HALF);
    return (uint8_t)((first & 15) | (second & 15) << 4);
}

void tare_encode_q4_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n_blocks = tare_rows_mut_count(dst) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = dst->planes[0] + b * 18;
        float x[BLOCK];
        get_block(x, src, b);
        float d = extreme_of(x) / -8, id = inverse_of(d);
        uint32_t qh = 0;
        tare_store_le16(block, tare_f16_of_f32(d));
        for (size_t j = 0; j < HALF; j++)
            block[2 + j] = join(&qh, j, at_most(15, tare_low_byte_of_f32(x[j] * id + 8.5f)),
                                at_most(15, tare_low_byte_of_f32(x[j + HALF] * id + 8.5f)));
    }
}

void tare_encode_q4_1_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n_blocks = tare_rows_mut_count(dst) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = dst->planes[0] + b * 20;
        float x[BLOCK], min, max;
        get_block(x, src, b);
        range_of(&min, &max, x);
        float d = (max - min) / 15, id = inverse_of(d);
        uint32_t qh = 0;
        tare_store_le16(block, tare_f16_of_f32(d));
        tare_store_le16(block + 2, tare_f16_of_f32(min));
        for (size_t j = 0; j < HALF; j++)
            block[4 + j] = join(&qh, j, at_most(15, tare_low_byte_of_f32((x[j] - min) * id + 0.5f)),
                                at_most(15, tare_low_byte_of_f32((x[j + HALF] - min) * id + 0.5f)));
    }
}

void tare_encode_q5_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n_blocks = tare_rows_mut_count(dst) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = dst->planes[0] + b * 22;
        float x[BLOCK];
        get_block(x, src, b);
        float d = extreme_of(x) / -16, id = inverse_of(d);
        uint32_t qh = 0;
        tare_store_le16(block, tare_f16_of_f32(d));
        for (size_t j = 0; j < HALF; j++)
            block[6 + j] = join(&qh, j, at_most(31, tare_low_byte_of_f32(x[j] * id + 16.5f)),
                                at_most(31, tare_low_byte_of_f32(x[j + HALF] * id + 16.5f)));
        tare_store_le32(block + 2, qh);
    }
}

void tare_encode_q5_1_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n_blocks = tare_rows_mut_count(dst) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = dst->planes[0] + b * 24;
        float x[BLOCK], min, max;
        get_block(x, src, b);
        range_of(&min, &max, x);
        float d = (max - min) / 31, id = inverse_of(d);
        uint32_t qh = 0;
        tare_store_le16(block, tare_f16_of_f32(d));
        tare_store_le16(block + 2, tare_f16_of_f32(min));
        for (size_t j = 0; j < HALF; j++) {
            block[8 + j] = join(&qh, j, tare_low_byte_of_f32((x[j] - min) * id + 0.5f),
                                tare_low_byte_of_f32((x[j + HALF] - min) * id + 0.5f));
        }
        tare_store_le32(block + 4, qh);
    }
}

void tare_encode_q8_0_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n_blocks = tare_rows_mut_count(dst) / BLOCK;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = dst->planes[0] + b * 34;
        float x[BLOCK], size = 0;
        get_block(x, src, b);
        /* Not `size < v`: a NaN is taken, then dropped at the next element. */
        for (size_t j = 0; j < BLOCK; j++) size = size > fabsf(x[j]) ? size : fabsf(x[j]);
        float d = size / 127, id = inverse_of(d);
        tare_store_le16(block, tare_f16_of_f32(d));
        for (size_t j = 0; j < BLOCK; j++) block[2 + j] = tare_low_byte_of_f32(roundf(x[j] * id));
    }
}

void tare_kernels_init_legacy(tare_kernels *k) {
    k->decode[TARE_ENCODING_Q4_0] = decode_q4_0;
    k->decode[TARE_ENCODING_Q4_1] = decode_q4_1;
    k->decode[TARE_ENCODING_Q5_0] = decode_q5_0;
    k->decode[TARE_ENCODING_Q5_1] = decode_q5_1;
    k->decode[TARE_ENCODING_Q8_0] = decode_q8_0;
    k->decode[TARE_ENCODING_Q8_1] = decode_q8_1;
    k->encode[TARE_ENCODING_Q4_0] = tare_encode_q4_0_c;
    k->encode[TARE_ENCODING_Q4_1] = tare_encode_q4_1_c;
    k->encode[TARE_ENCODING_Q5_0] = tare_encode_q5_0_c;
    k->encode[TARE_ENCODING_Q5_1] = tare_encode_q5_1_c;
    k->encode[TARE_ENCODING_Q8_0] = tare_encode_q8_0_c;
}
