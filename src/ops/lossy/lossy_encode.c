/* SPDX-License-Identifier: MIT
 *
 * The codes of all tensors that lose something, segment by segment as the codec will cut them, since
 * the trellis begins anew with each; written to a file without a name. Scales and outliers, which
 * are few, stay in memory. */
#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "encoding/outliers.h"
#include "ops/lossy/lossy.h"
#include "ops/steps.h"

enum { ALIGN = 64 };

/* A segment of a target. */
typedef struct piece {
    size_t target;
    uint64_t first;
    uint32_t n;
    double error;
    uint8_t *outliers; /* records */
    uint32_t n_outliers;
} piece;

typedef struct encoding {
    tare_lossy_run *r;
    piece *pieces;
    size_t n_pieces;
    tare_lossy_room *rooms;
    _Atomic uint64_t done;
} encoding;

/* ---- a segment ------------------------------------------------------------------------------- */

static tare_status keep_outliers(piece *p, const tare_lossy_run *r, const tare_lossy_target *t,
                                 const tare_lossy_room *room, tare_error *err) {
    const float unit = t->choice.unit;
    p->n_outliers = room->n_outliers;
    if (!p->n_outliers) return TARE_OK;
    p->outliers =
        tare_alloc(r->options->context->allocator, p->n_outliers * (size_t)TARE_OUTLIER_BYTES);
    if (!p->outliers) return tare_fail(err, TARE_ERR_NOMEM, "outliers");
    for (uint32_t i = 0; i < p->n_outliers; i++) {
        const uint64_t element = p->first + room->outliers[i].at;
        const tare_outlier o = {(uint32_t)(element / t->cols), (uint16_t)(element % t->cols),
                                tare_f16_of_f32(room->outliers[i].number * unit)};
        tare_outlier_store(p->outliers + i * (size_t)TARE_OUTLIER_BYTES, &o);
    }
    return TARE_OK;
}

/* As they are stored, little-endian. */
static const void *codes_of(tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    uint8_t *bytes = (uint8_t *)room->symbols;
    if (!t->choice.is_wide) return room->values;
    for (uint32_t i = 0; i < n; i++)
        tare_store_le16(bytes + 2 * (size_t)i, (uint16_t)room->wide[i]);
    return bytes;
}

static tare_status encode_piece(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    encoding *e = ctx;
    piece *p = &e->pieces[task];
    const tare_lossy_run *r = e->r;
    const tare_lossy_target *t = &r->targets[p->target];
    tare_lossy_room *room = &e->rooms[worker];
    if (!room->memory)
        TARE_TRY(tare_lossy_room_init(room, UINT32_C(1) << r->log2_segment,
                                      r->options->context->allocator, err));
    TARE_TRY(tare_lossy_load(room, 0, r, t, p->first, p->n, err));
    room->n_outliers = 0;
    if (!t->choice.is_wide) tare_lossy_take_outliers(room, p->n);
    tare_lossy_choose(room, t, p->n);
    p->error = tare_lossy_error(room, t, p->n);
    TARE_TRY(keep_outliers(p, r, t, room, err));
    const uint64_t width = tare_lossy_width(t);
    TARE_TRY(tare_outset_write(r->made, 0, t->offset + p->first * width, codes_of(room, t, p->n),
                               (size_t)(p->n * width), err));
    atomic_fetch_add_explicit(&e->done, p->n, memory_order_relaxed);
    return TARE_OK;
}

/* ---- scales and outliers --------------------------------------------------------------------- */

/* Of each target its scales, then its outliers. */
static tare_status gather_side(encoding *e, tare_error *err) {
    tare_lossy_run *r = e->r;
    const piece *p = e->pieces, *end = p + e->n_pieces;
    uint64_t bytes = 0;
    for (size_t i = 0; i < e->n_pieces; i++)
        bytes += (uint64_t)e->pieces[i].n_outliers * TARE_OUTLIER_BYTES;
    for (size_t i = 0; i < r->n_targets; i++) bytes += 2 * tare_lossy_scales(&r->targets[i]);
    size_t size;
    if (!tare_size_of_u64(bytes, &size)) return tare_fail(err, TARE_ERR_LIMIT, "scales");
    uint8_t *at = tare_alloc(r->options->context->allocator, size);
    if (!at) return tare_fail(err, TARE_ERR_NOMEM, "scales and outliers");
    r->side = at;
    r->side_bytes = size;
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        t->error = 0;
        t->n_outliers = 0;
        if (t->choice.is_kept) continue;
        for (uint64_t row = 0; row < tare_lossy_scales(t); row++, at += 2)
            tare_store_le16(at, tare_f16_of_f32(t->choice.unit));
        t->outliers = at;
        for (; p < end && p->target == i; p++) {
            const size_t n = p->n_outliers * (size_t)TARE_OUTLIER_BYTES;
            if (n) memcpy(at, p->outliers, n);
            at += n;
            t->n_outliers += p->n_outliers;
            t->error += p->error;
        }
    }
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static size_t count_pieces(const tare_lossy_run *r) {
    const uint64_t step = UINT64_C(1) << r->log2_segment;
    size_t n = 0;
    for (size_t i = 0; i < r->n_targets; i++)
        if (!r->targets[i].choice.is_kept) n += (size_t)tare_ceil_div_u64(r->targets[i].n, step);
    return n;
}

static uint64_t cut(encoding *e) {
    const uint64_t step = UINT64_C(1) << e->r->log2_segment;
    uint64_t end = 0;
    piece *p = e->pieces;
    for (size_t i = 0; i < e->r->n_targets; i++) {
        tare_lossy_target *t = &e->r->targets[i];
        if (t->choice.is_kept) continue;
        t->offset = end;
        end = (end + t->n * tare_lossy_width(t) + ALIGN - 1) / ALIGN * ALIGN;
        for (uint64_t at = 0; at < t->n; at += step)
            *p++ = (piece){.target = i, .first = at, .n = (uint32_t)tare_min_u64(step, t->n - at)};
    }
    return end;
}

static tare_status begin_file(tare_lossy_run *r, const char *path, uint64_t size, tare_error *err) {
    const tare_out_options out = {
        .force = r->options->output->force, .no_sync = true, .total_size = size};
    uint32_t index;
    TARE_TRY(tare_outset_new(&r->made, path, &out, r->options->context->allocator, err));
    return tare_outset_add(r->made, NULL, size, &index, err);
}

static tare_status run_pieces(encoding *e, const char *path, tare_steps *steps, tare_error *err) {
    tare_lossy_run *r = e->r;
    const uint64_t size = cut(e);
    TARE_TRY(begin_file(r, path, size, err));
    const tare_run run = {.context = tare_steps_context(r->options->context, steps),
                          .n_tasks = e->n_pieces,
                          .task = encode_piece,
                          .ctx = e,
                          .total = size,
                          .done = &e->done};
    TARE_TRY(tare_run_parallel(&run, err));
    return gather_side(e, err);
}

static void tell_damage(tare_lossy_run *r) {
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        const double unit = (double)t->choice.unit;
        t->choice.damage = t->choice.is_kept ? 0 : t->alpha * unit * unit * t->error / t->energy;
    }
}

tare_status tare_lossy_encode(tare_lossy_run *r, const char *path, tare_steps *steps,
                              tare_error *err) {
    const unsigned n =
        r->options->context->threads ? r->options->context->threads : tare_default_threads();
    const tare_allocator *a = r->options->context->allocator;
    encoding e = {.r = r, .n_pieces = count_pieces(r)};
    e.pieces = tare_alloc(a, e.n_pieces * sizeof *e.pieces);
    e.rooms = tare_alloc(a, n * sizeof *e.rooms);
    for (unsigned i = 0; e.rooms && i < n; i++) e.rooms[i] = (tare_lossy_room){.memory = NULL};
    for (size_t i = 0; e.pieces && i < e.n_pieces; i++) e.pieces[i] = (piece){.n = 0};
    tare_status status = (e.pieces || !e.n_pieces) && e.rooms
                             ? run_pieces(&e, path, steps, err)
                             : tare_fail(err, TARE_ERR_NOMEM, "numbers");
    for (unsigned i = 0; e.rooms && i < n; i++) tare_lossy_room_free(&e.rooms[i]);
    for (size_t i = 0; e.pieces && i < e.n_pieces; i++)
        tare_free(a, e.pieces[i].outliers, e.pieces[i].n_outliers * (size_t)TARE_OUTLIER_BYTES);
    tare_free(a, e.rooms, n * sizeof *e.rooms);
    tare_free(a, e.pieces, e.n_pieces * sizeof *e.pieces);
    if (status == TARE_OK) tell_damage(r);
    return status;
}
