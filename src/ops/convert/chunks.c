/* SPDX-License-Identifier: MIT
 *
 * Almost every tensor is a contiguous run of whole blocks, whatever its shape. Such a tensor is
 * treated as a single row, which may be cut between any two blocks, so that memory does not depend
 * on the length of rows. Rows are kept whole only where they matter: scales per row, block scales
 * of a companion. docs/behaviour.md, "Memory and threads". */
#include "ops/convert/chunks.h"

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/repack.h"
#include "ops/convert/merge.h"

/* Pieces of rows, or of the whole tensor where it is taken as one row. */
static void cut_rows(tare_chunks *s, uint64_t unit) {
    s->step = tare_max_u64(TARE_CHUNK_ELEMENTS / unit, 1) * unit;
    s->chunks_per_row = tare_ceil_div_u64(s->row_length, s->step);
    s->n_chunks = s->n_rows * s->chunks_per_row;
}

tare_status tare_chunks_init(tare_chunks *s, const tare_model *model, size_t tensor,
                             const tare_encoding *to, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    *s = (tare_chunks){.model = model, .tensor = tensor, .from = t->encoding, .to = to};
    if (!tare_tensor_can_decode(model, tensor))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type cannot be decoded");
    if (to && !tare_encoding_can_encode(to))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type cannot be encoded");
    if (t->n_elements == 0) return TARE_OK;
    bool is_one_row = !to || tare_encoding_is_linear(to, t->cols);
    s->row_length = is_one_row ? t->n_elements : t->cols;
    s->n_rows = is_one_row ? 1 : t->n_rows;
    if ((to && tare_encoding_has_scope(to, TARE_PLANE_ROW)) ||
        s->row_length < TARE_CHUNK_ELEMENTS) {
        s->step = tare_max_u64(TARE_CHUNK_ELEMENTS / s->row_length, 1);
        s->n_chunks = tare_ceil_div_u64(s->n_rows, s->step);
        return TARE_OK;
    }
    uint64_t unit = tare_encoding_step(s->from);
    cut_rows(s, to ? tare_common_multiple(unit, tare_encoding_step(to)) : unit);
    return TARE_OK;
}

static uint64_t chunks_of_slice(const tare_chunks *s) {
    return tare_ceil_div_u64(s->slice_rows, s->step);
}

void tare_chunks_keep_slices(tare_chunks *s, uint64_t rows) {
    const tare_tensor *t = &s->model->catalog.tensors[s->tensor];
    if (t->n_elements == 0) return;
    uint64_t fit = tare_max_u64(TARE_CHUNK_ELEMENTS / t->cols, 1);
    s->row_length = t->cols;
    s->n_rows = t->n_rows;
    s->chunks_per_row = 0;
    s->slice_rows = rows;
    s->step = tare_min_u64(fit, rows);
    s->n_chunks = t->n_rows / rows * chunks_of_slice(s);
}

uint64_t tare_chunks_slice(const tare_chunks *s, uint64_t i) {
    return s->slice_rows ? i / chunks_of_slice(s) : 0;
}

static tare_slab slab_of(const tare_chunks *s, uint64_t i) {
    tare_slab at = {.n_rows = 1, .n_cols = s->row_length, .row_length = s->row_length};
    if (s->chunks_per_row == 0) {
        uint64_t rows = s->slice_rows ? s->slice_rows : s->n_rows;
        uint64_t within = (s->slice_rows ? i % chunks_of_slice(s) : i) * s->step;
        at.row = tare_chunks_slice(s, i) * rows + within;
        at.n_rows = tare_min_u64(s->step, rows - within);
    } else {
        at.row = i / s->chunks_per_row;
        at.col = i % s->chunks_per_row * s->step;
        at.n_cols = tare_min_u64(s->step, s->row_length - at.col);
    }
    return at;
}

static tare_status fail_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "buffer of rows");
}

/* The planes of a chunk as they are stored, in the scratch. */
static tare_status read_stored(tare_rows *out, const tare_chunks *s, const tare_slab *at,
                               tare_scratch *scratch, tare_error *err) {
    uint64_t offset, size;
    uint8_t *bytes = tare_scratch_get(scratch, TARE_SCRATCH_STORED, tare_slab_bytes(at, s->from));
    if (!bytes) return fail_memory(err);
    *out = (tare_rows){.n_rows = at->n_rows, .cols = at->n_cols};
    for (uint32_t p = 0; p < s->from->n_planes; p++) {
        tare_slab_range(at, s->from, p, &offset, &size);
        TARE_TRY(tare_tensor_read(bytes, s->model, s->tensor, p, offset, (size_t)size, err));
        out->planes[p] = bytes;
        bytes += size;
    }
    return TARE_OK;
}

/* Floats stored in this machine's own format need no second buffer. */
static tare_status read_floats(const tare_chunk *chunk, const tare_chunks *s, tare_error *err) {
    uint64_t offset, size;
    tare_slab_range(&chunk->at, s->from, 0, &offset, &size);
    return tare_tensor_read(chunk->values, s->model, s->tensor, 0, offset, (size_t)size, err);
}

static tare_status decode_stored(tare_chunk *out, const tare_chunks *s, uint64_t i,
                                 tare_scratch *scratch, tare_error *err) {
    const tare_tensor *t = &s->model->catalog.tensors[s->tensor];
    uint64_t bytes;
    tare_rows rows;
    *out = (tare_chunk){.at = slab_of(s, i)};
    out->first = out->at.row * s->row_length + out->at.col;
    if (!tare_mul_u64(tare_chunk_count(out), sizeof(float), &bytes)) return fail_memory(err);
    out->values = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_VALUES, bytes);
    if (!out->values) return fail_memory(err);
    /* Not one long row: rows that the source pads, packed rows that may begin within a byte, and rows
     * whose decoded values are replaced by outliers. */
    bool is_one_row = s->row_length == t->n_elements;
    bool is_direct =
        !tare_tensor_has_records(s->model, s->tensor) &&
        (is_one_row ? tare_encoding_is_linear(s->from, t->cols) : !s->from->is_bit_packed);
    if (!is_direct)
        return tare_tensor_values_f32(out->values, s->model, s->tensor, out->first,
                                      tare_chunk_count(out), err);
    if (s->from->id == TARE_ENCODING_F32 && !TARE_HOST_IS_BIG_ENDIAN)
        return read_floats(out, s, err);
    TARE_TRY(read_stored(&rows, s, &out->at, scratch, err));
    return tare_decode_rows(out->values, s->from, &rows, err);
}

tare_status tare_chunks_decode(tare_chunk *out, const tare_chunks *s, uint64_t i,
                               tare_scratch *scratch, tare_error *err) {
    TARE_TRY(decode_stored(out, s, i, scratch, err));
    if (!s->merge) return TARE_OK;
    return tare_merge_add(s->merge, s->tensor, out->values, out->first, tare_chunk_count(out),
                          scratch, err);
}

void tare_chunks_place(const tare_chunks *s, const tare_chunk *chunk, uint32_t plane,
                       uint64_t *offset, uint64_t *size) {
    tare_slab_range(&chunk->at, s->to, plane, offset, size);
    if (s->to->planes[plane].scope == TARE_PLANE_TENSOR && chunk->first > 0) *size = 0;
}

void tare_chunks_range(const tare_chunks *s, uint64_t i, uint32_t plane, uint64_t *offset,
                       uint64_t *size) {
    const tare_slab at = slab_of(s, i);
    const tare_chunk chunk = {.at = at, .first = at.row * s->row_length + at.col};
    tare_chunks_place(s, &chunk, plane, offset, size);
}

/* Space for the planes of a part in its new encoding. */
static tare_status make_room(tare_rows_mut *out, const tare_chunks *s, const tare_slab *at,
                             tare_scratch *scratch, tare_error *err) {
    uint64_t offset, size;
    uint8_t *bytes = tare_scratch_get(scratch, TARE_SCRATCH_ENCODED, tare_slab_bytes(at, s->to));
    if (!bytes) return fail_memory(err);
    *out = (tare_rows_mut){.n_rows = at->n_rows, .cols = at->n_cols};
    for (uint32_t p = 0; p < s->to->n_planes; p++) {
        tare_slab_range(at, s->to, p, &offset, &size);
        out->planes[p] = bytes;
        bytes += size;
    }
    return TARE_OK;
}

tare_status tare_chunks_take_outliers(tare_chunk *chunk, const tare_chunks *s,
                                      const tare_outlier_rule *rule, uint64_t n,
                                      tare_scratch *scratch, tare_error *err) {
    uint8_t *bytes =
        tare_scratch_get(scratch, TARE_SCRATCH_OUTLIERS, n * (sizeof(float) + TARE_OUTLIER_BYTES));
    if (!bytes) return fail_memory(err);
    chunk->outliers = (tare_outliers){.records = bytes + n * sizeof(float),
                                      .taken = (float *)(void *)bytes,
                                      .n = (size_t)n,
                                      .first = chunk->first,
                                      .cols = s->row_length};
    if (tare_outliers_take(&chunk->outliers, chunk->values, (size_t)tare_chunk_count(chunk), rule))
        return TARE_OK;
    return tare_fail(err, TARE_ERR_IO, "the input has changed while it was converted");
}

tare_status tare_chunks_encode(tare_rows_mut *out, const tare_chunks *s, const tare_chunk *chunk,
                               const tare_encode_params *params, tare_scratch *scratch,
                               tare_error *err) {
    TARE_TRY(make_room(out, s, &chunk->at, scratch, err));
    TARE_TRY(tare_encode_rows(out, s->to, chunk->values, params, err));
    tare_outliers_put_back(chunk->values, &chunk->outliers);
    return TARE_OK;
}

tare_status tare_chunks_read(tare_rows *out, const tare_chunks *s, uint64_t i,
                             tare_scratch *scratch, tare_error *err) {
    tare_slab at = slab_of(s, i);
    return read_stored(out, s, &at, scratch, err);
}

tare_status tare_chunks_repack(tare_chunk *out, tare_rows_mut *rows, const tare_chunks *s,
                               uint64_t i, tare_scratch *scratch, tare_error *err) {
    tare_rows stored;
    *out = (tare_chunk){.at = slab_of(s, i)};
    out->first = out->at.row * s->row_length + out->at.col;
    TARE_TRY(read_stored(&stored, s, &out->at, scratch, err));
    TARE_TRY(make_room(rows, s, &out->at, scratch, err));
    tare_repack_rows(rows, s->from, &stored);
    return TARE_OK;
}
