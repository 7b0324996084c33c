/* SPDX-License-Identifier: MIT
 *
 * What a conversion would write, in a view. Each reader that computes takes an execution of the plan;
 * there are as many as have been at work at once. */
#include <pthread.h>

#include "base/str.h"
#include "ops/convert/execute.h"
#include "ops/views/view_files.h"

typedef struct lane {
    struct lane *next;
    tare_execution *execution;
    tare_scratch *scratch;
} lane;

typedef struct planned {
    const tare_allocator *allocator;
    const tare_plan *plan;
    tare_execution *layout; /* only asked where pieces are */
    pthread_mutex_t mutex;  /* guards the idle ones */
    lane *idle;
} planned;

static void free_lane(const tare_allocator *a, lane *l) {
    tare_execution_free(l->execution);
    if (l->scratch) tare_scratch_delete(l->scratch, 1, a);
    tare_free(a, l, sizeof *l);
}

static tare_status take_lane(lane **out, planned *p, tare_error *err) {
    pthread_mutex_lock(&p->mutex);
    lane *l = p->idle;
    if (l) p->idle = l->next;
    pthread_mutex_unlock(&p->mutex);
    *out = l;
    if (l) return TARE_OK;
    l = tare_alloc(p->allocator, sizeof *l);
    if (!l) return tare_fail(err, TARE_ERR_NOMEM, "conversion");
    *l = (lane){.scratch = tare_scratch_new(1, p->allocator)};
    tare_status status = l->scratch ? tare_execution_new(&l->execution, p->plan, true, err)
                                    : tare_fail(err, TARE_ERR_NOMEM, "conversion");
    if (status == TARE_OK)
        *out = l;
    else
        free_lane(p->allocator, l);
    return status;
}

static void give_lane(planned *p, lane *l) {
    pthread_mutex_lock(&p->mutex);
    l->next = p->idle;
    p->idle = l;
    pthread_mutex_unlock(&p->mutex);
}

static tare_status locate(tare_view_piece *out, void *ctx, uint32_t number, uint64_t offset,
                          tare_error *err) {
    const planned *p = ctx;
    tare_made_piece piece;
    TARE_TRY(tare_execution_piece(&piece, p->layout, number, offset, err));
    *out = (tare_view_piece){piece.begin, piece.end};
    return TARE_OK;
}

/* Whole pieces are asked for, unless one failed, of which no part can be had. */
static tare_status make(uint8_t *out, void *ctx, uint32_t number, uint64_t offset, size_t n,
                        tare_error *err) {
    planned *p = ctx;
    tare_made_piece piece;
    lane *l;
    TARE_TRY(tare_execution_piece(&piece, p->layout, number, offset, err));
    if (piece.begin != offset || piece.end - offset != n)
        return tare_fail(err, TARE_ERR_IO, "a part of what is computed at once");
    TARE_TRY(take_lane(&l, p, err));
    const tare_status status = tare_execution_make(out, l->execution, &piece, l->scratch, err);
    give_lane(p, l);
    return status;
}

static void free_planned(void *ctx) {
    planned *p = ctx;
    const tare_allocator *a = p->allocator;
    for (lane *l = p->idle, *next; l; l = next) {
        next = l->next;
        free_lane(a, l);
    }
    tare_execution_free(p->layout);
    pthread_mutex_destroy(&p->mutex);
    tare_free(a, p, sizeof *p);
}

static tare_status open_planned(planned **out, const tare_plan *plan, const tare_allocator *a,
                                tare_error *err) {
    tare_made_piece piece;
    TARE_TRY(tare_plan_check_ranges(plan, err));
    planned *p = tare_alloc(a, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "conversion");
    *p = (planned){.allocator = a, .plan = plan};
    if (pthread_mutex_init(&p->mutex, NULL) != 0) {
        tare_free(a, p, sizeof *p);
        return tare_fail(err, TARE_ERR_NOMEM, "lock");
    }
    tare_status status = tare_execution_new(&p->layout, plan, true, err);
    if (status == TARE_OK) status = tare_execution_piece(&piece, p->layout, 0, 0, err);
    if (status == TARE_OK)
        *out = p;
    else
        free_planned(p);
    return status;
}

tare_status tare_view_add_plan(tare_view *view, const char *name, const tare_plan *plan,
                               tare_error *err) {
    planned *p = NULL;
    uint32_t index;
    TARE_REQUIRE(view && name && plan, err);
    if (tare_view_has(view, tare_str_of(name)))
        return tare_fail(err, TARE_ERR_ARG, "two files of a view have one name");
    TARE_TRY(open_planned(&p, plan, tare_view_context(view)->allocator, err));
    const tare_view_source source = {
        .locate = locate, .make = make, .free = free_planned, .ctx = p};
    TARE_TRY(tare_view_add_source(&index, view, &source, err));
    for (size_t i = 0; i < plan->files.n_files; i++) {
        tare_view_file f = tare_view_file_default();
        f.name = tare_str_of(plan->files.files[i].name);
        f.n_bytes = plan->files.files[i].size;
        TARE_TRY(tare_view_add_file(view, index, (uint32_t)i, tare_str_of(name), &f, err));
    }
    return TARE_OK;
}
