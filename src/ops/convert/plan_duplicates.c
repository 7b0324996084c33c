/* SPDX-License-Identifier: MIT
 *
 * Tensors with equal bytes, for formats that can store them once: docs/behaviour.md, "Tensors of
 * the same bytes". They are found by digest and confirmed by comparison. */
#include <stdlib.h>
#include <string.h>

#include <tare/inspect.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan.h"
#include "ops/item_walk.h"
#include "ops/mix/roles.h"

typedef struct candidate {
    size_t at; /* among the planned tensors */
    const tare_planned *planned;
    const tare_tensor *from, *stored;
    tare_digest digest;
} candidate;

static int compare_u64(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_type(const tare_tensor *a, const tare_tensor *b) {
    int c = compare_u64(a->encoding->id, b->encoding->id);
    if (!c) c = compare_u64(a->native_type, b->native_type);
    if (!c) c = compare_u64(a->size_bytes, b->size_bytes);
    if (!c) c = compare_u64(a->n_dims, b->n_dims);
    for (uint32_t d = 0; !c && d < a->n_dims; d++) c = compare_u64(a->dims[d], b->dims[d]);
    return c;
}

/* Compares everything that must be equal besides the bytes, so that possible duplicates become
 * neighbours. */
static int compare_kind(const candidate *a, const candidate *b) {
    int c = compare_type(a->from, b->from);
    if (!c) c = compare_u64(a->stored->encoding->id, b->stored->encoding->id);
    if (!c) c = compare_u64(a->stored->native_type, b->stored->native_type);
    return c;
}

static int by_kind(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int c = compare_kind(x, y);
    return c ? c : compare_u64(x->at, y->at);
}

static int by_digest(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int c = memcmp(x->digest.bytes, y->digest.bytes, sizeof x->digest.bytes);
    return c ? c : compare_u64(x->at, y->at);
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Whether another tensor of the input shares its bytes. */
static bool is_shared(const tare_model *m, const size_t *by_place, size_t n, size_t i) {
    const tare_plane *p = &m->catalog.tensors[i].planes[0];
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->catalog.tensors[by_place[middle]].planes[0].offset < p->offset)
            low = middle + 1;
        else
            high = middle;
    }
    size_t found = 0;
    for (; low < n && found < 2; low++) {
        const tare_plane *q = &m->catalog.tensors[by_place[low]].planes[0];
        if (q->offset != p->offset) break;
        found += q->file == p->file && q->size == p->size;
    }
    return found > 1;
}

typedef struct place {
    uint64_t offset;
    size_t tensor;
} place;

static int by_offset(const void *a, const void *b) {
    const place *x = a, *y = b;
    int c = compare_u64(x->offset, y->offset);
    return c ? c : compare_u64(x->tensor, y->tensor);
}

/* The tensors of the input in the order of their positions. */
static size_t *sort_places(const tare_plan *p) {
    size_t n = p->in->catalog.n_tensors, size = n * sizeof(place);
    size_t *order = tare_alloc(p->options.context->allocator, n * sizeof *order);
    place *places = tare_alloc(p->options.context->allocator, size);
    for (size_t i = 0; order && places && i < n; i++)
        places[i] = (place){p->in->catalog.tensors[i].planes[0].offset, i};
    if (order && places) qsort(places, n, sizeof *places, by_offset);
    for (size_t i = 0; order && places && i < n; i++) order[i] = places[i].tensor;
    if (order && !places) {
        tare_free(p->options.context->allocator, order, n * sizeof *order);
        order = NULL;
    }
    tare_free(p->options.context->allocator, places, size);
    return order;
}

/* Tied embeddings, and tensors that already share their bytes. */
static bool is_tied(const tare_plan *p, const size_t *by_place, size_t source) {
    tare_role role = tare_role_of_name(p->in->catalog.tensors[source].name).role;
    return role == TARE_ROLE_TOKEN_EMBEDDING || role == TARE_ROLE_OUTPUT ||
           is_shared(p->in, by_place, p->in->catalog.n_tensors, source);
}

static size_t collect(candidate *list, const tare_plan *p, const size_t *by_place) {
    size_t n = 0;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_planned *planned = &p->tensors[i];
        const tare_tensor *from = &p->in->catalog.tensors[planned->source];
        if (from->size_bytes == 0 || planned->importance ||
            tare_merge_changes(p->merge, planned->source))
            continue;
        if (p->mcf.dedup != TARE_DEDUP_ALL && !is_tied(p, by_place, planned->source)) continue;
        list[n++] = (candidate){
            .at = i, .planned = planned, .from = from, .stored = &p->catalog.tensors[i]};
    }
    return n;
}

/* ---- what is the same ------------------------------------------------------------------------ */

static tare_status is_same(bool *out, const tare_plan *p, const candidate *a, const candidate *b,
                           uint8_t *scratch, tare_error *err) {
    *out = false;
    for (uint32_t plane = 0; plane < a->from->encoding->n_planes; plane++) {
        const size_t piece = tare_walk_piece(a->from, plane);
        const uint64_t size = a->from->planes[plane].size;
        for (uint64_t at = 0; at < size; at += piece) {
            size_t n = (size_t)tare_min_u64(size - at, piece);
            uint8_t *other = scratch + TARE_PIECE;
            TARE_TRY(tare_tensor_read(scratch, p->in, a->planned->source, plane, at, n, err));
            TARE_TRY(tare_tensor_read(other, p->in, b->planned->source, plane, at, n, err));
            if (memcmp(scratch, other, n) != 0) return TARE_OK;
        }
    }
    *out = true;
    return TARE_OK;
}

static void report_shared(const tare_plan *p, const candidate *c, const candidate *first) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.stored-once");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)c->planned->source;
    f.item_name = c->from->name;
    tare_report_addf(p->options.context->report, &f, "stored once with \"%.*s\"",
                     (int)tare_min_u64(first->from->name.len, 200), first->from->name.ptr);
}

/* Candidates of one kind. */
static tare_status match(size_t *same, const tare_plan *p, candidate *list, size_t n,
                         uint8_t *scratch, tare_error *err) {
    tare_context o = tare_context_default();
    o.cancel = p->options.context->cancel;
    for (size_t i = 0; i < n; i++)
        TARE_TRY(tare_tensor_digest(&list[i].digest, p->in, list[i].planned->source, &o, err));
    qsort(list, n, sizeof *list, by_digest);
    for (size_t i = 1, first = 0; i < n; i++) {
        bool is_duplicate = false;
        if (memcmp(list[i].digest.bytes, list[first].digest.bytes, sizeof list[i].digest.bytes) ==
            0)
            TARE_TRY(is_same(&is_duplicate, p, &list[first], &list[i], scratch, err));
        if (is_duplicate) {
            same[list[i].at] = list[first].at;
            report_shared(p, &list[i], &list[first]);
        } else {
            first = i;
        }
    }
    return TARE_OK;
}

static tare_status match_all(size_t *same, const tare_plan *p, candidate *list, size_t n,
                             tare_error *err) {
    const tare_allocator *a = p->options.context->allocator;
    uint8_t *scratch = tare_alloc(a, 2 * TARE_PIECE);
    tare_status status = scratch ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "work memory");
    qsort(list, n, sizeof *list, by_kind);
    for (size_t i = 0, end; status == TARE_OK && i < n; i = end) {
        for (end = i + 1; end < n && compare_kind(&list[i], &list[end]) == 0;) end++;
        if (end - i > 1) status = match(same, p, list + i, end - i, scratch, err);
    }
    tare_free(a, scratch, 2 * TARE_PIECE);
    return status;
}

/* Tensors that share their bytes in the input, for a model whose tensors stay as they are; no data
 * is read. */
static tare_status match_places(size_t *same, const tare_plan *p, const size_t *by_place,
                                tare_error *err) {
    const tare_tensor *tensors = p->in->catalog.tensors;
    const size_t n = p->in->catalog.n_tensors;
    const tare_allocator *a = p->options.context->allocator;
    size_t *planned = tare_alloc(a, n * sizeof *planned);
    if (!planned) return tare_fail(err, TARE_ERR_NOMEM, "equal tensors");
    for (size_t i = 0; i < n; i++) planned[i] = SIZE_MAX;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) planned[p->tensors[i].source] = i;
    for (size_t k = 0, first = SIZE_MAX; k < n; k++) {
        const tare_tensor *t = &tensors[by_place[k]];
        if (planned[by_place[k]] == SIZE_MAX || t->size_bytes == 0) continue;
        const tare_tensor *before = first < n ? &tensors[first] : NULL;
        if (before && before->planes[0].offset == t->planes[0].offset &&
            before->planes[0].file == t->planes[0].file && !compare_type(before, t))
            same[planned[by_place[k]]] = same[planned[first]];
        else
            first = by_place[k];
    }
    tare_free(a, planned, n * sizeof *planned);
    return TARE_OK;
}

tare_status tare_plan_duplicates(tare_plan *plan, tare_error *err) {
    const tare_allocator *a = plan->options.context->allocator;
    size_t n = plan->catalog.n_tensors;
    if (!(plan->format->stored.extras & TARE_EXTRA_SAME) || plan->mcf.dedup == TARE_DEDUP_NONE ||
        n < 2)
        return TARE_OK;
    size_t *same = TARE_NEW_ARRAY(&plan->arena, size_t, n);
    size_t *by_place = sort_places(plan);
    candidate *list = tare_alloc(a, n * sizeof *list);
    tare_status status = TARE_OK;
    if (!same || !by_place || !list) status = tare_fail(err, TARE_ERR_NOMEM, "equal tensors");
    for (size_t i = 0; status == TARE_OK && i < n; i++) same[i] = i;
    if (status == TARE_OK)
        status = plan->changes ? match_places(same, plan, by_place, err)
                               : match_all(same, plan, list, collect(list, plan, by_place), err);
    plan->extras.same_as = same;
    tare_free(a, list, n * sizeof *list);
    tare_free(a, by_place, plan->in->catalog.n_tensors * sizeof *by_place);
    return status;
}
