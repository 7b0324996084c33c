/* SPDX-License-Identifier: MIT
 *
 * Encoders of q4_0, q4_1, q5_0 and q5_1 with an importance vector: a search for each block instead
 * of one pass. Byte for byte what ggml's encoders write. */
#include "encoding/batches.h"
#include "encoding/bitpack.h"
#include "encoding/block_searches.h"
#include "encoding/float16.h"
#include "encoding/scalar.h"

static const tare_affine_walk walk_q4_1 = {-0.9f, 0.05f, 36, 15, 0};
static const tare_affine_walk walk_q5_1 = {-0.9f, 0.05f, 36, 31, 0};

/* A batch of blocks: enough to fill all vectors that are searched in parallel. */
enum { BATCH = 4 * TARE_SEARCH_ROOM };
typedef struct batch {
    const tare_searches *by;
    tare_blocks blocks;
    float x[BATCH * 32], importance[BATCH * 32];
    float sigma2[BATCH], scales[BATCH], minus_mins[BATCH], sums[BATCH];
    uint8_t codes[BATCH * 32];
} batch;

/* How a format searches and stores its blocks. */
typedef struct weighted_form {
    size_t block_bytes;
    const tare_affine_walk *walk; /* NULL: with_sign */
    int top;                      /* of with_sign */
    void (*store)(uint8_t *y, const batch *b, size_t k);
} weighted_form;

static void search(batch *b, const weighted_form *form) {
    if (form->walk)
        b->by->affine(&b->blocks, form->walk);
    else
        b->by->with_sign(&b->blocks, form->top);
}

static void store_q4_0(uint8_t *y, const batch *b, size_t k) {
    tare_store_le16(y, tare_f16_of_f32(b->scales[k]));
    tare_pack_halves(y + 2, b->codes + 32 * k, 16);
}

static void store_q5_0(uint8_t *y, const batch *b, size_t k) {
    tare_store_le16(y, tare_f16_of_f32(b->scales[k]));
    tare_pack_fifth_bits(y + 2, b->codes + 32 * k);
    tare_pack_halves(y + 6, b->codes + 32 * k, 16);
}

static void store_q4_1(uint8_t *y, const batch *b, size_t k) {
    tare_store_le16(y, tare_f16_of_f32(b->scales[k]));
    tare_store_le16(y + 2, tare_f16_of_f32(-b->minus_mins[k]));
    tare_pack_halves(y + 4, b->codes + 32 * k, 16);
}

static void store_q5_1(uint8_t *y, const batch *b, size_t k) {
    tare_store_le16(y, tare_f16_of_f32(b->scales[k]));
    tare_store_le16(y + 2, tare_f16_of_f32(-b->minus_mins[k]));
    tare_pack_fifth_bits(y + 4, b->codes + 32 * k);
    tare_pack_halves(y + 8, b->codes + 32 * k, 16);
}

/* Each row's own mean square enters its weights: how many rows' mean squares are kept at a time. */
enum { ROWS = TARE_SEARCH_ROOM };

static void encode_some_rows(uint8_t *y, const float *src, size_t n_rows, size_t cols,
                             const float *importance, batch *b, const weighted_form *form) {
    float squares[ROWS];
    size_t row = cols / 32, n = n_rows * row;
    b->by->squares(squares, src, n_rows, cols);
    for (size_t at = 0; at < n; at += b->blocks.n) {
        b->blocks.n = n - at < BATCH ? n - at : BATCH;
        b->blocks.x = tare_take_blocks(b->x, src, 32, at, b->blocks.n, BATCH);
        tare_take_importance(b->importance, importance, 32, at, b->blocks.n, row);
        for (size_t k = 0; k < b->blocks.n; k++)
            b->sigma2[k] = squares[(at + k) / row] / (float)cols;
        search(b, form);
        for (size_t k = 0; k < b->blocks.n; k++, y += form->block_bytes) form->store(y, b, k);
    }
}

static void encode_rows(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by,
                        const weighted_form *form) {
    batch b = {.by = by,
               .blocks = {.size = 32,
                          .weighing = TARE_WEIGH_SPREAD,
                          .importance = b.importance,
                          .sigma2 = b.sigma2,
                          .codes = b.codes,
                          .scales = b.scales,
                          .minus_mins = b.minus_mins,
                          .sums = b.sums}};
    size_t cols = (size_t)dst->cols, row_bytes = cols / 32 * form->block_bytes;
    for (size_t row = 0; row < dst->n_rows; row += ROWS) {
        size_t n = dst->n_rows - row < ROWS ? (size_t)dst->n_rows - row : ROWS;
        encode_some_rows(dst->planes[0] + row * row_bytes, src + row * cols, n, cols,
                         params->importance, &b, form);
    }
}

static const weighted_form form_q4_0 = {18, NULL, 8, store_q4_0};
static const weighted_form form_q4_1 = {20, &walk_q4_1, 0, store_q4_1};
static const weighted_form form_q5_0 = {22, NULL, 16, store_q5_0};
static const weighted_form form_q5_1 = {24, &walk_q5_1, 0, store_q5_1};

#define DEFINE_ENCODE(name)                                                                        \
    void tare_encode_weighted_##name(const tare_rows_mut *dst, const float *src,                   \
                                     const tare_encode_params *params, const tare_searches *by) {  \
        encode_rows(dst, src, params, by, &form_##name);                                           \
    }
DEFINE_ENCODE(q4_0)
DEFINE_ENCODE(q4_1)
DEFINE_ENCODE(q5_0)
DEFINE_ENCODE(q5_1)

TARE_DEFINE_WEIGHTED_ENCODERS(&tare_searches_c)

void tare_kernels_init_legacy_weighted(tare_kernels *k) {
    use_weighted_encoders(k);
}
