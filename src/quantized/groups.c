/* SPDX-License-Identifier: MIT
 *
 * Codes of packed weights (weight.h) and of ggml's blocks of 32 and their kin of 256, which have eight
 * scales and eight minima of six bits each. */
#include "quantized/groups.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/float16.h"
#include "encoding/kernels.h"
#include "quantized/quantized.h"
#include "quantized/weights.h"

/* ---- blocks ------------------------------------------------------------------------------------ */

enum { LINE = 32 }; /* numbers that share a scale */

/* Where the parts of a block lie. */
typedef struct layout {
    tare_encoding_id id;
    uint32_t bits, n_lines;
    uint32_t fifth, codes; /* bytes from the start; fifth 0: codes have four bits, or eight */
    float zero;            /* 0: there is an offset */
} layout;

static const layout layouts[] = {
    {TARE_ENCODING_Q4_0, 4, 1, 0, 2, 8},   {TARE_ENCODING_Q4_1, 4, 1, 0, 4, 0},
    {TARE_ENCODING_Q5_0, 5, 1, 2, 6, 16},  {TARE_ENCODING_Q5_1, 5, 1, 4, 8, 0},
    {TARE_ENCODING_Q8_0, 8, 1, 0, 2, 128}, {TARE_ENCODING_Q4_K, 4, 8, 0, 16, 0},
    {TARE_ENCODING_Q5_K, 5, 8, 16, 48, 0},
};

static const layout *layout_of(const tare_tensor *t) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].id == t->encoding->id && t->n_dims) return &layouts[i];
    return NULL;
}

static float f16_at(const uint8_t *at) {
    return tare_f32_of_f16(tare_load_le16(at));
}

/* The line's scale and minimum of six bits: the first four lie whole in 4 bytes each, the others have
 * their high bits above those. */
static void six_bits(uint32_t *scale, uint32_t *minimum, const uint8_t *q, uint32_t line) {
    if (line < 4) {
        *scale = q[line] & 63;
        *minimum = q[line + 4] & 63;
    } else {
        *scale = (q[line + 4] & 15u) | (uint32_t)(q[line - 4] >> 6) << 4;
        *minimum = (uint32_t)(q[line + 4] >> 4) | (uint32_t)(q[line] >> 6) << 4;
    }
}

static void scales_of_line(float *scale, float *zero, const layout *l, const uint8_t *block,
                           uint32_t line) {
    uint32_t s = 1, m = 1;
    *scale = f16_at(block);
    if (l->n_lines > 1) {
        six_bits(&s, &m, block + 4, line);
        *scale *= (float)s;
        *zero = -(f16_at(block + 2) * (float)m);
    } else {
        *zero = l->zero != 0 ? l->zero : f16_at(block + 2);
    }
}

/* The code of element i of a line. Four bits: of 32, or of each 64 of a large block, the first half in
 * the low nibbles. */
static uint8_t code_of(const layout *l, const uint8_t *block, uint32_t line, uint32_t i) {
    const uint8_t *q = block + l->codes;
    if (l->bits == 8) return q[i] ^ 0x80;
    if (l->n_lines > 1) {
        const uint32_t low = (uint32_t)q[line / 2 * LINE + i] >> (line % 2 * 4) & 15u;
        const uint32_t fifth = l->fifth ? (uint32_t)block[l->fifth + i] >> line & 1u : 0;
        return (uint8_t)(low | fifth << 4);
    }
    const uint32_t low = (uint32_t)q[i % 16] >> (i / 16 * 4) & 15u;
    const uint32_t fifth = l->fifth ? tare_load_le32(block + l->fifth) >> i & 1u : 0;
    return (uint8_t)(low | fifth << 4);
}

static void read_block(const tare_codes *out, const layout *l, const uint8_t *block, uint64_t at) {
    for (uint32_t line = 0; line < l->n_lines; line++) {
        const uint64_t k = at * l->n_lines + line;
        scales_of_line(&out->scale[k], &out->zero[k], l, block, line);
        for (uint32_t i = 0; out->codes && i < LINE; i++)
            out->codes[k * LINE + i] = code_of(l, block, line, i);
    }
}

static tare_status read_blocks(const tare_codes *out, const tare_model *m, size_t tensor,
                               uint64_t first, uint64_t n, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    const layout *l = layout_of(t);
    const uint64_t per_row = t->cols / t->encoding->block;
    const size_t size = t->encoding->planes[0].unit_bytes;
    uint64_t bytes;
    size_t n_bytes;
    if (!tare_mul_u64(n * per_row, size, &bytes) || !tare_size_of_u64(bytes, &n_bytes))
        return tare_fail(err, TARE_ERR_LIMIT, "rows of blocks");
    uint8_t *raw = tare_alloc(m->allocator, n_bytes);
    if (!raw) return tare_fail(err, TARE_ERR_NOMEM, "rows of blocks");
    const tare_status status =
        tare_tensor_read(raw, m, tensor, 0, first * per_row * size, n_bytes, err);
    for (uint64_t i = 0; status == TARE_OK && i < n * per_row; i++)
        read_block(out, l, raw + i * size, i);
    tare_free(m->allocator, raw, n_bytes);
    return status;
}

/* ---- packed weights ---------------------------------------------------------------------------- */

/* What is added to a number that codes give, so that it is a code from 0 on. */
static float raised_by(const tare_weight *w) {
    return w->value == TARE_VALUE_WHOLE ? w->middle : (float)(1u << ((w->bits ? w->bits : 8) - 1));
}

static tare_codes_kind kind_of(const tare_weight *w, const tare_model *stored) {
    const tare_encoding_id part = stored->catalog.tensors[w->parts[TARE_PART_CODES]].encoding->id;
    const bool is_part = w->value == TARE_VALUE_OF_PART;
    if (w->formula == TARE_FORMULA_DIVIDED || w->formula == TARE_FORMULA_LOWERED)
        return TARE_CODES_NONE;
    if (w->value == TARE_VALUE_WHOLE || w->value == TARE_VALUE_SIGNED ||
        (is_part && part == TARE_ENCODING_I8))
        return w->formula != TARE_FORMULA_RAISED ? TARE_CODES_CENTRED
               /* an offset for codes from 0 on would be another number */
               : raised_by(w) != 0 ? TARE_CODES_NONE
                                   : TARE_CODES_RAISED;
    if (w->formula != TARE_FORMULA_SCALED) return TARE_CODES_NONE;
    if (w->value == TARE_VALUE_E2M1) return TARE_CODES_E2M1;
    return w->value == TARE_VALUE_E4M3 || (is_part && part == TARE_ENCODING_F8_E4M3)
               ? TARE_CODES_E4M3
               : TARE_CODES_NONE;
}

static tare_encoding_id scale_of(const tare_weight *w, const tare_model *stored) {
    const tare_encoding_id part = stored->catalog.tensors[w->parts[TARE_PART_SCALES]].encoding->id;
    if (w->scale_value == TARE_SCALE_E8M0 || part == TARE_ENCODING_F8_E8M0)
        return TARE_ENCODING_F8_E8M0;
    return w->scale_value == TARE_SCALE_E4M3 ? TARE_ENCODING_F8_E4M3 : TARE_ENCODING_F32;
}

/* One for each matrix, or one of what are no small floats. */
static bool has_many_factors(const tare_weight *w, const tare_model *stored) {
    const int64_t i = w->parts[TARE_PART_FACTOR];
    return i >= 0 && (stored->catalog.tensors[i].n_elements != 1 ||
                      scale_of(w, stored) != TARE_ENCODING_F8_E4M3);
}

static void form_of_weight(tare_codes_form *out, const tare_weight *w, const tare_model *stored) {
    const bool is_by_row = w->scale_order == TARE_SCALES_BY_ROW ||
                           w->scale_order == TARE_SCALES_BY_GROUP ||
                           w->scale_order == TARE_SCALES_TILED;
    if (!is_by_row || w->constant != 0 || w->parts[TARE_PART_COLUMNS] >= 0 ||
        w->parts[TARE_PART_SCALES] < 0 || has_many_factors(w, stored) ||
        w->order == TARE_ORDER_TRANSPOSED || w->bits > 8 || w->step > 1 ||
        w->scale_value == TARE_SCALE_NESTED)
        return;
    *out = (tare_codes_form){.kind = kind_of(w, stored),
                             .bits = w->bits ? w->bits : 8,
                             .group = w->n_groups == 1 ? w->cols : w->group,
                             .n_groups = w->n_groups,
                             .block_rows = w->scale_order == TARE_SCALES_BY_ROW ? w->block_rows : 1,
                             .scale = scale_of(w, stored),
                             .has_factor = w->parts[TARE_PART_FACTOR] >= 0};
}

static uint8_t e2m1_code(float v) {
    uint32_t code = 0;
    while (code < 7 && tare_weight_e2m1(code) != fabsf(v)) code++;
    return (uint8_t)(code | (signbit(v) ? 8 : 0));
}

static void put_codes(uint8_t *out, const float *values, uint64_t n, const tare_codes_form *form,
                      const tare_weight *w) {
    const float raised = raised_by(w);
    const tare_rows_mut to = {.planes = {out}, .n_rows = 1, .cols = n};
    if (form->kind == TARE_CODES_E4M3)
        tare_kernels_get()->encode[TARE_ENCODING_F8_E4M3](&to, values, NULL);
    for (uint64_t i = 0; form->kind != TARE_CODES_E4M3 && i < n; i++)
        out[i] = form->kind == TARE_CODES_E2M1 ? e2m1_code(values[i])
                                               : (uint8_t)(int)(values[i] + raised);
}

static tare_status read_codes(uint8_t *out, const tare_codes_form *form, const tare_weight *w,
                              const tare_model *stored, uint64_t first, uint64_t n,
                              tare_error *err) {
    size_t size;
    if (!tare_size_of_u64(n * w->cols * sizeof(float), &size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    float *values = tare_alloc(stored->allocator, size);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    const tare_status status = tare_weight_codes(values, w, stored, first, n, err);
    if (status == TARE_OK) put_codes(out, values, n * w->cols, form, w);
    tare_free(stored->allocator, values, size);
    return status;
}

static tare_status read_weight(tare_codes *out, const tare_codes_form *form, const tare_weight *w,
                               const tare_model *stored, uint64_t first, uint64_t n,
                               tare_error *err) {
    tare_weight_scales s;
    tare_weight bare = *w;
    bare.parts[TARE_PART_FACTOR] = -1;
    bare.factor_divides = false;
    bare.factor_unit = 0;
    TARE_TRY(tare_weight_scales_read(&s, &bare, stored, first, n, err));
    const float raised = form->kind == TARE_CODES_CENTRED ? raised_by(w) : 0;
    memcpy(out->scale, s.scale, (size_t)s.n * sizeof *s.scale);
    for (uint64_t i = 0; i < s.n; i++) out->zero[i] = (s.zero ? s.zero[i] : 0) + raised;
    for (uint64_t i = 0; s.group && i < w->cols; i++)
        out->is_turned = out->is_turned || s.group[i] != i / form->group;
    tare_weight_scales_free(&s);
    return out->codes ? read_codes(out->codes, form, w, stored, first, n, err) : TARE_OK;
}

/* ---- NVFP4 in blocks of ggml -------------------------------------------------------------------- */

enum { NV_COLS = 64, NV_BYTES = 36, NV_GROUP = 16, NV_GROUPS = 4 };

/* The blocks of a tensor, alone or with a factor beside them; NULL: it has none. */
static bool is_nvfp4(const tare_model *m, const tare_weight *w, const tare_tensor *t) {
    if (!w) return t->encoding->id == TARE_ENCODING_NVFP4;
    const tare_tensor *codes = &m->packed->stored->catalog.tensors[w->parts[TARE_PART_CODES]];
    return codes->encoding->id == TARE_ENCODING_NVFP4 && w->step == 1;
}

static void read_nvfp4_block(const tare_codes *out, const uint8_t *block, uint64_t at) {
    for (uint32_t g = 0; g < NV_GROUPS; g++) {
        const uint8_t *codes = block + NV_GROUPS + g * NV_GROUP / 2;
        const uint64_t k = at * NV_GROUPS + g;
        out->scale[k] = tare_weight_e4m3(block[g]);
        out->zero[k] = 0;
        for (uint32_t i = 0; out->codes && i < NV_GROUP; i++)
            out->codes[k * NV_GROUP + i] = codes[i % 8] >> (i / 8 * 4) & 15;
    }
}

static tare_status read_nvfp4(const tare_codes *out, const tare_model *m, size_t tensor,
                              uint64_t first, uint64_t n, tare_error *err) {
    const tare_weight *w = tare_packed_weight_of(m, tensor);
    const uint64_t per_row = m->catalog.tensors[tensor].cols / NV_COLS;
    uint64_t bytes;
    size_t size;
    if (!tare_mul_u64(n * per_row, NV_BYTES, &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "rows of blocks");
    uint8_t *raw = tare_alloc(m->allocator, size);
    if (!raw) return tare_fail(err, TARE_ERR_NOMEM, "rows of blocks");
    const uint64_t from = first * per_row * NV_BYTES;
    const tare_status status =
        w ? tare_weight_bytes(raw, w, m->packed->stored, TARE_PART_CODES, from, size, err)
          : tare_tensor_read(raw, m, tensor, 0, from, size, err);
    for (uint64_t i = 0; status == TARE_OK && i < n * per_row; i++)
        read_nvfp4_block(out, raw + i * NV_BYTES, i);
    tare_free(m->allocator, raw, size);
    return status;
}

/* ---- rows of another model ------------------------------------------------------------------------ */

/* Whether all rows lie in one matrix of a stack. */
static bool is_in_one(const tare_model *m, size_t tensor, const tare_rows_place *at) {
    const tare_tensor *t = &at->model->catalog.tensors[at->tensor];
    const tare_same_rows *rows = at->rows;
    uint64_t last = rows ? rows->view.offset : m->catalog.tensors[tensor].n_rows - 1;
    for (uint32_t a = 0; rows && a < rows->view.n_axes; a++)
        last += (rows->view.axes[a].extent - 1) * rows->view.axes[a].stride;
    return t->n_dims <= 2 || last / t->dims[t->n_dims - 2] == at->matrix;
}

/* ---- all --------------------------------------------------------------------------------------- */

static void form_of(tare_codes_form *out, const tare_model *m, size_t tensor) {
    const tare_weight *w = tare_packed_weight_of(m, tensor);
    const tare_tensor *t = &m->catalog.tensors[tensor];
    const layout *l = w ? NULL : layout_of(t);
    if (is_nvfp4(m, w, t)) {
        *out = (tare_codes_form){.kind = TARE_CODES_E2M1,
                                 .bits = 4,
                                 .group = NV_GROUP,
                                 .n_groups = t->cols / NV_GROUP,
                                 .block_rows = 1,
                                 .scale = TARE_ENCODING_F8_E4M3,
                                 .has_factor = w != NULL};
        return;
    }
    if (w) form_of_weight(out, w, m->packed->stored);
    if (!l) return;
    *out = (tare_codes_form){.kind = l->zero != 0 ? TARE_CODES_CENTRED : TARE_CODES_RAISED,
                             .bits = l->bits,
                             .group = LINE,
                             .n_groups = t->cols / LINE,
                             .block_rows = 1,
                             .scale = TARE_ENCODING_F32};
}

void tare_codes_form_of(tare_codes_form *out, const tare_model *m, size_t tensor) {
    const tare_rows_place at = tare_rows_place_of(m, tensor);
    *out = (tare_codes_form){.kind = TARE_CODES_NONE};
    form_of(out, at.model, at.tensor);
    if ((at.rows && out->block_rows > 1) || (out->has_factor && !is_in_one(m, tensor, &at)))
        out->kind = TARE_CODES_NONE;
}

static tare_status read_rows(tare_codes *out, const tare_codes_form *form, const tare_model *m,
                             size_t tensor, uint64_t first, uint64_t n, tare_error *err) {
    const tare_weight *w = tare_packed_weight_of(m, tensor);
    if (is_nvfp4(m, w, &m->catalog.tensors[tensor]))
        return read_nvfp4(out, m, tensor, first, n, err);
    return w ? read_weight(out, form, w, m->packed->stored, first, n, err)
             : read_blocks(out, m, tensor, first, n, err);
}

tare_status tare_codes_read(tare_codes *out, const tare_codes_form *form, const tare_model *m,
                            size_t tensor, uint64_t first, uint64_t n, tare_error *err) {
    const tare_rows_place at = tare_rows_place_of(m, tensor);
    const uint64_t cols = m->catalog.tensors[tensor].cols;
    if (!at.rows) return read_rows(out, form, m, tensor, first, n, err);
    for (uint64_t done = 0, take; done < n; done += take) {
        const tare_piece_view *v = &at.rows->view;
        const uint64_t from = tare_piece_place(v, first + done, &take);
        const bool is_run = v->n_axes && v->axes[v->n_axes - 1].stride == 1;
        take = is_run ? tare_min_u64(take, n - done) : 1;
        tare_codes some = {.codes = out->codes ? out->codes + done * cols : NULL,
                           .scale = out->scale + done * form->n_groups,
                           .zero = out->zero + done * form->n_groups};
        TARE_TRY(read_rows(&some, form, at.model, at.tensor, from, take, err));
        out->is_turned = out->is_turned || some.is_turned;
    }
    return TARE_OK;
}
