/* SPDX-License-Identifier: MIT
 *
 * Formats that store one ordinary number an element. Integers and F64 become f32 by C's conversion,
 * rounded to nearest even once. There is no way back to integers: whole numbers are not weights, a
 * float between two of them has no right neighbour, and going through f32 would silently change
 * those above 2^24. */
#include "encoding/float16.h"
#include "encoding/scalar.h"

void tare_decode_f16_c(float *dst, const tare_rows *src) {
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i++)
        tare_put_f32_bits(dst, i, tare_f32_bits_of_f16(tare_load_le16(src->planes[0] + 2 * i)));
}

void tare_decode_bf16_c(float *dst, const tare_rows *src) {
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i++)
        tare_put_f32_bits(dst, i, (uint32_t)tare_load_le16(src->planes[0] + 2 * i) << 16);
}

static void decode_f32(float *dst, const tare_rows *src) {
    size_t n = tare_rows_count(src);
    if (!TARE_HOST_IS_BIG_ENDIAN) {
        if (n > 0) memcpy(dst, src->planes[0], 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tare_put_f32_bits(dst, i, tare_load_le32(src->planes[0] + 4 * i));
}

static void decode_f64(float *dst, const tare_rows *src) {
    size_t n = tare_rows_count(src);
    for (size_t i = 0; i < n; i++)
        tare_put_f32(dst, i, (float)tare_f64_of_bits(tare_load_le64(src->planes[0] + 8 * i)));
}

#define DEFINE_DECODE_INTEGER(name, type, width, load)                                             \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        size_t n = tare_rows_count(src);                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            tare_put_f32(dst, i, (float)(type)load(src->planes[0] + width * i));                   \
    }
static inline uint8_t load_byte(const uint8_t *p) {
    return *p;
}
static inline bool load_bool(const uint8_t *p) {
    return *p != 0;
}
DEFINE_DECODE_INTEGER(bool, uint8_t, 1, load_bool)
DEFINE_DECODE_INTEGER(i8, int8_t, 1, load_byte)
DEFINE_DECODE_INTEGER(u8, uint8_t, 1, load_byte)
DEFINE_DECODE_INTEGER(i16, int16_t, 2, tare_load_le16)
DEFINE_DECODE_INTEGER(u16, uint16_t, 2, tare_load_le16)
DEFINE_DECODE_INTEGER(i32, int32_t, 4, tare_load_le32)
DEFINE_DECODE_INTEGER(u32, uint32_t, 4, tare_load_le32)
DEFINE_DECODE_INTEGER(i64, int64_t, 8, tare_load_le64)
DEFINE_DECODE_INTEGER(u64, uint64_t, 8, tare_load_le64)
#undef DEFINE_DECODE_INTEGER

void tare_encode_f16_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i++)
        tare_store_le16(dst->planes[0] + 2 * i, tare_f16_of_f32_bits(tare_get_f32_bits(src, i)));
}

void tare_encode_bf16_c(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i++)
        tare_store_le16(dst->planes[0] + 2 * i, tare_bf16_of_f32_bits(tare_get_f32_bits(src, i)));
}

static void encode_f32(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n = tare_rows_mut_count(dst);
    if (!TARE_HOST_IS_BIG_ENDIAN) {
        if (n > 0) memcpy(dst->planes[0], src, 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tare_store_le32(dst->planes[0] + 4 * i, tare_get_f32_bits(src, i));
}

static void encode_f64(const tare_rows_mut *dst, const float *src, const tare_encode_params *p) {
    (void)p;
    size_t n = tare_rows_mut_count(dst);
    for (size_t i = 0; i < n; i++)
        tare_store_le64(dst->planes[0] + 8 * i, tare_f64_bits((double)tare_get_f32(src, i)));
}

void tare_kernels_init_plain(tare_kernels *k) {
    k->decode[TARE_ENCODING_F64] = decode_f64;
    k->decode[TARE_ENCODING_F32] = decode_f32;
    k->decode[TARE_ENCODING_F16] = tare_decode_f16_c;
    k->decode[TARE_ENCODING_BF16] = tare_decode_bf16_c;
    k->decode[TARE_ENCODING_BOOL] = decode_bool;
    k->decode[TARE_ENCODING_I8] = decode_i8;
    k->decode[TARE_ENCODING_U8] = decode_u8;
    k->decode[TARE_ENCODING_I16] = decode_i16;
    k->decode[TARE_ENCODING_U16] = decode_u16;
    k->decode[TARE_ENCODING_I32] = decode_i32;
    k->decode[TARE_ENCODING_U32] = decode_u32;
    k->decode[TARE_ENCODING_I64] = decode_i64;
    k->decode[TARE_ENCODING_U64] = decode_u64;
    k->encode[TARE_ENCODING_F64] = encode_f64;
    k->encode[TARE_ENCODING_F32] = encode_f32;
    k->encode[TARE_ENCODING_F16] = tare_encode_f16_c;
    k->encode[TARE_ENCODING_BF16] = tare_encode_bf16_c;
}
