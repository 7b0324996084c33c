/* SPDX-License-Identifier: MIT
 *
 * Compares two tensors: first the stored bytes, as little-endian whatever the files have, and only
 * if they differ the values, summed in a fixed order, so that the numbers do not depend on threads.
 */
#include "ops/inspect/diff_tensor.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/deviation.h"
#include "ops/inspect/value_pieces.h"

static const tare_tensor *tensor_a(const tare_tensor_pair *p) {
    return &p->a->catalog.tensors[p->in_a];
}
static const tare_tensor *tensor_b(const tare_tensor_pair *p) {
    return &p->b->catalog.tensors[p->in_b];
}

uint64_t tare_tensor_pair_bytes(const tare_tensor_pair *p) {
    return tensor_a(p)->size_bytes + tensor_b(p)->size_bytes;
}

static bool same_encoding(const tare_tensor_pair *p) {
    const tare_tensor *a = tensor_a(p), *b = tensor_b(p);
    return a->encoding->id == b->encoding->id && a->size_bytes == b->size_bytes &&
           (a->encoding->id != TARE_ENCODING_UNKNOWN || a->native_type == b->native_type);
}

/* ---- stored bytes ---------------------------------------------------------------------------- */

static bool is_plain(const tare_encoding *e) {
    return e->n_planes == 1 && e->block == 1 && !e->is_bit_packed && e->planes[0].unit == 1 &&
           e->kind != TARE_KIND_UNKNOWN;
}

static uint64_t count_units(const uint8_t *a, const uint8_t *b, size_t n, uint32_t unit) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i += unit) count += memcmp(a + i, b + i, unit) != 0;
    return count;
}

/* Whether planes differ; for plain numbers also how many do. Stops at the first difference if the
 * count is not requested or has no meaning. */
static tare_status compare_planes(bool *differs, uint64_t *n_different, const tare_tensor_pair *p,
                                  bool needs_count, const tare_walk_job *job, tare_error *err) {
    const tare_tensor *t = tensor_a(p);
    uint8_t *from_a = job->scratch, *from_b = job->scratch + TARE_PIECE;
    needs_count = needs_count && is_plain(t->encoding);
    *differs = false;
    for (uint32_t plane = 0; plane < t->encoding->n_planes; plane++) {
        const size_t piece = tare_walk_piece(t, plane);
        for (uint64_t at = 0; at < t->planes[plane].size; at += piece) {
            size_t n = (size_t)tare_min_u64(t->planes[plane].size - at, piece);
            TARE_TRY(tare_tensor_read(from_a, p->a, p->in_a, plane, at, n, err));
            TARE_TRY(tare_tensor_read(from_b, p->b, p->in_b, plane, at, n, err));
            TARE_TRY(tare_walk_tick(job, 2 * (uint64_t)n, err));
            if (memcmp(from_a, from_b, n) == 0) continue;
            *differs = true;
            if (!needs_count) return TARE_OK;
            *n_different += count_units(from_a, from_b, n, t->encoding->planes[plane].unit_bytes);
        }
    }
    return TARE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether a float's 24 bits may be too few for the numbers. */
static bool is_wide(const tare_encoding *e) {
    switch (e->id) {
    case TARE_ENCODING_F64:
    case TARE_ENCODING_I32:
    case TARE_ENCODING_U32:
    case TARE_ENCODING_I64:
    case TARE_ENCODING_U64:
        return true;
    default:
        return false;
    }
}

static double wide_number(const tare_encoding *e, const uint8_t *at) {
    switch (e->id) {
    case TARE_ENCODING_F64:
        return tare_f64_of_bits(tare_load_le64(at));
    case TARE_ENCODING_I32:
        return (double)(int32_t)tare_load_le32(at);
    case TARE_ENCODING_U32:
        return (double)tare_load_le32(at);
    case TARE_ENCODING_I64:
        return (double)(int64_t)tare_load_le64(at);
    default:
        return (double)tare_load_le64(at);
    }
}

/* Elements as doubles: wide numbers as they are, all others through f32. */
static tare_status read_doubles(double *out, const tare_model *m, size_t tensor, uint64_t first,
                                size_t n, uint8_t *scratch, tare_error *err) {
    const tare_encoding *e = m->catalog.tensors[tensor].encoding;
    const uint32_t bytes = e->planes[0].unit_bytes;
    if (!is_wide(e)) {
        float *floats = (float *)(void *)scratch;
        TARE_TRY(tare_tensor_values_f32(floats, m, tensor, first, n, err));
        for (size_t i = 0; i < n; i++) out[i] = (double)floats[i];
        return TARE_OK;
    }
    TARE_TRY(tare_tensor_read(scratch, m, tensor, 0, first * bytes, n * bytes, err));
    for (size_t i = 0; i < n; i++) out[i] = wide_number(e, scratch + i * bytes);
    return TARE_OK;
}

/* What is read of two tensors, and an additional buffer. */
typedef struct piece_buffers {
    double *a, *b, *scratch;
} piece_buffers;

static tare_status add_piece(tare_deviation *sum, const tare_tensor_pair *p, uint64_t first,
                             size_t n, const piece_buffers *at, tare_error *err) {
    if (is_wide(tensor_a(p)->encoding) || is_wide(tensor_b(p)->encoding)) {
        uint8_t *scratch = (uint8_t *)at->scratch;
        TARE_TRY(read_doubles(at->a, p->a, p->in_a, first, n, scratch, err));
        TARE_TRY(read_doubles(at->b, p->b, p->in_b, first, n, scratch, err));
        for (size_t i = 0; i < n; i++)
            tare_deviation_add_pair(sum, i % TARE_DEVIATION_LANES, at->a[i], at->b[i]);
        return TARE_OK;
    }
    float *a = (float *)(void *)at->a, *b = (float *)(void *)at->b;
    TARE_TRY(tare_tensor_values_f32(a, p->a, p->in_a, first, n, err));
    TARE_TRY(tare_tensor_values_f32(b, p->b, p->in_b, first, n, err));
    tare_deviation_add(sum, a, b, n);
    return TARE_OK;
}

static tare_status sum_values(tare_deviation_sums *out, const tare_tensor_pair *p, uint64_t piece,
                              const piece_buffers *at, const tare_walk_job *job, tare_error *err) {
    const uint64_t total = tensor_a(p)->n_elements;
    tare_deviation sum = {0};
    for (uint64_t first = 0; first < total; first += piece) {
        uint64_t n = tare_min_u64(total - first, piece);
        TARE_TRY(add_piece(&sum, p, first, (size_t)n, at, err));
        TARE_TRY(tare_walk_tick(job, 0, err));
    }
    *out = tare_deviation_sum(&sum);
    return TARE_OK;
}

static tare_status compare_values(tare_diff_item *item, const tare_tensor_pair *p,
                                  const tare_walk_job *job, tare_error *err) {
    const uint64_t piece = tare_values_piece(p->a, p->in_a);
    uint64_t bytes;
    size_t size;
    item->is_decoded = true;
    if (piece == 0) return TARE_OK; /* no elements */
    if (!tare_mul_u64(piece, 3 * sizeof(double), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    double *memory = tare_alloc(p->a->allocator, size);
    if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "values");
    tare_deviation_sums s = {0};
    piece_buffers at = {memory, memory + piece, memory + 2 * piece};
    tare_status status = sum_values(&s, p, piece, &at, job, err);
    tare_free(p->a->allocator, memory, size);
    item->relative_rmse = tare_deviation_relative(&s);
    item->max_abs = s.max_abs;
    item->norm_a = sqrt(s.reference);
    if (s.n_different > item->n_different) item->n_different = s.n_different;
    return status;
}

tare_status tare_tensor_pair_compare(bool *differs, tare_diff_item *item, const tare_tensor_pair *p,
                                     tare_pair_depth depth, const tare_walk_job *job,
                                     tare_error *err) {
    *item = (tare_diff_item){.kind = TARE_DIFF_ENCODING,
                             .name = tensor_a(p)->name,
                             .a = (int64_t)p->in_a,
                             .b = (int64_t)p->in_b};
    *differs = true;
    tare_status s = TARE_OK;
    const bool needs_numbers = depth == TARE_PAIR_NUMBERS;
    if (same_encoding(p) && depth != TARE_PAIR_TYPES) {
        item->kind = TARE_DIFF_VALUE;
        s = compare_planes(differs, &item->n_different, p, needs_numbers, job, err);
    } else {
        *differs = !same_encoding(p);
        s = tare_walk_tick(job, tare_tensor_pair_bytes(p), err);
    }
    if (s == TARE_OK && *differs && needs_numbers && tare_tensor_can_decode(p->a, p->in_a) &&
        tare_tensor_can_decode(p->b, p->in_b))
        s = compare_values(item, p, job, err);
    return tare_walk_blame(s, p->a, p->in_a, err);
}
