/* SPDX-License-Identifier: MIT
 *
 * What an execution writes, a piece at a time: which piece a byte belongs to, and making it in memory. */
#include "ops/convert/jobs.h"

#include <string.h>

#include "base/arith.h"
#include "ops/convert/plan_scan.h"

/* The last job that begins at a byte or before it; NULL: none does. */
static const tare_job *job_before(const tare_execution *x, uint32_t file, uint64_t offset) {
    size_t low = 0, high = x->n_jobs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tare_job *j = &x->jobs[middle];
        if (j->file < file || (j->file == file && j->offset <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low && x->jobs[low - 1].file == file ? &x->jobs[low - 1] : NULL;
}

/* Up to the next job of the file. */
static void find_gap(tare_made_piece *out, const tare_execution *x, const tare_job *before) {
    const tare_job *next = before ? before + 1 : x->jobs;
    while (next < x->jobs + x->n_jobs && next->file < out->file) next++;
    const bool is_last = next == x->jobs + x->n_jobs || next->file != out->file;
    out->task = UINT64_MAX;
    out->begin = before ? before->offset + before->size : 0;
    out->end = is_last ? x->plan->files.files[out->file].size : next->offset;
}

/* The chunk of a plane that a byte of it lies in. */
static tare_status find_chunk(tare_made_piece *out, const tare_execution *x, const tare_job *j,
                              uint64_t at, tare_error *err) {
    tare_chunks chunks;
    uint64_t offset, size, low = 0;
    TARE_TRY(tare_plan_chunks(&chunks, x->plan, &x->plan->tensors[j->item], err));
    for (uint64_t high = chunks.n_chunks; high - low > 1;) {
        const uint64_t middle = low + (high - low) / 2;
        tare_chunks_range(&chunks, middle, j->plane, &offset, &size);
        if (size && offset <= at)
            low = middle;
        else
            high = middle;
    }
    tare_chunks_range(&chunks, low, j->plane, &offset, &size);
    out->task = j->first_task + low;
    out->begin = j->offset + offset;
    out->end = out->begin + size;
    return TARE_OK;
}

tare_status tare_execution_piece(tare_made_piece *out, const tare_execution *x, uint32_t file,
                                 uint64_t offset, tare_error *err) {
    *out = (tare_made_piece){.file = file};
    TARE_TRY(tare_execution_refuse_digests(x, err));
    const tare_job *j = job_before(x, file, offset);
    if (!j || offset - j->offset >= j->size) {
        find_gap(out, x, j);
        return TARE_OK;
    }
    if (j->kind == TARE_JOB_CHUNKS) return find_chunk(out, x, j, offset - j->offset, err);
    const uint64_t index = (offset - j->offset) / j->step;
    out->task = j->first_task + index;
    out->begin = j->offset + index * j->step;
    out->end = j->offset + tare_min_u64((index + 1) * j->step, j->size);
    return TARE_OK;
}

/* Where the bytes of a piece go. */
typedef struct piece_room {
    uint8_t *bytes;
    const tare_made_piece *piece;
} piece_room;

static tare_status put_into_room(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                                 size_t n, tare_scratch *scratch, tare_error *err) {
    const piece_room *room = ctx;
    const tare_made_piece *p = room->piece;
    (void)scratch;
    if (file != p->file || offset < p->begin || offset > p->end || n > p->end - offset)
        return tare_fail(err, TARE_ERR_IO, "the input has changed");
    memcpy(room->bytes + (offset - p->begin), bytes, n);
    return TARE_OK;
}

tare_status tare_execution_make(uint8_t *out, tare_execution *x, const tare_made_piece *made,
                                tare_scratch *scratch, tare_error *err) {
    piece_room room = {out, made};
    const tare_sink sink = {.ctx = &room, .put = put_into_room, .is_sequential = true};
    uint64_t n_bytes = 0;
    if (made->task == UINT64_MAX) {
        memset(out, 0, (size_t)(made->end - made->begin));
        return TARE_OK;
    }
    x->sink = &sink;
    x->watch = (tare_watch){0};
    const tare_status status = tare_job_run(x, made->task, scratch, &n_bytes, err);
    x->sink = NULL;
    return status;
}
