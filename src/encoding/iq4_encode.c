/* SPDX-License-Identifier: MIT
 *
 * Encoders of iq4_nl and iq4_xs: 4-bit codes for sixteen uneven levels, one scale for 32 elements
 * (nl), or eight 6-bit scales under one f16 (xs). Byte for byte what ggml's encoders write. */
#include <string.h>

#include "encoding/batches.h"
#include "encoding/bitpack.h"
#include "encoding/block_searches.h"
#include "encoding/blocks.h"
#include "encoding/float16.h"
#include "encoding/iq.h"

/* A batch of blocks of 32: 16 super-blocks of iq4_xs. */
enum { BATCH = 128 };
typedef struct batch {
    const tare_searches *by;
    size_t n;
    const float *x; /* the caller's, or a copy */
    float room[BATCH * 32], importance[BATCH * 32];
    float sigma2[BATCH], scales[BATCH], sums[BATCH];
} batch;

/* The scales of all blocks. Importance counts times the root of x^2 plus twice the mean square of
 * `unit` elements, a block or a super-block. */
static void search_scales(batch *b, int unit, bool is_weighted) {
    tare_blocks blocks = {.n = b->n,
                          .size = 32,
                          .weighing = is_weighted ? TARE_WEIGH_SPREAD : TARE_WEIGH_SQUARE,
                          .x = b->x,
                          .importance = b->importance,
                          .sigma2 = b->sigma2,
                          .scales = b->scales,
                          .sums = b->sums};
    size_t per_unit = (size_t)unit / 32;
    if (is_weighted) {
        float squares[BATCH];
        b->by->squares(squares, b->x, b->n / per_unit, (size_t)unit);
        for (size_t j = 0; j < b->n; j++)
            b->sigma2[j] = squares[j / per_unit] * (2.0f / (float)unit);
    }
    b->by->levels(&blocks);
}

static float inverse_of(float scale) {
    return scale != 0 ? 1 / scale : 0;
}

static void encode_blocks_nl(uint8_t *y, const batch *b) {
    float inverses[BATCH];
    for (size_t j = 0; j < b->n; j++) {
        tare_store_le16(y + IQ4_NL_BYTES * j, tare_f16_of_f32(b->scales[j]));
        inverses[j] = inverse_of(b->scales[j]);
    }
    b->by->level_codes(y + IQ4_NL_QS, IQ4_NL_BYTES, b->x, inverses, b->n);
}

static void encode_super_xs(uint8_t *y, const batch *b, const float *x, const float *scales) {
    float peak = 0, most = 0;
    for (int j = 0; j < 8; j++)
        if (fabsf(scales[j]) > most) {
            most = fabsf(scales[j]);
            peak = scales[j];
        }
    float d = -peak / 32, inverse = inverse_of(d), inverses[8];
    uint8_t stored[8];
    for (int j = 0; j < 8; j++) {
        int32_t l = tare_clamp_i32(tare_round_even(inverse * scales[j]), -32, 31);
        inverses[j] = inverse_of(d * (float)l);
        stored[j] = (uint8_t)(l + 32);
    }
    b->by->level_codes(y + IQ4_XS_QS, 16, x, inverses, 8);
    tare_store_le16(y, tare_f16_of_f32(d));
    tare_pack_iq4_scales(y + IQ4_XS_LOW, y + IQ4_XS_HIGH, stored);
}

static void encode_blocks_xs(uint8_t *y, const batch *b) {
    for (size_t j = 0; j < b->n; j += 8, y += IQ4_XS_BYTES)
        encode_super_xs(y, b, b->x + 32 * j, b->scales + j);
}

/* Takes the next blocks. The space after the last one is searched too, so it must hold numbers. */
static void fill_batch(batch *b, size_t n, const float *src, size_t at, size_t row,
                       const float *importance) {
    b->n = n;
    b->x = tare_take_blocks(b->room, src, 32, at, n, BATCH);
    if (n < BATCH) {
        memset(b->importance, 0, sizeof b->importance);
        memset(b->sigma2, 0, sizeof b->sigma2);
    }
    if (importance) tare_take_importance(b->importance, importance, 32, at, n, row);
}

static void encode_rows(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by, int unit,
                        size_t unit_bytes, void (*encode)(uint8_t *y, const batch *b)) {
    const float *importance = params ? params->importance : NULL;
    size_t n = tare_rows_mut_count(dst) / 32, row = (size_t)(dst->cols / 32);
    batch b;
    b.by = by;
    for (size_t at = 0; at < n; at += b.n) {
        fill_batch(&b, n - at < BATCH ? n - at : BATCH, src, at, row, importance);
        search_scales(&b, unit, importance != NULL);
        encode(dst->planes[0] + at * 32 / (size_t)unit * unit_bytes, &b);
    }
}

void tare_encode_iq4_nl(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by) {
    encode_rows(dst, src, params, by, 32, IQ4_NL_BYTES, encode_blocks_nl);
}

void tare_encode_iq4_xs(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by) {
    encode_rows(dst, src, params, by, 256, IQ4_XS_BYTES, encode_blocks_xs);
}

TARE_DEFINE_IQ4_ENCODERS(&tare_searches_c)

void tare_kernels_init_iq4_encode(tare_kernels *k) {
    use_iq4_encoders(k);
}
