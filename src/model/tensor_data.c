/* SPDX-License-Identifier: MIT
 *
 * Tensors as floats: rows and elements are decoded, multiplied by the scales of a companion, and
 * take the outliers that are recorded for them. */
#include "base/arith.h"
#include "encoding/patch.h"
#include "model/model_internal.h"

/* Encoded bytes that are decoded in one step. */
#define SCRATCH_BYTES ((size_t)1 << 20)

bool tare_tensor_can_decode(const tare_model *model, size_t tensor) {
    if (!model || tensor >= model->catalog.n_tensors) return false;
    return !(model->notes && model->notes[tensor].is_packed) &&
           tare_encoding_can_decode(model->catalog.tensors[tensor].encoding);
}

/* Memory for decoding: one step of floats aside, encoded bytes, one row of scales. */
typedef struct workspace {
    float *aside;
    uint8_t *bytes;
    size_t n_bytes;
    float *scales;
} workspace;

/* Encoded bytes of one step, which is all that must fit a workspace. */
static uint64_t step_bytes(const tare_encoding *e) {
    uint64_t step = tare_encoding_step(e);
    tare_patch patch = {.n_rows = 1, .n_cols = step, .row_length = step};
    return tare_patch_bytes(&patch, e);
}

/* A linear tensor is decoded as one long row. */
static uint64_t row_length(const tare_tensor *t) {
    return tare_encoding_is_linear(t->encoding, t->cols) ? t->n_elements : t->cols;
}

static tare_status decode_patch(float *out, const tare_model *m, size_t tensor,
                                const tare_patch *patch, uint8_t *bytes, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    tare_rows rows = {.n_rows = patch->n_rows, .cols = patch->n_cols};
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        uint64_t from, size;
        tare_patch_range(patch, t->encoding, p, &from, &size);
        TARE_TRY(tare_tensor_read(m, tensor, p, from, bytes, (size_t)size, err));
        rows.planes[p] = bytes;
        bytes += size;
    }
    return tare_decode_rows(out, t->encoding, &rows, err);
}

/* The most that can be decoded at once from element `begin` on, at most n of them: whole rows, or a
 * piece of one. n_cols 0: not even a step of the row. */
static tare_patch next_patch(const tare_encoding *e, uint64_t length, uint64_t begin, uint64_t n,
                             size_t n_bytes) {
    uint64_t step = tare_encoding_step(e), col = begin % length;
    tare_patch patch = {.row = begin / length, .n_rows = 1, .n_cols = length, .row_length = length};
    uint64_t row_bytes = tare_patch_bytes(&patch, e);
    if (col == 0 && n >= length && row_bytes <= n_bytes) {
        patch.n_rows = tare_min_u64(n / length, n_bytes / tare_max_u64(row_bytes, 1));
        return patch;
    }
    uint64_t left = length - col, most = n_bytes / step_bytes(e) * step;
    patch.col = col;
    patch.n_cols = tare_min_u64(tare_min_u64(n, left), most);
    if (patch.n_cols < left) patch.n_cols = patch.n_cols / step * step;
    return patch;
}

/* Elements [begin, end). Where a step is not asked for from its beginning or to its end, it is
 * decoded aside and its part taken over. */
static tare_status decode_range(float *out, const tare_model *m, size_t tensor, uint64_t begin,
                                uint64_t end, const workspace *w, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    uint64_t step = tare_encoding_step(t->encoding), length = row_length(t);
    while (begin < end) {
        uint64_t skip = begin % length % step, n = end - begin;
        tare_patch patch = next_patch(t->encoding, length, begin, n, w->n_bytes);
        if (skip || patch.n_cols == 0) {
            patch.col -= skip;
            patch.n_cols = tare_min_u64(step, length - patch.col);
            TARE_TRY(decode_patch(w->aside, m, tensor, &patch, w->bytes, err));
            n = tare_min_u64(patch.n_cols - skip, n);
            memcpy(out, w->aside + skip, (size_t)n * sizeof *out);
        } else {
            n = patch.n_rows * patch.n_cols;
            TARE_TRY(decode_patch(out, m, tensor, &patch, w->bytes, err));
        }
        out += n;
        begin += n;
    }
    return TARE_OK;
}

/* Multiplies rows by the block scales of a companion. */
static tare_status apply_scales(float *out, const tare_model *m, size_t tensor, size_t companion,
                                uint64_t first, uint64_t n, const workspace *w, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    tare_block_scales b;
    tare_block_scales_fit(&b, t, &m->catalog.tensors[companion]);
    uint64_t loaded = UINT64_MAX;
    for (uint64_t r = first; r < first + n; r++, out += t->cols) {
        uint64_t row = r / b.rows * b.n_rows + r % b.rows / b.block_rows;
        if (row != loaded)
            TARE_TRY(decode_range(w->scales, m, companion, row * b.n_cols, (row + 1) * b.n_cols, w,
                                  err));
        loaded = row;
        for (uint64_t c = 0; c < t->cols;) {
            const uint64_t end = c + tare_min_u64(t->cols - c, b.block_cols);
            const float scale = w->scales[c / b.block_cols];
            for (; c < end; c++) out[c] *= scale;
        }
    }
    return TARE_OK;
}

/* Elements [begin, end); whole rows where a companion's scales are to be applied. */
static tare_status decode_elements(float *out, const tare_model *m, size_t tensor,
                                   int64_t companion, uint64_t begin, uint64_t end,
                                   tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    uint64_t step = tare_encoding_step(t->encoding), floats = step, bytes;
    uint64_t n_steps = (end - begin) / step + (end - begin) / tare_max_u64(row_length(t), 1) + 1;
    uint64_t encoded = (tare_min_u64(n_steps, SCRATCH_BYTES) + 1) * step_bytes(t->encoding);
    if (companion >= 0) {
        const tare_tensor *s = &m->catalog.tensors[companion];
        step = tare_max_u64(step, tare_encoding_step(s->encoding));
        floats = step + t->cols; /* a row of scales is no longer than a row of weights */
        encoded = SCRATCH_BYTES;
    }
    workspace w = {.n_bytes = (size_t)tare_min_u64(encoded, SCRATCH_BYTES)};
    size_t size;
    if (!tare_mul_u64(floats, sizeof(float), &bytes) || !tare_add_u64(bytes, w.n_bytes, &bytes) ||
        !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    w.aside = tare_alloc(m->allocator, size);
    if (!w.aside) return tare_fail(err, TARE_ERR_NOMEM, "scratch buffer");
    w.scales = w.aside + step;
    w.bytes = (uint8_t *)(w.aside + floats);
    tare_status s = decode_range(out, m, tensor, begin, end, &w, err);
    if (s == TARE_OK && companion >= 0 && begin < end)
        s = apply_scales(out, m, tensor, (size_t)companion, begin / t->cols,
                         (end - begin) / t->cols, &w, err);
    tare_free(m->allocator, w.aside, size);
    return s;
}

static tare_status values_f32(float *out, const tare_model *m, size_t tensor, uint64_t begin,
                              uint64_t end, tare_error *err) {
    const tare_tensor_note *note = m->notes ? &m->notes[tensor] : NULL;
    tare_status s;
    if (tare_tensor_can_decode(m, tensor))
        s = decode_elements(out, m, tensor, note ? note->companion : -1, begin, end, err);
    else
        s = tare_fail(err, TARE_ERR_UNSUPPORTED,
                      note && note->is_packed ? "codes of a packed scheme are not decoded"
                                              : "this type cannot be decoded");
    if (s == TARE_OK) s = tare_tensor_apply_records(out, m, tensor, begin, end, err);
    return tare_tensor_name_error(m, tensor, s, err);
}

tare_status tare_tensor_rows_f32(float *out, const tare_model *model, size_t tensor, uint64_t first,
                                 uint64_t n, tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors && (out || n == 0), err);
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(first <= t->n_rows && n <= t->n_rows - first, err);
    return values_f32(out, model, tensor, first * t->cols, (first + n) * t->cols, err);
}

bool tare_tensor_needs_rows(const tare_model *model, size_t tensor) {
    return model->notes && model->notes[tensor].companion >= 0;
}

tare_status tare_tensor_values_f32(float *out, const tare_model *model, size_t tensor,
                                   uint64_t first, uint64_t n, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(first <= t->n_elements && n <= t->n_elements - first, err);
    if (tare_tensor_needs_rows(model, tensor))
        TARE_REQUIRE(t->cols && first % t->cols == 0 && n % t->cols == 0, err);
    return values_f32(out, model, tensor, first, first + n, err);
}
