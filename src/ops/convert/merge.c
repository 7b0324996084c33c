/* SPDX-License-Identifier: MIT
 *
 * Merging adapters; the order of sums is that of encoding/low_rank.h. For a tensor being processed
 * all of B is in memory, in panels, and those rows of A that are needed: for an adapter of rank r
 * and a tensor of n columns that is 4 * r * n bytes, however large the model and the adapter are.
 * DoRA's magnitudes make the whole tensor be read once more, before any of it is merged: the lengths of all
 * rows of the sum have to be known.
 */
#include "ops/convert/merge.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/low_rank.h"
#include "model/adapter_set.h"
#include "model/peft.h"
#include "ops/digest.h"
#include "ops/mix/roles.h"

#define PIECE ((uint64_t)1 << 16) /* elements of a factor read at a time */

/* A pair and the tensor it is added to. */
typedef struct part {
    size_t tensor; /* first, for looking it up */
    size_t order;
    const tare_adapter_set *set;
    const tare_adapter *adapter;
    tare_adapter product; /* the same, the other way round if the tensor has it so */
    tare_merge_place place;
    bool is_turned, is_square;
    float scale;
    /* while in use; guarded by the mutex */
    float *b; /* panels; NULL: not in memory */
    float largest;
    float *lengthening; /* DoRA: of each row, or column: magnitude / length of the sum */
    uint64_t left;      /* elements of the tensor not yet merged */
    unsigned users;
} part;

struct tare_merge {
    const tare_model *in;
    const tare_allocator *allocator;
    part *parts; /* by tensor; those of one tensor in the order of the request */
    size_t n, capacity;
    pthread_mutex_t mutex;
};

/* ---- which pairs go where -------------------------------------------------------------------- */

static void report_shapes(const part *p, const tare_tensor *t, tare_report *report) {
    const char *what = p->adapter->b ? "makes" : "has";
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_ARG, "convert.adapter-shape");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)p->tensor;
    f.item_name = t->name;
    tare_report_addf(report, &f,
                     "the adapter \"%.*s\" %s [%llu, %llu] of rank %llu, the tensor is "
                     "[%llu, %llu]",
                     (int)tare_min_u64(p->adapter->name.len, 200), p->adapter->name.ptr, what,
                     (unsigned long long)p->adapter->rows, (unsigned long long)p->adapter->cols,
                     (unsigned long long)p->adapter->rank, (unsigned long long)p->place.rows,
                     (unsigned long long)p->place.cols);
}

/* A convolution's kernel is a matrix of what comes out by all else. */
static bool fits_kernel(const tare_adapter *a, const tare_tensor *t) {
    const tare_tensor *b = a->b;
    if (!b || a->is_transposed || t->n_dims < 3 || a->rows != t->dims[0]) return false;
    for (uint32_t d = 1; d < t->n_dims; d++)
        if (t->dims[d] != (d < b->n_dims ? b->dims[d] : 1)) return false;
    return b->n_dims <= t->n_dims;
}

static tare_status check_pair(const part *p, const tare_model *in, tare_report *report,
                              tare_error *err) {
    const tare_adapter *a = &p->product;
    const tare_tensor *t = &in->catalog.tensors[p->tensor];
    const bool is_whole = p->place.n_elements == t->n_elements;
    if (a->kind == TARE_ADAPTER_PAIR && t->n_dims < 2)
        return tare_fail(err, TARE_ERR_ARG,
                         "a pair of factors makes a matrix, and the tensor is a vector");
    if ((a->rows != p->place.rows || a->cols != p->place.cols) &&
        !(is_whole && fits_kernel(a, t))) {
        report_shapes(p, t, report);
        return tare_fail(err, TARE_ERR_ARG,
                         "its product differs in shape from the tensor to be changed");
    }
    if (a->magnitude && (!is_whole || a->rows * a->cols != p->adapter->rows * p->adapter->cols))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "DoRA of a matrix that is a part of its tensor, or several tensors");
    const tare_model *factors = p->set->factors;
    const tare_tensor *const parts[] = {a->a, a->b, a->magnitude};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i]) continue;
        const size_t factor = tare_adapter_factor(p->set, parts[i]);
        if (!tare_tensor_can_decode(factors, factor))
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type of a factor cannot be decoded");
        TARE_TRY(tare_tensor_check_data(factors, factor, err));
    }
    if (a->kind == TARE_ADAPTER_WHOLE && p->scale != 1)
        return tare_fail(err, TARE_ERR_ARG, "it takes the place of a tensor: it has no scale");
    if (!(fabsf(p->scale) <= FLT_MAX))
        return tare_fail(err, TARE_ERR_ARG, "its scale is not a finite number");
    return TARE_OK;
}

/* Embeddings that are the head, too, change for both. */
static void report_tied(const tare_model *in, size_t tensor, tare_report *report) {
    const tare_catalog *c = &in->catalog;
    if (tare_role_of_name(c->tensors[tensor].name).role != TARE_ROLE_TOKEN_EMBEDDING) return;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_role_of_name(c->tensors[i].name).role == TARE_ROLE_OUTPUT) return;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.adapter-tied");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)tensor;
    f.item_name = c->tensors[tensor].name;
    f.text = TARE_STR("the head is tied to the embeddings: the adapter changes both");
    tare_report_add(report, &f);
}

/* The transpose of a product. */
static void turn(tare_adapter *a) {
    const tare_tensor *left = a->a;
    const uint64_t rows = a->rows;
    a->a = a->b;
    a->b = left;
    a->is_transposed = !a->is_transposed;
    a->rows = a->cols;
    a->cols = rows;
}

/* Matrices of PEFT's lie as the base's modules have them. */
static void turn_conv1d(part *p, const tare_model *in) {
    const tare_adapter *a = p->adapter;
    tare_peft_name name;
    if (!p->set->is_peft || a->kind != TARE_ADAPTER_PAIR || p->place.is_in_stack) return;
    tare_peft_name_parse(&name, a->a->name);
    if (name.is_embedding) return;
    bool is_turned = tare_peft_is_conv1d(in, in->catalog.tensors[p->tensor].name, a->is_transposed);
    const uint64_t rows = a->is_transposed ? a->cols : a->rows,
                   cols = a->is_transposed ? a->rows : a->cols;
    if (rows != cols && rows == p->place.rows && cols == p->place.cols) is_turned = false;
    if (rows != cols && rows == p->place.cols && cols == p->place.rows) is_turned = true;
    if (is_turned != a->is_transposed) turn(&p->product);
}

/* The product as its place has it. In a stack of experts a matrix may lie turned; what is not square
 * tells. */
static void fit_product(part *p) {
    tare_adapter *a = &p->product;
    if (p->place.of_rows && a->rows == p->place.of_rows && !a->is_transposed)
        a->rows = p->place.rows;
    p->is_square = p->place.is_in_stack && a->rows == a->cols;
    p->is_turned = p->place.is_in_stack && a->rows == p->place.cols && a->cols == p->place.rows;
    if (p->is_turned && !p->is_square) turn(a);
}

/* Square matrices of stacks lie as the others of the same adapter do: a module's stacks have one way. */
static tare_status turn_squares(tare_merge *m, size_t first, tare_error *err) {
    size_t n[2] = {0, 0};
    for (size_t i = first; i < m->n; i++)
        if (m->parts[i].place.is_in_stack && !m->parts[i].is_square) n[m->parts[i].is_turned]++;
    for (size_t i = first; i < m->n; i++) {
        part *p = &m->parts[i];
        if (!p->is_square) continue;
        if ((n[0] == 0) == (n[1] == 0)) {
            tare_fail(err, TARE_ERR_UNSUPPORTED,
                      "of a square matrix in a stack of experts only the adapter's others tell "
                      "which way round it lies, and these do not");
            return tare_adapter_fault(p->set, p->adapter, TARE_ERR_UNSUPPORTED, err);
        }
        if (n[1]) turn(&p->product);
    }
    return TARE_OK;
}

static tare_status add_part(tare_merge *m, const tare_model *in, const tare_adapter_use *use,
                            const tare_adapter *adapter, const tare_merge_place *place,
                            tare_report *report, tare_error *err) {
    if (!tare_grow(m->allocator, (void **)&m->parts, &m->capacity, m->n + 1, sizeof *m->parts))
        return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    part *p = &m->parts[m->n];
    *p = (part){.tensor = place->tensor,
                .order = m->n,
                .set = use->set,
                .adapter = adapter,
                .product = *adapter,
                .place = *place,
                .scale = (float)(adapter->scale * use->scale)};
    m->n++;
    report_tied(in, p->tensor, report);
    turn_conv1d(p, in);
    fit_product(p);
    return check_pair(p, in, report, err);
}

static tare_status add_adapter(tare_merge *m, const tare_model *in, const tare_adapter_use *use,
                               const tare_adapter *adapter, tare_report *report, tare_error *err) {
    const tare_str name = use->target.len ? use->target : adapter->name;
    tare_merge_place places[2];
    if (name.len == 0)
        return tare_fail(err, TARE_ERR_ARG,
                         "a pair without a name: add which tensor it belongs to, as TENSOR=PATH");
    tare_error why = TARE_ERROR_NONE;
    const size_t n = tare_merge_find_places(
        places, in, name, use->set->has_flat_names && !use->target.len, adapter->kind, &why);
    if (n == 0) {
        if (err) *err = why;
        return why.status;
    }
    for (size_t i = 0; i < n; i++) TARE_TRY(add_part(m, in, use, adapter, &places[i], report, err));
    return TARE_OK;
}

static void report_use(const tare_adapter_use *use, tare_report *report) {
    size_t n[TARE_ADAPTER_WHOLE + 1] = {0};
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.merged");
    for (size_t i = 0; i < use->set->n; i++)
        if (tare_adapter_is_used(use, &use->set->adapters[i])) n[use->set->adapters[i].kind]++;
    const size_t pairs = n[TARE_ADAPTER_PAIR], others = n[TARE_ADAPTER_SUM] + n[TARE_ADAPTER_WHOLE];
    char rest[64] = "";
    if (others)
        snprintf(rest, sizeof rest, " and %zu whole tensor%s", others, others == 1 ? "" : "s");
    if (pairs == 1)
        tare_report_addf(report, &f, "%s: one pair of factors%s %s merged", use->set->path, rest,
                         others ? "are" : "is");
    else
        tare_report_addf(report, &f, "%s: %zu pairs of factors%s are merged", use->set->path, pairs,
                         rest);
}

static tare_status add_use(tare_merge *m, const tare_model *in, const tare_adapter_use *use,
                           tare_report *report, tare_error *err) {
    const size_t before = m->n;
    TARE_TRY(tare_factors_check(use->set, in, m->allocator, err));
    tare_peft_tell(&use->set->left, use->set->n, use->set->path, report);
    for (size_t i = 0; i < use->set->n; i++) {
        const tare_adapter *a = &use->set->adapters[i];
        if (!tare_adapter_is_used(use, a)) continue;
        if (use->target.len && m->n > before) {
            tare_fail(err, TARE_ERR_ARG,
                      "a tensor is named for an adapter of several pairs, which name theirs");
            return tare_adapter_fault(use->set, a, TARE_ERR_ARG, err);
        }
        tare_status status = add_adapter(m, in, use, a, report, err);
        if (status != TARE_OK) return tare_adapter_fault(use->set, a, status, err);
    }
    TARE_TRY(turn_squares(m, before, err));
    if (m->n > before) {
        report_use(use, report);
        return TARE_OK;
    }
    tare_fail(err, TARE_ERR_ARG, "has no adapter of that name");
    tare_error_item(err, TARE_ITEM_ADAPTER, -1, use->name);
    tare_error_file(err, use->set->path);
    return TARE_ERR_ARG;
}

static int by_tensor(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (x->tensor != y->tensor) return x->tensor < y->tensor ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static tare_status make(tare_merge **out, const tare_model *in, const tare_allocator *allocator,
                        tare_error *err) {
    tare_merge *m = *out = tare_alloc(allocator, sizeof *m);
    if (!m) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    *m = (tare_merge){.in = in, .allocator = allocator};
    if (pthread_mutex_init(&m->mutex, NULL) == 0) return TARE_OK;
    tare_free(allocator, m, sizeof *m);
    *out = NULL;
    return tare_fail(err, TARE_ERR_NOMEM, "lock");
}

tare_status tare_merge_new(tare_merge **out, const tare_model *in, const tare_adapter_use *uses,
                           size_t n_uses, tare_report *report, const tare_allocator *allocator,
                           tare_error *err) {
    tare_merge *m;
    *out = NULL;
    if (n_uses == 0) return TARE_OK;
    tare_status status = make(&m, in, allocator, err);
    for (size_t i = 0; status == TARE_OK && i < n_uses; i++) {
        if (!uses[i].set)
            status = tare_fail(err, TARE_ERR_ARG, "an adapter without a set");
        else
            status = add_use(m, in, &uses[i], report, err);
    }
    if (status == TARE_OK && m->n) qsort(m->parts, m->n, sizeof *m->parts, by_tensor);
    if (status == TARE_OK)
        *out = m;
    else
        tare_merge_free(m);
    return status;
}

tare_status tare_merge_copy(tare_merge **out, const tare_merge *m, tare_error *err) {
    tare_merge *copy;
    *out = NULL;
    if (!m) return TARE_OK;
    TARE_TRY(make(&copy, m->in, m->allocator, err));
    if (!tare_grow(m->allocator, (void **)&copy->parts, &copy->capacity, m->n, sizeof *m->parts)) {
        tare_merge_free(copy);
        return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    }
    for (; copy->n < m->n; copy->n++) {
        const part *p = &m->parts[copy->n];
        part *c = &copy->parts[copy->n];
        *c = *p;
        c->b = c->lengthening = NULL;
        c->largest = 0;
        c->left = 0;
        c->users = 0;
    }
    *out = copy;
    return TARE_OK;
}

/* The first part that belongs to a tensor or to a later one. */
static size_t find(const tare_merge *m, size_t tensor) {
    return tare_count_below(m->parts, m->n, sizeof *m->parts, tensor);
}

bool tare_merge_changes(const tare_merge *m, size_t tensor) {
    size_t i = m ? find(m, tensor) : 0;
    return m && i < m->n && m->parts[i].tensor == tensor;
}

void tare_merge_into(tare_chunks *s, tare_merge *m) {
    if (tare_merge_changes(m, s->tensor)) s->merge = m;
}

/* ---- factors --------------------------------------------------------------------------------- */

static uint64_t panels_bytes(const part *p) {
    return tare_panels_size((size_t)p->product.rank, (size_t)p->product.cols) * sizeof(float);
}

/* How many rows DoRA makes of a length: columns where the transposes are stored. */
static size_t n_lengthened(const part *p) {
    return (size_t)(p->product.is_transposed ? p->product.cols : p->product.rows);
}

static void drop(const tare_merge *m, part *p) {
    if (p->b) tare_free(m->allocator, p->b, (size_t)panels_bytes(p));
    if (p->lengthening)
        tare_free(m->allocator, p->lengthening, n_lengthened(p) * sizeof *p->lengthening);
    p->b = p->lengthening = NULL;
}

void tare_merge_free(tare_merge *m) {
    if (!m) return;
    for (size_t i = 0; i < m->n; i++) drop(m, &m->parts[i]);
    pthread_mutex_destroy(&m->mutex);
    tare_free(m->allocator, m->parts, m->capacity * sizeof *m->parts);
    tare_free(m->allocator, m, sizeof *m);
}

/* The largest magnitude; NaN and Inf come out as Inf. */
static float largest_of(const float *values, uint64_t n) {
    float most = 0;
    for (uint64_t i = 0; i < n; i++) {
        const float size = fabsf(values[i]);
        if (!(size <= FLT_MAX)) return INFINITY;
        if (size > most) most = size;
    }
    return most;
}

static void put_in_panels(const part *p, uint64_t row, uint64_t col, float value) {
    p->b[tare_panels_at((size_t)p->product.rank, (size_t)row, (size_t)col)] = value;
}

/* A piece of B as stored, from element `first` on. */
static void put_piece(part *p, const float *piece, uint64_t first, uint64_t n) {
    const uint64_t length = p->product.is_transposed ? p->product.rank : p->product.cols;
    p->largest = fmaxf(p->largest, largest_of(piece, n));
    for (uint64_t i = 0, row = first / length, col = first % length; i < n; i++) {
        if (p->product.is_transposed)
            put_in_panels(p, col, row, piece[i]);
        else
            put_in_panels(p, row, col, piece[i]);
        if (++col == length) col = 0, row++;
    }
}

static tare_status read_b(part *p, float *piece, tare_error *err) {
    const tare_tensor *b = p->product.b;
    const size_t factor = tare_adapter_factor(p->set, b);
    for (uint64_t at = 0; at < b->n_elements; at += PIECE) {
        const uint64_t n = tare_min_u64(PIECE, b->n_elements - at);
        TARE_TRY(tare_tensor_values_f32(piece, p->set->factors, factor, at, n, err));
        put_piece(p, piece, at, n);
    }
    return TARE_OK;
}

static tare_status load(const tare_merge *m, part *p, tare_error *err) {
    uint64_t floats, bytes;
    size_t size;
    /* The product of two sizes, one of them rounded up. */
    if (!tare_mul_u64(p->product.cols + TARE_PANEL, p->product.rank, &floats) ||
        !tare_mul_u64(floats, sizeof(float), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "a factor does not fit memory");
    float *piece = tare_alloc(m->allocator, PIECE * sizeof *piece);
    p->b = tare_alloc(m->allocator, (size_t)panels_bytes(p));
    p->largest = 0;
    tare_status status = TARE_OK;
    if (!piece || !p->b) status = tare_fail(err, TARE_ERR_NOMEM, "factors of an adapter");
    if (status == TARE_OK) {
        memset(p->b, 0, (size_t)panels_bytes(p));
        status = read_b(p, piece, err);
    }
    if (piece) tare_free(m->allocator, piece, PIECE * sizeof *piece);
    if (status != TARE_OK) drop(m, p);
    return status;
}

void tare_merge_leave(tare_merge *m, size_t tensor) {
    if (!m) return;
    for (size_t i = find(m, tensor); i < m->n && m->parts[i].tensor == tensor; i++)
        drop(m, &m->parts[i]);
}

/* Rows [first, first + n) of A; `aside` has room for n floats. */
static tare_status read_a(float *a, float *aside, const part *p, uint64_t first, uint64_t n,
                          tare_error *err) {
    const uint64_t rank = p->product.rank, rows = p->product.a->cols;
    const size_t factor = tare_adapter_factor(p->set, p->product.a);
    first += p->place.row;
    if (!p->product.is_transposed)
        return tare_tensor_values_f32(a, p->set->factors, factor, first * rank, n * rank, err);
    for (uint64_t r = 0; r < rank; r++) {
        TARE_TRY(tare_tensor_values_f32(aside, p->set->factors, factor, r * rows + first, n, err));
        for (uint64_t i = 0; i < n; i++) a[i * rank + r] = aside[i];
    }
    return TARE_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Columns [col, col + n_cols) of rows [row, row + n_rows), which are contiguous. */
static tare_status add_rows(const part *p, float *values, uint64_t row, uint64_t n_rows,
                            uint64_t col, uint64_t n_cols, tare_scratch *scratch, tare_error *err) {
    const uint64_t rank = p->product.rank, at_once = tare_max_u64(PIECE / rank, 1);
    const uint64_t most = tare_min_u64(at_once, n_rows);
    float *a = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_FACTOR,
                                                 most * (rank + 1) * sizeof *a);
    if (!a) return tare_fail(err, TARE_ERR_NOMEM, "factors of an adapter");
    for (uint64_t at = 0; at < n_rows; at += most) {
        const uint64_t n = tare_min_u64(most, n_rows - at);
        TARE_TRY(read_a(a, a + n * rank, p, row + at, n, err));
        const double bound = (double)largest_of(a, n * rank) * (double)p->largest * (double)rank;
        if (!(bound <= FLT_MAX / 2 && bound * fabs((double)p->scale) <= FLT_MAX / 2))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "NaN or Inf in a factor, or products that may overflow F32");
        const tare_low_rank product = {a, p->b, (size_t)rank, p->scale};
        tare_low_rank_add(values + at * n_cols, (size_t)n_cols, &product, (size_t)n, (size_t)col,
                          (size_t)n_cols);
    }
    return TARE_OK;
}

/* The rest of a row, whole rows, the beginning of one. */
static tare_status add_part_to(const part *p, float *values, uint64_t first, uint64_t n,
                               tare_scratch *scratch, tare_error *err) {
    const uint64_t cols = p->product.cols;
    while (n > 0) {
        const uint64_t col = first % cols;
        const bool is_whole = col == 0 && n >= cols;
        const uint64_t n_rows = is_whole ? n / cols : 1;
        const uint64_t n_cols = is_whole ? cols : tare_min_u64(cols - col, n);
        TARE_TRY(add_rows(p, values, first / cols, n_rows, col, n_cols, scratch, err));
        values += n_rows * n_cols;
        first += n_rows * n_cols;
        n -= n_rows * n_cols;
    }
    return TARE_OK;
}

/* A bias, or a tensor that was saved whole. */
static tare_status add_whole(const part *p, float *values, uint64_t first, uint64_t n,
                             tare_scratch *scratch, tare_error *err) {
    const size_t tensor = tare_adapter_factor(p->set, p->product.a);
    if (p->product.kind == TARE_ADAPTER_WHOLE)
        return tare_tensor_values_f32(values, p->set->factors, tensor, first, n, err);
    float *sum = (float *)(void *)tare_scratch_get(scratch, TARE_SCRATCH_FACTOR, n * sizeof *sum);
    if (!sum) return tare_fail(err, TARE_ERR_NOMEM, "bias of an adapter");
    TARE_TRY(tare_tensor_values_f32(sum, p->set->factors, tensor, first, n, err));
    for (uint64_t i = 0; i < n; i++) values[i] += p->scale * sum[i];
    return TARE_OK;
}

static tare_status apply(const part *p, float *values, uint64_t first, uint64_t n,
                         tare_scratch *scratch, tare_error *err) {
    return p->product.b ? add_part_to(p, values, first, n, scratch, err)
                        : add_whole(p, values, first, n, scratch, err);
}

/* ---- DoRA ------------------------------------------------------------------------------------ */

static size_t lengthened_at(const part *p, uint64_t element) {
    const uint64_t cols = p->product.cols;
    return (size_t)(p->product.is_transposed ? element % cols : element / cols);
}

static void lengthen(const part *p, float *values, uint64_t first, uint64_t n) {
    for (uint64_t i = 0; p->lengthening && i < n; i++)
        values[i] *= p->lengthening[lengthened_at(p, first + i)];
}

/* How many of the elements [first, first + n) of the tensor a part changes, and the first of them. */
static uint64_t share_of(uint64_t *at, const part *p, uint64_t first, uint64_t n) {
    const uint64_t begin = tare_max_u64(first, p->place.first);
    const uint64_t end = tare_min_u64(first + n, p->place.first + p->place.n_elements);
    *at = begin;
    return begin < end ? end - begin : 0;
}

/* The product alone, or lengthened. */
static tare_status change(const part *p, float *values, uint64_t first, uint64_t n,
                          tare_scratch *scratch, tare_error *err) {
    uint64_t at;
    const uint64_t share = share_of(&at, p, first, n);
    return share ? apply(p, values + (at - first), at - p->place.first, share, scratch, err)
                 : TARE_OK;
}

/* Squares of all elements of the sum, by rows or columns. */
static tare_status add_squares(double *squares, float *values, const tare_merge *m, const part *p,
                               tare_scratch *scratch, tare_error *err) {
    const uint64_t n_elements = p->product.rows * p->product.cols;
    for (uint64_t at = 0; at < n_elements; at += PIECE) {
        const uint64_t n = tare_min_u64(PIECE, n_elements - at);
        TARE_TRY(tare_tensor_values_f32(values, m->in, p->tensor, at, n, err));
        for (const part *q = &m->parts[find(m, p->tensor)]; q <= p; q++) {
            if (q->adapter->b && !q->b)
                return tare_fail(err, TARE_ERR_UNSUPPORTED,
                                 "DoRA after adapters of parts of the same tensor");
            TARE_TRY(change(q, values, at, n, scratch, err));
            if (q < p) lengthen(q, values, at, n);
        }
        for (uint64_t i = 0; i < n; i++)
            squares[lengthened_at(p, at + i)] += (double)values[i] * (double)values[i];
    }
    return TARE_OK;
}

static tare_status set_lengthening(part *p, const double *squares, tare_error *err) {
    const size_t n = n_lengthened(p), tensor = tare_adapter_factor(p->set, p->product.magnitude);
    TARE_TRY(tare_tensor_values_f32(p->lengthening, p->set->factors, tensor, 0, n, err));
    for (size_t i = 0; i < n; i++) {
        p->lengthening[i] = (float)((double)p->lengthening[i] / sqrt(squares[i]));
        if (!(fabsf(p->lengthening[i]) <= FLT_MAX))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "a row of the sum is 0 or not finite, so DoRA cannot scale it");
    }
    return TARE_OK;
}

/* Finds what DoRA multiplies rows with. */
static tare_status measure(const tare_merge *m, part *p, tare_error *err) {
    const size_t n = n_lengthened(p);
    tare_scratch *scratch = tare_scratch_new(1, m->allocator);
    float *values = tare_alloc(m->allocator, PIECE * sizeof *values);
    double *squares = tare_alloc(m->allocator, n * sizeof *squares);
    p->lengthening = tare_alloc(m->allocator, n * sizeof *p->lengthening);
    tare_status status = TARE_OK;
    if (!scratch || !values || !squares || !p->lengthening)
        status = tare_fail(err, TARE_ERR_NOMEM, "magnitudes of an adapter");
    for (size_t i = 0; squares && i < n; i++) squares[i] = 0;
    if (status == TARE_OK) status = add_squares(squares, values, m, p, scratch, err);
    if (status == TARE_OK) status = set_lengthening(p, squares, err);
    if (squares) tare_free(m->allocator, squares, n * sizeof *squares);
    if (values) tare_free(m->allocator, values, PIECE * sizeof *values);
    if (scratch) tare_scratch_delete(scratch, 1, m->allocator);
    if (status != TARE_OK) drop(m, p);
    return status;
}

/* ---- all of a tensor ------------------------------------------------------------------------- */

/* Loads what a part needs into memory, until it is released. The parts before it are in use by the
 * same thread. */
static tare_status acquire(tare_merge *m, part *p, uint64_t n_elements, tare_error *err) {
    tare_status status = TARE_OK;
    pthread_mutex_lock(&m->mutex);
    if (!p->b && p->product.b) {
        p->left = n_elements;
        status = load(m, p, err);
        if (status == TARE_OK && p->product.magnitude) status = measure(m, p, err);
    }
    if (status == TARE_OK) p->users++;
    pthread_mutex_unlock(&m->mutex);
    return status;
}

/* Called after n elements are done; the last ones of a tensor release the memory. */
static void release(tare_merge *m, part *p, uint64_t n) {
    pthread_mutex_lock(&m->mutex);
    p->left -= tare_min_u64(p->left, n);
    if (--p->users == 0 && p->left == 0) drop(m, p);
    pthread_mutex_unlock(&m->mutex);
}

tare_status tare_merge_add(tare_merge *m, size_t tensor, float *values, uint64_t first, uint64_t n,
                           tare_scratch *scratch, tare_error *err) {
    const size_t begin = find(m, tensor);
    size_t end = begin;
    tare_status status = TARE_OK;
    uint64_t at;
    for (; status == TARE_OK && end < m->n && m->parts[end].tensor == tensor; end++) {
        part *p = &m->parts[end];
        if (!share_of(&at, p, first, n)) continue;
        status = acquire(m, p, p->place.n_elements, err);
        if (status != TARE_OK) {
            tare_adapter_fault(p->set, p->adapter, status, err);
            break;
        }
    }
    for (size_t i = begin; status == TARE_OK && i < end; i++) {
        const part *p = &m->parts[i];
        status = change(p, values, first, n, scratch, err);
        if (status == TARE_OK)
            lengthen(p, values, first, n);
        else
            tare_adapter_fault(p->set, p->adapter, status, err);
    }
    for (size_t i = begin; i < end; i++) {
        const uint64_t share = share_of(&at, &m->parts[i], first, n);
        if (share) release(m, &m->parts[i], share);
    }
    return status;
}
