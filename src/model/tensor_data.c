/* SPDX-License-Identifier: MIT
 *
 * Tensors as numbers of 32 or 16 bits: rows and elements are decoded, patched with their recorded
 * outliers, and rounded. */
#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/float16.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"
#include "model/model_internal.h"

/* Encoded bytes that are decoded in one step. */
#define SCRATCH_BYTES ((size_t)1 << 20)

bool tare_tensor_can_decode(const tare_model *model, size_t tensor) {
    if (!model || tensor >= model->catalog.n_tensors) return false;
    return !(model->notes && model->notes[tensor].has_packed_codes) &&
           tare_encoding_can_decode(model->catalog.tensors[tensor].encoding);
}

tare_status tare_tensor_check_packed(const tare_model *m, size_t tensor, tare_error *err) {
    const tare_tensor_note *n = m->notes ? &m->notes[tensor] : NULL;
    if (!n || !n->refusal) return TARE_OK;
    const tare_model *stored = m->stored ? m->stored : m;
    tare_fail_tensor(err, n->refused_as, &m->catalog.tensors[tensor], tensor, n->refusal);
    if (n->refused_about >= 0) {
        const tare_str about = stored->catalog.tensors[n->refused_about].name;
        tare_error_detail(err, "%.*s", (int)tare_min_u64(about.len, 160), about.ptr);
    }
    return n->refused_as;
}

bool tare_tensor_is_part(const tare_model *m, size_t tensor) {
    const tare_tensor_note *n = m->notes ? &m->notes[tensor] : NULL;
    const bool is_weight = m->stored_of && m->stored_of[tensor] < 0;
    return n && !is_weight && (n->scheme || n->has_packed_codes);
}

tare_status tare_model_check_packed(const tare_model *m, tare_error *err) {
    for (size_t i = 0; m->notes && i < m->catalog.n_tensors; i++)
        if (m->notes[i].has_packed_codes) TARE_TRY(tare_tensor_check_packed(m, i, err));
    return m->refusal ? tare_fail(err, TARE_ERR_UNSUPPORTED, m->refusal) : TARE_OK;
}

/* Memory for decoding: one step of numbers aside, encoded bytes. */
typedef struct workspace {
    float *aside;
    uint8_t *bytes;
    size_t n_bytes;
} workspace;

/* What is decoded: a tensor of a model, to numbers of a type. */
typedef struct source {
    const tare_model *m;
    size_t tensor;
    const tare_tensor *t;
    tare_encoding_id as;
} source;

static source source_of(const tare_model *m, size_t tensor, tare_encoding_id as) {
    return (source){m, tensor, &m->catalog.tensors[tensor], as};
}

/* Encoded bytes of one step; only these must fit a workspace. */
static uint64_t step_bytes(const tare_encoding *e) {
    uint64_t step = tare_encoding_step(e);
    tare_slab slab = {.n_rows = 1, .n_cols = step, .row_length = step};
    return tare_slab_bytes(&slab, e);
}

/* A linear tensor is decoded as one long row. */
static uint64_t row_length(const tare_tensor *t) {
    return tare_encoding_is_linear(t->encoding, t->cols) ? t->n_elements : t->cols;
}

static tare_status decode_slab(void *out, const source *src, const tare_slab *slab, uint8_t *bytes,
                               tare_error *err) {
    const tare_encoding *encoding = src->t->encoding;
    tare_rows rows = {.n_rows = slab->n_rows, .cols = slab->n_cols};
    for (uint32_t p = 0; p < encoding->n_planes; p++) {
        uint64_t from, size;
        tare_slab_range(slab, encoding, p, &from, &size);
        TARE_TRY(tare_tensor_read(bytes, src->m, src->tensor, p, from, (size_t)size, err));
        rows.planes[p] = bytes;
        bytes += size;
    }
    return tare_decode_rows_as(out, src->as, encoding, &rows, err);
}

/* The most that can be decoded at once from element `begin` on, at most n of them: whole rows, or a
 * piece of one. n_cols 0: not even a step of the row. */
static tare_slab next_slab(const tare_encoding *e, uint64_t length, uint64_t begin, uint64_t n,
                           size_t n_bytes) {
    uint64_t step = tare_encoding_step(e), col = begin % length;
    tare_slab slab = {.row = begin / length, .n_rows = 1, .n_cols = length, .row_length = length};
    uint64_t row_bytes = tare_slab_bytes(&slab, e);
    if (col == 0 && n >= length && row_bytes <= n_bytes) {
        slab.n_rows = tare_min_u64(n / length, n_bytes / tare_max_u64(row_bytes, 1));
        return slab;
    }
    uint64_t left = length - col, most = n_bytes / step_bytes(e) * step;
    slab.col = col;
    slab.n_cols = tare_min_u64(tare_min_u64(n, left), most);
    if (slab.n_cols < left) slab.n_cols = slab.n_cols / step * step;
    return slab;
}

/* Elements [begin, end). A step that is only partly requested is decoded into a temporary, and the
 * requested part copied. */
static tare_status decode_range(void *out, const source *src, uint64_t begin, uint64_t end,
                                const workspace *w, tare_error *err) {
    const tare_encoding *encoding = src->t->encoding;
    const size_t width = tare_float_bytes(src->as);
    uint64_t step = tare_encoding_step(encoding), length = row_length(src->t);
    uint8_t *to = out;
    while (begin < end) {
        uint64_t skip = begin % length % step, n = end - begin;
        tare_slab slab = next_slab(encoding, length, begin, n, w->n_bytes);
        if (skip || slab.n_cols == 0) {
            slab.col -= skip;
            slab.n_cols = tare_min_u64(step, length - slab.col);
            TARE_TRY(decode_slab(w->aside, src, &slab, w->bytes, err));
            n = tare_min_u64(slab.n_cols - skip, n);
            memcpy(to, (const uint8_t *)w->aside + skip * width, (size_t)n * width);
        } else {
            n = slab.n_rows * slab.n_cols;
            TARE_TRY(decode_slab(to, src, &slab, w->bytes, err));
        }
        to += n * width;
        begin += n;
    }
    return TARE_OK;
}

/* Elements [begin, end). */
static tare_status decode_elements(void *out, const source *src, uint64_t begin, uint64_t end,
                                   tare_error *err) {
    const tare_model *m = src->m;
    const tare_tensor *t = src->t;
    uint64_t step = tare_encoding_step(t->encoding), bytes;
    uint64_t n_steps = (end - begin) / step + (end - begin) / tare_max_u64(row_length(t), 1) + 1;
    uint64_t encoded = (tare_min_u64(n_steps, SCRATCH_BYTES) + 1) * step_bytes(t->encoding);
    workspace w = {.n_bytes = (size_t)tare_min_u64(encoded, SCRATCH_BYTES)};
    size_t size;
    if (!tare_mul_u64(step, sizeof(float), &bytes) || !tare_add_u64(bytes, w.n_bytes, &bytes) ||
        !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    w.aside = tare_alloc(m->allocator, size);
    if (!w.aside) return tare_fail(err, TARE_ERR_NOMEM, "scratch buffer");
    w.bytes = (uint8_t *)(w.aside + step);
    tare_status s = decode_range(out, src, begin, end, &w, err);
    tare_free(m->allocator, w.aside, size);
    return s;
}

/* As floats, with outlier records applied. */
static tare_status decode_floats(float *out, const source *src, uint64_t begin, uint64_t end,
                                 tare_error *err) {
    TARE_TRY(decode_elements(out, src, begin, end, err));
    return tare_tensor_apply_records(out, src->m, src->tensor, begin, end, err);
}

/* Floats that records change before they are rounded pass through memory. */
#define FLOATS_AT_ONCE ((uint64_t)1 << 16)

static tare_status decode_then_round(void *out, const source *src, uint64_t begin, uint64_t end,
                                     tare_error *err) {
    const tare_model *m = src->m;
    const source floats = source_of(m, src->tensor, TARE_ENCODING_F32);
    const uint64_t step = tare_min_u64(FLOATS_AT_ONCE, end - begin);
    uint64_t bytes;
    size_t size;
    uint8_t *to = out;
    if (!tare_mul_u64(step, sizeof(float), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    if (size == 0) return TARE_OK;
    float *values = tare_alloc(m->allocator, size);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "scratch buffer");
    tare_status s = TARE_OK;
    for (; begin < end && s == TARE_OK; begin += step) {
        const uint64_t n = tare_min_u64(step, end - begin);
        s = decode_floats(values, &floats, begin, begin + n, err);
        if (s == TARE_OK) tare_round_floats(to, src->as, values, (size_t)n);
        to += n * tare_float_bytes(src->as);
    }
    tare_free(m->allocator, values, size);
    return s;
}

/* Numbers already stored in the requested form are read directly into place. */
static bool is_stored_so(const source *src) {
    return src->t->encoding->id == src->as && !TARE_HOST_IS_BIG_ENDIAN;
}

static tare_status decode_values(void *out, const source *src, uint64_t begin, uint64_t end,
                                 tare_error *err) {
    TARE_TRY(tare_tensor_check_packed(src->m, src->tensor, err));
    if (!tare_tensor_can_decode(src->m, src->tensor))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         src->m->notes && src->m->notes[src->tensor].has_packed_codes
                             ? "codes of a packed scheme are not decoded"
                             : "this type cannot be decoded");
    const bool is_final = !tare_tensor_has_records(src->m, src->tensor);
    if (is_final && is_stored_so(src)) {
        const uint64_t width = tare_float_bytes(src->as);
        return tare_tensor_read(out, src->m, src->tensor, 0, begin * width,
                                (size_t)((end - begin) * width), err);
    }
    if (src->as == TARE_ENCODING_F32) return decode_floats(out, src, begin, end, err);
    return is_final ? decode_elements(out, src, begin, end, err)
                    : decode_then_round(out, src, begin, end, err);
}

static tare_status values_as(void *out, tare_encoding_id as, const tare_model *m, size_t tensor,
                             uint64_t begin, uint64_t end, tare_error *err) {
    const source src = source_of(m, tensor, as);
    if (!tare_float_bytes(as))
        return tare_fail(err, TARE_ERR_ARG, "rows are decoded to f32, f16 or bf16");
    return tare_tensor_name_error(m, tensor, decode_values(out, &src, begin, end, err), err);
}

tare_status tare_tensor_rows_as(void *out, tare_encoding_id as, const tare_model *model,
                                size_t tensor, uint64_t first, uint64_t n, tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors && (out || n == 0), err);
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(first <= t->n_rows && n <= t->n_rows - first, err);
    return values_as(out, as, model, tensor, first * t->cols, (first + n) * t->cols, err);
}

tare_status tare_tensor_rows_f32(float *out, const tare_model *model, size_t tensor, uint64_t first,
                                 uint64_t n, tare_error *err) {
    return tare_tensor_rows_as(out, TARE_ENCODING_F32, model, tensor, first, n, err);
}

tare_status tare_tensor_values_as(void *out, tare_encoding_id as, const tare_model *model,
                                  size_t tensor, uint64_t first, uint64_t n, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(first <= t->n_elements && n <= t->n_elements - first, err);
    return values_as(out, as, model, tensor, first, first + n, err);
}

tare_status tare_tensor_values_f32(float *out, const tare_model *model, size_t tensor,
                                   uint64_t first, uint64_t n, tare_error *err) {
    return tare_tensor_values_as(out, TARE_ENCODING_F32, model, tensor, first, n, err);
}
