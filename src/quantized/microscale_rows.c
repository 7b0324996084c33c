/* SPDX-License-Identifier: MIT
 *
 * MXFP4: 32 codes of four bits with an exponent. Everywhere but in GGUF the codes 2j and 2j + 1 of a
 * row share a byte. */
#include "base/arith.h"
#include "base/bytes.h"
#include "quantized/weight.h"

/* What is read of a weight at once: codes, then their exponents, `blocks` of them. */
typedef struct lines {
    uint8_t *codes, *scales;
    size_t size;
} lines;

static tare_status lines_new(lines *l, const tare_model *stored, uint64_t blocks, tare_error *err) {
    if (!tare_size_of_u64(blocks * 17, &l->size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    l->codes = tare_alloc(stored->allocator, l->size);
    if (!l->codes) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    l->scales = l->codes + blocks * 16;
    return TARE_OK;
}

static tare_status lines_read(const lines *l, const tare_weight *w, const tare_model *stored,
                              uint64_t block, uint64_t blocks, tare_error *err) {
    TARE_TRY(tare_weight_bytes(l->codes, w, stored, TARE_PART_CODES, block * 16, blocks * 16, err));
    TARE_TRY(tare_weight_bytes(l->scales, w, stored, TARE_PART_SCALES, block, blocks, err));
    for (uint64_t i = 0; i < blocks; i++)
        if (l->scales[i] == 255)
            return tare_fail_tensor(
                err, TARE_ERR_CORRUPT, &stored->catalog.tensors[w->parts[TARE_PART_SCALES]],
                (size_t)w->parts[TARE_PART_SCALES], "an exponent that is not a number");
    return TARE_OK;
}

/* ---- blocks of ggml ---------------------------------------------------------------------------- */

/* The exponent, then codes j and j + 16 in each byte. No number changes. */
static uint8_t *put_block(uint8_t *to, const uint8_t *codes, uint8_t scale) {
    *to++ = scale;
    for (int j = 0; j < 16; j++) {
        const uint8_t low = j % 2 ? codes[j / 2] >> 4 : codes[j / 2] & 15;
        const uint8_t high = j % 2 ? codes[8 + j / 2] >> 4 : codes[8 + j / 2] & 15;
        *to++ = (uint8_t)(low | high << 4);
    }
    return to;
}

tare_status tare_weight_mxfp4_blocks(uint8_t *out, const tare_weight *w, const tare_model *stored,
                                     uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t blocks = w->cols / 32;
    lines l;
    TARE_TRY(lines_new(&l, stored, blocks, err));
    tare_status status = TARE_OK;
    for (uint64_t r = first; r < first + n && status == TARE_OK; r++) {
        status = lines_read(&l, w, stored, tare_weight_stored_row(w, r) * blocks, blocks, err);
        for (uint64_t b = 0; b < blocks && status == TARE_OK; b++)
            out = put_block(out, l.codes + 16 * b, l.scales[b]);
    }
    tare_free(stored->allocator, l.codes, l.size);
    return status;
}

/* ---- columns as rows --------------------------------------------------------------------------- */

static float power_of(uint8_t exponent) {
    return tare_f32_of_bits(exponent ? (uint32_t)exponent << 23 : UINT32_C(0x400000));
}

/* n columns of the codes, from `begin` on, of one matrix: each of its rows is a column of the weight. */
static tare_status put_columns(float *out, const lines *l, const tare_weight *w,
                               const tare_model *stored, uint64_t matrix, uint64_t begin,
                               uint64_t n, tare_error *err) {
    const uint64_t blocks = w->dims[w->n_dims - 2] / 32, from = begin / 32;
    const uint64_t count = tare_ceil_div_u64(begin + n, 32) - from;
    for (uint64_t c = 0; c < w->cols; c++) {
        TARE_TRY(lines_read(l, w, stored, (matrix * w->cols + c) * blocks + from, count, err));
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = begin - from * 32 + i;
            const uint32_t code = l->codes[at / 2] >> (at % 2 * 4) & 15;
            out[i * w->cols + c] = tare_weight_e2m1(code) * power_of(l->scales[at / 32]);
        }
    }
    return TARE_OK;
}

tare_status tare_weight_mxfp4_columns(float *out, const tare_weight *w, const tare_model *stored,
                                      uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t length = w->dims[w->n_dims - 2];
    lines l;
    TARE_TRY(lines_new(&l, stored, tare_min_u64(n, length) / 32 + 2, err));
    tare_status status = TARE_OK;
    for (uint64_t take; n > 0 && status == TARE_OK; first += take, n -= take) {
        take = tare_min_u64(n, length - first % length);
        status = put_columns(out, &l, w, stored, first / length, first % length, take, err);
        out += take * w->cols;
    }
    tare_free(stored->allocator, l.codes, l.size);
    return status;
}
