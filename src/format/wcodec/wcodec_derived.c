/* SPDX-License-Identifier: MIT
 *
 * A range of an encoded tensor is widened to whole blocks, or to whole rows where columns are weighed,
 * and made some of them at a time: memory does not depend on the tensor. */
#include "format/wcodec/wcodec_derived.h"

#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/slab.h"
#include "format/packed.h"

enum { MOST_ELEMENTS = 1 << 16, MOST_COLUMNS = 1 << 22 };

/* Memory of a call: stored numbers, floats, encoded bytes, importance. */
typedef struct room {
    uint8_t *stored, *encoded;
    float *values, *importance;
    size_t stored_size, encoded_size, values_size, importance_size;
} room;

static uint64_t bytes_of(const tare_encoding *e, uint64_t n_elements) {
    return n_elements / e->planes[0].unit * e->planes[0].unit_bytes;
}

/* Elements that are made together: of one row where columns are weighed, else a multiple of both
 * encodings' blocks. */
static uint64_t step_of(const tare_wcodec_derived *d) {
    if (d->importance) return d->cols;
    return tare_common_multiple(d->from->planes[0].unit, d->to->planes[0].unit);
}

static bool is_simple(const tare_encoding *e, uint64_t cols) {
    return e->n_planes == 1 && e->planes[0].unit && cols % e->planes[0].unit == 0 &&
           tare_encoding_is_linear(e, cols);
}

bool tare_packed_can_derive(const tare_encoding *from, const tare_encoding *to, uint64_t cols) {
    return cols && cols <= MOST_COLUMNS && is_simple(from, cols) && is_simple(to, cols) &&
           tare_encoding_can_decode(from) && tare_encoding_can_encode(to);
}

static bool take_room(room *r, const tare_wcodec_derived *d, uint64_t n) {
    const tare_allocator *a = d->allocator;
    r->stored_size = (size_t)bytes_of(d->from, n);
    r->encoded_size = (size_t)bytes_of(d->to, n);
    r->values_size = (size_t)n * sizeof(float);
    r->importance_size = d->importance ? (size_t)d->cols * sizeof(float) : 0;
    r->stored = tare_alloc(a, r->stored_size);
    r->encoded = tare_alloc(a, r->encoded_size);
    r->values = tare_alloc(a, r->values_size);
    r->importance = r->importance_size ? tare_alloc(a, r->importance_size) : NULL;
    return r->stored && r->encoded && r->values && (r->importance || !r->importance_size);
}

static void give_room(room *r, const tare_wcodec_derived *d) {
    tare_free(d->allocator, r->stored, r->stored_size);
    tare_free(d->allocator, r->encoded, r->encoded_size);
    tare_free(d->allocator, r->values, r->values_size);
    tare_free(d->allocator, r->importance, r->importance_size);
}

static tare_status read_importance(float *out, const tare_wcodec_derived *d, uint64_t slice,
                                   tare_error *err) {
    const uint64_t at = d->importance_start + slice * d->cols * sizeof(float);
    const float divisor = d->divisors ? d->divisors[slice] : 1;
    uint8_t *bytes = (uint8_t *)out;
    TARE_TRY(tare_reader_read(d->importance, at, bytes, (size_t)d->cols * sizeof(float), err));
    for (uint64_t i = 0; i < d->cols; i++)
        out[i] = divisor > 0 ? tare_f32_of_bits(tare_load_le32(bytes + 4 * i)) / divisor : 1;
    return TARE_OK;
}

/* n elements from `first` on: whole rows of one slice where columns are weighed. */
static tare_status make(room *r, const tare_wcodec_derived *d, uint64_t first, uint64_t n,
                        tare_error *err) {
    const uint64_t n_rows = d->importance ? n / d->cols : 1;
    tare_encode_params params = {.size = sizeof params, .quality = d->quality, .compat = d->compat};
    const tare_rows stored = {.planes = {r->stored}, .n_rows = n_rows, .cols = n / n_rows};
    tare_rows_mut encoded = {.planes = {r->encoded}, .n_rows = n_rows, .cols = n / n_rows};
    TARE_TRY(tare_reader_read(d->source, d->start + bytes_of(d->from, first), r->stored,
                              (size_t)bytes_of(d->from, n), err));
    TARE_TRY(tare_decode_rows(r->values, d->from, &stored, err));
    if (d->importance) {
        TARE_TRY(read_importance(r->importance, d, first / d->cols / d->slice_rows, err));
        params.importance = r->importance;
    }
    return tare_encode_rows(&encoded, d->to, r->values, &params, err);
}

/* How many elements from `first` on are made at once. */
static uint64_t run_of(const tare_wcodec_derived *d, uint64_t first, uint64_t end, uint64_t step) {
    const uint64_t most = tare_max_u64(MOST_ELEMENTS / step, 1) * step;
    uint64_t last = tare_min_u64(end, first + most);
    if (d->importance) {
        const uint64_t slice = d->slice_rows * d->cols;
        last = tare_min_u64(last, (first / slice + 1) * slice);
    }
    return last - first;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const tare_wcodec_derived *d = ctx;
    const tare_plane_info *unit = &d->to->planes[0];
    const uint64_t step = step_of(d);
    const uint64_t block = offset / unit->unit_bytes * unit->unit;
    uint64_t end = tare_ceil_div_u64(offset + n, unit->unit_bytes) * unit->unit;
    uint64_t at = block / step * step;
    end = tare_min_u64(tare_ceil_div_u64(end, step) * step, d->n_elements);
    room r = {.stored = NULL};
    tare_status status = n == 0 || take_room(&r, d, tare_max_u64(MOST_ELEMENTS / step, 1) * step)
                             ? TARE_OK
                             : tare_fail(err, TARE_ERR_NOMEM, "encoded rows");
    for (uint64_t taken; n && at < end && status == TARE_OK; at += taken) {
        taken = run_of(d, at, end, step);
        status = make(&r, d, at, taken, err);
        const uint64_t begin = bytes_of(d->to, at), past = begin + bytes_of(d->to, taken);
        const uint64_t from = tare_max_u64(begin, offset), to = tare_min_u64(past, offset + n);
        if (status == TARE_OK && from < to)
            memcpy((uint8_t *)buf + (from - offset), r.encoded + (from - begin),
                   (size_t)(to - from));
    }
    give_room(&r, d);
    return status;
}

void tare_wcodec_derived_open(tare_wcodec_derived *d, const char *name) {
    d->reader = (tare_reader){.name = name,
                              .size = bytes_of(d->to, d->n_elements),
                              .fd = -1,
                              .fetch = fetch,
                              .read_ctx = d};
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static tare_status fetch_pieces(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const tare_wcodec_composed *c = ctx;
    return tare_pieces_read(buf, c->of, &c->from, offset, n, err);
}

void tare_wcodec_composed_open(tare_wcodec_composed *c, uint64_t n_elements, const char *name) {
    c->reader = (tare_reader){.name = name,
                              .size = bytes_of(c->of->encoding, n_elements),
                              .fd = -1,
                              .fetch = fetch_pieces,
                              .read_ctx = c};
}
