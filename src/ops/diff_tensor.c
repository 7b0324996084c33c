/* SPDX-License-Identifier: MIT
 *
 * Two tensors compared: stored bytes first, little-endian whatever the files', and only where they
 * differ the values, summed in element order so that the numbers do not depend on threads. */
#include "ops/diff_tensor.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "ops/values.h"

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
           (a->encoding->id != TARE_ENCODING_UNKNOWN || a->foreign_type == b->foreign_type);
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

/* Whether planes differ; for plain numbers also how many of them do. Stops at the first difference
 * where their number is not wanted or means nothing. */
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
            TARE_TRY(tare_tensor_read(p->a, p->in_a, plane, at, from_a, n, err));
            TARE_TRY(tare_tensor_read(p->b, p->in_b, plane, at, from_b, n, err));
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

/* Elements as doubles: numbers wider than a float's 24 bits as they are, all others through f32. */
static tare_status read_values(double *out, const tare_model *m, size_t tensor, uint64_t first,
                               uint64_t n, uint8_t *scratch, tare_error *err) {
    const tare_encoding *e = m->catalog.tensors[tensor].encoding;
    const size_t count = (size_t)n;
    const uint32_t bytes = e->planes[0].unit_bytes;
    switch (e->id) {
    case TARE_ENCODING_F64:
    case TARE_ENCODING_I32:
    case TARE_ENCODING_U32:
    case TARE_ENCODING_I64:
    case TARE_ENCODING_U64:
        TARE_TRY(tare_tensor_read(m, tensor, 0, first * bytes, scratch, count * bytes, err));
        break;
    default: {
        float *floats = (float *)(void *)scratch;
        TARE_TRY(tare_tensor_values_f32(floats, m, tensor, first, n, err));
        for (size_t i = 0; i < count; i++) out[i] = (double)floats[i];
        return TARE_OK;
    }
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = scratch + i * bytes;
        switch (e->id) {
        case TARE_ENCODING_F64:
            out[i] = tare_f64_of_bits(tare_load_le64(at));
            break;
        case TARE_ENCODING_I32:
            out[i] = (double)(int32_t)tare_load_le32(at);
            break;
        case TARE_ENCODING_U32:
            out[i] = (double)tare_load_le32(at);
            break;
        case TARE_ENCODING_I64:
            out[i] = (double)(int64_t)tare_load_le64(at);
            break;
        default:
            out[i] = (double)tare_load_le64(at);
            break;
        }
    }
    return TARE_OK;
}

typedef struct sums {
    double difference, reference; /* squares */
    double max_abs;
    uint64_t n_different;
} sums;

/* Equal values, equal infinities and two NaN are the same; a NaN against a number is infinitely
 * wrong. */
static void add_values(sums *s, const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double x = a[i], y = b[i];
        if (x == x && x - x == 0) s->reference += x * x;
        if (x == y || (x != x && y != y)) continue;
        double d = fabs(x - y);
        if (d != d) d = (double)INFINITY;
        s->n_different++;
        s->difference += d * d;
        if (d > s->max_abs) s->max_abs = d;
    }
}

static double relative(const sums *s) {
    if (s->n_different == 0) return 0;
    if (s->reference == 0 || s->max_abs > 1.7e308) return (double)INFINITY;
    double ratio = sqrt(s->difference) / sqrt(s->reference);
    return ratio == ratio ? ratio : (double)INFINITY; /* both sums overflowed */
}

static tare_status sum_values(sums *out, const tare_tensor_pair *p, uint64_t piece, double *a,
                              double *b, uint8_t *scratch, const tare_walk_job *job,
                              tare_error *err) {
    const uint64_t total = tensor_a(p)->n_elements;
    for (uint64_t first = 0; first < total; first += piece) {
        uint64_t n = tare_min_u64(total - first, piece);
        TARE_TRY(read_values(a, p->a, p->in_a, first, n, scratch, err));
        TARE_TRY(read_values(b, p->b, p->in_b, first, n, scratch, err));
        add_values(out, a, b, (size_t)n);
        TARE_TRY(tare_walk_tick(job, 0, err));
    }
    return TARE_OK;
}

/* A piece both tensors can be read by: elements, or rows where one of them needs rows. */
static tare_status compare_values(tare_diff_item *item, const tare_tensor_pair *p,
                                  const tare_walk_job *job, tare_error *err) {
    const uint64_t piece = tare_tensor_needs_rows(p->a, p->in_a) ? tare_values_piece(p->a, p->in_a)
                                                                 : tare_values_piece(p->b, p->in_b);
    uint64_t bytes;
    size_t size;
    item->is_decoded = true;
    if (piece == 0) return TARE_OK; /* no elements */
    if (!tare_mul_u64(piece, 3 * sizeof(double), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    double *memory = tare_alloc(p->a->allocator, size);
    if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "values");
    sums s = {0};
    tare_status status =
        sum_values(&s, p, piece, memory, memory + piece, (uint8_t *)(memory + 2 * piece), job, err);
    tare_free(p->a->allocator, memory, size);
    item->relative_rmse = relative(&s);
    item->max_abs = s.max_abs;
    if (s.n_different > item->n_different) item->n_different = s.n_different;
    return status;
}

tare_status tare_tensor_pair_compare(bool *differs, tare_diff_item *item, const tare_tensor_pair *p,
                                     bool needs_numbers, const tare_walk_job *job,
                                     tare_error *err) {
    *item = (tare_diff_item){.kind = TARE_DIFF_ENCODING,
                             .name = tensor_a(p)->name,
                             .a = (int64_t)p->in_a,
                             .b = (int64_t)p->in_b};
    *differs = true;
    tare_status s = TARE_OK;
    if (same_encoding(p)) {
        item->kind = TARE_DIFF_VALUE;
        s = compare_planes(differs, &item->n_different, p, needs_numbers, job, err);
    } else {
        s = tare_walk_tick(job, tare_tensor_pair_bytes(p), err);
    }
    if (s == TARE_OK && *differs && needs_numbers && tare_tensor_can_decode(p->a, p->in_a) &&
        tare_tensor_can_decode(p->b, p->in_b))
        s = compare_values(item, p, job, err);
    return tare_walk_blame(s, p->a, p->in_a, err);
}
