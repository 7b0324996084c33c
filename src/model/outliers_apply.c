/* SPDX-License-Identifier: MIT
 *
 * Records of a list plane, applied to decoded elements. They lie in a file, in any order: the first
 * use of a tensor walks over its list, checks every record and finds out whether they are sorted,
 * which is remembered. Sorted lists are searched by bisection, others are scanned on each call: no
 * list, however long, has to be held in memory. */
#include <stdatomic.h>

#include "base/arith.h"
#include "base/str.h"
#include "encoding/outliers.h"
#include "model/model_internal.h"

enum { UNKNOWN = 0, SORTED = 1, UNSORTED = 2 };

#define RECORDS_AT_ONCE ((size_t)4096)

typedef struct list {
    const tare_model *m;
    size_t tensor;
    const tare_tensor *t;
    uint32_t plane;
    uint64_t n; /* records */
    uint8_t bytes[RECORDS_AT_ONCE * TARE_OUTLIER_BYTES];
} list;

static uint64_t count_records(const tare_tensor *t, uint32_t plane) {
    return plane < t->encoding->n_planes ? t->planes[plane].size / TARE_OUTLIER_BYTES : 0;
}

bool tare_tensor_has_records(const tare_model *model, size_t tensor) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    return count_records(t, tare_encoding_list_plane(t->encoding)) > 0;
}

tare_status tare_model_expect_records(tare_model *m, tare_error *err) {
    size_t n = m->catalog.n_tensors;
    bool has_any = false;
    for (size_t i = 0; i < n && !has_any; i++) has_any = tare_tensor_has_records(m, i);
    if (!has_any) return TARE_OK;
    m->list_states = tare_arena_array(&m->arena, n, sizeof *m->list_states);
    if (!m->list_states) return tare_fail(err, TARE_ERR_NOMEM, "lists of outliers");
    for (size_t i = 0; i < n; i++) atomic_init(&m->list_states[i], UNKNOWN);
    return TARE_OK;
}

/* Records [first, first + n), n at most RECORDS_AT_ONCE. */
static tare_status load(list *l, uint64_t first, size_t n, tare_error *err) {
    return tare_tensor_read(l->bytes, l->m, l->tensor, l->plane, first * TARE_OUTLIER_BYTES,
                            n * TARE_OUTLIER_BYTES, err);
}

static uint64_t element_of(const list *l, size_t i) {
    const tare_outlier o = tare_outlier_load(l->bytes + i * TARE_OUTLIER_BYTES);
    return o.row * l->t->cols + o.col;
}

static tare_status outside(const list *l, uint64_t record, tare_error *err) {
    const tare_plane *p = &l->t->planes[l->plane];
    tare_fail_at(err, TARE_ERR_CORRUPT, p->offset + record * TARE_OUTLIER_BYTES,
                 "row or column of an outlier is outside the tensor");
    tare_error_file(err, l->m->files[p->file].name);
    return TARE_ERR_CORRUPT;
}

static tare_status survey(list *l, uint8_t *state, tare_error *err) {
    uint64_t last = 0;
    *state = SORTED;
    for (uint64_t at = 0; at < l->n; at += RECORDS_AT_ONCE) {
        size_t n = (size_t)tare_min_u64(l->n - at, RECORDS_AT_ONCE);
        TARE_TRY(load(l, at, n, err));
        for (size_t i = 0; i < n; i++) {
            const tare_outlier o = tare_outlier_load(l->bytes + i * TARE_OUTLIER_BYTES);
            if (o.row >= l->t->n_rows || o.col >= l->t->cols) return outside(l, at + i, err);
            const uint64_t element = element_of(l, i);
            if (element < last) *state = UNSORTED;
            last = element;
        }
    }
    return TARE_OK;
}

static tare_status state_of(list *l, uint8_t *state, tare_error *err) {
    _Atomic uint8_t *known = l->m->list_states ? &l->m->list_states[l->tensor] : NULL;
    *state = known ? atomic_load(known) : UNKNOWN;
    if (*state != UNKNOWN) return TARE_OK;
    TARE_TRY(survey(l, state, err));
    if (known) atomic_store(known, *state);
    return TARE_OK;
}

/* At most RECORDS_AT_ONCE before the first sorted record of element `begin` or a later one. */
static tare_status find(list *l, uint64_t begin, uint64_t *first, tare_error *err) {
    uint64_t low = 0, high = l->n;
    while (high - low > RECORDS_AT_ONCE) {
        uint64_t middle = low + (high - low) / 2;
        TARE_TRY(load(l, middle, 1, err));
        if (element_of(l, 0) < begin)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    return TARE_OK;
}

static tare_status apply(list *l, float *values, uint64_t begin, uint64_t end, tare_error *err) {
    uint8_t state;
    uint64_t at = 0;
    TARE_TRY(state_of(l, &state, err));
    if (state == SORTED) TARE_TRY(find(l, begin, &at, err));
    for (; at < l->n; at += RECORDS_AT_ONCE) {
        size_t n = (size_t)tare_min_u64(l->n - at, RECORDS_AT_ONCE);
        TARE_TRY(load(l, at, n, err));
        for (size_t i = 0; i < n; i++) {
            const uint64_t element = element_of(l, i);
            if (element >= end && state == SORTED) return TARE_OK;
            if (element < begin || element >= end) continue;
            const tare_outlier o = tare_outlier_load(l->bytes + i * TARE_OUTLIER_BYTES);
            tare_put_f32(values, (size_t)(element - begin), tare_f32_of_f16(o.value));
        }
    }
    return TARE_OK;
}

tare_status tare_tensor_apply_records(float *values, const tare_model *model, size_t tensor,
                                      uint64_t begin, uint64_t end, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    const uint32_t plane = tare_encoding_list_plane(t->encoding);
    const uint64_t n = count_records(t, plane);
    if (n == 0 || begin >= end) return TARE_OK;
    list *l = tare_alloc(model->allocator, sizeof *l);
    if (!l) return tare_fail(err, TARE_ERR_NOMEM, "outliers");
    l->m = model;
    l->tensor = tensor;
    l->t = t;
    l->plane = plane;
    l->n = n;
    tare_status status = apply(l, values, begin, end, err);
    tare_free(model->allocator, l, sizeof *l);
    return status;
}
