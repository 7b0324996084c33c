/* SPDX-License-Identifier: MIT
 *
 * Rows of packed weights: codes, then scales. Sources of the formulas: GPTQModel, AutoAWQ,
 * compressed-tensors, bitsandbytes, transformers, MLX, HQQ, torchao, Quanto, ModelOpt, the OCP
 * microscaling formats; each is what that library computes in F32. */
#include "base/arith.h"
#include "base/bytes.h"
#include "quantized/weight.h"

/* ---- scales ------------------------------------------------------------------------------------ */

/* A run of elements with one scale. Products and sums are rounded one by one (no contraction). */
static void scale_run(float *v, uint64_t n, tare_weight_formula formula, float scale, float zero) {
    switch (formula) {
    case TARE_FORMULA_SCALED:
        for (uint64_t i = 0; i < n; i++) v[i] *= scale;
        break;
    case TARE_FORMULA_CENTRED:
        for (uint64_t i = 0; i < n; i++) v[i] = (v[i] - zero) * scale;
        break;
    case TARE_FORMULA_RAISED:
        for (uint64_t i = 0; i < n; i++) v[i] = v[i] * scale + zero;
        break;
    case TARE_FORMULA_LOWERED:
        for (uint64_t i = 0; i < n; i++) v[i] = v[i] * scale - zero;
        break;
    case TARE_FORMULA_DIVIDED:
        for (uint64_t i = 0; i < n; i++) v[i] /= scale;
        break;
    }
}

static float zero_at(const tare_weight_scales *s, uint64_t i) {
    return s->zero ? s->zero[i] : 0;
}

static void scale_row(float *v, const tare_weight *w, const tare_weight_scales *s, uint64_t row) {
    const uint64_t at = row * w->n_groups;
    for (uint64_t i = 0; s->group && i < w->cols; i++) {
        const uint64_t g = at + s->group[i];
        scale_run(v + i, 1, w->formula, s->scale[g], zero_at(s, g));
    }
    for (uint64_t g = 0, i = 0; !s->group && i < w->cols; g++, i += w->group)
        scale_run(v + i, tare_min_u64(w->group, w->cols - i), w->formula, s->scale[at + g],
                  zero_at(s, at + g));
}

static void scale_runs(float *v, const tare_weight *w, const tare_weight_scales *s, uint64_t first,
                       uint64_t n) {
    const uint64_t begin = first * w->cols, end = begin + n * w->cols;
    const uint64_t skipped = begin / w->group;
    for (uint64_t at = begin; at < end;) {
        const uint64_t g = at / w->group, take = tare_min_u64((g + 1) * w->group, end) - at;
        scale_run(v, take, w->formula, s->scale[g - skipped], zero_at(s, g - skipped));
        v += take;
        at += take;
    }
}

static void scale_turns(float *v, const tare_weight *w, const tare_weight_scales *s, uint64_t n) {
    for (uint64_t i = 0, g = 0; i < n * w->cols; i++, g = g + 1 == s->n ? 0 : g + 1)
        scale_run(v + i, 1, w->formula, s->scale[g], zero_at(s, g));
}

static void finish(float *v, const tare_weight *w, const tare_weight_scales *s, uint64_t n) {
    for (uint64_t i = 0; w->constant != 0 && i < n * w->cols; i++) v[i] *= w->constant;
    for (uint64_t row = 0; s->column && row < n; row++)
        for (uint64_t i = 0; i < w->cols; i++) v[row * w->cols + i] *= s->column[i];
}

static tare_status plain_rows(float *out, const tare_weight *w, const tare_model *stored,
                              uint64_t first, uint64_t n, tare_error *err) {
    tare_weight_scales s;
    TARE_TRY(tare_weight_codes(out, w, stored, first, n, err));
    TARE_TRY(tare_weight_scales_read(&s, w, stored, first, n, err));
    if (w->scale_order == TARE_SCALES_BY_RUN)
        scale_runs(out, w, &s, first, n);
    else if (w->scale_order == TARE_SCALES_BY_TURN)
        scale_turns(out, w, &s, n);
    else
        for (uint64_t row = 0; row < n; row++) scale_row(out + row * w->cols, w, &s, row);
    finish(out, w, &s, n);
    tare_weight_scales_free(&s);
    return TARE_OK;
}

tare_status tare_weight_rows(void *out, const tare_weight *w, const tare_model *stored,
                             uint64_t first, uint64_t n, tare_error *err) {
    if (n == 0 || w->cols == 0) return TARE_OK;
    if (w->encoding->id == TARE_ENCODING_MXFP4)
        return tare_weight_mxfp4_blocks(out, w, stored, first, n, err);
    if (w->encoding->kind == TARE_KIND_BLOCK)
        return tare_weight_whole_blocks(out, w, stored, first, n, err);
    tare_status status = w->order == TARE_ORDER_TRANSPOSED
                             ? tare_weight_mxfp4_columns(out, w, stored, first, n, err)
                             : plain_rows(out, w, stored, first, n, err);
    const float *values = out;
    for (uint64_t i = 0; TARE_HOST_IS_BIG_ENDIAN && status == TARE_OK && i < n * w->cols; i++)
        tare_store_le32((uint8_t *)out + 4 * i, tare_f32_bits(values[i]));
    return status;
}
