/* SPDX-License-Identifier: MIT
 *
 * Where tensors are: in the file, where they are a run of bytes there that belongs to no other but
 * an equal one; else in a file of views, which is made from theirs when it is read: transposed and
 * expanded tensors, parts of others. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/strided.h"

/* ---- views ----------------------------------------------------------------------------------- */

/* What is read at once: a row of a view may be elements far apart. */
enum { WINDOW = 65536 };
#define VIEWS_MOST (UINT64_C(1) << 30)

typedef struct view {
    uint64_t start; /* in the file of views; first, for looking it up */
    size_t tensor;  /* of the catalog */
    const tare_encoding *encoding;
    uint32_t file, bytes, n_dims;
    uint64_t offset;
    uint64_t dims[TARE_MAX_DIMS], strides[TARE_MAX_DIMS];
    uint32_t swapped, code_bits;
    bool is_signed;
    bool is_run;         /* its bytes are these, one after the other */
    const uint8_t *made; /* NULL: the bytes are those of a file */
    uint64_t span;
} view;

struct tare_strided_views {
    const tare_model *m;
    view *items; /* of the arena */
    size_t n, capacity;
    uint64_t size; /* of the file of views */
};

static void put_element(uint8_t *to, const uint8_t *from, const view *v) {
    if (!v->swapped) {
        memcpy(to, from, v->bytes);
        return;
    }
    for (uint32_t at = 0; at < v->bytes; at += v->swapped)
        for (uint32_t i = 0; i < v->swapped; i++) to[at + i] = from[at + v->swapped - 1 - i];
}

typedef struct source {
    const view *view;
    const tare_reader *reader;
    uint8_t *window;
} source;

/* n elements, `stride` apart from `offset` on, go to places `step` bytes apart. */
static tare_status read_line(uint8_t *to, uint64_t step, const source *s, uint64_t offset,
                             uint64_t stride, uint64_t n, tare_error *err) {
    const view *v = s->view;
    const uint64_t apart = stride * v->bytes;
    const uint64_t most = apart < WINDOW ? (WINDOW - v->bytes) / tare_max_u64(apart, 1) + 1 : 1;
    while (n) {
        const uint64_t take = tare_min_u64(n, most);
        const size_t size = (size_t)((take - 1) * apart + v->bytes);
        const uint8_t *from;
        TARE_TRY(tare_reader_view(&from, s->reader, offset, s->window, size, err));
        for (uint64_t i = 0; i < take; i++) put_element(to + i * step, from + i * apart, v);
        to += take * step;
        offset += take * apart;
        n -= take;
    }
    return TARE_OK;
}

/* Rows and columns of the last two dimensions, read along the one whose elements are closer. */
typedef struct rectangle {
    uint64_t offset, rows, cols, row_stride, col_stride;
} rectangle;

static tare_status read_rectangle(uint8_t *to, const source *s, const rectangle *a,
                                  tare_error *err) {
    const view *v = s->view;
    const uint64_t row_bytes = a->cols * v->bytes;
    if (a->row_stride >= a->col_stride) {
        for (uint64_t i = 0; i < a->rows; i++)
            TARE_TRY(read_line(to + i * row_bytes, v->bytes, s,
                               a->offset + i * a->row_stride * v->bytes, a->col_stride, a->cols,
                               err));
        return TARE_OK;
    }
    for (uint64_t i = 0; i < a->cols; i++)
        TARE_TRY(read_line(to + i * v->bytes, row_bytes, s,
                           a->offset + i * a->col_stride * v->bytes, a->row_stride, a->rows, err));
    return TARE_OK;
}

/* Where row i of all rows begins in the source. */
static uint64_t row_offset(const view *v, uint64_t row) {
    uint64_t at = 0;
    for (uint32_t d = v->n_dims - 1; d-- > 0;) {
        at += row % v->dims[d] * v->strides[d];
        row /= v->dims[d];
    }
    return v->offset + at * v->bytes;
}

/* The largest part of n elements from `first` on that is a rectangle. */
static rectangle rectangle_at(const view *v, uint64_t first, uint64_t n) {
    const uint64_t cols = v->dims[v->n_dims - 1], stride = v->strides[v->n_dims - 1];
    const uint64_t row = first / cols, col = first % cols;
    rectangle a = {.offset = row_offset(v, row) + col * stride * v->bytes,
                   .rows = 1,
                   .cols = tare_min_u64(n, cols - col),
                   .col_stride = stride};
    if (col || n < cols || v->n_dims < 2) return a;
    const uint64_t rows = v->dims[v->n_dims - 2];
    a.rows = tare_min_u64(n / cols, rows - row % rows);
    a.row_stride = v->strides[v->n_dims - 2];
    return a;
}

static tare_status read_elements(uint8_t *to, const source *s, uint64_t first, uint64_t n,
                                 tare_error *err) {
    while (n) {
        const rectangle a = rectangle_at(s->view, first, n);
        const uint64_t take = a.rows * a.cols;
        TARE_TRY(read_rectangle(to, s, &a, err));
        to += take * s->view->bytes;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* Bytes from..from + n of a view, which may begin and end inside an element. */
static tare_status read_view(uint8_t *to, const source *s, uint64_t from, size_t n,
                             tare_error *err) {
    const uint32_t bytes = s->view->bytes;
    uint8_t element[16];
    while (n) {
        const uint64_t first = from / bytes, skip = from % bytes;
        size_t take = n / bytes * bytes;
        if (!skip && take) {
            TARE_TRY(read_elements(to, s, first, take / bytes, err));
        } else {
            take = (size_t)tare_min_u64(n, bytes - skip);
            TARE_TRY(read_elements(element, s, first, 1, err));
            memcpy(to, element + skip, take);
        }
        to += take;
        from += take;
        n -= take;
    }
    return TARE_OK;
}

/* Codes first..first + n, a byte each. */
static tare_status read_codes(uint8_t *to, const source *s, uint64_t first, size_t n,
                              tare_error *err) {
    const view *v = s->view;
    const uint32_t bits = v->code_bits, each = 8 / bits;
    const unsigned mask = (1u << bits) - 1, sign = v->is_signed ? 1u << (bits - 1) : 0;
    while (n) {
        const uint64_t byte = first / each;
        const size_t skip = (size_t)(first % each);
        const size_t take = (size_t)tare_min_u64(n, (uint64_t)WINDOW * each - skip);
        const uint8_t *from;
        TARE_TRY(tare_reader_view(&from, s->reader, v->offset + byte, s->window,
                                  (skip + take + each - 1) / each, err));
        for (size_t i = 0; i < take; i++) {
            const unsigned code =
                (unsigned)from[(skip + i) / each] >> (skip + i) % each * bits & mask;
            to[i] = (uint8_t)((code ^ sign) - sign);
        }
        to += take;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* Bytes from..from + n of a view. */
static tare_status read_part(uint8_t *to, const source *s, uint64_t from, size_t n,
                             tare_error *err) {
    const view *v = s->view;
    if (v->is_run) return tare_reader_read(s->reader, v->offset + from, to, n, err);
    return v->code_bits ? read_codes(to, s, from, n, err) : read_view(to, s, from, n, err);
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const tare_strided_views *all = ctx;
    uint8_t *to = buf, *window = tare_alloc(all->m->allocator, WINDOW);
    tare_status status = TARE_OK;
    if (!window) return tare_fail(err, TARE_ERR_NOMEM, "view of a tensor");
    size_t i = tare_part_of(&all->items->start, all->n, sizeof *all->items, offset);
    for (; n && status == TARE_OK; i++) {
        const view *v = &all->items[i];
        tare_reader made;
        if (v->made) tare_reader_memory(&made, v->made, v->span, "");
        const source from = {v, v->made ? &made : &all->m->files[v->file].reader, window};
        const uint64_t end = i + 1 < all->n ? all->items[i + 1].start : all->size;
        const size_t take = (size_t)tare_min_u64(n, end - offset);
        status = read_part(to, &from, offset - v->start, take, err);
        to += take;
        offset += take;
        n -= take;
    }
    tare_free(all->m->allocator, window, WINDOW);
    return status;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Whether the elements are in the order of the rows, without gaps. */
static bool is_contiguous(const tare_strided_tensor *t) {
    uint64_t step = 1;
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (!t->dims[d]) return true;
    for (uint32_t d = t->n_dims; d-- > 0;) {
        if (t->dims[d] > 1 && t->strides[d] != step) return false;
        step *= t->dims[d];
    }
    return true;
}

void tare_strided_by_rows(tare_strided_tensor *t) {
    uint64_t step = 1;
    for (uint32_t d = t->n_dims; d-- > 0;) {
        t->strides[d] = step;
        if (!tare_mul_u64(step, tare_max_u64(t->dims[d], 1), &step)) step = UINT64_MAX;
    }
}

bool tare_strided_measure(tare_strided_tensor *t) {
    t->is_view = !is_contiguous(t) || t->swapped || t->made || t->code_bits;
    uint64_t last = 0, product = 1, reach;
    t->span = 0;
    for (uint32_t d = 0; d < t->n_dims; d++) {
        if (!tare_mul_u64(product, tare_max_u64(t->dims[d], 1), &product)) return false;
        if (!t->dims[d]) continue;
        if (!tare_mul_u64(t->dims[d] - 1, t->strides[d], &reach) ||
            !tare_add_u64(last, reach, &last))
            return false;
    }
    if (!tare_mul_u64(product, t->bytes, &product)) return false;
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (!t->dims[d]) return true;
    if (!tare_add_u64(last, 1, &last) || !tare_mul_u64(last, t->bytes, &t->span)) return false;
    if (t->code_bits) t->span = tare_ceil_div_u64(t->span, 8 / t->code_bits);
    return true;
}

/* ---- which are views ------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const tare_strided_tensor *x = *(tare_strided_tensor *const *)a,
                              *y = *(tare_strided_tensor *const *)b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

/* Runs of bytes that share some with others, and are not equal to all of these, are views. */
static void find_overlaps(tare_strided_tensor **sorted, size_t n) {
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t reach = sorted[i]->offset + sorted[i]->span;
        bool are_equal = true;
        for (end = i + 1;
             end < n && sorted[end]->file == sorted[i]->file && sorted[end]->offset < reach;
             end++) {
            are_equal &=
                sorted[end]->offset == sorted[i]->offset && sorted[end]->span == sorted[i]->span;
            reach = tare_max_u64(reach, sorted[end]->offset + sorted[end]->span);
        }
        for (size_t k = i; k < end && !are_equal; k++) sorted[k]->is_view = true;
    }
}

static tare_status mark_views(tare_strided_tensor *tensors, size_t n_tensors,
                              const tare_allocator *allocator, tare_error *err) {
    const size_t size = n_tensors * sizeof(tare_strided_tensor *);
    tare_strided_tensor **sorted = tare_alloc(allocator, size);
    size_t n = 0;
    if (!sorted) return tare_fail(err, TARE_ERR_NOMEM, "places of tensors");
    for (size_t i = 0; i < n_tensors; i++)
        if (!tensors[i].is_view && tensors[i].span) sorted[n++] = &tensors[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_place);
    find_overlaps(sorted, n);
    tare_free(allocator, sorted, size);
    return TARE_OK;
}

/* ---- the catalog ----------------------------------------------------------------------------- */

/* Room for `more` items at the end of a list of the catalog, in the arena. */
static void *extended(tare_model *m, const void *items, size_t n, size_t more, size_t size) {
    uint8_t *all = tare_arena_array(&m->arena, (uint64_t)n + more, size);
    if (all && n) memcpy(all, items, n * size);
    return all;
}

/* Room for one more; its place in the file of views follows those before it. */
static view *new_view(tare_strided_set *set, tare_error *err) {
    if (!set->views) set->views = TARE_NEW(&set->m->arena, tare_strided_views);
    tare_strided_views *all = set->views;
    if (all && all->n == all->capacity) {
        const size_t more = all->n ? all->n : 16;
        all->items = extended(set->m, all->items, all->n, more, sizeof *all->items);
        all->capacity = all->n + more;
    }
    if (all && all->items) return &all->items[all->n];
    tare_fail(err, TARE_ERR_NOMEM, "views of tensors");
    return NULL;
}

static tare_status add_view(tare_strided_set *set, const tare_strided_tensor *t, uint32_t file,
                            tare_error *err) {
    const tare_catalog *c = &set->m->catalog;
    view *v = new_view(set, err);
    if (!v) return TARE_ERR_NOMEM;
    tare_strided_views *all = set->views;
    *v = (view){.start = all->size,
                .tensor = c->n_tensors,
                .encoding = t->encoding,
                .file = file,
                .bytes = t->bytes,
                .n_dims = t->n_dims,
                .offset = t->offset,
                .swapped = t->swapped,
                .code_bits = t->code_bits,
                .is_signed = t->is_signed,
                .is_run = is_contiguous(t) && !t->swapped && !t->code_bits,
                .made = t->made,
                .span = t->span};
    memcpy(v->dims, t->dims, sizeof v->dims);
    memcpy(v->strides, t->strides, sizeof v->strides);
    uint64_t size = t->bytes; /* the product was found to fit */
    for (uint32_t d = 0; d < t->n_dims; d++) size *= t->dims[d];
    if (v->is_run) size = t->span;
    all->m = set->m;
    all->n++;
    /* What a file says of expanded tensors in a few bytes may be more than any disk holds. */
    if (tare_add_u64(all->size, size, &all->size) &&
        (all->size <= VIEWS_MOST || all->size / 64 <= set->m->files[file].reader.size))
        return TARE_OK;
    return tare_fail_at(err, TARE_ERR_LIMIT, t->record,
                        "expanded tensors of more than 1 GiB and 64 times the file");
}

static tare_status add_tensor(tare_strided_set *set, const tare_strided_tensor *t, uint32_t file,
                              tare_error *err) {
    tare_model *m = set->m;
    tare_tensor *to = &m->catalog.tensors[m->catalog.n_tensors];
    *to = (tare_tensor){.name = t->name, .offset = t->record};
    const tare_status status =
        t->is_view && t->span
            ? add_view(set, t, file, err)
            : tare_tensor_set(m, to, t->encoding, t->dims, t->n_dims, file, t->offset, err);
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)m->catalog.n_tensors, t->name);
    m->catalog.n_tensors += status == TARE_OK;
    return status;
}

tare_status tare_strided_add(tare_strided_set *set, tare_strided_tensor *tensors, size_t n,
                             uint32_t file, tare_error *err) {
    tare_catalog *c = &set->m->catalog;
    TARE_TRY(mark_views(tensors, n, set->m->allocator, err));
    c->tensors = extended(set->m, c->tensors, c->n_tensors, n, sizeof *c->tensors);
    if (!c->tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++)
        TARE_TRY(add_tensor(set, &tensors[i], file + tensors[i].file, err));
    return TARE_OK;
}

tare_status tare_strided_end(tare_strided_set *set, tare_error *err) {
    tare_model *m = set->m;
    tare_strided_views *all = set->views;
    tare_reader reader;
    uint32_t file;
    if (!all) return TARE_OK;
    const char *name = m->files[all->items->file].name;
    tare_reader_callback(&reader, NULL, all, all->size, name);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(m, &reader, name, &file, err));
    m->files[file].is_decoded = true;
    for (size_t i = 0; i < all->n; i++) {
        view *v = &all->items[i];
        TARE_TRY(tare_tensor_set(m, &m->catalog.tensors[v->tensor], v->encoding, v->dims, v->n_dims,
                                 file, v->start, err));
        if (v->n_dims == 0) v->n_dims = (uint32_t)(v->dims[0] = v->strides[0] = 1);
    }
    return TARE_OK;
}
