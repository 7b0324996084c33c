/* SPDX-License-Identifier: MIT
 *
 * Tensors in chunks, as one file that is put together when it is read. Chunks are checked when the
 * model is opened: sorted along the dimension that most of them differ in, each is compared with those
 * that overlap it there, and what is left over after their sum is what no chunk has. */
#include "format/joined.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "model/names.h"

enum { WINDOW = 65536 };
#define COMPARED_MOST (UINT64_C(1) << 28)

typedef struct part {
    const tare_tensor *stored;
    const uint64_t *at;
} part;

typedef struct whole {
    uint64_t start; /* in the file; first, for looking it up */
    const tare_joined_tensor *of;
    part *parts;
    size_t n_parts;
    const char *fault; /* why it cannot be read; NULL: it can */
    size_t tensor;     /* of the catalog */
} whole;

struct joined_file {
    const tare_model *m;
    whole *items;
    size_t n;
    uint64_t size;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* A part, of a tensor of two dimensions at least as far as this is concerned. */
typedef struct box {
    const tare_reader *reader;
    uint64_t offset;      /* of its bytes */
    uint64_t row_bytes;   /* of the tensor */
    uint64_t left, width; /* of its rows in the tensor's, in bytes */
    uint64_t n_rows;
    uint32_t n_outer;
    uint64_t dims[TARE_MAX_DIMS], at[TARE_MAX_DIMS], whole[TARE_MAX_DIMS];
} box;

static box box_of(const whole *j, const part *p, const tare_model *m) {
    const uint32_t n = j->of->n_dims, bytes = j->of->encoding->planes[0].unit_bytes;
    box b = {.reader = &m->files[p->stored->planes[0].file].reader,
             .offset = p->stored->planes[0].offset,
             .row_bytes = (n ? j->of->dims[n - 1] : 1) * bytes,
             .left = (n ? p->at[n - 1] : 0) * bytes,
             .width = (n ? p->stored->dims[n - 1] : 1) * bytes,
             .n_rows = 1,
             .n_outer = n ? n - 1 : 0};
    for (uint32_t d = 0; d < b.n_outer; d++) {
        b.dims[d] = p->stored->dims[d];
        b.at[d] = p->at[d];
        b.whole[d] = j->of->dims[d];
        b.n_rows *= b.dims[d];
    }
    return b;
}

/* The row of the tensor that row r of the box is: it grows with r. */
static uint64_t row_of(const box *b, uint64_t r) {
    uint64_t row = 0, step = 1;
    for (uint32_t d = b->n_outer; d-- > 0;) {
        row += (b->at[d] + r % b->dims[d]) * step;
        r /= b->dims[d];
        step *= b->whole[d];
    }
    return row;
}

/* The first row of the box that is `row` of the tensor or comes after it. */
static uint64_t first_row(const box *b, uint64_t row) {
    uint64_t low = 0, high = b->n_rows;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (row_of(b, middle) < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many rows from r on follow one another in the tensor, too. */
static uint64_t run_of(const box *b, uint64_t r) {
    if (!b->n_outer) return 1;
    const uint64_t dim = b->dims[b->n_outer - 1];
    return dim - r % dim;
}

typedef struct span {
    uint8_t *to;
    uint64_t from, n; /* bytes of the tensor */
    uint8_t *window;
} span;

/* Part of a row that begins at byte `place` of the tensor: what of it is in the span. */
static tare_status read_piece(const span *s, const box *b, uint64_t r, uint64_t place,
                              tare_error *err) {
    const uint64_t first = tare_max_u64(place, s->from),
                   end = tare_min_u64(place + b->width, s->from + s->n);
    if (first >= end) return TARE_OK;
    return tare_reader_read(b->reader, b->offset + r * b->width + (first - place),
                            s->to + (first - s->from), (size_t)(end - first), err);
}

/* Whole rows r..r + n, which lie in the span, by windows. */
static tare_status read_rows(const span *s, const box *b, uint64_t r, uint64_t n, uint64_t place,
                             tare_error *err) {
    const uint64_t most = WINDOW / b->width;
    while (n) {
        const uint64_t take = tare_min_u64(n, most);
        const uint8_t *bytes;
        TARE_TRY(tare_reader_view(&bytes, b->reader, b->offset + r * b->width, s->window,
                                  (size_t)(take * b->width), err));
        for (uint64_t i = 0; i < take; i++)
            memcpy(s->to + (place - s->from) + i * b->row_bytes, bytes + i * b->width,
                   (size_t)b->width);
        r += take;
        place += take * b->row_bytes;
        n -= take;
    }
    return TARE_OK;
}

/* Rows r..r + n that follow one another; the first begins at byte `place` of the tensor. */
static tare_status read_run(const span *s, const box *b, uint64_t r, uint64_t n, uint64_t place,
                            tare_error *err) {
    const box all = {
        .reader = b->reader, .offset = b->offset + r * b->width, .width = n * b->width};
    if (b->width == b->row_bytes) return read_piece(s, &all, 0, place, err);
    for (uint64_t i = 0; i < n;) {
        const uint64_t at = place + i * b->row_bytes;
        uint64_t inside = 0;
        if (at >= s->from + s->n) break;
        if (at >= s->from && s->from + s->n - at >= b->width)
            inside = tare_min_u64(n - i, (s->from + s->n - at - b->width) / b->row_bytes + 1);
        if (inside && b->width <= WINDOW)
            TARE_TRY(read_rows(s, b, r + i, inside, at, err));
        else
            TARE_TRY(read_piece(s, b, r + i, at, err));
        i += inside && b->width <= WINDOW ? inside : 1;
    }
    return TARE_OK;
}

static tare_status read_box(const span *s, const box *b, tare_error *err) {
    const uint64_t last = (s->from + s->n - 1) / b->row_bytes;
    uint64_t r = first_row(b, s->from / b->row_bytes);
    while (r < b->n_rows) {
        const uint64_t row = row_of(b, r);
        if (row > last) break;
        const uint64_t n = tare_min_u64(run_of(b, r), last - row + 1);
        TARE_TRY(read_run(s, b, r, n, row * b->row_bytes + b->left, err));
        r += n;
    }
    return TARE_OK;
}

static tare_status read_joined(const span *s, const whole *j, const tare_model *m,
                               tare_error *err) {
    if (j->fault)
        return tare_fail_tensor(err, TARE_ERR_CORRUPT, &m->catalog.tensors[j->tensor], j->tensor,
                                j->fault);
    for (size_t i = 0; i < j->n_parts; i++) {
        const box b = box_of(j, &j->parts[i], m);
        TARE_TRY(read_box(s, &b, err));
    }
    return TARE_OK;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const struct joined_file *f = ctx;
    uint8_t *to = buf, *window = tare_alloc(f->m->allocator, WINDOW);
    tare_status status = TARE_OK;
    if (!window) return tare_fail(err, TARE_ERR_NOMEM, "chunks of a tensor");
    size_t i = tare_part_of(&f->items->start, f->n, sizeof *f->items, offset);
    for (; n && status == TARE_OK; i++) {
        const uint64_t end = i + 1 < f->n ? f->items[i + 1].start : f->size;
        const size_t take = (size_t)tare_min_u64(n, end - offset);
        const span s = {to, offset - f->items[i].start, take, window};
        status = read_joined(&s, &f->items[i], f->m, err);
        to += take;
        offset += take;
        n -= take;
    }
    tare_free(f->m->allocator, window, WINDOW);
    return status;
}

/* ---- whether chunks make up a tensor ----------------------------------------------------------- */

/* What is at work while a model is joined. */
typedef struct joining {
    tare_model *m;
    const tare_joined_set *set;
    tare_report *report;
    tare_arena scratch;
    whole *items; /* of each tensor of the set */
    uint64_t compared;
    bool is_joined; /* some tensor is a copy, or not a single chunk with its name */
} joining;

/* A part by its place along one dimension. */
typedef struct edge {
    uint64_t from, to;
    const part *part;
} edge;

static int by_edge(const void *a, const void *b) {
    const edge *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static void sort_along(edge *out, const whole *j, uint32_t d) {
    for (size_t i = 0; i < j->n_parts; i++) {
        const part *p = &j->parts[i];
        out[i] = (edge){p->at[d], p->at[d] + p->stored->dims[d], p};
    }
    qsort(out, j->n_parts, sizeof *out, by_edge);
}

static uint32_t best_dimension(edge *room, const whole *j) {
    uint32_t best = 0;
    size_t most = 0;
    for (uint32_t d = 0; d < j->of->n_dims; d++) {
        size_t n = 1;
        sort_along(room, j, d);
        for (size_t i = 1; i < j->n_parts; i++) n += room[i].from != room[i - 1].from;
        if (n > most) best = d;
        if (n > most) most = n;
    }
    return best;
}

static bool overlap(const part *a, const part *b, uint32_t n_dims) {
    for (uint32_t d = 0; d < n_dims; d++)
        if (a->at[d] >= b->at[d] + b->stored->dims[d] || b->at[d] >= a->at[d] + a->stored->dims[d])
            return false;
    return true;
}

/* Two parts that overlap: *second is not NULL. */
static tare_status find_overlap(const part **second, joining *k, const whole *j, tare_error *err) {
    edge *edges = TARE_NEW_ARRAY(&k->scratch, edge, j->n_parts);
    *second = NULL;
    if (!edges) return tare_fail(err, TARE_ERR_NOMEM, "chunks");
    if (j->n_parts < 2) return TARE_OK;
    if (!j->of->n_dims) *second = &j->parts[1];
    if (!j->of->n_dims) return TARE_OK;
    sort_along(edges, j, best_dimension(edges, j));
    for (size_t i = 0; i < j->n_parts; i++)
        for (size_t n = i + 1; n < j->n_parts && edges[n].from < edges[i].to; n++) {
            if (++k->compared > COMPARED_MOST)
                return tare_fail(err, TARE_ERR_LIMIT, "chunks that lie side by side");
            if (!overlap(edges[i].part, edges[n].part, j->of->n_dims)) continue;
            *second = edges[n].part;
            return TARE_OK;
        }
    return TARE_OK;
}

static tare_status report_fault(joining *k, whole *j, const char *code, const char *fault,
                                tare_error *err) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.offset = j->of->record;
    f.file = tare_str_of(k->m->directory_file ? k->m->directory_file : "");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = j->of->name;
    f.text = tare_str_of(fault);
    j->fault = fault;
    tare_report_add(k->report, &f);
    return tare_model_lacks(k->m, j->of->name, code, fault, err);
}

static tare_status check(joining *k, whole *j, tare_error *err) {
    const part *second;
    uint64_t n = 1, sum = 0;
    for (uint32_t d = 0; d < j->of->n_dims; d++)
        if (!tare_mul_u64(n, j->of->dims[d], &n))
            return tare_fail(err, TARE_ERR_LIMIT, "number of elements");
    TARE_TRY(find_overlap(&second, k, j, err));
    if (second)
        return report_fault(k, j, "joined.overlap",
                            "two of its chunks overlap: which one counts is unknown", err);
    for (size_t i = 0; i < j->n_parts; i++) sum += j->parts[i].stored->n_elements;
    if (sum == n) return TARE_OK;
    return report_fault(k, j, "joined.missing", "some of its elements are in no chunk", err);
}

/* ---- chunks ------------------------------------------------------------------------------------ */

/* The place is that of what describes the tensor. */
static tare_status fail_chunk(const joining *k, size_t i, tare_status status, const char *what,
                              tare_error *err) {
    const tare_joined_tensor *of = &k->set->tensors[k->set->chunks[i].of];
    tare_fail_at(err, status, k->m->directory_file ? of->record : TARE_NO_OFFSET, what);
    tare_error_item(err, TARE_ITEM_TENSOR, -1, k->m->catalog.tensors[i].name);
    if (k->m->directory_file) tare_error_file(err, k->m->directory_file);
    return status;
}

static tare_status check_chunk(const joining *k, size_t i, tare_error *err) {
    const tare_joined_chunk *c = &k->set->chunks[i];
    const tare_joined_tensor *of = &k->set->tensors[c->of];
    const tare_tensor *t = &k->m->catalog.tensors[i];
    if (t->encoding != of->encoding)
        return fail_chunk(k, i, TARE_ERR_CORRUPT, "a chunk of another type than its tensor's", err);
    if (t->encoding->n_planes != 1 || t->encoding->planes[0].unit != 1)
        return fail_chunk(k, i, TARE_ERR_UNSUPPORTED, "a chunk of numbers in blocks", err);
    if (t->n_dims != of->n_dims)
        return fail_chunk(k, i, TARE_ERR_CORRUPT,
                          "a chunk with another number of dimensions than its tensor", err);
    for (uint32_t d = 0; d < of->n_dims; d++)
        if (c->at[d] > of->dims[d] || t->dims[d] > of->dims[d] - c->at[d])
            return fail_chunk(k, i, TARE_ERR_CORRUPT, "a chunk that lies outside of its tensor",
                              err);
    return TARE_OK;
}

static bool is_part(const tare_joined_set *set, size_t i) {
    return set->chunks[i].of < set->n_tensors;
}

/* The parts of each tensor; a part without elements is none. */
static tare_status sort_chunks(joining *k, tare_error *err) {
    const tare_catalog *c = &k->m->catalog;
    k->items = TARE_NEW_ARRAY(&k->m->arena, whole, k->set->n_tensors);
    part *parts = TARE_NEW_ARRAY(&k->m->arena, part, c->n_tensors);
    if (!k->items || !parts) return tare_fail(err, TARE_ERR_NOMEM, "chunks");
    for (size_t i = 0; i < c->n_tensors; i++) {
        k->is_joined |= k->set->chunks[i].of == TARE_A_COPY;
        if (!is_part(k->set, i)) continue;
        TARE_TRY(check_chunk(k, i, err));
        k->is_joined |=
            !tare_str_equal(c->tensors[i].name, k->set->tensors[k->set->chunks[i].of].name);
        if (c->tensors[i].n_elements) k->items[k->set->chunks[i].of].n_parts++;
    }
    for (size_t i = 0; i < k->set->n_tensors; i++) {
        whole *j = &k->items[i];
        j->of = &k->set->tensors[i];
        j->parts = parts;
        parts += j->n_parts;
        j->n_parts = 0;
    }
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!is_part(k->set, i) || !c->tensors[i].n_elements) continue;
        whole *j = &k->items[k->set->chunks[i].of];
        uint64_t *at = TARE_NEW_ARRAY(&k->m->arena, uint64_t, TARE_MAX_DIMS);
        if (!at) return tare_fail(err, TARE_ERR_NOMEM, "chunks");
        memcpy(at, k->set->chunks[i].at, sizeof k->set->chunks[i].at);
        j->parts[j->n_parts++] = (part){&c->tensors[i], at};
    }
    return TARE_OK;
}

/* ---- the catalog ------------------------------------------------------------------------------- */

/* A tensor that one chunk has is where that is. */
static bool is_single(const whole *j) {
    return j->n_parts == 1 && !j->fault;
}

static tare_status add_file(joining *k, uint32_t *file, tare_error *err) {
    struct joined_file *f = TARE_NEW(&k->m->arena, struct joined_file);
    tare_reader reader;
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    *f = (struct joined_file){.m = k->m};
    f->items = TARE_NEW_ARRAY(&k->m->arena, whole, k->set->n_tensors);
    if (!f->items) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < k->set->n_tensors; i++) {
        whole *j = &k->items[i];
        uint64_t size = j->of->encoding->planes[0].unit_bytes;
        for (uint32_t d = 0; d < j->of->n_dims; d++)
            if (!tare_mul_u64(size, j->of->dims[d], &size)) size = UINT64_MAX;
        if (is_single(j) || !size) continue;
        j->start = f->size;
        j->tensor = i;
        if (!tare_add_u64(f->size, size, &f->size))
            return tare_fail(err, TARE_ERR_LIMIT, "bytes of all tensors");
        f->items[f->n++] = *j;
    }
    const char *name = k->m->directory_file ? k->m->directory_file : k->m->format;
    tare_reader_callback(&reader, NULL, f, f->size, name);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(k->m, &reader, name, file, err));
    k->m->files[*file].is_decoded = true;
    return TARE_OK;
}

static tare_status put_joined(const joining *k, tare_tensor *to, const whole *j, uint32_t file,
                              tare_error *err) {
    const tare_plane *plane = is_single(j) ? &j->parts->stored->planes[0] : NULL;
    *to = (tare_tensor){.name = j->of->name, .offset = j->of->record};
    return tare_tensor_set(k->m, to, j->of->encoding, j->of->dims, j->of->n_dims,
                           plane ? plane->file : file, plane ? plane->offset : j->start, err);
}

/* The joined tensors, then those on their own. What else a model knows of packed weights stays empty. */
static tare_status put_all(joining *k, uint32_t file, tare_error *err) {
    tare_model *m = k->m;
    const tare_catalog *old = &m->stored->catalog;
    const size_t n = k->set->n_tensors + old->n_tensors;
    tare_tensor *tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    size_t at = 0;
    if (!tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (; at < k->set->n_tensors; at++)
        TARE_TRY(put_joined(k, &tensors[at], &k->items[at], file, err));
    for (size_t i = 0; i < old->n_tensors; i++)
        if (k->set->chunks[i].of == TARE_NOT_A_CHUNK) tensors[at++] = old->tensors[i];
    m->catalog.tensors = tensors;
    m->catalog.n_tensors = at;
    return TARE_OK;
}

static tare_status replace(joining *k, tare_error *err) {
    tare_model *m = k->m;
    tare_model *stored = TARE_NEW(&m->arena, tare_model);
    uint32_t file;
    if (!stored) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (m->n_stand_ins)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a record of stand-ins beside chunks");
    memcpy(stored, m, sizeof *stored);
    m->stored = stored;
    TARE_TRY(add_file(k, &file, err));
    TARE_TRY(put_all(k, file, err));
    TARE_TRY(tare_name_index_build(&m->tensor_index, &m->arena, m->catalog.tensors,
                                   m->catalog.n_tensors, sizeof *m->catalog.tensors,
                                   "duplicate tensor name", err));
    tare_model_note_summary(m);
    return TARE_OK;
}

tare_status tare_join(tare_model *m, const tare_joined_set *set, bool stored, tare_report *report,
                      tare_error *err) {
    joining k = {.m = m, .set = set, .report = report};
    tare_arena_init(&k.scratch, m->allocator);
    tare_status status = sort_chunks(&k, err);
    for (size_t i = 0; i < set->n_tensors && status == TARE_OK; i++) {
        status = check(&k, &k.items[i], err);
        if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, -1, set->tensors[i].name);
        k.is_joined |= !is_single(&k.items[i]);
    }
    tare_arena_free(&k.scratch);
    return status == TARE_OK && k.is_joined && !stored ? replace(&k, err) : status;
}

tare_str tare_joined_name(tare_arena *arena, tare_str tensor, const uint64_t *at, uint32_t n_dims,
                          bool is_only) {
    char place[TARE_MAX_DIMS * 21 + 2];
    size_t n = 0;
    if (is_only || !n_dims) return tare_arena_str(arena, tensor);
    for (uint32_t d = 0; d < n_dims; d++)
        n += (size_t)snprintf(place + n, sizeof place - n, "%c%llu", d ? ',' : '@',
                              (unsigned long long)at[d]);
    char *name = tare_arena_array(arena, (uint64_t)tensor.len + n + 1, 1);
    if (!name) return (tare_str){NULL, 0};
    memcpy(name, tensor.ptr, tensor.len);
    memcpy(name + tensor.len, place, n);
    return (tare_str){name, tensor.len + n};
}
