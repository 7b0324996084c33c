/* SPDX-License-Identifier: MIT
 *
 * Almost every tensor is one run of whole blocks, whatever its shape: such a tensor is flat and is
 * cut anywhere between blocks, so that memory does not depend on the length of a row. Rows are kept
 * whole where they mean something: partly filled last blocks, scales of rows, block scales of a
 * companion. docs/behaviour.md, "Memory and threads". */
#include "ops/spans.h"

#include "base/arith.h"

uint8_t *tare_scratch_get(tare_scratch *s, int slot, uint64_t size) {
    size_t wanted;
    if (size <= s->size[slot] && s->bytes[slot]) return s->bytes[slot];
    if (!tare_size_of_u64(size, &wanted)) return NULL;
    tare_free(s->allocator, s->bytes[slot], s->size[slot]);
    s->bytes[slot] = tare_alloc(s->allocator, wanted);
    s->size[slot] = s->bytes[slot] ? wanted : 0;
    return s->bytes[slot];
}

tare_scratch *tare_scratch_new(unsigned threads, const tare_allocator *allocator) {
    tare_scratch *s = tare_alloc(allocator, threads * sizeof *s);
    for (unsigned i = 0; s && i < threads; i++) s[i] = (tare_scratch){.allocator = allocator};
    return s;
}

void tare_scratch_delete(tare_scratch *scratch, unsigned threads, const tare_allocator *allocator) {
    if (!scratch) return;
    for (unsigned t = 0; t < threads; t++)
        for (int i = 0; i < TARE_SCRATCH_SLOTS; i++)
            tare_free(allocator, scratch[t].bytes[i], scratch[t].size[i]);
    tare_free(allocator, scratch, threads * sizeof *scratch);
}

/* Whether the rows of an encoding follow each other as whole units. */
static bool has_flat_rows(const tare_encoding *e, uint64_t cols) {
    for (uint32_t p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope != TARE_PLANE_ELEMENTS) return false;
    return e->is_bit_packed || cols % e->block == 0;
}

static bool is_streamed(const tare_encoding *e) {
    for (uint32_t p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope != TARE_PLANE_ELEMENTS && e->planes[p].scope != TARE_PLANE_ROW)
            return false;
    return true;
}

static uint64_t common_multiple(uint64_t a, uint64_t b) {
    uint64_t x = a, y = b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Elements after which all planes of an encoding stand between two units. */
static uint64_t unit_of(const tare_encoding *e) {
    uint64_t unit = e->block;
    for (uint32_t p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope == TARE_PLANE_ELEMENTS)
            unit = common_multiple(unit, e->planes[p].unit);
    return unit;
}

tare_status tare_spans_init(tare_spans *s, const tare_model *model, size_t tensor,
                            const tare_encoding *to, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    const tare_tensor_note *note = model->notes ? &model->notes[tensor] : NULL;
    *s = (tare_spans){.model = model, .tensor = tensor, .from = t->encoding, .to = to};
    if (!tare_tensor_can_decode(model, tensor))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type cannot be decoded");
    if (to && (!tare_encoding_can_encode(to) || !is_streamed(to)))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type cannot be encoded");
    bool has_companion = note && note->companion >= 0;
    s->is_flat =
        !has_companion && has_flat_rows(s->from, t->cols) && (!to || has_flat_rows(to, t->cols));
    if (s->is_flat) {
        uint64_t unit = unit_of(s->from);
        if (to) unit = common_multiple(unit, unit_of(to));
        s->step = tare_max_u64(TARE_SPAN_ELEMENTS / unit, 1) * unit;
        s->n_spans = tare_ceil_div_u64(t->n_elements, s->step);
    } else {
        uint64_t fit = TARE_SPAN_ELEMENTS / tare_max_u64(t->cols, 1);
        s->step = tare_max_u64(fit, 1);
        s->n_spans = t->n_elements ? tare_ceil_div_u64(t->n_rows, s->step) : 0;
    }
    return TARE_OK;
}

static uint64_t spans_of_slice(const tare_spans *s) {
    return tare_ceil_div_u64(s->slice_rows, s->step);
}

void tare_spans_keep_slices(tare_spans *s, uint64_t rows) {
    const tare_tensor *t = &s->model->catalog.tensors[s->tensor];
    if (t->n_elements == 0) return;
    uint64_t fit = tare_max_u64(TARE_SPAN_ELEMENTS / t->cols, 1);
    s->slice_rows = rows;
    s->step = tare_min_u64(fit, rows);
    s->n_spans = t->n_rows / rows * spans_of_slice(s);
}

uint64_t tare_spans_slice(const tare_spans *s, uint64_t i) {
    return s->slice_rows ? i / spans_of_slice(s) : 0;
}

/* Rows [*first, *first + *n) are those of span i. */
static void rows_of(const tare_spans *s, uint64_t i, uint64_t *first, uint64_t *n) {
    const tare_tensor *t = &s->model->catalog.tensors[s->tensor];
    uint64_t slice = tare_spans_slice(s, i), rows = s->slice_rows ? s->slice_rows : t->n_rows;
    uint64_t within = (s->slice_rows ? i % spans_of_slice(s) : i) * s->step;
    *first = slice * rows + within;
    *n = tare_min_u64(s->step, rows - within);
}

static tare_status fail_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
}

static void plane_range(const tare_encoding *e, uint32_t plane, bool is_flat, uint64_t first,
                        uint64_t n_rows, uint64_t cols, uint64_t *offset, uint64_t *size) {
    const tare_plane_info *info = &e->planes[plane];
    if (info->scope == TARE_PLANE_ROW) {
        *offset = first / cols * info->unit_bytes;
        *size = n_rows * info->unit_bytes;
    } else if (is_flat) {
        *offset = first / info->unit * info->unit_bytes;
        *size = tare_ceil_div_u64(n_rows * cols, info->unit) * info->unit_bytes;
    } else {
        uint64_t row = tare_ceil_div_u64(cols, info->unit) * info->unit_bytes;
        *offset = first / cols * row;
        *size = n_rows * row;
    }
}

static tare_status decode_flat(tare_span *out, const tare_spans *s, tare_scratch *scratch,
                               tare_error *err) {
    tare_rows rows = {.n_rows = 1, .cols = out->n_rows * out->cols};
    uint64_t offset[TARE_MAX_PLANES], size[TARE_MAX_PLANES], total = 0;
    for (uint32_t p = 0; p < s->from->n_planes; p++) {
        plane_range(s->from, p, true, out->first, 1, rows.cols, &offset[p], &size[p]);
        total += size[p];
    }
    uint8_t *at = tare_scratch_get(scratch, TARE_SCRATCH_STORED, total);
    if (!at) return fail_memory(err);
    for (uint32_t p = 0; p < s->from->n_planes; p++) {
        TARE_TRY(tare_tensor_read(s->model, s->tensor, p, offset[p], at, (size_t)size[p], err));
        rows.planes[p] = at;
        at += size[p];
    }
    return tare_decode_rows(out->values, s->from, &rows, err);
}

tare_status tare_spans_decode(tare_span *out, const tare_spans *s, uint64_t i,
                              tare_scratch *scratch, tare_error *err) {
    const tare_tensor *t = &s->model->catalog.tensors[s->tensor];
    uint64_t row = 0, n_rows;
    if (s->is_flat && !s->slice_rows) {
        uint64_t first = i * s->step;
        *out = (tare_span){
            .first = first, .n_rows = 1, .cols = tare_min_u64(s->step, t->n_elements - first)};
    } else {
        rows_of(s, i, &row, &n_rows);
        *out = (tare_span){.first = row * t->cols, .n_rows = n_rows, .cols = t->cols};
    }
    uint64_t bytes;
    if (!tare_mul_u64(out->n_rows * out->cols, sizeof(float), &bytes)) return fail_memory(err);
    out->values = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_VALUES, bytes);
    if (!out->values) return fail_memory(err);
    if (s->is_flat) return decode_flat(out, s, scratch, err);
    return tare_tensor_rows_f32(out->values, s->model, s->tensor, row, out->n_rows, err);
}

void tare_spans_place(const tare_spans *s, const tare_span *span, uint32_t plane, uint64_t *offset,
                      uint64_t *size) {
    plane_range(s->to, plane, s->is_flat, span->first, span->n_rows, span->cols, offset, size);
}

tare_status tare_spans_encode(tare_rows_mut *out, const tare_spans *s, const tare_span *span,
                              const tare_encode_params *params, tare_scratch *scratch,
                              tare_error *err) {
    uint64_t offset, size[TARE_MAX_PLANES], total = 0;
    for (uint32_t p = 0; p < s->to->n_planes; p++) {
        tare_spans_place(s, span, p, &offset, &size[p]);
        total += size[p];
    }
    uint8_t *at = tare_scratch_get(scratch, TARE_SCRATCH_ENCODED, total);
    if (!at) return fail_memory(err);
    *out = (tare_rows_mut){.n_rows = span->n_rows, .cols = span->cols};
    for (uint32_t p = 0; p < s->to->n_planes; p++) {
        out->planes[p] = at;
        at += size[p];
    }
    return tare_encode_rows(out, s->to, span->values, params, err);
}
