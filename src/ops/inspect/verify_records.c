/* SPDX-License-Identifier: MIT
 *
 * Records may be in any order. In ascending order duplicates are neighbours; otherwise they are
 * found with one bit per element, for as many elements at a time as half the scratch memory has
 * bits. */
#include "ops/inspect/verify_records.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/outliers.h"

typedef struct finds {
    uint64_t n, first; /* record */
} finds;

typedef struct checker {
    const tare_model *m;
    size_t tensor;
    const tare_tensor *t;
    bool is_factor;
    uint32_t plane;
    uint64_t n; /* records */
    uint8_t *records, *bits;
    size_t at_once;  /* records */
    uint64_t window; /* elements */
    finds outside, twice;
} checker;

static void note(finds *f, uint64_t record) {
    if (f->n++ == 0) f->first = record;
}

/* Calls `look` with each record and its element; UINT64_MAX: it has none. */
static tare_status walk(checker *c, void (*look)(checker *, uint64_t, uint64_t, void *), void *ctx,
                        tare_error *err) {
    for (uint64_t at = 0; at < c->n; at += c->at_once) {
        const size_t n = (size_t)tare_min_u64(c->n - at, c->at_once);
        TARE_TRY(tare_tensor_read(c->records, c->m, c->tensor, c->plane, at * TARE_OUTLIER_BYTES,
                                  n * TARE_OUTLIER_BYTES, err));
        for (size_t i = 0; i < n; i++) {
            const tare_outlier o = tare_outlier_load(c->records + i * TARE_OUTLIER_BYTES);
            const bool is_inside = o.row < c->t->n_rows && o.col < c->t->cols;
            look(c, at + i, is_inside ? o.row * c->t->cols + o.col : UINT64_MAX, ctx);
        }
    }
    return TARE_OK;
}

typedef struct order {
    uint64_t last;
    bool has_last, is_ascending;
    finds twice; /* if it is ascending */
} order;

static void look_at_order(checker *c, uint64_t record, uint64_t element, void *ctx) {
    order *o = ctx;
    if (element == UINT64_MAX) {
        note(&c->outside, record);
        return;
    }
    if (o->has_last && element == o->last) note(&o->twice, record);
    if (o->has_last && element < o->last) o->is_ascending = false;
    o->last = element;
    o->has_last = true;
}

static void look_in_window(checker *c, uint64_t record, uint64_t element, void *ctx) {
    const uint64_t first = *(const uint64_t *)ctx;
    if (element < first || element - first >= c->window) return;
    uint8_t *byte = &c->bits[(element - first) / 8];
    const uint8_t bit = (uint8_t)(1u << (element - first) % 8);
    if (*byte & bit) note(&c->twice, record);
    *byte |= bit;
}

static tare_status find_all(checker *c, tare_error *err) {
    order o = {.is_ascending = true};
    TARE_TRY(walk(c, look_at_order, &o, err));
    if (o.is_ascending) {
        c->twice = o.twice;
        return TARE_OK;
    }
    finds earliest = {0, UINT64_MAX};
    for (uint64_t first = 0; first < c->t->n_elements; first += c->window) {
        c->twice = (finds){0, 0};
        memset(c->bits, 0, (size_t)(c->window / 8));
        TARE_TRY(walk(c, look_in_window, &first, err));
        earliest.n += c->twice.n;
        if (c->twice.n) earliest.first = tare_min_u64(earliest.first, c->twice.first);
    }
    c->twice = earliest;
    return TARE_OK;
}

static void report_finds(const checker *c, tare_report *report, const finds *found,
                         const char *code, const char *one, const char *many) {
    const tare_plane *p = &c->t->planes[c->plane];
    if (found->n == 0) return;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.item_kind = c->is_factor ? TARE_ITEM_ADAPTER : TARE_ITEM_TENSOR;
    f.item = (int64_t)(c->is_factor ? c->tensor / 2 : c->tensor);
    f.item_name = c->t->name;
    f.offset = p->offset + found->first * TARE_OUTLIER_BYTES;
    f.file = tare_str_of(c->m->n_files > 1 ? c->m->files[p->file].name : NULL);
    tare_report_addf(report, &f, "%" PRIu64 " %s", found->n, found->n == 1 ? one : many);
}

tare_status tare_verify_records(const tare_model *model, size_t tensor, bool is_factor,
                                tare_report *report, uint8_t *scratch, size_t scratch_size,
                                tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    if (!tare_tensor_has_records(model, tensor)) return TARE_OK;
    const size_t half = scratch_size / 2;
    checker c = {.m = model,
                 .tensor = tensor,
                 .t = t,
                 .is_factor = is_factor,
                 .plane = tare_encoding_list_plane(t->encoding),
                 .records = scratch,
                 .bits = scratch + half,
                 .at_once = half / TARE_OUTLIER_BYTES,
                 .window = (uint64_t)half * 8};
    const tare_plane *p = &t->planes[c.plane];
    const uint64_t size = model->files[p->file].reader.size;
    if (p->offset > size || p->size > size - p->offset) return TARE_OK; /* opening has said it */
    c.n = p->size / TARE_OUTLIER_BYTES;
    TARE_TRY(find_all(&c, err));
    report_finds(&c, report, &c.outside, "data.record", "outlier is about no element",
                 "outliers are about no element");
    report_finds(&c, report, &c.twice, "data.duplicate", "outlier is about an element once more",
                 "outliers are about elements once more");
    return TARE_OK;
}
