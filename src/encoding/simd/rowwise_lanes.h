/* SPDX-License-Identifier: MIT
 *
 * INFQ's formats with a scale a row, in vectors. A row is read twice: for its largest magnitude and
 * for its codes, from the cache. */
#ifndef TARE_ENCODING_SIMD_ROWWISE_LANES_H
#define TARE_ENCODING_SIMD_ROWWISE_LANES_H

#include "encoding/rowwise.h"
#include "encoding/simd/flat_codes.h"

INLINE void decode_codes_to(float *dst, const tare_rows *src, int bits, bool is_past) {
    const size_t cols = (size_t)src->cols, row_bytes = flat_bytes(cols, bits);
    const uint8_t *codes = src->planes[0], *scales = src->planes[1];
    for (uint64_t r = 0; r < src->n_rows; r++, codes += row_bytes, scales += 2, dst += cols) {
        const flat_values f = {.scale = tare_f32_of_f16(tare_load_le16(scales)), .bits = bits};
        decode_flat(dst, codes, cols, &f, is_past);
    }
}

INLINE void decode_rowwise(float *dst, const tare_rows *src, int bits) {
    if (goes_past(dst, src->n_rows * src->cols, src->cols)) {
        decode_codes_to(dst, src, bits, true);
        end_stores_past();
    } else {
        decode_codes_to(dst, src, bits, false);
    }
}

INLINE void encode_rowwise(const tare_rows_mut *dst, const float *src, int bits) {
    const int top = tare_rowwise_top(bits);
    const size_t cols = (size_t)dst->cols, row_bytes = flat_bytes(cols, bits);
    uint8_t *codes = dst->planes[0], *scales = dst->planes[1];
    for (uint64_t r = 0; r < dst->n_rows; r++, codes += row_bytes, scales += 2, src += cols) {
        tare_rowwise_scale scale = tare_rowwise_scale_of(extreme_of(src, cols, larger_size), top);
        const flat_grid g = {
            .scale = scale.used, .low = (float)-top, .high = (float)top, .bits = bits};
        tare_store_le16(scales, scale.stored);
        encode_flat(codes, src, cols, &g, even_codes);
    }
}

#define DEFINE_TYPE(name, ID, bits)                                                                \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_rowwise(dst, src, bits);                                                            \
    }                                                                                              \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        (void)params;                                                                              \
        encode_rowwise(dst, src, bits);                                                            \
    }
TARE_ROWWISE_TYPES(DEFINE_TYPE)

#define USE_TYPE(name, ID, bits)                                                                   \
    k->decode[TARE_ENCODING_##ID] = decode_##name;                                                 \
    k->encode[TARE_ENCODING_##ID] = encode_##name;

INLINE void use_rowwise(tare_kernels *k) {
    TARE_ROWWISE_TYPES(USE_TYPE)
}

#endif
