/* SPDX-License-Identifier: MIT
 *
 * NVFP4 as blocks of ggml: 64 columns, of which sixteen share a scale. The codes 2j and 2j + 1 of a
 * row share a byte everywhere else, here the codes j and j + 8 of sixteen. No number changes; the
 * factor of the whole is not in the blocks. */
#include <math.h>

#include "base/arith.h"
#include "quantized/quantized.h"
#include "quantized/weights.h"

enum { BLOCK = 64, BLOCK_BYTES = 36, CODE_BYTES = 32, SCALES = 4, AT_ONCE = 256 };

const tare_weight *tare_packed_weight_of(const tare_model *m, size_t tensor) {
    const struct tare_packed_weights *p = m->packed;
    if (!p || p->n == 0 || !m->stored_of || m->stored_of[tensor] >= 0) return NULL;
    return &p->weights[tare_part_of(&p->weights->offset, p->n, sizeof *p->weights,
                                    m->catalog.tensors[tensor].planes[0].offset)];
}

tare_rows_place tare_rows_place_of(const tare_model *m, size_t tensor) {
    const tare_same_rows *rows =
        m->types && m->types->same_rows && m->types->same_rows[tensor].model
            ? &m->types->same_rows[tensor]
            : NULL;
    if (!rows) return (tare_rows_place){.model = m, .tensor = tensor};
    const tare_tensor *t = &rows->model->catalog.tensors[rows->tensor];
    return (tare_rows_place){.model = rows->model,
                             .tensor = rows->tensor,
                             .rows = rows,
                             .matrix =
                                 t->n_dims > 2 ? rows->view.offset / t->dims[t->n_dims - 2] : 0};
}

/* The weight whose rows a tensor is, one after the other: where the first of them is. NULL: it is none. */
static const tare_weight *weight_behind(tare_rows_place *at, uint64_t *row, const tare_model *m,
                                        size_t tensor) {
    *at = tare_rows_place_of(m, tensor);
    const tare_piece_view *v = at->rows ? &at->rows->view : NULL;
    if (v && (v->n_axes != 1 || v->axes[0].stride != 1)) return NULL;
    *row = v ? v->offset : 0;
    return tare_packed_weight_of(at->model, at->tensor);
}

bool tare_quantized_is_weight(const tare_model *m, size_t tensor) {
    const tare_rows_place at = tare_rows_place_of(m, tensor);
    return tare_packed_weight_of(at.model, at.tensor) != NULL;
}

const tare_encoding *tare_quantized_blocks(const tare_model *m, size_t tensor) {
    tare_rows_place at;
    uint64_t row;
    const tare_weight *w = weight_behind(&at, &row, m, tensor);
    const bool is_plain = w && w->value == TARE_VALUE_E2M1 && w->bits == 4 && w->group == 16 &&
                          w->scale_value == TARE_SCALE_E4M3 && w->order == TARE_ORDER_ROWS &&
                          w->scale_order == TARE_SCALES_BY_ROW && w->block_rows == 1 &&
                          !w->high_first && w->step == 1 && w->line * 2 == w->cols;
    return is_plain && w->cols % BLOCK == 0 && w->parts[TARE_PART_COLUMNS] < 0
               ? tare_encoding_get(TARE_ENCODING_NVFP4)
               : NULL;
}

static uint8_t *put_block(uint8_t *to, const uint8_t *codes, const uint8_t *scales) {
    for (int i = 0; i < SCALES; i++) *to++ = scales[i];
    for (int i = 0; i < SCALES; i++, codes += 8)
        for (int j = 0; j < 8; j++) {
            const uint32_t shift = (uint32_t)j % 2 * 4;
            const uint8_t low = codes[j / 2] >> shift & 15, high = codes[4 + j / 2] >> shift & 15;
            *to++ = (uint8_t)(low | high << 4);
        }
    return to;
}

/* A scale with a sign, or one that is not a number, is none. */
static tare_status check_scales(const uint8_t *scales, uint64_t n, const tare_weight *w,
                                const tare_model *stored, tare_error *err) {
    const int64_t part = w->parts[TARE_PART_SCALES];
    for (uint64_t i = 0; i < n; i++)
        if (scales[i] >= 0x7f)
            return tare_fail_tensor(err, TARE_ERR_CORRUPT, &stored->catalog.tensors[part],
                                    (size_t)part, "a scale that is negative or not a number");
    return TARE_OK;
}

tare_status tare_quantized_blocks_read(void *out, const tare_model *m, size_t tensor,
                                       uint64_t first, uint64_t n, tare_error *err) {
    tare_rows_place at;
    uint64_t row;
    const tare_weight *w = weight_behind(&at, &row, m, tensor);
    const tare_model *stored = at.model->packed->stored;
    first += row * (w->cols / BLOCK);
    uint8_t codes[AT_ONCE * CODE_BYTES], scales[AT_ONCE * SCALES], *to = out;
    while (n > 0) {
        const uint64_t take = tare_min_u64(n, AT_ONCE);
        TARE_TRY(tare_weight_bytes(codes, w, stored, TARE_PART_CODES, first * CODE_BYTES,
                                   take * CODE_BYTES, err));
        TARE_TRY(tare_weight_bytes(scales, w, stored, TARE_PART_SCALES, first * SCALES,
                                   take * SCALES, err));
        TARE_TRY(check_scales(scales, take * SCALES, w, stored, err));
        for (uint64_t i = 0; i < take; i++)
            to = put_block(to, codes + i * CODE_BYTES, scales + i * SCALES);
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* A number of a part that has one, or one for each matrix. */
static tare_status number_of(float *out, const tare_weight *w, const tare_model *stored,
                             tare_part_kind part, uint64_t matrix, tare_error *err) {
    const int64_t i = w->parts[part];
    if (i < 0) return TARE_OK;
    const bool is_one = stored->catalog.tensors[i].n_elements == 1;
    TARE_TRY(tare_tensor_values_f32(out, stored, (size_t)i, is_one ? 0 : matrix, 1, err));
    const bool is_number = isfinite(*out); /* 1 / Inf is one */
    if (part == TARE_PART_FACTOR && w->factor_unit != 0) *out /= w->factor_unit;
    if (w->factor_divides) *out = 1 / *out;
    return is_number && isfinite(*out)
               ? TARE_OK
               : tare_fail_tensor(err, TARE_ERR_CORRUPT, &stored->catalog.tensors[i], (size_t)i,
                                  "a factor of a whole weight that leaves no numbers");
}

tare_status tare_quantized_factor(float *out, float *input, const tare_model *m, size_t tensor,
                                  uint64_t matrix, tare_error *err) {
    tare_rows_place at;
    uint64_t row;
    const tare_weight *w = weight_behind(&at, &row, m, tensor);
    *out = *input = 1;
    if (!w) return TARE_OK;
    const tare_model *stored = at.model->packed->stored;
    TARE_TRY(number_of(out, w, stored, TARE_PART_FACTOR, at.matrix + matrix, err));
    return number_of(input, w, stored, TARE_PART_INPUT, at.matrix + matrix, err);
}

/* Blocks have their factor where other weights have scales. */
static int64_t factor_part(const tare_weight *w) {
    return w->parts[w->parts[TARE_PART_FACTOR] < 0 ? TARE_PART_SCALES : TARE_PART_FACTOR];
}

tare_status tare_quantized_stored_factor(float *out, bool *divides, const tare_model *m,
                                         size_t tensor, tare_error *err) {
    const tare_rows_place at = tare_rows_place_of(m, tensor);
    const tare_weight *w = tare_packed_weight_of(at.model, at.tensor);
    *out = 1;
    *divides = false;
    if (!w) return TARE_OK;
    const int64_t i = factor_part(w);
    const tare_model *stored = at.model->packed->stored;
    const bool is_one = stored->catalog.tensors[i].n_elements == 1;
    TARE_TRY(tare_tensor_values_f32(out, stored, (size_t)i, is_one ? 0 : at.matrix, 1, err));
    if (w->factor_unit != 0) *out /= w->factor_unit;
    *divides = w->factor_divides;
    return TARE_OK;
}

tare_status tare_quantized_input_scale(float *out, const tare_model *m, size_t tensor,
                                       tare_error *err) {
    const tare_rows_place at = tare_rows_place_of(m, tensor);
    const tare_weight *w = tare_packed_weight_of(at.model, at.tensor);
    *out = 0;
    if (!w || w->parts[TARE_PART_INPUT] < 0) return TARE_OK;
    return number_of(out, w, at.model->packed->stored, TARE_PART_INPUT, at.matrix, err);
}
