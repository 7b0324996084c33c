/* SPDX-License-Identifier: MIT
 *
 * The single check of tensor data locations, shared by all containers: aligned, inside the data
 * section, not overlapping; and the list of the bytes that belong to no tensor. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"

typedef struct range {
    uint64_t offset, end;
    size_t tensor;
} range;

/* A total order, so that what is reported does not depend on the sorting. */
static int compare(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static uint64_t place_of(const tare_model *m, const tare_layout_rules *rules, size_t tensor) {
    return rules->place ? rules->place(rules->place_ctx, tensor)
                        : m->catalog.tensors[tensor].offset;
}

static tare_status fault(const tare_model *m, const tare_layout_rules *rules, size_t tensor,
                         tare_status status, const char *what, tare_error *err) {
    tare_fail_at(err, status, place_of(m, rules, tensor), what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, m->catalog.tensors[tensor].name);
    tare_error_file(err, tare_model_record_file(m, rules->file));
    return status;
}

/* Tensors cut off by the end of the file: how many, the first of them, where the last one ends. */
enum { EXAMPLES = 4 };

typedef struct missing {
    size_t n, first[EXAMPLES], last;
    uint64_t end;
} missing;

static const char beyond_end[] = "tensor data beyond the end of the file";

/* Of a tensor with several planes the first that is beyond the end counts. */
static void note_missing(missing *out, size_t tensor, uint64_t end) {
    if (end > out->end) out->end = end;
    if (out->n && out->last == tensor) return;
    if (out->n < EXAMPLES) out->first[out->n] = tensor;
    out->last = tensor;
    out->n++;
}

/* One finding about the file, then a few of the tensors. */
static void report_missing(tare_model *m, const tare_layout_rules *rules, const missing *what,
                           tare_report *report) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_TRUNCATED, rules->truncated_code);
    const uint64_t size = m->files[rules->file].reader.size;
    f.offset = size;
    f.file = tare_str_of(tare_model_record_file(m, rules->file));
    m->files[rules->file].is_truncated = true;
    tare_report_addf(report, &f,
                     "the file ends %" PRIu64 " bytes too early, at %" PRIu64 " of %" PRIu64
                     ": data of %zu of %zu tensors is missing",
                     what->end - size, size, what->end, what->n,
                     m->catalog.n_tensors - rules->first_tensor);
    for (size_t i = 0; i < what->n && i < EXAMPLES; i++) {
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = (int64_t)what->first[i];
        f.offset = place_of(m, rules, what->first[i]);
        f.item_name = m->catalog.tensors[what->first[i]].name;
        f.text = tare_str_of(beyond_end);
        tare_report_add(report, &f);
    }
}

/* The ranges of all planes in the file, each checked by itself. */
static tare_status collect(tare_model *m, const tare_layout_rules *rules, range *ranges, size_t *n,
                           tare_report *report, tare_error *err) {
    bool is_sorted = true;
    missing lost = {.n = 0};
    *n = 0;
    for (size_t i = rules->first_tensor; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            const tare_plane *plane = &t->planes[p];
            uint64_t end;
            if (plane->file != rules->file) continue;
            if (plane->offset < rules->base || !tare_add_u64(plane->offset, plane->size, &end))
                return fault(m, rules, i, TARE_ERR_CORRUPT, "tensor data outside the data section",
                             err);
            if (rules->alignment > 1 && (plane->offset - rules->base) % rules->alignment)
                return fault(m, rules, i, TARE_ERR_CORRUPT, "tensor data is misaligned", err);
            /* Nothing of an empty tensor can be missing; a writer that pads before it but not after
             * puts it beyond the end. */
            if (plane->offset > rules->end ? plane->size || !rules->may_be_truncated
                                           : end > rules->end) {
                if (!rules->may_be_truncated)
                    return fault(m, rules, i, TARE_ERR_TRUNCATED, beyond_end, err);
                note_missing(&lost, i, end);
            }
            ranges[*n] = (range){plane->offset, end, i};
            is_sorted = is_sorted && (*n == 0 || compare(&ranges[*n - 1], &ranges[*n]) < 0);
            ++*n;
        }
    }
    if (lost.n) report_missing(m, rules, &lost, report);
    if (!is_sorted) qsort(ranges, *n, sizeof *ranges, compare);
    return TARE_OK;
}

static bool put_filler(tare_model *m, const tare_layout_rules *rules, tare_filler **list, size_t *n,
                       size_t *capacity, uint64_t from, uint64_t to) {
    void *items = *list;
    if (!tare_grow(m->allocator, &items, capacity, *n + 1, sizeof **list)) return false;
    *list = items;
    (*list)[(*n)++] = (tare_filler){rules->file, from, to - from};
    return true;
}

/* Walks the sorted ranges: overlaps, gaps. *fillers is a growing list of m->allocator. */
static tare_status walk(tare_model *m, const tare_layout_rules *rules, const range *ranges,
                        size_t n, tare_filler **fillers, size_t *n_fillers, size_t *capacity,
                        tare_error *err) {
    uint64_t begin = rules->base, end = rules->base;
    uint64_t padded = tare_min_u64(rules->base, m->files[rules->file].reader.size);
    if (rules->padding_from && rules->padding_from < padded &&
        !put_filler(m, rules, fillers, n_fillers, capacity, rules->padding_from, padded))
        return tare_fail(err, TARE_ERR_NOMEM, "list of gaps");
    for (size_t i = 0; i < n; i++) {
        const range *r = &ranges[i];
        if (r->offset == r->end && rules->allows_gaps) continue;
        if (r->offset < end) {
            if (rules->allows_aliases && r->offset == begin && r->end == end) continue;
            return fault(m, rules, r->tensor, TARE_ERR_CORRUPT,
                         "tensor data overlaps that of another tensor", err);
        }
        if (r->offset > end && !rules->allows_gaps)
            return fault(m, rules, r->tensor, TARE_ERR_CORRUPT,
                         "tensor data leaves a hole before it", err);
        uint64_t to = tare_min_u64(r->offset, rules->end);
        if (to > end && !put_filler(m, rules, fillers, n_fillers, capacity, end, to))
            return tare_fail(err, TARE_ERR_NOMEM, "list of gaps");
        begin = r->offset;
        end = r->end;
    }
    if (end >= rules->end) return TARE_OK;
    if (!rules->allows_gaps) {
        tare_fail_at(err, TARE_ERR_CORRUPT, end, "bytes that belong to no tensor");
        tare_error_detail(err, "%" PRIu64 " bytes too many", rules->end - end);
        return TARE_ERR_CORRUPT;
    }
    if (!put_filler(m, rules, fillers, n_fillers, capacity, end, rules->end))
        return tare_fail(err, TARE_ERR_NOMEM, "list of gaps");
    return TARE_OK;
}

tare_status tare_layout_check(tare_model *m, const tare_layout_rules *rules, tare_filler **fillers,
                              size_t *n_fillers, tare_report *report, tare_error *err) {
    size_t most = 0, n, capacity = 0, count = 0;
    tare_filler *list = NULL;
    for (size_t i = rules->first_tensor; i < m->catalog.n_tensors; i++)
        most += m->catalog.tensors[i].encoding->n_planes;
    range *ranges = tare_alloc(m->allocator, most * sizeof *ranges);
    if (!ranges) return tare_fail(err, TARE_ERR_NOMEM, "layout check");
    tare_status s = collect(m, rules, ranges, &n, report, err);
    if (s == TARE_OK) s = walk(m, rules, ranges, n, &list, &count, &capacity, err);
    tare_free(m->allocator, ranges, most * sizeof *ranges);
    if (s == TARE_OK && count) s = tare_model_keep(m, list, capacity * sizeof *list, err);
    if (s != TARE_OK || count == 0) {
        tare_free(m->allocator, list, capacity * sizeof *list);
        list = NULL;
    }
    *fillers = list;
    *n_fillers = s == TARE_OK ? count : 0;
    return s;
}

tare_status tare_layout_within_files(const tare_model *m, tare_error *err) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            const tare_plane *plane = &t->planes[p];
            const tare_open_file *file = &m->files[plane->file];
            const uint64_t size = file->reader.size;
            if (plane->size == 0 || file->is_truncated ||
                (plane->offset <= size && plane->size <= size - plane->offset))
                continue;
            tare_fail_tensor(err, TARE_ERR_TRUNCATED, t, i, "the file ends too early");
            if (err) err->offset = size;
            tare_error_file(err, tare_model_record_file(m, plane->file));
            return TARE_ERR_TRUNCATED;
        }
    }
    return TARE_OK;
}
