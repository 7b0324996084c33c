/* SPDX-License-Identifier: MIT
 *
 * Joining parts of a .wcodec. What each has is read first, and compared with its record; when it is known
 * where all goes, the data is copied. */
#include "base/arith.h"
#include "base/os_file.h"
#include "base/outfile.h"
#include "format/packed.h"
#include "ops/digest.h"
#include "ops/output/destination.h"
#include "ops/parts/parts_state.h"

#define STEP    ((uint64_t)64 << 20) /* bytes between two looks at whether to stop */
#define SCRATCH ((size_t)1 << 20)    /* where the system cannot copy by itself */

typedef struct joining {
    const tare_parts *parts;
    tare_packed_join *join;
    tare_packed_joined whole;
    tare_outset *set;
    void *scratch;
    uint64_t done, size;
} joining;

static tare_status add_part(joining *j, uint32_t i, tare_error *err) {
    const tare_part_found *f = &j->parts->found[i];
    tare_reader file;
    TARE_TRY(tare_part_piece_check(f->record.pieces, f->path, 0, &j->parts->context, err));
    TARE_TRY(tare_reader_open(&file, f->path, TARE_MAP_NONE, err));
    const tare_status status = tare_packed_join_add(j->join, &file, err);
    tare_reader_close(&file);
    if (status != TARE_OK) tare_error_file(err, f->path);
    return status;
}

static tare_status place_move(joining *j, const tare_packed_move *m, int fd, tare_error *err) {
    const tare_context *c = &j->parts->context;
    for (uint64_t at = 0; at < m->n;) {
        const uint64_t n = tare_min_u64(STEP, m->n - at);
        TARE_TRY(tare_cancel_check(c->cancel, err));
        TARE_TRY(
            tare_outset_copy(j->set, 0, m->to + at, fd, m->from + at, n, j->scratch, SCRATCH, err));
        at += n;
        j->done += n;
        if (c->progress && c->progress(c->progress_ctx, j->done, j->size))
            return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    }
    return TARE_OK;
}

/* All moves of one part, from number *i on. */
static tare_status place_part(joining *j, size_t *i, tare_error *err) {
    const uint32_t part = j->whole.moves[*i].part;
    const char *path = j->parts->found[part].path;
    int fd;
    const int e = tare_fd_open(&fd, TARE_HERE, path, 0, 0);
    tare_status status = e ? tare_fail_errno(err, e, "the part cannot be read") : TARE_OK;
    for (; status == TARE_OK && *i < j->whole.n_moves && j->whole.moves[*i].part == part; ++*i)
        status = place_move(j, &j->whole.moves[*i], fd, err);
    if (!e) tare_fd_close(fd);
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

static tare_status write_whole(joining *j, const char *out_path, const tare_out_options *options,
                               tare_error *err) {
    const tare_packed_joined *w = &j->whole;
    uint32_t index;
    TARE_TRY(tare_outset_new(&j->set, out_path, options, j->parts->context.allocator, err));
    TARE_TRY(tare_outset_add(j->set, NULL, j->size, &index, err));
    TARE_TRY(tare_outset_write(j->set, 0, 0, w->header, w->n_header, err));
    for (size_t i = 0; i < w->n_moves;) TARE_TRY(place_part(j, &i, err));
    TARE_TRY(tare_outset_write(j->set, 0, w->index_at, w->index, w->n_index, err));
    return tare_outset_commit(j->set, err);
}

static tare_status join(joining *j, const char *out_path, const tare_output_options *output,
                        uint16_t withheld, tare_error *err) {
    const tare_context *c = &j->parts->context;
    for (uint32_t i = 0; i < j->parts->count; i++) TARE_TRY(add_part(j, i, err));
    TARE_TRY(tare_packed_join_plan(j->join, tare_digest_of_tensors, err));
    j->whole = tare_packed_join_result(j->join);
    j->size = j->whole.index_at + j->whole.n_index;
    const tare_out_options options = {.force = output->force,
                                      .no_sync = output->no_sync,
                                      .withheld = withheld,
                                      .total_size = j->size,
                                      .report = c->report,
                                      .store = tare_output_store(output)};
    if (output->dry_run) return tare_outset_check(out_path, &options, c->allocator, err);
    j->scratch = tare_alloc(c->allocator, SCRATCH);
    if (!j->scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    const tare_status status = write_whole(j, out_path, &options, err);
    tare_free(c->allocator, j->scratch, SCRATCH);
    return status;
}

tare_status tare_parts_join_packed(uint64_t *size, const tare_parts *parts, const char *out_path,
                                   const tare_output_options *output, uint16_t withheld,
                                   tare_error *err) {
    const tare_limits limits = tare_limits_default();
    joining j = {.parts = parts};
    tare_status status = tare_packed_join_new(&j.join, &limits, parts->context.allocator, err);
    if (status == TARE_OK) status = join(&j, out_path, output, withheld, err);
    *size = j.size;
    tare_outset_free(j.set);
    tare_packed_join_free(j.join);
    return status;
}
